//! The value of `ServiceAccount`, which queries and mutations return.

use docent_catalog::service_accounts::ServiceAccount;
use serde_json::{Value, json};

pub(crate) fn service_account_value(account: &ServiceAccount) -> Value {
    json!({
        "urn": account.urn,
        "type": "CORP_USER",
        "name": account.name(),
        "displayName": account.display_name,
        "description": account.description,
        "createdBy": account.created_by,
        "createdAt": account.created_at,
        "updatedAt": account.updated_at,
        "defaultView": account.default_view,
    })
}
