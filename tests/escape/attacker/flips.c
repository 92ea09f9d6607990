/* SPDX-License-Identifier: Apache-2.0 */
/* flips.c - operations that other threads run again and again: what a call means is another
 * before and after. */
#include "composites.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ARG(i) ak_argument(t, op, (i))

/* Between a moment and half a millisecond. */
static void wait_a_bit(struct ak_thread *t)
{
	for (volatile unsigned n = ak_rnd(&t->rng, ak_rnd(&t->rng, 4) ? 900 : 20000); n > 0; n--)
		;
}

/* Two spellings into one buffer, the harmless one and the other. */
long ak_op_flip_path(struct ak_thread *t, const struct ak_op *op)
{
	char *buffer = ak_arena->path[op->v[0] % AK_BUFFERS];
	size_t n;

	ak_spell(op->v[1 + t->turns % 2] & ~(7u << 13), t->text[1 + t->turns % 2]);
	n = strlen(t->text[1 + t->turns % 2]) + 1;
	memcpy(buffer, t->text[1 + t->turns % 2], n);
	wait_a_bit(t);
	return 0;
}

long ak_op_flip_how(struct ak_thread *t, const struct ak_op *op)
{
	const struct open_how *how = (const void *)ARG(1 + t->turns % 2);

	if (how == &t->how)
		ak_arena->how[op->v[0] % 2] = *how;
	wait_a_bit(t);
	return 0;
}

long ak_op_flip_addr(struct ak_thread *t, const struct ak_op *op)
{
	const void *a = (const void *)ARG(1 + t->turns % 2);

	if (a == &t->addr)
		ak_arena->addr[op->v[0] % 2] = t->addr;
	wait_a_bit(t);
	return 0;
}

long ak_op_flip_fd(struct ak_thread *t, const struct ak_op *op)
{
	int to = AK_SLOT + (int)(op->v[0] % AK_SLOTS), from = ak_fd_number(op->v[1 + t->turns % 2]);
	long rc = to == from ? 0 : dup2(from, to);

	wait_a_bit(t);
	return rc;
}

/* A symlink that leads elsewhere each time, put in its place by a rename. */
long ak_op_flip_link(struct ak_thread *t, const struct ak_op *op)
{
	char name[40];
	long rc;

	snprintf(name, sizeof name, "src/.l%u", t->number);
	syscall(SYS_unlink, name);
	rc = syscall(SYS_symlink, ARG(1 + t->turns % 2), name);
	if (rc == 0)
		rc = syscall(SYS_rename, name, ARG(0));
	wait_a_bit(t);
	return rc;
}

long ak_op_flip_exchange(struct ak_thread *t, const struct ak_op *op)
{
	long rc = syscall(SYS_renameat2, AT_FDCWD, ARG(0), AT_FDCWD, ARG(1), RENAME_EXCHANGE);

	wait_a_bit(t);
	return rc;
}

/* From one name to the other and back; the first is made when it is not there. */
long ak_op_flip_name(struct ak_thread *t, const struct ak_op *op)
{
	unsigned from = t->turns % 2;
	long rc = syscall(SYS_rename, ARG(from), ARG(1 - from));

	if (rc < 0 && errno == ENOENT && from == 0)
		syscall(SYS_mkdir, ARG(0), 0755);
	wait_a_bit(t);
	return rc;
}

long ak_op_flip_object(struct ak_thread *t, const struct ak_op *op)
{
	long rc = syscall(SYS_unlink, ARG(0)), fd;

	switch (t->turns % 4) {
	case 0:
		rc = syscall(SYS_mkdir, ARG(0), 0755);
		break;
	case 1:
		syscall(SYS_rmdir, ARG(0));
		rc = syscall(SYS_mknod, ARG(0), S_IFIFO | 0644, 0);
		break;
	case 2:
		fd = syscall(SYS_openat, AT_FDCWD, ARG(0), O_CREAT | O_RDWR | O_NONBLOCK, 0644);
		rc = fd;
		if (fd >= 3)
			close((int)fd);
		break;
	default:
		rc = syscall(SYS_link, "src/b", ARG(0));
	}
	wait_a_bit(t);
	return rc;
}

long ak_op_flip_cwd(struct ak_thread *t, const struct ak_op *op)
{
	long rc = syscall(SYS_chdir, ARG(t->turns % 2));

	wait_a_bit(t);
	return rc;
}

long ak_op_flip_umask(struct ak_thread *t, const struct ak_op *op)
{
	umask((mode_t)ARG(t->turns % 2) & 0777);
	wait_a_bit(t);
	return 0;
}
