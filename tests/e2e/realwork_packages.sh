#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Package managers and a dev server where **/*.env may not be read and .git/hooks/** not be changed.
# Slow starters, so for one user; node.sh and python.sh have both.
E2E_WHO=root
. "$(dirname "$0")/../support/e2e.sh"

[ "$E2E_INNER" != nobody ] || exit 0
under() # NAME PREPARE SCRIPT
{
	same_after "$1" "$2" "$3" -q --deny-read '**/*.env' --deny-modify '.git/hooks/**'
}
if command -v npm >/dev/null; then
	lock()
	{
		mkdir package
		echo '{"name":"dep","version":"1.2.3","main":"index.js"}' >package/package.json
		echo 'module.exports = "from the tarball";' >package/index.js
		echo 'KEY=example' >package/sample.env
		tar -czf dep-1.2.3.tgz --mtime=@0 --owner=0 --group=0 package && rm -r package
		echo '{"name":"app","version":"1.0.0","dependencies":{"dep":"file:dep-1.2.3.tgz"}}' >package.json
		cat >package-lock.json <<'J'
{"name":"app","version":"1.0.0","lockfileVersion":3,"requires":true,"packages":{
"":{"name":"app","version":"1.0.0","dependencies":{"dep":"file:dep-1.2.3.tgz"}},
"node_modules/dep":{"version":"1.2.3","resolved":"file:dep-1.2.3.tgz"}}}
J
	}
	under 'npm ci from a local tarball' lock '
		npm ci --offline --no-audit --no-fund --no-update-notifier --loglevel=error --cache ./.npm |
			sed "s/in [0-9.]*m\?s//"
		node -p "require(\"dep\")"; ls node_modules/dep'
	under 'a dev server on a Unix socket' : 'cat >s.js <<"J"
const http = require("http"), fs = require("fs");
const s = http.createServer((q, r) => r.end("page " + q.url)).listen("dev.sock", () =>
	http.get({ socketPath: "dev.sock", path: "/x" }, (r) => r.on("data", (d) => {
		console.log(r.statusCode, String(d)); s.close(() => console.log(fs.existsSync("dev.sock"))); })));
J
		node s.js'
else
	skip 'npm ci from a local tarball' 'no npm'
fi
if python3 -m pip --version >/dev/null 2>&1; then
	wheel()
	{
		python3 - <<'P'
import zipfile
d = "hello_sbx-1.0.dist-info/"
f = {"hello_sbx.py": "print('hello')\n", "data.env": "X=1\n",
     d + "METADATA": "Metadata-Version: 2.1\nName: hello-sbx\nVersion: 1.0\n",
     d + "WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
f[d + "RECORD"] = "".join(f"{n},,\n" for n in [*f, d + "RECORD"])
with zipfile.ZipFile("hello_sbx-1.0-py3-none-any.whl", "w") as z:
    [z.writestr(*i) for i in f.items()]
P
	}
	under 'pip install of a local wheel' wheel 'python3 -m pip --disable-pip-version-check install -q \
		--no-cache-dir --no-index --target t ./*.whl 2>&1 | grep -v WARNING; PYTHONPATH=t python3 -B -m hello_sbx; ls t'
else
	skip 'pip install of a local wheel' 'no pip'
fi
