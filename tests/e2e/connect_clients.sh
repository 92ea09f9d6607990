#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Programs that people use, through an endpoint whose requests are judged inside of TLS, with the
# variables as the run sets them, none changed by hand.
CONNECT_TLS=1
. "$(dirname "$0")/../support/e2e.sh"
. "$(dirname "$0")/connect.sh"

D=${PLACE:-$TMP}/policies
mkdir -p "$D"
cat >"$D/p.yaml" <<'P'
schemaVersion: 2
kind: Policy
metadata: {name: n}
spec:
  fsProfiles:
    dev:
      read: ["**"]
      modify: ["**"]
      connect:
        - to: s.example.net:443
          http: [GET /git/**, POST /git/**, GET /pip/**, GET /npm/**, GET /cargo/**, GET /ok/**]
P
cp "$NAMES/ca.pem" "$D/ca.pem"
chmod -R a+rX "$D"
P="--policy $D/p.yaml --profile dev"
U=https://s.example.net
export SSL_CERT_FILE=$D/ca.pem
W=$NAMES/www
have() # PROGRAM
{
	command -v "$1" >/dev/null || { skip "$1" "is not there"; return 1; }
}

as_each curl 0 '^s.example.net /ok/x$' $P -- curl -sS -m 20 $U/ok/x
as_each 'curl, what is denied' 22 'The requested URL returned error: 403' $P -- curl -fsS -m 20 $U/other

# ---- git ----

mkdir -p "$W/git"
git init -q --bare "$W/git/r.git"
git -C "$W/git/r.git" config http.receivepack true
git init -q "$TMP/r"
git -C "$TMP/r" -c user.name=x -c user.email=x@example.net commit -q --allow-empty -m first
git -C "$TMP/r" push -q "$W/git/r.git" HEAD:refs/heads/main
git -C "$W/git/r.git" symbolic-ref HEAD refs/heads/main
chmod -R a+rwX "$W/git"
as_each 'git clone' 0 '^first$' $P -- sh -c "rm -rf c && git -c safe.directory='*' clone -q $U/git/r.git c && git -C c log --format=%s"
as_each 'git push' 0 '^second$' $P -- sh -c "rm -rf c && git clone -q $U/git/r.git c && cd c &&
	git -c user.name=x -c user.email=x@example.net commit -q --allow-empty -m second && git push -q origin HEAD:refs/heads/other-\$\$ && git log -1 --format=%s"
as_each 'git, what is denied' 128 'error: 403' $P -- git ls-remote $U/no.git

# ---- Python ----

as_each python 0 '^s.example.net /ok/py$' $P -- python3 -c "
import urllib.request; print(urllib.request.urlopen('$U/ok/py', timeout=20).read().decode())"
if python3 -c 'import requests' 2>/dev/null; then
	as_each 'python, requests' 0 '^s.example.net /ok/rq$' $P -- python3 -c "import requests; print(requests.get('$U/ok/rq', timeout=20).text)"
fi
if have pip3; then
	mkdir -p "$W/pip/simple/thing" "$TMP/thing-1.0.dist-info"
	(cd "$TMP" && echo 'n = 7' >thing.py && printf 'Metadata-Version: 2.1\nName: thing\nVersion: 1.0\n' >thing-1.0.dist-info/METADATA &&
		printf 'Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n' >thing-1.0.dist-info/WHEEL &&
		printf 'thing.py,,\nthing-1.0.dist-info/METADATA,,\nthing-1.0.dist-info/WHEEL,,\nthing-1.0.dist-info/RECORD,,\n' >thing-1.0.dist-info/RECORD &&
		python3 -m zipfile -c "$W/pip/thing-1.0-py3-none-any.whl" thing.py thing-1.0.dist-info)
	echo '<a href="../../thing-1.0-py3-none-any.whl">thing-1.0-py3-none-any.whl</a>' >"$W/pip/simple/thing/index.html"
	as_each pip 0 '^7$' $P -- sh -c "rm -rf p && PIP_DISABLE_PIP_VERSION_CHECK=1 pip3 install -q --no-cache-dir --target p --index-url $U/pip/simple/ thing &&
		PYTHONPATH=p python3 -c 'import thing; print(thing.n)'"
fi

# ---- Node ----

if have node; then
	as_each 'node, fetch' 0 '^s.example.net /ok/js$' $P -- node -e "fetch('$U/ok/js').then(r => r.text()).then(t => console.log(t))"
	as_each 'node, https' 0 '^s.example.net /ok/js$' $P -- node -e "require('https').get('$U/ok/js', r => r.pipe(process.stdout))"
fi
if have npm; then
	mkdir -p "$W/npm" "$TMP/n/package"
	echo '{"name":"thing","version":"1.0.0","main":"i.js"}' >"$TMP/n/package/package.json"
	echo 'module.exports = 7' >"$TMP/n/package/i.js"
	tar -C "$TMP/n" -czf "$W/npm/thing-1.0.0.tgz" package
	sum=sha512-$(openssl dgst -sha512 -binary "$W/npm/thing-1.0.0.tgz" | base64 -w 0)
	printf '{"name":"thing","dist-tags":{"latest":"1.0.0"},"versions":{"1.0.0":{"name":"thing","version":"1.0.0","main":"i.js","dist":{"tarball":"%s/npm/thing-1.0.0.tgz","integrity":"%s"}}}}' \
		$U "$sum" >"$W/npm/thing"
	as_each npm 0 '^7$' $P -- sh -c "rm -rf node_modules package*.json && npm install --no-audit --no-fund --silent --no-update-notifier --cache \"\$TMPDIR/npm\" --registry $U/npm/ thing &&
		node -p 'require(\"thing\")'"
fi

# ---- Java ----

if have javac; then
	cat >Get.java <<'J'
import java.net.*;
import java.net.http.*;
public class Get {
	public static void main(String[] a) throws Exception {
		URI uri = URI.create("https://s.example.net/ok/java");
		System.out.print(new String(uri.toURL().openStream().readAllBytes()));
		System.out.print("again " + HttpClient.newHttpClient().send(HttpRequest.newBuilder(uri).build(),
			HttpResponse.BodyHandlers.ofString()).body());
	}
}
J
	[ -z "${PLACE:-}" ] || cp Get.java "$PLACE/ws/"
	as_each 'java, both clients' 0 '^again s.example.net /ok/java$' $P -- java Get.java
fi

# ---- Go, Rust ----

if have go; then
	cat >get.go <<'G'
package main

import ("fmt"; "io"; "net/http")

func main() {
	r, err := http.Get("https://s.example.net/ok/go")
	if err != nil { panic(err) }
	b, _ := io.ReadAll(r.Body)
	fmt.Print(string(b))
}
G
	go build -o get get.go && cp get "${PLACE:-.}/ws/" 2>/dev/null
	as_each go 0 '^s.example.net /ok/go$' $P -- ./get
fi
# Debian's first, which the user may run; before 1.68 an index is a repository of git.
CARGO=/usr/bin/cargo
[ -x $CARGO ] || CARGO=cargo
if have $CARGO; then
	mkdir -p "$W/cargo/th/in" "$TMP/thing-1.0.0/src" mine/src
	printf '[package]\nname = "thing"\nversion = "1.0.0"\nedition = "2021"\n' >"$TMP/thing-1.0.0/Cargo.toml"
	echo 'pub fn n() -> u32 { 7 }' >"$TMP/thing-1.0.0/src/lib.rs"
	tar -C "$TMP" -czf "$W/cargo/thing.crate" thing-1.0.0
	printf '{"dl":"%s/cargo/{crate}.crate"}' $U >"$W/cargo/config.json"
	printf '{"name":"thing","vers":"1.0.0","deps":[],"cksum":"%s","features":{},"yanked":false}\n' \
		"$(sha256sum "$W/cargo/thing.crate" | cut -d' ' -f1)" >"$W/cargo/th/in/thing"
	git init -q "$TMP/index"
	cp -r "$W/cargo/config.json" "$W/cargo/th" "$TMP/index/"
	git -C "$TMP/index" add .
	git -C "$TMP/index" -c user.name=x -c user.email=x@example.net commit -q -m index
	git clone -q --bare "$TMP/index" "$W/git/index.git"
	chmod -R a+rwX "$W/git"
	printf '[package]\nname = "mine"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\nthing = { version = "1", registry = "ours" }\n' >mine/Cargo.toml
	echo 'fn main() { println!("{}", thing::n()) }' >mine/src/main.rs
	[ -z "${PLACE:-}" ] || { cp -r mine "$PLACE/ws/" && chown -R $E2E_UID:$E2E_UID "$PLACE/ws/mine"; }
	case $($CARGO --version) in
	'cargo 0.'* | 'cargo 1.'[0-9].* | 'cargo 1.'[1-5][0-9].* | 'cargo 1.6'[0-7].*) indexes="$U/git/index.git" ;;
	*) indexes="sparse+$U/cargo/ $U/git/index.git" ;;
	esac
	for index in $indexes; do
		as_each "cargo, ${index%%https:*}index" 0 'thing v1.0.0' $P -- sh -c "cd mine && rm -rf Cargo.lock \$TMPDIR/cargo &&
			CARGO_HOME=\$TMPDIR/cargo CARGO_REGISTRIES_OURS_INDEX=$index $CARGO fetch &&
			grep -A 1 thing Cargo.lock && ls \$TMPDIR/cargo/registry/cache/*/thing-1.0.0.crate && echo thing v1.0.0"
	done
fi
