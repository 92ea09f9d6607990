/* SPDX-License-Identifier: Apache-2.0 */
/* The floor alone against the decision engine: random rules on random real trees. A child takes
 * the Landlock domain of the plan, without seccomp and shim, and tries; what the kernel lets it
 * do must be what the image allows. SBX_ROUNDS says how many rulesets (default 60). */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "core/decide.h"
#include "launcher/run/confine.h"
#include "policy/plan/floor.h"
#include "policy/plan/landlock.h"
#include "policy/compile/ruleset.h"
#include "tests/support/full.h"

#define NAMES	 3 /* a, b, c */
#define FILES	 27
#define PATH_LEN 128

static char root[PATH_LEN / 2]; /* canonical: rules speak of it */
static unsigned state;

static unsigned rnd(unsigned n)
{
	state = state * 1103515245u + 12345u;
	return (state >> 16) % n;
}

struct world {
	struct pol_ruleset rules;
	struct sbx_image img;
	void *data;
	struct pol_floor floor;
	char text[12][PATH_LEN];
	unsigned ntext;
	char files[FILES][PATH_LEN];
	unsigned nfiles;
};

/* -- rules -- */

static void add_rule(struct world *w, enum sbx_op op, bool allow, enum pol_shape shape,
		     const char *base, const char *glob)
{
	const struct pol_rule rule = {.allow = allow,
				      .shape = shape,
				      .tier = POL_TIER_PROFILE,
				      .base = base,
				      .base_len = strlen(base),
				      .glob = shape == POL_GLOB ? glob : NULL,
				      .matched = base,
				      .origin = "random:1:1"};

	pol_ruleset_add(&w->rules, op, &rule);
}

static void random_rule(struct world *w)
{
	static const char *const globs[] = {"**/b", "*", "**/a/**", "a/*", "**", "?/b", "b/**"};
	static const enum pol_shape shapes[] = {POL_TREE, POL_TREE, POL_EXACT, POL_GLOB};
	enum pol_shape shape = shapes[rnd(4)];
	enum sbx_op op = rnd(2) ? SBX_READ : SBX_MODIFY;
	bool allow = rnd(3);
	char *base = w->text[w->ntext++];
	size_t len = (size_t)snprintf(base, PATH_LEN, "%s", root);

	for (unsigned depth = rnd(4); depth > 0; depth--)
		len += (size_t)snprintf(base + len, PATH_LEN - len, "/%c", 'a' + (int)rnd(NAMES));
	add_rule(w, op, allow, shape, base, globs[rnd(7)]);
}

static void make_rules(struct world *w)
{
	struct b_err err = {0};
	size_t size;

	pol_ruleset_init(&w->rules);
	add_rule(w, SBX_READ, true, POL_TREE, "/usr", NULL);
	for (unsigned n = 2 + rnd(5); n > 0; n--)
		random_rule(w);
	cr_assert_eq(pol_compile(&w->rules, NULL, &w->data, &size, &err), 0, "%s", err.msg);
	cr_assert_eq(sbx_image_open(&w->img, w->data, size, true), SBX_IMAGE_OK);
	cr_assert_eq(pol_floor_plan(&w->rules, &w->img, pol_fsview_host(), &w->floor, &err), 0,
		     "%s", err.msg);
}

/* -- tree -- */

static void touch(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	cr_assert_geq(fd, 0, "%s: %s", path, strerror(errno));
	close(fd);
}

static void make_tree(struct world *w)
{
	char path[PATH_LEN];

	for (int a = 0; a < NAMES; a++) {
		snprintf(path, sizeof path, "%s/%c", root, 'a' + a);
		mkdir(path, 0755);
		for (int b = 0; b < NAMES; b++) {
			snprintf(path, sizeof path, "%s/%c/%c", root, 'a' + a, 'a' + b);
			mkdir(path, 0755);
			for (int c = 0; c < NAMES; c++) {
				if (!rnd(3))
					continue;
				snprintf(w->files[w->nfiles], PATH_LEN, "%s/%c/%c/%c", root,
					 'a' + a, 'a' + b, 'a' + c);
				touch(w->files[w->nfiles++]);
			}
		}
	}
}

static void remove_tree(void)
{
	char command[PATH_LEN];

	snprintf(command, sizeof command, "rm -rf %s/*", root);
	cr_assert_eq(system(command), 0);
}

/* -- in the child -- */

static bool allows(const struct world *w, enum sbx_op op, const char *path)
{
	return sbx_decide(&w->img, op, path, strlen(path));
}

static bool has_fatal(const struct world *w, enum sbx_op op)
{
	for (size_t i = 0; i < w->floor.ngaps; i++)
		if (w->floor.gaps[i].fatal && w->floor.gaps[i].op == op)
			return true;
	return false;
}

static bool opens(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0644);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* The first disagreement is printed; the exit status says that there was one. */
static int differ(const char *what, const char *path, const char *other)
{
	printf("%s: %s %s\n", what, path, other);
	fflush(stdout);
	return 1;
}

static int judge_file(const struct world *w, const char *path)
{
	bool read = opens(path, O_RDONLY), write = opens(path, O_WRONLY);

	if (read && !allows(w, SBX_READ, path))
		return differ("read beyond the rules", path, "");
	if (write && !allows(w, SBX_MODIFY, path))
		return differ("written beyond the rules", path, "");
	if (!read && allows(w, SBX_READ, path) && !has_fatal(w, SBX_READ))
		return differ("not readable, without a gap", path, "");
	if (!write && allows(w, SBX_MODIFY, path) && !has_fatal(w, SBX_MODIFY))
		return differ("not writable, without a gap", path, "");
	return 0;
}

static int judge_new_name(const struct world *w, const char *file)
{
	char path[PATH_LEN + 4];
	bool made;

	snprintf(path, sizeof path, "%.*s/zz", (int)(strrchr(file, '/') - file), file);
	made = opens(path, O_WRONLY | O_CREAT | O_EXCL);
	if (made && !allows(w, SBX_MODIFY, path))
		return differ("made beyond the rules", path, "");
	if (!made && allows(w, SBX_MODIFY, path) && !has_fatal(w, SBX_MODIFY))
		return differ("not made, without a gap", path, "");
	if (made && opens(path, O_RDONLY) && !allows(w, SBX_READ, path))
		return differ("new file read beyond the rules", path, "");
	if (made && unlink(path) < 0)
		return differ("made but not removed", path, "");
	return 0;
}

/* A move may launder nothing: what could not be read before cannot be read after. */
static int judge_move(const struct world *w, const char *from, const char *file)
{
	bool was_readable = opens(from, O_RDONLY), readable;
	char to[PATH_LEN + 4];

	snprintf(to, sizeof to, "%.*s/yy", (int)(strrchr(file, '/') - file), file);
	if (rename(from, to) < 0)
		return 0;
	if (!allows(w, SBX_MODIFY, from) || !allows(w, SBX_MODIFY, to))
		return differ("moved beyond the rules", from, to);
	readable = opens(to, O_RDONLY);
	if (readable && !was_readable)
		return differ("laundered", from, to);
	/* Landlock does not take back what would gain rights by it: the tree is another now. */
	return rename(to, from) < 0 ? -1 : 0;
}

static int judge_all(const struct world *w)
{
	for (unsigned i = 0; i < w->nfiles; i++)
		if (judge_file(w, w->files[i]) || judge_new_name(w, w->files[i]))
			return 1;
	for (unsigned i = 0; i < w->nfiles; i++)
		for (unsigned k = i % 3; k < w->nfiles; k += 3) {
			int rc = judge_move(w, w->files[i], w->files[k]);

			if (rc)
				return rc > 0;
		}
	return 0;
}

static void run_round(unsigned seed)
{
	static struct world w;
	struct lau_confine c = {.landlock_fd = -1};
	struct b_err err = {0};
	struct pol_ll_plan ll;
	int status;
	pid_t pid;

	w = (struct world){0};
	state = seed * 2654435761u;
	make_tree(&w);
	make_rules(&w);
	pol_ll_plan(&w.floor, lau_landlock_abi(), &ll);
	cr_assert_eq(lau_landlock_prepare(&ll, &c.landlock_fd, &err), 0, "%s", err.msg);
	pid = fork();
	if (pid == 0) {
		if (lau_confine_caps(&c, &err) < 0 || lau_confine_landlock(&c, 0, &err) < 0)
			_exit(2);
		_exit(judge_all(&w));
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_expect_eq(status, 0, "seed %u", seed);
	close(c.landlock_fd);
	pol_ll_plan_release(&ll);
	pol_floor_release(&w.floor);
	pol_ruleset_release(&w.rules);
	free(w.data);
	remove_tree();
}

Test(agreement_floor, the_kernel_does_what_the_image_says)
{
	const char *rounds = getenv("SBX_ROUNDS");
	unsigned n = rounds ? (unsigned)strtoul(rounds, NULL, 10) : is_full() ? 60 : 20;

	/* Below ABI 3 truncation, below ABI 2 every move between directories differs. */
	if (lau_landlock_abi() < 3)
		cr_skip_test("Landlock ABI %d", lau_landlock_abi());
	strcpy(root, "/tmp/sbx-agree-XXXXXX");
	cr_assert_not_null(mkdtemp(root));
	for (unsigned seed = 1; seed <= n; seed++)
		run_round(seed);
	rmdir(root);
}
