//! Siblings: a table and the dbt model that builds it are one asset for users.
//!
//! Lineage says which belong together. Both get the aspect `siblings` in the transaction that
//! writes the lineage, unless one of them has it already: then a connector or a user decides.
//! The caller needs no right on the other dataset, as in DataHub, where the server links them.

use docent_model::{AspectName, Registry, Urn};
use docent_store::AspectKey;
use serde_json::{Value, json};

use super::create::platform_of;
use super::current::Current;
use super::{Batch, Payload, Prepared};
use crate::Error;

const DATASET: &str = "dataset";
const DBT: &str = "urn:li:dataPlatform:dbt";
const LINEAGE: AspectName = AspectName::UPSTREAM_LINEAGE;
const SUBTYPES: AspectName = AspectName::SUB_TYPES;
const SIBLINGS: AspectName = AspectName::SIBLINGS;

impl Batch<'_> {
    /// Links siblings after a change of the lineage or the subtypes of a dataset.
    pub(super) async fn link_siblings(
        &mut self,
        key: &AspectKey,
        payload: &Payload,
        before: &Current,
    ) -> Result<(), Error> {
        let AspectKey { urn, aspect } = key;
        let (aspect, value) = (*aspect, &payload.value);
        let is_relevant = urn.entity_type() == DATASET && [LINEAGE, SUBTYPES].contains(&aspect);
        if !is_relevant || before.is_same(payload) {
            return Ok(());
        }
        let is_dbt = is_dbt(urn);
        let other = if !is_dbt && aspect == LINEAGE {
            dbt_model_of_table(value)
        } else if is_dbt {
            let lineage = self.value_of(urn, aspect, value, LINEAGE).await?;
            let subtypes = self.value_of(urn, aspect, value, SUBTYPES).await?;
            table_of_dbt_source(&lineage, &subtypes)
        } else {
            None
        };
        let Some(other) = other else {
            return Ok(());
        };
        self.link_pair(urn, &other, is_dbt).await
    }

    /// The aspects that linking reads besides those of [`sibling_keys`]: of the tables that stored
    /// lineage names, where the list makes a dbt dataset a source.
    pub(super) fn stored_sibling_keys(&self, prepared: &[Prepared]) -> Vec<AspectKey> {
        let known = |key: &AspectKey| self.known.get(key).and_then(Option::as_ref);
        let table = |item: &Prepared| {
            let urn = &item.proposal.urn;
            let payload = item.payload.as_ref()?;
            let is_source = item.proposal.change.aspect() == Some(SUBTYPES)
                && is_dbt_dataset(urn)
                && says_source(&payload.value);
            let key = AspectKey::new(urn, LINEAGE);
            let is_linked = known(&AspectKey::new(urn, SIBLINGS)).is_some();
            if !is_source || is_linked || self.proposed.contains(&key) {
                return None;
            }
            only_table(&serde_json::from_str(&known(&key)?.metadata).ok()?)
        };
        let tables = prepared.iter().filter_map(table);
        tables.flat_map(|table| keys_of_other(&table)).collect()
    }

    /// The aspect that is being written, or another one as it is stored.
    async fn value_of(
        &mut self,
        urn: &Urn,
        written: AspectName,
        value: &Value,
        aspect: AspectName,
    ) -> Result<Value, Error> {
        if written == aspect {
            return Ok(value.clone());
        }
        let row = self.get(urn, aspect).await?;
        let value = row.and_then(|row| serde_json::from_str(&row.metadata).ok());
        Ok(value.unwrap_or_default())
    }

    /// Links a dataset with another one, which is changed only if the caller sees it. It is created
    /// only by callers who may create any entity: nobody else decides what exists.
    async fn link_pair(&mut self, urn: &Urn, other: &Urn, is_model: bool) -> Result<(), Error> {
        // What the list writes itself stays as it is.
        let is_proposed = |urn| self.proposed.contains(&AspectKey::new(urn, SIBLINGS));
        if is_proposed(urn) || is_proposed(other) || self.get(urn, SIBLINGS).await?.is_some() {
            return Ok(());
        }
        let links_other = if self.is_stored(other).await? {
            let is_visible = self.first_visible(vec![other.clone()]).await?.is_some()
                || self.created.contains(other);
            if is_visible && self.get(other, SIBLINGS).await?.is_some() {
                return Ok(());
            }
            is_visible
        } else {
            !self.visibility.is_creation_limited
        };
        self.link(urn, other, is_model).await?;
        if links_other {
            let entity = Registry::get().check_urn(other)?;
            self.ensure_entity(other, entity, None).await?;
            self.link(other, urn, !is_model).await?;
        }
        Ok(())
    }

    async fn link(&mut self, urn: &Urn, sibling: &Urn, is_primary: bool) -> Result<(), Error> {
        let value = json!({"siblings": [sibling], "primary": is_primary});
        self.overwrite(urn, SIBLINGS, value).await
    }
}

/// The aspects that linking reads after a write of this aspect to a dataset, as far as they are
/// known in advance. `value` is missing if the write depends on what is stored.
pub(super) fn sibling_keys(urn: &Urn, aspect: AspectName, value: Option<&Value>) -> Vec<AspectKey> {
    let is_lineage = aspect == LINEAGE;
    if urn.entity_type() != DATASET || !is_lineage && aspect != SUBTYPES {
        return Vec::new();
    }
    let lineage = value.filter(|_| is_lineage);
    let (other, own): (_, &[AspectName]) = if is_dbt(urn) {
        let own = &[LINEAGE, SUBTYPES, SIBLINGS];
        (lineage.and_then(only_table), own)
    } else {
        (lineage.and_then(dbt_model_of_table), &[SIBLINGS])
    };
    if other.is_none() && !is_dbt(urn) {
        return Vec::new();
    }
    let own = own.iter().map(|aspect| AspectKey::new(urn, *aspect));
    own.chain(other.iter().flat_map(keys_of_other)).collect()
}

/// The aspects of the other dataset that linking reads, and what its creation depends on.
fn keys_of_other(other: &Urn) -> Vec<AspectKey> {
    let platform = platform_of(other);
    AspectKey::of_entity(other)
        .into_iter()
        .chain([AspectKey::new(other, SIBLINGS)])
        .chain(platform.map(|urn| AspectKey::new(&urn, AspectName::DATA_PLATFORM_INFO)))
        .collect()
}

fn is_dbt_dataset(urn: &Urn) -> bool {
    urn.entity_type() == DATASET && is_dbt(urn)
}

fn is_dbt(urn: &Urn) -> bool {
    urn.key_parts().first() == Some(&DBT)
}

fn upstreams(lineage: &Value) -> Vec<Urn> {
    let upstreams = lineage.get("upstreams").and_then(Value::as_array);
    let upstreams = upstreams.into_iter().flatten();
    upstreams
        .filter_map(|upstream| Urn::parse(upstream.get("dataset")?.as_str()?).ok())
        .collect()
}

/// The only dbt model that a table is built from.
fn dbt_model_of_table(lineage: &Value) -> Option<Urn> {
    let mut models = upstreams(lineage).into_iter().filter(is_dbt);
    let model = models.next()?;
    models.next().is_none().then_some(model)
}

/// The table that a dbt source stands for.
fn table_of_dbt_source(lineage: &Value, subtypes: &Value) -> Option<Urn> {
    if says_source(subtypes) {
        only_table(lineage)
    } else {
        None
    }
}

fn says_source(subtypes: &Value) -> bool {
    let names = subtypes.get("typeNames").and_then(Value::as_array);
    let mut names = names.into_iter().flatten();
    // Older connectors write it in lower case.
    names.any(|name| name == "Source" || name == "source")
}

/// The only upstream of a dbt dataset, if it is no dbt dataset itself.
fn only_table(lineage: &Value) -> Option<Urn> {
    let mut upstreams = upstreams(lineage).into_iter();
    let table = upstreams.next().filter(|table| !is_dbt(table))?;
    upstreams.next().is_none().then_some(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dataset(platform: &str, name: &str) -> Urn {
        let urn = format!("urn:li:dataset:(urn:li:dataPlatform:{platform},{name},PROD)");
        Urn::parse(&urn).unwrap()
    }

    fn lineage(upstreams: &[&Urn]) -> Value {
        let upstreams = upstreams
            .iter()
            .map(|urn| json!({"dataset": urn, "type": "COPY"}));
        json!({"upstreams": upstreams.collect::<Vec<_>>()})
    }

    #[test]
    fn a_table_belongs_to_its_only_dbt_model() {
        let (one, two) = (dataset("dbt", "one"), dataset("dbt", "two"));
        let table = dataset("hive", "t");
        let found = dbt_model_of_table(&lineage(&[&table, &one]));
        assert_eq!(found, Some(one.clone()));
        assert_eq!(dbt_model_of_table(&lineage(&[&one, &two])), None);
        assert_eq!(dbt_model_of_table(&lineage(&[&table])), None);
    }

    #[test]
    fn a_dbt_source_belongs_to_its_only_upstream() {
        let (table, model) = (dataset("hive", "t"), dataset("dbt", "m"));
        let source = json!({"typeNames": ["Source"]});
        let found = table_of_dbt_source(&lineage(&[&table]), &source);
        assert_eq!(found, Some(table.clone()));
        let model_type = json!({"typeNames": ["Model"]});
        assert_eq!(table_of_dbt_source(&lineage(&[&table]), &model_type), None);
        assert_eq!(table_of_dbt_source(&lineage(&[&model]), &source), None);
        let two = lineage(&[&table, &dataset("hive", "u")]);
        assert_eq!(table_of_dbt_source(&two, &source), None);
    }
}
