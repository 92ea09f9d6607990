/* SPDX-License-Identifier: Apache-2.0 */
/* opt_help.c - --help and the completions of shells, from the rows of opt.h. */
#include <ctype.h>
#include <string.h>

#include "base/mem.h"
#include "base/opt.h"
#include "base/str.h"

/* The "Options" part of --help, from the rows of opt.h. */

enum { WIDTH = 80, HELP_COLUMN = 28 };

static bool same_group(const struct b_opt *a, const struct b_opt *b)
{
	return a->group && b->group ? strcmp(a->group, b->group) == 0 : a->group == b->group;
}

/* Columns of n bytes of UTF-8: everything but continuation bytes. */
static size_t columns(const char *s, size_t n)
{
	size_t i, count = 0;

	for (i = 0; i < n; i++)
		count += ((unsigned char)s[i] & 0xc0) != 0x80;
	return count;
}

static void pad(struct b_str *out, size_t n)
{
	while (n--)
		b_str_addc(out, ' ');
}

/* Words of `text` from the help column on; `column` is where the line stands now. */
static void add_wrapped(struct b_str *out, const char *text, size_t column)
{
	static const char blank[] = " \t\n";
	bool first = true;

	for (text += strspn(text, blank); *text; text += strspn(text, blank)) {
		size_t len = strcspn(text, blank), wide = columns(text, len);

		/* two blanks at least between the option and its text */
		if (first ? column + 2 > HELP_COLUMN : column + 1 + wide > WIDTH) {
			b_str_addc(out, '\n');
			column = 0;
			first = true;
		}
		if (first) {
			pad(out, HELP_COLUMN - column);
			column = HELP_COLUMN + wide;
		} else {
			b_str_addc(out, ' ');
			column += 1 + wide;
		}
		first = false;
		b_str_addn(out, text, len);
		text += len;
	}
	b_str_addc(out, '\n');
}

static void add_row(const struct b_opt *o, struct b_str *out)
{
	size_t start = out->len;

	if (o->letter)
		b_str_addf(out, "  -%c, --%s", o->letter, o->name);
	else
		b_str_addf(out, "      --%s", o->name);
	if (o->arg)
		b_str_addf(out, " %s", o->arg);
	add_wrapped(out, o->help, columns(out->s + start, out->len - start));
}

/* Whether row i opens its group: the first of it that is shown. */
static bool opens_group(const struct b_opt *table, size_t i)
{
	size_t before;

	for (before = 0; before < i; before++)
		if (table[before].help && same_group(&table[before], &table[i]))
			return false;
	return table[i].help != NULL;
}

void b_opt_help(const struct b_opt *table, size_t n, struct b_str *out)
{
	size_t i, row;

	for (i = 0; i < n; i++) {
		if (!opens_group(table, i))
			continue;
		if (out->len)
			b_str_addc(out, '\n');
		b_str_addf(out, "%s:\n", table[i].group ? table[i].group : "Options");
		for (row = i; row < n; row++)
			if (table[row].help && same_group(&table[row], &table[i]))
				add_row(&table[row], out);
	}
}

/* ---- completions ---- */

/* The kind of a value: words that the placeholder or the row lists, or a file if the placeholder
 * says so. */
enum { IS_FILE = 1, IS_DIR = 2 };

struct value {
	struct b_str words; /* parted by blanks */
	unsigned kind;
};

static unsigned kind_of(const char *word, size_t len)
{
	static const struct {
		const char *name;
		unsigned kind;
	} kinds[] = {{"FILE", IS_FILE},	 {"PATH", IS_FILE}, {"RULE", IS_FILE},
		     {"IMAGE", IS_FILE}, {"GLOB", IS_FILE}, {"DIR", IS_DIR}};

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (strlen(kinds[i].name) == len && memcmp(kinds[i].name, word, len) == 0)
			return kinds[i].kind;
	return 0;
}

static void find_value(const struct b_opt *o, struct value *out)
{
	const char *p = o->values ? o->values : o->arg ? o->arg : "";

	*out = (struct value){.kind = 0};
	while (*p) {
		size_t n = strcspn(p, "|");

		if (isupper((unsigned char)*p))
			out->kind |= kind_of(p, n);
		else
			b_str_addf(&out->words, "%s%.*s", out->words.len ? " " : "", (int)n, p);
		p += n + (p[n] == '|');
	}
}

/* The name of a shell function: sbx-launch -> _sbx_launch. */
static void add_function(const struct b_completion *c, struct b_str *out)
{
	b_str_addc(out, '_');
	for (const char *p = c->program; *p; p++)
		b_str_addc(out, *p == '-' ? '_' : *p);
}

static void add_names(const struct b_opt *o, const char *between, struct b_str *out)
{
	b_str_addf(out, "--%s", o->name);
	if (o->letter)
		b_str_addf(out, "%s-%c", between, o->letter);
}

/* ---- bash ---- */

static void bash_words(const char *words, struct b_str *out)
{
	b_str_addf(out, "mapfile -t COMPREPLY < <(compgen -W '%s' -- \"$cur\")", words);
}

static void bash_value(const struct b_opt *o, struct b_str *out)
{
	struct value v;

	find_value(o, &v);
	b_str_add(out, "\t");
	add_names(o, " | ", out);
	b_str_add(out, ")\n");
	if (v.kind)
		b_str_add(out, "\t\tcompopt -o filenames 2>/dev/null\n");
	b_str_add(out, "\t\tmapfile -t COMPREPLY < <(");
	b_str_addf(out, "compgen%s -W '%s' -- \"$cur\"",
		   v.kind & IS_FILE  ? " -f"
		   : v.kind & IS_DIR ? " -d"
				     : "",
		   b_str_c(&v.words));
	b_str_add(out, ")\n\t\treturn ;;\n");
	b_str_release(&v.words);
}

/* The words after the command are the command's own options. */
static void bash_command(const struct b_completion *c, struct b_str *out)
{
	b_str_add(out,
		  "\tfor ((i = 1; i < COMP_CWORD; i++)); do\n\t\tcase ${COMP_WORDS[i]} in\n\t\t");
	for (size_t i = 0, n = 0; i < c->n; i++) {
		if (!c->table[i].help || !c->table[i].arg)
			continue;
		b_str_add(out, n++ ? " | " : "");
		add_names(&c->table[i], " | ", out);
	}
	b_str_add(out, ")\n\t\t\t[ \"${COMP_WORDS[i + 1]-}\" = = ] && ((i++))\n\t\t\t((i++)) ;;\n"
		       "\t\t--) ((i++)); break ;;\n\t\t-*) ;;\n\t\t*) break ;;\n\t\tesac\n\tdone\n"
		       "\tif ((i < COMP_CWORD)); then\n\t\tcompopt -o filenames 2>/dev/null\n"
		       "\t\tmapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n\t\treturn\n\tfi\n");
}

static void bash(const struct b_completion *c, struct b_str *out)
{
	b_auto(b_str_release) struct b_str names = {0};

	add_function(c, out);
	b_str_add(
		out,
		"()\n{\n\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} i\n"
		"\tCOMPREPLY=()\n"
		"\t# --name=value comes as three words\n"
		"\tif [ \"$cur\" = = ]; then\n\t\tcur=\n"
		"\telif [ \"$prev\" = = ]; then\n\t\tprev=${COMP_WORDS[COMP_CWORD-2]}\n\tfi\n");
	if (c->runs_command)
		bash_command(c, out);
	b_str_add(out, "\tcase $prev in\n");
	for (size_t i = 0; i < c->n; i++)
		if (c->table[i].help && c->table[i].arg)
			bash_value(&c->table[i], out);
	b_str_add(out, "\tesac\n\tcase $cur in\n\t-*)\n\t\t");
	for (size_t i = 0; i < c->n; i++) {
		if (!c->table[i].help)
			continue;
		b_str_add(&names, names.len ? " " : "");
		add_names(&c->table[i], " ", &names);
	}
	bash_words(b_str_c(&names), out);
	b_str_add(out, "\n\t\treturn ;;\n\tesac\n");
	if (c->verbs) {
		b_str_reset(&names);
		for (size_t i = 0; c->verbs[i]; i++)
			b_str_addf(&names, "%s%s", i ? " " : "", c->verbs[i]);
		b_str_add(out, "\tif ((COMP_CWORD == 1)); then\n\t\t");
		bash_words(b_str_c(&names), out);
		b_str_add(out, "\n\t\treturn\n\tfi\n");
	}
	b_str_addf(out,
		   "\tcompopt -o filenames 2>/dev/null\n"
		   "\tmapfile -t COMPREPLY < <(compgen %s -- \"$cur\")\n}\ncomplete -F ",
		   c->runs_command ? "-c" : "-f");
	add_function(c, out);
	b_str_addf(out, " %s\n", c->program);
}

/* ---- zsh ---- */

/* Help inside '...[help]': no quote, bracket or colon may end it. */
static void zsh_help(const char *s, struct b_str *out)
{
	for (; *s; s++)
		if (*s == '\'')
			b_str_add(out, "'\\''");
		else if (strchr("[]:\\", *s))
			b_str_addf(out, "\\%c", *s);
		else
			b_str_addc(out, *s == '\t' || *s == '\n' ? ' ' : *s);
}

static void zsh_option(const struct b_opt *o, struct b_str *out)
{
	struct value v;

	find_value(o, &v);
	b_str_add(out, "\t\t'*'");
	if (o->letter)
		b_str_addf(out, "{-%c%s,--%s%s}", o->letter, o->arg ? "+" : "", o->name,
			   o->arg ? "=" : "");
	else
		b_str_addf(out, "--%s%s", o->name, o->arg ? "=" : "");
	b_str_add(out, "'[");
	zsh_help(o->help, out);
	b_str_addc(out, ']');
	if (o->arg) {
		b_str_addc(out, ':');
		zsh_help(o->arg, out);
		b_str_addc(out, ':');
		if (v.kind && v.words.len)
			b_str_addf(out,
				   "_alternative \"words\\:word\\:(%s)\" \"files\\:file\\:_files\"",
				   v.words.s);
		else if (v.kind)
			b_str_addf(out, "_files%s", v.kind & IS_FILE ? "" : " -/");
		else
			b_str_addf(out, "(%s)", b_str_c(&v.words));
	}
	b_str_add(out, "' \\\n");
	b_str_release(&v.words);
}

static void zsh(const struct b_completion *c, struct b_str *out)
{
	b_str_addf(out, "#compdef %s\n\n", c->program);
	add_function(c, out);
	b_str_addf(out, "()\n{\n\t_arguments -s%s \\\n", c->runs_command ? " -S" : "");
	for (size_t i = 0; i < c->n; i++)
		if (c->table[i].help)
			zsh_option(&c->table[i], out);
	if (c->verbs) {
		b_str_add(out, "\t\t'1:question:(");
		for (size_t i = 0; c->verbs[i]; i++)
			b_str_addf(out, "%s%s", i ? " " : "", c->verbs[i]);
		b_str_add(out, ")' \\\n");
	}
	b_str_addf(out, "\t\t%s\n}\n\n", c->runs_command ? "'*::: :_normal'" : "'*:file:_files'");
	/* Loaded by name from fpath, or sourced. */
	b_str_add(out, "if [ \"$funcstack[1]\" = \"");
	add_function(c, out);
	b_str_add(out, "\" ]; then\n\t");
	add_function(c, out);
	b_str_add(out, " \"$@\"\nelse\n\tcompdef ");
	add_function(c, out);
	b_str_addf(out, " %s\nfi\n", c->program);
}

/* ---- fish ---- */

static void fish_text(const char *s, struct b_str *out)
{
	b_str_addc(out, '\'');
	for (; *s; s++)
		if (*s == '\'' || *s == '\\')
			b_str_addf(out, "\\%c", *s);
		else
			b_str_addc(out, *s == '\t' || *s == '\n' ? ' ' : *s);
	b_str_addc(out, '\'');
}

static void fish(const struct b_completion *c, struct b_str *out)
{
	if (c->verbs) {
		b_str_addf(out, "complete -c %s -n __fish_use_subcommand -f -a '", c->program);
		for (size_t i = 0; c->verbs[i]; i++)
			b_str_addf(out, "%s%s", i ? " " : "", c->verbs[i]);
		b_str_add(out, "'\n");
	}
	if (c->runs_command)
		b_str_addf(out, "complete -c %s -x -a '(__fish_complete_subcommand)'\n",
			   c->program);
	for (size_t i = 0; i < c->n; i++) {
		const struct b_opt *o = &c->table[i];
		struct value v;

		if (!o->help)
			continue;
		find_value(o, &v);
		b_str_addf(out, "complete -c %s -l %s", c->program, o->name);
		if (o->letter)
			b_str_addf(out, " -s %c", o->letter);
		if (o->arg)
			b_str_add(out, v.kind ? " -r -F" : " -x");
		if (v.words.len)
			b_str_addf(out, " -a '%s'", v.words.s);
		b_str_add(out, " -d ");
		fish_text(o->help, out);
		b_str_addc(out, '\n');
		b_str_release(&v.words);
	}
}

void b_complete(const struct b_completion *c, enum b_shell shell, struct b_str *out)
{
	static void (*const writers[])(const struct b_completion *, struct b_str *) = {
		[B_SHELL_BASH] = bash,
		[B_SHELL_ZSH] = zsh,
		[B_SHELL_FISH] = fish,
	};

	writers[shell](c, out);
}
