/* SPDX-License-Identifier: Apache-2.0 */
#include "sbpl/ops.h"

#include <string.h>

/*
 * Each operation below the one it falls back to, so many levels deep. file-write-setugid stands
 * beside its family: under version 1 a grant of file-write* does not confer it. `open`: what a
 * compiled (deny default) profile of 14.4 was seen to leave allowed, and what Apple's own
 * profiles take the trouble to deny by name.
 */
static const struct {
	unsigned char level;
	bool open;
	const char *name;
} ops[] = {
	{0, false, "default"},
	{1, false, "appleevent-send"},
	{1, false, "authorization-right-obtain"},
	{1, true, "darwin-notification-post"},
	{1, false, "device*"},
	{2, false, "device-camera"},
	{2, false, "device-microphone"},
	{1, false, "distributed-notification-post"},
	{1, true, "dynamic-code-generation"},
	{1, false, "file*"},
	{2, false, "file-chroot"},
	{2, true, "file-clone"},
	{2, false, "file-ioctl"},
	{2, false, "file-issue-extension"},
	{2, true, "file-link"},
	{2, true, "file-lock"},
	{2, true, "file-map-executable"},
	{2, false, "file-mknod"},
	{2, false, "file-mount"},
	{2, false, "file-mount-update"},
	{2, false, "file-read*"},
	{3, false, "file-read-data"},
	{3, false, "file-read-metadata"},
	{3, false, "file-read-xattr"},
	{2, false, "file-revoke"},
	{2, false, "file-search"},
	{2, true, "file-test-existence"},
	{2, false, "file-unmount"},
	{2, false, "file-write*"},
	{3, false, "file-write-acl"},
	{3, false, "file-write-create"},
	{3, false, "file-write-data"},
	{3, false, "file-write-finderinfo"},
	{3, false, "file-write-flags"},
	{3, false, "file-write-mode"},
	{3, false, "file-write-owner"},
	{3, false, "file-write-times"},
	{3, false, "file-write-unlink"},
	{3, false, "file-write-xattr"},
	{1, false, "file-write-setugid"},
	{1, true, "fs-quota*"},
	{2, true, "fs-quota-get"},
	{2, true, "fs-quota-on"},
	{2, true, "fs-quota-off"},
	{2, true, "fs-quota-set-limits"},
	{2, true, "fs-quota-set-usage"},
	{2, true, "fs-quota-stat"},
	{2, true, "fs-quota-sync"},
	{1, false, "fs-rename"},
	{1, false, "fs-snapshot*"},
	{2, false, "fs-snapshot-create"},
	{2, false, "fs-snapshot-delete"},
	{2, false, "fs-snapshot-mount"},
	{2, false, "fs-snapshot-revert"},
	{1, false, "generic-issue-extension"},
	{1, false, "qtn*"},
	{2, false, "qtn-user"},
	{2, false, "qtn-download"},
	{2, false, "qtn-sandbox"},
	{1, false, "hid-control"},
	{1, false, "iokit*"},
	{2, false, "iokit-async-external-method"},
	{2, false, "iokit-external-method"},
	{2, false, "iokit-external-trap"},
	{2, true, "iokit-get-properties"},
	{2, false, "iokit-issue-extension"},
	{2, false, "iokit-open*"},
	{3, false, "iokit-open-user-client"},
	{3, false, "iokit-open-service"},
	{2, false, "iokit-set-properties"},
	{1, false, "ipc*"},
	{2, false, "ipc-posix*"},
	{3, false, "ipc-posix-issue-extension"},
	{3, false, "ipc-posix-sem*"},
	{4, false, "ipc-posix-sem-create"},
	{4, false, "ipc-posix-sem-open"},
	{4, false, "ipc-posix-sem-post"},
	{4, false, "ipc-posix-sem-unlink"},
	{4, false, "ipc-posix-sem-wait"},
	{3, false, "ipc-posix-shm*"},
	{4, false, "ipc-posix-shm-read*"},
	{5, false, "ipc-posix-shm-read-data"},
	{5, false, "ipc-posix-shm-read-metadata"},
	{4, false, "ipc-posix-shm-write*"},
	{5, false, "ipc-posix-shm-write-create"},
	{5, false, "ipc-posix-shm-write-data"},
	{5, false, "ipc-posix-shm-write-unlink"},
	{2, false, "ipc-sysv*"},
	{3, false, "ipc-sysv-msg"},
	{3, false, "ipc-sysv-sem"},
	{3, false, "ipc-sysv-shm"},
	{1, false, "job-creation"},
	{1, false, "load-unsigned-code"},
	{1, false, "lsopen"},
	{1, false, "mach*"},
	{2, true, "mach-bootstrap"},
	{2, false, "mach-cross-domain-lookup"},
	{2, false, "mach-derive-port"},
	{2, false, "mach-host*"},
	{3, false, "mach-host-exception-port-set"},
	{3, false, "mach-host-special-port-set"},
	{2, false, "mach-issue-extension"},
	{2, false, "mach-kernel-endpoint"},
	{2, false, "mach-lookup"},
	{2, false, "mach-per-user-lookup"},
	{2, false, "mach-priv*"},
	{3, false, "mach-priv-host-port"},
	{3, false, "mach-priv-task-port"},
	{2, false, "mach-register"},
	{2, false, "mach-task*"},
	{3, false, "mach-task-exception-port-set"},
	{3, false, "mach-task-name"},
	{3, false, "mach-task-read"},
	{3, false, "mach-task-inspect"},
	{3, true, "mach-task-special-port*"},
	{4, true, "mach-task-special-port-get"},
	{4, true, "mach-task-special-port-set"},
	{1, false, "mach-message-send"},
	{1, false, "xpc-message-send"},
	{1, false, "default-message-filter"},
	{1, false, "managed-preference-read"},
	{1, true, "necp-client-open"},
	{1, false, "network*"},
	{2, false, "network-inbound"},
	{2, false, "network-bind"},
	{2, false, "network-outbound"},
	{1, true, "nvram*"},
	{2, true, "nvram-delete"},
	{2, true, "nvram-get"},
	{2, true, "nvram-set"},
	{1, false, "opendirectory-user-modify"},
	{1, false, "process*"},
	{2, true, "process-codesigning*"},
	{3, true, "process-codesigning-blob-get"},
	{3, true, "process-codesigning-cdhash-get"},
	{3, true, "process-codesigning-entitlements-blob-get"},
	{3, true, "process-codesigning-identity-get"},
	{3, true, "process-codesigning-status*"},
	{4, true, "process-codesigning-status-get"},
	{4, true, "process-codesigning-status-set"},
	{3, true, "process-codesigning-teamid-get"},
	{3, true, "process-codesigning-text-offset-get"},
	{2, false, "process-exec*"},
	{3, false, "process-exec-interpreter"},
	{2, false, "process-exec-update-label"},
	{2, false, "process-fork"},
	{2, false, "process-info*"},
	{3, false, "process-info-codesignature"},
	{3, false, "process-info-dirtycontrol"},
	{3, false, "process-info-ledger"},
	{3, false, "process-info-listpids"},
	{3, false, "process-info-pidinfo"},
	{3, false, "process-info-pidfdinfo"},
	{3, false, "process-info-pidfileportinfo"},
	{3, false, "process-info-rusage"},
	{3, false, "process-info-setcontrol"},
	{1, true, "legacy-codesigning*"},
	{1, false, "pseudo-tty"},
	{1, false, "signal"},
	{1, true, "socket-ioctl"},
	{1, true, "socket-option*"},
	{2, true, "socket-option-get"},
	{2, true, "socket-option-set"},
	{1, false, "storage-class-map"},
	{1, true, "syscall*"},
	{2, true, "syscall-unix"},
	{2, true, "syscall-mach"},
	{2, true, "syscall-mig"},
	{1, false, "sysctl*"},
	{2, false, "sysctl-read"},
	{2, false, "sysctl-write"},
	{1, false, "system*"},
	{2, false, "system-acct"},
	{2, false, "system-audit"},
	{2, false, "system-automount"},
	{2, false, "system-debug"},
	{2, true, "system-fcntl"},
	{2, false, "system-fsctl"},
	{2, false, "system-info"},
	{2, false, "system-kext*"},
	{3, false, "system-kext-load"},
	{3, false, "system-kext-unload"},
	{3, false, "system-kext-query"},
	{2, false, "system-mac-label"},
	{2, true, "system-mac-syscall"},
	{2, false, "system-memorystatus-control"},
	{2, false, "system-nfssvc"},
	{2, false, "system-package-check"},
	{2, true, "system-privilege"},
	{2, false, "system-reboot"},
	{2, false, "system-sched"},
	{2, false, "system-set-time"},
	{2, false, "system-socket"},
	{2, false, "system-suspend-resume"},
	{2, false, "system-swap"},
	{1, false, "user-preference*"},
	{2, false, "user-preference-read"},
	{2, false, "user-preference-write"},
};

#define NOPS (sizeof ops / sizeof *ops)

static const struct {
	const char *name, *of;
} aliases[] = {
	{"process-exec", "process-exec*"},   {"ipc-posix-sem", "ipc-posix-sem*"},
	{"ipc-posix-shm", "ipc-posix-shm*"}, {"file-unlink", "file-write-unlink"},
	{"iokit-open", "iokit-open*"},	     {"process-info", "process-info*"},
	{"file-read", "file-read*"},	     {"file-write", "file-write*"},
};

static const char *const vnodes[] = {
	[SBPL_V_REGULAR_FILE] = "REGULAR-FILE",
	[SBPL_V_DIRECTORY] = "DIRECTORY",
	[SBPL_V_BLOCK_DEVICE] = "BLOCK-DEVICE",
	[SBPL_V_CHARACTER_DEVICE] = "CHARACTER-DEVICE",
	[SBPL_V_SYMLINK] = "SYMLINK",
	[SBPL_V_SOCKET] = "SOCKET",
	[SBPL_V_FIFO] = "FIFO",
	[SBPL_V_TTY] = "TTY",
};

static const struct {
	const char *name;
	enum sbpl_filter_kind kind;
} filters[] = {
	{"literal", SBPL_F_LITERAL},
	{"path", SBPL_F_LITERAL},
	{"path-literal", SBPL_F_LITERAL},
	{"subpath", SBPL_F_SUBPATH},
	{"prefix", SBPL_F_PREFIX},
	{"regex", SBPL_F_REGEX},
	{"path-regex", SBPL_F_REGEX},
	{"vnode-type", SBPL_F_VNODE},
	{"require-all", SBPL_F_ALL},
	{"require-any", SBPL_F_ANY},
	{"require-not", SBPL_F_NOT},
	{"local", SBPL_F_ADDRESS},
	{"remote", SBPL_F_ADDRESS},
	{"from", SBPL_F_ADDRESS},
	{"to", SBPL_F_ADDRESS},
	{"extension", SBPL_F_STRINGS},
	{"extension-class", SBPL_F_STRINGS},
	{"xattr", SBPL_F_STRINGS},
	{"global-name", SBPL_F_STRINGS},
	{"global-name-prefix", SBPL_F_STRINGS},
	{"global-name-regex", SBPL_F_STRINGS},
	{"local-name", SBPL_F_STRINGS},
	{"local-name-prefix", SBPL_F_STRINGS},
	{"local-name-regex", SBPL_F_STRINGS},
	{"xpc-service-name", SBPL_F_STRINGS},
	{"xpc-service-name-prefix", SBPL_F_STRINGS},
	{"xpc-service-name-regex", SBPL_F_STRINGS},
	{"sysctl-name", SBPL_F_STRINGS},
	{"sysctl-name-prefix", SBPL_F_STRINGS},
	{"sysctl-name-regex", SBPL_F_STRINGS},
	{"ipc-posix-name", SBPL_F_STRINGS},
	{"ipc-posix-name-prefix", SBPL_F_STRINGS},
	{"ipc-posix-name-regex", SBPL_F_STRINGS},
	{"preference-domain", SBPL_F_STRINGS},
	{"preference-domain-prefix", SBPL_F_STRINGS},
	{"control-name", SBPL_F_STRINGS},
	{"iokit-user-client-class", SBPL_F_STRINGS},
	{"iokit-registry-entry-class", SBPL_F_STRINGS},
	{"iokit-connection", SBPL_F_STRINGS},
	{"iokit-property", SBPL_F_STRINGS},
	{"mac-policy-name", SBPL_F_STRINGS},
	{"process-path", SBPL_F_STRINGS},
	{"signing-identifier", SBPL_F_STRINGS},
	{"right-name", SBPL_F_STRINGS},
	{"notification-name", SBPL_F_STRINGS},
	{"appleevent-destination", SBPL_F_STRINGS},
	{"nvram-variable", SBPL_F_STRINGS},
	{"info-type", SBPL_F_STRINGS},
	{"csr", SBPL_F_STRINGS},
	{"entitlement-is-present", SBPL_F_STRINGS},
	{"file-mode", SBPL_F_VALUES},
	{"socket-domain", SBPL_F_VALUES},
	{"socket-type", SBPL_F_VALUES},
	{"socket-protocol", SBPL_F_VALUES},
	{"socket-option-name", SBPL_F_VALUES},
	{"socket-option-level", SBPL_F_VALUES},
	{"ioctl-command", SBPL_F_VALUES},
	{"fsctl-command", SBPL_F_VALUES},
	{"fcntl-command", SBPL_F_VALUES},
	{"mac-syscall-number", SBPL_F_VALUES},
	{"syscall-number", SBPL_F_VALUES},
	{"target", SBPL_F_VALUES},
	{"privilege-id", SBPL_F_VALUES},
	{"semaphore-owner", SBPL_F_VALUES},
	{"device-major", SBPL_F_VALUES},
	{"device-minor", SBPL_F_VALUES},
};

static const char *const words[] = {
	"ip",	     "ip4",	"ip6",	       "tcp",	     "tcp4",
	"tcp6",	     "udp",	"udp4",	       "udp6",	     "unix-socket",
	"self",	     "pgrp",	"others",      "children",   "same-sandbox",
	"initproc",  "AF_UNIX", "AF_INET",     "AF_INET6",   "AF_ROUTE",
	"AF_SYSTEM", "AF_NDRV", "SOCK_STREAM", "SOCK_DGRAM", "SOCK_RAW",
};

static const char *const modifiers[] = {
	"no-log",
	"no-report",
	"report",
	"no-sandbox",
	"no-profile",
	"telemetry",
	"send-signal",
	"errno",
	"message",
	"termination",
	"partial-symbolication",
	"no-callout",
};

int sbpl_op_find(const char *name)
{
	for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
		if (strcmp(aliases[i].name, name) == 0)
			name = aliases[i].of;
	for (size_t i = 0; i < NOPS; i++)
		if (strcmp(ops[i].name, name) == 0)
			return (int)i;
	return SBPL_OP_NONE;
}

const char *sbpl_op_name(int op)
{
	return ops[op].name;
}

int sbpl_op_parent(int op)
{
	for (int i = op; i-- > 0;)
		if (ops[i].level < ops[op].level)
			return i;
	return SBPL_OP_NONE;
}

bool sbpl_op_is_open(int op)
{
	return ops[op].open;
}

size_t sbpl_op_count(void)
{
	return NOPS;
}

enum sbpl_vnode sbpl_vnode_find(const char *name)
{
	for (size_t i = SBPL_V_ANY + 1; i < sizeof vnodes / sizeof *vnodes; i++)
		if (strcmp(vnodes[i], name) == 0)
			return (enum sbpl_vnode)i;
	return SBPL_V_ANY;
}

enum sbpl_filter_kind sbpl_filter_find(const char *name)
{
	for (size_t i = 0; i < sizeof filters / sizeof *filters; i++)
		if (strcmp(filters[i].name, name) == 0)
			return filters[i].kind;
	return SBPL_F_NONE;
}

static bool listed(const char *const *list, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(list[i], name) == 0)
			return true;
	return false;
}

bool sbpl_is_word(const char *name)
{
	return listed(words, sizeof words / sizeof *words, name) || strncmp(name, "SIG", 3) == 0 ||
	       strncmp(name, "SO_", 3) == 0 || strncmp(name, "SYS_", 4) == 0 ||
	       strncmp(name, "IPPROTO_", 8) == 0 || strncmp(name, "FSIOC_", 6) == 0 ||
	       strncmp(name, "F_", 2) == 0;
}

bool sbpl_is_modifier(const char *name)
{
	return listed(modifiers, sizeof modifiers / sizeof *modifiers, name);
}
