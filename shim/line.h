/* SPDX-License-Identifier: Apache-2.0 */
/*
 * line.h - preload-only mode: no supervisor reads the ring, so the shim writes its events itself,
 * one line of JSON and one O_APPEND write each (docs/schema/fs-call-event.schema.json).
 *
 * Lines are numbered by a counter all processes of the environment share; they are not chained,
 * and paths are absolute. [AS-safe] [MT-safe] [no-alloc], good in a vfork
 * child; no descriptor is kept; a file size limit costs the line, not the program.
 */
#pragma once

#include "core/event.h"

/* A failure is counted. errno untouched. */
void shim_line_write(const struct sbx_event *, const char *path, const char *path2);
