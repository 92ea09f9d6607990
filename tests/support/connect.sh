# SPDX-License-Identifier: Apache-2.0
# connect.sh - sourced after e2e.sh by tests of the network by name: goes on in a network namespace
# with invented names and addresses, the servers of names.py, and a resolver of its own.
#
#	. "$(dirname "$0")/connect.sh"
#	as_each 'a page' page --connect a.example.net:80 -- curl ...
#
# $NAMES is a directory: `asked` has what the world was asked for. $WHO are the users to run as.

connect_names='a.example.net=93.184.216.34 b.example.net=93.184.216.34,2a00:1450::5
	six.example.net=2a00:1450::5 priv.example.net=10.9.9.9 loop.example.net=127.0.0.1
	mixed.example.net=93.184.216.34,127.0.0.1 w.wild.example.org=93.184.216.34
	x.y.wild.example.org=93.184.216.34 xn--80a.example.net=93.184.216.35
	nat.example.net=64:ff9b::5db8:d823 turns.example.net=169.254.169.254 other.example.net=93.184.216.35'
# With CONNECT_TLS=1 the servers of tls_servers.py as well; $NAMES/ca.pem is their authority.
connect_tls=
if [ -n "${CONNECT_TLS:-}" ]; then
	connect_tls='dns:s.example.net=93.184.216.40 dns:t.example.net=93.184.216.40 dns:self.example.net=93.184.216.41
		dns:mutual.example.net=93.184.216.42 dns:wrong.example.net=93.184.216.43 dns:cut.example.net=93.184.216.44'
fi

if [ -z "${IN_NAMES:-}" ]; then
	if ! command -v python3 >/dev/null || ! command -v ip >/dev/null; then
		skip 'the network by name' 'needs python3 and ip'
		exit 0
	fi
	connect_in='unshare -n -m'
	[ "$(id -u)" -eq 0 ] || connect_in='unshare -U -r -n -m'
	if ! $connect_in true 2>/dev/null; then
		skip 'the network by name' 'no namespaces can be made'
		exit 0
	fi
	IN_NAMES=1 $connect_in bash "$0"
	exit
fi

NAMES=$TMP/names
rm -rf "$NAMES"
mkdir "$NAMES"
ip link set lo up
for connect_a in 93.184.216.34 93.184.216.35 10.9.9.9 192.0.2.53; do
	ip addr add $connect_a/32 dev lo
done
ip -6 addr add 2a00:1450::5/128 dev lo nodad
ip -6 addr add 64:ff9b::5db8:d823/128 dev lo nodad
printf 'nameserver 127.0.0.1\noptions timeout:2 attempts:2\nsearch search.example\n' >"$NAMES/resolv.conf"
printf '127.0.0.1 localhost\n::1 localhost\n' >"$NAMES/hosts"
mount --bind "$NAMES/resolv.conf" /etc/resolv.conf && mount --bind "$NAMES/hosts" /etc/hosts || exit 1
# shellcheck disable=SC2086
python3 "$(dirname "$0")/names.py" "$NAMES" $connect_names $connect_tls &
connect_server=$!
trap 'kill $connect_server 2>/dev/null' EXIT
if [ -n "$connect_tls" ]; then
	for connect_a in 0 1 2 3 4; do
		ip addr add 93.184.216.4$connect_a/32 dev lo
	done
	python3 "$(dirname "$0")/tls_servers.py" "$NAMES" &
	connect_server="$connect_server $!"
fi
for _ in $(seq 600); do
	[ -e "$NAMES/ready" ] && { [ -z "$connect_tls" ] || [ -e "$NAMES/tls-ready" ]; } && break
	sleep 0.1
done

# As root, and there as an ordinary user as well (in the quick form as that one alone); in a user
# namespace there is one user.
WHO=me
if [ "$E2E_INNER" = root ]; then
	WHO=$(rounds nobody 'me nobody')
	PLACE=$(mktemp -d /tmp/sbx-connect.XXXXXX)
	trap 'kill $connect_server 2>/dev/null; rm -rf "$PLACE"' EXIT
	mkdir "$PLACE/home" "$PLACE/ws" "$PLACE/tmp"
	chown -R $E2E_UID:$E2E_UID "$PLACE"
	chmod 755 "$PLACE"
fi

# ARGS to sbx-launch as that user: $status, $TMP/out, $TMP/err.
launch_as() # WHO ARGS...
{
	connect_who=$1
	shift
	if [ "$connect_who" = me ]; then
		"$SBX" "$@" >"$TMP/out" 2>"$TMP/err" </dev/null
	else
		(cd "$PLACE/ws" && HOME=$PLACE/home TMPDIR=$PLACE/tmp setpriv --reuid=$E2E_UID --regid=$E2E_UID \
			--clear-groups "$SBX" "$@" >"$TMP/out" 2>"$TMP/err" </dev/null)
	fi
	status=$?
}

# The command ends with this status, and both streams together match the pattern (grep -E).
as_each() # NAME STATUS PATTERN ARGS...
{
	e2e_name=$1 e2e_want=$2 e2e_pattern=$3
	shift 3
	for connect_w in $WHO; do
		launch_as $connect_w "$@"
		if [ "$status" -eq "$e2e_want" ] && cat "$TMP/out" "$TMP/err" | grep -qE -- "$e2e_pattern"; then
			ok "$connect_w: $e2e_name"
		else
			{ echo "status $status, not $e2e_want; no $e2e_pattern in:"; cat "$TMP/out" "$TMP/err"; } |
				not_ok "$connect_w: $e2e_name"
		fi
	done
}
