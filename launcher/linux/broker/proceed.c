/* proceed.c - see proceed.h. */
#include "launcher/linux/broker/proceed.h"

#include <errno.h>

#include "launcher/linux/broker/broker.h"

static const struct {
	const char *name;
	enum br_behind behind;
	int otherwise;
} rows[] = {
#define X(row, name, behind, otherwise, why)                                                       \
	[BR_PROCEED_##row] = {name, BR_BEHIND_##behind, otherwise},
	BR_PROCEED_TABLE(X)
#undef X
};

const char *br_proceed_name(enum br_proceed row)
{
	return rows[row].name;
}

static bool stands_behind(const struct lau_broker_plan *plan, enum br_behind behind)
{
	switch (behind) {
	case BR_BEHIND_NOTHING:
	case BR_BEHIND_NAMES:
	case BR_BEHIND_MODES:
		return true;
	case BR_BEHIND_TRUNCATE:
		return !(plan->traps & POL_TRAP_TRUNCATE);
	case BR_BEHIND_READS:
		return plan->read_level != POL_READ_ALL && !(plan->traps & POL_TRAP_TRUNCATE);
	}
	return false;
}

bool br_may_proceed(const struct br_call *c, enum br_proceed row)
{
	return stands_behind(c->b->plan, rows[row].behind);
}

struct br_answer br_proceed(const struct br_call *c, enum br_proceed row)
{
	if (!br_may_proceed(c, row))
		return br_fail(rows[row].otherwise);
	if (c->b->plan->proceeded)
		atomic_fetch_add_explicit(&c->b->plan->proceeded[row], 1, memory_order_relaxed);
	return (struct br_answer){.kind = BR_KIND_CONTINUE};
}

/* ---- calls that Landlock stands behind ---- */

static bool is_any(br_handler *h, br_handler *const *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (v[i] == h)
			return true;
	return false;
}

/* The row of such a call; BR_PROCEED_COUNT: it is no such call. */
static enum br_proceed row_of(br_handler *h)
{
	static br_handler *const names[] = {br_mkdir,	br_mknod,  br_unlink, br_rmdir,
					    br_symlink, br_rename, br_link};
	static br_handler *const opens[] = {br_open, br_openat2, br_creat};

	if (is_any(h, names, sizeof names / sizeof *names))
		return BR_PROCEED_NAME;
	if (is_any(h, opens, sizeof opens / sizeof *opens))
		return BR_PROCEED_OPEN;
	return h == br_truncate ? BR_PROCEED_TRUNCATE : BR_PROCEED_COUNT;
}

bool br_lies(const struct br_call *c)
{
	enum br_proceed row = row_of(c->row->handler);

	return c->b->plan->lies && row != BR_PROCEED_COUNT && br_may_proceed(c, row);
}

struct br_answer br_proceed_unseen(struct br_call *c)
{
	br_handler *h = c->row->handler;
	enum br_proceed row = row_of(h);

	if (h == br_umask || h == br_credentials)
		return h(c); /* neither looks into the caller */
	return row == BR_PROCEED_COUNT ? br_fail(EACCES) : br_proceed(c, row);
}
