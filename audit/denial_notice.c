/* SPDX-License-Identifier: Apache-2.0 */
/* denial_notice.c - see collect_priv.h. */
#include "audit/collect_priv.h"

#include <ctype.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "core/event.h"
#include "core/path.h"

enum { WINDOW_MS = 1000, PER_WINDOW = 10 };

/* What re-opens each operation. A profile without an exec list execs what it may read. */
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

/* The path as a word for a shell: as it is, in single quotes, or not at all where a person
 * could not type it back. */
static bool add_word(struct b_str *out, const char *p, size_t n)
{
	struct b_str seen = {0};
	bool typable;

	if (is_plain(p, n)) {
		b_str_addn(out, p, n);
		return true;
	}
	b_str_add_visible(&seen, p, n);
	typable = seen.len == n && !memchr(p, '\'', n);
	if (typable) {
		b_str_addc(out, '\'');
		b_str_addn(out, p, n);
		b_str_addc(out, '\'');
	}
	b_str_release(&seen);
	return typable;
}

/* What the base rules deny by name is the run's own machinery: nothing to open up. */
static bool is_own(const struct aud_denial *d)
{
	return b_has_prefix(d->origin, "builtin:base:") && d->matched[0] != '<';
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
	"denied namespaces (system-call filter): programs that make their own need "               \
	"--allow namespaces"

/* Calls that no rule opens; whom they were about is of no use: one line for all. */
static const char *const whole_call[SBX_CALL_COUNT] = {
	[SBX_CALL_ptrace] = "denied ptrace (system-call filter): debuggers, strace and "
			    "LeakSanitizer need --allow debug",
	[SBX_CALL_clone] = NO_NAMESPACE,
	[SBX_CALL_unshare] = NO_NAMESPACE,
};

static const char *of_call(const struct aud_denial *d)
{
	return d->call < SBX_CALL_COUNT ? whole_call[d->call] : NULL;
}

/* Programs try again by other calls; one line will do. A forgotten or colliding hash costs a line
 * more or less, never one of the log. */
static bool told_before(struct aud_person *p, const struct aud_denial *d)
{
	const char *text = of_call(d) ? of_call(d) : d->path;
	size_t i, n = of_call(d) ? strlen(text) : d->path_len;
	uint64_t h = UINT64_C(0xcbf29ce484222325) + (uint64_t)d->op;

	for (i = 0; i < n; i++)
		h = (h ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3); /* FNV-1a */
	if (p->seen[h % AUD_PERSON_SEEN] == h)
		return true;
	p->seen[h % AUD_PERSON_SEEN] = h;
	return false;
}

/* The number of a process is another one the next time: no rule can name it. */
static void add_process_remedy(struct b_str *line, const struct aud_denial *d, const char *name)
{
	static const char *const maps[] = {"uid_map", "gid_map", "setgroups"};
	size_t i;

	if (d->op == SBX_CONNECT && b_has_prefix(name, "fd/"))
		b_str_add(line,
			  ": a socket made outside of the run: --keep-fd passes it on as it is");
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

static void add_remedy(struct b_str *line, const struct aud_denial *d)
{
	const char *name = of_process(d);
	size_t before = line->len;

	if (is_own(d))
		return;
	if (name) {
		add_process_remedy(line, d, name);
		return;
	}
	if (b_has_prefix(d->origin, "builtin:self:"))
		b_str_add(line, ": a program of this sandbox: run one installed elsewhere, or");
	else
		b_str_addc(line, ':');
	b_str_add(line, b_has_prefix(d->origin, "outer:") ? " allow in the outer run, with "
							  : " allow with ");
	b_str_add(line, remedy[d->op]);
	b_str_addc(line, ' ');
	if (!add_word(line, d->path, saved_len(d))) {
		line->len = before;
		line->s[before] = '\0';
	}
}

/* The name is changed in its parent. */
static void add_root_remedy(struct b_str *line, const struct aud_denial *d)
{
	size_t parent = sbx_path_parent(d->path, d->path_len), before;

	if (b_has_prefix(d->path, "/dev/")) {
		b_str_add(line, ": a device keeps its name");
		return;
	}
	if (strstr(d->origin, "builtin:stdio:")) {
		b_str_add(line, ": a file that is given as standard output keeps its name");
		return;
	}
	b_str_add(line, ": a granted name stays where it is and cannot become a symlink");
	before = line->len;
	b_str_add(line, ": allow its directory with --modify ");
	if (!parent || !add_word(line, d->path, parent)) {
		line->len = before;
		line->s[before] = '\0';
	}
}

static void add_denial(struct b_str *line, const struct aud_denial *d)
{
	if (of_call(d)) {
		b_str_add(line, of_call(d));
		return;
	}
	b_str_add(line, "denied ");
	b_str_add(line, sbx_op_name(d->op));
	b_str_addc(line, ' ');
	b_str_add_visible(line, d->path, d->path_len);
	b_str_add(line, " (rule ");
	b_str_add_visible(line, d->matched, strlen(d->matched));
	b_str_add(line, ", ");
	b_str_add_visible(line, d->origin, strlen(d->origin));
	b_str_addc(line, ')');
	if (d->is_unseen)
		b_str_add(line, ": too much lies below to be looked through, or it cannot be "
				"read: move it in parts");
	else if (d->is_root)
		add_root_remedy(line, d);
	else if (d->is_git_link)
		b_str_add(line,
			  ": the git of the host would follow a symlink there: make it outside of "
			  "the sandbox");
	else
		add_remedy(line, d);
}

/* Each shell reads its history when it starts and writes it when it ends: no news. */
static bool is_history(const struct aud_denial *d)
{
	static const char end[] = "_history";
	size_t n = sizeof end - 1;

	return b_has_prefix(d->origin, "preset:secrets:") && d->path_len > n &&
	       memcmp(d->path + d->path_len - n, end, n) == 0;
}

void aud_person_denial(struct aud_person *p, const struct aud_denial *d, uint64_t now_ms)
{
	b_auto(b_str_release) struct b_str line = {0};

	if (!p->fn || is_history(d) || told_before(p, d))
		return;
	if (now_ms - p->window_start_ms >= WINDOW_MS) {
		p->window_start_ms = now_ms;
		p->in_window = 0;
	}
	if (p->in_window >= PER_WINDOW) {
		p->suppressed++;
		return;
	}
	p->in_window++;
	add_denial(&line, d);
	p->fn(p->ctx, line.s);
}

void aud_person_say(struct aud_person *p, const char *text)
{
	if (p->fn)
		p->fn(p->ctx, text);
}

void aud_person_close(struct aud_person *p)
{
	b_auto(b_str_release) struct b_str line = {0};

	if (!p->suppressed)
		return;
	b_str_addf(&line, "%llu more denial%s not shown: sbx-audit lists them",
		   (unsigned long long)p->suppressed, p->suppressed == 1 ? "" : "s");
	aud_person_say(p, line.s);
	p->suppressed = 0;
}
