//! Search filters in the format of REST clients.

use docent_catalog::Error;
use docent_catalog::search::{Criterion, Filter, criterion, joined};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(expecting = "a condition with field and values")]
struct WireCriterion {
    field: String,
    /// The older format, with one value.
    value: Option<String>,
    values: Option<Vec<String>>,
    condition: Option<String>,
    negated: Option<bool>,
}

/// Either `{"or": [{"and": [condition, …]}, …]}`, or `{"criteria": [condition, …]}` for conditions
/// that must all hold. OpenAPI calls the outer list `and`, although it holds alternatives: `{"and":
/// [{"criteria": […]}, …]}`. All endpoints accept each form. Unknown members are errors: a delete
/// by filter must not match everything.
#[derive(Debug, Default, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a filter such as {\"or\": [{\"and\": [{\"field\": …, \"values\": […]}]}]}"
)]
pub(crate) struct WireFilter {
    or: Option<Vec<Conjunction>>,
    and: Option<Vec<Criteria>>,
    criteria: Option<Vec<WireCriterion>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Conjunction {
    and: Vec<WireCriterion>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Criteria {
    criteria: Vec<WireCriterion>,
}

impl WireFilter {
    pub(crate) fn read(self) -> Result<Filter, Error> {
        let or = self.or.unwrap_or_default().into_iter().map(|it| it.and);
        let and = self.and.unwrap_or_default().into_iter();
        let any = or.chain(and.map(|it| it.criteria)).map(conditions);
        let any = any.collect::<Result<_, Error>>()?;
        joined(any, conditions(self.criteria.unwrap_or_default())?)
    }
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
