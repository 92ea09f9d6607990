/* netns.h - user namespaces as launcher/linux needs them. Private to launcher/linux. */
#pragma once

/* Can we make a user namespace and map ourselves in it? Tried by a throw-away child. 0 or -1
 * with errno. [AS-safe] [no-alloc] */
int lau_userns_try(void);
/* In a new user namespace: the caller's own ids, mapped to themselves. 0 or -1 with errno.
 * The ids are those from before the namespace. */
int lau_userns_map(unsigned uid, unsigned gid);
