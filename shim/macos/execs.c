/* SPDX-License-Identifier: Apache-2.0 */
/*
 * execs.c - execve, execv, execvp, execvP, posix_spawn(p), system and popen on macOS: what is about
 * to start is classified and announced, refused where the policy says so, and gets our two
 * variables.
 */
#include <crt_externs.h>
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/event.h"
#include "core/macho.h"
#include "core/path.h"
#include "shim/env.h"
#include "shim/judge.h"
#include "shim/macos/interpose.h"
#include "shim/sys_macos.h"
#include "shim/mem.h"
#include "shim/proc.h"
#include "shim/where.h"

enum { HEAD = 4096, MAX_SCRIPTS = 5 };

#if defined(__x86_64__)
enum { OUR_SLICE = SBX_SLICE_X86_64 };
#else
enum { OUR_SLICE = SBX_SLICE_ARM64 };
#endif

struct program {
	char path[SBX_PATH_MAX]; /* canonical, of what was asked for */
	size_t len;
	enum sbx_exec_class cls; /* of the interpreter at the end */
	bool is_denied;
};

static ssize_t read_head(int fd, char *head)
{
	return SHIM_QUIETLY(ssize_t, pread(fd, head, HEAD, 0));
}

/* "#!/usr/bin/python3 -u": the path, ended in place. NULL: no script. */
static const char *interpreter(char *head, size_t n)
{
	char *p = head + 2, *end;

	if (n < 3 || head[0] != '#' || head[1] != '!')
		return NULL;
	head[n] = '\0';
	while (*p == ' ' || *p == '\t')
		p++;
	for (end = p; *end && *end != ' ' && *end != '\t' && *end != '\n';)
		end++;
	*end = '\0';
	return *p == '/' ? p : NULL;
}

/* dyld inserts nothing into what is restricted, and ends what prefers an arm64e slice
 * (core/macho.h). */
static bool read_at(void *fd, uint64_t at, void *to, size_t n)
{
	return SHIM_QUIETLY(ssize_t, pread(*(int *)fd, to, n, (off_t)at)) == (ssize_t)n;
}

static enum sbx_exec_class class_of(int fd, const char *head, size_t n, const struct stat *st)
{
	unsigned slices = sbx_macho_slices(head, n);

	if (st->st_flags & SF_RESTRICTED || st->st_mode & (S_ISUID | S_ISGID))
		return SBX_EXEC_SECURE;
	if (!(slices & OUR_SLICE) || slices & SBX_SLICE_ARM64E)
		return SBX_EXEC_FOREIGN;
	return sbx_macho_is_closed(read_at, &fd, OUR_SLICE) ? SBX_EXEC_HARDENED : SBX_EXEC_DYNAMIC;
}

static void look(struct program *p, const char *file)
{
	char head[HEAD + 1];
	unsigned depth;

	p->len = 0;
	p->cls = SBX_EXEC_FOREIGN;
	p->is_denied = false;
	for (depth = 0; depth < MAX_SCRIPTS && file; depth++) {
		int fd = sys_openat(AT_FDCWD, file, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
		char text[SBX_PATH_MAX];
		struct stat st;
		size_t len;
		ssize_t n;

		if (fd < 0) {
			p->cls = fd == -ENOENT ? SBX_EXEC_MISSING : SBX_EXEC_UNREADABLE;
			return;
		}
		len = shim_fd_text(fd, text);
		n = sys_fstat(fd, &st) < 0 ? -1 : read_head(fd, head);
		p->cls = n > 0 ? class_of(fd, head, (size_t)n, &st) : SBX_EXEC_FOREIGN;
		sys_close(fd);
		if (!len || n < 0)
			return;
		p->is_denied |= !shim_judge(SBX_EXEC, text, len).allowed;
		if (depth == 0) {
			memcpy(p->path, text, len + 1);
			p->len = len;
		}
		file = interpreter(head, (size_t)n);
	}
}

static void tell(unsigned call, const struct program *p, uint32_t pid)
{
	struct shim_told t = {
		.call = call,
		.op = SBX_EXEC,
		.flags = p->is_denied ? 0 : SBX_EVF_ALLOWED,
		.err = p->is_denied ? EACCES : 0,
		.aux = p->cls,
		.path = p->path,
		.len = p->len,
	};

	if (p->is_denied)
		shim_tell(&t, 0);
	else if (p->len)
		shim_tell_exec(SBX_EV_EXEC, &t, pid);
}

/* The call returned: what was announced did not come to be. */
static int failed(unsigned call, const struct program *p)
{
	struct shim_told t = {
		.call = call,
		.op = SBX_EXEC,
		.flags = SBX_EVF_ALLOWED,
		.err = errno,
		.path = p->path,
		.len = p->len,
	};

	if (p->len)
		shim_tell_exec(SBX_EV_CALL, &t, 0);
	errno = t.err;
	return -1;
}

/* The environment with our variables; on the caller's stack, for the call alone. */
#define WITH_VARIABLES(envp)                                                                       \
	({                                                                                         \
		struct shim_env env_;                                                              \
		char *const *with_ = (envp);                                                       \
		if (shim_is_ready() && shim_env_plan(&env_, with_) && env_.is_needed)              \
			with_ = shim_env_build(&env_, __builtin_alloca(shim_env_bytes(&env_)));    \
		with_;                                                                             \
	})

/* False: refused, errno set. */
static bool may_start(unsigned call, struct program *p, const char *file)
{
	if (!shim_is_ready() || shim_is_no_pointer(file))
		return true;
	look(p, file);
	if (!p->is_denied)
		return true;
	tell(call, p, 0);
	errno = EACCES;
	return false;
}

static int start(unsigned call, const char *file, char *const *argv, char *const *envp)
{
	struct program p = {.len = 0};

	if (!may_start(call, &p, file))
		return -1;
	if (shim_is_ready())
		tell(call, &p, 0);
	execve(file, argv, WITH_VARIABLES(envp));
	return failed(call, &p);
}

static int shim_execve_call(const char *file, char *const argv[], char *const envp[])
{
	return start(SBX_CALL_execve, file, argv, envp);
}

static int shim_execv_call(const char *file, char *const argv[])
{
	return start(SBX_CALL_execv, file, argv, *_NSGetEnviron());
}

/* The file execvp(3) would find in `search`: in buf, or `name` itself. NULL: the usual path. */
static const char *find_in(const char *name, const char *search, char buf[SBX_PATH_MAX])
{
	const char *p, *end;

	if (strchr(name, '/'))
		return name;
	for (p = search ? search : "/usr/bin:/bin"; *p; p = *end ? end + 1 : end) {
		size_t n = 0;
		struct stat st;

		for (end = p; *end && *end != ':';)
			end++;
		if (shim_append(buf, SBX_PATH_MAX, &n, p, (size_t)(end - p)) &&
		    shim_append(buf, SBX_PATH_MAX, &n, "/", 1) &&
		    shim_append(buf, SBX_PATH_MAX, &n, name, strlen(name)) &&
		    SHIM_QUIETLY(int, stat(buf, &st)) == 0 && S_ISREG(st.st_mode) &&
		    st.st_mode & 0111)
			return buf;
	}
	return name;
}

static const char *find_in_path(const char *name, char buf[SBX_PATH_MAX])
{
	return find_in(name, shim_getenv("PATH"), buf);
}

static int shim_execvp_call(const char *name, char *const argv[])
{
	struct program p = {.len = 0};
	char buf[SBX_PATH_MAX];

	if (!shim_is_ready() || shim_is_no_pointer(name))
		return execvp(name, argv);
	if (!may_start(SBX_CALL_execvp, &p, find_in_path(name, buf)))
		return -1;
	tell(SBX_CALL_execvp, &p, 0);
	*_NSGetEnviron() = (char **)(uintptr_t)WITH_VARIABLES(*_NSGetEnviron());
	execvp(name, argv); /* a script without "#!" is the library's to run */
	return failed(SBX_CALL_execvp, &p);
}

static int shim_execvP_call(const char *name, const char *search, char *const argv[])
{
	struct program p = {.len = 0};
	char buf[SBX_PATH_MAX];

	if (!shim_is_ready() || shim_is_no_pointer(name) || shim_is_no_pointer(search))
		return execvP(name, search, argv);
	if (!may_start(SBX_CALL_execvP, &p, find_in(name, search, buf)))
		return -1;
	tell(SBX_CALL_execvP, &p, 0);
	*_NSGetEnviron() = (char **)(uintptr_t)WITH_VARIABLES(*_NSGetEnviron());
	execvP(name, search, argv);
	return failed(SBX_CALL_execvP, &p);
}

/* The library starts the shell by itself. It is under System Integrity Protection and drops our
 * variables: judged and told, class included, and no more to be done. */
static const char shell[] = "/bin/sh";
FILE *popen_extsn(const char *, const char *) __asm("_popen$DARWIN_EXTSN");

static bool may_start_shell(unsigned call, const char *command)
{
	struct program p = {.len = 0};

	if (!command || !may_start(call, &p, shell))
		return !command;
	if (shim_is_ready())
		tell(call, &p, 0);
	return true;
}

static int shim_system_call(const char *command)
{
	return may_start_shell(SBX_CALL_system, command) ? system(command) : -1;
}

static FILE *shim_popen_call(const char *command, const char *mode)
{
	return may_start_shell(SBX_CALL_popen, command) ? popen(command, mode) : NULL;
}

typedef int spawn_fn(pid_t *, const char *, const posix_spawn_file_actions_t *,
		     const posix_spawnattr_t *, char *const[], char *const[]);

struct spawn {
	unsigned call;
	spawn_fn *go;
	const char *file; /* what it finds */
};

static int spawned(const struct spawn *s, pid_t *pid, const char *file,
		   const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attr,
		   char *const *argv, char *const *envp)
{
	struct program p = {.len = 0};
	pid_t child = 0;
	int rc, saved = errno;

	if (!may_start(s->call, &p, s->file)) {
		errno = saved;
		return EACCES;
	}
	rc = s->go(&child, file, actions, attr, argv, WITH_VARIABLES(envp));
	if (rc == 0 && shim_is_ready())
		tell(s->call, &p, (uint32_t)child);
	if (rc == 0 && pid)
		*pid = child;
	return rc;
}

static int shim_posix_spawn_call(pid_t *pid, const char *file,
				 const posix_spawn_file_actions_t *actions,
				 const posix_spawnattr_t *attr, char *const argv[],
				 char *const envp[])
{
	const struct spawn s = {SBX_CALL_posix_spawn, posix_spawn, file};

	return spawned(&s, pid, file, actions, attr, argv, envp);
}

static int shim_posix_spawnp_call(pid_t *pid, const char *file,
				  const posix_spawn_file_actions_t *actions,
				  const posix_spawnattr_t *attr, char *const argv[],
				  char *const envp[])
{
	char buf[SBX_PATH_MAX];
	const struct spawn s = {SBX_CALL_posix_spawnp, posix_spawnp,
				shim_is_no_pointer(file) ? file : find_in_path(file, buf)};

	return spawned(&s, pid, file, actions, attr, argv, envp);
}

SHIM_INTERPOSE(shim_execve_call, execve);
SHIM_INTERPOSE(shim_execv_call, execv);
SHIM_INTERPOSE(shim_execvp_call, execvp);
SHIM_INTERPOSE(shim_execvP_call, execvP);
SHIM_INTERPOSE(shim_system_call, system);
SHIM_INTERPOSE(shim_popen_call, popen);
SHIM_INTERPOSE(shim_popen_call, popen_extsn);
SHIM_INTERPOSE(shim_posix_spawn_call, posix_spawn);
SHIM_INTERPOSE(shim_posix_spawnp_call, posix_spawnp);
