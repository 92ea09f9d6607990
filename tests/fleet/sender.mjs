// SPDX-License-Identifier: Apache-2.0
// sender.mjs: are the rights that docs/fleet/server/sender.sql gives the senders' user enough, and no more? And those that
// docs/fleet/README.md adds for lines? In today's ClickHouse as a library (chdb), whose only user has them here: three
// processes, one after the other.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, finish, load, read, scratch, statements } from './common.mjs';

const { Session } = load('chdb');
const forLines = [...read('README.md').matchAll(/`((?:GRANT|ALTER) [^`]+)`/g)].map(m => m[1]);
const sql = [...statements(read('server/sender.sql')), ...forLines];
const grants = sql.filter(s => s.startsWith('GRANT ')).map(s => `<query>${s.replace(/ TO \w+$/, '')}</query>`);
const view = sql.filter(s => s.startsWith('ALTER ')).map(s => s.replace('CURRENT_USER', 'admin'));
const row = { host: 'h', run_id: '20261127T000000Z-000000', no: 1, kind: 'denied', denied: 1, op: 'read', rule: 'r' };
const line = '/home/ci/.local/state/sbx-launch/runs/20261127T000000Z-000000/audit.jsonl';

function users(rights) {
	const user = (name, more) => `<${name}><password></password><networks><ip>::/0</ip></networks><profile>default</profile><quota>default</quota>${more}</${name}>`;
	return `<clickhouse><profiles><default><insert_distributed_sync>1</insert_distributed_sync></default></profiles><users>${user('default', rights)}
${user('admin', '<access_management>1</access_management>')}</users><quotas><default></default></quotas></clickhouse>`;
}

function open(dir, rights) {
	fs.writeFileSync(path.join(dir, 'users.xml'), users(rights));
	fs.writeFileSync(path.join(dir, 'config.xml'), `<clickhouse><tcp_port>9000</tcp_port><remote_servers><fleet><shard><replica>
<host>127.0.0.1</host><port>9000</port></replica></shard></fleet></remote_servers><user_directories><users_xml><path>${dir}/users.xml</path>
</users_xml></user_directories></clickhouse>`);
	return new Session(path.join(dir, 'data'), { connectionArgs: [`--config-file=${dir}/config.xml`] });
}

function attempt(session, text) {
	try {
		session.query(text);
		return 'done';
	} catch (e) {
		return /ACCESS_DENIED/.test(e) ? 'refused' : String(e);
	}
}

const parts = {
	admin: dir => {
		const session = open(dir, '<access_management>1</access_management>');
		for (const s of [...statements(read('tables.sql')), ...statements(read('feeds/lines.sql')), ...view]) session.query(s);
	},
	sender: dir => {
		const session = open(dir, `<grants>${grants.join('')}</grants>`);
		return [`INSERT INTO sbx.events FORMAT JSONEachRow ${JSON.stringify(row)}`,
			'INSERT INTO sbx.runs FORMAT JSONEachRow {"host":"h","run_id":"20261127T000000Z-000000","state":1}',
			`INSERT INTO sbx.lines FORMAT JSONEachRow ${JSON.stringify({ host: 'h', file: line, line: '{"seq":2,"kind":"exec"}' })}`,
			...['events', 'events_local', 'runs', 'runs_local', 'counts', 'counts_local'].map(t => `SELECT count() FROM sbx.${t}`),
			'TRUNCATE TABLE sbx.events_local', 'ALTER TABLE sbx.events_local DELETE WHERE 1', 'DROP TABLE sbx.runs'].map(s => attempt(session, s));
	},
	check: dir => {
		const session = open(dir, '<access_management>1</access_management>');
		return ['events', 'runs', 'counts'].map(t => Number(session.query(`SELECT count() FROM sbx.${t}`, 'TabSeparated')));
	},
};

const [part, dir] = process.argv.slice(2);
if (part) {
	console.log(JSON.stringify(parts[part](dir) ?? null));
} else {
	const base = scratch();
	const step = name => JSON.parse(execFileSync(process.execPath, [fileURLToPath(import.meta.url), name, base]));
	step('admin');
	expect('rights for lines', forLines.length, 2);
	expect('what a sender may', step('sender'), ['done', 'done', 'done', ...Array(9).fill('refused')]);
	expect('what is there', step('check'), [2, 1, 2]);
	finish({ check: 'sender' });
}
