-- SPDX-License-Identifier: Apache-2.0
-- Lines as Fluent Bit (or rsyslog, or anything) sends them, as events: run it on each shard, after tables.sql. A line comes
-- with the host and the path of its log, which names the run. The table keeps none; rows of events are those of
-- sbx-audit ship, without what a line leaves to the line that started its process (exe, ppid). Each line is a batch: one
-- that the sender sends twice counts once. The view leaves out lines that are no events, and makes no rows of runs.
CREATE TABLE IF NOT EXISTS sbx.lines (host String, file String, line String) ENGINE = Null;

-- All columns, in their order: version 18.16 wants them for a distributed table.
CREATE MATERIALIZED VIEW IF NOT EXISTS sbx.lines_made TO sbx.events AS
SELECT host, extract(file, '/([0-9TZ]+-[0-9a-f]+)/audit\\.jsonl') AS run_id,
    visitParamExtractUInt(line, 'seq') AS no, visitParamExtractUInt(line, 'seq') AS batch, visitParamExtractUInt(line, 'seq') AS seq,
    toDateTimeOrZero(replaceOne(substring(visitParamExtractString(line, 'ts'), 1, 19), 'T', ' ')) AS ts,
    toUInt32OrZero(substring(visitParamExtractString(line, 'ts'), 21, 9)) AS ns,
    visitParamExtractString(line, 'kind') AS kind, visitParamExtractString(line, 'op') AS op,
    visitParamExtractString(line, 'path') AS path, visitParamExtractString(line, 'path2') AS path2,
    visitParamExtractBool(line, 'allowed') AS allowed,
    toUInt8(kind = 'denied' OR (visitParamHas(line, 'allowed') AND allowed = 0)) AS denied,
    if(visitParamHas(line, 'count'), visitParamExtractUInt(line, 'count'), 1) AS n,
    visitParamExtractString(line, 'matched_rule') AS matched_rule, visitParamExtractString(line, 'rule') AS rule,
    visitParamExtractString(line, 'call') AS call, visitParamExtractInt(line, 'errno') AS errno,
    visitParamExtractString(line, 'reason') AS reason, visitParamExtractString(line, 'image') AS image,
    visitParamExtractString(line, 'layer') AS layer, visitParamExtractInt(line, 'pid') AS pid,
    visitParamExtractInt(line, 'ppid') AS ppid, visitParamExtractInt(line, 'proc') AS proc,
    visitParamExtractString(line, 'exe') AS exe, '' AS argv,
    visitParamExtractInt(line, 'status') AS status, visitParamExtractInt(line, 'signal') AS signal,
    visitParamExtractUInt(line, 'lost') AS lost, visitParamExtractString(line, 'host') AS peer,
    visitParamExtractInt(line, 'port') AS port, visitParamExtractString(line, 'program') AS program,
    visitParamExtractString(line, 'address') AS address, visitParamExtractString(line, 'request') AS request,
    '' AS context, visitParamExtractString(line, 'chain') AS chain, line
FROM sbx.lines
WHERE visitParamHas(line, 'seq') AND visitParamHas(line, 'kind');
