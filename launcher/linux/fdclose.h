/* fdclose.h - closing descriptors by the range. Private to launcher/linux. */
#pragma once

/* close_range(2), or one after the other where there is none: before Linux 5.9, or a container's
 * filter answers ENOSYS or EPERM. What is held open by a process that lives on keeps others
 * waiting for its end. [AS-safe] [no-alloc] */
void lau_fdclose_range(unsigned first, unsigned last);
