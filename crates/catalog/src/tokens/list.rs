//! Tokens as callers see them: their own, and those that they manage.

use docent_model::aspects::AccessTokenInfo;
use docent_model::{EpochMillis, Urn};
use docent_store::ListPage;

use super::{MAX_LISTED, Token, TokenFilter};
use crate::privilege::{MANAGE_ACCESS_TOKENS, MANAGE_SERVICE_ACCOUNTS, Privilege};
use crate::{Caller, Catalog, Error};

impl Catalog {
    /// The matching tokens, those that expire last first. Callers that do not manage tokens see
    /// their own.
    pub async fn list_tokens(
        &self,
        caller: &Caller,
        filter: &TokenFilter,
        start: usize,
        count: usize,
    ) -> Result<ListPage<Token>, Error> {
        let own = TokenFilter {
            actor: None,
            owner: Some(caller.actor().clone()),
        };
        let is_own = |user: &Option<Urn>| user.as_ref() == Some(caller.actor());
        let filter = if is_own(&filter.owner) || is_own(&filter.actor) {
            filter
        } else if filter.owner.is_none() && filter.actor.is_none() {
            let manages = self.is_allowed(caller, &[MANAGE_ACCESS_TOKENS], None);
            if manages.await? { filter } else { &own }
        } else {
            let privileges = match &filter.actor {
                Some(actor) => self.token_managers(actor).await?,
                None => &[MANAGE_ACCESS_TOKENS],
            };
            self.authorize(caller, privileges, None).await?;
            filter
        };
        let urns = match (&filter.actor, &filter.owner) {
            (Some(actor), _) => self.tokens_of(actor).await?,
            // Others' tokens are created by those who manage tokens only.
            (None, Some(owner)) if !self.manages_tokens(owner).await? => {
                self.tokens_of(owner).await?
            }
            (None, _) => self.token_urns(None, MAX_LISTED).await?,
        };
        let tokens = self.stored_tokens(&urns).await?.into_iter().flatten();
        let is_owned = |token: &Token| {
            let owner = filter.owner.as_ref();
            owner.is_none_or(|owner| *owner == token.info.owner_urn)
        };
        let mut tokens: Vec<Token> = tokens.filter(is_owned).collect();
        tokens.sort_by_key(|token| {
            std::cmp::Reverse(token.info.expires_at.unwrap_or(EpochMillis::MAX))
        });
        Ok(ListPage {
            total: tokens.len(),
            items: tokens.into_iter().skip(start).take(count).collect(),
        })
    }

    /// The privileges to manage the tokens of another user.
    pub(super) async fn token_managers(&self, actor: &Urn) -> Result<&'static [Privilege], Error> {
        Ok(if self.is_service_account(actor).await? {
            &[MANAGE_SERVICE_ACCOUNTS, MANAGE_ACCESS_TOKENS]
        } else {
            &[MANAGE_ACCESS_TOKENS]
        })
    }

    pub(super) async fn manages_tokens(&self, user: &Urn) -> Result<bool, Error> {
        let user = Caller::new(user.clone());
        let privileges = &[MANAGE_ACCESS_TOKENS, MANAGE_SERVICE_ACCOUNTS];
        self.is_allowed(&user, privileges, None).await
    }

    /// The tokens with these URNs; `None` for one that does not exist, or that is neither the
    /// caller's own nor one that the caller manages.
    pub async fn read_tokens(
        &self,
        caller: &Caller,
        urns: &[Urn],
    ) -> Result<Vec<Option<Token>>, Error> {
        let is_own = |token: &Token| {
            let AccessTokenInfo {
                actor_urn,
                owner_urn,
                ..
            } = &token.info;
            [actor_urn, owner_urn].contains(&caller.actor())
        };
        let mut tokens = self.stored_tokens(urns).await?;
        for token in &mut tokens {
            if let Some(found) = token.as_ref().filter(|it| !is_own(it)) {
                let managers = self.token_managers(&found.info.actor_urn).await?;
                if !self.is_allowed(caller, managers, None).await? {
                    *token = None;
                }
            }
        }
        Ok(tokens)
    }
}
