/* SPDX-License-Identifier: Apache-2.0 */
/* exec.c - execve, trapped where a deny lies inside what the kernel lets be executed. Denied
 * files are refused, as programs, as interpreters of scripts and as loaders. The kernel starts an
 * allowed one, and reads its path again: what follows in this file says why a second thread that
 * changes it gains nothing. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "launcher/linux/broker/broker.h"
#include "launcher/linux/broker/compare.h"
#include "launcher/linux/broker/lineage.h"
#include "launcher/linux/process/process.h"

/* -1: *out is the answer. */
static int judge(struct br_call *c, struct br_end *e, struct br_answer *out)
{
	static const enum sbx_op ops[] = {SBX_EXEC, SBX_READ};

	for (unsigned i = 0; i < 2; i++)
		if (!br_allowed(c, ops[i], e->path, e->len)) {
			*out = br_deny(c, ops[i], e, 0);
			return -1;
		}
	return 0;
}

/* The answer for a file that no rule can name: one that exists only in memory, or has lost its
 * name. */
static struct br_answer run_pathless(struct br_call *c, const struct br_end *e)
{
	if (e->is_nameless && !br_may(c, SBX_EXEC, e))
		return br_deny(c, SBX_EXEC, e, 0);
	return br_proceed(c, BR_PROCEED_EXEC_MEMORY);
}

/* Finds the program or interpreter at this end. 0: judged, and allowed. */
static int find(struct br_call *c, struct br_end *e, struct br_answer *out)
{
	int rc = br_find_object(c, e);

	if (rc < 0)
		*out = br_fail(rc == BR_UNREADABLE ? EACCES : -rc);
	else if (S_ISLNK(e->st.st_mode)) /* AT_SYMLINK_NOFOLLOW */
		*out = br_fail(ELOOP);
	else if (!S_ISREG(e->st.st_mode))
		*out = br_fail(EACCES);
	else if (e->is_pathless)
		*out = run_pathless(c, e);
	else
		return judge(c, e, out);
	return -1;
}

enum named { NAMES_NONE, NAMES_ONE, NAMES_UNREADABLE };

/* The interpreter that the file at `e` names, looked up as the caller would. A file of root that
 * may be executed but not read is taken to name none; another one may be the caller's. */
static enum named take_interpreter(const struct br_end *e, struct br_end *next)
{
	char name[32];
	b_auto_fd int fd = -1;

	br_fd_path(name, e->fd);
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return e->st.st_uid ? NAMES_UNREADABLE : NAMES_NONE;
	if (lau_interp_read(fd, next->asked) == LAU_INTERP_NONE)
		return NAMES_NONE;
	next->asked_len = strlen(next->asked);
	next->dirfd = AT_FDCWD;
	next->follow = true;
	next->is_empty = false;
	return NAMES_ONE;
}

struct br_answer br_exec(struct br_call *c)
{
	struct br_end *e = &c->end[0], *next = &c->end[1];
	struct br_answer out;
	int rc = br_lineage_goes_on(c);

	if (rc < 0)
		return br_fail(-rc);
	if (!(c->b->plan->traps & POL_TRAP_EXEC))
		return br_proceed(c, BR_PROCEED_PROGRAM);
	if (find(c, e, &out) < 0)
		return out;
	for (unsigned i = 0; i < LAU_INTERP_DEPTH; i++) {
		enum named named = take_interpreter(e, next);

		if (named == NAMES_UNREADABLE)
			return br_deny(c, SBX_EXEC, e, 0);
		if (named == NAMES_NONE)
			break;
		if (next->fd >= 0)
			close(next->fd);
		next->fd = -1;
		if (find(c, next, &out) < 0)
			return out;
		e = next;
	}
	return br_proceed(c, BR_PROCEED_EXEC);
}

/*
 * What may not be read does not become a program.
 *
 * Landlock knows no execution without reading. Where a pattern denies reading below what programs
 * run from, it therefore grants both, and execve(2), whose path the kernel reads after the broker
 * has judged it, would run a denied file that a second thread puts there: a file that may be
 * changed but not read can be made a program that prints itself. The kernel runs nothing without an
 * execute bit: the broker gives none to a denied file, and gives a program no denied name.
 */

#define EXECUTE_BITS 0111u

static bool concerns(const struct br_call *c, mode_t type, mode_t bits)
{
	return c->b->plan->traps & POL_TRAP_EXEC && S_ISREG(type) && bits & EXECUTE_BITS;
}

bool br_may_make_program(const struct br_call *c, const struct br_end *e, mode_t bits)
{
	return !concerns(c, S_IFREG, bits) || br_allowed(c, SBX_READ, e->path, e->len);
}

bool br_may_set_bits(const struct br_call *c, const struct br_end *e, mode_t bits)
{
	return !concerns(c, e->st.st_mode, bits) || br_may(c, SBX_READ, e);
}

bool br_may_name_program(const struct br_call *c, const struct stat *st, const struct br_end *from,
			 const struct br_end *to)
{
	struct br_pair p = br_pair_of(from, to);

	/* a file that could not be read before stays as hidden as it was */
	return !concerns(c, st->st_mode, st->st_mode) || br_each_image(c, br_stays_read, &p);
}
