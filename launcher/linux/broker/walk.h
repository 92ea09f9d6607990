/* walk.h - shared by resolve.c and walk.c. Private to launcher/linux/broker. */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

struct br_broker;
struct br_call;
struct br_end;

/* Goes along `path` from `base` (borrowed). An O_PATH descriptor of what is there; -ENOENT with
 * e->at and e->name when only the last component is missing; else -errno. */
int br_walk(struct br_call *, struct br_end *, int base, const char *path, bool follow);

/* openat2(2), O_PATH, no symlinks: descriptor or -errno. */
int br_open_plain(int base, const char *path, unsigned flags);
/* path and len from at and name. */
int br_name_end(struct br_call *, struct br_end *);
int br_find_last(struct br_call *, struct br_end *);
/* st, path, len, is_pathless from fd: 0 or -errno; is_as_asked as for br_text_of_object(). */
int br_look_at(struct br_call *, struct br_end *, bool is_as_asked);

/* lent.c. Of an object without a name: 0, or BR_VANISHED: it had one when it was found. */
#define BR_VANISHED (-ESTALE)
int br_look_at_nameless(struct br_call *, struct br_end *);
/* The link `name` of directory `dir` in /proc has led to the object. */
void br_note_magic(struct br_end *, const char *dir, const char *name);

/* deep.c: br_text_of() whatever the depth; path has SBX_DEEP_ROOM bytes. -ENAMETOOLONG: beyond
 * SBX_DEEP_MAX; -EACCES: a directory on the way may not be listed. */
int br_text_of_dir(const struct br_broker *, int fd, char *path, size_t *out_len);
/* Of e->fd, which is too deep for br_text_of(). is_as_asked: the caller asked for it by a path that
 * br_find_parent() understands. -ENOENT: deleted; -EACCES: it cannot be found. */
int br_text_of_object(struct br_call *, struct br_end *, bool is_as_asked);
