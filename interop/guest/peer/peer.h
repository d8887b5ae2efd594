/*
 * rocepeer: a verbs peer that does RC operations one by one under a test's
 * orders. See main.c for how it is spoken to; each order is described where it is done.
 */
#ifndef ROCEPEER_PEER_H
#define ROCEPEER_PEER_H
#include <infiniband/verbs.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Regions, QPs, SRQs and memory windows are addressed by ids 0 to MAX_ID-1. */
#define MAX_ID 4096

struct region {
	uint8_t *buf;
	size_t len, mapped;
	struct ibv_mr *mr;
	uint64_t mr_addr; /* that work requests and peers name it by */
};

struct queue_pair {
	struct ibv_qp *qp;
	struct ibv_cq *cq; /* of both queues */
	struct ibv_comp_channel *channel;
	uint32_t psn; /* of the first packet sent */
};

extern FILE *out;               /* the reply to the present order */
extern struct ibv_context *dev; /* NULL until "open" */
extern struct ibv_pd *pd;
extern union ibv_gid gid;
extern int gid_index;

/* orders, each in the file of its kind */
void do_open(void);
void do_mr(void), do_fill(void), do_sha(void), do_read(void), do_write(void), do_dereg(void);
void do_qp(void), do_connect(void), do_state(void), do_error(void), do_reset(void), do_destroy(void);
void do_drain(void), do_resume(void);
void do_post(void), do_recv(void), do_poll(void);
void do_mw(void), do_bind(void), do_unmw(void);
void do_srq(void), do_arm(void), do_unsrq(void);
void do_event(void);

/* Both end the order with an error reply if there is no such thing. */
struct region *region_arg(const char *key);
struct queue_pair *qp_arg(void);
struct ibv_srq **srq_arg(void);
/* The range off, len of a region; ends the order if it lies outside. */
uint8_t *range_arg(struct region *r, size_t *len);
int access_arg(int dflt);
/* The address by which work requests and peers name a byte of a region. */
uint64_t name_of(struct region *r, const uint8_t *p);

#endif
