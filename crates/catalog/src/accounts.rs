//! Which users are accounts: somebody can act as them, or they have rights.

use docent_model::{AspectName, Urn};
use docent_store::{AspectKey, ReadRequest};

use crate::people::{MEMBERSHIPS, has_member, is_protected};
use crate::{Catalog, Error, external_record, sessions, tokens};

impl Catalog {
    /// Whether somebody can act as the user, or the user has a role or a group. Transactions decide
    /// the same for the status of an account.
    pub(crate) async fn is_account(&self, user: &Urn) -> Result<bool, Error> {
        if user.entity_type() != "corpuser" || is_protected(user) {
            return Ok(is_protected(user));
        }
        let mut keys = vec![
            AspectKey::new(user, AspectName::CORP_USER_CREDENTIALS),
            external_record::key(user)?,
        ];
        keys.extend(MEMBERSHIPS.map(|aspect| AspectKey::new(user, aspect)));
        let rows = self.store().read(ReadRequest::rows(&keys)).await?.rows;
        if let [credentials, record, memberships @ ..] = rows.as_slice()
            && (credentials.is_some()
                || external_record::is_of_user(record)
                || memberships
                    .iter()
                    .flatten()
                    .any(|row| has_member(&row.metadata)))
        {
            return Ok(true);
        }
        self.is_referred_to(user, &[sessions::SESSION_OF, tokens::TOKEN_OF])
            .await
    }

    /// Whether an entity has one of these relationships to the user, internal ones included; of all
    /// if none is named.
    pub(crate) async fn is_referred_to(
        &self,
        user: &Urn,
        relationships: &[&str],
    ) -> Result<bool, Error> {
        let users = std::slice::from_ref(user);
        let pages = self
            .store()
            .edges_list(users, false, relationships, &[], 0, 1)
            .await?;
        Ok(pages.iter().any(|page| page.total > 0))
    }
}
