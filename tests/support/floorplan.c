/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/floorplan.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "policy/compile/ruleset.h"

/* -- a file system as a list of paths; a trailing slash makes a directory, @ a symlink -- */

static const char *const *tree;
unsigned floorplan_lists;

size_t floorplan_plain_len(const char *entry)
{
	size_t len = strlen(entry);

	return len > 1 && (entry[len - 1] == '/' || entry[len - 1] == '@') ? len - 1 : len;
}

char floorplan_type_at(const char *entry)
{
	const char last = entry[strlen(entry) - 1];

	return last == '/' ? 'd' : last == '@' ? 'l' : 'f';
}

static char fake_type(void *ctx, const char *path)
{
	(void)ctx;
	for (size_t i = 0; tree[i]; i++)
		if (floorplan_plain_len(tree[i]) == strlen(path) &&
		    !strncmp(tree[i], path, strlen(path)))
			return floorplan_type_at(tree[i]);
	return !strcmp(path, "/") ? 'd' : 0;
}

static int fake_list(void *ctx, const char *dir,
		     int (*each)(void *arg, const char *name, char type), void *arg)
{
	size_t len = strcmp(dir, "/") != 0 ? strlen(dir) : 0;

	floorplan_lists++;
	if (fake_type(ctx, dir) != 'd' || !strcmp(dir, "/unreadable"))
		return -1;
	for (size_t i = 0; tree[i]; i++) {
		size_t end = floorplan_plain_len(tree[i]);
		char name[256];

		if (end <= len + 1 || strncmp(tree[i], dir, len) != 0 || tree[i][len] != '/' ||
		    memchr(tree[i] + len + 1, '/', end - len - 1))
			continue;
		snprintf(name, sizeof name, "%.*s", (int)(end - len - 1), tree[i] + len + 1);
		if (each(arg, name, floorplan_type_at(tree[i])))
			break;
	}
	return 0;
}

/* Whatever is called so. */
static bool fake_is_closed(void *ctx, const char *path)
{
	(void)ctx;
	return strstr(path, "/closed") != NULL;
}

/* All lead to the same place. */
static int fake_link(void *ctx, const char *path, char *out, size_t size)
{
	(void)ctx;
	return fake_type(ctx, path) == 'l' ? snprintf(out, size, "usr%s", path) : -1;
}

static const struct pol_fsview fake = {
	.list = fake_list, .type = fake_type, .link = fake_link, .is_closed = fake_is_closed};

static struct pol_ruleset rules;
struct sbx_image floorplan_img;
struct pol_floor floorplan;
static void *image_data;

static void add(enum sbx_op op, const char *line)
{
	struct pol_rule r = {
		.allow = line[0] == '+', .tier = POL_TIER_PROFILE, .origin = "p.yaml:1:1"};
	char kind, base[256] = "", glob[256] = "";

	cr_assert_geq(sscanf(line + 1, " %c %255s %255s", &kind, base, glob), 2, "%s", line);
	if (!strncmp(base, "/dev/", 5))
		r.tier = POL_TIER_BASE;
	r.shape = kind == 'E' ? POL_EXACT : kind == 'T' ? POL_TREE : POL_GLOB;
	r.base = strcmp(base, "/") != 0 ? base : "";
	r.base_len = strlen(r.base);
	r.glob = kind == 'G' ? glob : NULL;
	r.matched = line;
	pol_ruleset_add(&rules, op, &r);
}

bool floorplan_broker;
unsigned floorplan_traps;

int floorplan_try(const char *const *lines, const char *const *files, struct b_err *err)
{
	size_t size;

	tree = files;
	floorplan_lists = 0;
	pol_ruleset_init(&rules);
	for (; *lines; lines++) {
		if (strchr("ra", **lines))
			add(SBX_READ, *lines + 1);
		if (strchr("xa", **lines))
			add(SBX_EXEC, *lines + 1);
		if (**lines == 'm')
			add(SBX_MODIFY, *lines + 1);
	}
	cr_assert_eq(pol_compile(&rules, NULL, &image_data, &size, err), 0, "%s", err->msg);
	cr_assert_eq(sbx_image_open(&floorplan_img, image_data, size, true), SBX_IMAGE_OK);
	if (!floorplan_broker)
		return pol_floor_plan(&rules, &floorplan_img, &fake, &floorplan, err);
	return pol_floor_plan_broker(&rules, &floorplan_img, &fake, floorplan_traps, &floorplan,
				     err);
}

void floorplan_make(const char *const *lines, const char *const *files)
{
	struct b_err err = {0};

	cr_assert_eq(floorplan_try(lines, files, &err), 0, "%s", err.msg);
}

void floorplan_mounts(struct pol_mounts *out)
{
	pol_mounts_plan(&rules, &floorplan_img, &fake, &floorplan, out);
}

size_t floorplan_mark(const char *const *mounts)
{
	size_t n = 0;

	while (mounts[n])
		n++;
	return pol_floor_mark(&floorplan, &floorplan_img, &fake, mounts, n);
}

void floorplan_release(void)
{
	pol_floor_release(&floorplan);
	pol_ruleset_release(&rules);
	free(image_data);
	image_data = NULL;
}
