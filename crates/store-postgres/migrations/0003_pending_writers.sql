-- Which transaction of the database left a row. Rows that are gone stay in the indexes for as long as anybody's snapshot
-- may need them; who looks for new ones passes them over by beginning at the oldest transaction that was not over when
-- nothing was pending. Servers that do not know the column leave it to the default.
ALTER TABLE change_pending ADD COLUMN writer xid8;
ALTER TABLE change_pending ALTER COLUMN writer SET DEFAULT pg_current_xact_id();
UPDATE change_pending SET writer = pg_current_xact_id();
CREATE INDEX change_pending_by_writer ON change_pending (writer);
