//! Entities that are about assets, whose rights follow from those: incidents, queries, contracts
//! and assertions.

use docent_model::{AspectName, Urn};
use docent_store::{AspectKey, ReadRequest};
use serde_json::Value;

use crate::privilege::Privilege;
use crate::proposal::{Proposal, Requirement, require_all};
use crate::stored::aspect_value;
use crate::{Caller, Catalog, ConflictReason, Error};

/// How an entity names the assets that it is about, and what its changes need on them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AboutAssets {
    pub(crate) aspect: AspectName,
    pub(crate) assets_in: fn(&Value) -> Vec<Urn>,
    pub(crate) privileges: &'static [Privilege],
}

impl Catalog {
    /// Applies changes of an entity for a caller with one of the privileges on all assets that it
    /// is about, and on those that it will be about, which must exist. One without assets needs
    /// the right on itself.
    pub(crate) async fn apply_about_assets(
        &self,
        caller: &Caller,
        about: AboutAssets,
        entity: &Urn,
        new_assets: &[Urn],
        mut proposals: Vec<Proposal>,
    ) -> Result<(), Error> {
        let AboutAssets {
            aspect, assets_in, ..
        } = about;
        let key = AspectKey::new(entity, aspect);
        let row = self.reader().read(ReadRequest::row(&key)).await?.into_row();
        let stored: Option<Value> = aspect_value(&row);
        let stored = stored.as_ref().map(assets_in).unwrap_or_default();
        let mut assets = stored.clone();
        assets.extend(new_assets.iter().filter(|it| !stored.contains(it)).cloned());
        let missing = |asset: &Urn| format!("Provided entity with urn {asset} does not exist!");
        self.expect_all_existing(new_assets, missing).await?;
        let exists = |asset: &Urn| Requirement::exists(asset, missing(asset));
        require_all(&mut proposals, new_assets.iter().map(exists));
        if assets.is_empty() {
            self.apply(caller, proposals).await?;
            return Ok(());
        }
        let message = format!("{entity} was changed meanwhile: send the request again");
        let is_unchanged = move |current: Option<Value>| {
            if current.as_ref().map(assets_in).unwrap_or_default() == stored {
                return Ok(());
            }
            let reason = ConflictReason::UnexpectedValue;
            Err(Error::conflict(reason, message.clone()))
        };
        if !proposals.is_empty() {
            let first = proposals.remove(0);
            proposals.insert(0, first.requires_value(entity, aspect, is_unchanged));
        }
        self.authorize_each(caller, about.privileges, &assets)
            .await?;
        self.apply_with_right_on(caller, about.privileges, assets, proposals)
            .await?;
        Ok(())
    }
}

/// The URNs in a list of a stored value.
pub(crate) fn urns_in(list: &Value) -> Vec<Urn> {
    let texts = list.as_array().into_iter().flatten();
    texts
        .filter_map(|text| Urn::parse(text.as_str()?).ok())
        .collect()
}
