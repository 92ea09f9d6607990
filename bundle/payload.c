/* SPDX-License-Identifier: Apache-2.0 */
/* payload.c - see payload.h. */
#include "bundle/payload.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/json.h"

enum { VERSION = 1 };

bool bun_name_valid(const char *name)
{
	size_t n =
		strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.");

	return n && n < BUN_NAME_MAX && !name[n] && *name != '.' && *name != '-';
}

/* ---- times ---- */

static bool has_form(const char *s, const char *form)
{
	for (; *form; s++, form++)
		if (*form == '0' ? *s < '0' || *s > '9' : *s != *form)
			return false;
	return !*s;
}

void bun_time_add(uint64_t t, struct b_str *out)
{
	time_t when = (time_t)t;
	char text[32];
	struct tm tm;

	if (gmtime_r(&when, &tm) && strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm))
		b_str_add(out, text);
}

bool bun_time_parse(const char *s, uint64_t *out)
{
	b_auto(b_str_release) struct b_str again = {0};
	bool is_day = has_form(s, "0000-00-00");
	struct tm tm = {0};
	time_t t;

	if (!is_day && !has_form(s, "0000-00-00T00:00:00Z"))
		return false;
	sscanf(s, "%4d-%2d-%2dT%2d:%2d:%2dZ", &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &tm.tm_hour,
	       &tm.tm_min, &tm.tm_sec);
	tm.tm_year -= 1900;
	tm.tm_mon--;
	t = timegm(&tm);
	if (t < 0)
		return false;
	/* no 31st of February, which would be another day */
	bun_time_add((uint64_t)t, &again);
	if (strncmp(b_str_c(&again), s, strlen(s) - !is_day) != 0)
		return false;
	*out = (uint64_t)t;
	return true;
}

/* ---- the payload ---- */

static void add_time(struct b_json *j, const char *key, uint64_t t)
{
	b_auto(b_str_release) struct b_str text = {0};

	bun_time_add(t, &text);
	b_json_key(j, key);
	b_json_str(j, b_str_c(&text));
}

void bun_payload_write(const struct bun_payload *p, struct b_str *out)
{
	struct b_json j = {.out = out};

	b_json_open(&j, '{');
	b_json_key(&j, "schemaVersion");
	b_json_u64(&j, VERSION);
	b_json_key(&j, "name");
	b_json_str(&j, p->name);
	b_json_key(&j, "version");
	b_json_u64(&j, p->version);
	add_time(&j, "created", p->created);
	add_time(&j, "expires", p->expires);
	b_json_key(&j, "policies");
	b_json_open(&j, '[');
	for (size_t i = 0; i < p->n; i++) {
		b_json_open(&j, '{');
		b_json_key(&j, "name");
		b_json_str(&j, p->policies[i].name);
		b_json_key(&j, "text");
		b_json_strn(&j, p->policies[i].text, p->policies[i].len);
		b_json_close(&j, '}');
	}
	b_json_close(&j, ']');
	b_json_close(&j, '}');
}

void bun_payload_release(struct bun_payload *p)
{
	b_arena_release(&p->arena);
	*p = (struct bun_payload){0};
}

bool bun_payload_has(const struct bun_payload *p, const char *name)
{
	for (size_t i = 0; i < p->n; i++)
		if (strcmp(p->policies[i].name, name) == 0)
			return true;
	return false;
}

static bool read_policy(struct bun_payload *p, const json_t *one)
{
	const json_t *text = json_object_get(one, "text");
	const char *name = json_string_value(json_object_get(one, "name"));
	struct bun_policy *to = &p->policies[p->n];

	if (!name || !bun_name_valid(name) || !json_is_string(text) || p->n == BUN_POLICIES_MAX ||
	    bun_payload_has(p, name))
		return false;
	to->name = b_arena_strndup(&p->arena, name, strlen(name));
	to->len = json_string_length(text);
	to->text = b_arena_strndup(&p->arena, json_string_value(text), to->len);
	if (memchr(to->text, '\0', to->len))
		return false;
	p->n++;
	return true;
}

static bool read_fields(struct bun_payload *p, const json_t *all)
{
	const json_t *version = json_object_get(all, "version");
	const json_t *policies = json_object_get(all, "policies");
	const char *name = json_string_value(json_object_get(all, "name"));
	const char *created = json_string_value(json_object_get(all, "created"));
	const char *expires = json_string_value(json_object_get(all, "expires"));
	json_t *one;
	size_t i;

	if (json_integer_value(json_object_get(all, "schemaVersion")) != VERSION || !name ||
	    !bun_name_valid(name) || !json_is_integer(version) || json_integer_value(version) < 1 ||
	    !created || !bun_time_parse(created, &p->created) || !expires ||
	    !bun_time_parse(expires, &p->expires) || !json_array_size(policies))
		return false;
	memcpy(p->name, name, strlen(name) + 1);
	p->version = (uint64_t)json_integer_value(version);
	json_array_foreach(policies, i, one) if (!read_policy(p, one)) return false;
	return true;
}

int bun_payload_read(const void *bytes, size_t n, struct bun_payload *out, struct b_err *err)
{
	json_t *all = json_loadb(bytes, n, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
	struct bun_payload p = {0};
	bool is_good = json_is_object(all) && read_fields(&p, all);

	json_decref(all);
	if (!is_good) {
		bun_payload_release(&p);
		return b_fail(err, B_FORMAT, 0, "this version does not understand the signed part");
	}
	b_sha256_hex(bytes, n, p.digest);
	*out = p;
	return 0;
}

/* ---- the file ---- */

void bun_file_write(const struct b_str *payload, const unsigned char signature[BUN_SIGNATURE],
		    struct b_str *out)
{
	b_str_add(out, "{\"sbx_bundle\":1,\"payload\":\"");
	b_str_add_base64(out, payload->s, payload->len);
	b_str_add(out, "\",\"signature\":\"");
	b_str_add_base64(out, signature, BUN_SIGNATURE);
	b_str_add(out, "\"}\n");
}

static int digit(char c)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* One spelling for each value: padded, nothing beside it, no bits left over. */
static bool decode(const char *s, struct b_str *out)
{
	size_t n = strlen(s), pad = n && s[n - 1] == '=' ? 1 + (n > 1 && s[n - 2] == '=') : 0;
	unsigned bits = 0, have = 0;

	if (!n || n % 4)
		return false;
	for (size_t i = 0; i < n - pad; i++) {
		int d = digit(s[i]);

		if (d < 0)
			return false;
		bits = bits << 6 | (unsigned)d;
		have += 6;
		if (have >= 8) {
			have -= 8;
			b_str_addc(out, (char)(bits >> have & 0xff));
		}
	}
	return (bits & ((1u << have) - 1)) == 0;
}

int bun_file_read(const struct b_str *text, struct b_str *out_payload,
		  unsigned char out_signature[BUN_SIGNATURE], struct b_err *err)
{
	b_auto(b_str_release) struct b_str signature = {0};
	json_t *all = json_loadb(b_str_c(text), text->len, JSON_REJECT_DUPLICATES, NULL);
	const char *p = json_string_value(json_object_get(all, "payload"));
	const char *s = json_string_value(json_object_get(all, "signature"));
	bool is_good = json_integer_value(json_object_get(all, "sbx_bundle")) == 1 && p && s &&
		       decode(p, out_payload) && decode(s, &signature) &&
		       signature.len == BUN_SIGNATURE;
	bool is_bundle = all != NULL;

	json_decref(all);
	if (!is_good)
		return b_fail(err, B_FORMAT, 0,
			      is_bundle ? "no bundle" : "truncated, or not a bundle");
	memcpy(out_signature, signature.s, BUN_SIGNATURE);
	return 0;
}
