/* SPDX-License-Identifier: Apache-2.0 */
/* take.c - see take.h. */
#include "bundle/take.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "bundle/sign.h"

/* Clocks of two machines differ by less. */
enum { CLOCKS_DIFFER_S = 24 * 60 * 60 };

static int read_signed(const char *file, const char *key, struct bun_payload *out,
		       struct b_str *text, struct b_err *err)
{
	unsigned char signature[BUN_SIGNATURE];
	b_auto(b_str_release) struct b_str payload = {0};
	char id[B_SHA256_HEX];

	if (b_read_file(file, BUN_FILE_MAX, text, err) < 0)
		return -1;
	if (bun_file_read(text, &payload, signature, err) < 0 ||
	    bun_verify(key, &payload, signature, id, err) < 0 ||
	    bun_payload_read(payload.s, payload.len, out, err) < 0)
		return b_wrap(err, "%s", file);
	return 0;
}

static void say_version(const struct bun_payload *p, struct b_str *out)
{
	b_str_addf(out, "version %llu of `%s`", (unsigned long long)p->version, p->name);
}

/* An expiry means nothing to a clock that stands before the bundle was made. */
static int check_age(const struct bun_payload *p, uint64_t now, struct b_err *err)
{
	b_auto(b_str_release) struct b_str what = {0}, when = {0};

	say_version(p, &what);
	if (now + CLOCKS_DIFFER_S < p->created) {
		bun_time_add(p->created, &when);
		b_str_add(&when, ", and the clock says ");
		bun_time_add(now, &when);
		return b_fail(err, B_POLICY, 0, "%s was made %s", what.s, b_str_c(&when));
	}
	if (now < p->expires)
		return 0;
	bun_time_add(p->expires, &when);
	return b_fail(err, B_POLICY, 0, "%s expired %s", what.s, b_str_c(&when));
}

int bun_open(const char *file, const char *key, uint64_t now, struct bun_payload *out,
	     bool *out_is_expired, struct b_err *err)
{
	b_auto(b_str_release) struct b_str text = {0};

	*out_is_expired = false;
	if (read_signed(file, key, out, &text, err) < 0)
		return -1;
	*out_is_expired = check_age(out, now, err) < 0;
	return *out_is_expired ? b_wrap(err, "%s", file) : 0;
}

/* What stands beside the last good one: its own kind, its version or a later one. */
static int check_succession(const char *file, const struct bun_payload *p,
			    const struct bun_payload *last, struct b_err *err)
{
	if (strcmp(p->name, last->name) != 0)
		return b_fail(err, B_POLICY, 0,
			      "%s: its name is `%s`, but the last bundle of this key is `%s`", file,
			      p->name, last->name);
	if (p->version < last->version)
		return b_fail(err, B_POLICY, 0,
			      "%s: rolled back: it is version %llu of `%s`, but version %llu was "
			      "already in force",
			      file, (unsigned long long)p->version, p->name,
			      (unsigned long long)last->version);
	if (p->version == last->version && strcmp(p->digest, last->digest) != 0)
		return b_fail(err, B_POLICY, 0,
			      "%s: its text differs from the one that was in force as version %llu "
			      "of `%s`",
			      file, (unsigned long long)p->version, p->name);
	return 0;
}

/* ---- what is in force ---- */

struct taking {
	const char *file, *key, *root;
	uint64_t now;
	struct b_str path; /* of the last good one */
	struct bun_payload p, last;
	bool has_last;
	struct b_str text; /* of the file */
};

static void release(struct taking *t)
{
	b_str_release(&t->path);
	b_str_release(&t->text);
	bun_payload_release(&t->p);
	bun_payload_release(&t->last);
}

/* A kept bundle that does not verify is an error. If it counted as missing, an older bundle would
 * be accepted. */
static int read_last(struct taking *t, struct b_err *err)
{
	b_auto(b_str_release) struct b_str text = {0};

	bun_payload_release(&t->last);
	t->has_last = false;
	if (access(t->path.s, F_OK) < 0 && errno == ENOENT)
		return 0;
	if (read_signed(t->path.s, t->key, &t->last, &text, err) < 0)
		return b_wrap(err, "the last good bundle is damaged (remove it to begin anew)");
	t->has_last = true;
	return 0;
}

static bool is_newer(const struct taking *t)
{
	return !t->has_last || t->p.version > t->last.version;
}

static int judge(struct taking *t, struct b_err *err)
{
	if (read_signed(t->file, t->key, &t->p, &t->text, err) < 0)
		return -1;
	if (check_age(&t->p, t->now, err) < 0)
		return b_wrap(err, "%s", t->file);
	return t->has_last ? check_succession(t->file, &t->p, &t->last, err) : 0;
}

static int lock(const struct taking *t, struct b_err *err)
{
	b_auto(b_str_release) struct b_str name = {0};
	b_auto_fd int fd = -1;

	if (b_mkdirs(t->root, err) < 0)
		return -1;
	b_str_addf(&name, "%s.lock", t->path.s);
	fd = open(name.s, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	if (fd < 0 || flock(fd, LOCK_EX) < 0)
		return b_fail(err, B_SYSTEM, errno, "%s: %s", name.s, strerror(errno));
	return b_take_fd(&fd);
}

/* Two runs may begin together with two files: which is newer is asked again below a lock. */
static int keep(struct taking *t, struct b_err *err)
{
	b_auto_fd int fd = lock(t, err);

	if (fd < 0 || read_last(t, err) < 0)
		return -1;
	return is_newer(t) ? b_write_file(t->path.s, 0600, t->text.s, t->text.len, true, err) : 0;
}

/* The last good one takes the place of what is refused, while it has not expired itself. */
static int fall_back(struct taking *t, struct bun_taken *out, struct b_err *err)
{
	struct b_err old;

	if (!t->has_last)
		return -1;
	memcpy(out->refused, err->msg, strnlen(err->msg, sizeof out->refused - 1));
	if (check_age(&t->last, t->now, &old) < 0)
		return b_fail(err, B_POLICY, 0, "%s; and the last good one: %s", out->refused,
			      old.msg);
	out->is_kept = true;
	out->payload = t->last;
	t->last = (struct bun_payload){0};
	return 0;
}

int bun_take(const char *file, const char *key, const char *root, uint64_t now,
	     struct bun_taken *out, struct b_err *err)
{
	b_auto(release) struct taking t = {.file = file, .key = key, .root = root, .now = now};
	char id[B_SHA256_HEX];
	int rc;

	*out = (struct bun_taken){0};
	if (bun_key_id(key, id, err) < 0)
		return -1;
	b_str_addf(&t.path, "%s/.bundle-%.16s", root, id);
	if (read_last(&t, err) < 0)
		return -1;
	rc = judge(&t, err);
	if (rc == 0 && is_newer(&t)) {
		if (keep(&t, err) < 0)
			return b_wrap(err, "the last good bundle cannot be stored");
		rc = t.has_last ? check_succession(file, &t.p, &t.last, err) : 0;
	}
	if (rc < 0)
		return fall_back(&t, out, err);
	out->payload = t.p;
	t.p = (struct bun_payload){0};
	return 0;
}
