/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recordlog.c - the record of a run, read back: the lines of audit.jsonl, as the product writes
 * them. Within a string each quote is escaped, so a key cannot be mistaken for a part of one.
 */
#include "attack.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The value of a key in a line, NULL: it has none. */
static char *value_of(char *line, const char *key)
{
	char text[40], *at;

	snprintf(text, sizeof text, ",\"%s\":", key);
	at = strstr(line, text);
	return at ? at + strlen(text) : NULL;
}

static unsigned hex(const char *s, unsigned n)
{
	char text[9] = "";

	memcpy(text, s, n);
	return (unsigned)strtoul(text, NULL, 16);
}

/* Ends a JSON string in place, without its escapes. Bytes that are no text come by base64. */
static void unescape(char *s)
{
	char *out = s;

	for (; *s && *s != '"'; s++) {
		if (*s != '\\') {
			*out++ = *s;
			continue;
		}
		s++;
		if (*s == 'u') {
			*out++ = (char)hex(s + 1, 4);
			s += 4;
		} else {
			const char *at = strchr("n\nt\tr\rb\bf\f", *s);

			*out++ = at && strchr("ntrbf", *s) ? at[1] : *s;
		}
	}
	*out = '\0';
}

static void decode(char *s)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char *out = s;
	unsigned bits = 0, n = 0;

	for (const char *at; *s && *s != '=' && (at = strchr(letters, *s)); s++) {
		bits = bits << 6 | (unsigned)(at - letters);
		n += 6;
		if (n >= 8)
			*out++ = (char)(bits >> (n -= 8) & 0xff);
	}
	*out = '\0';
}

static char *keep(char *a)
{
	if (!a)
		abort();
	return a;
}

static char *text_of(char *line, const char *key)
{
	char *at = value_of(line, key), *copy;

	if (!at || *at != '"')
		return keep(strdup(""));
	copy = keep(strdup(at + 1));
	unescape(copy);
	return copy;
}

/* "./x" is shown for what lies below the workspace. */
static char *path_of(char *line, const char *key, const char *ws)
{
	char exact[24], *shown, *path = NULL;

	snprintf(exact, sizeof exact, "%s_b64", key);
	shown = text_of(line, exact);
	decode(shown);
	if (!*shown) {
		free(shown);
		shown = text_of(line, key);
	}
	if (shown[0] != '.' || (shown[1] && shown[1] != '/'))
		return shown;
	if (asprintf(&path, "%s%s", ws, shown + 1) < 0)
		abort();
	free(shown);
	return path;
}

static int64_t time_of(char *line)
{
	const char *at = value_of(line, "ts");
	struct tm tm = {0};
	unsigned ns = 0;

	if (!at || sscanf(at, "\"%d-%d-%dT%d:%d:%d.%9uZ", &tm.tm_year, &tm.tm_mon, &tm.tm_mday,
			  &tm.tm_hour, &tm.tm_min, &tm.tm_sec, &ns) != 7)
		return 0;
	tm.tm_year -= 1900;
	tm.tm_mon -= 1;
	return (int64_t)timegm(&tm) * 1000000000 + ns;
}

static long number_of(char *line, const char *key, long otherwise)
{
	const char *at = value_of(line, key);

	return at ? strtol(at, NULL, 10) : otherwise;
}

static bool is_text(char *line, const char *key, const char *text)
{
	const char *at = value_of(line, key);

	return at && !strncmp(at + 1, text, strlen(text)) && at[1 + strlen(text)] == '"';
}

static bool is_kind(char *line, const char *kind)
{
	return is_text(line, "kind", kind);
}

static void take_line(struct ak_log *log, char *line, const char *ws)
{
	struct ak_event *e;

	if (is_kind(line, "gap") && number_of(line, "lost", 0))
		log->is_whole = false;
	if (!is_kind(line, "result") && !is_kind(line, "denied"))
		return;
	log->v = realloc(log->v, (log->n + 1) * sizeof *log->v);
	if (!log->v)
		abort();
	e = &log->v[log->n++];
	*e = (struct ak_event){
		.ns = time_of(line),
		.call = text_of(line, "call"),
		.op = text_of(line, "op"),
		.path = path_of(line, "path", ws),
		.path2 = path_of(line, "path2", ws),
		.is_denied = is_kind(line, "denied"),
		.is_brokers = is_text(line, "layer", "broker"),
		.err = (int)number_of(line, "errno", 0),
		.pid = (int32_t)number_of(line, "pid", 0),
		.count = (unsigned)number_of(line, "count", 1),
	};
}

static bool find_log(const char *state, char *out, size_t size)
{
	char runs[256];
	struct dirent *d;
	bool found = false;
	DIR *dir;

	snprintf(runs, sizeof runs, "%s/sbx-launch/runs", state);
	dir = opendir(runs);
	while (dir && (d = readdir(dir)))
		if (d->d_name[0] != '.' && d->d_name[0] >= '0' && d->d_name[0] <= '9') {
			snprintf(out, size, "%s/%.64s/audit.jsonl", runs, d->d_name);
			found = true;
		}
	if (dir)
		closedir(dir);
	return found;
}

/* run.json, beside the log: the summary of what is missing, which a full disk keeps from the log.
 */
static bool says_all_is_there(const char *log)
{
	static const char *const missing[] = {"lost", "broker_lost", "unwritten"};
	char path[400], text[65536];
	bool found;
	size_t n;
	FILE *f;

	snprintf(path, sizeof path, "%.*srun.json", (int)(strrchr(log, '/') + 1 - log), log);
	f = fopen(path, "re");
	n = f ? fread(text, 1, sizeof text - 1, f) : 0;
	text[n] = '\0';
	if (f)
		(void)fclose(f);
	found = strstr(text, "\"unwritten\":") != NULL;
	for (unsigned i = 0; i < sizeof missing / sizeof *missing; i++)
		found = found && !number_of(text, missing[i], 0);
	return found;
}

bool ak_log_load(const char *state, const char *ws, struct ak_log *out)
{
	char path[400], *line = NULL;
	size_t size = 0;
	FILE *f;

	*out = (struct ak_log){.is_whole = true};
	f = find_log(state, path, sizeof path) ? fopen(path, "re") : NULL;
	if (!f)
		return false;
	while (getline(&line, &size, f) > 0)
		take_line(out, line, ws);
	free(line);
	(void)fclose(f);
	out->is_whole = out->is_whole && says_all_is_there(path);
	return true;
}

/* What a finding about the record rests on: only the log shows whether a line is missing, late, or
 * has another path. */
void ak_log_keep(const char *state, const char *dir, uint64_t seed)
{
	char path[400], kept[512], buf[65536];
	FILE *from, *to;
	size_t n;

	if (!dir || !find_log(state, path, sizeof path))
		return;
	snprintf(kept, sizeof kept, "%s/log-%u-%016" PRIx64 ".jsonl", dir, (unsigned)getuid(),
		 seed);
	from = fopen(path, "re");
	to = fopen(kept, "we");
	while (from && to && (n = fread(buf, 1, sizeof buf, from)) > 0)
		(void)fwrite(buf, 1, n, to);
	if (from)
		(void)fclose(from);
	if (to)
		(void)fclose(to);
}

void ak_log_release(struct ak_log *log)
{
	for (size_t i = 0; i < log->n; i++) {
		free((char *)(uintptr_t)log->v[i].call);
		free((char *)(uintptr_t)log->v[i].op);
		free((char *)(uintptr_t)log->v[i].path);
		free((char *)(uintptr_t)log->v[i].path2);
	}
	free(log->v);
	*log = (struct ak_log){0};
}
