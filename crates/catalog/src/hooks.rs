//! Normalisation of some aspects in the write path.
//!
//! A hook is a pure function from the stored and the proposed value to the value to store. To add
//! one: a function here and a line in [`normalise`].

use std::collections::{HashMap, HashSet};

use docent_model::aspects::{
    AuditStamp, DomainAssociation, Domains, InstitutionalMemory, Link, Ownership,
};
use docent_model::{AspectName, Urn};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{Error, owners, redaction};

/// Normalises a proposed value; `None` if nothing changes. `direct` distinguishes a whole aspect
/// sent by a client from an edit of ours, which has its own rules.
pub(crate) fn normalise<'s>(
    aspect: AspectName,
    direct: bool,
    stored: impl FnOnce() -> Option<&'s Value>,
    proposed: &Value,
) -> Result<Option<Value>, Error> {
    match aspect {
        AspectName::INSTITUTIONAL_MEMORY if direct => {
            let links = parse::<InstitutionalMemory>(proposed)?;
            let mut urls = HashSet::with_capacity(links.elements.len());
            if links.elements.iter().all(|link| urls.insert(&link.url)) {
                return Ok(None);
            }
            let stored = stored().and_then(|value| Deserialize::deserialize(value).ok());
            let kept = without_duplicate_urls(links.clone(), stored.unwrap_or_default());
            changed(&links, &kept)
        }
        AspectName::DOMAINS => {
            let domains = parse::<Domains>(proposed)?;
            let stored = stored().and_then(|value| Deserialize::deserialize(value).ok());
            let in_step = keep_domains_in_step(domains.clone(), stored.unwrap_or_default())?;
            changed(&domains, &in_step)
        }
        AspectName::OWNERSHIP => {
            let ownership = parse::<Ownership>(proposed)?;
            let mut by_type = ownership.clone();
            owners::update_types(&mut by_type);
            changed(&ownership, &by_type)
        }
        AspectName::PROPERTY_DEFINITION => Ok(with_decimal_points(proposed)),
        _ => Ok(redaction::with_stored_secrets(aspect, stored, proposed)),
    }
}

/// The definition of a property whose allowed numbers have decimal points, as values have: typed
/// clients compare both. `None` if they have them.
fn with_decimal_points(definition: &Value) -> Option<Value> {
    let double = |allowed: &Value| allowed.pointer("/value/double")?.as_i64();
    let allowed = definition.get("allowedValues")?.as_array()?;
    if !allowed.iter().any(|it| double(it).is_some()) {
        return None;
    }
    let mut definition = definition.clone();
    let allowed = definition.get_mut("allowedValues")?.as_array_mut()?;
    for number in allowed
        .iter_mut()
        .filter_map(|it| it.pointer_mut("/value/double"))
    {
        *number = number.as_f64().into();
    }
    Some(definition)
}

/// Makes the caller the author of all links that are new, and of the changes of others; `None` if
/// nothing changes.
pub(crate) fn sign_links(
    stored: Option<&Value>,
    proposed: &Value,
    stamp: &AuditStamp,
) -> Result<Option<Value>, Error> {
    let links = parse::<InstitutionalMemory>(proposed)?;
    let stored = stored.and_then(|value| InstitutionalMemory::deserialize(value).ok());
    let stored = stored.unwrap_or_default().elements;
    let mut signed = links.clone();
    for link in &mut signed.elements {
        let is_same = |it: &&Link| it.url == link.url && it.description == link.description;
        if let Some(stored) = stored.iter().find(is_same) {
            link.create_stamp.clone_from(&stored.create_stamp);
            if link.update_stamp != stored.update_stamp {
                link.update_stamp = Some(stamp.clone());
            }
        } else if stored.iter().any(|it| is_relabeled(it, link)) {
            link.update_stamp = Some(stamp.clone());
        } else {
            link.create_stamp = stamp.clone();
            link.update_stamp = None;
        }
    }
    changed(&links, &signed)
}

/// Whether the link is the stored one with another label.
fn is_relabeled(stored: &Link, link: &Link) -> bool {
    stored.url == link.url && stored.create_stamp == link.create_stamp
}

fn parse<T: DeserializeOwned>(proposed: &Value) -> Result<T, Error> {
    T::deserialize(proposed).map_err(|error| Error::invalid_aspect(error.to_string()))
}

fn changed<T: PartialEq + serde::Serialize>(before: &T, after: &T) -> Result<Option<Value>, Error> {
    if before == after {
        return Ok(None);
    }
    serde_json::to_value(after)
        .map(Some)
        .map_err(|error| Error::invalid_aspect(error.to_string()))
}

/// Drops links whose URL is already in the list. Users may have stored one URL under several
/// labels; those stay, and the URL may occur as often as it did.
fn without_duplicate_urls(
    mut links: InstitutionalMemory,
    stored: InstitutionalMemory,
) -> InstitutionalMemory {
    let mut room: HashMap<String, usize> = HashMap::new();
    let mut known: HashMap<(String, String), usize> = HashMap::new();
    for link in stored.elements {
        *room.entry(link.url.clone()).or_default() += 1;
        *known.entry((link.url, link.description)).or_default() += 1;
    }
    let mut take = |link: &Link| {
        let left = room.entry(link.url.clone()).or_insert(1);
        let fits = *left > 0;
        *left = left.saturating_sub(1);
        fits
    };
    // Stored links take precedence, wherever they are in the list.
    let mut kept: Vec<bool> = links
        .elements
        .iter()
        .map(|link| {
            let again = known.get_mut(&(link.url.clone(), link.description.clone()));
            again.is_some_and(|left| {
                let fits = *left > 0 && take(link);
                *left = left.saturating_sub(1);
                fits
            })
        })
        .collect();
    for (link, kept) in links.elements.iter().zip(&mut kept) {
        *kept = *kept || take(link);
    }
    let mut kept = kept.into_iter();
    links.elements.retain(|_| kept.next().unwrap_or_default());
    links
}

/// `domains` and `domainAssociations` hold the same domains. Clients send one of them or both; the
/// one that changed wins.
fn keep_domains_in_step(proposed: Domains, stored: Domains) -> Result<Domains, Error> {
    let stored_associations = stored.domain_associations.unwrap_or_default();
    let Domains {
        domains,
        domain_associations,
        other,
    } = proposed;
    let mut associations = match domain_associations {
        None => associations_for(&domains, &stored_associations),
        Some(associations) => {
            let domains_differ = domains != stored.domains;
            let associations_differ = associations != stored_associations;
            if domains_differ && !associations_differ {
                associations_for(&domains, &associations)
            } else if domains_differ && !domains.is_empty() && !same_set(&domains, &associations) {
                return Err(Error::invalid_aspect(
                    "Cannot update both 'domains' and 'domainAssociations' in the same write. \
                     Send one of them, or the same domains in both."
                        .to_owned(),
                ));
            } else {
                associations
            }
        }
    };
    // User assignments come before propagated ones; the sort is stable.
    associations.sort_by_key(is_propagated);
    let mut seen = HashSet::new();
    let domains = associations
        .iter()
        .map(|association| association.domain.clone())
        .filter(|domain| seen.insert(domain.clone()))
        .collect();
    Ok(Domains {
        domains,
        domain_associations: Some(associations),
        other,
    })
}

/// An association for each domain: the stored one if there is one.
fn associations_for(domains: &[Urn], known: &[DomainAssociation]) -> Vec<DomainAssociation> {
    let mut stored = HashMap::with_capacity(known.len());
    for association in known {
        stored.entry(&association.domain).or_insert(association);
    }
    let mut seen = HashSet::new();
    domains
        .iter()
        .filter(|domain| seen.insert(*domain))
        .map(|domain| match stored.get(domain) {
            Some(association) => (*association).clone(),
            None => DomainAssociation {
                domain: domain.clone(),
                other: serde_json::Map::new(),
            },
        })
        .collect()
}

fn same_set(domains: &[Urn], associations: &[DomainAssociation]) -> bool {
    let left: HashSet<&Urn> = domains.iter().collect();
    let right: HashSet<&Urn> = associations.iter().map(|found| &found.domain).collect();
    left == right
}

fn is_propagated(association: &DomainAssociation) -> bool {
    association
        .other
        .get("attribution")
        .and_then(|attribution| attribution.pointer("/sourceDetail/propagated"))
        .and_then(Value::as_str)
        .is_some_and(|propagated| propagated.eq_ignore_ascii_case("true"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn in_step(proposed: &Value, stored: Option<&str>) -> Result<Value, Error> {
        let stored: Option<Value> = stored.map(|text| serde_json::from_str(text).unwrap());
        let stored = || stored.as_ref();
        normalise(AspectName::DOMAINS, true, stored, proposed)
            .map(|changed| changed.unwrap_or_else(|| proposed.clone()))
    }

    #[test]
    fn associations_follow_from_domains_and_keep_what_was_known() {
        let stored = r#"{"domains":["urn:li:domain:a"],"domainAssociations":[{"domain":"urn:li:domain:a","context":"x"}]}"#;
        assert_eq!(
            in_step(
                &json!({"domains": ["urn:li:domain:b", "urn:li:domain:a"]}),
                Some(stored)
            )
            .unwrap(),
            json!({
                "domains": ["urn:li:domain:b", "urn:li:domain:a"],
                "domainAssociations": [
                    {"domain": "urn:li:domain:b"},
                    {"domain": "urn:li:domain:a", "context": "x"},
                ]
            })
        );
    }

    #[test]
    fn domains_follow_from_associations_when_only_those_changed() {
        let stored = r#"{"domains":[],"domainAssociations":[]}"#;
        assert_eq!(
            in_step(
                &json!({"domains": [], "domainAssociations": [{"domain": "urn:li:domain:a"}]}),
                Some(stored)
            )
            .unwrap(),
            json!({
                "domains": ["urn:li:domain:a"],
                "domainAssociations": [{"domain": "urn:li:domain:a"}]
            })
        );
    }

    #[test]
    fn two_different_lists_in_one_write_are_refused() {
        let error = in_step(
            &json!({"domains": ["urn:li:domain:a"], "domainAssociations": [{"domain": "urn:li:domain:b"}]}),
            None,
        )
        .unwrap_err();
        assert!(
            error.to_string().starts_with(
                "Cannot update both 'domains' and 'domainAssociations' in the same write."
            ),
            "{error}"
        );
    }

    #[test]
    fn what_was_propagated_stands_behind_what_people_assigned() {
        let sorted = in_step(
            &json!({"domains": [], "domainAssociations": [
                {"domain": "urn:li:domain:p", "attribution": {"sourceDetail": {"propagated": "TRUE"}}},
                {"domain": "urn:li:domain:a"},
            ]}),
            None,
        )
        .unwrap();
        assert_eq!(
            sorted["domains"],
            json!(["urn:li:domain:a", "urn:li:domain:p"])
        );
    }

    fn links_of(pairs: &[(&str, &str)]) -> Value {
        let stamp = json!({"time": 1, "actor": "urn:li:corpuser:a"});
        let link = |(url, text): &(&str, &str)| json!({"url": url, "description": text, "createStamp": stamp});
        json!({"elements": pairs.iter().map(link).collect::<Vec<_>>()})
    }

    fn stored_links(stored: Option<&Value>, proposed: &Value) -> Value {
        let memory = AspectName::INSTITUTIONAL_MEMORY;
        normalise(memory, true, || stored, proposed)
            .unwrap()
            .unwrap_or_else(|| proposed.clone())
    }

    #[test]
    fn a_url_stands_once_in_a_directly_written_list_of_links() {
        let proposed = links_of(&[("u", "first"), ("v", "other"), ("u", "second")]);
        assert_eq!(
            stored_links(None, &proposed),
            links_of(&[("u", "first"), ("v", "other")])
        );
        let edited = normalise(AspectName::INSTITUTIONAL_MEMORY, false, || None, &proposed);
        assert_eq!(edited.unwrap(), None);
    }

    #[test]
    fn a_url_that_is_stored_under_two_labels_keeps_both_and_gets_no_third() {
        let stored = links_of(&[("u", "one"), ("u", "two")]);
        let written = |pairs| stored_links(Some(&stored), &links_of(pairs));
        let more = [("u", "one"), ("v", "new"), ("u", "two")];
        assert_eq!(written(&more), links_of(&more));
        assert_eq!(
            written(&[("u", "third"), ("u", "two"), ("u", "one"), ("u", "one")]),
            links_of(&[("u", "two"), ("u", "one")])
        );
        let renamed = [("u", "uno"), ("u", "two")];
        assert_eq!(written(&renamed), links_of(&renamed));
    }
}
