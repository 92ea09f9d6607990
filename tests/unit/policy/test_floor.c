/* Unit tests of policy/back/floor.c: plans of made-up rules on made-up file systems. */
#include "policy/back/floor.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "base/str.h"
#include "core/decide.h"
#include "policy/back/landlock.h"
#include "policy/compile.h"
#include "policy/ruleset.h"

/* -- a file system as a list of paths; a trailing slash makes a directory, @ a symlink -- */

static const char *const *tree;
static unsigned lists; /* directories listed */

static size_t plain_len(const char *entry)
{
	size_t len = strlen(entry);

	return len > 1 && (entry[len - 1] == '/' || entry[len - 1] == '@') ? len - 1 : len;
}

static char type_at(const char *entry)
{
	const char last = entry[strlen(entry) - 1];

	return last == '/' ? 'd' : last == '@' ? 'l' : 'f';
}

static char fake_type(void *ctx, const char *path)
{
	(void)ctx;
	for (size_t i = 0; tree[i]; i++)
		if (plain_len(tree[i]) == strlen(path) && !strncmp(tree[i], path, strlen(path)))
			return type_at(tree[i]);
	return !strcmp(path, "/") ? 'd' : 0;
}

static int fake_list(void *ctx, const char *dir,
		     int (*each)(void *arg, const char *name, char type), void *arg)
{
	size_t len = strcmp(dir, "/") != 0 ? strlen(dir) : 0;

	lists++;
	if (fake_type(ctx, dir) != 'd' || !strcmp(dir, "/unreadable"))
		return -1;
	for (size_t i = 0; tree[i]; i++) {
		size_t end = plain_len(tree[i]);
		char name[256];

		if (end <= len + 1 || strncmp(tree[i], dir, len) != 0 || tree[i][len] != '/' ||
		    memchr(tree[i] + len + 1, '/', end - len - 1))
			continue;
		snprintf(name, sizeof name, "%.*s", (int)(end - len - 1), tree[i] + len + 1);
		if (each(arg, name, type_at(tree[i])))
			break;
	}
	return 0;
}

static const struct pol_fsview fake = {.list = fake_list, .type = fake_type};

/* -- rules as text: "r+ TREE /w", "m- GLOB /w **" + "/" + "*.env", "x" exec -- */

static struct pol_ruleset rules;
static struct sbx_image img;
static void *image_data;
static struct pol_floor plan;

static void add(enum sbx_op op, const char *line)
{
	struct pol_rule r = {
		.allow = line[0] == '+', .tier = POL_TIER_PROFILE, .origin = "p.yaml:1:1"};
	char kind, base[256] = "", glob[256] = "";

	cr_assert_geq(sscanf(line + 1, " %c %255s %255s", &kind, base, glob), 2, "%s", line);
	if (!strncmp(base, "/dev/", 5))
		r.tier = POL_TIER_BASE;
	r.shape = kind == 'E' ? POL_EXACT : kind == 'T' ? POL_TREE : POL_GLOB;
	r.base = strcmp(base, "/") != 0 ? base : "";
	r.base_len = strlen(r.base);
	r.glob = kind == 'G' ? glob : NULL;
	r.matched = line;
	pol_ruleset_add(&rules, op, &r);
}

/* Lines start with r, m, x or a (read and exec) and go on with what add() takes. */
static void make(const char *const *lines, const char *const *files)
{
	struct b_err err = {0};
	size_t size;

	tree = files;
	lists = 0;
	pol_ruleset_init(&rules);
	for (; *lines; lines++) {
		if (strchr("ra", **lines))
			add(SBX_READ, *lines + 1);
		if (strchr("xa", **lines))
			add(SBX_EXEC, *lines + 1);
		if (**lines == 'm')
			add(SBX_MODIFY, *lines + 1);
	}
	cr_assert_eq(pol_compile(&rules, NULL, &image_data, &size, &err), 0, "%s", err.msg);
	cr_assert_eq(sbx_image_open(&img, image_data, size, true), SBX_IMAGE_OK);
	cr_assert_eq(pol_floor_plan(&rules, &img, &fake, &plan, &err), 0, "%s", err.msg);
}

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

static void tear_down(void)
{
	pol_floor_release(&plan);
	pol_ruleset_release(&rules);
	free(image_data);
	image_data = NULL;
}
TestSuite(policy_floor, .fini = tear_down);

/* Rights granted at exactly this path. */
static unsigned at(const char *path, bool lax)
{
	for (size_t i = 0; i < plan.ngrants; i++)
		if (!strcmp(plan.grants[i].path, path) && plan.grants[i].lax == lax)
			return plan.grants[i].rights;
	return 0;
}

static const struct pol_gap *gap(enum sbx_op op, const char *rule)
{
	for (size_t i = 0; i < plan.ngaps; i++)
		if (plan.gaps[i].op == op && strstr(plan.gaps[i].rule, rule))
			return &plan.gaps[i];
	return NULL;
}

#define R POL_GRANT_READ
#define X POL_GRANT_EXEC
#define W POL_GRANT_WRITE
#define L POL_GRANT_LIST

Test(policy_floor, a_clean_tree_is_one_grant_and_looks_at_nothing)
{
	make(LIST("a+ T /"), LIST("/usr/", "/etc/"));
	cr_expect_eq(plan.ngrants, 1);
	cr_expect_eq(at("/", false), R | X);
	cr_expect_eq(plan.ngaps, 0);
	cr_expect_eq(lists, 0);
}

Test(policy_floor, a_literal_deny_is_carved_out)
{
	make(LIST("a+ T /", "a- T /home/u/.ssh"),
	     LIST("/usr/", "/usr/lib/", "/bin@", "/home/", "/home/u/", "/home/v/", "/home/u/.ssh/",
		  "/home/u/.ssh/id", "/home/u/src/", "/home/u/.bashrc"));
	cr_expect_eq(at("/usr", false), R | X);
	cr_expect_eq(at("/usr/lib", false), 0, "below a clean tree nothing is looked at");
	cr_expect_eq(at("/bin", false), 0, "symlinks are judged where they lead");
	cr_expect_eq(at("/home/v", false), R | X);
	cr_expect_eq(at("/home/u/src", false), R | X);
	cr_expect_eq(at("/home/u/.bashrc", false), R | X);
	cr_expect_eq(at("/home/u/.ssh", false), 0);
	cr_expect_eq(at("/home/u/.ssh/id", false), 0);
	cr_expect_eq(at("/", false) | at("/home", false) | at("/home/u", false), L);
	cr_expect_eq(plan.ncarved, 3);
	cr_expect_eq(lists, 3);
	cr_expect_not(pol_floor_has_fatal(&plan));
	cr_expect_not_null(gap(SBX_READ, "<carved directories>"), "the leak of names is said");
}

Test(policy_floor, what_does_not_exist_yet_is_carved_all_the_same)
{
	make(LIST("a+ T /", "a- T /home/u/.ssh"), LIST("/home/", "/home/u/", "/home/u/a"));
	cr_expect_eq(at("/home/u", false), L);
	cr_expect_eq(at("/home/u/a", false), R | X);
}

Test(policy_floor, a_directory_that_cannot_be_listed_is_passed_by_name)
{
	make(LIST("a+ T /", "a- T /unreadable/a/secret", "a- T /unreadable/b/secret"),
	     LIST("/unreadable/", "/unreadable/a/", "/unreadable/a/x", "/unreadable/b/",
		  "/unreadable/b/y"));
	cr_expect_eq(at("/unreadable/a/x", false), R | X);
	cr_expect_eq(at("/unreadable/b/y", false), R | X);
	tear_down();
	make(LIST("a+ T /", "a- T /unreadable", "a+ T /unreadable/mine"),
	     LIST("/unreadable/", "/unreadable/mine/"));
	cr_expect_eq(at("/unreadable/mine", false), R | X);
	cr_expect_eq(at("/unreadable", false), 0);
}

Test(policy_floor, a_writable_tree_is_granted_whole)
{
	make(LIST("a+ T /", "m+ T /w/src"), LIST("/w/", "/w/src/", "/w/doc/", "/usr/"));
	cr_expect_eq(at("/w/src", false), W);
	cr_expect_eq(at("/w", false) | at("/w/doc", false), 0);
	cr_expect_eq(at("/", false), R | X);
	cr_expect_eq(plan.ngaps, 0);
}

Test(policy_floor, a_deny_inside_a_writable_tree_is_fatal_and_named_and_closed)
{
	make(LIST("a+ T /", "m+ T /w", "m- T /w/.git/hooks", "m- G /w **/*.lock",
		  "m- T /elsewhere"),
	     LIST("/w/", "/w/.git/", "/w/src/", "/elsewhere/"));
	cr_expect(pol_floor_has_fatal(&plan));
	cr_assert_not_null(gap(SBX_MODIFY, "/w/.git/hooks"));
	cr_expect(gap(SBX_MODIFY, "/w/.git/hooks")->fatal);
	cr_expect_str_eq(gap(SBX_MODIFY, "/w/.git/hooks")->origin, "p.yaml:1:1");
	cr_expect_not_null(gap(SBX_MODIFY, "*.lock"));
	cr_expect_null(gap(SBX_MODIFY, "/elsewhere"), "a deny that pierces nothing is no gap");
	for (size_t i = 0; i < plan.ngrants; i++)
		cr_expect_not((plan.grants[i].rights & W) && !plan.grants[i].lax, "%s",
			      plan.grants[i].path);
	cr_expect_eq(at("/w", true), W, "what --best-effort may accept");
}

Test(policy_floor, a_deny_that_was_taken_back_is_no_gap)
{
	make(LIST("a+ T /", "m+ T /w", "m- T /w/out", "m+ T /w/out"), LIST("/w/", "/w/out/"));
	cr_expect_eq(at("/w", false), W);
	cr_expect_eq(plan.ngaps, 0);
	tear_down();
	make(LIST("a+ T /", "m+ T /w", "m- T /w/out", "m+ T /w"), LIST("/w/", "/w/out/"));
	cr_expect_eq(at("/w", false), W);
	cr_expect_eq(plan.ngaps, 0);
}

Test(policy_floor, a_read_pattern_in_a_readable_tree_is_fatal_once)
{
	make(LIST("a+ T /usr", "a+ T /w", "a- G /w **/*.env"),
	     LIST("/usr/", "/w/", "/w/a/", "/w/b/"));
	cr_assert_not_null(gap(SBX_READ, "*.env"));
	cr_expect(gap(SBX_READ, "*.env")->fatal);
	cr_expect_null(gap(SBX_EXEC, "*.env"), "the exec list is the read list: said once");
	cr_expect_eq(at("/w", false), 0);
	cr_expect_eq(at("/w", true), R | X);
	cr_expect_eq(at("/usr", false), R | X);
}

Test(policy_floor, files_allowed_by_a_pattern_alone_stay_closed_even_when_lax)
{
	make(LIST("a+ T /usr", "a+ G /w **/*.c"), LIST("/usr/", "/w/", "/w/a.c"));
	cr_assert_not_null(gap(SBX_READ, "*.c"));
	cr_expect(gap(SBX_READ, "*.c")->fatal);
	cr_expect_eq(at("/w", false) | at("/w", true), 0);
}

Test(policy_floor, a_denied_read_does_not_close_the_writing)
{
	make(LIST("a+ T /", "a- T /w/secrets", "m+ T /w"),
	     LIST("/w/", "/w/secrets/", "/w/src/", "/w/f"));
	cr_expect_eq(at("/w", false), W | L);
	cr_expect_eq(at("/w/secrets", false), 0);
	cr_expect_eq(at("/w/src", false), R | X);
	cr_expect_eq(at("/w/f", false), R | X);
	cr_expect_not(pol_floor_has_fatal(&plan));
	cr_assert_not_null(gap(SBX_READ, "- T /w/secrets"));
	cr_expect(strstr(gap(SBX_READ, "- T /w/secrets")->why, "renamed"));
	cr_assert_not_null(gap(SBX_READ, "/w"), "later files in a carved, writable directory");
	cr_expect(strstr(gap(SBX_READ, "/w")->why, "until the next run"));
}

Test(policy_floor, an_allow_below_a_deny_is_reached)
{
	make(LIST("a+ T /", "a- T /home", "a+ T /home/u/w"),
	     LIST("/usr/", "/home/", "/home/u/", "/home/u/w/", "/home/u/x/"));
	cr_expect_eq(at("/home/u/w", false), R | X);
	cr_expect_eq(at("/home", false) | at("/home/u", false) | at("/home/u/x", false), 0);
}

Test(policy_floor, a_crowded_directory_grants_directories_only)
{
	static const char *files[POL_CARVE_MAX + 8];
	static char names[POL_CARVE_MAX + 8][32];
	size_t n = 0;

	files[n++] = "/home/";
	files[n++] = "/home/dir/";
	files[n++] = "/home/secret/";
	while (n < POL_CARVE_MAX + 6) {
		snprintf(names[n], sizeof names[n], "/home/f%zu", n);
		files[n] = names[n];
		n++;
	}
	make(LIST("a+ T /", "a- T /home/secret"), files);
	cr_expect_eq(at("/home/dir", false), R | X);
	cr_expect_eq(at("/home/f9", false), 0);
	cr_assert_not_null(gap(SBX_READ, "/home"));
	cr_expect_not(gap(SBX_READ, "/home")->fatal);
}

Test(policy_floor, an_exact_rule_on_a_directory_lists_it)
{
	make(LIST("a+ T /usr", "a+ E /w"), LIST("/usr/", "/w/", "/w/f"));
	cr_expect_eq(at("/w", false), L);
	cr_expect_eq(at("/w/f", false), 0);
}

Test(policy_floor, an_exact_deny_of_a_directory_takes_the_listing_only)
{
	make(LIST("a+ T /", "a- E /w"), LIST("/usr/", "/w/", "/w/f", "/w/d/"));
	cr_expect_eq(at("/w", false), 0);
	cr_expect_eq(at("/w/f", false), R | X);
	cr_expect_eq(at("/w/d", false), R | X);
}

Test(policy_floor, single_writable_files_say_what_they_cannot)
{
	make(LIST("a+ T /", "m+ E /w/log", "m+ E /w/none", "m+ T /w/dist"), LIST("/w/", "/w/log"));
	cr_expect_eq(at("/w/log", false), W);
	cr_assert_not_null(gap(SBX_MODIFY, "/w/log"));
	cr_expect_not(gap(SBX_MODIFY, "/w/log")->fatal);
	cr_assert_not_null(gap(SBX_MODIFY, "/w/none"));
	cr_expect_str_eq(gap(SBX_MODIFY, "/w/dist")->remedy,
			 "create it first, or allow its directory");
}

Test(policy_floor, writable_device_nodes_may_be_controlled)
{
	make(LIST("a+ T /", "m+ E /dev/null"), LIST("/dev/", "/dev/null", "/dev/sda"));
	cr_expect_eq(at("/dev/null", false), W | POL_GRANT_DEV);
	cr_expect_eq(at("/dev/sda", false), 0);
}

/* A grant to execute a tree must not open what is denied for reading in it. */
Test(policy_floor, exec_may_be_wider_than_read)
{
	struct pol_ll_plan ll;

	make(LIST("r+ T /", "r- T /w/secret", "x+ T /"),
	     LIST("/usr/", "/w/", "/w/secret/", "/w/f"));
	cr_expect_eq(at("/", false), X | L);
	cr_expect_eq(at("/w/secret", false), 0);
	pol_ll_plan(&plan, 7, &ll);
	for (size_t i = 0; i < ll.nrules; i++)
		if (!strcmp(ll.rules[i].path, "/") || !strcmp(ll.rules[i].path, "/w"))
			cr_expect_not(ll.rules[i].access & POL_LL_READ_FILE);
	pol_ll_plan_release(&ll);
}

Test(policy_floor, exec_may_be_narrower_than_read)
{
	make(LIST("r+ T /", "x+ T /usr/bin"), LIST("/usr/", "/usr/bin/", "/usr/bin/sh", "/w/"));
	cr_expect_eq(at("/", false), R);
	cr_expect_eq(at("/usr/bin", false), X);
	cr_expect_eq(plan.ngaps, 0);
}

Test(policy_floor, names_that_only_share_a_prefix_are_not_carved)
{
	make(LIST("a+ T /", "a- T /home-old/x", "a- T /home.d/x"),
	     LIST("/home/", "/home/u/", "/home-old/"));
	cr_expect_eq(at("/home", false), R | X);
}

Test(policy_floor, a_policy_that_allows_nothing_cannot_be_planned)
{
	struct b_err err = {0};
	struct pol_floor none;
	size_t size;

	tree = LIST("/usr/");
	pol_ruleset_init(&rules);
	add(SBX_READ, "+ T /nowhere");
	cr_assert_eq(pol_compile(&rules, NULL, &image_data, &size, &err), 0);
	cr_assert_eq(sbx_image_open(&img, image_data, size, true), SBX_IMAGE_OK);
	cr_expect_eq(pol_floor_plan(&rules, &img, &fake, &none, &err), -1);
	cr_expect_eq(err.kind, B_FLOOR);
}

Test(policy_floor, exact_grants_of_the_run_are_added)
{
	struct pol_ll_plan ll;

	make(LIST("a+ T /usr"), LIST("/usr/"));
	pol_floor_grant(&plan, "/dev/shm/x/ring", POL_GRANT_RING, false);
	pol_ll_plan(&plan, 7, &ll);
	cr_assert_eq(ll.nrules, 2);
	cr_expect_str_eq(ll.rules[1].path, "/dev/shm/x/ring");
	cr_expect_eq(ll.rules[1].access, POL_LL_READ_FILE | POL_LL_WRITE_FILE);
	pol_ll_plan_release(&ll);
}

/* -- random rules on random trees: the grants, inherited as the kernel does, against the image --
 */

static unsigned rnd_state;

static unsigned rnd(unsigned n)
{
	rnd_state = rnd_state * 1103515245u + 12345u;
	return (rnd_state >> 16) % n;
}

static void random_path(char *out, size_t size, unsigned min_depth)
{
	unsigned depth = min_depth + rnd(4 - min_depth);
	size_t len = 0;

	*out = '\0';
	for (unsigned i = 0; i < depth; i++)
		len += (size_t)snprintf(out + len, size - len, "/%c", 'a' + (int)rnd(3));
}

static const char *random_rules(char (*text)[80], const char **lines)
{
	static const char *const globs[] = {"**/b", "*",  "*c",	 "**/a/**",
					    "a/*",  "**", "?/b", "b/**"};
	static const char ops[] = "aarmm";
	unsigned n = 2 + rnd(5);

	for (unsigned i = 0; i < n; i++) {
		char base[16];
		char op = ops[rnd(5)], sign = rnd(3) ? '+' : '-', shape = "TTEG"[rnd(4)];

		random_path(base, sizeof base, 0);
		snprintf(text[i], sizeof *text, "%c%c %c %s %s", op, sign, shape,
			 *base ? base : "/", shape == 'G' ? globs[rnd(8)] : "");
		lines[i] = text[i];
	}
	lines[n] = "a+ T /tool"; /* or there may be no plan at all */
	lines[n + 1] = NULL;
	return lines[0];
}

/* Every prefix of every file is a directory. */
static void random_tree(char (*text)[24], const char **files)
{
	size_t n = 0;

	for (int a = 0; a < 3; a++) {
		for (int b = 0; b < 3; b++) {
			for (int c = 0; c < 3; c++)
				if (rnd(3)) {
					snprintf(text[n], sizeof *text, "/%c/%c/%c", 'a' + a,
						 'a' + b, 'a' + c);
					files[n] = text[n];
					n++;
				}
			snprintf(text[n], sizeof *text, "/%c/%c/", 'a' + a, 'a' + b);
			files[n] = text[n];
			n++;
		}
		snprintf(text[n], sizeof *text, "/%c/", 'a' + a);
		files[n] = text[n];
		n++;
	}
	files[n++] = "/tool/";
	files[n] = NULL;
}

/* Rights at a path: those of every grant at or above it. */
static unsigned inherited(const char *path, size_t len)
{
	unsigned rights = 0;

	for (size_t i = 0; i < plan.ngrants; i++) {
		const struct pol_grant *g = &plan.grants[i];
		size_t n = strcmp(g->path, "/") != 0 ? strlen(g->path) : 0;

		if (!g->lax && n <= len && !strncmp(g->path, path, n) &&
		    (n == len || path[n] == '/'))
			rights |= g->rights;
	}
	return rights;
}

static bool decided(enum sbx_op op, const char *path, size_t len)
{
	return sbx_decide(&img, op, path, len);
}

static bool fatal_gap(enum sbx_op op)
{
	for (size_t i = 0; i < plan.ngaps; i++)
		if (plan.gaps[i].op == op && plan.gaps[i].fatal)
			return true;
	return false;
}

static void judge_entry(const char *entry, unsigned seed)
{
	size_t len = plain_len(entry);
	unsigned rights = inherited(entry, len);
	char fresh[64];
	int fresh_len;

	if (type_at(entry) == 'f') {
		cr_expect(!(rights & R) || decided(SBX_READ, entry, len), "%u read %s", seed,
			  entry);
		cr_expect(!(rights & W) || decided(SBX_MODIFY, entry, len), "%u write %s", seed,
			  entry);
		cr_expect(!(rights & X) || decided(SBX_EXEC, entry, len), "%u exec %s", seed,
			  entry);
		cr_expect(rights & R || !decided(SBX_READ, entry, len) || fatal_gap(SBX_READ),
			  "%u no read of %s and no gap", seed, entry);
		cr_expect(rights & W || !decided(SBX_MODIFY, entry, len) || fatal_gap(SBX_MODIFY),
			  "%u no write of %s and no gap", seed, entry);
		return;
	}
	cr_expect(!(rights & R) || decided(SBX_READ, entry, len), "%u list %s", seed, entry);
	fresh_len = snprintf(fresh, sizeof fresh, "%.*s/zz", (int)len, entry);
	cr_expect(!(rights & R) || decided(SBX_READ, fresh, (size_t)fresh_len), "%u %s", seed,
		  fresh);
	cr_expect(!(rights & W) == !decided(SBX_MODIFY, fresh, (size_t)fresh_len) ||
			  (!(rights & W) && fatal_gap(SBX_MODIFY)),
		  "%u creating %s", seed, fresh);
}

Test(policy_floor, grants_never_exceed_the_rules_and_what_they_lack_is_a_gap)
{
	for (unsigned seed = 1; seed <= 2000; seed++) {
		char rule_text[12][80], file_text[64][24];
		const char *lines[12], *files[64];

		rnd_state = seed * 2654435761u;
		random_rules(rule_text, lines);
		random_tree(file_text, files);
		make(lines, files);
		for (size_t i = 0; files[i]; i++)
			judge_entry(files[i], seed);
		tear_down();
	}
}

/* -- golden: SBX_GOLDEN=update writes the files anew -- */

static void golden(const char *name, const struct b_str *text)
{
	const char *mode = getenv("SBX_GOLDEN");
	struct b_str want = {0};
	struct b_err err = {0};
	char path[128];

	snprintf(path, sizeof path, "tests/golden/floor/%s.txt", name);
	if (mode && !strcmp(mode, "update"))
		cr_assert_eq(b_write_file(path, 0644, text->s, text->len, false, &err), 0, "%s",
			     err.msg);
	cr_assert_eq(b_read_file(path, 1 << 20, &want, &err), 0, "%s", err.msg);
	cr_expect_str_eq(b_str_c(text), b_str_c(&want), "%s", path);
	b_str_release(&want);
}

static const char *const home_rules[] = {
	"a+ T /",
	"a- T /dev",
	"a+ E /dev/null",
	"a+ T /dev/pts",
	"a- T /sys/kernel/debug",
	"a- T /home/u/.ssh",
	"a- E /etc/shadow",
	"m+ T /home/u/w",
	"m+ T /tmp/scratch",
	"m+ E /dev/null",
	"m+ T /dev/pts",
	NULL,
};
static const char *const home_files[] = {
	"/bin@",
	"/usr/",
	"/etc/",
	"/etc/shadow",
	"/etc/passwd",
	"/etc/ssl/",
	"/dev/",
	"/dev/null",
	"/dev/sda",
	"/dev/pts/",
	"/sys/",
	"/sys/kernel/",
	"/sys/kernel/debug/",
	"/sys/kernel/mm/",
	"/sys/class/",
	"/home/",
	"/home/u/",
	"/home/u/.ssh/",
	"/home/u/w/",
	"/home/u/.gitconfig",
	"/home/v/",
	"/tmp/",
	"/tmp/scratch/",
	"/tmp/other",
	"/proc/",
	NULL,
};

Test(policy_floor, the_plan_of_a_usual_home_is_as_recorded)
{
	struct b_str out = {0};

	make(home_rules, home_files);
	pol_floor_show(&plan, &out);
	golden("home", &out);
	for (int abi = 1; abi <= 7; abi += abi == 1 ? 2 : 4) {
		struct pol_ll_plan ll;
		char name[32];

		b_str_reset(&out);
		pol_ll_plan(&plan, abi, &ll);
		pol_ll_show(&ll, &out);
		snprintf(name, sizeof name, "home-abi%d", abi);
		golden(name, &out);
		pol_ll_plan_release(&ll);
	}
	b_str_release(&out);
}

Test(policy_floor, the_plan_that_needs_a_broker_is_as_recorded)
{
	struct b_str out = {0};

	make(LIST("a+ T /", "a- G /home/u/w **/*.env", "m+ T /home/u/w",
		  "m- T /home/u/w/.git/hooks"),
	     home_files);
	pol_floor_show(&plan, &out);
	golden("broker-strict", &out);
	b_str_reset(&out);
	pol_floor_accept_gaps(&plan);
	pol_floor_show(&plan, &out);
	golden("broker-best-effort", &out);
	b_str_release(&out);
}
