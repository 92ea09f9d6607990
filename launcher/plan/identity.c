/* SPDX-License-Identifier: Apache-2.0 */
/* identity.c - the command's user and limits. */
#include "launcher/plan/plan.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/account.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "launcher/plan/environment.h"
#include "policy/document/model.h"

enum { MAX_GROUP = 16 << 20 };

/* The fields of a line of passwd(5) or group(5), which it cuts into pieces. */
static size_t cut(char *line, char *field[7])
{
	size_t n = 0;

	while (n < 7 && (field[n] = strsep(&line, ":")))
		n++;
	return n;
}

static bool take_number(const char *s, unsigned *out)
{
	unsigned long long n;

	if (b_parse_u64(s, 4294967294u, &n) < 0)
		return false;
	*out = (unsigned)n;
	return true;
}

/* A number that nobody has a name for is itself, and its group, too. */
static bool find_user(const char *user, struct b_arena *a, struct lau_identity *out)
{
	b_auto(b_str_release) struct b_str line = {0};
	unsigned uid, gid;
	char *f[7];

	if (!b_account_line("passwd", user, &line)) {
		if (!take_number(user, &uid))
			return false;
		out->uid = uid;
		out->gid = uid;
		return true;
	}
	if (cut(line.s, f) < 7 || !take_number(f[2], &uid) || !take_number(f[3], &gid))
		return false;
	out->uid = uid;
	out->gid = gid;
	out->name = b_arena_strndup(a, f[0], strlen(f[0]));
	out->home = b_arena_strndup(a, f[5], strlen(f[5]));
	return true;
}

static bool find_group(const char *group, gid_t *out)
{
	b_auto(b_str_release) struct b_str line = {0};
	unsigned gid;
	char *f[7];

	if (!b_account_line("group", group, &line))
		return take_number(group, out);
	if (cut(line.s, f) < 3 || !take_number(f[2], &gid))
		return false;
	*out = gid;
	return true;
}

static bool has_member(char *members, const char *name)
{
	char *one;

	while ((one = strsep(&members, ",")))
		if (strcmp(one, name) == 0)
			return true;
	return false;
}

/* Those of group(5), as login gives them; but never root's. */
static void find_groups(struct lau_identity *id)
{
	b_auto(b_str_release) struct b_str text = {0};
	char *rest, *line, *f[7];
	unsigned gid;

	id->groups[id->ngroups++] = id->gid;
	if (!id->name || b_read_file("/etc/group", MAX_GROUP, &text, NULL) < 0)
		return;
	rest = text.s;
	while ((line = strsep(&rest, "\n")) && id->ngroups < LAU_GROUPS_MAX)
		if (cut(line, f) >= 4 && take_number(f[2], &gid) && gid != 0 && gid != id->gid &&
		    has_member(f[3], id->name))
			id->groups[id->ngroups++] = gid;
}

/* At the place of the one that is root's. */
static int refuse_root(const struct pol_foreign *f, const struct pol_text *said, const char *user,
		       bool is_user, struct b_err *err)
{
	const struct pol_text *at = !is_user && f->group.s ? &f->group : said;

	return b_fail(err, B_POLICY, 0, "%s:%u:%u: run as %s: this number is root: name another %s",
		      at->pos.file, at->pos.line, at->pos.col, at == &f->group ? at->s : user,
		      is_user ? "user" : "group");
}

bool lau_identity_is_asked(const struct pol_foreign *f)
{
	return f->is_user_implied ? geteuid() == 0 : f->user.s || f->group.s;
}

int lau_identity_find(const struct pol_foreign *f, bool is_refused, struct b_arena *a,
		      struct lau_identity *out, const char **out_loss, struct b_err *err)
{
	const struct pol_text *said = f->user.s ? &f->user : &f->group;
	const char *user = f->user.s ? f->user.s : POL_OPENSHELL_USER, *missing = NULL;
	const char *instead = "the command runs as the user that starts it";
	struct lau_identity id = {.is_set = true};
	bool is_found = false; /* the user is, what is missing is the group */

	*out = (struct lau_identity){0};
	*out_loss = NULL;
	if (!lau_identity_is_asked(f))
		return 0;
	if (geteuid() != 0)
		missing = "only root can change to it";
	else if (!find_user(user, a, &id))
		missing = b_arena_printf(a, "there is no user %s", user);
	else if (f->group.s && !find_group(f->group.s, &id.gid)) {
		missing = b_arena_printf(a, "there is no group %s", f->group.s);
		instead = "its group is the user's own";
		is_found = true;
	}
	if (missing)
		*out_loss = b_arena_printf(
			a, "%s:%u:%u: run as %s: %s: %s%s", said->pos.file, said->pos.line,
			said->pos.col, user, missing,
			is_refused ? "make it, or accept with --best-effort that " : "", instead);
	if (missing && !is_found)
		return 0;
	if (id.uid == 0 || id.gid == 0)
		return refuse_root(f, said, user, id.uid == 0, err);
	find_groups(&id);
	*out = id;
	return 0;
}

void lau_identity_export(const struct lau_identity *id, struct lau_environment *env)
{
	char number[16];

	if (!id->is_set)
		return;
	snprintf(number, sizeof number, "%u", (unsigned)id->uid);
	lau_environment_offer(env, "HOME", id->name ? id->home : "/");
	lau_environment_offer(env, "USER", id->name ? id->name : number);
	lau_environment_offer(env, "LOGNAME", id->name ? id->name : number);
}

/* ---- limits ---- */

enum kind { BYTES, SECONDS, NUMBER };

static const struct {
	const char *name;
	enum kind kind;
	uint64_t least;
} rows[LAU_BOUND_COUNT] = {
	[LAU_BOUND_MEMORY] = {"memory", BYTES, 1},
	[LAU_BOUND_CPU] = {"cpu-time", SECONDS, 1},
	[LAU_BOUND_NPROC] = {"nproc", NUMBER, 1},
	[LAU_BOUND_FSIZE] = {"fsize", BYTES, 1},
	/* the three standard streams, and one that the loader opens the libraries by */
	[LAU_BOUND_NOFILE] = {"nofile", NUMBER, 4},
};

bool lau_bounds_any(const struct lau_bounds *bounds)
{
	for (int b = 0; b < LAU_BOUND_COUNT; b++)
		if (bounds->v[b])
			return true;
	return false;
}

const char *lau_bound_name(enum lau_bound b)
{
	return rows[b].name;
}

const char *lau_holder_name(enum lau_holder by)
{
	static const char *const names[] = {"nothing", "rlimit", "cgroup"};

	return names[by];
}

/* ---- from text ---- */

static const struct unit {
	const char *name;
	uint64_t of;
} units[][10] = {
	[BYTES] = {{"", 1},
		   {"K", 1 << 10},
		   {"M", 1 << 20},
		   {"G", 1 << 30},
		   {"T", UINT64_C(1) << 40},
		   {"KiB", 1 << 10},
		   {"MiB", 1 << 20},
		   {"GiB", 1 << 30},
		   {"TiB", UINT64_C(1) << 40}},
	[SECONDS] = {{"", 1}, {"s", 1}, {"m", 60}, {"h", 3600}},
	[NUMBER] = {{"", 1}},
};
static const char *const expected[] = {
	[BYTES] = "K, M, G or T, as in 512M",
	[SECONDS] = "s, m or h, as in 30s: whole seconds",
	[NUMBER] = "a whole number",
};

static const struct unit *find_unit(enum kind kind, const char *name)
{
	for (const struct unit *u = units[kind]; u->name; u++)
		if (strcmp(u->name, name) == 0)
			return u;
	return NULL;
}

int lau_bound_parse(enum lau_bound b, const char *text, uint64_t *out, struct b_err *err)
{
	size_t digits = strspn(text, "0123456789");
	const struct unit *unit = find_unit(rows[b].kind, text + digits);
	char number[24];
	unsigned long long n;

	if (digits == 0)
		return b_fail(err, B_USAGE, 0, "`%s`: at character 1: expected a digit", text);
	if (!unit)
		return b_fail(err, B_USAGE, 0, "`%s`: at character %zu: expected %s", text,
			      digits + 1, expected[rows[b].kind]);
	if (digits >= sizeof number)
		return b_fail(err, B_USAGE, 0, "`%s`: too large", text);
	memcpy(number, text, digits);
	number[digits] = '\0';
	/* readers of run.json have 63 bits */
	if (b_parse_u64(number, INT64_MAX / unit->of, &n) < 0)
		return b_fail(err, B_USAGE, 0, "`%s`: too large", text);
	if (n * unit->of < rows[b].least)
		return b_fail(err, B_USAGE, 0, "`%s`: expected at least %llu", text,
			      (unsigned long long)rows[b].least);
	*out = n * unit->of;
	return 0;
}
