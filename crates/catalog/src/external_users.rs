//! Users of identity providers.
//!
//! A provider is trusted to say who somebody is, and to which groups they belong. Users and groups
//! that it names for the first time are created. The administrator of this server, service accounts
//! and the system itself are never signed in by a provider, and removed users only after somebody
//! has let them back in. Neither are accounts with a password, unless they were users of a provider
//! before, or an administrator has linked them ([`crate::external_record`]).

use std::net::IpAddr;

use docent_model::aspects::{AuditStamp, CorpUserCredentials, CorpUserInfo};
use docent_model::{AspectName, EpochMillis, Registry, Urn, shorten};
use docent_store::{AspectKey, ReadRequest};
use serde_json::{Value, json};

use crate::caller::{Credential, Origin};
use crate::external_record::{self, Update, not_linked};
use crate::people::password::is_ours;
use crate::people::{AccountStatus, active_user, is_reserved, with_active_status};
use crate::proposal::Proposal;
use crate::secret::hash_of;
use crate::sessions::{Proof, SignIn};
use crate::stored::aspect_value;
use crate::tokens::StoredSecret;
use crate::{Caller, Catalog, ConflictReason, Error, ErrorKind};

/// A user as a provider describes them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalUser {
    pub name: String,
    pub display_name: Option<String>,
    pub email: Option<String>,
    /// `None` if the provider says nothing about groups.
    pub groups: Option<Vec<String>>,
    /// When the token was issued that says so; the groups of an older one do not count any more.
    /// `None` for a sign-in, where the provider says so now.
    pub issued_at: Option<EpochMillis>,
    /// The provider, as the origin of what it creates.
    pub provider: String,
    /// Whether to create an unknown user.
    pub may_create: bool,
}

impl Catalog {
    /// Begins a session for a user that a provider has authenticated. `operation` is for the audit
    /// log.
    pub async fn sign_in_external(
        &self,
        external: &ExternalUser,
        address: Option<IpAddr>,
        operation: &'static str,
    ) -> Result<SignIn, Error> {
        let origin = Origin::new(address, operation.into());
        let system = Caller::system().at(address).in_operation(operation);
        let provisioned = self.provision(&system, external).await;
        if let Err(error) = &provisioned
            && (error.kind() == ErrorKind::Invalid || is_not_linked(error))
        {
            self.record_failed_sign_in(error.message(), address, operation)
                .await;
        }
        let provisioned = self.audited_for(None, &origin, provisioned).await?;
        let rejected = async || {
            let user = Urn::new("corpuser", &external.name).ok();
            let reason = "the user is unknown, suspended or removed";
            self.record_denial(user.as_ref(), &origin, reason, Vec::new())
                .await;
            Ok(self.inner.counters.count_sign_in(SignIn::Rejected))
        };
        let Some(user) = provisioned else {
            tracing::info!(
                user = external.name,
                address = address.map(tracing::field::display),
                "sign-in rejected: the user is unknown, suspended or removed"
            );
            return rejected().await;
        };
        let proof = Proof::Provider(external.provider.clone());
        let caller = Caller::new(user.clone())
            .at(address)
            .in_operation(operation);
        let secret = match self.begin_session(caller, proof).await {
            // Suspended or removed just now.
            Err(error) if is_inactive(&error) => return rejected().await,
            begun => begun?,
        };
        tracing::info!(
            user = user.as_str(),
            provider = external.provider,
            address = address.map(tracing::field::display),
            "{user} signed in"
        );
        let welcome = SignIn::Welcome {
            user,
            secret,
            device: None,
        };
        Ok(self.inner.counters.count_sign_in(welcome))
    }

    /// Records that a sign-in at a provider failed before the user was known. `operation` is for
    /// the audit log.
    pub async fn record_failed_sign_in(
        &self,
        reason: &str,
        address: Option<IpAddr>,
        operation: &'static str,
    ) {
        self.inner.counters.rejected_sign_ins.increment();
        let origin = Origin::new(address, operation.into());
        self.record_denial(None, &origin, reason, Vec::new()).await;
    }

    /// The user of a bearer token from `address`. `verify` checks it, and returns its user and when
    /// it expires; it is called again when a user has changed.
    pub async fn authenticate_external(
        &self,
        token: &str,
        address: Option<IpAddr>,
        verify: impl AsyncFnOnce() -> Result<Option<(ExternalUser, EpochMillis)>, Error>,
    ) -> Result<Option<Caller>, Error> {
        let known = &self.inner.known_external;
        let credential = Credential::bearer(&hash_of(token));
        let secret = self
            .authenticate_by(known, hash_of(token), "corpuser", async || {
                let Some((external, until_ms)) = verify().await? else {
                    return Ok(None);
                };
                let system = Caller::system()
                    .at(address)
                    .in_operation("bearer token")
                    .with_credential(credential);
                let provisioned = self.provision(&system, &external).await;
                if let Err(error) = &provisioned
                    && (is_not_linked(error) || error.kind() == ErrorKind::Forbidden)
                {
                    let reason = error.message();
                    self.record_denial(None, system.origin(), reason, Vec::new())
                        .await;
                }
                Ok(provisioned?.map(|actor| StoredSecret {
                    actor,
                    expires_at: Some(until_ms),
                    last_used_at: None,
                    scope: None,
                }))
            })
            .await?;
        Ok(secret.map(|secret| {
            Caller::of_token(secret.actor, secret.expires_at, None).with_credential(credential)
        }))
    }

    /// Creates what the provider names for the first time, and sets the groups, unless a newer
    /// token has set them. Returns the user, or `None` if the account is not active. Fails for an
    /// account with a password that is not linked.
    async fn provision(
        &self,
        system: &Caller,
        external: &ExternalUser,
    ) -> Result<Option<Urn>, Error> {
        let user = named("corpuser", &external.name)?;
        if is_reserved(&user) || self.is_service_account(&user).await? {
            return Err(Error::forbidden(format!(
                "the username {} is reserved: an identity provider cannot sign it in",
                user.key()
            )));
        }
        let record = self.external_record(&user).await?;
        if record.is_removed {
            return Ok(None);
        }
        let status = self.account_status(&user).await?;
        match status {
            AccountStatus::Suspended | AccountStatus::Removed => return Ok(None),
            AccountStatus::Unknown if !external.may_create => return Ok(None),
            AccountStatus::Unknown | AccountStatus::Active => {}
        }
        let is_new = status == AccountStatus::Unknown;
        let links = is_new || !record.is_linked;
        if links && self.has_password(&user).await? {
            return Err(not_linked(&user));
        }
        let mut proposals = Vec::new();
        if is_new {
            proposals.push(new_user(&user, external));
            proposals.push(with_origin(&user, &external.provider));
            proposals.push(with_active_status(&user));
        }
        let known_at = record.groups_issued_at.filter(|_| !is_new);
        // A sign-in is the newest, even if the clock of an issuer is ahead.
        let issued_at = external.issued_at.unwrap_or_else(|| {
            let now_ms = self.now_ms();
            known_at.map_or(now_ms, |known_at| now_ms.max(known_at.saturating_add(1)))
        });
        let is_newest = known_at.is_none_or(|known_at| issued_at > known_at);
        let groups = external.groups.as_ref().filter(|_| is_newest);
        if let Some(groups) = groups {
            proposals.extend(self.with_groups(&user, groups, &external.provider).await?);
        }
        let changes_user = !proposals.is_empty();
        if !changes_user && !links {
            if groups.is_some() {
                self.confirm_groups(system, &user, &record, issued_at)
                    .await?;
            }
            return Ok(Some(user));
        }
        let update = Update {
            groups_issued_at: groups.map(|_| issued_at),
            is_new,
            links,
        };
        let mut update = external_record::update(&user, update)?;
        if links {
            update = requires_no_password(update, &user);
        }
        proposals.insert(0, update);
        match self.apply_authorized(system, proposals).await {
            // Removed just now.
            Err(error) if is_inactive(&error) => Ok(None),
            // A newer token was faster, and its groups count.
            Err(error) if error.kind() == ErrorKind::Conflict(ConflictReason::ChangedMeanwhile) => {
                Ok(Some(user))
            }
            // A user can be authenticated while the store rejects writes.
            Err(error) if !changes_user && !matches!(error.kind(), ErrorKind::Conflict(_)) => {
                tracing::debug!(%error, "cannot store that {user} is linked to a provider");
                Ok(Some(user))
            }
            applied => applied.map(|_| Some(user)),
        }
    }

    /// The changes that make a user a member of exactly these external groups.
    async fn with_groups(
        &self,
        user: &Urn,
        names: &[String],
        provider: &str,
    ) -> Result<Vec<Proposal>, Error> {
        let valid = names.iter().filter_map(|name| {
            let group = named("corpGroup", name).ok()?;
            Some((group, name))
        });
        let groups: Vec<(Urn, &String)> = valid.collect();
        let mut keys = vec![AspectKey::new(user, AspectName::GROUP_MEMBERSHIP)];
        keys.extend(
            groups
                .iter()
                .map(|(group, _)| AspectKey::new(group, AspectName::CORP_GROUP_INFO)),
        );
        let rows = self.store().read(ReadRequest::rows(&keys)).await?.rows;
        let current = rows.first().and_then(aspect_value::<Value>);
        let next: Vec<&Urn> = groups.iter().map(|(group, _)| group).collect();
        let mut proposals = Vec::new();
        for ((group, name), row) in groups.iter().zip(rows.iter().skip(1)) {
            if row.is_none() {
                proposals.push(new_group(group, name));
                proposals.push(with_origin(group, provider));
            }
        }
        if !has_groups(current.as_ref(), &next) {
            let value = json!({"groups": next}).to_string();
            let aspect = AspectName::GROUP_MEMBERSHIP;
            proposals.push(Proposal::upsert(user.clone(), aspect, value));
        }
        Ok(proposals)
    }
}

/// The entity with exactly this name. A URN has other forms of some names, such as `ada` for
/// `(ada)`, but a provider may give them to different people.
fn named(entity_type: &str, name: &str) -> Result<Urn, Error> {
    let urn = Urn::new(entity_type, name)?;
    Registry::get().check_urn(&urn)?;
    if urn.key() != name {
        return Err(Error::invalid(format!(
            "the name '{}' of the identity provider cannot be used here, because its parentheses mean '{}': choose \
             another name at the provider",
            shorten(name),
            shorten(urn.key())
        )));
    }
    Ok(urn)
}

/// Requires inside the transaction that nobody has signed up with the name meanwhile.
fn requires_no_password(proposal: Proposal, user: &Urn) -> Proposal {
    let owner = user.clone();
    let is_missing = move |current: Option<CorpUserCredentials>| match current {
        Some(credentials) if is_ours(&credentials) => Err(not_linked(&owner)),
        _ => Ok(()),
    };
    proposal.requires_value(user, AspectName::CORP_USER_CREDENTIALS, is_missing)
}

/// Whether a provider did not sign in a user because the account has a password.
pub fn is_not_linked(error: &Error) -> bool {
    error.kind() == ErrorKind::Conflict(ConflictReason::PasswordExists)
}

fn is_inactive(error: &Error) -> bool {
    error.kind() == ErrorKind::Conflict(ConflictReason::AccountInactive)
}

/// Whether the membership has exactly these groups, in any order.
fn has_groups(membership: Option<&Value>, groups: &[&Urn]) -> bool {
    let stored = membership.and_then(|it| it["groups"].as_array());
    let stored = stored.map_or(&[] as &[Value], Vec::as_slice);
    let is_stored = |group: &&&Urn| stored.iter().any(|it| it == group.as_str());
    stored.len() == groups.len() && groups.iter().filter(is_stored).count() == groups.len()
}

/// Two requests may create the same user: the second one changes nothing.
fn new_user(user: &Urn, external: &ExternalUser) -> Proposal {
    let (name, email) = (external.display_name.clone(), external.email.clone());
    let info = move |current: Option<CorpUserInfo>, _: &AuditStamp| {
        Ok(current.is_none().then(|| CorpUserInfo {
            display_name: name.clone(),
            email: email.clone(),
            ..active_user()
        }))
    };
    Proposal::edit_if(user.clone(), AspectName::CORP_USER_INFO, info)
}

fn new_group(group: &Urn, name: &str) -> Proposal {
    let name = name.to_owned();
    let info = move |current: Option<Value>, stamp: &AuditStamp| {
        Ok(current.is_none().then(|| {
            json!({
                "displayName": name, "admins": [], "members": [], "groups": [], "created": stamp,
            })
        }))
    };
    Proposal::edit_if(group.clone(), AspectName::CORP_GROUP_INFO, info)
}

fn with_origin(urn: &Urn, provider: &str) -> Proposal {
    let provider = provider.to_owned();
    let origin = move |current: Option<Value>, _: &AuditStamp| {
        let external = || json!({"type": "EXTERNAL", "externalType": provider});
        Ok(current.is_none().then(external))
    };
    Proposal::edit_if(urn.clone(), AspectName::ORIGIN, origin)
}
