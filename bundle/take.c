/* SPDX-License-Identifier: Apache-2.0 */
/* take.c - see take.h. */
#include "bundle/take.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "bundle/sign.h"

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

static int check_age(const char *file, const struct bun_payload *p, uint64_t now, struct b_err *err)
{
	b_auto(b_str_release) struct b_str when = {0};

	if (now < p->expires)
		return 0;
	bun_time_add(p->expires, &when);
	return b_fail(err, B_POLICY, 0, "%s: version %llu of `%s` expired %s", file,
		      (unsigned long long)p->version, p->name, b_str_c(&when));
}

int bun_open(const char *file, const char *key, uint64_t now, struct bun_payload *out,
	     bool *out_is_expired, struct b_err *err)
{
	b_auto(b_str_release) struct b_str text = {0};

	*out_is_expired = false;
	if (read_signed(file, key, out, &text, err) < 0)
		return -1;
	*out_is_expired = check_age(file, out, now, err) < 0;
	return *out_is_expired ? -1 : 0;
}

/* What stands beside the last good one: its own kind, its version or a later one. */
static int check_succession(const char *file, const struct bun_payload *p,
			    const struct bun_payload *last, struct b_err *err)
{
	if (strcmp(p->name, last->name) != 0)
		return b_fail(err, B_POLICY, 0, "%s: is `%s`, and this key's is `%s`", file,
			      p->name, last->name);
	if (p->version < last->version)
		return b_fail(err, B_POLICY, 0,
			      "%s: rolled back: version %llu of `%s`, and %llu was in force", file,
			      (unsigned long long)p->version, p->name,
			      (unsigned long long)last->version);
	if (p->version == last->version && strcmp(p->digest, last->digest) != 0)
		return b_fail(err, B_POLICY, 0, "%s: another text of version %llu of `%s`", file,
			      (unsigned long long)p->version, p->name);
	return 0;
}

static int keep(const char *path, const char *root, const struct b_str *text, struct b_err *err)
{
	if (b_mkdirs(root, err) < 0)
		return -1;
	return b_write_file(path, 0600, text->s, text->len, true, err);
}

/* The last good one takes the place of what is refused, while it has not expired itself. */
static int fall_back(const char *path, struct bun_payload *last, bool has_last, uint64_t now,
		     struct bun_taken *out, struct b_err *err)
{
	struct b_err old;

	if (!has_last)
		return -1;
	if (check_age(path, last, now, &old) < 0)
		return b_fail(err, B_POLICY, 0, "%.400s; and the last good one: %.400s", err->msg,
			      strchr(old.msg, ':') + 2);
	out->is_kept = true;
	memcpy(out->refused, err->msg, strnlen(err->msg, sizeof out->refused - 1));
	out->payload = *last;
	*last = (struct bun_payload){0};
	return 0;
}

int bun_take(const char *file, const char *key, const char *root, uint64_t now,
	     struct bun_taken *out, struct b_err *err)
{
	b_auto(bun_payload_release) struct bun_payload p = {0}, last = {0};
	b_auto(b_str_release) struct b_str text = {0}, kept = {0}, path = {0};
	char id[B_SHA256_HEX];
	struct b_err no_matter;
	bool has_last;
	int rc;

	*out = (struct bun_taken){0};
	if (bun_key_id(key, id, err) < 0)
		return -1;
	b_str_addf(&path, "%s/.bundle-%.16s", root, id);
	has_last = access(path.s, F_OK) == 0 &&
		   read_signed(path.s, key, &last, &kept, &no_matter) == 0;
	rc = read_signed(file, key, &p, &text, err);
	if (rc == 0)
		rc = check_age(file, &p, now, err);
	if (rc == 0 && has_last)
		rc = check_succession(file, &p, &last, err);
	if (rc < 0)
		return fall_back(path.s, &last, has_last, now, out, err);
	if ((!has_last || p.version > last.version) && keep(path.s, root, &text, err) < 0)
		return b_wrap(err, "the last good bundle cannot be kept");
	out->payload = p;
	p = (struct bun_payload){0};
	return 0;
}
