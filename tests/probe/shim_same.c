/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shim_same - calls whose outcome must be the same with and without the shim: one line each on
 * stdout, "WHAT RESULT ERRNO". Run twice, in the same kind of empty directory, and compared.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void say(const char *what, long ret)
{
	dprintf(1, "%s %ld %s\n", what, ret, ret < 0 ? strerrorname_np(errno) : "-");
}

static void say_open(const char *what, int fd)
{
	say(what, fd);
	if (fd >= 0)
		close(fd);
}

static void say_stream(const char *what, FILE *f)
{
	say(what, f ? 0 : -1);
	if (f)
		fclose(f);
}

/* ---- the lowest free number is the one a file gets: daemons close 0 and open ---- */

static void numbers(void)
{
	char name[] = "d/mXXXXXX";
	FILE *f;
	DIR *d;

	close(0);
	say_open("number: symlink", open("l/f", O_RDONLY));
	say_open("number: dots", open("d/../d/f", O_RDONLY));
	say_open("number: symlink, new", open("l/new", O_CREAT | O_RDWR, 0600));
	say_open("number: dots, new", open("d/../new", O_CREAT | O_RDWR, 0600));
	say_open("number: dangling symlink", open("dangling", O_CREAT | O_RDWR, 0600));
	say_open("number: no name", open(".", O_TMPFILE | O_RDWR, 0600));
	say_open("number: mkstemp", mkstemp(name));
	unlink(name);
	f = fopen("l/f", "r");
	say("number: fopen", fileno(f));
	fclose(f);
	d = opendir("l/");
	say("number: opendir", dirfd(d));
	closedir(d);
	say("number: close-on-exec is kept",
	    fcntl(open("l/f", O_RDONLY | O_CLOEXEC), F_GETFD) == FD_CLOEXEC);
	close(0);
	say("number: and only where asked for", fcntl(open("l/f", O_RDONLY), F_GETFD));
}

/* ---- flags ---- */

/* With O_CREAT, these are no files and do not become any. */
static const char *const not_new[] = {"d",
				      "d/",
				      "d//",
				      "..",
				      ".",
				      "d/..",
				      "l",
				      "l/",
				      "d/f/",
				      "d/f//",
				      "missing/x",
				      "missing/x/",
				      "missing/",
				      "d/f/x",
				      "d/f/x/",
				      "/",
				      "../",
				      "d/../",
				      "d/./",
				      "d/f/..",
				      "/proc/self/cwd",
				      "/proc/self/root/"};

static void flags(void)
{
	int fd = open(".", O_TMPFILE | O_RDWR | O_EXCL, 0600);
	char link[64];

	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	say("O_TMPFILE | O_EXCL gets no name",
	    linkat(AT_FDCWD, link, AT_FDCWD, "named", AT_SYMLINK_FOLLOW));
	close(fd);
	say_open("O_NOFOLLOW", open("l", O_RDONLY | O_NOFOLLOW));
	say_open("O_NOFOLLOW | O_DIRECTORY", open("l", O_RDONLY | O_NOFOLLOW | O_DIRECTORY));
	for (size_t i = 0; i < sizeof not_new / sizeof *not_new; i++) {
		say_open(not_new[i], open(not_new[i], O_CREAT | O_RDONLY, 0600));
		say_open("to write", open(not_new[i], O_CREAT | O_WRONLY, 0600));
		say_open("exclusively", open(not_new[i], O_CREAT | O_EXCL, 0600));
	}
	say_open("access mode 3", open("/dev/null", 3));
	say("fchmodat", fchmodat(AT_FDCWD, "d", 0700, 0x4000000));
	say("unlinkat", unlinkat(AT_FDCWD, "d", 0x4000));
	say("linkat", linkat(AT_FDCWD, "d/f", AT_FDCWD, "q", 0x4000000));
	say("renameat2", renameat2(AT_FDCWD, "d/f", AT_FDCWD, "q", 0x80));
	say("faccessat", faccessat(AT_FDCWD, "d", R_OK, 0x4000));
	say("utimensat by number", syscall(SYS_utimensat, 1, NULL, NULL, AT_SYMLINK_NOFOLLOW));
}

static void openat2_as(const char *what, struct open_how how, uint64_t tail, size_t size)
{
	struct {
		struct open_how how;
		uint64_t tail;
	} asked = {how, tail};

	say_open(what, (int)syscall(SYS_openat2, AT_FDCWD, "l/f", &asked, size));
}

static void hows(void)
{
	const size_t size = sizeof(struct open_how);

	openat2_as("openat2", (struct open_how){0}, 0, size);
	openat2_as("openat2: longer", (struct open_how){0}, 0, size + 8);
	openat2_as("openat2: newer", (struct open_how){0}, 7, size + 8);
	openat2_as("openat2: mode", (struct open_how){.mode = 0600}, 0, size);
	openat2_as("openat2: file type", (struct open_how){.flags = O_CREAT, .mode = 0100600}, 0,
		   size);
	openat2_as("openat2: flag", (struct open_how){.flags = 0x10000000}, 0, size);
	openat2_as("openat2: high flag", (struct open_how){.flags = UINT64_C(1) << 40}, 0, size);
}

/* ---- programs ---- */

static void programs(void)
{
	char *argv[] = {(char *)(uintptr_t) "x", NULL};
	char *const *volatile none = NULL;

	say("fexecve: -1", fexecve(-1, argv, environ));
	say("fexecve: closed", fexecve(1000, argv, environ));
	say("fexecve: no arguments", fexecve(1000, none, environ));
	say("fexecve: no environment", fexecve(1000, argv, none));
	say("execveat: -1", execveat(-1, "", argv, environ, AT_EMPTY_PATH));
	say("execveat: cwd", execveat(AT_FDCWD, "", argv, environ, AT_EMPTY_PATH));
	say("execl: a directory", execl("d", "d", NULL));
	say("execl: no program", execl("d/f", "f", NULL));
	say("execlp: nothing", execlp("", "x", NULL));
}

/* ---- streams ---- */

static void streams(void)
{
	FILE *f = fopen("d/f", "a");

	say("fopen: where appending begins", ftell(f));
	fclose(f);
	f = fopen("l/f", "a+");
	say("fopen: where reading begins", ftell(f));
	say("fopen: what is read", fgetc(f));
	fclose(f);
	say_stream("fopen: mode", fopen("d/f", "q"));
	say_stream("fopen: a directory", fopen("d", "w"));
	say_stream("fopen: exclusive", fopen("d/f", "wx"));
}

int main(void)
{
	int fd;

	mkdir("d", 0700);
	if (symlink("d", "l") < 0 || symlink("d/other", "dangling") < 0)
		return 1;
	fd = open("d/f", O_CREAT | O_RDWR, 0600);
	if (write(fd, "hello", 5) != 5)
		return 1;
	close(fd);
	numbers();
	flags();
	hows();
	programs();
	streams();
	return 0;
}
