#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The host acts while the command runs: it replaces, renames and creates denied files and protected
# directories. What the command got to see and to write is looked at from outside (TAP). Bare first:
# there it must get all of it. Without FULL=1 root tries as an ordinary user alone, and two steps.
set -u
B=${B:-build}
SBX=${SBX:-$(cd "$(dirname "$0")/../.." && pwd)/$B/sbx-launch}
[ -x "$SBX" ] || { echo "1..0 # SKIP $SBX is not built"; exit 1; }

attacker='
ask() # what each secret looks like by several ways
{
	cat ws.env d/x.env 2>/dev/null
	(cd d && cat /proc/self/cwd/x.env ./../d/x.env) 2>/dev/null
	ln -sf d/x.env link; cat link 2>/dev/null
	cat "$HOME/.ssh/id" "$HOME"/.ssh/*.new "$HOME/moved/id" 2>/dev/null
	cat /proc/self/fd/3 /proc/self/fd/4 2>/dev/null # opened to write, before their names went
	(echo evil >/proc/self/fd/5) 2>/dev/null
	{ command exec 3>>ws.env; command exec 4>>d/x.env; command exec 5<.git/config; } 2>/dev/null
	cp d/x.env copy 2>/dev/null && cat copy
	ln d/x.env hard 2>/dev/null && cat hard
	mv d/x.env d/plain 2>/dev/null && cat d/plain && mv d/plain d/x.env
	(echo evil >.git/hooks/pre-commit) 2>/dev/null
	mkdir -p .git/hooks 2>/dev/null
	(echo evil >>.git/config) 2>/dev/null
	rm -f copy hard
}
while [ ! -e go ]; do ask; done
ask
ask
'

host() # in $T/ws, step after step; the command asks all the while
{
	local i
	for i in $steps; do
		echo "secret-replaced-$i" >"$T/e" && mv "$T/e" ws.env
		echo "secret-replaced-$i" >"$T/e" && mv "$T/e" d/x.env
		mv d d.old && mkdir d && echo "secret-parent-$i" >d/x.env && rm -rf d.old
		echo "secret-made-$i" >"d/made-$i.env"
		echo "secret-home-$i" >"$T/e" && mv "$T/e" "$HOME/.ssh/id"
		echo "secret-home-$i" >"$HOME/.ssh/$i.new"
		mv "$HOME/.ssh" "$HOME/ssh.old" && mkdir "$HOME/.ssh" &&
			echo "secret-home-$i" >"$HOME/.ssh/id" && rm -rf "$HOME/ssh.old"
		exec 8<.git/config
		echo "[core]" >"$T/e" && mv "$T/e" .git/config
		sleep 0.03
		cat <&8 >>"$T/config"
		exec 8<&-
		rm -rf .git/hooks && mkdir .git/hooks
		mv .git git.old && mkdir -p .git/hooks && echo '[core]' >.git/config && rm -rf git.old
		sleep 0.05
	done
	touch go
}

once() # WRAPPER...: leaves $T/seen
{
	rm -rf "$T/ws" "$HOME" "$T/config"
	mkdir -p "$T/ws/d" "$T/ws/.git/hooks" "$HOME/.ssh"
	cd "$T/ws" || exit 2
	echo '[core]' >.git/config
	echo secret-first >ws.env
	echo secret-first >d/x.env
	echo secret-first >"$HOME/.ssh/id"
	"$@" sh -c "$attacker" >"$T/seen" 2>"$T/err" </dev/null &
	host 2>/dev/null
	wait $!
}

report() # ok|not NAME
{
	n=$((n + 1))
	[ "$1" = ok ] && echo "ok $n - $who: $2" || { echo "not ok $n - $who: $2"; sort "$T/seen" | uniq -c | sed 's/^/# /'; sed 's/^/# /' "$T/err"; }
}

as_me() # FIRST-NUMBER
{
	n=$1 who=root
	[ "$(id -u)" = 0 ] || who=user
	T=$(mktemp -d /tmp/sbx-host-XXXXXX) || exit 2
	export HOME=$T/home XDG_STATE_HOME=$T/state XDG_CACHE_HOME=$T/cache
	steps='1 2 3 4 5'
	once
	grep -q secret-replaced "$T/seen" && grep -q secret-home "$T/seen" && grep -q evil .git/config "$T/ws/.git/hooks/pre-commit" && grep -q evil "$T/config" &&
		report ok 'bare all of it can be had' || report not 'bare all of it can be had'
	[ -n "${FULL:-}" ] || steps='1 2'
	for more in '' '--isolate none' '--no-shim' '--no-shim --isolate none --network host'; do
		# shellcheck disable=SC2086
		once "$SBX" -q $more --deny-read '**/*.env' --
		if [ -e go ] && ! grep -q secret "$T/seen" && ! grep -qr evil .git "$T/config"; then
			report ok "nothing seen, nothing planted ($more)"
		else
			report not "nothing seen, nothing planted ($more)"
		fi
	done
	cd / && rm -rf "$T"
}

if [ "${1:-}" = --as-me ]; then
	as_me "$2"
	exit
fi
out=$(mktemp) || exit 2
as_nobody='setpriv --reuid 65534 --regid 65534 --clear-groups'
others() { [ "$(id -u)" = 0 ] && $as_nobody test -x "$SBX" && $as_nobody test -r "$0"; }
others && [ -z "${FULL:-}" ] || bash "$0" --as-me 0 | tee "$out"
if [ "$(id -u)" = 0 ]; then
	if others; then
		$as_nobody env SBX="$SBX" bash "$0" --as-me "$(grep -c '^\(not \)\?ok' "$out")" | tee -a "$out"
	else
		echo "ok $(($(grep -c '^\(not \)\?ok' "$out") + 1)) - user: all # SKIP $SBX is not reachable for others" | tee -a "$out"
	fi
fi
echo "1..$(grep -c '^\(not \)\?ok' "$out")"
! grep -q '^not ok' "$out"
s=$?
rm -f "$out"
exit $s
