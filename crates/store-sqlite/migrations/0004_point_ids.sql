-- The id of a point was its message id or its partition, whichever it had, and points that differ in the other or in their
-- granularity overwrote each other. Now it is made of all of them, as docent_model::point_id does; what is stored gets the
-- id under which it would be written today, so that the same point written again still is the same.
UPDATE OR REPLACE timeseries SET id = json_array(
    json_extract(metadata, '$.eventGranularity.unit'),
    json_extract(metadata, '$.eventGranularity.multiple'),
    json_extract(metadata, '$.messageId'),
    json_extract(metadata, '$.partitionSpec.partition'),
    json_extract(metadata, '$.partitionSpec.timePartition.startTimestampMillis'),
    json_extract(metadata, '$.partitionSpec.timePartition.durationMillis')
) WHERE json_valid(metadata);
