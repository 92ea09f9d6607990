/* SPDX-License-Identifier: Apache-2.0 */
/* marks.c - see marks.h. */
#include "shim/marks.h"

#include <stdatomic.h>
#include <stdint.h>

#include "core/decide.h"
#include "core/event.h"
#include "core/path.h"
#include "shim/judge.h"
#include "shim/mem.h"
#include "shim/paths_check.h"
#include "shim/proc.h"
#include "shim/sys_linux.h"

/* Directories by the hash of their path; bit 0: worth a try. Two that meet cost a call, or a walk
 * of the automata. */
enum { PLACES = 256 };
static _Atomic uint64_t places[PLACES];

static uint64_t key_of(const char *dir, size_t len)
{
	const uint64_t prime = UINT64_C(0x100000001b3);
	uint64_t h = UINT64_C(0xcbf29ce484222325) ^ (uint64_t)len, w;

	for (; len >= sizeof w; len -= sizeof w, dir += sizeof w) {
		__builtin_memcpy(&w, dir, sizeof w);
		h = (h ^ w) * prime;
		h ^= h >> 29;
	}
	for (; len; len--)
		h = (h ^ (unsigned char)*dir++) * prime;
	return (h ^ h >> 32) << 1;
}

static _Atomic uint64_t *place_of(uint64_t key)
{
	return &places[key >> 1 & (PLACES - 1)];
}

bool shim_marks_below(const char *path, size_t len)
{
	size_t parent = sbx_path_parent(path, len);
	uint64_t key, there;
	bool is_clean;

	if (parent <= 1)
		return false;
	key = key_of(path, parent);
	there = atomic_load_explicit(place_of(key), memory_order_relaxed);
	if (there >> 1 == key >> 1)
		return there & 1;
	is_clean = sbx_clean_below(&shim.image, path, parent);
	atomic_store_explicit(place_of(key), key | is_clean, memory_order_relaxed);
	return is_clean;
}

void shim_marks_not(const char *path, size_t len)
{
	uint64_t key = key_of(path, sbx_path_parent(path, len));

	atomic_store_explicit(place_of(key), key, memory_order_relaxed);
}

/* False as well where nothing is there: the kernel says so without a mark, too. */
static bool is_no_dir(const struct shim_end *e)
{
	struct stat st;

	return sys_lstatat(e->at, e->name, &st) == 0 && !S_ISDIR(st.st_mode);
}

/* Those with a row that says MARKED. */
static bool is_of_kind(unsigned call)
{
	switch (call) {
	case SBX_CALL_rename:
	case SBX_CALL_renameat:
	case SBX_CALL_renameat2:
	case SBX_CALL_link:
	case SBX_CALL_linkat:
	case SBX_CALL_unlink:
	case SBX_CALL_unlinkat:
	case SBX_CALL_rmdir:
	case SBX_CALL_mkdir:
	case SBX_CALL_mkdirat:
		return true;
	}
	return false;
}

bool shim_op_marks(const struct shim_op *op)
{
	if (!is_of_kind(op->call))
		return false;
	for (unsigned i = 0; i < op->nends; i++)
		if (op->end[i].deep || !shim_marks_below(op->end[i].path, op->end[i].len))
			return false;
	switch (op->moving) {
	case SHIM_STAYS:
	case SHIM_LINKS:
		break;
	case SHIM_SWAPS:
		if (!is_no_dir(&op->end[1]))
			return false;
		/* fall through */
	case SHIM_MOVES:
		return is_no_dir(&op->end[0]);
	}
	return true;
}

bool shim_op_marked(const struct shim_op *op, long rc, int *out)
{
	if (rc == -EXDEV)
		return false;
	if (rc == -EACCES) {
		for (unsigned i = 0; i < op->nends; i++)
			shim_marks_not(op->end[i].path, op->end[i].len);
		return false;
	}
	*out = (int)shim_result(rc);
	return true;
}

/* ---- opens ---- */

/* Apart: only this takes room. */
static __attribute__((noinline)) bool read_back(struct shim_once *o, int fd)
{
	char *buf SHIM_GIVEN_BACK = SHIM_ROOM(SBX_PATH_MAX);
	size_t n = shim_fd_text(fd, buf);

	o->is_elsewhere = n != o->text.len || memcmp(buf, o->buf, n) != 0;
	if (n && o->is_elsewhere)
		memcpy(o->buf, buf, n + 1);
	if (n)
		o->text.len = n;
	return n > 0;
}

int shim_open_at_once(struct shim_once *o)
{
	bool is_absolute = o->text.flags & SHIM_TEXT_ABSOLUTE;
	size_t parent = sbx_path_parent(o->buf, o->text.len);
	bool is_near = !is_absolute && (parent == o->text.base || (parent == 1 && !o->text.base));
	int at = is_absolute ? AT_FDCWD : o->dirfd, fd;

	if (o->text.flags & SBX_PATH_TRAILING ||
	    (o->writes && !shim_marks_below(o->buf, o->text.len)))
		return SHIM_NOT_AT_ONCE;
	/* of a directory the kernel's rules say whether it is listed; the broker says it otherwise
	 */
	fd = (int)sys4(SYS_openat, o->writes || o->flags & O_DIRECTORY ? sys_mark(at) : at,
		       is_absolute ? o->buf : o->path, o->flags | O_NOFOLLOW, o->mode);
	if (fd == -EACCES && o->writes)
		shim_marks_not(o->buf, o->text.len);
	if (fd == -EACCES || fd == -ELOOP)
		return SHIM_NOT_AT_ONCE;
	if (fd < 0 || is_near || read_back(o, fd))
		return fd;
	sys_close(fd);
	return SHIM_NOT_AT_ONCE;
}
