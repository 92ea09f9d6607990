/* SPDX-License-Identifier: Apache-2.0 */
/* require.c - abilities that are required or missing, in words. */
#include "launcher/report/report.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "audit/collector.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "launcher/options/options.h"
#include "launcher/plan/plan.h"
#include "launcher/report/host.h"
#include "launcher/run/confine.h"

#define ABI(n, lost_, strict_, lax_, linux)                                                        \
	{                                                                                          \
		.name = "landlock=" #n, .lost = lost_, .strict = strict_, .lax = lax_,             \
		.remedy = "Linux " linux " or newer"                                               \
	}

const struct lau_need_row lau_needs[LAU_NEED_COUNT] = {
	[LAU_NEED_LANDLOCK] =
		{.name = "landlock",
		 .lost = "every rule about files, for programs without the shim",
		 .strict = LAU_LACK_REFUSED,
		 .lax = "the shim's checks, network, capabilities, system-call filter",
		 .remedy = "Linux 5.13 or newer, landlock among lsm= at boot; in a "
			   "container, a seccomp profile that allows landlock_*"},
	[LAU_NEED_ABI2] = ABI(2,
			      "the broker has no domain of its own; without the broker moves "
			      "and links between directories fail (EXDEV), and strict refuses",
			      LAU_LACK_RUNS, "", "5.19"),
	[LAU_NEED_ABI3] = ABI(3,
			      "without the broker truncation fails everywhere, nothing is "
			      "recorded, and strict refuses",
			      LAU_LACK_RUNS, "", "6.2"),
	[LAU_NEED_ABI4] = ABI(4, "without a network namespace only the seccomp filter closes TCP",
			      LAU_LACK_RUNS, "", "6.7"),
	[LAU_NEED_ABI5] = ABI(5, "ioctl on device nodes that may be opened for reading",
			      LAU_LACK_RUNS, "", "6.10"),
	[LAU_NEED_ABI6] =
		ABI(6,
		    "without a broker or a pid namespace signals reach processes outside; "
		    "without a network namespace abstract Unix sockets are closed unless "
		    "--unix host opens them",
		    LAU_LACK_RUNS, "", "6.12"),
	[LAU_NEED_BROKER] =
		{.name = "broker",
		 .lost = "denials inside what is allowed, patterns, single Unix sockets, metadata, "
			 "the protected set",
		 .strict = LAU_LACK_RULES,
		 .lax = "rules about whole subtrees; the shim alone enforces the others",
		 .remedy = "Linux 5.19 or newer, and no seccomp listener around this process"},
	[LAU_NEED_NET] =
		{.name = "network-namespace",
		 .lost = "a private loopback and IPC: --network none refuses network sockets "
			 "and System V IPC",
		 .remedy = LAU_NAMESPACES_REMEDY},
	[LAU_NEED_PID] = {.name = "pid-namespace",
			  .lost = "the command sees the host's processes",
			  .remedy = LAU_NAMESPACES_REMEDY},
	[LAU_NEED_SHM] = {.name = "private-shm",
			  .lost = "/dev/shm is closed: no POSIX shared memory",
			  .remedy = LAU_NAMESPACES_REMEDY},
	[LAU_NEED_TMP] = {.name = "private-tmp",
			  .lost = "/tmp is closed, but for what rules name in it",
			  .remedy = LAU_NAMESPACES_REMEDY "; or leave out --isolate tmp and allow "
							  "what is needed, by --modify"},
	[LAU_NEED_SHIM] = {.name = "shim",
			   .lost = "events of allowed reads and starts, rules for what the kernel "
				   "refuses",
			   .remedy = "the broker or Landlock ABI 3 (Linux 6.2), and no --no-shim"},
};

const char *lau_lack_text(enum lau_lack lack)
{
	static const char *const texts[] = {
		[LAU_LACK_RUNS] = "runs",
		[LAU_LACK_RULES] = "refused where a rule needs it",
		[LAU_LACK_REFUSED] = "refused",
	};

	return texts[lack];
}

int lau_need_find(const char *name)
{
	for (int i = 0; i < LAU_NEED_COUNT; i++)
		if (!strcmp(lau_needs[i].name, name))
			return i;
	return -1;
}

static bool is_there(enum lau_need need, const struct lau_host *host, const struct lau_plan *p)
{
	switch (need) {
	case LAU_NEED_BROKER:
		return host->has_broker;
	case LAU_NEED_NET:
		return p->want_net_ns;
	case LAU_NEED_PID:
		return p->isolate & LAU_ISOLATE_PID;
	case LAU_NEED_SHM:
		return p->isolate & LAU_ISOLATE_SHM;
	case LAU_NEED_TMP:
		return p->isolate & LAU_ISOLATE_TMP;
	case LAU_NEED_SHIM:
		return p->use_shim;
	case LAU_NEED_LANDLOCK:
	case LAU_NEED_ABI2:
	case LAU_NEED_ABI3:
	case LAU_NEED_ABI4:
	case LAU_NEED_ABI5:
	case LAU_NEED_ABI6:
	case LAU_NEED_COUNT:
		break;
	}
	return host->landlock_abi > (int)need; /* the rows of Landlock are the first */
}

int lau_require_check(const struct lau_options *o, const struct lau_host *host,
		      const struct lau_plan *p, struct b_err *err)
{
	for (int i = 0; i < LAU_NEED_COUNT; i++) {
		const struct lau_need_row *row = &lau_needs[i];

		if (!(o->require >> i & 1) || is_there((enum lau_need)i, host, p))
			continue;
		if (i == LAU_NEED_SHM && p->no_shm)
			return b_fail(err, B_FLOOR, 0, "required: %s: %s", row->name, p->no_shm);
		if (i == LAU_NEED_TMP && p->no_tmp)
			return b_fail(err, B_FLOOR, 0, "required: %s: %s", row->name, p->no_tmp);
		if (i == LAU_NEED_NET)
			return b_fail(err, B_FLOOR, 0,
				      "required: %s: the command uses the host's network: use "
				      "--network none",
				      row->name);
		return b_fail(err, B_FLOOR, 0, "required: %s: this host does not have it: %s",
			      row->name,
			      i == LAU_NEED_BROKER && p->no_broker ? p->no_broker : row->remedy);
	}
	return 0;
}

static void add_part(struct b_str *out, uint64_t n, const char *one, const char *many)
{
	if (n)
		b_str_addf(out, "%s%llu %s", out->len ? "; " : "", (unsigned long long)n,
			   n == 1 ? one : many);
}

int lau_require_witnessed(const struct aud_counts *k, struct b_err *err)
{
	b_auto(b_str_release) struct b_str what = {0};
	uint64_t unseen = 0, missing = k->lost + k->corrupt + k->abandoned + k->damaged;
	const char *sep = ": ";

	for (unsigned i = 0; i < SBX_EXEC_CLASS_COUNT; i++)
		unseen += k->unwitnessed_by_class[i];
	if (!unseen && !missing && !k->losses)
		return 0;
	if (unseen)
		b_str_addf(&what, "%llu of %llu programs ran without the shim",
			   (unsigned long long)unseen, (unsigned long long)k->processes);
	for (unsigned i = 0; i < SBX_EXEC_CLASS_COUNT; i++) {
		if (!k->unwitnessed_by_class[i])
			continue;
		b_str_addf(&what, "%s%llu %s", sep, (unsigned long long)k->unwitnessed_by_class[i],
			   sbx_exec_class_name((enum sbx_exec_class)i));
		sep = ", ";
	}
	add_part(&what, k->refused, "program was not started, as it would run without the shim",
		 "programs were not started, as they would run without the shim");
	add_part(&what, k->losses > k->refused ? k->losses - k->refused : 0,
		 "library load hides calls from the shim",
		 "library loads hide calls from the shim");
	add_part(&what, missing, "event is missing", "events are missing");
	return b_fail(err, B_AUDIT, 0, "required: shim: %s: sbx-audit names them", b_str_c(&what));
}

/* Why no broker can serve here, or no Landlock, and what helps, in words. Pure. */

const char lau_no_proc_text[] =
	"cannot be enforced: no /proc that shows this process: mount a /proc of "
	"this pid namespace";

static const char *const texts[LAU_SERVE_COUNT] = {
#define X(name, text) [LAU_SERVE_##name] = (text),
	LAU_SERVING_STEPS(X)
#undef X
};

/* What stands in the way of looking into another process. */
static bool is_yama(const struct lau_serving *s, const struct lau_served *f)
{
	return f->step == LAU_SERVE_MEMORY && s->yama > 0 && !s->self_sys;
}

static void say_yama(const struct lau_serving *s, bool own_ns, struct b_str *cause,
		     struct b_str *remedy)
{
	const struct lau_served *ns = &s->by[LAU_KIN_OWN_NS];

	b_str_addf(cause, "Yama lets no process look into another (kernel.yama.ptrace_scope is %d)",
		   s->yama);
	if (s->yama < 3)
		b_str_add(remedy, "sysctl kernel.yama.ptrace_scope=1");
	else
		b_str_add(remedy, "boot with kernel.yama.ptrace_scope=1");
	if (ns->step == LAU_SERVE_DONE && !own_ns)
		b_str_add(remedy, ", or --network none or --isolate pid, whose user namespace "
				  "makes it possible");
	else if (ns->step == LAU_SERVE_NAMESPACE)
		b_str_add(remedy, ", allow user namespaces (kernel.unprivileged_userns_clone=1, an "
				  "AppArmor profile with `userns,`), or run as root");
}

static const char *filter_remedy(enum lau_serving_step step)
{
	switch (step) {
	case LAU_SERVE_OPENAT2:
		return "in a container, a runtime and a seccomp profile that allow openat2(2) "
		       "(libseccomp 2.5)";
	case LAU_SERVE_MEMORY:
	case LAU_SERVE_WRITING:
		return "in a container, a seccomp profile that allows process_vm_readv(2) and "
		       "process_vm_writev(2), which --cap-add SYS_PTRACE does";
	case LAU_SERVE_LISTENER:
		return "in a container, a seccomp profile that allows seccomp(2)";
	case LAU_SERVE_HANDING:
	case LAU_SERVE_ACTING:
		return "a seccomp profile that allows it";
	case LAU_SERVE_ANSWER:
		return "Linux 5.19 or newer, and a seccomp profile that allows ioctl(2) on a "
		       "listener";
	case LAU_SERVE_DONE:
	case LAU_SERVE_NAMESPACE:
	case LAU_SERVE_PROCESS:
	case LAU_SERVE_RECEIVE:
	case LAU_SERVE_PROC:
	case LAU_SERVE_COUNT:
		break;
	}
	return "Linux 5.19 or newer, and no filter against it";
}

static const char *remedy_of(const struct lau_served *f)
{
	if (f->step == LAU_SERVE_PROC)
		return "mount a /proc of this pid namespace";
	if (f->step == LAU_SERVE_LISTENER && f->sys == EBUSY)
		return "another program already supervises these processes: run outside "
		       "of it";
	if (f->step == LAU_SERVE_PROCESS)
		return "raise the limit on processes (ulimit -u, or the cgroup's)";
	return filter_remedy(f->step);
}

/* One of several calls is named itself. */
static const char *text_of(const struct lau_served *f)
{
	return f->step == LAU_SERVE_ACTING ? lau_serving_act(f->acting) : texts[f->step];
}

void lau_serving_why(const struct lau_serving *s, bool own_ns, struct b_str *cause,
		     struct b_str *remedy)
{
	const struct lau_served *f = &s->by[own_ns ? LAU_KIN_OWN_NS : LAU_KIN_PARENT];

	/* no namespace can be had: what is missing without one is what counts */
	if (f->step == LAU_SERVE_NAMESPACE)
		f = &s->by[LAU_KIN_PARENT];
	if (is_yama(s, f)) {
		say_yama(s, own_ns, cause, remedy);
		return;
	}
	b_str_addf(cause, "%s (%s)", text_of(f), strerror(f->sys));
	b_str_add(remedy, remedy_of(f));
}

int lau_serving_refused(const struct lau_served *f, struct b_err *err)
{
	return b_fail(err, B_FLOOR, f->sys, "the broker cannot serve this run: %s (%s): %s",
		      text_of(f), strerror(f->sys), remedy_of(f));
}

void lau_host_no_broker(const struct lau_host *h, struct b_str *out)
{
	b_auto(b_str_release) struct b_str remedy = {0};

	if (!h->landlock_abi && !h->is_inside) {
		b_str_add(out, "it was not tried, as it needs Landlock");
		return;
	}
	if (!h->serving.is_tried) {
		b_str_addf(out,
			   "Linux %s does not have a call that the broker needs, or a filter "
			   "refuses it: %s",
			   h->kernel, lau_needs[LAU_NEED_BROKER].remedy);
		return;
	}
	lau_serving_why(&h->serving, h->own_ns, out, &remedy);
	b_str_addf(out, ": %s", b_str_c(&remedy));
}

const char *lau_host_landlock_remedy(const struct lau_host *h)
{
	if (h->is_inside)
		return "not needed inside a run: the outer supervisor makes the runs inside it";
	if (h->landlock_errno == EOPNOTSUPP)
		return "boot with landlock in the list of lsm=";
	if (h->landlock_errno == EPERM)
		return "in a container, a seccomp profile that allows landlock_*";
	return "Linux 5.13 or newer with CONFIG_SECURITY_LANDLOCK; in a container, a seccomp "
	       "profile that allows landlock_*";
}
