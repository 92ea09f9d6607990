/* SPDX-License-Identifier: Apache-2.0 */
/* Live tests of the broker: sockets of the file system. */
#include "launcher/linux/broker/public.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/support/brokertree.h"

TestSuite(launcher_broker_sockets, .init = sb_tree_set_up, .fini = sb_tree_tear_down);

static int address(struct sockaddr_un *un, const char *path)
{
	*un = (struct sockaddr_un){.sun_family = AF_UNIX};
	strcpy(un->sun_path, path);
	return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}
static int serve_self(void *arg)
{
	struct sockaddr_un un, got;
	socklen_t len = sizeof got;
	struct stat st;
	int a, b;

	(void)arg;
	if (chdir(sb_root) < 0)
		return 200;
	a = address(&un, "own.sock");
	if (bind(a, (struct sockaddr *)&un, sizeof un) < 0 || listen(a, 1) < 0)
		return errno;
	if (getsockname(a, (struct sockaddr *)&got, &len) < 0 || strcmp(got.sun_path, "own.sock"))
		return 201;
	if (stat("own.sock", &st) < 0 || (st.st_mode & 0777) != 0755)
		return 202;
	b = address(&un, sb_in("own.sock"));
	if (connect(b, (struct sockaddr *)&un, sizeof un) < 0)
		return errno;
	if (write(b, "x", 1) != 1)
		return errno;
	a = address(&un, sb_in("own.sock"));
	if (bind(a, (struct sockaddr *)&un, sizeof un) == 0 || errno != EADDRINUSE)
		return 203;
	return sb_result(unlink("own.sock"));
}
static int connect_to(const char *name)
{
	struct sockaddr_un un;
	int fd = address(&un, sb_in(name));

	return sb_result(connect(fd, (struct sockaddr *)&un, sizeof un));
}
static int connect_open(void *arg)
{
	(void)arg;
	return connect_to("open.sock");
}
static int connect_shut(void *arg)
{
	(void)arg;
	return connect_to("shut.sock");
}
static int connect_missing(void *arg)
{
	(void)arg;
	return connect_to("none.sock");
}
static int bind_denied(void *arg)
{
	struct sockaddr_un un;
	int fd = address(&un, sb_in("deny/s"));

	(void)arg;
	return sb_result(bind(fd, (struct sockaddr *)&un, sizeof un));
}

static void listen_at(const char *name)
{
	struct sockaddr_un un;
	int fd = address(&un, sb_in(name));

	cr_assert_eq(bind(fd, (struct sockaddr *)&un, sizeof un), 0);
	cr_assert_eq(listen(fd, 20), 0);
	cr_assert_eq(chmod(sb_in(name), 0777), 0);
}

Test(launcher_broker_sockets, sockets_of_the_host_need_a_rule_and_own_ones_do_not)
{
	listen_at("open.sock");
	listen_at("shut.sock");
	sb_expect_at(serve_self, POL_READ_NONE, SB_OK);
	sb_expect_at(connect_open, POL_READ_NONE, SB_OK);
	sb_expect_at(connect_shut, POL_READ_NONE, EACCES);
	sb_expect_at(connect_missing, POL_READ_NONE, ENOENT);
	sb_expect_at(bind_denied, POL_READ_NONE, EACCES);
}
