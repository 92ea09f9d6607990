#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// Starts @PROGRAM@ of the package for this machine, and ends as it does.
'use strict';
const { spawn } = require('node:child_process');
const os = require('node:os');
const path = require('node:path');

const name = `sbx-launch-${process.platform}-${process.arch}`;
let root;
try {
	root = path.dirname(require.resolve(`${name}/package.json`));
} catch {
	console.error(`@PROGRAM@: E_SYSTEM: the package ${name} is not installed: there is none for this machine, or npm was told to omit optional ones`);
	process.exit(125);
}
const program = '@PROGRAM@' === 'sbx-shell' ? 'sbx-launch' : '@PROGRAM@';
const child = spawn(path.join(root, 'bin', program), process.argv.slice(2), { stdio: 'inherit', argv0: '@PROGRAM@' });
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'])
	process.on(signal, () => child.kill(signal));
child.on('error', (error) => {
	console.error(`@PROGRAM@: E_SYSTEM: ${error.message}`);
	process.exit(125);
});
child.on('exit', (status, signal) => process.exit(signal ? 128 + os.constants.signals[signal] : status));
