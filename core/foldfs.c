/* foldfs.c - see foldfs.h. */
#include "core/foldfs.h"

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
