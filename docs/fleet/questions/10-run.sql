-- The log of a run as it was written, byte for byte: for sbx-audit, or for verifying it with its key.
-- (FORMAT TSVRaw; a line with bytes that are no UTF-8, which no collector writes, is not the same.)
SELECT line
FROM sbx.events FINAL
WHERE host = '@HOST@' AND run_id = '@RUN@'
ORDER BY no
