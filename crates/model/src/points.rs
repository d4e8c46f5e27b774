//! What tells the points of a time series apart.

use serde_json::{Value, json};

/// The members that make a point, beside its time.
const IDENTITY: [&str; 6] = [
    "/eventGranularity/unit",
    "/eventGranularity/multiple",
    "/messageId",
    "/partitionSpec/partition",
    "/partitionSpec/timePartition/startTimestampMillis",
    "/partitionSpec/timePartition/durationMillis",
];

/// The id of a point among those of its time: two points are the same if they have the same granularity, message id and
/// partition. Engines that hold points from before this rule must number them by it; SQLite's migration 4 does.
pub fn point_id(point: &Value) -> String {
    json!(IDENTITY.map(|member| point.pointer(member))).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_of_the_identity_makes_another_point_and_nothing_else_does() {
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
        for (at, one) in points.iter().enumerate() {
            let mut again = one.clone();
            again["rowCount"] = json!(7);
            assert_eq!(point_id(one), point_id(&again));
            for other in &points[..at] {
                assert_ne!(point_id(one), point_id(other), "{one} {other}");
            }
        }
    }
}
