#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# docs/RECIPES.md, played as a reader would type it.
E2E_WHO=user
. "$(dirname "$0")/../support/e2e.sh"
export PATH="${SBX%/*}:$PATH"
unset GIT_DIR
export HOME=$TMP/home
mkdir "$HOME"
command -v npm >/dev/null || { skip 'the recipes' 'no npm'; exit 0; }
python3 "$(dirname "$0")/console.py" "$(dirname "$0")/RECIPES.md" | sed "s/^\(not \)\{0,1\}ok - /&$E2E_INNER: /"
exit 0
