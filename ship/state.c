/* SPDX-License-Identifier: Apache-2.0 */
/* state.c - see state.h. */
#include "ship/state.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>
#include <unistd.h>

#include "audit/read_run.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"

enum { VERSION = 1 };

bool ship_name_valid(const char *name)
{
	size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_");

	return n && n < SHIP_NAME_MAX && !name[n];
}

static bool get_u64(const json_t *all, const char *key, uint64_t *out)
{
	const json_t *v = json_object_get(all, key);

	*out = json_is_integer(v) && json_integer_value(v) >= 0 ? (uint64_t)json_integer_value(v)
								: 0;
	return json_is_integer(v) && json_integer_value(v) >= 0;
}

/* Each rule holds of what ship_state_write() was given: another number would be believed later. */
static bool read_fields(const json_t *all, struct ship_state *s)
{
	const char *host = json_string_value(json_object_get(all, "host"));
	uint64_t version;

	if (!get_u64(all, "schemaVersion", &version) || version != VERSION ||
	    !get_u64(all, "lines", &s->lines) || !get_u64(all, "rows", &s->rows) ||
	    !get_u64(all, "bytes", &s->bytes) || !get_u64(all, "planned", &s->planned) || !host ||
	    strlen(host) >= sizeof s->host || s->rows > s->lines ||
	    (s->planned && s->planned <= s->lines))
		return false;
	memcpy(s->host, host, strlen(host) + 1);
	s->has_run_row = json_is_true(json_object_get(all, "run_row"));
	s->is_done = json_is_true(json_object_get(all, "done"));
	return true;
}

bool ship_state_read(const char *text, size_t n, struct ship_state *out)
{
	struct ship_state s = {0};
	json_error_t why;
	json_t *all = aud_json_load(text, n, &why);
	bool is_good = all && read_fields(all, &s);

	json_decref(all);
	if (is_good)
		*out = s;
	return is_good;
}

void ship_state_write(const struct ship_state *s, struct b_str *out)
{
	struct b_json j = {.out = out};

	b_json_open(&j, '{');
	b_json_key(&j, "schemaVersion");
	b_json_u64(&j, VERSION);
	b_json_key(&j, "lines");
	b_json_u64(&j, s->lines);
	b_json_key(&j, "rows");
	b_json_u64(&j, s->rows);
	b_json_key(&j, "bytes");
	b_json_u64(&j, s->bytes);
	b_json_key(&j, "planned");
	b_json_u64(&j, s->planned);
	b_json_key(&j, "run_row");
	b_json_bool(&j, s->has_run_row);
	b_json_key(&j, "done");
	b_json_bool(&j, s->is_done);
	b_json_key(&j, "host");
	b_json_str(&j, s->host);
	b_json_close(&j, '}');
	b_str_addc(out, '\n');
}

/* ---- the file ---- */

static void add_path(struct b_str *out, const char *dir, const char *name)
{
	b_str_addf(out, "%s/ship-%s.json", dir, name);
}

int ship_state_load(const char *dir, const char *name, struct ship_state *out, struct b_err *err)
{
	b_auto(b_str_release) struct b_str path = {0}, text = {0};

	add_path(&path, dir, name);
	if (access(path.s, F_OK) < 0 && errno == ENOENT) {
		*out = (struct ship_state){0};
		return 0;
	}
	if (b_read_file(path.s, SHIP_STATE_MAX, &text, err) < 0)
		return -1;
	if (!ship_state_read(b_str_c(&text), text.len, out))
		return b_fail(
			err, B_FORMAT, 0,
			"%s: damaged: how much of this run the server has is not known: remove the "
			"file to send the run again from its beginning, and rebuild the counts",
			path.s);
	return 0;
}

int ship_state_save(const char *dir, const char *name, const struct ship_state *s, bool durable,
		    struct b_err *err)
{
	b_auto(b_str_release) struct b_str path = {0}, text = {0};

	add_path(&path, dir, name);
	ship_state_write(s, &text);
	return b_write_file(path.s, 0600, text.s, text.len, durable, err);
}
