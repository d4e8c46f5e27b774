//! What is stored about a user of identity providers besides the user.
//!
//! It is an internal entity of type [`ENTITY`], because it outlives the user: a provider would
//! create a removed user again, with the default role. Its id is a hash of the username, so that
//! no name of a removed user is left. It also has the age of the user's groups, because an old
//! token must not restore old groups, and whether the user is linked. A provider signs in an
//! account with a password only if it is: otherwise the password could be that of somebody who has
//! chosen the name of a colleague.

use docent_model::aspects::{AuditStamp, ExternalUserInfo};
use docent_model::{AspectName, EpochMillis, Urn, hex};
use docent_store::{AspectKey, AspectRow, ReadRequest};

use crate::proposal::{Change, Proposal};
use crate::secret::hash_of;
use crate::stored::{aspect_value, time_property};
use crate::{Caller, Catalog, ConflictReason, Error};

pub(crate) const ENTITY: &str = "docentExternalUser";
const ASPECT: AspectName = AspectName::EXTERNAL_USER_INFO;
/// The property of the system metadata with the time of the newest token that confirmed the groups:
/// no new version and no log entry.
const CONFIRMED_AT: &str = "groupsConfirmedAt";

/// What the record of a user says, or that nothing is known.
#[derive(Debug)]
pub(crate) struct ExternalRecord {
    /// Whether an administrator has removed the user.
    pub(crate) is_removed: bool,
    /// When the newest token was issued that has set or confirmed the groups.
    pub(crate) groups_issued_at: Option<EpochMillis>,
    /// Whether a provider has signed in the user, or an administrator allowed it.
    pub(crate) is_linked: bool,
}

impl Catalog {
    pub(crate) async fn external_record(&self, user: &Urn) -> Result<ExternalRecord, Error> {
        let key = key(user)?;
        let row = self.store().read(ReadRequest::row(&key)).await?.into_row();
        let info: ExternalUserInfo = aspect_value(&row).unwrap_or_default();
        let confirmed_at = row
            .as_ref()
            .and_then(|row| time_property(row, CONFIRMED_AT));
        Ok(ExternalRecord {
            is_removed: info.removed_at.is_some(),
            groups_issued_at: info.groups_issued_at.max(confirmed_at),
            is_linked: info.linked_at.is_some(),
        })
    }

    /// Records that a newer token names the stored groups: one that was issued in between must not
    /// change them. That is a write for each new token of a user, at most one for each time of
    /// issue. Best effort: a user can be authenticated while the store rejects writes.
    pub(crate) async fn confirm_groups(
        &self,
        system: &Caller,
        user: &Urn,
        record: &ExternalRecord,
        issued_at: EpochMillis,
    ) -> Result<(), Error> {
        let confirm = match record.groups_issued_at {
            Some(_) => {
                let change = Change::RaiseSystemTime {
                    aspect: ASPECT,
                    property: CONFIRMED_AT,
                    time_ms: issued_at,
                };
                Proposal::new(record_urn(user)?, change)
            }
            None => update(
                user,
                Update {
                    groups_issued_at: Some(issued_at),
                    is_new: false,
                    links: false,
                },
            )?,
        };
        if let Err(error) = self.apply_authorized(system, vec![confirm]).await {
            tracing::debug!(%error, "cannot store the age of the groups of {user}");
        }
        Ok(())
    }
}

/// Whether the record is that of somebody whom a provider signs in: neither of a removed user, nor
/// what is left of an earlier one.
pub(crate) fn is_of_user(row: &AspectRow) -> bool {
    aspect_value(row).is_some_and(|info: ExternalUserInfo| {
        info.removed_at.is_none() && info.linked_at.or(info.groups_issued_at).is_some()
    })
}

/// Keeps a user out until the [`restoration`].
pub(crate) fn removal(user: &Urn) -> Result<Proposal, Error> {
    let remove = |current: Option<ExternalUserInfo>, stamp: &AuditStamp| {
        let is_removed = current.is_some_and(|it| it.removed_at.is_some());
        Ok((!is_removed).then_some(ExternalUserInfo {
            removed_at: Some(stamp.time),
            ..ExternalUserInfo::default()
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

/// For an account that gets a password and no former user: what was recorded about an earlier user
/// of the name does not count.
pub(crate) fn reset(user: &Urn) -> Result<Proposal, Error> {
    let reset = |current: Option<ExternalUserInfo>, _: &AuditStamp| {
        let known = current.filter(|it| *it != ExternalUserInfo::default());
        Ok(known.map(|_| ExternalUserInfo::default()))
    };
    Ok(Proposal::edit_if(record_urn(user)?, ASPECT, reset))
}

/// Lets providers sign in an account that has a password.
pub(crate) fn link(user: &Urn) -> Result<Proposal, Error> {
    let link = |current: Option<ExternalUserInfo>, stamp: &AuditStamp| {
        let current = current.unwrap_or_default();
        Ok(current.linked_at.is_none().then_some(ExternalUserInfo {
            linked_at: Some(stamp.time),
            ..current
        }))
    };
    Ok(Proposal::edit_if(record_urn(user)?, ASPECT, link))
}

/// What a sign-in or a token changes in the record.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Update {
    /// When the token was issued that sets the groups; `None` leaves them.
    pub(crate) groups_issued_at: Option<EpochMillis>,
    /// Whether the user is new.
    pub(crate) is_new: bool,
    /// Whether the user is linked with it. The caller requires that the user has no password.
    pub(crate) links: bool,
}

/// The first of the changes to a user: fails in the transaction if the user is removed, or is not
/// linked. If the changes set the groups, it records when their token was issued, and fails if a
/// newer one has set them. What was recorded about an earlier user of the name does not count for a
/// new one.
pub(crate) fn update(user: &Urn, update: Update) -> Result<Proposal, Error> {
    let Update {
        groups_issued_at,
        is_new,
        links,
    } = update;
    let name = user.key().to_owned();
    let edit = move |current: Option<ExternalUserInfo>, stamp: &AuditStamp| {
        let current = current.unwrap_or_default();
        // Somebody else may have taken the name meanwhile.
        let is_linked = links || current.linked_at.is_some();
        if current.removed_at.is_some() || !is_linked {
            let message = format!("{name} is removed");
            return Err(Error::conflict(ConflictReason::AccountInactive, message));
        }
        let is_older = groups_issued_at <= current.groups_issued_at;
        if groups_issued_at.is_some() && is_older && !is_new {
            return Err(Error::conflict(
                ConflictReason::ChangedMeanwhile,
                format!("a newer token has set the groups of {name}"),
            ));
        }
        let next = ExternalUserInfo {
            groups_issued_at: groups_issued_at.or(current.groups_issued_at),
            linked_at: current.linked_at.or(Some(stamp.time)),
            ..current.clone()
        };
        Ok((next != current).then_some(next))
    };
    Ok(Proposal::edit_if(record_urn(user)?, ASPECT, edit))
}

/// The error of a sign-in at a provider to an account whose password may be somebody else's.
pub(crate) fn not_linked(user: &Urn) -> Error {
    let name = user.key();
    let message = format!(
        "the account {name} has a password and is not linked to identity providers: if the person at the provider owns \
         it, an administrator runs 'docent user link {name}' on the server; if not, the administrator removes it"
    );
    Error::conflict(ConflictReason::PasswordExists, message)
}

/// The record of a user.
pub(crate) fn key(user: &Urn) -> Result<AspectKey, Error> {
    Ok(AspectKey::new(&record_urn(user)?, ASPECT))
}

fn record_urn(user: &Urn) -> Result<Urn, Error> {
    Ok(Urn::new(ENTITY, &hex(&hash_of(user.key())))?)
}
