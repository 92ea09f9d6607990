/* SPDX-License-Identifier: Apache-2.0 */
/* remedy.c - what was refused, as a line, and what would open it; see collect_priv.h. */
#include "audit/collect_priv.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "core/event.h"
#include "core/path.h"
#include "policy/plan/seccomp.h"

/* The option that opens each operation. A profile without an exec list executes what it may read.
 */
static const char *const remedy[SBX_OP_COUNT] = {
	[SBX_READ] = "--read",
	[SBX_MODIFY] = "--modify",
	[SBX_EXEC] = "--read",
	[SBX_CONNECT] = "--unix",
};

static bool is_plain(const char *p, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (!isalnum((unsigned char)p[i]) && !strchr("/._-+@%:=,", p[i]))
			return false;
	return true;
}

/* A rule's text. It has no way to say a star, which a single question mark meets most closely. */
static void add_as_rule(struct b_str *out, const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		b_str_addc(out, (char)(p[i] == '*' ? '?' : p[i]));
}

/* In $'', which bash, zsh and ksh know: all bytes can be typed so. */
static void add_escaped(struct b_str *out, const char *p, size_t n)
{
	b_str_add(out, "$'");
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)p[i];

		if (c == '\n')
			b_str_add(out, "\\n");
		else if (c < 0x20 || c >= 0x7f)
			b_str_addf(out, "\\x%02x", c);
		else if (c == '\'' || c == '\\')
			b_str_addf(out, "\\%c", c);
		else
			b_str_addc(out, (char)c);
	}
	b_str_addc(out, '\'');
}

static void add_quoted(struct b_str *out, const char *p, size_t n)
{
	b_auto(b_str_release) struct b_str seen = {0};

	b_str_add_visible(&seen, p, n);
	if (seen.len != n || memchr(p, '\'', n)) {
		add_escaped(out, p, n);
		return;
	}
	b_str_addc(out, '\'');
	b_str_addn(out, p, n);
	b_str_addc(out, '\'');
}

/* The path, and what is behind it (a pattern), as a word for a shell. */
static void add_word(struct b_str *out, const char *p, size_t n, const char *behind)
{
	b_auto(b_str_release) struct b_str rule = {0};

	add_as_rule(&rule, p, n);
	b_str_add(&rule, behind);
	if (is_plain(rule.s, rule.len))
		b_str_addn(out, rule.s, rule.len);
	else
		add_quoted(out, rule.s, rule.len);
}

/* The base rules deny by name only the run's own files, and no option opens those. */
static bool is_own(const struct aud_denial *d)
{
	return b_has_prefix(d->origin, "builtin:base:") && aud_denial_is_named(d);
}

/* "uid_map" of "/proc/123/uid_map"; NULL: of no single process. */
static const char *of_process(const struct aud_denial *d)
{
	const char *at = d->path + 6;

	if (!b_has_prefix(d->path, "/proc/") || !isdigit((unsigned char)*at))
		return NULL;
	while (isdigit((unsigned char)*at))
		at++;
	return *at == '/' ? at + 1 : NULL;
}

#define NO_NAMESPACE                                                                               \
	{                                                                                          \
		"namespaces", "programs that make their own need --allow namespaces; what mounts " \
			      "in them (bwrap, podman) cannot work inside"                         \
	}
#define NO_OTHERS                                                                                  \
	{                                                                                          \
		"limits and priorities of a process outside of the run", "set them from outside"   \
	}

/* Calls that no rule opens; whom they were about is of no use: one line for all. */
static const struct {
	const char *what, *advice;
} whole_call[SBX_CALL_COUNT] = {
	[SBX_CALL_ptrace] = {"ptrace", "debuggers, strace and LeakSanitizer need --allow debug"},
	[SBX_CALL_clone] = NO_NAMESPACE,
	[SBX_CALL_unshare] = NO_NAMESPACE,
	[SBX_CALL_setpriority] = NO_OTHERS,
	[SBX_CALL_ioprio_set] = NO_OTHERS,
	[SBX_CALL_sched_setaffinity] = NO_OTHERS,
	[SBX_CALL_sched_setparam] = NO_OTHERS,
	[SBX_CALL_sched_setscheduler] = NO_OTHERS,
	[SBX_CALL_sched_setattr] = NO_OTHERS,
	[SBX_CALL_prlimit] = NO_OTHERS,
	[SBX_CALL_move_pages] = NO_OTHERS,
	[SBX_CALL_migrate_pages] = NO_OTHERS,
};

/* The row of the filter that refused it; NULL: rules did. */
static const struct pol_sc_rule *of_filter(const struct aud_denial *d)
{
	return b_has_prefix(d->origin, "builtin:filter:") ? pol_sc_row(d->origin) : NULL;
}

/* Denials with the same text here share one line, whatever process asked; NULL: a line for each
 * path. */
static const char *of_call(const struct aud_denial *d)
{
	if (of_filter(d))
		return d->origin;
	return d->call < SBX_CALL_COUNT ? whole_call[d->call].what : NULL;
}

const char *aud_denial_topic(const struct aud_denial *d, size_t *out_len)
{
	const char *text = of_call(d);
	size_t git = text ? 0 : aud_denial_in_git(d);

	*out_len = text ? strlen(text) : git ? git : d->path_len;
	return text ? text : d->path;
}

/* The number of a process is another one the next time: no rule can name it. */
static void add_process_remedy(struct b_str *line, const struct aud_denial *d, const char *name)
{
	static const char *const maps[] = {"uid_map", "gid_map", "setgroups"};
	size_t i;

	if (d->op == SBX_CONNECT && b_has_prefix(name, "fd/"))
		b_str_add(line,
			  ": a socket made outside of the run: --keep-fd passes on what the "
			  "launcher was started with; what a process sends stays connected as it "
			  "is");
	for (i = 0; d->op == SBX_MODIFY && i < sizeof maps / sizeof *maps; i++)
		if (strcmp(name, maps[i]) == 0)
			b_str_add(line, ": mapping user namespaces needs --allow namespaces");
}

/* git saves `config` by the name `config.lock`, which opens with it. */
static size_t saved_len(const struct aud_denial *d)
{
	size_t n = d->path_len;

	return b_has_prefix(d->origin, "preset:protected:") && n > 5 &&
			       memcmp(d->path + n - 5, ".lock", 5) == 0
		       ? n - 5
		       : n;
}

/* A part of the path tells whose it is: the preset opens all that the program needs. */
static const struct {
	const char *part, *preset;
} keepers[] = {
	{"/.claude/", "claude"},
	{"/.claude.json", "claude"},
	{"/.codex/", "codex"},
	{"/.gemini/", "gemini"},
	{"/.grok/", "grok"},
	{"/.qwen/", "qwen"},
	{"/.local/share/opencode/", "opencode"},
	{"/.local/state/opencode/", "opencode"},
	{"/.cursor/", "cursor-agent"},
	{"/.aider/", "aider"},
	{"/.npm/", "npm"},
	{"/.local/share/pnpm/store", "pnpm"},
	{"/.cache/pnpm/", "pnpm"},
	{"/.yarn/", "yarn"},
	{"/.cache/yarn/", "yarn"},
	{"/.cache/pip/", "pip"},
	{"/.cache/uv/", "uv"},
	{"/.cache/pypoetry/", "poetry"},
	{"/.cargo/registry", "cargo"},
	{"/.cargo/.package-cache", "cargo"},
	{"/go/pkg/", "go"},
	{"/.m2/repository", "maven"},
	{"/.gradle/", "gradle"},
	{"/.local/share/jupyter/", "jupyter"},
};

/* Only where the built-in rules deny: a preset that is in use opens its places, or says why not. */
static void add_keeper(struct b_str *line, const struct aud_denial *d)
{
	bool is_outside = d->op == SBX_MODIFY && b_has_prefix(d->origin, "builtin:base:");
	bool is_login = d->op == SBX_READ && b_has_prefix(d->origin, "preset:secrets:");

	for (size_t i = 0; (is_outside || is_login) && i < sizeof keepers / sizeof *keepers; i++)
		if (strstr(d->path, keepers[i].part)) {
			b_str_addf(line, ", or with --preset %s", keepers[i].preset);
			return;
		}
}

/* Documents that must all allow: an option of the run's own opens nothing of theirs. */
static bool add_layer_remedy(struct b_str *line, const struct aud_denial *d)
{
	if (b_has_prefix(d->origin, "managed:"))
		b_str_add(line, ": the policy of this host denies it, no option opens it");
	else if (b_has_prefix(d->origin, "project:"))
		b_str_add(line, ": the file of the project denies it, no option opens it");
	else
		return false;
	return true;
}

/* The broker names an abstract socket so (unix(7)); no path begins with anything but a slash. */
static bool is_abstract_socket(const struct aud_denial *d)
{
	return d->op == SBX_CONNECT && d->path[0] == '@';
}

/* Where an option would not help. */
static bool add_permissions(struct b_str *line, const struct aud_denial *d)
{
	int sys = aud_out_of_reach(d);

	if (sys)
		b_str_add(line,
			  sys == EROFS ? ": its file system is read-only anyway, no option opens it"
				       : ": file permissions refuse it anyway, no option opens it");
	return sys != 0;
}

/* Where an option would open too much. */
static bool add_outside(struct b_str *line, const struct aud_denial *d, size_t n)
{
	const char *more = aud_denial_opens(d, n);

	if (more)
		b_str_addf(line, ": no option opens it without %s: change it from outside", more);
	return more != NULL;
}

/* To make or remove a directory changes its parent, so the option names the parent. Where that
 * opens too much, it names a pattern for the directory, which is narrower. */
static void add_parent(struct b_str *line, const struct aud_denial *d, size_t parent)
{
	if (add_outside(line, d, d->path_len))
		return;
	if (aud_denial_opens(d, parent)) {
		b_str_add(line, ": allow with --modify ");
		add_word(line, d->path, d->path_len, "*/**");
		return;
	}
	b_str_add(line, ": allow its directory with --modify ");
	add_word(line, d->path, parent, "");
}

/* A directory with a made-up name is made to be filled. */
static const char *behind_random(const struct aud_denial *d)
{
	return d->call == SBX_CALL_mkdir || d->call == SBX_CALL_mkdirat ? "*/**" : "*";
}

/* A name in /tmp that a program took without asking for a place. */
static bool is_loose_in_tmp(const struct aud_denial *d)
{
	return d->op == SBX_MODIFY && b_has_prefix(d->path, "/tmp/") && !strchr(d->path + 5, '/') &&
	       strcmp(d->origin, "builtin:base:1") == 0;
}

static void add_remedy(struct b_str *line, const struct aud_denial *d)
{
	const char *name = of_process(d);
	size_t n, parent;

	if (is_abstract_socket(d)) {
		b_str_add(line, ": an abstract socket, which has no path: allow with --unix host");
		return;
	}
	if (d->is_log) {
		b_str_add(line, ": the log of the run, no option opens it");
		return;
	}
	if (is_own(d) || add_layer_remedy(line, d) || add_permissions(line, d))
		return;
	if (name) {
		add_process_remedy(line, d, name);
		return;
	}
	n = aud_denial_in_git(d);
	if (n) {
		b_str_add(line,
			  ": a git directory, whose hooks and configuration stay closed: allow "
			  "with --modify ");
		add_word(line, d->path, n, "");
		return;
	}
	/* what a rule names for itself keeps its place */
	parent = d->call == SBX_CALL_rmdir ? sbx_path_parent(d->path, d->path_len) : 0;
	if (parent) {
		add_parent(line, d, parent);
		return;
	}
	if (add_outside(line, d, d->path_len))
		return;
	if (b_has_prefix(d->origin, "builtin:self:"))
		b_str_add(line, ": a program of this sandbox: run one installed elsewhere, or");
	else
		b_str_addc(line, ':');
	b_str_add(line, b_has_prefix(d->origin, "outer:") ? " allow in the outer run, with "
							  : " allow with ");
	b_str_add(line, remedy[d->op]);
	b_str_addc(line, ' ');
	n = d->op == SBX_MODIFY ? aud_denial_before_random(d) : 0;
	add_word(line, d->path, n ? n : saved_len(d), n ? behind_random(d) : "");
	add_keeper(line, d);
	if (is_loose_in_tmp(d))
		b_str_add(line, ", or with --isolate pid,shm,tmp");
}

/* The name is changed in its parent. */
static void add_root_remedy(struct b_str *line, const struct aud_denial *d)
{
	size_t parent = sbx_path_parent(d->path, d->path_len);

	if (b_has_prefix(d->path, "/dev/")) {
		b_str_add(line, ": a device keeps its name");
		return;
	}
	if (strstr(d->origin, "builtin:stdio:")) {
		b_str_add(line,
			  ": a file that is the standard output of the command keeps its name");
		return;
	}
	b_str_add(line, ": a granted name stays where it is and cannot become a symlink");
	if (parent)
		add_parent(line, d, parent);
}

static bool is_of_name_server(const struct aud_denial *d)
{
	return d->path_len > 3 && !memcmp(d->path + d->path_len - 3, ":53", 3);
}

/* ":443" of "example.org:443", or "". */
static const char *port_of(const struct aud_denial *d)
{
	const char *at = d->path + d->path_len;

	while (at > d->path && isdigit((unsigned char)at[-1]))
		at--;
	return at > d->path && at[-1] == ':' ? at - 1 : "";
}

/* The address alone, at the port that was asked for: "10.0.0.1:443", "[2001:db8::1]:443". */
static void add_address(struct b_str *line, const struct aud_denial *d)
{
	const char *port = port_of(d);
	bool is_v6 = *port && memchr(d->address, ':', d->address_len);

	b_str_add(line, is_v6 ? "[" : "");
	b_str_add_visible(line, d->address, d->address_len);
	b_str_add(line, is_v6 ? "]" : "");
	b_str_add(line, port);
}

/* A name that is open, and an address that is not: what a name says may not lead there. */
static void add_endpoint_remedy(struct b_str *line, const struct aud_denial *d)
{
	if (add_layer_remedy(line, d))
		return;
	if (strcmp(d->matched, "<limit>") == 0) {
		b_str_add(line, ": the run has reached its limit: allow more with "
				"--net-connections or --net-bytes");
		return;
	}
	if (strcmp(d->matched, "<Binary integrity violation>") == 0) {
		b_str_add(line, ": the program is not the one that was seen first: start the run "
				"anew to trust it");
		return;
	}
	if (d->is_request) {
		/* "- why": it was refused before any rule was asked */
		bool is_unread = d->address_len > 2 && !memcmp(d->address, "- ", 2);

		b_str_add(line, ": ");
		b_str_add_visible(line, d->address + 2 * is_unread, d->address_len - 2 * is_unread);
		if (!is_unread)
			b_str_add(line, ": change `http` of the endpoint to allow it");
		return;
	}
	if (d->address) {
		b_str_add(line, ": it is ");
		b_str_add_visible(line, d->address, d->address_len);
		b_str_add(line, ", where no name may lead: allow the address with --connect ");
		add_address(line, d);
		return;
	}
	b_str_add(line, b_has_prefix(d->origin, "outer:") ? ": allow in the outer run, with "
							  : ": allow with ");
	b_str_add(line, "--connect ");
	/* a name server, which the run's own resolver stands for as soon as a name is allowed */
	if (!strcmp(d->matched, "<no network>") && is_of_name_server(d))
		b_str_add(line, "HOST:PORT the host whose name is looked up");
	else
		b_str_add_visible(line, d->path, d->path_len);
}

/* ": allow with --read X", as it stands behind the line; nothing where nothing is known. */
static void add_advice(struct b_str *line, const struct aud_denial *d)
{
	const struct pol_sc_rule *rule = of_filter(d);

	if (d->is_set_id)
		b_str_add(line, ": outside it would run as its owner: allow with --allow setid");
	else if (rule)
		b_str_addf(line, ": %s: %s%s", rule->why,
			   pol_sc_remedy(rule) ? "allow with " : "no option opens it",
			   pol_sc_remedy(rule) ? pol_sc_remedy(rule) : "");
	else if (of_call(d))
		b_str_addf(line, ": %s", whole_call[d->call].advice);
	else if (d->is_endpoint)
		add_endpoint_remedy(line, d);
	else if (d->is_unseen)
		b_str_add(line, ": the broker cannot check everything below it (too many files, or "
				"unreadable ones): move it in parts");
	else if (d->is_root)
		add_root_remedy(line, d);
	else if (d->is_stood_in)
		b_str_add(line,
			  ": the run began or works there, and programs outside stay in it when it "
			  "moves: move it outside of the sandbox");
	else if (d->is_git_link)
		b_str_add(line,
			  ": the git of the host would follow a symlink there: make it outside of "
			  "the sandbox");
	else
		add_remedy(line, d);
}

/* The command chooses names: one that could be read as the rest of the line is quoted. */
static void add_path(struct b_str *line, const char *p, size_t n)
{
	b_auto(b_str_release) struct b_str seen = {0};

	b_str_add_visible(&seen, p, n);
	if (strpbrk(b_str_c(&seen), " ()'"))
		add_quoted(line, p, n);
	else
		b_str_add(line, b_str_c(&seen));
}

static void add_what(struct b_str *line, const struct aud_denial *d)
{
	const struct pol_sc_rule *rule = of_filter(d);

	b_str_add(line, d->is_watched ? "would deny " : "denied ");
	if (d->is_set_id)
		b_str_add(line, "set-id bits of ");
	else if (!rule && !of_call(d))
		b_str_addf(line, "%s ", sbx_op_name(d->op));
	if (d->is_set_id || (!rule && !of_call(d)))
		add_path(line, d->path, d->path_len);
	else
		b_str_add(line, rule ? rule->call : of_call(d));
	if (d->is_set_id || rule || of_call(d)) {
		b_str_add(line, " (system-call filter)");
		return;
	}
	b_str_add(line, " (rule ");
	b_str_add_visible(line, d->matched, strlen(d->matched));
	b_str_add(line, ", ");
	b_str_add_visible(line, d->origin, strlen(d->origin));
	b_str_addc(line, ')');
}

void aud_denial_line(const struct aud_denial *d, struct b_str *line)
{
	add_what(line, d);
	add_advice(line, d);
}

void aud_denial_remedy(const struct aud_denial *d, struct b_str *out)
{
	b_auto(b_str_release) struct b_str advice = {0};

	add_advice(&advice, d);
	if (advice.len > 2) /* ": " */
		b_str_addn(out, advice.s + 2, advice.len - 2);
}
