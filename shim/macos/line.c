/* SPDX-License-Identifier: Apache-2.0 */
/* line.c - see shim/line.h: there is no preload-only mode on macOS (launcher/macos/os.c), so
 * a channel that asks for it was not made by us. */
#include "shim/line.h"

#include "shim/proc.h"

void shim_line_write(const struct sbx_event *event, const char *path, const char *path2)
{
	(void)event, (void)path, (void)path2;
	(void)shim_trouble();
}
