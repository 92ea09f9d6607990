/* SPDX-License-Identifier: Apache-2.0 */
/* options.h - the options of sbx-launch as a value: parsed, checked, given back as words. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/opt.h"
#include "core/event.h"
#include "launcher/plan/plan.h"
#include "policy/engine.h"

struct b_arena;
struct b_err;
struct b_str;
struct lau_options;

/*
 * The command line of sbx-launch, one table; sbx-policy takes its policy rows.
 *
 * Rows of lau_policy_table hold offsets into struct lau_policy_opts and their calls get a
 * pointer to one: a program that uses them beside rows of its own makes it the first member of
 * its options, parses with lau_options_join()ed tables, and gives rows offsets into the whole.
 *
 *	static const struct b_opt own[] = { ... offsetof(struct opts, json) ... };
 *	b_auto_free struct b_opt *all = lau_options_join(lau_policy_table, lau_policy_table_n,
 *							 own, n_own);
 *	b_opt_parse(all, lau_policy_table_n + n_own, argc, argv, &opts, &words, NULL, &err);
 *	lau_policy_request(&opts.policy, &request);
 */

/* What decides the policy; shared by sbx-launch and sbx-policy. */
struct lau_policy_opts {
	struct b_strlist policies, presets;
	int dialect;		   /* enum pol_dialect */
	const char *image;	   /* --image FILE, NULL = none */
	const char *also_used;	   /* no option: see struct pol_request */
	struct pol_bundle *bundle; /* that file, once lau_policy_settle() has read it */
	const char *profile;
	struct b_strlist workspaces;
	struct pol_cli_rule *rules; /* in the order given */
	size_t nrules, rules_cap;
	struct b_arena made;  /* texts of rules that an option stands for */
	struct pol_said said; /* settings, POL_UNSAID where no option was given */
};

/* Bits of b_opt.where in the tables; the columns are explained in option_rows.c. */
enum {
	LAU_OPT_RUN = 1 << 0,
	LAU_OPT_PRINT_ENV = 1 << 1,
	LAU_OPT_ASK = 1 << 2,
	LAU_OPT_SENT = 1 << 3,
	LAU_OPT_NOT_NESTED = 1 << 4,
	LAU_OPT_LINUX_ONLY = 1 << 5,
	LAU_OPT_MACOS_ONLY = 1 << 6,
	LAU_OPT_MACOS_NOTE = 1 << 7,
};

/* By system: what enforces the file rules, and the rows of the other one. */
#ifdef __APPLE__
enum lau_backend { LAU_BACKEND_SANDBOX_EXEC, LAU_BACKEND_INIT };
enum { LAU_ELSEWHERE = LAU_OPT_LINUX_ONLY };
#else
enum lau_backend { LAU_BACKEND_LANDLOCK, LAU_BACKEND_BWRAP };
enum { LAU_ELSEWHERE = LAU_OPT_MACOS_ONLY };
#endif

enum lau_strictness { LAU_STRICT_DEFAULT, LAU_STRICT, LAU_BEST_EFFORT };

struct lau_options {
	struct lau_policy_opts policy; /* first: see above */
	int audit_level;	       /* enum sbx_audit_level */
	const char *audit_file;
	bool audit_required;
	const char *require_bundle; /* FILE, NULL = none; launcher/run/bundle.h */
	const char *bundle_key;	    /* FILE, NULL = POL_BUNDLE_KEY */
	const char *anchor_command; /* NULL = none */
	int anchor_fd;		    /* -1 = none */
	bool learn;		    /* end with a policy that the run would pass under */
	struct b_strlist context;   /* KEY=VALUE, of each line of the log */
	int strictness;		    /* enum lau_strictness; holds by way of pol_engine.effect.lax */
	int backend;		    /* enum lau_backend */
	int mode;		    /* enum lau_mode, approve.h */
	bool is_call;		    /* grida_call.h */
	uint64_t timeout_ms;	    /* 0 = none */
	uint64_t kill_after_ms;
	struct lau_bounds bounds;
	struct b_strlist pass_env, set_env; /* --passenv, --setenv NAME=VALUE */
	int *keep_fds;
	size_t nkeep_fds, keep_fds_cap;
	int status_fd;		 /* -1 = none */
	const char *result_json; /* FD|FILE, NULL = not the exec contract; with it the next three */
	const char *stdin_from;	 /* inherit, null, FILE; NULL = inherit */
	size_t capture_limit;	 /* 0 = by default, LAU_CAPTURE_ALL */
	bool tee;
	int capture_over; /* enum lau_over */
	bool capture_joint;
	const char *chdir;		  /* NULL = stay */
	char *left;			  /* the directory that it leads away from; malloc'ed */
	const char *command;		  /* for /bin/sh, NULL = the words are the command */
	bool is_shell;			  /* started as sbx-shell, without options of ours */
	const char *stop, *wait, *reload; /* RUN, NULL = not asked */
	bool ps;
	int hook, setup; /* index of lau_agent_names; 0 = not asked */
	bool project, undo;
	bool dry_run, doctor, selftest, json, help, version, no_shim, print_env, print_argv;
	bool proxy_env;
	bool reloadable;   /* rules on endpoints may change while it lasts */
	bool marked_calls; /* docs/adr/016 */
	int on_error_pass; /* --on-error pass, with print_env; else deny */
	unsigned quiet;	   /* 1: no notes; 2: no denials, either */
	int completion;	   /* enum b_shell, -1 = none */
	unsigned verbose;
	const char *caps;	/* --caps LIST|none, NULL = default */
	unsigned allow;		/* POL_SC_ALLOW_* */
	unsigned require;	/* 1 << enum lau_need */
	bool isolate_given;	/* --isolate: exactly these or a refusal; else what costs nothing */
	unsigned isolate;	/* LAU_ISOLATE_* */
	struct b_opt_uses uses; /* what was given */
	char **own_argv;	/* our own words, own_argc of them, before the command; borrowed */
	int own_argc;
	char **sh_argv; /* made of `command`; owned */
	char **argv;	/* the command, NULL-terminated, borrowed; NULL when none */
};

#define LAU_KILL_AFTER_MS 5000

/* Those whose hook we are; sbx-adopt has a row of each (adopt/agents.h). */
#define LAU_AGENTS "claude|codex|gemini|cursor|opencode"
#define LAU_TOOLS  "npm|make|git|cargo|github" /* for --setup alone, behind the agents */
extern const char *const lau_agent_names[];    /* the first is none */

extern const struct b_opt lau_policy_table[];
extern const size_t lau_policy_table_n;
extern const struct b_opt lau_option_table[]; /* the rest */
extern const size_t lau_option_table_n;

/* One table of two; free() it. */
struct b_opt *lau_options_join(const struct b_opt *a, size_t na, const struct b_opt *b, size_t nb);
/* The whole table of this system; free() it. */
struct b_opt *lau_options_table(size_t *out_n);

/* Reads --image and puts what it holds before the options given: B_POLICY, B_FORMAT, B_USAGE. To
 * be called once, after the options were parsed. */
int lau_policy_settle(struct lau_policy_opts *, struct b_err *err);
/* The same of a policy that somebody else has put together: its rules and documents count, its
 * automata do not. B_FORMAT. */
int lau_policy_take(struct lau_policy_opts *, const void *data, size_t n, struct b_err *err);
void lau_policy_opts_release(struct lau_policy_opts *);
/* Everything of the request that options decide; borrowed from the options. */
void lau_policy_request(const struct lau_policy_opts *, struct pol_request *out);

void lau_options_init(struct lau_options *);
void lau_options_release(struct lau_options *);
/* B_USAGE on error. Changes nothing on disk. A missing command is an error unless one of the
 * questions (--help, --version, --doctor) is asked. */
int lau_options_parse(int argc, char **argv, struct lau_options *out, struct b_err *err);

/* How options reach a run inside a run: those with LAU_OPT_SENT become words, which the outer run
 * parses with the same rows; every other option and word is refused there. */

/* The words are added to *out, ours first; they are of the arena. B_USAGE: an option is given that
 * an inner run cannot have. */
int lau_options_send(const struct lau_options *, struct b_arena *, struct b_strlist *out,
		     struct b_err *err);
/* As lau_options_parse() for such words (NULL-terminated, borrowed), of which *out has nothing
 * yet but its policy. B_USAGE, B_FORMAT. */
int lau_options_receive(char **words, struct lau_options *out, struct b_err *err);

/* Text of --completion. */
void lau_options_complete(enum b_shell, struct b_str *out);
/* Text of --help. */
void lau_options_help(struct b_str *out);

/* Options that macOS cannot do (column .macos): B_FLOOR with the first that is refused. Lines for
 * the person are added to `notes`, each with its end. Pure, and tried on every system. */
int lau_macopts_check(const struct lau_options *, struct b_str *notes, struct b_err *err);

/* --print-argv: the command with sbx-launch in front, for who starts it himself. */

/* On standard output: a line for a shell, or with --json an array. An exit status. */
int lau_print_argv(const struct lau_options *);
