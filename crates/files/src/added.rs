//! The rules of the catalog's mutations for values that a file adds. Ingestion does not have them,
//! so values that the catalog has, or had at the export, are not checked.

use docent_model::{Urn, check_link_url};
use serde_json::Value;

use crate::compare::{Comparison, Difference, EntityPlan, Outcome};
use crate::kinds;
use crate::yaml::Problem;

const BUILT_IN_TYPES: &str = "urn:li:ownershipType:__system__";

/// An entity that must exist, because a file newly refers to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewReference {
    pub line: usize,
    pub urn: Urn,
}

/// An element that a change adds to a list, with its line.
type Added<'d> = (usize, &'d Value);

impl Comparison<'_> {
    /// Checks what the changes of a plan add.
    pub(crate) fn check_added(&self, plan: &EntityPlan, problems: &mut Vec<Problem>) {
        for (line, url) in self.added(plan, "links", &["url"]) {
            let url = url.as_str().unwrap_or_default();
            if let Err(wrong) = check_link_url(url) {
                problems.push(Problem::new(line, wrong));
            }
        }
    }

    /// The owners and ownership types that the changes of a plan add.
    pub fn new_references(&self, plan: &EntityPlan) -> Vec<NewReference> {
        let added = self.added(plan, "owners", &["user", "group", "type"]);
        let references = added.into_iter().filter_map(|(line, urn)| {
            let urn = urn.as_str()?;
            // Some built-in types have no entity.
            let urn = (!urn.starts_with(BUILT_IN_TYPES))
                .then(|| Urn::parse(urn))?
                .ok()?;
            Some(NewReference { line, urn })
        });
        references.collect()
    }

    /// The values of these members in records of a list that the catalog's list does not have.
    fn added<'d>(&self, plan: &'d EntityPlan, key: &str, members: &[&str]) -> Vec<Added<'d>> {
        let mut differences = plan.differences.iter();
        let change = differences.find(|it| {
            it.outcome == Outcome::Change && it.part.column.is_none() && it.part.key == key
        });
        let is_exported = |change: &&Difference| {
            let part = kinds::part_of(plan.kind, &change.part);
            part.zip(self.exported)
                .is_some_and(|(part, exported)| exported.has_values(self.file, part.aspect))
        };
        let change = change.filter(|change| !is_exported(change));
        let Some(Difference {
            part,
            line,
            catalog,
            file: Some(Value::Array(items)),
            ..
        }) = change
        else {
            return Vec::new();
        };
        let old = catalog.as_ref().and_then(Value::as_array);
        let is_old = |member: &str, value: &Value| {
            let mut old = old.into_iter().flatten();
            old.any(|item| item.get(member) == Some(value))
        };
        let lines = self.file.parts.get(part).map(|it| it.item_lines.as_slice());
        let mut added = Vec::new();
        for (at, item) in items.iter().enumerate() {
            let line = lines.and_then(|lines| lines.get(at)).unwrap_or(line);
            for member in members {
                if let Some(value) = item.get(member).filter(|value| !is_old(member, value)) {
                    added.push((*line, value));
                }
            }
        }
        added
    }
}
