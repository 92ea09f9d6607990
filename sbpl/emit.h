/* emit.h - the profile under construction. Private to sbpl/. */
#pragma once

#include "base/err.h"
#include "base/str.h"
#include "core/decide.h"
#include "policy/ruleset.h"
#include "sbpl/sbpl.h"

#define SBPL_MAX_PIECE	200	   /* bytes of one string literal: stock TinyScheme stops at 256 */
#define SBPL_MAX_FORM	(8u << 10) /* bytes of a form of many filters; trouble near 16 KiB */
#define SBPL_WARN_RULES 1000	   /* a profile past this many costs seconds to load */

/* A deny beyond the rules: the same glob in another writable tree. */
struct sbpl_widened {
	enum sbx_op op;
	struct pol_rule rule;
};

struct sbpl_emit {
	const struct pol_ruleset *rs; /* bases as macOS spells them */
	struct pol_list writes;	      /* the main layer's, borrowed */
	const struct sbx_image *img;
	const struct sbpl_opts *o;
	struct sbpl_profile *prof; /* arena, notes, params */
	struct b_str out;
	size_t nrules;
	size_t params_cap, notes_cap;
	unsigned *param_table; /* open addressing by value: index + 1 */
	size_t param_slots;
	struct sbpl_widened *widened;
	size_t nwidened, widened_cap;
	struct b_err *err;
};

/* text.c */
void sbpl_put_string(struct b_str *, const char *s, size_t len); /* ASCII, in pieces if long */
void sbpl_put_comment(struct b_str *, const char *s); /* " ; s" and the end of the line */
const char *sbpl_param_for(struct sbpl_emit *, const char *value); /* its name */
void sbpl_note(struct sbpl_emit *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

extern const char sbpl_char_define[]; /* defines sbx-char */

/* A regex being written: control bytes cannot occur in it, so 1 stands for `sbx-char`. */
#define SBPL_RE_CHAR '\1'
void sbpl_re_literal(struct b_str *, const char *s, size_t len, bool fold);
/* The pieces of a glob, a trailing slash-star-star included when `is_whole`. */
void sbpl_re_glob(struct b_str *, const char *glob, size_t len, bool is_whole, bool fold);
/* (regex "^base/tail$"). */
void sbpl_put_regex(struct sbpl_emit *, struct b_str *, const char *base, size_t base_len,
		    const struct b_str *tail);
/* (subpath "...") or (literal "..."). */
void sbpl_put_path(struct sbpl_emit *, struct b_str *, const char *kind, const char *path,
		   size_t len);
/* One filter that says what the rule says. `fold`: both cases in the glob. */
void sbpl_put_rule_filter(struct sbpl_emit *, struct b_str *, const struct pol_rule *, bool fold);
/* The same, its path as it stands. */
void sbpl_put_plain_filter(struct b_str *, const struct pol_rule *);

/* emit.c: counts rules. */
int sbpl_count_rules(struct sbpl_emit *, size_t n, const char *origin);
/* "; == title ==" */
void sbpl_put_title(struct sbpl_emit *, const char *title);

/* layers.c */
struct pol_list sbpl_layer_at(const struct pol_list *, size_t first); /* borrowed */
struct pol_list sbpl_main_layer(const struct pol_list *);
/* What the other layers deny, a filter each. -1 of `give` ends it. */
typedef int sbpl_denial(void *ctx, const struct b_str *filter, const struct pol_rule *);
int sbpl_each_denial(struct sbpl_emit *, enum sbx_op, sbpl_denial *give, void *ctx);
/* Behind the block of the operation: what the other layers deny. */
int sbpl_put_layers(struct sbpl_emit *, enum sbx_op, const char *operations);

/* clone.c: the block of file-clone. */
int sbpl_put_clones(struct sbpl_emit *);

/* opts.c: services that a document names. */
int sbpl_put_extra(struct sbpl_emit *);
/* opts.c: what the groups open beyond the rules. */
void sbpl_note_groups(struct sbpl_emit *);

/* pins.c: everything `r` speaks of is also spoken of by `by`. */
bool sbpl_is_covered(const struct pol_rule *r, const struct pol_rule *by);
/* What must stand behind the ordered blocks. */
void sbpl_find_widened(struct sbpl_emit *);
int sbpl_put_pins(struct sbpl_emit *);

/* orbit.c */
int sbpl_put_orbit(struct sbpl_emit *);

/* check.c: the finished text against core/decide. */
int sbpl_self_check(struct sbpl_emit *);

/* canon.c: the rules as the kernel of macOS spells paths, and those of `groups`, added to `out`.
 * True: some differ. */
bool sbpl_canonical(const struct pol_ruleset *, unsigned groups, struct pol_ruleset *out);
