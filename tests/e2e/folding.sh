#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# File systems that take several names for one: what is denied is denied by any of them, what is
# allowed is allowed by its own. On a FUSE file system of the tests (foldfs.py), which folds case and
# form and has short names, and on NTFS as ntfs-3g mounts it.
E2E_WHO=root
. "$(dirname "$0")/../support/e2e.sh"

FOLDFS=$(dirname "$0")/foldfs.py
POLICY=$(dirname "$SBX")/sbx-policy
if [ "$(id -u)" -ne 0 ] || [ ! -w /dev/fuse ]; then
	skip 'file systems that fold names' 'only root mounts one, where there is /dev/fuse'
	exit 0
fi
if ! /usr/bin/python3 -c 'import fusepy' 2>/dev/null; then
	skip 'file systems that fold names' 'no fusepy'
	exit 0
fi
B=$TMP/back M=$TMP/mnt
mkdir "$B" "$M"
/usr/bin/python3 "$FOLDFS" "$B" "$M" >"$TMP/foldfs.log" 2>&1 &
server=$!
end() {
	cd /
	umount "$TMP/ntfs" 2>/dev/null
	umount "$M" 2>/dev/null || umount -l "$M" 2>/dev/null
	wait $server 2>/dev/null
}
trap end EXIT
for _ in $(seq 100); do mountpoint -q "$M" && break; sleep 0.1; done
if ! mountpoint -q "$M"; then
	skip 'file systems that fold names' "FUSE mounts nothing here: $(tail -n 1 "$TMP/foldfs.log")"
	exit 0
fi

cat >"$TMP/try.c" <<'C'
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static int opened(int fd)
{
	return fd < 0 ? -1 : close(fd);
}
static int socket_at(const char *path, int (*act)(int, const struct sockaddr *, socklen_t))
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	strncpy(at.sun_path, path, sizeof at.sun_path - 1);
	return act(fd, (struct sockaddr *)&at, sizeof at);
}
static int bind_at(int fd, const struct sockaddr *a, socklen_t n) { return bind(fd, a, n); }
static int connect_to(int fd, const struct sockaddr *a, socklen_t n) { return connect(fd, a, n); }
static int run(const char *path)
{
	int status = 0, fds[2], err = 0;

	if (pipe2(fds, O_CLOEXEC))
		return -1;
	if (fork() == 0) {
		execl(path, path, (char *)0);
		err = errno;
		_exit(write(fds[1], &err, sizeof err) < 0);
	}
	close(fds[1]);
	if (read(fds[0], &err, sizeof err) != sizeof err)
		err = 0;
	wait(&status);
	errno = err;
	return err ? -1 : 0;
}
int main(int n, char **v)
{
	const char *op = v[1], *a = v[2], *b = n > 3 ? v[3] : "";
	int rc = -1;

	errno = EINVAL;
	if (!strcmp(op, "read")) rc = opened(open(a, O_RDONLY));
	if (!strcmp(op, "write")) rc = opened(open(a, O_WRONLY | O_APPEND));
	if (!strcmp(op, "creat")) rc = opened(creat(a, 0644));
	if (!strcmp(op, "make")) rc = opened(open(a, O_WRONLY | O_CREAT, 0644));
	if (!strcmp(op, "mkdir")) rc = mkdir(a, 0755);
	if (!strcmp(op, "unlink")) rc = unlink(a);
	if (!strcmp(op, "rmdir")) rc = rmdir(a);
	if (!strcmp(op, "rename")) rc = rename(a, b);
	if (!strcmp(op, "link")) rc = link(a, b);
	if (!strcmp(op, "symlink")) rc = symlink(a, b);
	if (!strcmp(op, "truncate")) rc = truncate(a, 0);
	if (!strcmp(op, "chmod")) rc = chmod(a, 0700);
	if (!strcmp(op, "exec")) rc = run(a);
	if (!strcmp(op, "bind")) rc = socket_at(a, bind_at);
	if (!strcmp(op, "connect")) rc = socket_at(a, connect_to);
	puts(rc ? strerrorname_np(errno) : "done");
	return 0;
}
C
gcc -o "$TMP/try" "$TMP/try.c" && gcc -static -o "$TMP/still" "$TMP/try.c" || exit 1

# A workspace on the mount, each time another: the kernel remembers names.
nth=0
tree()
{
	nth=$((nth + 1))
	W=$B/w$nth
	mkdir -p "$W/.git/hooks" "$W/src/deep" && cd "$M/w$nth" || exit 1
	printf '#!/bin/sh\n' >src/hook
	cp src/hook .git/hooks/pre-commit
	cp src/hook src/tool.env
	chmod +x src/hook src/tool.env .git/hooks/pre-commit
	echo '[core]' >.git/config
	echo secret >app.env
	echo secret >src/deep/prod.env
	echo secret >'café.key'
	echo x >src/plain
	: >.git/HEAD
}
RULES="--deny-read **/*.env --deny-read **/*.env/** --deny-read café.key"

# Acts that succeed bare, each in a tree of its own; then all of them in one run, which leaves its
# tree as it was: by a witnessed program and by a static one.
: >"$TMP/rows"
refused() # NAME OP PATH...
{
	local name=$1
	shift
	tree
	printf '%s\t%s\t%s\n' "$("$TMP/still" "$@")" "$name" "$(printf ' %q' "$@")" >>"$TMP/rows"
}

sum()
{
	(cd "$W" && find . -type f -exec cat {} + -o -print | sort | cksum)
}

all_refused() # PROGRAM
{
	local before bare name act said
	tree
	before=$(sum)
	cut -f 3 "$TMP/rows" | sed "s,^,'$TMP/$1'," >"$TMP/acts"
	"$SBX" -qq $RULES -- bash "$TMP/acts" >"$TMP/said" 2>&1
	while IFS=$'\t' read -r bare name act said; do
		if [ "$bare,$said" = done,EACCES ]; then
			ok "$1: $name"
		else
			echo "bare $bare, in a run $said" | not_ok "$1: $name"
		fi
	done < <(paste "$TMP/rows" "$TMP/said")
	check "$1: as many as were asked" [ "$(wc -l <"$TMP/said")" = "$(wc -l <"$TMP/rows")" ]
	check "$1: nothing has changed" [ "$before" = "$(sum)" ]
}

for git in .GIT .Git $'.g\u200cit' .git. GIT~1; do
	refused "write $git/HOOKS/pre-commit" write "$git/HOOKS/pre-commit"
	refused "creat $git/hooks/new" creat "$git/hooks/new"
	refused "write $git/Config" write "$git/Config"
done
refused 'truncate .GIT/config' truncate .GIT/config
refused 'chmod .GIT/config' chmod .GIT/config
refused 'mkdir .GIT/HOOKS/d' mkdir .GIT/HOOKS/d
refused 'unlink .GIT/HOOKS/pre-commit' unlink .GIT/HOOKS/pre-commit
refused 'rename to .GIT/HOOKS' rename src/hook .GIT/HOOKS/post-checkout
refused 'rename from .Git/Config' rename .Git/Config src/config
refused 'rename .GIT away' rename .GIT src/git
refused 'link into .GIT/HOOKS' link src/plain .GIT/HOOKS/x
refused 'link of .GIT/CONFIG' link .GIT/CONFIG src/config
refused 'symlink in .GIT/HOOKS' symlink /bin/true .GIT/HOOKS/x
refused 'bind in .GIT/HOOKS' bind .GIT/HOOKS/s
refused 'make .MCP.json' make .MCP.json
refused 'make .mcp.json by blanks' make '.mcp.JSON. .'
refused 'make a short name beside it' make 'MCP~1.JSO'
refused 'rename to .Mcp.json' rename src/plain .Mcp.json
refused 'read APP.ENV' read APP.ENV
refused 'read app.env.' read app.env.
refused 'read a short name where patterns deny' read 'APP~1.ENV'
refused 'read what shows nothing' read $'a\u200dpp.env'
refused 'read SRC/DEEP/Prod.Env' read SRC/DEEP/Prod.Env
refused 'read the decomposed form' read $'cafe\u0301.key'
refused 'read the form in another case' read $'CAFE\u0301.KEY'
refused 'link of APP.ENV to a free name' link APP.ENV src/free
refused 'rename of APP.ENV to a free name' rename APP.ENV src/free
refused 'exec SRC/TOOL.ENV' exec SRC/TOOL.ENV
all_refused try
all_refused still

# A whole directory as .GIT, and a link as .GIT: for the host's git they are `.git`.
planted() # NAME COMMAND
{
	tree
	rm -rf .git
	mkdir -p evil/hooks
	"$SBX" -q -- sh -c "$2" 2>/dev/null
	check "$1" [ ! -e .git/hooks ]
}
planted 'a directory with hooks is not moved to .GIT' 'mv evil .GIT'
planted 'a link to one is not made as .GIT' 'ln -s evil .GIT'
planted 'nor hooks in a new .GIT' 'mkdir .GIT && mkdir .GIT/hooks'

# A run inside denies the new name as well: that makes the two names no equals for the outer run.
tree
SBX=$SBX "$SBX" -qq $RULES -- sh -c '"$SBX" -qq --deny-read "$PWD/x" -- "$1" rename APP.ENV x
	"$SBX" -qq --deny-read "$PWD/src/plain" -- "$1" symlink src/plain NEW.ENV; cat x' - "$TMP/still" >"$TMP/out" 2>&1
check 'what a run inside denies beside carries no folded name away' sh -c 'cat "$1"; [ "$(grep -c EACCES "$1")" = 2 ] && ! grep -q "secret\\|done" "$1"' - "$TMP/out"

# Grants stay what they are.
tree
check 'a grant in another case is none' out EACCES --deny-modify . --modify src -- "$TMP/still" make SRC/new
tree
check 'by its own name it is one' out done --deny-modify . --modify src -- "$TMP/still" make src/new

# Work as ever.
works()
{
	tree
	"$SBX" -q $RULES -- sh -c 'echo a >New.txt && mkdir -p Build/Out && mv New.txt Build/Out && mv Build BUILD2 &&
		cat build2/out/new.TXT && git init -q sub 2>/dev/null; ln src/plain p2 && ln -s src s && cat S/plain &&
		rm -r build2 && cat src/hook >/dev/null && ./src/hook'
}
check 'other names are read, made, moved and removed' works

# A file that is renamed to where it may not be read is made anew: here files have names from the first.
anew()
{
	tree
	"$SBX" -q $RULES -- sh -c 'echo 1 >n.tmp && mv n.tmp new.env && echo 2 >n.tmp && exec 3<n.tmp && mv n.tmp new.env' &&
		[ "$(cat new.env)" = 2 ] && [ -z "$(find . -name '.sbx-*')" ] && [ ! -e n.tmp ]
}
check 'a file made anew has its place, and nothing is left beside' anew

linked()
{
	tree
	rm -rf .git && echo 'gitdir: elsewhere' >.git &&
		[ "$("$SBX" -q -- "$TMP/still" read .git)" = done ] && [ "$("$SBX" -q -- "$TMP/still" read .GIT)" = done ]
}
check 'a .git that is a file is read' linked

# On the same host, where names are told apart.
plain()
{
	cd "$WS" && mkdir -p .GIT/hooks .git/hooks && echo x >APP.ENV &&
		[ "$("$SBX" -q $RULES -- "$TMP/still" make .GIT/hooks/x)" = done ] &&
		[ "$("$SBX" -q $RULES -- "$TMP/still" read APP.ENV)" = done ] &&
		[ "$("$SBX" -q $RULES -- "$TMP/try" read APP.ENV)" = done ]
}
check 'where names are told apart they are' plain

# What is said of it.
recorded()
{
	tree
	"$SBX" -q $RULES -- "$TMP/$1" write .GIT/HOOKS/pre-commit >/dev/null
	cat "$(ls -td "$HOME"/.local/state/sbx-launch/runs/* | head -n 1)/audit.jsonl" |
		grep '"allowed":false' | grep HOOKS/pre-commit | grep '"rule":"preset:protected:'
}
check 'the record names the rule, of a witnessed program' recorded try
check 'and of a static one' recorded still
said()
{
	tree
	! "$POLICY" why modify .GIT/HOOKS/x >"$TMP/out" && grep '^denied .*hooks.*another spelling' "$TMP/out" &&
		"$POLICY" why modify src/x >"$TMP/out" && ! "$POLICY" why --json modify .GIT/HOOKS/x >"$TMP/out" &&
		grep '"folded":true' "$TMP/out"
}
check 'sbx-policy why says so' said
noted()
{
	tree
	[ "$("$SBX" -- true 2>&1 | grep -c '^sbx-launch: note: .* is on fuse')" = 1 ] && ! "$SBX" -q -- true 2>&1 | grep 'is on fuse' &&
		grep 'is on fuse' "$(ls -td "$HOME"/.local/state/sbx-launch/runs/* | head -n 1)/run.json" &&
		"$SBX" --doctor | grep "$M (fuse)"
}
check 'one line says that nothing can be known, and is recorded' noted
linted()
{
	tree
	mkdir -p .Vscode
	printf '%s\n' 'schemaVersion: 2' 'kind: Policy' 'metadata: {name: p}' \
		'spec: {denyModify: [Makefile], fsProfiles: {p: {read: ["**"], modify: ["**"]}}}' >p.yaml
	: >makefile
	"$POLICY" lint p.yaml >"$TMP/out"
	grep 'makefile.*\[look-alike\]' "$TMP/out" || { cat "$TMP/out"; return 1; }
}
check 'lint warns of look-alikes' linted

# The shim alone, which asks the file system by itself.
alone()
{
	tree
	printf '%s\n' '"$TMP/try" read APP.ENV' '"$TMP/try" make .GIT/hooks/new' '"$TMP/try" make src/New' \
		'cd "$WS"; "$TMP/try" read APP.ENV' >"$TMP/alone"
	export TMP WS SBX XDG_STATE_HOME=$TMP/state SBX_PROFILE=default
	bash -c 'T=$TMP; eval "$("$SBX" --print-env -q '"$(printf ' %q' $RULES)"')"; TMP=$T; . "$TMP/alone"' >"$TMP/out"
	unset XDG_STATE_HOME SBX_PROFILE
	[ "$(tr '\n' ' ' <"$TMP/out")" = 'EACCES EACCES done done ' ] || { cat "$TMP/out"; return 1; }
	grep 'APP.ENV","allowed":false' "$TMP"/state/sbx-launch/runs/*/audit.jsonl | grep '"rule":"cli:--deny-read:2"'
}
check 'the shim alone refuses, and names the rule' alone

# NTFS, as a program that people use mounts it.
if command -v mkntfs >/dev/null && command -v lowntfs-3g >/dev/null; then
	truncate -s 16M "$TMP/ntfs.img"
	mkdir "$TMP/ntfs"
	if mkntfs -F -Q -q "$TMP/ntfs.img" >/dev/null 2>&1 &&
		lowntfs-3g -o ignore_case,permissions "$TMP/ntfs.img" "$TMP/ntfs" 2>/dev/null; then
		mkdir -p "$TMP/ntfs/w/.git/hooks" && cd "$TMP/ntfs/w" || exit 1
		echo keep >.git/config
		echo more >>.GIT/CONFIG
		check 'NTFS: .GIT is .git' [ "$(wc -l <.git/config)" = 2 ]
		check 'NTFS: .GIT/CONFIG is refused' out EACCES -- "$TMP/still" write .GIT/CONFIG
		check 'NTFS: .Git/Hooks/x is refused' out EACCES -- "$TMP/still" make .Git/Hooks/x
		check 'NTFS: src is not' out done -- "$TMP/still" mkdir Src
	else
		skip 'NTFS' 'ntfs-3g mounts nothing here'
	fi
else
	skip 'NTFS' 'no ntfs-3g'
fi

# What this kernel may have, and its flag on a directory.
if truncate -s 16M "$TMP/ext4.img" && mkfs.ext4 -q -O casefold "$TMP/ext4.img" 2>/dev/null &&
	mkdir -p "$TMP/ext4" && mount -o loop "$TMP/ext4.img" "$TMP/ext4" 2>/dev/null; then
	mkdir -p "$TMP/ext4/w" && chattr +F "$TMP/ext4/w" && cd "$TMP/ext4/w" && mkdir -p .git/hooks
	check 'ext4: .GIT/hooks/x is refused' out EACCES -- "$TMP/still" make .GIT/hooks/x
	check 'ext4: what shows nothing is nothing' out EACCES -- "$TMP/still" make $'.g\u200cit/hooks/x'
	mkdir -p "$TMP/ext4/v/.git/hooks" "$TMP/ext4/v/.GIT/hooks" && cd "$TMP/ext4/v" || exit 1
	check 'ext4: where the directory has no flag it is another' out done -- "$TMP/still" make .GIT/hooks/x
	cd / && umount "$TMP/ext4"
else
	skip 'ext4 with directories that fold' 'this kernel has no CONFIG_UNICODE'
fi
