#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# node and npm, without a network.
. "$(dirname "$0")/../support/e2e.sh"

if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
	skip 'node' 'no node or npm'
	exit 0
fi

package()
{
	mkdir package
	echo '{"name":"local-dep","version":"1.2.3","main":"index.js","bin":{"local-dep":"cli.js"}}' \
		>package/package.json
	echo 'module.exports = () => "from the tarball";' >package/index.js
	printf '#!/usr/bin/env node\nconsole.log(require("./")());\n' >package/cli.js
	tar -czf local-dep-1.2.3.tgz --mtime=@0 --owner=0 --group=0 package
	rm -r package
	echo '{"name":"app","version":"1.0.0","private":true}' >package.json
}

same 'a script: files, child process, worker thread' '
	cat >a.js <<"JS"
const fs = require("fs"), cp = require("child_process"), { Worker } = require("worker_threads");
fs.writeFileSync("out.txt", "written");
console.log(fs.readFileSync("out.txt", "utf8"), cp.execSync("echo child").toString().trim());
new Worker("require(\"worker_threads\").parentPort.postMessage(7)", { eval: true })
	.on("message", (m) => console.log("worker", m)).on("exit", () => process.exit(3));
JS
	node a.js'
same_after 'npm install of a local tarball' package '
	npm install --offline --no-audit --no-fund --no-update-notifier --loglevel=error \
		--cache ./.npm ./local-dep-1.2.3.tgz | sed "s/in [0-9.]*m\?s//"
	node -e "console.log(require(\"local-dep\")())"
	./node_modules/.bin/local-dep && cat package.json'
# Without --cache, and ~/.npm is not to be written.
same_after 'npm install with the cache where it is by default' package '
	npm install --offline --no-audit --no-fund --no-update-notifier --loglevel=error \
		./local-dep-1.2.3.tgz | sed "s/in [0-9.]*m\?s//"
	node -e "console.log(require(\"local-dep\")())"'
npm_config_cache=$WS/.c same 'a cache of npm that the user chose stays' 'echo "$npm_config_cache$NPM_CONFIG_CACHE"'
NPM_CONFIG_CACHE=$WS/.c same 'also in capitals' 'echo "$npm_config_cache$NPM_CONFIG_CACHE"'
exit 0
