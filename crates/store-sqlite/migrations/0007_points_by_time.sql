-- Points of one time series aspect of all entities, in the order of time.
CREATE INDEX timeseries_by_aspect ON timeseries (aspect, time_ms, urn, id);
