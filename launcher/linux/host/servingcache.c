/* SPDX-License-Identifier: Apache-2.0 */
/*
 * servingcache.c - what was tried is remembered: see launcher/report/host.h.
 *
 * One file in the user's own state directory, which no command may touch (it is hidden with the
 * records): a line that says what it depends on, then what was found. It is read only if it is a
 * regular file of this user that no other user may write, and its first line is the current one.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "launcher/report/host.h"

#define NAME	"host"
#define VERSION "sbx-launch " SBX_VERSION " host 1"

enum { MAX = 4096 };

/* The first line of a file, or what a link says: part of the key. */
static void add_file(struct b_str *key, const char *path)
{
	b_auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	char text[128];
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);

	text[n > 0 ? n : 0] = '\0';
	b_str_addc(key, ' ');
	b_str_addn(key, text, strcspn(text, "\n"));
}

static void add_link(struct b_str *key, const char *path)
{
	char text[128];
	ssize_t n = readlink(path, text, sizeof text);

	b_str_addc(key, ' ');
	b_str_addn(key, text, n > 0 ? (size_t)n : 0);
}

static void add_field(struct b_str *key, const char *status, const char *name)
{
	const char *at = strstr(status, name);

	if (!at)
		return;
	b_str_addc(key, ' ');
	b_str_addn(key, at + 1, strcspn(at + 1, "\n"));
}

/* A filter has no name. How many there are, and what they answer to calls that have no effect, is
 * what can be known of them without a process: enough to ask anew soon, not to be sure. */
static void add_filter(const struct lau_serving *s, struct b_str *key)
{
	const struct open_how how = {.flags = O_PATH | O_CLOEXEC};
	b_auto_fd int status = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	char text[MAX];
	ssize_t n = status < 0 ? -1 : read(status, text, sizeof text - 1);
	int fd = (int)syscall(SYS_openat2, AT_FDCWD, "/", &how, sizeof how);

	text[n > 0 ? n : 0] = '\0';
	add_field(key, text, "\nNoNewPrivs:");
	add_field(key, text, "\nSeccomp:");
	add_field(key, text, "\nSeccomp_filters:");
	b_str_addf(key, " openat2:%d", fd < 0 ? errno : 0);
	if (fd >= 0)
		close(fd);
	b_str_addf(key, " writing:%d pidfd:%d getfd:%d acting:%d", s->writing_sys, s->pidfd_sys,
		   s->getfd_sys, s->acting);
	/* without a program: EFAULT is the kernel's own word */
	(void)syscall(SYS_seccomp, 1u, 1ul << 3, NULL);
	b_str_addf(key, " listener:%d", errno);
	add_link(key, "/proc/self/ns/mnt");
}

/* Empty: nothing is to be remembered. */
static void make_key(const struct lau_serving *s, struct b_str *key)
{
	size_t before;
	struct utsname un;

	b_str_add(key, VERSION);
	before = key->len;
	add_file(key, "/proc/sys/kernel/random/boot_id");
	if (key->len < before + 8 || uname(&un) < 0) {
		b_str_reset(key);
		return;
	}
	b_str_addf(key, " %s uid:%u yama:%d self:%d", un.release, (unsigned)geteuid(), s->yama,
		   s->self_sys);
	add_link(key, "/proc/self/ns/user");
	add_link(key, "/proc/self/ns/pid");
	if (s->is_filtered)
		add_filter(s, key);
	if (s->yama > 0) { /* then user namespaces are of use */
		add_file(key, "/proc/sys/user/max_user_namespaces");
		add_file(key, "/proc/sys/kernel/unprivileged_userns_clone");
		add_file(key, "/proc/sys/kernel/apparmor_restrict_unprivileged_userns");
		add_file(key, "/proc/self/attr/current");
	}
	b_str_addc(key, '\n');
}

static bool is_ours(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
	       !(st.st_mode & 077) && st.st_nlink == 1;
}

/* "step errno descriptor" for each kinship. */
static bool parse(const char *text, struct lau_serving *s)
{
	for (int kin = 0; kin < LAU_KIN_COUNT; kin++) {
		int step, sys, descriptor, n = 0;

		if (sscanf(text, " %d %d %d%n", &step, &sys, &descriptor, &n) != 3 || step < 0 ||
		    step >= LAU_SERVE_COUNT)
			return false;
		s->by[kin] = (struct lau_served){(enum lau_serving_step)step, sys, 0, descriptor};
		text += n;
	}
	return strcmp(text, " end\n") == 0;
}

static bool recall(int dir, const struct b_str *key, struct lau_serving *s)
{
	b_auto_fd int fd = openat(dir, NAME, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	char text[MAX];
	ssize_t n = fd < 0 || !is_ours(fd) ? -1 : read(fd, text, sizeof text - 1);

	if (n <= 0)
		return false;
	text[n] = '\0';
	return (size_t)n > key->len && memcmp(text, key->s, key->len) == 0 &&
	       parse(text + key->len, s);
}

/* Beside the old one, and in its place at once: two runs may do so. */
static void remember(int dir, const struct b_str *key, const struct lau_serving *s)
{
	b_auto(b_str_release) struct b_str text = {0};
	b_auto_fd int fd = -1;
	char name[32];

	b_str_addn(&text, key->s, key->len);
	for (int kin = 0; kin < LAU_KIN_COUNT; kin++)
		b_str_addf(&text, "%s%d %d %d", kin ? " " : "", (int)s->by[kin].step,
			   s->by[kin].sys, s->by[kin].descriptor);
	b_str_add(&text, " end\n");
	snprintf(name, sizeof name, ".host-%d", (int)getpid());
	fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	if (b_write_all(fd, text.s, text.len) < 0 || renameat(dir, name, dir, NAME) < 0)
		(void)unlinkat(dir, name, 0);
}

/* A directory that others may write to, or that is not there yet, remembers nothing. */
static int open_state(const char *state)
{
	b_auto_fd int dir =
		state ? open(state, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
	struct stat st;

	if (dir < 0 || fstat(dir, &st) < 0 || st.st_uid != geteuid() || st.st_mode & 022)
		return -1;
	return b_take_fd(&dir);
}

/* A passing lack of processes or memory is not remembered. */
static bool is_lasting(const struct lau_serving *s)
{
	for (int kin = 0; kin < LAU_KIN_COUNT; kin++)
		if (s->by[kin].step == LAU_SERVE_PROCESS || s->by[kin].sys == ETIMEDOUT)
			return false;
	return true;
}

/* A no is somebody else's until it was tried again; that of taking descriptors was, by
 * lau_serving_look(), when it is the filter's. */
static bool is_yes(const struct lau_serving *s, bool own_ns)
{
	enum lau_kinship kin;
	int descriptor, now = s->pidfd_sys ? s->pidfd_sys : s->getfd_sys;

	if (!lau_serving_choose(s, own_ns, &kin))
		return false;
	descriptor = s->by[kin].descriptor;
	return !descriptor || descriptor == now;
}

void lau_serving_find(const char *state, bool own_ns, struct lau_serving *s)
{
	b_auto(b_str_release) struct b_str key = {0};
	b_auto_fd int dir = open_state(state);

	lau_serving_look(s);
	if (dir >= 0)
		make_key(s, &key);
	if (key.len && recall(dir, &key, s) && is_yes(s, own_ns)) {
		s->is_tried = true;
		return;
	}
	lau_serving_try(s);
	if (key.len && is_yes(s, own_ns) && is_lasting(s))
		remember(dir, &key, s);
}

void lau_serving_forget(const char *state)
{
	b_auto_fd int dir = open_state(state);

	if (dir >= 0)
		(void)unlinkat(dir, NAME, 0);
}
