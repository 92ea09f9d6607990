/* servingwhy.c - why no broker can serve here, or no Landlock, and what helps, in words. Pure. */
#include "launcher/serving.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "launcher/host.h"
#include "launcher/require.h"

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
		return "another supervisor already listens: run outside of it";
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

	if (!h->serving.is_tried) {
		b_str_addf(out, "Linux %s has not what it takes: %s", h->kernel,
			   lau_needs[LAU_NEED_BROKER].remedy);
		return;
	}
	lau_serving_why(&h->serving, h->own_ns, out, &remedy);
	b_str_addf(out, ": %s", b_str_c(&remedy));
}

const char *lau_host_landlock_remedy(const struct lau_host *h)
{
	if (h->is_inside)
		return "none inside a run: the outer supervisor makes the runs inside it";
	if (h->landlock_errno == EOPNOTSUPP)
		return "boot with landlock in the list of lsm=";
	if (h->landlock_errno == EPERM)
		return "in a container, a seccomp profile that allows landlock_*";
	return "Linux 5.13 or newer with CONFIG_SECURITY_LANDLOCK; in a container, a seccomp "
	       "profile that allows landlock_*";
}
