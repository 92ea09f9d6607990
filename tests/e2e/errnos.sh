#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Calls with wrong arguments, or at the edge of what the kernel takes, end inside as they end bare.
# shellcheck source=tests/support/e2e.sh
. "$(dirname "$0")/../support/e2e.sh"

probe=$(dirname "$SBX")/tests/errno_matrix
[ -x "$probe" ] || probe=$(dirname "$SBX")/errno_matrix
same 'plain' "'$probe'" -q
same 'without the shim' "'$probe'" -q --no-shim
same 'under a pattern that denies reads' "'$probe'" -q --deny-read '**/*.never'
same 'so without the shim' "'$probe'" -q --no-shim --deny-read '**/*.never'
same 'without namespaces' "'$probe'" -q --isolate none --deny-modify '**/never/**'
# Bare, then by the shim alone, which denies what it cannot look at for want of descriptors: two for a change.
preloaded()
{
	fresh
	"$probe" >"$TMP/bare" 2>&1
	fresh
	XDG_STATE_HOME=$TMP/state SBX_PROFILE=default bash -c 'eval "$("$0" --print-env --workspace "$PWD")" && exec "$1"' "$SBX" "$probe" >"$TMP/out" 2>&1
	diff <(sed '/^1 left/,$ { /^mkdir/,$d }' "$TMP/bare") <(sed '/^1 left/,$ { /^mkdir/,$d }' "$TMP/out")
}
check 'in preload-only mode' preloaded
fresh
"$probe" >"$TMP/out"
check 'so many calls' [ "$(wc -l <"$TMP/out")" -gt 200 ]
