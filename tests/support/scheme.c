/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/scheme.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "sbpl/emit.h"
#include "sbpl/sbpl.h"

/* Filters and words that our profiles use, listed here on purpose: one that the prelude does not
 * know is an error, as on macOS. */
/* (string=? of Debian's 1.42 fails: parameters are found by symbol.) */
static const char prelude[] =
	"(define sbx-params '())\n"
	"(define (param n) (let ((p (assq (string->symbol n) sbx-params))) (if p (cdr p) #f)))\n"
	"(define (version n) n)\n"
	"(define (rule . x) (display \"rule\") (newline))\n"
	"(define allow rule)\n(define deny rule)\n"
	"(define (sbx-end n) (display \"end \") (display n) (newline))\n"
	"(define (strings k) (lambda x (for-each (lambda (s)\n"
	"  (if (not (string? s)) (error \"not a string\" s))) x) (cons k x)))\n"
	"(define (filters k) (lambda x (for-each (lambda (s)\n"
	"  (if (not (pair? s)) (error \"not a filter\" s))) x) (cons k x)))\n"
	"(define (sbx-values k) (lambda x (cons k x)))\n";

static const char *const string_filters[] = {"literal",		"subpath",
					     "regex",		"global-name",
					     "sysctl-name",	"sysctl-name-prefix",
					     "ipc-posix-name",	"ipc-posix-name-prefix",
					     "mac-policy-name", "iokit-user-client-class"};
static const char *const filter_filters[] = {"require-all", "require-any", "require-not"};
static const char *const value_filters[] = {"vnode-type",    "remote",	      "local",
					    "socket-domain", "ioctl-command", "mac-syscall-number",
					    "target"};
static const char *const words[] = {"ip", "same-sandbox", "DIRECTORY", "AF_UNIX", "AF_ROUTE"};

bool scheme_installed(void)
{
	return access("/usr/bin/tinyscheme", X_OK) == 0;
}

static void define_all(struct b_str *out, const char *const *names, size_t n, const char *maker)
{
	for (size_t i = 0; i < n; i++)
		if (maker)
			b_str_addf(out, "(define %s (%s '%s))\n", names[i], maker, names[i]);
		else
			b_str_addf(out, "(define %s '%s)\n", names[i], names[i]);
}

static void start(struct b_str *out)
{
	b_str_add(out, prelude);
	define_all(out, string_filters, sizeof string_filters / sizeof *string_filters, "strings");
	define_all(out, filter_filters, sizeof filter_filters / sizeof *filter_filters, "filters");
	define_all(out, value_filters, sizeof value_filters / sizeof *value_filters, "sbx-values");
	define_all(out, words, sizeof words / sizeof *words, NULL);
	for (size_t i = 0; i < sbpl_op_count(); i++)
		b_str_addf(out, "(define %s '%s)\n", sbpl_op_name((int)i), sbpl_op_name((int)i));
}

void scheme_add(struct scheme *s, const struct sbpl_profile *prof)
{
	if (s->n == 0)
		start(&s->text);
	b_str_add(&s->text, "(set! sbx-params (list\n");
	for (size_t i = 0; i < prof->nparams; i++) {
		b_str_addf(&s->text, "(cons (string->symbol \"%s\") ", prof->params[i].name);
		sbpl_put_string(&s->text, prof->params[i].value, strlen(prof->params[i].value));
		b_str_add(&s->text, ")\n");
	}
	b_str_add(&s->text, "))\n");
	b_str_addn(&s->text, prof->text, prof->len);
	b_str_addf(&s->text, "\n(sbx-end %zu)\n", s->n);
	b_grow(s->rules, s->n, s->cap);
	s->rules[s->n++] = prof->nrules;
}

/* Lines "rule", and "end N" behind each profile. */
static size_t count_bad(const struct scheme *s, FILE *f)
{
	char line[512];
	size_t done = 0, rules = 0, bad = 0, number;

	while (fgets(line, sizeof line, f)) {
		if (strcmp(line, "rule\n") == 0) {
			rules++;
		} else if (sscanf(line, "end %zu", &number) == 1 && number == done) {
			if (rules != s->rules[done]) {
				fprintf(stderr, "scheme: profile %zu: %zu rules, not %zu\n", done,
					rules, s->rules[done]);
				bad++;
			}
			done++;
			rules = 0;
		} else {
			fprintf(stderr, "scheme: %s", line);
		}
	}
	return bad + s->n - done;
}

size_t scheme_run(struct scheme *s)
{
	char path[] = "/tmp/sbx-test-scheme-XXXXXX", cmd[80];
	int fd = mkstemp(path);
	size_t bad = s->n ? s->n : 1;
	FILE *f;

	if (fd < 0)
		return bad;
	if (b_write_all(fd, b_str_c(&s->text), s->text.len) == 0) {
		snprintf(cmd, sizeof cmd, "/usr/bin/tinyscheme -1 %s 2>/dev/null", path);
		f = popen(cmd, "r");
		if (f) {
			bad = count_bad(s, f);
			pclose(f);
		}
	}
	close(fd);
	unlink(path);
	return bad;
}

void scheme_release(struct scheme *s)
{
	b_str_release(&s->text);
	free(s->rules);
	*s = (struct scheme){0};
}
