#include "launcher/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "launcher/broker.h"
#include "launcher/linux/fdpass.h"
#include "launcher/serving.h"

/* The listener must not stay with those it listens to: they could answer themselves. The ring is
 * opened under the command's domain, without the right to truncate it. */
int lau_confine_trap(const struct lau_confine *c, struct b_err *err)
{
	int listener, rc, saved, ring;

	if (!c->trap)
		return 0;
	ring = c->ring ? open(c->ring, O_RDWR | O_CLOEXEC) : -1;
	listener = lau_broker_trap(c->trap, c->trap_len, err);
	if (listener < 0)
		return -1;
	rc = lau_fd_send(c->listener_to, listener);
	if (rc == 0 && ring >= 0)
		rc = lau_fd_send(c->listener_to, ring);
	saved = errno;
	close(listener);
	if (ring >= 0)
		close(ring);
	close(c->listener_to);
	if (rc < 0)
		return lau_serving_refused(
			&(struct lau_served){.step = LAU_SERVE_HANDING, .sys = saved}, err);
	return lau_broker_greet(err);
}

int lau_confine_apply_in(const struct lau_confine *c, int lost, struct b_err *err)
{
	if (lau_confine_fds(c, err) < 0 || lau_confine_caps(c, err) < 0 ||
	    lau_confine_landlock(c, lost, err) < 0 || lau_confine_trap(c, err) < 0)
		return -1;
	return lau_confine_seccomp(c, lost, err);
}

/* The order is the one confine.h argues for. */
int lau_confine_apply(const struct lau_confine *c, struct b_err *err)
{
	int lost = lau_confine_namespaces(c, err);

	return lost < 0 || lau_confine_apply_in(c, lost, err) < 0 ? -1 : lost;
}
