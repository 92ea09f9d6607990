/* channel.h - how a process image finds the run it belongs to: names shared by the launcher,
 * which sets them, and the shim, which reads and re-injects them. */
#pragma once

/* Absolute path of the run's channel directory (0700, on tmpfs), holding the two files below. */
#define SBX_ENV_CHANNEL "SBX_CHANNEL"
#define SBX_CHANNEL_IMAGE "image" /* compiled policy, read-only */
#define SBX_CHANNEL_RING  "ring"  /* struct sbx_ring, shared by all writers */

#define SBX_SHIM_SONAME "libsbx-shim.so"
