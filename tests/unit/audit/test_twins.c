/* Unit tests of audit/twins.c: one call told by broker and shim. */
#include "audit/twins.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct aud_twins twins;

static void tear_down(void)
{
	aud_twins_release(&twins);
}
TestSuite(audit_twins, .fini = tear_down);

static struct sbx_event event(uint32_t pid, const char *path)
{
	return (struct sbx_event){.pid = pid, .op = SBX_MODIFY, .path_len = (uint16_t)strlen(path)};
}

static void broker(uint32_t pid, const char *path, uint64_t now)
{
	struct sbx_event ev = event(pid, path);

	aud_twins_broker(&twins, &ev, path, "", now);
}

static void shim(uint32_t pid, const char *path, uint64_t now)
{
	struct sbx_event ev = event(pid, path);

	aud_twins_shim(&twins, &ev, path, "", now);
}

/* The path of the next event that stands alone, "" = none. */
static const char *alone(uint64_t now, bool final)
{
	static char path[64];
	struct aud_told t;

	if (!aud_twins_alone(&twins, now, final, &t))
		return "";
	snprintf(path, sizeof path, "%s", t.path);
	free(t.path);
	free(t.path2);
	return path;
}

Test(audit_twins, what_both_tell_is_the_shims)
{
	broker(1, "/a", 0);
	shim(1, "/a", 1);
	cr_expect_str_eq(alone(1000, true), "");
}

Test(audit_twins, in_either_order)
{
	shim(1, "/a", 0);
	broker(1, "/a", 1);
	cr_expect_str_eq(alone(1000, true), "");
}

Test(audit_twins, each_call_has_one_twin)
{
	broker(1, "/a", 0);
	broker(1, "/a", 0);
	shim(1, "/a", 1);
	cr_expect_str_eq(alone(AUD_ALONE_MS, false), "/a");
	cr_expect_str_eq(alone(1000, true), "");
}

Test(audit_twins, other_processes_and_paths_are_no_twins)
{
	broker(1, "/a", 0);
	broker(2, "/b", 0);
	shim(2, "/a", 1);
	shim(1, "/b", 1);
	cr_expect_str_eq(alone(AUD_ALONE_MS - 1, false), "", "it may come yet");
	cr_expect_str_eq(alone(AUD_ALONE_MS, false), "/a");
	cr_expect_str_eq(alone(AUD_ALONE_MS, false), "/b");
}

Test(audit_twins, another_verdict_is_no_twin)
{
	struct sbx_event ev = event(1, "/a");

	broker(1, "/a", 0);
	ev.flags = SBX_EVF_ALLOWED;
	aud_twins_shim(&twins, &ev, "/a", "", 1);
	cr_expect_str_eq(alone(1000, true), "/a", "what was refused is told");
}

Test(audit_twins, a_shims_word_is_soon_forgotten)
{
	shim(1, "/a", 0);
	shim(1, "/b", AUD_TWIN_MS + 1);
	broker(1, "/a", AUD_TWIN_MS + 1);
	cr_expect_str_eq(alone(0, true), "/a");
}

Test(audit_twins, none_is_lost_when_many_come)
{
	char path[32];
	unsigned seen = 0;

	for (unsigned i = 0; i < 3 * AUD_TWIN_MAX; i++) {
		snprintf(path, sizeof path, "/%u", i);
		broker(1, path, 0);
		seen += *alone(0, false) != 0;
	}
	while (*alone(0, true))
		seen++;
	cr_expect_eq(seen, 3 * AUD_TWIN_MAX);
}
