// SPDX-License-Identifier: Apache-2.0
// vector.mjs: the program in docs/fleet/feeds/vector.toml, compiled and run by the library of Vector's language: of each line
// it makes the row that `sbx-audit ship` makes, but for what ship takes from earlier lines; of what is no event none.
// Vector itself, its source and its sink, are not run.
import http from 'node:http';
import path from 'node:path';
import zlib from 'node:zlib';
import { audit, expect, finish, lines, load, read, record, scratch } from './common.mjs';

const vrl = load('@bpinternal/verel');
const program = read('feeds/vector.toml').match(/source = '''\n([^]*?)'''/)[1];
expect('what the compiler says', vrl.check(program).errors.map(vrl.formatDiagnostic), []);

const state = path.join(scratch(), 'state');
const runs = record(state, 3, 300); // the program is compiled anew for each line
const shipped = new Map();
const server = http.createServer((request, answer) => {
	const parts = [];
	request.on('data', more => parts.push(more));
	request.on('end', () => {
		const isEvents = /INTO events /.test(new URL(request.url, 'http://h').searchParams.get('query'));
		for (const text of isEvents ? zlib.gunzipSync(Buffer.concat(parts)).toString().split('\n').slice(0, -1) : []) {
			const row = JSON.parse(text);
			shipped.set(row.run_id + ' ' + row.no, row);
		}
		answer.end();
	});
}).listen(0, '127.0.0.1', async () => {
	await audit(state, 'ship', '--allow-http', '--to', `http://127.0.0.1:${server.address().port}`);
	server.close();
	compare();
});

const event = (run, message) => ({ message, file: `/home/u/.local/state/sbx-launch/runs/${run}/audit.jsonl`, host: 'vector' });

function compare() {
	let n = 0;
	for (const { run, line, e } of lines(runs)) {
		const made = vrl.execute(program, event(run, line)).event;
		const sent = shipped.get(run + ' ' + e.seq);
		n++;
		// whose log it is Vector says, and each line is a batch
		const wanted = { ...Object.fromEntries(Object.keys(made).map(k => [k, sent[k] ?? (typeof made[k] === 'number' ? 0 : '')])), host: 'vector', batch: e.seq };
		expect(`the row of ${run} ${e.seq}`, made, Object.fromEntries(Object.entries(wanted).sort()));
	}
	expect('rows', n, shipped.size);
	for (const bad of ['{"seq":1,"ki', 'x', '[]', '{"kind":"denied"}']) {
		let got = 'a row';
		try {
			vrl.execute(program, event('20261127T000000Z-000000', bad));
		} catch {
			got = 'none';
		}
		expect('of ' + bad, got, 'none');
	}
	finish({ check: 'vector', rows: n });
}
