/* SPDX-License-Identifier: Apache-2.0 */
/* Live tests of launcher/linux/broker: acts of a child that Landlock gives no right to write and
 * the broker serves. What the policy allows must go as it goes without us, errno included. */
#include "launcher/linux/broker/public.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launcher/run/confine.h"
#include "tests/support/broker.h"

#define NOBODY 65534
#define OK     0

static char root[64];
static struct sb_policy policy;
static char rule_text[8][256];

static const char *in(const char *name)
{
	static char path[4][512];
	static unsigned n;

	n = (n + 1) % 4;
	snprintf(path[n], sizeof path[n], "%s/%s", root, name);
	return path[n];
}

static void make_file(const char *name, const char *text)
{
	int fd = open(in(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

	cr_assert_geq(fd, 0, "%s", name);
	cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	chmod(in(name), 0666);
}

static void make_dir(const char *name)
{
	cr_assert_eq(mkdir(in(name), 0777), 0);
	cr_assert_eq(chmod(in(name), 0777), 0);
}

static void use_rules(void)
{
	const char *made[] = {"rmx+ T /", rule_text[0], rule_text[1], rule_text[2], NULL};

	snprintf(rule_text[0], sizeof rule_text[0], "m- T %s/deny", root);
	snprintf(rule_text[1], sizeof rule_text[1], "rm- G %s **/*.env", root);
	snprintf(rule_text[2], sizeof rule_text[2], "m- T %s/.git/hooks", root);
	sb_policy_make(&policy, made);
}

static void set_up(void)
{
	strcpy(root, "/tmp/sbx-broker-XXXXXX");
	cr_assert_not_null(mkdtemp(root));
	cr_assert_eq(chmod(root, 0777), 0);
	make_file("f", "text");
	make_file("a.env", "secret");
	make_dir("d");
	make_dir("deny");
	make_file("deny/f", "kept");
	make_file("d/b.env", "secret");
	use_rules();
	umask(022);
}

static void tear_down(void)
{
	char cmd[128];

	sb_policy_release(&policy);
	snprintf(cmd, sizeof cmd, "rm -rf %s", root);
	cr_assert_eq(system(cmd), 0);
}
TestSuite(launcher_broker, .init = set_up, .fini = tear_down);

static int result(long rc)
{
	return rc < 0 ? errno : OK;
}

typedef int act_fn(void *);

static int run(act_fn *act, enum pol_read_level level, uid_t uid)
{
	const struct sb_options o = {.level = level, .uid = uid};

	return sb_run(&policy, &o, act, NULL);
}

/* The same answer at the lowest and the highest level, as who we are and as an ordinary user, on
 * a fresh tree. */
static void expect(act_fn *act, int want)
{
	static const struct {
		enum pol_read_level level;
		uid_t uid;
	} ways[] = {{POL_READ_NONE, 0}, {POL_READ_ALL, 0}, {POL_READ_DIRECTORY, NOBODY}};

	for (unsigned i = 0; i < 3; i++) {
		int got;

		if (ways[i].uid && geteuid() != 0)
			continue;
		tear_down();
		set_up();
		got = run(act, ways[i].level, ways[i].uid);
		cr_expect_eq(got, want, "uid %u level %u: got %d, want %d", ways[i].uid,
			     ways[i].level, got, want);
	}
}

/* What happens without us, too. */
static void expect_as_bare(act_fn *act)
{
	const struct sb_options bare = {.bare = true};
	int want;

	tear_down();
	set_up();
	want = sb_run(&policy, &bare, act, NULL);
	expect(act, want);
}

/* ---- making and removing ---- */

static int make_and_remove(void *arg)
{
	struct stat st;
	int fd;

	(void)arg;
	if (chdir(root) < 0 || mkdir("new", 0777) < 0 || stat("new", &st) < 0)
		return errno;
	if ((st.st_mode & 07777) != 0755 || st.st_uid != geteuid())
		return 201;
	fd = open("new/file", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0 || write(fd, "x", 1) != 1 || fstat(fd, &st) < 0)
		return errno;
	if ((st.st_mode & 07777) != 0644 || fcntl(fd, F_GETFD) != FD_CLOEXEC)
		return 202;
	if (fcntl(fd, F_GETFL) & O_NONBLOCK)
		return 203;
	close(fd);
	if (rename("new/file", "new/other") < 0 || symlink("other", "new/link") < 0)
		return errno;
	fd = open("new/link", O_RDWR | O_TRUNC);
	if (fd < 0 || fcntl(fd, F_GETFD) != 0)
		return 204;
	close(fd);
	if (unlink("new/link") < 0 || unlink("new/other") < 0)
		return errno;
	return result(rmdir("new"));
}

Test(launcher_broker, what_is_allowed_works)
{
	expect(make_and_remove, OK);
}

static int write_denied(void *arg)
{
	(void)arg;
	return result(open(in("deny/f"), O_WRONLY | O_CLOEXEC));
}
static int create_denied(void *arg)
{
	(void)arg;
	return result(open(in("deny/new"), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
}
static int create_env(void *arg)
{
	(void)arg;
	return result(open(in("d/new.env"), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
}
static int by_link(void *arg)
{
	(void)arg;
	if (symlink("../a.env", in("d/l")) < 0)
		return errno;
	return result(open(in("d/l"), O_WRONLY | O_TRUNC | O_CLOEXEC));
}
static int by_link_dir(void *arg)
{
	(void)arg;
	if (symlink(in("deny"), in("d/l")) < 0)
		return errno;
	return result(mkdir(in("d/l/x"), 0777));
}
static int unlink_denied(void *arg)
{
	(void)arg;
	return result(unlink(in("deny/f")));
}
static int truncate_denied(void *arg)
{
	(void)arg;
	return result(truncate(in("a.env"), 0));
}
static int move_denied_out(void *arg)
{
	(void)arg;
	return result(rename(in("a.env"), in("b")));
}
static int move_parent(void *arg)
{
	(void)arg;
	return result(rename(in("deny"), in("pub")));
}
static int move_onto(void *arg)
{
	(void)arg;
	return result(rename(in("f"), in("a.env")));
}
static int link_denied(void *arg)
{
	(void)arg;
	return result(link(in("a.env"), in("b")));
}
static int plant_hooks(void *arg)
{
	(void)arg;
	if (mkdir(in("evil"), 0777) < 0 || mkdir(in("evil/hooks"), 0777) < 0)
		return errno;
	return result(rename(in("evil"), in(".git")));
}
static int exchange(void *arg)
{
	(void)arg;
	return result(renameat2(AT_FDCWD, in("d"), AT_FDCWD, in("deny"), RENAME_EXCHANGE));
}
static int by_own_fd(void *arg)
{
	char path[64];
	int fd = open(in("d/b.env"), O_PATH | O_CLOEXEC);

	(void)arg;
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	return fd < 0 ? 200 : result(open(path, O_WRONLY | O_CLOEXEC));
}
static int by_own_cwd(void *arg)
{
	(void)arg;
	if (chdir(root) < 0)
		return 200;
	return result(open("/proc/self/cwd/a.env", O_WRONLY | O_CLOEXEC));
}
static int by_dirfd(void *arg)
{
	int fd = open(in("deny"), O_PATH | O_DIRECTORY | O_CLOEXEC);

	(void)arg;
	return fd < 0 ? 200 : result(unlinkat(fd, "f", 0));
}
static int chmod_denied(void *arg)
{
	(void)arg;
	return result(chmod(in("deny/f"), 0600));
}
static int fchmod_denied(void *arg)
{
	int fd = open(in("deny/f"), O_RDONLY | O_CLOEXEC);

	(void)arg;
	return fd < 0 ? 200 : result(fchmod(fd, 0600));
}
static int utimes_denied(void *arg)
{
	(void)arg;
	return result(utimensat(AT_FDCWD, in("deny/f"), NULL, 0));
}

Test(launcher_broker, what_is_denied_is_refused_with_eacces)
{
	static act_fn *const acts[] = {
		write_denied,  create_denied,	create_env,	 by_link,      by_link_dir,
		unlink_denied, truncate_denied, move_denied_out, move_parent,  move_onto,
		link_denied,   plant_hooks,	exchange,	 by_own_fd,    by_own_cwd,
		by_dirfd,      chmod_denied,	fchmod_denied,	 utimes_denied};

	for (unsigned i = 0; i < sizeof acts / sizeof *acts; i++) {
		const struct sb_options bare = {.bare = true};

		tear_down();
		set_up();
		cr_expect_eq(sb_run(&policy, &bare, acts[i], NULL), OK, "positive control %u", i);
		expect(acts[i], EACCES);
	}
}

/* ---- the kernel's own answers ---- */

static int missing_parent(void *arg)
{
	(void)arg;
	return result(mkdir(in("none/x"), 0777));
}
static int missing(void *arg)
{
	(void)arg;
	return result(open(in("none"), O_WRONLY));
}
static int missing_denied(void *arg)
{
	(void)arg;
	return result(open(in("deny/none"), O_WRONLY));
}
static int unlink_missing_denied(void *arg)
{
	(void)arg;
	return result(unlink(in("deny/none")));
}
static int make_existing_denied(void *arg)
{
	(void)arg;
	return result(mkdir(in("deny"), 0777));
}
static int not_a_dir(void *arg)
{
	(void)arg;
	return result(open(in("f/x"), O_WRONLY | O_CREAT, 0666));
}
static int is_a_dir(void *arg)
{
	(void)arg;
	return result(open(in("d"), O_WRONLY));
}
static int slash_create(void *arg)
{
	(void)arg;
	return result(open(in("none/"), O_WRONLY | O_CREAT, 0666));
}
static int slash_file(void *arg)
{
	(void)arg;
	return result(open(in("f/"), O_WRONLY));
}
static int empty(void *arg)
{
	(void)arg;
	return result(open("", O_WRONLY | O_CREAT, 0666));
}
static int null_path(void *arg)
{
	(void)arg;
	return result(syscall(SYS_mkdir, NULL, 0777));
}
static int loop(void *arg)
{
	(void)arg;
	if (symlink("l2", in("l1")) < 0 || symlink("l1", in("l2")) < 0)
		return 200;
	return result(open(in("l1"), O_WRONLY));
}
static int nofollow(void *arg)
{
	(void)arg;
	if (symlink("f", in("l")) < 0)
		return 200;
	return result(open(in("l"), O_WRONLY | O_NOFOLLOW));
}
static int exclusive(void *arg)
{
	(void)arg;
	if (symlink("none", in("l")) < 0)
		return 200;
	return result(open(in("l"), O_WRONLY | O_CREAT | O_EXCL, 0666));
}
static int dangling(void *arg)
{
	struct stat st;
	int fd;

	(void)arg;
	if (symlink("d/fresh", in("l")) < 0)
		return 200;
	fd = open(in("l"), O_WRONLY | O_CREAT, 0640);
	return fd < 0 ? errno : result(stat(in("d/fresh"), &st));
}
static int long_name(void *arg)
{
	char name[300];

	(void)arg;
	memset(name, 'x', sizeof name - 1);
	name[sizeof name - 1] = '\0';
	return result(mkdir(in(name), 0777));
}
static int long_path(void *arg)
{
	static char path[5000];

	(void)arg;
	memset(path, '/', sizeof path - 1);
	return result(mkdir(path, 0777));
}
static int bad_fd(void *arg)
{
	(void)arg;
	return result(mkdirat(77, "x", 0777));
}
static int file_fd(void *arg)
{
	int fd = open(in("f"), O_RDONLY);

	(void)arg;
	return result(mkdirat(fd, "x", 0777));
}
static int not_empty(void *arg)
{
	(void)arg;
	return result(rmdir(in("d")));
}
static int unlink_dir(void *arg)
{
	(void)arg;
	return result(unlink(in("d")));
}
static int rmdir_file(void *arg)
{
	(void)arg;
	return result(rmdir(in("f")));
}
static int rmdir_dot(void *arg)
{
	(void)arg;
	return result(rmdir(in("d/.")));
}
static int mkdir_slash(void *arg)
{
	(void)arg;
	return result(mkdir(in("new//"), 0777));
}
static int rename_noreplace(void *arg)
{
	(void)arg;
	return result(renameat2(AT_FDCWD, in("f"), AT_FDCWD, in("d"), RENAME_NOREPLACE));
}
static int rename_into_self(void *arg)
{
	(void)arg;
	return result(rename(in("d"), in("d/x")));
}
static int removed_cwd(void *arg)
{
	(void)arg;
	if (mkdir(in("gone"), 0777) < 0 || chdir(in("gone")) < 0 || rmdir(in("gone")) < 0)
		return 200;
	return result(mkdir("x", 0777));
}
static int device(void *arg)
{
	(void)arg;
	return result(mknod(in("dev"), S_IFCHR | 0666, 0x103));
}
static int fifo(void *arg)
{
	struct stat st;

	(void)arg;
	if (mkfifo(in("p"), 0666) < 0 || stat(in("p"), &st) < 0)
		return errno;
	return S_ISFIFO(st.st_mode) && (st.st_mode & 0777) == 0644 ? OK : 200;
}
static int unknown_remove_flag(void *arg)
{
	(void)arg;
	return result(unlinkat(AT_FDCWD, in("f"), 0x4000));
}

Test(launcher_broker, where_the_policy_does_not_object_the_kernel_answers)
{
	static act_fn *const acts[] = {missing_parent,
				       missing,
				       missing_denied,
				       unlink_missing_denied,
				       make_existing_denied,
				       not_a_dir,
				       is_a_dir,
				       slash_create,
				       slash_file,
				       empty,
				       null_path,
				       loop,
				       nofollow,
				       exclusive,
				       dangling,
				       long_name,
				       long_path,
				       bad_fd,
				       file_fd,
				       not_empty,
				       unlink_dir,
				       rmdir_file,
				       rmdir_dot,
				       mkdir_slash,
				       rename_noreplace,
				       rename_into_self,
				       removed_cwd,
				       fifo,
				       unknown_remove_flag};

	for (unsigned i = 0; i < sizeof acts / sizeof *acts; i++)
		expect_as_bare(acts[i]);
	expect(device, EPERM);
}
