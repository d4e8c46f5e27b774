//! Which users are accounts: somebody can act as them, or they have rights.

use std::collections::HashSet;

use docent_model::{AspectName, Registry, Urn};
use docent_store::{AspectKey, ReadRequest};

use crate::people::{MEMBERSHIPS, has_member, is_protected};
use crate::service_accounts::is_service_type;
use crate::stored::aspect_value;
use crate::{Catalog, Error, external_record, sessions, tokens};

/// The relationship of an entity to its owners.
const OWNED_BY: &str = "OwnedBy";

impl Catalog {
    /// Whether somebody can act as the user, or the user has rights. Transactions decide the same
    /// for the status of an account.
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
        let access = [sessions::SESSION_OF, tokens::TOKEN_OF];
        if self.is_referred_to(user, &access).await? {
            return Ok(true);
        }
        let granted = self.granted_by_others(std::slice::from_ref(user)).await?;
        Ok(!granted.is_empty())
    }

    /// Those of the users whom a policy names, who own a group, or who are service accounts: what
    /// others have decided about them.
    pub(crate) async fn granted_by_others(&self, users: &[Urn]) -> Result<HashSet<Urn>, Error> {
        if users.is_empty() {
            return Ok(HashSet::new());
        }
        let named = self.users_in_policies().await?;
        let keys = users
            .iter()
            .map(|user| AspectKey::new(user, AspectName::SUB_TYPES));
        let keys: Vec<_> = keys.collect();
        let sub_types = self.store().read(ReadRequest::rows(&keys)).await?.rows;
        let types = Registry::get().entities().map(|entity| entity.name);
        let others: Vec<&str> = types.filter(|name| *name != "corpGroup").collect();
        let groups = self
            .store()
            .edges_list(users, false, &[OWNED_BY], &others, 0, 1)
            .await?;
        let users = users.iter().zip(sub_types.iter().zip(&groups));
        let granted = users.filter(|(user, (sub_types, groups))| {
            named.contains(user.as_str())
                || groups.total > 0
                || aspect_value(sub_types).is_some_and(|it| is_service_type(&it))
        });
        Ok(granted.map(|(user, _)| user.clone()).collect())
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
