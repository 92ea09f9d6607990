-- SPDX-License-Identifier: Apache-2.0
-- The senders' user in today's ClickHouse, on each shard, after tables.sql. It can add rows and read none: a host that falls
-- cannot see what others did. Rows that come by Distributed are written with its rights where they stay on the same
-- server, so it needs those of the local tables as well; the view that counts has those of whoever runs this.
CREATE USER IF NOT EXISTS reporter IDENTIFIED BY 'PASSWORD'
SETTINGS insert_distributed_sync = 1, async_insert = 1, wait_for_async_insert = 1;
GRANT INSERT ON sbx.events TO reporter;
GRANT INSERT ON sbx.events_local TO reporter;
GRANT INSERT ON sbx.runs TO reporter;
GRANT INSERT ON sbx.runs_local TO reporter;
ALTER TABLE sbx.counts_made MODIFY SQL SECURITY DEFINER DEFINER = CURRENT_USER;
