/* SPDX-License-Identifier: Apache-2.0 */
/* channel.h - how a process image finds the run it belongs to: names shared by the launcher,
 * which sets them, and the shim, which reads and re-injects them. */
#pragma once

/* Absolute path of the run's channel directory (0700, on tmpfs), holding the two files below.
 * With SBX_CHANNEL_DENY in front a program that cannot use it does not start. */
#define SBX_ENV_CHANNEL "SBX_CHANNEL"
/* The same directory where sbx-shell has started the run: sbx-shell in it is sh itself. */
#define SBX_ENV_SHELL	 "SBX_SHELL"
#define SBX_CHANNEL_DENY "deny:"
#define SBX_CHANNEL_MAX                                                                            \
	1024 /* bytes of that value, NUL included, and of our entry in the preload */
#define SBX_CHANNEL_IMAGE   "image" /* compiled policy, read-only */
#define SBX_CHANNEL_RING    "ring"  /* struct sbx_ring, shared by all writers */
#define SBX_CHANNEL_CONTROL "ctl"   /* socket: where a run inside the run is asked for */

/* Preload-only mode: nobody reads the ring, whose header says so; lines are appended here. */
#define SBX_CHANNEL_LOG "audit.jsonl"

/* The variable that has the loader load it. */
#ifdef __APPLE__
#define SBX_SHIM_SONAME "libsbx-shim.dylib"
#define SBX_ENV_PRELOAD "DYLD_INSERT_LIBRARIES"
#else
#define SBX_ENV_PRELOAD "LD_PRELOAD"
#ifdef __i386__
#define SBX_SHIM_SONAME	 "libsbx-shim32.so"
#define SBX_SHIM_SIBLING "libsbx-shim.so"
#else
#define SBX_SHIM_SONAME	 "libsbx-shim.so"
#define SBX_SHIM_SIBLING "libsbx-shim32.so" /* beside it: for programs of the other word size */
#endif
#endif
