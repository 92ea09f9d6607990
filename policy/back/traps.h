/*
 * traps.h - what the broker must see of a command's system calls, as the planner decides it and
 * the trap filter carries it out (DESIGN §4.3).
 */
#pragma once

/* Which opens for reading the broker performs; the lowest level that is exact is chosen. */
enum pol_read_level {
	POL_READ_NONE,	    /* Landlock decides them all */
	POL_READ_DIRECTORY, /* those with O_DIRECTORY: carved directories are listed by the broker
			     */
	POL_READ_ALL,	    /* all of them: a deny pattern lies inside what is readable */
};

#define POL_TRAP_FILES                                                                             \
	0x1u /* what makes, removes, moves, writes to or changes the metadata of files */
#define POL_TRAP_SOCKETS 0x2u /* bind and connect */
/* Refused whatever the policy, but aloud: the person learns which option helps. */
#define POL_TRAP_TRACE	   0x8u	 /* ptrace */
#define POL_TRAP_NAMESPACE 0x10u /* clone and unshare that make namespaces */
#define POL_TRAP_EXEC	   0x4u	 /* execve: a deny lies inside what is executable */
/* Landlock below ABI 3 does not see truncation: nothing that could empty a file is left to the
 * kernel, openat2(2) least of all, whose flags lie in memory. */
#define POL_TRAP_TRUNCATE 0x20u
#define POL_TRAP_RING	  0x40u /* nor ftruncate(2) of a ring that callers may write to */

/* openat2(2) hides its flags in memory and traps whenever this size of struct open_how is not
 * given: the shim's proof that it only asks, and lives with the kernel's answer. Below level
 * POL_READ_ALL the kernel's answer is exact for reads, and no for writes. */
#define POL_QUICK_HOW_SIZE 32u
