/* SPDX-License-Identifier: Apache-2.0 */
/* block.c - see block.h. */
#include "adopt/block.h"

#include <ctype.h>
#include <string.h>

static const char begins[] = "# >>> sbx-launch --setup ", ends[] = "# <<< sbx-launch\n";

static const char *next_line(const char *line)
{
	const char *end = strchr(line, '\n');

	return end ? end + 1 : line + strlen(line);
}

static bool is_begin(const char *line, const char *name)
{
	size_t n = strlen(name);

	return strncmp(line, begins, sizeof begins - 1) == 0 &&
	       strncmp(line + sizeof begins - 1, name, n) == 0 &&
	       line[sizeof begins - 1 + n] == '\n';
}

bool ad_block_find(const char *text, const char *name, struct ad_span *out)
{
	for (const char *p = text; *p; p = next_line(p)) {
		if (!is_begin(p, name))
			continue;
		for (const char *q = p; *q; q = next_line(q))
			if (strncmp(q, ends, sizeof ends - 1) == 0) {
				*out = (struct ad_span){.at = (size_t)(p - text),
							.end = (size_t)(q - text) + sizeof ends -
							       1};
				return true;
			}
	}
	return false;
}

void ad_block_put(const char *text, const char *name, const char *lines, bool at_top,
		  struct b_str *out)
{
	size_t n = strlen(text);
	struct ad_span at = {.at = n, .end = n};

	if (!ad_block_find(text, name, &at) && at_top)
		at.at = at.end = strncmp(text, "#!", 2) == 0 ? (size_t)(next_line(text) - text) : 0;
	b_str_addn(out, text, at.at);
	if (at.at > 0 && text[at.at - 1] != '\n')
		b_str_addc(out, '\n');
	b_str_addf(out, "%s%s\n%s%s", begins, name, lines, ends);
	b_str_add(out, text + at.end);
}

void ad_block_cut(const char *text, struct ad_span block, struct b_str *out)
{
	b_str_addn(out, text, block.at);
	b_str_add(out, text + block.end);
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || strchr("_-.", c) != NULL;
}

static bool is_key(const char *p, const char *key)
{
	for (; *key; p++, key++)
		if (*p != *key && tolower((unsigned char)*p) != *key)
			return false;
	return true;
}

/* Where the value begins, when the line has one of this key. */
static const char *value_in(const char *line, const char *end, const char *key)
{
	size_t n = strlen(key);

	for (const char *p = line; p + n < end && *p != '#' && *p != ';'; p++) {
		const char *q = p + n;

		if (!is_key(p, key) || (p > line && is_word(p[-1])))
			continue;
		q += strspn(q, " \t");
		q += strspn(q, ":?+"); /* make has these before it */
		if (q < end && (*q == '=' || q[-1] == ':')) {
			q += *q == '=';
			return q + strspn(q, " \t");
		}
	}
	return NULL;
}

static size_t trimmed(const char *value, const char *end)
{
	while (end > value && isspace((unsigned char)end[-1]))
		end--;
	return (size_t)(end - value);
}

const char *ad_block_value(const char *text, const char *key, bool is_makefile, size_t *out_len)
{
	const char *found = NULL;

	*out_len = 0;
	for (const char *p = text, *next; *p && (is_makefile || !found); p = next) {
		const char *end = p + strcspn(p, is_makefile ? "#\n" : "\n");
		const char *value = value_in(p, end, key);

		next = next_line(p);
		if (!value || value > end || (is_makefile && *p == '\t'))
			continue;
		found = value;
		*out_len = trimmed(value, end);
	}
	return found;
}
