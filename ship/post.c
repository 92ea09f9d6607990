/* SPDX-License-Identifier: Apache-2.0 */
/* post.c - see post.h. */
#include "ship/post.h"

#include <curl/curl.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "ship/batch.h"
#include "ship/config.h"

enum { CONNECT_MS = 10000, STALL_S = 60 };

struct ship_post {
	const struct ship_config *config;
	const atomic_int *stop;
	CURL *curl;
	struct curl_slist *headers;
	char why[CURL_ERROR_SIZE];
	struct ship_heard heard;
};

/* ---- what the server says ---- */

/* Less than it was given ends the request. */
static size_t take_body(char *p, size_t size, size_t n, void *arg)
{
	struct ship_post *s = arg;

	return ship_hear_body(&s->heard, p, size * n) ? size * n : 0;
}

static size_t take_header(char *p, size_t size, size_t n, void *arg)
{
	struct ship_post *s = arg;

	return ship_hear_head(&s->heard, p, size * n) ? size * n : 0;
}

static int watch(void *arg, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
	const struct ship_post *s = arg;

	(void)a;
	(void)b;
	(void)c;
	(void)d;
	return atomic_load(s->stop) != 0;
}

/* ---- the handle ---- */

static int add_header(struct ship_post *s, const char *text)
{
	struct curl_slist *all = curl_slist_append(s->headers, text);

	s->headers = all ? all : s->headers;
	return all ? 0 : -1;
}

static int make_headers(struct ship_post *s)
{
	static const char *const coding[] = {[SHIP_GZIP] = "Content-Encoding: gzip",
					     [SHIP_ZSTD] = "Content-Encoding: zstd",
					     [SHIP_PLAIN] = NULL};
	const struct ship_config *c = s->config;
	const char *name = coding[c->coding];

	return add_header(s, "Content-Type: application/x-ndjson") < 0 ||
			       add_header(s, "Expect:") < 0 || (name && add_header(s, name) < 0)
		       ? -1
		       : 0;
}

/* The credentials are set for the request alone; libcurl keeps them for no other host, and follows
 * nothing. */
static void set_credentials(struct ship_post *s)
{
	const struct ship_secret *secret = &s->config->secret;

	if (*secret->user) {
		curl_easy_setopt(s->curl, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
		curl_easy_setopt(s->curl, CURLOPT_USERNAME, secret->user);
		curl_easy_setopt(s->curl, CURLOPT_PASSWORD, secret->password);
	} else if (*secret->token) {
		curl_easy_setopt(s->curl, CURLOPT_HTTPAUTH, (long)CURLAUTH_BEARER);
		curl_easy_setopt(s->curl, CURLOPT_XOAUTH2_BEARER, secret->token);
	}
}

static void set_options(struct ship_post *s)
{
	const struct ship_config *c = s->config;
	CURL *h = s->curl;

	curl_easy_setopt(h, CURLOPT_PROTOCOLS_STR, c->allow_http ? "http,https" : "https");
	curl_easy_setopt(h, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(h, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
	curl_easy_setopt(h, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(h, CURLOPT_USERAGENT, "sbx-ship/" SBX_VERSION);
	curl_easy_setopt(h, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	curl_easy_setopt(h, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
	curl_easy_setopt(h, CURLOPT_TIMEOUT_MS, (long)c->timeout_ms);
	curl_easy_setopt(h, CURLOPT_LOW_SPEED_LIMIT, 1L);
	curl_easy_setopt(h, CURLOPT_LOW_SPEED_TIME, (long)STALL_S);
	curl_easy_setopt(h, CURLOPT_ERRORBUFFER, s->why);
	curl_easy_setopt(h, CURLOPT_WRITEFUNCTION, take_body);
	curl_easy_setopt(h, CURLOPT_WRITEDATA, s);
	curl_easy_setopt(h, CURLOPT_HEADERFUNCTION, take_header);
	curl_easy_setopt(h, CURLOPT_HEADERDATA, s);
	curl_easy_setopt(h, CURLOPT_NOPROGRESS, 0L);
	curl_easy_setopt(h, CURLOPT_XFERINFOFUNCTION, watch);
	curl_easy_setopt(h, CURLOPT_XFERINFODATA, s);
	curl_easy_setopt(h, CURLOPT_HTTPHEADER, s->headers);
	curl_easy_setopt(h, CURLOPT_UPLOAD_BUFFERSIZE, 256L << 10);
	if (c->ca)
		curl_easy_setopt(h, CURLOPT_CAINFO, c->ca);
	if (c->cert) {
		curl_easy_setopt(h, CURLOPT_SSLCERT, c->cert);
		curl_easy_setopt(h, CURLOPT_SSLKEY, c->key);
	}
	set_credentials(s);
}

struct ship_post *ship_post_new(const struct ship_config *c, const atomic_int *stop,
				struct b_err *err)
{
	struct ship_post *s = b_calloc(1, sizeof *s);

	s->config = c;
	s->stop = stop;
	s->curl = curl_global_init(CURL_GLOBAL_DEFAULT) == 0 ? curl_easy_init() : NULL;
	if (!s->curl || make_headers(s) < 0) {
		ship_post_free(s);
		b_fail(err, B_SYSTEM, 0, "libcurl cannot be used");
		return NULL;
	}
	set_options(s);
	return s;
}

void ship_post_free(struct ship_post *s)
{
	if (!s)
		return;
	if (s->curl)
		curl_easy_cleanup(s->curl);
	curl_slist_free_all(s->headers);
	ship_heard_release(&s->heard);
	free(s);
}

/* ---- judging ---- */

static void judge_failure(const struct ship_post *s, CURLcode rc, struct ship_answer *out)
{
	b_auto(b_str_release) struct b_str text = {0};

	/* what another try does not change is the caller's to change */
	out->outcome = rc == CURLE_PEER_FAILED_VERIFICATION || rc == CURLE_SSL_CERTPROBLEM ||
				       rc == CURLE_SSL_CACERT_BADFILE || rc == CURLE_URL_MALFORMAT
			       ? SHIP_REFUSED
			       : SHIP_LATER;
	if (rc == CURLE_WRITE_ERROR)
		b_str_addf(&text, "the answer is longer than %u bytes", SHIP_ANSWER_MAX);
	else
		b_str_add(&text, *s->why ? s->why : curl_easy_strerror(rc));
	ship_answer_say(out, text.s, text.len);
}

void ship_post_send(struct ship_post *s, const struct ship_batch *b, struct ship_answer *out)
{
	b_auto(b_str_release) struct b_str url = {0};
	long status = 0;
	CURLcode rc;

	*out = (struct ship_answer){0};
	ship_heard_reset(&s->heard);
	*s->why = '\0';
	ship_config_url(s->config, b->table, &url);
	curl_easy_setopt(s->curl, CURLOPT_URL, url.s);
	curl_easy_setopt(s->curl, CURLOPT_POST, 1L);
	curl_easy_setopt(s->curl, CURLOPT_POSTFIELDS, b_str_c(&b->body));
	curl_easy_setopt(s->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)b->body.len);
	rc = curl_easy_perform(s->curl);
	if (rc == CURLE_OK)
		rc = curl_easy_getinfo(s->curl, CURLINFO_RESPONSE_CODE, &status);
	if (rc != CURLE_OK)
		judge_failure(s, rc, out);
	else
		ship_judge(&s->heard, status, out);
}
