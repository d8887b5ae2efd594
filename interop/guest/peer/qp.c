/* Queue pairs and their states. */
#include "args.h"
#include "peer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct queue_pair qps[MAX_ID];

struct queue_pair *qp_arg(void)
{
	uint64_t id = arg_need_u64("qp");

	if (id >= MAX_ID || !qps[id].qp)
		fail("no QP qp=%lu", (unsigned long)id);
	return &qps[id];
}

static void release(struct queue_pair *q)
{
	if (q->qp)
		ibv_destroy_qp(q->qp);
	if (q->cq)
		ibv_destroy_cq(q->cq);
	if (q->channel)
		ibv_destroy_comp_channel(q->channel);
	memset(q, 0, sizeof *q);
}

/* qp id= [psn= access= depth=64 sge=4 inline=0 srq=]: an RC QP in INIT with a CQ of its own */
void do_qp(void)
{
	uint64_t id = arg_need_u64("id");
	uint32_t depth = arg_u64("depth", 64), sge = arg_u64("sge", 4), inl = arg_u64("inline", 0);
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = depth, .max_recv_wr = depth, .max_send_sge = sge, .max_recv_sge = sge, .max_inline_data = inl},
	};
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = access_arg(IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC),
	};
	struct queue_pair *q;
	int err;

	if (id >= MAX_ID || qps[id].qp)
		fail("QP id %lu is taken or not below %d", (unsigned long)id, MAX_ID);
	q = &qps[id];
	q->psn = arg_u64("psn", 0) & 0xffffff;
	q->channel = ibv_create_comp_channel(dev);
	if (q->channel)
		q->cq = ibv_create_cq(dev, 2 * depth, NULL, q->channel, 0);
	if (!q->cq) {
		err = errno;
		release(q);
		fail_errno("create the CQ", err);
	}
	init.send_cq = init.recv_cq = q->cq;
	init.srq = arg("srq") ? *srq_arg() : NULL;
	q->qp = ibv_create_qp(pd, &init);
	if (!q->qp) {
		err = errno;
		release(q);
		fail_errno("ibv_create_qp", err);
	}
	err = ibv_modify_qp(q->qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	if (err) {
		release(q);
		fail_errno("modify the QP to INIT", err);
	}
	fprintf(out, "{\"ok\":true,\"qpn\":%u,\"psn\":%u}\n", q->qp->qp_num, q->psn);
}

static union ibv_gid gid_arg(const char *key)
{
	const char *hex = arg_need(key);
	union ibv_gid g;

	if (strlen(hex) != 32)
		fail("argument %s is not 32 hexadecimal digits", key);
	for (int i = 0; i < 16; i++) {
		char byte[3] = {hex[2 * i], hex[2 * i + 1]};

		g.raw[i] = strtoul(byte, NULL, 16);
	}
	return g;
}

static enum ibv_mtu mtu_arg(void)
{
	uint64_t n = arg_u64("mtu", 1024);

	for (int m = IBV_MTU_256; m <= IBV_MTU_4096; m++)
		if (n == (uint64_t)128 << m)
			return m;
	fail("mtu=%lu is not 256, 512, 1024, 2048 or 4096", (unsigned long)n);
}

static void to_rtr(struct queue_pair *q)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = mtu_arg(),
		.dest_qp_num = arg_need_u64("rqpn"),
		.rq_psn = arg_need_u64("rpsn"),
		.max_dest_rd_atomic = arg_u64("drd", 4),
		.min_rnr_timer = arg_u64("minrnr", 12),
		.ah_attr = {
			.is_global = 1,
			.port_num = 1,
			.grh = {
				.dgid = gid_arg("rgid"),
				.sgid_index = gid_index,
				.hop_limit = arg_u64("hop", 64),
				.traffic_class = arg_u64("tclass", 0),
			},
		},
	};
	int err = ibv_modify_qp(q->qp, &a, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
					   IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);

	if (err)
		fail_errno("modify the QP to RTR", err);
}

static void to_rts(struct queue_pair *q)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTS,
		.sq_psn = q->psn,
		.timeout = arg_u64("timeout", 14),
		.retry_cnt = arg_u64("retry", 3),
		.rnr_retry = arg_u64("rnr", 3),
		.max_rd_atomic = arg_u64("rd", 4),
	};
	int err = ibv_modify_qp(q->qp, &a, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
					   IBV_QP_MAX_QP_RD_ATOMIC);

	if (err)
		fail_errno("modify the QP to RTS", err);
}

/*
 * connect qp= rqpn= rpsn= rgid= [mtu=1024 timeout=14 retry=3 rnr=3 minrnr=12
 * rd=4 drd=4 tclass=0 hop=64]: from INIT to RTS; to=rtr stops at RTR, from which to=rts goes
 * on.
 */
void do_connect(void)
{
	struct queue_pair *q = qp_arg();
	const char *to = arg("to") ? arg("to") : "both";

	if (strcmp(to, "rts"))
		to_rtr(q);
	if (strcmp(to, "rtr"))
		to_rts(q);
	fprintf(out, "{\"ok\":true}\n");
}

/* state qp=: the state as a number of enum ibv_qp_state */
void do_state(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr a;
	int err = ibv_query_qp(qp_arg()->qp, &a, IBV_QP_STATE, &init);

	if (err)
		fail_errno("ibv_query_qp", err);
	fprintf(out, "{\"ok\":true,\"state\":%d}\n", a.qp_state);
}

static void change(enum ibv_qp_state state)
{
	struct ibv_qp_attr a = {.qp_state = state};
	int err = ibv_modify_qp(qp_arg()->qp, &a, IBV_QP_STATE);

	if (err)
		fail_errno("ibv_modify_qp", err);
	fprintf(out, "{\"ok\":true}\n");
}

/* error qp= */
void do_error(void)
{
	change(IBV_QPS_ERR);
}

/* reset qp= */
void do_reset(void)
{
	change(IBV_QPS_RESET);
}

/* drain qp=: to SQD; an event tells when the send queue is drained */
void do_drain(void)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1};
	int err = ibv_modify_qp(qp_arg()->qp, &a, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY);

	if (err)
		fail_errno("modify the QP to SQD", err);
	fprintf(out, "{\"ok\":true}\n");
}

/* resume qp=: from SQD back to RTS */
void do_resume(void)
{
	change(IBV_QPS_RTS);
}

/* destroy qp= */
void do_destroy(void)
{
	release(qp_arg());
	fprintf(out, "{\"ok\":true}\n");
}
