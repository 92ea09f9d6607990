/* SPDX-License-Identifier: Apache-2.0 */
#include "sbpl/regex.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"

enum op { OP_BYTE, OP_ANY, OP_CLASS, OP_SPLIT, OP_JUMP, OP_END, OP_MATCH };

/* Jumps are relative, so that `{n}` may copy the code of its atom. */
struct inst {
	unsigned char op, byte;
	unsigned short class;
	int x, y;
};

struct class
{
	uint64_t bits[4];
};

#define NEEDLE_MAX 256

struct sbpl_regex {
	struct inst *code;
	int n;
	struct class *classes;
	bool anchored;
	/* Folded text that every match begins with, and that every match has somewhere. */
	char prefix[NEEDLE_MAX], needle[NEEDLE_MAX];
	size_t prefix_len, needle_len;
	uint64_t pairs[4]; /* of the needle */
};

struct parser {
	const unsigned char *p, *end;
	struct inst *code; /* SBPL_REGEX_STATES of them */
	int n;
	struct class *classes;
	unsigned nclasses;
	unsigned depth;
	/* The run of single characters being read at the top level, and the longest so far. */
	char run[NEEDLE_MAX], best[NEEDLE_MAX], prefix[NEEDLE_MAX];
	size_t run_len, best_len, prefix_len;
	bool at_start;	 /* behind ^, nothing but the run so far */
	bool has_choice; /* a `|` outside groups: nothing is in every match */
	struct b_err *err;
};

static void add_pairs(uint64_t pairs[4], const char *s, size_t len)
{
	for (size_t i = 1; i < len; i++) {
		unsigned h = (unsigned char)s[i - 1] * 31u + (unsigned char)s[i] * 7u;

		pairs[h / 64 % 4] |= UINT64_C(1) << h % 64;
	}
}

void sbpl_subject_init(struct sbpl_subject *out, const char *s, const char *lower, size_t len)
{
	*out = (struct sbpl_subject){.s = s, .lower = lower, .len = len};
	add_pairs(out->pairs, lower, len);
}

static int complain(struct parser *p, const char *what)
{
	return b_fail(p->err, B_FORMAT, 0, "regex: %s", what);
}

static int put(struct parser *p, struct inst inst)
{
	if (p->n == SBPL_REGEX_STATES)
		return b_fail(p->err, B_LIMIT, 0, "regex: more than %d states", SBPL_REGEX_STATES);
	p->code[p->n++] = inst;
	return 0;
}

/* Room for one instruction at `at`; what follows moves up, its relative jumps stay true. */
static int insert(struct parser *p, int at, struct inst inst)
{
	if (put(p, inst) < 0)
		return -1;
	memmove(p->code + at + 1, p->code + at, (size_t)(p->n - 1 - at) * sizeof *p->code);
	p->code[at] = inst;
	return 0;
}

static void end_run(struct parser *p)
{
	if (p->at_start) {
		memcpy(p->prefix, p->run, p->run_len);
		p->prefix_len = p->run_len;
		p->at_start = false;
	} else if (p->run_len > p->best_len) {
		memcpy(p->best, p->run, p->run_len);
		p->best_len = p->run_len;
	}
	p->run_len = 0;
}

static char fold(unsigned char c)
{
	return (char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
}

static void add_to_run(struct parser *p, unsigned char c)
{
	if (p->depth > 0)
		return;
	if (p->run_len == NEEDLE_MAX)
		end_run(p);
	p->run[p->run_len++] = fold(c);
}

static void set_range(struct class *c, unsigned first, unsigned last)
{
	for (unsigned b = first; b <= last; b++)
		c->bits[b / 64] |= UINT64_C(1) << b % 64;
}

static bool in_class(const struct class *c, unsigned char b)
{
	return c->bits[b / 64] >> b % 64 & 1;
}

/* `\w`, `\d`, `\s` outside and inside classes; false: an escaped literal. */
static bool named_class(unsigned char c, struct class *out)
{
	switch (c) {
	case 'w':
		set_range(out, '0', '9');
		set_range(out, 'A', 'Z');
		set_range(out, 'a', 'z');
		set_range(out, '_', '_');
		return true;
	case 'd':
		set_range(out, '0', '9');
		return true;
	case 's':
		set_range(out, '\t', '\r');
		set_range(out, ' ', ' ');
		return true;
	default:
		return false;
	}
}

static int put_class(struct parser *p, const struct class *c)
{
	if (p->nclasses == USHRT_MAX)
		return complain(p, "too many classes");
	p->classes[p->nclasses] = *c;
	return put(p, (struct inst){.op = OP_CLASS, .class = (unsigned short)p->nclasses++});
}

/* The single letter a class of both its cases stands for, or 0. */
static unsigned char folded_letter(const struct class *c)
{
	for (unsigned b = 'A'; b <= 'Z'; b++) {
		struct class both = {{0}};

		set_range(&both, b, b);
		set_range(&both, b + 32, b + 32);
		if (memcmp(&both, c, sizeof both) == 0)
			return (unsigned char)b;
	}
	return 0;
}

static int class_member(struct parser *p, struct class *c)
{
	unsigned first = *p->p++, last;

	if (first == '\\' && p->p < p->end) {
		first = *p->p++;
		if (named_class((unsigned char)first, c))
			return 0;
	}
	last = first;
	if (p->end - p->p >= 2 && p->p[0] == '-' && p->p[1] != ']') {
		p->p++;
		if (*p->p == '\\' && p->end - p->p >= 2)
			p->p++;
		last = *p->p++;
		if (last < first)
			return complain(p, "a class range runs backwards");
	}
	set_range(c, first, last);
	return 0;
}

static int parse_class(struct parser *p)
{
	struct class c = {{0}};
	bool negated = p->p < p->end && *p->p == '^';
	unsigned ranges = 0;
	unsigned char letter;

	p->p += negated;
	do {
		if (p->p == p->end)
			return complain(p, "a class without its ]");
		if (++ranges > SBPL_REGEX_RANGES)
			return complain(p, "a class of more than 15 ranges");
		if (class_member(p, &c) < 0)
			return -1;
	} while (p->p < p->end && *p->p != ']');
	if (p->p == p->end)
		return complain(p, "a class without its ]");
	p->p++;
	if (negated)
		for (int i = 0; i < 4; i++)
			c.bits[i] = ~c.bits[i];
	letter = folded_letter(&c);
	if (letter)
		add_to_run(p, letter);
	else if (p->depth == 0)
		end_run(p);
	return put_class(p, &c);
}

static int parse_choice(struct parser *p);

static int parse_group(struct parser *p)
{
	if (p->end - p->p >= 1 && *p->p == '?') {
		if (p->end - p->p < 2 || p->p[1] != ':')
			return complain(p, "only (?: is taken of the (? forms");
		p->p += 2;
	}
	if (p->depth == 0)
		end_run(p);
	if (++p->depth > SBPL_REGEX_DEPTH)
		return b_fail(p->err, B_LIMIT, 0, "regex: groups nested too deep");
	if (parse_choice(p) < 0)
		return -1;
	p->depth--;
	if (p->p == p->end)
		return complain(p, "a group without its )");
	p->p++;
	return 0;
}

static int parse_escape(struct parser *p)
{
	struct class c = {{0}};
	unsigned char byte;

	if (p->p == p->end)
		return complain(p, "a backslash at the end");
	byte = *p->p++;
	if (named_class(byte, &c)) {
		if (p->depth == 0)
			end_run(p);
		return put_class(p, &c);
	}
	if ((byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
	    (byte >= '0' && byte <= '9'))
		return complain(p, "an unknown escape");
	add_to_run(p, byte);
	return put(p, (struct inst){.op = OP_BYTE, .byte = byte});
}

static int parse_atom(struct parser *p)
{
	unsigned char c = *p->p++;

	switch (c) {
	case '(':
		return parse_group(p);
	case '[':
		return parse_class(p);
	case '\\':
		return parse_escape(p);
	case '.':
		if (p->depth == 0)
			end_run(p);
		return put(p, (struct inst){.op = OP_ANY});
	case '$':
		return put(p, (struct inst){.op = OP_END});
	case '^':
		return complain(p, "unexpected ^ operator in middle of expression");
	case '*':
	case '+':
	case '?':
	case '{':
		return complain(p, "nothing to repeat");
	default:
		add_to_run(p, c);
		return put(p, (struct inst){.op = OP_BYTE, .byte = c});
	}
}

static int repeat_exactly(struct parser *p, int start)
{
	int size = p->n - start;
	unsigned count = 0, digits = 0;

	while (p->p < p->end && *p->p >= '0' && *p->p <= '9' && digits++ < 3)
		count = count * 10 + (*p->p++ - '0');
	if (digits == 0 || count == 0 || count > 255 || p->p == p->end || *p->p != '}')
		return complain(p, "only {n} with n from 1 to 255 is taken");
	p->p++;
	for (unsigned i = 1; i < count; i++)
		for (int k = 0; k < size; k++)
			if (put(p, p->code[start + k]) < 0)
				return -1;
	return 0;
}

/* The operator behind the atom whose code begins at `start`. */
static int parse_repeat(struct parser *p, int start)
{
	unsigned char c = *p->p++;
	int size = p->n - start;

	/* The last character of the run may be absent or doubled: no longer a fixed text. */
	if (p->depth == 0) {
		if (p->run_len > 0)
			p->run_len--;
		end_run(p);
	}
	switch (c) {
	case '*':
		if (insert(p, start, (struct inst){.op = OP_SPLIT, .x = 1, .y = size + 2}) < 0)
			return -1;
		return put(p, (struct inst){.op = OP_JUMP, .x = -(size + 1)});
	case '+':
		return put(p, (struct inst){.op = OP_SPLIT, .x = -size, .y = 1});
	case '?':
		return insert(p, start, (struct inst){.op = OP_SPLIT, .x = 1, .y = size + 1});
	default:
		return repeat_exactly(p, start);
	}
}

static bool at_repeat(const struct parser *p)
{
	return p->p < p->end && *p->p && strchr("*+?{", *p->p);
}

static int parse_sequence(struct parser *p)
{
	while (p->p < p->end && *p->p != '|' && *p->p != ')') {
		int start = p->n;

		if (parse_atom(p) < 0)
			return -1;
		if (at_repeat(p) && parse_repeat(p, start) < 0)
			return -1;
		if (at_repeat(p))
			return complain(p, "two repetitions in a row");
	}
	return 0;
}

/* a|b|c: SPLIT a, JUMP over the rest, SPLIT b ... The jumps over are patched at the end by
 * walking the alternatives from the last to the first. */
static int parse_choice(struct parser *p)
{
	int start = p->n;

	if (parse_sequence(p) < 0)
		return -1;
	while (p->p < p->end && *p->p == '|') {
		int size = p->n - start, jump;

		p->p++;
		if (p->depth == 0)
			p->has_choice = true;
		/* All read so far becomes the first alternative of this one. */
		if (insert(p, start, (struct inst){.op = OP_SPLIT, .x = 1, .y = size + 2}) < 0)
			return -1;
		jump = p->n;
		if (put(p, (struct inst){.op = OP_JUMP}) < 0 || parse_sequence(p) < 0)
			return -1;
		p->code[jump].x = p->n - jump;
	}
	return 0;
}

static int parse_all(struct parser *p, bool *out_anchored)
{
	*out_anchored = p->p < p->end && *p->p == '^';
	p->p += *out_anchored;
	p->at_start = *out_anchored;
	if (parse_choice(p) < 0)
		return -1;
	if (p->p < p->end)
		return complain(p, "a ) without its (");
	if (*out_anchored && p->has_choice)
		return complain(p, "^ before a top-level |");
	end_run(p);
	return put(p, (struct inst){.op = OP_MATCH});
}

struct sbpl_regex *sbpl_regex_new(struct b_arena *a, const char *text, size_t len,
				  struct b_err *err)
{
	b_auto_free struct inst *code = b_malloc(SBPL_REGEX_STATES * sizeof *code);
	struct b_arena scratch = {0};
	struct parser p = {.p = (const unsigned char *)text, .code = code, .err = err};
	struct sbpl_regex *re = NULL;
	bool anchored;

	if (len == 0) {
		b_fail(err, B_FORMAT, 0, "regex: empty");
		return NULL;
	}
	p.end = p.p + len;
	/* A class takes at least two bytes, `\w` and `[` among them. */
	p.classes = b_arena_alloc(&scratch, (len / 2 + 1) * sizeof *p.classes);
	if (parse_all(&p, &anchored) == 0) {
		re = b_arena_alloc(a, sizeof *re);
		re->anchored = anchored;
		re->n = p.n;
		re->code = b_arena_alloc(a, (size_t)p.n * sizeof *re->code);
		memcpy(re->code, p.code, (size_t)p.n * sizeof *re->code);
		re->classes = b_arena_alloc(a, (p.nclasses + 1) * sizeof *re->classes);
		memcpy(re->classes, p.classes, p.nclasses * sizeof *re->classes);
		if (!p.has_choice) {
			memcpy(re->needle, p.best, sizeof re->needle);
			re->needle_len = p.best_len;
			memcpy(re->prefix, p.prefix, sizeof re->prefix);
			re->prefix_len = p.prefix_len;
			add_pairs(re->pairs, re->needle, re->needle_len);
		}
	}
	b_arena_release(&scratch);
	return re;
}

size_t sbpl_regex_size(const struct sbpl_regex *re)
{
	return sizeof *re + (size_t)re->n * sizeof *re->code;
}

struct sbpl_scratch {
	unsigned mark[SBPL_REGEX_STATES], stamp;
	unsigned short list[2][SBPL_REGEX_STATES], stack[SBPL_REGEX_STATES];
};

struct sbpl_scratch *sbpl_scratch_new(void)
{
	return b_calloc(1, sizeof(struct sbpl_scratch));
}

void sbpl_scratch_free(struct sbpl_scratch *scratch)
{
	free(scratch);
}

/* A set of states in the order they were met, each once: `mark[pc] == stamp` says it is in. */
struct threads {
	unsigned *mark;
	unsigned stamp;
	unsigned short *pc;
	int n;
};

/* Adds pc and all that it leads to without a byte. True: MATCH is among them. */
static bool follow(const struct sbpl_regex *re, struct threads *t, unsigned short *stack, int pc,
		   bool at_end)
{
	bool matched = false;
	int depth = 0;

	stack[depth++] = (unsigned short)pc;
	t->mark[pc] = t->stamp;
	while (depth > 0) {
		int at = stack[--depth], next[2], n = 0;
		const struct inst *i = &re->code[at];

		if (i->op == OP_SPLIT) {
			next[n++] = at + i->x;
			next[n++] = at + i->y;
		} else if (i->op == OP_JUMP) {
			next[n++] = at + i->x;
		} else if (i->op == OP_END) {
			if (at_end)
				next[n++] = at + 1;
		} else if (i->op == OP_MATCH) {
			matched = true;
		} else {
			t->pc[t->n++] = (unsigned short)at;
		}
		while (n-- > 0) {
			if (t->mark[next[n]] == t->stamp)
				continue;
			t->mark[next[n]] = t->stamp;
			stack[depth++] = (unsigned short)next[n];
		}
	}
	return matched;
}

static bool takes(const struct sbpl_regex *re, const struct inst *i, unsigned char c)
{
	return i->op == OP_ANY || (i->op == OP_BYTE && i->byte == c) ||
	       (i->op == OP_CLASS && in_class(&re->classes[i->class], c));
}

/* Cheap tests that most expressions fail, before any state is followed. */
static bool may_match(const struct sbpl_regex *re, const struct sbpl_subject *q)
{
	for (int i = 0; i < 4; i++)
		if (re->pairs[i] & ~q->pairs[i])
			return false;
	if (q->len < re->prefix_len || memcmp(q->lower, re->prefix, re->prefix_len) != 0)
		return false;
	return re->needle_len == 0 || memmem(q->lower, q->len, re->needle, re->needle_len);
}

bool sbpl_regex_match(const struct sbpl_regex *re, struct sbpl_scratch *w,
		      const struct sbpl_subject *q)
{
	struct threads now = {.mark = w->mark, .pc = w->list[0]};
	struct threads next = {.mark = w->mark, .pc = w->list[1]};

	if (!may_match(re, q))
		return false;
	if (w->stamp > UINT_MAX / 2) {
		memset(w->mark, 0, sizeof w->mark);
		w->stamp = 0;
	}
	now.stamp = ++w->stamp;
	if (follow(re, &now, w->stack, 0, q->len == 0))
		return true;
	for (size_t i = 0; i < q->len; i++) {
		struct threads spare = now;
		bool at_end = i + 1 == q->len;

		next.stamp = ++w->stamp;
		next.n = 0;
		for (int k = 0; k < now.n; k++) {
			int pc = now.pc[k] + 1;

			if (takes(re, &re->code[now.pc[k]], (unsigned char)q->s[i]) &&
			    next.mark[pc] != next.stamp && follow(re, &next, w->stack, pc, at_end))
				return true;
		}
		if (!re->anchored && next.mark[0] != next.stamp &&
		    follow(re, &next, w->stack, 0, at_end))
			return true;
		if (next.n == 0 && re->anchored)
			return false;
		now = next;
		next = spare;
	}
	return false;
}
