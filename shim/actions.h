/*
 * actions.h - the directory that a set of spawn file actions leads to: relative paths of the set,
 * and the program's, are of that one. Followed by the address of the set, from the wrappers of
 * posix_spawn_file_actions_*; the actions run in the child, inside the library, unseen.
 * [AS-safe] [MT-safe] for different sets [no-alloc]
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* init and destroy: nothing is known of the set at this address. */
void shim_actions_reset(const void *set);
/* The action has been added. */
void shim_actions_chdir(const void *set, const char *path);
void shim_actions_fchdir(const void *set, int fd);
/* The set gives this number to another file: fchdir to it leads where only the child knows. */
void shim_actions_replace(const void *set, int fd);

enum shim_led {
	SHIM_LED_NOWHERE, /* the path means what it means here */
	SHIM_LED_TO,	  /* it means (dirfd, buf) here */
	SHIM_LED_UNKNOWN
};
/* buf: SBX_PATH_MAX bytes. Absolute paths: SHIM_LED_UNKNOWN when they name what is the child's
 * own (/proc/self/cwd, /dev/fd). */
enum shim_led shim_actions_lead(const void *set, const char *path, char *buf, int *out_dirfd);
/* Whether that is SHIM_LED_NOWHERE, without the room. */
bool shim_actions_is_plain(const void *set, const char *path);
