#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# docs/TUTORIAL.md and docs/READING-THE-RECORD.md, played as a reader would type them.
. "$(dirname "$0")/../support/e2e.sh"
export PATH="${SBX%/*}:$PATH"
unset GIT_DIR
for page in TUTORIAL READING-THE-RECORD; do
	export HOME=$TMP/$page
	mkdir "$HOME"
	python3 "$(dirname "$0")/console.py" "$(dirname "$0")/$page.md" | sed "s/^\(not \)\{0,1\}ok - /&$E2E_INNER: $page: /"
done
