#include "launcher/confine.h"

/* The order is the one confine.h argues for. */
int lau_confine_apply(const struct lau_confine *c, struct b_err *err)
{
	int net = lau_confine_namespaces(c, err);

	if (net < 0 || lau_confine_fds(c, err) < 0 || lau_confine_caps(c, err) < 0 ||
	    lau_confine_landlock(c, net, err) < 0 || lau_confine_seccomp(c, net, err) < 0)
		return -1;
	return net;
}
