//! The entities of the sample catalog, as an ingestion would send them.
//!
//! Each file of `crates/docent/demo` has one subject. To add one, list it in [`FILES`]. Values may
//! contain relative times (see [`super::times`]), so that the catalog is up to date at each start.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};
use docent_catalog::Proposal;
use docent_model::{AspectName, EpochMillis, Registry, SystemMetadata, Urn, parse_duration_ms};
use serde::Deserialize;
use serde_json::Value;

use super::times::{RelativeTimes, TIMESTAMP};

const FILES: [&str; 10] = [
    include_str!("../../demo/catalog.json"),
    include_str!("../../demo/dashboards.json"),
    include_str!("../../demo/forms.json"),
    include_str!("../../demo/operations.json"),
    include_str!("../../demo/pipelines.json"),
    include_str!("../../demo/products.json"),
    include_str!("../../demo/profiles.json"),
    include_str!("../../demo/quality.json"),
    include_str!("../../demo/queries.json"),
    include_str!("../../demo/usage.json"),
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entity {
    pub(super) urn: String,
    #[serde(default)]
    pub(super) aspects: BTreeMap<String, Value>,
    #[serde(default)]
    series: Vec<Series>,
}

/// Points of a time series at equal distances.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Series {
    aspect: String,
    count: usize,
    /// The time of the last point.
    last: String,
    /// The time between two points.
    every: String,
    /// What the points have in common.
    common: Value,
    /// What differs: JSON pointers into `common`, each with a value per point, oldest first.
    #[serde(default)]
    varying: BTreeMap<String, Vec<Value>>,
}

/// Reads the entities of all files. An entity may be in several.
pub(super) fn entities() -> Result<Vec<Entity>> {
    let mut all = Vec::new();
    for file in FILES {
        let entities: Vec<Entity> =
            serde_json::from_str(file).context("the sample catalog is not JSON")?;
        all.extend(entities);
    }
    Ok(all)
}

/// The writes that create the sample catalog, with times relative to `now_ms`.
pub(super) fn proposals(now_ms: EpochMillis) -> Result<Vec<Proposal>> {
    let times = RelativeTimes { now_ms };
    let mut proposals = Vec::new();
    for entity in entities()? {
        let urn = Registry::get().parse_urn(&entity.urn)?;
        for (name, mut value) in entity.aspects {
            times.resolve(&mut value, None)?;
            proposals.push(proposal(&urn, &name, &value)?);
        }
        for series in entity.series {
            for point in series
                .points(times)
                .with_context(|| format!("{} of {urn}", series.aspect))?
            {
                proposals.push(proposal(&urn, &series.aspect, &point)?);
            }
        }
    }
    Ok(proposals)
}

fn proposal(urn: &Urn, name: &str, value: &Value) -> Result<Proposal> {
    let system_metadata = SystemMetadata {
        run_id: "docent-demo".to_owned(),
        ..SystemMetadata::default()
    };
    let aspect: AspectName = Registry::get()
        .aspect(name)
        .with_context(|| format!("{urn} has an unknown aspect {name}"))?;
    Ok(Proposal::upsert(urn.clone(), aspect, value.to_string())
        .with_system_metadata(Some(system_metadata)))
}

impl Series {
    fn points(&self, times: RelativeTimes) -> Result<Vec<Value>> {
        let every = parse_duration_ms(&self.every)
            .with_context(|| format!("'{}' is not a duration", self.every))?;
        let mut time = times.parse(&self.last)?;
        let mut points = Vec::with_capacity(self.count);
        for index in (0..self.count).rev() {
            points.push(self.point(index, times, time)?);
            time -= every;
        }
        Ok(points)
    }

    fn point(&self, index: usize, times: RelativeTimes, time: EpochMillis) -> Result<Value> {
        let mut point = self.common.clone();
        for (pointer, values) in &self.varying {
            ensure!(
                values.len() == self.count,
                "{pointer} has {} values for {} points",
                values.len(),
                self.count
            );
            let Some(member) = point.pointer_mut(pointer) else {
                bail!("the common part has no {pointer}");
            };
            *member = values[index].clone();
        }
        times.resolve(&mut point, Some(time))?;
        point[TIMESTAMP] = time.into();
        Ok(point)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const DAY_MS: EpochMillis = 24 * 60 * 60 * 1000;
    const NOW_MS: EpochMillis = 20_000 * DAY_MS + 1000;

    fn series(varying: &Value) -> Series {
        serde_json::from_value(json!({
            "aspect": "operation",
            "count": 3,
            "last": "@now-1d",
            "every": "2d",
            "common": {"operationType": "INSERT", "lastUpdatedTimestamp": "@point", "rows": [0]},
            "varying": varying
        }))
        .unwrap()
    }

    #[test]
    fn a_series_has_points_at_equal_distances_up_to_its_last() {
        let times = RelativeTimes { now_ms: NOW_MS };
        let points = series(&json!({"/rows/0": [7, 8, 9]}))
            .points(times)
            .unwrap();
        let point = |days: i64, rows: i64| {
            let time = NOW_MS - days * DAY_MS;
            json!({
                "operationType": "INSERT",
                "lastUpdatedTimestamp": time,
                "timestampMillis": time,
                "rows": [rows]
            })
        };
        assert_eq!(points, [point(1, 9), point(3, 8), point(5, 7)]);
    }

    #[test]
    fn a_series_with_too_few_values_or_an_unknown_member_is_an_error() {
        let times = RelativeTimes { now_ms: NOW_MS };
        let message = |varying| {
            let error = series(&varying).points(times).unwrap_err();
            error.to_string()
        };
        assert_eq!(
            message(json!({"/rows/0": [7, 8]})),
            "/rows/0 has 2 values for 3 points"
        );
        assert_eq!(
            message(json!({"/other": [7, 8, 9]})),
            "the common part has no /other"
        );
    }

    #[test]
    fn no_time_of_the_sample_catalog_is_in_the_future_or_unresolved() {
        let mut points = 0;
        for proposal in proposals(NOW_MS).unwrap() {
            let docent_catalog::Change::Upsert { aspect, text } = &proposal.change else {
                panic!("not an upsert");
            };
            assert!(!text.contains("\"@"), "{text}");
            let value: Value = serde_json::from_str(text).unwrap();
            if let Some(time) = value[TIMESTAMP].as_i64() {
                points += 1;
                assert!(time < NOW_MS, "{aspect}: {time}");
            }
        }
        assert!(points > 500, "{points} points");
    }
}
