//! Who answers and verifies a form: those whom it names, and the owners of an asset.

use std::collections::{HashMap, HashSet};

use docent_model::aspects::Ownership;
use docent_model::{AspectName, Urn};
use serde_json::Value;

use crate::stored::aspect_value;
use crate::{AspectKey, Caller, Catalog, Error, ReadRequest};

impl Catalog {
    /// Whether the caller is an assignee of each form for the asset beside it. False for forms that
    /// are missing.
    pub async fn are_forms_assigned(
        &self,
        caller: &Caller,
        pairs: &[(Urn, Urn)],
    ) -> Result<Vec<bool>, Error> {
        let me = self.identities_of(caller.actor()).await?;
        let mut forms: HashMap<&Urn, Option<Value>> = HashMap::new();
        let mut ownerships: HashMap<&Urn, Option<Ownership>> = HashMap::new();
        let mut replies = Vec::with_capacity(pairs.len());
        for (form, asset) in pairs {
            if !forms.contains_key(form) {
                forms.insert(form, self.stored_form(form).await?);
            }
            let info = forms.get(form).and_then(Option::as_ref);
            if info.is_some_and(is_for_owners) && !ownerships.contains_key(asset) {
                ownerships.insert(asset, self.ownership_of(asset).await?);
            }
            let ownership = ownerships.get(asset).and_then(Option::as_ref);
            replies.push(info.is_some_and(|info| is_assignee(info, &me, ownership)));
        }
        Ok(replies)
    }

    /// Whether the caller is named in the form, or owns the asset if the form is for owners.
    pub(super) async fn is_form_assigned(
        &self,
        caller: &Caller,
        info: &Value,
        asset: &Urn,
    ) -> Result<bool, Error> {
        let me = self.identities_of(caller.actor()).await?;
        let ownership = if is_for_owners(info) {
            self.ownership_of(asset).await?
        } else {
            None
        };
        Ok(is_assignee(info, &me, ownership.as_ref()))
    }

    async fn ownership_of(&self, asset: &Urn) -> Result<Option<Ownership>, Error> {
        let key = AspectKey::new(asset, AspectName::OWNERSHIP);
        let row = self.store().read(ReadRequest::row(&key)).await?.into_row();
        Ok(aspect_value(&row))
    }
}

/// Whether the owners of an asset are assignees.
fn is_for_owners(info: &Value) -> bool {
    info["actors"]["owners"].as_bool() != Some(false)
}

/// Whether one of these users and groups is named in the form, or owns the asset as the form
/// requires.
fn is_assignee(info: &Value, me: &HashSet<String>, ownership: Option<&Ownership>) -> bool {
    let actors = &info["actors"];
    if is_named(actors, me) {
        return true;
    }
    if !is_for_owners(info) {
        return false;
    }
    let types = actors["ownershipTypes"].as_array();
    let types = types.filter(|it| !it.is_empty());
    let mut owners = ownership.into_iter().flat_map(|it| &it.owners);
    owners.any(|it| {
        let kind = it.kind_urn();
        me.contains(it.owner.as_str())
            && types.is_none_or(|types| types.iter().any(|it| it.as_str() == Some(&kind)))
    })
}

/// Whether the assignees name one of these users and groups.
fn is_named(actors: &Value, me: &HashSet<String>) -> bool {
    let lists = ["users", "groups"].into_iter();
    let mut named = lists.filter_map(|list| actors[list].as_array()).flatten();
    named.any(|it| it.as_str().is_some_and(|it| me.contains(it)))
}
