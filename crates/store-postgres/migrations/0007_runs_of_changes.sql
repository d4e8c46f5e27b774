-- Each change names the ingestion run that wrote it, NULL for none, so that changes of people are listed without reading
-- millions of others. The next steps fill it and index it: this one locks the log, so it is only this.
ALTER TABLE change_log ADD COLUMN run text;
