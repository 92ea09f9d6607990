/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gen-presets.c - build-time program: the files of policy/presets as C on standard output, each
 * file as its text and as the tree that policy/front/yaml.c makes of it, packed for
 * policy/front/presets.c: kind, line, column, number of parts or length of the text, then these,
 * from the root on.
 *
 *	gen-presets policy/presets/secrets.yaml ... > presets.c
 *
 * At build time because a launch has about a millisecond, and reading three files that never
 * change would take a third of it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "policy/front/tree.h"
#include "policy/document/model.h"
#include "policy/front/presets.h"

static void pack(struct b_str *out, size_t v)
{
	B_ASSERT(v <= UINT16_MAX);
	b_str_addc(out, (char)(v & 0xff));
	b_str_addc(out, (char)(v >> 8));
}

/* The number of nodes. */
static unsigned pack_node(const struct pol_ynode *node, struct b_str *out)
{
	bool has_parts = node->kind == POL_Y_MAP || node->kind == POL_Y_SEQ;
	size_t nparts = node->kind == POL_Y_MAP ? 2 * node->n : node->n;
	unsigned nodes = 1;

	b_str_addc(out, (char)node->kind);
	pack(out, node->pos.line);
	pack(out, node->pos.col);
	pack(out, has_parts ? node->n : node->len);
	if (!has_parts) {
		b_str_addn(out, node->s ? node->s : "", node->len);
		b_str_addc(out, '\0');
	}
	for (size_t i = 0; has_parts && i < nparts; i++)
		nodes += pack_node(node->v[i], out);
	return nodes;
}

/* "policy/presets/NAME.yaml" */
static void name_of(const char *path, struct b_str *out)
{
	const char *slash = strrchr(path, '/'), *stem = slash ? slash + 1 : path;
	const char *dot = strrchr(stem, '.');

	b_str_addn(out, stem, dot ? (size_t)(dot - stem) : strlen(stem));
}

static void print_bytes(const char *name, const struct b_str *text, unsigned i)
{
	printf("static const unsigned char %s%u[] = {", name, i);
	for (size_t k = 0; k < text->len; k++)
		printf("%s%u,", k % 16 ? " " : "\n\t", (unsigned char)text->s[k]);
	printf(" 0\n};\n");
}

/* One row of the table goes to `rows`. The built-in policy is called so in messages. */
static int print_preset(const char *path, unsigned i, struct b_str *rows, struct b_err *err)
{
	b_auto(b_str_release) struct b_str text = {0}, name = {0}, tree = {0};
	unsigned n;
	b_auto(b_arena_release) struct b_arena arena = {0};
	struct pol_ynode *root;

	name_of(path, &name);
	if (b_read_file(path, POL_MAX_FILE, &text, err) < 0 ||
	    pol_yaml_parse(&arena, path, b_str_c(&text), text.len, &root, err) < 0)
		return -1;
	n = pack_node(root, &tree);
	print_bytes("text", &text, i);
	print_bytes("tree", &tree, i);
	printf("static const char file%u[] = \"%s%s\";\n", i,
	       strcmp(name.s, "default") == 0 ? "builtin:" : "preset:", name.s);
	b_str_addf(rows,
		   "\t{ \"%s\", file%u, (const char *)text%u, sizeof text%u - 1, tree%u, %u },\n",
		   name.s, i, i, i, i, n);
	return 0;
}

int main(int argc, char **argv)
{
	b_auto(b_str_release) struct b_str rows = {0};
	struct b_err err = {0};

	printf("/* Made by gen-presets from policy/presets. */\n#include "
	       "\"policy/front/presets.h\"\n\n");
	B_ASSERT(argc <= POL_PRESETS_MAX);
	for (int i = 1; i < argc; i++)
		if (print_preset(argv[i], (unsigned)i, &rows, &err) < 0)
			return b_report("gen-presets", &err);
	printf("const struct pol_preset pol_presets[] = {\n%s};\n"
	       "const unsigned pol_presets_n = %d;\n",
	       b_str_c(&rows), argc - 1);
	return fflush(stdout) || ferror(stdout);
}
