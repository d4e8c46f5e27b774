//! Hierarchies whose entities count as inside themselves and inside everything above: domains,
//! containers, and the nodes and terms of the glossary.
//!
//! To add one: name the aspect and the member that have the parent, and let [`read_resource`] start
//! from the entity itself.

use docent_model::{AspectName, Urn};
use docent_store::{AspectKey, AspectRow};
use serde_json::Value;

use super::resource::{Fields, Resource};
use super::resource_reader::{AspectSource, read_resource, urn_in};
use crate::Error;
use crate::stored::aspect_value;

/// What an entity leaves or reaches by a move.
pub(crate) struct Place {
    /// `None` for the root.
    pub(crate) parent: Option<Urn>,
    /// What policies compare.
    pub(crate) resource: Resource,
}

/// The aspect that has the parent of an entity of this type, if the type is part of a hierarchy.
pub(crate) fn parent_aspect(entity_type: &str) -> Option<AspectName> {
    Some(match entity_type {
        "domain" => AspectName::DOMAIN_PROPERTIES,
        "container" => AspectName::CONTAINER,
        "glossaryTerm" => AspectName::GLOSSARY_TERM_INFO,
        "glossaryNode" => AspectName::GLOSSARY_NODE_INFO,
        _ => return None,
    })
}

/// The aspects by which others are inside an entity of this type, except for domains: only one
/// without subdomains is deleted, and membership has rules of its own.
pub(crate) fn child_aspects(entity_type: &str) -> &'static [AspectName] {
    match entity_type {
        "container" => &[AspectName::CONTAINER],
        "glossaryNode" => &[
            AspectName::GLOSSARY_NODE_INFO,
            AspectName::GLOSSARY_TERM_INFO,
        ],
        _ => &[],
    }
}

/// The aspects by which others are inside an entity of this type, for the decisions about them.
pub(crate) fn member_aspects(entity_type: &str) -> &'static [AspectName] {
    match entity_type {
        "domain" => &[AspectName::DOMAINS, AspectName::DOMAIN_PROPERTIES],
        "glossaryTerm" => &[AspectName::GLOSSARY_TERMS],
        "glossaryNode" => &[
            AspectName::GLOSSARY_NODE_INFO,
            AspectName::GLOSSARY_TERM_INFO,
            AspectName::GLOSSARY_TERMS,
        ],
        _ => child_aspects(entity_type),
    }
}

/// The entity right above another one in its hierarchy.
pub(crate) async fn read_parent(
    source: &mut impl AspectSource,
    urn: &Urn,
) -> Result<Option<Urn>, Error> {
    let Some(key) = parent_key(urn) else {
        return Ok(None);
    };
    let rows = source.rows(vec![key.clone()]).await?;
    Ok(rows.first().and_then(|row| parent_in(key.aspect, row)))
}

/// The places on both sides of a move: the parent that the entity had, and the one that it has in
/// the source. None if it stays.
///
/// A move needs the right on both. An entity is inside itself, so the right on it says nothing
/// about where it may be. The root is no entity: what all entities of the type share decides there.
pub(crate) async fn read_move(
    source: &mut impl AspectSource,
    urn: &Urn,
    before: Option<Urn>,
    fields: Fields,
) -> Result<Vec<Place>, Error> {
    let after = read_parent(source, urn).await?;
    if before == after {
        return Ok(Vec::new());
    }
    let mut places = Vec::with_capacity(2);
    for parent in [before, after] {
        let resource = match &parent {
            Some(parent) => read_resource(source, parent, fields).await?,
            None => Resource::of_type(urn.entity_type()),
        };
        places.push(Place { parent, resource });
    }
    Ok(places)
}

/// The aspect that has the parent of an entity.
pub(crate) fn parent_key(urn: &Urn) -> Option<AspectKey> {
    let aspect = parent_aspect(urn.entity_type())?;
    Some(AspectKey::new(urn, aspect))
}

pub(crate) fn parent_in(aspect: AspectName, row: &AspectRow) -> Option<Urn> {
    let value: Value = aspect_value(row)?;
    urn_in(&value[parent_member(aspect)])
}

pub(super) fn parent_member(aspect: AspectName) -> &'static str {
    match aspect {
        AspectName::DOMAIN_PROPERTIES => "parentDomain",
        AspectName::CONTAINER => "container",
        _ => "parentNode",
    }
}
