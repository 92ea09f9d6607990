// SPDX-License-Identifier: Apache-2.0
// What the trials of docs/fleet with programs of npm share: where things are, records, and what is expected of answers.
// FLEET_NODE: the directory with their node_modules.
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const top = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
export const fleet = path.join(top, 'docs/fleet');
const modules = createRequire(path.join(path.resolve(process.env.FLEET_NODE ?? path.join(top, 'build/fleet')), 'x.js'));
const failures = [];

/** A package, or status 77 where it is not installed. */
export function load(name) {
	try {
		return modules(name);
	} catch (e) {
		if (e.code !== 'MODULE_NOT_FOUND') throw e;
		console.log(JSON.stringify({ check: 'fleet', skipped: name }));
		process.exit(77);
	}
}

export function expect(what, got, wanted) {
	const [a, b] = [JSON.stringify(got), JSON.stringify(wanted)];
	if (a === b) return;
	failures.push(what);
	console.log(JSON.stringify({ wrong: what, got: a.slice(0, 400), wanted: b.slice(0, 400) }));
}

export function finish(values) {
	console.log(JSON.stringify({ ...values, failed: failures.length }));
	process.exitCode = failures.length ? 1 : 0;
}

/** A directory of its own, gone at the end. */
export function scratch() {
	const dir = fs.mkdtempSync(path.join(process.env.TMPDIR ?? os.tmpdir(), 'sbx-fleet.'));
	process.on('exit', () => fs.rmSync(dir, { recursive: true, force: true }));
	return dir;
}

/** Records of `hosts` hosts with `events` lines each below `state`; their directory. */
export function record(state, hosts, events, first = 0) {
	const runs = path.join(state, 'sbx-launch/runs');
	fs.mkdirSync(runs, { recursive: true, mode: 0o700 });
	execFileSync('python3', [path.join(top, 'tests/support/ship_runs.py'), 'make', runs, first, first + hosts, events].map(String));
	return runs;
}

/** Each line of the logs, read without the programs that are tried. */
export function* lines(runs) {
	for (const run of fs.readdirSync(runs).filter(name => /^\d/.test(name)).sort()) {
		const text = fs.readFileSync(path.join(runs, run, 'audit.jsonl'), 'utf8');
		for (const line of text.split('\n').slice(0, -1)) yield { run, line, e: JSON.parse(line) };
	}
}

export function tally(items, key) {
	const out = {};
	for (const one of items) {
		const k = key(one);
		if (k !== undefined) out[k] = (out[k] ?? 0) + 1;
	}
	return Object.fromEntries(Object.entries(out).sort());
}

export function statements(text) {
	return text.replace(/--.*/g, '').split(';').map(s => s.trim()).filter(Boolean);
}

export const read = (...names) => fs.readFileSync(path.join(fleet, ...names), 'utf8');

/** Standard output of sbx-audit, when it has ended with 0. */
export function audit(state, ...words) {
	const b = path.resolve(process.env.B ?? path.join(top, 'build'));
	const child = spawn(path.join(b, 'sbx-audit'), words, { env: { ...process.env, XDG_STATE_HOME: state }, stdio: ['ignore', 'pipe', 'inherit'] });
	let text = '';
	child.stdout.on('data', more => (text += more));
	return new Promise((resolve, reject) => child.on('close', rc => (rc ? reject(new Error(`sbx-audit ${words}: ${rc}`)) : resolve(text))));
}
