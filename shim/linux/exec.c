/* SPDX-License-Identifier: Apache-2.0 */
/* exec.c - see exec.h. */
#include "shim/exec.h"

#include <limits.h>
#include <linux/limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/channel.h"
#include "core/event.h"
#include "shim/env.h"
#include "shim/judge.h"
#include "shim/sys_linux.h"
#include "shim/mem.h"
#include "shim/next.h"
#include "shim/proc.h"

static const char shell[] = "/bin/sh";

enum { CANDIDATE_MAX = SBX_PATH_MAX + NAME_MAX };

/* exec does not come back: what a child of vfork() took would be gone for its parent. */
static bool may_take_room(void)
{
	return shim_is_ready() && !shim_has_filter() && shim_is_own_memory();
}

static struct shim_told told(unsigned call, const struct shim_program *p, int err)
{
	return (struct shim_told){
		.call = call,
		.op = SBX_EXEC,
		.err = err,
		.flags = (p->is_denied ? 0 : SBX_EVF_ALLOWED) |
			 (p->is_interp_denied ? SBX_EVF_PATH2_DENIED : 0) |
			 (p->is_cut ? SBX_EVF_TRUNCATED : 0),
		.rule = p->is_cut ? p->rule : 0,
		.aux = (unsigned)p->class,
		.path = p->path,
		.len = p->len,
		.path2 = p->interp,
		.len2 = p->interp_len,
	};
}

static void tell_no_shim(unsigned call, const struct shim_program *p)
{
	struct shim_told t = told(call, p, EACCES);

	t.flags = SBX_EVF_ALLOWED;
	t.aux = SBX_LOSS_NO_SHIM;
	shim_tell_exec(SBX_EV_LOSS, &t, 0);
}

/* Our variables cannot be given to this program. 0 = it may start without them. */
static int refusal_without_shim(unsigned call, const struct shim_program *p)
{
	if (!shim_trouble() && !shim.ring->witnesses_all)
		return 0;
	tell_no_shim(call, p);
	return EACCES;
}

/* 0 = continue. Denials are reported. The kernel's own refusals are not, because a search for a
 * program meets many. */
static int refusal(unsigned call, const struct shim_program *p)
{
	struct shim_told t = told(call, p, EACCES);

	if (p->err)
		return p->err;
	if (!p->is_denied && shim.ring->witnesses_all && !shim_program_is_witnessed(p->class)) {
		tell_no_shim(call, p);
		return EACCES;
	}
	if (!p->is_denied)
		return 0;
	shim_tell_exec(SBX_EV_CALL, &t, 0);
	return EACCES;
}

/* Nothing to be read there, or by one of its entries: the kernel says EFAULT. */
static bool is_no_list(char *const *list)
{
	if (list && shim_is_no_pointer(list))
		return true;
	for (; list && *list; list++)
		if (shim_is_no_pointer(*list))
			return true;
	return false;
}

void shim_told_words(struct shim_told *t, char *buf, char *const *argv, bool is_here)
{
	bool is_cut;
	size_t n = shim_words(buf, SBX_ARGV_MAX, argv, &is_cut);
	long cwd = is_here && !shim_has_filter() ? sys_getcwd(buf + n, SHIM_WORDS_SIZE - n) : 0;

	t->flags |= SBX_EVF_ARGV | (is_cut ? SBX_EVF_ARGV_CUT : 0);
	t->path2 = buf;
	t->len2 = n;
	/* "(unreachable)/x" lies outside the root of this process */
	if (cwd < 2 || buf[n] != '/')
		return;
	t->count = (uint32_t)(cwd - 1) << 16;
	t->len2 += (size_t)cwd - 1;
}

/* Reported before the call, because it does not return. A failure is reported after it, so that the
 * supervisor does not wait for a new image. */
static void tell_start(unsigned call, struct shim_program *p, char *const *argv, uint32_t pid)
{
	bool is_seen = shim_program_is_witnessed(p->class);
	struct shim_told t = told(call, p, 0);

	/* an image with the shim tells its words itself; where a child begins its actions say */
	if (!is_seen && !p->interp_len && !shim.is_alone && argv && !is_no_list(argv))
		shim_told_words(&t, p->interp, argv, !pid);
	shim_tell_exec(SBX_EV_EXEC, &t, pid);
}

static void tell_failure(unsigned call, const struct shim_program *p, int err)
{
	struct shim_told t = told(call, p, err);

	shim_tell_exec(SBX_EV_CALL, &t, 0);
	shim_set_errno(err);
}

/* 0 or errno; env->is_needed: another environment is to be built. */
static int plan_env(unsigned call, struct shim_env *env, const struct shim_program *p,
		    char *const *envp)
{
	bool is_to_have = shim_program_is_witnessed(p->class) && !is_no_list(envp);
	bool is_planned = !is_to_have || shim_env_plan_for(env, envp, p->is_sibling);

	if (!is_planned || !is_to_have)
		env->is_needed = false;
	return is_planned ? 0 : refusal_without_shim(call, p);
}

static int exec_next(int dirfd, const char *path, char *const argv[], char *const envp[], int flags)
{
	if (dirfd == AT_FDCWD && !flags)
		return NEXT(execve)(path, argv, envp);
	/* not through the library: musl has no execveat */
	return (int)shim_result(sys5(SYS_execveat, dirfd, path, argv, envp, flags));
}

int shim_exec(unsigned call, int dirfd, const char *path, char *const argv[], char *const envp[],
	      int flags)
{
	struct shim_program *p SHIM_GIVEN_BACK = SHIM_ROOM_IF(may_take_room(), sizeof *p);
	struct shim_env env;
	int ret, err;

	if (!shim_is_ready())
		return exec_next(dirfd, path, argv, envp, flags);
	shim_program_look(p, dirfd, path, flags);
	err = refusal(call, p);
	if (!err)
		err = plan_env(call, &env, p, envp);
	if (err) {
		shim_set_errno(err);
		return -1;
	}
	if (env.is_needed)
		envp = shim_env_build(&env, __builtin_alloca(shim_env_bytes(&env)));
	tell_start(call, p, argv, 0);
	ret = exec_next(dirfd, path, argv, envp, flags);
	tell_failure(call, p, shim_get_errno());
	return ret;
}

/* ---- search ---- */

/* Next directory of a PATH joined with `file`; false = no more. Too long ones are skipped,
 * as glibc does. */
static bool next_candidate(const char **path, const char *file, char *buf, size_t size)
{
	size_t file_len = strlen(file);

	while (*path) {
		const char *dir = *path;
		size_t n = 0, pos = 0;

		while (dir[n] && dir[n] != ':')
			n++;
		*path = dir[n] ? dir + n + 1 : NULL;
		if (n && (!shim_append(buf, size, &pos, dir, n) ||
			  !shim_append(buf, size, &pos, "/", 1)))
			continue;
		if (shim_append(buf, size, &pos, file, file_len))
			return true;
	}
	return false;
}

static const char *search_path(void)
{
	const char *path = shim_getenv("PATH");

	return path ? path : "/bin:/usr/bin"; /* confstr(_CS_PATH) */
}

/* A file that is no program is a script for the shell: execvp(3). */
static int exec_script(unsigned call, const char *path, char *const argv[], char *const envp[])
{
	size_t n = 0, i;
	char **args;

	while (argv[n])
		n++;
	if (n >= INT_MAX / sizeof *args - 2) {
		shim_set_errno(E2BIG);
		return -1;
	}
	args = __builtin_alloca((n + 3) * sizeof *args);
	args[0] = (char *)(uintptr_t)shell;
	args[1] = (char *)(uintptr_t)path;
	for (i = 1; i < n; i++)
		args[i + 1] = argv[i];
	args[n > 1 ? n + 1 : 2] = NULL;
	return shim_exec(call, AT_FDCWD, shell, args, envp, 0);
}

static int exec_or_script(unsigned call, const char *path, char *const argv[], char *const envp[])
{
	int ret = shim_exec(call, AT_FDCWD, path, argv, envp, 0);

	return shim_get_errno() == ENOEXEC ? exec_script(call, path, argv, envp) : ret;
}

/* Errors after which the search goes on: the list of glibc's posix/execvpe.c. */
static bool goes_on(int err)
{
	return err == EACCES || err == ENOENT || err == ESTALE || err == ENOTDIR || err == ENODEV ||
	       err == ETIMEDOUT;
}

int shim_execvp(unsigned call, const char *file, char *const argv[], char *const envp[])
{
	char *buf SHIM_GIVEN_BACK = SHIM_ROOM_IF(may_take_room(), CANDIDATE_MAX);
	const char *path = search_path();
	bool was_refused = false;
	size_t len = strlen(file);
	int err = ENOENT;

	if (memchr(file, '/', len))
		return exec_or_script(call, file, argv, envp);
	if (len > NAME_MAX)
		err = ENAMETOOLONG;
	while (len && len <= NAME_MAX && next_candidate(&path, file, buf, CANDIDATE_MAX)) {
		exec_or_script(call, buf, argv, envp);
		err = shim_get_errno();
		was_refused |= err == EACCES;
		if (!goes_on(err))
			break;
	}
	shim_set_errno(was_refused && goes_on(err) ? EACCES : err);
	return -1;
}

/* ---- spawn ---- */

typedef int spawn_fn(pid_t *, const char *, const posix_spawn_file_actions_t *,
		     const posix_spawnattr_t *, char *const[], char *const[]);

static spawn_fn *spawn_next(bool is_search, bool is_old)
{
	void *old = is_old ? shim_next_old(is_search ? NEXT_posix_spawnp : NEXT_posix_spawn) : NULL;

	if (old)
		return (spawn_fn *)old;
	return is_search ? NEXT(posix_spawnp) : NEXT(posix_spawn);
}

/* Would the old function come to the shell? Then that is judged as well. */
static __attribute__((noinline)) int refusal_of_shell(const struct shim_spawn *s,
						      const struct shim_program *p)
{
	struct shim_program *sh SHIM_GIVEN_BACK = SHIM_ROOM(sizeof *sh);

	if (!s->is_old || p->class != SBX_EXEC_UNREADABLE || p->interp_len)
		return 0;
	shim_program_look(sh, AT_FDCWD, shell, 0);
	return refusal(s->call, sh);
}

static __attribute__((noinline)) void look_led(const struct shim_spawn *s, const char *path,
					       struct shim_program *p)
{
	char *buf SHIM_GIVEN_BACK = SHIM_ROOM(SBX_PATH_MAX);
	int dirfd;

	if (shim_actions_lead(s->actions, path, buf, &dirfd) == SHIM_LED_TO)
		shim_program_look(p, dirfd, buf, 0);
	else
		shim_program_unknown(p);
}

/* Looks at what the child will find by this path, after its actions. */
static void look(const struct shim_spawn *s, const char *path, struct shim_program *p)
{
	if (shim_actions_is_plain(s->actions, path))
		shim_program_look(p, AT_FDCWD, path, 0);
	else
		look_led(s, path, p);
}

/* The child's own calls happen inside the library: judged here, in the parent. */
static int spawn_judged(const struct shim_spawn *s, const char *path, bool is_search,
			struct shim_program *p)
{
	int refused = refusal_of_shell(s, p);
	spawn_fn *next = spawn_next(is_search, s->is_old && !refused);
	char *const *envp = s->envp;
	struct shim_env env;
	pid_t pid = 0;
	int err;

	err = plan_env(s->call, &env, p, envp);
	if (err)
		return err;
	if (env.is_needed)
		envp = shim_env_build(&env, __builtin_alloca(shim_env_bytes(&env)));
	err = next(&pid, path, s->actions, s->attr, s->argv, envp);
	if (err)
		return err == ENOEXEC && refused ? refused : err;
	if (s->pid)
		*s->pid = pid;
	if (p->class == SBX_EXEC_MISSING) /* it came to be since we looked */
		p->class = SBX_EXEC_UNREADABLE;
	tell_start(s->call, p, s->argv, (uint32_t)pid);
	return 0;
}

static int spawn_path(const struct shim_spawn *s)
{
	struct shim_program *p SHIM_GIVEN_BACK = SHIM_ROOM(sizeof *p);
	int err;

	look(s, s->path, p);
	/* the library's own answer, from the child: actions come before it */
	if (p->err)
		p->class = SBX_EXEC_MISSING;
	else
		err = refusal(s->call, p);
	if (!p->err && err)
		return err;
	return spawn_judged(s, s->path, false, p);
}

/* The library would search in the child, where the shim does not see it, so the same search is made
 * here first. If a denied candidate comes before an allowed one, the allowed one is started by its
 * path. */
static int spawn_search(const struct shim_spawn *s)
{
	char *buf SHIM_GIVEN_BACK = SHIM_ROOM(CANDIDATE_MAX);
	const char *path = search_path();
	struct shim_program *p SHIM_GIVEN_BACK = SHIM_ROOM(sizeof *p);
	bool was_denied = false;
	int err = ENOENT;

	shim_program_missing(p);
	while (next_candidate(&path, s->path, buf, CANDIDATE_MAX)) {
		look(s, buf, p);
		if (p->err)
			continue;
		err = refusal(s->call, p);
		if (!err)
			break;
		was_denied = true;
	}
	if (err && was_denied)
		return EACCES;
	return was_denied ? spawn_judged(s, buf, false, p) : spawn_judged(s, s->path, true, p);
}

int shim_spawn(const struct shim_spawn *s)
{
	bool is_search = s->is_search && !shim_is_no_pointer(s->path) && *s->path &&
			 !memchr(s->path, '/', strlen(s->path));

	if (!shim_is_ready())
		return spawn_next(s->is_search, s->is_old)(s->pid, s->path, s->actions, s->attr,
							   s->argv, s->envp);
	return is_search ? spawn_search(s) : spawn_path(s);
}

/* ---- shell commands ---- */

/*
 * system() and popen() start the shell inside the library, with `environ`. Where that has lost
 * our variables, the command becomes
 *	LD_PRELOAD='..' SBX_CHANNEL='..' exec /bin/sh -c '<the command, quoted>'
 * so that `environ`, which belongs to the program, stays as it is.
 */
enum { WRAP_MAX = 64 << 10 };
static const char wrap_exec[] = "exec /bin/sh -c '", quoted_quote[] = "'\\''";

static size_t quoted_len(const char *s)
{
	size_t n = 0;

	for (; *s; s++)
		n += *s == '\'' ? sizeof quoted_quote - 1 : 1;
	return n;
}

/* Bytes of "NAME='value' " for both variables. */
static size_t variables_len(const struct shim_env *env)
{
	size_t n = env->preload_len + env->channel_len + 6;
	const char *values[] = {shim.channel, env->wanted,
				env->preload_at < env->count ? env->from[env->preload_at] : ""};

	for (size_t i = 0; i < sizeof values / sizeof *values; i++)
		n += quoted_len(values[i]) - strlen(values[i]);
	return n;
}

/* The shell, and everything that it starts, would run without the shim. */
static int shell_without_shim(unsigned call, const struct shim_program *sh)
{
	int err = refusal_without_shim(call, sh);

	if (!err)
		tell_no_shim(call,
			     sh); /* its pid is the library's: no announcement could be paired */
	return err;
}

int shim_shell_without(unsigned call)
{
	struct shim_program *sh SHIM_GIVEN_BACK = SHIM_ROOM(sizeof *sh);

	shim_program_look(sh, AT_FDCWD, shell, 0);
	return shell_without_shim(call, sh);
}

int shim_shell_begin(unsigned call, const char *command, size_t *out_bytes)
{
	struct shim_program *p SHIM_GIVEN_BACK = SHIM_ROOM(sizeof *p);
	struct shim_env env;
	struct shim_told t;
	size_t n;
	int err;

	*out_bytes = 0;
	if (!shim_is_ready() || shim_is_no_pointer(command))
		return 0;
	shim_program_look(p, AT_FDCWD, shell, 0);
	err = refusal(call, p);
	if (err)
		return err;
	t = told(call, p, 0);
	shim_tell_exec(SBX_EV_CALL, &t, 0);
	if (!shim_env_plan_for(&env, shim_environ(), p->is_sibling))
		return shell_without_shim(call, p);
	n = variables_len(&env) + sizeof wrap_exec + quoted_len(command) + 2;
	if (env.is_needed && n > WRAP_MAX)
		return shell_without_shim(call, p);
	if (env.is_needed)
		*out_bytes = n;
	return 0;
}

static char *put(char *to, const char *s)
{
	while (*s)
		*to++ = *s++;
	*to = '\0';
	return to;
}

/* For between two apostrophes. */
static char *put_quoted(char *to, const char *s)
{
	for (; *s; s++) {
		if (*s == '\'')
			to = put(to, quoted_quote);
		else
			*to++ = *s;
	}
	return to;
}

/* "NAME=value" becomes "NAME='value' ". */
static char *put_variable(char *to, const char *entry)
{
	while (*entry != '=')
		*to++ = *entry++;
	*to++ = *entry++;
	*to++ = '\'';
	to = put_quoted(to, entry);
	return put(to, "' ");
}

const char *shim_shell_wrap(unsigned call, const char *command, char *memory, size_t bytes)
{
	struct shim_program *sh SHIM_GIVEN_BACK = SHIM_ROOM(sizeof *sh);
	char *to = memory;
	struct shim_env env;
	char *const *built;

	shim_program_look(sh, AT_FDCWD, shell, 0);
	/* sized by shim_shell_begin(); another thread may have changed the environment since */
	if (!shim_env_plan_for(&env, shim_environ(), sh->is_sibling) ||
	    variables_len(&env) + sizeof wrap_exec + quoted_len(command) + 2 > bytes)
		return shell_without_shim(call, sh) ? NULL : command;
	built = shim_env_build(&env, __builtin_alloca(shim_env_bytes(&env)));
	if (env.preload_len)
		to = put_variable(to, built[env.preload_at]);
	if (env.channel_len)
		to = put_variable(to, built[env.preload_at == env.channel_at && env.preload_len
						    ? env.channel_at + 1
						    : env.channel_at]);
	to = put_quoted(put(to, wrap_exec), command);
	put(to, "'");
	return memory;
}
