/* SPDX-License-Identifier: Apache-2.0 */
/* seatbelt.c - sandbox-exec(1), sysexits(3). */
#include "launcher/macos/seatbelt.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "core/macho.h"
#include "launcher/plan/program.h"
#include "sbpl/sbpl.h"

/* libSystem exports both, no header declares them. */
typedef int init_fn(const char *text, uint64_t flags, const char *const params[], char **error);
typedef int check_fn(pid_t, const char *operation, int type, ...);

/* A data pointer that is a function: POSIX's dlsym() promises it, ISO C does not. */
#define FUNCTION(type, name) (*(type **)&(void *){dlsym(RTLD_DEFAULT, name)})

static const char no_call[] =
	"sandbox_init_with_parameters() is gone from libSystem: use --backend sandbox-exec";

static int probe_program(struct b_err *err)
{
	struct stat st;

	errno = 0;
	if (stat(LAU_SANDBOX_EXEC, &st) == 0 && S_ISREG(st.st_mode) &&
	    access(LAU_SANDBOX_EXEC, X_OK) == 0)
		return 0;
	return b_fail(err, B_FLOOR, errno,
		      LAU_SANDBOX_EXEC " cannot be used (%s): restore it, or use --backend init",
		      errno ? strerror(errno) : "it is not a program");
}

int lau_seatbelt_probe(enum lau_backend backend, struct b_err *err)
{
	check_fn *check = FUNCTION(check_fn, "sandbox_check");

	if (backend == LAU_BACKEND_SANDBOX_EXEC && probe_program(err) < 0)
		return -1;
	if (backend == LAU_BACKEND_INIT && !FUNCTION(init_fn, "sandbox_init_with_parameters"))
		return b_fail(err, B_FLOOR, 0, "%s", no_call);
	if (check && check(getpid(), NULL, 0) == 1)
		return b_fail(err, B_FLOOR, 0,
			      "this process is already in a sandbox, and macOS does not nest them: "
			      "start sbx-launch outside, or switch the outer sandbox off");
	return 0;
}

void lau_seatbelt_argv(const struct sbpl_profile *prof, const char *file, char *const *words,
		       struct lau_seatbelt *out)
{
	size_t n = 0, at = 0;

	*out = (struct lau_seatbelt){0};
	while (words[n])
		n++;
	out->argv = b_arena_alloc(&out->arena, (5 + prof->nparams + n) * sizeof *out->argv);
	out->params = b_arena_alloc(&out->arena, (2 * prof->nparams + 1) * sizeof *out->params);
	out->argv[at++] = b_arena_printf(&out->arena, "%s", "sandbox-exec");
	out->argv[at++] = b_arena_printf(&out->arena, "-f");
	out->argv[at++] = b_arena_printf(&out->arena, "%s", file);
	for (size_t i = 0; i < prof->nparams; i++) {
		const struct sbpl_param *p = &prof->params[i];

		out->argv[at++] = b_arena_printf(&out->arena, "-D%s=%s", p->name, p->value);
		out->params[2 * i] = p->name;
		out->params[2 * i + 1] = p->value;
	}
	out->params[2 * prof->nparams] = NULL;
	out->argv[at++] = b_arena_printf(&out->arena, "--");
	memcpy(out->argv + at, words, n * sizeof *words);
	out->argv[at + n] = NULL;
}

void lau_seatbelt_release(struct lau_seatbelt *s)
{
	b_arena_release(&s->arena);
	*s = (struct lau_seatbelt){0};
}

int lau_seatbelt_enter(const struct sbpl_profile *prof, const struct lau_seatbelt *s,
		       struct b_err *err)
{
	init_fn *init = FUNCTION(init_fn, "sandbox_init_with_parameters");
	char *why = NULL;

	if (!init)
		return b_fail(err, B_FLOOR, 0, "%s", no_call);
	if (init(prof->text, 0, s->params, &why) != 0)
		return b_fail(err, B_FLOOR, 0, "macOS rejects the profile: %s",
			      why ? why : "no reason given");
	return 0;
}

int lau_seatbelt_blame(int status, const char *file, struct b_err *err)
{
	static const struct {
		int code;
		const char *text;
	} known[] = {
		{64, "it was called wrongly: report this"},
		{65, "it rejects the profile"},
		{66, "it cannot read the profile"},
		{71, "macOS refuses to apply the profile: in a sandbox already?"},
	};

	if (WIFSIGNALED(status))
		return b_fail(err, B_FLOOR, 0,
			      LAU_SANDBOX_EXEC " died of signal %d with the profile %s: nothing "
					       "was run",
			      WTERMSIG(status), file);
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (WEXITSTATUS(status) == known[i].code)
			return b_fail(err, B_FLOOR, 0,
				      LAU_SANDBOX_EXEC ": %s (status %d): nothing was run",
				      known[i].text, known[i].code);
	return b_fail(err, B_FLOOR, 0,
		      LAU_SANDBOX_EXEC " ended with status %d before the command: nothing was run",
		      WEXITSTATUS(status));
}

/* ---- the process that is confined ---- */

enum { HEAD = 4096, MAX_SCRIPTS = 5 };

#if defined(__x86_64__)
enum { OUR_SLICE = SBX_SLICE_X86_64 };
#else
enum { OUR_SLICE = SBX_SLICE_ARM64 };
#endif

/* The flag of files on the sealed system volume; set on copies only by root with SIP off. */
static bool is_restricted(const struct stat *st)
{
	return st->st_flags & SF_RESTRICTED || st->st_mode & (S_ISUID | S_ISGID);
}

static bool read_at(void *fd, uint64_t at, void *to, size_t n)
{
	return pread(*(int *)fd, to, n, (off_t)at) == (ssize_t)n;
}

static enum sbx_exec_class class_of(int fd, const char *head, size_t n, const struct stat *st)
{
	unsigned slices = sbx_macho_slices(head, n);

	if (is_restricted(st))
		return SBX_EXEC_SECURE;
	/* One arm64e slice is enough: the kernel prefers it, and dyld ends a process whose inserted
	 * library has no such slice. */
	if (!(slices & OUR_SLICE) || slices & SBX_SLICE_ARM64E)
		return SBX_EXEC_FOREIGN;
	return sbx_macho_is_closed(read_at, &fd, OUR_SLICE) ? SBX_EXEC_HARDENED : SBX_EXEC_DYNAMIC;
}

/* "#!/usr/bin/env NAME" would lose the variable in env: NAME is executed itself. */
static void skip_env(struct lau_target *t, struct lau_script *line, const char *search)
{
	const char *name = lau_script_env(line);
	char *found;

	if (!name || lau_program_find(name, search, &found, NULL) < 0)
		return;
	line->interpreter = b_arena_strndup(&t->arena, found, strlen(found));
	line->argument = NULL;
	free(found);
}

void lau_target_find(const char *path, char *const *argv, const char *search,
		     struct lau_target *out)
{
	struct lau_target *t = out;
	size_t n = 0;

	*t = (struct lau_target){.path = path, .cls = SBX_EXEC_FOREIGN};
	while (argv[n])
		n++;
	t->argv = b_arena_alloc(&t->arena, (n + 1) * sizeof *t->argv);
	memcpy(t->argv, argv, (n + 1) * sizeof *t->argv);
	for (unsigned depth = 0; depth < MAX_SCRIPTS; depth++) {
		b_auto_fd int fd = open(t->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
		char head[HEAD];
		ssize_t got = fd < 0 ? -1 : b_read_full(fd, head, sizeof head);
		struct lau_script line;
		struct stat st;

		if (got < 0 || fstat(fd, &st) < 0) {
			t->cls = errno == ENOENT ? SBX_EXEC_MISSING : SBX_EXEC_UNREADABLE;
			return;
		}
		if (!lau_script_parse(&t->arena, head, (size_t)got, &line)) {
			t->cls = class_of(fd, head, (size_t)got, &st);
			return;
		}
		skip_env(t, &line, search);
		t->argv = lau_script_argv(&t->arena, &line, t->path, t->argv);
		t->path = line.interpreter;
	}
}

void lau_target_release(struct lau_target *t)
{
	b_arena_release(&t->arena);
	*t = (struct lau_target){0};
}
