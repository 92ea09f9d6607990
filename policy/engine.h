/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine.h - from a request to a compiled policy: the face that sbx-launch, sbx-policy and
 * (later) embedders share.
 *
 *	struct pol_request rq = { ... };
 *	struct pol_engine *e;
 *	if (pol_engine_new(&rq, &e, &err) < 0) ...
 *	pol_engine_check(e, SBX_READ, "/etc/passwd", &answer, &err);
 *	pol_engine_free(e);
 *
 * Order of rules (DESIGN §3): base, profile, global denies, sets, side roots, command line.
 * The literal prefix of each rule is resolved here: where it passes through a symlink a twin
 * rule with the canonical spelling follows it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/decide.h"
#include "policy/compile/bundle.h"
#include "policy/compile/ruleset.h"
#include "policy/document/settings.h"

struct b_err;
struct b_str;
struct pol_bundle;
struct pol_layers;
struct pol_mounted;

/*
 * One rule from the command line: path or glob, absolute, `~`, or relative to the workspace. A
 * text without wildcards covers the path and all below it; ".." is refused. Allowing to modify
 * allows to read, too.
 */
struct pol_cli_rule {
	enum sbx_op op;
	bool allow;
	const char *text;
	const char *option; /* "--read" */
	unsigned nth;	    /* 1 for the first --read */
	bool is_file;	    /* one existing file or directory, relative to the current directory */
};

/* A regular file the command gets as descriptor `fd` (0 to 2): it may open it by name, too, for
 * what the descriptor is open for (`> /dev/stdout`), where no rule of a policy says otherwise. */
struct pol_stdio {
	int fd;
	const char *path; /* canonical */
	bool reads, modifies;
};
#define POL_STDIO_MAX 3

struct pol_request {
	/* Files or names in the store, merged in order (documents.h); none = the built-in default
	 * policy. */
	const char *const *policies;
	size_t npolicies;
	enum pol_dialect dialect; /* of `policies`; auto = by their content */
	const char *profile;	  /* NULL: the document's only profile, else an error naming them */
	const char *const *workspaces; /* none = git toplevel or cwd, as DESIGN §7 allows */
	size_t nworkspaces;
	bool is_default_workspace; /* nobody named it: found from the current directory */
	/* As many, as the person wrote them: for what is told of them; NULL = the same. */
	const char *const *workspace_texts;
	const struct pol_cli_rule *rules;
	size_t nrules;
	const struct pol_said *said;	 /* settings of the command line, NULL = none */
	const struct pol_bundle *bundle; /* in place of `policies`, bundle.h; NULL = none */
	/* Another file in use beside `policies`, which no command may change: the one that `bundle`
	 * is, or will be, in; NULL = none. */
	const char *also_used;
	const char *const *presets; /* put under the document */
	size_t npresets;
	const char *managed;	   /* NULL = POL_MANAGED_FILE (layers.h) */
	struct pol_layers *layers; /* the documents of `policies`, when they are loaded */
	const char *scratch;	   /* private scratch directory of the run, NULL = not yet known */
	const char *cache;	   /* private build cache of the workspace, NULL = none */
	const char *const *hidden; /* directories of ours the command may not touch at all */
	size_t nhidden;
	const struct pol_stdio *stdio;
	size_t nstdio;
	const char *image_cache;      /* directory of compiled policies, NULL = none (bundle.h) */
	const char *const *own_files; /* files of this program, which no command may change */
	size_t nown_files;
	const struct pol_ruleset *system; /* more that any program here needs; NULL = nothing */
	bool with_protected;		  /* the `protected` set (needs the broker) */
	bool with_id_maps;		  /* user namespaces may be mapped (needs the broker) */
	bool with_shm;			  /* /dev/shm, which then must be the run's own */
	bool folds;	  /* denials fold names, also where this host knows of no need */
	bool is_on_macos; /* of other systems' keys those count that are macOS's */
	/* Of the run that this one is inside of: it must allow, too. NULL = none. */
	const struct pol_ruleset *outer;
};

/* A rule of the user's that opens what outsiders run or obey (presets/protected.yaml). */
struct pol_opened {
	const char *origin, *matched; /* of the rule */
	const char *text;	      /* "opens `...`, run or obeyed outside by ..." */
	const char *line;	      /* as the notice says it */
};

struct pol_engine {
	struct pol_ruleset rules;
	struct sbx_image image;
	void *image_data;	  /* image.size bytes */
	struct pol_cached cached; /* they lie in this file, when cached.map; else malloc'ed */
	const char *policy_name;  /* "builtin:default" or the file */
	struct pol_effect effect;
	const char **notices; /* a line each for the person: set rules re-opened ... */
	size_t nnotices;
	const struct pol_opened *opened; /* see there */
	size_t nopened;
	const char **losses; /* a line each: what the policy says and nothing enforces */
	size_t nlosses;
	/* Of this process, as they were when rules were given the names of other mounts
	 * (mountinfo.h) */
	const struct pol_mounted *mounts;
	size_t nmounts;
	char hash[65]; /* SHA-256 of the image */
};

int pol_engine_new(const struct pol_request *, struct pol_engine **out, struct b_err *err);
void pol_engine_free(struct pol_engine *);
/* Is nothing lost that may not be? B_FLOOR. */
int pol_engine_refuse(const struct pol_engine *, struct b_err *err);
/* Names the rules, see pol_imgcache_rules_key(). */
void pol_engine_rules_key(struct pol_engine *, char out[B_SHA256_HEX]);

struct pol_answer {
	enum sbx_op op;
	bool allowed;
	const char *path;    /* the path judged, as "./x" when asked relative to the workspace */
	const char *real;    /* canonical absolute path judged */
	const char *matched; /* matched_rule */
	const char *origin;  /* rule */
	bool folded; /* the rule denies the name in another case or form, which is one there */
	const struct pol_rule *rule; /* NULL: none matched */
	const struct pol_rule
		*overrode; /* last earlier matching rule of the other polarity, or NULL */
};
/* Absolute path: symlinks resolved as far as it exists, judged on the whole ruleset.
 * Relative path: no "..", no "~" at its front; judged at workspace/path. Byte by byte: a blank or
 * a backslash is part of a name, unlike in a rule's text. Strings live in the engine. */
int pol_engine_check(struct pol_engine *, enum sbx_op, const char *path, struct pol_answer *out,
		     struct b_err *err);
/* The same, with the strings that the question makes in another arena: for who asks for long. */
int pol_engine_check_in(const struct pol_engine *, struct b_arena *, enum sbx_op, const char *path,
			struct pol_answer *out, struct b_err *err);

/* Rules of the answer's list that match its path, in order; the last is the one that decided.
 * Calls each(arg, rule, decides). */
void pol_engine_matches(const struct pol_engine *, const struct pol_answer *,
			void (*each)(void *arg, const struct pol_rule *, bool decides), void *arg);

/* Appends a canonical path as events show it: below the first workspace as "./x". */
void pol_engine_shown(const struct pol_engine *, const char *real, struct b_str *out);

/* The rules as text, in order, with tier and origin (`sbx-policy show`). */
void pol_engine_show(const struct pol_engine *, struct b_str *out);
