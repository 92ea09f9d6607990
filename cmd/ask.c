/* SPDX-License-Identifier: Apache-2.0 */
/* ask.c - see ask.h. */
#include "cmd/ask.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "launcher/report/host.h"
#include "policy/questions/explain.h"
#include "policy/document/documents.h"
#include "policy/engine.h"
#include "policy/document/model.h"
#include "policy/document/settings.h"

static const char me[] = "sbx-policy";

int ask_trouble(const struct b_err *err)
{
	(void)b_report(me, err);
	return TROUBLE;
}

int ask_trouble_all(const struct b_str *report, const struct b_err *err)
{
	struct b_err one;
	size_t n;

	for (const char *line = b_str_c(report); *line; line += n + 1) {
		n = strcspn(line, "\n");
		b_fail(&one, err->kind, err->sys, "%.*s", (int)n, line);
		(void)ask_trouble(&one);
	}
	return report->len ? TROUBLE : ask_trouble(err);
}

int ask_print(const struct b_str *text, int status)
{
	struct b_err err;

	if (b_write_all(STDOUT_FILENO, b_str_c(text), text->len) == 0)
		return status;
	b_fail(&err, B_SYSTEM, errno, "standard output: %s", strerror(errno));
	return ask_trouble(&err);
}

int ask_parse_file(const struct ask_opts *o, const char *file, struct b_str *report,
		   struct pol_doc *doc, struct b_err *err)
{
	b_auto(b_str_release) struct b_str text = {0};
	struct pol_tests tests;

	if (pol_document_read(file, (enum pol_dialect)o->run.policy.dialect, report, doc, err) < 0)
		return -1;
	if (pol_doc_is_foreign(doc))
		return 0;
	/* Nobody but us reads them: a document is whole when they are. */
	if (pol_policy_read(file, &text, err) < 0 ||
	    pol_tests_parse(file, b_str_c(&text), text.len, &tests, err) < 0) {
		pol_doc_release(doc);
		return -1;
	}
	pol_tests_release(&tests);
	return 0;
}

static int find(const struct ask_opts *o, struct lau_host *host, struct asked *a, struct b_err *err)
{
	*a = (struct asked)ASKED_NONE;
	lau_host_quick(host);
	host->is_asked_as_macos = o->on == ON_MACOS || o->plan == PLAN_SBPL;
	if (o->abi) {
		host->landlock_abi = (int)o->abi;
		/* ABI 2 came with Linux 5.19, which is what the broker needs. */
		host->has_broker &= o->abi >= 2;
	}
	/* as a run with --backend bwrap */
	host->has_broker &= o->run.backend != LAU_BACKEND_BWRAP;
	if (lau_dirs_find(&o->run, &a->dirs, err) < 0)
		return -1;
	return lau_plan_policy(&o->run, host, &a->dirs, &a->plan, err);
}

int ask_policy(const struct ask_opts *o, struct asked *a, struct b_err *err)
{
	struct lau_host host;

	return find(o, &host, a, err);
}

int ask_run(const struct ask_opts *o, struct asked *a, struct b_err *err)
{
	struct lau_host host;

	if (find(o, &host, a, err) < 0)
		return -1;
	return lau_plan_floor(&o->run, &host, &a->plan, err);
}

void asked_release(struct asked *a)
{
	ask_macos_free(a->macos);
	lau_plan_release(&a->plan);
	lau_dirs_release(&a->dirs);
}

static void tell(const char *what, const char *text)
{
	b_auto(b_str_release) struct b_str line = {0};

	b_str_addf(&line, "%s: %s: ", me, what);
	b_str_add_visible(&line, text, strlen(text));
	b_str_addc(&line, '\n');
	(void)b_write_all(STDERR_FILENO, b_str_c(&line), line.len);
}

void ask_notes(const struct pol_doc *doc)
{
	for (size_t i = 0; i < doc->foreign.notes.n; i++)
		tell("note", doc->foreign.notes.v[i].s);
}

static size_t tell_loss(const char *loss, bool is_strict)
{
	b_auto(b_str_release) struct b_str text = {0};

	b_str_addf(&text, "%s%s", loss, is_strict ? ": a strict run refuses it" : "");
	tell("loss", b_str_c(&text));
	return is_strict;
}

static size_t tell_lost(const struct pol_texts *losses, bool is_strict)
{
	size_t n = 0;

	for (size_t i = 0; i < losses->n; i++)
		n += tell_loss(losses->v[i].s, is_strict);
	return n;
}

bool ask_refused(const struct pol_doc *doc)
{
	const struct pol_setting_value *v = doc->settings.value;
	bool is_host = v[POL_SET_network].said && v[POL_SET_network].v == POL_NET_HOST;
	bool is_strict = !pol_settings_is_lax(&doc->settings);
	size_t n = tell_lost(&doc->foreign.losses, is_strict);
	const char *lost;
	struct b_err err;

	for (size_t i = 0; (lost = lau_document_lost(&doc->settings, i)); i++)
		n += tell_loss(lost, is_strict);

	if (pol_settings_enabled(&doc->settings, &err) < 0) {
		tell("loss", err.msg);
		n++;
	}
	if (is_host) {
		n += tell_lost(&doc->foreign.net_losses, is_strict);
		n += tell_lost(&doc->foreign.host_losses, is_strict);
	}
	return n > 0;
}

void ask_notices(const struct pol_engine *e)
{
	for (size_t i = 0; i < e->nnotices; i++)
		tell("note", e->notices[i]);
	for (size_t i = 0; i < e->nlosses; i++)
		tell("loss", e->losses[i]);
}
