/* SPDX-License-Identifier: Apache-2.0 */
/* build.h - the rules of a run on this host, step by step. Private to policy/. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "policy/document/model.h"
#include "policy/compile/ruleset.h"
#include "policy/document/request.h"
#include "policy/rules/workspace.h"

struct b_arena;
struct pol_layer;
struct pol_layers;
struct pol_mounted;
struct pol_move;
struct reached_list;

/*
 * The parts of pol_engine_new(): each appends its rules to one ruleset, in the order of
 * engine.h. Internal to policy/.
 */

/* Whether a rule whose literal prefix passes through a symlink gets a twin with the real path. */
enum pol_twin {
	POL_TWIN_NONE,	 /* the system's own spelling is meant (/dev/fd) */
	POL_TWIN_ALWAYS, /* written by the user of this host: the link is followed anywhere */
	/* A rule of a document speaks of the workspace only: an allow is not followed out of it, or
	 * a link that a project (or an earlier run) planted would open the rest of the host. */
	POL_TWIN_WORKSPACE,
	/* The user's: followed, but along a link that an earlier run may have planted into the
	 * workspaces alone. */
	POL_TWIN_USERS
};

struct pol_notices {
	const char **v; /* arena of the ruleset */
	size_t n, cap;
};

struct pol_build {
	struct pol_ruleset *rs; /* its arena holds everything */
	const struct pol_request *rq;
	struct pol_layers *layers;
	const struct pol_layer *at; /* the layer that is being built, NULL = the main one */
	bool has_sockets;	    /* the main one opens some */
	bool opens_network;	    /* the main one leaves it open: no rules on endpoints */
	struct pol_notices notices, losses;
	struct b_err late;	   /* the first failure in a call that cannot report one */
	struct pol_opened *opened; /* arena */
	size_t nopened;
	const char *led_head;	  /* of the last rule of which pol_build_is_led_away() has spoken */
	const char *const *homes; /* canonical, as the workspaces are */
	size_t nhomes;
	struct pol_move *moves; /* moved.c; `has_moves`: they have been looked up */
	bool has_moves;
	struct pol_names names;	    /* in homes and workspaces */
	struct reached_list *leads; /* obeyed_links.c; NULL = not asked for yet */
	/* The mounts of this process, read for the first denial; whether any two show the same
	 * files. */
	struct pol_mounted *mounts;
	size_t nmounts;
	bool has_mounts, mounts_meet;
	bool hides; /* the base rows being added close the launcher's own directories */
	size_t tmp_at[SBX_OP_COUNT];	/* behind the rule that opens /tmp (own_tmp.c) */
	size_t own_rules[SBX_OP_COUNT]; /* rules of each list that are not an outer run's */
	size_t exception_work;		/* done so far */
	/* For each workspace: git's common directory, NULL = inside or none; its own git directory.
	 */
	const char **common_dirs, **own_dirs;
	/* The git directory that a workspace is, or has elsewhere in a workspace; the workspace
	 * itself where it is none. NULL in the arrays as above; the arrays may be NULL. */
	const char **inside_dirs, **plain_dirs;
};

#define POL_MAX_LOWERED 200000 /* rules of a ruleset, exceptions multiplied out */
/* Bytes of rules times bytes of paths, for all exceptions: seconds, for a hostile document. */
#define POL_MAX_EXCEPTION_WORK (200u << 20)

/* Sets the base of a rule, the root as "". */
void pol_build_at(struct pol_rule *, const char *path);
#define POL_OPS(op) (1u << (op))
/* Appends to the list of each operation in `ops`, and the twin behind it. `r->base` may be any
 * absolute path. */
void pol_build_add(struct pol_build *, unsigned ops, const struct pol_rule *r, enum pol_twin);
/* samemount.c: the denial once more at each other name that mounts give what it closes. */
void pol_build_add_mounted(struct pol_build *, unsigned ops, const struct pol_rule *);
void pol_build_notice(struct pol_build *, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Adds a rule of the policy that nothing here enforces: "where: what: why". */
void pol_build_loss(struct pol_build *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* True if it is certain that the path does not exist. In homes and workspaces this costs no system
 * call for a name that the directory does not have. */
bool pol_build_is_missing(struct pol_build *, const char *path);
/* Where a path leads, and by which links, found in one walk: a link that is exchanged between two
 * would be judged as one thing and granted as another. */
struct pol_led {
	const char *spelled, *real;
	bool is_planted; /* by a link in a workspace, or in what else this run may change */
	bool is_roots;	 /* by links that root alone can change, or none */
	bool is_hosts;	 /* by such and those that lie in homes themselves */
};
void pol_build_lead(struct pol_build *, const char *spelled, struct pol_led *out);
/* May an allow of a document be followed along it? */
bool pol_build_may_follow(struct pol_build *, const struct pol_led *);
/* Does it leave the workspaces by a link that an earlier run may have planted? */
bool pol_build_is_planted(struct pol_build *, const struct pol_led *);
/* The same of a place that the environment or the home names, which is followed along the host's
 * links alone. If true, a notice names `what`, and the n bytes of its text that mean the place. */
bool pol_build_is_led_away(struct pol_build *, const char *what, const char *head, size_t n,
			   const char *spelled);
/* conflicts.c: B_POLICY where a root opens what another document of the main layer denies. */
int pol_build_check_undone(const struct pol_build *, struct b_err *err);
uint8_t pol_build_layer_number(const struct pol_build *);
/* Behind the last workspace that the document of this layer speaks of; the first is
 * pol_build_first(). */
size_t pol_build_first(const struct pol_build *);
size_t pol_build_end(const struct pol_build *);
/* Behind the last directory that its denials speak of: of the main document, those above the
 * workspace, too (layers.h). */
size_t pol_build_end_denied(const struct pol_build *);
/* Whether a local rule of this layer's document is relative to the workspace. */
bool pol_build_is_at_top(const struct pol_build *);
/* The directory to which a local rule of this layer's document is relative: workspace `w`, or the
 * current directory below it. */
const char *pol_build_local(const struct pol_build *, size_t w);
/* `dir` so many directories up. Arena. */
const char *pol_build_up(struct pol_build *, const char *dir, unsigned up);
/* "file:line:col", with the layer in front where it is not the main one. Arena. */
const char *pol_build_origin(struct pol_build *, const struct pol_pos *);
/* "/a/b" for directory "/a" and name "b"; "" counts as the root. Arena. */
const char *pol_build_join(struct pol_build *, const char *dir, const char *name);

/* layers.c: the layers of the outer run, behind all others and after everything else. */
int pol_build_outer(struct pol_build *, struct b_err *err);
/* roots.c: what the command needs of the system; outside it nothing is allowed. */
void pol_build_base(struct pol_build *, const struct pol_effective *);
/* own_tmp.c: /tmp is open, before the workspaces' rules; and when all rules that open something are
 * there, what of the host's stays in it (pol_ruleset.tmp_kept) is closed as if it lay elsewhere. */
void pol_build_tmp(struct pol_build *);
void pol_build_tmp_kept(struct pol_build *);
/* Does the path lie in the host's /tmp alone, not in the run's own? */
bool pol_build_is_not_in_tmp(const struct pol_build *, const char *path);
/* roots.c: files of descriptors 0 to 2, origin `builtin:stdio:N`. */
void pol_build_stdio(struct pol_build *);
/* roots.c: the files that map a user namespace, origin `builtin:namespaces:N`. */
void pol_build_id_maps(struct pol_build *);
/* sets.c: what we are made of, origin `builtin:self:N`. */
void pol_build_own(struct pol_build *);
/* roots.c: last of all, what no rule may open: our own run directories. */
void pol_build_hidden(struct pol_build *);
/* resolve.c: the profile and the global denies, at every workspace. */
int pol_build_profile(struct pol_build *, const struct pol_effective *, struct b_err *err);
/* exception.c: rule i of the modify list, an exception to denies before it. */
int pol_build_exception(struct pol_build *, const struct pol_effective *, size_t i,
			struct b_err *err);
/* sets.c: a preset of paths ("secrets", "protected"). */
int pol_build_set(struct pol_build *, const char *name, struct b_err *err);
/* setlinks.c: what the links in the secret directory of `r` lead to is closed, too; or a notice
 * where that is the system's or the workspace's. */
void pol_build_set_links(struct pol_build *, unsigned ops, const struct pol_rule *r);
/* setlinks.c: where links of what `r` protects lead is closed in the workspaces, with the links on
 * the way: those of its own name, and those in its directory. */
void pol_build_set_leads(struct pol_build *, unsigned ops, const struct pol_rule *r);
/* moved.c: calls each() for the places that variables of the environment put in the place of what
 * `row` names below the home, until it answers not 0. */
struct pol_moved {
	const char *dir;  /* absolute; a file where `rest` is "" */
	const char *rest; /* of the row, below it */
	const char *text; /* "${NAME}/rest" */
};
typedef int pol_move_fn(void *ctx, const struct pol_moved *);
int pol_moves_each(struct pol_build *, const char *row, pol_move_fn *each, void *ctx);
/* moved.c: the same of one variable that names a file alone. */
int pol_moves_named(struct pol_build *, const char *name, pol_move_fn *each, void *ctx);
/* moved.c: does the rule lie above or below such a place? */
bool pol_moves_are_near(struct pol_build *, const struct pol_rule *);
/* sets.c: what a git directory runs and obeys is closed, behind what opens it. */
int pol_build_git_closed(struct pol_build *, const char *dir, enum pol_tier, struct b_err *err);
/* obeyed.c: what outsiders run or obey is closed behind what presets and workspaces open. */
void pol_build_obeyed(struct pol_build *);
/* obeyed.c: the same of git directories that a rule of the user's opens; what fails goes to
 * `late`. */
void pol_build_git_behind(struct pol_build *, const struct pol_rule *grant);
/* obeyed.c: a notice for each rule of the user's that opens any of it. */
void pol_build_opened(struct pol_build *);
/* sets.c: a linked worktree's own git data. */
int pol_build_sides(struct pol_build *, struct b_err *err);
/* git.c: what the host's git configuration runs out of the workspaces. */
void pol_build_git_runs(struct pol_build *);
/* git.c: submodules at any depth, and those of worktrees, in a git directory that a rule opens;
 * behind pol_build_git_closed(). */
void pol_build_git_granted(struct pol_build *, const char *dir, enum pol_tier);
/* layers.c: a document beside the main one. */
int pol_build_layer(struct pol_build *, struct pol_layer *, const char *run_profile,
		    struct b_err *err);
/* trust.c: the documents in use, and where trust and policies are kept: never changed. */
void pol_build_documents(struct pol_build *);
/* foreign.c: what a document of another system asks of this host. B_FLOOR: it is not to be had. */
int pol_build_foreign(struct pol_build *, struct b_err *err);
/* nested.c: what the main document denies in either case but below directories of some name, as a
 * layer behind all others; where it says so. */
int pol_build_spared(struct pol_build *, struct b_err *err);
/* foreign.c: what of /proc, /sys and /dev a wide rule of another system does not open, origin
 * `builtin:system:N`; behind the profile. */
void pol_build_foreign_closed(struct pol_build *);
/* roots.c: of /dev nothing but what every command has; tier SET. */
void pol_build_own_dev(struct pol_build *, const char *origin);
/* roots.c: is it one of those, or below? */
bool pol_base_has_device(const char *path);
/* resolve.c */
int pol_build_cli(struct pol_build *, struct b_err *err);

/*
 * `nested` of `spec.sandbox`, and the meaning of srt's lists: where denyRead, allowRead and
 * openModify lie inside each other, the deepest counts. Internal to policy/.
 *
 * A mark is an entry at one place of this host. It applies to the place and all below it, up to the
 * next mark. At the same place an opening counts, except that openModify does not open a file that
 * may not be read.
 */

enum pol_mark_kind { POL_MARK_CLOSES, POL_MARK_OPENS_READ, POL_MARK_OPENS_MODIFY };

struct pol_mark {
	enum pol_mark_kind kind;
	bool is_final;	 /* nothing opens it again */
	bool is_exact;	 /* what it names and nothing below */
	bool only_named; /* opens what a set closes, where the other marks leave it open */
	bool is_left_out;
	bool is_covered; /* opens for modifying, but a read-only opening is mounted over it */
	bool is_implied; /* by the system whose document it is: closed where something closes it */
	const char *place;  /* canonical; of a pattern: the directory that it starts from */
	const char *glob;   /* a pattern below `place`; NULL = the place itself */
	const char *origin; /* "file:line:col" */
	const char *what;   /* in notices: "file:line:col: `text`" */
	const char *text;   /* as a person writes it, "~/a/b" */
	size_t depth;	    /* names in `place` */
};

struct pol_marks {
	struct pol_mark *v; /* arena of the ruleset */
	size_t n, cap;
};

/* The entries of a document at their places: literals, shallow ones first, and patterns, those that
 * close first. An opening counts where it is there, and is not reached through a link. `tells`:
 * notices of what is left out. */
void pol_marks_find(struct pol_build *, const struct pol_settings *, bool tells,
		    struct pol_marks *literals, struct pol_marks *patterns);
void pol_marks_add(struct pol_build *, struct pol_marks *, struct pol_mark);
/* Is path at or below dir? Both canonical. */
bool pol_is_at_or_below(const char *path, const char *dir);
/* Does the pattern match this very path? */
bool pol_mark_matches(const struct pol_mark *pattern, const char *path);

/* Adds what is open for modifying, before the sets. */
void pol_build_nested_allows(struct pol_build *, const struct pol_settings *);
/* Adds all three lists. Places that the sets close below an opening stay closed, except for
 * openings that name them. 0, or -1 with B_LIMIT: too many entries and wildcards. */
int pol_build_nested(struct pol_build *, const struct pol_settings *, struct b_err *err);

/*
 * The rest of a glob that must match below a path, once the path itself is consumed. Each
 * residual is a suffix of the glob. Pure; internal to policy/.
 */

struct pol_residuals {
	bool at[POL_MAX_RULE_LEN + 1]; /* is glob + i one? */
};

/* For paths strictly below `path`. Neither text is longer than POL_MAX_RULE_LEN. */
void pol_residuals(const char *glob, const char *path, struct pol_residuals *out);

/*
 * Rules on absolute paths, from options and from `spec.sandbox`. Internal to policy/.
 */

struct pol_absolute {
	enum sbx_op op;
	bool allow;
	bool is_exact;	  /* that path alone, whatever characters it has */
	bool is_literal;  /* the path and all below it, whatever characters it has */
	bool folds;	  /* below `dir`, letters of ASCII match in either case */
	bool only_closed; /* only where a set closes the very path: it is open already */
	enum pol_tier tier;
	const char *what;   /* in notices: "--read /x" */
	const char *origin; /* "cli:--read:1", "p.yaml:3:5" */
	const char *lead;   /* how a person writes `dir` before `path`: "/", "~/", "" */
	const char *dir;    /* canonical */
	const char *path;   /* below it, from pol_components(); "" = dir itself */
	enum pol_twin twin;
};

/* Drops empty and "." components; NULL when one is "..". Arena. */
const char *pol_components(struct b_arena *, const char *text);
/* A text without wildcards is a tree. Allowing to modify allows to read, too. Tells what it
 * re-opens of a set. */
void pol_build_absolute(struct pol_build *, const struct pol_absolute *);
/* roots.c: the same of a text that pol_root_check() let pass, at each place that it names. */
void pol_build_root(struct pol_build *, struct pol_absolute *, const struct pol_text *);
/* connect.c: first of all: whether the main layer leaves the network open. B_POLICY, B_USAGE: it
 * does, and names endpoints. */
int pol_build_network(struct pol_build *, const struct pol_effective *, struct b_err *err);
/* connect.c: what of the rules on endpoints is lost. */
void pol_build_network_held(struct pol_build *, const struct pol_effective *);
/* connect.c: one entry as rules on endpoints; `e` has layer, tier, origin and programs. Pure. -1
 * without a place in front. */
int pol_connect_lower(struct pol_ruleset *, const struct pol_connect *, struct pol_endpoint *e,
		      struct b_err *err);
/* connect.c: the layer's rules on endpoints: settings, profile, denials. */
int pol_build_connect(struct pol_build *, const struct pol_settings *, const struct pol_effective *,
		      struct b_err *err);
/* connect.c: those of the command line, behind all others of the main layer. */
int pol_build_connect_cli(struct pol_build *, struct b_err *err);
/* connect.c: the paths of sockets among them. */
void pol_build_connect_sockets(struct pol_build *, const struct pol_settings *,
			       const struct pol_effective *);
bool pol_connects_have_socket(const struct pol_connects *, bool allow);
/* roots.c: openRead and openModify, which are a part of the profile: a set closes what lies below
 * them, as below a workspace, and pol_build_roots() opens only those again that name what a set
 * closes. */
void pol_build_allows(struct pol_build *, const struct pol_settings *);
/* roots.c: the side roots of presets, which come before the rest. */
void pol_build_preset_roots(struct pol_build *, const struct pol_settings *);
/* roots.c: the rules of a document's `spec.sandbox`: readRoots and sideRoots, then the denies
 * and what they leave open, then sockets. */
/* roots.c: denyModifyAnyCase of them, those of one level, where pol_build_spared() makes a layer of
 * it. */
void pol_build_any_case(struct pol_build *, const struct pol_settings *, size_t level);
/* nested.c: how many directories of any name a rule begins with. */
size_t pol_build_level(const struct pol_text *);
int pol_build_roots(struct pol_build *, const struct pol_settings *, struct b_err *err);

/*
 * Git's files of configuration (git-config(1), Syntax), read as text: git itself
 * would have to be run for it, in a repository that nobody vouches for.
 */

/* One setting with a value, of `[section "..."]`, section and key as they are written. The texts
 * live until it returns, `file` as long as the arena. */
typedef void pol_gitconfig_take(void *ctx, const char *file, const char *section, const char *key,
				const char *value);

/* Reads the file and those that it includes, whatever the condition; a missing file is empty. It
 * leaves out the rest of a file from a part that cannot be read, is too much or too deep, or has
 * another form. Returns a file of which something is left out, in the arena or `file` itself; NULL:
 * nothing is. */
const char *pol_gitconfig_read(struct b_arena *, const char *file, pol_gitconfig_take *, void *ctx);
/* A path in a value: "~/" is the home, what is relative lies in `dir`. In the arena. */
const char *pol_gitconfig_path(struct b_arena *, const char *dir, const char *value);
/* The same with the links that are on it. In the arena, or `value`. */
const char *pol_gitconfig_spelled(struct b_arena *, const char *dir, const char *value);
/* The directory that the file is in. In the arena. */
const char *pol_gitconfig_dir(struct b_arena *, const char *file);
