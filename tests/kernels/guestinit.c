/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guestinit.c - the first process of a guest whose root is a disk (readme.sh): loads the modules
 * that /modules names, one a line, mounts /dev/vda and becomes its /init. Static, in an initramfs.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static void load(const char *file)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || syscall(SYS_finit_module, fd, "", 0) < 0)
		perror(file);
	if (fd >= 0)
		close(fd);
}

int main(void)
{
	char line[256];
	FILE *list = fopen("/modules", "re");

	while (list && fgets(line, sizeof line, list)) {
		line[strcspn(line, "\n")] = '\0';
		load(line);
	}
	(void)mkdir("/dev", 0755);
	(void)mkdir("/root", 0755);
	if (mount("dev", "/dev", "devtmpfs", 0, NULL) < 0)
		perror("/dev");
	for (int i = 0; i < 50 && access("/dev/vda", F_OK) < 0; i++)
		usleep(100000);
	if (mount("/dev/vda", "/root", "ext4", MS_NOATIME, NULL) < 0 || chdir("/root") < 0 ||
	    chroot(".") < 0)
		perror("/dev/vda");
	execl("/init", "/init", (char *)NULL);
	perror("/init");
	return 1;
}
