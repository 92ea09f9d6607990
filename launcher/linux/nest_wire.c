/* nest_wire.c - what goes over the socket of nest.h; the request is read as hostile bytes. */
#include "launcher/linux/nest.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"

int lau_nest_send(int sock, const void *data, size_t n)
{
	const char *p = data;

	while (n > 0) {
		ssize_t sent = send(sock, p, n, MSG_NOSIGNAL);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent <= 0)
			return -1;
		p += sent;
		n -= (size_t)sent;
	}
	return 0;
}

int lau_nest_receive(int sock, void *data, size_t n, uint64_t until_ms)
{
	char *p = data;

	while (n > 0) {
		ssize_t got = recv(sock, p, n, 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return -1;
		p += got;
		n -= (size_t)got;
		if (n > 0 && until_ms && b_now_ms() >= until_ms)
			return -1;
	}
	return 0;
}

/* The next text, NULL when there is none. */
static const char *next(const char **at, const char *end)
{
	const char *s = *at, *nul = s < end ? memchr(s, '\0', (size_t)(end - s)) : NULL;

	if (nul)
		*at = nul + 1;
	return nul ? s : NULL;
}

/* `n` texts; NULL when there are fewer. No count can be larger than the bytes that are there. */
static char **list(struct lau_nest_request *r, uint32_t n, const char **at, const char *end)
{
	char **v;

	if (n > (size_t)(end - *at))
		return NULL;
	v = b_arena_alloc(&r->arena, (n + 1u) * sizeof *v);
	for (uint32_t i = 0; i < n; i++) {
		const char *s = next(at, end);

		if (!s)
			return NULL;
		v[i] = b_arena_strndup(&r->arena, s, strlen(s));
	}
	v[n] = NULL;
	return v;
}

static bool is_sane(const struct lau_nest_head *h)
{
	if (h->npipes > LAU_NEST_PIPES || h->nargs == 0 || h->texts > LAU_NEST_MAX ||
	    h->bundle > LAU_NEST_MAX || h->umask > 0777)
		return false;
	for (uint32_t i = 0; i < h->npipes; i++)
		if (h->pipes[i] < 3 || h->pipes[i] >= LAU_NEST_TOP)
			return false;
	return true;
}

int lau_nest_parse(const struct lau_nest_head *h, const char *texts, struct lau_nest_request *r,
		   struct b_err *err)
{
	const char *at = texts, *end = texts + h->texts;

	r->head = *h;
	if (!is_sane(h))
		return b_fail(err, B_FORMAT, 0, "the request of the inner run is damaged");
	r->program = next(&at, end);
	r->caps = r->program ? next(&at, end) : NULL;
	if (!r->caps || !(r->args = list(r, h->nargs, &at, end)) ||
	    !(r->env = list(r, h->nenv, &at, end)) ||
	    !(r->workspaces = list(r, h->nworkspaces, &at, end)) ||
	    !(r->presets = list(r, h->npresets, &at, end)) ||
	    !(r->pass = list(r, h->npass, &at, end)) || !(r->set = list(r, h->nset, &at, end)) ||
	    at != end)
		return b_fail(err, B_FORMAT, 0, "the request of the inner run is damaged");
	r->program = b_arena_strndup(&r->arena, r->program, strlen(r->program));
	r->caps = b_arena_strndup(&r->arena, r->caps, strlen(r->caps));
	return 0;
}
