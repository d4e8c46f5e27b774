//! Access tokens: what a program shows to prove for whom it speaks.
//!
//! A token is 256 random bits. Only its hash is stored, as the id of an entity of its own, so tokens are
//! written, listed and deleted like everything else. Checking one on each request would cost a read; a token
//! once seen is therefore believed again as long as nothing that may be about tokens or users was committed since, as
//! far as the store can tell: a revocation by this server has its effect on the very next request, one by another within a
//! second (`Store::commit_stamp_of`). When a token was used last is noted beside it: [`uses`].

mod uses;

use std::collections::HashSet;
use std::sync::Arc;

use docent_model::aspects::{AccessTokenInfo, Other};
use docent_model::{AspectName, EpochMillis, Registry, Urn, hex};
use docent_store::{AspectKey, CommitStamp, ListPage, ReadRequest, StoredAspect};
use jiff::Timestamp;
use quick_cache::sync::Cache;
use sha2::{Digest, Sha256};

use crate::people::{ADMINISTRATOR, Standing, account_inactive};
use crate::proposal::{Change, Proposal};
use crate::sessions::is_session;
use crate::{Caller, Catalog, Error};
use uses::Noted;
pub(crate) use uses::Uses;

pub(crate) const ENTITY: &str = "dataHubAccessToken";
/// Says what this secret is to people and to programs that look for leaked secrets.
const PREFIX: &str = "docent_";
/// How many tokens one listing looks at.
pub const MAX_LISTED: usize = 10_000;
/// How many tokens are read at once where all of them are looked at.
const PAGE: usize = 1000;
const DAY_MS: EpochMillis = 24 * 60 * 60 * 1000;
/// How long a token lives at most that was asked for over the network.
pub const MAX_ISSUED_TTL_MS: EpochMillis = 365 * DAY_MS;
/// A token that ended is kept for a while, so that people see in the list why a program is no longer let in.
const KEPT_AFTER_EXPIRY_MS: EpochMillis = DAY_MS;
/// How many ended tokens go when a new one is made: making one stays quick.
const MAX_REMOVED: usize = 100;

/// A token to be made.
#[derive(Debug, Clone)]
pub struct NewToken {
    pub name: String,
    pub description: Option<String>,
    /// For whom it speaks.
    pub actor: Urn,
    /// `None` never expires.
    pub ttl_ms: Option<EpochMillis>,
}

/// A token just made. The secret is shown this once.
pub struct CreatedToken {
    pub secret: String,
    pub token: Token,
    /// Whether nobody knew the user before.
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
    /// To the minute; `None` if it never was.
    pub last_used_at: Option<EpochMillis>,
}

impl Token {
    pub fn urn(&self) -> Result<Urn, Error> {
        token_urn(&self.id)
    }
}

/// A token or a session, and the user for whom it speaks.
pub(crate) struct HeldToken {
    pub(crate) urn: Urn,
    pub(crate) user: Urn,
}

/// Which tokens to list; `None` means any.
#[derive(Debug, Clone, Default)]
pub struct TokenFilter {
    pub actor: Option<Urn>,
    pub owner: Option<Urn>,
}

/// Tokens that were found valid, by their hash.
#[derive(Debug)]
pub(crate) struct KnownTokens(Cache<[u8; 32], KnownToken>);

#[derive(Debug, Clone)]
pub(crate) struct KnownToken {
    pub(crate) actor: Urn,
    expires_at: Option<EpochMillis>,
    /// The store's commit stamp of tokens and users when the token was read.
    seen_at: CommitStamp,
    noted: Arc<Noted>,
}

impl Default for KnownTokens {
    fn default() -> Self {
        // A few hundred bytes each; a busy team has fewer.
        Self(Cache::new(4096))
    }
}

impl Catalog {
    /// Who the bearer of this secret is; `None` if it is unknown, revoked or expired, or if its user is gone or
    /// suspended.
    pub async fn authenticate(&self, secret: &str) -> Result<Option<Caller>, Error> {
        let hash = hash_of(secret);
        let known = &self.inner.known_tokens;
        let token = self.authenticate_by(known, hash, || hex(&hash)).await?;
        if let Some(token) = &token {
            self.note_use(&hash, token);
        }
        Ok(token.map(|token| Caller::until(token.actor, token.expires_at)))
    }

    /// For whom a secret with this hash speaks that is stored under this id, and how long.
    pub(crate) async fn authenticate_by(
        &self,
        KnownTokens(known): &KnownTokens,
        hash: [u8; 32],
        id: impl FnOnce() -> String + Send,
    ) -> Result<Option<KnownToken>, Error> {
        let stamp = self.store().commit_stamp_of(&[ENTITY, "corpuser"])?;
        let alive = |expires_at: Option<EpochMillis>| {
            expires_at.is_none_or(|expires_at| self.now_ms() < expires_at)
        };
        let seen = known.get(&hash);
        if let Some(token) = seen.as_ref().filter(|token| token.seen_at == stamp) {
            return Ok(Some(token.clone()).filter(|token| alive(token.expires_at)));
        }
        let Some(token) = self.token_by_id(&id()).await? else {
            known.remove(&hash);
            return Ok(None);
        };
        let Token {
            info, last_used_at, ..
        } = token;
        if !self.is_active(&info.actor_urn).await? {
            known.remove(&hash);
            return Ok(None);
        }
        let token = KnownToken {
            actor: info.actor_urn,
            expires_at: info.expires_at,
            seen_at: stamp,
            noted: seen.map_or_else(|| Arc::new(Noted::at(last_used_at)), |token| token.noted),
        };
        known.insert(hash, token.clone());
        Ok(Some(token).filter(|token| alive(token.expires_at)))
    }

    /// Makes a token for somebody who sits at the server. The user it speaks for is created if it is new; one who was
    /// suspended or removed gets none.
    pub async fn create_token(
        &self,
        caller: &Caller,
        new: NewToken,
    ) -> Result<CreatedToken, Error> {
        self.store_token(caller, new, false).await
    }

    /// Makes a token for somebody who asks over the network: it ends within a year, and not after the token that it was
    /// asked for with, because one that leaked would never end otherwise. It speaks for the caller. Only
    /// the administrator makes one for another user, who must exist: whoever could act as another would go on doing so
    /// after being suspended.
    pub async fn issue_token(&self, caller: &Caller, new: NewToken) -> Result<CreatedToken, Error> {
        if new.ttl_ms.is_none_or(|ttl_ms| ttl_ms > MAX_ISSUED_TTL_MS) {
            return Err(Error::invalid(
                "a token made over the network lives 365 days at most: choose a shorter time, or use \
                 'docent token create' on the server",
            ));
        }
        let ends_at = |ttl_ms| self.now_ms().saturating_add(ttl_ms);
        let outlives = |until_ms| new.ttl_ms.is_some_and(|ttl_ms| ends_at(ttl_ms) > until_ms);
        if let Some(until_ms) = caller.until_ms().filter(|until_ms| outlives(*until_ms)) {
            let until = Timestamp::from_millisecond(until_ms).unwrap_or(Timestamp::MAX);
            return Err(Error::forbidden(format!(
                "a token does not outlive the one it is made with, which ends at {until:.0}: choose a shorter time, sign in \
                 with a password, or use 'docent token create' on the server"
            )));
        }
        let must_exist = new.actor != *caller.actor();
        if must_exist && !Self::is_administrator(caller) {
            return Err(Error::forbidden(format!(
                "only {ADMINISTRATOR} makes tokens for other users over the network: make one for {}, or use 'docent \
                 token create' on the server",
                caller.actor()
            )));
        }
        self.store_token(caller, new, must_exist).await
    }

    async fn store_token(
        &self,
        caller: &Caller,
        new: NewToken,
        user_must_exist: bool,
    ) -> Result<CreatedToken, Error> {
        new.actor.expect_type("corpuser")?;
        let user = Registry::get().check_urn(&new.actor)?;
        if new.name.trim().is_empty() {
            return Err(Error::invalid(
                "a token needs a name that says what it is for",
            ));
        }
        if new.ttl_ms.is_some_and(|ttl_ms| ttl_ms <= 0) {
            return Err(Error::invalid(
                "a token must live longer than no time at all",
            ));
        }
        let standing = self.standing(&new.actor).await?;
        let name = new.actor.key();
        match standing {
            Standing::Suspended => {
                return Err(account_inactive(format!(
                    "{name} is suspended, so a token would not work: 'docent user resume {name}' comes first"
                )));
            }
            Standing::Removed => {
                return Err(account_inactive(format!(
                    "{name} was removed, so a token would not work: 'docent user add {name}' lets the user in again"
                )));
            }
            Standing::Unknown | Standing::Active => {}
        }
        let secret = new_secret()?;
        let id = hex(&hash_of(&secret));
        let now_ms = self.now_ms();
        let info = AccessTokenInfo {
            name: new.name,
            actor_urn: new.actor.clone(),
            owner_urn: caller.actor().clone(),
            created_at: now_ms,
            expires_at: new.ttl_ms.map(|ttl_ms| now_ms.saturating_add(ttl_ms)),
            description: new.description,
            other: Other::new(),
        };
        let urn = token_urn(&id)?;
        let stored = info.clone();
        let mut token = Proposal::edit::<AccessTokenInfo, _>(
            urn.clone(),
            AspectName::ACCESS_TOKEN_INFO,
            move |_, _| Ok(stored.clone()),
        );
        if user_must_exist {
            let missing = format!("the user {} does not exist", new.actor);
            token = token.requires_existing(&new.actor, missing);
        }
        let key_value = Registry::get()
            .key_aspect_value(&new.actor)
            .unwrap_or_default();
        let user = Proposal::upsert(new.actor, user.key_aspect, key_value.to_string());
        let ended = self.long_ended(&urn).await?;
        let removals = ended
            .into_iter()
            .map(|urn| Proposal::new(urn, Change::DeleteEntity));
        let proposals = [token, user].into_iter().chain(removals).collect();
        self.apply(caller, proposals).await?;
        Ok(CreatedToken {
            secret,
            token: Token {
                id,
                info,
                last_used_at: None,
            },
            user_is_new: standing == Standing::Unknown,
        })
    }

    /// The tokens that match, those that live longest first.
    pub async fn list_tokens(
        &self,
        _caller: &Caller,
        filter: &TokenFilter,
        start: usize,
        count: usize,
    ) -> Result<ListPage<Token>, Error> {
        let urns = self.token_urns(None, MAX_LISTED).await?;
        let tokens = self.tokens_read(&urns).await?;
        let wanted =
            |found: &Urn, asked: &Option<Urn>| asked.as_ref().is_none_or(|asked| asked == found);
        let mut tokens: Vec<Token> = tokens
            .into_iter()
            .flatten()
            .filter(|Token { id, info, .. }| {
                !is_session(id)
                    && wanted(&info.actor_urn, &filter.actor)
                    && wanted(&info.owner_urn, &filter.owner)
            })
            .collect();
        tokens.sort_by_key(|token| {
            std::cmp::Reverse(token.info.expires_at.unwrap_or(EpochMillis::MAX))
        });
        Ok(ListPage {
            total: tokens.len(),
            items: tokens.into_iter().skip(start).take(count).collect(),
        })
    }

    /// The token with this secret, whether it still lives or not.
    pub async fn find_token(&self, _caller: &Caller, secret: &str) -> Result<Option<Token>, Error> {
        self.token_by_id(&hex(&hash_of(secret))).await
    }

    /// Ends a token at once.
    pub async fn revoke_token(&self, caller: &Caller, id: &str) -> Result<(), Error> {
        // What cannot be an id is not the id of any token.
        let Some(urn) = token_urn(id).ok().filter(|_| !is_session(id)) else {
            return Err(unknown(id));
        };
        let key = AspectKey::new(&urn, AspectName::ACCESS_TOKEN_INFO);
        let stored = self.store().read(ReadRequest::row(&key)).await?;
        if stored.into_row().is_none() {
            return Err(unknown(id));
        }
        self.apply(caller, vec![Proposal::new(urn, Change::DeleteEntity)])
            .await?;
        Ok(())
    }

    /// Ends the token whose id begins like this, if there is exactly one: for people who type.
    pub async fn revoke_token_by_prefix(&self, caller: &Caller, prefix: &str) -> Result<(), Error> {
        if prefix.is_empty() {
            return Err(unknown(prefix));
        }
        let mut found: Option<Urn> = None;
        let mut after = None;
        loop {
            let urns = self.token_urns(after.as_ref(), PAGE).await?;
            let matching = |urn: &&Urn| urn.key().starts_with(prefix) && !is_session(urn.key());
            for urn in urns.iter().filter(matching) {
                if found.replace(urn.clone()).is_some() {
                    return Err(Error::invalid(format!(
                        "several tokens have ids that begin with {prefix}: give more of it"
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

    /// Tokens that ended long ago. Looks at a page of tokens behind `from`: as ids are random, every token
    /// has its turn sooner or later.
    pub(crate) async fn long_ended(&self, from: &Urn) -> Result<Vec<Urn>, Error> {
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

    /// Proposals that end all tokens and sessions of these users.
    pub(crate) async fn token_removals(&self, users: &[Urn]) -> Result<Vec<Proposal>, Error> {
        let tokens = self.tokens_of(users).await?.into_iter();
        Ok(tokens
            .map(|token| Proposal::new(token.urn, Change::DeleteEntity))
            .collect())
    }

    /// All tokens and sessions of these users.
    pub(crate) async fn tokens_of(&self, users: &[Urn]) -> Result<Vec<HeldToken>, Error> {
        let mut found = Vec::new();
        if users.is_empty() {
            return Ok(found);
        }
        let users: HashSet<&Urn> = users.iter().collect();
        let mut after = None;
        loop {
            let urns = self.token_urns(after.as_ref(), PAGE).await?;
            let infos = self.token_infos(&urns).await?;
            after = urns.last().cloned().filter(|_| urns.len() == PAGE);
            let tokens = urns.into_iter().zip(infos);
            found.extend(tokens.filter_map(|(urn, info)| {
                let user = info?.actor_urn;
                users.contains(&user).then_some(HeldToken { urn, user })
            }));
            if after.is_none() {
                return Ok(found);
            }
        }
    }

    pub(crate) async fn token_urns(
        &self,
        after: Option<&Urn>,
        limit: usize,
    ) -> Result<Vec<Urn>, Error> {
        Ok(self
            .store()
            .urns_list(ENTITY, AspectName::ACCESS_TOKEN_INFO, after, limit)
            .await?)
    }

    /// What is stored about each token; `None` where it is gone or cannot be read.
    pub(crate) async fn token_infos(
        &self,
        urns: &[Urn],
    ) -> Result<Vec<Option<AccessTokenInfo>>, Error> {
        let tokens = self.tokens_read(urns).await?.into_iter();
        Ok(tokens.map(|token| Some(token?.info)).collect())
    }

    /// The tokens; `None` where one is gone or cannot be read.
    async fn tokens_read(&self, urns: &[Urn]) -> Result<Vec<Option<Token>>, Error> {
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
            last_used_at: self.token_last_used(urn, row),
        })
    }

    async fn token_by_id(&self, id: &str) -> Result<Option<Token>, Error> {
        Ok(self.tokens_read(&[token_urn(id)?]).await?.pop().flatten())
    }
}

fn unknown(id: &str) -> Error {
    Error::not_found(format!("there is no token with the id {id}"))
}

pub(crate) fn token_urn(id: &str) -> Result<Urn, Error> {
    Ok(Urn::new(ENTITY, id)?)
}

/// Prefix, 256 random bits, and a short checksum by which a scanner tells a real token from a look-alike.
fn new_secret() -> Result<String, Error> {
    let body = hex(&random::<32>()?);
    let checksum = hex(&Sha256::digest(body.as_bytes())[..4]);
    Ok(format!("{PREFIX}{body}{checksum}"))
}

pub(crate) fn hash_of(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

pub(crate) fn random<const BYTES: usize>() -> Result<[u8; BYTES], Error> {
    let mut random = [0; BYTES];
    getrandom::fill(&mut random).map_err(|error| {
        Error::unavailable(format!("the system gives no random numbers: {error}"))
    })?;
    Ok(random)
}
