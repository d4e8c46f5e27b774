//! Access tokens: what a program shows to prove for whom it speaks.
//!
//! A token is 256 random bits. Only its hash is stored, as the id of an entity of its own, so tokens are
//! written, listed and deleted like everything else. Checking one on each request would cost a read; a token
//! once seen is therefore believed again as long as nothing at all was committed since: a revocation, by this
//! process or another, has its effect on the very next request.

use std::fmt::Write as _;

use docent_model::aspects::{AccessTokenInfo, Other};
use docent_model::{AspectName, EpochMillis, Registry, Urn};
use docent_store::{AspectKey, Page};
use quick_cache::sync::Cache;
use sha2::{Digest, Sha256};

use crate::proposal::{Change, Proposal};
use crate::{Caller, Catalog, Error};

const ENTITY: &str = "dataHubAccessToken";
/// Says what this secret is to people and to programs that look for leaked secrets.
const PREFIX: &str = "docent_";
/// How many tokens one listing looks at.
const MAX_LISTED: usize = 10_000;

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
}

/// Tokens that were found valid, by their hash.
#[derive(Debug)]
pub(crate) struct KnownTokens(Cache<[u8; 32], KnownToken>);

#[derive(Debug, Clone)]
struct KnownToken {
    actor: Urn,
    expires_at: Option<EpochMillis>,
    /// The store's commit stamp when the token was read.
    seen_at: u64,
}

impl Default for KnownTokens {
    fn default() -> Self {
        // A few hundred bytes each; a busy team has fewer.
        Self(Cache::new(4096))
    }
}

impl Catalog {
    /// Who the bearer of this secret is; `None` if it is unknown, revoked or expired.
    pub async fn authenticate(&self, secret: &str) -> Result<Option<Caller>, Error> {
        let hash: [u8; 32] = Sha256::digest(secret.as_bytes()).into();
        let stamp = self.store().commit_stamp()?;
        let known = &self.inner.known_tokens.0;
        let alive = |expires_at: Option<EpochMillis>| {
            expires_at.is_none_or(|expires_at| self.now_ms() < expires_at)
        };
        if let Some(token) = known.get(&hash)
            && token.seen_at == stamp
        {
            return Ok(alive(token.expires_at).then(|| Caller::new(token.actor)));
        }
        let id = hex(&hash);
        let Some(token) = self.token_by_id(&id).await? else {
            known.remove(&hash);
            return Ok(None);
        };
        let info = token.info;
        known.insert(
            hash,
            KnownToken {
                actor: info.actor_urn.clone(),
                expires_at: info.expires_at,
                seen_at: stamp,
            },
        );
        Ok(alive(info.expires_at).then(|| Caller::new(info.actor_urn)))
    }

    /// Makes a token. The user it speaks for is created if it is new.
    pub async fn create_token(
        &self,
        caller: &Caller,
        new: NewToken,
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
        let secret = new_secret()?;
        let id = hex(&Sha256::digest(secret.as_bytes()));
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
        let text =
            serde_json::to_string(&info).map_err(|error| Error::invalid(error.to_string()))?;
        let key_value = Registry::get()
            .key_aspect_value(&new.actor)
            .unwrap_or_default();
        self.apply(
            caller,
            vec![
                Proposal::upsert(new.actor, user.key_aspect, key_value.to_string()),
                Proposal::upsert(token_urn(&id)?, AspectName::ACCESS_TOKEN_INFO, text),
            ],
        )
        .await?;
        Ok(CreatedToken {
            secret,
            token: Token { id, info },
        })
    }

    /// The tokens that match, those that live longest first.
    pub async fn list_tokens(
        &self,
        _caller: &Caller,
        filter: &TokenFilter,
        start: usize,
        count: usize,
    ) -> Result<Page<Token>, Error> {
        let urns = self
            .store()
            .urns_list(ENTITY, AspectName::ACCESS_TOKEN_INFO, None, MAX_LISTED)
            .await?;
        let keys: Vec<AspectKey> = urns
            .iter()
            .map(|urn| AspectKey::new(urn, AspectName::ACCESS_TOKEN_INFO))
            .collect();
        let rows = self.store().aspects_read(&keys).await?;
        let wanted =
            |found: &Urn, asked: &Option<Urn>| asked.as_ref().is_none_or(|asked| asked == found);
        let mut tokens: Vec<Token> = urns
            .iter()
            .zip(rows)
            .filter_map(|(urn, row)| {
                let info = serde_json::from_str::<AccessTokenInfo>(&row?.metadata).ok()?;
                let matches = wanted(&info.actor_urn, &filter.actor)
                    && wanted(&info.owner_urn, &filter.owner);
                matches.then(|| Token {
                    id: urn.key().to_owned(),
                    info,
                })
            })
            .collect();
        tokens.sort_by_key(|token| {
            std::cmp::Reverse(token.info.expires_at.unwrap_or(EpochMillis::MAX))
        });
        Ok(Page {
            total: tokens.len(),
            items: tokens.into_iter().skip(start).take(count).collect(),
        })
    }

    /// The token with this secret, whether it still lives or not.
    pub async fn find_token(&self, _caller: &Caller, secret: &str) -> Result<Option<Token>, Error> {
        self.token_by_id(&hex(&Sha256::digest(secret.as_bytes())))
            .await
    }

    /// Ends a token at once. The id may be shortened to its first characters where those are enough.
    pub async fn revoke_token(&self, caller: &Caller, id: &str) -> Result<(), Error> {
        let unknown = || Error::NotFound(format!("there is no token with the id {id}"));
        if id.is_empty() {
            return Err(unknown());
        }
        let tokens = self
            .list_tokens(caller, &TokenFilter::default(), 0, MAX_LISTED)
            .await?;
        let mut matching = tokens.items.iter().filter(|token| token.id.starts_with(id));
        let token = matching.next().ok_or_else(unknown)?;
        if matching.next().is_some() {
            return Err(Error::Invalid(format!(
                "several tokens have ids that begin with {id}: give more of it"
            )));
        }
        let urn = token.urn()?;
        self.apply(caller, vec![Proposal::new(urn, Change::DeleteEntity)])
            .await?;
        Ok(())
    }

    async fn token_by_id(&self, id: &str) -> Result<Option<Token>, Error> {
        let key = AspectKey::new(&token_urn(id)?, AspectName::ACCESS_TOKEN_INFO);
        let row = self.store().aspects_read(&[key]).await?.pop().flatten();
        Ok(row.and_then(|row| {
            Some(Token {
                id: id.to_owned(),
                info: serde_json::from_str(&row.metadata).ok()?,
            })
        }))
    }
}

fn token_urn(id: &str) -> Result<Urn, Error> {
    Ok(Urn::new(ENTITY, id)?)
}

/// Prefix, 256 random bits, and a short checksum by which a scanner tells a real token from a look-alike.
fn new_secret() -> Result<String, Error> {
    let mut random = [0_u8; 32];
    getrandom::fill(&mut random).map_err(|error| {
        Error::Unavailable(format!("the system gives no random numbers: {error}"))
    })?;
    let body = hex(&random);
    let checksum = hex(&Sha256::digest(body.as_bytes())[..4]);
    Ok(format!("{PREFIX}{body}{checksum}"))
}

fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            // Writing to a String cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        })
}
