#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every key that public policy files of other systems have loads, or is refused with its place.
# shellcheck source=tests/support/e2e.sh
. "$(dirname "$0")/../support/e2e.sh"

here=$(dirname "$0")
command -v python3 >/dev/null || { skip 'keys of public files' 'python3 is not installed'; exit 0; }
check 'keys of public files' python3 "$here/foreign_keys.py" "$(dirname "$SBX")/sbx-policy" "$here/foreign_keys.tsv"
