/* SPDX-License-Identifier: Apache-2.0 */
/* config.c - see config.h. */
#include "ship/config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "ship/state.h"

enum { SECRET_FILE_MAX = 16384 };

const char *ship_table_name(enum ship_table table)
{
	static const char *const names[SHIP_TABLE_COUNT] = {
		[SHIP_EVENTS] = "events", [SHIP_RUNS] = "runs"};

	return names[table];
}

/* ---- the address ---- */

static bool is_printable(const char *s)
{
	for (; *s; s++)
		if (*s <= ' ' || *s > '~')
			return false;
	return true;
}

/* Is there a parameter of that name? */
static bool has_parameter(const char *url, const char *name)
{
	size_t n = strlen(name);

	for (const char *at = strchr(url, '?'); at; at = strchr(at + 1, '&'))
		if (strncasecmp(at + 1, name, n) == 0 && at[1 + n] == '=')
			return true;
	return false;
}

static bool names_user(const char *url)
{
	static const char *const names[] = {"user", "password", "token", "access_token"};
	const char *host = strstr(url, "://") + 3, *at = strchr(host, '@');

	if (at && at < host + strcspn(host, "/?"))
		return true;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (has_parameter(url, names[i]))
			return true;
	return false;
}

static int check_url(const struct ship_config *c, struct b_err *err)
{
	const char *url = c->to;
	bool is_clear = strncasecmp(url, "http://", 7) == 0;

	if (!is_clear && strncasecmp(url, "https://", 8) != 0)
		return b_fail(err, B_USAGE, 0, "--to: an address begins with https://, not `%s`",
			      url);
	if (strlen(url) > SHIP_URL_MAX || !is_printable(url) || strchr(url, '#'))
		return b_fail(err, B_USAGE, 0,
			      "--to: at most %d bytes of ASCII, without blanks and `#`",
			      SHIP_URL_MAX);
	if (!strcspn(strstr(url, "://") + 3, "/?"))
		return b_fail(err, B_USAGE, 0, "--to: `%s` names no host", url);
	if (names_user(url))
		return b_fail(
			err, B_USAGE, 0,
			"--to: a user, password or token there is visible to every process of this "
			"host: use --credentials FILE, or SBX_SHIP_USER and SBX_SHIP_PASSWORD");
	if (has_parameter(url, "query"))
		return b_fail(err, B_USAGE, 0, "--to: `query` is set by sbx-audit: leave it out");
	if (is_clear && !c->allow_http)
		return b_fail(err, B_USAGE, 0,
			      "--to: %s sends the record and the credentials unencrypted: use "
			      "https://, or add --allow-http",
			      url);
	return 0;
}

int ship_config_check(const struct ship_config *c, struct b_err *err)
{
	const char *d = c->database;
	size_t i;

	if (!c->to)
		return b_fail(err, B_USAGE, 0, "no destination: add --to URL");
	if (check_url(c, err) < 0)
		return -1;
	for (i = 0; d[i] && (d[i] == '_' || (d[i] >= '0' && d[i] <= '9') ||
			     ((d[i] | 32) >= 'a' && (d[i] | 32) <= 'z'));)
		i++;
	if (!i || d[i] || i > 64)
		return b_fail(err, B_USAGE, 0, "--database: letters, digits and `_`, at most 64");
	if (!ship_name_valid(c->name))
		return b_fail(err, B_USAGE, 0, "--name: letters, digits, `-` and `_`, at most %d",
			      SHIP_NAME_MAX - 1);
	if (c->host && (!*c->host || strlen(c->host) >= SHIP_HOST_MAX || !is_printable(c->host)))
		return b_fail(err, B_USAGE, 0, "--host: a name of at most %d bytes",
			      SHIP_HOST_MAX - 1);
	if (!c->cert != !c->key)
		return b_fail(err, B_USAGE, 0, "--cert and --key: both, or none");
	if (c->interval_ms < 100 || !c->timeout_ms)
		return b_fail(err, B_USAGE, 0,
			      "--interval: 100ms at least; --timeout: more than 0");
	return 0;
}

void ship_config_url(const struct ship_config *c, enum ship_table table, struct b_str *out)
{
	const char *host = strstr(c->to, "://") + 3, *query = strchr(host, '?');

	b_str_add(out, c->to);
	if (query)
		b_str_add(out, query[1] ? "&" : "");
	else
		b_str_add(out, strchr(host, '/') ? "?" : "/?");
	b_str_addf(out, "database=%s&query=INSERT%%20INTO%%20%s%%20FORMAT%%20JSONEachRow",
		   c->database, ship_table_name(table));
}

/* ---- credentials ---- */

/* They go into headers. */
static bool is_value(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)s[i] < ' ' || s[i] == 0x7f)
			return false;
	return n > 0;
}

static int put_value(char *to, size_t room, const char *s, size_t n, const char *where,
		     struct b_err *err)
{
	if (!is_value(s, n) || n >= room)
		return b_fail(err, B_USAGE, 0,
			      "%s: a credential is one line of 1 to %zu bytes without controls",
			      where, room - 1);
	memcpy(to, s, n);
	to[n] = '\0';
	return 0;
}

static int put_line(struct ship_secret *s, const char *line, size_t n, const char *path,
		    struct b_err *err)
{
	const struct {
		const char *key;
		char *to;
		size_t room;
	} rows[] = {{"user=", s->user, sizeof s->user},
		    {"password=", s->password, sizeof s->password},
		    {"token=", s->token, sizeof s->token}};

	if (!n || *line == '#')
		return 0;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		size_t k = strlen(rows[i].key);

		if (n > k && memcmp(line, rows[i].key, k) == 0)
			return put_value(rows[i].to, rows[i].room, line + k, n - k, path, err);
	}
	return b_fail(err, B_USAGE, 0, "%s: lines are user=…, password=…, token=…", path);
}

static int check_owner(const char *path, struct b_err *err)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return b_fail(err, B_USAGE, errno, "--credentials: %s: %s", path, strerror(errno));
	/* root's group may read root's: so a credential of systemd looks, which has an ACL */
	if ((st.st_uid != 0 && st.st_uid != geteuid()) || st.st_mode & 037 ||
	    (st.st_mode & 040 && (st.st_uid != 0 || st.st_gid != 0)))
		return b_fail(err, B_USAGE, 0,
			      "--credentials: %s: others can read it, or it is not yours: chown "
			      "it, and chmod 600",
			      path);
	return 0;
}

int ship_secret_read(const char *text, size_t n, const char *path, struct ship_secret *out,
		     struct b_err *err)
{
	int rc = 0;

	while (n && rc == 0) {
		const char *end = memchr(text, '\n', n);
		size_t k = end ? (size_t)(end - text) : n;

		rc = put_line(out, text, k, path, err);
		k += end != NULL;
		text += k;
		n -= k;
	}
	return rc;
}

static int read_secret(const char *path, struct ship_secret *s, struct b_err *err)
{
	b_auto(b_str_release) struct b_str text = {0};
	int rc;

	if (check_owner(path, err) < 0 || b_read_file(path, SECRET_FILE_MAX, &text, err) < 0)
		return -1;
	rc = ship_secret_read(b_str_c(&text), text.len, path, s, err);
	if (text.len)
		explicit_bzero(text.s, text.len);
	return rc;
}

static int take_variable(const char *name, char *to, size_t room, struct b_err *err)
{
	const char *v = getenv(name);

	return v && *v ? put_value(to, room, v, strlen(v), name, err) : 0;
}

int ship_config_secret(struct ship_config *c, struct b_err *err)
{
	struct ship_secret *s = &c->secret;

	if (c->credentials) {
		if (read_secret(c->credentials, s, err) < 0)
			return -1;
	} else if (take_variable("SBX_SHIP_USER", s->user, sizeof s->user, err) < 0 ||
		   take_variable("SBX_SHIP_PASSWORD", s->password, sizeof s->password, err) < 0 ||
		   take_variable("SBX_SHIP_TOKEN", s->token, sizeof s->token, err) < 0) {
		return -1;
	}
	if (*s->password && !*s->user)
		return b_fail(err, B_USAGE, 0, "a password needs a user");
	if (*s->token && *s->user)
		return b_fail(err, B_USAGE, 0, "give a token or a user, not both");
	return 0;
}

void ship_config_forget(struct ship_config *c)
{
	explicit_bzero(&c->secret, sizeof c->secret);
}
