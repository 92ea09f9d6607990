/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sbx-egress itself, with a test in the place of launcher and broker. The sockets of a run's
 * namespace are of the loopback interface here, at ports that the kernel chooses.
 */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "egress/dns.h"
#include "egress/door.h"
#include "policy/compile/requests.h"
#include "policy/compile/ruleset.h"

#define LONG_MS 30000

/* Its filter allows none of what sanitizers need: no product is built for them. */
#if defined(__SANITIZE_ADDRESS__)
#define HAS_PROGRAM 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_PROGRAM 0
#endif
#endif
#ifndef HAS_PROGRAM
#define HAS_PROGRAM 1
#endif

static void need_program(void)
{
	if (!HAS_PROGRAM)
		cr_skip_test("sbx-egress is not built with sanitizers");
}
TestSuite(egress_process, .init = need_program);

struct egress {
	pid_t pid;
	int channel, control;
	struct egr_page *page;
	uint16_t dns, relay; /* ports */
};

static int open_at(int type, uint32_t addr, uint16_t *out_port)
{
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(addr)};
	socklen_t len = sizeof a;

	cr_assert(fd >= 0 && bind(fd, (struct sockaddr *)&a, len) == 0);
	if (type == SOCK_STREAM)
		cr_assert_eq(listen(fd, 16), 0);
	cr_assert_eq(getsockname(fd, (struct sockaddr *)&a, &len), 0);
	*out_port = ntohs(a.sin_port);
	return fd;
}

static struct pol_http_rules judged; /* of the loopback's port, where there are any */

/* One name, and one port of the loopback interface. */
static int make_policy(uint16_t port)
{
	struct pol_ruleset rs;
	struct pol_endpoint e = {.allow = true, .origin = "test:1", .matched = "a rule"};
	struct b_err err;
	void *data;
	size_t size;
	int fd = memfd_create("policy", MFD_CLOEXEC);

	pol_ruleset_init(&rs);
	pol_endpoints_layer(&rs, 0, false);
	e.shape = POL_HOST_NAME;
	e.host = "name.example.net";
	e.high = 65535;
	pol_endpoints_add(&rs, &e);
	e.shape = POL_HOST_RANGE;
	e.host = NULL;
	cr_assert(sbx_cidr_parse("127.0.0.1", 9, &e.range));
	e.low = e.high = port;
	e.requests = judged.n ? &judged : NULL;
	pol_endpoints_add(&rs, &e);
	cr_assert_eq(pol_compile(&rs, NULL, &data, &size, &err), 0, "%s", err.msg);
	cr_assert_eq(b_write_all(fd, data, size), 0);
	free(data);
	pol_ruleset_release(&rs);
	return fd;
}

static _Noreturn void become(const char *path, int *fds, size_t n)
{
	for (size_t i = 0; i < n; i++)
		fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 100);
	for (size_t i = 0; i < n; i++)
		if (dup2(fds[i], EGR_FD_CHANNEL + (int)i) < 0)
			_exit(9);
	execl(path, "sbx-egress", (char *)NULL);
	_exit(8);
}

/* A policy that opens `port` of 127.0.0.1. */
static void start(struct egress *g, uint16_t port)
{
	enum { FIRST = EGR_FD_SOCKETS - EGR_FD_CHANNEL };
	int fds[FIRST + EGR_SOCKETS], channel[2], control[2], page, null;
	const char *b = getenv("B");
	char path[4096];
	uint16_t other;

	snprintf(path, sizeof path, "%s/sbx-egress", b ? b : "build");
	page = memfd_create("page", MFD_CLOEXEC);
	cr_assert_eq(ftruncate(page, sizeof *g->page), 0);
	g->page = mmap(NULL, sizeof *g->page, PROT_READ | PROT_WRITE, MAP_SHARED, page, 0);
	cr_assert_neq((void *)g->page, MAP_FAILED);
	cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel), 0);
	cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control), 0);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	fds[0] = channel[0];
	fds[1] = page;
	fds[2] = make_policy(port);
	fds[3] = control[0];
	fds[FIRST + EGR_DNS4] = open_at(SOCK_DGRAM, INADDR_LOOPBACK, &g->dns);
	fds[FIRST + EGR_DNS4_TCP] = open_at(SOCK_STREAM, INADDR_LOOPBACK, &other);
	fds[FIRST + EGR_RELAY4] = open_at(SOCK_STREAM, INADDR_ANY, &g->relay);
	fds[FIRST + EGR_DNS6] = fds[FIRST + EGR_DNS6_TCP] = fds[FIRST + EGR_RELAY6] = null;
	g->pid = fork();
	if (g->pid == 0)
		become(path, fds, sizeof fds / sizeof *fds);
	cr_assert(g->pid > 0);
	g->channel = channel[1];
	g->control = control[1];
	for (size_t i = 0; i < FIRST + EGR_DNS6; i++)
		close(fds[i]);
	close(fds[FIRST + EGR_DNS4_TCP]);
	close(fds[FIRST + EGR_RELAY4]);
	close(null);
}

/* When its broker is gone it goes. */
static void stop(struct egress *g)
{
	int status;

	close(g->channel);
	close(g->control);
	cr_assert_eq(waitpid(g->pid, &status, 0), g->pid);
	cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %x", status);
}

static void ask(const struct egress *g, enum egr_asked what, uint32_t id, uint16_t port)
{
	static uint16_t turn;
	struct egr_ask a = {.what = (uint8_t)what,
			    .family = AF_INET,
			    .port = port,
			    .id = id,
			    .turn = ++turn,
			    .addr = {127, 0, 0, 1}};

	atomic_store(&g->page->slot[0], (uint32_t)turn << 16);
	cr_assert_eq(send(g->channel, &a, sizeof a, 0), (ssize_t)sizeof a);
}

/* The errno in the slot. */
static int answered(const struct egress *g)
{
	uint32_t v;

	for (int i = 0; i < LONG_MS; i++) {
		v = atomic_load(&g->page->slot[0]);
		if (v & EGR_SLOT_DONE)
			return (int)(v & (EGR_SLOT_DONE - 1));
		poll(NULL, 0, 1);
	}
	cr_assert_fail("no answer");
	return -1;
}

static int enter(const struct egress *g, uint32_t addr)
{
	struct sockaddr_in a = {
		.sin_family = AF_INET, .sin_port = htons(g->relay), .sin_addr.s_addr = htonl(addr)};
	const struct timeval limit = {.tv_sec = LONG_MS / 1000};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
	cr_assert_eq(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
	return fd;
}

static void expect_reset(int fd)
{
	char byte;
	ssize_t n = recv(fd, &byte, 1, 0);

	cr_expect(n < 0 && errno == ECONNRESET, "%zd %s", n, strerror(errno));
	close(fd);
}

Test(egress_process, carries_what_was_announced_both_ways_and_each_end_by_itself)
{
	uint16_t port;
	int server = open_at(SOCK_STREAM, INADDR_LOOPBACK, &port), in, out;
	struct egress g;
	char buf[16];

	start(&g, port);
	ask(&g, EGR_ASK_DIAL, 5, port);
	cr_assert_eq(answered(&g), 0);
	in = enter(&g, egr_id4(5));
	out = accept(server, NULL, NULL);
	cr_assert_eq(send(in, "to it", 5, 0), 5);
	shutdown(in, SHUT_WR);
	cr_assert_eq(b_read_full(out, buf, sizeof buf), 5);
	cr_expect_arr_eq(buf, "to it", 5);
	cr_assert_eq(send(out, "and back", 8, 0), 8);
	close(out);
	cr_assert_eq(b_read_full(in, buf, sizeof buf), 8);
	cr_expect_arr_eq(buf, "and back", 8);
	close(in);
	stop(&g);
}

Test(egress_process, takes_nobody_else)
{
	uint16_t port;
	int server = open_at(SOCK_STREAM, INADDR_LOOPBACK, &port), in;
	struct egress g;

	start(&g, port);
	expect_reset(enter(&g, INADDR_LOOPBACK)); /* without an id */
	expect_reset(enter(&g, egr_id4(6)));	  /* with one that nobody announced */
	ask(&g, EGR_ASK_DIAL, 6, port);
	cr_assert_eq(answered(&g), 0);
	in = enter(&g, egr_id4(6));
	expect_reset(enter(&g, egr_id4(6))); /* and once only */
	ask(&g, EGR_ASK_DIAL, 7, port);
	cr_assert_eq(answered(&g), 0);
	ask(&g, EGR_ASK_DROP, 7, port);
	expect_reset(enter(&g, egr_id4(7))); /* and not what was taken back */
	close(in);
	close(server);
	stop(&g);
}

Test(egress_process, says_why_the_other_end_could_not_be_had)
{
	uint16_t port;
	int server = open_at(SOCK_STREAM, INADDR_LOOPBACK, &port);
	struct egress g;

	start(&g, port);
	close(server);
	ask(&g, EGR_ASK_DIAL, 8, port);
	cr_expect_eq(answered(&g), ECONNREFUSED);
	ask(&g, EGR_ASK_CARRY, 9, port);
	expect_reset(enter(&g, egr_id4(9)));
	/* what a broker gone wrong lets through is judged here, too */
	ask(&g, EGR_ASK_DIAL, 10, (uint16_t)(port + 1));
	cr_expect_eq(answered(&g), EACCES);
	stop(&g);
}

/* ---- requests ---- */

static struct b_arena arena;

static void judge_requests(void)
{
	static const struct pol_http_rule rules[] = {
		{.allow = true, .method = "GET", .path = "/ok/**", .origin = "t:1"},
		{.allow = true, .method = "PUT", .path = "/ok/**", .origin = "t:2"},
		{.path = "/ok/no/**", .origin = "t:3"},
	};

	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
		pol_http_rules_add(&arena, &judged, &rules[i]);
}

static void say(int fd, const char *text)
{
	cr_assert_eq(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

/* Exactly this comes next. */
static void expect_text(int fd, const char *want)
{
	char got[1024];
	size_t n = strlen(want);
	ssize_t len = recv(fd, got, n, MSG_WAITALL);

	cr_expect_eq(len, (ssize_t)n, "%zd of: %s", len, want);
	cr_expect(len < 0 || memcmp(got, want, (size_t)len) == 0, "%.*s", (int)len, got);
}

static void expect_told(const struct egress *g, const char *text, bool is_allowed, uint32_t rule)
{
	struct egr_tell t = {0};

	cr_assert_eq(recv(g->channel, &t, sizeof t, 0), (ssize_t)sizeof t);
	cr_expect_eq(t.what, EGR_TOLD_REQUEST);
	cr_expect_str_eq(strchr(t.text, ' ') + 1, text);
	cr_expect(strncmp(t.text, "127.0.0.1:", 10) == 0, "%s", t.text);
	cr_expect_eq(t.is_allowed, is_allowed);
	cr_expect_eq(t.rule, rule);
}

#define OK "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

/* A request with its Host, as it comes and as it goes on. */
static const char *request(const char *line, uint16_t port)
{
	static char text[256];

	snprintf(text, sizeof text, "%s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n\r\n", line, port);
	return text;
}

/* Connected through: the caller's end, and the server's. */
static void connect_through(struct egress *g, uint32_t id, int *in, int *out, uint16_t *port)
{
	int server = open_at(SOCK_STREAM, INADDR_LOOPBACK, port);

	judge_requests();
	start(g, *port);
	ask(g, EGR_ASK_DIAL, id, *port);
	cr_assert_eq(answered(g), 0);
	*in = enter(g, egr_id4(id));
	*out = accept(server, NULL, NULL);
	cr_assert_geq(*out, 0);
	close(server);
}

Test(egress_process, each_request_is_judged_where_rules_say_so)
{
	struct egress g;
	uint16_t port;
	char buf[2048];
	int in, out;

	connect_through(&g, 5, &in, &out, &port);
	say(in, request("GET /x/../ok/%61;y?q", port));
	expect_text(out, request("GET /ok/a?q", port));
	say(out, OK);
	expect_text(in, OK);
	expect_told(&g, "GET /ok/a", true, 3);
	say(in, request("GET /ok/no/x", port));
	cr_assert_gt(b_read_full(in, buf, sizeof buf), 0, "and then the end");
	cr_expect(strstr(buf, "HTTP/1.1 403 Forbidden\r\n") == buf);
	cr_expect(strstr(buf, "\"place\":\"t:3\""));
	expect_told(&g, "GET /ok/no/x", false, 5); /* behind the two of endpoints */
	cr_expect_eq(recv(out, buf, sizeof buf, 0), 0, "the server has heard nothing");
	close(in);
	close(out);
	stop(&g);
}

Test(egress_process, a_large_body_passes_and_bytes_that_are_no_request_do_not)
{
	static char body[1 << 20], got[1 << 20];
	struct egress g;
	uint16_t port;
	int in, out;
	char line[256];

	connect_through(&g, 6, &in, &out, &port);
	for (size_t i = 0; i < sizeof body; i++)
		body[i] = (char)(i * 31 >> 3);
	snprintf(line, sizeof line,
		 "PUT /ok/x HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nContent-Length: %zu\r\n\r\n", port,
		 sizeof body);
	say(in, line);
	expect_text(out, line);
	if (fork() == 0)
		_exit(send(in, body, sizeof body, 0) != (ssize_t)sizeof body);
	cr_assert_eq(recv(out, got, sizeof got, MSG_WAITALL), (ssize_t)sizeof got);
	cr_expect_arr_eq(got, body, sizeof body);
	say(out, OK);
	expect_text(in, OK);
	say(in, "SSH-2.0-x\r\n\r\n");
	expect_text(in, "HTTP/1.1 400 Bad Request\r\n");
	cr_expect_eq(recv(out, got, sizeof got, 0), 0);
	close(in);
	close(out);
	stop(&g);
}

Test(egress_process, a_server_that_breaks_off_is_seen)
{
	const struct linger now = {.l_onoff = 1};
	struct egress g;
	uint16_t port;
	int in, out;

	connect_through(&g, 7, &in, &out, &port);
	say(in, request("GET /ok/", port));
	expect_text(out, request("GET /ok/", port));
	say(out, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n12");
	expect_text(in, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n12");
	(void)setsockopt(out, SOL_SOCKET, SO_LINGER, &now, sizeof now);
	close(out);
	expect_reset(in);
	stop(&g);
}

static uint8_t rcode_of(const struct egress *g, const char *labels, size_t n);

Test(egress_process, a_request_that_cannot_be_told_waits_and_others_do_not)
{
	struct egress g;
	uint16_t port;
	unsigned n = 0;
	uint64_t begun;
	int in, out;

	connect_through(&g, 8, &in, &out, &port);
	for (;; n++) {
		struct pollfd p = {.fd = out, .events = POLLIN};

		say(in, request("GET /ok/", port));
		if (poll(&p, 1, 300) == 0)
			break;
		expect_text(out, request("GET /ok/", port));
		say(out, OK);
		expect_text(in, OK);
		cr_assert_lt(n, 20000u, "the channel is never full");
	}
	begun = b_now_ms();
	cr_expect_eq(rcode_of(&g, "\11localhost", 11), 0);
	cr_expect_lt(b_now_ms() - begun, 500u);
	poll(NULL, 0, 1200);
	for (unsigned i = 0; i <= n; i++)
		expect_told(&g, "GET /ok/", true, 3);
	expect_text(out, request("GET /ok/", port));
	close(in);
	close(out);
	stop(&g);
}

static uint8_t rcode_of(const struct egress *g, const char *labels, size_t n)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
				.sin_port = htons(g->dns),
				.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	uint8_t msg[512] = {0, 7, 1, 0, 0, 1};
	const struct timeval limit = {.tv_sec = LONG_MS / 1000};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	ssize_t got;

	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
	memcpy(msg + 12, labels, n);
	memcpy(msg + 12 + n, "\0\34\0\1", 4); /* AAAA: no name is looked up for it */
	cr_assert_eq(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
	cr_assert_eq(send(fd, msg, 16 + n, 0), (ssize_t)(16 + n));
	got = recv(fd, msg, sizeof msg, 0);
	cr_assert(got > 12, "%zd", got);
	close(fd);
	return msg[3] & 15;
}

Test(egress_process, a_name_that_no_rule_opens_is_not_there_and_is_told)
{
	struct egr_tell t = {0};
	struct egress g;

	start(&g, 1);
	cr_expect_eq(rcode_of(&g, "\4name\7example\3org", 18), 3);
	cr_assert_eq(recv(g.channel, &t, sizeof t, 0), (ssize_t)sizeof t);
	cr_expect_eq(t.what, EGR_TOLD_NAME);
	cr_expect_str_eq(t.text, "name.example.org");
	cr_expect_eq(rcode_of(&g, "\11localhost", 11), 0);
	stop(&g);
}

/* ---- another policy ---- */

/* Hands it over: what is said to that. The file is closed. */
static struct egr_reloaded change(const struct egress *g, int policy)
{
	struct egr_reloaded said = {.err = -1};

	cr_assert_eq(egr_sockets_send(g->control, &policy, 1), 0);
	close(policy);
	cr_assert_eq(recv(g->control, &said, sizeof said, 0), (ssize_t)sizeof said);
	return said;
}

static void expect_said(struct egr_reloaded said, int err, unsigned kept, unsigned closed)
{
	cr_expect(said.err == err && said.kept == kept && said.closed == closed, "%d %u %u",
		  said.err, said.kept, said.closed);
}

static void expect_open(int in, int out)
{
	say(in, "hi");
	expect_text(out, "hi");
}

Test(egress_process, another_policy_ends_what_it_does_not_allow)
{
	uint16_t port, other;
	int server = open_at(SOCK_STREAM, INADDR_LOOPBACK, &port), in, out;
	int second = open_at(SOCK_STREAM, INADDR_LOOPBACK, &other);
	struct egress g;

	start(&g, port);
	ask(&g, EGR_ASK_DIAL, 5, port);
	cr_assert_eq(answered(&g), 0);
	in = enter(&g, egr_id4(5));
	out = accept(server, NULL, NULL);
	expect_open(in, out);
	expect_said(change(&g, make_policy(port)), 0, 1, 0);
	expect_open(in, out);
	ask(&g, EGR_ASK_DIAL, 6, port); /* nobody has come by it yet */
	cr_assert_eq(answered(&g), 0);
	expect_said(change(&g, make_policy(other)), 0, 0, 2);
	expect_reset(in);
	expect_reset(out);
	expect_reset(enter(&g, egr_id4(6)));
	for (int i = 0; i < 2; i++)
		expect_told(&g, "- ended: the rules have changed", false, 0);
	ask(&g, EGR_ASK_DIAL, 7, port);
	cr_expect_eq(answered(&g), EACCES);
	ask(&g, EGR_ASK_DIAL, 8, other);
	cr_expect_eq(answered(&g), 0);
	close(server);
	close(second);
	stop(&g);
}

Test(egress_process, a_damaged_policy_changes_nothing)
{
	uint16_t port;
	int server = open_at(SOCK_STREAM, INADDR_LOOPBACK, &port);
	int empty = memfd_create("empty", MFD_CLOEXEC), cut = make_policy(1);
	struct egress g;

	start(&g, port);
	cr_assert_eq(ftruncate(cut, 4096), 0);
	expect_said(change(&g, cut), EBADMSG, 0, 0);
	cr_expect_gt(change(&g, empty).err, 0);
	ask(&g, EGR_ASK_DIAL, 5, port);
	cr_expect_eq(answered(&g), 0);
	close(server);
	stop(&g);
}

Test(egress_process, the_next_request_is_judged_by_another_policy)
{
	static const struct pol_http_rule other = {
		.allow = true, .method = "GET", .path = "/new", .origin = "t:9"};
	struct egress g;
	uint16_t port;
	int in, out;

	connect_through(&g, 5, &in, &out, &port);
	say(in, request("GET /ok/a", port));
	expect_text(out, request("GET /ok/a", port));
	judged.n = 0;
	pol_http_rules_add(&arena, &judged, &other);
	expect_said(change(&g, make_policy(port)), 0, 1, 0);
	say(out, OK); /* to what was asked before */
	expect_text(in, OK);
	say(in, request("GET /new", port));
	expect_text(out, request("GET /new", port));
	say(out, OK);
	expect_text(in, OK);
	judged.n = 0; /* nobody looks into it any more: it cannot go on as it is */
	expect_said(change(&g, make_policy(port)), 0, 0, 1);
	expect_reset(in);
	stop(&g);
}

Test(egress_process, is_no_command)
{
	char path[4096], line[4200];
	const char *b = getenv("B");

	snprintf(path, sizeof path, "%s/sbx-egress", b ? b : "build");
	snprintf(line, sizeof line, "'%s' 3</dev/null 2>/dev/null", path);
	cr_expect_eq(WEXITSTATUS(system(line)), 2);
}
