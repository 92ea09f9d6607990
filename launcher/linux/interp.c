/* interp.c - see interp.h. The file may be hostile: every offset is the kernel's to refuse, ours to
 * survive. */
#include "launcher/linux/interp.h"

#include <elf.h>
#include <string.h>
#include <unistd.h>

enum {
	LINE_MAX_BYTES = 256,			 /* BINPRM_BUF_SIZE: no more of "#!" is read */
	HEADERS_MAX = 65536 / sizeof(Elf64_Phdr) /* load_elf_phdrs() of Linux */
};

static enum lau_interp read_line(char *head, size_t n, char out[PATH_MAX])
{
	char *word = head + 2;

	head[n] = '\0';
	word += strspn(word, " \t");
	word[strcspn(word, " \t\n")] = '\0';
	if (!*word)
		return LAU_INTERP_NONE;
	strcpy(out, word); /* shorter than the line */
	return LAU_INTERP_SCRIPT;
}

static enum lau_interp read_loader(int fd, const Elf64_Ehdr *eh, char out[PATH_MAX])
{
	if (eh->e_ident[EI_CLASS] != ELFCLASS64 || eh->e_phentsize != sizeof(Elf64_Phdr) ||
	    eh->e_phnum > HEADERS_MAX)
		return LAU_INTERP_NONE;
	for (unsigned i = 0; i < eh->e_phnum; i++) {
		Elf64_Phdr ph;

		if (pread(fd, &ph, sizeof ph, (off_t)(eh->e_phoff + i * sizeof ph)) !=
		    (ssize_t)sizeof ph)
			return LAU_INTERP_NONE;
		if (ph.p_type != PT_INTERP)
			continue;
		/* the kernel takes the first one, and wants its NUL */
		if (ph.p_filesz < 2 || ph.p_filesz > PATH_MAX ||
		    pread(fd, out, ph.p_filesz, (off_t)ph.p_offset) != (ssize_t)ph.p_filesz ||
		    out[ph.p_filesz - 1] != '\0')
			return LAU_INTERP_NONE;
		return LAU_INTERP_LOADER;
	}
	return LAU_INTERP_NONE;
}

enum lau_interp lau_interp_read(int fd, char out[PATH_MAX])
{
	char head[LINE_MAX_BYTES + 1];
	ssize_t n = pread(fd, head, LINE_MAX_BYTES, 0);
	Elf64_Ehdr eh;

	if (n > 2 && memcmp(head, "#!", 2) == 0)
		return read_line(head, (size_t)n, out);
	if (n < (ssize_t)sizeof eh || memcmp(head, ELFMAG, SELFMAG) != 0)
		return LAU_INTERP_NONE;
	memcpy(&eh, head, sizeof eh);
	return read_loader(fd, &eh, out);
}
