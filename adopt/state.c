/* SPDX-License-Identifier: Apache-2.0 */
/* state.c - see state.h. */
#include "adopt/state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "audit/rundir.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/sha256.h"

enum { STATE_MAX = 16 << 20 };

static void free_json(json_t **j)
{
	json_decref(*j);
}

void ad_state_release(struct ad_state *s)
{
	b_str_release(&s->before);
	b_str_release(&s->after);
	b_str_release(&s->made);
}

/* "~/.local/state/sbx-launch/setup/HASH.json", beside the runs: no command may write there. */
static int place_of(const char *file, struct b_str *out, size_t *out_dir, struct b_err *err)
{
	b_auto_free char *runs = aud_runs_root(err);
	char hash[B_SHA256_HEX];
	char *end = runs ? strrchr(runs, '/') : NULL;

	if (!end)
		return -1;
	b_sha256_hex(file, strlen(file), hash);
	b_str_addf(out, "%.*s/setup", (int)(end - runs), runs);
	*out_dir = out->len;
	b_str_addf(out, "/%s.json", hash);
	return 0;
}

static int take(const json_t *j, const char *key, struct b_str *out)
{
	const json_t *value = json_object_get(j, key);

	if (!json_is_string(value))
		return -1;
	b_str_addn(out, json_string_value(value), json_string_length(value));
	return 0;
}

int ad_state_read(const char *file, struct ad_state *out, struct b_err *err)
{
	b_auto(b_str_release) struct b_str path = {0}, text = {0};
	b_auto(free_json) json_t *j = NULL;
	size_t dir;

	*out = (struct ad_state){0};
	if (place_of(file, &path, &dir, err) < 0)
		return -1;
	if (access(path.s, F_OK) < 0 && errno == ENOENT)
		return 0;
	if (b_read_file(path.s, STATE_MAX, &text, err) < 0)
		return -1;
	j = json_loadb(b_str_c(&text), text.len, JSON_ALLOW_NUL, NULL);
	if (take(j, "before", &out->before) < 0 || take(j, "after", &out->after) < 0 ||
	    take(j, "made", &out->made) < 0)
		return b_fail(err, B_FORMAT, 0, "%s: not what sbx-launch writes: remove it",
			      path.s);
	out->existed = json_is_true(json_object_get(j, "existed"));
	out->is_there = true;
	return 0;
}

int ad_state_write(const char *file, const struct ad_state *s, struct b_err *err)
{
	b_auto(b_str_release) struct b_str path = {0}, text = {0};
	struct b_json j = {.out = &text};
	const unsigned mode = 0600;
	size_t dir;

	if (place_of(file, &path, &dir, err) < 0)
		return -1;
	path.s[dir] = '\0';
	if (b_mkdirs(path.s, err) < 0)
		return -1;
	path.s[dir] = '/';
	b_json_open(&j, '{');
	b_json_key(&j, "file");
	b_json_str(&j, file);
	b_json_key(&j, "existed");
	b_json_bool(&j, s->existed);
	b_json_key(&j, "before");
	b_json_strn(&j, b_str_c(&s->before), s->before.len);
	b_json_key(&j, "after");
	b_json_strn(&j, b_str_c(&s->after), s->after.len);
	b_json_key(&j, "made");
	b_json_str(&j, b_str_c(&s->made));
	b_json_close(&j, '}');
	b_str_addc(&text, '\n');
	return b_replace_file(path.s, &mode, text.s, text.len, err);
}

void ad_state_remove(const char *file)
{
	b_auto(b_str_release) struct b_str path = {0};
	size_t dir;

	if (place_of(file, &path, &dir, NULL) < 0)
		return;
	(void)unlink(path.s);
	path.s[dir] = '\0';
	(void)rmdir(path.s);
}
