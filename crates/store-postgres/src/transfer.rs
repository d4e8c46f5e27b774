//! Everything as it is, out of one store and into another.

use docent_store::version::logical_version_of;
use docent_store::{RawAspect, RawPoint, RawRetired, TimeseriesRow};

use crate::error::EngineError;
use crate::pool::{Connections, Step};
use crate::segment::{INSERT_ROWS, LOG, NUMBER, PUT_POINTS, RETIRE};
use crate::values::{Timestamp, as_limit, storable, stored_aspect};

const ASPECTS: &str = "SELECT urn, aspect, version, metadata, systemmetadata, createdon, createdby, createdfor \
     FROM metadata_aspect_v2 WHERE (urn, aspect, version) > ($1, $2, $3) ORDER BY urn, aspect, version LIMIT $4";

const POINTS: &str = "SELECT urn, aspect, time_ms, id, metadata, systemmetadata FROM timeseries \
     WHERE (urn, aspect, time_ms, id) > ($1, $2, $3, $4) ORDER BY urn, aspect, time_ms, id LIMIT $5";

const RETIRED: &str = "SELECT urn, aspect, version FROM retired_version \
     WHERE (urn, aspect) > ($1, $2) ORDER BY urn, aspect LIMIT $3";

pub(crate) async fn aspects(
    connections: &Connections,
    after: Option<&RawAspect>,
    limit: usize,
) -> Result<Vec<RawAspect>, EngineError> {
    let (urn, aspect, version) = after.map_or(("", "", -1), |raw| {
        (raw.urn.as_str(), raw.aspect.as_str(), raw.row.version)
    });
    let rows = connections
        .query(ASPECTS, &[&urn, &aspect, &version, &as_limit(limit)])
        .await?;
    rows.iter()
        .map(|row| {
            Ok(RawAspect {
                urn: row.try_get(0)?,
                aspect: row.try_get(1)?,
                row: stored_aspect(row, 2)?,
            })
        })
        .collect()
}

pub(crate) async fn points(
    connections: &Connections,
    after: Option<&RawPoint>,
    limit: usize,
) -> Result<Vec<RawPoint>, EngineError> {
    let (urn, aspect, time_ms, id) = after.map_or(("", "", 0, ""), |raw| {
        let point = &raw.point;
        (
            raw.urn.as_str(),
            raw.aspect.as_str(),
            point.time_ms,
            point.id.as_str(),
        )
    });
    let rows = connections
        .query(POINTS, &[&urn, &aspect, &time_ms, &id, &as_limit(limit)])
        .await?;
    rows.iter()
        .map(|row| {
            Ok(RawPoint {
                urn: row.try_get(0)?,
                aspect: row.try_get(1)?,
                point: TimeseriesRow {
                    time_ms: row.try_get(2)?,
                    id: row.try_get(3)?,
                    metadata: row.try_get(4)?,
                    system_metadata: row.try_get(5)?,
                },
            })
        })
        .collect()
}

pub(crate) async fn retired(
    connections: &Connections,
    after: Option<&RawRetired>,
    limit: usize,
) -> Result<Vec<RawRetired>, EngineError> {
    let (urn, aspect) = after.map_or(("", ""), |raw| (raw.urn.as_str(), raw.aspect.as_str()));
    let rows = connections
        .query(RETIRED, &[&urn, &aspect, &as_limit(limit)])
        .await?;
    rows.iter()
        .map(|row| {
            Ok(RawRetired {
                urn: row.try_get(0)?,
                aspect: row.try_get(1)?,
                version: row.try_get(2)?,
            })
        })
        .collect()
}

pub(crate) async fn import_retired(
    connections: &Connections,
    retired: Vec<RawRetired>,
) -> Result<(), EngineError> {
    let (mut urns, mut aspects, mut versions) = (Vec::new(), Vec::new(), Vec::new());
    for raw in retired {
        urns.push(raw.urn);
        aspects.push(raw.aspect);
        versions.push(raw.version);
    }
    let lease = connections.lease().await?;
    lease.query(RETIRE, &[&urns, &aspects, &versions]).await?;
    Ok(())
}

pub(crate) async fn import(
    connections: &Connections,
    aspects: Vec<RawAspect>,
    points: Vec<RawPoint>,
) -> Result<(), EngineError> {
    let lease = connections.lease().await?;
    lease.soil();
    let mut steps = vec![Step::plain("BEGIN")];
    log_steps(&aspects, &mut steps);
    if !aspects.is_empty() {
        steps.push(aspect_step(aspects));
    }
    if !points.is_empty() {
        steps.push(point_step(points));
    }
    steps.push(Step::plain("COMMIT"));
    lease.pipeline(&steps).await?;
    lease.clean();
    Ok(())
}

fn aspect_step(aspects: Vec<RawAspect>) -> Step {
    let (mut urns, mut names, mut versions) = (Vec::new(), Vec::new(), Vec::new());
    let (mut metadata, mut system_metadata) = (Vec::new(), Vec::new());
    let (mut created_on, mut created_by, mut created_for) = (Vec::new(), Vec::new(), Vec::new());
    for RawAspect { urn, aspect, row } in aspects {
        urns.push(urn);
        names.push(aspect);
        versions.push(row.version);
        metadata.push(row.metadata);
        system_metadata.push(row.system_metadata);
        created_on.push(Timestamp(row.created_on_ms));
        created_by.push(row.created_by);
        created_for.push(row.created_for);
    }
    Step::new(
        INSERT_ROWS,
        vec![
            Box::new(urns),
            Box::new(names),
            Box::new(versions),
            Box::new(metadata),
            Box::new(system_metadata),
            Box::new(created_on),
            Box::new(created_by),
            Box::new(created_for),
        ],
    )
}

fn point_step(points: Vec<RawPoint>) -> Step {
    let (mut urns, mut names, mut times_ms) = (Vec::new(), Vec::new(), Vec::new());
    let (mut ids, mut metadata, mut system_metadata) = (Vec::new(), Vec::new(), Vec::new());
    for RawPoint { urn, aspect, point } in points {
        urns.push(urn);
        names.push(aspect);
        times_ms.push(point.time_ms);
        ids.push(storable(&point.id));
        metadata.push(point.metadata);
        system_metadata.push(point.system_metadata);
    }
    Step::new(
        PUT_POINTS,
        vec![
            Box::new(urns),
            Box::new(names),
            Box::new(times_ms),
            Box::new(ids),
            Box::new(metadata),
            Box::new(system_metadata),
        ],
    )
}

/// Logs the latest versions, if there are any.
fn log_steps(aspects: &[RawAspect], steps: &mut Vec<Step>) {
    let latest: Vec<&RawAspect> = aspects.iter().filter(|raw| raw.row.version == 0).collect();
    if latest.is_empty() {
        return;
    }
    let texts = |text: fn(&RawAspect) -> &str| -> Box<Vec<String>> {
        Box::new(latest.iter().map(|raw| text(raw).to_owned()).collect())
    };
    let versions: Vec<i64> = latest
        .iter()
        .map(|raw| logical_version_of(&raw.row))
        .collect();
    let times_ms: Vec<i64> = latest.iter().map(|raw| raw.row.created_on_ms).collect();
    let count = i32::try_from(latest.len()).unwrap_or(i32::MAX);
    steps.push(Step::new(NUMBER, vec![Box::new(count)]));
    steps.push(Step::new(
        LOG,
        vec![
            texts(|raw| &raw.urn),
            texts(|raw| &raw.aspect),
            texts(|_| "put"),
            Box::new(versions),
            Box::new(times_ms),
            texts(|raw| &raw.row.created_by),
        ],
    ));
}
