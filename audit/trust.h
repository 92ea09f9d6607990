/*
 * trust.h - what an event from the ring may claim: a time within the run, a process of the run,
 * no more repeats than the machine can make. Private to the audit module.
 *
 * A hostile process can still invent events of its own, or of processes that are gone: this keeps
 * the claims plausible, not true (docs/THREAT-MODEL.md).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "audit/collector.h"
#include "core/event.h"

/* Set by aud_trust_event() alone: its process could not be found in the run. */
#define AUD_EVF_UNVERIFIED 0x8000u
/* The flags that the event came with. */
static inline unsigned aud_trust_flags(const struct sbx_event *ev)
{
	return ev->flags & ~AUD_EVF_UNVERIFIED;
}

enum { AUD_TRUST_SLOTS = 4096 };

struct aud_trust {
	aud_kin_fn *kin; /* NULL = every pid is believed */
	int proc;	 /* of a pid namespace that is the run's alone, -1 = none */
	uint64_t started_ns, now_ns, started_ms, now_ms;
	unsigned looks;			  /* of `kin`, that this drain may still take */
	uint64_t repeats;		  /* believed so far */
	uint64_t per_ms;		  /* calls that this machine can make */
	uint32_t member[AUD_TRUST_SLOTS]; /* pids found in the run, direct-mapped */
};

void aud_trust_init(struct aud_trust *, aud_kin_fn *kin);
/* The run has a pid namespace, and this is its /proc (taken over): who lives there is of the run.
 * Below 0: it could not be opened, and every pid is believed. */
void aud_trust_enter(struct aud_trust *, int proc);
void aud_trust_release(struct aud_trust *);
/* Before the events of a drain. */
void aud_trust_tick(struct aud_trust *, uint64_t now_ms);
/* The launcher or the broker has met this process. */
void aud_trust_member(struct aud_trust *, uint32_t pid);
/* Corrects the time, flags the unverified. false = the event makes no sense: drop it. */
bool aud_trust_event(struct aud_trust *, struct sbx_event *);
/* What runs as this process, while it lives; false = not to be seen, `exe` is as it was. */
bool aud_trust_exe(const struct aud_trust *, uint32_t pid, char *exe, size_t size);
