/* SPDX-License-Identifier: Apache-2.0 */
/* http_head.c - see http_head.h. RFC 9110, 9112. */
#include "egress/http_head.h"

#include <string.h>
#include <strings.h>

#include "base/str.h"

static const struct {
	const char *text;
	unsigned status;
} WRONGS[] = {
#define X(name, status, text) {text, status},
	EGR_HTTP_WRONGS(X)
#undef X
};

const char *egr_http_wrong_text(enum egr_http_wrong w)
{
	return w < EGR_HTTP_WRONG_COUNT ? WRONGS[w].text : "?";
}

unsigned egr_http_wrong_status(enum egr_http_wrong w)
{
	return w < EGR_HTTP_WRONG_COUNT ? WRONGS[w].status : 400;
}

static bool is_wrong(struct egr_http_head *h, enum egr_http_wrong w)
{
	if (h->wrong == EGR_HTTP_WRONG_NONE)
		h->wrong = w;
	return false;
}

/* ---- the end of a head ---- */

/* Looks at the bytes that are new. GO: *len is that of the head, and all its lines end well. */
static enum egr_http_said find_end(const char *in, size_t n, size_t *seen, size_t *len)
{
	size_t i = *seen;

	for (; i < n && i < EGR_HTTP_HEAD_MAX; i++) {
		unsigned char c = (unsigned char)in[i];
		bool behind_cr = i > 0 && in[i - 1] == '\r';

		if (behind_cr != (c == '\n'))
			return EGR_HTTP_BAD;
		if ((c < 0x20 && c != '\t' && c != '\r' && c != '\n') || c == 0x7f)
			return EGR_HTTP_BAD;
		if (c == '\n' && (i == 1 || (i > 2 && in[i - 2] == '\n'))) {
			*len = i + 1;
			return EGR_HTTP_GO;
		}
	}
	*seen = i;
	return EGR_HTTP_MORE;
}

/* False: h->wrong, or more is needed (NONE). *lines: the head without the empty line. */
static bool take_lines(const char *in, size_t n, size_t *seen, struct egr_http_head *h,
		       struct egr_text *lines)
{
	enum egr_http_said said = find_end(in, n, seen, &h->used);

	if (said == EGR_HTTP_BAD)
		return is_wrong(h, EGR_HTTP_WRONG_BYTE);
	if (said == EGR_HTTP_MORE)
		return *seen >= EGR_HTTP_HEAD_MAX && is_wrong(h, EGR_HTTP_WRONG_LONG);
	*seen = 0;
	*lines = (struct egr_text){in, h->used - 2};
	return b_utf8_valid(in, h->used) || is_wrong(h, EGR_HTTP_WRONG_UTF8);
}

/* The next line without its end. */
static bool cut_line(struct egr_text *from, struct egr_text *out)
{
	if (!egr_cut(from, '\n', out))
		return false;
	out->n--;
	return true;
}

static bool read_version(struct egr_http_head *h, struct egr_text a)
{
	h->minor = egr_is_word(a, "HTTP/1.1");
	return h->minor || egr_is_word(a, "HTTP/1.0") || is_wrong(h, EGR_HTTP_WRONG_VERSION);
}

/* ---- fields ---- */

/* What the fields say together; each counts how often. */
struct said {
	unsigned hosts, lengths, codings, expects, upgrades;
	bool close, keep_alive, upgrade; /* tokens of Connection */
	bool is_websocket;
};

typedef bool field_fn(struct egr_http_head *, struct said *, struct egr_text value);

static bool take_host(struct egr_http_head *h, struct said *s, struct egr_text value)
{
	s->hosts++;
	h->has_host = egr_read_authority(value, &h->host, &h->port) &&
		      (h->host.kind == SBX_HOST_NAME || h->host.kind == SBX_HOST_ADDRESS);
	return (h->has_host && s->hosts == 1) || is_wrong(h, EGR_HTTP_WRONG_HOST);
}

static bool take_length(struct egr_http_head *h, struct said *s, struct egr_text value)
{
	uint64_t v = 0;

	s->lengths++;
	if (value.n == 0 || value.n > 18 || s->lengths > 1)
		return is_wrong(h, EGR_HTTP_WRONG_LENGTH);
	for (size_t i = 0; i < value.n; i++) {
		if (value.s[i] < '0' || value.s[i] > '9')
			return is_wrong(h, EGR_HTTP_WRONG_LENGTH);
		v = v * 10 + (uint64_t)(value.s[i] - '0');
	}
	h->has_length = true;
	h->length = v;
	return true;
}

static bool take_coding(struct egr_http_head *h, struct said *s, struct egr_text value)
{
	s->codings++;
	return (s->codings == 1 && egr_is_name(value, "chunked")) ||
	       is_wrong(h, EGR_HTTP_WRONG_CODING);
}

static bool take_expect(struct egr_http_head *h, struct said *s, struct egr_text value)
{
	s->expects++;
	return (s->expects == 1 && egr_is_name(value, "100-continue")) ||
	       is_wrong(h, EGR_HTTP_WRONG_EXPECT);
}

static bool take_upgrade(struct egr_http_head *h, struct said *s, struct egr_text value)
{
	(void)h;
	s->upgrades++;
	s->is_websocket = s->upgrades == 1 && egr_is_name(value, "websocket");
	return true;
}

/* One reader takes it for the field that frames the body, another does not. */
static bool take_look_alike(struct egr_http_head *h, struct said *s, struct egr_text value)
{
	(void)s;
	(void)value;
	return is_wrong(h, EGR_HTTP_WRONG_FIELD);
}

#define STANDING 0x1u /* the message cannot be read without it: Connection may not name it */
#define ASKED	 0x2u /* says something in a request alone */

static const struct row {
	const char *name;
	field_fn *take; /* NULL: left out, and nothing more */
	unsigned flags;
} ROWS[] = {
	{"Host", take_host, STANDING | ASKED},
	{"Content-Length", take_length, STANDING},
	{"Transfer-Encoding", take_coding, STANDING},
	{"Content_Length", take_look_alike, STANDING},
	{"Transfer_Encoding", take_look_alike, STANDING},
	{"Expect", take_expect, ASKED},
	{"Upgrade", take_upgrade, 0},
	{"Connection", NULL, STANDING},
	{"HTTP2-Settings", NULL, 0},
	{"Keep-Alive", NULL, 0},
	{"Proxy-Authenticate", NULL, 0},
	{"Proxy-Authorization", NULL, 0},
	{"Proxy-Connection", NULL, 0},
	{"TE", NULL, 0},
	{"Trailer", NULL, 0},
};

static const struct row *row_of(struct egr_text name)
{
	for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++)
		if (egr_is_name(name, ROWS[i].name))
			return &ROWS[i];
	return NULL;
}

static bool take_field(struct egr_http_head *h, struct said *s, struct egr_text line)
{
	struct egr_http_field *f = &h->field[h->nfields];
	const struct row *row;

	if (line.n && (line.s[0] == ' ' || line.s[0] == '\t'))
		return is_wrong(h, EGR_HTTP_WRONG_FOLD);
	if (h->nfields == EGR_HTTP_FIELDS)
		return is_wrong(h, EGR_HTTP_WRONG_MANY);
	if (!egr_cut(&line, ':', &f->name) || !egr_is_token(f->name))
		return is_wrong(h, EGR_HTTP_WRONG_FIELD);
	f->value = egr_trim(line);
	row = row_of(f->name);
	f->is_left_out = row;
	h->nfields++;
	if (!row || !row->take || (h->status && (row->flags & ASKED)))
		return true;
	return row->take(h, s, f->value);
}

/* Every field of this name is for the next hop alone. */
static bool leave_out(struct egr_http_head *h, struct egr_text name)
{
	const struct row *row = row_of(name);

	if (row && (row->flags & STANDING))
		return is_wrong(h, EGR_HTTP_WRONG_CONNECTION);
	for (size_t i = 0; i < h->nfields; i++) {
		struct egr_text other = h->field[i].name;

		if (other.n == name.n && strncasecmp(other.s, name.s, name.n) == 0)
			h->field[i].is_left_out = true;
	}
	return true;
}

static bool take_connection(struct egr_http_head *h, struct said *s, struct egr_text list)
{
	struct egr_text word;
	bool is_last = false;

	while (!is_last) {
		is_last = !egr_cut(&list, ',', &word);
		word = egr_trim(is_last ? list : word);
		if (word.n == 0)
			continue;
		if (!egr_is_token(word))
			return is_wrong(h, EGR_HTTP_WRONG_CONNECTION);
		s->close |= egr_is_name(word, "close");
		s->keep_alive |= egr_is_name(word, "keep-alive");
		s->upgrade |= egr_is_name(word, "upgrade");
		if (!leave_out(h, word))
			return false;
	}
	return true;
}

static bool read_fields(struct egr_http_head *h, struct said *s, struct egr_text rest)
{
	struct egr_text line;

	while (cut_line(&rest, &line))
		if (!take_field(h, s, line))
			return false;
	for (size_t i = 0; i < h->nfields; i++)
		if (egr_is_name(h->field[i].name, "Connection") &&
		    !take_connection(h, s, h->field[i].value))
			return false;
	if (s->codings && s->lengths)
		return is_wrong(h, EGR_HTTP_WRONG_BOTH);
	/* of 1.0, chunks are no coding, and a server of its time reads the body to the end */
	if (s->codings && h->minor == 0)
		return is_wrong(h, EGR_HTTP_WRONG_CODING);
	return true;
}

static void begin(struct egr_http_head *h)
{
	h->wrong = EGR_HTTP_WRONG_NONE;
	h->used = h->nfields = 0;
	h->method = h->target = h->reason = (struct egr_text){"", 0};
	h->status = h->minor = 0;
	h->answers_head = h->has_host = h->has_length = h->closes = h->expects = h->upgrades =
		false;
	h->host.kind = SBX_HOST_EMPTY;
	h->port = 0;
	h->body = EGR_BODY_NONE;
	h->length = 0;
}

/* ---- requests ---- */

static bool read_request_line(struct egr_http_head *h, struct egr_text line)
{
	if (!egr_cut(&line, ' ', &h->method) || !egr_is_token(h->method) ||
	    !egr_cut(&line, ' ', &h->target) || h->target.n == 0)
		return is_wrong(h, EGR_HTTP_WRONG_LINE);
	if (!read_version(h, line))
		return false;
	/* TRACE shows what was added on the way; CONNECT would be another connection in this one */
	if (egr_is_name(h->method, "TRACE") || egr_is_name(h->method, "TRACK") ||
	    egr_is_name(h->method, "CONNECT"))
		return is_wrong(h, EGR_HTTP_WRONG_METHOD);
	return true;
}

static bool settle_request(struct egr_http_head *h, const struct said *s)
{
	bool may_upgrade = h->minor && egr_is_word(h->method, "GET") && !s->codings && !h->length;

	if (s->hosts != 1 && (h->minor || s->hosts))
		return is_wrong(h, EGR_HTTP_WRONG_HOST);
	h->body = s->codings ? EGR_BODY_CHUNKED : s->lengths ? EGR_BODY_LENGTH : EGR_BODY_NONE;
	h->closes = s->close || h->minor == 0;
	h->expects = s->expects && h->minor && h->body != EGR_BODY_NONE;
	h->upgrades = s->upgrade && s->is_websocket;
	return !h->upgrades || may_upgrade || is_wrong(h, EGR_HTTP_WRONG_UPGRADE);
}

enum egr_http_said egr_http_request(const char *in, size_t n, size_t *seen, struct egr_http_head *h)
{
	struct egr_text lines, line;
	struct said s = {0};

	begin(h);
	if (!take_lines(in, n, seen, h, &lines))
		return h->wrong == EGR_HTTP_WRONG_NONE ? EGR_HTTP_MORE : EGR_HTTP_BAD;
	if (!cut_line(&lines, &line))
		(void)is_wrong(h, EGR_HTTP_WRONG_LINE);
	else if (read_request_line(h, line) && read_fields(h, &s, lines))
		(void)settle_request(h, &s);
	return h->wrong == EGR_HTTP_WRONG_NONE ? EGR_HTTP_GO : EGR_HTTP_BAD;
}

bool egr_http_is_for(const struct egr_http_head *h, const struct sbx_target *t,
		     const struct sbx_host *host, uint16_t port, uint16_t default_port)
{
	struct sbx_host said = h->host;
	uint16_t said_port = h->port ? h->port : default_port;

	for (int i = 0; i < 2; i++) {
		bool same = said.kind == host->kind && said_port == port;

		if (same && said.kind == SBX_HOST_NAME)
			same = strcmp(said.name, host->name) == 0;
		else if (same)
			same = sbx_addr_equal(&said.addr, &host->addr);
		if (!same)
			return false;
		if (i || !t->is_url)
			break;
		said_port = default_port;
		if (!egr_read_authority((struct egr_text){t->host, t->host_len}, &said, &said_port))
			return false;
	}
	return true;
}

/* ---- responses ---- */

struct egr_http_asked egr_http_asked(const struct egr_http_head *request)
{
	return (struct egr_http_asked){egr_is_word(request->method, "HEAD"), request->upgrades};
}

static bool read_status_line(struct egr_http_head *h, struct egr_text line)
{
	struct egr_text version;

	if (!egr_cut(&line, ' ', &version))
		return is_wrong(h, EGR_HTTP_WRONG_STATUS);
	if (!read_version(h, version))
		return false;
	for (size_t i = 0; i < 3; i++) {
		if (i >= line.n || line.s[i] < '0' || line.s[i] > '9')
			return is_wrong(h, EGR_HTTP_WRONG_STATUS);
		h->status = h->status * 10 + (unsigned)(line.s[i] - '0');
	}
	if (h->status < 100 || h->status > 599 || (line.n > 3 && line.s[3] != ' '))
		return is_wrong(h, EGR_HTTP_WRONG_STATUS);
	if (line.n > 4)
		h->reason = (struct egr_text){line.s + 4, line.n - 4};
	return true;
}

static bool settle_response(struct egr_http_head *h, const struct said *s,
			    const struct egr_http_asked *asked)
{
	bool is_empty = h->status < 200 || h->status == 204 || h->status == 304;

	h->answers_head = asked->is_head;
	is_empty |= h->answers_head;
	h->closes = s->close || h->minor == 0;
	if (h->status == 101) {
		h->upgrades = asked->upgrades && s->upgrade && s->is_websocket;
		return h->upgrades || is_wrong(h, EGR_HTTP_WRONG_UPGRADE);
	}
	if (is_empty)
		h->body = EGR_BODY_NONE;
	else if (s->codings)
		h->body = EGR_BODY_CHUNKED;
	else if (s->lengths)
		h->body = EGR_BODY_LENGTH;
	else
		h->body = h->closes ? EGR_BODY_TO_END : EGR_BODY_NONE;
	/* of these no length is ever true (RFC 9110, 8.6) */
	if (h->status < 200 || h->status == 204)
		h->has_length = false;
	return true;
}

enum egr_http_said egr_http_response(const char *in, size_t n, size_t *seen,
				     const struct egr_http_asked *asked, struct egr_http_head *h)
{
	struct egr_text lines, line;
	struct said s = {0};

	begin(h);
	if (!take_lines(in, n, seen, h, &lines))
		return h->wrong == EGR_HTTP_WRONG_NONE ? EGR_HTTP_MORE : EGR_HTTP_BAD;
	if (!cut_line(&lines, &line))
		(void)is_wrong(h, EGR_HTTP_WRONG_STATUS);
	else if (read_status_line(h, line) && read_fields(h, &s, lines))
		(void)settle_response(h, &s, asked);
	return h->wrong == EGR_HTTP_WRONG_NONE ? EGR_HTTP_GO : EGR_HTTP_BAD;
}
