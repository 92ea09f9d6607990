/* SPDX-License-Identifier: Apache-2.0 */
/* process.c - see collect_priv.h. */
#include "audit/collect_priv.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "base/mem.h"
#include "core/event.h"

enum {
	SLOTS = 16384,	    /* processes remembered, direct-mapped by pid */
	EXES_MAX = 1024,    /* distinct executables remembered by name */
	PENDING_MAX = 4096, /* announced images that have not said hello */
	SETTLE_MS = 1000    /* a failed exec is reported well within this */
};

struct exe {
	UT_hash_handle hh;
	char *path;
};

struct slot {
	uint32_t pid;
	bool has_pending;
	bool is_early;	/* said hello before anyone announced it */
	bool is_known;	/* spoke, was announced, or is counted already */
	bool is_served; /* waits to be counted */
	bool is_image;	/* said hello */
	bool has_called, has_ended;
	const char *exe;
	uint64_t origin;
};

struct pending {
	uint32_t pid, ppid;
	enum sbx_exec_class cls;
	bool is_spawn;
	const char *exe;
	uint64_t seq, since_ms;
};

struct aud_procs {
	struct aud_counts *counts;
	struct slot *slots;
	struct exe *exes; /* uthash */
	struct pending *pending;
	size_t npending;
	bool is_nameless;
};

struct aud_procs *aud_procs_new(struct aud_counts *counts)
{
	struct aud_procs *p = b_calloc(1, sizeof *p);

	p->counts = counts;
	p->slots = b_calloc(SLOTS, sizeof *p->slots);
	p->pending = b_calloc(PENDING_MAX, sizeof *p->pending);
	return p;
}

void aud_procs_free(struct aud_procs *p)
{
	struct exe *e, *next;

	if (!p)
		return;
	e = p->exes;
	HASH_CLEAR(hh, p->exes); /* the table; the elements stay linked */
	for (; e; e = next) {
		next = e->hh.next;
		free(e->path);
		free(e);
	}
	free(p->slots);
	free(p->pending);
	free(p);
}

/* One copy of each name; NULL when there are too many to be true. */
static const char *intern(struct aud_procs *p, const char *path, size_t len)
{
	struct exe *e;

	HASH_FIND(hh, p->exes, path, len, e);
	if (e)
		return e->path;
	if (HASH_COUNT(p->exes) >= EXES_MAX)
		return NULL;
	e = b_calloc(1, sizeof *e);
	e->path = b_strndup(path, len);
	HASH_ADD_KEYPTR(hh, p->exes, e->path, len, e);
	return e->path;
}

static struct slot *slot_of(struct aud_procs *p, uint32_t pid)
{
	return &p->slots[pid % SLOTS];
}

/* The slot of pid; a process not seen before is taken for a fork of its parent. */
static struct slot *known(struct aud_procs *p, uint32_t pid, uint32_t ppid)
{
	struct slot *s = slot_of(p, pid), *parent = slot_of(p, ppid);

	if (s->pid == pid)
		return s;
	*s = (struct slot){.pid = pid};
	if (parent != s && parent->pid == ppid) {
		s->exe = parent->exe;
		s->origin = parent->origin;
	}
	return s;
}

void aud_procs_fork(struct aud_procs *p, const struct sbx_event *ev)
{
	struct slot *s = slot_of(p, ev->pid), *image = slot_of(p, ev->image_pid);

	if (s->pid == ev->pid || slot_of(p, ev->ppid)->pid == ev->ppid)
		return;
	if (image != s && image->pid == ev->image_pid)
		*s = (struct slot){.pid = ev->pid, .exe = image->exe, .origin = image->origin};
}

const char *aud_procs_exe(struct aud_procs *p, uint32_t pid, uint32_t ppid)
{
	return known(p, pid, ppid)->exe;
}

uint64_t aud_procs_origin(struct aud_procs *p, uint32_t pid, uint32_t ppid)
{
	return known(p, pid, ppid)->origin;
}

bool aud_procs_is_image(struct aud_procs *p, uint32_t pid, uint32_t ppid)
{
	return known(p, pid, ppid)->is_image;
}

/* Told by the parent once the child has its pid: the child may have said hello before. */
static bool is_spawn(unsigned call)
{
	return call == SBX_CALL_posix_spawn || call == SBX_CALL_posix_spawnp ||
	       call == SBX_CALL_system || call == SBX_CALL_popen || call == SBX_CALL_start;
}

static void drop(struct aud_procs *p, size_t i)
{
	p->npending--;
	memmove(&p->pending[i], &p->pending[i + 1], (p->npending - i) * sizeof p->pending[0]);
}

/* Newest pending of pid, or npending. */
static size_t find(const struct aud_procs *p, uint32_t pid)
{
	size_t i = p->npending;

	while (i--)
		if (p->pending[i].pid == pid)
			return i;
	return p->npending;
}

/* Can an image of this class say hello? What runs set-id or was unreadable to its caller may
 * after all; a static program that execs a dynamic one without the shim's help may not be
 * mistaken for it. */
static bool may_speak(enum sbx_exec_class c)
{
	return c == SBX_EXEC_DYNAMIC || c == SBX_EXEC_SECURE || c == SBX_EXEC_CAPS ||
	       c == SBX_EXEC_UNREADABLE;
}

/* The announced image never came to be. */
static void take_back(struct aud_procs *p, size_t i)
{
	p->counts->processes--;
	p->counts->unwitnessed_by_class[p->pending[i].cls]--;
	drop(p, i);
}

static void add_pending(struct aud_procs *p, const struct pending *q)
{
	if (p->npending == PENDING_MAX) /* its counts stay: announced and never heard of */
		drop(p, 0);
	p->counts->processes++;
	p->counts->unwitnessed_by_class[q->cls]++;
	p->pending[p->npending++] = *q;
}

void aud_procs_exec(struct aud_procs *p, const struct sbx_event *ev, const char *path, uint64_t seq,
		    uint64_t now_ms)
{
	struct slot *s = known(p, ev->pid, ev->ppid);
	struct pending q = {
		.pid = ev->pid,
		.ppid = ev->ppid,
		.cls = (enum sbx_exec_class)ev->aux,
		.is_spawn = is_spawn(ev->call),
		.seq = seq,
		.since_ms = now_ms,
	};

	if (q.cls == SBX_EXEC_MISSING)
		return;
	s->is_known = true;
	if (q.is_spawn && s->is_early && may_speak(q.cls)) {
		s->is_early = false; /* counted when it said hello */
		s->origin = s->origin ? s->origin : seq;
		return;
	}
	if (!q.is_spawn && s->has_pending) { /* it lives on to exec again: that one failed */
		size_t old = find(p, ev->pid);

		if (old < p->npending)
			take_back(p, old);
	}
	q.exe = intern(p, path, ev->path_len);
	add_pending(p, &q);
	s->has_pending = !q.is_spawn; /* a spawned child never speaks as the old image */
}

void aud_procs_hello(struct aud_procs *p, const struct sbx_event *ev, const char *path)
{
	struct slot *s = slot_of(p, ev->pid);
	bool was_early = s->pid == ev->pid && s->is_early;
	size_t i = find(p, ev->pid);

	*s = (struct slot){
		.pid = ev->pid,
		.is_early = was_early,
		.is_known = true,
		.is_image = true,
		.exe = intern(p, path, ev->path_len),
	};
	p->counts->witnessed++;
	if (i == p->npending || !may_speak(p->pending[i].cls)) {
		/* not announced yet, or by nobody: an unwitnessed parent ran it */
		p->counts->processes++;
		s->is_early = true;
		return;
	}
	s->origin = p->pending[i].seq;
	p->counts->unwitnessed_by_class[p->pending[i].cls]--;
	drop(p, i);
}

void aud_procs_failed(struct aud_procs *p, const struct sbx_event *ev)
{
	struct slot *s = known(p, ev->pid, ev->ppid);
	size_t i;

	if (!s->has_pending)
		return;
	s->has_pending = false; /* the old image still speaks */
	i = find(p, ev->pid);
	if (i < p->npending)
		take_back(p, i);
}

void aud_procs_speaks(struct aud_procs *p, uint32_t pid, uint32_t ppid)
{
	if (pid)
		known(p, pid, ppid)->is_known = true;
	else
		p->is_nameless = true;
}

bool aud_procs_is_silent(struct aud_procs *p, uint32_t pid, uint32_t ppid)
{
	const struct slot *s = pid && !p->is_nameless ? known(p, pid, ppid) : NULL;

	return s && !s->is_known && !s->is_served;
}

bool aud_procs_gone(struct aud_procs *p, uint32_t pid)
{
	struct slot *s = slot_of(p, pid);

	if (s->pid != pid || s->has_ended)
		return false;
	s->has_ended = true;
	return true;
}

bool aud_procs_ended(struct aud_procs *p, uint32_t pid, uint32_t ppid)
{
	struct slot *s = known(p, pid, ppid);
	bool is_first = s->is_image && !s->has_ended;

	s->has_ended = true;
	return is_first;
}

bool aud_procs_first_call(struct aud_procs *p, uint32_t pid, uint32_t ppid)
{
	struct slot *s = known(p, pid, ppid);
	bool is_first = !s->has_called;

	s->has_called = true;
	return is_first;
}

void aud_procs_served(struct aud_procs *p, const struct sbx_event *ev, const char *exe,
		      uint64_t now_ms)
{
	size_t i = find(p, ev->pid);

	known(p, ev->pid, ev->ppid)->is_served = true;
	if (i < p->npending || p->npending == PENDING_MAX)
		return;
	p->pending[p->npending++] = (struct pending){
		.pid = ev->pid,
		.ppid = ev->ppid,
		.cls = SBX_EXEC_UNANNOUNCED,
		.exe = intern(p, exe, strlen(exe)),
		.since_ms = now_ms,
	};
}

/* Not counted until it is sure. */
static bool is_unannounced(struct aud_procs *p, const struct pending *q)
{
	struct slot *s = slot_of(p, q->pid);

	if (s->pid != q->pid || s->is_known || p->is_nameless)
		return false;
	s->is_known = true;
	p->counts->processes++;
	p->counts->unwitnessed_by_class[q->cls]++;
	return true;
}

bool aud_procs_settled(struct aud_procs *p, uint64_t now_ms, bool final,
		       struct aud_unwitnessed *out)
{
	size_t i;

	for (i = 0; i < p->npending; i++) {
		const struct pending *q = &p->pending[i];

		if (!final && (q->cls == SBX_EXEC_DYNAMIC || now_ms - q->since_ms < SETTLE_MS))
			continue;
		if (q->cls == SBX_EXEC_UNANNOUNCED && !is_unannounced(p, q)) {
			drop(p, i--);
			continue;
		}
		*out = (struct aud_unwitnessed){.pid = q->pid,
						.ppid = q->ppid,
						.cls = q->cls,
						.path = q->exe ? q->exe : "?",
						.seq = q->seq};
		if (!q->is_spawn) /* a later call of that pid is another story */
			slot_of(p, q->pid)->has_pending = false;
		drop(p, i);
		return true;
	}
	return false;
}
