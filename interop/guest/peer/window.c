/* Memory windows of type 2. */
#include "args.h"
#include "peer.h"

#include <errno.h>

static struct ibv_mw *windows[MAX_ID];

static struct ibv_mw **window_arg(void)
{
	uint64_t id = arg_need_u64("mw");

	if (id >= MAX_ID || !windows[id])
		fail("no window mw=%lu", (unsigned long)id);
	return &windows[id];
}

/* mw id=: a window that is not bound */
void do_mw(void)
{
	uint64_t id = arg_need_u64("id");

	if (id >= MAX_ID || windows[id])
		fail("window id %lu is taken or not below %d", (unsigned long)id, MAX_ID);
	windows[id] = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
	if (!windows[id])
		fail_errno("ibv_alloc_mw", errno);
	fprintf(out, "{\"ok\":true}\n");
}

/*
 * bind qp= mw= mr= [off= len= access=rw,rr wr=]: posts the binding, under another key
 * each time; its completion is polled like any other
 */
void do_bind(void)
{
	struct queue_pair *q = qp_arg();
	struct ibv_mw *mw = *window_arg();
	struct region *r = region_arg("mr");
	size_t len;
	uint8_t *p = range_arg(r, &len);
	int access = access_arg(IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ), err;
	struct ibv_send_wr *bad, w = {
		.wr_id = arg_u64("wr", 0),
		.opcode = IBV_WR_BIND_MW,
		.send_flags = IBV_SEND_SIGNALED,
		.bind_mw = {
			.mw = mw,
			.rkey = ibv_inc_rkey(mw->rkey),
			.bind_info = {.mr = r->mr, .addr = name_of(r, p), .length = len, .mw_access_flags = access},
		},
	};

	err = ibv_post_send(q->qp, &w, &bad);
	if (err)
		fail_errno("post the binding", err);
	mw->rkey = w.bind_mw.rkey; /* which the next binding must name */
	fprintf(out, "{\"ok\":true,\"rkey\":%u,\"addr\":%lu}\n", mw->rkey,
		(unsigned long)(access & IBV_ACCESS_ZERO_BASED ? 0 : name_of(r, p)));
}

/* unmw mw= */
void do_unmw(void)
{
	struct ibv_mw **mw = window_arg();
	int err = ibv_dealloc_mw(*mw);

	if (err)
		fail_errno("ibv_dealloc_mw", err);
	*mw = NULL;
	fprintf(out, "{\"ok\":true}\n");
}
