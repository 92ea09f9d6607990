/* residual.c - see residual.h. */
#include "policy/residual.h"

#include <string.h>

#include "base/str.h"

/* A set of positions in a glob; `inside` marks star-star-slash that has begun a directory. */
struct live {
	bool at[POL_MAX_RULE_LEN + 1];
	bool inside[POL_MAX_RULE_LEN + 1];
};

static bool starts(const char *p, const char *what)
{
	return strncmp(p, what, strlen(what)) == 0;
}

/* Positions reached without consuming anything. Each edge leads forward: one pass is enough. */
static void close_over(const char *glob, size_t n, struct live *s)
{
	for (size_t i = 0; i < n; i++) {
		const char *p = glob + i;

		if (!s->at[i])
			continue;
		if (strcmp(p, "/**") == 0)
			s->at[n] = true;
		else if (starts(p, "**/"))
			s->at[i + 3] = true;
		else if (starts(p, "**"))
			s->at[i + 2] = true;
		else if (*p == '*')
			s->at[i + 1] = true;
	}
}

/* One character of a path, `len` bytes at c. */
static void step(const char *glob, size_t n, const struct live *from, const char *c, unsigned len,
		 struct live *to)
{
	bool slash = *c == '/';

	memset(to, 0, sizeof *to);
	for (size_t i = 0; i < n; i++) {
		const char *p = glob + i;

		if (from->inside[i] || (from->at[i] && starts(p, "**/"))) {
			to->inside[i] = true;
			to->at[i + 3] |= slash;
		}
		if (!from->at[i] || starts(p, "**/"))
			continue;
		if (starts(p, "**"))
			to->at[i] = true;
		else if (*p == '*')
			to->at[i] |= !slash;
		else if (*p == '?')
			to->at[i + 1] |= !slash;
		else if (strncmp(p, c, len) == 0)
			to->at[i + len] = true;
	}
	close_over(glob, n, to);
}

void pol_residuals(const char *glob, const char *path, struct pol_residuals *out)
{
	size_t n = strlen(glob), len = strlen(path);
	struct live cur, next;

	memset(&cur, 0, sizeof cur);
	cur.at[0] = true;
	close_over(glob, n, &cur);
	for (size_t i = 0; i <= len;) {
		const char *c = i < len ? path + i : "/";
		unsigned step_len = b_utf8_len((const unsigned char *)c, strlen(c));

		step_len = step_len ? step_len : 1;
		step(glob, n, &cur, c, step_len, &next);
		cur = next;
		i += step_len;
	}
	memset(out, 0, sizeof *out);
	/* Just behind a slash, star-star-slash may go on or stop: as if it had not begun. No path
	 * below begins with a slash or has a component "."; as whole globs these would mean
	 * something else. */
	for (size_t i = 0; i < n; i++)
		out->at[i] = (cur.at[i] || cur.inside[i]) && glob[i] != '/' &&
			     strcmp(glob + i, ".") != 0;
}
