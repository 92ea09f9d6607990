/* SPDX-License-Identifier: Apache-2.0 */
/* tree.c - the processes of a run; see views.h. */
#include <inttypes.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "core/stamp.h"
#include "views/inside.h"
#include "views/part.h"
#include "views/processes.h"
#include "views/views.h"

enum { DEPTH_MAX = 200, COMMAND_MAX = 300 };

static const char *end_of(const struct view_image *i)
{
	if (i->has_status)
		return "status";
	if (i->has_exit && i->signal)
		return "signal";
	return i->is_replaced ? "exec" : "unknown";
}

/* Milliseconds from its first line to its last; -1 = its end is unknown. */
static int64_t duration_of(const struct view_image *i)
{
	int64_t from = sbx_stamp_ns(i->started), to = sbx_stamp_ns(i->ended);

	return i->has_exit && from > 0 && to >= from ? (to - from) / 1000000 : -1;
}

static void add_end(const struct view *v, const struct view_image *i, struct b_str *out)
{
	int64_t ms = duration_of(i);

	if (i->has_status)
		b_str_addf(out, "  status %" PRId64, i->status);
	else if (i->has_exit && i->signal)
		b_str_addf(out, "  killed by signal %" PRId64, i->signal);
	else if (!i->is_replaced && !v->run->live)
		b_str_add(out, "  end unknown");
	if (ms >= 0)
		b_str_addf(out, "  %" PRId64 ".%03d s", ms / 1000, (int)(ms % 1000));
	if (i->is_unwitnessed)
		b_str_add(out, "  unwitnessed");
}

static void add_image(const struct view *v, const struct view_images *all,
		      const struct view_image *i, unsigned depth, struct b_str *out)
{
	b_auto(b_str_release) struct b_str command = {0};
	const char *red = v->colour ? "\033[31m" : "", *off = v->colour ? "\033[0m" : "";

	view_image_command(i, &command);
	b_str_addf(out, "%*s%" PRId64 "  ", (int)(2 * depth), "", i->pid);
	if (command.len > COMMAND_MAX) {
		size_t n = COMMAND_MAX;

		while ((command.s[n] & 0xc0) == 0x80)
			n--;
		b_str_addn(out, command.s, n);
		b_str_add(out, " ...");
	} else {
		b_str_add(out, b_str_c(&command));
	}
	if (*i->cwd && strcmp(i->cwd, all->cwd ? all->cwd : "") != 0) {
		b_str_add(out, "  in ");
		view_text(out, i->cwd);
	}
	if (i->changed)
		b_str_addf(out, "  %" PRIu64 " changed", i->changed);
	if (i->denied)
		b_str_addf(out, "  %s%" PRIu64 " denied%s", red, i->denied, off);
	add_end(v, i, out);
	b_str_addc(out, '\n');
}

/* The members of the object that are a program's own word. */
static void add_claimed(const struct view_image *i, struct b_json *j)
{
	b_json_key(j, "claimed");
	b_json_open(j, '[');
	b_json_str(j, "path");
	if (*i->argv)
		b_json_str(j, "argv");
	if (*i->cwd)
		b_json_str(j, "cwd");
	b_json_close(j, ']');
}

static void add_image_json(const struct view_images *all, const struct view_image *i,
			   struct b_str *out)
{
	struct b_json j = {.out = out};

	b_json_open(&j, '{');
	b_json_key(&j, "seq");
	b_json_i64(&j, i->seq);
	if (i->parent != SIZE_MAX) {
		b_json_key(&j, "parent");
		b_json_i64(&j, all->v[i->parent].seq);
	}
	b_json_key(&j, "pid");
	b_json_i64(&j, i->pid);
	b_json_bytes(&j, "path", i->path, strlen(i->path));
	if (*i->argv) {
		b_auto(b_str_release) struct b_str word = {0};
		const char *at = i->argv;

		b_json_key(&j, "argv");
		b_json_open(&j, '[');
		while (aud_list_next(&at, &word))
			b_json_str(&j, b_str_c(&word));
		b_json_close(&j, ']');
	}
	if (*i->cwd)
		b_json_bytes(&j, "cwd", i->cwd, strlen(i->cwd));
	if (i->is_claimed)
		add_claimed(i, &j);
	b_json_key(&j, "started");
	b_json_str(&j, i->started);
	b_json_key(&j, i->has_exit ? "ended" : "last_event");
	b_json_str(&j, i->ended);
	b_json_key(&j, "events");
	b_json_u64(&j, i->events);
	b_json_key(&j, "changed");
	b_json_u64(&j, i->changed);
	b_json_key(&j, "denied");
	b_json_u64(&j, i->denied);
	b_json_key(&j, "end");
	b_json_str(&j, end_of(i));
	if (i->has_exit && (i->has_status || i->signal)) {
		b_json_key(&j, i->has_status ? "status" : "signal");
		b_json_i64(&j, i->has_status ? i->status : i->signal);
	}
	if (duration_of(i) >= 0) {
		b_json_key(&j, "duration_ms");
		b_json_i64(&j, duration_of(i));
	}
	b_json_close(&j, '}');
	b_str_addc(out, '\n');
}

/* Without recursion: the command decides how deep it is. */
static int add_below(struct view *v, const struct view_images *all, size_t root, struct b_err *err)
{
	unsigned depth = 0;
	size_t at = root;

	for (;;) {
		const struct view_image *i = &all->v[at];

		add_image(v, all, i, depth < DEPTH_MAX ? depth : DEPTH_MAX, v->out);
		if (view_flush(v, err) < 0)
			return -1;
		if (i->child) {
			at = i->child - 1;
			depth++;
			continue;
		}
		while (at != root && !all->v[at].next) {
			at = all->v[at].parent;
			depth--;
		}
		if (at == root)
			return 0;
		at = all->v[at].next - 1;
	}
}

static int show(void *gathered, struct view *v, struct b_err *err)
{
	struct view_images *all = gathered;
	bool is_claimed = false;
	size_t i;

	view_images_link(all);
	for (i = 0; i < all->n; i++) {
		bool is_root = all->v[i].parent == SIZE_MAX;

		is_claimed |= all->v[i].is_claimed;
		if (v->json)
			add_image_json(all, &all->v[i], v->out);
		else if (is_root && add_below(v, all, i, err) < 0)
			return -1;
		if (view_flush(v, err) < 0)
			return -1;
	}
	if (is_claimed && !v->json)
		b_str_add(v->out,
			  "names, words and directories are as the programs reported them\n");
	return all->n > 0;
}

static void *open_images(struct view *v, const struct aud_reader *r, struct b_err *err)
{
	(void)v;
	(void)r;
	(void)err;
	return b_calloc(1, sizeof(struct view_images));
}

static void add_event(void *gathered, const struct aud_entry *e)
{
	view_images_add(gathered, e);
}

static void close_images(void *gathered)
{
	view_images_release(gathered);
	free(gathered);
}

const struct view_part view_part_tree = {open_images, add_event, show, close_images,
					 view_list_inside};

int view_tree(struct view *v, struct b_err *err)
{
	return view_alone(v, &view_part_tree, err);
}
