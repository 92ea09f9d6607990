/* SPDX-License-Identifier: Apache-2.0 */
/*
 * start.c - the constructor: finds the run's channel, maps policy and ring, says hello.
 *
 * Linked with -z initfirst, so that it runs before the constructors of every other library; a
 * call that comes earlier still (an IFUNC resolver) finds the shim inert and passes. Whatever
 * fails here leaves the shim inert: the supervisor misses our HELLO and reports the gap.
 */
#include <elf.h>
#include <link.h>
#include <sys/mman.h>

#include "core/channel.h"
#include "core/event.h"
#include "core/path.h"
#include "shim/exec.h"
#include "shim/judge.h"
#include "shim/sys_linux.h"
#include "shim/mem.h"
#include "shim/next.h"
#include "shim/proc.h"
#include "shim/where.h"

/* glibc hands main's arguments to constructors and sets environ later; musl does the reverse. */
extern char **__environ __attribute__((weak));

/* A page to itself: the kernel wipes it whole. */
enum { PAGE = 4096 };
static _Alignas(PAGE) union {
	struct shim_life life;
	char page[PAGE];
} wiped;
static _Atomic bool is_wiped; /* the kernel does so: Linux 4.14, pages no larger than ours */
static uint64_t random_seed = UINT64_C(0x5bd1e9955bd1e995);

static __attribute__((noinline)) void life_begin(struct shim_life *life)
{
	uint32_t pid;

	/* a child forked under a filter of the program's own: who it is stays unknown */
	if (shim_has_filter()) {
		atomic_store(&life->seed, random_seed);
		return;
	}
	pid = (uint32_t)sys0(SYS_getpid);
	atomic_store(&is_wiped, sys3(SYS_madvise, &wiped, sizeof wiped, MADV_WIPEONFORK) == 0);
	atomic_store(&life->ppid, (uint32_t)sys0(SYS_getppid));
	atomic_store(&life->seed, random_seed ^ (uint64_t)pid * UINT64_C(0x9e3779b97f4a7c15));
	atomic_store(&life->pid, pid);
}

struct shim_life *shim_life(void)
{
	struct shim_life *life = &wiped.life;
	uint32_t pid = atomic_load_explicit(&life->pid, memory_order_acquire);

	if (!pid || (!atomic_load_explicit(&is_wiped, memory_order_relaxed) &&
		     pid != (uint32_t)sys0(SYS_getpid)))
		life_begin(life);
	return life;
}

/* Up to here one fault-around of the kernel's would bring it in anyway, and costs more. */
enum { POPULATE_MAX = 64 << 10 };

static void *map(size_t size, int prot, int flags, int fd)
{
	long p = sys6(SYS_mmap, 0, (long)size, prot, flags, fd, 0);

	return p < 0 && p > -4096 ? NULL : (void *)p;
}

/* The constructor runs alone. On its stack this would be one page fault more at every start. */
static char start_buf[SHIM_WORDS_SIZE];
_Static_assert(sizeof start_buf >= SHIM_ENV_MAX + 16,
	       "a name in the channel's directory, or a line");

/* Under a supervisor the files are as safe as its directory. Alone, whoever could write them
 * would write the policy. */
static bool is_trusted(const struct stat *st)
{
	if (!S_ISREG(st->st_mode))
		return false;
	if (!shim.is_alone && !shim_has_prefix(shim.channel, SBX_CHANNEL_DENY))
		return true;
	return !(st->st_mode & (S_IWGRP | S_IWOTH)) &&
	       (st->st_uid == (uid_t)sys0(SYS_geteuid) || st->st_uid == 0);
}

/* Why there is no policy. */
static enum trouble { DAMAGED, OTHER_USER, NO_PATH, USURPED } trouble;

/* The descriptor lives only as long as the mapping takes: programs count theirs. */
static void *map_file(const char *name, bool is_shared, size_t *out_size)
{
	char *path = start_buf;
	size_t pos = 0;
	struct stat st;
	const char *dir = shim_channel_dir();
	void *p = NULL;
	int fd;

	if (!shim_append(path, sizeof start_buf, &pos, dir, strlen(dir)) ||
	    !shim_append(path, sizeof start_buf, &pos, "/", 1) ||
	    !shim_append(path, sizeof start_buf, &pos, name, strlen(name)))
		return NULL;
	/* The image may be a link to the file that its rules were compiled to before. */
	fd = sys_openat(AT_FDCWD, path,
			(is_shared ? O_RDWR | O_NOFOLLOW : O_RDONLY) | O_CLOEXEC | O_NONBLOCK, 0);
	if (fd < 0) {
		trouble = fd == -EACCES ? OTHER_USER : DAMAGED;
		return NULL;
	}
	if (sys_fstat(fd, &st) == 0 && is_trusted(&st) && st.st_size > 0) {
		*out_size = (size_t)st.st_size;
		p = map(*out_size, is_shared ? PROT_READ | PROT_WRITE : PROT_READ,
			(is_shared ? MAP_SHARED : MAP_PRIVATE) |
				(!is_shared && *out_size <= POPULATE_MAX ? MAP_POPULATE : 0),
			fd);
	}
	sys_close(fd);
	return p;
}

static bool copy_value(char *to, const char *value)
{
	size_t n = strlen(value);

	if (n >= SHIM_ENV_MAX)
		return false;
	memcpy(to, value, n + 1);
	return true;
}

/* Our own entry of LD_PRELOAD as it was written ($LIB and all), else where we were loaded. */
static void find_own_entry(const char *preload)
{
	const char *p = preload, *start;

	while (p && *p) {
		size_t n;

		while (*p == ':' || *p == ' ')
			p++;
		for (start = p; *p && *p != ':' && *p != ' ';)
			p++;
		n = (size_t)(p - start);
		if (!n || n >= SHIM_ENV_MAX)
			continue;
		memcpy(shim.preload, start, n);
		shim.preload[n] = '\0';
		if (shim_equal(shim_basename(shim.preload), SBX_SHIM_SONAME))
			return;
	}
	if (!copy_value(shim.preload, shim_own_path()))
		shim.preload[0] = '\0';
}

/* Beside us. Whether it is there is asked when a program needs it. */
static void name_sibling(void)
{
	const char *own = shim_basename(shim.preload);
	size_t pos = 0;

	if (!shim_equal(own, SBX_SHIM_SONAME) ||
	    !shim_append(shim.sibling, sizeof shim.sibling, &pos, shim.preload,
			 (size_t)(own - shim.preload)) ||
	    !shim_append(shim.sibling, sizeof shim.sibling, &pos, SBX_SHIM_SIBLING,
			 sizeof SBX_SHIM_SIBLING - 1))
		shim.sibling[0] = '\0';
}

/* False: the environment says that nothing may start without its policy, and does not say where
 * that is. */
static bool read_environment(char *const *envp)
{
	bool is_named = false, is_denied = false;
	const char *preload = NULL, *v;

	for (; envp && *envp; envp++) {
		if ((v = shim_env_value(*envp, "LD_PRELOAD")))
			preload = v;
		else if ((v = shim_env_value(*envp, SBX_ENV_CHANNEL)) &&
			 (*v == '/' || shim_has_prefix(v, SBX_CHANNEL_DENY))) {
			bool is_path = copy_value(shim.channel, v) && *shim_channel_dir() == '/';

			is_named |= is_path;
			is_denied |= !is_path && *v != '/';
		}
	}
	if (!is_named)
		shim.channel[0] = '\0';
	else
		find_own_entry(preload);
	return !is_denied;
}

/* The kernel's auxiliary vector lies behind the environment it made. */
static const char *read_auxv(char *const *envp)
{
	const ElfW(auxv_t) * a;
	const char *execfn = NULL;

	while (*envp)
		envp++;
	for (a = (const ElfW(auxv_t) *)(const void *)(envp + 1); a->a_type != AT_NULL; a++) {
		if (a->a_type == AT_EXECFN)
			execfn = (const char *)a->a_un.a_val;
		else if (a->a_type == AT_RANDOM)
			__builtin_memcpy(&random_seed, (const void *)a->a_un.a_val,
					 sizeof random_seed);
	}
	return execfn;
}

static bool open_image(void)
{
	const struct sbx_image_alias *a;
	size_t size = 0;
	void *data = map_file(SBX_CHANNEL_IMAGE, false, &size);
	uint32_t i;

	if (!data || sbx_image_open(&shim.image, data, size, false) != SBX_IMAGE_OK)
		return false;
	shim.on_error = shim.image.hdr->on_error;
	a = (const void *)(shim.image.base + shim.image.hdr->aliases);
	for (i = 0; i < shim.image.hdr->naliases; i++) {
		unsigned char c = a[i].from.len > 1 ? shim.image.base[a[i].from.off + 1] : 0;

		shim.alias_first[c / 32] |= 1u << c % 32;
	}
	return true;
}

static bool open_ring(void)
{
	size_t size = 0;
	struct sbx_ring *ring = map_file(SBX_CHANNEL_RING, true, &size);

	if (!ring || !sbx_ring_check(ring, size, &shim.ring_size))
		return false;
	shim.level = ring->level;
	shim.is_alone = ring->is_alone;
	shim.marks = SYS_CAN_MARK && ring->marks && !ring->is_alone;
	shim.no_openat2_path = ring->marks;
	shim.ring = ring;
	return true;
}

/* The arguments of the program; NULL: not known. */
static char *const *own_argv;

static void hello(const char *path, size_t len)
{
	struct shim_told t = {.call = SBX_CALL_start,
			      .op = SBX_EXEC,
			      .flags = SBX_EVF_ALLOWED,
			      .path = path,
			      .len = len};

	/* in preload-only mode no collector removes the secrets */
	if (own_argv && !shim.is_alone)
		shim_told_words(&t, start_buf, own_argv, true);
	shim_tell_exec(SBX_EV_HELLO, &t, 0);
}

static __attribute__((noinline)) void hello_relative(const char *execfn)
{
	char buf[SBX_PATH_MAX];
	size_t len = shim_text(buf, AT_FDCWD, execfn).len;

	if (len)
		hello(buf, len);
	else
		hello(execfn, strlen(execfn));
}

/* As the kernel was told: /proc/self/exe would know better, but the first look of a process
 * into /proc costs the kernel as much as all else we do here. The EXEC event before this one
 * has the canonical path. */
static void say_hello(const char *execfn)
{
	if (execfn && *execfn && *execfn != '/')
		hello_relative(execfn);
	else
		hello(execfn ? execfn : "", execfn ? strlen(execfn) : 0);
}

/* Nobody else looked at the image: a supervisor checks what it hands out. */
static bool is_image_whole(void)
{
	const struct sbx_image *i = &shim.image;

	return !shim.is_alone || i->hdr->checksum == sbx_image_checksum(i->base, i->size);
}

/* If the environment demands it, a program must not start without its policy or without being
 * recorded. */
static _Noreturn void refuse_to_start(const char *what)
{
	/* not a table of pointers: each is a relocation, at every start of a program */
	const char *text =
		trouble == OTHER_USER
			? "the policy of this environment belongs to another user, so no program "
			  "of this user may start: unset LD_PRELOAD and SBX_CHANNEL"
		: trouble == NO_PATH ? "SBX_CHANNEL does not name the policy of this environment: "
				       "run --print-env again"
		: trouble == USURPED ? "this library is preloaded before the shim and takes its "
				       "calls, put it after the shim: "
				     : "the policy of this environment cannot be read, or others "
				       "can change it: run --print-env again";
	static const char head[] = "sbx-launch: E_SHIM: ", end[] = "\n";
	char *line = start_buf;
	size_t n = 0;

	shim_append(line, sizeof start_buf, &n, head, sizeof head - 1);
	shim_append(line, sizeof start_buf, &n, text, strlen(text));
	shim_append(line, sizeof start_buf, &n, what, strlen(what));
	shim_append(line, sizeof start_buf, &n, end, sizeof end - 1);
	sys3(SYS_write, 2, line, n);
	for (;;)
		sys1(SYS_exit_group, 126);
}

/* We are here and are not asked. */
static void look_before_us(void)
{
	const char *library = shim_next_usurper();
	struct shim_told t = {.call = SBX_CALL_start,
			      .op = SBX_READ,
			      .flags = SBX_EVF_ALLOWED,
			      .aux = SBX_LOSS_BEFORE,
			      .path = library};

	if (!library)
		return;
	shim.marks = false; /* that library would see the marked calls */
	t.len = strlen(library);
	shim_tell_exec(SBX_EV_LOSS, &t, 0);
	trouble = USURPED;
	if (shim_has_prefix(shim.channel, SBX_CHANNEL_DENY))
		refuse_to_start(library);
}

/* Of glibc; NULL elsewhere, and then only what ends by _exit(2) is told. */
extern int on_exit(void (*)(int status, void *), void *) __attribute__((weak));

static void at_exit(int status, void *unused)
{
	(void)unused;
	shim_tell_exit(status);
}

/* The first handler that is registered runs last: what others do in theirs comes before. */
static void watch_end(void)
{
	atomic_store_explicit(&shim.image_pid, shim_ask_pid(), memory_order_relaxed);
	if (on_exit && !shim.is_alone)
		(void)on_exit(at_exit, NULL);
}

static __attribute__((constructor)) void start(int argc, char **argv, char **envp)
{
	const char *execfn;

	(void)argc;
	if (!gnu_get_libc_version) {
		envp = &__environ ? __environ : NULL;
		argv = NULL;
	}
	if (!envp)
		return;
	own_argv = argv;
	if (!read_environment(envp)) {
		trouble = NO_PATH;
		refuse_to_start("");
	}
	if (!shim.channel[0])
		return;
	/* the ring first: it says whether there is a supervisor */
	if (!open_ring() || !open_image() || !is_image_whole()) {
		if (shim_has_prefix(shim.channel, SBX_CHANNEL_DENY))
			refuse_to_start("");
		return;
	}
	if (shim.is_alone)
		name_sibling();
	execfn = read_auxv(envp);
	/* Now, in memory that is ours alone: a child of vfork() that came first would leave its
	 * number here, and its parent would tell its own calls as those of the child. */
	(void)shim_life();
	atomic_store_explicit(&shim.is_ready, true, memory_order_release);
	say_hello(execfn);
	look_before_us();
	watch_end();
}

/* gcc's shared AddressSanitizer refuses to start when a preloaded library stands before it.
 * It asks the program for options by this name; a program that has its own is found first. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "verify_asan_link_order=0";
}
