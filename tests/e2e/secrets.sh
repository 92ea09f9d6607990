#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every path of the `secrets` set below the home, made and attacked: by the kernel and the broker
# alone (--no-shim), and with the shim.
. "$(dirname "$0")/../support/e2e.sh"

"$(dirname "$SBX")/sbx-policy" show | sed -n "s,^  deny   set      \($HOME/[^ ].*\)  as ~/.*(preset:secrets:.*,\1,p" |
	sort -u >"$TMP/rules"
check 'the set speaks of the home' [ "$(wc -l <"$TMP/rules")" -gt 80 ]
while read -r rule; do
	case $rule in
	*/\*\*) file=${rule%/\*\*}/secret ;;
	*) file=$rule ;;
	esac
	mkdir -p "$(dirname "$file")"
	echo SECRET >"$file"
	echo "$file"
done <"$TMP/rules" >"$TMP/files"
sort -u "$TMP/files" >"$WS/files"
n=$(wc -l <"$WS/files")

cat >attack.py <<'EOF'
import os, sys
for path in open("files").read().splitlines():
    for what, act in (
        ("read", lambda: os.read(os.open(path, os.O_RDONLY), 99)),
        ("written", lambda: os.open(path, os.O_WRONLY | os.O_APPEND)),
        ("emptied", lambda: os.truncate(path, 0)),
        ("linked", lambda: os.link(path, "link")),
        ("moved", lambda: os.rename(path, "moved")),
        ("removed", lambda: os.unlink(path)),
    ):
        try:
            act()
            print(what, path)
        except OSError as e:
            if e.errno not in (1, 13, 18):
                print(what, path, e)
EOF
for option in --no-shim --strict; do
	launch -q "$option" python3 attack.py
	check "$option: nothing of it is read or changed" [ "$status" -eq 0 -a ! -s "$TMP/out" ]
	check "$option: all of it is still there" [ "$(xargs -d '\n' cat <files | grep -c SECRET)" -eq "$n" ]
done
cp -r files attack.py "$HOME"
(cd "$HOME" && mkdir -p try && sed "s,^$HOME,$HOME/try," files >files.try && xargs -d '\n' -n 1 dirname <files.try | xargs -d '\n' mkdir -p &&
	while read -r f; do echo SECRET >"$f"; done <files.try && mv files.try files && python3 attack.py >"$TMP/bare")
check 'the attack works where nobody looks' [ "$(grep -c '^read' "$TMP/bare")" -eq "$n" ]

# A shell at its start and its end is no news.
launch sh -c 'cat ~/.bash_history; echo x >>~/.bash_history; cat ~/.netrc'
check 'histories are closed quietly' [ "$(grep -c _history "$TMP/err" | sed s/2/0/)" = 0 ]
check 'other secrets are not' grep -q 'sbx-launch: denied read .*/.netrc ' "$TMP/err"
check 'and all is in the log' \
	[ "$("$(dirname "$SBX")/sbx-audit" 2>/dev/null | grep -c bash_history)" -ge 1 ]
exit 0
