-- SPDX-License-Identifier: Apache-2.0
-- The record of many machines in ClickHouse: run it on each shard. `fleet` is the cluster of remote_servers.
-- It keeps to what version 18.16 (Debian 12) understands; today's versions take it as it is.
--
-- A row may come more than once: sbx-audit ship sends again what was not acknowledged. Rows of one key are one
-- in each answer with FINAL, and on the disk when parts have been merged. `no`, the number of the line in the log, is
-- its seq in every record that holds together; ids of runs are unique on one host alone.
CREATE DATABASE IF NOT EXISTS sbx;

CREATE TABLE IF NOT EXISTS sbx.events_local (
    host String, run_id String, no UInt64, batch UInt64, seq UInt64,
    ts DateTime, ns UInt32, kind String, op String, path String, path2 String,
    allowed UInt8, denied UInt8, n UInt64, matched_rule String, rule String, call String, errno Int64,
    reason String, image String, layer String, pid Int64, ppid Int64, proc Int64, exe String, argv String,
    status Int64, signal Int64, lost UInt64, peer String, port Int64, program String, address String,
    request String, context String, chain String, line String
) ENGINE = ReplacingMergeTree PARTITION BY substring(run_id, 1, 6) ORDER BY (host, run_id, no);

-- state: 0 goes on, 1 ended and all its events are here, 2 removed before they were sent.
CREATE TABLE IF NOT EXISTS sbx.runs_local (
    host String, run_id String, state UInt8, lines UInt64, started DateTime, ended DateTime, has_end UInt8,
    version String, policy String, policy_hash String, profile String,
    bundle String, bundle_version UInt64, bundle_digest String,
    cwd String, audit_level String, context String, final_hash String, parent_run_id String,
    exit_status Int64, exit_signal Int64, lost UInt64, corrupt UInt64, processes UInt64, witnessed UInt64, denied UInt64,
    argv String, info String
) ENGINE = ReplacingMergeTree(state) PARTITION BY substring(run_id, 1, 6) ORDER BY (host, run_id);

-- Counts, made as rows come in: one row for each batch and each kind of event in it. The same batch sent again has
-- the same lines, and so the same rows, which replace the first ones. Of a batch that was cut short on its way
-- `rows` is less, and the whole one counts.
CREATE TABLE IF NOT EXISTS sbx.counts_local (
    host String, run_id String, batch UInt64, day Date, kind String, op String, denied UInt8, rule String,
    object String, exe String, n UInt64, rows UInt64, lost UInt64
) ENGINE = ReplacingMergeTree(rows) PARTITION BY substring(run_id, 1, 6)
  ORDER BY (host, run_id, batch, day, kind, op, denied, rule, object, exe);

-- Object and program of what is asked about later: refusals, secrets, connections, programs without a witness.
CREATE MATERIALIZED VIEW IF NOT EXISTS sbx.counts_made TO sbx.counts_local AS
SELECT host, run_id, batch, toDate(ts) AS day, kind, op, denied, rule,
    if(denied = 1 OR op = 'connect' OR kind = 'unwitnessed' OR rule LIKE 'preset:secrets:%',
       if(peer != '', peer, path), '') AS object,
    if(denied = 1 OR op = 'connect' OR rule LIKE 'preset:secrets:%', exe, '') AS exe,
    sum(n) AS n, count() AS rows, sum(lost) AS lost
FROM sbx.events_local
GROUP BY host, run_id, batch, day, kind, op, denied, rule, object, exe;

-- Over all shards, by host: a run is whole on one of them. Insert with insert_distributed_sync=1, so that an
-- acknowledgement means that the shard has the rows.
CREATE TABLE IF NOT EXISTS sbx.events AS sbx.events_local ENGINE = Distributed(fleet, sbx, events_local, cityHash64(host));
CREATE TABLE IF NOT EXISTS sbx.runs AS sbx.runs_local ENGINE = Distributed(fleet, sbx, runs_local, cityHash64(host));
CREATE TABLE IF NOT EXISTS sbx.counts AS sbx.counts_local ENGINE = Distributed(fleet, sbx, counts_local, cityHash64(host));
