//! Lineage of columns.
//!
//! The `fineGrainedLineages` of tables and jobs list which columns flow into which. The edges lead
//! to the aspects that may have an entry for a column: those of its table, of the tables that name
//! it, and of the jobs that read or write its table.

use std::collections::{BTreeSet, HashMap};

use docent_model::{AspectName, LineageDirection, Registry, Urn};
use docent_store::{AspectKey, ReadRequest, RelatedEntity};
use serde::Deserialize;

use super::MAX_NEIGHBOURS;
use crate::{Catalog, Error};

const COLUMN: &str = "schemaField";
const TABLE_ASPECT: &str = "upstreamLineage";
const JOB_ASPECT: &str = "dataJobInputOutput";
/// The relationship of column neighbors.
const RELATIONSHIP: &str = "DownstreamOf";

pub(super) fn is_column(urn: &Urn) -> bool {
    urn.entity_type() == COLUMN
}

/// The table of a column.
pub(super) fn parent(urn: &Urn) -> Option<Urn> {
    if !is_column(urn) {
        return None;
    }
    Urn::parse(urn.key_parts().first()?).ok()
}

/// The neighbors of a column.
#[derive(Debug, Default)]
pub(super) struct ColumnStep {
    pub(super) neighbors: Vec<RelatedEntity>,
    /// Those that a job writes or reads, with the job.
    pub(super) jobs: Vec<(Urn, Urn)>,
}

/// The relevant part of both aspects.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ColumnLineage {
    fine_grained_lineages: Option<Vec<Entry>>,
}

#[derive(Deserialize)]
struct Entry {
    upstreams: Option<Vec<String>>,
    downstreams: Option<Vec<String>>,
}

impl Entry {
    /// (source, destination)
    fn ends(&self, direction: LineageDirection) -> (&[String], &[String]) {
        let upstreams = self.upstreams.as_deref().unwrap_or_default();
        let downstreams = self.downstreams.as_deref().unwrap_or_default();
        match direction {
            LineageDirection::Upstream => (downstreams, upstreams),
            LineageDirection::Downstream => (upstreams, downstreams),
        }
    }
}

impl Catalog {
    /// The neighbors of each column, in the order of the URNs.
    pub(super) async fn column_step(
        &self,
        columns: &[Urn],
        direction: LineageDirection,
    ) -> Result<Vec<ColumnStep>, Error> {
        let registry = Registry::get();
        let (Some(table_aspect), Some(job_aspect)) =
            (registry.aspect(TABLE_ASPECT), registry.aspect(JOB_ASPECT))
        else {
            return Ok(columns.iter().map(|_| ColumnStep::default()).collect());
        };
        let sources = self
            .column_sources(columns, direction, table_aspect, job_aspect)
            .await?;
        let at: HashMap<&str, usize> = columns
            .iter()
            .enumerate()
            .map(|(at, urn)| (urn.as_str(), at))
            .collect();
        let mut found: Vec<ColumnStep> = columns.iter().map(|_| ColumnStep::default()).collect();
        // Lineage leads through hidden entities, too.
        let rows = self.store().read(ReadRequest::rows(&sources)).await?.rows;
        for (key, row) in sources.iter().zip(rows) {
            let Some(row) = row else { continue };
            // A value of another server may have another shape; it then has no column lineage.
            let Ok(lineage) = serde_json::from_str::<ColumnLineage>(&row.metadata) else {
                continue;
            };
            for entry in lineage.fine_grained_lineages.unwrap_or_default() {
                let (from, to) = entry.ends(direction);
                let from: Vec<usize> = from
                    .iter()
                    .filter_map(|urn| at.get(urn.as_str()).copied())
                    .collect();
                if from.is_empty() {
                    continue;
                }
                for urn in to.iter().filter_map(|urn| Urn::parse(urn).ok()) {
                    for &at in &from {
                        if key.aspect == job_aspect {
                            found[at].jobs.push((urn.clone(), key.urn.clone()));
                        }
                        found[at].neighbors.push(RelatedEntity {
                            relationship: RELATIONSHIP.to_owned(),
                            urn: urn.clone(),
                            aspect: key.aspect,
                        });
                    }
                }
            }
        }
        Ok(found)
    }

    /// The aspects that may have entries for these columns, each once.
    async fn column_sources(
        &self,
        columns: &[Urn],
        direction: LineageDirection,
        table_aspect: AspectName,
        job_aspect: AspectName,
    ) -> Result<Vec<AspectKey>, Error> {
        let parents: BTreeSet<Urn> = columns.iter().filter_map(parent).collect();
        let parents: Vec<Urn> = parents.into_iter().collect();
        let mut sources = BTreeSet::new();
        // A job is upstream of its outputs and downstream of its inputs.
        for (urn, adjacent) in parents
            .iter()
            .zip(self.entity_step(&parents, direction).await?)
        {
            let jobs = adjacent.neighbors.iter();
            sources.extend(
                jobs.filter(|related| related.aspect == job_aspect && related.urn != *urn)
                    .map(|related| AspectKey::new(&related.urn, job_aspect)),
            );
        }
        match direction {
            LineageDirection::Upstream => {
                sources.extend(
                    parents
                        .iter()
                        .map(|parent| AspectKey::new(parent, table_aspect)),
                );
            }
            LineageDirection::Downstream => {
                let pages = self
                    .store()
                    .edges_list(columns, false, &[RELATIONSHIP], &[], 0, MAX_NEIGHBOURS)
                    .await?;
                sources.extend(
                    pages
                        .into_iter()
                        .flat_map(|page| page.items)
                        .filter(|related| related.aspect == table_aspect)
                        .map(|related| AspectKey::new(&related.urn, table_aspect)),
                );
            }
        }
        Ok(sources.into_iter().collect())
    }
}
