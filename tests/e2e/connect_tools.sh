#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The network by name for tools that nobody looks into (connect.sh and connect_clients.sh have others): package
# managers without encryption, psql, a static Go program; each reaches what a rule names, and nothing else.
. "$(dirname "$0")/../support/e2e.sh"
. "$(dirname "$0")/connect.sh"

mkdir -p "$TMP/www/simple/thing" "$TMP/www/apt"
has()
{
	command -v "$1" >/dev/null && return
	skip "$1" 'is not there'
	return 1
}
put() # FILE: to where each of $WHO works
{
	cp "$1" . 2>/dev/null
	[ -z "${PLACE:-}" ] || { cp "$1" "$PLACE/ws/" && chmod a+rX "$PLACE/ws/${1##*/}"; }
}

# ---- servers: files, and what psql says hello to ----

cat >"$TMP/serve.py" <<'P'
import functools, http.server, os, socket, struct, sys, threading
socket.getfqdn = lambda *_: "names"
class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *a): pass
def pg():
    l = socket.create_server(("93.184.216.34", 5432))
    while True:
        c, _ = l.accept()
        try:
            while True:
                n = struct.unpack(">I", c.recv(4))[0]
                kind = struct.unpack(">I", c.recv(n - 4)[:4])[0]
                if kind in (80877103, 80877104): c.sendall(b"N"); continue
                break
            text = b"SFATAL\0C28000\0Mwelcome from the database\0\0"
            c.sendall(b"E" + struct.pack(">I", len(text) + 4) + text)
        except OSError: pass
        c.close()
threading.Thread(target=pg, daemon=True).start()
s = http.server.ThreadingHTTPServer(("93.184.216.34", 8070), functools.partial(Quiet, directory=sys.argv[1]))
open(sys.argv[1] + "/ready", "w").close()
s.serve_forever()
P
python3 "$TMP/serve.py" "$TMP/www" &
served=$!
trap 'kill $connect_server $served 2>/dev/null; rm -rf "${PLACE:-/nonexistent}"' EXIT
for _ in $(seq 300); do
	[ -e "$TMP/www/ready" ] && break
	sleep 0.1
done
A='--connect a.example.net:8070'
U=http://a.example.net:8070
N=http://other.example.net:8070

# ---- psql ----

if has psql; then
	as_each psql 2 'welcome from the database' --connect a.example.net:5432 -- \
		psql -w 'host=a.example.net connect_timeout=20 user=x dbname=x' -c 'select 1'
	as_each 'psql, what is denied' 2 'denied connect a.example.net:5432' $A -- \
		psql -w 'host=a.example.net connect_timeout=20 user=x dbname=x' -c 'select 1'
fi

# ---- pip ----

python3 - "$TMP/www/simple/thing" <<'P'
import sys, zipfile
with zipfile.ZipFile(sys.argv[1] + "/thing-1.0-py3-none-any.whl", "w") as z:
    z.writestr("thing.py", "N = 7\n")
    z.writestr("thing-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: thing\nVersion: 1.0\n")
    z.writestr("thing-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    z.writestr("thing-1.0.dist-info/RECORD", "")
P
if python3 -m pip --version >/dev/null 2>&1; then
	PIP='PIP_DISABLE_PIP_VERSION_CHECK=1 python3 -m pip install -q --no-cache-dir --retries 0 --timeout 20 --target p --trusted-host'
	as_each pip 0 '^7$' $A -- sh -c "rm -rf p; $PIP a.example.net --index-url $U/simple thing && PYTHONPATH=p python3 -c 'import thing; print(thing.N)'"
	as_each 'pip, what is denied' 1 'denied connect other.example.net' $A -- sh -c "rm -rf p; $PIP other.example.net --index-url $N/simple thing"
else
	skip pip 'is not there'
fi

# ---- npm ----

if has npm; then
	mkdir "$TMP/package"
	echo '{"name": "thing", "version": "1.0.0"}' >"$TMP/package/package.json"
	echo 'module.exports = 7' >"$TMP/package/index.js"
	tar -C "$TMP" -czf "$TMP/www/thing-1.0.0.tgz" package
	echo "{\"name\": \"thing\", \"dist-tags\": {\"latest\": \"1.0.0\"}, \"versions\": {\"1.0.0\": {\"name\": \"thing\",
		\"version\": \"1.0.0\", \"dist\": {\"tarball\": \"$U/thing-1.0.0.tgz\"}}}}" >"$TMP/www/thing"
	NPM='rm -rf node_modules package*.json; npm install --no-audit --no-fund --silent --no-update-notifier --fetch-retries 0 --cache $TMPDIR/npm'
	as_each npm 0 '^7$' $A -- sh -c "$NPM --registry $U/ thing && node -p 'require(\"thing\")'"
	as_each 'npm, what is denied' 1 'denied connect other.example.net' $A -- sh -c "$NPM --registry $N/ thing"
fi

# ---- apt ----

if has apt-get; then
	: >"$TMP/www/apt/Packages"
	APT='mkdir -p apt/lists/partial apt/cache/archives/partial apt/etc; echo "deb [trusted=yes] $0/apt ./" >apt/list; : >apt/status
		apt-get update -q -o APT::Sandbox::User= -o Dir::Etc=$PWD/apt/etc -o Dir::Etc::SourceList=$PWD/apt/list -o Dir::Etc::SourceParts=/dev/null \
		-o Dir::State=$PWD/apt -o Dir::State::status=$PWD/apt/status -o Dir::Cache=$PWD/apt/cache -o Acquire::Retries=0 -o Acquire::http::Timeout=20 2>&1'
	as_each apt 0 'a.example.net:8070/apt ./ (Packages|Release)|Reading package lists' $A -- sh -c "$APT" $U
	as_each 'apt has the list' 0 'apt_._Packages(.lz4)?$' $A -- sh -c 'ls apt/lists'
	as_each 'apt, what is denied' '0' "Could not resolve 'other.example.net'|denied connect other.example.net" $A -- sh -c "$APT" $N
fi

# ---- a static Go program ----

if full && has go; then
	mkdir "$TMP/go"
	cat >"$TMP/go/get.go" <<'G'
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
)

func main() {
	r, err := http.Get(os.Args[1])
	if err != nil {
		fmt.Println(err)
		os.Exit(6)
	}
	b, _ := io.ReadAll(r.Body)
	fmt.Println(len(b))
}
G
	if (cd "$TMP/go" && CGO_ENABLED=0 GO111MODULE=off GOCACHE=$TMP/go/cache go build -o "$TMP/goget" get.go) 2>"$TMP/go/err"; then
		put "$TMP/goget"
		as_each 'static Go' 0 '^[1-9]' $A -- ./goget $U/simple/
		as_each 'static Go, what is denied' 6 'no such host' $A -- ./goget $N/
	else
		skip 'static Go' "$(head -c 99 "$TMP/go/err" | tr '\n' ' ')"
	fi
fi
