//! Who answers and verifies a form: those whom it names, and the owners of an asset.

use std::collections::{HashMap, HashSet};

use docent_model::aspects::Ownership;
use docent_model::{AspectName, Urn};
use serde::de::DeserializeOwned;
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
        let forms: HashSet<&Urn> = pairs.iter().map(|(form, _)| form).collect();
        let forms: HashMap<&Urn, Value> = self.aspects_by_urn(forms, AspectName::FORM_INFO).await?;
        let mut assets: HashSet<&Urn> = HashSet::new();
        for (form, asset) in pairs {
            if forms.get(form).is_some_and(is_for_owners) {
                assets.insert(asset);
            }
        }
        let ownerships: HashMap<&Urn, Ownership> =
            self.aspects_by_urn(assets, AspectName::OWNERSHIP).await?;
        let mut replies = Vec::with_capacity(pairs.len());
        for (form, asset) in pairs {
            let info = forms.get(form);
            let ownership = ownerships.get(asset);
            replies.push(info.is_some_and(|info| is_assignee(info, &me, ownership)));
        }
        Ok(replies)
    }

    /// An aspect of those of these entities that have it, in one read.
    async fn aspects_by_urn<'u, T: DeserializeOwned>(
        &self,
        urns: HashSet<&'u Urn>,
        aspect: AspectName,
    ) -> Result<HashMap<&'u Urn, T>, Error> {
        let urns: Vec<&'u Urn> = urns.into_iter().collect();
        let keys: Vec<AspectKey> = urns.iter().map(|urn| AspectKey::new(urn, aspect)).collect();
        let rows = self.store().read(ReadRequest::rows(&keys)).await?.rows;
        let mut values = HashMap::with_capacity(urns.len());
        for (urn, row) in urns.into_iter().zip(rows) {
            if let Some(value) = aspect_value(&row) {
                values.insert(urn, value);
            }
        }
        Ok(values)
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
