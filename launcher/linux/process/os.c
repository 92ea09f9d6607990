/* SPDX-License-Identifier: Apache-2.0 */
/* os.c - what the portable parts ask of this system: processes, images and their interpreters,
 * descriptors over a socket. */
#include "launcher/run/os.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "launcher/linux/confine/confine_priv.h"
#include "launcher/linux/process/process.h"
#include "launcher/plan/program.h"

/* Proc_pid_fd(5), statfs(2). */

enum { TMPFS = 0x01021994 /* TMPFS_MAGIC */, LINK_SIZE = sizeof "/proc/self/fd/" + 12 };

static void link_of(int fd, char link[LINK_SIZE])
{
	snprintf(link, LINK_SIZE, "/proc/self/fd/%d", fd);
}

static bool read_link(const char *link, char *path, size_t size)
{
	ssize_t n = readlink(link, path, size);

	if (n <= 0 || (size_t)n >= size)
		return false;
	path[n] = '\0';
	return true;
}

int lau_os_rename_new(int from, int to, const char *name)
{
	return renameat2(from, name, to, name, RENAME_NOREPLACE);
}

/* Flags of ext4 and its like that say how the directory is stored, and nothing else. */
#define STORAGE_FLAGS (FS_EXTENT_FL | FS_INDEX_FL | FS_INLINE_DATA_FL)

bool lau_os_is_plain_dir(int fd)
{
	struct stat st;
	int flags = 0;

	if (fstat(fd, &st) < 0 || st.st_mode != (S_IFDIR | 0700) || st.st_uid != geteuid() ||
	    st.st_gid != getegid() || flistxattr(fd, NULL, 0) > 0)
		return false;
	return ioctl(fd, FS_IOC_GETFLAGS, &flags) < 0 ? errno == ENOTTY || errno == EOPNOTSUPP
						      : !(flags & ~STORAGE_FLAGS);
}

bool lau_os_fd_path(int fd, char *path, size_t size)
{
	char link[LINK_SIZE];
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || flags & O_PATH) /* held, not opened */
		return false;
	link_of(fd, link);
	return read_link(link, path, size);
}

bool lau_os_own_path(char *path, size_t size)
{
	return read_link("/proc/self/exe", path, size);
}

bool lau_os_is_memory(const char *dir, unsigned long long need)
{
	struct statfs fs;

	return statfs(dir, &fs) == 0 && fs.f_type == TMPFS &&
	       (fs.f_blocks == 0 || /* without a limit */
		(uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize >= need);
}

int lau_os_no_listing(void)
{
	_Alignas(struct dirent64) char buf[1024];
	b_auto_fd int fd = -1;

	if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 0)
		return 0;
	fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	/* EINVAL: the first name does not fit in there, and it was looked at */
	return fd >= 0 && syscall(SYS_getdents64, fd, buf, sizeof buf) < 0 && errno != EINVAL
		       ? errno
		       : 0;
}

int lau_os_reserve(int fd, off_t size)
{
	return posix_fallocate(fd, 0, size);
}

aud_kin_fn *const lau_os_kin = aud_kin_of;

static char *const *borrowed;

char *const *lau_os_environ(void)
{
	extern char **environ;

	return borrowed ? borrowed : environ;
}

void lau_os_borrow_environ(char *const *env)
{
	borrowed = env;
}

/* Elf(5), execve(2). */

enum { HEAD = sizeof(Elf64_Ehdr), MAX_SCRIPTS = 5 /* execve(2): interpreters of interpreters */ };

#if defined(__x86_64__)
enum { MACHINE = EM_X86_64 };
#elif defined(__aarch64__)
enum { MACHINE = EM_AARCH64 };
#else
#error "unknown machine"
#endif

/* musl's loader is ld-musl-ARCH.so.1, glibc's ld-linux-ARCH.so.N, ld64.so.N or ld.so.1: the shim
 * loads into both. */
static bool is_known_loader(const char *path)
{
	static const char *const names[] = {"ld-musl-", "ld-linux", "ld64.so", "ld.so"};
	const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strncmp(base, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

/* Started by its own name, it loads the shim into what it is given to load. */
static bool is_loader(const char *file, const Elf64_Ehdr *eh)
{
	b_auto_free char *real = realpath(file, NULL);

	return eh->e_type == ET_DYN && real && is_known_loader(real);
}

/* `loader`: NULL = none. */
static enum sbx_exec_class elf_class(const char *file, const char *head, size_t n,
				     const char *loader)
{
	Elf64_Ehdr eh;

	if (n < sizeof eh || memcmp(head, ELFMAG, SELFMAG) != 0)
		return SBX_EXEC_FOREIGN;
	memcpy(&eh, head, sizeof eh);
	if (head[EI_CLASS] != ELFCLASS64 || eh.e_machine != MACHINE ||
	    eh.e_phentsize != sizeof(Elf64_Phdr))
		return SBX_EXEC_FOREIGN;
	if (!loader)
		return is_loader(file, &eh) ? SBX_EXEC_DYNAMIC : SBX_EXEC_STATIC;
	return is_known_loader(loader) ? SBX_EXEC_DYNAMIC : SBX_EXEC_OTHER_LIBC;
}

/* Set-id bits are void: every run has no_new_privs. File capabilities give nothing either, yet
 * for them the loader heeds no preload. */
static bool has_caps(int fd)
{
	return geteuid() != 0 && fgetxattr(fd, "security.capability", NULL, 0) > 0;
}

enum sbx_exec_class lau_exec_class(const char *file)
{
	char head[HEAD], next[PATH_MAX];
	unsigned depth;

	for (depth = 0; depth < MAX_SCRIPTS; depth++) {
		b_auto_fd int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
		ssize_t n = fd < 0 ? -1 : b_read_full(fd, head, HEAD);
		enum lau_interp interp;

		if (n < 0)
			return errno == ENOENT ? SBX_EXEC_MISSING : SBX_EXEC_UNREADABLE;
		if (has_caps(fd))
			return SBX_EXEC_CAPS;
		interp = lau_interp_read(fd, next);
		if (interp != LAU_INTERP_SCRIPT) {
			/* no ELF, no script: /bin/sh will read it (program.h) */
			if (n < SELFMAG || memcmp(head, ELFMAG, SELFMAG) != 0)
				return SBX_EXEC_DYNAMIC;
			return elf_class(file, head, (size_t)n,
					 interp == LAU_INTERP_LOADER ? next : NULL);
		}
		if (*next != '/')
			return SBX_EXEC_FOREIGN;
		file = next;
	}
	return SBX_EXEC_FOREIGN;
}

/* The file may be hostile: every offset is the kernel's to refuse, ours to
 * survive. */

enum {
	LINE_MAX_BYTES = 256,			 /* BINPRM_BUF_SIZE: no more of "#!" is read */
	HEADERS_MAX = 65536 / sizeof(Elf32_Phdr) /* load_elf_phdrs() of Linux */
};

static enum lau_interp read_line(char *head, size_t n, char out[PATH_MAX])
{
	char *word = head + 2;

	head[n] = '\0';
	word += strspn(word, " \t");
	word[strcspn(word, " \t\n")] = '\0';
	if (!*word)
		return LAU_INTERP_NONE;
	strcpy(out, word); /* shorter than the line */
	return LAU_INTERP_SCRIPT;
}

/* Of either class, as far as it is asked for. */
struct headers {
	uint64_t at;
	size_t size;
	unsigned n;
	bool is_wide;
};

static bool read_headers(const char *head, size_t n, struct headers *out)
{
	Elf64_Ehdr wide;
	Elf32_Ehdr narrow;

	if (head[EI_CLASS] == ELFCLASS64 && n >= sizeof wide) {
		memcpy(&wide, head, sizeof wide);
		*out = (struct headers){wide.e_phoff, wide.e_phentsize, wide.e_phnum, true};
		return out->size == sizeof(Elf64_Phdr);
	}
	if (head[EI_CLASS] == ELFCLASS32 && n >= sizeof narrow) {
		memcpy(&narrow, head, sizeof narrow);
		*out = (struct headers){narrow.e_phoff, narrow.e_phentsize, narrow.e_phnum, false};
		return out->size == sizeof(Elf32_Phdr);
	}
	return false;
}

struct segment {
	uint32_t type;
	uint64_t at, size;
};

static bool read_segment(int fd, const struct headers *h, unsigned i, struct segment *out)
{
	union {
		Elf64_Phdr wide;
		Elf32_Phdr narrow;
	} ph;

	if (pread(fd, &ph, h->size, (off_t)(h->at + i * h->size)) != (ssize_t)h->size)
		return false;
	*out = h->is_wide
		       ? (struct segment){ph.wide.p_type, ph.wide.p_offset, ph.wide.p_filesz}
		       : (struct segment){ph.narrow.p_type, ph.narrow.p_offset, ph.narrow.p_filesz};
	return true;
}

static enum lau_interp read_loader(int fd, const struct headers *h, char out[PATH_MAX])
{
	struct segment s;

	if (h->n > HEADERS_MAX)
		return LAU_INTERP_NONE;
	for (unsigned i = 0; i < h->n; i++) {
		if (!read_segment(fd, h, i, &s))
			return LAU_INTERP_NONE;
		if (s.type != PT_INTERP)
			continue;
		/* the kernel takes the first one, and wants its NUL */
		if (s.size < 2 || s.size > PATH_MAX ||
		    pread(fd, out, s.size, (off_t)s.at) != (ssize_t)s.size ||
		    out[s.size - 1] != '\0')
			return LAU_INTERP_NONE;
		return LAU_INTERP_LOADER;
	}
	return LAU_INTERP_NONE;
}

enum lau_interp lau_interp_read(int fd, char out[PATH_MAX])
{
	char head[LINE_MAX_BYTES + 1];
	ssize_t n = pread(fd, head, LINE_MAX_BYTES, 0);
	struct headers headers;

	if (n > 2 && memcmp(head, "#!", 2) == 0)
		return read_line(head, (size_t)n, out);
	if (n < EI_NIDENT || memcmp(head, ELFMAG, SELFMAG) != 0 ||
	    !read_headers(head, (size_t)n, &headers))
		return LAU_INTERP_NONE;
	return read_loader(fd, &headers, out);
}

/* Unix(7), cmsg(3). */

union control {
	struct cmsghdr head; /* for its alignment */
	char room[CMSG_SPACE(sizeof(int))];
};

int lau_fd_send(int sock, int fd)
{
	union control control = {0};
	char byte = 0;
	struct iovec iov = {&byte, 1};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control.room,
			     .msg_controllen = sizeof control.room};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	ssize_t n;

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof fd);
	memcpy(CMSG_DATA(c), &fd, sizeof fd);
	do
		n = sendmsg(sock, &msg, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n == 1 ? 0 : -1;
}

int lau_fd_receive(int sock)
{
	union control control;
	char byte;
	struct iovec iov = {&byte, 1};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control.room,
			     .msg_controllen = sizeof control.room};
	struct cmsghdr *c;
	ssize_t n;
	int fd;

	do
		n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	c = n == 1 ? CMSG_FIRSTHDR(&msg) : NULL;
	if (!c || c->cmsg_type != SCM_RIGHTS || c->cmsg_len != CMSG_LEN(sizeof fd)) {
		if (n >= 0)
			errno = ECONNRESET;
		return -1;
	}
	memcpy(&fd, CMSG_DATA(c), sizeof fd);
	return fd;
}
