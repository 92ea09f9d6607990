-- Does the chain of a run hold, link by link? Every line here breaks it. Needs the run's key, which never leaves its
-- host by itself: docs/fleet/README.md says how to put it in.
-- HMAC-SHA-256 is SHA256(opad || SHA256(ipad || text)); the first line follows the code of the empty text (sbx-audit(5)).
SELECT no, chain, made
FROM (
    SELECT no, chain,
        lower(substring(hex(SHA256(concat(unhex('@OPAD@'), SHA256(concat(unhex('@IPAD@'), before, text))))), 1, 32)) AS made
    FROM (
        SELECT nos AS no, chains AS chain, texts AS text, preceding AS before
        FROM (
            SELECT groupArray(no) AS all_no, groupArray(chain) AS all_chain,
                groupArray(substring(line, 1, position(line, ',"chain":"') - 1)) AS all_text
            FROM (
                SELECT no, chain, line FROM sbx.events FINAL
                WHERE host = '@HOST@' AND run_id = '@RUN@' ORDER BY no
            )
        )
        ARRAY JOIN all_no AS nos, all_chain AS chains, all_text AS texts,
            arrayPushFront(arrayPopBack(all_chain),
                lower(substring(hex(SHA256(concat(unhex('@OPAD@'), SHA256(unhex('@IPAD@'))))), 1, 32))) AS preceding
    )
)
WHERE chain != made
ORDER BY no
LIMIT 10
