/*
 * start.c - the constructor: finds the run's channel, maps policy and ring, says hello.
 *
 * Linked with -z initfirst, so that it runs before the constructors of every other library; a
 * call that comes earlier still (an IFUNC resolver) finds the shim inert and passes. Whatever
 * fails here leaves the shim inert: the supervisor misses our HELLO and reports the gap.
 */
#include <elf.h>
#include <sys/mman.h>

#include "core/callnames.h"
#include "core/channel.h"
#include "core/decide.h"
#include "shim/judge.h"
#include "shim/linux/sys.h"
#include "shim/mem.h"
#include "shim/next.h"
#include "shim/proc.h"
#include "shim/where.h"

/* glibc hands main's arguments to constructors and sets environ later; musl does the reverse. */
extern const char *gnu_get_libc_version(void) __attribute__((weak));
extern char **__environ __attribute__((weak));

static struct shim_life *life_page, life_static;
static uint64_t random_seed = UINT64_C(0x5bd1e9955bd1e995);

static void life_begin(struct shim_life *life, uint32_t pid)
{
	atomic_store(&life->ppid, (uint32_t)sys0(SYS_getppid));
	atomic_store(&life->seed, random_seed ^ (uint64_t)pid * UINT64_C(0x9e3779b97f4a7c15));
	atomic_store(&life->pid, pid);
}

struct shim_life *shim_life(void)
{
	uint32_t pid;

	if (life_page) {
		if (!atomic_load_explicit(&life_page->pid, memory_order_acquire))
			life_begin(life_page, (uint32_t)sys0(SYS_getpid));
		return life_page;
	}
	/* no wiped page: ask each time, in place of a fork hook */
	pid = (uint32_t)sys0(SYS_getpid);
	if (atomic_load(&life_static.pid) != pid)
		life_begin(&life_static, pid);
	return &life_static;
}

static void *map(size_t size, int prot, int flags, int fd)
{
	long p = sys6(SYS_mmap, 0, (long)size, prot, flags, fd, 0);

	return p < 0 && p > -4096 ? NULL : (void *)p;
}

static void make_life(void)
{
	enum { SIZE = 4096 };
	void *p = map(SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	if (p && sys3(SYS_madvise, p, SIZE, MADV_WIPEONFORK) == 0)
		life_page = p;
}

/* The descriptor lives only as long as the mapping takes: programs count theirs. */
static void *map_file(const char *name, bool is_shared, size_t *out_size)
{
	char path[SHIM_ENV_MAX + 16];
	size_t pos = 0;
	struct stat st;
	void *p = NULL;
	int fd;

	if (!shim_append(path, sizeof path, &pos, shim.channel, strlen(shim.channel)) ||
	    !shim_append(path, sizeof path, &pos, "/", 1) ||
	    !shim_append(path, sizeof path, &pos, name, strlen(name)))
		return NULL;
	fd = sys_openat(AT_FDCWD, path, (is_shared ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW,
			0);
	if (fd < 0)
		return NULL;
	if (sys_fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
		*out_size = (size_t)st.st_size;
		p = map(*out_size, is_shared ? PROT_READ | PROT_WRITE : PROT_READ,
			is_shared ? MAP_SHARED : MAP_PRIVATE, fd);
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

static void read_environment(char *const *envp)
{
	const char *preload = NULL, *v;

	for (; envp && *envp; envp++) {
		if ((v = shim_env_value(*envp, "LD_PRELOAD")))
			preload = v;
		else if ((v = shim_env_value(*envp, SBX_ENV_CHANNEL)) && *v == '/')
			copy_value(shim.channel, v);
	}
	if (shim.channel[0])
		find_own_entry(preload);
}

/* The kernel's auxiliary vector lies behind the environment it made. */
static const char *read_auxv(char *const *envp)
{
	const Elf64_auxv_t *a;
	const char *execfn = NULL;

	while (*envp)
		envp++;
	for (a = (const Elf64_auxv_t *)(const void *)(envp + 1); a->a_type != AT_NULL; a++) {
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
	shim.ring = ring;
	return true;
}

static void say_hello(const char *execfn)
{
	char buf[SBX_PATH_MAX];
	long n = sys_readlinkat(AT_FDCWD, "/proc/self/exe", buf, sizeof buf - 1);
	struct shim_told t = {
		.call = SBX_CALL_start, .op = SBX_EXEC, .flags = SBX_EVF_ALLOWED, .path = buf};

	if (n > 0)
		t.len = (size_t)n;
	else if (execfn) {
		t.path = execfn;
		t.len = strlen(execfn);
	}
	shim_tell_exec(SBX_EV_HELLO, &t, 0);
}

static __attribute__((constructor)) void start(int argc, char **argv, char **envp)
{
	const char *execfn;

	(void)argc, (void)argv;
	if (!gnu_get_libc_version)
		envp = &__environ ? __environ : NULL;
	if (!envp)
		return;
	read_environment(envp);
	if (!shim.channel[0] || !open_image() || !open_ring())
		return;
	execfn = read_auxv(envp);
	make_life();
	shim_life();
	atomic_store(&shim.is_open_foreign,
		     shim_next_is_foreign(NEXT_open) || shim_next_is_foreign(NEXT_openat));
	shim_where_fill();
	atomic_store_explicit(&shim.is_ready, true, memory_order_release);
	say_hello(execfn);
}

/* gcc's shared AddressSanitizer refuses to start when a preloaded library stands before it.
 * It asks the program for options by this name; a program that has its own is found first. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "verify_asan_link_order=0";
}
