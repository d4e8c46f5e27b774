//! Access tokens, which authenticate programs.
//!
//! A token is 256 random bits. The store keeps its hash alone, as the id of an entity, so tokens
//! are written, listed and deleted like all entities; an edge to the user finds the tokens of a
//! user. A check on each request would cost a read, so a valid token is cached until a token or a
//! user changes: a revocation by this server takes effect with the next request, one by another
//! server within a second (`Store::commit_stamp_of`). [`uses`] records when a token was last used.

mod list;
mod uses;

use std::slice::from_ref;
use std::sync::Arc;

pub use docent_model::aspects::TokenScope;
use docent_model::aspects::{AccessTokenInfo, Other};
use docent_model::{AspectName, EpochMillis, Registry, Urn, hex};
use docent_store::{AspectKey, CommitStamp, ReadRequest, StoredAspect};
use jiff::Timestamp;
use quick_cache::sync::Cache;
use sha2::{Digest, Sha256};

use crate::access::{denied, scope};
use crate::caller::Credential;
use crate::limits::{check_name, check_note};
use crate::people::{AccountStatus, account_inactive, requires_active};
use crate::privilege::{GENERATE_PERSONAL_ACCESS_TOKENS, MANAGE_ACCESS_TOKENS, Privilege};
use crate::proposal::{Change, Proposal};
use crate::secret::{hash_of, random};
use crate::{Caller, Catalog, Error, SYSTEM_ACTOR};
use uses::LastUse;
pub(crate) use uses::Uses;

pub(crate) const ENTITY: &str = "dataHubAccessToken";
/// The internal relationship between a token and the user it acts for.
pub(crate) const TOKEN_OF: &str = "TokenOf";
/// Identifies the secret to users and to scanners for leaked secrets.
const PREFIX: &str = "docent_";
/// The most tokens of one list.
pub const MAX_LISTED: usize = 10_000;
/// How many tokens one call reads where all are read.
const PAGE: usize = 1000;
const DAY_MS: EpochMillis = 24 * 60 * 60 * 1000;
/// The longest lifetime of a token created over the network.
pub const MAX_ISSUED_TTL_MS: EpochMillis = 365 * DAY_MS;
/// An expired token is listed for a while, so that users see why a program is rejected.
const KEPT_AFTER_EXPIRY_MS: EpochMillis = DAY_MS;
/// How many expired tokens the creation of a new one removes.
const MAX_REMOVED: usize = 100;

/// A token to create.
#[derive(Debug, Clone)]
pub struct NewToken {
    pub name: String,
    pub description: Option<String>,
    /// The user it acts for.
    pub actor: Urn,
    /// `None` never expires.
    pub ttl_ms: Option<EpochMillis>,
    /// `None` has all rights of the user.
    pub scope: Option<TokenScope>,
}

/// How many tokens there may be, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenLimits {
    /// Tokens that act for one user, without expired ones.
    pub per_user: usize,
    /// The longest lifetime of a token created in a session.
    pub session_ttl_ms: EpochMillis,
}

impl Default for TokenLimits {
    fn default() -> Self {
        Self {
            per_user: 100,
            session_ttl_ms: 90 * DAY_MS,
        }
    }
}

/// A new token. The only time the secret is shown.
pub struct CreatedToken {
    pub secret: String,
    pub token: Token,
    /// Whether the user did not exist before.
    pub user_is_new: bool,
}

impl std::fmt::Debug for CreatedToken {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("CreatedToken")
            .field("token", &self.token)
            .finish_non_exhaustive()
    }
}

/// A stored token, without its secret.
#[derive(Debug, Clone, PartialEq)]
pub struct Token {
    pub id: String,
    pub info: AccessTokenInfo,
    /// To the minute; `None` if it was never used.
    pub last_used_at: Option<EpochMillis>,
}

impl Token {
    pub fn urn(&self) -> Result<Urn, Error> {
        token_urn(&self.id)
    }
}

/// Which tokens to list; `None` means any.
#[derive(Debug, Clone, Default)]
pub struct TokenFilter {
    pub actor: Option<Urn>,
    pub owner: Option<Urn>,
    pub name: Option<String>,
}

/// Secrets of tokens or of sessions that were found valid, by their hash.
#[derive(Debug)]
pub(crate) struct KnownSecrets(Cache<[u8; 32], KnownSecret>);

/// The stored data of a secret.
pub(crate) struct StoredSecret {
    pub(crate) actor: Urn,
    pub(crate) expires_at: Option<EpochMillis>,
    pub(crate) last_used_at: Option<EpochMillis>,
    pub(crate) scope: Option<TokenScope>,
}

#[derive(Debug, Clone)]
pub(crate) struct KnownSecret {
    pub(crate) actor: Urn,
    pub(crate) expires_at: Option<EpochMillis>,
    scope: Option<Arc<TokenScope>>,
    /// The store's commit stamp of secrets and users at the time of the read.
    seen_at: CommitStamp,
    pub(crate) last_use: Arc<LastUse>,
}

impl Default for KnownSecrets {
    fn default() -> Self {
        // A few hundred bytes each; a busy team has fewer.
        Self(Cache::new(4096))
    }
}

impl KnownSecrets {
    /// Makes the next look read the store.
    pub(crate) fn forget(&self, hash: &[u8; 32]) {
        self.0.remove(hash);
    }
}

impl Catalog {
    /// The user of this secret; `None` if it is unknown, revoked or expired, or if the user is not
    /// active.
    pub async fn authenticate(&self, secret: &str) -> Result<Option<Caller>, Error> {
        let hash = hash_of(secret);
        let known = &self.inner.known_tokens;
        let token = self
            .authenticate_by(known, hash, ENTITY, async || {
                let token = self.token_by_id(&hex(&hash)).await?;
                Ok(token.map(|token| StoredSecret {
                    actor: token.info.actor_urn,
                    expires_at: token.info.expires_at,
                    last_used_at: token.last_used_at,
                    scope: token.info.scope,
                }))
            })
            .await?;
        if let Some(token) = &token {
            self.record_use(token, || token_urn(&hex(&hash)));
        }
        let credential = Credential::token(&hash);
        Ok(token.map(|token| {
            Caller::of_token(token.actor, token.expires_at, token.scope).with_credential(credential)
        }))
    }

    /// Looks a secret up: in the cache, or with `read` in the store if an entity of this type or a
    /// user has changed.
    pub(crate) async fn authenticate_by(
        &self,
        KnownSecrets(known): &KnownSecrets,
        hash: [u8; 32],
        entity_type: &str,
        read: impl AsyncFnOnce() -> Result<Option<StoredSecret>, Error>,
    ) -> Result<Option<KnownSecret>, Error> {
        let stamp = self.store().commit_stamp_of(&[entity_type, "corpuser"])?;
        let is_alive = |expires_at: Option<EpochMillis>| {
            expires_at.is_none_or(|expires_at| self.now_ms() < expires_at)
        };
        let seen = known.get(&hash);
        if let Some(secret) = seen.as_ref().filter(|secret| secret.seen_at == stamp) {
            return Ok(Some(secret.clone()).filter(|secret| is_alive(secret.expires_at)));
        }
        let stored = match read().await? {
            Some(stored) if self.is_active(&stored.actor).await? => stored,
            _ => {
                known.remove(&hash);
                return Ok(None);
            }
        };
        let last_use = seen.map_or_else(
            || Arc::new(LastUse::at(stored.last_used_at)),
            |secret| secret.last_use,
        );
        let secret = KnownSecret {
            actor: stored.actor,
            expires_at: stored.expires_at,
            scope: stored.scope.map(Arc::new),
            seen_at: stamp,
            last_use,
        };
        known.insert(hash, secret.clone());
        Ok(Some(secret).filter(|secret| is_alive(secret.expires_at)))
    }

    /// Creates a token for an operator at the server. Creates a missing user; a suspended or
    /// removed one gets no token.
    pub async fn create_token(
        &self,
        caller: &Caller,
        new: NewToken,
    ) -> Result<CreatedToken, Error> {
        self.store_token(caller, new, false).await
    }

    /// The same catalog with other limits of tokens.
    #[must_use]
    pub fn with_token_limits(self, limits: TokenLimits) -> Self {
        self.with_options(|options| options.token_limits = limits)
    }

    /// Fails without authentication, for `secrets` that would outlive that.
    pub(crate) async fn check_authentication(
        &self,
        caller: &Caller,
        secrets: &str,
    ) -> Result<(), Error> {
        if self.inner.access.get().is_some() {
            return Ok(());
        }
        let error = Error::forbidden(format!(
            "authentication is off, so anyone could create {secrets}"
        ));
        self.audited(caller, Err(error)).await
    }

    /// Creates a token over the network: it expires within a year, in a session earlier, and not
    /// after the token that authenticated the caller, because a leaked one would never end
    /// otherwise. It acts for the caller; one for another user, who must exist, needs a privilege
    /// of its own. A token with a scope creates no others, which could be wider.
    pub async fn issue_token(&self, caller: &Caller, new: NewToken) -> Result<CreatedToken, Error> {
        self.check_authentication(
            caller,
            "tokens, which would stay valid when it is on again: have an operator run 'docent token create' on the server",
        )
        .await?;
        if new.ttl_ms.is_none_or(|ttl_ms| ttl_ms > MAX_ISSUED_TTL_MS) {
            return Err(Error::invalid(
                "a token created over the network lives at most 365 days: choose a shorter lifetime, or have an operator \
                 create it at the server",
            ));
        }
        self.audited(caller, scope::check_unscoped(caller)).await?;
        let session_ttl_ms = self.options.token_limits.session_ttl_ms;
        if caller.is_session() && new.ttl_ms.is_some_and(|ttl_ms| ttl_ms > session_ttl_ms) {
            return Err(Error::invalid(format!(
                "a token that a signed-in user creates lives at most {} days: choose a shorter lifetime; \
                 administrators can change the limit with --max-token-ttl, or create a token on the server",
                session_ttl_ms / DAY_MS
            )));
        }
        let ends_at = |ttl_ms| self.now_ms().saturating_add(ttl_ms);
        let outlives = |until_ms| new.ttl_ms.is_some_and(|ttl_ms| ends_at(ttl_ms) > until_ms);
        if let Some(until_ms) = caller.until_ms().filter(|until_ms| outlives(*until_ms)) {
            let until = Timestamp::from_millisecond(until_ms).unwrap_or(Timestamp::MAX);
            let error = Error::forbidden(format!(
                "a token cannot outlive the one that creates it, which expires at {until:.0}: choose a shorter lifetime, or \
                 sign in with a password"
            ));
            return self.audited(caller, Err(error)).await;
        }
        let privileges: &[Privilege] = if new.actor == *caller.actor() {
            &[GENERATE_PERSONAL_ACCESS_TOKENS, MANAGE_ACCESS_TOKENS]
        } else {
            self.token_managers(&new.actor).await?
        };
        self.authorize_about(caller, privileges, from_ref(&new.actor))
            .await?;
        self.check_may_act_as(caller, &new.actor, "a token").await?;
        self.store_token(caller, new, !caller.is_system()).await
    }

    async fn store_token(
        &self,
        caller: &Caller,
        new: NewToken,
        user_must_exist: bool,
    ) -> Result<CreatedToken, Error> {
        let user_is_new = self.check_new_token(&new).await?;
        let secret = new_secret()?;
        let id = hex(&hash_of(&secret));
        let now_ms = self.now_ms();
        let info = AccessTokenInfo {
            name: new.name,
            actor_urn: new.actor,
            owner_urn: caller.actor().clone(),
            created_at: now_ms,
            expires_at: new.ttl_ms.map(|ttl_ms| now_ms.saturating_add(ttl_ms)),
            description: new.description,
            scope: new.scope,
            other: Other::new(),
        };
        let urn = token_urn(&id)?;
        let mut proposals = self.new_token(&urn, &info, user_must_exist)?;
        let ended = self.long_ended(&urn).await?.into_iter();
        proposals.extend(ended.map(|urn| Proposal::new(urn, Change::DeleteEntity)));
        self.apply_authorized(caller, proposals).await?;
        Ok(CreatedToken {
            secret,
            token: Token {
                id,
                info,
                last_used_at: None,
            },
            user_is_new,
        })
    }

    /// Fails for a token that cannot work. Returns whether its user does not exist.
    async fn check_new_token(&self, new: &NewToken) -> Result<bool, Error> {
        new.actor.expect_type("corpuser")?;
        Registry::get().check_urn(&new.actor)?;
        check_name("a token", &new.name)?;
        check_note("the description", new.description.as_deref())?;
        if new.ttl_ms.is_some_and(|ttl_ms| ttl_ms <= 0) {
            return Err(Error::invalid("the lifetime of a token must be positive"));
        }
        if let Some(scope) = &new.scope {
            self.check_scope(scope, &new.actor).await?;
        }
        let name = new.actor.key();
        match self.account_status(&new.actor).await? {
            AccountStatus::Suspended => Err(account_inactive(format!(
                "{name} is suspended, so a token would not work: resume the user first"
            ))),
            AccountStatus::Removed => Err(account_inactive(format!(
                "{name} was removed, so a token would not work: add the user again first"
            ))),
            AccountStatus::Unknown => Ok(true),
            AccountStatus::Active => Ok(false),
        }
    }

    /// The changes that store a token, and its user if that is missing and may be.
    fn new_token(
        &self,
        urn: &Urn,
        info: &AccessTokenInfo,
        user_must_exist: bool,
    ) -> Result<Vec<Proposal>, Error> {
        let user = &info.actor_urn;
        // Comes first, because it locks the user: no other token can be created meanwhile.
        let limit = Change::LimitTokens {
            max: self.options.token_limits.per_user,
        };
        let limit = Proposal::new(user.clone(), limit);
        let stored = info.clone();
        let mut token = Proposal::edit::<AccessTokenInfo, _>(
            urn.clone(),
            AspectName::ACCESS_TOKEN_INFO,
            move |_, _| Ok(stored.clone()),
        );
        if user_must_exist {
            let missing = format!("the user {user} does not exist");
            token = requires_active(token, user).requires_existing(user, missing);
        }
        if let Some(domain) = info.scope.as_ref().and_then(|scope| scope.domain.as_ref()) {
            // The deletion of a domain revokes its tokens, so none may follow.
            token = token.requires_existing(domain, missing_domain(domain));
        }
        let key_aspect = Registry::get().check_urn(user)?.key_aspect;
        let key_value = Registry::get().key_aspect_value(user).unwrap_or_default();
        let user = Proposal::upsert(user.clone(), key_aspect, key_value.to_string());
        Ok(vec![limit, token, user])
    }

    async fn check_scope(&self, scope: &TokenScope, actor: &Urn) -> Result<(), Error> {
        scope::check(scope)?;
        if actor.as_str() == SYSTEM_ACTOR {
            return Err(Error::invalid(
                "the system user may always do everything, so its tokens have no scope: create the token for another user",
            ));
        }
        if let Some(domain) = &scope.domain
            && self.exists(std::slice::from_ref(domain)).await? != [true]
        {
            return Err(Error::invalid(missing_domain(domain)));
        }
        Ok(())
    }

    /// The token with this secret, expired ones included, if the caller of this catalog sees it.
    pub async fn find_token(&self, secret: &str) -> Result<Option<Token>, Error> {
        let Some(token) = self.token_by_id(&hex(&hash_of(secret))).await? else {
            return Ok(None);
        };
        let hidden = self.hidden_among([&token.urn()?]).await?;
        Ok(Some(token).filter(|_| hidden.is_empty()))
    }

    /// Revokes a token at once.
    pub async fn revoke_token(&self, caller: &Caller, id: &str) -> Result<(), Error> {
        self.audited(caller, scope::check_writer(caller)).await?;
        // An invalid id belongs to no token.
        let Ok(urn) = token_urn(id) else {
            return Err(unknown(id));
        };
        let token = self.token_by_id(id).await?.ok_or_else(|| unknown(id))?;
        let is_own = [&token.info.owner_urn, &token.info.actor_urn].contains(&caller.actor());
        if !is_own || caller.scope().is_some() {
            let privileges = self.token_managers(&token.info.actor_urn).await?;
            if is_own && !self.is_allowed(caller, privileges, None).await? {
                // The user may revoke it; the scope is what is missing.
                let error = denied(
                    caller.actor(),
                    caller.scope().map(|it| &**it),
                    privileges,
                    None,
                );
                return self.audited(caller, Err(error)).await;
            }
            self.authorize_about(caller, privileges, from_ref(&urn))
                .await?;
        }
        self.apply_authorized(caller, vec![Proposal::new(urn, Change::DeleteEntity)])
            .await?;
        Ok(())
    }

    /// Revokes the token whose id has this prefix, if there is exactly one.
    pub async fn revoke_token_by_prefix(&self, caller: &Caller, prefix: &str) -> Result<(), Error> {
        if prefix.is_empty() {
            return Err(unknown(prefix));
        }
        let mut found: Option<Urn> = None;
        let mut after = None;
        loop {
            let urns = self.token_urns(after.as_ref(), PAGE).await?;
            let matching = |urn: &&Urn| urn.key().starts_with(prefix);
            for urn in urns.iter().filter(matching) {
                if found.replace(urn.clone()).is_some() {
                    return Err(Error::invalid(format!(
                        "several token ids begin with {prefix}: send a longer prefix"
                    )));
                }
            }
            if urns.len() < PAGE {
                break;
            }
            after = urns.into_iter().last();
        }
        let urn = found.ok_or_else(|| unknown(prefix))?;
        self.revoke_token(caller, urn.key()).await
    }

    /// Tokens that expired a while ago, of a page behind `from`: ids are random, so every token
    /// gets its turn.
    async fn long_ended(&self, from: &Urn) -> Result<Vec<Urn>, Error> {
        let mut urns = self.token_urns(Some(from), PAGE).await?;
        if urns.len() < PAGE {
            let first = self.token_urns(None, PAGE - urns.len()).await?;
            urns.extend(first.into_iter().take_while(|urn| urn < from));
        }
        let before = self.now_ms().saturating_sub(KEPT_AFTER_EXPIRY_MS);
        let long_ended = |info: &AccessTokenInfo| info.expires_at.is_some_and(|end| end < before);
        let infos = self.token_infos(&urns).await?;
        Ok(urns
            .into_iter()
            .zip(infos)
            .filter(|(_, info)| info.as_ref().is_some_and(long_ended))
            .map(|(urn, _)| urn)
            .take(MAX_REMOVED)
            .collect())
    }

    /// The tokens that act for a user, by the edges that point at the user.
    pub(crate) async fn tokens_of(&self, user: &Urn) -> Result<Vec<Urn>, Error> {
        let mut pages = self
            .store()
            .edges_list(
                std::slice::from_ref(user),
                false,
                &[TOKEN_OF],
                &[],
                0,
                MAX_LISTED,
            )
            .await?;
        let edges = pages.pop().map(|page| page.items).unwrap_or_default();
        Ok(edges.into_iter().map(|edge| edge.urn).collect())
    }

    async fn token_urns(&self, after: Option<&Urn>, limit: usize) -> Result<Vec<Urn>, Error> {
        Ok(self
            .store()
            .urns_list(ENTITY, AspectName::ACCESS_TOKEN_INFO, after, limit)
            .await?)
    }

    /// The stored data of each token; `None` for one that does not exist or cannot be read.
    async fn token_infos(&self, urns: &[Urn]) -> Result<Vec<Option<AccessTokenInfo>>, Error> {
        let tokens = self.stored_tokens(urns).await?.into_iter();
        Ok(tokens.map(|token| Some(token?.info)).collect())
    }

    /// The tokens with these URNs; `None` for one that does not exist or cannot be read.
    async fn stored_tokens(&self, urns: &[Urn]) -> Result<Vec<Option<Token>>, Error> {
        let keys: Vec<AspectKey> = urns
            .iter()
            .map(|urn| AspectKey::new(urn, AspectName::ACCESS_TOKEN_INFO))
            .collect();
        let rows = self.store().read(ReadRequest::rows(&keys)).await?.rows;
        let tokens = urns.iter().zip(rows);
        Ok(tokens
            .map(|(urn, row)| self.token_of(urn, &*row?))
            .collect())
    }

    fn token_of(&self, urn: &Urn, row: &StoredAspect) -> Option<Token> {
        Some(Token {
            id: urn.key().to_owned(),
            info: serde_json::from_str(&row.metadata).ok()?,
            last_used_at: self.last_used(urn, row),
        })
    }

    async fn token_by_id(&self, id: &str) -> Result<Option<Token>, Error> {
        Ok(self.stored_tokens(&[token_urn(id)?]).await?.pop().flatten())
    }
}

fn missing_domain(domain: &Urn) -> String {
    format!("the scope names a domain that does not exist: {domain}")
}

fn unknown(id: &str) -> Error {
    Error::not_found(format!("there is no token with the id {id}"))
}

fn token_urn(id: &str) -> Result<Urn, Error> {
    Ok(Urn::new(ENTITY, id)?)
}

/// Prefix, 256 random bits, and a short checksum by which a scanner recognises a real token.
fn new_secret() -> Result<String, Error> {
    let body = hex(&random::<32>()?);
    let checksum = hex(&Sha256::digest(body.as_bytes())[..4]);
    Ok(format!("{PREFIX}{body}{checksum}"))
}
