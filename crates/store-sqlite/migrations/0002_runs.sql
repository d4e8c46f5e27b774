-- What each ingestion run wrote or confirmed last, newest last. Indexes over what the rows themselves say, so SQLite
-- keeps them in step and its own check compares them. Rows of no run are left out, as are those whose system metadata
-- is no JSON.
CREATE INDEX aspect_by_run ON metadata_aspect_v2 (
    json_extract(systemmetadata, '$.runId'),
    json_extract(systemmetadata, '$.lastObserved')
) WHERE version = 0 AND json_valid(systemmetadata)
    AND json_extract(systemmetadata, '$.runId') <> 'no-run-id-provided';

CREATE INDEX timeseries_by_run ON timeseries (json_extract(systemmetadata, '$.runId'))
WHERE json_valid(systemmetadata) AND json_extract(systemmetadata, '$.runId') <> 'no-run-id-provided';
