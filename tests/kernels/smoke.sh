#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a person does on the first day, in an empty directory below $HOME: one line each, "ok NAME" or
# "not ok NAME: what came instead". Status 0 when all are ok.
bad=0

day() # NAME WANTED-LAST-LINE ARGS...: of sbx-launch
{
	name=$1 want=$2
	shift 2
	got=$(timeout 120 sbx-launch -qq "$@" 2>&1 </dev/null | tail -n 1)
	# shellcheck disable=SC2254
	case $got in
	$want) echo "ok $name" ;;
	*)
		bad=1
		echo "not ok $name: $got" | cut -c 1-300
		;;
	esac
}

rm -rf "$HOME/day" && mkdir -p "$HOME/day" "$HOME/.ssh" && echo key >"$HOME/.ssh/id_rsa" && cd "$HOME/day" || exit 2
git init -q . && git config user.name day && git config user.email day@example.org

day write done -- sh -c 'echo 1 >f && cat f >seen && mkdir d && mv f d/g && ln d/g d/h && rm -r d && echo done'
day trunc 3 -- sh -c 'echo long >t && : >t && echo long >t && truncate -s 3 t && wc -c <t'
day trunc-outside '*denied*' -- sh -c 'truncate -s 0 "$HOME/.ssh/id_rsa" && echo cut'
day trunc-reading '*denied*' -- python3 -c 'import os; os.open("/etc/hostname", os.O_RDONLY | os.O_TRUNC)'
day secret '*denied*' -- cat "$HOME/.ssh/id_rsa"
day hook '*denied*' -- sh -c 'echo evil >.git/hooks/pre-commit'
day commit '*first*' -- sh -c 'echo a >a && git add a && git commit -qm first && git log --oneline'
day glob other --deny-read '**/*.env' -- sh -c 'echo s >x.env; cat x.env; echo other >o && cat o'
day glob-held '*denied*' --deny-read '**/*.env' -- sh -c 'echo s >y.env; cat y.env'
day host-network written --network host -- sh -c 'echo written >n; cat n'
day no-network '*sbx-no-route*' -- python3 -c '
import socket
try: socket.create_connection(("192.0.2.1", 80), 5)
except OSError: print("sbx-no-route")'
day rename moved -- sh -c 'mkdir -p p/q r && echo moved >p/q/f && mv p/q r/ && cat r/q/f'
day python 42 -- python3 -c 'import json, tempfile; tempfile.TemporaryFile(); print(json.loads("42"))'
day make built -- sh -c 'printf "all:\n\t@echo built >out; cat out\n" >Makefile && make -s'
day signal 143 -- sh -c 'sh -c "kill -TERM \$\$"; echo $?'
day inside within -- sbx-launch -q -- sh -c 'echo within >w && cat w'
day result-json '*"success":*true*' --result-json 1 -- true
exit $bad
