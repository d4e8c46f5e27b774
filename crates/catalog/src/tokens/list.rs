//! Tokens as callers see them: their own, and those that they manage.

use docent_model::aspects::AccessTokenInfo;
use docent_model::{EpochMillis, Urn};
use docent_store::ListPage;

use super::{MAX_LISTED, Token, TokenFilter};
use crate::access::scope::CallerRights;
use crate::privilege::{MANAGE_ACCESS_TOKENS, MANAGE_SERVICE_ACCOUNTS, Privilege};
use crate::{Caller, Catalog, Error};

impl Catalog {
    /// The matching tokens, those that expire last first. Callers that do not manage tokens see
    /// their own: those that act for them, and those that they created.
    pub async fn list_tokens(
        &self,
        caller: &Caller,
        filter: &TokenFilter,
        start: usize,
        count: usize,
    ) -> Result<ListPage<Token>, Error> {
        let is_caller = |user: &Option<Urn>| user.as_ref() == Some(caller.actor());
        let mut own_only = false;
        if filter.owner.is_none() && filter.actor.is_none() {
            let manages = self.is_allowed(caller, &[MANAGE_ACCESS_TOKENS], None);
            own_only = !manages.await?;
        } else if !is_caller(&filter.owner) && !is_caller(&filter.actor) {
            let privileges = match &filter.actor {
                Some(actor) => self.token_managers(actor).await?,
                None => &[MANAGE_ACCESS_TOKENS],
            };
            self.authorize(caller, privileges, None).await?;
        }
        let own = own_only.then_some(caller.actor());
        let urns = match (&filter.actor, filter.owner.as_ref().or(own)) {
            (Some(actor), _) => self.tokens_of(actor).await?,
            // Others' tokens are created by those who manage tokens only.
            (None, Some(owner)) if !self.manages_tokens(owner).await? => {
                self.tokens_of(owner).await?
            }
            (None, _) => self.token_urns(None, MAX_LISTED).await?,
        };
        let tokens = self.stored_tokens(&urns).await?.into_iter().flatten();
        let is_selected = |token: &Token| {
            let owner = filter.owner.as_ref();
            owner.is_none_or(|owner| *owner == token.info.owner_urn)
                && filter
                    .name
                    .as_ref()
                    .is_none_or(|name| *name == token.info.name)
                && (!own_only || is_own(caller, token))
        };
        let mut tokens: Vec<Token> = tokens.filter(is_selected).collect();
        tokens.sort_by_key(|token| {
            std::cmp::Reverse(token.info.expires_at.unwrap_or(EpochMillis::MAX))
        });
        Ok(ListPage {
            total: tokens.len(),
            items: tokens.into_iter().skip(start).take(count).collect(),
        })
    }

    /// The privileges to manage the tokens of another user.
    pub(crate) async fn token_managers(&self, actor: &Urn) -> Result<&'static [Privilege], Error> {
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

    /// The tokens among these URNs that the caller of this catalog may not see.
    pub(crate) async fn foreign_tokens(&self, urns: Vec<Urn>) -> Result<Vec<Urn>, Error> {
        let Some(caller) = &self.reading_caller else {
            return Ok(Vec::new());
        };
        let rights = self.reading_rights().await?;
        let known = self.known_tokens(caller, rights.as_ref(), &urns).await?;
        let foreign = urns.into_iter().zip(known);
        Ok(foreign
            .filter(|(_, known)| known.is_none())
            .map(|(urn, _)| urn)
            .collect())
    }

    /// The tokens with these URNs; `None` for one that does not exist, or that is neither the
    /// caller's own nor one that the caller manages.
    pub async fn read_tokens(
        &self,
        caller: &Caller,
        urns: &[Urn],
    ) -> Result<Vec<Option<Token>>, Error> {
        let rights = self.rights(caller).await?;
        self.known_tokens(caller, rights.as_ref(), urns).await
    }

    /// [`Catalog::read_tokens`] for a caller with these rights; `None` for all rights.
    async fn known_tokens(
        &self,
        caller: &Caller,
        rights: Option<&CallerRights>,
        urns: &[Urn],
    ) -> Result<Vec<Option<Token>>, Error> {
        let mut tokens = self.stored_tokens(urns).await?;
        let Some(rights) = rights else {
            return Ok(tokens);
        };
        for token in &mut tokens {
            if let Some(found) = token.as_ref().filter(|it| !is_own(caller, it)) {
                let managers = self.token_managers(&found.info.actor_urn).await?;
                if rights.everywhere(managers).is_none() {
                    *token = None;
                }
            }
        }
        Ok(tokens)
    }
}

/// Whether a token acts for the caller, or was created by the caller.
fn is_own(caller: &Caller, token: &Token) -> bool {
    let AccessTokenInfo {
        actor_urn,
        owner_urn,
        ..
    } = &token.info;
    [actor_urn, owner_urn].contains(&caller.actor())
}
