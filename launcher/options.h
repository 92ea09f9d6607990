/* options.h - the command line of sbx-launch, one table; sbx-policy takes its policy rows. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/opt.h"
#include "core/event.h"
#include "policy/engine.h"

struct b_err;

/* What decides the policy; shared by sbx-launch and sbx-policy. */
struct lau_policy_opts {
	struct b_strlist policies;
	const char *profile;
	struct b_strlist workspaces;
	struct pol_cli_rule *rules; /* in the order given */
	size_t nrules, rules_cap;
	int reads;   /* enum pol_reads */
	int network; /* enum pol_network */
	int unix_;   /* enum pol_unix */
};

struct lau_options {
	struct lau_policy_opts policy;
	int audit_level; /* enum sbx_audit_level */
	const char *audit_file;
	bool audit_required;
	bool best_effort; /* false = strict */
	uint64_t timeout_ms; /* 0 = none */
	uint64_t kill_after_ms;
	int *keep_fds;
	size_t nkeep_fds, keep_fds_cap;
	int status_fd; /* -1 = none */
	bool dry_run, doctor, json, help, version, no_shim;
	bool quiet;
	unsigned verbose;
	const char *caps;      /* --caps LIST|none, NULL = default */
	unsigned allow;	       /* POL_SC_ALLOW_* */
	char **argv;	       /* the command, NULL-terminated; NULL when none */
};

extern const struct b_opt lau_policy_table[];
extern const size_t lau_policy_table_n;
extern const struct b_opt lau_option_table[]; /* the rest */
extern const size_t lau_option_table_n;

void lau_options_init(struct lau_options *);
void lau_options_release(struct lau_options *);
/* B_USAGE on error. Changes nothing on disk. */
int lau_options_parse(int argc, char **argv, struct lau_options *out, struct b_err *err);
/* Parses a table made of policy rows and `extra` rows (sbx-policy); words collected. */
void lau_policy_request(const struct lau_policy_opts *, struct pol_request *out);
