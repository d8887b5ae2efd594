/* Work requests and completions. */
#include "args.h"
#include "peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_SGE 16

/* rxe hands the kernel's own number of this flag through, which for libibverbs
 * means IBV_WC_IP_CSUM_OK; that one does not occur on RC QPs. */
#define RXE_WC_WITH_INV (1 << 2)

/*
 * The local memory of a work request: mr= [off= len=], or mr= sge=off:len,...
 * Without mr= there is none, and the message has no bytes.
 */
static int sge_args(struct ibv_sge *sge)
{
	const char *list = arg("sge");
	struct region *r;
	int n = 0;

	if (!arg("mr"))
		return 0;
	r = region_arg("mr");
	if (!list) {
		size_t len;
		uint8_t *p = range_arg(r, &len);

		sge[0] = (struct ibv_sge){name_of(r, p), len, r->mr->lkey};
		return 1;
	}
	while (*list) {
		char *end;
		uint64_t off = strtoull(list, &end, 0), len = *end == ':' ? strtoull(end + 1, &end, 0) : 0;

		if (n == MAX_SGE || (*end && *end != ',') || off > r->len || len > r->len - off)
			fail("sge=%s: not off:len pairs within the region, or more than %d", arg("sge"), MAX_SGE);
		sge[n++] = (struct ibv_sge){name_of(r, r->buf + off), len, r->mr->lkey};
		list = end + (*end == ',');
	}
	return n;
}

static int opcode_arg(void)
{
	static const struct {
		const char *name;
		int opcode;
	} ops[] = {
		{"send", IBV_WR_SEND},
		{"send_imm", IBV_WR_SEND_WITH_IMM},
		{"send_inv", IBV_WR_SEND_WITH_INV},
		{"write", IBV_WR_RDMA_WRITE},
		{"write_imm", IBV_WR_RDMA_WRITE_WITH_IMM},
		{"read", IBV_WR_RDMA_READ},
		{"fetch_add", IBV_WR_ATOMIC_FETCH_AND_ADD},
		{"cmp_swap", IBV_WR_ATOMIC_CMP_AND_SWP},
		{"local_inv", IBV_WR_LOCAL_INV},
	};
	const char *name = arg_need("op");

	for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
		if (!strcmp(ops[i].name, name))
			return ops[i].opcode;
	fail("no operation op=%s", name);
}

static int flags_arg(void)
{
	const char *list = arg("flags");

	return (list_has(list, "signaled") ? IBV_SEND_SIGNALED : 0) | (list_has(list, "solicited") ? IBV_SEND_SOLICITED : 0) |
	       (list_has(list, "fence") ? IBV_SEND_FENCE : 0) | (list_has(list, "inline") ? IBV_SEND_INLINE : 0);
}

/*
 * post qp= op= [wr= flags=signaled,solicited,fence,inline mr= off= len= sge=
 * raddr= rkey= imm= inv= add= compare= swap=]
 */
void do_post(void)
{
	struct queue_pair *q = qp_arg();
	struct ibv_sge sge[MAX_SGE];
	struct ibv_send_wr *bad, w = {
		.wr_id = arg_u64("wr", 0),
		.opcode = opcode_arg(),
		.send_flags = flags_arg(),
		.sg_list = sge,
		.num_sge = sge_args(sge),
	};
	int err;

	switch (w.opcode) {
	case IBV_WR_SEND_WITH_INV:
	case IBV_WR_LOCAL_INV:
		w.invalidate_rkey = arg_need_u64("inv");
		break;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		w.wr.atomic.remote_addr = arg_need_u64("raddr");
		w.wr.atomic.rkey = arg_need_u64("rkey");
		w.wr.atomic.compare_add = arg_need_u64(w.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD ? "add" : "compare");
		w.wr.atomic.swap = arg_u64("swap", 0);
		break;
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
	case IBV_WR_RDMA_READ:
		w.wr.rdma.remote_addr = arg_need_u64("raddr");
		w.wr.rdma.rkey = arg_need_u64("rkey");
		break;
	default:
		break;
	}
	if (w.opcode == IBV_WR_SEND_WITH_IMM || w.opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
		w.imm_data = htonl(arg_need_u64("imm"));
	err = ibv_post_send(q->qp, &w, &bad);
	if (err)
		fail_errno("ibv_post_send", err);
	fprintf(out, "{\"ok\":true}\n");
}

/* recv qp=|srq= [wr= mr= off= len= sge=] */
void do_recv(void)
{
	struct ibv_sge sge[MAX_SGE];
	struct ibv_recv_wr *bad, w = {.wr_id = arg_u64("wr", 0), .sg_list = sge, .num_sge = sge_args(sge)};
	int err = arg("srq") ? ibv_post_srq_recv(*srq_arg(), &w, &bad) : ibv_post_recv(qp_arg()->qp, &w, &bad);

	if (err)
		fail_errno("post the receive", err);
	fprintf(out, "{\"ok\":true}\n");
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void print_wc(const struct ibv_wc *wc, int first)
{
	int ok = wc->status == IBV_WC_SUCCESS; /* else most fields mean nothing */

	fprintf(out, "%s{\"wr_id\":%lu,\"status\":%d,\"status_text\":\"%s\",\"vendor_err\":%u", first ? "" : ",", (unsigned long)wc->wr_id,
		wc->status, ibv_wc_status_str(wc->status), wc->vendor_err);
	if (ok) {
		fprintf(out, ",\"opcode\":%d,\"byte_len\":%u,\"flags\":%u", wc->opcode, wc->byte_len, wc->wc_flags);
		if (wc->wc_flags & IBV_WC_WITH_IMM)
			fprintf(out, ",\"has_imm\":true,\"imm\":%u", ntohl(wc->imm_data));
		if (wc->wc_flags & (IBV_WC_WITH_INV | RXE_WC_WITH_INV))
			fprintf(out, ",\"has_inv\":true,\"inv\":%u", wc->invalidated_rkey);
	}
	fputc('}', out);
}

/* Waits for the CQ's event until the end time; returns 0 at the end. */
static int wait_event(struct queue_pair *q, int64_t end)
{
	struct pollfd p = {.fd = q->channel->fd, .events = POLLIN};
	int64_t left = end - now_ms();
	struct ibv_cq *cq;
	void *unused;

	if (left <= 0 || poll(&p, 1, left) <= 0)
		return 0;
	if (!ibv_get_cq_event(q->channel, &cq, &unused))
		ibv_ack_cq_events(cq, 1);
	return 1;
}

/* poll qp= [n=1 timeout=0]: up to n completions within timeout milliseconds */
void do_poll(void)
{
	struct queue_pair *q = qp_arg();
	uint64_t want = arg_u64("n", 1), got = 0;
	int64_t end = now_ms() + arg_u64("timeout", 0);
	int armed = 0;

	fprintf(out, "{\"ok\":true,\"wc\":[");
	while (got < want) {
		struct ibv_wc wc;

		if (ibv_poll_cq(q->cq, 1, &wc) > 0) {
			print_wc(&wc, !got++);
			continue;
		}
		if (!armed) { /* and look once more: one may have come before */
			ibv_req_notify_cq(q->cq, 0);
			armed = 1;
			continue;
		}
		if (!wait_event(q, end))
			break;
		armed = 0;
	}
	fprintf(out, "]}\n");
}
