/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arguments.c - from a number to the value of an argument: paths in all their spellings,
 * descriptors, flags, addresses. What a number means depends on nothing but the world's names, so
 * that a program means the same whenever it runs.
 */
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

#define LEN(a) (sizeof(a) / sizeof *(a))

/* ---- descriptors ---- */

int ak_fd_number(uint32_t v)
{
	static const int odd[] = {0, 1, 2, 3, -1, AT_FDCWD, 99, 4000};

	if ((v >> 8) % 10 == 0)
		return odd[v % LEN(odd)];
	return AK_SLOT + (int)(v % AK_SLOTS);
}

static int dirfd_number(uint32_t v)
{
	return (v >> 16) % 5 < 2 ? AT_FDCWD : ak_fd_number(v);
}

/* The kernel takes the lower half of an int, a filter sees all of it. */
static long with_junk(int fd, uint32_t v)
{
	if ((v >> 24) % 12)
		return fd;
	return (long)(0x5b78000000000000ul | (unsigned)fd);
}

/* Ends on the last byte of a page behind which nothing is. */
static char *at_the_edge(const char *text)
{
	static _Thread_local char *pages;
	size_t n = strlen(text) + 1;

	if (!pages) {
		pages = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			     -1, 0);
		if (pages == MAP_FAILED)
			return NULL;
		mprotect(pages + 2 * 4096, 4096, PROT_NONE);
	}
	if (n > 2 * 4096)
		return NULL;
	return memcpy(pages + 2 * 4096 - n, text, n);
}

static long path_argument(struct ak_thread *t, uint32_t v, unsigned i)
{
	if (v >> 15 & 1)
		return (long)ak_arena->path[(v >> 13) & 3];
	ak_spell(v & ~(7u << 13), t->text[i]);
	switch ((v >> 16) & 63) {
	case 0:
		return 0;
	case 1:
		return 0x1000;
	case 2:
	case 3:
		return (long)at_the_edge(t->text[i]);
	}
	return (long)t->text[i];
}

static void link_text(uint32_t v, char *out)
{
	if ((v >> 8) % 3 == 0)
		ak_spell_absolute(v, out);
	else
		ak_spell(v & ~(7u << 13), out);
}

/* ---- flags ---- */

unsigned ak_open_flags(uint32_t v)
{
	static const unsigned mode[] = {O_RDONLY, O_RDONLY, O_RDONLY, O_WRONLY,
					O_RDWR,	  O_RDWR,   O_ACCMODE};
	static const unsigned more[] = {0,
					0,
					O_CREAT,
					O_CREAT,
					O_CREAT | O_EXCL,
					O_CREAT | O_TRUNC,
					O_TRUNC,
					O_DIRECTORY,
					O_DIRECTORY,
					O_NOFOLLOW,
					O_CREAT | O_NOFOLLOW,
					O_PATH,
					O_PATH | O_NOFOLLOW,
					O_TMPFILE,
					O_TMPFILE | O_EXCL,
					O_APPEND,
					O_CREAT | O_DIRECTORY,
					O_NOATIME,
					O_PATH | O_DIRECTORY};

	return mode[v % LEN(mode)] | more[(v >> 4) % LEN(more)] | ((v >> 10) % 4 ? O_NONBLOCK : 0) |
	       ((v >> 12) % 2 ? O_CLOEXEC : 0) | ((v >> 16) % 40 == 0 ? O_DIRECT | O_SYNC : 0) |
	       ((v >> 16) % 41 == 0 ? 0x8000000u : 0);
}

static uint64_t resolve_flags(uint32_t v)
{
	static const uint64_t all[] = {RESOLVE_NO_XDEV, RESOLVE_NO_MAGICLINKS, RESOLVE_NO_SYMLINKS,
				       RESOLVE_BENEATH, RESOLVE_IN_ROOT,       RESOLVE_CACHED};
	uint64_t out = 0;

	if (v % 3 == 0)
		return 0;
	for (unsigned i = 0; i < LEN(all); i++)
		if ((v >> (2 + 2 * i)) % 4 == 0)
			out |= all[i];
	return out;
}

struct open_how ak_how(uint32_t v)
{
	unsigned flags = ak_open_flags(v * 2654435761u);
	struct open_how how = {.flags = flags, .resolve = resolve_flags(v >> 3)};

	how.flags &= ~0x8000000u;
	if (flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE)
		how.mode = (unsigned[]){0600, 0644, 0755, 04755, 0777}[v % 5];
	if ((v >> 28) == 15)
		how.mode = 0600;
	return how;
}

static long how_argument(struct ak_thread *t, uint32_t v)
{
	if (v >> 15 & 1)
		return (long)&ak_arena->how[(v >> 13) & 1];
	t->how = ak_how(v);
	return v % 61 == 0 ? 0x1000 : (long)&t->how;
}

static long pick(uint32_t v, const long *of, size_t n)
{
	return of[v % n];
}
#define PICK(v, ...) pick((v), (const long[]){__VA_ARGS__}, LEN(((const long[]){__VA_ARGS__})))

static long mode_of(uint32_t v)
{
	return PICK(v, 0600, 0644, 0755, 0777, 0700, 0, 04755, 02755, 01777, 0111, 0400,
		    S_IFREG | 0644, S_IFIFO | 0666, S_IFSOCK | 0644, S_IFCHR | 0666, S_IFBLK | 0600,
		    S_IFDIR | 0755, 022, 077, 02);
}

/* ---- addresses ---- */

static socklen_t address_of(uint32_t v, struct sockaddr_storage *room)
{
	struct sockaddr_un *un = (struct sockaddr_un *)room;
	struct sockaddr_in *in = (struct sockaddr_in *)room;
	char path[AK_TEXT];

	memset(room, 0, sizeof *room);
	if (ak.port[0] ? (v >> 20) % 12 < 2 || (v >> 20) % 12 > 8 : (v >> 20) % 12 == 1)
		return ak_net_address(v, room);
	switch ((v >> 20) % 12) {
	case 0:
		in->sin_family = AF_INET;
		in->sin_port = htons((uint16_t)ak.host_port);
		in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		return sizeof *in;
	case 2:
		in->sin_family = AF_UNSPEC;
		return sizeof *in;
	case 3:
		un->sun_family = AF_UNIX;
		return (socklen_t)offsetof(struct sockaddr_un, sun_path) + 1 +
		       (socklen_t)snprintf(un->sun_path + 1, 90, "ak-%d", ak.host_port);
	case 4:
		un->sun_family = AF_UNIX;
		return offsetof(struct sockaddr_un, sun_path);
	}
	un->sun_family = AF_UNIX;
	if ((v >> 20) % 12 < 8)
		snprintf(path, sizeof path, "%s%s", v % 2 ? ak.base : "..", "/out/host.sock");
	else
		ak_spell(v & ~(7u << 13), path);
	snprintf(un->sun_path, sizeof un->sun_path, "%.107s", path);
	return v % 7 == 0 ? sizeof *un
			  : (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
					strlen(un->sun_path) + v % 2);
}

static long address_argument(struct ak_thread *t, uint32_t v)
{
	if (v >> 15 & 1) {
		t->addr_len = sizeof(struct sockaddr_un);
		return (long)&ak_arena->addr[(v >> 13) & 1];
	}
	t->addr_len = address_of(v, &t->addr);
	return (long)&t->addr;
}

/* ---- the rest ---- */

static long times_of(struct ak_thread *t, uint32_t v, unsigned i)
{
	int64_t *room = t->number_room[i];

	if (v % 4 == 0)
		return 0;
	room[0] = 1000 + v % 7;
	room[1] = v % 5 == 0 ? (1l << 30) - 1 : v % 5 == 1 ? (1l << 30) - 2 : 1;
	room[2] = 2000;
	room[3] = v % 3 == 0 ? (1l << 30) - 2 : v % 11 ? 2 : -1;
	return v % 37 == 0 ? 0x1000 : (long)room;
}

static const char *attr_of(uint32_t v)
{
	static const char *const names[] = {"user.secret",
					    "user.secret",
					    "user.ak",
					    "user.",
					    "security.capability",
					    "trusted.ak",
					    "system.posix_acl_access",
					    "",
					    "security.selinux"};

	return names[v % LEN(names)];
}

static long ioctl_of(uint32_t v)
{
	return PICK(v, FICLONE, FICLONERANGE, FIDEDUPERANGE, FS_IOC_GETFLAGS, FS_IOC_SETFLAGS,
		    FS_IOC_FSGETXATTR, FS_IOC_FSSETXATTR, FS_IOC_FIEMAP, FIONREAD, FIBMAP, FIOCLEX,
		    (long)_IOW('f', 133, char[128]) /* enable verity */, FS_IOC_SETVERSION,
		    (long)_IOR('f', 19, char[8]) /* encryption policy */, 0x5412 /* TIOCSTI */,
		    (long)_IO('X', 119) /* FIFREEZE */,
		    (long)_IOWR('f', 15, char[40]) /* move extent */, 0x541c /* TIOCLINUX */,
		    0xb701 /* NS_GET_USERNS */);
}

static long clone_of(uint32_t v)
{
	return PICK(v, CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWUSER | CLONE_NEWNS, CLONE_NEWNET,
		    CLONE_NEWPID, CLONE_FILES, CLONE_FS, CLONE_FILES | CLONE_FS, 0, CLONE_NEWTIME,
		    CLONE_NEWIPC, CLONE_NEWUTS, CLONE_NEWCGROUP, CLONE_SYSVSEM);
}

static long size_of(uint32_t v)
{
	return PICK(v, 4096, 65536, 256, 64, 64, 100, 4096, 0, 1, 1l << 40, -1);
}

static long offset_of(uint32_t v)
{
	return PICK(v, 0, 0, 0, 1, 4096, 64, -1, 1l << 40);
}

static long falloc_of(uint32_t v)
{
	return PICK(v, 0, FALLOC_FL_KEEP_SIZE, FALLOC_FL_INSERT_RANGE, FALLOC_FL_COLLAPSE_RANGE,
		    FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, FALLOC_FL_ZERO_RANGE);
}

static const char to_write[4096] = "written inside\n";

/* Kinds that are no more than one of a few numbers. */
static long number_argument(char kind, uint32_t v)
{
	switch (kind) {
	case 'm':
		return mode_of(v);
	case 'R':
		return PICK(v, 0, 0, 1, 2, 2, 4, 6, 8);
	case 'U':
		return PICK(v, 0, 0, AT_REMOVEDIR, 1);
	case 'L':
		return PICK(v, 0, AT_SYMLINK_FOLLOW, AT_EMPTY_PATH,
			    AT_SYMLINK_FOLLOW | AT_EMPTY_PATH, 1);
	case 'A':
		return PICK(v, 0, AT_SYMLINK_NOFOLLOW, AT_EMPTY_PATH,
			    AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH, AT_SYMLINK_FOLLOW, 1);
	case 'o':
		return offset_of(v);
	case 'z':
		return size_of(v);
	case 'u':
		return PICK(v, -1, 0, 65534, 1, (long)getuid(), (long)getuid());
	case 'H':
		return PICK(v, 24, 24, 24, 32, 32, 32, 24, 23, 4097, 0);
	case 'c':
		return clone_of(v);
	case 'i': /* not those of the host by chance: the first ones are its own */
		return ak.has_pid_ns ? ak_some_pid(v) : PICK(v, getpid(), getppid(), ak.host_pid);
	case 'g':
		return PICK(v, SIGUSR1, SIGUSR2, 0, SIGCONT);
	case 'q':
		return ioctl_of(v);
	case 'k':
		return falloc_of(v);
	case 'n':
		return (long)(v % 24) - 1;
	}
	return 0;
}

long ak_argument(struct ak_thread *t, const struct ak_op *op, unsigned i)
{
	char kind = ak_calls[op->call].args[i];
	uint32_t v = op->v[i];

	switch (kind) {
	case 'd':
		return with_junk(dirfd_number(v), v);
	case 'f':
		return with_junk(ak_fd_number(v), v);
	case 'p':
		return path_argument(t, v, i);
	case 's':
		link_text(v, t->text[i]);
		return (long)t->text[i];
	case 'F':
		return (long)ak_open_flags(v);
	case 'b':
		return v % 97 == 0 ? 0x1000 : (long)t->room;
	case 'w':
		return (long)to_write;
	case 't':
		return times_of(t, v, i);
	case 'x':
		return (long)attr_of(v);
	case 'a':
		return address_argument(t, v);
	case 'l':
		return v % 40 == 0 ? 200 : (long)t->addr_len;
	case 'h':
		return how_argument(t, v);
	}
	return number_argument(kind, v);
}

/* ---- for reports ---- */

void ak_describe(FILE *f, const struct ak_op *op, unsigned i)
{
	char text[AK_TEXT];
	uint32_t v = op->v[i];

	switch (ak_calls[op->call].args[i]) {
	case 'd':
		fprintf(f, "dirfd:%d", dirfd_number(v));
		return;
	case 'f':
		fprintf(f, "fd:%d", ak_fd_number(v));
		return;
	case 's':
		link_text(v, text);
		break;
	case 'F':
		fprintf(f, "flags:%#x", ak_open_flags(v));
		return;
	case 'h':
		if (v >> 15 & 1)
			fprintf(f, "how-buffer%u", (v >> 13) & 1);
		else
			fprintf(f, "how:%#llx,%#llo,%#llx", (unsigned long long)ak_how(v).flags,
				(unsigned long long)ak_how(v).mode,
				(unsigned long long)ak_how(v).resolve);
		return;
	case 'p':
		if (v >> 15 & 1) {
			fprintf(f, "buffer%u", (v >> 13) & 3);
			return;
		}
		ak_spell(v & ~(7u << 13), text);
		break;
	default: {
		static struct ak_thread t;

		if (strchr("abwtx", ak_calls[op->call].args[i]))
			fprintf(f, "%c:%x", ak_calls[op->call].args[i], v);
		else
			fprintf(f, "%c:%ld", ak_calls[op->call].args[i], ak_argument(&t, op, i));
		return;
	}
	}
	text[100] = '\0';
	fprintf(f, "\"%s\"", text);
}
