/*
 * floor.h - which mechanism carries which rule: a pure plan from ruleset x host abilities.
 *
 * Printed by `sbx-policy show --floor`, applied by launcher/linux/. Landlock grants only
 * subtrees that are clean; directories on the way to a literal deny are carved: their existing
 * entries are granted one by one. What stays inexpressible without the broker is a `gap`.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "core/image.h"

struct b_err;
struct b_str;
struct pol_ruleset;

/* Classes of Landlock rights; launcher/linux/landlock.c maps them to bits by ABI. */
#define POL_GRANT_READ	0x01u /* READ_FILE, READ_DIR, EXECUTE as `exec` says */
#define POL_GRANT_LIST	0x02u /* READ_DIR on this directory only is not expressible: lists beneath too */
#define POL_GRANT_WRITE 0x04u /* everything that modifies, REFER and TRUNCATE included */
#define POL_GRANT_EXEC	0x08u
#define POL_GRANT_DEV	0x10u /* IOCTL_DEV */

struct pol_grant {
	const char *path;
	unsigned rights; /* POL_GRANT_* */
	bool is_dir;
};

/* A rule the plan cannot enforce in the kernel. */
struct pol_gap {
	enum sbx_op op;
	const char *rule;    /* matched text */
	const char *origin;
	const char *why;     /* "a deny inside a writable directory needs the broker" */
	const char *remedy;
	bool fatal;	     /* refused under --strict; else a known, printed limit */
};

struct pol_floor {
	struct b_arena arena;
	struct pol_grant *grants;
	size_t ngrants, grants_cap;
	struct pol_gap *gaps;
	size_t ngaps, gaps_cap;
	const char **carved; /* directories whose entries were granted one by one */
	size_t ncarved, carved_cap;
};
void pol_floor_release(struct pol_floor *);

/* The file system as the planner sees it: so that plans are pure and golden-tested. */
struct pol_fsview {
	void *ctx;
	/* Calls each(arg, name, type) per entry, type 'd' directory, 'f' other, 'l' symlink.
	 * 0, or -1 when the directory is missing or unreadable. */
	int (*list)(void *ctx, const char *dir, int (*each)(void *arg, const char *name, char type),
		    void *arg);
	/* 'd', 'f', 'l' or 0 when it does not exist. */
	char (*type)(void *ctx, const char *path);
};
/* The real one. */
const struct pol_fsview *pol_fsview_host(void);

int pol_floor_plan(const struct pol_ruleset *, const struct sbx_image *, const struct pol_fsview *,
		   struct pol_floor *out, struct b_err *err);
void pol_floor_show(const struct pol_floor *, struct b_str *out);
