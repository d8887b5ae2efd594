/* Asynchronous events. */
#include "args.h"
#include "peer.h"

#include <errno.h>
#include <poll.h>

/*
 * event [timeout=0]: the device's next asynchronous event within timeout milliseconds, as
 * a number of enum ibv_event_type, and -1 if none came
 */
void do_event(void)
{
	struct pollfd p = {.fd = dev->async_fd, .events = POLLIN};
	struct ibv_async_event e;
	int n = poll(&p, 1, arg_u64("timeout", 0));

	if (n < 0)
		fail_errno("poll", errno);
	if (!n) {
		fprintf(out, "{\"ok\":true,\"event\":-1}\n");
		return;
	}
	if (ibv_get_async_event(dev, &e))
		fail_errno("ibv_get_async_event", errno);
	ibv_ack_async_event(&e);
	fprintf(out, "{\"ok\":true,\"event\":%d}\n", e.event_type);
}
