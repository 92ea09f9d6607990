/* SPDX-License-Identifier: Apache-2.0 */
/* session.c - one run of sbx-launch around the inside, and programs sent to it. */
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ANSWER_MS 15000
#define ARGS_MAX  40
#define NOBODY	  65534

struct ak_session {
	const struct ak_options *o;
	struct ak_world world;
	struct ak_outsider outsider;
	struct ak_state *state;
	struct ak_lines *lines;
	char cov_file[400], other_proc[160], fold_ws[160], fold_back[160];
	pid_t fold_pid;
	pid_t pid;
	bool is_up;
	int to, from;
	bool tells_all; /* --audit-level all: each refusal has a line of its own */
	struct ak_act *acts;
	unsigned nacts;
};
#define ACTS 600 /* programs of a session whose record is looked at */

/* ---- what each policy is, to the launcher: ak_rules() says the same ---- */

static void write_file(const char *path, const char *fmt, const char *base)
{
	FILE *f = fopen(path, "we");

	if (!f)
		abort();
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	fprintf(f, fmt, base, base, base, base, base, base, base, base);
#pragma GCC diagnostic pop
	(void)fclose(f);
	chmod(path, 0600);
}

static const char srt[] = "{\"network\": {\"allowedDomains\": [], \"deniedDomains\": []},\n"
			  " \"filesystem\": {\"denyRead\": [\"%s/ws/hidden\", \"**/*.env\"], "
			  "\"allowWrite\": [\"%s/ws\"],\n"
			  "  \"denyWrite\": [\"%s/ws/ro\"]}}\n";
static const char openshell[] = "version: 1\n"
				"filesystem_policy:\n"
				"  include_workdir: false\n"
				"  read_only: [/usr, /bin, /lib, /lib64, /etc, /proc, %s/bin]\n"
				"  read_write: [%s/ws/src, %s/ws/pub]\n"
				"landlock: {compatibility: hard_requirement}\n"
				"process: {run_as_user: \"65534\", run_as_group: \"65534\"}\n";

/* The ports of servers.c, in the order there; the last is open to a program that nobody has. */
static void write_endpoints(const struct ak_session *s, const char *path)
{
	const char *base = s->world.base;
	const int *port = s->outsider.ports;
	FILE *f = fopen(path, "we");

	if (!f)
		abort();
	fprintf(f,
		"schemaVersion: 2\nkind: Policy\nmetadata: {name: endpoints}\nspec:\n  sandbox: "
		"{}\n"
		"  fsProfiles:\n    dev:\n"
		"      read: ['**']\n"
		"      modify: ['./**', '!./ro/**']\n"
		"      connect:\n"
		"        - {to: 'localhost:%d', by: ['%s/bin/attacker']}\n"
		"        - {to: 'localhost:%d', by: ['%s/bin/named']}\n"
		"        - 'localhost:%d'\n"
		"        - {to: '!localhost:%d', by: ['%s/bin/named']}\n"
		"        - {to: 'localhost:%d', by: ['%s/bin/other']}\n"
		"        - '*.attack.test:%d'\n",
		port[AK_P_OPEN], base, port[AK_P_NAMED], base, port[AK_P_SHUT], port[AK_P_SHUT],
		base, port[AK_P_OTHER], base, port[AK_P_OPEN]);
	(void)fclose(f);
	chmod(path, 0600);
}

const char *const ak_flavour_names[AK_FLAVOURS] = {"plain", "namespaces", "few descriptors",
						   "limits", "identities"};

static unsigned flavour_args(const struct ak_session *s, const char **argv, unsigned n)
{
	const struct rlimit few = {300, 300};

	if (s->o->policy == AK_SRT || s->o->policy == AK_OPENSHELL)
		return n;
	if (s->o->policy == AK_ENDPOINTS && s->o->flavour % 2)
		argv[n++] = "--proxy-env";
	if (s->o->flavour == 1) {
		argv[n++] = "--allow";
		argv[n++] = "namespaces";
	}
	if (s->o->flavour == 2)
		setrlimit(RLIMIT_NOFILE, &few);
	if (s->o->flavour == 4 && s->world.is_root) {
		argv[n++] = "--caps";
		argv[n++] = "chown,dac_override,fowner,fsetid,setuid,setgid,setfcap";
	}
	if (s->o->flavour == 3) {
		argv[n++] = "--fsize";
		argv[n++] = "1M";
	}
	return n;
}

static unsigned policy_args(struct ak_session *s, const char **argv, unsigned n)
{
	static char doc[128], hidden[128], ro[128];
	const char *base = s->world.base;

	snprintf(doc, sizeof doc, "%s/state/policy.%s", base,
		 s->o->policy == AK_SRT ? "json" : "yaml");
	snprintf(hidden, sizeof hidden, "%s/ws/hidden", base);
	snprintf(ro, sizeof ro, "%s/ws/ro", base);
	switch (s->o->policy) {
	case AK_PATTERN:
		argv[n++] = "--deny-read";
		argv[n++] = "**/*.env";
		break;
	case AK_LITERAL:
		argv[n++] = "--deny-read";
		argv[n++] = hidden;
		break;
	case AK_SRT:
	case AK_OPENSHELL:
		write_file(doc, s->o->policy == AK_SRT ? srt : openshell, base);
		argv[n++] = "-p";
		argv[n++] = doc;
		return n;
	case AK_ENDPOINTS:
		write_endpoints(s, doc);
		argv[n++] = "-p";
		argv[n++] = doc;
		return n;
	case AK_DEFAULT:
	case AK_POLICIES:
		return n;
	}
	argv[n++] = "--deny-modify";
	argv[n++] = ro;
	return n;
}

/* ---- start ---- */

static void set_env(const struct ak_session *s, const char *name, const char *rel)
{
	char value[128];

	snprintf(value, sizeof value, "%s/%s", s->world.base, rel);
	setenv(name, value, 1);
}

static _Noreturn void become_launcher(struct ak_session *s, int in, int out)
{
	const struct ak_isolation *host = ak_isolation(s->o->isolate);
	const char *argv[ARGS_MAX];
	char self[128], log[128];
	char *const *args = (char *const *)(uintptr_t)argv;
	unsigned n = 0;

	dup2(in, 0);
	dup2(out, 1);
	snprintf(log, sizeof log, "%s/state/stderr", s->world.base);
	if (!s->o->verbose)
		dup2(open(log, O_WRONLY | O_CREAT | O_TRUNC, 0600), 2);
	set_env(s, "HOME", "home");
	set_env(s, "XDG_STATE_HOME", "state");
	set_env(s, "XDG_CACHE_HOME", "cache");
	set_env(s, "XDG_CONFIG_HOME", "state/config");
	unsetenv("XDG_RUNTIME_DIR");
	if (s->cov_file[0])
		setenv("LLVM_PROFILE_FILE", s->cov_file, 1);
	snprintf(self, sizeof self, "%s/bin/attacker", s->world.base);
	if (host->abi) {
		argv[n++] = s->o->mkhost;
		argv[n++] = "--abi";
		argv[n++] = host->abi;
	}
	argv[n++] = s->o->sbx;
	argv[n++] = "-q";
	if (host->isolate) {
		argv[n++] = "--isolate";
		argv[n++] = host->isolate;
	}
	if (s->tells_all) {
		argv[n++] = "--audit-level";
		argv[n++] = "all";
	}
	n = policy_args(s, argv, n);
	n = flavour_args(s, argv, n);
	argv[n++] = "--";
	argv[n++] = self;
	argv[n++] = "inside";
	argv[n] = NULL;
	if (chdir(s->world.base) == 0 && chdir("ws") == 0)
		execv(argv[0], args);
	_exit(126);
}

static void copy_self(const struct ak_session *s, const char *name, mode_t mode)
{
	char to[128], room[65536];
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), fd;
	ssize_t n;

	snprintf(to, sizeof to, "%s/bin/%s", s->world.base, name);
	fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	while ((n = read(from, room, sizeof room)) > 0)
		if (write(fd, room, (size_t)n) != n)
			abort();
	fchmod(fd, mode);
	close(fd);
	close(from);
}

/* What is mounted for the world is seen by it alone. */
static bool go_apart(void)
{
	static bool is_apart;

	if (!is_apart && geteuid() == 0) {
		is_apart = unshare(CLONE_NEWNS) == 0 &&
			   mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
		if (is_apart && !ak_own_dev())
			fprintf(stderr, "attacker: root's programs act on the host's own /dev\n");
	}
	return is_apart;
}

/* The procfs of a container or chroot that lies about. */
static void mount_other_proc(struct ak_session *s)
{
	snprintf(s->other_proc, sizeof s->other_proc, "%s/out/proc", s->world.base);
	mkdir(s->other_proc, 0755);
	if (go_apart())
		(void)mount("proc", s->other_proc, "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
}

static int send_setup(struct ak_session *s)
{
	struct ak_setup set = {.magic = AK_MAGIC,
			       .host_pid = s->outsider.pid,
			       .host_port = s->outsider.port,
			       .policy = (int)s->o->policy,
			       .has_pid_ns = ak_isolation(s->o->isolate)->has_pid_ns,
			       .is_root = s->world.is_root};

	memcpy(set.base, s->world.base, sizeof set.base);
	memcpy(set.port, s->outsider.ports, sizeof set.port);
	snprintf(set.sbx, sizeof set.sbx, "%s", s->o->sbx);
	for (unsigned k = 0; k < 3; k++)
		for (unsigned i = 0; i < AK_TOKEN; i++)
			set.token[k][i] = s->world.token[k][i] ^ 0xff;
	ak = set;
	return write(s->to, &set, sizeof set) == sizeof set ? 0 : -1;
}

/* Below the workspace `APP.ENV` is then another name of `app.env`. Root only; where FUSE mounts
 * nothing the world is a usual one, and says so. */
static void mount_fold(struct ak_session *s)
{
	struct timespec ts = {0, 20000000};
	struct stat below, there;

	snprintf(s->fold_ws, sizeof s->fold_ws, "%s/ws", s->world.base);
	snprintf(s->fold_back, sizeof s->fold_back, "%s.back", s->world.base);
	mkdir(s->fold_ws, 0755);
	mkdir(s->fold_back, 0755);
	s->fold_pid = fork();
	if (s->fold_pid == 0) {
		execl("/usr/bin/python3", "python3", s->o->fold, s->fold_back, s->fold_ws, NULL);
		_exit(127);
	}
	(void)stat(s->world.base, &below);
	for (int tries = 0; tries < 250; tries++, nanosleep(&ts, NULL))
		if (stat(s->fold_ws, &there) == 0 && there.st_dev != below.st_dev)
			return;
	fprintf(stderr, "attacker: nothing is mounted by %s\n", s->o->fold);
}

static void unmount_fold(struct ak_session *s)
{
	if (!s->fold_pid)
		return;
	(void)umount2(s->fold_ws, MNT_DETACH);
	kill(s->fold_pid, SIGTERM);
	waitpid(s->fold_pid, NULL, 0);
	ak_remove_tree(s->fold_back);
}

static void make_parent(const struct ak_session *s)
{
	char state[128], ws[128];

	snprintf(state, sizeof state, "%s/state", s->world.base);
	snprintf(ws, sizeof ws, "%s/ws", s->world.base);
	if (!ak_make_parent(s->o->sbx, state, ws))
		fprintf(stderr, "attacker: the broker is not the command's parent\n");
}

static void make_dirs(struct ak_session *s)
{
	static const char *const dirs[] = {"state", "cache", "bin", "state/config"};
	char path[160];

	strcpy(s->world.base, "/tmp/sbx-attack-XXXXXX");
	if (!mkdtemp(s->world.base))
		abort();
	chmod(s->world.base, 0755);
	for (unsigned i = 0; i < sizeof dirs / sizeof *dirs; i++) {
		snprintf(path, sizeof path, "%s/%s", s->world.base, dirs[i]);
		mkdir(path, 0755);
	}
	s->world.policy = s->o->policy;
	/* OpenShell's commands are never root's */
	s->world.owner = s->o->policy == AK_OPENSHELL && geteuid() == 0 ? NOBODY : geteuid();
	s->world.is_root = s->world.owner == 0;
	go_apart();
	if (s->o->fold)
		mount_fold(s);
	ak_world_make(&s->world);
	copy_self(s, "attacker", 0755);
	copy_self(s, "named", 0755);
	copy_self(s, "unseen", geteuid() == 0 ? 0711 : 0111);
	mount_other_proc(s);
	if (ak_isolation(s->o->isolate)->is_parent)
		make_parent(s);
}

struct ak_session *ak_session_start(const struct ak_options *o)
{
	static unsigned number;
	struct ak_session *s = calloc(1, sizeof *s);
	int in[2], out[2];

	if (!s)
		abort();
	s->o = o;
	s->tells_all = number % 4 != 3;
	s->acts = calloc(ACTS, sizeof *s->acts);
	if (!s->acts)
		abort();
	make_dirs(s);
	if (o->cov_dir)
		snprintf(s->cov_file, sizeof s->cov_file, "%s/%s-%s-%u-%d-%u%%c.profraw",
			 o->cov_dir, ak_policy_names[o->policy], o->isolate, (unsigned)getuid(),
			 (int)getpid(), number);
	number++;
	if (ak_outsider_start(&s->outsider, &s->world) < 0 || pipe2(in, O_CLOEXEC) < 0 ||
	    pipe2(out, O_CLOEXEC) < 0)
		abort();
	s->pid = fork();
	if (s->pid == 0)
		become_launcher(s, in[0], out[1]);
	close(in[0]);
	close(out[1]);
	s->to = in[1];
	s->from = out[0];
	signal(SIGPIPE, SIG_IGN);
	s->state = ak_world_reset(&s->world, NULL);
	(void)send_setup(s);
	return s;
}

/* ---- one program ---- */

static bool receive(struct ak_session *s, struct ak_outcome *out)
{
	char *p = (char *)out;
	size_t left = sizeof *out;

	while (left) {
		struct pollfd fd = {.fd = s->from, .events = POLLIN};
		ssize_t n;

		if (poll(&fd, 1, ANSWER_MS) <= 0)
			return false;
		n = read(s->from, p, left);
		if (n <= 0)
			return false;
		p += n;
		left -= (size_t)n;
	}
	return out->magic == AK_MAGIC;
}

static void open_lines(struct ak_session *s)
{
	char name[512], *mark;

	if (!s->cov_file[0] || s->lines)
		return;
	snprintf(name, sizeof name, "%s", s->cov_file);
	mark = strstr(name, "%c");
	memmove(mark, mark + 2, strlen(mark + 2) + 1);
	s->lines = ak_lines_open(name);
}

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static void take_inside_lines(const struct ak_session *s)
{
	static unsigned number;
	char from[128], to[512];

	snprintf(from, sizeof from, "%s/" AK_INSIDE_LINES, s->world.base);
	if (!s->o->cov_dir || access(from, F_OK) < 0)
		return;
	snprintf(to, sizeof to, "%s/inside-%u-%d-%u.profraw", s->o->cov_dir, (unsigned)getuid(),
		 (int)getpid(), number++);
	(void)rename(from, to);
}

int ak_session_run(struct ak_session *s, const struct ak_prog *p, struct ak_outcome *out,
		   unsigned *out_new_lines)
{
	extern _Atomic bool ak_outsider_acted;
	static struct ak_act spare;
	struct ak_act *act = s->nacts < ACTS ? &s->acts[s->nacts++] : &spare;
	bool is_there;

	ak_outsider_acted = false;
	ak_changes_release(&act->changes); /* of the spare one */
	act->prog = *p;
	act->from = s->nacts > 1 && act != &spare ? act[-1].until : now_ns();
	if (!s->outsider.broker && s->is_up)
		ak_outsider_launcher(&s->outsider, s->pid);
	ak_outsider_acts(&s->outsider, p->flags, p->seed);
	is_there = write(s->to, p, sizeof *p) == sizeof *p && receive(s, out);
	ak_outsider_acts(&s->outsider, 0, p->seed);
	if (!is_there)
		memset(out, 0, sizeof *out);
	s->is_up = true;
	open_lines(s);
	*out_new_lines = ak_lines_new(s->lines);
	ak_outsider_check(&s->outsider, out);
	ak_world_check(&s->world, s->state, out->was_nobody && !(p->flags & (AK_HOST | AK_FREEZE)),
		       out, &act->changes);
	act->pid = out->pid;
	memcpy(act->refused, out->refused, sizeof act->refused);
	take_inside_lines(s);
	act->until = now_ns();
	s->state = ak_world_reset(&s->world, s->state);
	return is_there ? 0 : -1;
}

static void check_record(struct ak_session *s, ak_record_fn *found, void *ctx)
{
	char state[128], ws[128];
	struct ak_log log;

	snprintf(state, sizeof state, "%s/state", s->world.base);
	snprintf(ws, sizeof ws, "%s/ws", s->world.base);
	if (!ak_log_load(state, ws, &log)) {
		fprintf(stderr, "attacker: no record below %s\n", state);
		return;
	}
	for (unsigned i = 0; log.is_whole && i < s->nacts; i++) {
		struct ak_outcome out = {.magic = AK_MAGIC};

		ak_record_check(&s->world, &log, &s->acts[i], s->tells_all, &out);
		if (i + 1 == s->nacts && !s->tells_all)
			ak_record_check_counts(&log, s->acts, s->nacts, &out);
		if (i + 1 == s->nacts && s->outsider.servers)
			ak_servers_check_record(&log, s->outsider.ports, s->outsider.reached, &out);
		if (!out.nfound)
			continue;
		ak_log_keep(state, s->o->out_dir, s->acts[i].prog.seed);
		printf("  the program ran from %" PRId64 " until %" PRId64 "\n", s->acts[i].from,
		       s->acts[i].until);
		found(ctx, &s->acts[i].prog, &out);
	}
	ak_log_release(&log);
}

int ak_session_end(struct ak_session *s, ak_record_fn *found, void *ctx)
{
	bool is_over = false;
	int status = 0;

	close(s->to);
	for (int tries = 0; tries < 300 && !is_over; tries++) {
		struct timespec ts = {0, 10000000};

		is_over = waitpid(s->pid, &status, WNOHANG) != 0;
		if (tries == 200)
			kill(s->pid, SIGTERM);
		if (!is_over)
			nanosleep(&ts, NULL);
	}
	kill(s->pid, SIGKILL);
	waitpid(s->pid, NULL, 0);
	close(s->from);
	ak_outsider_stop(&s->outsider);
	ak_lines_close(s->lines);
	ak_state_free(s->state);
	if (found && is_over && !s->o->fold)
		check_record(s, found, ctx);
	for (unsigned i = 0; i < s->nacts; i++)
		ak_changes_release(&s->acts[i].changes);
	free(s->acts);
	(void)umount2(s->other_proc, MNT_DETACH);
	unmount_fold(s);
	ak_remove_tree(s->world.base);
	free(s->world.paths);
	free(s);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
