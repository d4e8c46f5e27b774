//! Invite links, by which people sign up.
//!
//! A link has 256 random bits. The store keeps their hash alone, as the id of an entity of
//! DataHub's type [`ENTITY`], which is secret. A link may have a role, and works for
//! [`INVITE_TTL_MS`], for as many people as get it. Because nobody can read a link again, each
//! request creates another one.

use std::net::IpAddr;

use docent_model::aspects::{AuditStamp, CorpUserCredentials, CorpUserInfo, InviteToken};
use docent_model::{AspectName, EpochMillis, Urn, hex};
use docent_store::{AspectKey, ReadRequest};
use serde_json::Value;

use crate::access::scope;
use crate::caller::Origin;
use crate::external_record::reset;
use crate::people::{
    NewUser, USER_CREATORS, active_user, check_new_user, is_reserved, with_active_status, with_role,
};
use crate::privilege::{self as p, Privilege};
use crate::proposal::{Change, Proposal, Requirement};
use crate::secret::{hash_of, random};
use crate::sessions::SignIn;
use crate::stored::aspect_value;
use crate::{Caller, Catalog, ConflictReason, Error};

pub(crate) const ENTITY: &str = "inviteToken";
pub const INVITE_TTL_MS: EpochMillis = 7 * 24 * 60 * 60 * 1000;
/// The oldest links of a role stop working beyond this.
const MAX_PER_ROLE: usize = 20;
/// More than all roles together have.
const MAX_LISTED: usize = 1_000;

/// A stored invitation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invitation {
    /// Has the hash of the secret, which nobody can sign up with.
    pub urn: Urn,
    pub role: Option<Urn>,
    pub created_at: EpochMillis,
    pub created_by: String,
}

impl Invitation {
    pub fn expires_at(&self) -> EpochMillis {
        self.created_at.saturating_add(INVITE_TTL_MS)
    }
}

/// The privileges of which one is needed for an invite link. A link with a role assigns it.
fn inviters(role: Option<&Urn>) -> Vec<Privilege> {
    let creators = if role.is_none() { USER_CREATORS } else { &[] };
    [p::MANAGE_POLICIES]
        .iter()
        .chain(creators)
        .copied()
        .collect()
}

/// A person who signs up.
#[derive(Debug, Clone)]
pub struct SignUp {
    pub user: NewUser,
    pub title: Option<String>,
    /// The secret of the invite link.
    pub invite_token: String,
}

impl Catalog {
    /// Creates an invite link and returns its secret. `replace` ends the earlier links for the same
    /// role.
    pub async fn create_invite_token(
        &self,
        caller: &Caller,
        role: Option<&Urn>,
        replace: bool,
    ) -> Result<String, Error> {
        self.authorize(caller, &inviters(role), None).await?;
        self.check_authentication(
            caller,
            "invite links, which would stay valid when it is on again: have an operator run 'docent user add' on the server",
        )
        .await?;
        let secret = hex(&random::<32>()?);
        let urn = urn_of(&secret)?;
        let value = InviteToken {
            token: urn.key().to_owned(),
            role: role.cloned(),
        };
        let mut create = Proposal::edit(urn, AspectName::INVITE_TOKEN, move |_, _| {
            Ok::<InviteToken, _>(value.clone())
        });
        if let Some(role) = role {
            role.expect_type("dataHubRole")?;
            create = create.requires_existing(role, format!("the role {role} does not exist"));
        }
        let mut proposals = vec![create];
        let mut same_role = Vec::new();
        for invitation in self.invitations().await? {
            if self.has_expired(&invitation) {
                proposals.push(Proposal::new(invitation.urn, Change::DeleteEntity));
            } else if invitation.role.as_ref() == role {
                same_role.push(invitation);
            }
        }
        same_role.sort_by_key(|invitation| std::cmp::Reverse(invitation.created_at));
        let kept = if replace { 0 } else { MAX_PER_ROLE - 1 };
        let ended = same_role.into_iter().skip(kept);
        proposals.extend(ended.map(|it| Proposal::new(it.urn, Change::DeleteEntity)));
        self.apply_authorized(caller, proposals).await?;
        Ok(secret)
    }

    /// The invite links that work, the newest first. Their secrets are not stored.
    pub async fn list_invitations(&self, caller: &Caller) -> Result<Vec<Invitation>, Error> {
        self.authorize(caller, &inviters(None), None).await?;
        let mut open = self.invitations().await?;
        open.retain(|invitation| !self.has_expired(invitation));
        open.sort_by(|a, b| (b.created_at, &a.urn).cmp(&(a.created_at, &b.urn)));
        Ok(open)
    }

    /// Ends an invite link. Accounts that it created stay.
    pub async fn revoke_invitation(&self, caller: &Caller, urn: &Urn) -> Result<(), Error> {
        self.authorize(caller, &inviters(None), None).await?;
        urn.expect_type(ENTITY)?;
        let found = self.read_invitations(vec![urn.clone()]).await?.pop();
        let role = found.and_then(|invitation| invitation.role);
        self.authorize(caller, &inviters(role.as_ref()), None)
            .await?;
        let missing =
            format!("there is no invite link {urn}: it was revoked, was replaced, or has expired");
        let end = Proposal::new(urn.clone(), Change::DeleteEntity).requires_value(
            urn,
            AspectName::INVITE_TOKEN,
            move |stored: Option<Value>| {
                let stored = stored.map(|_| ());
                stored.ok_or_else(|| Error::not_found(missing.clone()))
            },
        );
        self.apply_authorized(caller, vec![end]).await?;
        Ok(())
    }

    /// Gives the caller the role of an invite link. A link without a role changes nothing.
    pub async fn accept_role(&self, caller: &Caller, invite_token: &str) -> Result<(), Error> {
        let invitation = self.invitation(invite_token).await;
        let invitation = self.audited(caller, invitation).await?;
        let Some(role) = &invitation.role else {
            return Ok(());
        };
        self.audited(caller, scope::check_unscoped(caller)).await?;
        let user = caller.actor();
        let accept = with_role(user, Some(role))
            .requires_existing(user, format!("the user {user} does not exist"));
        let accept = requires_invitation(accept, &invitation);
        self.apply_authorized(caller, vec![accept]).await?;
        Ok(())
    }

    /// Creates an account with the role of the invite link, and begins a session. `operation` is
    /// for the audit log.
    pub async fn sign_up(
        &self,
        sign_up: SignUp,
        address: Option<IpAddr>,
        operation: &'static str,
    ) -> Result<SignIn, Error> {
        let origin = Origin::new(address, operation.into());
        let signed_up = self.sign_up_by_link(sign_up, address, operation).await;
        self.audited_for(None, &origin, signed_up).await
    }

    async fn sign_up_by_link(
        &self,
        sign_up: SignUp,
        address: Option<IpAddr>,
        operation: &'static str,
    ) -> Result<SignIn, Error> {
        let invitation = self.invitation(&sign_up.invite_token).await?;
        check_new_user(&sign_up.user)?;
        let user = sign_up.user.user.clone();
        if is_reserved(&user) {
            return Err(Error::invalid(format!(
                "the name {} is reserved: choose another",
                user.key()
            )));
        }
        if self.has_password(&user).await? {
            return Err(Error::conflict(
                ConflictReason::AlreadyExists,
                format!(
                    "{} has an account: sign in, or ask an administrator for a reset link if the password is lost",
                    user.key()
                ),
            ));
        }
        // Owners, actors of policies and others may be named before they have an account.
        let is_named = self.users_in_policies().await?.contains(user.as_str());
        if is_named || self.is_referred_to(&user, &[]).await? {
            return Err(Error::conflict(
                ConflictReason::AlreadyExists,
                format!(
                    "the name {} is in use in the catalog, for example as an owner: choose another name, or have an \
                     administrator add you ('docent user add')",
                    user.key()
                ),
            ));
        }
        let password = &sign_up.user.password;
        let credentials = self.inner.hashing.credentials(password).await?;
        let mut proposals = new_account(sign_up, credentials, &invitation)?;
        // In the same transaction, so that a user who gets an error can sign up again.
        let session = self.new_session(&user, None).await?;
        let caller = Caller::new(user.clone())
            .at(address)
            .in_operation(operation)
            .with_credential(session.credential());
        proposals.extend(session.proposals);
        self.apply_authorized(&caller, proposals).await?;
        tracing::info!(
            user = user.as_str(),
            address = address.map(tracing::field::display),
            "{user} signed up"
        );
        Ok(SignIn::Welcome {
            user,
            secret: session.secret,
            device: None,
        })
    }

    /// The invitation with this secret, if its link works.
    pub async fn invitation(&self, secret: &str) -> Result<Invitation, Error> {
        let urn = urn_of(secret)?;
        let found = self.read_invitations(vec![urn]).await?.pop();
        found
            .filter(|invitation| !self.has_expired(invitation))
            .ok_or_else(invalid_link)
    }

    async fn invitations(&self) -> Result<Vec<Invitation>, Error> {
        let urns = self
            .store()
            .urns_list(ENTITY, AspectName::INVITE_TOKEN, None, MAX_LISTED)
            .await?;
        self.read_invitations(urns).await
    }

    async fn read_invitations(&self, urns: Vec<Urn>) -> Result<Vec<Invitation>, Error> {
        let keys: Vec<AspectKey> = urns
            .iter()
            .map(|urn| AspectKey::new(urn, AspectName::INVITE_TOKEN))
            .collect();
        let rows = self.store().read(ReadRequest::rows(&keys)).await?.rows;
        let invitations = urns.into_iter().zip(rows);
        Ok(invitations
            .filter_map(|(urn, row)| {
                let token: Option<InviteToken> = aspect_value(&row);
                let row = row.as_ref()?;
                Some(Invitation {
                    urn,
                    role: token?.role,
                    created_at: row.created_on_ms,
                    created_by: row.created_by.clone(),
                })
            })
            .collect())
    }

    fn has_expired(&self, invitation: &Invitation) -> bool {
        self.now_ms() >= invitation.expires_at()
    }
}

/// The changes that create an account with the role of the invite link.
fn new_account(
    sign_up: SignUp,
    credentials: CorpUserCredentials,
    invitation: &Invitation,
) -> Result<Vec<Proposal>, Error> {
    let SignUp {
        user: new, title, ..
    } = sign_up;
    let NewUser {
        user,
        display_name,
        email,
        ..
    } = new;
    let info = move |_: Option<CorpUserInfo>, _: &AuditStamp| {
        let full_name = display_name.clone().map(Value::from);
        let info = CorpUserInfo {
            display_name: display_name.clone(),
            email: email.clone(),
            title: title.clone(),
            other: full_name
                .map(|name| ("fullName".to_owned(), name))
                .into_iter()
                .collect(),
            ..active_user()
        };
        Ok(info)
    };
    let exists = format!(
        "the user {} exists already: choose another name",
        user.key()
    );
    let info = Proposal::edit(user.clone(), AspectName::CORP_USER_INFO, info)
        .requires(Requirement::IsNew { otherwise: exists });
    let remember = Proposal::edit(
        user.clone(),
        AspectName::CORP_USER_CREDENTIALS,
        move |_, _: &AuditStamp| Ok::<CorpUserCredentials, _>(credentials.clone()),
    );
    let mut proposals = vec![
        requires_invitation(info, invitation),
        remember,
        with_active_status(&user),
        reset(&user)?,
    ];
    proposals.extend(
        invitation
            .role
            .as_ref()
            .map(|role| with_role(&user, Some(role))),
    );
    Ok(proposals)
}

/// Requires inside the transaction that the link was not revoked meanwhile.
fn requires_invitation(proposal: Proposal, invitation: &Invitation) -> Proposal {
    let is_stored = |stored: Option<Value>| stored.map(|_| ()).ok_or_else(invalid_link);
    proposal.requires_value(&invitation.urn, AspectName::INVITE_TOKEN, is_stored)
}

fn urn_of(secret: &str) -> Result<Urn, Error> {
    Ok(Urn::new(ENTITY, &hex(&hash_of(secret)))?)
}

fn invalid_link() -> Error {
    Error::forbidden(
        "the invite link is invalid, was replaced, or has expired: ask an administrator for a new one",
    )
}
