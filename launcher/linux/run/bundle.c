/* SPDX-License-Identifier: Apache-2.0 */
/* bundle.c - see bundle.h. */
#include "launcher/run/bundle.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "audit/read_run.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "launcher/plan/program.h"
#include "policy/document/layers.h"

/* Of what the helper says. */
enum { ANSWER_MAX = 24 << 20, REASON_MAX = 900 };

static _Noreturn void be_helper(const char *program, const char *bundle, const char *public_key,
				int out, int errors)
{
	char take[] = "take", key_option[] = "--key", end[] = "--";
	char *name = b_strdup(program), *file = b_strdup(bundle);
	char *key = b_strdup(public_key ? public_key : POL_BUNDLE_KEY);
	char *const argv[] = {name, key_option, key, end, take, file, NULL};
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (dup2(out, STDOUT_FILENO) < 0 || dup2(errors, STDERR_FILENO) < 0)
		_exit(127);
	execv(program, argv);
	_exit(127);
}

static int drain(int fd, size_t most, struct b_str *out)
{
	char part[65536];
	ssize_t n;

	while ((n = read(fd, part, sizeof part)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 || out->len + (size_t)n > most)
			return -1;
		b_str_addn(out, part, (size_t)n);
	}
	return 0;
}

/* Reduces "sbx-bundle: E_POLICY: reason\n" to the reason. */
static void strip(struct b_str *text)
{
	const char *from = b_str_c(text);
	struct b_str clean = {0};

	for (int i = 0; i < 2; i++) {
		const char *colon = strstr(from, ": ");

		from = colon ? colon + 2 : from;
	}
	b_str_addn(&clean, from, strcspn(from, "\n"));
	b_str_release(text);
	*text = clean;
}

/* It writes at most one line to descriptor 2. That fits a pipe, and is read after it has ended. */
static int run_helper(const char *program, const char *file, const char *key, struct b_str *answer,
		      struct b_err *err)
{
	b_auto(b_str_release) struct b_str why = {0};
	int out[2] = {-1, -1}, errors[2] = {-1, -1}, status = 0, rc;
	pid_t pid;

	if (pipe2(out, O_CLOEXEC) < 0 || pipe2(errors, O_CLOEXEC) < 0)
		return b_fail(err, B_SYSTEM, errno, "pipe: %s", strerror(errno));
	pid = fork();
	if (pid == 0)
		be_helper(program, file, key, out[1], errors[1]);
	close(out[1]);
	close(errors[1]);
	rc = pid < 0 ? -1 : drain(out[0], ANSWER_MAX, answer);
	if (rc == 0)
		rc = drain(errors[0], ANSWER_MAX, &why);
	close(out[0]);
	close(errors[0]);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (rc == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	strip(&why);
	return b_fail(err, B_POLICY, 0, "--require-bundle: %.*s", REASON_MAX,
		      why.len ? why.s : "sbx-bundle failed without a result");
}

static int read_answer(struct lau_bundle *b, struct b_err *err)
{
	const json_t *policies = json_object_get(b->all, "policies");
	json_t *one;
	size_t i;

	b->is.name = json_string_value(json_object_get(b->all, "name"));
	b->is.digest = json_string_value(json_object_get(b->all, "digest"));
	b->is.version = (uint64_t)aud_json_int(json_object_get(b->all, "version"), 0);
	json_array_foreach(policies, i, one)
	{
		const json_t *text = json_object_get(one, "text");
		const char *name = json_string_value(json_object_get(one, "name"));

		if (!name || !json_is_string(text) || b->n == POL_SIGNED_MAX)
			break;
		b->texts[b->n++] = (struct pol_signed_text){name, json_string_value(text),
							    json_string_length(text)};
	}
	if (b->is.name && b->is.digest && b->is.version && b->n &&
	    b->n == json_array_size(policies))
		return 0;
	return b_fail(err, B_POLICY, 0, "--require-bundle: sbx-bundle is of another version");
}

static void write_texts(struct lau_bundle *b)
{
	const char *why = json_string_value(json_object_get(b->all, "refused"));
	struct b_str text = {0}, all = {0};

	b_str_addf(&all, "%s %llu %s", b->is.name, (unsigned long long)b->is.version, b->is.digest);
	b->text = b_str_take(&all);
	if (!why || !*why)
		return;
	b_str_addf(&text,
		   "bundle refused: %s: version %llu of `%s`, the last good one, is in force", why,
		   (unsigned long long)b->is.version, b->is.name);
	b->note = b_str_take(&text);
}

int lau_bundle_take(const char *file, const char *key, struct lau_bundle *out, struct b_err *err)
{
	b_auto(b_str_release) struct b_str answer = {0};
	b_auto_free char *program = NULL;
	struct lau_bundle b = {0};
	json_error_t why;

	if (!file) {
		*out = b;
		return 0;
	}
	if (lau_bundle_find(&program, err) < 0)
		return b_wrap(err, "--require-bundle");
	if (run_helper(program, file, key, &answer, err) < 0)
		return -1;
	b.all = aud_json_load(b_str_c(&answer), answer.len, &why);
	if (read_answer(&b, err) < 0) {
		lau_bundle_release(&b);
		return -1;
	}
	write_texts(&b);
	*out = b;
	return 0;
}

void lau_bundle_release(struct lau_bundle *b)
{
	json_decref(b->all);
	free(b->text);
	free(b->note);
	*b = (struct lau_bundle){0};
}
