/* SPDX-License-Identifier: Apache-2.0 */
/* witness.c - see witness.h. */
#include "tests/support/witness.h"
#include "tests/support/full.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "core/event.h"
#include "core/ring.h"
#include "policy/compile/ruleset.h"

static void must(bool ok, const char *what)
{
	if (!ok) {
		fprintf(stderr, "witness: %s\n", what);
		abort();
	}
}

void witness_image(struct sbx_image *out, void **out_data)
{
	static const struct {
		enum sbx_op op;
		struct pol_rule rule;
	} rules[] = {
#define TREE(yes, at, text, from)                                                                  \
	{.allow = (yes),                                                                           \
	 .shape = POL_TREE,                                                                        \
	 .base = (at),                                                                             \
	 .base_len = sizeof(at) - 1,                                                               \
	 .matched = (text),                                                                        \
	 .origin = (from)}
		{SBX_READ, TREE(true, "", "/", "builtin:base:1")},
		{SBX_READ, TREE(false, "/home/u/.ssh", ".ssh", "preset:secrets:3:5")},
		{SBX_MODIFY, TREE(true, "/ws", ".", "p.yaml:8:3")},
		{SBX_MODIFY, TREE(false, "/ws/locked", "locked", "p.yaml:9:3")},
		{SBX_EXEC, TREE(true, "", "/", "builtin:base:1")},
		{SBX_EXEC, TREE(false, "/home/u/.ssh", ".ssh", "preset:secrets:3:5")},
#undef TREE
	};
	struct pol_ruleset rs;
	struct b_err err;
	size_t size, i;

	pol_ruleset_init(&rs);
	rs.profile = "default";
	for (i = 0; i < sizeof rules / sizeof *rules; i++)
		pol_ruleset_add(&rs, rules[i].op, &rules[i].rule);
	must(pol_compile(&rs, NULL, out_data, &size, &err) == 0, err.msg);
	must(sbx_image_open(out, *out_data, size, true) == SBX_IMAGE_OK, "image");
	pol_ruleset_release(&rs);
}

static void hear(void *ctx, const char *line)
{
	struct witness *w = ctx;

	b_str_add(&w->told, line);
	b_str_addc(&w->told, '\n');
}

const unsigned char *witness_key;
bool witness_judged;

/* Of the next collector. */
static struct {
	aud_kin_fn *kin;
	uint64_t log_limit;
	bool has_broker;
} wary;

static struct sbx_ring *make_ring(const struct witness *w, enum sbx_audit_level level)
{
	void *ring = mmap(NULL, w->ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			  -1, 0);

	must(ring != MAP_FAILED, "mmap");
	sbx_ring_init(ring, WITNESS_RING, level);
	return ring;
}

static void start(struct witness *w, enum sbx_audit_level level, int log_fd, bool required,
		  const char *run_id)
{
	static const char *const workspaces[] = {"/ws"};
	struct b_err err;

	*w = (struct witness){.log_fd = log_fd, .ring_bytes = sbx_ring_bytes(WITNESS_RING)};
	witness_image(&w->image, &w->image_data);
	w->ring = make_ring(w, level);
	w->broker = wary.has_broker ? make_ring(w, level) : NULL;
	must(sbx_ring_check(w->ring, w->ring_bytes, &w->ring_size), "ring");
	struct aud_config cfg = {
		.image = &w->image,
		.run_id = run_id,
		.workspaces = workspaces,
		.nworkspaces = 1,
		.log_fd = log_fd,
		.required = required,
		.ring = w->ring,
		.ring_data = WITNESS_RING,
		.broker_ring = w->broker,
		.broker_ring_data = WITNESS_RING,
		.denial = hear,
		.denial_ctx = w,
		.level = level,
		.kin = wary.kin,
		.log_limit = wary.log_limit,
		.foreign_pids = true, /* the pids are invented */
		.key = witness_key,
	};
	must(aud_collector_new(&cfg, &w->c, &err) == 0, "collector");
	w->now_ms = 1000000;
}

void witness_start_on(struct witness *w, enum sbx_audit_level level, int log_fd, bool required)
{
	start(w, level, log_fd, required, WITNESS_RUN);
}

void witness_start_beside(struct witness *w, aud_kin_fn *kin, int log_fd, bool required)
{
	wary.kin = kin;
	wary.has_broker = true;
	if (log_fd < 0)
		witness_start(w, SBX_AUDIT_ALL);
	else
		witness_start_on(w, SBX_AUDIT_ALL, log_fd, required);
	wary.kin = NULL;
	wary.has_broker = false;
}

void witness_start_limited(struct witness *w, uint64_t log_limit)
{
	wary.log_limit = log_limit;
	witness_start_beside(w, NULL, -1, false);
	wary.log_limit = 0;
}

void witness_start_named(struct witness *w, const char *run_id, int log_fd)
{
	start(w, SBX_AUDIT_FOLDED, log_fd, true, run_id);
}

void witness_start(struct witness *w, enum sbx_audit_level level)
{
	char name[] = "/tmp/sbx-witness-XXXXXX";
	int fd = mkostemp(name, O_CLOEXEC | O_APPEND);

	must(fd >= 0, "mkostemp");
	witness_start_on(w, level, fd, false);
	memcpy(w->log, name, sizeof name);
}

void witness_start_wary(struct witness *w, aud_kin_fn *kin, uint64_t log_limit)
{
	wary.kin = kin;
	wary.log_limit = log_limit;
	witness_start(w, SBX_AUDIT_ALL);
	wary.kin = NULL;
	wary.log_limit = 0;
}

void witness_release(struct witness *w)
{
	aud_collector_free(w->c);
	munmap(w->ring, w->ring_bytes);
	if (w->broker)
		munmap(w->broker, w->ring_bytes);
	free(w->image_data);
	b_str_release(&w->told);
	json_decref(w->lines);
	close(w->log_fd);
	if (*w->log)
		unlink(w->log);
}

bool witness_put(struct witness *w, struct sbx_event ev, const char *path, const char *path2)
{
	ev.time_ns = b_now_real_ns();
	ev.ppid = ev.pid - 1;
	ev.path_len = (uint16_t)strlen(path);
	ev.path2_len = (uint16_t)strlen(path2);
	return sbx_ring_write(w->ring, w->ring_size, &ev, path, path2);
}

bool witness_broker(struct witness *w, struct sbx_event ev, const char *path, const char *path2)
{
	ev.time_ns = b_now_real_ns();
	ev.ppid = 0;
	ev.path_len = (uint16_t)strlen(path);
	ev.path2_len = (uint16_t)strlen(path2);
	return sbx_ring_write(w->broker, w->ring_size, &ev, path, path2);
}

bool witness_call(struct witness *w, uint32_t pid, enum sbx_op op, bool allowed, const char *path)
{
	struct sbx_event ev = {.pid = pid,
			       .kind = SBX_EV_CALL,
			       .op = op,
			       .call = SBX_CALL_open,
			       .flags = allowed ? SBX_EVF_ALLOWED : 0,
			       .err = allowed ? 0 : 13};

	return witness_put(w, ev, path, "");
}

bool witness_exec(struct witness *w, uint32_t pid, enum sbx_exec_class cls, const char *path)
{
	struct sbx_event ev = {.pid = pid,
			       .kind = SBX_EV_EXEC,
			       .op = SBX_EXEC,
			       .call = SBX_CALL_execve,
			       .flags = SBX_EVF_ALLOWED,
			       .aux = cls};

	return witness_put(w, ev, path, "");
}

bool witness_hello(struct witness *w, uint32_t pid, const char *path)
{
	return witness_put(w, (struct sbx_event){.pid = pid, .kind = SBX_EV_HELLO}, path, "");
}

void witness_drain(struct witness *w, uint64_t ms)
{
	struct b_err err;
	int poll_ms;

	must(aud_collector_drain(w->c, w->now_ms, false, &poll_ms, &err) == 0, "drain");
	w->now_ms += ms;
}

static void load_lines(struct witness *w)
{
	FILE *f = fopen(w->log, "re");
	char *line = NULL;
	size_t cap = 0;
	ssize_t n;

	must(f != NULL, "log");
	w->lines = json_array();
	while ((n = getline(&line, &cap, f)) > 0) {
		json_t *j = json_loadb(line, (size_t)n, JSON_REJECT_DUPLICATES, NULL);

		must(j != NULL, line);
		if (strcmp(json_string_value(json_object_get(j, "kind")), "run") == 0)
			json_decref(j); /* the first line, of no event */
		else
			json_array_append_new(w->lines, j);
	}
	free(line);
	fclose(f);
}

static void validate(const char *log)
{
	char command[160];

	snprintf(command, sizeof command, "python3 tests/support/validate_log.py %s >&2", log);
	must(system(command) == 0, "the log does not keep to its schema");
}

void witness_end(struct witness *w)
{
	struct b_err err;
	int poll_ms;

	must(aud_collector_drain(w->c, w->now_ms, true, &poll_ms, &err) == 0, "last drain");
	must(aud_collector_finish(w->c, &err) == 0, "finish");
	aud_collector_counts(w->c, &w->counts);
	if (!*w->log)
		return;
	load_lines(w);
	if (witness_judged || is_full())
		validate(w->log);
}

json_t *witness_line(const struct witness *w, size_t i)
{
	return json_array_get(w->lines, i);
}

const char *witness_str(const struct witness *w, size_t i, const char *key)
{
	const char *s = json_string_value(json_object_get(witness_line(w, i), key));

	return s ? s : "(absent)";
}
