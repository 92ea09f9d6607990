/* SPDX-License-Identifier: Apache-2.0 */
/* Live tests of the broker: directories that move, with what lies in them. */
#include "launcher/linux/broker/public.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "core/ring.h"
#include "tests/support/broker.h"

#define NOBODY 65534

static char root[64];

/* In `root`, as who runs the tests, then given to everybody. */
static void make_tree(const char *script)
{
	char cmd[1000];

	strcpy(root, "/tmp/sbx-moves-XXXXXX");
	cr_assert_not_null(mkdtemp(root));
	snprintf(cmd, sizeof cmd, "cd %s && (%s) && chmod -R a+rwX .", root, script);
	cr_assert_eq(system(cmd), 0, "%s", cmd);
}

static void remove_tree(void)
{
	char cmd[128];

	snprintf(cmd, sizeof cmd, "rm -rf %s", root);
	cr_assert_eq(system(cmd), 0);
}

struct row {
	const char *rules[5]; /* of the base @ */
	const char *tree;     /* a shell's words */
	const char *from, *to;
	int flags;
	int want;
	const char *below; /* the event names it */
};

#define NODE_MODULES                                                                               \
	{                                                                                          \
		"rm- G @ **/node_modules/**"                                                       \
	}
#define HOOKS                                                                                      \
	{                                                                                          \
		"m- G @ **/.git/hooks/**"                                                          \
	}
#define SECRETS                                                                                    \
	{                                                                                          \
		"rm- T @/secrets"                                                                  \
	}
#define DOTENV                                                                                     \
	{                                                                                          \
		"rm- G @ **/*.env"                                                                 \
	}
#define TESTS_ENV                                                                                  \
	{                                                                                          \
		"r- G @ **/*.env", "r+ G @ test/**/*.env"                                          \
	}
#define HIDDEN                                                                                     \
	{                                                                                          \
		"r- T @/hidden"                                                                    \
	}
#define GENERATED                                                                                  \
	{                                                                                          \
		"m- G @ src/generated/**"                                                          \
	}

static const struct row rows[] = {
	/* whatever there could be may move */
	{NODE_MODULES, "mkdir -p src/a/b", "src", "lib", 0, 0, NULL},
	{DOTENV, "mkdir -p pkg/x && echo s >pkg/x/a.env", "pkg", "new", 0, 0, NULL},
	{SECRETS, "mkdir -p src/secrets && echo s >src/secrets/k", "src", "lib", 0, 0, NULL},
	/* only what is there may */
	{HOOKS, "mkdir -p evil/objects && echo x >evil/HEAD", "evil", ".git", 0, 0, NULL},
	{HOOKS, "mkdir -p wt/.git/objects", "wt/.git", "wt/git", 0, 0, NULL},
	{HOOKS, "mkdir -p evil/hooks && echo x >evil/hooks/pre-push", "evil", ".git", 0, EACCES,
	 "evil/hooks"},
	{HOOKS, "mkdir -p a/.git a/.gi2/hooks", "a/.gi2", "a/.git", 0, EACCES, "a/.gi2/hooks"},
	{GENERATED, "mkdir -p lib/gen lib/genera", "lib", "src", 0, 0, NULL},
	{GENERATED, "mkdir -p lib/generated", "lib", "src", 0, EACCES, "lib/generated"},
	/* a name below the moved one that may be read there, and here not */
	{TESTS_ENV, "mkdir -p lib/x/y && echo s >lib/x/y/f", "lib", "test", 0, 0, NULL},
	{TESTS_ENV, "mkdir -p lib/x/y && echo s >lib/x/y/a.env", "lib", "test", 0, EACCES,
	 "lib/x/y/a.env"},
	/* and the other way round: who has it open would read what is written there */
	{TESTS_ENV, "mkdir -p test/x/y && echo s >test/x/y/a.env", "test", "lib", 0, EACCES,
	 "test/x/y/a.env"},
	{TESTS_ENV, "mkdir -p test/x/y && echo s >test/x/y/f", "test", "lib", 0, 0, NULL},
	{HIDDEN, "mkdir -p d", "d", "hidden", 0, EACCES, ""},
	{HIDDEN, "mkdir -p d && ln -s /tmp d/hidden", "d", "e", 0, 0, NULL},
	/* a symlink is a name, not what it leads to */
	{TESTS_ENV, "mkdir -p lib other && echo s >other/a.env && ln -s ../other lib/l", "lib",
	 "test", 0, 0, NULL},
	{TESTS_ENV, "mkdir -p lib && ln -s none lib/l.env", "lib", "test", 0, EACCES, "lib/l.env"},
	/* what is swapped is looked at both ways */
	{HOOKS, "mkdir -p a .git", "a", ".git", RENAME_EXCHANGE, 0, NULL},
	{HOOKS, "mkdir -p .git a/hooks", ".git", "a", RENAME_EXCHANGE, EACCES, ".git/hooks"},
	{HOOKS, "mkdir -p a && echo x >.git", "a", ".git", RENAME_EXCHANGE, 0, NULL},
	/* the tops themselves */
	{SECRETS, "mkdir -p secrets", "secrets", "pub", 0, EACCES, ""},
	{DOTENV, "mkdir -p d.env", "d.env", "pub", 0, EACCES, ""},
	{NODE_MODULES, "mkdir -p d", "d", "node_modules", 0, EACCES, ""},
};
#define NROWS (sizeof rows / sizeof *rows)

static int move(void *arg)
{
	const struct row *r = arg;

	if (chdir(root) < 0)
		return 200;
	return renameat2(AT_FDCWD, r->from, AT_FDCWD, r->to, (unsigned)r->flags) < 0 ? errno : 0;
}

static void make_policy(struct sb_policy *policy, const char *const *rules)
{
	static char text[5][256];
	const char *lines[7] = {"rmx+ T /"};
	size_t n = 1;

	for (; *rules; rules++, n++) {
		const char *at = strchr(*rules, '@');

		snprintf(text[n - 1], sizeof *text, "%.*s%s%s", (int)(at - *rules), *rules, root,
			 at + 1);
		lines[n] = text[n - 1];
	}
	sb_policy_make(policy, lines);
}

static struct sbx_ring *ring;
static struct sbx_ring_reader reader;

/* The denial of the move, if there is one: false, or its flags and the path below the root. */
static bool told(unsigned *out_flags, char out[PATH_MAX])
{
	unsigned char *buf = b_malloc(SBX_RING_FRAME_MAX);
	const char *path, *path2;
	bool found = false;
	struct sbx_event ev;

	while (sbx_ring_read(&reader, buf, 0, true, &ev, &path, &path2) > 0) {
		if (ev.flags & SBX_EVF_ALLOWED)
			continue;
		found = true;
		*out_flags = ev.flags;
		snprintf(out, PATH_MAX, "%.*s", (int)ev.path_len, path);
	}
	free(buf);
	return found;
}

static void make_ring(void)
{
	ring = mmap(NULL, sbx_ring_bytes(SBX_RING_MIN), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	cr_assert_neq((void *)ring, MAP_FAILED);
	sbx_ring_init(ring, SBX_RING_MIN, SBX_AUDIT_ALL);
	sbx_ring_reader_init(&reader, ring, SBX_RING_MIN);
}

static int run(const struct row *r, uid_t uid, bool bare)
{
	const struct sb_options o = {.uid = uid,
				     .bare = bare,
				     .ring = ring,
				     .ring_size = SBX_RING_MIN,
				     .tree_budget = 200};
	struct sb_policy policy;
	int rc;

	make_policy(&policy, r->rules);
	rc = sb_run(&policy, &o, move, (void *)(uintptr_t)r);
	sb_policy_release(&policy);
	return rc;
}

static void check(unsigned i, uid_t uid)
{
	const struct row *r = &rows[i];
	char path[PATH_MAX], want[PATH_MAX];
	unsigned flags = 0;

	make_tree(r->tree);
	cr_expect_eq(run(r, uid, true), 0, "row %u: positive control", i);
	remove_tree();
	make_tree(r->tree);
	cr_expect_eq(run(r, uid, false), r->want, "row %u as %u", i, uid);
	cr_expect_eq(told(&flags, path), r->want == EACCES, "row %u", i);
	if (r->below && *r->below) {
		snprintf(want, sizeof want, "%s/%s", root, r->below);
		cr_expect_str_eq(path, want, "row %u", i);
		cr_expect_eq(flags & (SBX_EVF_MOVE | SBX_EVF_UNSEEN), SBX_EVF_MOVE, "row %u", i);
	}
	remove_tree();
}

Test(launcher_broker_moves, directories_move_unless_something_in_them_may_not, .timeout = 120)
{
	umask(0);
	make_ring();
	for (unsigned i = 0; i < NROWS; i++) {
		check(i, 0);
		if (geteuid() == 0)
			check(i, NOBODY);
	}
}

static void expect_unseen(const struct row *r, uid_t uid)
{
	char path[PATH_MAX];
	unsigned flags = 0;

	cr_expect_eq(run(r, uid, false), EACCES, "%s", r->from);
	cr_expect(told(&flags, path), "%s", r->from);
	cr_expect_eq(flags & (SBX_EVF_MOVE | SBX_EVF_UNSEEN), SBX_EVF_MOVE | SBX_EVF_UNSEEN, "%s",
		     r->from);
}

Test(launcher_broker_moves, what_cannot_be_looked_through_stays, .timeout = 120)
{
	static const struct row crowd = {TESTS_ENV, NULL, "lib", "test", 0, EACCES, NULL},
				shut = {TESTS_ENV, NULL, "d", "test", 0, EACCES, NULL};

	umask(0);
	make_ring();
	make_tree("mkdir -p lib/a && (cd lib/a && seq 250 | xargs mkdir)");
	expect_unseen(&crowd, 0);
	remove_tree();
	make_tree("mkdir -p d/closed/x");
	if (geteuid() == 0)
		cr_assert_eq(chown(root, NOBODY, NOBODY), 0);
	cr_assert_eq(chdir(root), 0);
	cr_assert_eq(chmod("d/closed", 0), 0);
	if (geteuid() == 0)
		expect_unseen(&shut, NOBODY);
	else
		expect_unseen(&shut, 0);
	cr_assert_eq(chmod("d/closed", 0700), 0);
	cr_assert_eq(chdir("/"), 0);
	remove_tree();
}

static int move_onto(void *arg)
{
	(void)arg;
	return chdir(root) < 0 ? 200 : rename("lib", "test") < 0 ? errno : 0;
}

/* The kernel's answer, which no look through it would change, comes first. */
Test(launcher_broker_moves, a_directory_without_a_place_is_not_looked_through)
{
	static const struct {
		const char *tree;
		int want;
	} v[] = {{"mkdir -p lib/x test/y && echo s >lib/x/a.env", ENOTEMPTY},
		 {"mkdir -p lib/x && echo s >lib/x/a.env && echo x >test", ENOTDIR},
		 {"mkdir -p lib/x test && echo s >lib/x/a.env", EACCES}};
	static const struct row rules = {TESTS_ENV, NULL, NULL, NULL, 0, 0, NULL};
	const struct sb_options o = {0};
	struct sb_policy policy;

	for (unsigned i = 0; i < sizeof v / sizeof *v; i++) {
		make_tree(v[i].tree);
		make_policy(&policy, rules.rules);
		cr_expect_eq(sb_run(&policy, &o, move_onto, NULL), v[i].want, "%s", v[i].tree);
		sb_policy_release(&policy);
		remove_tree();
	}
}

/* ---- two threads ---- */

static _Atomic bool over;
static _Atomic unsigned plants;

static void *plant(void *arg)
{
	int dir = *(int *)arg;

	while (!over) {
		plants += mkdirat(dir, "hooks", 0777) == 0;
		(void)unlinkat(dir, "hooks", AT_REMOVEDIR);
	}
	return NULL;
}

/* One thread makes and removes what may not be at the new place, by a descriptor that moves
 * along, while the other moves the directory there and back: 1 = it was there. */
static int move_and_plant(void *arg)
{
	bool is_planted = false;
	unsigned moves = 0;
	struct stat st;
	pthread_t t;
	int dir;

	if (chdir(root) < 0)
		return 200;
	dir = open("evil", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0 || pthread_create(&t, NULL, plant, &dir))
		return 201;
	/* bare until it happens; both threads have to have their turns */
	while (!is_planted && (moves < *(unsigned *)arg || plants < 100)) {
		if (rename("evil", ".git") < 0)
			continue;
		moves++;
		for (int k = 0; k < 5; k++)
			is_planted |= stat(".git/hooks", &st) == 0;
		if (rename(".git", "evil") < 0)
			return 202;
	}
	over = true;
	pthread_join(t, NULL);
	return is_planted;
}

Test(launcher_broker_moves, nothing_is_planted_while_it_is_looked_for, .timeout = 120)
{
	static const struct row row = {HOOKS, NULL, NULL, NULL, 0, 0, NULL};
	const struct sb_options bare = {.bare = true}, held = {0};
	unsigned always = UINT_MAX, some = 300;
	struct sb_policy policy;

	umask(0);
	make_tree("mkdir evil");
	make_policy(&policy, row.rules);
	cr_expect_eq(sb_run(&policy, &bare, move_and_plant, &always), 1, "positive control");
	remove_tree();
	make_tree("mkdir evil");
	sb_policy_release(&policy);
	make_policy(&policy, row.rules);
	cr_expect_eq(sb_run(&policy, &held, move_and_plant, &some), 0);
	sb_policy_release(&policy);
	remove_tree();
}
