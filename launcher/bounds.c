/* bounds.c - see bounds.h. */
#include "launcher/bounds.h"

#include <string.h>

#include "base/err.h"
#include "base/str.h"

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
