/* SPDX-License-Identifier: Apache-2.0 */
/* request.h - what an engine is made of: documents, options, places. Values, borrowed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/decide.h"
#include "policy/document/settings.h"

struct pol_bundle;
struct pol_layers;
struct pol_ruleset;

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
	bool is_endpoint;   /* of SBX_CONNECT: HOST:PORT, no path */
};

/* A regular file the command gets as descriptor `fd` (0 to 2): it may open it by name, too, for
 * what the descriptor is open for (`> /dev/stdout`), where no rule of a policy says otherwise. */
struct pol_stdio {
	int fd;
	const char *path; /* canonical */
	bool reads, modifies;
};
#define POL_STDIO_MAX 3

struct pol_signed_text {
	const char *name, *text;
	size_t len;
};
#define POL_SIGNED_MAX 4

struct pol_request {
	/* Files or names in the store, merged in order (documents.h); none = the built-in default
	 * policy. */
	const char *const *policies;
	size_t npolicies;
	enum pol_dialect dialect; /* of `policies`; auto = by their content */
	const char *profile;	  /* NULL: the document's only profile, else an error naming them */
	const char *const *workspaces; /* none = the git toplevel, else the current directory
					  (sbx-launch(1)) */
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
	/* Managed documents whose signature was verified: each a layer. `signed_note`: a line for
	 * the person, NULL = none. */
	const struct pol_signed_text *signed_texts;
	size_t nsigned_texts;
	const char *signed_name, *signed_note;
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
	bool with_tmp;			  /* /tmp likewise */
	/* Paths below the host's /tmp that are to stay in it, beside those that rules open. */
	const char *const *tmp_keep;
	size_t ntmp_keep;
	/* Rules on endpoints are enforced here: without, such rules of a document or an option are
	 * losses, and the command has no network. */
	bool with_endpoints;
	bool no_image;	  /* rules are enough: nothing is compiled */
	bool folds;	  /* denials fold names, also where this host knows of no need */
	bool is_on_macos; /* of other systems' keys those count that are macOS's */
	/* Of the run that this one is inside of: it must allow, too. NULL = none. */
	const struct pol_ruleset *outer;
};

/* What one kind of outsiders runs or obeys of what a rule opens. */
struct pol_opened_kind {
	const char *by, *matched, *origin; /* who; the first row */
	size_t n;			   /* rows */
};

/* A rule of the user's that opens what outsiders run or obey (presets/protected.yaml). */
struct pol_opened {
	const char *origin, *matched; /* of the rule */
	const char *text;	      /* "opens `...`, run or obeyed outside by ..." */
	const char *line;	      /* as the notice says it: not more than the first kinds */
	const struct pol_opened_kind *kinds;
	size_t nkinds;
};
