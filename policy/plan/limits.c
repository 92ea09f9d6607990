/* SPDX-License-Identifier: Apache-2.0 */
/* limits.c - the known limits, one table: `show --floor` and `--doctor` print it,
 * docs/THREAT-MODEL.md has the reasons under the same names (tests/unit/policy/test_limits.c
 * compares them). */
#include "policy/plan/floor.h"

/* Which floor has the limit. */
enum { BARE = 1, BROKER = 2, BOTH = 3 };

/* Each name is a heading of docs/THREAT-MODEL.md, which has the reasons. */
static const struct {
	unsigned where;
	const char *name, *text;
} limits[] = {
	{BROKER, "Processes that are not dumpable",
	 "programs that their user may execute but not read (mode 0111), or that changed their "
	 "user, cannot change files where the broker has no CAP_SYS_PTRACE over them"},
	{BROKER, "Programs without the shim",
	 "they list carved directories only by O_DIRECTORY, and open files made later directly in "
	 "one only by openat2(2); reads that the kernel refuses to them are not logged"},
	{BROKER, "A literal that denies reading",
	 "in a writable or crowded directory it costs as much as a pattern: the broker performs "
	 "every open"},
	{BROKER, "execve under a read pattern",
	 "a second thread can put a denied file in a program's place while execve(2) is checked: "
	 "it runs if it was executable before the run, and a library preloaded into it can read "
	 "its content"},
	{BROKER, "Calls that wait",
	 "FIFOs under a pattern that denies reading, connections: 192 can wait at once, and the "
	 "next fails"},
	{BROKER, "A broker that the host stops",
	 "an open can be answered with 0 and no descriptor; the supervisor ends that process"},
	{BROKER, "Signals",
	 "a handler without SA_RESTART can make a call fail with EINTR that is never interrupted "
	 "bare"},
	{BROKER, "Links in protected directories",
	 "followed as they are at the start, up to 10,000 names below each"},
	{BROKER, "The host's git",
	 "it obeys nested repositories, submodules that the command adds, and an unfinished "
	 "rebase: git status --ignore-submodules=all"},
	{BROKER, "Files that somebody outside saves while a run lasts",
	 "temporary files with random names beside a denied literal are as open as their "
	 "directory"},
	{BROKER, "Programs outside that write through symlinks",
	 "they follow links that the command makes in the workspace"},
	{BROKER, "Current directories of programs outside",
	 "where the run does not begin or work they move with a directory that the command moves"},
	{BROKER, "The names that outsiders run or obey",
	 "they are a list (sbx-policy presets protected): a program that is not in it obeys files "
	 "that a grant opens, and files that builds write in a workspace are open"},
	{BROKER, "File systems that ignore differences of names",
	 "denials fold case and form where a file system does; one that is mounted while a run "
	 "lasts is judged by bytes"},
	{BOTH, "Hard links",
	 "each name that existed before the run is judged by itself: sbx-policy lint lists denied "
	 "files with more names"},
	{BROKER, "The same files by another mount",
	 "sbx-launch does not recognize denied files by a mount that the host makes while a run "
	 "lasts, as copies on other file systems, and in lower directories of an overlay"},
	{BROKER, "Which directory is the workspace",
	 "a run can make the next one begin further down, by a repository that it makes"},
	{BROKER, "Other runs of the same user",
	 "a run does not know those with another TMPDIR or XDG_STATE_HOME"},
	{BROKER, "A name that may not be read and is prepared",
	 "a symlink for a directory whose names are denied can lead to where the command may read"},
	{BROKER, "Landlock inside",
	 "programs cannot put a Landlock domain on themselves: the filter answers that there is "
	 "none"},
	{BROKER, "Submodules", "those that the command makes count as nested repositories"},
	{BROKER, "`approve` and `--mode accept-edits`",
	 "they judge the files that exist when they are asked; a command that still runs can plant "
	 "more"},
	{BROKER, "In a run inside a run", "each document compares two names alone"},
	{BROKER, "A run inside a run",
	 "the supervisor makes it outside of the sandbox: more code reads data that the command "
	 "wrote"},
	{BROKER, "User namespaces",
	 "with --allow namespaces the command reaches more of the kernel; it can mount nothing, "
	 "and map no namespace inside one"},
	{BROKER, "A directory that moves",
	 "if other rules apply at its new place, the broker searches it: with more than 50,000 "
	 "names in it, or one that cannot be read, it stays"},
	{BROKER, "Two runs in the same directories",
	 "runs of two users have two locks: an object that one makes where it may not can exist "
	 "for a moment"},
	{BROKER, "Another procfs",
	 "one that the host mounts below a writable directory while a run lasts is not noticed"},
	{BROKER, "Unix sockets made inside",
	 "the run may use the last 1,024: the broker forgets older ones"},
	{BROKER, "Peers on Unix sockets",
	 "they see the broker's process number; datagram sockets are refused"},
	{BARE, "Metadata",
	 "Landlock does not see chmod, chown, utime and xattr calls: outside the writable "
	 "directories only the file owner's rights and the shim stop them"},
	{BARE, "Names in carved directories",
	 "names, never content, beneath carved directories can be listed"},
	{BARE, "New files in carved directories",
	 "entries made after the start directly in a carved directory cannot be opened"},
	{BARE, "Deny inside a writable directory, and read globs",
	 "only the shim enforces the protected set inside the workspace: strict refuses"},
	{BARE, "Symlinks in git directories", "the command can make them like others"},
	{BARE, "A refused ptrace or namespace",
	 "it has no line, and user namespaces cannot be mapped"},
	{BARE, "A workspace that holds sbx-launch itself",
	 "the command may replace the program and the shim of the next run"},
	{BARE, "Unix sockets",
	 "connect(2) to a socket path inside writable directories needs --unix host"},
	{BARE, "Set-id files",
	 "openat2(2) can create one in a writable directory: its mode is hidden in memory"},
	{BARE, "Programs that are not witnessed",
	 "the kernel enforces the rules for them, but the log does not have them"},
	{BROKER, "Rules on endpoints",
	 "they end at host and port; a connection that does not wait for its other end "
	 "(O_NONBLOCK) is reset if it cannot be made, and getpeername(2) returns an address of the "
	 "relay"},
	{BOTH, "Descriptors that were given to the command",
	 "they keep their abilities: --keep-fd passes on anything"},
	{BOTH, "Descriptors that a peer outside sends",
	 "over a socket that the caller gave, or --unix opens, they arrive as they are"},
	{BOTH, "Device nodes outside of /dev",
	 "those that the host mounts while a run lasts can be opened for reading where the kernel "
	 "reads alone"},
	{BOTH, "Opening for ioctl(2) alone",
	 "openat2(2) with access mode 3 opens any file that file permissions allow, neither to "
	 "read nor to write: a device that acts on being opened does so (root's watchdog)"},
	{BOTH, "inotify, fanotify and readlink",
	 "they show names and changes of denied directories that file permissions allow to be "
	 "read"},
	{BOTH, "Secrets that only root can read",
	 "left to file permissions when an ordinary user launches"},
	{BOTH, "Secrets of system accounts",
	 "the run may read what one first puts into a home without hidden entries while the run "
	 "lasts"},
	{BOTH, "Terminals of the same user",
	 "others can be opened (/dev/pts), not typed into: --deny-read /dev/pts --deny-modify "
	 "/dev/pts closes them, and new pseudo-terminals with them"},
	{BOTH, "/dev/shm",
	 "where the run cannot have a private one (--isolate), it is closed: POSIX shared memory "
	 "and semaphores fail"},
	{BOTH, "The record of a hostile command",
	 "it is the command's own word, except for the broker's lines; a log ends at 256 MiB"},
	{BOTH, "Names and words of processes in the record are the command's own word",
	 "a process of the run can report a false name and false words for another one"},
	{BOTH, "Processes of the same user are visible",
	 "where the run cannot have a pid namespace (--isolate), the process list is the host's"},
	{BOTH, "Memory and processor time are limited for each process, not for the run",
	 "where no cgroup can be made"},
	{BOTH, "Variables of the caller are handed on",
	 "--env scrub removes logins, by their names"},
	{BOTH, "`--result-json` has what the command wrote", "secrets included"},
	{BOTH, "Gaps of the record",
	 "for programs without the shim: allowed reads, and refusals by Landlock or the static "
	 "filter alone"},
	{BOTH, "A supervisor that is killed",
	 "it takes the run with it, unless the guard is killed in the same moment"},
	{BOTH, "Paths beyond PATH_MAX",
	 "judged whole up to 61,440 bytes; the log has their first 4,095"},
	{BOTH, "Resource use",
	 "limited only by --memory, --cpu-time, --nproc, --fsize or --nofile"},
	{BOTH, "Namespaces that are missing",
	 "without them, System V IPC and POSIX message queues are refused; in a user namespace "
	 "files of other users appear as owned by nobody"},
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
