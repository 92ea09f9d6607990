/* exec.c - execve, trapped where a deny lies inside what the kernel lets be executed. Denied
 * files are refused. An allowed one is started by the kernel, which reads its path again: a
 * second thread that swaps it in between starts something else; documented. */
#include "launcher/linux/broker/broker.h"

#include <errno.h>

struct br_answer br_exec(struct br_call *c)
{
	struct br_end *e = &c->end[0];
	int rc = br_find_object(c, e);

	if (rc == BR_UNREADABLE)
		return br_fail(EACCES);
	if (rc < 0 || e->is_pathless)
		return br_continue(); /* it fails by itself, or runs what has no path */
	if (!S_ISREG(e->st.st_mode))
		return br_continue();
	if (!br_allowed(c, SBX_EXEC, e->path, e->len))
		return br_deny(c, SBX_EXEC, e, 0);
	if (!br_allowed(c, SBX_READ, e->path, e->len))
		return br_deny(c, SBX_READ, e, 0);
	return br_continue();
}
