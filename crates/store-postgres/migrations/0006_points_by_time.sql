-- Points of one time series aspect of all entities, in the order of time. Ids have any length, and
-- an entry of an index has not.
CREATE INDEX timeseries_by_aspect ON timeseries (aspect, time_ms, urn, md5(id));
