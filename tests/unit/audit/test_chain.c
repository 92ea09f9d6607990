/* SPDX-License-Identifier: Apache-2.0 */
/* The chain of a log: whatever is done to the file without the key is found. */
#include "audit/chain.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/read_log.h"
#include "audit/read_run.h"
#include "base/err.h"
#include "base/io.h"
#include "base/str.h"
#include "tests/support/witness.h"

enum { MUTATIONS = 10000, LINES = 40 };

static const unsigned char key[B_HMAC_KEY] = "the key of these tests";
static struct b_str whole; /* of a log */
static char final[B_SHA256_HEX];
static struct aud_run run;
static char path[64];
static int mutant; /* a file in memory: a disk would take minutes for all */

/* A log of a run, as the collector makes it. */
static void record(struct b_str *out, char hash[B_SHA256_HEX], const char *run_id)
{
	char name[] = "/tmp/sbx-chain-XXXXXX";
	int fd = mkostemp(name, O_CLOEXEC | O_APPEND);
	struct b_err err;
	struct witness w;
	unsigned i;
	int poll_ms;

	cr_assert_geq(fd, 0);
	witness_key = key;
	witness_start_named(&w, run_id, fd);
	for (i = 0; i < LINES; i++) {
		char file[32];

		snprintf(file, sizeof file, "/ws/file%u", i);
		witness_call(&w, 10, SBX_MODIFY, true, file);
	}
	cr_assert_eq(aud_collector_drain(w.c, w.now_ms, true, &poll_ms, &err), 0);
	cr_assert_eq(aud_collector_finish(w.c, &err), 0);
	memcpy(hash, aud_collector_hash(w.c), B_SHA256_HEX);
	cr_assert_eq(b_read_file(name, 1 << 20, out, &err), 0);
	witness_release(&w);
	unlink(name);
}

static void start(void)
{
	record(&whole, final, WITNESS_RUN);
	mutant = memfd_create("mutant", MFD_CLOEXEC);
	snprintf(path, sizeof path, "/proc/self/fd/%d", mutant);
	run = (struct aud_run){
		.info = json_pack("{s:i,s:s}", "schemaVersion", 2, "final_hash", final)};
	snprintf(run.id, sizeof run.id, "%s", WITNESS_RUN);
}

static void end(void)
{
	json_decref(run.info);
	b_str_release(&whole);
	close(mutant);
}

static struct aud_verify verify(const char *text, size_t n)
{
	struct aud_verify v;
	struct b_err err;

	cr_assert_eq(ftruncate(mutant, 0), 0);
	cr_assert_eq(pwrite(mutant, text, n, 0), (ssize_t)n);
	cr_assert_eq(aud_verify_with(key, &run, path, &v, &err), 0, "%s", err.msg);
	return v;
}

static bool holds(const struct aud_verify *v)
{
	return !v->broken_line && v->has_final && v->final_matches && !v->is_keyless;
}

/* The n-th line, from 0, with its newline. */
static char *line_at(char *text, unsigned n, size_t *out_len)
{
	while (n--)
		text = strchr(text, '\n') + 1;
	*out_len = (size_t)(strchr(text, '\n') + 1 - text);
	return text;
}

Test(audit_chain, what_was_written_holds, .init = start, .fini = end)
{
	struct aud_verify v = verify(whole.s, whole.len);

	cr_assert(holds(&v), "%s", v.why);
	cr_assert_eq(v.lines, LINES + 1);
	cr_assert_str_eq(v.hash, final);
}

static void mutate(struct b_str *s)
{
	size_t at = (size_t)rand() % s->len, len, other_len;
	unsigned n = (unsigned)rand() % LINES;
	char *line = line_at(s->s, n, &len), *other;
	struct b_str copy = {0};

	switch (rand() % 7) {
	case 0: /* a byte */
		s->s[at] = (char)(s->s[at] ^ (1 + rand() % 255));
		break;
	case 1: /* a piece gone */
		len = 1 + (size_t)rand() % (s->len - at < 200 ? s->len - at : 200);
		memmove(s->s + at, s->s + at + len, s->len - at - len);
		s->len -= len;
		break;
	case 2: /* a line gone */
		memmove(line, line + len, s->len - (size_t)(line - s->s) - len);
		s->len -= len;
		break;
	case 3: /* two lines exchanged */
		other = line_at(line, 1, &other_len);
		b_str_addn(&copy, other, other_len);
		b_str_addn(&copy, line, len);
		memcpy(line, copy.s, copy.len);
		break;
	case 4: /* the end cut off, in a line or between two */
		s->len = rand() % 2 ? at : (size_t)(line - s->s);
		break;
	case 5: /* a line a second time */
		b_str_addn(&copy, line, len);
		b_str_addn(s, copy.s, copy.len);
		break;
	default: /* a byte more */
		b_str_addc(s, 'x');
		memmove(s->s + at + 1, s->s + at, s->len - at - 1);
		s->s[at] = "\n x\"{}0"[rand() % 7];
	}
	b_str_release(&copy);
}

Test(audit_chain, ten_thousand_mutations_are_found, .init = start, .fini = end)
{
	unsigned i, same = 0;

	srand(18);
	for (i = 0; i < MUTATIONS; i++) {
		struct b_str s = {0};
		struct aud_verify v;

		b_str_addn(&s, whole.s, whole.len);
		mutate(&s);
		v = verify(s.s, s.len);
		if (s.len == whole.len && memcmp(s.s, whole.s, s.len) == 0)
			same++;
		else
			cr_assert(!holds(&v), "mutation %u was accepted:\n%.*s", i, (int)s.len,
				  s.s);
		b_str_release(&s);
	}
	cr_assert_lt(same, MUTATIONS / 20);
}

static struct aud_verify without_line(unsigned n)
{
	struct b_str s = {0};
	struct aud_verify v;
	size_t len;
	char *line;

	b_str_addn(&s, whole.s, whole.len);
	line = line_at(s.s, n, &len);
	memmove(line, line + len, s.len - (size_t)(line - s.s) - len);
	v = verify(s.s, s.len - len);
	b_str_release(&s);
	return v;
}

Test(audit_chain, the_place_and_the_kind_are_told, .init = start, .fini = end)
{
	struct aud_verify v = without_line(4);
	struct b_str s = {0};
	char *at;

	cr_expect_eq(v.broken_line, 5);
	cr_expect_str_eq(v.why, "line 5 of the run is missing before it");
	cr_expect_eq(v.broken_more, 0, "the lines behind it hold together");
	b_str_addn(&s, whole.s, whole.len);
	at = strstr(s.s, "file7");
	at[4] = '8';
	v = verify(s.s, s.len);
	cr_expect_eq(v.broken_line, 9);
	cr_expect_str_eq(v.why, "it was changed, or comes from elsewhere");
	cr_expect_eq(v.broken_more, 0);
	v = verify(whole.s, whole.len - 1);
	cr_expect_eq(v.broken_line, LINES + 1);
	cr_expect_str_eq(v.why, "the file ends in the middle of it");
	b_str_release(&s);
}

Test(audit_chain, an_end_that_was_cut_off_cannot_be_made_the_end, .init = start, .fini = end)
{
	size_t len;
	char *last = line_at(whole.s, LINES, &len), *shown;
	struct aud_verify v = verify(whole.s, (size_t)(last - whole.s));

	cr_assert_eq(v.broken_line, 0);
	cr_assert_not(v.final_matches);
	/* all that the log shows of the line before is a half of what run.json has to say */
	shown = last - AUD_CHAIN_HEX - sizeof AUD_CHAIN_END;
	cr_assert_eq(memcmp(shown, v.hash, AUD_CHAIN_HEX), 0);
	*last = '\0';
	cr_assert_null(strstr(whole.s, v.hash + AUD_CHAIN_HEX));
}

Test(audit_chain, lines_of_another_run_do_not_fit, .init = start, .fini = end)
{
	struct b_str other = {0}, s = {0};
	char hash[B_SHA256_HEX];
	struct aud_verify v;
	size_t len, other_len;
	char *mine, *theirs;

	record(&other, hash, "20261127T232401Z-1a2b3d");
	mine = line_at(whole.s, 6, &len);
	theirs = line_at(other.s, 6, &other_len);
	b_str_addn(&s, whole.s, (size_t)(mine - whole.s));
	b_str_addn(&s, theirs, other_len);
	b_str_addn(&s, mine + len, whole.len - (size_t)(mine - whole.s) - len);
	v = verify(s.s, s.len);
	cr_expect_eq(v.broken_line, 7);
	v = verify(other.s, other.len);
	cr_expect_eq(v.broken_line, 1);
	cr_expect_str_eq(v.why, "it is of another run");
	b_str_release(&other);
	b_str_release(&s);
}

Test(audit_chain, another_key_makes_another_chain, .init = start, .fini = end)
{
	static const unsigned char wrong[B_HMAC_KEY] = "another key";
	struct aud_verify v = verify(whole.s, whole.len);
	struct b_err err;

	cr_assert_eq(aud_verify_with(wrong, &run, path, &v, &err), 0);
	cr_assert_eq(v.broken_line, 1);
	cr_assert_eq(aud_verify_with(NULL, &run, path, &v, &err), -1);
	cr_assert_eq(err.kind, B_NOTFOUND);
}

Test(audit_chain, a_log_of_version_1_does_not_pass_for_one_of_version_2, .init = start, .fini = end)
{
	static const char old[] =
		"{\"schemaVersion\":1,\"seq\":1,\"kind\":\"gap\",\"prev\":\"" AUD_CHAIN_START
		"\"}\n";
	struct aud_verify v = verify(old, sizeof old - 1);

	cr_assert_eq(v.broken_line, 1);
	json_object_del(run.info, "schemaVersion");
	json_object_del(run.info, "final_hash");
	v = verify(old, sizeof old - 1);
	cr_assert_eq(v.broken_line, 0);
	cr_assert(v.is_keyless);
}

Test(audit_chain, the_key_is_made_once_and_is_its_owners_alone)
{
	char dir[] = "/tmp/sbx-key-XXXXXX", file[64];
	unsigned char a[B_HMAC_KEY], b[B_HMAC_KEY];
	struct b_err err;
	struct stat st;

	cr_assert_not_null(mkdtemp(dir));
	cr_assert_eq(aud_key_load(dir, false, a, &err), -1);
	cr_assert_eq(err.kind, B_NOTFOUND);
	cr_assert_eq(aud_key_load(dir, true, a, &err), 0, "%s", err.msg);
	cr_assert_eq(aud_key_load(dir, false, b, &err), 0);
	cr_assert_eq(memcmp(a, b, sizeof a), 0);
	snprintf(file, sizeof file, "%s/" AUD_KEY_NAME, dir);
	cr_assert_eq(stat(file, &st), 0);
	cr_assert_eq(st.st_mode & 0777, 0600);
	cr_assert_eq(chmod(file, 0644), 0);
	cr_assert_eq(aud_key_load(dir, true, b, &err), -1, "others have read it");
	unlink(file);
	rmdir(dir);
}
