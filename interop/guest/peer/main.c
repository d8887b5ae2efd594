/*
 * rocepeer PORT listens on a TCP port of the loopback and takes one
 * connection. Each line on it is an order: a name and arguments key=value.
 * Each is answered by one line of JSON, {"ok":true,...} or
 * {"ok":false,"error":"..."}. The process ends with the connection, and all
 * that it has made goes with it.
 */
#include "args.h"
#include "peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

FILE *out;
struct ibv_context *dev;
struct ibv_pd *pd;
union ibv_gid gid;
int gid_index;

static const struct {
	const char *name;
	void (*run)(void);
} orders[] = {
	{"open", do_open},     {"mr", do_mr},       {"fill", do_fill},   {"sha", do_sha},
	{"read", do_read},     {"write", do_write}, {"dereg", do_dereg}, {"qp", do_qp},
	{"connect", do_connect}, {"state", do_state}, {"error", do_error}, {"reset", do_reset},
	{"destroy", do_destroy}, {"post", do_post},   {"recv", do_recv},   {"poll", do_poll},
	{"drain", do_drain},   {"resume", do_resume}, {"mw", do_mw},     {"bind", do_bind},
	{"unmw", do_unmw},     {"srq", do_srq},     {"arm", do_arm},     {"unsrq", do_unsrq},
	{"event", do_event},
};

/* open dev=rxe0 gid=1 */
void do_open(void)
{
	const char *name = arg("dev") ? arg("dev") : "rxe0";
	struct ibv_device **list;
	struct ibv_port_attr port;
	int n;

	if (dev)
		fail("a device is open already");
	gid_index = arg_u64("gid", 1);
	list = ibv_get_device_list(&n);
	if (!list)
		fail_errno("ibv_get_device_list", errno);
	for (int i = 0; i < n && !dev; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			dev = ibv_open_device(list[i]);
	ibv_free_device_list(list);
	if (!dev)
		fail("no device %s among %d, or it cannot be opened", name, n);
	if (ibv_query_port(dev, 1, &port) || ibv_query_gid(dev, 1, gid_index, &gid))
		fail_errno("query port 1 and its GID", errno);
	pd = ibv_alloc_pd(dev);
	if (!pd)
		fail_errno("ibv_alloc_pd", errno);
	fprintf(out, "{\"ok\":true,\"gid\":\"");
	for (int i = 0; i < 16; i++)
		fprintf(out, "%02x", gid.raw[i]);
	fprintf(out, "\",\"mtu\":%d}\n", 128 << port.active_mtu);
}

static void order(char *line)
{
	if (setjmp(order_failed))
		return;

	const char *name = args_parse(line);

	for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
		if (strcmp(orders[i].name, name))
			continue;
		if (!dev && orders[i].run != do_open)
			fail("no device is open: order \"open\" first");
		orders[i].run();
		return;
	}
	fail("no order %s", name);
}

static int accept_one(int port)
{
	struct sockaddr_in sa = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
	int ls = socket(AF_INET, SOCK_STREAM, 0), one = 1, s;

	setsockopt(ls, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (bind(ls, (struct sockaddr *)&sa, sizeof sa) || listen(ls, 1))
		return -1;
	s = accept(ls, NULL, NULL);
	close(ls);
	if (s >= 0)
		setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	return s;
}

int main(int argc, char **argv)
{
	char *line = NULL;
	size_t size = 0;
	FILE *in;
	int s;

	if (argc != 2) {
		fprintf(stderr, "usage: rocepeer PORT\n");
		return 2;
	}
	s = accept_one(atoi(argv[1]));
	if (s < 0) {
		perror("rocepeer: listen");
		return 1;
	}
	in = fdopen(s, "r");
	out = fdopen(dup(s), "w");
	while (getline(&line, &size, in) > 0) {
		order(line);
		if (fflush(out))
			break;
	}
	return 0;
}
