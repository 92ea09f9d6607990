-- SPDX-License-Identifier: Apache-2.0
-- The counts anew from the events, on each shard: after a state file of sbx-audit ship was lost or removed, or when
-- counts_made is to say something else. Nothing may be sent meanwhile.
TRUNCATE TABLE sbx.counts_local;
INSERT INTO sbx.counts_local
SELECT host, run_id, 0 AS batch, toDate(ts) AS day, kind, op, denied, rule,
    if(denied = 1 OR op = 'connect' OR kind = 'unwitnessed' OR rule LIKE 'preset:secrets:%',
       if(peer != '', peer, path), '') AS object,
    if(denied = 1 OR op = 'connect' OR rule LIKE 'preset:secrets:%', exe, '') AS exe,
    sum(n) AS n, count() AS rows, sum(lost) AS lost
FROM sbx.events_local FINAL
GROUP BY host, run_id, batch, day, kind, op, denied, rule, object, exe;
