/* trust.c - see trust.h. */
#include "audit/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"

enum {
	LOOKS_PER_DRAIN = 512, /* at most so many chains, with whatever numbers the events come */
	CHAIN_MAX = 256,       /* generations between a process and us */
	CALLS_PER_MS = 20000,  /* of one CPU: a call costs 50 ns at the very least */
	EARLY_NS = 100000000,  /* an event may be older than the collector by this */
	LATE_NS = 2000000000   /* and newer than the drain that takes it by this */
};

void aud_trust_init(struct aud_trust *t, aud_kin_fn *kin)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	*t = (struct aud_trust){
		.kin = kin,
		.proc = -1,
		.started_ns = b_now_real_ns(),
		.per_ms = CALLS_PER_MS * (uint64_t)(cpus > 0 ? cpus : 1),
	};
	t->now_ns = t->started_ns;
}

void aud_trust_enter(struct aud_trust *t, int proc)
{
	aud_trust_release(t);
	t->proc = proc;
	if (proc < 0)
		t->kin = NULL;
}

void aud_trust_release(struct aud_trust *t)
{
	if (t->proc >= 0)
		close(t->proc);
	t->proc = -1;
}

void aud_trust_tick(struct aud_trust *t, uint64_t now_ms)
{
	t->now_ns = b_now_real_ns();
	t->now_ms = now_ms;
	t->looks = LOOKS_PER_DRAIN;
	if (!t->started_ms)
		t->started_ms = now_ms;
}

/* proc_pid_stat(5): "pid (comm) state ppid"; comm may hold anything. 0 = none that we could see,
 * -1 = it is gone. */
static int64_t parent_of(uint32_t pid)
{
	char path[32], text[512], *close;
	b_auto_fd int fd = -1;
	unsigned parent;
	ssize_t n;

	snprintf(path, sizeof path, "/proc/%u/stat", (unsigned)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : b_read_full(fd, text, sizeof text - 1);
	if (n <= 0)
		return -1;
	text[n] = '\0';
	close = strrchr(text, ')');
	return close && sscanf(close + 1, " %*c %u", &parent) == 1 ? (int64_t)parent : -1;
}

enum aud_kin aud_kin_of(uint32_t pid)
{
	uint32_t self = (uint32_t)getpid();

	for (unsigned i = 0; i < CHAIN_MAX; i++) {
		int64_t parent = parent_of(pid);

		if (parent == (int64_t)self)
			return AUD_KIN_OURS;
		if (parent <= 0)
			return parent < 0 ? AUD_KIN_GONE : AUD_KIN_STRANGER;
		pid = (uint32_t)parent;
	}
	return AUD_KIN_GONE;
}

/* Of the process itself: nobody else has numbers there. */
static enum aud_kin kin_of(struct aud_trust *t, uint32_t pid)
{
	char name[16];

	if (t->proc < 0) {
		if (!t->looks)
			return AUD_KIN_STRANGER;
		t->looks--;
		return t->kin(pid);
	}
	snprintf(name, sizeof name, "%u", (unsigned)pid);
	return pid && faccessat(t->proc, name, F_OK, 0) == 0 ? AUD_KIN_OURS : AUD_KIN_GONE;
}

bool aud_trust_exe(const struct aud_trust *t, uint32_t pid, char *exe, size_t size)
{
	char name[32], text[4096];
	ssize_t n;

	snprintf(name, sizeof name, t->proc < 0 ? "/proc/%u/exe" : "%u/exe", (unsigned)pid);
	n = readlinkat(t->proc < 0 ? AT_FDCWD : t->proc, name, text, sizeof text);
	if (n <= 0 || (size_t)n >= size || n == sizeof text)
		return false;
	memcpy(exe, text, (size_t)n);
	exe[n] = '\0';
	return true;
}

static bool is_member(const struct aud_trust *t, uint32_t pid)
{
	return pid && t->member[pid % AUD_TRUST_SLOTS] == pid;
}

void aud_trust_member(struct aud_trust *t, uint32_t pid)
{
	t->member[pid % AUD_TRUST_SLOTS] = pid;
}

/* While a process lives the kernel knows. Of one that is gone: a shim's word of an image that
 * began there, or a parent that is one of ours. */
static bool is_verified(struct aud_trust *t, const struct sbx_event *ev)
{
	enum aud_kin kin;

	if (!t->kin || is_member(t, ev->pid))
		return true;
	kin = kin_of(t, ev->pid);
	if (kin == AUD_KIN_GONE && (ev->kind == SBX_EV_EXEC || ev->kind == SBX_EV_HELLO ||
				    is_member(t, ev->ppid) || kin_of(t, ev->ppid) == AUD_KIN_OURS))
		kin = AUD_KIN_OURS;
	if (kin != AUD_KIN_OURS)
		return false;
	aud_trust_member(t, ev->pid);
	return true;
}

/* All repeats of a run together, against what its time allows. */
static bool are_possible(struct aud_trust *t, uint64_t repeats)
{
	uint64_t ms = t->now_ms - t->started_ms + 1000;

	if (repeats > ms * t->per_ms - t->repeats)
		return false;
	t->repeats += repeats;
	return true;
}

bool aud_trust_event(struct aud_trust *t, struct sbx_event *ev)
{
	if (ev->kind == SBX_EV_REPEAT && !are_possible(t, ev->count))
		return false;
	if (ev->time_ns + EARLY_NS < t->started_ns || ev->time_ns > t->now_ns + LATE_NS)
		ev->time_ns = t->now_ns;
	ev->flags &= (uint16_t)~AUD_EVF_UNVERIFIED;
	if (!is_verified(t, ev))
		ev->flags |= AUD_EVF_UNVERIFIED;
	return true;
}
