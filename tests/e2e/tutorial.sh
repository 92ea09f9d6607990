#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# docs/TUTORIAL.md, played as a reader would type it.
. "$(dirname "$0")/../support/e2e.sh"
HOME=$TMP/me
mkdir "$HOME" && export HOME PATH="${SBX%/*}:$PATH"
unset GIT_DIR
python3 "$(dirname "$0")/console.py" "$(dirname "$0")/TUTORIAL.md" | sed "s/^\(not \)\{0,1\}ok - /&$E2E_INNER: /"
