/* SPDX-License-Identifier: Apache-2.0 */
/* sbx-ship - the record to a server; sbx-audit starts it for its word `ship`: sbx-audit-ship(1). */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "audit/rundir.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/opt.h"
#include "base/str.h"
#include "ship/config.h"
#include "ship/ship.h"
#include "ship/status.h"

static const char me[] = "sbx-ship";

/* sbx-audit's grammar */
enum { ALL_THERE, WAITS, TROUBLE };

struct options {
	struct ship_config config;
	bool status, json, help, version;
};

#define AT(field) .offset = offsetof(struct options, field)

static const struct b_opt table[] = {
	{"to", 0, "URL", B_OPT_STR, AT(config.to),
	 .help = "the server: https://HOST[:PORT][/PATH][?SETTINGS]"},
	{"follow", 'f', NULL, B_OPT_FLAG, AT(config.is_following),
	 .help = "keep running: send new events, and retry without limit"},
	{"interval", 0, "TIME", B_OPT_MS, AT(config.interval_ms),
	 .help = "with --follow: time between two checks for new events (default 10s)"},
	{"retry-for", 0, "TIME", B_OPT_MS, AT(config.retry_ms),
	 .help = "without --follow: retry for this long (default 30s)"},
	{"timeout", 0, "TIME", B_OPT_MS, AT(config.timeout_ms),
	 .help = "limit for one request (default 5m)"},
	{"database", 0, "NAME", B_OPT_STR, AT(config.database),
	 .help = "database with the tables `events` and `runs` (default sbx)"},
	{"name", 0, "NAME", B_OPT_STR, AT(config.name),
	 .help = "name of the destination, when there are several (default `default`)"},
	{"host", 0, "NAME", B_OPT_STR, AT(config.host),
	 .help = "name of this machine in the rows (default: the one in each record)"},
	{"compress", 0, "CODING", B_OPT_ENUM, AT(config.coding), "gzip|zstd|none",
	 .help = "compression of requests: gzip (default), zstd, none"},
	{"credentials", 0, "FILE", B_OPT_STR, AT(config.credentials),
	 .help = "file with lines user=, password=, token= (default: the variables SBX_SHIP_USER, "
		 "SBX_SHIP_PASSWORD, SBX_SHIP_TOKEN)"},
	{"ca", 0, "FILE", B_OPT_STR, AT(config.ca),
	 .help = "CA certificates to verify the server with (default: the system's)"},
	{"cert", 0, "FILE", B_OPT_STR, AT(config.cert), .help = "client certificate"},
	{"key", 0, "FILE", B_OPT_STR, AT(config.key), .help = "key of the client certificate"},
	{"allow-http", 0, NULL, B_OPT_FLAG, AT(config.allow_http),
	 .help = "accept http://: the record and the credentials are sent unencrypted"},
	{"status", 0, NULL, B_OPT_FLAG, AT(status),
	 .help = "send nothing; print what has not been sent and for how long it waits"},
	{"json", 0, NULL, B_OPT_FLAG, AT(json), .help = "with --status: print JSON"},
	{"help", 'h', NULL, B_OPT_FLAG, AT(help), .help = "this text"},
	{"version", 'V', NULL, B_OPT_FLAG, AT(version), .help = "the version"},
};
enum { OPTIONS = sizeof table / sizeof *table };

static const char usage[] =
	"usage: sbx-audit ship --to URL [OPTIONS]   send the record of all runs\n"
	"       sbx-audit ship --status [--json]    what is unsent, and for how long\n\n";
static const char ending[] =
	"\n"
	"Exit status: 0 the server acknowledged everything (with --follow: a signal ended it);\n"
	"1 not everything, the same command continues from there; 2 an error.\n";

static atomic_int stop;

static void on_signal(int number)
{
	(void)number;
	atomic_store(&stop, 1);
}

static void catch_signals(void)
{
	struct sigaction end = {.sa_handler = on_signal}, none = {.sa_handler = SIG_IGN};

	sigaction(SIGTERM, &end, NULL);
	sigaction(SIGINT, &end, NULL);
	sigaction(SIGPIPE, &none, NULL);
}

static int fail(const struct b_err *err)
{
	b_report(me, err);
	return err->kind == B_NOTFOUND ? WAITS : TROUBLE;
}

static int put(const struct b_str *text)
{
	return b_write_all(STDOUT_FILENO, b_str_c(text), text->len) < 0 ? TROUBLE : ALL_THERE;
}

static int help(bool version)
{
	b_auto(b_str_release) struct b_str text = {0};

	if (version) {
		b_str_addf(&text, "%s %s\n", me, SBX_VERSION);
		return put(&text);
	}
	b_str_add(&text, usage);
	b_opt_help(table, OPTIONS, &text);
	b_str_add(&text, ending);
	return put(&text);
}

static int status(const struct options *o, const char *root)
{
	b_auto(b_str_release) struct b_str text = {0};
	struct b_err err;
	bool waits;

	if (ship_status_show(root, o->config.name, o->json, &text, &waits, &err) < 0)
		return fail(&err);
	return put(&text) != ALL_THERE ? TROUBLE : waits ? WAITS : ALL_THERE;
}

static int ship(struct options *o, const char *root)
{
	struct ship_result result = {0};
	struct b_err err;
	int rc;

	if (o->json) {
		b_fail(&err, B_USAGE, 0, "--json goes with --status");
		return fail(&err);
	}
	if (ship_config_check(&o->config, &err) < 0 || ship_config_secret(&o->config, &err) < 0)
		return fail(&err);
	catch_signals();
	rc = ship_all(&o->config, root, &stop, &result, &err);
	ship_config_forget(&o->config);
	if (rc < 0)
		return fail(&err);
	return result.trouble ? TROUBLE : ALL_THERE;
}

int main(int argc, char **argv)
{
	struct options o = {.config = {.name = "default",
				       .database = "sbx",
				       .interval_ms = 10000,
				       .retry_ms = 30000,
				       .timeout_ms = 300000}};
	b_auto_free char *root = NULL;
	struct b_err err;
	int rest;

	if (b_fill_stdio() < 0)
		return TROUBLE;
	if (b_opt_parse(table, OPTIONS, argc, argv, &o, NULL, &rest, &err) < 0)
		return fail(&err);
	if (o.help || o.version)
		return help(!o.help);
	if (rest < argc) {
		b_fail(&err, B_USAGE, 0, "ship takes no `%s`", argv[rest]);
		return fail(&err);
	}
	root = aud_runs_root(&err);
	if (!root)
		return fail(&err);
	return o.status ? status(&o, root) : ship(&o, root);
}
