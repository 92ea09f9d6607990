/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mkchannel.c - a run's channel without a launcher: compiles a few rules, runs a command with
 * the shim preloaded and prints the events it sent, one a line, tab-separated:
 *
 *	kind call op verdict errno aux pid path [path2]
 *
 *	mkchannel --rule 'read:/' --rule 'read:!/etc/shadow' --log events -- cat /etc/hosts
 *
 * A rule is OP:[!]PATH; a PATH with * is a glob below its literal directory, one that ends in
 * a slash is a tree, any other is exact. The last rule that matches wins. --shim '' preloads
 * nothing. --ring BYTES is the size of the ring. Its status is the command's.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "core/asked.h"
#include "core/event.h"
#include "core/channel.h"
#include "core/ring.h"
#include "policy/compile/ruleset.h"

enum { RING_DATA = 512 << 10, ALIASES_MAX = 16 };

struct options {
	struct pol_ruleset rules;
	struct pol_alias aliases[ALIASES_MAX];
	struct pol_compile_opts compile;
	const char *shim, *log;
	enum sbx_audit_level level;
	size_t ring_data;
	char **command;
};

static void die(const char *what)
{
	fprintf(stderr, "mkchannel: %s: %s\n", what, strerror(errno));
	exit(125);
}

static const char *const level_names[SBX_AUDIT_LEVEL_COUNT] = {[SBX_AUDIT_FOLDED] = "folded",
							       [SBX_AUDIT_ALL] = "all",
							       [SBX_AUDIT_MODIFY] = "modify",
							       [SBX_AUDIT_DENIED] = "denied",
							       [SBX_AUDIT_NONE] = "none"};

static enum sbx_audit_level level_of(const char *name)
{
	unsigned i;

	for (i = 0; i < SBX_AUDIT_LEVEL_COUNT; i++)
		if (!strcmp(level_names[i], name))
			return (enum sbx_audit_level)i;
	errno = EINVAL;
	die(name);
	return SBX_AUDIT_ALL;
}

static void add_rule(struct pol_ruleset *rs, char *text)
{
	char *colon = strchr(text, ':'), *path, *star;
	struct pol_rule r = {.origin = strdup(text), .tier = POL_TIER_PROFILE};
	enum sbx_op op;

	if (!colon) {
		errno = EINVAL;
		die(text);
	}
	path = colon + 1;
	*colon = '\0';
	r.allow = *path != '!';
	path += !r.allow;
	r.matched = strdup(path);
	star = strchr(path, '*');
	if (star) {
		while (star > path && star[-1] != '/')
			star--;
		r.shape = POL_GLOB;
		r.glob = strdup(star);
		star[star > path ? -1 : 0] = '\0';
	} else if (path[strlen(path) - 1] == '/') {
		r.shape = POL_TREE;
		path[strlen(path) - 1] = '\0';
	}
	r.base = path;
	r.base_len = strlen(path);
	for (op = 0; op < SBX_OP_COUNT; op++)
		if (!strcmp(text, "all") || !strcmp(text, sbx_op_name(op)))
			pol_ruleset_add(rs, op, &r);
}

static void add_alias(struct options *o, char *text)
{
	char *eq = strchr(text, '=');

	if (!eq || o->compile.naliases == ALIASES_MAX) {
		errno = EINVAL;
		die(text);
	}
	*eq = '\0';
	o->aliases[o->compile.naliases++] = (struct pol_alias){text, eq + 1};
}

static void parse(struct options *o, char **argv)
{
	pol_ruleset_init(&o->rules);
	o->rules.profile = "test";
	o->compile.aliases = o->aliases;
	for (argv++; *argv && !strncmp(*argv, "--", 2); argv++) {
		const char *name = *argv + 2;

		if (!*name) {
			argv++;
			break;
		}
		if (!strcmp(name, "deny-on-error")) {
			o->compile.deny_on_error = true;
			continue;
		}
		if (!argv[1])
			break;
		argv++;
		if (!strcmp(name, "rule"))
			add_rule(&o->rules, *argv);
		else if (!strcmp(name, "alias"))
			add_alias(o, *argv);
		else if (!strcmp(name, "level"))
			o->level = level_of(*argv);
		else if (!strcmp(name, "shim"))
			o->shim = *argv;
		else if (!strcmp(name, "log"))
			o->log = *argv;
		else if (!strcmp(name, "ring"))
			o->ring_data = strtoul(*argv, NULL, 10);
		else {
			errno = EINVAL;
			die(name);
		}
	}
	o->command = argv;
	if (!*argv) {
		errno = EINVAL;
		die("no command");
	}
}

/* ---- the channel ---- */

static void write_image(const struct options *o, const char *dir)
{
	char path[4200];
	struct b_err err = {0};
	void *data;
	size_t size;
	FILE *f;

	if (pol_compile(&o->rules, &o->compile, &data, &size, &err) < 0) {
		fprintf(stderr, "mkchannel: %s\n", err.msg);
		exit(125);
	}
	snprintf(path, sizeof path, "%s/" SBX_CHANNEL_IMAGE, dir);
	f = fopen(path, "we");
	if (!f || fwrite(data, size, 1, f) != 1 || fclose(f))
		die(path);
	free(data);
}

static struct sbx_ring *make_ring(const struct options *o, const char *dir)
{
	size_t bytes = sbx_ring_bytes(o->ring_data);
	char path[4200];
	struct sbx_ring *ring;
	int fd;

	snprintf(path, sizeof path, "%s/" SBX_CHANNEL_RING, dir);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, (off_t)bytes) < 0)
		die(path);
	ring = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (ring == MAP_FAILED)
		die(path);
	close(fd);
	sbx_ring_init(ring, o->ring_data, o->level);
	return ring;
}

static void remove_channel(const char *dir)
{
	static const char *const names[] = {SBX_CHANNEL_IMAGE, SBX_CHANNEL_RING};
	char path[4200];
	unsigned i;

	for (i = 0; i < 2; i++) {
		snprintf(path, sizeof path, "%s/%s", dir, names[i]);
		unlink(path);
	}
	rmdir(dir);
}

/* ---- events ---- */

static const char *const kind_names[SBX_EV_KIND_COUNT] = {
	[SBX_EV_CALL] = "CALL", [SBX_EV_EXEC] = "EXEC",	    [SBX_EV_HELLO] = "HELLO",
	[SBX_EV_EXIT] = "EXIT", [SBX_EV_REPEAT] = "REPEAT", [SBX_EV_LOSS] = "LOSS",
};

static void print_event(FILE *f, const struct sbx_event *ev, const char *path, const char *path2)
{
	/* else it is words, or what was asked for */
	size_t len2 = ev->flags & SBX_EVF_ARGV ? 0 : sbx_asked_of(ev).path2;
	const char *aux = "-";

	if (ev->kind == SBX_EV_EXIT) /* each program has one; what is looked for are calls */
		return;
	if (ev->kind == SBX_EV_EXEC)
		aux = sbx_exec_class_name((enum sbx_exec_class)ev->aux);
	else if (ev->kind == SBX_EV_LOSS)
		aux = sbx_loss_name(ev->aux);
	else if (ev->flags & SBX_EVF_MOVE)
		aux = sbx_op_name((enum sbx_op)ev->aux);
	fprintf(f, "%s\t%s\t%s\t%s\t%s\t%s\t%u\t%s%s%.*s\n",
		ev->flags & SBX_EVF_QUERY      ? "QUERY"
		: ev->kind < SBX_EV_KIND_COUNT ? kind_names[ev->kind]
					       : "?",
		sbx_call_name(ev->call), sbx_op_name((enum sbx_op)ev->op),
		ev->flags & SBX_EVF_ALLOWED ? "allow" : "DENY",
		ev->err ? strerrorname_np(ev->err) : "0", aux, ev->pid, path, len2 ? "\t" : "",
		(int)len2, path2);
}

static bool is_dead(uint32_t pid)
{
	return kill((pid_t)pid, 0) < 0 && errno == ESRCH;
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void drain(struct sbx_ring_reader *rd, FILE *f, bool final)
{
	static _Alignas(8) unsigned char buf[SBX_RING_FRAME_MAX];
	struct sbx_event ev;
	const char *path, *path2;
	int rc;

	while ((rc = sbx_ring_read(rd, buf, now_ms(), final, &ev, &path, &path2)))
		if (rc > 0 && f)
			print_event(f, &ev, path, path2);
}

static pid_t start(const struct options *o, const char *dir)
{
	const char *old = getenv("LD_PRELOAD");
	char preload[8192];
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid)
		return pid;
	setenv(SBX_ENV_CHANNEL, dir, 1);
	snprintf(preload, sizeof preload, "%s%s%s", old ? old : "", old ? ":" : "", o->shim);
	if (*o->shim)
		setenv("LD_PRELOAD", preload, 1);
	execvp(o->command[0], o->command);
	die(o->command[0]);
	return -1;
}

int main(int argc, char **argv)
{
	struct options o = {
		.level = SBX_AUDIT_ALL, .shim = "build/" SBX_SHIM_SONAME, .ring_data = RING_DATA};
	char dir[] = "/dev/shm/mkchannel.XXXXXX";
	struct sbx_ring_reader rd;
	struct sbx_ring *ring;
	FILE *log = stderr;
	int status = 0;
	pid_t pid;

	(void)argc;
	parse(&o, argv);
	if (o.log && !(log = fopen(o.log, "we")))
		die(o.log);
	if (!mkdtemp(dir))
		die(dir);
	write_image(&o, dir);
	ring = make_ring(&o, dir);
	sbx_ring_reader_init(&rd, ring, o.ring_data);
	rd.is_dead = is_dead;
	signal(SIGINT, SIG_IGN);
	pid = start(&o, dir);
	while (waitpid(pid, &status, WNOHANG) == 0) {
		drain(&rd, log, false);
		usleep(500);
	}
	drain(&rd, log, true);
	if (rd.corrupt || sbx_ring_take_lost(&rd) || ring->internal)
		fprintf(log, "TROUBLE\tcorrupt=%llu lost=%llu internal=%llu\n",
			(unsigned long long)rd.corrupt, (unsigned long long)rd.lost_seen,
			(unsigned long long)ring->internal);
	fclose(log);
	remove_channel(dir);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
