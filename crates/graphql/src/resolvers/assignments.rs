//! Whether forms and roles are assigned to the caller.

use docent_model::{AspectName, Urn};
use serde_json::{Value, json};

use crate::{Args, BatchResult, Context, EntityView};

/// Whether the caller is an assignee of the form for the entity that has it.
pub(super) async fn is_form_assigned_to_me(
    context: &Context,
    objects: &[EntityView<'_>],
    _: Args<'_>,
) -> BatchResult {
    let mut pairs = Vec::with_capacity(objects.len());
    for object in objects {
        let form = object.value()["urn"].as_str().unwrap_or_default();
        pairs.push((Urn::parse(form)?, object.urn().clone()));
    }
    let assigned = context
        .catalog
        .are_forms_assigned(&context.caller, &pairs)
        .await?;
    Ok(assigned.into_iter().map(|it| Ok(json!(it))).collect())
}

/// Whether the caller, or a group of the caller, is named: in the assignees of a form, or among the
/// actors of a role.
pub(super) async fn is_assigned_to_me(
    context: &Context,
    objects: &[EntityView<'_>],
    _: Args<'_>,
) -> BatchResult {
    let me = context
        .catalog
        .identities_of(context.caller.actor())
        .await?;
    let names_me = |actors: &Value| {
        let named = ["users", "groups"]
            .iter()
            .filter_map(|list| actors[list].as_array());
        named.flatten().any(|actor| {
            let urn = actor.as_str();
            let urn = urn.or_else(|| actor["user"].as_str());
            let urn = urn.or_else(|| actor["group"].as_str());
            urn.is_some_and(|urn| me.contains(urn))
        })
    };
    let is_assigned = |object: &EntityView<'_>| match object.aspect(AspectName::ACTORS) {
        Some(row) => serde_json::from_str(&row.metadata).is_ok_and(|actors| names_me(&actors)),
        None => names_me(object.value()),
    };
    let replies = objects.iter().map(|object| Ok(json!(is_assigned(object))));
    Ok(replies.collect())
}
