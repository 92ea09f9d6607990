/* limits.c - see limits.h; setrlimit(2). */
#include "launcher/limits.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"

/* Raising a soft limit needs no privilege. */
static void raise_one(int which, struct rlimit *found)
{
	struct rlimit more;

	if (getrlimit(which, found) < 0)
		return;
	more = (struct rlimit){found->rlim_max, found->rlim_max};
	if (found->rlim_cur < found->rlim_max)
		(void)setrlimit(which, &more);
}

int lau_limits_raise(struct lau_limits *l, struct b_err *err)
{
	const struct sigaction ignore = {.sa_handler = SIG_IGN};

	*l = (struct lau_limits){.files = {RLIM_INFINITY, RLIM_INFINITY},
				 .size = {RLIM_INFINITY, RLIM_INFINITY}};
	sigaction(SIGXFSZ, &ignore, &l->xfsz);
	sigaction(SIGPIPE, &ignore, &l->pipe);
	raise_one(RLIMIT_FSIZE, &l->size);
	if (getrlimit(RLIMIT_NOFILE, &l->files) < 0 || l->files.rlim_cur >= LAU_FILES_NEEDED)
		return 0;
	raise_one(RLIMIT_NOFILE, &l->files);
	if (l->files.rlim_max >= LAU_FILES_NEEDED)
		return 0;
	return b_fail(err, B_LIMIT, EMFILE,
		      "only %llu files may be open at once (ulimit -Hn), a run needs %d: raise the "
		      "hard limit (limits.conf(5), or LimitNOFILE= of the service)",
		      (unsigned long long)l->files.rlim_max, LAU_FILES_NEEDED);
}

void lau_limits_restore(const struct lau_limits *l)
{
	sigaction(SIGXFSZ, &l->xfsz, NULL);
	sigaction(SIGPIPE, &l->pipe, NULL);
	if (l->size.rlim_cur != l->size.rlim_max)
		(void)setrlimit(RLIMIT_FSIZE, &l->size);
	if (l->files.rlim_cur < LAU_FILES_NEEDED)
		(void)setrlimit(RLIMIT_NOFILE, &l->files);
}
