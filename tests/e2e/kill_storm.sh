#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Any process of a run killed at any time: nothing of it is left (support/kill_storm.py).
# STORM_ROUNDS: of each user; `make kill-storm` asks for a thousand of both.
. "$(dirname "$0")/../support/e2e.sh"

# memory, as the channel wants it, and nobody else's
XDG_RUNTIME_DIR=$(mktemp -d /dev/shm/sbx-storm.XXXXXX) || exit 1
trap 'rm -rf "$XDG_RUNTIME_DIR"' EXIT
export XDG_RUNTIME_DIR XDG_STATE_HOME=$HOME/state
E2E_LINES=100
check 'killed at random: no process, no half-written run, no litter, the terminal as it was' \
	python3 "$(dirname "$0")/../test/kill_storm.py" "${STORM_ROUNDS:-25}" 5
[ -z "${STORM_ROUNDS:-}" ] || cat "$TMP/check.out"
exit 0
