-- SPDX-License-Identifier: Apache-2.0
-- The record in DuckDB, without a server: `duckdb <docs/fleet/duckdb.sql`, in a directory below which the runs'
-- directories are: ~/.local/state/sbx-launch/runs of one host, or copies of those of many. It writes events.parquet there.

-- Each line, with its run. ignore_errors: a run that goes on ends with half a line. Compressed logs are read as they are.
CREATE OR REPLACE VIEW lines AS
SELECT regexp_extract(filename, '([0-9TZ]+-[0-9a-f]{6})/', 1) AS run_id, filename AS log, * EXCLUDE (run_id, filename)
FROM read_json('**/audit.jsonl*', format = 'newline_delimited', filename = true, ignore_errors = true,
    columns = {schemaVersion: 'INT', seq: 'UBIGINT', ts: 'TIMESTAMP', run_id: 'VARCHAR', kind: 'VARCHAR', op: 'VARCHAR',
        path: 'VARCHAR', path2: 'VARCHAR', host: 'VARCHAR', port: 'INT', allowed: 'BOOLEAN', matched_rule: 'VARCHAR',
        rule: 'VARCHAR', call: 'VARCHAR', errno: 'INT', count: 'UBIGINT', reason: 'VARCHAR', image: 'VARCHAR', lost: 'UBIGINT',
        layer: 'VARCHAR', pid: 'BIGINT', ppid: 'BIGINT', exe: 'VARCHAR', proc: 'UBIGINT', argv: 'VARCHAR[]', chain: 'VARCHAR'})
WHERE seq IS NOT NULL; -- such a half

-- One file that any tool reads, and any object store holds. `machine` is what the first line of a log says of its host;
-- elsewhere `host` is the other end of a connection.
COPY (SELECT first.host AS machine, lines.*
      FROM lines LEFT JOIN (SELECT log, any_value(host) AS host FROM lines WHERE kind = 'run' GROUP BY log) AS first USING (log))
TO 'events.parquet' (FORMAT parquet, COMPRESSION zstd);

-- The questions of docs/fleet/questions, from it:
SELECT path, allowed, sum(coalesce(count, 1)) AS times, count(DISTINCT machine) AS machines, count(DISTINCT log) AS runs
FROM 'events.parquet' WHERE op = 'read' AND rule LIKE 'preset:secrets:%' GROUP BY ALL ORDER BY times DESC LIMIT 100;
SELECT rule, sum(coalesce(count, 1)) AS times, count(DISTINCT machine) AS machines, count(DISTINCT log) AS runs
FROM 'events.parquet' WHERE kind = 'denied' GROUP BY rule ORDER BY times DESC LIMIT 100;
SELECT host AS peer, allowed, sum(coalesce(count, 1)) AS connections, count(DISTINCT machine) AS machines
FROM 'events.parquet' WHERE op = 'connect' GROUP BY ALL ORDER BY connections DESC LIMIT 100;
SELECT path AS program, count(*) AS times, count(DISTINCT machine) AS machines
FROM 'events.parquet' WHERE kind = 'unwitnessed' GROUP BY ALL ORDER BY times DESC LIMIT 100;
-- Who lost events?
SELECT machine, sum(lost) AS events_lost FROM 'events.parquet' WHERE kind = 'gap' GROUP BY machine ORDER BY events_lost DESC LIMIT 100;
-- Records with a hole: the last number is that of the lines.
SELECT machine, run_id, max(seq) AS last, count(DISTINCT seq) AS there
FROM 'events.parquet' GROUP BY machine, run_id, log HAVING last != there;
