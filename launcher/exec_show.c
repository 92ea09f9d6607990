/* exec_show.c - an exec request as text: see exec.h. */
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "launcher/exec.h"
#include "launcher/redact.h"

static void put_words(struct b_json *j, const char *key, const char *const *words)
{
	b_json_key(j, key);
	b_json_open(j, '[');
	for (; words && *words; words++)
		b_json_str(j, *words);
	b_json_close(j, ']');
}

static void put_env(struct b_json *j, char *const *env)
{
	b_json_key(j, "env");
	if (!env) {
		b_json_str(j, "inherit");
		return;
	}
	b_json_open(j, '{');
	for (; *env; env++) {
		size_t n = strcspn(*env, "=");
		b_auto(b_str_release) struct b_str name = {0};

		b_str_addn(&name, *env, n);
		b_json_key(j, b_str_c(&name));
		b_json_str(j, lau_name_is_secret(*env, n) ? LAU_REDACTED
			      : (*env)[n]		  ? *env + n + 1
							  : "");
	}
	b_json_close(j, '}');
}

static void put_stdin(struct b_json *j, const struct lau_exec_request *rq)
{
	static const char *const modes[] = {"inherit", "null", "bytes"};

	b_json_key(j, "stdin");
	b_json_str(j, modes[rq->stdin_mode]);
	if (rq->stdin_mode != LAU_STDIN_BYTES)
		return;
	b_json_key(j, "bytes");
	b_json_str(j, LAU_REDACTED);
	b_json_key(j, "nbytes");
	b_json_u64(j, rq->nbytes);
}

void lau_exec_request_show(const struct lau_exec_request *rq, struct b_str *out)
{
	struct b_json j = {.out = out};

	b_json_open(&j, '{');
	put_words(&j, "argv", rq->argv);
	b_json_key(&j, "cwd");
	if (rq->cwd)
		b_json_str(&j, rq->cwd);
	else
		b_json_null(&j);
	b_json_key(&j, "timeout_ms");
	b_json_u64(&j, rq->timeout_ms);
	b_json_key(&j, "grace_ms");
	b_json_u64(&j, rq->grace_ms ? rq->grace_ms : LAU_EXEC_GRACE_MS);
	put_stdin(&j, rq);
	put_env(&j, rq->env);
	b_json_key(&j, "capture");
	b_json_bool(&j, !rq->no_capture);
	b_json_key(&j, "limit");
	b_json_u64(&j, rq->limit ? rq->limit : LAU_CAPTURE_LIMIT);
	b_json_key(&j, "debug");
	b_json_bool(&j, rq->debug);
	b_json_close(&j, '}');
}
