/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gen-presets.c - build-time program: the files of policy/presets as C on standard output, each
 * file as its text and as the tree that policy/front/yaml.c makes of it.
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

static const char *const kinds[POL_Y_COUNT] = {
#define X(name, text) [POL_Y_##name] = "POL_Y_" #name,
	POL_YKINDS(X)
#undef X
};

static unsigned nodes; /* named so far: nodeN, and partsN of it */

/* One literal: octal escapes end after three digits, hex ones only at what is no digit. */
static void print_string(const char *s, size_t len)
{
	putchar('"');
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)s[i];

		if (c < ' ' || c > '~' || c == '"' || c == '\\' || c == '?')
			printf("\\%03o", c);
		else
			putchar(c);
	}
	putchar('"');
}

/* Children before their parent. The number of the node. */
static unsigned print_node(const struct pol_ynode *node, const char *file)
{
	size_t nparts = node->kind == POL_Y_MAP ? 2 * node->n : node->n;
	b_auto_free unsigned *parts = b_calloc(nparts, sizeof *parts);
	unsigned self;

	for (size_t i = 0; i < nparts; i++)
		parts[i] = print_node(node->v[i], file);
	self = nodes++;
	if (nparts) {
		printf("static const struct pol_ynode *const parts%u[] = {", self);
		for (size_t i = 0; i < nparts; i++)
			printf("%s&node%u,", i % 8 ? " " : "\n\t", parts[i]);
		printf("\n};\n");
	}
	printf("static const struct pol_ynode node%u = {\n\t.kind = %s, .pos = { %s, %u, %u },",
	       self, kinds[node->kind], file, node->pos.line, node->pos.col);
	if (node->s) {
		printf(" .len = %zu,\n\t.s = ", node->len);
		print_string(node->s, node->len);
		printf(",");
	}
	if (nparts)
		printf("\n\t.v = parts%u, .n = %zu,", self, node->n);
	printf(" .weight = %zu, .height = %u,\n};\n", node->weight, node->height);
	return self;
}

/* "policy/presets/NAME.yaml" */
static void name_of(const char *path, struct b_str *out)
{
	const char *slash = strrchr(path, '/'), *stem = slash ? slash + 1 : path;
	const char *dot = strrchr(stem, '.');

	b_str_addn(out, stem, dot ? (size_t)(dot - stem) : strlen(stem));
}

static void print_bytes(const struct b_str *text, unsigned i)
{
	printf("static const unsigned char text%u[] = {", i);
	for (size_t k = 0; k < text->len; k++)
		printf("%s%u,", k % 16 ? " " : "\n\t", (unsigned char)text->s[k]);
	printf(" 0\n};\n");
}

/* One row of the table goes to `rows`. The built-in policy is called so in messages. */
static int print_preset(const char *path, unsigned i, struct b_str *rows, struct b_err *err)
{
	b_auto(b_str_release) struct b_str text = {0}, name = {0};
	b_auto(b_arena_release) struct b_arena arena = {0};
	struct pol_ynode *root;

	name_of(path, &name);
	if (b_read_file(path, POL_MAX_FILE, &text, err) < 0 ||
	    pol_yaml_parse(&arena, path, b_str_c(&text), text.len, &root, err) < 0)
		return -1;
	print_bytes(&text, i);
	printf("static const char file%u[] = \"%s%s\";\n", i,
	       strcmp(name.s, "default") == 0 ? "builtin:" : "preset:", name.s);
	b_str_addf(rows,
		   "\t{ \"%s\", file%u, (const char *)text%u, sizeof text%u - 1, &node%u },\n",
		   name.s, i, i, i, print_node(root, b_arena_printf(&arena, "file%u", i)));
	return 0;
}

int main(int argc, char **argv)
{
	b_auto(b_str_release) struct b_str rows = {0};
	struct b_err err = {0};

	printf("/* Made by gen-presets from policy/presets. */\n#include \"policy/presets.h\"\n\n");
	for (int i = 1; i < argc; i++)
		if (print_preset(argv[i], (unsigned)i, &rows, &err) < 0)
			return b_report("gen-presets", &err);
	printf("const struct pol_preset pol_presets[] = {\n%s};\n"
	       "const unsigned pol_presets_n = %d;\n",
	       b_str_c(&rows), argc - 1);
	return fflush(stdout) || ferror(stdout);
}
