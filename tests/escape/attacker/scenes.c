/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scenes.c - races of a known shape. What random programs find in hours these find in seconds: each
 * is the shape of a hole that was there once, or of the proof that keeps one closed; names, flags
 * and moments stay random.
 */
#include "attack.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

static const char *const free_files[] = {
	"ws/src/a",   "ws/src/b",    "ws/pub/x",  "ws/src/prog", "ws/src/prog", "@ring",
	"@image",     "@shim",	     "/dev/null", "/etc/passwd", "/bin/true",	"ws/src/sub/c",
	"ws/src/new", "ws/src/fifo", "ws/pub",	  "ws/src/sub",	 "ws/src"};
static const char *const denied_files[] = {"ws/app.env",
					   "ws/src/x.env",
					   "ws/src/sub/y.env",
					   "ws/src/run.env",
					   "ws/hidden/secret",
					   "ws/hidden/in/s2",
					   "home/.ssh/id",
					   "home/.netrc",
					   "ws/ro/f",
					   "ws/.git/config",
					   "out/f",
					   "ws/.git/hooks/pre-commit",
					   "out/d/g",
					   "ws/ro/d/g",
					   "ws/hidden",
					   "ws/ro",
					   "ws/.git/hooks",
					   "home/.ssh",
					   "@broker/mem",
					   "@broker/environ",
					   "@broker/maps",
					   "@victim"};
#define LEN(a) (sizeof(a) / sizeof *(a))

static uint32_t any(struct ak_rng *r)
{
	return ak_rnd(r, 0xffffffffu);
}

/* The number of an argument that is this path, relative or absolute. */
static uint32_t path(struct ak_rng *r, const char *name)
{
	uint32_t v = (any(r) & 0xffc00000u) | 8u << 16;

	if (ak_rnd(r, 2))
		v |= 11u << 8;
	for (uint32_t i = 0; i < ak_nnames; i++)
		if (!strcmp(ak_names[i], name))
			return v | i;
	abort();
}

static uint32_t buffer(struct ak_rng *r, unsigned k)
{
	return (any(r) & ~(7u << 13)) | 1u << 15 | k << 13;
}

static uint32_t a_free(struct ak_rng *r)
{
	return path(r, free_files[ak_rnd(r, LEN(free_files))]);
}

static uint32_t a_denied(struct ak_rng *r)
{
	return path(r, denied_files[ak_rnd(r, LEN(denied_files))]);
}

static struct ak_op *add(struct ak_prog *p, struct ak_rng *r, unsigned thread, const char *name)
{
	struct ak_op *op = &p->op[p->n < AK_OPS ? p->n++ : AK_OPS - 1];

	op->thread = (uint8_t)thread;
	op->call = ak_call_number(name);
	for (unsigned i = 0; i < AK_ARGS; i++)
		op->v[i] = any(r);
	return op;
}

/* Puts a path into each argument that is one. */
static void with_paths(struct ak_rng *r, struct ak_op *op, uint32_t first, uint32_t second)
{
	const char *args = ak_calls[op->call].args;
	bool is_first = true;

	for (unsigned i = 0; args[i]; i++)
		if (args[i] == 'p') {
			op->v[i] = is_first ? first : second;
			is_first = false;
		} else if (args[i] == 'd' && ak_rnd(r, 4)) {
			op->v[i] = 0; /* the working directory */
		}
}

/* ---- the scenes ---- */

static void swap_path(struct ak_prog *p, struct ak_rng *r)
{
	static const char *const calls[] = {
		"slurp", "slurp",  "slurp",    "open",	 "openat2",  "getxattr", "truncate",
		"chmod", "rename", "link",     "unlink", "creat",    "symlink",	 "utimes",
		"chown", "list",   "setxattr", "exec",	 "renameat2"};
	unsigned k = ak_rnd(r, AK_BUFFERS);
	struct ak_op *op = add(p, r, 0, calls[ak_rnd(r, LEN(calls))]);

	with_paths(r, op, buffer(r, k), ak_rnd(r, 2) ? buffer(r, k) : path(r, "ws/src/new2"));
	op = add(p, r, 1, "flip_path");
	op->v[0] = k;
	op->v[1] = ak_rnd(r, 4) ? a_free(r) : path(r, "@ring"); /* what the run itself opens */
	op->v[2] = a_denied(r);
}

static void swap_program(struct ak_prog *p, struct ak_rng *r)
{
	static const char *const victims[] = {"ws/src/run.env", "ws/app.env", "ws/hidden/in/s2",
					      "ws/hidden/secret"};
	const char *victim = victims[ak_rnd(r, LEN(victims))];
	unsigned k = ak_rnd(r, AK_BUFFERS);

	if (ak_rnd(r, 4))
		add(p, r, 0, "make_program")->v[0] = path(r, victim);
	add(p, r, 0, ak_rnd(r, 3) ? "exec" : "make_script")->v[0] = buffer(r, k);
	struct ak_op *op = add(p, r, 1, "flip_path");
	op->v[0] = k;
	op->v[1] = path(r, ak_rnd(r, 2) ? "ws/src/prog" : "/bin/true");
	op->v[2] = path(r, victim);
}

/* Things are made in a directory that moves to where their names are protected. */
static void move_directory(struct ak_prog *p, struct ak_rng *r)
{
	static const char *const pairs[][2] = {{"ws/.claude", "ws/src/newdir/settings.json"},
					       {"ws/.cursor", "ws/src/newdir/mcp.json"},
					       {"ws/.idea", "ws/src/newdir/workspace.xml"}};
	static const char *const makers[] = {"creat", "mkdir",	"mknod",
					     "link",  "rename", "symlink"};
	unsigned n = ak_rnd(r, LEN(pairs));
	const char *maker = makers[ak_rnd(r, LEN(makers))];
	struct ak_op *op = add(p, r, 0, maker);
	bool is_new = ak_rnd(r, 2);

	if (!strcmp(maker, "link") || !strcmp(maker, "rename"))
		with_paths(r, op, path(r, "ws/src/b"), path(r, pairs[n][1]));
	else
		with_paths(r, op, path(r, pairs[n][1]), 0);
	op = add(p, r, 0, "unlink");
	op->v[0] = path(r, pairs[n][1]);
	op = add(p, r, 1, is_new ? "flip_name" : "flip_exchange");
	op->v[0] = path(r, "ws/src/newdir");
	op->v[1] = path(r, is_new ? pairs[n][0] : "ws/src/empty");
}

static uint32_t own_address(struct ak_rng *r)
{
	uint32_t v = path(r, ak_rnd(r, 2) ? "ws/src/sock" : "ws/pub/sock") & 0xff;

	return v | 8u << 20;
}

static void swap_address(struct ak_prog *p, struct ak_rng *r)
{
	unsigned k = ak_rnd(r, 2);
	uint32_t own = own_address(r);

	add(p, r, 0, "serve_at")->v[0] = own;
	add(p, r, 0, ak_rnd(r, 3) ? "stream_to" : "serve_at")->v[0] = buffer(r, k);
	struct ak_op *op = add(p, r, 1, "flip_addr");
	op->v[0] = k;
	op->v[1] = own;
	op->v[2] = (5u + ak_rnd(r, 3)) << 20 | ak_rnd(r, 2);
	if (!ak_rnd(r, 4)) /* bound where nothing may be made */
		op->v[2] = path(r, "ws/.git/hooks/post-commit") % 256 | 8u << 20;
}

static void swap_descriptor(struct ak_prog *p, struct ak_rng *r)
{
	static const char *const calls[] = {
		"fchmod",	"fchmod",    "fchmod",	  "fchown",  "fsetxattr", "fgetxattr",
		"fremovexattr", "openat",    "unlinkat",  "mkdirat", "fchownat",  "renameat",
		"linkat",	"symlinkat", "utimensat", "execat",  "reopen"};
	static const unsigned own[] = {3, 2, 0, 12, 1}, others[] = {15, 15, 15, 15, 4, 5, 6};
	unsigned slot = 8 + ak_rnd(r, 7);
	struct ak_op *op = add(p, r, 0, calls[ak_rnd(r, LEN(calls))]);
	const char *args = ak_calls[op->call].args;

	for (unsigned i = 0; args[i]; i++)
		if (args[i] == 'f' || args[i] == 'd')
			op->v[i] = slot | 1u << 8 | 3u << 16;
		else if (args[i] == 'p') /* a bare name, or none */
			op->v[i] = (path(r, ak_rnd(r, 2) ? "ws/src/a" : "out/f") & ~(31u << 8)) |
				   (ak_rnd(r, 2) ? 26u : 27u) << 8;
	op = add(p, r, 1, "flip_fd");
	op->v[0] = slot;
	op->v[1] = own[ak_rnd(r, LEN(own))] | 1u << 8;
	op->v[2] = others[ak_rnd(r, LEN(others))] | 1u << 8;
}

static uint32_t how_that(struct ak_rng *r, bool writes)
{
	for (;;) {
		uint32_t v = any(r) & ~(1u << 15);
		struct open_how how = ak_how(v);
		bool is_writing = (how.flags & O_ACCMODE) != O_RDONLY || how.flags & O_TRUNC;

		if (is_writing == writes && !(how.flags & (O_DIRECTORY | O_PATH)) && v % 61)
			return v;
	}
}

static void swap_how(struct ak_prog *p, struct ak_rng *r)
{
	static const char *const kept[] = {"ws/ro/f", "ws/ro/d/g", "ws/.git/config",
					   "ws/.git/hooks/pre-commit", "ws/.envrc"};
	unsigned k = ak_rnd(r, 2);
	struct ak_op *op = add(p, r, 0, "openat2");

	with_paths(r, op, path(r, kept[ak_rnd(r, LEN(kept))]), 0);
	op->v[2] = buffer(r, k);
	op->v[3] = ak_rnd(r, 5);
	op = add(p, r, 1, "flip_how");
	op->v[0] = k;
	op->v[1] = how_that(r, false);
	op->v[2] = how_that(r, true);
}

/* A name on the way, or at the end, that leads elsewhere each time. */
static void swap_link(struct ak_prog *p, struct ak_rng *r)
{
	static const char *const calls[] = {"slurp",	"open",	 "openat2",  "creat",
					    "truncate", "chmod", "getxattr", "utimes",
					    "chown",	"exec",	 "chdir"};
	static const char *const ways[][3] = {
		{"ws/src/l2", "ws/src/a", "ws/app.env"},
		{"ws/src/l2", "ws/src/b", "ws/hidden/secret"},
		{"ws/src/l2", "ws/src/a", "ws/ro/f"},
		{"ws/l_none", "ws/src/a", "home/.ssh/id"},
		{"ws/src/l2", "ws/src/new", "ws/.git/hooks/post-commit"},
		{"ws/src/l2", "ws/src/new", "ws/ro/new"}};
	unsigned n = ak_rnd(r, LEN(ways));
	struct ak_op *op = add(p, r, 0, calls[ak_rnd(r, LEN(calls))]);

	with_paths(r, op, path(r, ways[n][0]), 0);
	op = add(p, r, 1, ak_rnd(r, 2) ? "flip_link" : "flip_exchange");
	op->v[0] = path(r, ways[n][0]);
	op->v[1] = path(r, ways[n][1]);
	op->v[2] = path(r, ways[n][2]);
}

/* Under a policy on what is there a name must not move, whoever else moves it meanwhile. */
static void swap_names(struct ak_prog *p, struct ak_rng *r)
{
	static const char *const calls[] = {"rename", "renameat2", "link", "linkat"};
	struct ak_op *op = add(p, r, 0, calls[ak_rnd(r, LEN(calls))]);

	with_paths(r, op, ak_rnd(r, 2) ? a_free(r) : a_denied(r),
		   ak_rnd(r, 2) ? a_free(r) : a_denied(r));
	add(p, r, 0, "slurp")->v[0] = a_free(r);
	op = add(p, r, 1, ak_rnd(r, 2) ? "flip_exchange" : "flip_name");
	op->v[0] = a_free(r);
	op->v[1] = ak_rnd(r, 2) ? a_free(r) : path(r, "ws/src/new.env");
}

/* Directories are filled, and moved to where some of the names in them are protected. */
static void fill_and_move(struct ak_prog *p, struct ak_rng *r)
{
	static const char *const in[] = {
		"ws/src/newdir/settings.json", "ws/src/newdir/hooks", "ws/src/newdir/f",
		"ws/src/newdir/mcp.json",      "ws/src/newdir/sub",   "ws/src/newdir/sub/x.env",
		"ws/src/newdir/sub/hooks"};
	static const char *const to[] = {"ws/.claude",	  "ws/.cursor",	  "ws/.idea",
					 "ws/.git/hooks", "ws/src/empty", "ws/.vscode",
					 "ws/hidden/new", "ws/pub/new",	  "ws/src/new.env"};
	static const char *const makers[] = {"mkdir", "mknod", "symlink", "creat", "mkdir", "link"};

	p->flags = 0;
	with_paths(r, add(p, r, 0, "mkdir"), path(r, "ws/src/newdir"), 0);
	with_paths(r, add(p, r, 0, "mkdir"), path(r, "ws/src/newdir/sub"), 0);
	for (unsigned i = 0; i < 3; i++) {
		static const char *const own[] = {"ws/src/newdir/settings.json",
						  "ws/src/newdir/mcp.json",
						  "ws/src/newdir/workspace.xml"};

		if (ak_rnd(r, 2))
			with_paths(r, add(p, r, 0, "creat"), path(r, own[i]), 0);
	}
	for (unsigned i = 0; i < 6; i++) {
		const char *maker = makers[ak_rnd(r, LEN(makers))];
		uint32_t name = path(r, in[ak_rnd(r, LEN(in))]);

		if (!strcmp(maker, "link"))
			with_paths(r, add(p, r, 0, maker), path(r, "ws/src/x.env"), name);
		else
			with_paths(r, add(p, r, 0, maker), name, 0);
	}
	with_paths(r, add(p, r, 0, "chmod"), path(r, in[ak_rnd(r, LEN(in))]), 0);
	for (unsigned i = 0; i < 3; i++) { /* or a link leads there */
		struct ak_op *op = add(p, r, 0, "symlink");

		op->v[0] = path(r, "ws/src/newdir");
		op->v[1] = path(r, to[ak_rnd(r, LEN(to))]);
	}
	for (unsigned i = 0; i < 6; i++) {
		struct ak_op *op = add(p, r, 0, ak_rnd(r, 2) ? "rename" : "renameat2");
		bool back = !ak_rnd(r, 4);
		uint32_t a = path(r, "ws/src/newdir"), b = path(r, to[ak_rnd(r, LEN(to))]);

		with_paths(r, op, back ? b : a, back ? a : b);
	}
}

/* A link is there first, its text leads in a roundabout way, and what it leads to comes later. */
static void lead_round(struct ak_prog *p, struct ak_rng *r)
{
	static const char *const to[] = {"ws/.claude", "ws/.cursor", "ws/.idea", "ws/.vscode",
					 "ws/src/l2"};
	static const char *const own[] = {"ws/src/newdir/settings.json", "ws/src/newdir/mcp.json",
					  "ws/src/newdir/workspace.xml", "ws/src/newdir/hooks"};

	p->flags = 0;
	for (unsigned i = 0; i < 5; i++) {
		struct ak_op *op = add(p, r, 0, ak_rnd(r, 2) ? "symlink" : "symlinkat");
		unsigned at = ak_calls[op->call].name[7] ? 2 : 1;

		op->v[0] = path(r, "ws/src/newdir");
		if (ak_rnd(r, 4)) /* by /proc (spellings.c) */
			op->v[0] = (op->v[0] & 0x00ffe0ffu) | 20u << 8 | ak_rnd(r, 3) << 24;
		if (at == 2)
			op->v[1] = ak_rnd(r, 2) ? 0 : any(r);
		op->v[at] = path(r, to[ak_rnd(r, LEN(to))]);
	}
	with_paths(r, add(p, r, 0, "mkdir"), path(r, "ws/src/newdir"), 0);
	for (unsigned i = 0; i < LEN(own); i++)
		with_paths(r, add(p, r, 0, "creat"), path(r, own[i]), 0);
	for (unsigned i = 0; i < 2; i++)
		with_paths(r, add(p, r, 0, "rename"), path(r, "ws/src/l2"),
			   path(r, to[ak_rnd(r, LEN(to))]));
}

/* Files with attributes and links are saved under names that are denied, and taken back from there.
 */
static void save_and_link(struct ak_prog *p, struct ak_rng *r)
{
	static const char *const from[] = {
		"ws/src/b",	"ws/src/a",	 "ws/pub/x",	   "ws/src/l2",	     "ws/l_env",
		"ws/l_none",	"ws/src/newdir", "ws/sticky/link", "ws/src/sub",     "ws/l_host",
		"ws/src/x.env", "ws/src/fifo",	 "ws/src/sock",	   "ws/src/newdir/f"};
	static const char *const to[] = {
		"ws/src/new.env", "ws/hidden/new", "ws/app.env",
		"ws/src/new",	  "ws/.claude",	   "ws/src/newdir/sub/x.env",
		"ws/src/new2",	  "ws/ro/new",	   "ws/src/newdir/settings.json",
		"ws/pub/new",	  "ws/.mcp.json",  "ws/.git/hooks"};
	static const char *const calls[] = {"rename", "renameat2", "renameat", "link",
					    "linkat", "symlink",   "rename",   "rename"};
	unsigned first = ak_rnd(r, 3);
	struct ak_op *op;

	p->flags = 0;
	with_paths(r, add(p, r, 0, "mkdir"), path(r, "ws/src/newdir"), 0);
	op = add(p, r, 0, "symlink");
	op->v[0] = ak_rnd(r, 2) ? a_denied(r) : a_free(r);
	op->v[1] = path(r, ak_rnd(r, 2) ? "ws/src/newdir/f" : "ws/src/l2");
	op = add(p, r, 0, "setxattr");
	with_paths(r, op, path(r, from[first]), 0);
	op->v[1] = ak_rnd(r, 3); /* of a user */
	op->v[3] = 3;
	op->v[4] = 1;
	if (ak_rnd(r, 2))
		with_paths(r, add(p, r, 0, "rename"), path(r, from[first]), path(r, to[first]));
	for (unsigned i = 0; i < 12; i++) {
		uint32_t a = path(r, from[ak_rnd(r, LEN(from))]),
			 b = path(r, to[ak_rnd(r, LEN(to))]);
		bool is_back = !ak_rnd(r, 5);

		op = add(p, r, 0, calls[ak_rnd(r, LEN(calls))]);
		with_paths(r, op, is_back ? b : a, is_back ? a : b);
		if (!strcmp(ak_calls[op->call].name, "renameat2"))
			op->v[4] = ak_rnd(r, 3);
		if (!strcmp(ak_calls[op->call].name, "linkat"))
			op->v[4] = ak_rnd(r, 2);
	}
	with_paths(r, add(p, r, 0, "slurp"), path(r, to[ak_rnd(r, LEN(to))]), 0);
}

/* What is copied on its way to a denied name changes meanwhile, or has another name. */
static void save_changing(struct ak_prog *p, struct ak_rng *r)
{
	static const char *const changes[] = {"truncate", "truncate", "chmod", "setxattr",
					      "utimes",	  "link",     "rename"};
	const char *to = ak_rnd(r, 2) ? "ws/src/new.env" : "ws/hidden/new";
	struct ak_op *op;

	with_paths(r, add(p, r, 0, "creat"), path(r, "ws/src/new"), 0);
	op = add(p, r, 0, "truncate");
	op->v[0] = path(r, "ws/src/new");
	op->v[1] = ak_rnd(r, 8) ? 1 : 9; /* some pages, or more than is copied */
	with_paths(r, add(p, r, 0, "rename"), path(r, "ws/src/new"), path(r, to));
	with_paths(r, add(p, r, 0, "slurp"), path(r, to), 0);
	with_paths(r, add(p, r, 0, "unlink"), path(r, to), 0);
	for (unsigned i = 0; i < 2; i++) {
		op = add(p, r, 1 + i, changes[ak_rnd(r, LEN(changes))]);
		with_paths(r, op, path(r, "ws/src/new"), path(r, "ws/src/new2"));
		if (!strcmp(ak_calls[op->call].name, "truncate"))
			op->v[1] = ak_rnd(r, 2) * 11;
	}
}

/* Where a file would be made under restrictions: at the end of links that lead nowhere yet. */
static void make_restricted(struct ak_prog *p, struct ak_rng *r)
{
	static const char *const names[] = {"ws/l_none",  "ws/l_new",	"ws/src/l2",
					    "ws/src/new", "ws/l_src/a", "ws/src/none/x",
					    "ws/l_loop",  "new"};
	static const char *const targets[] = {"ws/src/new", "ws/ro/new", "out/new",
					      "ws/src/new.env"};

	p->flags = 0;
	if (ak_rnd(r, 2)) {
		struct ak_op *op = add(p, r, 0, "symlink");
		op->v[0] = path(r, targets[ak_rnd(r, LEN(targets))]);
		op->v[1] = path(r, "ws/src/l2");
	}
	for (unsigned i = 0; i < 4; i++) {
		struct ak_op *op = add(p, r, 0, "openat2");

		with_paths(r, op, path(r, names[ak_rnd(r, LEN(names))]), 0);
		op->v[3] = ak_rnd(r, 5);
		do
			op->v[2] = any(r) & ~(1u << 15);
		while (!(ak_how(op->v[2]).flags & O_CREAT) || !ak_how(op->v[2]).resolve);
	}
}

/* No race: what each rule forbids is tried by each call that could do it. */
void ak_try_plainly(struct ak_prog *p, struct ak_rng *r)
{
	static const char *const calls[] = {
		"rename",	"renameat2", "renameat2",   "link",	 "linkat",    "linkat",
		"symlink",	"creat",     "truncate",    "chmod",	 "fchmodat2", "chown",
		"utimes",	"setxattr",  "getxattr",    "lgetxattr", "mkdir",     "mknod",
		"unlink",	"rmdir",     "slurp",	    "slurp",	 "list",      "exec",
		"tmpfile_link", "unlinked",  "stream_to",   "serve_at",	 "openat2",   "open",
		"make_script",	"reopen",    "make_checked"};
	static const char *const fresh[] = {"ws/src/new",
					    "ws/src/new.env",
					    "ws/ro/new",
					    "ws/pub/new",
					    "ws/hidden/new",
					    "out/new",
					    "ws/.git/hooks/post-commit",
					    "ws/.mcp.json",
					    "ws/.claude",
					    "ws/src/new2"};

	for (unsigned i = 0; i < 26; i++) {
		struct ak_op *op = add(p, r, 0, calls[ak_rnd(r, LEN(calls))]);
		uint32_t of[3] = {a_free(r), a_denied(r), path(r, fresh[ak_rnd(r, LEN(fresh))])};
		unsigned first = ak_rnd(r, 3);

		with_paths(r, op, of[first], of[(first + 1 + ak_rnd(r, 2)) % 3]);
		if (!strcmp(ak_calls[op->call].name, "renameat2")) {
			op->v[4] = ak_rnd(r, 2) ? 3 : 0; /* an exchange */
			/* files are copied to where they may not be read, links are not */
			if (ak_rnd(r, 2))
				with_paths(r, op, path(r, "ws/l_none"), of[1]);
		}
		if (!strcmp(ak_calls[op->call].name, "openat2")) { /* makes something, mostly */
			for (unsigned tries = 0; tries < 30; tries++) {
				op->v[2] = any(r) & ~(1u << 15);
				if (ak_how(op->v[2]).flags & O_CREAT && !ak_how(op->v[2]).resolve)
					break;
			}
			op->v[3] = ak_rnd(r, 5);
		}
		if (!strcmp(ak_calls[op->call].name, "linkat"))
			op->v[4] = ak_rnd(r, 2); /* followed */
		if (ak_calls[op->call].args[0] == 'a')
			op->v[0] = ak_rnd(r, 2) ? (5u + ak_rnd(r, 3)) << 20
						: (of[1 + ak_rnd(r, 2)] & 0xff) | 8u << 20;
	}
}

/* Upper case, and what ends in nothing that counts (spellings.c). */
static uint32_t respelt(struct ak_rng *r, uint32_t v)
{
	return (v & ~(31u << 8)) | (ak_rnd(r, 4) ? 29u : 24u) << 8;
}

void ak_try_spellings(struct ak_prog *p, struct ak_rng *r)
{
	static const char *const calls[] = {"slurp",	"slurp", "open",   "openat",  "openat2",
					    "getxattr", "list",	 "rename", "link",    "exec",
					    "creat",	"chmod", "unlink", "symlink", "truncate"};

	for (unsigned i = 0; i < 20; i++) {
		struct ak_op *op = add(p, r, 0, calls[ak_rnd(r, LEN(calls))]);

		/* the denied one first, last, or both */
		with_paths(r, op, ak_rnd(r, 3) ? respelt(r, a_denied(r)) : a_free(r),
			   ak_rnd(r, 2) ? respelt(r, a_denied(r)) : path(r, "ws/src/new"));
	}
}

void ak_make_scene(struct ak_prog *p, struct ak_rng *r)
{
	static void (*const scenes[])(struct ak_prog *, struct ak_rng *) = {
		swap_path,	 swap_path,	  swap_program,	   move_directory, swap_address,
		swap_descriptor, swap_descriptor, make_restricted, fill_and_move,  save_and_link,
		save_changing,	 swap_how,	  swap_link,	   swap_names,	   lead_round};

	p->flags |= AK_RACE;
	scenes[ak_rnd(r, LEN(scenes))](p, r);
}
