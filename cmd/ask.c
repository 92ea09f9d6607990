/* ask.c - see ask.h. */
#include "cmd/ask.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/own.h"
#include "base/str.h"
#include "launcher/host.h"
#include "policy/documents.h"
#include "policy/engine.h"
#include "policy/model.h"

static const char me[] = "sbx-policy";

int ask_trouble(const struct b_err *err)
{
	(void)b_report(me, err);
	return TROUBLE;
}

int ask_print(const struct b_str *text, int status)
{
	struct b_err err;

	if (b_write_all(STDOUT_FILENO, b_str_c(text), text->len) == 0)
		return status;
	b_fail(&err, B_SYSTEM, errno, "standard output: %s", strerror(errno));
	return ask_trouble(&err);
}

int ask_parse_file(const char *file, struct pol_doc *doc, struct b_err *err)
{
	return pol_document_read(file, doc, err);
}

int ask_run(const struct ask_opts *o, struct asked *a, struct b_err *err)
{
	struct lau_host host;

	memset(&a->plan, 0, sizeof a->plan);
	lau_host_quick(&host);
	if (o->abi)
		host.landlock_abi = (int)o->abi;
	if (lau_dirs_find(&o->run, &a->dirs, err) < 0 ||
	    lau_plan_policy(&o->run, &host, &a->dirs, &a->plan, err) < 0)
		return -1;
	return lau_plan_floor(&o->run, &host, &a->plan, err);
}

void asked_release(struct asked *a)
{
	lau_plan_release(&a->plan);
	lau_dirs_release(&a->dirs);
}

void ask_notices(const struct pol_engine *e)
{
	for (size_t i = 0; i < e->nnotices; i++) {
		b_auto(b_str_release) struct b_str line = {0};

		b_str_addf(&line, "%s: note: ", me);
		b_str_add_visible(&line, e->notices[i], strlen(e->notices[i]));
		b_str_addc(&line, '\n');
		(void)b_write_all(STDERR_FILENO, b_str_c(&line), line.len);
	}
}
