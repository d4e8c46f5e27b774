//! Names of entities, which files use instead of URNs where they are unambiguous.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::entity::Aspect;
use docent_model::{Registry, Urn, shorten};

/// The member that holds the name of an entity, by type. Entities of other types have no names in
/// files.
const NAME_MEMBERS: [(&str, &str, &str); 9] = [
    ("application", "applicationProperties", "name"),
    ("corpGroup", "corpGroupInfo", "displayName"),
    ("dataProduct", "dataProductProperties", "name"),
    ("domain", "domainProperties", "name"),
    ("glossaryNode", "glossaryNodeInfo", "name"),
    ("glossaryTerm", "glossaryTermInfo", "name"),
    ("ownershipType", "ownershipTypeInfo", "name"),
    ("structuredProperty", "propertyDefinition", "qualifiedName"),
    ("tag", "tagProperties", "name"),
];
/// The candidates that an error about an ambiguous name lists.
const MAX_CANDIDATES: usize = 5;

/// The names of all entities that files refer to.
#[derive(Debug, Clone, Default)]
pub struct Names {
    names: HashMap<Urn, String>,
    urns: Urns,
    /// The names in files that define entities.
    defined: Urns,
    /// The entities that files refer to by the name alone; `None` for all.
    alone: Option<HashSet<Urn>>,
}

/// The entities by type and name.
type Urns = HashMap<(String, String), BTreeSet<Urn>>;

fn insert(urns: &mut Urns, urn: &Urn, name: &str) {
    let key = (urn.entity_type().to_owned(), name.to_owned());
    urns.entry(key).or_default().insert(urn.clone());
}

/// The entity types whose names files use, each with the aspect that has the name.
pub fn named_types() -> impl Iterator<Item = (&'static str, &'static str)> {
    NAME_MEMBERS
        .iter()
        .map(|(entity_type, aspect, _)| (*entity_type, *aspect))
}

/// The name of an entity; its id, if it has none.
pub fn name_of(urn: &Urn, aspects: &BTreeMap<String, Aspect>) -> Option<String> {
    let mut members = NAME_MEMBERS.iter();
    let (_, aspect, member) = members.find(|it| it.0 == urn.entity_type())?;
    let name = aspects
        .get(*aspect)
        .and_then(|it| it.value[member].as_str());
    Some(
        name.filter(|name| !name.is_empty())
            .unwrap_or(urn.key())
            .to_owned(),
    )
}

impl Names {
    /// Adds a name of an entity of the catalog.
    pub fn add(&mut self, urn: &Urn, name: &str) {
        self.add_alias(urn, name);
        self.names.insert(urn.clone(), name.to_owned());
    }

    /// Adds a name that files may use for the entity, but do not get in an export.
    pub fn add_alias(&mut self, urn: &Urn, name: &str) {
        insert(&mut self.urns, urn, name);
    }

    /// Adds the name in a file that defines the entity. The other files mean this entity, also if
    /// it has another name in the catalog now, or if another entity has the name.
    pub fn define(&mut self, urn: &Urn, name: &str) {
        insert(&mut self.defined, urn, name);
    }

    /// Writes references to other entities than these with the URN: no file defines them, so their
    /// names would mean nothing after they are renamed.
    pub fn qualify_all_but(&mut self, defined: impl IntoIterator<Item = Urn>) {
        self.alone = Some(defined.into_iter().collect());
    }

    /// The entity of a type with this name or URN.
    pub fn find(&self, text: &str, entity_type: &str) -> Result<Urn, String> {
        let urn = self.resolve(text, &[entity_type])?;
        Urn::parse(&urn).map_err(|error| error.to_string())
    }

    /// How a file refers to an entity: `Name`, `Name <URN>` or the URN.
    pub(crate) fn written(&self, text: &str) -> String {
        let Ok(urn) = Urn::parse(text) else {
            return text.to_owned();
        };
        let Some(name) = self.names.get(&urn).filter(|name| is_usable(name)) else {
            return text.to_owned();
        };
        let may_be_alone = self.alone.as_ref().is_none_or(|it| it.contains(&urn));
        if may_be_alone && self.resolve(name, &[urn.entity_type()]).as_deref() == Ok(text) {
            return name.clone();
        }
        let full = format!("{name} <{text}>");
        if self.resolve(&full, &[urn.entity_type()]).as_deref() == Ok(text) {
            full
        } else {
            text.to_owned()
        }
    }

    /// The URN that a reference in a file means. `types` are the allowed entity types; none means
    /// all, and then it must be a URN.
    pub(crate) fn resolve(&self, text: &str, types: &[&str]) -> Result<String, String> {
        let named = text
            .strip_suffix('>')
            .and_then(|text| text.rsplit_once(" <urn:"));
        let urn = match named {
            Some((_, rest)) => Some(format!("urn:{rest}")),
            None => text.starts_with("urn:").then(|| text.to_owned()),
        };
        if let Some(urn) = urn {
            let parsed = Registry::get().parse_urn(&urn);
            let parsed = parsed.map_err(|error| error.to_string())?;
            if !types.is_empty() && !types.contains(&parsed.entity_type()) {
                let expected = types.join(" or ");
                return Err(format!("'{}' is not a {expected}", shorten(text)));
            }
            return Ok(urn);
        }
        let Some(entity_type) = types.first() else {
            return Err(format!("'{}' is not a URN", shorten(text)));
        };
        let key = ((*entity_type).to_owned(), text.to_owned());
        let found = self.defined.get(&key).or_else(|| self.urns.get(&key));
        let found: Vec<&Urn> = found.into_iter().flatten().collect();
        match found[..] {
            [urn] => Ok(urn.to_string()),
            [] => Err(format!(
                "there is no {entity_type} with the name '{}': check the spelling, or define it in a file",
                shorten(text)
            )),
            _ => {
                let listed = found.iter().take(MAX_CANDIDATES);
                let listed: Vec<String> = listed.map(|urn| format!("'{text} <{urn}>'")).collect();
                Err(format!(
                    "several {entity_type}s have the name '{}': write {}",
                    shorten(text),
                    listed.join(" or ")
                ))
            }
        }
    }
}

/// Whether a name can be distinguished from a URN, and survives editing.
fn is_usable(name: &str) -> bool {
    !name.is_empty()
        && name.trim() == name
        && !name.starts_with("urn:")
        && !name.ends_with('>')
        && !name.contains(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(of: &[(&str, &str)]) -> Names {
        let mut names = Names::default();
        for (urn, name) in of {
            names.add(&Urn::parse(urn).unwrap(), name);
        }
        names
    }

    #[test]
    fn references_are_names_where_they_are_unambiguous() {
        let names = names(&[
            ("urn:li:tag:pii", "PII"),
            ("urn:li:tag:a", "same"),
            ("urn:li:tag:b", "same"),
            ("urn:li:domain:c", "same"),
            ("urn:li:tag:odd", "urn:li:tag:pii"),
        ]);
        for (urn, written) in [
            ("urn:li:tag:pii", "PII"),
            ("urn:li:tag:a", "same <urn:li:tag:a>"),
            ("urn:li:domain:c", "same"),
            ("urn:li:tag:odd", "urn:li:tag:odd"),
            ("urn:li:tag:unknown", "urn:li:tag:unknown"),
        ] {
            assert_eq!(names.written(urn), written);
            let types = [Urn::parse(urn).unwrap().entity_type().to_owned()];
            let types: Vec<&str> = types.iter().map(String::as_str).collect();
            assert_eq!(names.resolve(written, &types).as_deref(), Ok(urn));
        }
        let error = names.resolve("same", &["tag"]).unwrap_err();
        assert!(
            error.contains("'same <urn:li:tag:a>' or 'same <urn:li:tag:b>'"),
            "{error}"
        );
        let error = names.resolve("pii", &["tag"]).unwrap_err();
        assert!(error.contains("no tag with the name 'pii'"), "{error}");
        let error = names.resolve("urn:li:tag:pii", &["domain"]).unwrap_err();
        assert!(error.contains("is not a domain"), "{error}");
    }
}
