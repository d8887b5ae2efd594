/* Memory regions and what lies in them. */
#include "args.h"
#include "peer.h"
#include "sha256.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

static struct region regions[MAX_ID];

struct region *region_arg(const char *key)
{
	uint64_t id = arg_need_u64(key);

	if (id >= MAX_ID || !regions[id].mr)
		fail("no region %s=%lu", key, (unsigned long)id);
	return &regions[id];
}

uint8_t *range_arg(struct region *r, size_t *len)
{
	uint64_t off = arg_u64("off", 0);

	*len = arg_u64("len", off <= r->len ? r->len - off : 0);
	if (off > r->len || *len > r->len - off)
		fail("range %lu+%zu lies outside the region of %zu bytes", (unsigned long)off, *len, r->len);
	return r->buf + off;
}

uint64_t name_of(struct region *r, const uint8_t *p)
{
	return r->mr_addr + (p - r->buf);
}

/* access=lw,rw,rr,ra,mw,zb: local write, remote write, read, atomic, window bind, zero based */
int access_arg(int dflt)
{
	const char *list = arg("access");

	if (!list)
		return dflt;
	return (list_has(list, "lw") ? IBV_ACCESS_LOCAL_WRITE : 0) | (list_has(list, "rw") ? IBV_ACCESS_REMOTE_WRITE : 0) |
	       (list_has(list, "rr") ? IBV_ACCESS_REMOTE_READ : 0) | (list_has(list, "ra") ? IBV_ACCESS_REMOTE_ATOMIC : 0) |
	       (list_has(list, "mw") ? IBV_ACCESS_MW_BIND : 0) | (list_has(list, "zb") ? IBV_ACCESS_ZERO_BASED : 0);
}

/*
 * mr id= len= [access=lw,rw,rr,ra iova=]: page-aligned, zeroed; iova= is the address
 * that work and peers name it by, in place of its own
 */
void do_mr(void)
{
	uint64_t id = arg_need_u64("id");
	struct region r = {.len = arg_need_u64("len")};
	int access = access_arg(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);

	if (id >= MAX_ID || regions[id].mr)
		fail("region id %lu is taken or not below %d", (unsigned long)id, MAX_ID);
	r.mapped = r.len ? r.len : 1;
	r.buf = mmap(NULL, r.mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (r.buf == MAP_FAILED)
		fail_errno("mmap", errno);
	r.mr_addr = arg_u64("iova", (uintptr_t)r.buf);
	r.mr = ibv_reg_mr_iova(pd, r.buf, r.len, r.mr_addr, access);
	if (!r.mr) {
		int err = errno;

		munmap(r.buf, r.mapped);
		fail_errno("ibv_reg_mr_iova", err);
	}
	regions[id] = r;
	fprintf(out, "{\"ok\":true,\"addr\":%lu,\"rkey\":%u,\"lkey\":%u}\n", (unsigned long)r.mr_addr, r.mr->rkey, r.mr->lkey);
}

/* dereg mr= */
void do_dereg(void)
{
	struct region *r = region_arg("mr");
	int err = ibv_dereg_mr(r->mr);

	if (err)
		fail_errno("ibv_dereg_mr", err);
	munmap(r->buf, r->mapped);
	memset(r, 0, sizeof *r);
	fprintf(out, "{\"ok\":true}\n");
}

/*
 * fill mr= [off= len=] seed=: byte i of the range becomes byte i%8, low first,
 * of the i/8-th output of the generator splitmix64 started at seed.
 */
void do_fill(void)
{
	size_t len;
	uint8_t *p = range_arg(region_arg("mr"), &len);
	uint64_t state = arg_need_u64("seed"), z = 0;

	for (size_t i = 0; i < len; i++) {
		if (i % 8 == 0) {
			z = state += 0x9e3779b97f4a7c15;
			z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
			z = (z ^ z >> 27) * 0x94d049bb133111eb;
			z ^= z >> 31;
		}
		p[i] = z >> 8 * (i % 8);
	}
	fprintf(out, "{\"ok\":true}\n");
}

static void hex_reply(const char *key, const uint8_t *p, size_t len)
{
	fprintf(out, "{\"ok\":true,\"%s\":\"", key);
	for (size_t i = 0; i < len; i++)
		fprintf(out, "%02x", p[i]);
	fprintf(out, "\"}\n");
}

/* sha mr= [off= len=] */
void do_sha(void)
{
	size_t len;
	uint8_t *p = range_arg(region_arg("mr"), &len), digest[32];

	sha256(p, len, digest);
	hex_reply("sha256", digest, sizeof digest);
}

/* read mr= [off= len=] */
void do_read(void)
{
	size_t len;
	uint8_t *p = range_arg(region_arg("mr"), &len);

	hex_reply("hex", p, len);
}

static int nibble(char c)
{
	const char *digits = "0123456789abcdef", *p = c ? strchr(digits, c) : NULL;

	if (!p)
		fail("hex= has a character that is no lower-case hexadecimal digit");
	return p - digits;
}

/* write mr= [off=] hex= */
void do_write(void)
{
	struct region *r = region_arg("mr");
	const char *hex = arg_need("hex");
	size_t off = arg_u64("off", 0), n = strlen(hex) / 2;

	if (strlen(hex) % 2 || off > r->len || n > r->len - off)
		fail("%zu hexadecimal digits at offset %zu do not fit the region of %zu bytes", strlen(hex), off, r->len);
	for (size_t i = 0; i < n; i++)
		r->buf[off + i] = nibble(hex[2 * i]) << 4 | nibble(hex[2 * i + 1]);
	fprintf(out, "{\"ok\":true}\n");
}
