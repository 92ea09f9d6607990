/* SPDX-License-Identifier: Apache-2.0 */
/* asked.c - see asked.h. */
#include "core/asked.h"

#include "core/path.h"

/* The length of the path that the program gave, if it led to another one; else 0. */
static size_t led(const struct sbx_named *n)
{
	size_t len = 0;

	if (!n->len || !n->asked || !sbx_path_is_led(n->asked, n->path, n->len))
		return 0;
	while (n->asked[len])
		len++;
	return len;
}

size_t sbx_asked_size(const struct sbx_named n[2])
{
	size_t asked = led(&n[0]) + led(&n[1]);

	return asked && n[1].len + asked < SBX_PATH_MAX ? n[1].len + asked : 0;
}

const char *sbx_asked_put(struct sbx_event *ev, const struct sbx_named n[2], char *room)
{
	size_t first = led(&n[0]), second = led(&n[1]);

	ev->flags |= SBX_EVF_ASKED;
	ev->path2_len = (uint16_t)(n[1].len + first + second);
	if (!n[1].len)
		return n[0].asked;
	ev->count = (uint32_t)(first << 16 | n[1].len);
	__builtin_memcpy(room, n[1].path, n[1].len);
	__builtin_memcpy(room + n[1].len, n[0].asked ? n[0].asked : "", first);
	__builtin_memcpy(room + n[1].len + first, n[1].asked ? n[1].asked : "", second);
	return room;
}

struct sbx_asked sbx_asked_of(const struct sbx_event *ev)
{
	struct sbx_asked a = {0};
	size_t left = ev->path2_len;

	if (!(ev->flags & SBX_EVF_ASKED)) {
		a.path2 = left;
		return a;
	}
	if (ev->kind == SBX_EV_CALL)
		a.path2 = ev->count & UINT16_MAX;
	if (a.path2 > left)
		a.path2 = left;
	left -= a.path2;
	a.first = a.path2 ? ev->count >> 16 : left;
	if (a.first > left)
		a.first = left;
	a.second = left - a.first;
	return a;
}
