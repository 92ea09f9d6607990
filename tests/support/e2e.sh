# SPDX-License-Identifier: Apache-2.0
# e2e.sh - sourced by tests/e2e/*.sh: runs the script's tests on a copy of the programs that anybody
# may use.
#
#	. "$(dirname "$0")/../support/e2e.sh"
#	same 'a pipeline' 'seq 3 | tac'		bare and sandboxed: equal output and status
#	check 'status 125' [ "$status" -eq 125 ]
#
# Inside: $SBX, $TMP (ours alone), $HOME (throw-away), cwd = $WS, an empty workspace.
#
# Two forms. The full one (FULL=1, .ci/run) does everything as this user and, when that is root, once
# more as an ordinary one. The quick one (`make check`) does each kind of check once: when root starts
# it, as the ordinary user alone. But a script that asks who runs it (`id -u`, $E2E_INNER) has both, and
# `common || exit 0` in it stands before what nobody but the ordinary user tries then; and before it
# sources this file a script may say
#
#	E2E_WHO=user	what it asks of who runs it changes nothing that is tried
#	E2E_WHO=root	the quick form is root's
#
# `full`, `rounds` and `first` make loops shorter in the quick form.
set -u

E2E_UID=65534
e2e_support=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

e2e_outer()
{
	B=${B:-build}
	bin=$(cd "$B" && pwd) || exit 1
	base=$(mktemp -d "${TMPDIR:-/tmp}/sbx-e2e.XXXXXX") || exit 1
	trap 'chmod -R u+rwx "$base" 2>/dev/null; rm -rf "$base"' EXIT
	chmod 755 "$base"
	mkdir "$base/bin" "$base/test"
	cp "$bin"/sbx-launch "$bin"/sbx-policy "$bin"/sbx-audit "$bin"/sbx-selftest "$bin"/sbx-adopt "$bin"/sbx-egress "$bin"/libsbx-shim*.so "$base/bin"
	[ ! -e "$bin/sbx-ship" ] || cp "$bin/sbx-ship" "$base/bin"
	[ ! -e "$bin/sbx-bundle" ] || cp "$bin/sbx-bundle" "$base/bin"
	ln -s sbx-launch "$base/bin/sbx-shell"
	cp "$bin"/tests/mkhost "$bin"/tests/mkrun "$bin"/tests/mklarge "$bin"/tests/mkrefusals "$bin"/tests/ring_liar "$bin"/tests/hidden_act "$bin"/tests/lineage "$bin"/tests/netask "$bin"/tests/errno_matrix "$bin"/tests/shim_st[ar]* "$base/bin" 2>/dev/null
	[ -z "${E2E_REMEDIES:-}" ] || e2e_teller
	chmod -R a+rX "$base/bin"
	cp "$e2e_support"/*.sh "$e2e_support"/*.py "$e2e_support"/*.cjs "$e2e_support"/../../docs/schema/*.json "$e2e_support"/../../docs/lnav/*.json "$e2e_support"/../../docs/PRELOAD.md "$e2e_support"/../../docs/TUTORIAL.md "$e2e_support"/../../docs/RECIPES.md "$e2e_support"/../../docs/READING-THE-RECORD.md "$e2e_support"/../../README.md \
		"$e2e_support"/../../docs/man/*.[1-8] "$e2e_support"/../vectors/*.tsv \
		"$base/test" 2>/dev/null
	cp "$0" "$base/test/run.sh"
	sed -i "s,^\. .*/e2e.sh.*,. '$base/test/e2e.sh'," "$base/test/run.sh"
	chmod -R a+rX "$base/test"
	e2e_who=${E2E_WHO:-user}
	[ -n "${E2E_WHO:-}" ] || ! grep -qE 'id -u|\$E2E_INNER' "$0" || e2e_who=both
	! full || e2e_who=both
	[ "$(id -u)" -eq 0 ] && [ -z "${E2E_AS_ME:-}" ] || e2e_who=me
	[ $e2e_who = user ] || E2E_COMMON=$(full || [ $e2e_who != both ] || echo no) e2e_user "$(id -un)" ""
	case $e2e_who in
	user | both) e2e_user nobody "setpriv --reuid=$E2E_UID --regid=$E2E_UID --clear-groups" ;;
	esac
	echo "1..$(cat "$base"/*.tap | grep -cE '^(not )?ok')"
	! grep -q '^not ok' "$base"/*.tap
	exit
}

e2e_user() # NAME PREFIX
{
	mkdir "$base/$1" "$base/$1/home" "$base/$1/tmp" "$base/$1/bare"
	chmod 700 "$base/$1" "$base/$1/home" "$base/$1/tmp"
	[ -z "$2" ] || chown -R $E2E_UID:$E2E_UID "$base/$1"
	# shellcheck disable=SC2086
	(cd / && env -i PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin LC_ALL=C.UTF-8 TERM=dumb \
		FULL="${FULL:-}" E2E_TIMES="${E2E_TIMES:-}" E2E_COMMON="${E2E_COMMON:-}" STORM_ROUNDS="${STORM_ROUNDS:-}" AGREE_SETS="${AGREE_SETS:-}" KILL_ROUNDS="${KILL_ROUNDS:-}" HOME="$base/$1/home" TMPDIR="$base/$1/tmp" SBX="$base/bin/sbx-launch" \
		SBX_AGENTS="${SBX_AGENTS:-$bin/agents}" STRESS_SECONDS="${STRESS_SECONDS:-}" HOSTS_ROUNDS="${HOSTS_ROUNDS:-6}" HOSTS_SEED="${HOSTS_SEED:-}" HOSTS_TABLE="${HOSTS_TABLE:-}" E2E_KIN="${E2E_KIN:-}" E2E_INNER="$1" E2E_ROOT="$base/$1" $2 bash "$base/test/run.sh") >"$base/$1.tap"
	e2e_rc=$?
	[ "$e2e_rc" -eq 0 ] || echo "not ok - $1: script ended with status $e2e_rc" >>"$base/$1.tap"
	e2e_logs "$1" >>"$base/$1.tap"
	cat "$base/$1.tap"
}

# With E2E_LOGS=1, and in the full form: every line that the script's runs left in their own logs, but for the runs
# that it made up or damaged itself (damages RUN). Shared files are the script's to look at.
e2e_logs() # NAME
{
	[ "${E2E_LOGS:-$(full && echo 1)}" = 1 ] && python3 -c "import jsonschema" 2>/dev/null || return
	e2e_name=$1
	set --
	for e2e_run in "$base/$e2e_name"/home/.local/state/sbx-launch/runs/2*; do
		[ ! -d "$e2e_run" ] || grep -qxF "${e2e_run##*/}" "$base/$e2e_name/damaged" 2>/dev/null || set -- "$@" "$e2e_run"
	done
	[ $# -gt 0 ] || return
	e2e_wrong=$(python3 "$base/test/validate_log.py" --own "$@" 2>&1) && echo "ok - $e2e_name: the lines that all runs left keep to the schema" && return
	echo "not ok - $e2e_name: the lines that all runs left keep to the schema"
	printf '%s\n' "$e2e_wrong" | sed 's/^/# /' | head -n 30
}

# With E2E_REMEDIES=DIR, of tests/remedies/run.sh: whatever advice the programs print is tried.
e2e_teller()
{
	cp -a "$base/bin" "$base/real"
	cp "$bin/tests/widened" "$base/real"
	mkdir "$base/teller" "$base/copies"
	cp "$e2e_support"/../remedies/*.py "$base/teller"
	chmod 1777 "$base/copies"
	chmod -R a+rX "$base/real" "$base/teller"
	chmod a+x "$base/teller/teller.py"
	ln -s "$E2E_REMEDIES" "$base/remedies"
	basename "$0" >"$base/script"
	for e2e_program in sbx-launch sbx-policy; do
		rm "$base/bin/$e2e_program"
		cp "$base/teller/teller.py" "$base/bin/$e2e_program"
	done
}

damages() # RUN...: ids
{
	printf '%s\n' "$@" >>"$E2E_ROOT/damaged"
}

# The full form?
full()
{
	[ -n "${FULL:-}" ]
}

# How often; or which words.
rounds() # QUICK FULL
{
	full && echo "$2" || echo "$1"
}

# The first N words in the quick form, all in the full one.
first() # N WORD...
{
	full || set -- "${@:1:$(($1 + 1))}"
	shift
	echo "$@"
}

# Do the checks that depend on nobody run here? Not as root in the quick form, where the ordinary user's follow.
common()
{
	[ "${E2E_COMMON:-}" != no ]
}

ok() # NAME
{
	echo "ok - $E2E_INNER: $1"
	e2e_time
}

# With E2E_TIMES=1: a line with the milliseconds since the last one, to see where a script's time goes.
e2e_time()
{
	[ -n "${E2E_TIMES:-}" ] || return 0
	set -- "$(date +%s%3N)"
	echo "# $(($1 - ${e2e_last:-$1})) ms"
	e2e_last=$1
}

not_ok() # NAME, then what is known of it on stdin
{
	echo "not ok - $E2E_INNER: $1"
	sed 's/^/# /' | head -n "${E2E_LINES:-30}"
	e2e_time
}

# Every row of a file of tests/vectors has a function called as its id, which is true, or 77 where
# there is nothing to be tried. Rows that do not bind are not in the file.
rows() # FILE.tsv
{
	local id rest all=0
	while IFS=$'\t' read -r id rest; do
		case $id in '#'*) continue ;; esac
		all=$((all + 1))
		"${id//-/_}" >"$TMP/check.out" 2>&1
		case $? in
		0) ok "$id: $rest" ;;
		77) skip "$id: $rest" 'not as this user, or on this host' ;;
		*) not_ok "$id: $rest" <"$TMP/check.out" ;;
		esac
	done <"$(dirname "$0")/$1"
	check "$1 has rows" [ $all -gt 0 ]
}

skip() # NAME REASON
{
	echo "ok - $E2E_INNER: $1 # SKIP $2"
}

check() # NAME COMMAND...: it succeeds
{
	e2e_name=$1
	shift
	if "$@" >"$TMP/check.out" 2>&1; then
		ok "$e2e_name"
	else
		{ echo "failed: $*"; cat "$TMP/check.out"; } | not_ok "$e2e_name"
	fi
}

# An empty workspace, the current directory.
fresh()
{
	cd / || exit 1
	chmod -R u+rwx "$WS" 2>/dev/null
	rm -rf "$WS"
	mkdir -p "$WS" && cd "$WS" || exit 1
}

# PREPARE (a function, may be `:`) fills the workspace; SCRIPT then runs bare and sandboxed.
same_after() # NAME PREPARE SCRIPT [SBX-OPTIONS...]
{
	e2e_name=$1 e2e_prepare=$2 e2e_script=$3
	shift 3
	fresh
	$e2e_prepare
	bash -c "$e2e_script" >"$TMP/bare.out" 2>"$TMP/bare.err" </dev/null
	echo "status $?" >>"$TMP/bare.out"
	fresh
	$e2e_prepare
	"$SBX" "$@" -- bash -c "$e2e_script" >"$TMP/sbx.out" 2>"$TMP/sbx.err" </dev/null
	echo "status $?" >>"$TMP/sbx.out"
	if cmp -s "$TMP/bare.out" "$TMP/sbx.out" && cmp -s "$TMP/bare.err" "$TMP/sbx.err"; then
		ok "$e2e_name"
	else
		{ diff "$TMP/bare.out" "$TMP/sbx.out"; diff "$TMP/bare.err" "$TMP/sbx.err"; } |
			not_ok "$e2e_name"
	fi
}

same() # NAME SCRIPT [SBX-OPTIONS...]
{
	e2e_n=$1 e2e_s=$2
	shift 2
	same_after "$e2e_n" : "$e2e_s" "$@"
}

# Runs sbx-launch; sets $status, leaves $TMP/out and $TMP/err.
launch() # ARGS...
{
	"$SBX" "$@" >"$TMP/out" 2>"$TMP/err" </dev/null
	status=$?
}

# The command prints this, and nothing else on standard output; whatever it and its status say.
out() # TEXT ARGS...
{
	e2e_want=$1
	shift
	launch -q "$@"
	[ "$(cat "$TMP/out")" = "$e2e_want" ] || { cat "$TMP/out" "$TMP/err"; return 1; }
}

# sbx-policy ends so, prints this, and nothing on standard error.
answers() # STATUS TEXT ARGS...
{
	e2e_want=$1 e2e_text=$2
	shift 2
	"$POLICY" "$@" >"$TMP/out" 2>"$TMP/err" </dev/null
	status=$?
	[ "$status" -eq "$e2e_want" ] && [ "$(cat "$TMP/out")" = "$e2e_text" ] && [ ! -s "$TMP/err" ] || {
		echo "status $status"
		cat "$TMP/out" "$TMP/err"
		return 1
	}
}

if [ -z "${E2E_INNER:-}" ]; then
	e2e_outer
fi
# E2E_KIN=parent: as on a host whose Yama lets only ancestors look into a process. What is remembered
# of this host says so; the broker then is the command's parent in every run of this user.
e2e_be_parent()
{
	(cd / && "$SBX" -q --no-shim --workspace "$E2E_ROOT" -- true && "$SBX" -q --no-shim --workspace "$E2E_ROOT" -- true) &&
		sed -i 's/^0 0 0 0 0 0 0 0 0 end$/7 1 0 0 0 0 0 0 0 end/' "$HOME/.local/state/sbx-launch/host" &&
		grep -q '^7 1 0 0' "$HOME/.local/state/sbx-launch/host"
}
if [ "${E2E_KIN:-}" = parent ] && ! e2e_be_parent; then
	echo "not ok - $E2E_INNER: the broker cannot be made the parent"
	exit 1
fi
TMP=$E2E_ROOT/scratch
WS=$E2E_ROOT/ws
mkdir -p "$TMP"
fresh
