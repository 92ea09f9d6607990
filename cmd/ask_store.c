/* ask_store.c - sbx-policy list and add: policies by name. */
#include <string.h>

#include "base/err.h"
#include "base/own.h"
#include "base/str.h"
#include "cmd/ask.h"
#include "policy/store.h"

int ask_list(struct ask_opts *o, char const *const *words, size_t n)
{
	b_auto(b_str_release) struct b_str out = {0};
	b_auto(b_arena_release) struct b_arena a = {0};
	struct pol_store store;
	const char **names;
	struct b_err err;
	size_t n_names;

	(void)o;
	if (n > 0) {
		b_fail(&err, B_USAGE, 0, "list: `%s`, expected nothing behind it", words[0]);
		return ask_trouble(&err);
	}
	pol_store_find(&a, &store);
	if (pol_store_list(&store, &a, &names, &n_names, &err) < 0)
		return ask_trouble(&err);
	for (size_t i = 0; i < n_names; i++)
		b_str_addf(&out, "%s\n", names[i]);
	return ask_print(&out, YES);
}

int ask_add(struct ask_opts *o, char const *const *files, size_t n)
{
	b_auto(b_str_release) struct b_str out = {0};
	b_auto(b_arena_release) struct b_arena a = {0};
	struct pol_store store;
	struct b_err err;
	const char *path;

	(void)o;
	if (n == 0) {
		b_fail(&err, B_USAGE, 0, "add: no file, expected sbx-policy add FILE...");
		return ask_trouble(&err);
	}
	pol_store_find(&a, &store);
	for (size_t i = 0; i < n; i++) {
		if (pol_store_add(&store, &a, files[i], &path, &err) < 0)
			return ask_trouble(&err);
		b_str_add_visible(&out, path, strlen(path));
		b_str_addc(&out, '\n');
	}
	return ask_print(&out, YES);
}
