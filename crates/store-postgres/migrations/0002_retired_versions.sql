-- The last version that an aspect had before a rollback removed it: should it be made again, its versions go on from
-- there, so that no number is used twice and no client takes a new value for one that it has seen.
CREATE TABLE retired_version (
    urn     varchar(512) COLLATE "C" NOT NULL,
    aspect  varchar(200) COLLATE "C" NOT NULL,
    version bigint       NOT NULL,
    PRIMARY KEY (urn, aspect)
);

-- Ends a transaction that would put a former version where the history has one already, and says which.
CREATE FUNCTION docent_clash(urn text, aspect text, version bigint) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the latest % says that it is version %, which is in its history already', aspect, version
    USING ERRCODE = 'data_corrupted', TABLE = 'metadata_aspect_v2', COLUMN = 'version', DETAIL = urn;
END
$$;
