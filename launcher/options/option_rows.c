/* SPDX-License-Identifier: Apache-2.0 */
/*
 * option_rows.c - the options of sbx-launch, a row each. A new option is a row here, a field of
 * struct lau_options and its consumer, and a paragraph of docs/man/sbx-launch.1.
 *
 * Columns, beside those of base/opt.h:
 * .where     where the option holds: with a command (RUN), with --print-env (ENV), BOTH, or with
 *	      a question about other runs (ASK); and what a run inside a run does with it: the outer
 *	      run is asked for it (SENT), it is refused (NOT_NESTED), or neither: the inner program
 *	      does it alone, or it is as the outer run has it. Policy rows travel as one policy.
 * .needs, .excludes, .idle  as in base/opt.h.
 * .macos     why macOS cannot do it: refused there, or only reported (MACOS_NOTE).
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "launcher/exec/exec.h"
#include "launcher/options/approve.h"
#include "launcher/options/options.h"
#include "launcher/plan/environment.h"
#include "launcher/report/report.h"
#include "launcher/run/confine.h"
#include "policy/compile/endpoints.h"
#include "policy/plan/seccomp.h"

/* ---- values that need a call ---- */

static int add_rule(struct lau_policy_opts *o, enum sbx_op op, bool allow, const char *option,
		    const char *text, struct b_err *err)
{
	unsigned nth = 1;
	size_t i;

	if (!*text)
		return b_fail(err, B_USAGE, 0, "needs a path or glob");
	if (*text == '!') /* gitignore's way to say not; a path may still be named ./!x */
		return b_fail(err, B_USAGE, 0,
			      "`%s`: a rule cannot begin with `!`: to deny, use --deny-read or "
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

/* The path of a socket, or an endpoint of the network. */
static int add_connect_rule(struct lau_policy_opts *o, bool allow, const char *option,
			    const char *value, struct b_err *err)
{
	b_auto(b_arena_release) struct b_arena arena = {0};
	bool is_endpoint = !pol_is_socket_path(value);
	struct pol_endpoint ignored;

	if (is_endpoint && pol_endpoint_parse(&arena, value, &ignored, err) < 0) {
		err->kind = B_USAGE;
		return -1;
	}
	if (add_rule(o, SBX_CONNECT, allow, option, value, err) < 0)
		return -1;
	o->rules[o->nrules - 1].is_endpoint = is_endpoint;
	return 0;
}

static int add_connect(void *target, const char *value, struct b_err *err)
{
	return add_connect_rule(target, true, "--connect", value, err);
}

static int add_deny_connect(void *target, const char *value, struct b_err *err)
{
	return add_connect_rule(target, false, "--deny-connect", value, err);
}

static int add_local(void *target, const char *value, struct b_err *err)
{
	struct lau_policy_opts *o = target;
	unsigned short low, high;

	if (pol_port_parse(value, &low, &high) < 0)
		return b_fail(err, B_USAGE, 0, "`%s`: expected a port or a range of them", value);
	return add_connect_rule(o, true, "--local", b_arena_printf(&o->made, "localhost:%s", value),
				err);
}

static int add_publish(void *target, const char *value, struct b_err *err)
{
	struct lau_policy_opts *o = target;
	unsigned short port;

	if (pol_port_parse(value, &port, NULL) < 0)
		return b_fail(err, B_USAGE, 0, "`%s`: expected a port", value);
	if (pol_ports_add(&o->said.publish, port) < 0)
		return b_fail(err, B_USAGE, 0, "more than %d ports", POL_PUBLISH_MAX);
	return 0;
}

static int take_size(const char *value, unsigned long long *out, struct b_err *err)
{
	if (pol_size_parse(value, out) == 0)
		return 0;
	return b_fail(err, B_USAGE, 0, "`%s`: expected a number of bytes, as 500K, 10M or 2G",
		      value);
}

static int set_net_bytes(void *target, const char *value, struct b_err *err)
{
	return take_size(value, &((struct lau_policy_opts *)target)->said.net_limits.bytes, err);
}

static int set_net_rate(void *target, const char *value, struct b_err *err)
{
	return take_size(value, &((struct lau_policy_opts *)target)->said.net_limits.rate, err);
}

static int set_net_connections(void *target, const char *value, struct b_err *err)
{
	unsigned long long *out = &((struct lau_policy_opts *)target)->said.net_limits.connections;

	if (b_parse_u64(value, 1ull << 40, out) < 0 || *out == 0)
		return b_fail(err, B_USAGE, 0, "`%s`: expected a number of connections", value);
	return 0;
}

/* From the environment of sbx-launch, never the command's. */
static int set_upstream(void *target, const char *value, struct b_err *err)
{
	static const char *const names[] = {"https_proxy", "HTTPS_PROXY", "http_proxy"};
	struct lau_policy_opts *o = target;
	bool is_env = strcmp(value, "env") == 0;
	struct pol_upstream ignored;

	if (is_env)
		value = NULL;
	for (size_t i = 0; !value && i < sizeof names / sizeof *names; i++)
		value = getenv(names[i]);
	if (!value)
		return b_fail(err, B_USAGE, 0,
			      "none of https_proxy, HTTPS_PROXY, http_proxy is set");
	if (pol_upstream_parse(value, &ignored) < 0)
		return b_fail(err, B_USAGE, 0, "%s: expected http://HOST:PORT",
			      is_env ? "the proxy of the environment" : "the URL");
	o->said.upstream = value;
	return 0;
}

static int parse_fd(const char *value, int *out, struct b_err *err)
{
	unsigned long long n;

	if (b_parse_u64(value, INT_MAX, &n) < 0)
		return b_fail(err, B_USAGE, 0, "`%s` is not a descriptor number", value);
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

static int set_anchor_fd(void *target, const char *value, struct b_err *err)
{
	struct lau_options *o = target;

	return parse_fd(value, &o->anchor_fd, err);
}

static int add_allow(void *target, const char *value, struct b_err *err)
{
	struct lau_options *o = target;

	if (strcmp(value, "debug") == 0)
		o->allow |= POL_SC_ALLOW_DEBUG;
	else if (strcmp(value, "namespaces") == 0)
		o->allow |= POL_SC_ALLOW_NAMESPACES;
	else if (strcmp(value, "setid") == 0)
		o->allow |= POL_SC_ALLOW_SETID;
	else
		return b_fail(err, B_USAGE, 0, "unknown value `%s` (one of debug|namespaces|setid)",
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
			      "network-namespace, pid-namespace, private-shm, private-tmp, shim)",
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
	} parts[] = {{"none", 0},
		     {"shm", LAU_ISOLATE_SHM},
		     {"pid", LAU_ISOLATE_PID},
		     {"tmp", LAU_ISOLATE_TMP}};
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
				      "unknown value `%s` (auto, none, or a list of pid, shm, tmp)",
				      value);
		o->isolate |= parts[i].bit;
		if (!p[n])
			break;
	}
	return 0;
}

/* ---- the tables ---- */

#define P(field) offsetof(struct lau_policy_opts, field)
#define O(field) offsetof(struct lau_options, field)
#define CALL(fn) .kind = B_OPT_CALL, .call = (fn)

_Static_assert(offsetof(struct lau_options, policy) == 0, "policy rows count from the start");

enum {
	RUN = LAU_OPT_RUN,
	ENV = LAU_OPT_PRINT_ENV,
	ASK = LAU_OPT_ASK,
	BOTH = LAU_OPT_RUN | LAU_OPT_PRINT_ENV,
	SENT = LAU_OPT_SENT,
	NOT_NESTED = LAU_OPT_NOT_NESTED,
};

#define LIMITED "limits are set on Linux only: leave it out, or use ulimit of the shell"

#define GROUP "Policy"
const struct b_opt lau_policy_table[] = {
	{"policy", 'p', "FILE|NAME", B_OPT_LIST, P(policies), .where = BOTH, .group = GROUP,
	 .help = "policy document, or the name of one in the store; several are merged; the "
		 "default is the built-in policy"},
	{"dialect", 0, POL_DIALECT_WORDS, B_OPT_ENUM, P(dialect), POL_DIALECT_WORDS, .where = BOTH,
	 .group = GROUP,
	 .help = "language of the policy: Orbit's or OpenShell's YAML, the JSON settings of srt, "
		 "caliban's TOML; auto (default) recognizes it by its content"},
	{"image", 0, "FILE", B_OPT_STR, P(image), .where = BOTH, .group = GROUP,
	 .help = "policy compiled by sbx-policy compile, in place of documents"},
	{"preset", 0, "NAME", B_OPT_LIST, P(presets), .where = BOTH, .group = GROUP,
	 .help = "add a preset below the policy: what a tool needs outside the workspace, or a "
		 "whole policy (repeatable; sbx-policy presets lists them)"},
	{"profile", 0, "NAME", B_OPT_STR, P(profile), .where = BOTH, .group = GROUP,
	 .help = "profile of the document; needed when it has several"},
	{"workspace", 'w', "DIR", B_OPT_LIST, P(workspaces), .where = BOTH, .group = GROUP,
	 .help = "root of relative rules, and the directory that may be modified (repeatable; "
		 "default: the git toplevel, or the current directory)"},
	{"read", 0, "RULE", .where = BOTH, .group = GROUP, CALL(add_read),
	 .help = "also allow reading: a path or glob, absolute, ~ or relative to the workspace "
		 "(repeatable, as the next four)"},
	{"also-read", 0, "FILE", .where = BOTH, .group = GROUP, CALL(add_also_read),
	 .help = "also allow reading this one file; relative to the current directory "
		 "(repeatable)"},
	{"modify", 0, "RULE", .where = BOTH, .group = GROUP, CALL(add_modify),
	 .help = "also allow modifying"},
	{"deny-read", 0, "RULE", .where = BOTH, .group = GROUP, CALL(add_deny_read),
	 .help = "deny reading"},
	{"deny-modify", 0, "RULE", .where = BOTH, .group = GROUP, CALL(add_deny_modify),
	 .help = "deny modifying"},
	{"connect", 0, "HOST:PORT|PATH", .where = BOTH, .group = GROUP, CALL(add_connect),
	 .help = "also allow connecting to an endpoint (example.org:443, *.example.org, "
		 "10.0.0.0/8:5432) or to the socket at a path (repeatable, as the next)"},
	{"deny-connect", 0, "HOST:PORT|PATH", .where = BOTH, .group = GROUP, CALL(add_deny_connect),
	 .help = "deny connecting"},
	{"local", 0, "PORT", .where = BOTH, .group = GROUP, CALL(add_local),
	 .help = "also allow connecting to this port of the host's loopback interface, as "
		 "--connect "
		 "localhost:PORT; a range is PORT-PORT (repeatable)"},
	{"reads", 0, "broad|system|listed", B_OPT_ENUM, P(said.v[POL_SET_reads]),
	 "broad|system|listed", .where = BOTH, .group = GROUP,
	 .help = "what may be read outside the workspace: everything but secrets and devices "
		 "(broad, the default), the system's directories, or only what rules list"},
	{"network", 0, "none|loopback|watch|host", B_OPT_ENUM, P(said.v[POL_SET_network]),
	 "none|loopback|watch|host", .where = BOTH, .group = GROUP,
	 .help = "network of the command (default none); watch lets everything pass and records "
		 "what the rules on endpoints would deny"},
	{"env", 0, "keep|scrub|pass|clear", B_OPT_ENUM, P(said.v[POL_SET_env]),
	 "keep|scrub|pass|clear", .where = BOTH, .group = GROUP,
	 .help = "variables that the command inherits: all (keep, the default), all except logins "
		 "and those that make programs load code (scrub), a list of usual ones (pass), or "
		 "PATH, HOME and LANG (clear)"},
	{"unix", 0, "none|host|PATH", .where = BOTH, .group = GROUP, CALL(set_unix),
	 .help = "Unix sockets outside that are open: none (default), all of the host, or one"},
};
const size_t lau_policy_table_n = sizeof lau_policy_table / sizeof *lau_policy_table;
#undef GROUP

const struct b_opt lau_option_table[] = {
#define GROUP "Policy"
	{"require-bundle", 0, "FILE", B_OPT_STR, O(require_bundle), .where = RUN | NOT_NESTED,
	 .macos = "sbx-bundle, which verifies it, is not built for macOS: leave it out",
	 .group = GROUP,
	 .help = "signed policies (sbx-policy bundle) that must allow, too; nothing runs without a "
		 "valid bundle, or the last valid one"},
	{"bundle-key", 0, "FILE", B_OPT_STR, O(bundle_key), .where = RUN | NOT_NESTED,
	 .needs = "require-bundle", .group = GROUP,
	 .help = "public key that verifies the bundle (default /etc/sbx-launch/bundle.pub)"},
#undef GROUP
#define GROUP "Floor"
	{"strict", 0, NULL, B_OPT_FLAG, O(strictness), .value = LAU_STRICT, .where = BOTH | SENT,
	 .group = GROUP,
	 .help = "refuse to run when a rule cannot be enforced by the kernel (default)"},
	{"best-effort", 0, NULL, B_OPT_FLAG, O(strictness), .value = LAU_BEST_EFFORT,
	 .where = BOTH | SENT, .group = GROUP,
	 .help = "run also when a rule cannot be enforced; print and record each such rule"},
	{"require", 0, "ABILITY", .where = RUN | SENT, .group = GROUP, CALL(add_require),
	 .help = "refuse to run on a host without this ability: landlock, landlock=N, broker, "
		 "network-namespace, pid-namespace, private-shm, private-tmp, shim (repeatable)"},
	{"caps", 0, "LIST|none", B_OPT_STR, O(caps), .where = BOTH | SENT,
	 .macos = "macOS has no capabilities; only the profile limits root: leave it out",
	 .group = GROUP,
	 .help = "capabilities root keeps (default chown,dac_override,fowner,fsetid)"},
	{"allow", 0, "debug|namespaces|setid", .where = BOTH | SENT | LAU_OPT_MACOS_NOTE,
	 .macos = "has no effect on macOS: there is no filter of system calls to relax",
	 .group = GROUP, CALL(add_allow),
	 .help = "allow debuggers, new namespaces, or set-id files (repeatable)"},
	{"isolate", 0, "auto|none|LIST", .where = RUN | SENT, .idle = "auto|none",
	 .macos = "macOS has no namespaces: a run sees the processes, the shared memory and the "
		  "/tmp of the host: leave it out, or say none",
	 .group = GROUP, CALL(set_isolate),
	 .help = "make private to the run: the process list (pid), /dev/shm (shm), /tmp (tmp); "
		 "auto (default) does what the host allows of the first two"},
	{"backend", 0, "sandbox-exec|init", B_OPT_ENUM, O(backend), "sandbox-exec|init",
	 .where = BOTH | NOT_NESTED | LAU_OPT_MACOS_ONLY, .idle = "sandbox-exec", .group = GROUP,
	 .help = "how the profile is applied: by /usr/bin/sandbox-exec (default), or by the "
		 "launcher itself"},
	{"backend", 0, "landlock|bwrap", B_OPT_ENUM, O(backend), "landlock|bwrap",
	 .where = BOTH | NOT_NESTED | LAU_OPT_LINUX_ONLY, .idle = "landlock", .group = GROUP,
	 .help = "how file rules are enforced: Landlock plus broker (default), or bubblewrap's "
		 "mounts"},
	{"passenv", 0, "NAME", .where = BOTH | SENT, .group = GROUP, CALL(lau_envplan_add_pass),
	 .help = "pass this variable in any case, whatever --env says; * stands for any part of "
		 "the name (repeatable)"},
	{"setenv", 0, "NAME=VALUE", .where = BOTH | SENT, .group = GROUP, CALL(lau_envplan_add_set),
	 .help = "set a variable for the command (repeatable)"},
	{"publish", 0, "PORT", .where = RUN | NOT_NESTED | LAU_OPT_LINUX_ONLY, .group = GROUP,
	 CALL(add_publish),
	 .help = "make a server of the command reachable at this port of the host's loopback "
		 "interface (repeatable)"},
	{"net-connections", 0, "N", .where = RUN | NOT_NESTED, .macos = LIMITED, .group = GROUP,
	 CALL(set_net_connections),
	 .help = "number of connections that the run may open (needs rules on endpoints)"},
	{"net-bytes", 0, "SIZE", .where = RUN | NOT_NESTED, .macos = LIMITED, .group = GROUP,
	 CALL(set_net_bytes),
	 .help = "bytes that these may transfer, both directions together: 500K, 10M"},
	{"net-rate", 0, "SIZE", .where = RUN | NOT_NESTED, .macos = LIMITED, .group = GROUP,
	 CALL(set_net_rate), .help = "bytes that they may transfer in a second"},
	{"upstream-proxy", 0, "URL|env", .where = RUN | NOT_NESTED | LAU_OPT_LINUX_ONLY,
	 .group = GROUP, CALL(set_upstream),
	 .help = "connect through this proxy (http://HOST:PORT), to addresses that the launcher "
		 "has checked; env: the proxy that https_proxy names"},
	{"proxy-env", 0, NULL, B_OPT_FLAG, O(proxy_env), .where = RUN | SENT,
	 .macos = "rules on endpoints are not enforced on macOS, and there is no proxy: leave it "
		  "out",
	 .group = GROUP,
	 .help = "for programs that need a proxy: set HTTP_PROXY and the like to a proxy of the "
		 "run (needs rules on endpoints)"},
	{"reloadable", 0, NULL, B_OPT_FLAG, O(reloadable),
	 .where = RUN | NOT_NESTED | LAU_OPT_LINUX_ONLY, .group = GROUP,
	 .help = "let rules on endpoints change during the run, by SIGHUP or --reload RUN"},
	{"marked-calls", 0, NULL, B_OPT_FLAG, O(marked_calls),
	 .where = RUN | NOT_NESTED | LAU_OPT_LINUX_ONLY, .group = GROUP,
	 .help = "let the kernel alone decide changes in directories whose names all get the same "
		 "verdict: faster, experimental (default off)"},
	{"keep-fd", 0, "N", .where = RUN | NOT_NESTED, .group = GROUP, CALL(add_keep_fd),
	 .help = "pass this open file, directory or socket to the command; pipes always pass "
		 "(repeatable)"},
#undef GROUP
#define GROUP "Audit"
	{"audit-level", 0, "LEVEL", B_OPT_ENUM, O(audit_level), "folded|all|modify|denied|none",
	 .where = BOTH, .group = GROUP,
	 .help = "folded (default: each change and start, a read once per process and path), all, "
		 "modify, denied, none"},
	{"audit-file", 0, "FILE", B_OPT_STR, O(audit_file), .where = BOTH | NOT_NESTED,
	 .group = GROUP, .help = "append the log to FILE instead of the run's directory"},
	{"audit-required", 0, NULL, B_OPT_FLAG, O(audit_required), .where = BOTH | SENT,
	 .excludes = "audit-level=none|no-shim", .group = GROUP,
	 .help = "end the run when the log cannot be written"},
	{"anchor-fd", 0, "N", .where = RUN | NOT_NESTED, .group = GROUP, CALL(set_anchor_fd),
	 .help = "write the run's id and the final hash of its log to this descriptor"},
	{"anchor-command", 0, "COMMAND", B_OPT_STR, O(anchor_command), .where = RUN | NOT_NESTED,
	 .group = GROUP,
	 .help = "when the log is complete, run this by /bin/sh outside of the sandbox; SBX_RUN "
		 "and SBX_HASH have the run's id and the final hash"},
	{"learn", 0, NULL, B_OPT_FLAG, O(learn), .where = RUN | NOT_NESTED,
	 .excludes = "audit-level=none|audit-level=denied|audit-level=modify|no-shim",
	 .group = GROUP,
	 .help = "at the end, print on standard error the smallest policy that allows what the run "
		 "did"},
	{"context", 0, "KEY=VALUE", B_OPT_LIST, O(context), .where = RUN | SENT, .group = GROUP,
	 .help = "add this to each line of the log: a session, a tool call (repeatable; also from "
		 "SBX_CONTEXT)"},
	{"no-shim", 0, NULL, B_OPT_FLAG, O(no_shim), .where = RUN, .group = GROUP,
	 .help = "do not preload the shim: the kernel enforces, and no event is recorded"},
#undef GROUP
#define GROUP "Running"
	{"mode", 0, "none|accept-edits|auto", B_OPT_ENUM, O(mode), "none|accept-edits|auto",
	 .where = RUN | SENT, .idle = "none", .excludes = "best-effort", .group = GROUP,
	 .help = "for agents: accept-edits runs only commands known to be read-only, without "
		 "network, and refuses others with 126; auto runs everything; both refuse to run "
		 "when a rule cannot be enforced"},
	{"timeout", 0, "TIME", B_OPT_MS, O(timeout_ms), .where = RUN | ASK | SENT, .group = GROUP,
	 .help = "terminate after 250ms, 1.5s, 90, 5m, 2h: status 124"},
	{"kill-after", 0, "TIME", B_OPT_MS, O(kill_after_ms), .where = RUN | SENT, .group = GROUP,
	 .help = "kill what still runs this long after the timeout (default 5s): status 137"},
	{"memory", 0, "SIZE", .where = RUN | SENT, .macos = LIMITED, .group = GROUP,
	 CALL(set_memory),
	 .help = "memory: 512M, 2G; for the whole run in a delegated cgroup, otherwise for each "
		 "process"},
	{"cpu-time", 0, "TIME", .where = RUN | SENT, .macos = LIMITED, .group = GROUP,
	 CALL(set_cpu), .help = "processor time of each process: 30s, 5m"},
	{"nproc", 0, "N", .where = RUN | SENT, .macos = LIMITED, .group = GROUP, CALL(set_nproc),
	 .help = "processes and threads"},
	{"fsize", 0, "SIZE", .where = RUN | SENT, .macos = LIMITED, .group = GROUP, CALL(set_fsize),
	 .help = "size of each file written"},
	{"nofile", 0, "N", .where = RUN | SENT, .macos = LIMITED, .group = GROUP, CALL(set_nofile),
	 .help = "open descriptors of each process"},
	{"status-fd", 0, "N", .where = RUN, .group = GROUP, CALL(set_status_fd),
	 .help = "write how the run ended to this descriptor, as a line of JSON"},
	{"command", 'c', "STRING", B_OPT_STR, O(command), .where = RUN, .group = GROUP,
	 .help = "run STRING with /bin/sh; following words are its $0, $1, ..."},
	{"chdir", 'C', "DIR", B_OPT_STR, O(chdir), .where = BOTH, .group = GROUP,
	 .help = "change to this directory first; paths in other options are relative to it"},
	{"result-json", 0, "FD|FILE", B_OPT_STR, O(result_json), .where = RUN | NOT_NESTED,
	 .group = GROUP,
	 .help = "capture the output of the command, end everything that it started, and write the "
		 "result to this descriptor or file: {success, stdout, stderr, exit_code, ...}"},
	{"stdin", 0, "inherit|null|FILE", B_OPT_STR, O(stdin_from), .where = RUN,
	 .needs = "result-json", .group = GROUP,
	 .help = "with --result-json: standard input of the command"},
	{"capture-limit", 0, "SIZE|none", .where = RUN, .needs = "result-json", .group = GROUP,
	 CALL(lau_capture_set_limit),
	 .help = "with --result-json: bytes to keep of each stream (default 1M)"},
	{"capture-over", 0, "end|drop", B_OPT_ENUM, O(capture_over), "end|drop", .where = RUN,
	 .needs = "result-json", .idle = "end", .group = GROUP,
	 .help = "with --result-json: when a stream exceeds the limit, end the command (default), "
		 "or drop the rest"},
	{"tee", 0, NULL, B_OPT_FLAG, O(tee), .where = RUN, .needs = "result-json", .group = GROUP,
	 .help = "with --result-json: also print both streams on standard error, with secrets of "
		 "the environment removed"},
	{"quiet", 'q', NULL, B_OPT_COUNT, O(quiet), .where = BOTH | ASK | SENT, .group = GROUP,
	 .help = "print no notes at the start; twice: also no denial lines"},
	{"verbose", 'v', NULL, B_OPT_COUNT, O(verbose), .where = BOTH | ASK | SENT, .group = GROUP,
	 .help = "print how the run is confined, what it left running, and a summary at the end"},
#undef GROUP
#define GROUP "Questions"
	{"dry-run", 0, NULL, B_OPT_FLAG, O(dry_run), .where = RUN, .group = GROUP,
	 .help = "print the plan; run nothing, write nothing"},
	{"print-argv", 0, NULL, B_OPT_FLAG, O(print_argv), .where = RUN, .group = GROUP,
	 .help = "print the command line that runs the command with these options, quoted for a "
		 "shell; run nothing"},
	{"print-env", 0, NULL, B_OPT_FLAG, O(print_env), .where = ENV, .group = GROUP,
	 .help = "print variables for eval: only the shim checks and records programs started with "
		 "them, the kernel enforces nothing; the policy is --policy or SBX_PROFILE"},
	{"on-error", 0, "deny|pass", B_OPT_ENUM, O(on_error_pass), "deny|pass", .where = ENV,
	 .idle = "deny", .group = GROUP,
	 .help = "with --print-env: what the shim answers when it cannot read its policy or fails "
		 "(default deny)"},
	{"doctor", 0, NULL, B_OPT_FLAG, O(doctor), .group = GROUP,
	 .help = "print what this host can enforce, and what is missing"},
	{"selftest", 0, NULL, B_OPT_FLAG, O(selftest), .group = GROUP,
	 .help = "try a hundred ways out of the sandbox: status 0 when all are closed, 1 when one "
		 "is open"},
	{"ps", 0, NULL, B_OPT_FLAG, O(ps), .where = ASK | LAU_OPT_LINUX_ONLY,
	 .excludes = "stop|wait", .group = GROUP, .help = "list the runs that have not ended"},
	{"stop", 0, "RUN", B_OPT_STR, O(stop), .where = ASK | LAU_OPT_LINUX_ONLY,
	 .excludes = "ps|wait", .group = GROUP,
	 .help = "end a run (its id, the beginning of one, or last) as a timeout does, and wait "
		 "for it"},
	{"wait", 0, "RUN", B_OPT_STR, O(wait), .where = ASK | LAU_OPT_LINUX_ONLY,
	 .excludes = "ps|stop", .group = GROUP,
	 .help = "wait for a run to end, and return its status; --timeout limits --stop and "
		 "--wait"},
	{"reload", 0, "RUN", B_OPT_STR, O(reload), .where = ASK | LAU_OPT_LINUX_ONLY,
	 .excludes = "ps|stop|wait", .group = GROUP,
	 .help = "make a --reloadable run read its rules on endpoints again; wait until they are "
		 "in force"},
	{"json", 0, NULL, B_OPT_FLAG, O(json), .where = RUN | ASK | SENT,
	 .needs = "doctor|selftest|ps|print-argv|mode", .excludes = "stop|wait|reload",
	 .group = GROUP,
	 .help = "with --doctor, --selftest, --ps, --print-argv: print JSON; with --mode: print a "
		 "refusal as JSON"},
	{"hook", 0, LAU_AGENTS, B_OPT_ENUM, O(hook), "|" LAU_AGENTS,
	 .where = RUN | LAU_OPT_LINUX_ONLY, .excludes = "setup", .group = GROUP,
	 .help = "act as this agent's hook: read a tool call, and answer with its command run by "
		 "sbx-launch with the other options; on any error status 2, which refuses the "
		 "call"},
	{"setup", 0, LAU_AGENTS "|" LAU_TOOLS, B_OPT_ENUM, O(setup), "|" LAU_AGENTS "|" LAU_TOOLS,
	 .where = RUN | LAU_OPT_LINUX_ONLY, .group = GROUP,
	 .help = "add that hook, with the other options, to this agent's settings; or make this "
		 "tool run its commands that way; --dry-run only prints the difference"},
	{"project", 0, NULL, B_OPT_FLAG, O(project), .where = RUN | LAU_OPT_LINUX_ONLY,
	 .needs = "setup", .group = GROUP,
	 .help = "with --setup: change the settings of the current directory, not the user's"},
	{"undo", 0, NULL, B_OPT_FLAG, O(undo), .where = RUN | LAU_OPT_LINUX_ONLY, .needs = "setup",
	 .group = GROUP, .help = "with --setup: remove it again"},
	{"completion", 0, B_SHELLS, B_OPT_ENUM, O(completion), B_SHELLS, .group = GROUP,
	 .help = "print completions for this shell"},
	{"help", 'h', NULL, B_OPT_FLAG, O(help), .group = GROUP, .help = "this text"},
	{"version", 'V', NULL, B_OPT_FLAG, O(version), .group = GROUP, .help = "the version"},
#undef GROUP
};
const size_t lau_option_table_n = sizeof lau_option_table / sizeof *lau_option_table;
