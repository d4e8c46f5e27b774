//! Changes of lineage by users.
//!
//! An edge is stored by one of its ends, as [`PLACES`] says for the types of both. To allow another
//! pair of types: a line there.

use std::collections::BTreeMap;

use docent_model::aspects::AuditStamp;
use docent_model::{AspectName, Registry, Urn};
use serde_json::{Value, json};

use crate::access::holder_of;
use crate::privilege::{EDIT_ENTITY, EDIT_LINEAGE, Privilege};
use crate::proposal::{Proposal, Requirement, require_all};
use crate::target::expect_few;
use crate::{Caller, Catalog, Error};

const PRIVILEGES: &[Privilege] = &[EDIT_LINEAGE, EDIT_ENTITY];

/// An edge of the lineage graph.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LineageEdge {
    pub downstream: Urn,
    pub upstream: Urn,
}

/// Where an edge between two types is stored.
struct Place {
    downstream: &'static str,
    upstream: &'static str,
    /// Whether the upstream end stores the edge.
    by_upstream: bool,
    aspect: &'static str,
    /// The list of edges.
    edges: &'static str,
    /// The older list of URNs; edges in it are not added again, and are removed from it, too.
    urns: &'static str,
}

const fn place(
    downstream: &'static str,
    upstream: &'static str,
    aspect: &'static str,
    edges: &'static str,
    urns: &'static str,
) -> Place {
    Place {
        downstream,
        upstream,
        by_upstream: false,
        aspect,
        edges,
        urns,
    }
}

/// The source of edges that DataHub's page shows as edited by hand.
pub(super) const MANUAL_SOURCE: &str = "UI";

const JOB: &str = "dataJobInputOutput";
/// Between a task and a dataset that it writes; one that it reads has another relationship.
const PRODUCES: &str = "Produces";

const PLACES: [Place; 8] = [
    place("dataset", "dataset", "upstreamLineage", "upstreams", ""),
    Place {
        by_upstream: true,
        ..place(
            "dataset",
            "dataJob",
            JOB,
            "outputDatasetEdges",
            "outputDatasets",
        )
    },
    place("chart", "dataset", "chartInfo", "inputEdges", "inputs"),
    place("chart", "chart", "chartInfo", "inputEdges", "inputs"),
    place(
        "dashboard",
        "chart",
        "dashboardInfo",
        "chartEdges",
        "charts",
    ),
    place(
        "dashboard",
        "dataset",
        "dashboardInfo",
        "datasetEdges",
        "datasets",
    ),
    place(
        "dataJob",
        "dataset",
        JOB,
        "inputDatasetEdges",
        "inputDatasets",
    ),
    place(
        "dataJob",
        "dataJob",
        JOB,
        "inputDatajobEdges",
        "inputDatajobs",
    ),
];

/// The change of a list in an aspect.
#[derive(Debug, Clone, Copy)]
struct ListEdit {
    edges: &'static str,
    urns: &'static str,
    /// Whether the holder is the upstream end.
    by_upstream: bool,
    is_removal: bool,
}

/// The columns that charts and dashboards read.
const INPUT_FIELDS: &str = "inputFields";

impl Catalog {
    /// Adds and removes edges. An edge in both lists is removed. The caller needs the right on both
    /// ends of each edge. The end of a removed edge that does not store it need not exist any more.
    /// One that is hidden does not exist for the caller, and nor does the edge, which stays.
    pub async fn update_lineage(
        &self,
        caller: &Caller,
        added: &[LineageEdge],
        removed: &[LineageEdge],
    ) -> Result<(), Error> {
        expect_few("edges", added.len() + removed.len())?;
        let mut edits: BTreeMap<(Urn, AspectName), Vec<(ListEdit, Urn)>> = BTreeMap::new();
        // Removals come last, so that they win.
        let all = added.iter().map(|edge| (edge, false));
        let all = all.chain(removed.iter().map(|edge| (edge, true)));
        let mut ends = Vec::new();
        let mut removed_ends = Vec::new();
        for (edge, is_removal) in all {
            let place = edge.place()?;
            if edge.upstream == edge.downstream && !is_removal {
                return Err(Error::invalid(format!(
                    "{} cannot be upstream of itself: send two entities",
                    edge.upstream
                )));
            }
            let Some(aspect) = Registry::get().aspect(place.aspect) else {
                continue;
            };
            let (holder, other) = if place.by_upstream {
                (&edge.upstream, &edge.downstream)
            } else {
                (&edge.downstream, &edge.upstream)
            };
            let edit = ListEdit {
                edges: place.edges,
                urns: place.urns,
                by_upstream: place.by_upstream,
                is_removal,
            };
            let of_holder = edits.entry((holder.clone(), aspect)).or_default();
            of_holder.push((edit, other.clone()));
            ends.push(holder.clone());
            let others = if is_removal {
                &mut removed_ends
            } else {
                &mut ends
            };
            others.push(other.clone());
        }
        let missing = |urn: &Urn| format!("Cannot update lineage: {urn} does not exist.");
        self.expect_all_existing(&ends, missing).await?;
        let are_left = self.exists(&removed_ends).await?;
        let hidden = self.hidden_among(&removed_ends).await?;
        let left = removed_ends.into_iter().zip(are_left);
        ends.extend(left.filter_map(|(end, is_left)| is_left.then_some(end)));
        ends.sort();
        ends.dedup();
        if ends.is_empty() {
            return Ok(());
        }
        edits.retain(|_, edits| {
            edits.retain(|(edit, other)| !(edit.is_removal && hidden.contains(other)));
            !edits.is_empty()
        });
        self.authorize_each(caller, PRIVILEGES, &ends).await?;
        let input_fields: Vec<Proposal> = edits
            .iter()
            .filter_map(|((holder, _), edits)| without_input_fields(holder, edits))
            .collect();
        let mut proposals: Vec<Proposal> = edits
            .into_iter()
            .map(|((holder, aspect), edits)| {
                let of = holder.clone();
                Proposal::edit_if::<Value, _>(holder, aspect, move |current, stamp| {
                    edited(&of, aspect, current, &edits, stamp)
                })
            })
            .collect();
        if proposals.is_empty() {
            return Ok(());
        }
        proposals.extend(input_fields);
        let exists = |urn: &Urn| Requirement::exists(urn, missing(urn));
        require_all(&mut proposals, ends.iter().map(exists));
        self.apply_with_right_on(caller, PRIVILEGES, ends, proposals)
            .await?;
        Ok(())
    }
}

impl LineageEdge {
    fn place(&self) -> Result<&'static Place, Error> {
        let (downstream, upstream) = (self.downstream.entity_type(), self.upstream.entity_type());
        let fits = |place: &&Place| place.downstream == downstream && place.upstream == upstream;
        PLACES.iter().find(fits).ok_or_else(|| {
            let of_type = PLACES.iter().filter(|place| place.downstream == downstream);
            let known: Vec<&str> = of_type.map(|place| place.upstream).collect();
            let hint = if known.is_empty() {
                "use a dataset, chart, dashboard or dataJob".to_owned()
            } else {
                format!("its upstreams have the type {}", known.join(" or "))
            };
            let (downstream, upstream) = (&self.downstream, &self.upstream);
            Error::invalid(format!(
                "{upstream} cannot be upstream of {downstream}: {hint}"
            ))
        })
    }
}

/// The aspect with the changes; `None` if they have no effect.
fn edited(
    holder: &Urn,
    aspect: AspectName,
    current: Option<Value>,
    edits: &[(ListEdit, Urn)],
    stamp: &AuditStamp,
) -> Result<Option<Value>, Error> {
    let mut value = match (current, aspect.as_str()) {
        (Some(current), _) => current,
        (None, "upstreamLineage") => json!({"upstreams": []}),
        (None, JOB) => json!({"inputDatasets": [], "outputDatasets": []}),
        (None, _) => {
            return Err(Error::invalid(format!(
                "Cannot update lineage: {holder} has no {aspect}. Ingest it first."
            )));
        }
    };
    let mut has_changed = false;
    for (edit, other) in edits {
        let names = |item: &Value| names(item, other);
        if edit.is_removal {
            for list in [edit.edges, edit.urns] {
                has_changed |= remove_from(value.get_mut(list), names);
            }
            has_changed |= remove_columns(&mut value, edit.by_upstream, other);
            continue;
        }
        let items = |list: &str| value.get(list).and_then(Value::as_array);
        let lists = [edit.edges, edit.urns].into_iter().filter_map(items);
        if lists.flatten().any(names) {
            continue;
        }
        let mut list = items(edit.edges).cloned().unwrap_or_default();
        list.push(new_edge(holder, aspect, other, stamp));
        value[edit.edges] = Value::Array(list);
        has_changed = true;
    }
    Ok(has_changed.then_some(value))
}

/// Removes items of a list. Returns whether there were any.
fn remove_from(list: Option<&mut Value>, is_removed: impl Fn(&Value) -> bool) -> bool {
    let Some(items) = list.and_then(Value::as_array_mut) else {
        return false;
    };
    let before = items.len();
    items.retain(|item| !is_removed(item));
    items.len() < before
}

/// Removes the lineage of the columns of an entity: it has none without an edge. Returns whether
/// there was any.
fn remove_columns(aspect: &mut Value, are_downstream: bool, of: &Urn) -> bool {
    let (side, fields) = if are_downstream {
        ("downstreams", "outputDatasetFields")
    } else {
        ("upstreams", "inputDatasetFields")
    };
    let mut has_changed = remove_from(aspect.get_mut(fields), |it| is_column_of(it, of));
    let entries = aspect.get_mut("fineGrainedLineages");
    if let Some(entries) = entries.and_then(Value::as_array_mut) {
        entries.retain_mut(|entry| {
            let is_changed = remove_from(entry.get_mut(side), |it| is_column_of(it, of));
            has_changed |= is_changed;
            let is_empty = entry[side].as_array().is_none_or(Vec::is_empty);
            !(is_changed && is_empty)
        });
    }
    has_changed
}

/// Whether a text is the URN of an entity or of a column of it.
fn is_column_of(text: &Value, of: &Urn) -> bool {
    let urn = text.as_str().and_then(|text| Urn::parse(text).ok());
    urn.is_some_and(|urn| holder_of(&urn) == *of)
}

/// Removes the columns of datasets that a chart or dashboard does not read any more; `None` for
/// others.
fn without_input_fields(holder: &Urn, edits: &[(ListEdit, Urn)]) -> Option<Proposal> {
    let spec = Registry::get().entity(holder.entity_type())?;
    let aspect = Registry::get().aspect(INPUT_FIELDS)?;
    let removed = edits.iter().filter(|(edit, _)| edit.is_removal);
    let removed: Vec<Urn> = removed.map(|(_, other)| other.clone()).collect();
    if removed.is_empty() || !spec.has_aspect(aspect) {
        return None;
    }
    let edit = move |current: Option<Value>, _: &AuditStamp| {
        let is_removed = |field: &Value| {
            removed
                .iter()
                .any(|it| is_column_of(&field["schemaFieldUrn"], it))
        };
        Ok(current.and_then(|mut fields| {
            remove_from(fields.get_mut("fields"), is_removed).then_some(fields)
        }))
    };
    Some(Proposal::edit_if(holder.clone(), aspect, edit))
}

/// The list in an aspect of the holder that may name the other end; `None` for types whose edges
/// users cannot change.
pub(super) fn list_of_edges(
    holder: &Urn,
    other: &Urn,
    aspect: AspectName,
    relationship: &str,
) -> Option<&'static str> {
    let is_between = |place: &&Place| {
        let (down, up) = if place.by_upstream {
            (other, holder)
        } else {
            (holder, other)
        };
        place.downstream == down.entity_type()
            && place.upstream == up.entity_type()
            && place.aspect == aspect.as_str()
            && place.by_upstream == (relationship == PRODUCES)
    };
    Some(PLACES.iter().find(is_between)?.edges)
}

/// Whether an item of a list is an edge to this entity.
pub(super) fn names(item: &Value, urn: &Urn) -> bool {
    let texts = [
        Some(item),
        item.get("destinationUrn"),
        item.get("dataset"),
        item.get("string"),
    ];
    let mut texts = texts.into_iter().flatten().filter_map(Value::as_str);
    texts.any(|text| text == urn.as_str())
}

/// An edge that a user has added.
fn new_edge(holder: &Urn, aspect: AspectName, other: &Urn, stamp: &AuditStamp) -> Value {
    let properties = json!({"source": MANUAL_SOURCE});
    if aspect.as_str() == "upstreamLineage" {
        return json!({
            "dataset": other,
            "type": "TRANSFORMED",
            "auditStamp": stamp,
            "created": stamp,
            "properties": properties,
        });
    }
    json!({
        "sourceUrn": holder,
        "destinationUrn": other,
        "created": stamp,
        "lastModified": stamp,
        "properties": properties,
    })
}
