/* execclass.c - see execclass.h; elf(5), execve(2). */
#include "launcher/execclass.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "launcher/linux/interp.h"

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
