/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of policy/layers.c, layer_rules.c, trust.c, in_use.c: documents beside the
 * main one.
 */
#include "policy/document/layers.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "base/str.h"
#include "policy/engine.h"
#include "policy/document/documents.h"
#include "policy/rules/workspace.h"

static struct b_arena arena;
static struct b_err err;
static const char *top, *ws, *config;
static struct pol_request rq;
static struct pol_engine *engine;
static const char *file[1];

static const char *in(const char *dir, const char *name)
{
	return b_arena_printf(&arena, "%s/%s", dir, name);
}

static void put(const char *path, const char *spec)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	cr_assert(fd >= 0, "%s", path);
	dprintf(fd, "schemaVersion: 2\nkind: Policy\nmetadata: {name: t}\nspec: %s\n", spec);
	close(fd);
}

static void setup(void)
{
	static char name[] = "/tmp/sbx-test-layers-XXXXXX";

	cr_assert(mkdtemp(name));
	top = pol_canonical(&arena, name);
	ws = in(top, "ws");
	config = in(top, "config/sbx-launch");
	cr_assert_eq(mkdir(ws, 0700) | mkdir(in(top, "home"), 0700) | mkdir(in(top, "etc"), 0755),
		     0);
	setenv("HOME", in(top, "home"), 1);
	setenv("XDG_CONFIG_HOME", in(top, "config"), 1);
	rq = (struct pol_request){
		.workspaces = &ws, .nworkspaces = 1, .managed = in(top, "etc/policy.yaml")};
	file[0] = in(top, "p.yaml");
}

static void teardown(void)
{
	b_auto(b_str_release) struct b_str cmd = {0};

	pol_engine_free(engine);
	b_str_addf(&cmd, "rm -rf '%s'", top);
	cr_assert_eq(system(b_str_c(&cmd)), 0);
	b_arena_release(&arena);
}

TestSuite(policy_layers, .init = setup, .fini = teardown);

static void user(const char *spec)
{
	put(file[0], spec);
	rq.policies = file;
	rq.npolicies = 1;
}

static void project(const char *spec)
{
	put(in(ws, POL_PROJECT_FILE), spec);
}

static void make(void)
{
	pol_engine_free(engine);
	engine = NULL;
	cr_assert_eq(pol_engine_new(&rq, &engine, &err), 0, "%s", err.msg);
}

static void fails(const char *text)
{
	struct pol_engine *none = NULL;

	err.msg[0] = '\0';
	cr_expect_eq(pol_engine_new(&rq, &none, &err), -1);
	cr_expect(strstr(err.msg, text), "%s", err.msg);
}

static struct pol_answer ask(enum sbx_op op, const char *path)
{
	struct pol_answer a;

	cr_assert_eq(pol_engine_check(engine, op, path, &a, &err), 0, "%s", err.msg);
	return a;
}

static bool noticed(const char *text)
{
	for (size_t i = 0; i < engine->nnotices; i++)
		if (strstr(engine->notices[i], text))
			return true;
	return false;
}

#define ALL "{fsProfiles: {p: {read: [\"**\"], modify: [\"**\"]}}}"

Test(policy_layers, a_project_file_tightens_and_is_named)
{
	struct pol_answer a;

	user(ALL);
	project("{denyRead: [\"**/*.env\"], denyModify: [keep/**]}");
	make();
	a = ask(SBX_READ, "a/x.env");
	cr_expect_not(a.allowed);
	cr_expect_str_eq(a.matched, "**/*.env");
	cr_expect_str_eq(a.origin,
			 b_arena_printf(&arena, "project:%s:4:19", in(ws, POL_PROJECT_FILE)));
	cr_expect_not(ask(SBX_EXEC, "a/x.env").allowed);
	cr_expect(ask(SBX_MODIFY, "a/x.env").allowed);
	cr_expect_not(ask(SBX_MODIFY, "keep/x").allowed);
	a = ask(SBX_READ, "a/y");
	cr_expect(a.allowed);
	cr_expect(strstr(a.origin, "p.yaml:4:"), "%s: the user's rule says why", a.origin);
	cr_expect(ask(SBX_READ, "/etc/passwd").allowed);
}

Test(policy_layers, a_project_file_opens_nothing)
{
	user("{denyRead: [secret], fsProfiles: {p: {read: [\"**\"], modify: [src/**]}}}");
	project("{fsProfiles: {p: {read: [secret, src/**, lib/**], modify: [src/**, lib/**]}},"
		" sandbox: {network: host, sideRoots: [/srv], strict: false}}");
	make();
	cr_expect_not(ask(SBX_READ, "secret").allowed);
	cr_expect(strstr(ask(SBX_READ, "secret").origin, "p.yaml:"));
	cr_expect(ask(SBX_READ, "src/x").allowed);
	cr_expect_not(ask(SBX_READ, "other").allowed, "its profile reads less");
	cr_expect_str_eq(ask(SBX_READ, "other").matched, "<no matching rule>");
	cr_expect_not(ask(SBX_MODIFY, "lib/x").allowed);
	cr_expect_not(ask(SBX_MODIFY, "/srv/x").allowed);
	cr_expect_eq(engine->effect.network, POL_NET_NONE);
	cr_expect_not(engine->effect.lax);
	cr_expect(noticed("asks for the network, side roots"), "all of it");
}

Test(policy_layers, its_settings_tighten)
{
	user("{fsProfiles: {p: {read: [\"**\"], modify: [\"**\"]}}, sandbox: {network: host, "
	     "reads: broad, strict: false, unixSockets: [/run/a, /run/b]}}");
	project("{sandbox: {network: none, reads: system, strict: true, unixSockets: [/run/b], "
		"denyRead: [/usr/share/doc]}}");
	make();
	cr_expect_eq(engine->effect.network, POL_NET_NONE);
	cr_expect_eq(engine->effect.reads, POL_READS_SYSTEM);
	cr_expect_not(engine->effect.lax);
	cr_expect(noticed("--best-effort has no effect: "));
	cr_expect_not(ask(SBX_READ, "/usr/share/doc/x").allowed);
	cr_expect(ask(SBX_READ, "/usr/share/x").allowed);
	cr_expect_not(ask(SBX_CONNECT, "/run/a").allowed);
	cr_expect_str_eq(ask(SBX_CONNECT, "/run/a").matched, "unixSockets");
	cr_expect(ask(SBX_CONNECT, "/run/b").allowed);
}

Test(policy_layers, of_all_sockets_a_layer_leaves_its_own)
{
	user("{sandbox: {unixSockets: host}}");
	rq.profile = "unrestricted";
	project("{sandbox: {unixSockets: [/run/b]}}");
	make();
	cr_expect_eq(engine->effect.unix_, POL_UNIX_NONE);
	cr_expect_not(ask(SBX_CONNECT, "/run/a").allowed);
	cr_expect(ask(SBX_CONNECT, "/run/b").allowed);
}

Test(policy_layers, what_a_layer_denies_of_all_sockets_stays_denied)
{
	static const char *const denies[] = {
		"{denyConnect: [/run/a]}", "{sandbox: {connect: [\"!/run/a\"]}}",
		"{fsProfiles: {p: {read: [\"**\"], modify: [\"**\"], connect: [\"!/run/a\"]}}}"};

	for (size_t i = 0; i < sizeof denies / sizeof *denies; i++) {
		user("{sandbox: {unixSockets: host}}");
		rq.profile = "unrestricted";
		project(denies[i]);
		make();
		cr_expect_eq(engine->effect.unix_, POL_UNIX_NONE);
		cr_expect(engine->effect.abstract_sockets);
		cr_expect_not(ask(SBX_CONNECT, "/run/a").allowed, "%s", denies[i]);
		cr_expect(ask(SBX_CONNECT, "/run/b").allowed, "%s", denies[i]);
	}
}

Test(policy_layers, without_any_socket_no_layer_speaks_of_them)
{
	user(ALL);
	project("{sandbox: {unixSockets: [/run/b]}}");
	make();
	cr_expect_eq(engine->rules.op[SBX_CONNECT].n, 0);
}

Test(policy_layers, each_workspace_has_its_own)
{
	const char *both[] = {ws, in(top, "other")};

	cr_assert_eq(mkdir(both[1], 0700), 0);
	user(ALL);
	project("{denyRead: [x]}");
	put(in(both[1], POL_PROJECT_FILE), "{denyRead: [y]}");
	rq.workspaces = both;
	rq.nworkspaces = 2;
	make();
	cr_expect_not(ask(SBX_READ, in(ws, "x")).allowed);
	cr_expect(ask(SBX_READ, in(ws, "y")).allowed);
	cr_expect(ask(SBX_READ, in(both[1], "x")).allowed);
	cr_expect_not(ask(SBX_READ, in(both[1], "y")).allowed);
}

Test(policy_layers, a_bad_project_file_ends_the_run)
{
	project("{denyRead: [\"../x\"]}");
	fails("project file: ");
	cr_assert_eq(unlink(in(ws, POL_PROJECT_FILE)), 0);
	cr_assert_eq(symlink("/etc/passwd", in(ws, POL_PROJECT_FILE)), 0);
	fails("a symlink, expected a file");
	cr_assert_eq(unlink(in(ws, POL_PROJECT_FILE)), 0);
	cr_assert_eq(mkfifo(in(ws, POL_PROJECT_FILE), 0600), 0);
	fails("not a regular file");
	cr_assert_eq(unlink(in(ws, POL_PROJECT_FILE)), 0);
	project("{fsProfiles: {a: {}, b: {}}}");
	user(ALL);
	fails("no fsProfile `p`: expected one of this name");
}

static void trust(void)
{
	b_auto(b_str_release) struct b_str text = {0};
	char hash[B_SHA256_HEX];
	bool is_there;

	cr_assert_eq(pol_project_read(in(ws, POL_PROJECT_FILE), &text, &is_there, &err), 0);
	b_sha256_hex(text.s, text.len, hash);
	cr_assert_eq(pol_trust_set(config, in(ws, POL_PROJECT_FILE), hash, &err), 0, "%s", err.msg);
}

Test(policy_layers, a_trusted_project_is_merged_until_it_changes)
{
	user("{denyRead: [secret], fsProfiles: {p: {read: [src/**]}}}");
	project("{fsProfiles: {p: {read: [\"**\"]}}, sandbox: {network: host}}");
	trust();
	make();
	cr_expect(ask(SBX_READ, "lib/x").allowed);
	cr_expect_not(ask(SBX_READ, "secret").allowed, "a deny stays");
	cr_expect_eq(engine->effect.network, POL_NET_HOST);
	cr_expect(strstr(engine->policy_name, "/" POL_PROJECT_FILE));
	project("{fsProfiles: {p: {read: [\"**\"]}}, sandbox: {network: loopback}}");
	make();
	cr_expect_not(ask(SBX_READ, "lib/x").allowed);
	cr_expect_eq(engine->effect.network, POL_NET_NONE);
	cr_expect(noticed("has changed since it was trusted"));
	trust();
	make();
	cr_expect(ask(SBX_READ, "lib/x").allowed);
	cr_assert_eq(pol_trust_set(config, in(ws, POL_PROJECT_FILE), NULL, &err), 0);
	make();
	cr_expect_not(ask(SBX_READ, "lib/x").allowed);
}

Test(policy_layers, trusted_and_alone_it_is_the_policy)
{
	project("{fsProfiles: {q: {read: [src/**]}}}");
	trust();
	make();
	cr_expect_str_eq(engine->rules.profile, "q");
	cr_expect(ask(SBX_READ, "src/x").allowed);
	cr_expect_not(ask(SBX_READ, "x").allowed);
}

Test(policy_layers, a_list_that_others_can_write_trusts_nothing)
{
	user("{fsProfiles: {p: {read: [src/**]}}}");
	project(ALL);
	trust();
	cr_assert_eq(chmod(in(config, "trusted"), 0620), 0);
	make();
	cr_expect_not(ask(SBX_READ, "lib/x").allowed);
}

Test(policy_layers, documents_in_use_are_not_changed)
{
	rq.with_protected = true;
	user("{fsProfiles: {p: {read: [\"**\"], modify: [\"**\"]}}, sandbox: {sideRoots: [/]}}");
	cr_assert_eq(symlink("../p.yaml", in(ws, "link.yaml")), 0);
	file[0] = in(ws, "link.yaml");
	make();
	cr_expect_not(ask(SBX_MODIFY, in(top, "p.yaml")).allowed);
	cr_expect_str_eq(ask(SBX_MODIFY, in(top, "p.yaml")).origin, "builtin:documents:1");
	cr_expect_not(sbx_decide(&engine->image, SBX_MODIFY, in(ws, "link.yaml"),
				 strlen(in(ws, "link.yaml"))),
		      "the link itself");
	cr_expect_not(ask(SBX_MODIFY, POL_PROJECT_FILE).allowed, "also before there is one");
	cr_expect_not(ask(SBX_MODIFY, in(config, "trusted")).allowed);
	cr_expect_not(ask(SBX_MODIFY, in(config, "policies/x.yaml")).allowed);
	cr_expect(ask(SBX_READ, in(top, "p.yaml")).allowed);
	cr_expect(ask(SBX_MODIFY, in(top, "q.yaml")).allowed);
}

Test(policy_layers, links_on_the_way_to_a_document_are_not_changed)
{
	rq.with_protected = true;
	user("{fsProfiles: {p: {read: [\"**\"], modify: [\"**\"]}}, sandbox: {sideRoots: [/]}}");
	cr_assert_eq(symlink("..", in(ws, "up")), 0);
	file[0] = in(ws, "up/p.yaml");
	make();
	cr_expect_not(sbx_decide(&engine->image, SBX_MODIFY, in(ws, "up"), strlen(in(ws, "up"))));
	cr_expect_not(ask(SBX_MODIFY, in(top, "p.yaml")).allowed);
	cr_expect_not(ask(SBX_MODIFY, "/etc/sbx-launch/policies/x.yaml").allowed);
	cr_expect(ask(SBX_MODIFY, "up2").allowed);
}

Test(policy_layers, another_file_in_use_is_not_changed)
{
	rq.with_protected = true;
	rq.also_used = in(ws, "x.image");
	user("{fsProfiles: {p: {read: [\"**\"], modify: [\"**\"]}}}");
	make();
	cr_expect_not(ask(SBX_MODIFY, "x.image").allowed);
	cr_expect(ask(SBX_MODIFY, "y.image").allowed);
}

Test(policy_layers, a_preset_counts_once_however_often_it_is_named)
{
	b_auto(b_str_release) struct b_str spec = {0};
	size_t once;

	user("{fsProfiles: {p: {read: [\"**\"]}}, sandbox: {presets: [npm]}}");
	make();
	once = engine->rules.op[SBX_READ].n;
	b_str_add(&spec, "{fsProfiles: {p: {read: [\"**\"]}}, sandbox: {presets: [npm");
	for (int i = 0; i < 15000; i++)
		b_str_add(&spec, ", npm");
	b_str_add(&spec, "]}}");
	user(b_str_c(&spec));
	make();
	cr_expect_eq(engine->rules.op[SBX_READ].n, once);
}

/* ---- managed: needs a file of root's ---- */

Test(policy_layers, a_managed_file_must_be_roots)
{
	put(rq.managed, "{denyRead: [x]}");
	if (geteuid() != 0) {
		fails("expected root");
		return;
	}
	make();
	cr_assert_eq(chmod(rq.managed, 0664), 0);
	fails("managed policy: ");
	fails("writable by its group");
	cr_assert_eq(chmod(rq.managed, 0644) | chmod(in(top, "etc"), 0777), 0);
	fails("writable by others");
	cr_assert_eq(chmod(in(top, "etc"), 0755) | chown(rq.managed, 1, 1), 0);
	fails("owned by uid 1, expected root");
}

Test(policy_layers, the_first_layer_that_denies_is_named)
{
	if (geteuid() != 0)
		cr_skip_test("only root makes files of root's");
	put(rq.managed, "{denyRead: [x], sandbox: {denyModify: [/srv/keep]}}");
	user("{denyRead: [x, y], fsProfiles: {p: {read: [\"**\"], modify: [\"**\"]}}, "
	     "sandbox: {sideRoots: [/srv]}}");
	project("{denyRead: [x, y, z]}");
	make();
	cr_expect(strncmp(ask(SBX_READ, "x").origin, "managed:", 8) == 0);
	cr_expect(strncmp(ask(SBX_READ, "y").origin, top, strlen(top)) == 0);
	cr_expect(strncmp(ask(SBX_READ, "z").origin, "project:", 8) == 0);
	cr_expect_not(ask(SBX_MODIFY, "/srv/keep/x").allowed);
	cr_expect(ask(SBX_MODIFY, "/srv/x").allowed);
}

Test(policy_layers, a_managed_policy_forbids_laxness_and_opens_nothing)
{
	static struct pol_said said;

	if (geteuid() != 0)
		cr_skip_test("only root makes files of root's");
	said = pol_said_nothing();
	said.v[POL_SET_strict] = false;
	said.v[POL_SET_network] = POL_NET_HOST;
	rq.said = &said;
	put(rq.managed, "{sandbox: {strict: true, network: loopback, sideRoots: [/srv]}}");
	user(ALL);
	make();
	cr_expect_not(engine->effect.lax);
	cr_expect_eq(engine->effect.network, POL_NET_LOOPBACK);
	cr_expect_not(ask(SBX_MODIFY, "/srv/x").allowed);
	cr_expect(noticed("/etc/policy.yaml:4:"));
}
