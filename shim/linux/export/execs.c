/* SPDX-License-Identifier: Apache-2.0 */
/* execs.c - every name a program can be started by. */
#include "shim/linux/export/export.h"

#include <errno.h>
#include <stdarg.h>
#include <wordexp.h>

#include "core/path.h"
#include "shim/env.h"
#include "shim/exec.h"
#include "shim/judge.h"
#include "shim/sys_linux.h"
#include "shim/mem.h"
#include "shim/open.h"
#include "shim/proc.h"

SHIM_EXPORT int execve(const char *path, char *const argv[], char *const envp[])
{
	return shim_exec(SBX_CALL_execve, AT_FDCWD, path, argv, envp, 0);
}

SHIM_EXPORT int execv(const char *path, char *const argv[])
{
	return shim_exec(SBX_CALL_execv, AT_FDCWD, path, argv, shim_environ(), 0);
}

SHIM_EXPORT int execvp(const char *file, char *const argv[])
{
	return shim_execvp(SBX_CALL_execvp, file, argv, shim_environ());
}

SHIM_EXPORT int execvpe(const char *file, char *const argv[], char *const envp[])
{
	return shim_execvp(SBX_CALL_execvpe, file, argv, envp);
}

SHIM_EXPORT int execveat(int dirfd, const char *path, char *const argv[], char *const envp[],
			 int flags)
{
	return shim_exec(SBX_CALL_execveat, dirfd, path, argv, envp, flags);
}

/* glibc refuses these calls itself, without a system call. */
SHIM_EXPORT int fexecve(int fd, char *const argv[], char *const envp[])
{
	bool lacks = shim_is_no_pointer(argv) || shim_is_no_pointer(envp);

	if (fd < 0 || (lacks && gnu_get_libc_version))
		return NEXT(fexecve)(fd, argv, envp);
	return shim_exec(SBX_CALL_fexecve, fd, "", argv, envp, AT_EMPTY_PATH);
}

/* The arguments of the l-forms, counted, then copied to the stack of the wrapper. */
#define COUNT_ARGUMENTS(first, ap, n)                                                              \
	for ((n) = shim_is_null(first) ? 0 : 1; (n) && va_arg(ap, char *); (n)++)

#define COPY_ARGUMENTS(argv, first, ap, n)                                                         \
	do {                                                                                       \
		size_t i_;                                                                         \
		(argv)[0] = (char *)(uintptr_t)(first);                                            \
		for (i_ = 1; !shim_is_null(first) && i_ <= (n); i_++)                              \
			(argv)[i_] = va_arg(ap, char *);                                           \
	} while (0)

#define EXECL(name, call_with)                                                                     \
	SHIM_EXPORT int name(const char *path, const char *arg, ...)                               \
	{                                                                                          \
		char **argv, *const *envp = shim_environ();                                        \
		va_list ap;                                                                        \
		size_t n;                                                                          \
		va_start(ap, arg);                                                                 \
		COUNT_ARGUMENTS(arg, ap, n);                                                       \
		va_end(ap);                                                                        \
		argv = __builtin_alloca((n + 1) * sizeof *argv);                                   \
		va_start(ap, arg);                                                                 \
		COPY_ARGUMENTS(argv, arg, ap, n);                                                  \
		call_with;                                                                         \
	}

EXECL(execl, va_end(ap); return shim_exec(SBX_CALL_execl, AT_FDCWD, path, argv, envp, 0))
EXECL(execlp, va_end(ap); return shim_execvp(SBX_CALL_execlp, path, argv, envp))
/* the environment follows the NULL that ends the arguments */
EXECL(execle, envp = va_arg(ap, char *const *); va_end(ap);
      return shim_exec(SBX_CALL_execle, AT_FDCWD, path, argv, envp, 0))

/* ---- spawn ---- */

/* clang-format off */
#define SPAWN(name, function, search, old)                                           \
	SHIM_EXPORT int function(pid_t *restrict pid, const char *restrict path,         \
			     const posix_spawn_file_actions_t *restrict actions,     \
			     const posix_spawnattr_t *restrict attr,                 \
			     char *const argv[restrict], char *const envp[restrict]) \
	{                                                                            \
		struct shim_spawn s = {SBX_CALL_##name, search, old,  pid, path,     \
				       actions,		attr,	argv, envp};         \
		int saved = shim_get_errno(), err = shim_spawn(&s);                  \
		shim_set_errno(saved); /* posix_spawn returns its error */           \
		return err;                                                          \
	}
/* clang-format on */

/* the prototype is the C library's */
SPAWN(posix_spawn, posix_spawn, false, false)  /* NOLINT(readability-non-const-parameter) */
SPAWN(posix_spawnp, posix_spawnp, true, false) /* NOLINT(readability-non-const-parameter) */
#ifdef SHIM_OLD_NAMES
SPAWN(posix_spawn, posix_spawn_old, false, true)  /* NOLINT(readability-non-const-parameter) */
SPAWN(posix_spawnp, posix_spawnp_old, true, true) /* NOLINT(readability-non-const-parameter) */
SHIM_OLD_NAME(posix_spawn);
SHIM_OLD_NAME(posix_spawnp);
#endif

/* What the actions open, the library opens in the child, unseen: it is judged when the action is
 * added, as of the directory that the actions before it lead to. */
static __attribute__((noinline)) int may_open_led(const void *actions, const char *path,
						  struct shim_asked *a)
{
	char *led SHIM_GIVEN_BACK = SHIM_ROOM(SBX_PATH_MAX);

	if (shim_actions_lead(actions, path, led, &a->dirfd) != SHIM_LED_TO)
		return shim_is_ready() && shim_trouble() ? -EACCES : 0;
	a->path = led;
	return shim_may_open(a);
}

SHIM_EXPORT int posix_spawn_file_actions_addopen(posix_spawn_file_actions_t *restrict actions,
						 int fd, const char *restrict path, int flags,
						 mode_t mode)
{
	char *buf SHIM_GIVEN_BACK = SHIM_ROOM(SBX_PATH_MAX);
	struct shim_asked a = {.call = SBX_CALL_spawn_addopen,
			       .dirfd = AT_FDCWD,
			       .path = path,
			       .flags = flags,
			       .buf = buf};
	int saved = shim_get_errno(), ret;

	ret = shim_actions_is_plain(actions, path) ? shim_may_open(&a)
						   : may_open_led(actions, path, &a);
	if (ret < 0)
		return -ret;
	shim_opened(&a, 0);
	shim_set_errno(saved);
	ret = NEXT(posix_spawn_file_actions_addopen)(actions, fd, path, flags, mode);
	if (!ret)
		shim_actions_replace(actions, fd);
	return ret;
}

SHIM_EXPORT int posix_spawn_file_actions_adddup2(posix_spawn_file_actions_t *actions, int fd,
						 int newfd)
{
	int ret = NEXT(posix_spawn_file_actions_adddup2)(actions, fd, newfd);

	if (!ret)
		shim_actions_replace(actions, newfd);
	return ret;
}

SHIM_EXPORT int posix_spawn_file_actions_addchdir_np(posix_spawn_file_actions_t *restrict actions,
						     const char *restrict path)
{
	int ret = NEXT(posix_spawn_file_actions_addchdir_np)(actions, path);

	if (!ret)
		shim_actions_chdir(actions, path);
	return ret;
}

SHIM_EXPORT int posix_spawn_file_actions_addfchdir_np(posix_spawn_file_actions_t *actions, int fd)
{
	int ret = NEXT(posix_spawn_file_actions_addfchdir_np)(actions, fd);

	if (!ret)
		shim_actions_fchdir(actions, fd);
	return ret;
}

/* The address may have been another set's. */
SHIM_EXPORT int posix_spawn_file_actions_init(posix_spawn_file_actions_t *actions)
{
	shim_actions_reset(actions);
	return NEXT(posix_spawn_file_actions_init)(actions);
}

SHIM_EXPORT int posix_spawn_file_actions_destroy(posix_spawn_file_actions_t *actions)
{
	shim_actions_reset(actions);
	return NEXT(posix_spawn_file_actions_destroy)(actions);
}

/* ---- shells ---- */

/* NULL = refused. */
#define WRAPPED(call, command, bytes)                                                              \
	((bytes) ? shim_shell_wrap(call, command, __builtin_alloca(bytes), bytes) : (command))

SHIM_EXPORT int system(const char *command)
{
	size_t bytes;
	int err = shim_shell_begin(SBX_CALL_system, command, &bytes);
	const char *line = err ? NULL : WRAPPED(SBX_CALL_system, command, bytes);

	if (!line && command)
		return 127 << 8; /* what a shell that could not be started gives */
	return NEXT(system)(line);
}

SHIM_EXPORT FILE *popen(const char *command, const char *mode)
{
	size_t bytes;
	int err = shim_shell_begin(SBX_CALL_popen, command, &bytes);
	const char *line = err ? NULL : WRAPPED(SBX_CALL_popen, command, bytes);

	if (!line && command) {
		shim_set_errno(err ? err : EACCES);
		return NULL;
	}
	return NEXT(popen)(line, mode);
}

SHIM_EXPORT FILE *_IO_popen(const char *command, const char *mode)
{
	return popen(command, mode);
}

/* Commands inside the words are run by the shell, with `environ`: where that has lost our variables
 * the words cannot be wrapped, and the shell would be one without a shim. */
static bool has_command(const char *words)
{
	for (; *words; words++)
		if (*words == '`' || (words[0] == '$' && words[1] == '('))
			return true;
	return false;
}

SHIM_EXPORT int wordexp(const char *restrict words, wordexp_t *restrict out, int flags)
{
	size_t bytes;

	if (!shim_is_no_pointer(words) && !(flags & WRDE_NOCMD) && has_command(words) &&
	    (shim_shell_begin(SBX_CALL_wordexp, words, &bytes) ||
	     (bytes && shim_shell_without(SBX_CALL_wordexp))))
		return WRDE_CMDSUB;
	return NEXT(wordexp)(words, out, flags);
}
