/* SPDX-License-Identifier: Apache-2.0 */
/* fold.c - see fold.h. */
#include "core/fold.h"

#include "core/fold_table.h"

enum { PART_BASE, PART_NUMBER, PART_EXTENSION, PART_NONE };

/* Hangul syllables are computed: Unicode, section 3.12. */
enum {
	S_BASE = 0xac00,
	L_BASE = 0x1100,
	V_BASE = 0x1161,
	T_BASE = 0x11a7,
	V_COUNT = 21,
	T_COUNT = 28,
	S_COUNT = 11172
};

#define COUNT(table) (sizeof(table) / sizeof *(table))

static bool is_dropped(uint32_t c)
{
	size_t low = 0, high = COUNT(dropped);

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (c > dropped[middle][1])
			low = middle + 1;
		else
			high = middle;
	}
	return low < COUNT(dropped) && c >= dropped[low][0];
}

#define FOLD_CODES 4 /* the most code points that one becomes */

static unsigned fold_far(uint32_t c, uint32_t out[FOLD_CODES])
{
	size_t i = 0;

	while (i < COUNT(several_far) && several_far[i][0] != c)
		i++;
	if (i == COUNT(several_far))
		return 0;
	out[0] = several_far[i][1];
	out[1] = several_far[i][2];
	return 2;
}

static unsigned fold_several(uint32_t c, uint32_t out[FOLD_CODES])
{
	size_t low = 0, high = COUNT(several);

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (c > several[middle].code)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == COUNT(several) || several[low].code != c)
		return fold_far(c, out);
	for (unsigned i = 0; i < FOLD_CODES; i++)
		out[i] = several[low].to[i];
	return 2u + (out[2] != 0) + (out[3] != 0);
}

static uint32_t fold_single(uint32_t c)
{
	size_t low = 0, high = COUNT(single);

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (c > single[middle][1])
			low = middle + 1;
		else
			high = middle;
	}
	if (low == COUNT(single) || c < single[low][0])
		return c;
	return single[low][2] + (c - single[low][0]);
}

static unsigned fold_hangul(uint32_t s, uint32_t out[FOLD_CODES])
{
	out[0] = L_BASE + s / (V_COUNT * T_COUNT);
	out[1] = V_BASE + s % (V_COUNT * T_COUNT) / T_COUNT;
	out[2] = T_BASE + s % T_COUNT;
	return out[2] == T_BASE ? 2 : 3;
}

/* How many code points this one becomes. */
static unsigned fold_code(uint32_t c, uint32_t out[FOLD_CODES])
{
	unsigned n;

	if (c < 0x80) {
		out[0] = c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
		return 1;
	}
	if (is_dropped(c))
		return 0;
	if (c - S_BASE < S_COUNT)
		return fold_hangul(c - S_BASE, out);
	n = fold_several(c, out);
	if (n == 0)
		out[n++] = fold_single(c);
	return n;
}

/* The code point at `at` and its length; 0 where the bytes are not UTF-8. */
static unsigned decode(const char *at, const char *end, uint32_t *out)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	const unsigned char *p = (const unsigned char *)at;
	unsigned n = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	uint32_t c = n == 1 ? p[0] : p[0] & (0xffu >> (n + 1));

	if (n == 0 || p[0] > 0xf4 || (size_t)(end - at) < n)
		return 0;
	for (unsigned i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (p[i] & 0x3f);
	}
	if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	*out = c;
	return n;
}

static void give_byte(struct sbx_fold *f, unsigned byte)
{
	f->out[f->nout++] = (uint8_t)byte;
}

static void give_code(struct sbx_fold *f, uint32_t c)
{
	if (c < 0x80) {
		give_byte(f, c);
		return;
	}
	if (c < 0x800) {
		give_byte(f, 0xc0 | c >> 6);
	} else if (c < 0x10000) {
		give_byte(f, 0xe0 | c >> 12);
		give_byte(f, 0x80 | (c >> 6 & 0x3f));
	} else {
		give_byte(f, 0xf0 | c >> 18);
		give_byte(f, 0x80 | (c >> 12 & 0x3f));
		give_byte(f, 0x80 | (c >> 6 & 0x3f));
	}
	give_byte(f, 0x80 | (c & 0x3f));
}

/* Matches the form of a short name: up to eight characters that end in `~` and a number, then a dot
 * and up to three more. */
static void follow_short(struct sbx_fold *f, uint32_t c)
{
	if (f->part == PART_BASE && c == '~')
		f->part = PART_NUMBER;
	else if (f->part == PART_BASE)
		f->part = c == '.' || ++f->chars > 6 ? PART_NONE : PART_BASE;
	else if (f->part == PART_NUMBER && c >= '0' && c <= '9')
		f->part = ++f->digits + f->chars > 7 ? PART_NONE : PART_NUMBER;
	else if (f->part == PART_NUMBER)
		f->part = c == '.' && f->digits ? PART_EXTENSION : PART_NONE;
	else if (f->part == PART_EXTENSION)
		f->part = c == '.' || ++f->extension > 3 ? PART_NONE : PART_EXTENSION;
}

static bool is_short(const struct sbx_fold *f)
{
	return f->part == PART_EXTENSION || (f->part == PART_NUMBER && f->digits);
}

static bool is_slash(char c)
{
	return c == '/' || c == '\\';
}

/* The name ends; the slash waits for the next one that is not empty. */
static void end_name(struct sbx_fold *f)
{
	f->is_alias |= f->may_be_alias || is_short(f);
	f->is_wild |= f->is_broken;
	f->has_tail |= f->last == '.' || f->last == ' ';
	f->last = 0;
	f->may_be_alias = f->is_broken = false;
	f->part = f->chars = f->digits = f->extension = 0;
}

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

/* `:0067` is a letter where vfat is mounted with uni_xlate. */
static void meet_colon(struct sbx_fold *f)
{
	const char *p = f->at;

	if (f->end - p >= 5 && is_hex(p[1]) && is_hex(p[2]) && is_hex(p[3]) && is_hex(p[4]))
		f->may_be_alias = true;
}

/* Do only dots and blanks follow in this name, and what is dropped? */
static bool is_tail(struct sbx_fold *f)
{
	const char *p = f->at;
	uint32_t c, to[FOLD_CODES];
	unsigned n;

	if (p < f->kept_to)
		return false;
	while (p < f->end && !is_slash(*p) && !(f->flags & SBX_FOLD_CUTS && *p == ':')) {
		n = decode(p, f->end, &c);
		if (n == 0 || (c != '.' && c != ' ' && fold_code(c, to) > 0)) {
			f->kept_to = p;
			return false;
		}
		p += n;
	}
	return true;
}

static void give_slash(struct sbx_fold *f)
{
	if (f->slash_due)
		give_byte(f, '/');
	f->slash_due = false;
}

/* One code point of the text, or one byte that belongs to none. */
static void take_one(struct sbx_fold *f)
{
	uint32_t c = 0, to[FOLD_CODES];
	unsigned len = decode(f->at, f->end, &c), n;

	if (len == 0) {
		unsigned byte = (unsigned char)*f->at++;

		f->is_broken = true;
		give_slash(f);
		follow_short(f, f->last = byte);
		give_byte(f, byte >= 0xc0 ? byte | 0x20 : byte); /* a letter of Latin-1 */
		return;
	}
	n = f->flags & SBX_FOLD_TRIMS && (c == '.' || c == ' ') && is_tail(f) ? 0
									      : fold_code(c, to);
	f->at += len;
	if (n > 0)
		give_slash(f);
	for (unsigned i = 0; i < n; i++) {
		follow_short(f, to[i]);
		give_code(f, f->last = to[i]);
	}
}

void sbx_fold_start(struct sbx_fold *f, const char *text, size_t len, unsigned flags)
{
	*f = (struct sbx_fold){.at = text, .end = text + len, .kept_to = text, .flags = flags};
}

int sbx_fold_next(struct sbx_fold *f)
{
	if (f->given < f->nout)
		return f->out[f->given++];
	f->given = f->nout = 0;
	f->is_alias = f->is_wild = false;
	while (f->nout == 0 && f->at < f->end) {
		if (is_slash(*f->at)) {
			end_name(f);
			f->slash_due = true;
			f->at++;
			continue;
		}
		if (*f->at == ':')
			meet_colon(f);
		if (*f->at == ':' && f->flags & SBX_FOLD_CUTS)
			while (f->at < f->end && !is_slash(*f->at))
				f->at++;
		else
			take_one(f);
	}
	if (f->nout > 0)
		return f->out[f->given++];
	end_name(f);
	return -1;
}

size_t sbx_fold_text(char *buf, size_t size, const char *text, size_t len, unsigned flags)
{
	struct sbx_fold f;
	size_t n = 0;
	int c;

	sbx_fold_start(&f, text, len, flags);
	while ((c = sbx_fold_next(&f)) >= 0) {
		if (n + 1 >= size)
			return SIZE_MAX;
		buf[n++] = (char)c;
	}
	if (n >= size)
		return SIZE_MAX;
	buf[n] = '\0';
	return n;
}

/* ---- file systems that fold names ---- */

static const struct {
	char name[12]; /* no pointer: the shim would be relocated for it in every process */
	uint32_t type;
	enum sbx_fs how;
} table[] = {
#define X(name, type, how) {name, type, SBX_FS_##how},
	SBX_FILE_SYSTEMS(X)
#undef X
};
#define ROWS (sizeof table / sizeof *table)

enum sbx_fs sbx_fs_of_type(uint32_t type)
{
	for (size_t i = 0; i < ROWS; i++)
		if (table[i].type == type)
			return table[i].how;
	return SBX_FS_UNKNOWN;
}

static bool is_name(const char *row, const char *name, size_t len)
{
	size_t i = 0;

	while (i < len && row[i] && row[i] == name[i])
		i++;
	return !row[i] && (i == len || name[i] == '.');
}

enum sbx_fs sbx_fs_of_name(const char *name, size_t len)
{
	for (size_t i = 0; i < ROWS; i++)
		if (is_name(table[i].name, name, len))
			return table[i].how;
	return SBX_FS_UNKNOWN;
}

const char *sbx_fs_name(uint32_t type)
{
	for (size_t i = 0; i < ROWS; i++)
		if (table[i].type == type)
			return table[i].name;
	return "?";
}

unsigned sbx_fs_how(enum sbx_fs fs)
{
	switch (fs) {
	case SBX_FS_BYTES:
	case SBX_FS_FLAGGED:
	case SBX_FS_XFS:
		return 0;
	case SBX_FS_FOLDS:
		return SBX_FOLDS_CASE;
	case SBX_FS_DOS:
	case SBX_FS_UNKNOWN:
		break;
	}
	return SBX_FOLDS_CASE | SBX_FOLDS_ALIAS;
}

unsigned sbx_path_folds(const char *path, size_t len, char *room, size_t size, sbx_fold_look *look,
			void *ctx)
{
	unsigned how = 0;

	if (len >= size)
		return SBX_FOLDS_CASE | SBX_FOLDS_ALIAS;
	for (size_t i = 0; i < len; i++) {
		int there;

		room[i] = path[i];
		if (path[i] != '/')
			continue;
		room[i > 0 ? i : 1] = '\0'; /* "/" and then without the slash */
		there = look(ctx, room);
		room[i] = '/';
		if (there < 0)
			break;
		how |= (unsigned)there;
	}
	return how;
}
