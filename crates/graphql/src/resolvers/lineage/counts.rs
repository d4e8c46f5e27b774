//! `searchAcrossLineageCounts`: how many entities a search across lineage finds.
//!
//! Column lineage names columns that are no entities of their own, and some that their table no
//! longer has. The input says which of them count.

use std::collections::{HashMap, HashSet};

use docent_catalog::lineage::{Reached, WalkLimits};
use docent_catalog::long_work::{self, LONG_TEXT_BYTES};
use docent_catalog::{AspectKey, AspectRow, Error, LoadError, LoadedBytes, ReadRequest};
use docent_model::{AspectName, Registry, Urn};
use serde::Deserialize;
use serde_json::{Value, json};

use super::conditions::Alternatives;
use super::{LineageFlags, direction, has_type_in_schema, narrow, number};
use crate::entity_types;
use crate::resolvers::search::input::AndFilter;
use crate::{Args, Context};

/// The most tables whose columns are checked, unless the request insists.
const MAX_CHECKED_TABLES: usize = 100;
/// The most tables whose columns are checked.
const MAX_TABLES: usize = 1_000;
const MIB: u64 = 1024 * 1024;
/// The most bytes of their schemas.
const MAX_SCHEMA_BYTES: u64 = 64 * MIB;
/// How many schemas are read at once.
const SCHEMAS_AT_ONCE: usize = 20;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Input {
    urn: String,
    direction: String,
    types: Option<Vec<String>>,
    or_filters: Option<Vec<AndFilter>>,
    lineage_flags: Option<LineageFlags>,
    include_ghost_entities: Option<bool>,
    include_soft_deleted: Option<bool>,
    validate_schema_fields: Option<Validation>,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "UPPERCASE")]
enum Validation {
    None,
    Auto,
    Always,
}

pub(in crate::resolvers) async fn search_across_lineage_counts(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    let input: Input = arguments.input()?;
    let start = Registry::get().parse_urn(&input.urn)?;
    let ghosts = input.include_ghost_entities == Some(true);
    let includes_removed = ghosts || input.include_soft_deleted == Some(true);
    let filters = input.or_filters.as_deref().unwrap_or_default();
    let mut alternatives = Alternatives::read(&[], filters, includes_removed)?;
    if ghosts {
        alternatives = alternatives.without_search()?;
    }
    let flags = input.lineage_flags.as_ref();
    let explored = flags.and_then(|flags| flags.entities_explored_per_hop_limit);
    let default = WalkLimits::default();
    let limits = WalkLimits {
        hops: alternatives.hops(),
        explored_per_hop: number(
            "entitiesExploredPerHopLimit",
            explored,
            default.explored_per_hop,
        )?,
        include_removed: true,
        include_missing: ghosts,
        window: flags.and_then(LineageFlags::window),
        ..default
    };
    let ignored = LineageFlags::ignored_hops(flags)?;
    let walk = context
        .catalog
        .lineage_walk(&start, direction(&input.direction), limits, &ignored)
        .await?;
    let types = input.types.as_deref().unwrap_or_default();
    let includes_type = |urn: &Urn| {
        let mut names = types.iter();
        types.is_empty()
            || names.any(|name| entity_types::from_any_name(name) == Some(urn.entity_type()))
    };
    let candidates: Vec<&Reached> = walk
        .reached()
        .iter()
        .filter(|reached| has_type_in_schema(&reached.urn) && includes_type(&reached.urn))
        .collect();
    let hits = narrow::narrow(context, "", &alternatives, &candidates).await?;
    let (columns, others): (Vec<Urn>, Vec<Urn>) = hits
        .into_iter()
        .map(|hit| hit.urn)
        .partition(|urn| urn.entity_type() == "schemaField");
    let stored = context.catalog.exists(&columns).await?;
    let (stored, unstored): (Vec<(Urn, bool)>, Vec<_>) = columns
        .into_iter()
        .zip(stored)
        .partition(|(_, exists)| *exists);
    let unstored: Vec<Urn> = unstored.into_iter().map(|(urn, _)| urn).collect();
    let validation = input.validate_schema_fields.unwrap_or(Validation::Auto);
    let counted = match (ghosts, validation) {
        (false, _) => 0,
        (true, Validation::None) => unstored.len(),
        (true, validation) => declared(context, &unstored, validation).await?,
    };
    Ok(json!({"total": others.len() + stored.len() + counted}))
}

/// How many of the columns are in the schema of their table.
async fn declared(
    context: &Context,
    columns: &[Urn],
    validation: Validation,
) -> Result<usize, Error> {
    let mut paths: HashMap<Urn, Vec<&str>> = HashMap::new();
    for column in columns {
        let parts = column.key_parts();
        if let [table, path] = parts[..]
            && let Ok(table) = Urn::parse(table)
        {
            paths.entry(table).or_default().push(path);
        }
    }
    let is_optional = validation == Validation::Auto;
    if is_optional && paths.len() > MAX_CHECKED_TABLES {
        return Ok(columns.len());
    }
    if paths.len() > MAX_TABLES {
        return Err(too_much(&format!(
            "the columns of {} tables, at most {MAX_TABLES} are allowed",
            paths.len()
        )));
    }
    let keys: Vec<AspectKey> = paths
        .keys()
        .map(|table| AspectKey::new(table, AspectName::SCHEMA_METADATA))
        .collect();
    let mut count = 0;
    let mut remaining = MAX_SCHEMA_BYTES;
    for keys in keys.chunks(SCHEMAS_AT_ONCE) {
        // Only the schemas of one portion are in memory.
        let mut loaded = LoadedBytes::default();
        let request = ReadRequest::rows(keys);
        let rows = match context.catalog.load(request, remaining, &mut loaded).await {
            Ok(reply) => reply.rows,
            Err(LoadError::Failed(error)) => return Err(error),
            Err(LoadError::TooLong(_)) if is_optional => return Ok(columns.len()),
            Err(LoadError::TooLong(_)) => {
                return Err(too_much(&format!(
                    "schemas of more than {} MiB",
                    MAX_SCHEMA_BYTES / MIB
                )));
            }
        };
        remaining = remaining.saturating_sub(loaded.bytes());
        let is_long = loaded.bytes() > LONG_TEXT_BYTES as u64;
        let in_schema = |(key, row): (&AspectKey, AspectRow)| {
            let of_table = paths.get(&key.urn).map(Vec::as_slice).unwrap_or_default();
            number_in_schema(of_table, &row)
        };
        let compare = || keys.iter().zip(rows).map(in_schema).sum::<usize>();
        count += long_work::run(is_long, compare).await;
    }
    Ok(count)
}

fn too_much(what: &str) -> Error {
    Error::too_large(format!(
        "validateSchemaFields would check {what}: filter by degree, or send AUTO or NONE"
    ))
}

/// How many of the columns are in a schema.
fn number_in_schema(paths: &[&str], row: &AspectRow) -> usize {
    let schema = row.as_ref();
    let schema = schema.and_then(|row| serde_json::from_str::<Schema>(&row.metadata).ok());
    let fields = schema.map(|schema| schema.fields).unwrap_or_default();
    let known: HashSet<&str> = fields.iter().map(|it| it.field_path.as_str()).collect();
    paths.iter().filter(|path| known.contains(**path)).count()
}

#[derive(Deserialize)]
struct Schema {
    fields: Vec<Field>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Field {
    field_path: String,
}
