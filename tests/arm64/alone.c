/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alone.c - runs the unit tests of a program without libcriterion, which starts each test by
 * executing the program once more: under qemu-user the kernel would be given a program of another
 * machine. Each test is a fork here. TAP.
 *
 * It has the functions that <criterion/criterion.h> of version 2.4 calls, and no more: a program
 * that needs another does not link.
 */
#include <criterion/criterion.h>
#include <criterion/options.h>
#include <criterion/redirect.h>

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SECONDS = 600, SKIPPED = 77 };

extern struct criterion_test *__start_cr_tst[], *__stop_cr_tst[];
/* a program may have no suite */
extern struct criterion_suite *__start_cr_sts[] __attribute__((weak));
extern struct criterion_suite *__stop_cr_sts[] __attribute__((weak));

struct criterion_options criterion_options;

static const struct criterion_test *test;
static const struct criterion_test_extra_data *suite;
static jmp_buf over;
static bool has_failed;
static char why_skipped[256];

/* ---- what the header calls ---- */

int cr_asprintf(char **out, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(out, fmt, ap);
	va_end(ap);
	return n;
}

void cr_asprintf_free(char *s)
{
	free(s);
}

/* The library has texts for the numbers; the line of the source says as much. */
char *cr_translate_assert_msg(int number, ...)
{
	(void)number;
	return strdup("the assertion does not hold");
}

void cri_asserts_passed_incr(void)
{
}

__attribute__((format(printf, 2, 3))) void cr_log(enum criterion_severity severity, const char *fmt,
						  ...)
{
	va_list ap;

	(void)severity;
	printf("# ");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
}

static int caught = -1;

void cr_redirect_stderr(void)
{
	caught = memfd_create("stderr", MFD_CLOEXEC);
	dup2(caught, STDERR_FILENO);
}

/* Are they the same? */
int cr_stderr_match_str(const char *text)
{
	char got[4096];
	ssize_t n;

	fflush(stderr);
	n = pread(caught, got, sizeof got - 1, 0);
	got[n > 0 ? n : 0] = '\0';
	return strcmp(got, text) == 0;
}

void criterion_send_assert(struct criterion_assert_stats *s)
{
	if (s->passed)
		return;
	has_failed = true;
	printf("# %s:%u: %s\n", s->file, s->line, s->message ? s->message : "");
}

void criterion_abort_test(void)
{
	longjmp(over, 1);
}

void criterion_continue_test(void)
{
}

void criterion_skip_test(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why_skipped, sizeof why_skipped, fmt, ap);
	va_end(ap);
	longjmp(over, 1);
}

void criterion_internal_test_setup(void)
{
	if (suite && suite->init)
		suite->init();
	if (test->data->init)
		test->data->init();
}

void criterion_internal_test_main(void (*fn)(void))
{
	fn();
}

void criterion_internal_test_teardown(void)
{
	if (test->data->fini)
		test->data->fini();
	if (suite && suite->fini)
		suite->fini();
}

/* ---- the runner ---- */

static const struct criterion_test_extra_data *suite_of(const struct criterion_test *t)
{
	for (struct criterion_suite **s = __start_cr_sts; s < __stop_cr_sts; s++)
		if (*s && strcmp((*s)->name, t->category) == 0)
			return (*s)->data;
	return NULL;
}

/* The test's own function sets up, runs and tears down. What gave up in the middle is torn down
 * here. */
static _Noreturn void run(void)
{
	alarm(SECONDS);
	if (setjmp(over) == 0)
		test->test();
	else
		criterion_internal_test_teardown();
	if (*why_skipped)
		printf("# skipped: %s\n", why_skipped);
	fflush(stdout);
	exit(has_failed ? 1 : *why_skipped ? SKIPPED : 0);
}

static bool is_as_expected(int status)
{
	int signo = test->data->signal ? test->data->signal : suite ? suite->signal : 0;
	int code = test->data->exit_code ? test->data->exit_code : suite ? suite->exit_code : 0;

	if (WIFSIGNALED(status))
		return WTERMSIG(status) == signo;
	if (code == 0 && signo == 0 && WEXITSTATUS(status) == SKIPPED)
		return true;
	return signo == 0 && WEXITSTATUS(status) == code;
}

int main(void)
{
	int n = 0, bad = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (struct criterion_test **t = __start_cr_tst; t < __stop_cr_tst; t++) {
		int status = 0;
		pid_t pid;

		test = *t;
		if (!test || test->data->disabled)
			continue;
		suite = suite_of(test);
		fflush(stdout);
		pid = fork();
		if (pid == 0)
			run();
		if (pid < 0 || waitpid(pid, &status, 0) < 0 || !is_as_expected(status)) {
			printf("# status %#x\nnot ", status);
			bad++;
		}
		printf("ok %d - %s: %s\n", ++n, test->category, test->name);
	}
	printf("1..%d\n", n);
	return bad ? 1 : 0;
}
