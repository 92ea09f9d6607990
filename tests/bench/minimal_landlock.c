/* SPDX-License-Identifier: Apache-2.0 */
/*
 * minimal_landlock.c - the least that a program can do with Landlock alone, as a peer for
 * tests/bench/peers: everything may be read and executed, one directory changed.
 *
 *	minimal_landlock DIR COMMAND...
 */
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define READS                                                                                      \
	(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define ALL ((1ull << 14) - 1) /* ABI 2 */

static int grant(int ruleset, const char *path, unsigned long long access)
{
	struct landlock_path_beneath_attr rule = {.allowed_access = access,
						  .parent_fd = open(path, O_PATH | O_CLOEXEC)};

	return rule.parent_fd < 0 ? -1
				  : (int)syscall(SYS_landlock_add_rule, ruleset,
						 LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
}

int main(int argc, char **argv)
{
	const struct landlock_ruleset_attr attr = {.handled_access_fs = ALL};
	int fd = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof attr, 0);

	if (argc < 3 || fd < 0 || grant(fd, "/", READS) < 0 || grant(fd, argv[1], ALL) < 0 ||
	    grant(fd, "/dev", READS | LANDLOCK_ACCESS_FS_WRITE_FILE) < 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    syscall(SYS_landlock_restrict_self, fd, 0) < 0) {
		perror("minimal_landlock");
		return 125;
	}
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 127;
}
