/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_run.h - recorded runs, as sbx-audit finds them.
 *
 *	char id[AUD_ID_MAX];
 *	struct aud_run run;
 *	if (aud_run_find(root, "last", id, &err) < 0 || aud_run_load(root, id, &run, &err) < 0) ...
 *	aud_run_release(&run);
 *
 * run.json is read as hostile: a value of the wrong type is as good as absent.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/preload_log.h"

struct b_err;
struct json_t;

#define AUD_ID_MAX   40
#define AUD_INFO_MAX (4u << 20) /* bytes of run.json: argv may be long */

struct aud_run {
	char id[AUD_ID_MAX];
	char *log;		    /* path of the log */
	bool live;		    /* its supervisor runs */
	bool is_shared;		    /* the log may have lines of other runs */
	struct aud_alone alone;	    /* preload-only: it has no supervisor, and no end */
	struct json_t *info;	    /* run.json; NULL when there is none */
	const char *workspaces[64]; /* borrowed from info */
	size_t nworkspaces;
};

/* `text`: an id, a unique beginning of one, or "last". B_NOTFOUND, or B_USAGE when ambiguous. */
int aud_run_find(const char *root, const char *text, char out_id[AUD_ID_MAX], struct b_err *err);
/* B_FORMAT when run.json is there but no JSON object. */
int aud_run_load(const char *root, const char *id, struct aud_run *out, struct b_err *err);
void aud_run_release(struct aud_run *);

/* NULL / fallback when absent or of another type; the dotted path goes through objects. */
const char *aud_run_str(const struct aud_run *, const char *path);
int64_t aud_run_int(const struct aud_run *, const char *path, int64_t fallback);
struct json_t *aud_run_get(const struct aud_run *, const char *path);

/*
 * JSON that was written by others: numbers of any size are read.
 *
 * jansson refuses a text whose integers exceed 64 bits. A number out of range is a lie or a
 * fault, and no reason to show nothing of a run: such a text is read again with reals.
 */

/* NULL with *out_why when it is no JSON. */
json_t *aud_json_load(const char *s, size_t len, json_error_t *out_why);
/* A number as the integer next to it within int64_t; `fallback` when it is none. NULL will do. */
int64_t aud_json_int(const json_t *, int64_t fallback);
