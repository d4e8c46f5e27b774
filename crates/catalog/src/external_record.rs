//! What is stored about a user of identity providers besides the user.
//!
//! It is an internal entity of type [`ENTITY`], because it outlives the user: a provider would
//! create a removed user again, with the default role. Its id is a hash of the user name, so that
//! no name of a removed user is left.

use docent_model::aspects::{AuditStamp, ExternalUserInfo};
use docent_model::{AspectName, Urn, hex};
use docent_store::{AspectKey, ReadRequest};

use crate::proposal::Proposal;
use crate::secret::hash_of;
use crate::stored::aspect_value;
use crate::{Catalog, ConflictReason, Error};

pub(crate) const ENTITY: &str = "docentExternalUser";
const ASPECT: AspectName = AspectName::EXTERNAL_USER_INFO;

/// The record of a user; by default, of one without a record.
#[derive(Debug, Default)]
pub(crate) struct ExternalRecord {
    /// Whether an administrator has removed the user.
    pub(crate) is_removed: bool,
}

impl Catalog {
    pub(crate) async fn external_record(&self, user: &Urn) -> Result<ExternalRecord, Error> {
        let key = AspectKey::new(&record_urn(user)?, ASPECT);
        let row = self.store().read(ReadRequest::row(&key)).await?.into_row();
        let info: ExternalUserInfo = aspect_value(&row).unwrap_or_default();
        Ok(ExternalRecord {
            is_removed: info.removed_at.is_some(),
        })
    }
}

/// Keeps a user out until the [`restoration`].
pub(crate) fn removal(user: &Urn) -> Result<Proposal, Error> {
    let remove = |current: Option<ExternalUserInfo>, stamp: &AuditStamp| {
        let is_removed = current.is_some_and(|it| it.removed_at.is_some());
        Ok((!is_removed).then_some(ExternalUserInfo {
            removed_at: Some(stamp.time),
        }))
    };
    Ok(Proposal::edit_if(record_urn(user)?, ASPECT, remove))
}

/// Lets a removed user back in, and changes nothing for others.
pub(crate) fn restoration(user: &Urn) -> Result<Proposal, Error> {
    let restore = |current: Option<ExternalUserInfo>, _: &AuditStamp| {
        let removed = current.filter(|it| it.removed_at.is_some());
        Ok(removed.map(|_| ExternalUserInfo::default()))
    };
    Ok(Proposal::edit_if(record_urn(user)?, ASPECT, restore))
}

/// Fails in the transaction if the user is removed.
pub(crate) fn unless_removed(user: &Urn) -> Result<Proposal, Error> {
    let name = user.key().to_owned();
    let check = move |current: Option<ExternalUserInfo>, _: &AuditStamp| match current {
        Some(current) if current.removed_at.is_some() => {
            let message = format!("{name} is removed");
            Err(Error::conflict(ConflictReason::AccountInactive, message))
        }
        _ => Ok(None::<ExternalUserInfo>),
    };
    Ok(Proposal::edit_if(record_urn(user)?, ASPECT, check))
}

fn record_urn(user: &Urn) -> Result<Urn, Error> {
    Ok(Urn::new(ENTITY, &hex(&hash_of(user.key())))?)
}
