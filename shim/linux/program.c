/* SPDX-License-Identifier: Apache-2.0 */
/* program.c - which image an exec starts and whether the shim will load into it, and the file
 * actions of posix_spawn. */
#include "shim/exec.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/prctl.h>

#include "core/decide.h"
#include "core/path.h"
#include "shim/judge.h"
#include "shim/sys_linux.h"
#include "shim/mem.h"
#include "shim/proc.h"
#include "shim/where.h"

enum {
	HEAD_SIZE = 1024, /* ELF and program headers of all but the oddest files */
	INTERP_SIZE = 128,
	SHEBANG_SIZE = 256, /* BINPRM_BUF_SIZE: the kernel reads no more */
	SCRIPTS_MAX = 5	    /* interpreters that are scripts themselves, as in the kernel */
};

#if defined(__x86_64__)
#define OWN_MACHINE	EM_X86_64
#define SIBLING_MACHINE EM_386
#elif defined(__i386__)
#define OWN_MACHINE	EM_386
#define SIBLING_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#endif

static bool is_no_new_privs(void)
{
	return sys5(SYS_prctl, PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;
}

/* Will the kernel set AT_SECURE, which makes the loader ignore LD_PRELOAD? File capabilities
 * do even where no_new_privs keeps them from being granted. */
static bool is_set_id(const struct stat *st)
{
	if (!(st->st_mode & (S_ISUID | S_ISGID)) || is_no_new_privs())
		return false;
	if (st->st_mode & S_ISUID && st->st_uid != (uid_t)sys0(SYS_getuid))
		return true;
	return (st->st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) &&
	       st->st_gid != (gid_t)sys0(SYS_getgid);
}

static bool has_caps(int fd)
{
	char cap[64];

	return (uid_t)sys0(SYS_getuid) != 0 &&
	       sys4(SYS_fgetxattr, fd, "security.capability", cap, sizeof cap) > 0;
}

/* glibc's loaders are called ld-linux*, ld.so.1, ld64.so*; musl's ld-musl-*: the shim imports
 * nothing that either lacks. */
static enum sbx_exec_class class_of_loader(const char *loader)
{
	const char *base = shim_basename(loader);

	if (shim_has_prefix(base, "ld-linux") || shim_has_prefix(base, "ld-musl-") ||
	    shim_has_prefix(base, "ld.so") || shim_has_prefix(base, "ld64.so") ||
	    shim_has_prefix(base, "ld-2."))
		return SBX_EXEC_DYNAMIC;
	return SBX_EXEC_OTHER_LIBC;
}

static enum sbx_exec_class class_of_interp(int fd, const char *head, size_t n, uint64_t offset)
{
	char interp[INTERP_SIZE];
	long got;

	if (offset < n && memchr(head + offset, '\0', n - offset))
		return class_of_loader(head + offset);
	if (offset > LONG_MAX)
		return SBX_EXEC_UNREADABLE;
	got = sys_pread(fd, interp, sizeof interp - 1, (long)offset);
	if (got <= 0)
		return SBX_EXEC_UNREADABLE;
	interp[got] = '\0';
	return class_of_loader(interp);
}

/* Of one word size: `path` is for the loader itself, started by name: it loads the shim into what
 * it is given. */
#define CLASS_OF_ELF(bits, machine)                                                                \
	static enum sbx_exec_class class_of_elf##bits(int fd, const char *head, size_t n,          \
						      const char *path)                            \
	{                                                                                          \
		const Elf##bits##_Ehdr *h = (const void *)head;                                    \
		const Elf##bits##_Phdr *p;                                                         \
		unsigned i;                                                                        \
		if (n < sizeof *h || h->e_ident[EI_CLASS] != ELFCLASS##bits ||                     \
		    h->e_machine != (machine))                                                     \
			return SBX_EXEC_FOREIGN;                                                   \
		if (h->e_phentsize != sizeof *p || h->e_phoff > n || h->e_phoff % ((bits) / 8) ||  \
		    h->e_phnum > (n - h->e_phoff) / sizeof *p)                                     \
			return SBX_EXEC_UNREADABLE;                                                \
		p = (const void *)(head + h->e_phoff);                                             \
		for (i = 0; i < h->e_phnum; i++)                                                   \
			if (p[i].p_type == PT_INTERP)                                              \
				return class_of_interp(fd, head, n, p[i].p_offset);                \
		if (h->e_type == ET_DYN && class_of_loader(path) == SBX_EXEC_DYNAMIC)              \
			return SBX_EXEC_DYNAMIC;                                                   \
		return SBX_EXEC_STATIC;                                                            \
	}

#if defined(__i386__)
CLASS_OF_ELF(32, OWN_MACHINE)
CLASS_OF_ELF(64, SIBLING_MACHINE)
#define class_of_own	 class_of_elf32
#define class_of_sibling class_of_elf64
#else
CLASS_OF_ELF(64, OWN_MACHINE)
#define class_of_own class_of_elf64
#ifdef SIBLING_MACHINE
CLASS_OF_ELF(32, SIBLING_MACHINE)
#define class_of_sibling class_of_elf32
#endif
#endif

/* Below a floor programs of the other word size do not run at all. */
static bool has_sibling(void)
{
	struct stat st;
	int fd;
	bool is_there;

	if (!shim.is_alone || !shim.sibling[0])
		return false;
	fd = sys_openat(AT_FDCWD, shim.sibling, O_PATH | O_CLOEXEC, 0);
	is_there = fd >= 0 && sys_fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
		   !(st.st_mode & (S_IWGRP | S_IWOTH));
	if (fd >= 0)
		sys_close(fd);
	return is_there;
}

static enum sbx_exec_class class_of_elf(int fd, const char *head, size_t n, const char *path,
					bool *out_sibling)
{
	enum sbx_exec_class class = class_of_own(fd, head, n, path);

#ifdef class_of_sibling
	if (class == SBX_EXEC_FOREIGN && has_sibling()) {
		class = class_of_sibling(fd, head, n, path);
		*out_sibling = class == SBX_EXEC_DYNAMIC;
	}
#else
	(void)has_sibling, (void)out_sibling;
#endif
	return class;
}

/* "#! /path arg": the path, NUL-terminated in place. */
static char *interpreter_of(char *head, size_t n)
{
	char *p = head + 2, *end;

	head[n < SHEBANG_SIZE ? n : SHEBANG_SIZE - 1] = '\0';
	while (*p == ' ' || *p == '\t')
		p++;
	for (end = p; *end && *end != ' ' && *end != '\t' && *end != '\n';)
		end++;
	*end = '\0';
	return *p ? p : NULL;
}

struct look {
	int held; /* O_PATH */
	bool is_sibling;
	struct stat st;
	union {
		char bytes[HEAD_SIZE];
		long aligned;
	} head;
};

/* The held file, by its path: openat2(2) proves it, or where calls are marked, the inode. */
static int open_by_path(const struct look *l, const char *path)
{
	struct stat st;
	int fd;

	if (!shim.marks)
		return sys_open_proven(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	fd = sys_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0 ||
	    (sys_fstat(fd, &st) == 0 && st.st_ino == l->st.st_ino && st.st_dev == l->st.st_dev))
		return fd;
	sys_close(fd);
	return -ELOOP;
}

/* Reads the beginning of the held file: fills class, or gives the interpreter of a script. */
static char *read_head(struct look *l, const char *path, enum sbx_exec_class *out_class)
{
	char link[SHIM_FD_PATH_SIZE], *interp = NULL;
	int fd = open_by_path(l, path);
	long n;

	*out_class = SBX_EXEC_UNREADABLE;
	if (fd < 0) /* deleted, a memfd, below a directory closed to us, no openat2 */
		fd = sys_openat(AT_FDCWD, shim_fd_path(link, l->held), O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return NULL;
	n = sys_pread(fd, l->head.bytes, sizeof l->head.bytes, 0);
	if (n >= 3 && l->head.bytes[0] == '#' && l->head.bytes[1] == '!')
		interp = interpreter_of(l->head.bytes, (size_t)n);
	else if (n >= SELFMAG && memcmp(l->head.bytes, ELFMAG, SELFMAG) == 0)
		*out_class = is_set_id(&l->st) ? SBX_EXEC_SECURE
			     : has_caps(fd)    ? SBX_EXEC_CAPS
					       : class_of_elf(fd, l->head.bytes, (size_t)n, path,
							      &l->is_sibling);
	sys_close(fd);
	return interp;
}

/* Finds, and asks the kernel's own questions; 0 or errno. */
static int hold(struct look *l, int dirfd, const char *path, int flags, char *text, size_t *out_len)
{
	int rc;

	if (flags & AT_EMPTY_PATH && !*path && dirfd < 0) {
		l->held = dirfd == AT_FDCWD ? -EACCES : -EBADF; /* a directory, or nothing */
	} else if (flags & AT_EMPTY_PATH && !*path) {
		l->held = dirfd;
		*out_len = shim_fd_text(dirfd, text);
	} else {
		l->held = shim_hold(dirfd, path, text, out_len);
	}
	if (l->held < 0)
		return -l->held;
	rc = sys_fstat(l->held, &l->st);
	if (rc < 0)
		return -rc;
	if (!S_ISREG(l->st.st_mode))
		return S_ISLNK(l->st.st_mode) ? ELOOP : EACCES;
	/* whether we in particular may, the kernel finds out */
	if (!(l->st.st_mode & 0111))
		return EACCES;
	return 0;
}

static void release(const struct look *l, int dirfd)
{
	if (l->held >= 0 && l->held != dirfd)
		sys_close(l->held);
}

/* Judged by the whole path, of which the beginning is kept. */
static __attribute__((noinline)) void judge_deep(struct shim_program *p, int dirfd,
						 const char *path)
{
	struct shim_deep d;
	int rc = shim_deep_find(&d, dirfd, path, true);

	if (rc == 0) {
		p->is_denied = !shim_judge(SBX_EXEC, d.room, d.len).allowed;
		p->rule = (unsigned)sbx_attribute(&shim.image, SBX_EXEC, d.room, d.len) + 1;
		p->is_cut = true;
		p->len = d.len < SBX_PATH_MAX ? d.len : SBX_PATH_MAX - 1;
		memcpy(p->path, d.room, p->len);
		p->path[p->len] = '\0';
	} else if (rc == SHIM_DEEP_UNKNOWN) {
		p->is_denied = shim_trouble();
	}
	shim_deep_release(&d);
}

static void look_at_interpreters(struct shim_program *p, struct look *l, char *interp)
{
	int depth;

	for (depth = 0; interp && depth < SCRIPTS_MAX; depth++) {
		int err = hold(l, AT_FDCWD, interp, 0, p->interp, &p->interp_len);

		if (!err && p->interp_len &&
		    !shim_judge(SBX_EXEC, p->interp, p->interp_len).allowed)
			p->is_denied = p->is_interp_denied = true;
		if (err)
			p->err = err;
		interp = err ? NULL : read_head(l, p->interp, &p->class);
		release(l, AT_FDCWD);
	}
}

void shim_program_look(struct shim_program *p, int dirfd, const char *path, int flags)
{
	struct look l;
	char *interp;
	struct shim_text t;

	l.is_sibling = false;
	p->len = p->interp_len = 0;
	p->class = SBX_EXEC_UNREADABLE;
	p->is_denied = p->is_interp_denied = p->is_cut = p->is_sibling = false;
	p->err = 0;
	if (shim_is_no_pointer(path) || (!*path && !(flags & AT_EMPTY_PATH))) {
		p->err = shim_is_no_pointer(path) ? EFAULT : ENOENT;
		p->class = SBX_EXEC_MISSING;
		return;
	}
	if (shim_has_filter()) {
		t = shim_text(p->path, dirfd, path);
		p->len = t.len;
		p->is_denied = t.len && !shim_judge(SBX_EXEC, p->path, t.len).allowed;
		return;
	}
	p->err = hold(&l, dirfd, path, flags, p->path, &p->len);
	if (l.held < 0) {
		p->class = SBX_EXEC_MISSING;
		if (p->err == EMFILE || p->err == ENFILE) {
			p->class = SBX_EXEC_UNREADABLE;
			p->err = 0;
			p->is_denied = shim_trouble();
		}
		return;
	}
	/* a memfd has no path and no rule */
	if (p->len && !p->err && !shim_has_prefix(p->path, "/memfd:"))
		p->is_denied = !shim_judge(SBX_EXEC, p->path, p->len).allowed;
	else if (!p->len && !p->err && *path && shim_is_deep(l.held))
		judge_deep(p, dirfd, path);
	interp = p->err ? NULL : read_head(&l, p->is_cut ? "" : p->path, &p->class);
	release(&l, dirfd);
	if (!p->is_denied)
		look_at_interpreters(p, &l, interp);
	p->is_sibling = l.is_sibling;
}

void shim_program_missing(struct shim_program *p)
{
	p->len = p->interp_len = 0;
	p->class = SBX_EXEC_MISSING;
	p->is_denied = p->is_interp_denied = p->is_cut = p->is_sibling = false;
	p->err = 0;
}

void shim_program_unknown(struct shim_program *p)
{
	p->len = p->interp_len = 0;
	p->class = SBX_EXEC_UNREADABLE;
	p->is_interp_denied = p->is_cut = p->is_sibling = false;
	p->err = 0;
	p->is_denied = shim_trouble();
}

bool shim_program_is_witnessed(enum sbx_exec_class class)
{
	return class == SBX_EXEC_DYNAMIC || class == SBX_EXEC_UNREADABLE ||
	       class == SBX_EXEC_MISSING;
}

/* ---- file actions ---- */

enum { SETS = 64, LED_TEXT = 1000, REPLACED = 8 };

/* The set's owner is the only one to use its place, but for the claim. */
struct place {
	_Atomic uintptr_t set; /* 0 = free */
	bool is_led, is_known;
	int dirfd;
	size_t len; /* of text, which is relative to dirfd */
	unsigned nreplaced;
	int replaced[REPLACED];
	char text[LED_TEXT];
};
static struct place places[SETS];
static _Atomic unsigned used; /* none: most programs never come here */
/* Sets that found no place (never destroyed): what is not in the table may have been led. */
static _Atomic bool is_led_lost, is_replaced_lost;

static struct place *find(const void *set)
{
	size_t i;

	if (!set || !atomic_load_explicit(&used, memory_order_relaxed))
		return NULL;
	for (i = 0; i < SETS; i++)
		if (atomic_load_explicit(&places[i].set, memory_order_relaxed) == (uintptr_t)set)
			return &places[i];
	return NULL;
}

static struct place *claim(const void *set)
{
	struct place *p = find(set);
	size_t i;

	for (i = 0; !p && set && i < SETS; i++) {
		uintptr_t none = 0;

		if (!atomic_compare_exchange_strong(&places[i].set, &none, (uintptr_t)set))
			continue;
		p = &places[i];
		p->is_led = false;
		p->is_known = true;
		p->dirfd = AT_FDCWD;
		p->len = p->nreplaced = 0;
		atomic_fetch_add(&used, 1);
	}
	return p;
}

void shim_actions_reset(const void *set)
{
	struct place *p = find(set);

	if (!p)
		return;
	atomic_store(&p->set, 0);
	atomic_fetch_sub(&used, 1);
}

void shim_actions_chdir(const void *set, const char *path)
{
	struct place *p = claim(set);

	if (!p) {
		atomic_store(&is_led_lost, true);
		return;
	}
	p->is_led = true;
	if (*path == '/') {
		p->dirfd = AT_FDCWD;
		p->len = 0;
		p->is_known = true;
	}
	if (p->len && !shim_append(p->text, LED_TEXT, &p->len, "/", 1))
		p->is_known = false;
	if (!shim_append(p->text, LED_TEXT, &p->len, path, strlen(path)))
		p->is_known = false;
}

static bool is_replaced(const struct place *p, int fd)
{
	unsigned i;

	if (p->nreplaced > REPLACED ||
	    atomic_load_explicit(&is_replaced_lost, memory_order_relaxed))
		return true;
	for (i = 0; i < p->nreplaced; i++)
		if (p->replaced[i] == fd)
			return true;
	return false;
}

void shim_actions_fchdir(const void *set, int fd)
{
	struct place *p = claim(set);

	if (!p) {
		atomic_store(&is_led_lost, true);
		return;
	}
	p->is_led = true;
	p->is_known = !is_replaced(p, fd);
	p->dirfd = fd;
	p->len = 0;
}

void shim_actions_replace(const void *set, int fd)
{
	struct place *p = claim(set);

	if (!p)
		atomic_store(&is_replaced_lost, true);
	else if (p->nreplaced < REPLACED)
		p->replaced[p->nreplaced++] = fd;
	else
		p->nreplaced = REPLACED + 1;
}

/* What the child's own directory and descriptors are, by their names in the file system. */
static bool is_of_child(const char *path)
{
	/* not a table of pointers: each is a relocation, at every start of a program */
	return shim_has_prefix(path, "/proc/self/cwd") || shim_has_prefix(path, "/proc/self/fd/") ||
	       shim_has_prefix(path, "/proc/thread-self/") || shim_has_prefix(path, "/dev/fd/") ||
	       shim_has_prefix(path, "/dev/std");
}

static enum shim_led lead(const struct place *p, const char *path)
{
	bool is_lost = !p && atomic_load_explicit(&is_led_lost, memory_order_relaxed);

	if (shim_is_no_pointer(path) || !*path)
		return SHIM_LED_NOWHERE;
	if (*path == '/')
		return (p || is_lost) && is_of_child(path) ? SHIM_LED_UNKNOWN : SHIM_LED_NOWHERE;
	if (is_lost || (p && p->is_led && !p->is_known))
		return SHIM_LED_UNKNOWN;
	return p && p->is_led ? SHIM_LED_TO : SHIM_LED_NOWHERE;
}

enum shim_led shim_actions_lead(const void *set, const char *path, char *buf, int *out_dirfd)
{
	const struct place *p = find(set);
	enum shim_led led = lead(p, path);
	size_t pos = 0;

	if (led != SHIM_LED_TO)
		return led;
	if ((p->len && (!shim_append(buf, SBX_PATH_MAX, &pos, p->text, p->len) ||
			!shim_append(buf, SBX_PATH_MAX, &pos, "/", 1))) ||
	    !shim_append(buf, SBX_PATH_MAX, &pos, path, strlen(path)))
		return SHIM_LED_UNKNOWN;
	*out_dirfd = p->dirfd;
	return SHIM_LED_TO;
}

bool shim_actions_is_plain(const void *set, const char *path)
{
	return lead(find(set), path) == SHIM_LED_NOWHERE;
}
