/* SPDX-License-Identifier: Apache-2.0 */
/* test_next.c - finding functions without dlsym. Here the "own" object is the test itself, so
 * that the next definitions are those of the libraries. */
#include "shim/next.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "policy/plan/seccomp.h"
#include "shim/proc.h"
#include "shim/sys_linux.h"
#include "shim/mem.h"

Test(shim_next, finds_what_dlsym_finds)
{
	cr_expect_eq((void *)NEXT(open), dlsym(RTLD_NEXT, "open"));
	cr_expect_eq((void *)NEXT(unlinkat), dlsym(RTLD_NEXT, "unlinkat"));
	cr_expect_eq((void *)NEXT(fdopendir), dlsym(RTLD_NEXT, "fdopendir"));
}

Test(shim_next, takes_the_default_of_several_versions)
{
	cr_expect_eq((void *)NEXT(posix_spawn), dlvsym(RTLD_NEXT, "posix_spawn", "GLIBC_2.15"));
}

Test(shim_next, a_missing_function_fails_by_errno)
{
	/* openat2 has a wrapper from glibc 2.43 on */
	if (dlsym(RTLD_NEXT, "openat2"))
		cr_skip_test("this C library has openat2");
	errno = 0;
	cr_expect_eq(((int (*)(void))shim_next(NEXT_openat2))(), -1);
	cr_expect_eq(errno, ENOSYS);
}

Test(shim_next, the_c_librarys_own_open_is_not_foreign)
{
	cr_expect_not(shim_next_is_foreign(NEXT_open));
}

Test(shim_next, the_vdso_tells_the_time)
{
	struct timespec t;
	uint64_t before, now, after;

	clock_gettime(CLOCK_REALTIME, &t);
	before = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
	now = shim_now_ns();
	clock_gettime(CLOCK_REALTIME, &t);
	after = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
	cr_expect(before <= now && now <= after);
	cr_expect_not_null(shim_vdso("__vdso_clock_gettime"));
	cr_expect_null(shim_vdso("no_such_symbol"));
}

Test(shim_next, the_brokers_filter_knows_the_quick_openat2)
{
	int fd = sys_open_quickly(AT_FDCWD, "/", O_PATH, 0);

	cr_expect_eq(SHIM_QUICK_HOW_SIZE, POL_QUICK_HOW_SIZE);
	cr_expect_geq(fd, 0, "the kernel takes it");
	close(fd);
}

Test(shim_next, paths_of_descriptors_and_other_strings)
{
	char buf[SHIM_FD_PATH_SIZE], small[4] = "";
	size_t pos = 0;

	cr_expect_str_eq(shim_fd_path(buf, 0), "/proc/self/fd/0");
	cr_expect_str_eq(shim_fd_path(buf, 2147483647), "/proc/self/fd/2147483647");
	cr_expect(shim_append(small, sizeof small, &pos, "abc", 3));
	cr_expect_not(shim_append(small, sizeof small, &pos, "d", 1));
	cr_expect_str_eq(small, "abc");
	cr_expect_str_eq(shim_basename("/a/b"), "b");
	cr_expect_str_eq(shim_basename("a"), "a");
	cr_expect_str_eq(shim_env_value("A=b", "A"), "b");
	cr_expect_null(shim_env_value("AB=b", "A"));
	cr_expect_null(shim_env_value("A", "A"));
}
