/* SPDX-License-Identifier: Apache-2.0 */
/* text.c - strings, parameters, regular expressions and filters as profile text. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "policy/compile/ruleset.h"
#include "sbpl/emit.h"
#include "base/mem.h"

/* One UTF-8 character that is no slash, in the bytes of well-formed sequences: names on APFS are
 * always well-formed. The text of a define that a profile with a `?` carries. */
#define CHAR                                                                                       \
	"(string-append \"([^/\\x80-\\xff]|[\\xc2-\\xdf][\\x80-\\xbf]\"\n"                         \
	"  "                                                                                       \
	"\"|\\xe0[\\xa0-\\xbf][\\x80-\\xbf]|[\\xe1-\\xec\\xee\\xef][\\x80-\\xbf][\\x80-\\xbf]\"\n" \
	"  \"|\\xed[\\x80-\\x9f][\\x80-\\xbf]|\\xf0[\\x90-\\xbf][\\x80-\\xbf][\\x80-\\xbf]\"\n"    \
	"  \"|[\\xf1-\\xf3][\\x80-\\xbf][\\x80-\\xbf][\\x80-\\xbf]\"\n"                            \
	"  \"|\\xf4[\\x80-\\x8f][\\x80-\\xbf][\\x80-\\xbf])\")"

const char sbpl_char_define[] = "; one character of a name, and a path of such names\n"
				"(define sbx-char " CHAR ")\n"
				"(define sbx-text (string-append \"^(/|\" sbx-char \")*$\"))\n";

static void put_byte(struct b_str *out, unsigned char c)
{
	if (c == '"' || c == '\\')
		b_str_addf(out, "\\%c", c);
	else if (c < ' ' || c > '~')
		b_str_addf(out, "\\x%02x", c);
	else
		b_str_addc(out, (char)c);
}

static void put_piece(struct b_str *out, const char *s, size_t len)
{
	b_str_addc(out, '"');
	for (size_t i = 0; i < len; i++)
		put_byte(out, (unsigned char)s[i]);
	b_str_addc(out, '"');
}

/* Bytes of s that make the next literal: up to a marker or the limit. */
static size_t piece_len(const char *s, size_t len)
{
	size_t n = 0;

	while (n < len && n < SBPL_MAX_PIECE && s[n] != SBPL_RE_CHAR)
		n++;
	return n;
}

static void put_pieces(struct b_str *out, const char *s, size_t len)
{
	while (len > 0) {
		size_t n = s[0] == SBPL_RE_CHAR ? 1 : piece_len(s, len);

		b_str_addc(out, ' ');
		if (s[0] == SBPL_RE_CHAR)
			b_str_add(out, "sbx-char");
		else
			put_piece(out, s, n);
		s += n;
		len -= n;
	}
}

void sbpl_put_string(struct b_str *out, const char *s, size_t len)
{
	if (piece_len(s, len) == len) {
		put_piece(out, s, len);
		return;
	}
	b_str_add(out, "(string-append");
	put_pieces(out, s, len);
	b_str_addc(out, ')');
}

/* ASCII, one line: a byte past it in a comment has crashed sandbox-exec. */
void sbpl_put_comment(struct b_str *out, const char *s)
{
	b_str_add(out, " ; ");
	for (; *s; s++)
		if ((unsigned char)*s < ' ' || (unsigned char)*s > '~')
			b_str_addf(out, "\\x%02x", (unsigned char)*s);
		else
			b_str_addc(out, *s);
	b_str_addc(out, '\n');
}

void sbpl_note(struct sbpl_emit *e, const char *fmt, ...)
{
	struct sbpl_profile *prof = e->prof;
	b_auto(b_str_release) struct b_str s = {0};
	va_list ap;

	va_start(ap, fmt);
	b_str_addfv(&s, fmt, ap);
	va_end(ap);
	if (prof->nnotes == e->notes_cap) {
		size_t cap = e->notes_cap ? 2 * e->notes_cap : 8;
		const char **v = b_arena_alloc(&prof->arena, cap * sizeof *v);

		if (prof->nnotes)
			memcpy(v, prof->notes, prof->nnotes * sizeof *v);
		prof->notes = v;
		e->notes_cap = cap;
	}
	prof->notes[prof->nnotes++] = b_arena_strndup(&prof->arena, b_str_c(&s), s.len);
}

static size_t hash(const char *s)
{
	size_t h = 5381;

	for (; *s; s++)
		h = h * 33 + (unsigned char)*s;
	return h;
}

static size_t slot_of(const struct sbpl_emit *e, const char *value)
{
	size_t i = hash(value) & (e->param_slots - 1);

	while (e->param_table[i] &&
	       strcmp(e->prof->params[e->param_table[i] - 1].value, value) != 0)
		i = (i + 1) & (e->param_slots - 1);
	return i;
}

static void grow_params(struct sbpl_emit *e)
{
	struct sbpl_profile *prof = e->prof;
	size_t cap = e->params_cap ? 2 * e->params_cap : 64;
	struct sbpl_param *v = b_arena_alloc(&prof->arena, cap * sizeof *v);

	if (prof->nparams)
		memcpy(v, prof->params, prof->nparams * sizeof *v);
	prof->params = v;
	e->params_cap = cap;
	e->param_slots = 2 * cap;
	e->param_table = b_arena_alloc(&prof->arena, e->param_slots * sizeof *e->param_table);
	for (size_t i = 0; i < prof->nparams; i++)
		e->param_table[slot_of(e, v[i].value)] = (unsigned)i + 1;
}

const char *sbpl_param_for(struct sbpl_emit *e, const char *value)
{
	struct sbpl_profile *prof = e->prof;
	struct sbpl_param *p;
	size_t slot;

	if (prof->nparams == e->params_cap)
		grow_params(e);
	slot = slot_of(e, value);
	if (e->param_table[slot])
		return prof->params[e->param_table[slot] - 1].name;
	p = &prof->params[prof->nparams];
	p->name = b_arena_printf(&prof->arena, "P%zu", prof->nparams);
	p->value = b_arena_strndup(&prof->arena, value, strlen(value));
	e->param_table[slot] = (unsigned)++prof->nparams;
	return p->name;
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

void sbpl_re_literal(struct b_str *out, const char *s, size_t len, bool fold)
{
	for (size_t i = 0; i < len; i++) {
		if (fold && is_letter(s[i])) {
			b_str_addf(out, "[%c%c]", s[i] & ~0x20, s[i] | 0x20);
			continue;
		}
		if (strchr("\\^$.[]|()*+?{}", s[i]))
			b_str_addc(out, '\\');
		b_str_addc(out, s[i]);
	}
}

void sbpl_re_glob(struct b_str *out, const char *glob, size_t len, bool is_whole, bool fold)
{
	bool covers = is_whole && len >= 3 && memcmp(glob + len - 3, "/**", 3) == 0;
	const char *p = glob, *end = glob + len - (covers ? 3 : 0);

	while (p < end) {
		if (end - p >= 3 && memcmp(p, "**/", 3) == 0) {
			/* Several in a row mean what one does. */
			while (end - p >= 3 && memcmp(p, "**/", 3) == 0)
				p += 3;
			b_str_add(out, "(.*/)?");
		} else if (end - p >= 2 && memcmp(p, "**", 2) == 0) {
			b_str_add(out, ".*");
			p += 2;
		} else if (*p == '*') {
			b_str_add(out, "[^/]*");
			p++;
		} else if (*p == '?') {
			b_str_addc(out, SBPL_RE_CHAR);
			p++;
		} else {
			sbpl_re_literal(out, p++, 1, fold);
		}
	}
	if (covers)
		b_str_add(out, "(/.*)?");
}

/* Paths of the system read better where they stand; a user's go in as parameters, which need no
 * escaping and may hold any byte. */
static bool is_plain(const char *s, size_t len)
{
	static const char *const roots[] = {"/System",
					    "/usr",
					    "/bin",
					    "/sbin",
					    "/dev",
					    "/Library",
					    "/private/etc",
					    "/private/var/db",
					    "/private/var/select",
					    "/opt",
					    "/nix",
					    "/Applications",
					    "/tmp",
					    "/var",
					    "/etc"};
	size_t i = 0;

	for (size_t k = 0; k < len; k++)
		if (!is_letter(s[k]) && !(s[k] >= '-' && s[k] <= '9') && s[k] != '_')
			return false;
	for (; i < sizeof roots / sizeof *roots; i++)
		if (strncmp(s, roots[i], strlen(roots[i])) == 0)
			return len <= SBPL_MAX_PIECE;
	return len <= 1;
}

static void put_value(struct sbpl_emit *e, struct b_str *out, const char *s, size_t len)
{
	b_auto(b_str_release) struct b_str value = {0};

	if (e->o->inline_paths || is_plain(s, len)) {
		sbpl_put_string(out, s, len);
		return;
	}
	b_str_addn(&value, s, len);
	b_str_addf(out, "(param \"%s\")", sbpl_param_for(e, b_str_c(&value)));
}

void sbpl_put_path(struct sbpl_emit *e, struct b_str *out, const char *kind, const char *path,
		   size_t len)
{
	b_str_addf(out, "(%s ", kind);
	put_value(e, out, len ? path : "/", len ? len : 1);
	b_str_addc(out, ')');
}

void sbpl_put_regex(struct sbpl_emit *e, struct b_str *out, const char *base, size_t base_len,
		    const struct b_str *tail)
{
	b_auto(b_str_release) struct b_str re = {0}, head = {0};

	sbpl_re_literal(&head, base, base_len, false);
	if (e->o->inline_paths || is_plain(base, base_len)) {
		b_str_addf(&re, "^%s/", b_str_c(&head));
		b_str_addn(&re, b_str_c(tail), tail->len);
		b_str_addc(&re, '$');
		b_str_add(out, "(regex ");
		sbpl_put_string(out, re.s, re.len);
		b_str_addc(out, ')');
		return;
	}
	b_str_addf(out, "(regex (string-append \"^\" (param \"%s\")",
		   sbpl_param_for(e, b_str_c(&head)));
	b_str_addc(&re, '/');
	b_str_addn(&re, b_str_c(tail), tail->len);
	b_str_addc(&re, '$');
	put_pieces(out, re.s, re.len);
	b_str_add(out, "))");
}

static void put_glob(struct sbpl_emit *e, struct b_str *out, const struct pol_rule *r, bool fold)
{
	b_auto(b_str_release) struct b_str tail = {0};
	bool empty_too = pol_glob_match(r->glob, "", 0);
	/* The pattern could match "/" itself, or, with the base, name the base as well. */
	bool not_root = r->base_len == 0 && empty_too && !r->base_is_root;
	bool base_too = r->base_len > 0 && empty_too && r->base_is_root;

	if (strcmp(r->glob, ".") == 0) { /* the base, or nothing at all */
		if (r->base_is_root)
			sbpl_put_path(e, out, "literal", r->base, r->base_len);
		else
			b_str_add(out, "(require-not (subpath \"/\"))");
		return;
	}
	sbpl_re_glob(&tail, r->glob, strlen(r->glob), true, fold);
	if (strcmp(r->glob, "/**") == 0) {
		b_str_reset(&tail);
		b_str_add(&tail, ".*");
	}
	if (not_root)
		b_str_add(out, "(require-all ");
	if (base_too)
		b_str_add(out, "(require-any ");
	sbpl_put_regex(e, out, r->base, r->base_len, &tail);
	if (not_root)
		b_str_add(out, " (require-not (literal \"/\")))");
	if (base_too) {
		b_str_addc(out, ' ');
		sbpl_put_path(e, out, "literal", r->base, r->base_len);
		b_str_addc(out, ')');
	}
}

/* A byte of no sequence is one character, too, which no expression can tell from a part of one. So
 * in a path that is no text a deny takes any byte for one: more than the rule, never less. */
static void put_bytes(struct sbpl_emit *e, struct b_str *out, const struct pol_rule *r)
{
	b_auto(b_str_release) struct b_str tail = {0}, bytes = {0};

	sbpl_re_glob(&tail, r->glob, strlen(r->glob), true, !e->o->exact_case);
	for (size_t i = 0; i < tail.len; i++)
		if (tail.s[i] == SBPL_RE_CHAR)
			b_str_addf(&bytes, "(%c|[^/])", SBPL_RE_CHAR);
		else
			b_str_addc(&bytes, tail.s[i]);
	b_str_add(out, "(require-all ");
	sbpl_put_regex(e, out, r->base, r->base_len, &bytes);
	b_str_add(out, " (require-not (regex sbx-text)))");
}

void sbpl_put_rule_filter(struct sbpl_emit *e, struct b_str *out, const struct pol_rule *r,
			  bool fold)
{
	bool loose = fold && r->shape == POL_GLOB && strchr(r->glob, '?');

	if (r->shape != POL_GLOB) {
		sbpl_put_path(e, out, r->shape == POL_TREE ? "subpath" : "literal", r->base,
			      r->base_len);
		return;
	}
	if (loose)
		b_str_add(out, "(require-any ");
	put_glob(e, out, r, r->folds || (fold && !e->o->exact_case));
	if (loose) {
		b_str_addc(out, ' ');
		put_bytes(e, out, r);
		b_str_addc(out, ')');
	}
}

void sbpl_put_plain_filter(struct b_str *out, const struct pol_rule *r)
{
	const struct sbpl_opts o = {.inline_paths = true};
	struct sbpl_emit e = {.o = &o};

	sbpl_put_rule_filter(&e, out, r, false);
}
