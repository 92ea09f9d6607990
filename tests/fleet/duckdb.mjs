// SPDX-License-Identifier: Apache-2.0
// duckdb.mjs: docs/fleet/duckdb.sql in DuckDB, as it stands, over the logs of one host, and over copies of many hosts' with
// compressed logs, one that ends in half a line and one with a hole.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { expect, finish, lines, load, read, record, scratch, tally } from './common.mjs';

const { DuckDBInstance } = load('@duckdb/node-api');
const dir = scratch();

async function run(where) {
	process.chdir(where);
	const connection = await (await DuckDBInstance.create(':memory:')).connect();
	const all = await connection.extractStatements(read('duckdb.sql'));
	const results = [];
	for (let i = 0; i < all.count; i++) results.push((await (await all.prepare(i)).runAndReadAll()).getRowsJson());
	const version = (await connection.runAndReadAll('SELECT version()')).getRowsJson()[0][0];
	connection.closeSync();
	return { version, copied: Number(results[1][0][0]), answers: results.slice(2) };
}

const sums = (rows, key, value) => Object.fromEntries(rows.map(r => [r[key], Number(r[value])]).sort());

function check(name, got, all, machines) {
	const [secrets, refusals, peers, unwitnessed, lost] = got.answers;
	const denied = all.filter(x => x.e.kind === 'denied');
	expect(name + ': lines', got.copied, all.length);
	expect(name + ': secrets', sums(secrets, 0, 2), tally(denied.filter(x => x.e.rule.startsWith('preset:secrets:')), x => x.e.path));
	expect(name + ': refusals', sums(refusals, 0, 1), tally(denied, x => x.e.rule));
	expect(name + ': what left', sums(peers, 0, 2), tally(all, x => (x.e.op === 'connect' ? x.e.host : undefined)));
	expect(name + ': unwitnessed', sums(unwitnessed, 0, 1), tally(all.filter(x => x.e.kind === 'unwitnessed'), x => x.e.path));
	expect(name + ': lost', lost.reduce((sum, r) => sum + Number(r[1]), 0), all.reduce((sum, x) => sum + (x.e.lost ?? 0), 0));
	expect(name + ': machines', Math.max(...refusals.map(r => Number(r[2]))) <= machines, true);
}

const one = record(path.join(dir, 'state'), 40, 300);
const first = await run(one);
check('one host', first, [...lines(one)], 40);
expect('one host: holes', first.answers[5], []);

// HOST/RUN/audit.jsonl
const many = path.join(dir, 'many');
const all = [];
for (const host of ['a', 'b', 'c']) {
	const runs = record(path.join(dir, host), 10, 400, host.charCodeAt(0));
	all.push(...lines(runs));
	fs.mkdirSync(path.join(many, host), { recursive: true });
	fs.cpSync(runs, path.join(many, host), { recursive: true });
}
const logs = fs.readdirSync(path.join(many, 'a')).filter(d => /^\d/.test(d)).map(d => path.join(many, 'a', d, 'audit.jsonl'));
execFileSync('zstd', ['-q', '--rm', logs[0], logs[1]]);
fs.appendFileSync(logs[2], '{"schemaVersion":2,"seq":401,"ki');
check('many hosts', await run(many), all, 12);
const text = fs.readFileSync(logs[3], 'utf8').split('\n');
fs.writeFileSync(logs[3], [...text.slice(0, 200), ...text.slice(201)].join('\n'));
const holes = (await run(many)).answers[5];
expect('many hosts: the hole', holes.map(r => [r[1], Number(r[2]), Number(r[3])]), [[path.basename(path.dirname(logs[3])), 400, 399]]);
finish({ check: 'duckdb', version: first.version, lines: first.copied + all.length });
