/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fields.h - what a line of the log has, version 2: one table. The writer (record.c), the reader
 * (entry.c), `grep` and `show` (views/), and docs/schema/fs-call-event.schema.json
 * (schema.c) are made of it. A line has its fields in the order of the table.
 *
 * Version 1 had event_type, event_id, run_id, profile, exe and parent_event_id in every line, and
 * `prev`, the hash of the line before: the reader still takes them.
 */
#pragma once

/* The schema version of lines and of run.json. Readers refuse a higher one. */
#define AUD_SCHEMA_VERSION 2

/* Bits of kinds, for the columns "always" and "sometimes". */
#define AUD_K(kind)  (1u << AUD_##kind)
#define AUD_K_CALL   (AUD_K(RESULT) | AUD_K(DENIED) | AUD_K(EXEC))
#define AUD_K_PATH   (AUD_K_CALL | AUD_K(QUERY) | AUD_K(HELLO) | AUD_K(UNWITNESSED) | AUD_K(LOSS))
#define AUD_K_ALL    ((1u << AUD_KIND_COUNT) - 1)
#define AUD_K_OF_PID (AUD_K_PATH | AUD_K(EXIT))
#define AUD_K_NO     0u

/*
 * member, key, type, always, sometimes, meaning.
 *
 * Types: WORD and TEXT are strings (a word needs no escape), TIME is one, PATH is one with a twin
 * KEY_b64 that has the exact bytes where they are no text; INT, BOOL; FLAG is true or absent; LIST
 * is an array of strings, MAP an object of them.
 */
/* clang-format off */
#define AUD_FIELDS(X) \
	X(version, "schemaVersion", INT, AUD_K_ALL, AUD_K_NO, \
	  "2; lines of version 1 have a schema of their own") \
	X(seq, "seq", INT, AUD_K_ALL, AUD_K_NO, \
	  "number of the line in its run, from 1 without holes; in preload-only mode the lines need not stand in this order") \
	X(ts, "ts", TIME, AUD_K_ALL, AUD_K_NO, \
	  "when the call was completed, by the writer's clock; UTC, nanoseconds") \
	X(run_id, "run_id", WORD, AUD_K(RUN), AUD_K_ALL, \
	  "the run; in each line where the log is not the run's own file (--audit-file, preload-only mode)") \
	X(kind, "kind", WORD, AUD_K_ALL, AUD_K_NO, \
	  "kind of the line; it determines the other fields") \
	X(op, "op", WORD, AUD_K_CALL, AUD_K_NO, \
	  "the operation that the rules decide") \
	X(path, "path", PATH, AUD_K_PATH, AUD_K_NO, \
	  "the path judged: ./x below a workspace, absolute elsewhere; bytes that are not text as \\xNN") \
	X(path2, "path2", PATH, AUD_K_NO, AUD_K_CALL, \
	  "second path of a rename or link") \
	X(host, "host", TEXT, AUD_K_NO, AUD_K(RUN) | AUD_K_CALL, \
	  "of a connection, or of a question for a name: the name or address, without the port that `path` ends with; of the run: the name of the machine") \
	X(port, "port", INT, AUD_K_NO, AUD_K_CALL, \
	  "of a connection") \
	X(program, "program", PATH, AUD_K_NO, AUD_K_CALL, \
	  "the program that connects, as rules with `by` see it") \
	X(address, "address", TEXT, AUD_K_NO, AUD_K_CALL, \
	  "of a name that a rule opens: its address, which no rule opens") \
	X(request, "request", TEXT, AUD_K_NO, AUD_K_CALL, \
	  "of a connection whose requests are judged: method and path of one, or `-` and what is wrong with it") \
	X(asked, "asked", PATH, AUD_K_NO, AUD_K_CALL, \
	  "the path as the program gave it, where that leads to `path` through a symlink or `..`") \
	X(asked2, "asked2", PATH, AUD_K_NO, AUD_K_CALL, \
	  "the same for `path2`") \
	X(claimed, "claimed", PATH, AUD_K_NO, AUD_K(RESULT), \
	  "of a call that the broker performed: the path as the program gave it, where `asked` differs; the shim reports it, and nothing checks it") \
	X(claimed2, "claimed2", PATH, AUD_K_NO, AUD_K(RESULT), \
	  "the same for `path2`") \
	X(truncated, "truncated", FLAG, AUD_K_NO, AUD_K_PATH, \
	  "a path was longer than 4,095 bytes, and this is its beginning; the rule is that of the whole path") \
	X(allowed, "allowed", BOOL, AUD_K_CALL, AUD_K_NO, \
	  "the policy's verdict, recomputed by the collector") \
	X(would_deny, "would_deny", FLAG, AUD_K_NO, AUD_K(RESULT), \
	  "of a connection, a name or a request: the rules deny it, but it passed, because the network is only watched (--network watch)") \
	X(disagrees, "shim_disagrees", FLAG, AUD_K_NO, AUD_K_CALL, \
	  "the process reported the other verdict: it lies, or its shim is broken") \
	X(matched_rule, "matched_rule", TEXT, AUD_K_CALL, AUD_K_NO, \
	  "normalised rule without '!', or <no matching rule>, [], <outside workspace>, <supervisor>") \
	X(rule, "rule", TEXT, AUD_K_CALL, AUD_K_NO, \
	  "where the rule comes from: file:line:col, preset:secrets:12:5, cli:--read:1") \
	X(of_path2, "of_path2", FLAG, AUD_K_NO, AUD_K_CALL, \
	  "the rule is the one for `path2`") \
	X(call, "call", WORD, AUD_K_CALL | AUD_K(QUERY), AUD_K_NO, \
	  "the call, as the program made it") \
	X(err, "errno", INT, AUD_K_NO, AUD_K_CALL | AUD_K(QUERY), \
	  "absent when the call succeeded") \
	X(created, "created", FLAG, AUD_K_NO, AUD_K(RESULT), \
	  "of an open that the broker performed: it created the file; absent: the file existed, or this is not known") \
	X(exchanged, "exchanged", FLAG, AUD_K_NO, AUD_K(RESULT), \
	  "of a rename that the broker performed: the two names were exchanged (RENAME_EXCHANGE)") \
	X(replaced, "replaced", FLAG, AUD_K_NO, AUD_K(RESULT), \
	  "of a rename that the broker performed: it replaced what `path2` was before") \
	X(count, "count", INT, AUD_K_NO, AUD_K_CALL, \
	  "number of equal calls that this line reports, since the line that first reported them; absent: one call") \
	X(reason, "reason", WORD, AUD_K(LOSS), AUD_K(DENIED), \
	  "of a denial, move: it would give a denied object an allowed name, or the reverse; path and path2 then name that object before and after, which may lie below what was asked to be moved. move-unseen: what lies below the directory was too much to look through, or could not be read. grant-root: a name that is granted for itself stays where it is. git-link: a symlink in a git directory would lead the git of the host. set-id: a file would get set-id bits. current-directory: a directory in which the run began, a workspace, or what they lie in stays where it is, because programs outside stay in it when it moves. supervisor: a process of sbx-launch itself, or a second procfs it could be found in, which no rule opens. filter: the system-call filter refuses the call to every process; path is the one that made it, rule the row (sbx-policy show --plan seccomp has them). Of a loss, deepbind: a library was bound to the C library past every preload; libc-handle: the C library itself was opened, symbols found there are past every preload; namespace: a library was loaded into a namespace of its own; preloaded-before: a library preloaded before the shim takes its calls and hands none on; no-shim: under --require shim, a program that would run without it was not started; no-floor: preload-only mode, the first line of the log") \
	X(against, "against", WORD, AUD_K_NO, AUD_K(DENIED), \
	  "of a denied move: the operation whose rules deny it") \
	X(image, "image", WORD, AUD_K(EXEC) | AUD_K(UNWITNESSED), AUD_K_NO, \
	  "kind of program started: only `dynamic` programs load the shim") \
	X(argv, "argv", LIST, AUD_K_NO, AUD_K(HELLO) | AUD_K(EXEC) | AUD_K(RUN), \
	  "the words of the command, up to 2,048 bytes, without the values of secret variables and options, passwords of logins and URLs, and known tokens; of an exec that no hello follows") \
	X(argv_cut, "argv_cut", FLAG, AUD_K_NO, AUD_K(HELLO) | AUD_K(EXEC), \
	  "argv was longer: its end is missing") \
	X(status, "status", INT, AUD_K_NO, AUD_K(EXIT), \
	  "exit status of the process; absent: it was killed, or this is not known") \
	X(signal, "signal", INT, AUD_K_NO, AUD_K(EXIT), \
	  "the signal that killed it") \
	X(lost, "lost", INT, AUD_K(GAP), AUD_K_NO, \
	  "events dropped because the ring was full, and missing events of the broker") \
	X(broker_lost, "broker_lost", INT, AUD_K_NO, AUD_K(GAP), \
	  "those of `lost` that report what the broker did or refused; absent when there are none, as in an ordinary log") \
	X(corrupt, "corrupt", INT, AUD_K(GAP), AUD_K_NO, \
	  "frames that could not be decoded") \
	X(abandoned, "abandoned", INT, AUD_K(GAP), AUD_K_NO, \
	  "frames whose writer died before finishing them") \
	X(layer, "layer", WORD, AUD_K_NO, AUD_K_ALL, \
	  "the part that reported it; absent: a shim") \
	X(pid, "pid", INT, AUD_K_OF_PID, AUD_K(RUN), \
	  "the process, as it numbers itself; of the run, the supervisor") \
	X(ppid, "ppid", INT, AUD_K(EXEC) | AUD_K(HELLO) | AUD_K(UNWITNESSED) | AUD_K(LOSS), \
	  AUD_K_CALL | AUD_K(QUERY) | AUD_K(EXIT), \
	  "its parent; absent where the line `proc` has it") \
	X(unverified, "unverified", FLAG, AUD_K_NO, AUD_K_OF_PID, \
	  "no process of the run with this pid was found: the event may be forged") \
	X(exe, "exe", PATH, AUD_K_NO, AUD_K_OF_PID, \
	  "executable of the process, when no line `proc` has it; absent: unknown") \
	X(proc, "proc", INT, AUD_K_NO, AUD_K_OF_PID, \
	  "seq of the line that started this process's image: the hello with the same `proc`, or else that line, has its executable") \
	X(uid, "uid", INT, AUD_K_NO, AUD_K(RUN), \
	  "the user") \
	X(tty, "tty", TEXT, AUD_K_NO, AUD_K(RUN), \
	  "the controlling terminal, when there is one") \
	X(cwd, "cwd", PATH, AUD_K_NO, AUD_K(RUN) | AUD_K(HELLO) | AUD_K(EXEC), \
	  "the working directory in which the command, or this program, begins; absent: unknown") \
	X(profile, "profile", TEXT, AUD_K_NO, AUD_K(RUN), \
	  "the profile of the policy") \
	X(bundle, "bundle", TEXT, AUD_K_NO, AUD_K(RUN), \
	  "the signed policies in force (--require-bundle): name, version and digest") \
	X(policy, "policy", TEXT, AUD_K(RELOAD), AUD_K_NO, \
	  "SHA-256 of the compiled policy that is in force from here on") \
	X(error, "error", TEXT, AUD_K_NO, AUD_K(RELOAD), \
	  "why new rules on endpoints were refused; the earlier ones stay in force") \
	X(closed, "closed", INT, AUD_K_NO, AUD_K(RELOAD), \
	  "connections that the new rules ended") \
	X(context, "context", MAP, AUD_K_NO, AUD_K_ALL, \
	  "the pairs of --context and SBX_CONTEXT: session, tool call") \
	X(chain, "chain", WORD, AUD_K_NO, AUD_K_ALL, \
	  "first half of the HMAC-SHA-256, under the run's key, of the `chain` of the line before and this line up to this field; in preload-only mode absent")
/* clang-format on */

enum aud_field {
#define X(member, ...) AUD_F_##member,
	AUD_FIELDS(X)
#undef X
		AUD_F_COUNT
};
