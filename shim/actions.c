/* actions.c - see actions.h. */
#include "shim/actions.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>

#include "core/path.h"
#include "shim/mem.h"

enum { SETS = 64, LED_TEXT = 1000, REPLACED = 8 };

/* The set's owner is the only one to use its place, but for the claim. */
struct place {
	_Atomic uintptr_t set; /* 0 = free */
	bool is_led, is_known;
	int dirfd;
	size_t len; /* of text, which is relative to dirfd */
	unsigned nreplaced;
	int replaced[REPLACED];
	char text[LED_TEXT];
};
static struct place places[SETS];
static _Atomic unsigned used; /* none: most programs never come here */
/* Sets that found no place (never destroyed): what is not in the table may have been led. */
static _Atomic bool is_led_lost, is_replaced_lost;

static struct place *find(const void *set)
{
	size_t i;

	if (!set || !atomic_load_explicit(&used, memory_order_relaxed))
		return NULL;
	for (i = 0; i < SETS; i++)
		if (atomic_load_explicit(&places[i].set, memory_order_relaxed) == (uintptr_t)set)
			return &places[i];
	return NULL;
}

static struct place *claim(const void *set)
{
	struct place *p = find(set);
	size_t i;

	for (i = 0; !p && set && i < SETS; i++) {
		uintptr_t none = 0;

		if (!atomic_compare_exchange_strong(&places[i].set, &none, (uintptr_t)set))
			continue;
		p = &places[i];
		p->is_led = false;
		p->is_known = true;
		p->dirfd = AT_FDCWD;
		p->len = p->nreplaced = 0;
		atomic_fetch_add(&used, 1);
	}
	return p;
}

void shim_actions_reset(const void *set)
{
	struct place *p = find(set);

	if (!p)
		return;
	atomic_store(&p->set, 0);
	atomic_fetch_sub(&used, 1);
}

void shim_actions_chdir(const void *set, const char *path)
{
	struct place *p = claim(set);

	if (!p) {
		atomic_store(&is_led_lost, true);
		return;
	}
	p->is_led = true;
	if (*path == '/') {
		p->dirfd = AT_FDCWD;
		p->len = 0;
		p->is_known = true;
	}
	if (p->len && !shim_append(p->text, LED_TEXT, &p->len, "/", 1))
		p->is_known = false;
	if (!shim_append(p->text, LED_TEXT, &p->len, path, strlen(path)))
		p->is_known = false;
}

static bool is_replaced(const struct place *p, int fd)
{
	unsigned i;

	if (p->nreplaced > REPLACED ||
	    atomic_load_explicit(&is_replaced_lost, memory_order_relaxed))
		return true;
	for (i = 0; i < p->nreplaced; i++)
		if (p->replaced[i] == fd)
			return true;
	return false;
}

void shim_actions_fchdir(const void *set, int fd)
{
	struct place *p = claim(set);

	if (!p) {
		atomic_store(&is_led_lost, true);
		return;
	}
	p->is_led = true;
	p->is_known = !is_replaced(p, fd);
	p->dirfd = fd;
	p->len = 0;
}

void shim_actions_replace(const void *set, int fd)
{
	struct place *p = claim(set);

	if (!p)
		atomic_store(&is_replaced_lost, true);
	else if (p->nreplaced < REPLACED)
		p->replaced[p->nreplaced++] = fd;
	else
		p->nreplaced = REPLACED + 1;
}

/* What the child's own directory and descriptors are, by their names in the file system. */
static bool is_of_child(const char *path)
{
	/* not a table of pointers: each is a relocation, at every start of a program */
	return shim_has_prefix(path, "/proc/self/cwd") || shim_has_prefix(path, "/proc/self/fd/") ||
	       shim_has_prefix(path, "/proc/thread-self/") || shim_has_prefix(path, "/dev/fd/") ||
	       shim_has_prefix(path, "/dev/std");
}

static enum shim_led lead(const struct place *p, const char *path)
{
	bool is_lost = !p && atomic_load_explicit(&is_led_lost, memory_order_relaxed);

	if (shim_is_no_pointer(path) || !*path)
		return SHIM_LED_NOWHERE;
	if (*path == '/')
		return (p || is_lost) && is_of_child(path) ? SHIM_LED_UNKNOWN : SHIM_LED_NOWHERE;
	if (is_lost || (p && p->is_led && !p->is_known))
		return SHIM_LED_UNKNOWN;
	return p && p->is_led ? SHIM_LED_TO : SHIM_LED_NOWHERE;
}

enum shim_led shim_actions_lead(const void *set, const char *path, char *buf, int *out_dirfd)
{
	const struct place *p = find(set);
	enum shim_led led = lead(p, path);
	size_t pos = 0;

	if (led != SHIM_LED_TO)
		return led;
	if ((p->len && (!shim_append(buf, SBX_PATH_MAX, &pos, p->text, p->len) ||
			!shim_append(buf, SBX_PATH_MAX, &pos, "/", 1))) ||
	    !shim_append(buf, SBX_PATH_MAX, &pos, path, strlen(path)))
		return SHIM_LED_UNKNOWN;
	*out_dirfd = p->dirfd;
	return SHIM_LED_TO;
}

bool shim_actions_is_plain(const void *set, const char *path)
{
	return lead(find(set), path) == SHIM_LED_NOWHERE;
}
