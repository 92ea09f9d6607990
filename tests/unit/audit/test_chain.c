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
#include "base/mem.h"
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
	memmove(hash, aud_collector_hash(w.c), B_SHA256_HEX);
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

/* ---- what may be done to a log without the key ---- */

static struct b_str foreign; /* the log of another run with the same key */

/* `len` bytes at `at` become these. */
static void replace(struct b_str *s, size_t at, size_t len, const char *text, size_t n)
{
	struct b_str all = {0};

	b_str_addn(&all, s->s, at);
	b_str_addn(&all, text, n);
	b_str_addn(&all, s->s + at + len, s->len - at - len);
	b_str_release(s);
	*s = all;
}

static unsigned below(size_t n)
{
	return (unsigned)((size_t)rand() % n);
}

/* A line of the log; *out_at: where it begins. */
static char *any_line(struct b_str *s, size_t *out_at, size_t *out_len)
{
	char *line = line_at(s->s, below(LINES), out_len);

	*out_at = (size_t)(line - s->s);
	return line;
}

static void edit_byte(struct b_str *s)
{
	s->s[below(s->len)] ^= (char)(1 + below(255));
}

static void flip_bit(struct b_str *s)
{
	s->s[below(s->len)] ^= (char)(1 << below(8));
}

static void add_byte(struct b_str *s)
{
	replace(s, below(s->len), 0, &"\n x\"{}0"[below(7)], 1);
}

static void remove_piece(struct b_str *s)
{
	size_t at = below(s->len), most = s->len - at < 200 ? s->len - at : 200;

	replace(s, at, 1 + below(most), "", 0);
}

static void remove_lines(struct b_str *s)
{
	size_t at, len;
	unsigned n = 1 + below(4);
	char *line = line_at(s->s, below(LINES - 4), &len);

	at = (size_t)(line - s->s);
	while (n--) {
		(void)line_at(s->s + at, 0, &len);
		replace(s, at, len, "", 0);
	}
}

static void cut(struct b_str *s)
{
	size_t at, len;

	(void)any_line(s, &at, &len);
	s->len = below(2) ? at : below(s->len);
}

static void repeat_line(struct b_str *s)
{
	size_t at, to, len, ignored;
	const char *line = any_line(s, &at, &len);
	char *copy = b_strndup(line, len);

	(void)any_line(s, &to, &ignored);
	replace(s, to, 0, copy, len);
	free(copy);
}

/* Two lines change places; they may be the same. */
static void reorder(struct b_str *s)
{
	size_t at, to, len, other_len;
	char *line = any_line(s, &at, &len), *other = any_line(s, &to, &other_len), *a, *b;

	if (at > to) {
		reorder(s);
		return;
	}
	a = b_strndup(line, len);
	b = b_strndup(other, other_len);
	replace(s, to, other_len, a, len);
	replace(s, at, len, b, other_len);
	free(a);
	free(b);
}

/* A line of the other run, whose key is the same, in the place of one or between two. */
static void take_line(struct b_str *s)
{
	size_t at, len, other_at, other_len;
	const char *other = any_line(&foreign, &other_at, &other_len);

	(void)any_line(s, &at, &len);
	replace(s, at, below(2) ? len : 0, other, other_len);
}

/* From some line on it is the other run. */
static void graft(struct b_str *s)
{
	size_t at, len, other_at;
	unsigned n = below(LINES);

	at = (size_t)(line_at(s->s, n, &len) - s->s);
	other_at = (size_t)(line_at(foreign.s, n, &len) - foreign.s);
	replace(s, at, s->len - at, foreign.s + other_at, foreign.len - other_at);
}

/* Two lines exchange all that is between their number and their chain. */
static void swap_bodies(struct b_str *s)
{
	size_t at, to, len, other_len;
	char *line = any_line(s, &at, &len), *other = any_line(s, &to, &other_len);
	char *from = strstr(line, ",\"ts\""), *other_from = strstr(other, ",\"ts\"");
	char *end = strstr(line, AUD_CHAIN_FIELD), *other_end = strstr(other, AUD_CHAIN_FIELD);
	char *body;

	if (at == to) /* another pair */
		return swap_bodies(s);
	body = b_strndup(other_from, (size_t)(other_end - other_from));
	replace(s, (size_t)(from - s->s), (size_t)(end - from), body, strlen(body));
	free(body);
}

/* Two keys of one line change places. */
static void swap_keys(struct b_str *s)
{
	static const char *const pairs[][2] = {
		{"path\"", "call\""}, {"seq\"", "pid\""}, {"rule\"", "path\""}, {"kind\"", "op\""}};
	const char *const *pair = pairs[below(4)];
	size_t at, len;
	char *line = any_line(s, &at, &len), *first, *second;

	line[len - 1] = '\0';
	first = strstr(line, pair[0]);
	second = strstr(line, pair[1]);
	line[len - 1] = '\n';
	if (!first || !second || first > second)
		return swap_keys(s);
	at = (size_t)(first - s->s);
	replace(s, (size_t)(second - s->s), strlen(pair[1]), pair[0], strlen(pair[0]));
	replace(s, at, strlen(pair[0]), pair[1], strlen(pair[1]));
}

/* Two lines exchange their chains. */
static void swap_chains(struct b_str *s)
{
	size_t at, to, len, other_len;
	char *chain = any_line(s, &at, &len), *other = any_line(s, &to, &other_len);
	char keep[AUD_CHAIN_HEX];

	chain += len - AUD_CHAIN_HEX + sizeof AUD_CHAIN_END;
	other += other_len - AUD_CHAIN_HEX - sizeof AUD_CHAIN_END;
	memmove(keep, chain, sizeof keep);
	memmove(chain, other, sizeof keep);
	memmove(other, keep, sizeof keep);
}

/* A line that its chain is computed for anew, by one who has another key. */
static void sign_otherwise(struct b_str *s)
{
	static const unsigned char wrong[B_HMAC_KEY] = "another key";
	size_t at, len;
	char *line = any_line(s, &at, &len), *chain = strstr(line, AUD_CHAIN_FIELD);
	struct aud_chain c;

	aud_chain_init(&c, wrong, WITNESS_RUN);
	if (at) /* the chain goes on from the line before */
		memmove(c.shown, line - AUD_CHAIN_HEX - sizeof AUD_CHAIN_END, AUD_CHAIN_HEX);
	aud_chain_next(&c, line, (size_t)(chain - line));
	memmove(chain + sizeof AUD_CHAIN_FIELD - 1, c.shown, AUD_CHAIN_HEX);
}

static void (*const mutations[])(struct b_str *) = {
	edit_byte, flip_bit,  add_byte, remove_piece, remove_lines, cut,	 repeat_line,
	reorder,   take_line, graft,	swap_keys,    swap_bodies,  swap_chains, sign_otherwise,
};
enum { KINDS = sizeof mutations / sizeof *mutations };

/* The first line, from 1, that is not as it was written; 0: the mutant is a beginning of whole
 * lines, and only the end is missing. */
static uint64_t first_wrong(const struct b_str *s)
{
	uint64_t n = 1;
	size_t i;

	for (i = 0; i < s->len && i < whole.len && s->s[i] == whole.s[i]; i++)
		n += s->s[i] == '\n';
	return i == s->len && (i == 0 || s->s[i - 1] == '\n') ? 0 : n;
}

Test(audit_chain, ten_thousand_mutations_are_found_where_they_are, .init = start, .fini = end)
{
	unsigned i, same[KINDS] = {0};
	char hash[B_SHA256_HEX];

	record(&foreign, hash, "20261127T232401Z-1a2b3d");
	srand(18);
	for (i = 0; i < MUTATIONS; i++) {
		struct b_str s = {0};
		struct aud_verify v;

		b_str_addn(&s, whole.s, whole.len);
		mutations[i % KINDS](&s);
		if (s.len == whole.len && memcmp(s.s, whole.s, s.len) == 0) {
			same[i % KINDS]++;
			b_str_release(&s);
			continue;
		}
		v = verify(s.s, s.len);
		cr_assert(!holds(&v), "mutation %u of kind %u was accepted:\n%.*s", i, i % KINDS,
			  (int)s.len, s.s);
		cr_assert_eq(v.broken_line, first_wrong(&s),
			     "mutation %u of kind %u: line %u, not %u: %s\n%.*s", i, i % KINDS,
			     (unsigned)v.broken_line, (unsigned)first_wrong(&s), v.why, (int)s.len,
			     s.s);
		b_str_release(&s);
	}
	for (i = 0; i < KINDS; i++)
		cr_expect_lt(same[i], MUTATIONS / KINDS / 10, "kind %u changes nothing", i);
	b_str_release(&foreign);
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
	cr_expect_str_eq(v.why, "it was changed, or comes from another log");
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
	cr_expect_str_eq(v.why, "it belongs to another run");
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
