//! The queries by which data flows from one table or column to the next. They have no edges: the
//! `upstreamLineage` of the downstream table names them.

use std::collections::{BTreeSet, HashMap, HashSet};

use docent_model::{AspectName, Urn};
use docent_store::{AspectKey, ReadRequest};
use serde::Deserialize;

use super::{ENTITIES_AT_ONCE, columns, shown_as};
use crate::stored::aspect_value;
use crate::{Catalog, Error};

/// The queries between tables or columns, by upstream and downstream end.
pub type Queries = HashMap<(Urn, Urn), Urn>;

/// The relevant part of `upstreamLineage`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TableLineage {
    upstreams: Option<Vec<Upstream>>,
    fine_grained_lineages: Option<Vec<Entry>>,
}

#[derive(Deserialize)]
struct Upstream {
    dataset: String,
    query: Option<String>,
}

#[derive(Deserialize)]
struct Entry {
    upstreams: Option<Vec<String>>,
    downstreams: Option<Vec<String>>,
    query: Option<String>,
}

impl TableLineage {
    /// The query between two tables or columns.
    fn query(&self, upstream: &str, downstream: &str) -> Option<&str> {
        let names =
            |list: &Option<Vec<String>>, urn: &str| list.iter().flatten().any(|it| it == urn);
        let tables = self.upstreams.iter().flatten();
        let mut of_tables = tables
            .filter(|it| it.dataset == upstream)
            .filter_map(|it| it.query.as_deref());
        let columns = self.fine_grained_lineages.iter().flatten();
        let mut of_columns = columns
            .filter(|it| names(&it.upstreams, upstream) && names(&it.downstreams, downstream))
            .filter_map(|it| it.query.as_deref());
        of_tables.next().or_else(|| of_columns.next())
    }
}

impl Catalog {
    /// The queries between tables and columns, each with its upstream end first. A query that the
    /// caller may not see is replaced by another URN.
    pub async fn lineage_queries(&self, ends: &HashSet<(Urn, Urn)>) -> Result<Queries, Error> {
        let mut by_table: HashMap<Urn, Vec<&(Urn, Urn)>> = HashMap::new();
        for pair in ends {
            let (upstream, downstream) = pair;
            if upstream.entity_type() == downstream.entity_type()
                && let Some(table) = table_of(downstream)
            {
                by_table.entry(table).or_default().push(pair);
            }
        }
        let aspect = AspectName::UPSTREAM_LINEAGE;
        let tables: BTreeSet<&Urn> = by_table.keys().collect();
        let keys: Vec<AspectKey> = tables
            .into_iter()
            .map(|table| AspectKey::new(table, aspect))
            .collect();
        let mut queries = Queries::new();
        for keys in keys.chunks(ENTITIES_AT_ONCE) {
            let rows = self.store().read(ReadRequest::rows(keys)).await?.rows;
            for (key, row) in keys.iter().zip(&rows) {
                // A value of another server may have another shape; it then names no query.
                let Some(lineage) = aspect_value::<TableLineage>(row) else {
                    continue;
                };
                for pair in by_table.get(&key.urn).into_iter().flatten() {
                    let query = lineage.query(pair.0.as_str(), pair.1.as_str());
                    if let Some(query) = query.and_then(|text| Urn::parse(text).ok()) {
                        queries.insert((*pair).clone(), query);
                    }
                }
            }
        }
        let hidden = self.hidden_among(queries.values()).await?;
        for query in queries.values_mut() {
            *query = shown_as(query.clone(), &hidden)?;
        }
        Ok(queries)
    }
}

/// The table that stores the lineage of a table or column.
fn table_of(urn: &Urn) -> Option<Urn> {
    match urn.entity_type() {
        "dataset" => Some(urn.clone()),
        _ => columns::parent(urn),
    }
}
