/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of launcher/linux/confine/inherited.c: which descriptors of the caller the command may
 * have. What each kind can do, and does inside, is tests/escape/run-inherited.sh's. */
#include "launcher/linux/confine/confine_priv.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"

/* As standard input of this process. */
static int check(const struct lau_inherited *in, int fd, struct b_err *err)
{
	*err = (struct b_err){0};
	cr_assert_eq(dup2(fd, 0), 0);
	close(fd);
	return lau_inherited_check(in, err);
}

Test(launcher_inherited, a_refusal_names_descriptor_kind_and_remedies)
{
	struct b_err err;

	cr_assert_eq(check(&(struct lau_inherited){0}, open("/", O_RDONLY | O_DIRECTORY), &err),
		     -1);
	cr_expect_eq(err.kind, B_FLOOR);
	cr_expect(strstr(err.msg, "standard input (descriptor 0) is a directory"), "%s", err.msg);
	cr_expect(strstr(err.msg, "</dev/null"), "%s", err.msg);
	cr_expect(strstr(err.msg, "--keep-fd 0"), "%s", err.msg);
}

Test(launcher_inherited, what_is_kept_or_replaced_is_not_judged)
{
	const int zero = 0, replaced[] = {5, -1, -1}, others[] = {-1, 5, 5};
	struct b_err err;

	cr_assert_eq(check(&(struct lau_inherited){.keep_fds = &zero, .nkeep_fds = 1},
			   open("/", O_PATH), &err),
		     0);
	cr_expect_eq(lau_inherited_check(&(struct lau_inherited){.replaced = replaced}, &err), 0);
	cr_expect_eq(lau_inherited_check(&(struct lau_inherited){.replaced = others}, &err), -1);
}

Test(launcher_inherited, sockets_of_the_network_pass_where_the_network_is_the_hosts)
{
	struct b_err err;

	cr_assert_eq(check(&(struct lau_inherited){.is_guarded = true, .unix_host = true},
			   socket(AF_INET, SOCK_DGRAM, 0), &err),
		     -1);
	cr_expect_eq(lau_inherited_check(&(struct lau_inherited){.net_host = true}, &err), 0);
}

Test(launcher_inherited, datagrams_of_unix_pass_where_its_sockets_are_the_hosts)
{
	struct b_err err;

	cr_assert_eq(check(&(struct lau_inherited){.net_host = true},
			   socket(AF_UNIX, SOCK_DGRAM, 0), &err),
		     -1);
	cr_expect_eq(lau_inherited_check(&(struct lau_inherited){.unix_host = true}, &err), 0);
}

Test(launcher_inherited, a_pipe_with_a_name_is_another_kind)
{
	char name[] = "/tmp/sbx-fifo-XXXXXX";
	int p[2];

	cr_assert_eq(pipe2(p, O_CLOEXEC), 0);
	cr_expect_eq(lau_fd_kind(p[0]), LAU_FD_PIPE);
	cr_assert(mkdtemp(name));
	cr_assert_eq(chdir(name), 0);
	cr_assert_eq(mkfifo("f", 0600), 0);
	cr_expect_eq(lau_fd_kind(open("f", O_RDWR | O_CLOEXEC)), LAU_FD_FIFO);
	cr_expect_eq(lau_fd_kind(-1), LAU_FD_KERNEL, "what cannot be asked does not pass");
	unlink("f");
	rmdir(name);
}

Test(launcher_inherited, a_master_is_refused_and_its_terminal_is_not)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), slave;
	struct b_err err;

	cr_assert(master >= 0 && unlockpt(master) == 0);
	slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	cr_assert_geq(slave, 0);
	cr_expect_eq(lau_fd_kind(slave), LAU_FD_TERMINAL);
	cr_expect_eq(lau_fd_kind(master), LAU_FD_MASTER);
	cr_expect_eq(check(&(struct lau_inherited){0}, slave, &err), 0);
	cr_expect_eq(
		check(&(struct lau_inherited){.net_host = true, .unix_host = true}, master, &err),
		-1);
	cr_expect(strstr(err.msg, "is the master of a terminal"), "%s", err.msg);
}

Test(launcher_inherited, the_number_of_the_network_is_that_of_its_sockets)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	uint64_t where = 0;
	socklen_t len = sizeof where;

	cr_assert_eq(getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &where, &len), 0);
	cr_expect_neq(where, 0);
	cr_expect_eq(lau_net_cookie(), where);
	cr_expect_neq(lau_socket_cookie(fd), 0);
	cr_expect_eq(lau_socket_cookie(open("/", O_PATH | O_CLOEXEC)), 0);
}
