// SPDX-License-Identifier: Apache-2.0
// today.mjs: the tables and questions of docs/fleet in today's ClickHouse, which npm has as a library (chdb), behind the
// HTTP of this file: `sbx-audit ship` sends, each third answer is lost. One shard: two need two servers (run).
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import zlib from 'node:zlib';
import { audit, expect, finish, fleet, lines, load, read, record, scratch, statements, tally } from './common.mjs';

const { Session } = load('chdb');
const dir = scratch();
const state = path.join(dir, 'state');
const runs = record(state, 60, 300);
record(state, 1, 70000, 60); // more than two batches
fs.writeFileSync(path.join(dir, 'config.xml'), `<clickhouse><tcp_port>9000</tcp_port><remote_servers><fleet>
<shard><replica><host>127.0.0.1</host><port>9000</port></replica></shard></fleet></remote_servers></clickhouse>`);
const session = new Session(path.join(dir, 'data'), { connectionArgs: ['--config-file=' + path.join(dir, 'config.xml')] });
const ask = (sql, form = 'JSONCompact') => {
	const text = session.query(sql, form);
	return form === 'JSONCompact' ? JSON.parse(text).data : text;
};
const number = sql => Number(ask(sql)[0][0]);
for (const s of statements(read('tables.sql'))) session.query(s);

let requests = 0, rows = 0;
const server = http.createServer((request, answer) => {
	const parts = [];
	request.on('data', more => parts.push(more));
	request.on('end', () => {
		const body = zlib.gunzipSync(Buffer.concat(parts)).toString();
		const url = new URL(request.url, 'http://h');
		try {
			session.query('USE ' + url.searchParams.get('database'));
			session.query('SET insert_distributed_sync = 1');
			session.query(url.searchParams.get('query') + '\n' + body);
		} catch (e) {
			answer.writeHead(500).end(String(e).slice(0, 1000));
			return;
		}
		rows += body.split('\n').length - 1;
		if (++requests % 3 === 0) request.socket.destroy(); // it has them, but nobody learns that
		else answer.end();
	});
}).listen(0, '127.0.0.1', async () => {
	await audit(state, 'ship', '--allow-http', '--retry-for', '1m', '--to', `http://127.0.0.1:${server.address().port}`);
	server.close();
	check();
});

function question(name, names = {}) {
	let text = read('questions', name + '.sql');
	for (const [key, value] of Object.entries(names)) text = text.replaceAll(`@${key}@`, value);
	return ask(text);
}

function check() {
	const all = [...lines(runs)];
	const denied = all.filter(x => x.e.kind === 'denied');
	const pairs = (list, value) => Object.fromEntries(list.map(r => [r[0], Number(r[value])]).sort());
	expect('events', number('SELECT count() FROM sbx.events FINAL'), all.length);
	expect('events that are counted', number('SELECT sum(rows) FROM sbx.counts FINAL'), all.length);
	expect('sent more than once', rows > all.length, true);
	expect('events by kind', pairs(ask('SELECT kind, sum(n) FROM sbx.counts FINAL GROUP BY kind'), 1), tally(all, x => x.e.kind));
	expect('secrets', question('01-credential-reach').reduce((sum, r) => sum + Number(r[3]), 0), denied.filter(x => x.e.rule.startsWith('preset:secrets:')).length);
	expect('refusals', pairs(question('02-refusals-by-rule'), 1), tally(denied, x => x.e.rule));
	question('03-novel-refusals');
	expect('unwitnessed', question('04-unwitnessed').reduce((sum, r) => sum + Number(r[1]), 0), all.filter(x => x.e.kind === 'unwitnessed').length);
	expect('policies', question('05-policies').map(r => Number(r[5])), [60, 1]);
	expect('lost', question('06-lost').reduce((sum, r) => sum + Number(r[1]), 0), all.reduce((sum, x) => sum + (x.e.lost ?? 0), 0));
	expect('records that do not hold together', question('07-whole'), []);
	expect('what left', pairs(question('08-left'), 2), tally(all, x => (x.e.op === 'connect' ? x.e.host : undefined)));
	const { run } = all[0];
	const host = all[0].e.host;
	const key = execFileSync(path.join(fleet, 'run-key'), [run], { env: { ...process.env, XDG_STATE_HOME: state } }).toString();
	const [ipad, opad] = [...key.matchAll(/\/([0-9a-f]{128})\//g)].map(m => m[1]);
	expect('links that do not hold', question('09-chain', { HOST: host, RUN: run, IPAD: ipad, OPAD: opad }), []);
	expect('links under another key', question('09-chain', { HOST: host, RUN: run, IPAD: opad, OPAD: ipad }).length, 10);
	const log = ask(read('questions/10-run.sql').replace('@HOST@', host).replace('@RUN@', run), 'TSVRaw');
	expect('a log, byte for byte', log === fs.readFileSync(path.join(runs, run, 'audit.jsonl'), 'utf8'), true);
	const before = ask('SELECT kind, sum(n), sum(lost) FROM sbx.counts FINAL GROUP BY kind ORDER BY kind');
	for (const s of statements(read('rebuild-counts.sql'))) session.query(s);
	expect('the counts made anew', ask('SELECT kind, sum(n), sum(lost) FROM sbx.counts FINAL GROUP BY kind ORDER BY kind'), before);
	finish({ check: 'clickhouse', version: ask('SELECT version()')[0][0], events: all.length, requests });
}
