//! What is wrong with assets: their incidents, and the latest results of their assertions.

use docent_model::{AspectName, EpochMillis, Urn};
use docent_store::{AspectKey, ListPage, RelatedEntity};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::stored::aspect_value;
use crate::{Catalog, Error, LoadError, LoadedBytes};

/// The assets whose references are read at once.
const ASSETS_AT_ONCE: usize = 32;
/// The most incidents of one asset.
const MAX_INCIDENTS: usize = 10_000;
/// The most assertions of one asset that count for its health, as in DataHub.
const MAX_ASSERTIONS: usize = 500;
/// How many values are read at once, and their bytes.
const VALUES_AT_ONCE: usize = 1000;
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// An incident of an asset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incident {
    pub urn: Urn,
    pub title: Option<String>,
    /// `ACTIVE` or `RESOLVED`.
    pub state: String,
    pub stage: Option<String>,
    /// 0 is the highest.
    pub priority: Option<i64>,
    pub assignees: Vec<String>,
    pub created_ms: EpochMillis,
    pub updated_ms: EpochMillis,
}

impl Incident {
    pub fn is_active(&self) -> bool {
        self.state == "ACTIVE"
    }
}

/// An assertion about an asset, with its latest result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedAssertion {
    pub urn: Urn,
    /// `FRESHNESS`, `VOLUME` and so on.
    pub kind: Option<String>,
    pub result: Option<AssertionResult>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AssertionResult {
    pub is_failure: bool,
    pub time_ms: EpochMillis,
}

/// The members of `incidentInfo` that are needed here.
#[derive(Deserialize)]
struct IncidentInfo {
    title: Option<String>,
    priority: Option<i64>,
    #[serde(default)]
    assignees: Vec<Assignee>,
    status: IncidentStatus,
    created: Stamp,
}

#[derive(Deserialize)]
struct Assignee {
    actor: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct IncidentStatus {
    state: String,
    stage: Option<String>,
    last_updated: Stamp,
}

#[derive(Deserialize)]
struct Stamp {
    time: EpochMillis,
}

#[derive(Deserialize)]
struct AssertionKind {
    r#type: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RunEvent {
    timestamp_millis: EpochMillis,
    status: String,
    result: Option<AssertionKind>,
}

impl Catalog {
    /// The incidents of each asset, newest first.
    pub async fn incidents_of(&self, assets: &[Urn]) -> Result<Vec<Vec<Incident>>, Error> {
        let mut lists = Vec::with_capacity(assets.len());
        for assets in assets.chunks(ASSETS_AT_ONCE) {
            let referring = self.referring(assets, "IncidentOn", MAX_INCIDENTS).await?;
            let all = referring.concat();
            let infos = self.current_values(&all, AspectName::INCIDENT_INFO);
            let mut infos = infos.await?.into_iter();
            for urns in referring {
                let mut incidents: Vec<Incident> = urns
                    .into_iter()
                    .zip(infos.by_ref())
                    .filter_map(|(urn, info)| Some(incident(urn, info?)))
                    .collect();
                incidents.sort_by_key(|incident| std::cmp::Reverse(incident.created_ms));
                lists.push(incidents);
            }
        }
        Ok(lists)
    }

    /// The assertions about each asset with their latest results, without soft-deleted ones.
    pub async fn assertions_of(&self, assets: &[Urn]) -> Result<Vec<Vec<CheckedAssertion>>, Error> {
        let mut lists = Vec::with_capacity(assets.len());
        for assets in assets.chunks(ASSETS_AT_ONCE) {
            let referring = self.referring(assets, "Asserts", MAX_ASSERTIONS).await?;
            let all = referring.concat();
            let kinds = self.current_values(&all, AspectName::ASSERTION_INFO);
            let kinds: Vec<Option<AssertionKind>> = kinds.await?;
            let runs = self.current_values(&all, AspectName::ASSERTION_RUN_EVENT);
            let runs: Vec<Option<RunEvent>> = runs.await?;
            let mut states = kinds.into_iter().zip(runs);
            for urns in referring {
                let assertions = urns.into_iter().zip(states.by_ref());
                let checked = assertions.map(|(urn, (kind, run))| CheckedAssertion {
                    urn,
                    kind: kind.map(|kind| kind.r#type),
                    result: run.and_then(result_of),
                });
                lists.push(checked.collect());
            }
        }
        Ok(lists)
    }

    /// The data contract of each dataset.
    pub async fn contracts_of(&self, datasets: &[Urn]) -> Result<Vec<Option<Urn>>, Error> {
        let contracts = self.referring(datasets, "ContractFor", 1).await?;
        Ok(contracts.into_iter().map(|mut urns| urns.pop()).collect())
    }

    /// The entities that refer to each of these, without soft-deleted ones.
    async fn referring(
        &self,
        urns: &[Urn],
        relationship: &str,
        max: usize,
    ) -> Result<Vec<Vec<Urn>>, Error> {
        let pages = self
            .relationships(urns, false, &[relationship], 0, max)
            .await?;
        let related = pages.iter().flat_map(|page| &page.items);
        let removed = self.soft_deleted(related.map(|item| &item.urn)).await?;
        let remaining = |page: ListPage<RelatedEntity>| {
            let mut urns: Vec<Urn> = page.items.into_iter().map(|item| item.urn).collect();
            urns.dedup();
            urns.retain(|urn| !removed.contains(urn));
            urns
        };
        Ok(pages.into_iter().map(remaining).collect())
    }

    /// The current value of an aspect of each entity, parsed a few at a time.
    pub(crate) async fn current_values<T: DeserializeOwned>(
        &self,
        urns: &[Urn],
        aspect: AspectName,
    ) -> Result<Vec<Option<T>>, Error> {
        let mut values = Vec::with_capacity(urns.len());
        for urns in urns.chunks(VALUES_AT_ONCE) {
            let keys: Vec<AspectKey> = urns.iter().map(|urn| AspectKey::new(urn, aspect)).collect();
            let mut loaded = LoadedBytes::default();
            let rows = self.load_current(&keys, MAX_BYTES, &mut loaded).await;
            let rows = rows.map_err(|error| match error {
                LoadError::Failed(error) => error,
                LoadError::TooLong(_) => Error::too_large(format!(
                    "the {aspect} of {} entities have more than {} MiB: request fewer entities",
                    urns.len(),
                    MAX_BYTES / 1024 / 1024
                )),
            })?;
            values.extend(rows.iter().map(aspect_value));
        }
        Ok(values)
    }
}

fn incident(urn: Urn, info: IncidentInfo) -> Incident {
    Incident {
        urn,
        title: info.title,
        state: info.status.state,
        stage: info.status.stage,
        priority: info.priority,
        assignees: info.assignees.into_iter().map(|it| it.actor).collect(),
        created_ms: info.created.time,
        updated_ms: info.status.last_updated.time,
    }
}

/// The result of a completed run. One that only initialized the assertion has none.
fn result_of(run: RunEvent) -> Option<AssertionResult> {
    let kind = run.result.filter(|_| run.status == "COMPLETE")?.r#type;
    let is_failure = match kind.as_str() {
        "SUCCESS" => false,
        "FAILURE" | "ERROR" => true,
        _ => return None,
    };
    Some(AssertionResult {
        is_failure,
        time_ms: run.timestamp_millis,
    })
}

/// The stored number of an incident's priority.
pub fn priority_number(name: &str) -> Option<i64> {
    ["CRITICAL", "HIGH", "MEDIUM", "LOW"]
        .iter()
        .zip(0..)
        .find_map(|(priority, number)| (*priority == name).then_some(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn priorities_have_numbers_from_the_highest() {
        assert_eq!(priority_number("CRITICAL"), Some(0));
        assert_eq!(priority_number("LOW"), Some(3));
        assert_eq!(priority_number("NONE"), None);
    }
}
