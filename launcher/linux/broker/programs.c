/*
 * programs.c - what may not be read does not become a program.
 *
 * Landlock knows no execution without reading. Where a pattern denies reading below what programs
 * run from, it therefore grants both, and execve(2), whose path the kernel reads after the broker
 * has judged it, would run a denied file that a second thread puts there: a file that may be
 * changed but not read can be made a program that prints itself. The kernel runs nothing without an
 * execute bit: the broker gives none to a denied file, and gives a program no denied name.
 */
#include "launcher/linux/broker/broker.h"

#include <fcntl.h>
#include <string.h>

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
	/* what could not be read before is no better hidden */
	return !concerns(c, st->st_mode, st->st_mode) || !br_may(c, SBX_READ, from) ||
	       br_allowed(c, SBX_READ, to->path, to->len);
}
