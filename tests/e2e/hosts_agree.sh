#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The filters that containers have, and random hosts: a strict run is what --doctor says of it, and
# holds. `make check-hosts` does two hundred.
. "$(dirname "$0")/../support/e2e.sh"

HOST=$(dirname "$SBX")/mkhost
if ! [ -x "$HOST" ] || ! "$HOST" --no openat2 true 2>/dev/null; then
	skip 'hosts that lack something' 'mkhost cannot make them here'
	exit 0
fi
if [ "$(id -u)" = 0 ]; then
	check "an engine's filter comes with the capabilities it leaves" [ "$("$HOST" --in docker grep CapEff /proc/self/status | cut -f 2)" = 00000000a80425fb ]
fi
if ! full && [ "$(id -u)" = 0 ]; then # places that root alone can make; the table is the ordinary user's
	python3 "$(dirname "$0")/hosts.py" "$HOST" "$SBX" 3 "${HOSTS_SEED:-}"
	exit
fi
python3 "$(dirname "$0")/hosts.py" --table "$HOST" "$SBX" >"$TMP/table" 2>&1
check 'each filter: what the doctor says is what a run does, and holds' \
	sh -c '[ "$(grep -c "^| .* | [a-z]* | [a-z]* | [a-z]* |" "$1")" -ge 12 ] && ! grep -e DIFFERS -e Traceback "$1" || { tail -n 12 "$1"; exit 1; }' - "$TMP/table"
[ -z "${HOSTS_TABLE:-}" -o "$E2E_INNER" != root ] || cp "$TMP/table" "$HOSTS_TABLE"
full || exit 0
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then # most places only root can make
	python3 "$(dirname "$0")/hosts.py" --places "$HOST" "$SBX" >"$TMP/places" 2>"$TMP/places.err"
	check 'each place a container makes: what the doctor says is what a run does, and holds' \
		sh -c '[ "$(grep -cE "\| (runs|refused) \| (runs|refused) \|" "$1")" -ge 8 ] && ! grep -e DIFFERS -e Traceback "$1" "$1.err" || { cat "$1" "$1.err"; exit 1; }' - "$TMP/places"
	[ -z "${HOSTS_TABLE:-}" ] || cp "$TMP/places" "${HOSTS_TABLE%.md}-places.md"
else
	skip 'the places a container makes' 'only root can make them'
fi
python3 "$(dirname "$0")/hosts.py" "$HOST" "$SBX" "${HOSTS_ROUNDS:-6}" "${HOSTS_SEED:-}"
