/* SPDX-License-Identifier: Apache-2.0 */
/* sbx-launch - runs a command under a policy: sbx-launch(1). */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "launcher/exec/exec.h"
#include "launcher/report/host.h"
#include "launcher/options/options.h"
#include "launcher/options/shell.h"
#include "launcher/run/os.h"
#include "launcher/supervise/supervise.h"
#include "launcher/report/report.h"
#include "launcher/plan/environment.h"
#include "launcher/run/run.h"
#ifdef __APPLE__
#include "launcher/macos/seatbelt.h"
#else
#include "cmd/doctor.h"
#include "launcher/linux/bwrap/wrap.h"
#include "launcher/linux/run/adopt.h"
#endif

static const char me[] = "sbx-launch";

static int print(const struct b_str *text)
{
	struct b_err err;

	if (b_write_all(STDOUT_FILENO, b_str_c(text), text->len) == 0)
		return 0;
	b_fail(&err, B_SYSTEM, errno, "standard output: %s", strerror(errno));
	return b_report(me, &err);
}

static int doctor(bool json)
{
	b_auto(b_str_release) struct b_str text = {0};
	struct lau_host host;

	lau_host_probe(&host);
#ifdef __linux__
	doctor_find_linked(&host);
#endif
	lau_host_show(&host, json, !json && isatty(STDOUT_FILENO), &text);
	return print(&text);
}

/* What only Linux has. */
static bool is_for_linux(const struct lau_options *o)
{
	return o->ps || o->stop || o->wait || o->reload || o->hook || o->setup;
}

static int answer_on_linux(const struct lau_options *o)
{
#ifdef __linux__
	if (o->hook)
		return lau_hook(o);
	if (o->setup)
		return lau_setup(o);
	if (o->ps)
		return lau_runs_list(o->json);
	if (o->reload)
		return lau_runs_reload(o->reload, o->timeout_ms);
	return o->stop ? lau_runs_stop(o->stop, o->timeout_ms)
		       : lau_runs_wait(o->wait, o->timeout_ms);
#else
	(void)o;
	return 125; /* no option asks */
#endif
}

static int answer(const struct lau_options *o)
{
	b_auto(b_str_release) struct b_str text = {0};

	if (o->doctor)
		return doctor(o->json);
	if (o->completion >= 0)
		lau_options_complete((enum b_shell)o->completion, &text);
	else if (o->help)
		lau_options_help(&text);
	else
		b_str_add(&text, "sbx-launch " SBX_VERSION "\n");
	return print(&text);
}

/* Who asked for --status-fd or --result-json learns of what is wrong behind it, too. */
static int refuse(const struct lau_options *o, const struct b_err *err)
{
	struct lau_outcome outcome = {.phase = LAU_PHASE_SETUP, .err = *err};
	struct lau_capture capture;
	struct b_err late;
	int status;

	lau_redact_error(&outcome.err, lau_os_environ());
	status = b_report(me, &outcome.err);

	if (o->status_fd >= 0)
		lau_outcome_write(&outcome, o->status_fd);
	if (lau_capture_find(o, &capture, &late) < 0 ||
	    lau_capture_end(&capture, &outcome, NULL, &late) < 0)
		(void)b_report(me, &late);
	lau_capture_release(&capture);
	return status;
}

/* Is the output for a shell? Asked of arguments that could not be read: the option itself may be
 * the misspelt one. */
static bool is_for_shell(int argc, char **argv)
{
	static const char option[] = "--print-e";

	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strncmp(argv[i], option, sizeof option - 1) == 0)
			return true;
	return false;
}

static int refuse_words(int argc, char **argv, const struct lau_options *o, const struct b_err *err)
{
	int status;

	if (is_for_shell(argc, argv))
		(void)b_write_all(STDOUT_FILENO, LAU_PRINT_ENV_STOP, sizeof LAU_PRINT_ENV_STOP - 1);
	status = refuse(o, err);
#ifdef __linux__
	if (lau_hook_is_asked(argc, argv))
		return LAU_HOOK_BLOCKS;
#endif
	return status;
}

int main(int argc, char **argv)
{
	b_auto_free char **words = NULL;
	struct lau_options o;
	struct b_err err;
	bool is_read;
	int status;

	if (b_fill_stdio() < 0)
		return 125; /* nowhere to say why */
	if (lau_stage2_asked(argc, argv))
		return lau_stage2(argc, argv);
	lau_options_init(&o);
	if (lau_shell_is_asked(argv[0]))
		argv = words = lau_shell_words(&argc, argv, &o.is_shell);
	is_read = lau_options_parse(argc, argv, &o, &err) == 0;
	if (!is_read)
		status = refuse_words(argc, argv, &o, &err);
	else if (o.help || o.version || o.completion >= 0 || o.doctor)
		status = answer(&o);
	else if (is_for_linux(&o))
		status = answer_on_linux(&o);
	else if (o.selftest)
		status = lau_selftest(argc, argv, &o);
	else if (o.print_argv)
		status = lau_print_argv(&o);
	else if (o.print_env)
		status = lau_print_env(&o);
	else
		status = lau_run(&o);
	lau_options_release(&o);
	return status;
}
