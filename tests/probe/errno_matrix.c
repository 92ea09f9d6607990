/* SPDX-License-Identifier: Apache-2.0 */
/*
 * errno_matrix.c - calls with arguments that are wrong, or at the edge of what the kernel takes, a
 * line each with what it said: inside as outside (tests/e2e/errnos.sh). Run in an empty directory.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

#define BAD ((void *)8)

static void tell(const char *name, long rc)
{
	int err = rc < 0 ? errno : 0;

	printf("%s: %s\n", name, err ? strerror(err) : "done");
}

#define T(name, call)                                                                              \
	do {                                                                                       \
		errno = 0;                                                                         \
		tell(name, (long)(call));                                                          \
	} while (0)

static void of_openat2(void)
{
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct open_how *how = (struct open_how *)(void *)(page + 4096 - sizeof *how);

	munmap(page + 4096, 4096);
	how->flags = O_RDONLY;
#define HOW(name, at, size)                                                                        \
	T("openat2 " name, syscall(SYS_openat2, AT_FDCWD, "/etc/passwd", at, size))
	HOW("an unmapped tail", how, sizeof *how + 8);
	HOW("whole", how, sizeof *how);
	HOW("NULL", NULL, 24);
	HOW("no size", how, 0);
	HOW("a large size", how, 5000);
	HOW("beyond its page", (char *)how + 16, 24);
}

/* "././/f" of just so many bytes; `f` or the directory itself. */
static const char *long_path(size_t n)
{
	static char text[5000];

	memset(text, 0, sizeof text);
	for (size_t i = 0; i + 1 < n; i += 2)
		memcpy(text + i, "./", 2);
	text[n - 1] = 'f';
	if (n >= 2 && text[n - 2] != '/')
		text[n - 2] = '/';
	return text;
}

static void of_length(size_t n)
{
	const char *p = long_path(n);
	char name[64];

#define L(what, call)                                                                              \
	do {                                                                                       \
		snprintf(name, sizeof name, "%s of %zu bytes", what, n);                           \
		T(name, call);                                                                     \
	} while (0)
	L("open", open(p, O_CREAT | O_RDWR, 0644));
	L("access", access(p, F_OK));
	L("mkdir", mkdir(p, 0755));
	L("rename to", rename("none", p));
	L("rename from", rename(p, "f"));
	L("link", link("g", p));
	L("symlink", symlink("x", p));
	L("mkfifo", mkfifo(p, 0644));
	L("chmod", chmod(p, 0755));
	L("chown", chown(p, (uid_t)-1, (gid_t)-1));
	L("lchown", lchown(p, (uid_t)-1, (gid_t)-1));
	L("truncate", truncate(p, 0));
	L("utime", utime(p, NULL));
	L("setxattr", setxattr(p, "user.x", "1", 1, 0));
	L("getxattr", getxattr(p, "user.x", NULL, 0));
	L("openat", openat(AT_FDCWD, p, O_RDONLY));
	L("raw openat", syscall(SYS_openat, AT_FDCWD, p, O_RDONLY));
	L("a directory", open(p, O_RDONLY | O_DIRECTORY));
	L("chdir", chdir(p));
	L("rmdir", rmdir(p));
	L("unlink", unlink(p));
	L("symlink that leads there", symlink(p, "leads"));
	unlink("leads");
	L("execv", execv(p, (char *[]){NULL}));
}

static void of_names(void)
{
	char name[300] = "";

	memset(name, 'n', 256);
	T("open of a name of 256", open(name, O_CREAT | O_RDWR, 0644));
	T("mkdir of a name of 256", mkdir(name, 0755));
	T("symlink of a name of 256", symlink("x", name));
	name[255] = '\0';
	T("open of a name of 255", open(name, O_CREAT | O_RDWR, 0644));
	T("unlink of a name of 255", unlink(name));
	T("open of nothing", open("", O_RDONLY));
	T("mkdir of nothing", mkdir("", 0));
	T("unlink .", unlink("."));
	T("rmdir .", rmdir("."));
	T("rmdir /", rmdir("/"));
	T("unlink /", unlink("/"));
	T("rename .", rename(".", "x"));
	T("rename /", rename("/", "x"));
	T("mkdir /", mkdir("/", 0));
	T("mkdir .", mkdir(".", 0));
	T("mkdir at 8", mkdir(BAD, 0755));
	T("open at 8", open(BAD, O_RDONLY));
	T("rename to 8", rename("a", BAD));
	T("setxattr of a name at 8", setxattr(".", BAD, "1", 1, 0));
	T("chmod of none", chmod("none", 0));
	T("mknod of a directory", mknod("md", S_IFDIR | 0755, 0));
	T("mknod of a link", mknod("md", S_IFLNK | 0755, 0));
}

/* Strings that have no end before their memory has one. */
static void of_memory(void)
{
	char *p = mmap(NULL, 16384, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static const size_t from[] = {0, 4, 4000, 4095, 4097, 8191};

	memset(p, 'a', 8192);
	mprotect(p + 8192, 8192, PROT_NONE);
	for (size_t i = 0; i < sizeof from / sizeof *from; i++) {
		T("open without an end", open(p + from[i], O_RDONLY));
		T("mknod without an end", mknod(p + from[i], S_IFIFO | 0644, 0));
		T("rename without an end", rename("g", p + from[i]));
		T("access without an end", access(p + from[i], F_OK));
	}
	T("mknod at the last address", mknod((char *)-1, S_IFIFO | 0644, 0));
}

static void of_sockets(void)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX, .sun_path = "sock"};
	struct sockaddr_in in = {.sin_family = AF_INET};
	struct sockaddr none = {.sa_family = AF_UNSPEC};
	int inet = socket(AF_INET, SOCK_STREAM, 0), unix_ = socket(AF_UNIX, SOCK_STREAM, 0);
	int other = socket(AF_UNIX, SOCK_STREAM, 0), datagrams = socket(AF_INET, SOCK_DGRAM, 0);
	int null = open("/dev/null", O_RDWR);

#define S(what, call, fd, address, size)                                                           \
	T(what, call(fd, (const struct sockaddr *)(address), (socklen_t)(size)))
	S("bind of a path on inet", bind, inet, &un, sizeof un);
	S("connect to a path on inet", connect, inet, &un, sizeof un);
	S("bind of inet on unix", bind, unix_, &in, sizeof in);
	S("connect to inet on unix", connect, unix_, &in, sizeof in);
	S("bind of one byte", bind, unix_, &un, 1);
	S("bind of no byte", bind, unix_, &un, 0);
	S("bind of less", bind, unix_, &un, -1);
	S("bind of 200 bytes", bind, unix_, &un, 200);
	S("connect to 200 bytes", connect, unix_, &un, 200);
	S("bind at 8", bind, unix_, BAD, sizeof un);
	S("connect at 8", connect, unix_, BAD, sizeof un);
	S("bind of a device", bind, null, &un, sizeof un);
	S("connect of a device", connect, null, &un, sizeof un);
	S("bind of no descriptor", bind, 999, &un, sizeof un);
	S("connect of no descriptor", connect, 999, &un, sizeof un);
	S("connect to none", connect, unix_, &un, sizeof un);
	S("bind", bind, unix_, &un, sizeof un);
	S("bind once more", bind, unix_, &un, sizeof un);
	S("bind of what is there", bind, other, &un, sizeof un);
	S("connect to who does not listen", connect, other, &un, sizeof un);
	T("listen of no descriptor", listen(999, 1));
	T("listen of a device", listen(null, 1));
	T("listen of datagrams", listen(datagrams, 1));
	S("bind of no family", bind, datagrams, &none, sizeof none);
	S("connect to no family", connect, datagrams, &none, sizeof none);
	unlink("sock");
}

static void of_handles(void)
{
	int file = open("/etc/passwd", O_PATH), own = open("f", O_CREAT | O_RDWR, 0644);
	int name = open("f", O_PATH), dir = open(".", O_PATH);
	char byte;

	T("fchmod of a name", fchmod(file, 0644));
	T("fchown of a name", fchown(file, (uid_t)-1, (gid_t)-1));
	T("fsetxattr of a name", fsetxattr(file, "user.x", "1", 1, 0));
	T("fgetxattr of a name", fgetxattr(file, "user.x", NULL, 0));
	T("ftruncate of a name", ftruncate(file, 0));
	T("read of a name", read(file, &byte, 1));
	T("fchmod of an own name", fchmod(name, 0644));
	T("fchown of an own name", fchown(name, (uid_t)-1, (gid_t)-1));
	T("futimens of an own name", futimens(name, NULL));
	T("openat below a name", openat(dir, "q", O_CREAT | O_RDWR, 0644));
	T("unlinkat below a name", unlinkat(dir, "q", 0));
	T("fchdir to a name", fchdir(dir));
	T("a name that is a link", open("/bin", O_PATH | O_NOFOLLOW));
	T("a name that is to be made", open("zz", O_PATH | O_CREAT, 0644));
	T("openat below a file", openat(file, "x", O_RDONLY));
	T("mkdirat below a file", mkdirat(file, "x", 0755));
	T("mkdirat below an own file", mkdirat(own, "x", 0755));
	T("openat below nothing", openat(999, "x", O_RDONLY));
	unlink("f");
}

static void of_flags(void)
{
	const struct timespec wrong[2] = {{0, 2000000000}, {0, 0}};

	T("utimensat of two seconds of nanoseconds", utimensat(AT_FDCWD, ".", wrong, 0));
	T("linkat", linkat(AT_FDCWD, "a", AT_FDCWD, "b", 0x40000000));
	T("renameat2", syscall(SYS_renameat2, AT_FDCWD, "a", AT_FDCWD, "b", 0x80));
	T("unlinkat", unlinkat(AT_FDCWD, "a", 0x80));
	T("setxattr of too much", syscall(SYS_setxattr, ".", "user.x", "1", 70000, 0));
	T("setxattr with a flag", setxattr(".", "user.x", "1", 1, 77));
	T("getxattr of none", getxattr(".", "user.none", NULL, 0));
	T("removexattr of none", removexattr(".", "user.none"));
	T("creat of a directory", creat(".", 0644));
	T("a directory to write", open(".", O_RDWR));
	T("a directory to empty", open(".", O_RDONLY | O_TRUNC));
	T("a file as a directory", open("/etc/passwd", O_RDONLY | O_DIRECTORY));
	T("a directory made exclusively", open(".", O_CREAT | O_EXCL, 0644));
	T("O_TMPFILE to read", open(".", O_TMPFILE | O_RDONLY, 0644));
	T("chown of nothing", chown(".", (uid_t)-1, (gid_t)-1));
}

/* An open gives its descriptor back at once: the next one has as many. */
#define O(name, call)                                                                              \
	do {                                                                                       \
		int fd_ = -1;                                                                      \
		T(name, fd_ = (call));                                                             \
		if (fd_ >= 0)                                                                      \
			close(fd_);                                                                \
	} while (0)

/* So many descriptors can be had. */
static void leave(unsigned n)
{
	int next = dup(0);
	struct rlimit r = {(rlim_t)next + n, (rlim_t)next + n};

	close(next);
	(void)setrlimit(RLIMIT_NOFILE, &r);
}

static int have(FILE *f)
{
	return f ? fclose(f) : -1;
}

static void opens(void)
{
	struct open_how how = {.flags = O_RDONLY};
	char made[] = "made.XXXXXX";

	O("open", open("g", O_RDONLY));
	O("open as it is made", open("n1", O_CREAT | O_RDONLY, 0444));
	O("open once more", open("n1", O_CREAT | O_RDONLY, 0444));
	O("creat", creat("n2", 0644));
	O("open by a link", open("to_g", O_RDWR));
	O("make by a link", open("to_n3", O_CREAT | O_RDWR, 0644));
	O("open by ..", open("d/../g", O_RDWR));
	O("make by ..", open("d/../n4", O_CREAT | O_EXCL | O_RDWR, 0644));
	O("open below a link", open("to_d/../g", O_RDONLY));
	O("open a directory", open("d", O_RDONLY | O_DIRECTORY));
	O("open a name", open("g", O_PATH));
	O("open by a number", open("/proc/self/fd/0", O_RDONLY));
	O("open a device", open("/dev/null", O_RDWR));
	O("openat2", (int)syscall(SYS_openat2, AT_FDCWD, "g", &how, sizeof how));
	O("O_TMPFILE", open(".", O_TMPFILE | O_RDWR, 0600));
	O("mkstemp", mkstemp(made));
	(void)unlink(made);
	T("fopen", have(fopen("n5", "w")));
	T("truncated", have(fopen("n5", "w")));
	O("socket", socket(AF_UNIX, SOCK_STREAM, 0));
	T("dup of 1", fcntl(1, F_DUPFD, 1));
}

/* What needs no descriptor outside needs none inside. */
static void changes(void)
{
	struct stat st;
	char text[4096];

	T("mkdir", mkdir("m", 0755));
	T("symlink", symlink("m", "l"));
	T("link", link("g", "h"));
	T("rename", rename("h", "i"));
	T("chmod", chmod("i", 0600));
	T("chmod by a link", chmod("to_g", 0600));
	T("truncate", truncate("i", 1));
	T("utimes", utime("i", NULL));
	T("setxattr", setxattr("i", "user.x", "1", 1, 0));
	T("getxattr", getxattr("i", "user.none", NULL, 0));
	T("access", access("to_g", W_OK));
	T("stat", stat("d/../i", &st));
	T("readlink", readlink("l", text, sizeof text));
	T("realpath", realpath("to_d/../i", text) ? 0 : -1);
	T("chdir", chdir("to_d"));
	T("back", chdir(".."));
	T("unlink", unlink("i"));
	T("unlink a link", unlink("l"));
	T("rmdir", rmdir("m"));
	for (const char *made = "12345"; *made; made++) {
		snprintf(text, sizeof text, "n%c", *made);
		(void)unlink(text);
	}
}

static void of_descriptors(void)
{
	T("for descriptors: d", mkdir("d", 0755));
	T("to_d", symlink("d", "to_d"));
	T("to_g", symlink("g", "to_g"));
	T("to_n3", symlink("n3", "to_n3"));
	for (unsigned n = 3; n-- > 0;) {
		fflush(stdout);
		if (fork() == 0) {
			leave(n);
			printf("%u left\n", n);
			opens();
			changes();
			_exit(0);
		}
		(void)wait(NULL);
	}
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	close(open("g", O_CREAT | O_RDWR, 0644));
	of_openat2();
	for (size_t n = 4093; n <= 4098; n++)
		of_length(n);
	of_names();
	of_memory();
	of_sockets();
	of_handles();
	of_flags();
	of_descriptors();
	return 0;
}
