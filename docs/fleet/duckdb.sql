-- SPDX-License-Identifier: Apache-2.0
-- The record in DuckDB, without a server: `duckdb <docs/fleet/duckdb.sql`, in a directory with the runs' directories,
-- as ~/.local/state/sbx-launch/runs is (of several hosts: HOST/RUN/audit.jsonl, and one star more below).

-- Each line, with its run. ignore_errors: a run that goes on ends with half a line.
CREATE OR REPLACE VIEW events AS
SELECT regexp_extract(filename, '([0-9TZ]+-[0-9a-f]{6})/', 1) AS run_id, * EXCLUDE (run_id, filename)
FROM read_json('*/audit.jsonl*', format = 'newline_delimited', filename = true, ignore_errors = true,
    columns = {schemaVersion: 'INT', seq: 'UBIGINT', ts: 'TIMESTAMP', run_id: 'VARCHAR', kind: 'VARCHAR', op: 'VARCHAR',
        path: 'VARCHAR', path2: 'VARCHAR', host: 'VARCHAR', port: 'INT', allowed: 'BOOLEAN', matched_rule: 'VARCHAR',
        rule: 'VARCHAR', call: 'VARCHAR', errno: 'INT', count: 'UBIGINT', reason: 'VARCHAR', image: 'VARCHAR', lost: 'UBIGINT',
        layer: 'VARCHAR', pid: 'BIGINT', ppid: 'BIGINT', exe: 'VARCHAR', proc: 'UBIGINT', argv: 'VARCHAR[]', chain: 'VARCHAR'});

-- One file that any tool reads, and any object store holds.
COPY events TO 'events.parquet' (FORMAT parquet, COMPRESSION zstd);

-- The questions of docs/fleet/questions, from it:
SELECT path, allowed, sum(coalesce(count, 1)) AS times, count(DISTINCT run_id) AS runs
FROM 'events.parquet' WHERE op = 'read' AND rule LIKE 'preset:secrets:%' GROUP BY ALL ORDER BY times DESC LIMIT 100;
SELECT rule, sum(coalesce(count, 1)) AS times, count(DISTINCT run_id) AS runs
FROM 'events.parquet' WHERE kind = 'denied' GROUP BY rule ORDER BY times DESC LIMIT 100;
SELECT host AS peer, allowed, sum(coalesce(count, 1)) AS connections
FROM 'events.parquet' WHERE op = 'connect' GROUP BY ALL ORDER BY connections DESC LIMIT 100;
SELECT path AS program, count(*) AS times FROM 'events.parquet' WHERE kind = 'unwitnessed' GROUP BY ALL ORDER BY times DESC LIMIT 100;
-- Records with a hole: the last number is that of the lines.
SELECT run_id, max(seq) AS last, count(DISTINCT seq) AS there
FROM 'events.parquet' GROUP BY run_id HAVING last != there;
