/* target.c - see target.h. */
#include "launcher/macos/target.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "core/macho.h"
#include "launcher/program.h"
#include "launcher/script.h"

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
