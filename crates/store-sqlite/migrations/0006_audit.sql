-- The audit log: one row per request that changed something or was denied. The key is the order in which it is read.
-- Outcomes are ALLOWED and DENIED; policies is a JSON list, and entities the number of rows in audit_item.
CREATE TABLE audit_event (
    time_ms    INTEGER NOT NULL,
    id         INTEGER NOT NULL,
    actor      TEXT,
    address    TEXT,
    credential TEXT,
    operation  TEXT    NOT NULL,
    outcome    TEXT    NOT NULL,
    policies   TEXT,
    reason     TEXT,
    dropped    INTEGER NOT NULL,
    entities   INTEGER NOT NULL,
    PRIMARY KEY (time_ms, id)
) WITHOUT ROWID;

-- The entities that an event changed, each with a JSON list of [aspect, version before, version after].
CREATE TABLE audit_item (
    time_ms INTEGER NOT NULL,
    event   INTEGER NOT NULL,
    urn     TEXT    NOT NULL,
    changes TEXT    NOT NULL,
    PRIMARY KEY (time_ms, event, urn)
) WITHOUT ROWID;

CREATE INDEX audit_item_by_urn ON audit_item (urn, time_ms, event);

-- Rows are added, and deleted after the retention time; they never change.
CREATE TRIGGER audit_event_is_final BEFORE UPDATE ON audit_event
BEGIN
    SELECT RAISE(ABORT, 'the audit log cannot be changed');
END;

CREATE TRIGGER audit_item_is_final BEFORE UPDATE ON audit_item
BEGIN
    SELECT RAISE(ABORT, 'the audit log cannot be changed');
END;

-- Sessions are in the change log, so that every server learns of their end, but they are not changes of the catalog: this
-- finds them when changes are counted.
CREATE INDEX change_log_of_sessions ON change_log (time_ms)
WHERE urn >= 'urn:li:docentSession:' AND urn < 'urn:li:docentSession;';
