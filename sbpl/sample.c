#include "sbpl/sample.h"

#include <string.h>

#include "base/str.h"
#include "policy/ruleset.h"

/* What stands for each kind of wildcard: the second variant takes the shortest. */
static const struct {
	const char *star, *stars, *dirs, *one;
} stand_ins[SBPL_SAMPLES] = {
	{"sbx~a", "sbx~b", "sbx~c/", "q"},
	{"", "", "", "\xc3\xa9"},
	{".sbx", "sbx~d/.sbx", "sbx~e/sbx~f/", "_"},
	{"S B", "a/b/c", "", "~"},
};

static void sample_glob(const char *glob, unsigned variant, struct b_str *out)
{
	size_t len = strlen(glob);
	bool covers = len >= 3 && memcmp(glob + len - 3, "/**", 3) == 0;
	const char *p = glob, *end = glob + len - (covers ? 3 : 0);

	while (p < end) {
		if (end - p >= 3 && memcmp(p, "**/", 3) == 0) {
			b_str_add(out, stand_ins[variant].dirs);
			p += 3;
		} else if (end - p >= 2 && memcmp(p, "**", 2) == 0) {
			b_str_add(out, stand_ins[variant].stars);
			p += 2;
		} else if (*p == '*' || *p == '?') {
			b_str_add(out,
				  *p == '*' ? stand_ins[variant].star : stand_ins[variant].one);
			p++;
		} else {
			b_str_addc(out, *p++);
		}
	}
	if (covers && variant % 2 == 0)
		b_str_addf(out, "%s%s", p > glob ? "/" : "", stand_ins[variant].stars);
}

/* Wildcards that took nothing may have left "//" or a "/" at the end: no path. */
static void tidy(struct b_str *path)
{
	size_t n = 0;

	for (size_t i = 0; i < path->len; i++)
		if (path->s[i] != '/' || n == 0 || path->s[n - 1] != '/')
			path->s[n++] = path->s[i];
	while (n > 1 && path->s[n - 1] == '/')
		n--;
	path->len = n;
	path->s[n] = '\0';
}

void sbpl_sample(const struct pol_rule *r, unsigned variant, struct b_str *out)
{
	b_str_reset(out);
	b_str_addn(out, r->base, r->base_len);
	if (r->shape == POL_GLOB && strcmp(r->glob, ".") != 0) {
		b_str_addc(out, '/');
		sample_glob(r->glob, variant, out);
	} else if (r->shape == POL_TREE && variant % 2 == 0) {
		b_str_addf(out, "/%s", stand_ins[variant].stars);
	} else if (r->base_len == 0) {
		b_str_addc(out, '/');
	}
	tidy(out);
}
