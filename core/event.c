/* SPDX-License-Identifier: Apache-2.0 */
/* event.c - what was asked for; names of event.h's enumerations: offsets into one block each,
 * because an array of pointers would cost the shim a relocation a name, at every start of a
 * program. */
#include "core/event.h"

#include <stddef.h>
#include <stdint.h>

#include "core/path.h"

static const struct class_names {
#define X(name, text) char name[sizeof text];
	SBX_EXEC_CLASSES(X)
#undef X
} class_names = {
#define X(name, text) text,
	SBX_EXEC_CLASSES(X)
#undef X
};

const char *sbx_exec_class_name(enum sbx_exec_class c)
{
	static const unsigned char at[] = {
#define X(name, text) offsetof(struct class_names, name),
		SBX_EXEC_CLASSES(X)
#undef X
	};

	return (unsigned)c < SBX_EXEC_CLASS_COUNT ? (const char *)&class_names + at[c] : "?";
}

static const struct loss_names {
#define X(name, text) char name[sizeof text];
	SBX_LOSSES(X)
#undef X
} loss_names = {
#define X(name, text) text,
	SBX_LOSSES(X)
#undef X
};

const char *sbx_loss_name(unsigned loss)
{
	static const unsigned char at[] = {
#define X(name, text) offsetof(struct loss_names, name),
		SBX_LOSSES(X)
#undef X
	};

	return loss < SBX_LOSS_COUNT ? (const char *)&loss_names + at[loss] : "?";
}

/* Names of the calls that events mention. */

/* Offsets into one block: an array of pointers would cost the shim a relocation each, at every
 * start of a program. */
struct names {
#define X(name) char name_##name[sizeof #name];
	SBX_CALL_NAMES(X)
#undef X
};
static const struct names names = {
#define X(name) #name,
	SBX_CALL_NAMES(X)
#undef X
};
static const uint16_t name_at[] = {
#define X(name) offsetof(struct names, name_##name),
	SBX_CALL_NAMES(X)
#undef X
};

const char *sbx_call_name(unsigned call)
{
	return call < SBX_CALL_COUNT ? (const char *)&names + name_at[call] : "?";
}

/* ---- what was asked for ---- */

/* The length of what led elsewhere, else 0. */
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
