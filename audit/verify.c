/* verify.c - see verify.h. */
#include "audit/verify.h"

#include <jansson.h>
#include <string.h>

#include "audit/jsonload.h"
#include "audit/lines.h"
#include "audit/log.h"
#include "audit/runload.h"
#include "base/mem.h"

/* NULL = the line continues the chain. */
static const char *check_line(const struct aud_line *line, const struct aud_verify *v)
{
	const char *prev, *why = NULL;
	json_t *j;

	if (line->too_long)
		return "longer than any line of a log";
	if (line->torn)
		return "the file ends in the middle of it";
	j = aud_json_load(line->s, line->len, &(json_error_t){0});
	prev = json_string_value(json_object_get(j, "prev"));
	if (!prev)
		why = "not an event";
	else if (strcmp(prev, v->hash) != 0)
		why = "its prev is not the hash of the line before";
	else if (aud_json_int(json_object_get(j, "seq"), 0) != (int64_t)v->lines + 1)
		why = "its seq does not follow";
	json_decref(j);
	return why;
}

int aud_verify(const struct aud_run *run, struct aud_verify *out, struct b_err *err)
{
	const char *final = aud_run_str(run, "final_hash");
	b_auto(aud_lines_release) struct aud_lines l = {.fd = -1};
	struct aud_verify v = {.hash = AUD_CHAIN_START, .has_final = final && !run->live};
	struct aud_line line;
	int got;

	if (aud_lines_open(&l, run->log, err) < 0)
		return -1;
	while ((got = aud_lines_next(&l, &line, err)) > 0) {
		if (line.torn && run->live)
			break; /* being written */
		if (run->alone.is_alone) {
			v.is_unchained = true;
			v.lines++;
			continue;
		}
		v.why = check_line(&line, &v);
		if (v.why) {
			v.broken_line = l.number;
			break;
		}
		v.lines++;
		b_sha256_hex(line.s, line.len, v.hash);
	}
	if (got < 0)
		return -1;
	v.final_matches = v.has_final && strcmp(final, v.hash) == 0;
	*out = v;
	return 0;
}
