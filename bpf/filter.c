//go:build ignore

/* The XDP program: RoCEv2 packets to one of our addresses go to the AF_XDP socket of
 * the queue they arrived on, everything else to the host, untouched. */
#include "kernel.h"

enum { ETHERTYPE_IPV4 = 0x0800, ETHERTYPE_IPV6 = 0x86dd, ETHERTYPE_VLAN = 0x8100 };
enum { PROTOCOL_UDP = 17, PORT_ROCE = 4791 };

struct ethernet {
	u8 dst[6], src[6];
	u16 type;
};

struct vlan {
	u16 tci, type;
};

struct ipv4 {
	u8 version_ihl, tos;
	u16 total, id, fragment;
	u8 ttl, protocol;
	u16 checksum;
	u32 src, dst;
};

struct ipv6 {
	u32 version_class_label;
	u16 length;
	u8 next, hops;
	u32 src[4], dst[4];
};

struct udp {
	u16 src, dst, length, checksum;
};

/* An IPv6 address, or an IPv4 address as ::ffff:a.b.c.d. */
struct address {
	u32 word[4];
};

/* Addresses that are ours; the value says nothing. */
struct {
	MAP_UINT(type, BPF_MAP_TYPE_HASH);
	MAP_TYPE(key, struct address);
	MAP_TYPE(value, u8);
	MAP_UINT(max_entries, 1); /* the loader knows how many */
} addresses SEC(".maps");

/* The socket of each receive queue. */
struct {
	MAP_UINT(type, BPF_MAP_TYPE_XSKMAP);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, u32);
	MAP_UINT(max_entries, 1); /* the loader knows how many */
} sockets SEC(".maps");

/* What became of packets to port 4791. */
enum counter {
	REDIRECTED, /* went to a socket */
	NO_SOCKET,  /* went to the host: the queue has no socket */
	FOREIGN,    /* went to the host: not to one of our addresses */
	COUNTERS,
};

struct {
	MAP_UINT(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	MAP_TYPE(key, enum counter);
	MAP_TYPE(value, u64);
	MAP_UINT(max_entries, COUNTERS);
} counters SEC(".maps");

INLINE void count(enum counter c)
{
	u64 *n = bpf_map_lookup_elem(&counters, &c);
	if (n)
		++*n;
}

/* Steps over a header of this type, or passes a packet that ends before. */
#define TAKE(type, name)                    \
	type *name = at;                    \
	at = name + 1;                      \
	if (at > end)                       \
		return XDP_PASS;

INLINE int filter(struct xdp_md *packet)
{
	void *at = (void *)(u64)packet->data, *end = (void *)(u64)packet->data_end;

	TAKE(struct ethernet, ethernet);
	u16 type = ethernet->type;
	if (type == BE16(ETHERTYPE_VLAN)) {
		TAKE(struct vlan, vlan);
		type = vlan->type;
	}

	struct address dst;
	if (type == BE16(ETHERTYPE_IPV4)) {
		TAKE(struct ipv4, ip);
		u16 more_or_offset = ip->fragment & BE16(0x3fff);
		if (ip->version_ihl != 0x45 || more_or_offset || ip->protocol != PROTOCOL_UDP)
			return XDP_PASS;
		dst = (struct address){ { 0, 0, BE32(0xffff), ip->dst } };
	} else if (type == BE16(ETHERTYPE_IPV6)) {
		TAKE(struct ipv6, ip);
		if (ip->next != PROTOCOL_UDP)
			return XDP_PASS;
		dst = (struct address){ { ip->dst[0], ip->dst[1], ip->dst[2], ip->dst[3] } };
	} else {
		return XDP_PASS;
	}

	TAKE(struct udp, udp);
	if (udp->dst != BE16(PORT_ROCE))
		return XDP_PASS;
	if (!bpf_map_lookup_elem(&addresses, &dst)) {
		count(FOREIGN);
		return XDP_PASS;
	}
	int verdict = bpf_redirect_map(&sockets, packet->rx_queue_index, XDP_PASS);
	count(verdict == XDP_REDIRECT ? REDIRECTED : NO_SOCKET);
	return verdict;
}

/* For packets in one buffer. */
SEC("xdp") int roce_single(struct xdp_md *packet)
{
	return filter(packet);
}

/* For packets in several buffers, of which the first holds the headers. */
SEC("xdp.frags") int roce_frags(struct xdp_md *packet)
{
	return filter(packet);
}

SEC("license") const char LICENSE[] = "Dual BSD/GPL";
