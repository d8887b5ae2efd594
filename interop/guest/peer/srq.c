/* Shared receive queues. */
#include "args.h"
#include "peer.h"

#include <errno.h>

static struct ibv_srq *srqs[MAX_ID];

struct ibv_srq **srq_arg(void)
{
	uint64_t id = arg_need_u64("srq");

	if (id >= MAX_ID || !srqs[id])
		fail("no SRQ srq=%lu", (unsigned long)id);
	return &srqs[id];
}

/* srq id= [depth=64 sge=4] */
void do_srq(void)
{
	uint64_t id = arg_need_u64("id");
	struct ibv_srq_init_attr init = {.attr = {.max_wr = arg_u64("depth", 64), .max_sge = arg_u64("sge", 4)}};

	if (id >= MAX_ID || srqs[id])
		fail("SRQ id %lu is taken or not below %d", (unsigned long)id, MAX_ID);
	srqs[id] = ibv_create_srq(pd, &init);
	if (!srqs[id])
		fail_errno("ibv_create_srq", errno);
	fprintf(out, "{\"ok\":true}\n");
}

/* arm srq= limit=: asks for an event when fewer receives are left */
void do_arm(void)
{
	struct ibv_srq_attr a = {.srq_limit = arg_need_u64("limit")};
	int err = ibv_modify_srq(*srq_arg(), &a, IBV_SRQ_LIMIT);

	if (err)
		fail_errno("ibv_modify_srq", err);
	fprintf(out, "{\"ok\":true}\n");
}

/* unsrq srq= */
void do_unsrq(void)
{
	struct ibv_srq **s = srq_arg();
	int err = ibv_destroy_srq(*s);

	if (err)
		fail_errno("ibv_destroy_srq", err);
	*s = NULL;
	fprintf(out, "{\"ok\":true}\n");
}
