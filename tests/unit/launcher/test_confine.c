/* SPDX-License-Identifier: Apache-2.0 */
/* Live tests of launcher/linux: a child confines itself, then tries. Every refusal has its
 * positive control: the same act in a child that did not confine itself. */
#include "launcher/run/confine.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "policy/plan/floor.h"
#include "policy/plan/landlock.h"
#include "policy/plan/seccomp.h"

#define OK     0
#define BROKEN 250 /* the child could not even confine itself */
#define NOBODY 65534

static char root[64];	 /* fixture directory, 0777 */
static char inside[80];	 /* writable by the plan */
static char outside[80]; /* readable by the plan */
static char secret[80];	 /* not granted at all */

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

	cr_assert_geq(fd, 0, "%s", path);
	cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	chmod(path, 0666);
}

static void make_dir(char *out, size_t size, const char *name)
{
	char file[128];

	snprintf(out, size, "%s/%s", root, name);
	cr_assert_eq(mkdir(out, 0777), 0);
	cr_assert_eq(chmod(out, 0777), 0);
	snprintf(file, sizeof file, "%s/f", out);
	write_file(file, "text");
}

static void set_up(void)
{
	strcpy(root, "/tmp/sbx-confine-XXXXXX");
	cr_assert_not_null(mkdtemp(root));
	cr_assert_eq(chmod(root, 0777), 0);
	make_dir(inside, sizeof inside, "inside");
	make_dir(outside, sizeof outside, "outside");
	make_dir(secret, sizeof secret, "secret");
}

static void tear_down(void)
{
	const char *const dirs[] = {inside, outside, secret};
	char cmd[160];

	for (size_t i = 0; i < 3; i++)
		chmod(dirs[i], 0777);
	snprintf(cmd, sizeof cmd, "rm -rf %s", root);
	cr_assert_eq(system(cmd), 0);
}
TestSuite(launcher_confine, .init = set_up, .fini = tear_down);

static struct b_arena filters;

struct setup {
	bool bare;	  /* positive control */
	bool net;	  /* want a namespace */
	bool no_fallback; /* a refused namespace is an error */
	unsigned flags;	  /* POL_SC_* */
	const char *caps;
	const int *keep;
	size_t nkeep;
	uid_t uid; /* root becomes this one first; 0 = stays */
	int abi;   /* plan for an older kernel; 0 = as it is */
};

static int prepare(const struct setup *s, struct lau_confine *c, struct b_err *err)
{
	struct pol_grant grants[] = {
		{"/usr", POL_GRANT_READ | POL_GRANT_EXEC, true, false},
		{"/proc", POL_GRANT_READ, true, false},
		{"/etc", POL_GRANT_READ, true, false},
		{outside, POL_GRANT_READ | POL_GRANT_EXEC, true, false},
		{inside, POL_GRANT_READ | POL_GRANT_EXEC | POL_GRANT_WRITE, true, false},
		{"/nonexistent/path", POL_GRANT_READ, true, false},
	};
	const struct pol_floor floor = {.grants = grants,
					.ngrants = sizeof grants / sizeof *grants};
	struct pol_ll_plan plan;
	int rc;

	pol_ll_plan(&floor, s->abi ? s->abi : lau_landlock_abi(), &plan);
	rc = lau_landlock_prepare(&plan, &c->landlock_fd, err);
	pol_ll_plan_release(&plan);
	if (rc < 0 ||
	    lau_caps_parse(s->caps ? s->caps : LAU_CAPS_DEFAULT_LIST, &c->keep_caps, err) < 0)
		return -1;
	c->want_net_ns = s->net;
	c->keep_fds = s->keep;
	c->nkeep_fds = s->nkeep;
	if (!s->no_fallback && lau_seccomp_prepare(&filters, s->flags | POL_SC_NO_INET,
						   &c->bpf_no_inet, &c->bpf_no_inet_len, err) < 0)
		return -1;
	return lau_seccomp_prepare(&filters, s->flags, &c->bpf, &c->bpf_len, err);
}

/* Runs act() in a confined child; its result, or 1000 + the signal that killed it. */
static int in_child(const struct setup *s, int (*act)(void))
{
	pid_t pid = fork();
	int status;

	cr_assert_geq(pid, 0);
	if (pid == 0) {
		struct lau_confine c = {.landlock_fd = -1};
		struct b_err err = {0};

		/* Changing ids makes /proc/self root's; an exec would make it ours again. */
		if (s->uid && geteuid() == 0 &&
		    (setresuid(s->uid, s->uid, s->uid) < 0 ||
		     prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0))
			_exit(BROKEN);
		if (!s->bare && (prepare(s, &c, &err) < 0 || lau_confine_apply(&c, &err) < 0)) {
			dprintf(2, "%s\n", err.msg);
			_exit(BROKEN);
		}
		_exit(act());
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int result(long rc)
{
	return rc < 0 ? errno : OK;
}

/* Refused with `want` when confined, fine when not, as who we are and as nobody. */
static void expect_refused(const struct setup *s, int (*act)(void), int want)
{
	struct setup bare = *s, as_user = *s;

	bare.bare = true;
	cr_expect_eq(in_child(&bare, act), OK, "positive control");
	cr_expect_eq(in_child(s, act), want);
	as_user.uid = NOBODY;
	cr_expect_eq(in_child(&as_user, act), want, "as an ordinary user");
}

static const char *at(const char *dir, const char *name)
{
	static char path[128];

	snprintf(path, sizeof path, "%s/%s", dir, name);
	return path;
}

static int write_inside(void)
{
	int fd = open(at(inside, "new"), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, "x", 1) != 1 || truncate(at(inside, "f"), 0) < 0)
		return errno;
	return result(unlink(at(inside, "new")));
}
static int read_outside(void)
{
	return result(open(at(outside, "f"), O_RDONLY | O_CLOEXEC));
}
static int write_outside(void)
{
	return result(open(at(outside, "f"), O_WRONLY | O_CLOEXEC));
}
static int truncate_outside(void)
{
	return result(truncate(at(outside, "f"), 0));
}
static int truncating_open(void)
{
	return result(open(at(outside, "f"), O_RDONLY | O_TRUNC | O_CLOEXEC));
}
static int read_secret(void)
{
	return result(open(at(secret, "f"), O_RDONLY | O_CLOEXEC));
}
static int list_secret(void)
{
	return result(open(secret, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

Test(launcher_confine, granted_directories_work)
{
	const struct setup s = {0};

	cr_expect_eq(in_child(&s, write_inside), OK);
	cr_expect_eq(in_child(&s, read_outside), OK);
	cr_expect_eq(in_child(&(struct setup){.uid = NOBODY}, write_inside), OK);
}

Test(launcher_confine, what_is_not_granted_is_refused)
{
	const struct setup s = {0};

	expect_refused(&s, write_outside, EACCES);
	expect_refused(&s, truncate_outside, EACCES);
	expect_refused(&s, truncating_open, EACCES);
	expect_refused(&s, read_secret, EACCES);
	expect_refused(&s, list_secret, EACCES);
}

/* A kernel of ABI 1 does not see truncation: the filter closes both ways. */
Test(launcher_confine, an_old_kernel_refuses_truncation_by_the_filter)
{
	const struct setup old = {.abi = 1, .flags = POL_SC_NO_TRUNCATE};

	expect_refused(&old, truncate_outside, EACCES);
	expect_refused(&old, truncating_open, EACCES);
	cr_expect_eq(in_child(&(struct setup){.abi = 1}, truncate_outside), OK,
		     "the hole is real without the flag");
}

static int signal_parent(void)
{
	return result(kill(getppid(), 0));
}
static int trace_child(void)
{
	pid_t pid = fork();
	int rc;

	if (pid == 0) {
		pause();
		_exit(0);
	}
	rc = result(ptrace(PTRACE_ATTACH, pid, NULL, NULL));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return rc;
}
static int new_user_ns(void)
{
	return result(unshare(CLONE_NEWUSER));
}

Test(launcher_confine, debugging_and_namespaces_are_relaxed_by_name)
{
	expect_refused(&(struct setup){0}, trace_child, EPERM);
	cr_expect_eq(in_child(&(struct setup){.flags = POL_SC_ALLOW_DEBUG}, trace_child), OK);
	if (in_child(&(struct setup){.bare = true, .uid = NOBODY}, new_user_ns) != OK)
		cr_skip_test("this host has no user namespaces");
	expect_refused(&(struct setup){0}, new_user_ns, EPERM);
	cr_expect_eq(in_child(&(struct setup){.flags = POL_SC_ALLOW_NAMESPACES}, new_user_ns), OK);
}

Test(launcher_confine, signals_stay_inside)
{
	if (lau_landlock_abi() < 6)
		cr_skip_test("Landlock ABI %d does not scope signals", lau_landlock_abi());
	cr_expect_eq(in_child(&(struct setup){.bare = true}, signal_parent), OK);
	cr_expect_eq(in_child(&(struct setup){0}, signal_parent), EPERM);
}

/* -- capabilities -- */

static const char *caps_wanted;

/* Compares a line of /proc/self/status as a new image sees it. */
static int caps_after_exec(void)
{
	char cmd[256];

	snprintf(cmd, sizeof cmd,
		 "a=$(grep '^Cap' /proc/self/status | tr -d '\\t\\n'); "
		 "[ \"$a\" = '%s' ] || { echo \"$a\" >&2; exit 1; }",
		 caps_wanted);
	execl("/usr/bin/sh", "sh", "-c", cmd, (char *)NULL);
	return errno;
}

Test(launcher_confine, root_keeps_the_named_capabilities_in_every_image)
{
	if (geteuid() != 0)
		cr_skip_test("needs root");
	caps_wanted = "CapInh:0000000000000000CapPrm:000000000000001bCapEff:000000000000001b"
		      "CapBnd:000000000000001bCapAmb:0000000000000000";
	cr_expect_eq(in_child(&(struct setup){0}, caps_after_exec), OK);
	caps_wanted = "CapInh:0000000000000000CapPrm:0000000000000000CapEff:0000000000000000"
		      "CapBnd:0000000000000000CapAmb:0000000000000000";
	cr_expect_eq(in_child(&(struct setup){.caps = "none"}, caps_after_exec), OK);
	caps_wanted = "CapInh:0000000000000000CapPrm:0000000000000003CapEff:0000000000000003"
		      "CapBnd:0000000000000003CapAmb:0000000000000000";
	cr_expect_eq(in_child(&(struct setup){.caps = "CAP_CHOWN,dac_override"}, caps_after_exec),
		     OK);
}

/* As a container's root that may not lower the bounding set: no_new_privs must do. */
static int caps_without_setpcap(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];
	struct lau_confine c = {.landlock_fd = -1};
	struct b_err err = {0};

	if (syscall(SYS_capget, &head, data) < 0)
		return BROKEN;
	data[0].permitted &= ~(1u << CAP_SETPCAP);
	data[0].effective = data[0].permitted;
	if (syscall(SYS_capset, &head, data) < 0 ||
	    prctl(PR_CAPBSET_DROP, CAP_CHOWN, 0, 0, 0) == 0 ||
	    lau_caps_parse("fowner", &c.keep_caps, &err) < 0 || lau_confine_caps(&c, &err) < 0)
		return BROKEN;
	execl("/usr/bin/sh", "sh", "-c",
	      "grep -q '^CapBnd:.*ff$' /proc/self/status && "
	      "grep -q '^CapEff:.0000000000000008$' /proc/self/status",
	      (char *)NULL);
	return errno;
}

Test(launcher_confine, no_new_privs_bounds_what_an_image_may_gain)
{
	if (geteuid() != 0)
		cr_skip_test("needs root");
	cr_expect_eq(in_child(&(struct setup){.bare = true}, caps_without_setpcap), OK);
}

Test(launcher_confine, capability_lists_are_read_strictly)
{
	struct b_err err = {0};
	uint64_t mask = 7;

	cr_expect_eq(lau_caps_parse("none", &mask, &err), 0);
	cr_expect_eq(mask, 0);
	cr_expect_eq(lau_caps_parse(LAU_CAPS_DEFAULT_LIST, &mask, &err), 0);
	cr_expect_eq(mask, 0x1b);
	cr_expect_eq(lau_caps_parse("checkpoint_restore", &mask, &err), 0);
	cr_expect_eq(mask, UINT64_C(1) << 40);
	mask = 7;
	for (const char *const *bad = (const char *const[]){"", "chown,", ",chown", "all",
							    "chown fowner", "chow", "cap_", NULL};
	     *bad; bad++) {
		cr_expect_eq(lau_caps_parse(*bad, &mask, &err), -1, "%s", *bad);
		cr_expect_eq(err.kind, B_USAGE);
	}
	cr_expect_eq(mask, 7);
}

/* -- descriptors -- */

static int dir_fd, pipe_fds[2], socket_fds[2], kept_fd;

/* What an exec would leave. */
static int descriptors_marked(void)
{
	struct lau_pipes pipes;
	struct lau_confine c = {.landlock_fd = -1, .keep_fds = &kept_fd, .nkeep_fds = 1};
	struct b_err err = {0};

	lau_pipes_find(&pipes);
	c.pipes = &pipes;
	if (!pipes.known || lau_confine_fds(&c, &err) < 0)
		return BROKEN;
	lau_pipes_release(&pipes);
	if (fcntl(dir_fd, F_GETFD) != FD_CLOEXEC || fcntl(socket_fds[0], F_GETFD) != FD_CLOEXEC)
		return 1;
	if (fcntl(pipe_fds[0], F_GETFD) != 0 || fcntl(pipe_fds[1], F_GETFD) != FD_CLOEXEC)
		return 2;
	return fcntl(kept_fd, F_GETFD) == 0 && fcntl(1, F_GETFD) == 0 ? OK : 3;
}

static int descriptors_left(void)
{
	if (fcntl(dir_fd, F_GETFD) >= 0 || fcntl(socket_fds[0], F_GETFD) >= 0)
		return 1;
	if (fcntl(pipe_fds[0], F_GETFD) < 0 || fcntl(pipe_fds[1], F_GETFD) < 0)
		return 2;
	return fcntl(kept_fd, F_GETFD) < 0 ? 3 : OK;
}

Test(launcher_confine, pipes_and_named_descriptors_stay_the_rest_closes)
{
	struct setup s = {.keep = &kept_fd, .nkeep = 1};

	dir_fd = open(outside, O_RDONLY | O_DIRECTORY); /* NOLINT: inherited on purpose */
	kept_fd = fcntl(dir_fd, F_DUPFD, 700);
	cr_assert_eq(pipe(pipe_fds), 0);
	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, socket_fds), 0);
	cr_expect_eq(in_child(&(struct setup){.bare = true}, descriptors_left), 1);
	cr_expect_eq(in_child(&s, descriptors_left), OK);
	/* by a list made before, as a launch does it; our own pipes are never inherited */
	cr_assert_eq(fcntl(pipe_fds[1], F_SETFD, FD_CLOEXEC), 0);
	cr_expect_eq(in_child(&(struct setup){.bare = true}, descriptors_marked), OK);
}

/* -- network -- */

static struct sockaddr_in service;

static int reach_service(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return errno;
	return result(connect(fd, (const struct sockaddr *)&service, sizeof service));
}

/* A listener of our own on the loopback of our own namespace. */
static int own_loopback(void)
{
	struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t len = sizeof any;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&any, len) < 0 || listen(fd, 1) < 0 ||
	    getsockname(fd, (struct sockaddr *)&any, &len) < 0)
		return errno;
	service = any;
	return reach_service();
}

static int who_am_i(void)
{
	return getuid() == NOBODY && geteuid() == NOBODY ? OK : 1;
}

static int listen_here(void)
{
	socklen_t len = sizeof service;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	service = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	cr_assert_eq(bind(fd, (struct sockaddr *)&service, len), 0);
	cr_assert_eq(listen(fd, 8), 0);
	cr_assert_eq(getsockname(fd, (struct sockaddr *)&service, &len), 0);
	return fd;
}

static bool has_net_ns(uid_t uid)
{
	return in_child(&(struct setup){.net = true, .no_fallback = true, .uid = uid},
			read_outside) == OK;
}

Test(launcher_confine, a_network_namespace_has_only_its_own_loopback)
{
	int fd = listen_here();

	if (!has_net_ns(NOBODY))
		cr_skip_test("this host refuses network namespaces to users");
	cr_expect_eq(in_child(&(struct setup){.bare = true}, reach_service), OK);
	for (int i = 0; i < 2; i++) {
		const struct setup s = {.net = true, .no_fallback = true, .uid = i ? NOBODY : 0};

		cr_expect_eq(in_child(&s, reach_service), ECONNREFUSED);
		cr_expect_eq(in_child(&s, own_loopback), OK);
	}
	close(fd);
}

static int apply_while_ignoring_children(void)
{
	struct lau_confine c = {.landlock_fd = -1};
	struct b_err err = {0};

	signal(SIGCHLD, SIG_IGN);
	if (prepare(&(struct setup){.net = true}, &c, &err) < 0)
		return BROKEN;
	return lau_confine_apply(&c, &err);
}

Test(launcher_confine, an_ignored_sigchld_does_not_cost_the_namespace)
{
	if (!has_net_ns(NOBODY))
		cr_skip_test("this host refuses network namespaces to users");
	cr_expect_eq(in_child(&(struct setup){.bare = true, .uid = NOBODY},
			      apply_while_ignoring_children),
		     0);
}

Test(launcher_confine, a_user_namespace_keeps_the_callers_ids)
{
	if (geteuid() != 0)
		cr_skip_test("becomes nobody");
	cr_expect_eq(in_child(&(struct setup){.net = true, .uid = NOBODY}, who_am_i), OK);
}

/* Inside a filter that refuses unshare, as in a container. */
static int apply_again(void)
{
	struct lau_confine c = {.landlock_fd = -1};
	struct b_err err = {0};
	int rc;

	if (prepare(&(struct setup){.net = true}, &c, &err) < 0)
		return BROKEN;
	rc = lau_confine_apply(&c, &err);
	if (rc != LAU_NET_FILTERED)
		return rc == 0 ? 1 : BROKEN;
	return reach_service() == EACCES ? OK : 2;
}

static int apply_again_strictly(void)
{
	struct lau_confine c = {.landlock_fd = -1};
	struct b_err err = {0};

	if (prepare(&(struct setup){.net = true, .no_fallback = true}, &c, &err) < 0)
		return BROKEN;
	if (lau_confine_apply(&c, &err) == 0)
		return 1;
	return err.kind == B_FLOOR && strstr(err.msg, "--network host") ? OK : 2;
}

Test(launcher_confine, a_refused_namespace_falls_back_to_the_stricter_filter)
{
	int fd = listen_here();

	cr_expect_eq(in_child(&(struct setup){0}, apply_again), OK);
	cr_expect_eq(in_child(&(struct setup){.uid = NOBODY}, apply_again), OK);
	cr_expect_eq(in_child(&(struct setup){0}, apply_again_strictly), OK);
	close(fd);
}

/* -- prepare -- */

Test(launcher_confine, a_symlink_that_took_the_place_of_a_granted_path_grants_nothing)
{
	struct pol_ll_rule rule = {.access = POL_LL_READ_FILE | POL_LL_READ_DIR};
	struct pol_ll_plan plan = {.abi = 1, .handled_fs = 0x1fff, .rules = &rule, .nrules = 1};
	struct lau_confine c = {.landlock_fd = -1};
	struct b_err err = {0};
	char link[128];
	pid_t pid;
	int status;

	snprintf(link, sizeof link, "%s/link", root);
	cr_assert_eq(symlink(secret, link), 0);
	rule.path = link;
	cr_assert_eq(lau_landlock_prepare(&plan, &c.landlock_fd, &err), 0);
	pid = fork();
	if (pid == 0) {
		if (lau_confine_caps(&c, &err) < 0 || lau_confine_landlock(&c, 0, &err) < 0)
			_exit(BROKEN);
		_exit(read_secret());
	}
	waitpid(pid, &status, 0);
	cr_expect_eq(WEXITSTATUS(status), EACCES);
	close(c.landlock_fd);
}

Test(launcher_confine, unknown_filter_flags_are_refused)
{
	struct b_err err = {0};
	const void *bpf = NULL;
	size_t len = 0;

	cr_expect_eq(lau_seccomp_prepare(&filters, POL_SC_FLAGS, &bpf, &len, &err), -1);
	cr_expect_eq(err.kind, B_FLOOR);
	cr_expect_null(bpf);
}
