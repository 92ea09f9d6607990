/*
 * devnodes.c - device nodes outside of /dev: the ones that rules name, and what is told where
 * others can be opened.
 */
#include "launcher/plan_priv.h"

#include <string.h>
#include <sys/stat.h>

#include "launcher/confine.h"
#include "launcher/host.h"
#include "policy/engine.h"
#include "policy/rules/mountinfo.h"

static const char others[] =
	"device nodes outside /dev are opened as other files are, where there are any (the root of "
	"a container, /dev mounted elsewhere): as root that is a whole disk";

static bool is_known(const struct lau_plan *p, const char *path)
{
	for (size_t i = 0; i < p->ndevices; i++)
		if (!strcmp(p->devices[i], path))
			return true;
	return false;
}

/* A rule that covers more than the node says nothing of devices. */
static bool names_device(const struct pol_rule *r)
{
	struct stat st;

	return r->allow && r->tier != POL_TIER_BASE && r->shape != POL_GLOB && r->base_len &&
	       strncmp(r->base, "/dev/", 5) != 0 && lstat(r->base, &st) == 0 &&
	       (S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode));
}

static void find(struct lau_plan *p, enum sbx_op op)
{
	const struct pol_list *list = &p->engine->rules.op[op];

	for (size_t i = 0; i < list->n && p->ndevices < LAU_DEVICES_MAX; i++) {
		const struct pol_rule *r = &list->v[i];

		if (!names_device(r) || is_known(p, r->base))
			continue;
		if (!p->devices)
			p->devices = b_arena_alloc(&p->arena, LAU_DEVICES_MAX * sizeof *p->devices);
		p->devices[p->ndevices++] = r->base;
	}
}

static void find_again(struct lau_plan *p)
{
	const struct pol_engine *e = p->engine;
	const struct pol_mounted *dev = pol_mounted_at(e->mounts, e->nmounts, "/dev");

	if (!dev || strcmp(dev->at, "/dev") != 0)
		return;
	p->dev_again = b_arena_alloc(&p->arena, e->nmounts * sizeof *p->dev_again);
	for (size_t i = 0; i < e->nmounts; i++) {
		const struct pol_mounted *m = &e->mounts[i];

		if (m->major == dev->major && m->minor == dev->minor &&
		    !pol_mounted_behind(m->at, "/dev"))
			p->dev_again[p->ndev_again++] = m->at;
	}
}

void lau_plan_devices(const struct lau_host *host, struct lau_plan *p)
{
	find(p, SBX_READ);
	find(p, SBX_MODIFY);
	if (host->is_root)
		find_again(p);
	/* bubblewrap's own mounts have no devices */
	if (!p->isolate && !p->is_wrapped && host->is_root && !host->is_inside)
		lau_plan_add(p, false,
			     b_arena_printf(&p->arena, "%s: --isolate auto closes them", others));
}

void lau_plan_devices_lost(struct lau_plan *p)
{
	lau_plan_add(p, false,
		     b_arena_printf(&p->arena,
				    "%s: allow user namespaces, or be root with "
				    "CAP_SYS_ADMIN",
				    others));
}
