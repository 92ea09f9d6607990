/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_target - what a request asks for: what is read is a path without dot segments, parameters,
 * empty segments or bytes that stand for others, and reading it again changes nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "core/target.h"

static void check_path(const struct sbx_target *t)
{
	if (t->len == 0 || t->len > SBX_TARGET_PATH_MAX || t->path[0] != '/' ||
	    strlen(t->path) != t->len)
		abort();
	if (strstr(t->path, "//") || strstr(t->path, "/./") || strstr(t->path, "/../") ||
	    strpbrk(t->path, ";\\?# \""))
		abort();
	if (strcmp(strrchr(t->path, '/'), "/.") == 0 || strcmp(strrchr(t->path, '/'), "/..") == 0)
		abort();
	for (size_t i = 0; i < t->len; i++)
		if (t->path[i] <= ' ' || t->path[i] > '~')
			abort();
}

static void check_query(const struct sbx_target *t)
{
	char *room = malloc(t->query_len + 1);
	struct sbx_query_pair p;
	size_t at = 0, was = 0;

	while (sbx_query_next(t->query, t->query_len, &at, room, &p) == SBX_QUERY_PAIR) {
		if (at <= was || p.key_len + p.value_len > t->query_len)
			abort();
		was = at;
	}
	free(room);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct sbx_target t, again;
	unsigned flags = size && data[0] == '!' ? SBX_TARGET_SLASHES : 0;

	if (flags) {
		data++;
		size--;
	}
	if (sbx_target_read((const char *)data, size, flags, &t) != SBX_TARGET_OK)
		return 0;
	if (t.is_star)
		return 0;
	check_path(&t);
	check_query(&t);
	if (sbx_target_read(t.path, t.len, flags, &again) != SBX_TARGET_OK || again.len != t.len ||
	    strcmp(again.path, t.path) != 0)
		abort();
	return 0;
}
