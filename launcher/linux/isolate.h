/* isolate.h - the mounts of a run of its own. Private to launcher/linux. */
#pragma once

struct b_err;
struct lau_confine;

/* In a new mount namespace: nothing mounted in it is seen outside; device nodes are opened in /dev
 * alone, and where a rule names one; the private /dev/shm, when it is wanted, with what was granted
 * in it. 0, LAU_NO_NODEV, or -1 with B_FLOOR. [no-alloc] */
int lau_isolate_mounts(const struct lau_confine *, struct b_err *err);
