/* SPDX-License-Identifier: Apache-2.0 */
/* limits.c - the known limits, one table: `show --floor` and `--doctor` print it,
 * docs/THREAT-MODEL.md has the reasons under the same names (tests/unit/policy/test_limits.c
 * compares them). */
#include "policy/plan/floor.h"

/* Which floor has the limit. */
enum { BARE = 1, BROKER = 2, BOTH = 3 };

/* The name is that of docs/THREAT-MODEL.md, where the text says no more than it. */
static const struct {
	unsigned where;
	const char *name, *text;
} limits[] = {
	{BROKER, "Processes that are not dumpable",
	 "programs that their user may execute but not read (mode 0111), or that changed their "
	 "user, cannot change files where the broker has no CAP_SYS_PTRACE over them"},
	{BROKER, "Programs without the shim",
	 "they list carved directories only by O_DIRECTORY, and open what was made later directly "
	 "in one only by openat2(2); reads that the kernel refuses to them are not logged"},
	{BROKER, "A literal that denies reading",
	 "in a writable or crowded directory it costs what a pattern does: every open is "
	 "performed"},
	{BROKER, "execve under a read pattern",
	 "a second thread can put a denied file in the place of a program between the check of "
	 "execve(2) and its start: it runs if it was executable before the run, and what is "
	 "preloaded into it can read its content"},
	{BROKER, "Calls that wait",
	 "FIFOs under a pattern that denies reading, connections: 192 wait at once, one more "
	 "fails"},
	{BROKER, "A broker that the host stops",
	 "an open can be answered with 0 and no descriptor; that process is ended"},
	{BROKER, "Signals",
	 "a handler without SA_RESTART can make a call fail with EINTR that would not be "
	 "interrupted bare"},
	{BROKER, "Links in protected directories",
	 "followed as they are at the start, up to 10,000 names below each"},
	{BROKER, "The host's git",
	 "it obeys nested repositories, submodules that the command adds, and an unfinished "
	 "rebase: git status --ignore-submodules=all"},
	{BROKER, "Files that somebody outside saves while a run lasts",
	 "temporary files with random names beside a denied literal are as open as their "
	 "directory"},
	{BROKER, "Programs outside that write through symlinks",
	 "they are led by links that the command makes in the workspace"},
	{BROKER, "What outsiders run or obey",
	 "it is a list (sbx-policy presets protected): a program that is not in it obeys what a "
	 "grant opens, and what builds write in a workspace is open"},
	{BROKER, "Names that are not told apart",
	 "denials fold case and form where a file system does; one that is mounted while a run "
	 "lasts is judged by bytes"},
	{BOTH, "Hard links",
	 "each name that was there before the run is judged by itself: sbx-policy lint names "
	 "denied files that have further ones"},
	{BROKER, "The same files by another mount",
	 "a mount that the host makes while a run lasts, copies on other file systems and lower "
	 "directories of an overlay are not known as what is denied"},
	{BROKER, "Which directory is the workspace",
	 "a run can have the next one begin further down, by a repository that it makes"},
	{BROKER, "Other runs of the same user",
	 "those with another TMPDIR or XDG_STATE_HOME are not known of"},
	{BROKER, "A name that may not be read and is prepared",
	 "a symlink for a directory whose names are denied can lead to where the command may read"},
	{BROKER, "Landlock inside",
	 "programs cannot put a Landlock domain on themselves: they are told there is none"},
	{BROKER, "Submodules", "those that the command makes are like nested repositories"},
	{BROKER, "`approve` and `--mode accept-edits`",
	 "they judge what is there when they are asked; a command that still runs can plant more"},
	{BROKER, "In a run inside a run", "two names are compared by each document alone"},
	{BROKER, "A run inside a run",
	 "it is made outside of the sandbox: more code reads what the command wrote"},
	{BROKER, "User namespaces",
	 "with --allow namespaces more of the kernel is open to the command; nothing can be "
	 "mounted, and none be mapped inside of one"},
	{BROKER, "A directory that moves",
	 "to where other rules hold it is looked through: with more than 50,000 names in it, or "
	 "one that cannot be read, it stays"},
	{BROKER, "Two runs in the same directories",
	 "runs of two users have two locks: what one makes where it may not be is there for a "
	 "moment"},
	{BROKER, "Another procfs",
	 "one that the host mounts below a writable directory while a run lasts is not noticed"},
	{BROKER, "Unix sockets made inside",
	 "free to the run for as long as the broker can keep them: the last 1,024"},
	{BROKER, "Peers on Unix sockets",
	 "they see the broker's process number; datagram sockets are refused"},
	{BARE, "Metadata",
	 "chmod, chown, utime and xattr calls are not seen by Landlock: outside the "
	 "writable directories only the file owner's rights and the shim stop them"},
	{BARE, "Names in carved directories",
	 "names, never content, beneath carved directories can be listed"},
	{BARE, "New files in carved directories",
	 "entries made after the start directly in a carved directory cannot be opened"},
	{BARE, "Deny inside a writable directory, and read globs",
	 "the protected set inside the workspace is left to the shim: strict refuses"},
	{BARE, "Symlinks in git directories", "they are made like others"},
	{BARE, "A refused ptrace or namespace",
	 "it has no line, and user namespaces cannot be mapped"},
	{BARE, "A workspace that holds sbx-launch itself",
	 "the command may replace the program and the shim of the next run"},
	{BARE, "Unix sockets",
	 "connect(2) to a socket path inside writable directories needs --unix host"},
	{BARE, "Set-id files",
	 "openat2(2) can create one in a writable directory: its mode is hidden in memory"},
	{BARE, "Programs that are not witnessed", "they are held by the kernel, but not logged"},
	{BROKER, "Rules on endpoints",
	 "they end at host and port; a connection that does not wait for its other end "
	 "(O_NONBLOCK) is reset where that cannot be had, and getpeername(2) tells an address of "
	 "the relay"},
	{BOTH, "Descriptors that were given to the command",
	 "they can do what they can do: --keep-fd passes on anything"},
	{BOTH, "Descriptors that a peer outside sends",
	 "over a socket that the caller gave, or --unix opens, they come as they are"},
	{BOTH, "Device nodes outside of /dev",
	 "those that the host mounts while a run lasts are opened for reading where the kernel "
	 "reads alone"},
	{BOTH, "Opening for ioctl(2) alone",
	 "openat2(2) with access mode 3 opens what file permissions allow, neither to read nor to "
	 "write: a device that acts on being opened does (root's watchdog)"},
	{BOTH, "inotify, fanotify and readlink",
	 "they tell names and changes of denied directories that file permissions let be read"},
	{BOTH, "Secrets that only root can read",
	 "left to file permissions when an ordinary user launches"},
	{BOTH, "Secrets of system accounts",
	 "what one puts first into a home without hidden entries while a run lasts is open to it"},
	{BOTH, "Terminals of the same user",
	 "others can be opened (/dev/pts), not typed into: --deny-read /dev/pts --deny-modify "
	 "/dev/pts closes them, and new pseudo-terminals with them"},
	{BOTH, "/dev/shm",
	 "where none of its own can be had (--isolate), it is closed: POSIX shared memory and "
	 "semaphores fail"},
	{BOTH, "The record of a hostile command",
	 "it is its own word, but for what the broker writes; a log ends at 256 MiB"},
	{BOTH, "Names and words of processes in the record are the command's own word",
	 "a process of the run can say another name and other words for one of its kind"},
	{BOTH, "Processes of the same user are visible",
	 "where no pid namespace can be had (--isolate), the process list is the host's"},
	{BOTH, "Memory and processor time are limited for each process, not for the run",
	 "where no cgroup can be made"},
	{BOTH, "Variables of the caller are handed on", "--env scrub takes logins away, by names"},
	{BOTH, "`--result-json` has what the command wrote", "secrets included"},
	{BOTH, "What the record does not say",
	 "of programs without the shim: reads that are allowed, and what Landlock or the static "
	 "filter alone refuses"},
	{BOTH, "A supervisor that is killed",
	 "it takes the run with it, unless the guard is killed in the same moment"},
	{BOTH, "Paths beyond PATH_MAX",
	 "judged whole up to 61,440 bytes; the log has their first 4,095"},
	{BOTH, "Resource use",
	 "limited where --memory, --cpu-time, --nproc, --fsize or --nofile say so"},
	{BOTH, "Namespaces that are missing",
	 "where none can be had, System V IPC and POSIX message queues are refused; in a user "
	 "namespace files of other users belong to nobody"},
};

bool pol_limit(bool with_broker, size_t i, const char **out_name, const char **out_text)
{
	for (size_t k = 0; k < sizeof limits / sizeof *limits; k++)
		if (limits[k].where & (with_broker ? BROKER : BARE) && i-- == 0) {
			*out_name = limits[k].name;
			*out_text = limits[k].text;
			return true;
		}
	return false;
}
