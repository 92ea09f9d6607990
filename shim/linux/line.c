/* SPDX-License-Identifier: Apache-2.0 */
/* line.c - see line.h. */
#include "shim/line.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "core/channel.h"
#include "core/decide.h"
#include "core/event.h"
#include "core/fold.h"
#include "core/path.h"
#include "core/stamp.h"
#include "shim/sys_linux.h"
#include "shim/mem.h"
#include "shim/proc.h"

/* Two paths of 4,095 bytes, each escaped (4 bytes for one) and in base64, and the fixed part. */
enum { LINE_MAX_BYTES = 64 << 10 };

struct line {
	char *text;
	size_t len;
};

/* ---- text ---- */

static void add_byte(struct line *l, char c)
{
	if (l->len < LINE_MAX_BYTES)
		l->text[l->len++] = c;
}

static void add(struct line *l, const char *s)
{
	while (*s)
		add_byte(l, *s++);
}

static void add_u64(struct line *l, uint64_t v)
{
	char digits[20];
	unsigned n = 0;

	do
		digits[n++] = (char)('0' + v % 10);
	while (v /= 10);
	while (n)
		add_byte(l, digits[--n]);
}

static void add_hex(struct line *l, uint64_t v, unsigned width)
{
	static const char hex[] = "0123456789abcdef";

	while (width < 16 && v >> 4 * width)
		width++;
	while (width--)
		add_byte(l, hex[v >> 4 * width & 15]);
}

/* Length of the well-formed UTF-8 sequence at p (Unicode 15, table 3-7), 0 = none. */
static unsigned utf8_at(const unsigned char *p, size_t left)
{
	unsigned char lo = 0x80, hi = 0xbf;
	unsigned n, i;

	if (p[0] < 0x80)
		return 1;
	if (p[0] < 0xc2 || p[0] > 0xf4)
		return 0;
	n = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	if (n > left)
		return 0;
	if (p[0] == 0xe0)
		lo = 0xa0;
	else if (p[0] == 0xed)
		hi = 0x9f;
	else if (p[0] == 0xf0)
		lo = 0x90;
	else if (p[0] == 0xf4)
		hi = 0x8f;
	for (i = 1; i < n; i++, lo = 0x80, hi = 0xbf)
		if (p[i] < lo || p[i] > hi)
			return 0;
	return n;
}

static bool is_clean(const char *s, size_t len)
{
	const unsigned char *p = (const unsigned char *)s;
	unsigned n;

	for (; len; p += n, len -= n) {
		n = utf8_at(p, len);
		if (!n || *p < ' ' || *p == 0x7f)
			return false;
	}
	return true;
}

/* Control characters and bytes that are no UTF-8 as \xNN, as the supervisor's log has them. */
static void add_escaped(struct line *l, const char *s, size_t len)
{
	const unsigned char *p = (const unsigned char *)s, *end = p + len;

	while (p < end) {
		unsigned n = utf8_at(p, (size_t)(end - p));

		if (!n || *p < ' ' || *p == 0x7f) {
			add(l, "\\\\x");
			add_hex(l, *p++, 2);
			continue;
		}
		if (*p == '"' || *p == '\\')
			add_byte(l, '\\');
		while (n--)
			add_byte(l, (char)*p++);
	}
}

static void add_base64(struct line *l, const char *s, size_t len)
{
	static const char set[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *p = (const unsigned char *)s;
	size_t i;

	for (i = 0; i < len; i += 3) {
		unsigned v = (unsigned)p[i] << 16;

		if (i + 1 < len)
			v |= (unsigned)p[i + 1] << 8;
		if (i + 2 < len)
			v |= p[i + 2];
		add_byte(l, set[v >> 18]);
		add_byte(l, set[v >> 12 & 63]);
		add_byte(l, i + 1 < len ? set[v >> 6 & 63] : '=');
		add_byte(l, i + 2 < len ? set[v & 63] : '=');
	}
}

static void add_text(struct line *l, const char *key, const char *s)
{
	add(l, ",\"");
	add(l, key);
	add(l, "\":\"");
	add_escaped(l, s, strlen(s));
	add(l, "\"");
}

static void add_number(struct line *l, const char *key, uint64_t v)
{
	add(l, ",\"");
	add(l, key);
	add(l, "\":");
	add_u64(l, v);
}

static void add_path(struct line *l, const char *key, const char *path, size_t len)
{
	add(l, ",\"");
	add(l, key);
	add(l, "\":\"");
	add_escaped(l, path, len);
	add(l, "\"");
	if (is_clean(path, len))
		return;
	add(l, ",\"");
	add(l, key);
	add(l, "_b64\":\"");
	add_base64(l, path, len);
	add(l, "\"");
}

static void add_time(struct line *l, uint64_t ns)
{
	char text[SBX_STAMP_SIZE];

	sbx_stamp(ns, text);
	add(l, ",\"ts\":\"");
	add(l, text);
	add(l, "\"");
}

/* ---- one line ---- */

static const char *run_id(void)
{
	return shim_basename(shim_channel_dir());
}

static void add_head(struct line *l, const struct sbx_event *ev, const char *kind)
{
	uint64_t seq = atomic_fetch_add_explicit(&shim.ring->lines, 1, memory_order_relaxed) + 1;

	add(l, "{\"schemaVersion\":2");
	add_number(l, "seq", seq);
	add_time(l, ev->time_ns);
	add_text(l, "run_id", run_id());
	add_text(l, "kind", kind);
}

static void add_call(struct line *l, const struct sbx_event *ev)
{
	add_text(l, "call", sbx_call_name(ev->call));
	if (ev->err)
		add_number(l, "errno", (uint64_t)ev->err);
}

/* The rule that decided: the second path's where it is the one denied; of a path that is cut,
 * what the writer of the event found while it had all of it. */
static void explain(const struct sbx_event *ev, const char *path, const char *path2,
		    struct sbx_verdict *out)
{
	const struct sbx_image_header *h = shim.image.hdr;
	const struct sbx_image_rule *rules = (const void *)(shim.image.base + h->rules);
	bool second = ev->flags & SBX_EVF_PATH2_DENIED && ev->path2_len;
	const char *at = second ? path2 : path;
	size_t len = second ? ev->path2_len : ev->path_len;
	enum sbx_op op = (enum sbx_op)ev->op;
	int folded = -1;

	sbx_explain(&shim.image, op, at, len, out);
	if (out->allowed && !(ev->flags & SBX_EVF_ALLOWED))
		folded =
			sbx_folded_rule(&shim.image, op, at, len, SBX_FOLDS_CASE | SBX_FOLDS_ALIAS);
	if (folded >= 0)
		sbx_explain_rule(&shim.image, op, folded, out);
	if (ev->rule && ev->rule <= h->nrules) {
		out->matched = sbx_image_text(&shim.image, rules[ev->rule - 1].matched);
		out->origin = sbx_image_text(&shim.image, rules[ev->rule - 1].origin);
	}
}

static void add_judged(struct line *l, const struct sbx_event *ev, const char *path,
		       const char *path2)
{
	struct sbx_verdict v;

	explain(ev, path, path2, &v);
	add_text(l, "op", sbx_op_name((enum sbx_op)ev->op));
	add_path(l, "path", path, ev->path_len);
	if (ev->path2_len)
		add_path(l, "path2", path2, ev->path2_len);
	add(l, ev->flags & SBX_EVF_ALLOWED ? ",\"allowed\":true" : ",\"allowed\":false");
	add_text(l, "matched_rule", v.matched);
	add_text(l, "rule", v.origin);
	add_call(l, ev);
	if (ev->flags & SBX_EVF_MOVE && !(ev->flags & SBX_EVF_ALLOWED))
		add_text(l, "reason", "move");
}

static void add_body(struct line *l, const struct sbx_event *ev, const char *path,
		     const char *path2)
{
	bool allowed = ev->flags & SBX_EVF_ALLOWED;

	if (ev->kind == SBX_EV_HELLO) {
		add_head(l, ev, "hello");
		add_path(l, "path", path, ev->path_len);
	} else if (ev->kind == SBX_EV_LOSS) {
		add_head(l, ev, "loss");
		add_path(l, "path", path, ev->path_len);
		add_text(l, "reason", sbx_loss_name(ev->aux));
	} else if (ev->kind == SBX_EV_EXEC) {
		add_head(l, ev, "exec");
		add_judged(l, ev, path, path2);
		add_text(l, "image", sbx_exec_class_name((enum sbx_exec_class)ev->aux));
	} else if (ev->flags & SBX_EVF_QUERY) {
		add_head(l, ev, "query");
		add_path(l, "path", path, ev->path_len);
		add_call(l, ev);
	} else {
		add_head(l, ev, allowed ? "result" : "denied");
		add_judged(l, ev, path, path2);
	}
}

static uint16_t cut(uint16_t len, uint16_t *flags)
{
	if (len < SBX_PATH_MAX)
		return len;
	*flags |= SBX_EVF_TRUNCATED;
	return SBX_PATH_MAX - 1;
}

static void add_tail(struct line *l, const struct sbx_event *ev)
{
	if (ev->flags & SBX_EVF_TRUNCATED)
		add(l, ",\"truncated\":true");
	add_number(l, "pid", ev->pid);
	add_number(l, "ppid", ev->ppid);
	add(l, "}\n");
}

/* ---- writing ---- */

/* Beyond a limit on file sizes the kernel sends SIGXFSZ, which ends programs: it is held back
 * for the write, and taken off again when the write has caused it. */
static long append(int fd, const char *text, size_t len)
{
	const uint64_t xfsz = UINT64_C(1) << (SIGXFSZ - 1);
	struct timespec now = {0};
	uint64_t old = 0, pending = 0;
	struct rlimit limit;
	long n;

	if (sys4(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY)
		return sys3(SYS_write, fd, text, len);
	sys4(SYS_rt_sigprocmask, SIG_BLOCK, &xfsz, &old, sizeof old);
	sys2(SYS_rt_sigpending, &pending, sizeof pending);
	n = sys3(SYS_write, fd, text, len);
	if (n == -EFBIG && !(pending & xfsz))
		sys4(SYS_rt_sigtimedwait, &xfsz, 0, &now, sizeof xfsz);
	sys4(SYS_rt_sigprocmask, SIG_SETMASK, &old, 0, sizeof old);
	return n;
}

/* A link, where the log was asked for elsewhere: nobody but its owner may have written it. What was
 * put in the log's place (a FIFO) may make nobody wait. */
static int open_log(char *path, size_t size)
{
	size_t pos = 0;
	struct stat st;
	int fd;

	if (!shim_append(path, size, &pos, shim_channel_dir(), strlen(shim_channel_dir())) ||
	    !shim_append(path, size, &pos, "/" SBX_CHANNEL_LOG, sizeof SBX_CHANNEL_LOG))
		return -ENAMETOOLONG;
	fd = sys_openat(AT_FDCWD, path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);
	if (fd >= 0 && (sys_fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))) {
		sys_close(fd);
		return -EINVAL;
	}
	return fd;
}

static bool write_line(const struct sbx_event *ev, const char *path, const char *path2)
{
	long room = sys6(SYS_mmap, 0, LINE_MAX_BYTES, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct line l = {.text = (char *)room};
	long n = -1;
	int fd;

	if (room < 0 && room > -4096)
		return false;
	fd = open_log(l.text, LINE_MAX_BYTES); /* the room is free yet */
	if (fd >= 0) {
		add_body(&l, ev, path, path2);
		add_tail(&l, ev);
		n = append(fd, l.text, l.len);
		sys_close(fd);
	}
	sys2(SYS_munmap, room, LINE_MAX_BYTES);
	return n == (long)l.len && l.len;
}

void shim_line_write(const struct sbx_event *ev, const char *path, const char *path2)
{
	struct sbx_event e = *ev;

	e.path_len = cut(e.path_len, &e.flags);
	e.path2_len = cut(e.path2_len, &e.flags);
	/* a filter of the program's own may kill for any of these calls */
	if (shim_has_filter() || !write_line(&e, path, path2 ? path2 : ""))
		atomic_fetch_add_explicit(&shim.ring->lost, 1, memory_order_relaxed);
}
