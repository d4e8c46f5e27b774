//! What may be written into a policy: nothing that would silently grant nothing, or more than it
//! seems to.

use docent_model::{Registry, Urn, shorten};
use serde_json::Value;

use super::{NewPolicy, PolicyKind};
use crate::Error;
use crate::access::{PolicyField, has_criteria};
use crate::limits::{check_name, check_note};
use crate::privilege::Privilege;

/// The most users, groups, roles, criteria or values of one list in a policy.
pub(crate) const MAX_LISTED: usize = 1_000;

/// Checks a policy, and returns the entities that must exist.
pub(super) fn check(new: &NewPolicy) -> Result<Vec<Urn>, Error> {
    check_name("a policy", &new.name)?;
    check_note("the description", new.description.as_deref())?;
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
        return Err(Error::invalid(
            "a policy of type PLATFORM has no resources: omit them, or choose METADATA",
        ));
    }
    if let Some(entity_type) = resources["type"].as_str() {
        check_entity_type(entity_type)?;
    }
    let urns = resources["resources"].as_array();
    let urns = urns.map(Vec::as_slice).unwrap_or_default();
    check_count("resources", urns.len())?;
    for urn in urns.iter().filter_map(Value::as_str) {
        named.push(Registry::get().parse_urn(urn)?);
    }
    for member in ["filter", "privilegeConstraints"] {
        let criteria = resources[member]["criteria"].as_array();
        let criteria = criteria.map(Vec::as_slice).unwrap_or_default();
        check_count("criteria", criteria.len())?;
        for criterion in criteria {
            named.extend(check_criterion(criterion)?);
        }
    }
    named.sort_unstable();
    named.dedup();
    Ok(named)
}

/// Rejects an update that omits the resources of a policy that covers only some: it would cover
/// everything. DataHub accepts it.
pub(super) fn check_widening(current: Option<&Value>, new: &NewPolicy) -> Result<(), Error> {
    let is_explicit = new.resources.as_ref().is_some_and(|resources| {
        resources["allResources"] == true
            || resources["filter"].is_object()
            || has_criteria(resources)
    });
    let resources = current.map(|current| &current["resources"]);
    let is_limited = resources.is_some_and(has_criteria);
    let is_constrained = resources.is_some_and(|it| it["privilegeConstraints"].is_object());
    let keeps_constraints = |resources: &Value| resources["privilegeConstraints"].is_object();
    let drops_constraints =
        is_constrained && !new.resources.as_ref().is_some_and(keeps_constraints);
    let may_widen = is_limited || drops_constraints;
    if new.kind == PolicyKind::Metadata && may_widen && !is_explicit {
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
    let values = criterion["values"].as_array();
    let values = values.map(Vec::as_slice).unwrap_or_default();
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
