/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_names.c - the names of macOS in the shim: each is refused where the policy denies and comes
 * through where it allows. What Linux has no such call for says EOPNOTSUPP then, by the fake
 * libSystem. In the directory: "keep" and "secret" are denied (modify, read), "free" is not.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/darwin/tests.h"

enum { THROUGH = 102 /* EOPNOTSUPP */, FDCWD = -2 };

/* A call on one path. */
typedef int path_call(void *fn, const char *path);

#define FN(...) ((int (*)(__VA_ARGS__))fn)
static int with_flags(void *fn, const char *p)
{
	return FN(const char *, uint32_t)(p, 0);
}
static int with_xattr(void *fn, const char *p)
{
	return FN(const char *, const char *, const void *, size_t, uint32_t, int)(p, "user.x", "",
										   0, 0, 0);
}
static int without_xattr(void *fn, const char *p)
{
	return FN(const char *, const char *, int)(p, "user.x", 0);
}
static int with_list(void *fn, const char *p)
{
	return FN(const char *, void *, void *, size_t, uint32_t)(p, NULL, NULL, 0, 0);
}
static int with_list_at(void *fn, const char *p)
{
	return FN(int, const char *, void *, void *, size_t, uint32_t)(FDCWD, p, NULL, NULL, 0, 0);
}
static int with_acl(void *fn, const char *p)
{
	return FN(const char *, unsigned, void *)(p, 0, NULL);
}
static int copies_to(void *fn, const char *p)
{
	return FN(const char *, const char *, void *, uint32_t)("free", p, NULL, 0);
}
static int clones_to(void *fn, const char *p)
{
	char name[64];

	snprintf(name, sizeof name, "new.%s", p);
	return FN(const char *, const char *, uint32_t)("free", name, 0);
}
static int clones_held_to(void *fn, const char *p)
{
	char name[64];
	int held = open("free", O_RDONLY | O_CLOEXEC), rc;

	snprintf(name, sizeof name, "new.%s", p);
	rc = FN(int, int, const char *, uint32_t)(held, FDCWD, name, 0);
	close(held);
	return rc;
}
static int undeletes(void *fn, const char *p)
{
	char name[64];

	snprintf(name, sizeof name, "gone.%s", p);
	return FN(const char *)(name);
}
static int held(void *fn, const char *p)
{
	int fd = open(p, O_RDONLY | O_CLOEXEC), rc = FN(int, uint32_t)(fd, 0);

	close(fd);
	return rc;
}
static int held_list(void *fn, const char *p)
{
	int fd = open(p, O_RDONLY | O_CLOEXEC);
	int rc = FN(int, void *, void *, size_t, uint32_t)(fd, NULL, NULL, 0, 0);

	close(fd);
	return rc;
}
static int held_snapshot(void *fn, const char *p)
{
	int fd = open(p, O_RDONLY | O_CLOEXEC), rc = FN(int, const char *, uint32_t)(fd, "x", 0);

	close(fd);
	return rc;
}

static const struct {
	const char *name;
	path_call *call;
} changes[] = {
	{"_chflags", with_flags},
	{"_lchflags", with_flags},
	{"_fchflags", held},
	{"_setxattr", with_xattr},
	{"_removexattr", without_xattr},
	{"_setattrlist", with_list},
	{"_setattrlistat", with_list_at},
	{"_fsetattrlist", held_list},
	{"_acl_set_file", with_acl},
	{"_acl_set_link_np", with_acl},
	{"_copyfile", copies_to},
	{"_clonefile", clones_to},
	{"_fclonefileat", clones_held_to},
	{"_undelete", undeletes},
	{"_fs_snapshot_create", held_snapshot},
};

static void test_changes_of_macos(const struct macho *m)
{
	char what[80];

	for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
		void *fn = macho_replacement(m, changes[i].name);

		snprintf(what, sizeof what, "%s is refused and let through", changes[i].name + 1);
		ok(fn && changes[i].call(fn, "keep") < 0 && d_errno() == DARWIN_EACCES &&
			   changes[i].call(fn, "free") < 0 && d_errno() == THROUGH,
		   what);
	}
}

typedef int copy_fn(const char *, const char *, void *, uint32_t);
typedef int access_fn(const char *, int);
typedef int faccessat_fn(int, const char *, int, int);

static void test_reads(const struct macho *m)
{
	copy_fn *copy = REPLACED(m, copy_fn, "_copyfile");
	access_fn *may = REPLACED(m, access_fn, "_access");
	faccessat_fn *may_at = REPLACED(m, faccessat_fn, "_faccessat");

	ok(copy("secret", "free", NULL, 0) < 0 && d_errno() == DARWIN_EACCES,
	   "copyfile of what may not be read is refused");
	ok(may("secret", R_OK) < 0 && d_errno() == DARWIN_EACCES && may("secret", F_OK) == 0 &&
		   may("free", R_OK | W_OK) == 0,
	   "access is answered by the policy");
	ok(may_at(FDCWD, "keep", W_OK, 0) < 0 && d_errno() == DARWIN_EACCES &&
		   may_at(FDCWD, "keep", R_OK, 0) == 0,
	   "so is faccessat");
	ok(may("nothing", R_OK) < 0 && d_errno() == ENOENT, "access to nothing is ENOENT");
}

typedef int protected_fn(const char *, int, int, int, ...);
typedef int byid_fn(const int32_t *, const uint32_t *, int);
typedef FILE *freopen_fn(const char *, const char *, FILE *);

static void test_opens_of_macos(const struct macho *m)
{
	protected_fn *o = REPLACED(m, protected_fn, "_open_dprotected_np");
	byid_fn *byid = REPLACED(m, byid_fn, "_openbyid_np");
	freopen_fn *re = REPLACED(m, freopen_fn, "_freopen");
	static const uint32_t allowed[2] = {1, 0}, denied[2] = {2, 0};
	static const int32_t volume[2];
	struct stat st;
	FILE *f;
	int fd;

	fd = CALL_PROTECTED(o, "protected", 1 | DARWIN_O_CREAT, 3, 0640);
	ok(fd >= 0 && stat("protected", &st) == 0 && (st.st_mode & 0777) == 0640,
	   "open_dprotected_np passes class and mode on");
	close(fd);
	ok(CALL_PROTECTED(o, "secret", 0, 3, 0) < 0 && d_errno() == DARWIN_EACCES,
	   "and is refused what the policy denies");
	fd = byid(volume, allowed, 0);
	ok(fd >= 0 && byid(volume, denied, 0) < 0 && d_errno() == DARWIN_EACCES,
	   "openbyid_np is judged by what was opened");
	close(fd);
	f = fopen("free", "r");
	ok(f && re("free", "a", f) == f, "freopen keeps its stream");
	ok(!re("secret", "r", f) && d_errno() == DARWIN_EACCES, "and is refused what is denied");
}

/* As macOS lays it out. */
struct address {
	uint8_t len, family;
	char path[104];
};
struct endpoints {
	unsigned interface;
	const struct address *from;
	uint32_t from_len;
	const struct address *to;
	uint32_t to_len;
};
typedef int address_fn(int, const struct address *, uint32_t);
typedef int connectx_fn(int, const struct endpoints *, uint32_t, unsigned, const void *, unsigned,
			size_t *, uint32_t *);

static void test_sockets(const struct macho *m)
{
	address_fn *bind_ = REPLACED(m, address_fn, "_bind"),
		   *connect_ = REPLACED(m, address_fn, "_connect");
	connectx_fn *connectx_ = REPLACED(m, connectx_fn, "_connectx");
	const struct address denied = {sizeof denied, AF_UNIX, "socket.keep"},
			     allowed = {sizeof allowed, AF_UNIX, "socket"};
	const struct endpoints ends = {.to = &allowed, .to_len = sizeof allowed};
	int a = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0),
	    b = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0),
	    c = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ok(bind_(a, &denied, sizeof denied) < 0 && d_errno() == DARWIN_EACCES &&
		   access("socket.keep", F_OK) < 0,
	   "bind to a denied name makes no socket");
	ok(bind_(a, &allowed, sizeof allowed) == 0 && listen(a, 2) == 0, "another is made");
	ok(connect_(b, &allowed, sizeof allowed) == 0 &&
		   connectx_(c, &ends, 0, 0, NULL, 0, NULL, NULL) == 0,
	   "and connect and connectx reach it");
	close(a);
	close(b);
	close(c);
}

typedef int system_fn(const char *);
typedef FILE *popen_fn(const char *, const char *);
typedef int execvP_fn(const char *, const char *, char *const *);
typedef void *dlopen_fn(const char *, int);

static void test_programs(const struct macho *m)
{
	system_fn *run = REPLACED(m, system_fn, "_system");
	popen_fn *open_ = REPLACED(m, popen_fn, "_popen"),
		 *extsn = REPLACED(m, popen_fn, "_popen$DARWIN_EXTSN");
	execvP_fn *ex = REPLACED(m, execvP_fn, "_execvP");
	dlopen_fn *load = REPLACED(m, dlopen_fn, "_dlopen");
	char *argv[] = {(char *)(uintptr_t) "secret", NULL};
	char word[8] = "";
	FILE *f;

	ok(run && run(NULL) != 0, "system tells that there is a shell");
	f = open_ && extsn ? open_("printf word", "r") : NULL;
	ok(f && fgets(word, sizeof word, f) && strcmp(word, "word") == 0, "popen starts it");
	if (f)
		pclose(f);
	ok(ex && ex("secret", ".", argv) < 0 && d_errno() == DARWIN_EACCES,
	   "execvP is refused a program that is denied");
	ok(load && load(NULL, 2 /* RTLD_NOW */) != NULL, "dlopen goes where it did");
}

void test_names(const struct macho *m)
{
	test_changes_of_macos(m);
	test_reads(m);
	test_opens_of_macos(m);
	test_sockets(m);
	test_programs(m);
}
