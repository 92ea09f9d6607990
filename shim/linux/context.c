/* context.c - calls that change what we remember: directories, descriptors, filters. They are
 * never refused here. In a vfork child they may only forget: its memory is its parent's. */
#include "shim/linux/export.h"

#include <fts.h>
#include <ftw.h>
#include <linux/close_range.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/prctl.h>

#include "shim/linux/sys.h"
#include "shim/mem.h"
#include "shim/proc.h"
#include "shim/where.h"

static int moved(int ret)
{
	if (ret == 0)
		shim_where_moved();
	return ret;
}

SHIM_EXPORT int chdir(const char *path)
{
	return moved(NEXT(chdir)(path));
}

SHIM_EXPORT int fchdir(int fd)
{
	return moved(NEXT(fchdir)(fd));
}

static int distrusted(int ret)
{
	shim_where_distrust();
	return ret;
}

SHIM_EXPORT int chroot(const char *path)
{
	return distrusted(NEXT(chroot)(path));
}

/* CLONE_FS, CLONE_FILES: from now on threads differ in what we take for the process's. */
SHIM_EXPORT int unshare(int flags)
{
	return distrusted(NEXT(unshare)(flags));
}

SHIM_EXPORT int setns(int fd, int type)
{
	return distrusted(NEXT(setns)(fd, type));
}

SHIM_EXPORT int daemon(int keep_dir, int keep_fds)
{
	return moved(NEXT(daemon)(keep_dir, keep_fds));
}

/* ---- descriptors ---- */

/* Forgotten before: once it is closed another thread may get the number. */
SHIM_EXPORT int close(int fd)
{
	shim_where_closed(fd);
	return NEXT(close)(fd);
}

SHIM_EXPORT int close_range(unsigned first, unsigned last, int flags)
{
	if (flags & (int)CLOSE_RANGE_UNSHARE)
		shim_where_distrust();
	else
		shim_where_closed_all();
	return NEXT(close_range)(first, last, flags);
}

SHIM_EXPORT void closefrom(int first)
{
	shim_where_closed_all();
	NEXT(closefrom)(first);
}

SHIM_EXPORT int closedir(DIR *d)
{
	if (!shim_is_no_pointer(d))
		shim_where_closed(NEXT(dirfd)(d));
	return NEXT(closedir)(d);
}

SHIM_EXPORT int dup2(int from, int to)
{
	shim_where_closed(to);
	return NEXT(dup2)(from, to);
}

SHIM_EXPORT int dup3(int from, int to, int flags)
{
	shim_where_closed(to);
	return NEXT(dup3)(from, to, flags);
}

/* ---- walks that change directory inside the C library ---- */

SHIM_EXPORT int nftw(const char *path, __nftw_func_t fn, int fds, int flags)
{
	if (flags & FTW_CHDIR)
		shim_where_distrust();
	return NEXT(nftw)(path, fn, fds, flags);
}

SHIM_EXPORT int nftw64(const char *path, __nftw64_func_t fn, int fds, int flags)
{
	if (flags & FTW_CHDIR)
		shim_where_distrust();
	return NEXT(nftw64)(path, fn, fds, flags);
}

SHIM_EXPORT FTS *fts_open(char *const *paths, int options,
			  int (*compare)(const FTSENT **, const FTSENT **))
{
	if (!(options & FTS_NOCHDIR))
		shim_where_distrust();
	return NEXT(fts_open)(paths, options, compare);
}

SHIM_EXPORT FTS64 *fts64_open(char *const *paths, int options,
			      int (*compare)(const FTSENT64 **, const FTSENT64 **))
{
	if (!(options & FTS_NOCHDIR))
		shim_where_distrust();
	return NEXT(fts64_open)(paths, options, compare);
}

/* ---- filters and raw system calls ---- */

/* Before the call: with the filter in force it may be too late for one more of our own. */
static void filter_comes(void)
{
	if (shim_is_ready()) {
		shim_life();
		shim_where_fill();
	}
	atomic_store(&shim.has_own_filter, true);
}

SHIM_EXPORT int prctl(int option, ...)
{
	unsigned long a[4];
	bool had_filter;
	va_list ap;
	int i, ret;

	va_start(ap, option);
	for (i = 0; i < 4; i++)
		a[i] = va_arg(ap, unsigned long);
	va_end(ap);
	if (option != PR_SET_SECCOMP)
		return NEXT(prctl)(option, a[0], a[1], a[2], a[3]);
	had_filter = shim_has_filter();
	filter_comes();
	ret = NEXT(prctl)(option, a[0], a[1], a[2], a[3]);
	if (ret < 0 && !had_filter)
		atomic_store(&shim.has_own_filter, false);
	return ret;
}

/* What a raw call changes of what we remember; returns the library's syscall(), to which the
 * thunk below jumps. */
void *shim_before_raw(long number, const long a[6]);
void *shim_before_raw(long number, const long a[6])
{
	switch (number) {
	case SYS_seccomp:
		/* SECCOMP_SET_MODE_STRICT, _FILTER; libseccomp asks what there is by a NULL filter
		 */
		if (a[0] == 0 || (a[0] == 1 && a[2]))
			filter_comes();
		break;
	case SYS_prctl:
		if (a[0] == PR_SET_SECCOMP)
			filter_comes();
		break;
	case SYS_close:
		shim_where_closed((int)a[0]);
		break;
#ifdef SYS_dup2
	case SYS_dup2:
#endif
	case SYS_dup3:
		shim_where_closed((int)a[1]);
		break;
	case SYS_close_range:
		shim_where_closed_all();
		break;
	case SYS_chdir: /* we do not come back after it */
	case SYS_fchdir:
	case SYS_unshare:
	case SYS_setns:
	case SYS_chroot:
		shim_where_distrust();
		break;
	default:
		break;
	}
	return (void *)NEXT(syscall);
}

/*
 * syscall(2) ends in a jump, not a call: of clone() and vfork() made through it a child
 * returns, on another stack or on its parent's, and no frame of ours may lie there.
 */
#if defined(__x86_64__)
__asm__(".pushsection .text\n"
	".globl syscall\n"
	".type syscall, @function\n"
	"syscall:\n"
	"	push %rdi\n"
	"	push 16(%rsp)\n" /* the sixth argument lies above the return address */
	"	push %r9\n"
	"	push %r8\n"
	"	push %rcx\n"
	"	push %rdx\n"
	"	push %rsi\n"
	"	mov %rsp, %rsi\n"
	"	call shim_before_raw\n"
	"	pop %rsi\n"
	"	pop %rdx\n"
	"	pop %rcx\n"
	"	pop %r8\n"
	"	pop %r9\n"
	"	pop %rdi\n"
	"	pop %rdi\n"
	"	jmp *%rax\n"
	".size syscall, .-syscall\n"
	".popsection\n");
#elif defined(__aarch64__)
__asm__(".pushsection .text\n"
	".globl syscall\n"
	".type syscall, %function\n"
	"syscall:\n"
	"	stp x29, x30, [sp, #-80]!\n"
	"	stp x1, x2, [sp, #16]\n"
	"	stp x3, x4, [sp, #32]\n"
	"	stp x5, x6, [sp, #48]\n"
	"	stp x0, x7, [sp, #64]\n"
	"	add x1, sp, #16\n"
	"	bl shim_before_raw\n"
	"	mov x16, x0\n"
	"	ldp x1, x2, [sp, #16]\n"
	"	ldp x3, x4, [sp, #32]\n"
	"	ldp x5, x6, [sp, #48]\n"
	"	ldp x0, x7, [sp, #64]\n"
	"	ldp x29, x30, [sp], #80\n"
	"	br x16\n"
	".size syscall, .-syscall\n"
	".popsection\n");
#endif
