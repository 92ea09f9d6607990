/* SPDX-License-Identifier: Apache-2.0 */
/* preload_log.c - see preload_log.h. */
#include "audit/preload_log.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/collect_priv.h"
#include "audit/read_log.h"
#include "base/mem.h"
#include "base/str.h"
#include "core/channel.h"
#include "core/event.h"
#include "core/path.h"
#include "core/ring.h"

static uint64_t sane(const _Atomic uint64_t *counter)
{
	uint64_t v = atomic_load_explicit(counter, memory_order_relaxed);

	return v < SBX_RING_COUNT_MAX ? v : SBX_RING_COUNT_MAX;
}

void aud_alone_read(const char *dir, struct aud_alone *out)
{
	b_auto(b_str_release) struct b_str path = {0};
	b_auto_fd int fd = -1;
	struct sbx_ring ring;
	struct stat st;
	uint64_t size;

	*out = (struct aud_alone){0};
	b_str_addf(&path, "%s/" SBX_CHANNEL_RING, dir);
	fd = open(path.s, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	/* read, not mapped: whoever may write it may make it shorter at any time */
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    pread(fd, &ring, sizeof ring, 0) != (ssize_t)sizeof ring ||
	    !sbx_ring_check(&ring, (size_t)st.st_size, &size) || !ring.is_alone)
		return;
	*out = (struct aud_alone){true, sane(&ring.lost), sane(&ring.internal)};
}

void aud_recount_init(struct aud_recount *r)
{
	*r = (struct aud_recount){0};
	r->procs = aud_procs_new(&r->counts);
}

void aud_recount_release(struct aud_recount *r)
{
	aud_procs_free(r->procs);
	*r = (struct aud_recount){0};
}

static unsigned call_of(const char *name)
{
	unsigned i = 0;

	while (i < SBX_CALL_COUNT && strcmp(name, sbx_call_name(i)) != 0)
		i++;
	return i;
}

static enum sbx_exec_class class_of(const char *name)
{
	unsigned i = 0;

	while (i < SBX_EXEC_MISSING &&
	       strcmp(name, sbx_exec_class_name((enum sbx_exec_class)i)) != 0)
		i++;
	return (enum sbx_exec_class)i;
}

static enum sbx_op op_of(const char *name)
{
	unsigned i = 0;

	while (i < SBX_OP_COUNT && strcmp(name, sbx_op_name((enum sbx_op)i)) != 0)
		i++;
	return (enum sbx_op)i;
}

void aud_recount_add(struct aud_recount *r, const struct aud_entry *e)
{
	struct sbx_event ev = {
		.pid = (uint32_t)e->pid,
		.ppid = (uint32_t)e->ppid,
		.call = (uint16_t)call_of(e->call),
		.op = (uint16_t)op_of(e->op),
		.flags = e->allowed ? SBX_EVF_ALLOWED : 0,
		.path_len = (uint16_t)strnlen(e->path, SBX_PATH_MAX - 1),
	};

	if (e->has_verdict && ev.op < SBX_OP_COUNT) {
		aud_counts_add(&r->counts, &ev, (uint64_t)e->count);
	} else if (strcmp(e->kind, aud_kind_name(AUD_QUERY)) == 0) {
		r->counts.events++;
		r->counts.queries++;
	}
	if (strcmp(e->kind, aud_kind_name(AUD_HELLO)) == 0) {
		aud_procs_hello(r->procs, &ev, e->path);
	} else if (strcmp(e->kind, aud_kind_name(AUD_EXEC)) == 0 && e->allowed) {
		ev.aux = class_of(e->image);
		aud_procs_exec(r->procs, &ev, e->path, 0, 0);
	} else if (e->err && e->allowed && ev.op == SBX_EXEC) {
		aud_procs_failed(r->procs, &ev);
	}
}
