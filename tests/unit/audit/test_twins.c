/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of audit/dedup.c: one call told by broker and shim. */
#include "audit/collect_priv.h"

#include "core/event.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct aud_twins twins;
static struct aud_asked claim; /* of the twin that was met last */

static void set_up(void)
{
	aud_twins_init(&twins);
}

static void tear_down(void)
{
	aud_twins_release(&twins);
}
TestSuite(audit_twins, .init = set_up, .fini = tear_down);

static struct sbx_event event(uint32_t pid, const char *path)
{
	return (struct sbx_event){.pid = pid,
				  .op = SBX_MODIFY,
				  .call = SBX_CALL_unlinkat,
				  .flags = SBX_EVF_ALLOWED,
				  .path_len = (uint16_t)strlen(path)};
}

/* Is it to be logged now? */
static bool broker(uint32_t pid, const char *path, uint64_t now)
{
	struct sbx_event ev = event(pid, path);

	return aud_twins_broker(&twins, &ev, path, "", now, &claim);
}

/* aud_twins_shim(), and the second text is to be this afterwards. */
static bool met(struct sbx_event *ev, const char *path, const char *path2, const char *after)
{
	const char *second = path2;
	bool is_met = aud_twins_shim(&twins, ev, path, &second, &claim);

	cr_expect(!strncmp(second, after, ev->path2_len) && strlen(after) >= ev->path2_len,
		  "%s is not %s", second, after);
	return is_met;
}

/* Are these the paths that the program gave, in its shim's words? */
static bool claims(const char *first, const char *second)
{
	return claim.len == strlen(first) &&
	       !strncmp(claim.text ? claim.text : "", first, claim.len) &&
	       claim.len2 == strlen(second) &&
	       !strncmp(claim.text2 ? claim.text2 : "", second, claim.len2);
}

/* Is there a kept event of the broker's? */
static bool shim(uint32_t pid, const char *path)
{
	struct sbx_event ev = event(pid, path);

	return met(&ev, path, "", "");
}

static void keep(uint32_t pid, const char *path, uint64_t now)
{
	struct sbx_event ev = event(pid, path);

	aud_twins_keep(&twins, &ev, path, "", now);
}

/* The path of the next event that stands alone, "" = none; the shim's with a "*". */
static const char *alone(uint64_t now, bool final)
{
	static char path[64];
	struct aud_told t;

	if (!aud_twins_alone(&twins, now, final, &t))
		return "";
	snprintf(path, sizeof path, "%s%s", t.path, t.is_shims ? "*" : "");
	free(t.path);
	free(t.path2);
	return path;
}

Test(audit_twins, what_both_tell_is_the_brokers_with_the_name_and_parent_of_the_shim)
{
	struct sbx_event ev = event(1, "/a");

	cr_expect_not(broker(1, "/a", 0));
	ev.call = SBX_CALL_remove;
	ev.ppid = 7;
	ev.time_ns = 9;
	cr_assert(met(&ev, "/a", "", ""));
	cr_expect_eq(ev.call, SBX_CALL_remove);
	cr_expect_eq(ev.ppid, 7);
	cr_expect_eq(ev.time_ns, 0, "of when, the broker knows");
	cr_expect_str_eq(alone(1000, true), "");
}

Test(audit_twins, in_either_order)
{
	struct sbx_event ev = event(1, "/a");

	cr_expect_not(shim(1, "/a"));
	ev.call = SBX_CALL_remove;
	aud_twins_keep(&twins, &ev, "/a", "", 0);
	ev = event(1, "/a");
	ev.time_ns = 9;
	cr_assert(aud_twins_broker(&twins, &ev, "/a", "", 1, &claim));
	cr_expect_eq(ev.call, SBX_CALL_remove);
	cr_expect_eq(ev.time_ns, 9);
	cr_expect_str_eq(alone(1000, true), "");
}

Test(audit_twins, each_call_has_one_twin)
{
	broker(1, "/a", 0);
	broker(1, "/a", 0);
	cr_expect(shim(1, "/a"));
	cr_expect_str_eq(alone(AUD_ALONE_MS, false), "/a");
	cr_expect_str_eq(alone(1000, true), "");
}

Test(audit_twins, other_processes_and_paths_are_no_twins)
{
	broker(1, "/a", 0);
	broker(2, "/b", 0);
	cr_expect_not(shim(2, "/a"));
	cr_expect_not(shim(1, "/b"));
	cr_expect_str_eq(alone(AUD_ALONE_MS - 1, false), "", "it may come yet");
	cr_expect_str_eq(alone(AUD_ALONE_MS, false), "/a");
	cr_expect_str_eq(alone(AUD_ALONE_MS, false), "/b");
}

static void another_call(struct sbx_event *ev)
{
	ev->call = SBX_CALL_utimensat;
}
static void another_errno(struct sbx_event *ev)
{
	ev->err = 16;
}
static void a_question(struct sbx_event *ev)
{
	ev->flags |= SBX_EVF_QUERY;
}
static void another_verdict(struct sbx_event *ev)
{
	ev->flags = 0;
}
static void another_operation(struct sbx_event *ev)
{
	ev->op = SBX_READ;
}
static void another_kind(struct sbx_event *ev)
{
	ev->kind = SBX_EV_REPEAT;
}
static void a_cut_path(struct sbx_event *ev)
{
	ev->flags |= SBX_EVF_TRUNCATED;
}

Test(audit_twins, what_differs_in_any_fact_is_no_twin)
{
	void (*const changes[])(struct sbx_event *) = {
		another_call,	   another_errno, a_question, another_verdict,
		another_operation, another_kind,  a_cut_path};

	for (unsigned i = 0; i < sizeof changes / sizeof *changes; i++) {
		struct sbx_event ev = event(1, "/a");

		changes[i](&ev);
		broker(1, "/a", 0);
		cr_expect_not(met(&ev, "/a", "", ""), "change %u", i);
		aud_twins_keep(&twins, &ev, "/b", "", 0);
		cr_expect_not(broker(1, "/b", 0), "change %u", i);
		cr_expect_str_eq(alone(0, true), "/a", "change %u", i);
		cr_expect_str_eq(alone(0, true), "/b", "change %u", i);
		cr_expect_str_eq(alone(0, true), "/b*", "change %u", i);
	}
}

/* Whoever makes the paths can make two of one FNV-1a. */
Test(audit_twins, paths_are_compared_byte_by_byte)
{
	struct sbx_event ev = event(1, "/a");
	struct aud_told *kept;

	broker(1, "/b", 0);
	kept = &twins.broker.v[twins.broker.first];
	kept->path[1] = 'a'; /* now "/a" below the key of "/b" */
	cr_expect_not(shim(1, "/b"));
	kept->path[1] = 'b';
	cr_expect(shim(1, "/b"));
	cr_expect_not(met(&ev, "/a", "", ""));
}

Test(audit_twins, a_shims_word_does_not_wait_long)
{
	keep(1, "/a", 0);
	cr_expect_str_eq(alone(AUD_TWIN_MS - 1, false), "");
	cr_expect_str_eq(alone(AUD_TWIN_MS, false), "/a*");
	cr_expect_not(broker(1, "/a", AUD_TWIN_MS));
}

Test(audit_twins, none_is_lost_when_many_come)
{
	char path[32];
	unsigned seen = 0;

	for (unsigned i = 0; i < 3 * AUD_TWIN_MAX; i++) {
		snprintf(path, sizeof path, "/%u", i);
		i % 2 ? keep(1, path, 0) : (void)broker(1, path, 0);
		seen += *alone(0, false) != 0;
	}
	while (*alone(0, true))
		seen++;
	cr_expect_eq(seen, 3 * AUD_TWIN_MAX);
}

Test(audit_twins, calls_of_one_kind_are_alike_and_no_others)
{
	cr_expect(aud_call_is_alike(SBX_CALL_fopen, SBX_CALL_openat));
	cr_expect(aud_call_is_alike(SBX_CALL_remove, SBX_CALL_rmdir));
	cr_expect(aud_call_is_alike(SBX_CALL_mkdtemp, SBX_CALL_mkdirat));
	cr_expect(aud_call_is_alike(SBX_CALL_connect, SBX_CALL_connect));
	cr_expect_not(aud_call_is_alike(SBX_CALL_connect, SBX_CALL_listen), "in no class");
	cr_expect_not(aud_call_is_alike(SBX_CALL_link, SBX_CALL_symlink));
	cr_expect_not(aud_call_is_alike(SBX_CALL_unlink, SBX_CALL_rename));
	cr_expect_not(aud_call_is_alike(SBX_CALL_COUNT, SBX_CALL_COUNT));
}

/* What was asked for has a text of each: it makes two of nothing, and the line has the broker's.
 * The command can neither put its own there nor take the broker's away. */
Test(audit_twins, what_was_asked_for_is_no_difference)
{
	struct sbx_event told = event(1, "/a"), word = event(1, "/a"), plain = event(2, "/b"),
			 forged = event(3, "/c");

	told.flags |= SBX_EVF_ASKED;
	told.path2_len = 9;
	cr_expect_not(aud_twins_broker(&twins, &told, "/a", "some/link", 0, &claim));
	word.flags |= SBX_EVF_ASKED;
	word.path2_len = 4;
	cr_assert(met(&word, "/a", "link", "some/link"));
	cr_expect_eq(word.path2_len, 9);
	cr_expect(claims("link", ""), "what the shim says has a place of its own");
	cr_expect(word.flags & SBX_EVF_ASKED);
	told = event(2, "/b");
	told.flags |= SBX_EVF_ASKED;
	told.path2_len = 9;
	cr_expect_not(aud_twins_broker(&twins, &told, "/b", "some/link", 0, &claim));
	cr_assert(met(&plain, "/b", "", "some/link"));
	cr_expect(claims("", ""));
	cr_expect_eq(plain.path2_len, 9);
	cr_expect(plain.flags & SBX_EVF_ASKED);
	cr_expect_not(broker(3, "/c", 0));
	forged.flags |= SBX_EVF_ASKED;
	forged.path2_len = 11;
	cr_assert(met(&forged, "/c", "/etc/shadow", ""));
	cr_expect_eq(forged.path2_len, 0);
	cr_expect_not(forged.flags & SBX_EVF_ASKED);
	cr_expect(claims("/etc/shadow", ""));
	cr_expect_str_eq(alone(0, true), "");
}

Test(audit_twins, two_paths_are_compared_without_what_was_asked_for)
{
	struct sbx_event told = event(1, "/a"), word = event(1, "/a"), other = event(1, "/a");

	told.path2_len = 2;
	cr_expect_not(aud_twins_broker(&twins, &told, "/a", "/b", 0, &claim));
	other.flags |= SBX_EVF_ASKED;
	other.path2_len = 6;
	other.count = 4u << 16 | 2;
	cr_expect_not(met(&other, "/a", "/clink", "/clink"), "another second path");
	word.flags |= SBX_EVF_ASKED;
	word.path2_len = 6;
	word.count = 4u << 16 | 2;
	cr_assert(met(&word, "/a", "/blink", "/b"));
	cr_expect(claims("link", ""));
	cr_expect_eq(word.path2_len, 2);
	cr_expect_not(word.flags & SBX_EVF_ASKED);
	cr_expect_eq(word.count, 0, "the second text is taken apart as the broker told it");
	cr_expect_str_eq(alone(0, true), "");
}

Test(audit_twins, the_shims_paths_are_kept_for_a_broker_that_tells_later)
{
	struct sbx_event word = event(1, "/a"), told = event(1, "/a");

	word.flags |= SBX_EVF_ASKED;
	word.path2_len = 8;
	word.count = 2u << 16 | 2;
	told.path2_len = 2;
	aud_twins_keep(&twins, &word, "/a", "/blmlong", 0);
	cr_assert(aud_twins_broker(&twins, &told, "/a", "/b", 1, &claim));
	cr_expect(claims("lm", "long"));
	cr_expect_not(told.flags & SBX_EVF_ASKED);
	cr_expect_eq(told.path2_len, 2);
}
