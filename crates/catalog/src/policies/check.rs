//! What may be written into a policy: nothing that would silently grant nothing, or more than it
//! seems to.

use docent_model::{Registry, Urn, shorten};
use serde_json::{Value, json};

use super::{NewPolicy, PolicyKind};
use crate::Error;
use crate::access::{PolicyField, has_criteria};
use crate::limits::{check_length, check_lines, check_name, check_note};
use crate::privilege::Privilege;

/// The most users, groups, roles, criteria or values of one list in a policy.
pub(crate) const MAX_LISTED: usize = 1_000;
/// The most values of all criteria of a policy together.
const MAX_VALUES: usize = 10_000;
/// The most characters of a prefix: as many as a URN can have.
const MAX_PREFIX_CHARACTERS: usize = docent_model::MAX_ENCODED_BYTES;

/// Checks a policy, and returns the entities that must exist.
pub(super) fn check(new: &NewPolicy) -> Result<Vec<Urn>, Error> {
    check_name("a policy", &new.name)?;
    check_note("the description", new.description.as_deref())?;
    check_lines(
        "the description",
        new.description.as_deref().unwrap_or_default(),
    )?;
    check_privileges(new)?;
    let mut named = Vec::new();
    for (member, urns, entity_type) in [
        ("users", Some(&new.actors.users), "corpuser"),
        ("groups", Some(&new.actors.groups), "corpGroup"),
        ("roles", new.actors.roles.as_ref(), "dataHubRole"),
        (
            "resourceOwnersTypes",
            new.actors.resource_owners_types.as_ref(),
            "ownershipType",
        ),
    ] {
        let urns = urns.map(Vec::as_slice).unwrap_or_default();
        check_count(member, urns.len())?;
        for urn in urns {
            urn.expect_type(entity_type)?;
            Registry::get().check_urn(urn)?;
        }
        named.extend_from_slice(urns);
    }
    let Some(resources) = &new.resources else {
        return Ok(named);
    };
    if new.kind == PolicyKind::Platform {
        // DataHub's clients send an empty filter.
        if *resources == json!({"filter": {"criteria": []}}) {
            return Ok(named);
        }
        return Err(Error::invalid(
            "a policy of type PLATFORM has no resources: omit them, or choose METADATA",
        ));
    }
    check_extent(resources)?;
    if let Some(entity_type) = resources["type"].as_str() {
        check_entity_type(entity_type)?;
    }
    let urns = items(&resources["resources"]);
    check_count("resources", urns.len())?;
    for urn in urns.iter().filter_map(Value::as_str) {
        named.push(Registry::get().parse_urn(urn)?);
    }
    let mut values = 0;
    for member in ["filter", "privilegeConstraints"] {
        let criteria = items(&resources[member]["criteria"]);
        check_count("criteria", criteria.len())?;
        for criterion in criteria {
            values += items(&criterion["values"]).len();
            if values > MAX_VALUES {
                return Err(Error::invalid(format!(
                    "the criteria of the policy have more than {MAX_VALUES} values together: use domains, containers or \
                     several policies"
                )));
            }
            named.extend(check_criterion(criterion)?);
        }
    }
    named.sort_unstable();
    named.dedup();
    Ok(named)
}

/// Rejects `resources` that do not say what the policy covers, or say it in two ways. DataHub reads
/// them as everything, or ignores one of the two.
fn check_extent(resources: &Value) -> Result<(), Error> {
    let covers_all = resources["allResources"] == true;
    let filter = resources.get("filter").map(|filter| &filter["criteria"]);
    let listed = resources.get("resources").map(items);
    let is_listed = listed.is_some_and(|listed| !listed.is_empty());
    let has_type = resources["type"].is_string();
    let problem = match filter {
        Some(_) if has_type || is_listed => {
            "`resources` has a `filter`, so its `type` and `resources` have no effect: write them as criteria, for TYPE \
             and URN"
        }
        Some(criteria) if covers_all && !items(criteria).is_empty() => {
            "`allResources` contradicts the criteria of the `filter`: omit one of them"
        }
        Some(_) => return Ok(()),
        None if covers_all && is_listed => {
            "`allResources` contradicts the list of `resources`: omit one of them"
        }
        None if covers_all => return Ok(()),
        None if listed.is_some_and(<[Value]>::is_empty) => {
            "the list of `resources` is empty, so the policy would cover nothing: name some, or send \
             {\"allResources\": true} to cover everything"
        }
        None if has_type || is_listed => return Ok(()),
        None => {
            "`resources` does not say what the policy covers: send a `filter`, a `type` or a list, or \
             {\"allResources\": true} to cover everything"
        }
    };
    Err(Error::invalid(problem))
}

/// The items of a list; none if it is missing.
fn items(list: &Value) -> &[Value] {
    list.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Rejects an update that omits the resources of a policy that covers only some: it would cover
/// everything. DataHub accepts it.
pub(super) fn check_widening(current: Option<&Value>, new: &NewPolicy) -> Result<(), Error> {
    let resources = current.map(|current| &current["resources"]);
    let is_limited =
        resources.is_some_and(|it| has_criteria(it) || it["privilegeConstraints"].is_object());
    if new.kind == PolicyKind::Metadata && is_limited && new.resources.is_none() {
        return Err(Error::invalid(
            "the policy covers only some resources, and the update has none: send its `resources` to keep them, or \
             {\"allResources\": true} to cover everything",
        ));
    }
    Ok(())
}

fn check_privileges(new: &NewPolicy) -> Result<(), Error> {
    if new.privileges.is_empty() {
        return Err(Error::invalid("a policy needs at least one privilege"));
    }
    check_count("privileges", new.privileges.len())?;
    for name in &new.privileges {
        let Some(privilege) = Privilege::parse(name) else {
            return Err(Error::invalid(format!(
                "'{}' is not a privilege: docs/ACCESS.md lists their names",
                shorten(name)
            )));
        };
        if !privilege.is_of(new.kind) {
            let other = match new.kind {
                PolicyKind::Platform => PolicyKind::Metadata,
                PolicyKind::Metadata => PolicyKind::Platform,
            };
            return Err(Error::invalid(format!(
                "{privilege} is a privilege of {} policies, and this policy has the type {}: grant it in another \
                 policy",
                other.name(),
                new.kind.name(),
            )));
        }
    }
    Ok(())
}

/// Checks a criterion, and returns the entities that must exist.
fn check_criterion(criterion: &Value) -> Result<Vec<Urn>, Error> {
    let name = criterion["field"].as_str().unwrap_or_default();
    let Some(field) = PolicyField::parse(name) else {
        return Err(Error::invalid(format!(
            "'{}' is not a field of resources: use TYPE, URN, OWNER, DOMAIN, CONTAINER, TAG, GLOSSARY, \
             GROUP_MEMBERSHIP or DATA_PLATFORM_INSTANCE",
            shorten(name)
        )));
    };
    let values = items(&criterion["values"]);
    check_count("values", values.len())?;
    let values: Vec<&str> = values.iter().filter_map(Value::as_str).collect();
    if values.is_empty() || values.contains(&"") {
        return Err(Error::invalid(format!(
            "the criterion for {name} compares with nothing: send values that are not empty, or omit the criterion"
        )));
    }
    if field == PolicyField::Type {
        for value in values {
            check_entity_type(value)?;
        }
        return Ok(Vec::new());
    }
    if criterion["condition"] == "STARTS_WITH" {
        for value in values {
            check_length(
                &format!("a prefix for {name}"),
                value,
                MAX_PREFIX_CHARACTERS,
            )?;
        }
        return Ok(Vec::new());
    }
    let mut named = Vec::new();
    for value in values {
        let urn = Registry::get().parse_urn(value)?;
        let types = entity_types(field);
        if !types.is_empty() && !types.contains(&urn.entity_type()) {
            return Err(Error::invalid(format!(
                "{urn} is not a value of {name}: its type must be {}",
                types.join(" or ")
            ))
            .naming(&urn));
        }
        // Entities can have owners and platform instances that were never ingested themselves.
        if ![PolicyField::Owner, PolicyField::DataPlatformInstance].contains(&field) {
            named.push(urn);
        }
    }
    Ok(named)
}

/// The entity types of a field's values; empty for any.
fn entity_types(field: PolicyField) -> &'static [&'static str] {
    match field {
        PolicyField::Type | PolicyField::Urn => &[],
        PolicyField::Owner => &["corpuser", "corpGroup"],
        PolicyField::Domain => &["domain"],
        PolicyField::GroupMembership => &["corpGroup"],
        PolicyField::DataPlatformInstance => &["dataPlatformInstance"],
        PolicyField::Tag => &["tag"],
        PolicyField::Container => &["container"],
        PolicyField::Glossary => &["glossaryTerm", "glossaryNode"],
    }
}

fn check_entity_type(name: &str) -> Result<(), Error> {
    let spec = Registry::get().entity(name);
    // Policies compare exactly, the registry does not.
    if spec.is_none_or(|spec| spec.name != name) {
        return Err(Error::invalid(format!(
            "'{}' is not an entity type: use for example dataset",
            shorten(name)
        )));
    }
    Ok(())
}

fn check_count(what: &str, count: usize) -> Result<(), Error> {
    if count > MAX_LISTED {
        return Err(Error::invalid(format!(
            "the policy has {count} {what}: at most {MAX_LISTED} are allowed; use groups, domains or several policies"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Otherwise they could be shown, and not be saved again.
    #[test]
    fn the_default_policies_can_be_saved_again() {
        let text = include_str!("../access/default_policies.json");
        let defaults: Value = serde_json::from_str(text).unwrap();
        let policies = defaults["policies"].as_array().unwrap();
        // DataHub's policy for what Readers may do on the platform is empty.
        let is_saved = |it: &&Value| it["editable"] == true && it["privileges"] != json!([]);
        for policy in policies.iter().filter(is_saved) {
            let new = NewPolicy {
                name: policy["displayName"].as_str().unwrap().to_owned(),
                kind: match policy["type"].as_str() {
                    Some("PLATFORM") => PolicyKind::Platform,
                    _ => PolicyKind::Metadata,
                },
                privileges: serde_json::from_value(policy["privileges"].clone()).unwrap(),
                resources: policy.get("resources").cloned(),
                ..NewPolicy::default()
            };
            check(&new).unwrap_or_else(|error| panic!("{}: {error}", new.name));
        }
    }
}
