//! Sessions and access tokens of a user, found by the edges that point at the user. Reading those
//! edges locks the user, so that none can begin until the transaction ends.

use docent_model::aspects::{AccessTokenInfo, SessionInfo};
use docent_model::{AspectName, EpochMillis, Registry, Urn};
use docent_store::AspectKey;

use super::Batch;
use super::release::MAX_REMOVED;
use crate::{ConflictReason, Error};

/// The aspects by which sessions and tokens point at their user.
const ACCESS_ASPECTS: [AspectName; 2] = [AspectName::SESSION_INFO, AspectName::ACCESS_TOKEN_INFO];

/// Expired tokens stay for a while: so many of a user are read besides the others.
const MAX_EXPIRED: usize = 1_000;

impl Batch<'_> {
    /// Ends the expired sessions of a user, and the oldest others until at most `keep` are left.
    pub(super) async fn end_sessions(&mut self, user: &Urn, keep: usize) -> Result<(), Error> {
        let sessions = self
            .access_of(user, AspectName::SESSION_INFO, MAX_REMOVED)
            .await?;
        if keep == 0 {
            return self.delete_access(&sessions).await;
        }
        let key = |urn| AspectKey::new(urn, AspectName::SESSION_INFO);
        self.load(sessions.iter().map(key)).await?;
        let mut by_end: Vec<(EpochMillis, Urn)> = Vec::with_capacity(sessions.len());
        for urn in sessions {
            let row = self.get(&urn, AspectName::SESSION_INFO).await?;
            let info = row.and_then(|row| serde_json::from_str::<SessionInfo>(&row.metadata).ok());
            by_end.push((info.map_or(0, |info| info.expires_at), urn));
        }
        by_end.sort_unstable();
        let expired = by_end.partition_point(|(end, _)| *end <= self.stamp.time);
        by_end.truncate(expired.max(by_end.len().saturating_sub(keep)));
        let ended: Vec<Urn> = by_end.into_iter().map(|(_, urn)| urn).collect();
        self.delete_access(&ended).await
    }

    /// Fails if a user has so many tokens that are not expired.
    pub(super) async fn check_token_limit(&mut self, user: &Urn, max: usize) -> Result<(), Error> {
        let aspect = AspectName::ACCESS_TOKEN_INFO;
        let tokens = self.access_of(user, aspect, max + MAX_EXPIRED).await?;
        if tokens.len() < max {
            return Ok(());
        }
        self.load(tokens.iter().map(|urn| AspectKey::new(urn, aspect)))
            .await?;
        let mut count = 0;
        for urn in tokens {
            let row = self.get(&urn, aspect).await?;
            let info = row.and_then(|row| serde_json::from_str(&row.metadata).ok());
            let expires_at = info.and_then(|info: AccessTokenInfo| info.expires_at);
            count += usize::from(expires_at.is_none_or(|end| end > self.stamp.time));
        }
        if count < max {
            return Ok(());
        }
        Err(Error::conflict(
            ConflictReason::TooManyTokens,
            format!(
                "{} has {count} access tokens, and {max} are allowed: revoke some that are not used any more",
                user.key()
            ),
        ))
    }

    /// Ends all sessions of a user and revokes all tokens: they must not work for another user of
    /// the same name. Returns whether none are left.
    pub(super) async fn revoke_access(&mut self, user: &Urn) -> Result<bool, Error> {
        for aspect in ACCESS_ASPECTS {
            let room = self.removable();
            let mut urns = self.access_of(user, aspect, room + 1).await?;
            let is_done = urns.len() <= room;
            urns.truncate(room);
            self.released += urns.len();
            self.delete_access(&urns).await?;
            if !is_done {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether a user has a session or a token.
    pub(super) async fn has_access(&mut self, user: &Urn) -> Result<bool, Error> {
        for aspect in ACCESS_ASPECTS {
            if !self.access_of(user, aspect, 1).await?.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    async fn access_of(
        &mut self,
        user: &Urn,
        aspect: AspectName,
        limit: usize,
    ) -> Result<Vec<Urn>, Error> {
        self.flush().await?;
        let edges = self.tx.edges_into(user, aspect, limit).await?;
        Ok(edges.into_iter().map(|edge| edge.urn).collect())
    }

    /// Deletes sessions or tokens, all aspects that their type has.
    pub(super) async fn delete_access(&mut self, urns: &[Urn]) -> Result<(), Error> {
        for urn in urns {
            let entity = Registry::get().check_stored_urn(urn)?;
            let mut aspects = entity.aspects.clone();
            aspects.push(entity.key_aspect);
            self.delete_aspects(urn, &aspects, false).await?;
        }
        Ok(())
    }
}
