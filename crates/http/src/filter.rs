//! Filters as REST clients write them.

use docent_catalog::Error;
use docent_catalog::search::{Criterion, Filter, criterion};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(expecting = "a condition with field and values")]
struct WireCriterion {
    field: String,
    /// From before conditions could have several values.
    value: Option<String>,
    values: Option<Vec<String>>,
    condition: Option<String>,
    negated: Option<bool>,
}

/// `{"or": [{"and": [condition, …]}, …]}`, or just `{"criteria": [condition, …]}` that must all hold.
#[derive(Debug, Default, Deserialize)]
#[serde(expecting = "a filter with or")]
pub(crate) struct WireFilter {
    or: Option<Vec<Conjunction>>,
    criteria: Option<Vec<WireCriterion>>,
}

#[derive(Debug, Deserialize)]
struct Conjunction {
    and: Vec<WireCriterion>,
}

/// The same in the OpenAPI: `{"and": [{"criteria": [condition, …]}, …]}`, where the outer list holds alternatives,
/// whatever it is called.
#[derive(Debug, Default, Deserialize)]
#[serde(expecting = "a filter with and")]
pub(crate) struct OpenApiFilter {
    and: Option<Vec<Criteria>>,
}

#[derive(Debug, Deserialize)]
struct Criteria {
    criteria: Option<Vec<WireCriterion>>,
}

impl WireFilter {
    pub(crate) fn read(self) -> Result<Filter, Error> {
        let mut filter = alternatives(
            self.or
                .unwrap_or_default()
                .into_iter()
                .map(|alternative| alternative.and),
        )?;
        for more in conditions(self.criteria.unwrap_or_default())? {
            filter = filter.and(more);
        }
        Ok(filter)
    }
}

impl OpenApiFilter {
    pub(crate) fn read(self) -> Result<Filter, Error> {
        let alternatives_of = self.and.unwrap_or_default().into_iter();
        alternatives(alternatives_of.map(|alternative| alternative.criteria.unwrap_or_default()))
    }
}

fn alternatives(any: impl Iterator<Item = Vec<WireCriterion>>) -> Result<Filter, Error> {
    let any = any.map(conditions).collect::<Result<_, Error>>()?;
    Ok(Filter { any })
}

fn conditions(criteria: Vec<WireCriterion>) -> Result<Vec<Criterion>, Error> {
    criteria
        .into_iter()
        .map(|wire| {
            let values = wire.values.filter(|values| !values.is_empty());
            let values = values.or_else(|| wire.value.map(|value| vec![value]));
            criterion(
                wire.field,
                values.unwrap_or_default(),
                wire.condition.as_deref(),
                wire.negated.unwrap_or(false),
            )
        })
        .collect()
}
