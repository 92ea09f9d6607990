/* SPDX-License-Identifier: Apache-2.0 */
/* test_program.c - what a program about to start is; files that lie about it. */
#include "shim/exec.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/where.h"
#include "tests/unit/shim/image.h"

static char dir[64];
static struct shim_program p;

static void setup(void)
{
	strcpy(dir, "/tmp/test_program.XXXXXX");
	cr_assert(mkdtemp(dir));
	cr_assert_eq(chdir(dir), 0);
	test_policy("/denied", "/bin", "/usr/bin", SBX_AUDIT_ALL);
}

static void teardown(void)
{
	char command[128];

	snprintf(command, sizeof command, "rm -rf '%s'", dir);
	cr_expect_eq(system(command), 0);
}

TestSuite(shim_program, .init = setup, .fini = teardown);

static void write_file(const char *name, const void *data, size_t n, mode_t mode)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, mode);

	cr_assert(fd >= 0 && write(fd, data, n) == (ssize_t)n);
	close(fd);
}

static enum sbx_exec_class class_of(const char *path)
{
	shim_program_look(&p, AT_FDCWD, path, 0);
	return p.class;
}

Test(shim_program, a_dynamic_one)
{
	cr_expect_eq(class_of("/usr/bin/env"), SBX_EXEC_DYNAMIC);
	cr_expect_eq(p.err, 0);
	cr_expect_str_eq(p.path, "/usr/bin/env");
	cr_expect_eq(p.len, 12);
}

Test(shim_program, an_alias_and_links_are_followed)
{
	char want[96];

	cr_assert_eq(symlink("/bin/env", "one"), 0);
	cr_assert_eq(symlink("./one", "two"), 0);
	cr_assert_eq(mkdir("sub", 0700), 0);
	cr_assert_eq(symlink("../two", "sub/three"), 0);
	cr_expect_eq(class_of("sub/three"), SBX_EXEC_DYNAMIC);
	cr_expect_eq(p.len, 12);
	cr_expect_arr_eq(p.path, "/usr/bin/env", 12);
	write_file("script", "#!/bin/sh\n", 10, 0700);
	cr_expect_eq(class_of("./script"), SBX_EXEC_DYNAMIC);
	snprintf(want, sizeof want, "%s/script", dir);
	cr_expect_arr_eq(p.path, want, p.len);
	cr_expect(p.interp_len > 0);
}

Test(shim_program, dots_behind_a_link_mean_what_the_kernel_says)
{
	cr_assert_eq(mkdir("real", 0700) | mkdir("real/deep", 0700), 0);
	cr_assert_eq(symlink("real/deep", "jump"), 0);
	write_file("real/tool", "#!/bin/sh\n", 10, 0700);
	cr_assert_eq(symlink("jump/../tool", "link"), 0);
	shim_program_look(&p, AT_FDCWD, "link", 0);
	cr_expect_eq(p.err, 0);
	p.path[p.len] = '\0';
	cr_expect_str_eq(p.path + strlen(dir), "/real/tool");
}

Test(shim_program, a_chain_of_links_that_ends_nowhere)
{
	cr_assert_eq(symlink("b", "a") | symlink("a", "b"), 0);
	shim_program_look(&p, AT_FDCWD, "a", 0);
	cr_expect_eq(p.err, ELOOP);
}

Test(shim_program, what_the_kernel_will_refuse)
{
	cr_expect_eq(class_of("missing"), SBX_EXEC_MISSING);
	cr_expect_eq(p.err, ENOENT);
	write_file("plain", "x", 1, 0600);
	shim_program_look(&p, AT_FDCWD, "plain", 0);
	cr_expect_eq(p.err, EACCES);
	shim_program_look(&p, AT_FDCWD, ".", 0);
	cr_expect_eq(p.err, EACCES);
	shim_program_look(&p, AT_FDCWD, "plain/x", 0);
	cr_expect_eq(p.err, ENOTDIR);
	shim_program_look(&p, AT_FDCWD, "", 0);
	cr_expect_eq(p.err, ENOENT);
	shim_program_look(&p, AT_FDCWD, NULL, 0);
	cr_expect_eq(p.err, EFAULT);
	write_file("orphan", "#!/nonexistent/interp\n", 22, 0700);
	shim_program_look(&p, AT_FDCWD, "orphan", 0);
	cr_expect_eq(p.err, ENOENT);
}

Test(shim_program, shebangs_of_all_shapes)
{
	static const char *const lines[] = {"#!/bin/sh", "#! /bin/sh\n", "#!\t/bin/sh -e\n",
					    "#!/bin/sh\t-x"};
	size_t i;

	for (i = 0; i < sizeof lines / sizeof *lines; i++) {
		write_file("s", lines[i], strlen(lines[i]), 0700);
		cr_expect_eq(class_of("s"), SBX_EXEC_DYNAMIC, "%s", lines[i]);
	}
	write_file("s", "#!", 2, 0700);
	cr_expect_eq(class_of("s"), SBX_EXEC_UNREADABLE);
	write_file("s", "#!   \n", 6, 0700);
	cr_expect_eq(class_of("s"), SBX_EXEC_UNREADABLE);
	write_file("s", "", 0, 0700);
	cr_expect_eq(class_of("s"), SBX_EXEC_UNREADABLE);
}

struct elf {
	Elf64_Ehdr h;
	Elf64_Phdr p[2];
	char interp[64];
};

static struct elf good(const char *interp)
{
	struct elf e = {.h = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			      .e_type = ET_EXEC,
#if defined(__x86_64__)
			      .e_machine = EM_X86_64,
#else
			      .e_machine = EM_AARCH64,
#endif
			      .e_phoff = offsetof(struct elf, p),
			      .e_phentsize = sizeof(Elf64_Phdr),
			      .e_phnum = 2},
			.p = {{.p_type = PT_LOAD},
			      {.p_type = interp ? PT_INTERP : PT_NULL,
			       .p_offset = offsetof(struct elf, interp)}}};

	if (interp)
		strcpy(e.interp, interp);
	return e;
}

static enum sbx_exec_class class_of_elf(const struct elf *e)
{
	write_file("elf", e, sizeof *e, 0700);
	return class_of("elf");
}

Test(shim_program, loaders_tell_the_library)
{
	struct elf e = good("/lib64/ld-linux-x86-64.so.2");

	cr_expect_eq(class_of_elf(&e), SBX_EXEC_DYNAMIC);
	e = good("/lib/ld-musl-x86_64.so.1");
	cr_expect_eq(class_of_elf(&e), SBX_EXEC_DYNAMIC);
	e = good("/system/bin/linker64");
	cr_expect_eq(class_of_elf(&e), SBX_EXEC_OTHER_LIBC);
	e = good(NULL);
	cr_expect_eq(class_of_elf(&e), SBX_EXEC_STATIC);
}

Test(shim_program, foreign_machines)
{
	struct elf e = good(NULL);

	e.h.e_machine = EM_RISCV;
	cr_expect_eq(class_of_elf(&e), SBX_EXEC_FOREIGN);
	e = good(NULL);
	e.h.e_ident[EI_CLASS] = ELFCLASS32;
	cr_expect_eq(class_of_elf(&e), SBX_EXEC_FOREIGN);
}

Test(shim_program, headers_that_point_outside_the_file)
{
	struct elf e = good("/lib64/ld-linux-x86-64.so.2");

	e.h.e_phoff = UINT64_MAX - 7;
	cr_expect_eq(class_of_elf(&e), SBX_EXEC_UNREADABLE);
	e = good("/lib64/ld-linux-x86-64.so.2");
	e.h.e_phnum = UINT16_MAX;
	cr_expect_eq(class_of_elf(&e), SBX_EXEC_UNREADABLE);
	e = good("/lib64/ld-linux-x86-64.so.2");
	e.h.e_phentsize = 1;
	cr_expect_eq(class_of_elf(&e), SBX_EXEC_UNREADABLE);
	e = good("/lib64/ld-linux-x86-64.so.2");
	e.h.e_phoff += 1;
	cr_expect_eq(class_of_elf(&e), SBX_EXEC_UNREADABLE);
	e = good("/lib64/ld-linux-x86-64.so.2");
	e.p[1].p_offset = UINT64_MAX;
	cr_expect_eq(class_of_elf(&e), SBX_EXEC_UNREADABLE);
	write_file("elf", &e, 20, 0700);
	cr_expect_eq(class_of("elf"), SBX_EXEC_FOREIGN);
}

Test(shim_program, holding_closes_what_it_does_not_return)
{
	char buf[SBX_PATH_MAX];
	size_t len;
	int before = dup(0), fd;

	close(before);
	cr_assert_eq(symlink("/usr/bin/env", "l"), 0);
	fd = shim_hold(AT_FDCWD, "l", buf, &len);
	cr_expect_eq(fd, before);
	close(fd);
	cr_expect_eq(shim_hold(AT_FDCWD, "missing", buf, &len), -ENOENT);
	class_of("l");
	fd = dup(0);
	cr_expect_eq(fd, before);
}
