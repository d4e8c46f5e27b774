-- The last version that an aspect had before a rollback removed it: should it be made again, its versions go on from
-- there, so that no number is used twice and no client takes a new value for one that it has seen.
CREATE TABLE retired_version (
    urn     TEXT    NOT NULL,
    aspect  TEXT    NOT NULL,
    version INTEGER NOT NULL,
    PRIMARY KEY (urn, aspect)
) WITHOUT ROWID;
