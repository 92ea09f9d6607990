/* SPDX-License-Identifier: Apache-2.0 */
/* options.c - see options.h. */
#include "launcher/options/options.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "launcher/exec/exec.h"
#include "launcher/options/approve.h"
#include "launcher/options/grida_call.h"
#include "launcher/plan/environment.h"
#include "launcher/report/report.h"
#include "launcher/run/confine.h"
#include "launcher/run/run.h"
#include "policy/plan/seccomp.h"

/* ---- rows that need a call ---- */

static int add_rule(struct lau_policy_opts *o, enum sbx_op op, bool allow, const char *option,
		    const char *text, struct b_err *err)
{
	unsigned nth = 1;
	size_t i;

	if (!*text)
		return b_fail(err, B_USAGE, 0, "needs a path or glob");
	if (*text == '!') /* gitignore's way to say not; a path may still be named ./!x */
		return b_fail(err, B_USAGE, 0,
			      "`%s`: no rule begins with `!`: to deny, use --deny-read or "
			      "--deny-modify %s (a file of this name: ./%s)",
			      text, text + 1, text);
	for (i = 0; i < o->nrules; i++)
		nth += strcmp(o->rules[i].option, option) == 0;
	b_grow(o->rules, o->nrules, o->rules_cap);
	o->rules[o->nrules++] = (struct pol_cli_rule){
		.op = op, .allow = allow, .text = text, .option = option, .nth = nth};
	return 0;
}

static int add_read(void *target, const char *value, struct b_err *err)
{
	return add_rule(target, SBX_READ, true, "--read", value, err);
}

static int add_also_read(void *target, const char *value, struct b_err *err)
{
	struct lau_policy_opts *o = target;

	if (add_rule(o, SBX_READ, true, "--also-read", value, err) < 0)
		return -1;
	o->rules[o->nrules - 1].is_file = true;
	return 0;
}

static int add_modify(void *target, const char *value, struct b_err *err)
{
	return add_rule(target, SBX_MODIFY, true, "--modify", value, err);
}

static int add_deny_read(void *target, const char *value, struct b_err *err)
{
	return add_rule(target, SBX_READ, false, "--deny-read", value, err);
}

static int add_deny_modify(void *target, const char *value, struct b_err *err)
{
	return add_rule(target, SBX_MODIFY, false, "--deny-modify", value, err);
}

static int set_unix(void *target, const char *value, struct b_err *err)
{
	struct lau_policy_opts *o = target;

	if (strcmp(value, "host") == 0)
		o->said.v[POL_SET_unixSockets] = POL_UNIX_HOST;
	else if (strcmp(value, "none") == 0)
		o->said.v[POL_SET_unixSockets] = POL_UNIX_NONE;
	else
		return add_rule(o, SBX_CONNECT, true, "--unix", value, err);
	return 0;
}

static int parse_fd(const char *value, int *out, struct b_err *err)
{
	unsigned long long n;

	if (b_parse_u64(value, INT_MAX, &n) < 0)
		return b_fail(err, B_USAGE, 0, "`%s` is no descriptor number", value);
	if (fcntl((int)n, F_GETFD) < 0)
		return b_fail(err, B_USAGE, 0, "descriptor %s is not open", value);
	*out = (int)n;
	return 0;
}

static int add_keep_fd(void *target, const char *value, struct b_err *err)
{
	struct lau_options *o = target;
	int fd = -1;

	if (parse_fd(value, &fd, err) < 0)
		return -1;
	b_grow(o->keep_fds, o->nkeep_fds, o->keep_fds_cap);
	o->keep_fds[o->nkeep_fds++] = fd;
	return 0;
}

static int set_status_fd(void *target, const char *value, struct b_err *err)
{
	struct lau_options *o = target;

	return parse_fd(value, &o->status_fd, err);
}

static int add_allow(void *target, const char *value, struct b_err *err)
{
	struct lau_options *o = target;

	if (strcmp(value, "debug") == 0)
		o->allow |= POL_SC_ALLOW_DEBUG;
	else if (strcmp(value, "namespaces") == 0)
		o->allow |= POL_SC_ALLOW_NAMESPACES;
	else
		return b_fail(err, B_USAGE, 0, "unknown value `%s` (one of debug|namespaces)",
			      value);
	return 0;
}

static int add_require(void *target, const char *value, struct b_err *err)
{
	struct lau_options *o = target;
	int need = lau_need_find(value);

	if (need < 0)
		return b_fail(err, B_USAGE, 0,
			      "unknown ability `%s` (landlock, landlock=2 to 6, broker, "
			      "network-namespace, pid-namespace, private-shm, shim)",
			      value);
	o->require |= 1u << need;
	return 0;
}

#define BOUND(fn, which)                                                                           \
	static int fn(void *target, const char *value, struct b_err *err)                          \
	{                                                                                          \
		struct lau_bounds *b = &((struct lau_options *)target)->bounds;                    \
		return lau_bound_parse(which, value, &b->v[which], err);                           \
	}
BOUND(set_memory, LAU_BOUND_MEMORY)
BOUND(set_cpu, LAU_BOUND_CPU)
BOUND(set_nproc, LAU_BOUND_NPROC)
BOUND(set_fsize, LAU_BOUND_FSIZE)
BOUND(set_nofile, LAU_BOUND_NOFILE)

static int set_isolate(void *target, const char *value, struct b_err *err)
{
	static const struct {
		const char *name;
		unsigned bit;
	} parts[] = {{"none", 0}, {"shm", LAU_ISOLATE_SHM}, {"pid", LAU_ISOLATE_PID}};
	struct lau_options *o = target;
	size_t n, i;

	o->isolate = 0;
	o->isolate_given = strcmp(value, "auto") != 0;
	for (const char *p = value; o->isolate_given; p += n + 1) {
		n = strcspn(p, ",");
		for (i = 0; i < sizeof parts / sizeof *parts; i++)
			if (strlen(parts[i].name) == n && !strncmp(p, parts[i].name, n))
				break;
		if (i == sizeof parts / sizeof *parts)
			return b_fail(err, B_USAGE, 0,
				      "unknown value `%s` (auto, none, or a list of pid, shm)",
				      value);
		o->isolate |= parts[i].bit;
		if (!p[n])
			break;
	}
	return 0;
}

/* What --isolate names must be had. After the last one: it replaces those before it. */
static void require_isolation(struct lau_options *o)
{
	if (o->isolate & LAU_ISOLATE_SHM)
		o->require |= 1u << LAU_NEED_SHM;
	if (o->isolate & LAU_ISOLATE_PID)
		o->require |= 1u << LAU_NEED_PID;
}

/* ---- the tables ---- */

#define P(field) offsetof(struct lau_policy_opts, field)
#define O(field) offsetof(struct lau_options, field)
#define CALL(fn) .kind = B_OPT_CALL, .call = (fn)

_Static_assert(offsetof(struct lau_options, policy) == 0, "policy rows count from the start");

#define GROUP "Policy"
const struct b_opt lau_policy_table[] = {
	{"policy", 'p', "FILE|NAME", B_OPT_LIST, P(policies), .group = GROUP,
	 .help = "policy document, or the name of one in the store; repeated, they merge; "
		 "without one the built-in default policy holds"},
	{"dialect", 0, POL_DIALECT_WORDS, B_OPT_ENUM, P(dialect), POL_DIALECT_WORDS, .group = GROUP,
	 .help = "language of the policy: Orbit's and OpenShell's YAML, the JSON settings of srt, "
		 "caliban's TOML; auto (default): by its content"},
	{"image", 0, "FILE", B_OPT_STR, P(image), .group = GROUP,
	 .help = "policy compiled by sbx-policy compile, in place of documents"},
	{"preset", 0, "NAME", B_OPT_LIST, P(presets), .group = GROUP,
	 .help = "put a preset under the policy: what a tool needs beside the workspace, or a "
		 "policy by name (repeatable; sbx-policy presets)"},
	{"profile", 0, "NAME", B_OPT_STR, P(profile), .group = GROUP,
	 .help = "profile of the document; may be left out when it has only one"},
	{"workspace", 'w', "DIR", B_OPT_LIST, P(workspaces), .group = GROUP,
	 .help = "root of the rules and, by default, what may be modified (repeatable; else the "
		 "git "
		 "toplevel or the current directory)"},
	{"read", 0, "RULE", .group = GROUP, CALL(add_read),
	 .help = "also allow reading: a path or glob, absolute, ~ or relative to the workspace "
		 "(repeatable, as the next four)"},
	{"also-read", 0, "FILE", .group = GROUP, CALL(add_also_read),
	 .help = "also allow reading this one file, named as cat would find it (repeatable)"},
	{"modify", 0, "RULE", .group = GROUP, CALL(add_modify), .help = "also allow modifying"},
	{"deny-read", 0, "RULE", .group = GROUP, CALL(add_deny_read), .help = "deny reading"},
	{"deny-modify", 0, "RULE", .group = GROUP, CALL(add_deny_modify), .help = "deny modifying"},
	{"reads", 0, "broad|system|listed", B_OPT_ENUM, P(said.v[POL_SET_reads]),
	 "broad|system|listed", .group = GROUP,
	 .help = "what may be read outside the workspace: everything but secrets and devices "
		 "(broad, the default), the system's directories, or only what rules list"},
	{"network", 0, "none|loopback|host", B_OPT_ENUM, P(said.v[POL_SET_network]),
	 "none|loopback|host", .group = GROUP, .help = "network of the command (default none)"},
	{"env", 0, "keep|scrub|pass|clear", B_OPT_ENUM, P(said.v[POL_SET_env]),
	 "keep|scrub|pass|clear", .group = GROUP,
	 .help = "variables of yours that the command has: all (keep, the default), all but logins "
		 "and what makes programs load something (scrub), the usual ones (pass), or PATH, "
		 "HOME and LANG (clear)"},
	{"unix", 0, "none|host|PATH", .group = GROUP, CALL(set_unix),
	 .help = "Unix sockets that exist outside: none (default), all of the host's, or this one"},
};
const size_t lau_policy_table_n = sizeof lau_policy_table / sizeof *lau_policy_table;
#undef GROUP

const struct b_opt lau_option_table[] = {
#define GROUP "Floor"
	{"strict", 0, NULL, B_OPT_FLAG, O(strictness), .value = LAU_STRICT, .group = GROUP,
	 .help = "refuse to run when a rule cannot be enforced by the kernel (default)"},
	{"best-effort", 0, NULL, B_OPT_FLAG, O(strictness), .value = LAU_BEST_EFFORT,
	 .group = GROUP, .help = "run all the same; print and record each loss"},
	{"require", 0, "ABILITY", .group = GROUP, CALL(add_require),
	 .help = "refuse to run on a host without it: landlock, landlock=N, broker, "
		 "network-namespace, pid-namespace, private-shm, shim (repeatable)"},
	{"caps", 0, "LIST|none", B_OPT_STR, O(caps), .group = GROUP,
	 .help = "capabilities root keeps (default chown,dac_override,fowner,fsetid)"},
	{"allow", 0, "debug|namespaces", .group = GROUP, CALL(add_allow),
	 .help = "relax the system-call filter: debuggers, or making namespaces (repeatable)"},
	{"isolate", 0, "auto|none|LIST", .group = GROUP, CALL(set_isolate),
	 .help = "what the run has for itself: a pid namespace with its /proc (pid), /dev/shm "
		 "(shm); "
		 "auto (default): what the host allows"},
#ifdef __APPLE__
	{"backend", 0, "sandbox-exec|init", B_OPT_ENUM, O(backend), "sandbox-exec|init",
	 .group = GROUP,
	 .help = "who applies the profile: /usr/bin/sandbox-exec (default), or the call it makes"},
#else
	{"backend", 0, "landlock|bwrap", B_OPT_ENUM, O(backend), "landlock|bwrap", .group = GROUP,
	 .help = "who keeps the files: Landlock and the broker (default), or mounts made by "
		 "bubblewrap"},
#endif
	{"passenv", 0, "NAME", .group = GROUP, CALL(lau_envplan_add_pass),
	 .help = "a variable the command has all the same, whatever --env says; * for any part of "
		 "the name (repeatable)"},
	{"setenv", 0, "NAME=VALUE", .group = GROUP, CALL(lau_envplan_add_set),
	 .help = "set a variable for the command (repeatable)"},
	{"keep-fd", 0, "N", .group = GROUP, CALL(add_keep_fd),
	 .help = "pass an open file, directory or socket on; pipes always are (repeatable)"},
#undef GROUP
#define GROUP "Audit"
	{"audit-level", 0, "LEVEL", B_OPT_ENUM, O(audit_level), "folded|all|modify|denied|none",
	 .group = GROUP,
	 .help = "folded (default: each change and start, a read once per process and path), all, "
		 "modify, denied, none"},
	{"audit-file", 0, "FILE", B_OPT_STR, O(audit_file), .group = GROUP,
	 .help = "append the log to FILE instead of the run's directory"},
	{"audit-required", 0, NULL, B_OPT_FLAG, O(audit_required), .group = GROUP,
	 .help = "end the run when the log cannot be written"},
	{"no-shim", 0, NULL, B_OPT_FLAG, O(no_shim), .group = GROUP,
	 .help = "preload nothing: the kernel enforces, no event is recorded"},
#undef GROUP
#define GROUP "Running"
	{"mode", 0, "none|accept-edits|auto", B_OPT_ENUM, O(mode), "none|accept-edits|auto",
	 .group = GROUP,
	 .help = "for agents: accept-edits runs only what is known to be read-only, without "
		 "network, and refuses the rest with 126; auto runs everything; both only with a "
		 "whole floor"},
	{"timeout", 0, "TIME", B_OPT_MS, O(timeout_ms), .group = GROUP,
	 .help = "terminate after 250ms, 1.5s, 90, 5m, 2h: status 124"},
	{"kill-after", 0, "TIME", B_OPT_MS, O(kill_after_ms), .group = GROUP,
	 .help = "kill what is still there this long after that (default 5s): status 137"},
	{"memory", 0, "SIZE", .group = GROUP, CALL(set_memory),
	 .help = "memory: 512M, 2G; of the run in a delegated cgroup, else of each process"},
	{"cpu-time", 0, "TIME", .group = GROUP, CALL(set_cpu),
	 .help = "processor time of each process: 30s, 5m"},
	{"nproc", 0, "N", .group = GROUP, CALL(set_nproc), .help = "processes and threads"},
	{"fsize", 0, "SIZE", .group = GROUP, CALL(set_fsize), .help = "size of each file written"},
	{"nofile", 0, "N", .group = GROUP, CALL(set_nofile),
	 .help = "open descriptors of each process"},
	{"status-fd", 0, "N", .group = GROUP, CALL(set_status_fd),
	 .help = "write how it ended as a JSON line to this descriptor"},
	{"chdir", 'C', "DIR", B_OPT_STR, O(chdir), .group = GROUP,
	 .help = "as if started in this directory; what other options name is relative to it"},
	{"result-json", 0, "FD|FILE", B_OPT_STR, O(result_json), .group = GROUP,
	 .help = "capture what the command writes, end it with all that it started, and write the "
		 "result to this descriptor or file: {success, stdout, stderr, exit_code, ...}"},
	{"stdin", 0, "inherit|null|FILE", B_OPT_STR, O(stdin_from), .group = GROUP,
	 .help = "with --result-json: what the command reads"},
	{"capture-limit", 0, "SIZE|none", .group = GROUP, CALL(lau_capture_set_limit),
	 .help = "with --result-json: bytes kept of each stream (default 1M); more ends the "
		 "command"},
	{"capture-over", 0, "end|drop", B_OPT_ENUM, O(capture_over), "end|drop", .group = GROUP,
	 .help = "with --result-json: what becomes of a command that writes more (default end), or "
		 "of the rest"},
	{"tee", 0, NULL, B_OPT_FLAG, O(tee), .group = GROUP,
	 .help = "with --result-json: show both streams on standard error, too, without secrets of "
		 "the environment"},
	{"quiet", 'q', NULL, B_OPT_FLAG, O(quiet), .group = GROUP,
	 .help = "no denial lines while the command runs"},
	{"verbose", 'v', NULL, B_OPT_COUNT, O(verbose), .group = GROUP,
	 .help = "say how the run is confined, what it left running, and a summary at the end"},
#undef GROUP
#define GROUP "Questions"
	{"dry-run", 0, NULL, B_OPT_FLAG, O(dry_run), .group = GROUP,
	 .help = "print the plan; run nothing, write nothing"},
	{"print-argv", 0, NULL, B_OPT_FLAG, O(print_argv), .group = GROUP,
	 .help = "print the words that run the command under these options, quoted for a shell; "
		 "run "
		 "nothing"},
	{"print-env", 0, NULL, B_OPT_FLAG, O(print_env), .group = GROUP,
	 .help = "print variables for eval: programs started with them are checked and recorded by "
		 "the shim alone, without a floor; the policy is --policy or SBX_PROFILE"},
	{"on-error", 0, "deny|pass", B_OPT_ENUM, O(on_error_pass), "deny|pass", .group = GROUP,
	 .help = "with --print-env: what a shim does that cannot read its policy, or fails inside "
		 "(default deny)"},
	{"doctor", 0, NULL, B_OPT_FLAG, O(doctor), .group = GROUP,
	 .help = "what this host can enforce, and what is missing"},
	{"selftest", 0, NULL, B_OPT_FLAG, O(selftest), .group = GROUP,
	 .help = "try to get out, in a hundred ways: 0 all held, 1 one got through"},
#ifdef __linux__
	{"ps", 0, NULL, B_OPT_FLAG, O(ps), .group = GROUP, .help = "list the runs that go on"},
	{"stop", 0, "RUN", B_OPT_STR, O(stop), .group = GROUP,
	 .help = "end a run (an id, a beginning of one, or last) as a timeout would; wait for it"},
	{"wait", 0, "RUN", B_OPT_STR, O(wait), .group = GROUP,
	 .help = "wait for the end of a run: its status; --timeout limits --stop and --wait"},
#endif
	{"json", 0, NULL, B_OPT_FLAG, O(json), .group = GROUP,
	 .help = "with --doctor, --selftest, --ps, --print-argv: as JSON; with --mode: a refusal, "
		 "too"},
	{"completion", 0, B_SHELLS, B_OPT_ENUM, O(completion), B_SHELLS, .group = GROUP,
	 .help = "print completions for this shell"},
	{"help", 'h', NULL, B_OPT_FLAG, O(help), .group = GROUP, .help = "this text"},
	{"version", 'V', NULL, B_OPT_FLAG, O(version), .group = GROUP, .help = "the version"},
#undef GROUP
};
const size_t lau_option_table_n = sizeof lau_option_table / sizeof *lau_option_table;

struct b_opt *lau_options_join(const struct b_opt *a, size_t na, const struct b_opt *b, size_t nb)
{
	struct b_opt *all = b_calloc(na + nb, sizeof *all);

	memcpy(all, a, na * sizeof *a);
	memcpy(all + na, b, nb * sizeof *b);
	return all;
}

static struct b_opt *whole_table(size_t *out_n)
{
	*out_n = lau_policy_table_n + lau_option_table_n;
	return lau_options_join(lau_policy_table, lau_policy_table_n, lau_option_table,
				lau_option_table_n);
}

/* ---- life ---- */

void lau_options_init(struct lau_options *o)
{
	*o = (struct lau_options){.policy.said = pol_said_nothing(),
				  .kill_after_ms = LAU_KILL_AFTER_MS,
				  .status_fd = -1,
				  .completion = -1};
}

void lau_options_release(struct lau_options *o)
{
	lau_policy_opts_release(&o->policy);
	b_strlist_release(&o->pass_env);
	b_strlist_release(&o->set_env);
	free(o->keep_fds);
	lau_options_init(o);
}

/* Questions about other runs. */
static int check_runs(const struct lau_options *o, struct b_err *err)
{
	if (o->ps + !!o->stop + !!o->wait > 1)
		return b_fail(err, B_USAGE, 0, "--ps, --stop, --wait: one at a time");
	if (o->argv)
		return b_fail(err, B_USAGE, 0, "--ps, --stop, --wait: take no command");
	if (o->json && !o->ps)
		return b_fail(err, B_USAGE, 0, "--json: not with --stop or --wait");
	return 0;
}

/* Is an ability required that --isolate leaves out? */
static bool contradicts(const struct lau_options *o, enum lau_need need, unsigned part)
{
	return o->isolate_given && !(o->isolate & part) && o->require >> need & 1;
}

static int check(const struct lau_options *o, struct b_err *err)
{
	if (o->help || o->version || o->completion >= 0 || o->doctor || o->selftest)
		return 0;
	if (o->ps || o->stop || o->wait)
		return check_runs(o, err);
	if ((o->stdin_from || o->tee || o->capture_limit || o->capture_over) && !o->result_json)
		return b_fail(err, B_USAGE, 0,
			      "--stdin, --tee, --capture-limit, --capture-over: only together with "
			      "--result-json");
	if (o->on_error_pass && !o->print_env)
		return b_fail(err, B_USAGE, 0, "--on-error: only together with --print-env");
	if (o->print_env && lau_bounds_any(&o->bounds))
		return b_fail(err, B_USAGE, 0, "--print-env: limits need a command");
	if (o->print_env && o->require)
		return b_fail(err, B_USAGE, 0,
			      "--print-env: has no floor: --require and --isolate need a command");
	if (o->print_env)
		return o->argv || o->no_shim
			       ? b_fail(err, B_USAGE, 0,
					"--print-env: takes no command, and needs the shim")
			       : 0;
	if (!o->argv)
		return b_fail(err, B_USAGE, 0,
			      "no command: sbx-launch [options] [--] command [args]; see --help");
	if (o->json && !o->print_argv && !o->mode)
		return b_fail(err, B_USAGE, 0,
			      "--json: only together with --doctor, --selftest, --ps, "
			      "--print-argv or --mode");
	if (contradicts(o, LAU_NEED_PID, LAU_ISOLATE_PID))
		return b_fail(err, B_USAGE, 0, "--require pid-namespace: --isolate leaves it out");
	if (contradicts(o, LAU_NEED_SHM, LAU_ISOLATE_SHM))
		return b_fail(err, B_USAGE, 0, "--require private-shm: --isolate leaves it out");
	if (o->audit_required && o->audit_level == SBX_AUDIT_NONE)
		return b_fail(err, B_USAGE, 0,
			      "--audit-required: cannot be used with --audit-level none");
	if (o->audit_required && o->no_shim)
		return b_fail(err, B_USAGE, 0, "--audit-required: cannot be used with --no-shim");
	return 0;
}

int lau_options_parse(int argc, char **argv, struct lau_options *out, struct b_err *err)
{
	size_t n;
	b_auto_free struct b_opt *table = whole_table(&n);
	int rest;

	if (b_opt_parse(table, n, argc, argv, out, NULL, &rest, err) < 0)
		return -1;
	out->argv = rest < argc ? argv + rest : NULL;
	out->own_argv = argv;
	out->own_argc = rest;
	require_isolation(out);
	if (check(out, err) < 0)
		return -1;
	/* A question about the host needs no policy. */
	if (!out->argv)
		return out->print_env ? lau_policy_settle(&out->policy, err) : 0;
	if (lau_call_settle(out, err) < 0 || lau_parts_chdir(out, err) < 0 ||
	    lau_mode_settle(out, err) < 0)
		return -1;
	return lau_policy_settle(&out->policy, err);
}

void lau_options_complete(enum b_shell shell, struct b_str *out)
{
	size_t n;
	b_auto_free struct b_opt *table = whole_table(&n);
	const struct b_completion c = {"sbx-launch", table, n, NULL, true};

	b_complete(&c, shell, out);
}

void lau_options_help(struct b_str *out)
{
	static const char head[] = "Usage: sbx-launch [options] [--] command [args]\n"
				   "Runs a command under a kernel-enforced policy and records what "
				   "it did to files.\n\n";
	static const char tail[] =
		"\nExit status: the command's own; 128+n when signal n ended it; 124 timed out; "
		"137 had to\n"
		"be killed; 125 sbx-launch failed; 126 not executable or refused; 127 not found.\n"
		"\nExamples:\n"
		"  sbx-launch make -j2                    build; writes stay in the workspace\n"
		"  sbx-launch --network host npm install  the same with the network\n"
		"  sbx-launch -p agent.yaml --profile review -- claude\n"
		"  sbx-launch --deny-read '~/mail' --modify /srv/out -v ./report\n"
		"  sbx-audit                              what the last run did\n";
	size_t n;
	b_auto_free struct b_opt *table = whole_table(&n);
	struct b_str rows = {0};

	b_opt_help(table, n, &rows);
	b_str_add(out, head);
	b_str_add(out, b_str_c(&rows));
	b_str_add(out, tail);
	b_str_release(&rows);
}
