/* SPDX-License-Identifier: Apache-2.0 */
/* doctor.c - what a host can do, as a table. Pure: values to text. */
#include <errno.h>
#include <string.h>

#include "audit/places.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "launcher/report/host.h"
#include "policy/plan/floor.h"
#include "policy/plan/landlock.h"

struct row {
	const char *name;
	size_t offset; /* of a struct lau_ability */
	bool needed;
	const char *gives;  /* what it is for */
	const char *loses;  /* without it */
	const char *remedy; /* when errno says nothing better */
};

#define ROW(field, ...)                                                                            \
	{                                                                                          \
		.name = #field, .offset = offsetof(struct lau_host, field), __VA_ARGS__            \
	}

static const struct row rows[] = {
	ROW(seccomp_filter, .needed = true, .gives = "the static filter",
	    .loses = "kernel surface, sockets and namespaces stay open",
	    .remedy = "a kernel with CONFIG_SECCOMP_FILTER; in a container, a profile that allows "
		      "seccomp(2)"),
	ROW(net_ns,
	    .gives = "a loopback interface for --network none, and rules on endpoints (--connect)",
	    .loses = "--network none refuses all network sockets, also on the loopback; rules on "
		     "endpoints are refused"),
	ROW(user_ns, .gives = "namespaces without root",
	    .loses = "an ordinary user has no network namespace"),
	ROW(pid_ns,
	    .gives = "a private process list (--isolate pid); the kernel ends the run with its "
		     "supervisor",
	    .loses = "the command sees the host's processes; a guard ends what a killed supervisor "
		     "leaves"),
	ROW(mount_ns, .gives = "a private /dev/shm and /tmp (--isolate shm, tmp)",
	    .loses =
		    "/dev/shm is closed: POSIX shared memory and semaphores fail; --isolate tmp is "
		    "refused"),
	ROW(seccomp_notify,
	    .gives = "the broker: denials inside what is allowed, patterns, Unix sockets by path",
	    .loses = "strict runs refuse rules inside writable directories",
	    .remedy = "Linux 5.0 or newer, and no seccomp listener around this process"),
	ROW(openat2, .gives = "one system call per check in the shim",
	    .loses = "the shim checks the slow way", .remedy = "Linux 5.6 or newer"),
	ROW(pidfd, .gives = "signals without races",
	    .loses = "sockets can be neither bound nor connected", .remedy = "Linux 5.3 or newer"),
	ROW(cgroup, .gives = "--memory and --nproc for the run as a whole",
	    .loses = "--memory limits each process alone; --nproc does not limit root",
	    .remedy = "start in a delegated cgroup of version 2 with the controllers memory and "
		      "pids: systemd-run --user --scope; in a container, the engine's own limits "
		      "(--memory, --pids-limit)"),
};
#define NROWS (sizeof rows / sizeof *rows)

static const struct lau_ability *ability(const struct lau_host *h, const struct row *row)
{
	return (const void *)((const char *)h + row->offset);
}

/* The remedy for refused namespaces depends on the part of the host that refuses: the errno shows
 * which. */
static const char *remedy(const struct lau_host *h, const struct row *row)
{
	if (row->remedy)
		return row->remedy;
	switch (ability(h, row)->sys) {
	case ENOSPC:
		return "raise user.max_user_namespaces, user.max_net_namespaces (sysctl)";
	case EINVAL:
	case ENOSYS:
		return "a kernel with CONFIG_NAMESPACES, CONFIG_USER_NS, CONFIG_NET_NS; in a "
		       "container, a seccomp profile that allows unshare(2)";
	case EPERM:
	case EACCES:
		if (h->apparmor_userns && !h->is_root)
			return "load the AppArmor profile libexec/sbx-launch/apparmor/sbx-launch "
			       "of the installation (the file says how); or sysctl "
			       "kernel.apparmor_restrict_unprivileged_userns=0";
		if (h->is_root)
			return "in a container: grant CAP_SYS_ADMIN, or run as an ordinary user "
			       "with a seccomp profile that allows unshare(2)";
		return "sysctl kernel.unprivileged_userns_clone=1 where the kernel has it "
		       "(Debian's); in a container, a seccomp profile that allows unshare(2)";
	default:
		return "see errno";
	}
}

static unsigned beside(const struct lau_host *h)
{
	return h->has_broker ? POL_LL_BESIDE_BROKER : 0;
}

/* The directory is refused, not the host: the doctor is asked in a home, or in /. */
static bool is_no_workspace(const struct lau_host *h)
{
	static const char mark[] = "E_WORKSPACE:";

	return h->has_verdicts && !h->verdicts[0].runs &&
	       !strncmp(h->verdicts[0].why, mark, sizeof mark - 1);
}

/* A run was tried; else what the table says. The default policy needs the broker: the protected
 * set. */
static bool can_hold(const struct lau_host *h)
{
	if (h->has_verdicts && !is_no_workspace(h))
		return h->verdicts[0].runs;
	if (h->has_verdicts && !h->has_broker)
		return false;
	return h->landlock_abi >= (h->has_broker ? 1 : POL_LL_ABI_TRUNCATE) &&
	       h->seccomp_filter.has;
}

/* -- for people -- */

static void mark(bool has, bool needed, bool colour, struct b_str *out)
{
	const char *tint = has ? "32" : needed ? "31" : "33";

	if (colour)
		b_str_addf(out, "\033[%sm", tint);
	b_str_addf(out, "  %-4s", has ? "yes" : "no");
	if (colour)
		b_str_add(out, "\033[0m");
}

static void show_landlock(const struct lau_host *h, bool colour, struct b_str *out)
{
	mark(h->landlock_abi > 0, true, colour, out);
	b_str_addf(out, "%-15s ", "landlock");
	if (!h->landlock_abi) {
		b_str_addf(out, "%s\n%22sloses: %s\n%22sremedy: %s\n", strerror(h->landlock_errno),
			   "", pol_ll_lost(0, 0, 0), "", lau_host_landlock_remedy(h));
		return;
	}
	b_str_addf(out, "rules about files: ABI %d", h->landlock_abi);
	if (h->landlock_errata)
		b_str_addf(out, ", errata fixed %#x", h->landlock_errata);
	b_str_addc(out, '\n');
	for (size_t i = 0; pol_ll_lost(h->landlock_abi, beside(h), i); i++)
		b_str_addf(out, "%22sloses: %s\n", "", pol_ll_lost(h->landlock_abi, beside(h), i));
}

static void show_row(const struct lau_host *h, const struct row *row, bool colour,
		     struct b_str *out)
{
	const struct lau_ability *a = ability(h, row);

	mark(a->has, row->needed, colour, out);
	b_str_addf(out, "%-15s %s\n", row->name, row->gives);
	if (!a->has)
		b_str_addf(out, "%22serror: %s\n%22sloses: %s\n%22sremedy: %s\n", "",
			   strerror(a->sys), "", row->loses, "", remedy(h, row));
}

/* How the broker would be related to its command: the first that works. */
static void show_broker(const struct lau_host *h, bool colour, struct b_str *out)
{
	static const char *const kin[LAU_KIN_COUNT] = {
		[LAU_KIN_SIBLING] = "beside the command",
		[LAU_KIN_PARENT] = "as the command's parent, which Yama asks for",
		[LAU_KIN_OWN_NS] = "in a user namespace of the run (--network none, --isolate)",
	};
	b_auto(b_str_release) struct b_str why = {0};

	mark(h->has_broker, true, colour, out);
	if (h->has_broker) {
		b_str_addf(out, "%-15s serves %s\n", "broker", kin[h->kinship]);
		return;
	}
	lau_host_no_broker(h, &why);
	b_str_addf(out,
		   "%-15s denials inside what is allowed, patterns, Unix sockets by path\n"
		   "%22serror: %s\n",
		   "broker", "", b_str_c(&why));
}

static void show_verdicts(const struct lau_host *h, bool colour, struct b_str *out)
{
	const char *said = "";

	if (!h->has_verdicts)
		return;
	b_str_add(out, "Strict runs in this directory:\n");
	for (int i = 0; i < LAU_VERDICTS; i++) {
		const struct lau_verdict *v = &h->verdicts[i];

		mark(v->runs, true, colour, out);
		b_str_addf(out, "%s%s\n", *v->options ? v->options : "the default policy",
			   v->runs ? "" : ": refused");
		if (!v->runs) {
			const char *why = strcmp(said, v->why) != 0 ? v->why : "the same cause";

			b_str_add(out, "      ");
			b_str_add_visible(out, why, strlen(why));
			b_str_addc(out, '\n');
			said = v->why;
		}
		for (const char *at = v->notes; *at; at += strcspn(at, "\n") + 1) {
			b_str_add(out, "      note: ");
			b_str_add_visible(out, at, strcspn(at, "\n"));
			b_str_addc(out, '\n');
		}
	}
}

static void show_folding(void *ctx, const char *at, const char *type)
{
	struct b_str *out = ctx;

	b_str_add(out, "Names that differ by case or form may be one on ");
	b_str_add_visible(out, at, strlen(at));
	b_str_addf(out, " (%s): a denial there covers every case and form.\n", type);
}

static void show_linked(const struct lau_host *h, struct b_str *out)
{
	for (size_t i = 0; i < h->nlinked; i++) {
		const struct lau_linked *l = &h->linked[i];

		b_str_add_visible(out, l->path, strlen(l->path));
		b_str_add(out, ", which `");
		b_str_add_visible(out, l->rule, strlen(l->rule));
		b_str_addf(out, "` denies, has %lu more name%s (hard links), judged by %s.\n",
			   l->others, l->others == 1 ? "" : "s",
			   l->others == 1 ? "itself" : "themselves");
	}
}

struct left {
	struct b_str *out;
	bool any;
};

static void show_left(void *ctx, const char *path, size_t n, const char *what)
{
	struct left *l = ctx;
	struct b_str *out = l->out;

	if (!l->any)
		b_str_add(out, "Files that runs left outside of the records (`sbx-audit prune` "
			       "removes the unused ones):\n");
	l->any = true;
	b_str_addf(out, "  %4zu in ", n);
	b_str_add_visible(out, path, strlen(path));
	b_str_addf(out, " (%s)\n", what);
}

static void show_text(const struct lau_host *h, bool colour, struct b_str *out)
{
	struct left left = {.out = out};
	const char *name, *limit;

	b_str_addf(out, "Linux %s, as %s\n", h->kernel, h->is_root ? "root" : "an ordinary user");
	show_landlock(h, colour, out);
	for (size_t i = 0; i < NROWS; i++)
		show_row(h, &rows[i], colour, out);
	if (h->is_settled)
		show_broker(h, colour, out);
	show_verdicts(h, colour, out);
	if (h->is_inside)
		b_str_addf(out, "Inside a run of sbx-launch, %s.\n",
			   h->is_served
				   ? "whose supervisor makes the runs inside it: --strict works"
				   : "that makes none inside it: --strict will refuse to run");
	else
		b_str_addf(out, "The floor %s.\n",
			   !can_hold(h) ? "does not hold here: --strict will refuse to run"
			   : is_no_workspace(h)
				   ? "holds on this host, as far as the tests in this directory "
				     "show; it is not a workspace: ask again in a project"
				   : "holds here");
	(void)pol_each_folding_mount(show_folding, out);
	show_linked(h, out);
	b_str_addf(out, "Known limits %s the broker:\n", h->has_broker ? "with" : "without");
	for (size_t i = 0; pol_limit(h->has_broker, i, &name, &limit); i++)
		b_str_addf(out, "  - %s: %s\n", name, limit);
	aud_left_each(show_left, &left);
}

/* -- for programs -- */

static void json_pair(struct b_json *j, const char *key, const char *value)
{
	b_json_key(j, key);
	b_json_str(j, value);
}

static void json_row(struct b_json *j, const struct lau_host *h, const struct row *row)
{
	const struct lau_ability *a = ability(h, row);

	b_json_key(j, row->name);
	b_json_open(j, '{');
	b_json_key(j, "available");
	b_json_bool(j, a->has);
	json_pair(j, "gives", row->gives);
	if (!a->has) {
		b_json_key(j, "errno");
		b_json_i64(j, a->sys);
		json_pair(j, "error", strerror(a->sys));
		json_pair(j, "loses", row->loses);
		json_pair(j, "remedy", remedy(h, row));
	}
	b_json_close(j, '}');
}

static void json_verdicts(struct b_json *j, const struct lau_host *h)
{
	b_json_key(j, "verdicts");
	b_json_open(j, '[');
	for (int i = 0; h->has_verdicts && i < LAU_VERDICTS; i++) {
		b_json_open(j, '{');
		json_pair(j, "options", h->verdicts[i].options);
		b_json_key(j, "runs");
		b_json_bool(j, h->verdicts[i].runs);
		if (!h->verdicts[i].runs)
			json_pair(j, "why", h->verdicts[i].why);
		b_json_key(j, "notes");
		b_json_open(j, '[');
		for (const char *at = h->verdicts[i].notes; *at; at += strcspn(at, "\n") + 1)
			b_json_strn(j, at, strcspn(at, "\n"));
		b_json_close(j, ']');
		b_json_close(j, '}');
	}
	b_json_close(j, ']');
}

static void json_broker(struct b_json *j, const struct lau_host *h)
{
	static const char *const kin[LAU_KIN_COUNT] = {"sibling", "parent", "own user namespace"};
	b_auto(b_str_release) struct b_str why = {0};

	b_json_key(j, "broker");
	b_json_open(j, '{');
	b_json_key(j, "available");
	b_json_bool(j, h->has_broker);
	if (h->has_broker) {
		json_pair(j, "as", kin[h->kinship]);
	} else if (h->is_settled) {
		lau_host_no_broker(h, &why);
		json_pair(j, "why", b_str_c(&why));
	}
	b_json_close(j, '}');
}

static void json_folding(void *ctx, const char *at, const char *type)
{
	struct b_json *j = ctx;

	b_json_open(j, '{');
	b_json_bytes(j, "at", at, strlen(at));
	json_pair(j, "type", type);
	b_json_close(j, '}');
}

static void json_left(void *ctx, const char *path, size_t n, const char *what)
{
	struct b_json *j = ctx;

	b_json_open(j, '{');
	b_json_bytes(j, "in", path, strlen(path));
	b_json_key(j, "n");
	b_json_u64(j, n);
	json_pair(j, "what", what);
	b_json_close(j, '}');
}

static void json_linked(struct b_json *j, const struct lau_host *h)
{
	b_json_key(j, "linked");
	b_json_open(j, '[');
	for (size_t i = 0; i < h->nlinked; i++) {
		const struct lau_linked *l = &h->linked[i];

		b_json_open(j, '{');
		b_json_bytes(j, "path", l->path, strlen(l->path));
		b_json_bytes(j, "rule", l->rule, strlen(l->rule));
		b_json_key(j, "others");
		b_json_u64(j, l->others);
		b_json_close(j, '}');
	}
	b_json_close(j, ']');
}

static void json_limit(struct b_json *j, const char *name, const char *text)
{
	b_auto(b_str_release) struct b_str line = {0};

	b_str_addf(&line, "%s: %s", name, text);
	b_json_str(j, line.s);
}

static void show_json(const struct lau_host *h, struct b_str *out)
{
	struct b_json j = {.out = out};
	const char *name, *limit;

	b_json_open(&j, '{');
	json_pair(&j, "kernel", h->kernel);
	b_json_key(&j, "root");
	b_json_bool(&j, h->is_root);
	b_json_key(&j, "holds");
	b_json_bool(&j, can_hold(h) || h->is_served);
	b_json_key(&j, "inside_a_run");
	b_json_bool(&j, h->is_inside);
	json_verdicts(&j, h);
	json_broker(&j, h);
	b_json_key(&j, "landlock");
	b_json_open(&j, '{');
	b_json_key(&j, "abi");
	b_json_i64(&j, h->landlock_abi);
	b_json_key(&j, "errata");
	b_json_u64(&j, h->landlock_errata);
	if (!h->landlock_abi) {
		b_json_key(&j, "errno");
		b_json_i64(&j, h->landlock_errno);
		json_pair(&j, "remedy", lau_host_landlock_remedy(h));
	}
	b_json_key(&j, "loses");
	b_json_open(&j, '[');
	for (size_t i = 0; pol_ll_lost(h->landlock_abi, beside(h), i); i++)
		b_json_str(&j, pol_ll_lost(h->landlock_abi, beside(h), i));
	b_json_close(&j, ']');
	b_json_close(&j, '}');
	for (size_t i = 0; i < NROWS; i++)
		json_row(&j, h, &rows[i]);
	b_json_key(&j, "limits");
	b_json_open(&j, '[');
	for (size_t i = 0; pol_limit(h->has_broker, i, &name, &limit); i++)
		json_limit(&j, name, limit);
	b_json_close(&j, ']');
	b_json_key(&j, "folding");
	b_json_open(&j, '[');
	(void)pol_each_folding_mount(json_folding, &j);
	b_json_close(&j, ']');
	json_linked(&j, h);
	b_json_key(&j, "left");
	b_json_open(&j, '[');
	aud_left_each(json_left, &j);
	b_json_close(&j, ']');
	b_json_close(&j, '}');
	b_str_addc(out, '\n');
}

void lau_host_show(const struct lau_host *h, bool json, bool colour, struct b_str *out)
{
	if (json)
		show_json(h, out);
	else
		show_text(h, colour, out);
}
