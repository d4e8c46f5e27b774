//! The identity of points in a time series.

use serde_json::{Value, json};

/// The members that identify a point, in addition to its timestamp.
const IDENTITY: [&str; 6] = [
    "/eventGranularity/unit",
    "/eventGranularity/multiple",
    "/messageId",
    "/partitionSpec/partition",
    "/partitionSpec/timePartition/startTimestampMillis",
    "/partitionSpec/timePartition/durationMillis",
];

/// The id of a point among those with the same timestamp. Points are equal if they have the same
/// granularity, message id and partition. Stores with points from before this rule must recompute
/// their ids, as migration 4 of SQLite does.
pub fn point_id(point: &Value) -> String {
    json!(IDENTITY.map(|member| point.pointer(member))).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_identity_members_distinguish_points() {
        let points = [
            json!({}),
            json!({"messageId": "x"}),
            json!({"messageId": "y"}),
            json!({"partitionSpec": {"partition": "x"}}),
            json!({"messageId": "x", "partitionSpec": {"partition": "x"}}),
            json!({"partitionSpec": {"partition": "x", "timePartition": {"startTimestampMillis": 1, "durationMillis": 2}}}),
            json!({"partitionSpec": {"partition": "x", "timePartition": {"startTimestampMillis": 1, "durationMillis": 3}}}),
            json!({"partitionSpec": {"partition": "x", "timePartition": {"startTimestampMillis": 2, "durationMillis": 2}}}),
            json!({"eventGranularity": {"unit": "DAY", "multiple": 1}}),
            json!({"eventGranularity": {"unit": "DAY", "multiple": 2}}),
            json!({"eventGranularity": {"unit": "HOUR", "multiple": 1}}),
        ];
        for (index, point) in points.iter().enumerate() {
            let mut changed = point.clone();
            changed["rowCount"] = json!(7);
            assert_eq!(point_id(point), point_id(&changed));
            for other in &points[..index] {
                assert_ne!(point_id(point), point_id(other), "{point} {other}");
            }
        }
    }
}
