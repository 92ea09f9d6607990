/* walk.h - shared by resolve.c and walk.c. Private to launcher/linux/broker. */
#pragma once

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
/* st, path, len, is_pathless from fd: 0 or -errno. */
int br_look_at(struct br_call *, struct br_end *);
