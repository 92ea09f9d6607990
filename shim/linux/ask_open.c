/* SPDX-License-Identifier: Apache-2.0 */
/* ask_open.c - judges an open that the program makes itself; see open.h. */
#include "shim/open.h"
#include "shim/linux/open_priv.h"

#include "core/decide.h"
#include "core/event.h"
#include "core/image.h"
#include "shim/judge.h"
#include "shim/mem.h"
#include "shim/proc.h"
#include "shim/sys_linux.h"
#include "shim/where.h"

bool shim_opens(void)
{
	return shim_is_ready() && !shim_has_filter() && !shim_is_open_foreign();
}

static int ask(struct shim_asked *a, bool is_new)
{
	struct shim_judged j = shim_open_judge(a->flags, is_new, a->buf, a->len);
	struct shim_open r = {a->call, a->dirfd, a->path, a->flags, 0, a->buf, a->len};

	a->op = j.op;
	a->key = j.key;
	a->is_told = j.allowed;
	return j.allowed ? 0 : shim_open_deny(&r, &j, 0);
}

static int unknown(void)
{
	return shim_trouble() ? -EACCES : 0;
}

/* The verdict is of the whole path, what is told later of its beginning. */
static __attribute__((noinline)) int ask_deep(struct shim_asked *a)
{
	char *buf = a->buf;
	struct shim_deep d;
	struct stat st;
	int ret = shim_deep_find(&d, a->dirfd, a->path, !(a->flags & O_NOFOLLOW));

	if (ret == SHIM_DEEP_UNKNOWN) {
		ret = unknown();
	} else if (ret == 0) {
		a->buf = d.room;
		a->len = d.len;
		ret = ask(a, sys_lstatat(d.at, d.name, &st) < 0);
		a->buf = buf;
		a->is_cut = d.len >= SBX_PATH_MAX;
		a->rule =
			(unsigned)sbx_attribute(&shim.image, (enum sbx_op)a->op, d.room, d.len) + 1;
		a->len = a->is_cut ? SBX_PATH_MAX - 1 : d.len;
		memcpy(buf, d.room, a->len);
		buf[a->len] = '\0';
	} else {
		ret = 0; /* what the kernel says of the path it will say again */
	}
	shim_deep_release(&d);
	return ret;
}

int shim_may_open(struct shim_asked *a)
{
	struct shim_open r = {a->call, a->dirfd, a->path, a->flags, 0, a->buf, 0};
	const char *name;
	bool is_deep;
	int fd;

	a->is_told = a->is_cut = false;
	if (!shim_is_ready() || shim_is_no_pointer(a->path) || !*a->path || a->flags & O_PATH)
		return 0;
	if (shim_has_filter()) {
		a->len = shim_text(a->buf, a->dirfd, a->path).len;
		return a->len ? ask(a, a->flags & O_CREAT) : unknown();
	}
	fd = sys_openat(a->dirfd, a->path, O_PATH | O_CLOEXEC | (a->flags & O_NOFOLLOW), 0);
	if (fd >= 0) {
		a->len = shim_fd_text(fd, a->buf);
		is_deep = !a->len && shim_is_deep(fd);
		sys_close(fd);
		if (is_deep)
			return ask_deep(a);
		return a->len ? ask(a, false) : 0;
	}
	if (shim_is_own_limit(fd))
		return unknown();
	/* what the kernel says of the path it will say again */
	if (fd != -ENOENT || !(a->flags & O_CREAT))
		return 0;
	fd = shim_open_parent(&r, a->dirfd, a->path, &name);
	if (fd < 0)
		return fd == SHIM_NO_TEXT ? ask_deep(a) : 0;
	sys_close(fd);
	a->len = r.len;
	return ask(a, true);
}

void shim_opened(const struct shim_asked *a, int err)
{
	struct shim_told t = {
		.call = a->call,
		.op = (enum sbx_op)a->op,
		.err = err,
		.flags = SBX_EVF_ALLOWED | (a->is_cut ? SBX_EVF_TRUNCATED : 0),
		.rule = a->is_cut ? a->rule : 0,
		.path = a->buf,
		.len = a->len,
	};

	if (a->is_told)
		shim_tell(&t, a->key);
}
