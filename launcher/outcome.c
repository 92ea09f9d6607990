/* outcome.c - see outcome.h. */
#include "launcher/outcome.h"

#include <signal.h>

#include "base/io.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"

int lau_outcome_status(const struct lau_outcome *o)
{
	switch (o->phase) {
	case LAU_PHASE_COMMAND:
		return o->signal ? 128 + o->signal : o->exit_code;
	case LAU_PHASE_TIMEOUT:
		return o->was_killed ? LAU_STATUS_KILLED : LAU_STATUS_TIMEOUT;
	case LAU_PHASE_INTERRUPTED:
		return 128 + o->interrupted;
	case LAU_PHASE_SETUP:
	case LAU_PHASE_EXEC:
	case LAU_PHASE_ABORTED:
	case LAU_PHASE_COUNT:
		break;
	}
	return b_kind_status(o->err.kind);
}

void lau_outcome_write(const struct lau_outcome *o, int fd)
{
#define X(name, text) [LAU_PHASE_##name] = text,
	static const char *const phase[LAU_PHASE_COUNT] = {LAU_PHASES(X)};
#undef X
	b_auto(b_str_release) struct b_str line = {0};
	struct b_json j = {.out = &line};

	b_json_open(&j, '{');
	b_json_key(&j, "phase");
	b_json_str(&j, phase[o->phase]);
	b_json_key(&j, "status");
	b_json_i64(&j, lau_outcome_status(o));
	b_json_key(&j, "signal");
	if (o->signal)
		b_json_i64(&j, o->signal);
	else
		b_json_null(&j);
	b_json_key(&j, "error");
	if (o->err.kind == B_OK) {
		b_json_null(&j);
	} else {
		b_json_open(&j, '{');
		b_json_key(&j, "code");
		b_json_str(&j, b_kind_code(o->err.kind));
		b_json_key(&j, "message");
		b_json_str(&j, o->err.msg);
		b_json_close(&j, '}');
	}
	b_json_close(&j, '}');
	b_str_addc(&line, '\n');
	(void)signal(SIGPIPE, SIG_IGN);
	(void)b_write_all(fd, line.s, line.len);
}
