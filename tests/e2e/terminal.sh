#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Job control under a pseudo-terminal: Ctrl-C, Ctrl-Z, fg, bg, suspend, resize, hang-up.
. "$(dirname "$0")/../support/e2e.sh"
python3 "$(dirname "$0")/tty_tests.py"
