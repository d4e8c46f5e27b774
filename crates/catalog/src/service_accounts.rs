//! Service accounts: users that are programs.
//!
//! A service account is a `corpuser` with a generated name and the subtype [`SUB_TYPE`], as in
//! DataHub. It has no password and cannot get one, and no identity provider signs it in. Its tokens
//! are created by those who manage service accounts.

use std::slice::from_ref;

use docent_model::aspects::{AuditStamp, CorpUserInfo};
use docent_model::{AspectName, Urn};
use docent_store::{AspectKey, ListPage, ReadRequest};
use serde_json::{Value, json};

use crate::limits::check_note;
use crate::people::{SERVICE_PREFIX, active_user, check_display_name};
use crate::privilege::MANAGE_SERVICE_ACCOUNTS;
use crate::proposal::{Change, Proposal, Requirement};
use crate::stored::aspect_value;
use crate::{Caller, Catalog, Error};

const SUB_TYPE: &str = "SERVICE_ACCOUNT";
/// The most service accounts of one list.
const MAX_LISTED: usize = 10_000;

/// A service account to create.
#[derive(Debug, Clone, Default)]
pub struct NewServiceAccount {
    pub display_name: Option<String>,
    pub description: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceAccount {
    pub urn: Urn,
    pub display_name: Option<String>,
}

/// The name of a service account without the prefix, as DataHub shows it.
pub fn service_account_name(urn: &Urn) -> &str {
    let key = urn.key();
    key.strip_prefix(SERVICE_PREFIX).unwrap_or(key)
}

impl Catalog {
    pub async fn create_service_account(
        &self,
        caller: &Caller,
        new: NewServiceAccount,
    ) -> Result<Urn, Error> {
        self.authorize(caller, &[MANAGE_SERVICE_ACCOUNTS], None)
            .await?;
        if let Some(name) = &new.display_name {
            check_display_name(name)?;
        }
        check_note("the description", new.description.as_deref())?;
        let urn = Urn::new(
            "corpuser",
            &format!("{SERVICE_PREFIX}{}", self.options.ids.next_id()),
        )?;
        let name = new.display_name.unwrap_or_else(|| urn.key().to_owned());
        let title = new.description;
        let info = move |_: Option<CorpUserInfo>, _: &AuditStamp| {
            Ok(CorpUserInfo {
                display_name: Some(name.clone()),
                title: title.clone(),
                ..active_user()
            })
        };
        let info = Proposal::edit(urn.clone(), AspectName::CORP_USER_INFO, info).requires(
            Requirement::IsNew {
                otherwise: format!("{urn} exists already: try again"),
            },
        );
        let sub_types = json!({"typeNames": [SUB_TYPE]}).to_string();
        let sub_types = Proposal::upsert(urn.clone(), AspectName::SUB_TYPES, sub_types);
        self.apply_authorized(caller, vec![info, sub_types]).await?;
        Ok(urn)
    }

    /// Deletes a service account with its tokens.
    pub async fn delete_service_account(&self, caller: &Caller, urn: &Urn) -> Result<(), Error> {
        self.authorize_about(caller, &[MANAGE_SERVICE_ACCOUNTS], from_ref(urn))
            .await?;
        urn.expect_type("corpuser")?;
        let is_service = |sub_types: Option<Value>| {
            let found = sub_types.filter(is_service_type);
            found.map(|_| ()).ok_or_else(no_such_account)
        };
        let delete = Proposal::new(urn.clone(), Change::DeleteEntity).requires_value(
            urn,
            AspectName::SUB_TYPES,
            is_service,
        );
        self.apply_authorized(caller, vec![delete]).await?;
        Ok(())
    }

    /// Service accounts by URN, those whose name or display name contains the text.
    pub async fn list_service_accounts(
        &self,
        caller: &Caller,
        query: Option<&str>,
        start: usize,
        count: usize,
    ) -> Result<ListPage<ServiceAccount>, Error> {
        self.authorize(caller, &[MANAGE_SERVICE_ACCOUNTS], None)
            .await?;
        // Only service accounts have this aspect among users.
        let urns = self
            .store()
            .urns_list("corpuser", AspectName::SUB_TYPES, None, MAX_LISTED)
            .await?;
        let query = query.unwrap_or_default().trim().to_lowercase();
        let query = if query == "*" { "" } else { &query };
        let mut accounts = self.read_service_accounts(&urns).await?;
        accounts.retain(|account| {
            let name = service_account_name(&account.urn);
            let names = [Some(name), account.display_name.as_deref()];
            let mut names = names.into_iter().flatten();
            names.any(|name| name.to_lowercase().contains(query))
        });
        Ok(ListPage {
            total: accounts.len(),
            items: accounts.into_iter().skip(start).take(count).collect(),
        })
    }

    /// The service account with this URN, if there is one.
    pub async fn service_account(
        &self,
        caller: &Caller,
        urn: &Urn,
    ) -> Result<Option<ServiceAccount>, Error> {
        self.authorize_about(caller, &[MANAGE_SERVICE_ACCOUNTS], from_ref(urn))
            .await?;
        urn.expect_type("corpuser")?;
        let urns = std::slice::from_ref(urn);
        Ok(self.read_service_accounts(urns).await?.pop())
    }

    pub(crate) async fn is_service_account(&self, user: &Urn) -> Result<bool, Error> {
        let key = AspectKey::new(user, AspectName::SUB_TYPES);
        let row = self.store().read(ReadRequest::row(&key)).await?.into_row();
        Ok(aspect_value(&row).is_some_and(|value| is_service_type(&value)))
    }

    async fn read_service_accounts(&self, urns: &[Urn]) -> Result<Vec<ServiceAccount>, Error> {
        const ASPECTS: [AspectName; 2] = [AspectName::SUB_TYPES, AspectName::CORP_USER_INFO];
        let keys: Vec<AspectKey> = urns
            .iter()
            .flat_map(|urn| ASPECTS.map(|aspect| AspectKey::new(urn, aspect)))
            .collect();
        let rows = self.store().read(ReadRequest::rows(&keys)).await?.rows;
        let accounts = urns.iter().zip(rows.chunks(ASPECTS.len()));
        Ok(accounts
            .filter_map(|(urn, rows)| {
                let [sub_types, info] = rows else {
                    return None;
                };
                aspect_value(sub_types).filter(is_service_type)?;
                let info: Option<CorpUserInfo> = aspect_value(info);
                Some(ServiceAccount {
                    urn: urn.clone(),
                    display_name: info.and_then(|it| it.display_name),
                })
            })
            .collect())
    }
}

pub(crate) fn no_such_account() -> Error {
    Error::not_found("there is no such service account: listServiceAccounts lists them")
}

pub(crate) fn is_service_type(sub_types: &Value) -> bool {
    let names = sub_types["typeNames"].as_array();
    names.is_some_and(|names| names.iter().any(|name| name == SUB_TYPE))
}
