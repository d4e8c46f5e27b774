//! Secrets that recipes of ingestion refer to by name, such as `${WAREHOUSE_PASSWORD}`.
//!
//! The value is encrypted before it is stored, with a key from the settings ([`cipher`]).
//! [`Catalog::secret_values`] alone returns it, and every call is recorded in the audit log.

mod cipher;

use std::collections::BTreeSet;
use std::slice::from_ref;

use docent_model::aspects::AuditStamp;
use docent_model::{AspectName, Urn};
use docent_store::{AspectKey, AuditItem, ReadRequest};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::limits::{check_length, check_name, check_note};
use crate::privilege::MANAGE_SECRETS;
use crate::proposal::{Change, Proposal, Requirement};
use crate::stored::aspect_value;
use crate::{Caller, Catalog, ConflictReason, Error, ErrorKind};
pub(crate) use cipher::Unreadable;
pub use cipher::{SecretKey, SecretKeys};

pub const ENTITY: &str = "dataHubSecret";
/// Longer than certificates and keys of service accounts.
pub(crate) const MAX_VALUE_CHARACTERS: usize = 65_536;
/// The most secrets of one request for values.
const MAX_NAMES: usize = 1_000;
/// How many secrets one call reads where all are read.
const PAGE: usize = 1_000;

/// A secret to store.
#[derive(Clone)]
pub struct NewSecret {
    pub name: String,
    pub value: String,
    pub description: Option<String>,
}

/// Without the value.
impl std::fmt::Debug for NewSecret {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("NewSecret")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// A stored secret, without its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretInfo {
    pub urn: Urn,
    pub name: String,
    pub description: Option<String>,
}

/// The value of a secret.
#[derive(Clone)]
pub struct SecretValue {
    pub name: String,
    pub value: String,
}

/// Without the value.
impl std::fmt::Debug for SecretValue {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("SecretValue")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// The aspect.
#[derive(Deserialize)]
struct Stored {
    name: String,
    value: String,
    description: Option<String>,
    created: Option<Value>,
}

impl NewSecret {
    fn check(&self) -> Result<(), Error> {
        check_name("a secret", &self.name)?;
        check_note("the description", self.description.as_deref())?;
        check_length("the value", &self.value, MAX_VALUE_CHARACTERS)
    }

    /// The aspect with the encrypted value.
    fn aspect(&self, encrypted: &str, created: &Value) -> Value {
        let mut aspect = json!({"name": self.name, "value": encrypted, "created": created});
        if let Some(description) = &self.description {
            aspect["description"] = json!(description);
        }
        aspect
    }

    /// Writes the encrypted value, and keeps who created the secret.
    fn replacing(self, secret: &Urn, encrypted: String, created: Option<Value>) -> Proposal {
        let aspect = move |_: Option<Value>, stamp: &AuditStamp| {
            let created = created.clone().unwrap_or_else(|| json!(stamp));
            Ok(self.aspect(&encrypted, &created))
        };
        Proposal::edit(secret.clone(), AspectName::SECRET_VALUE, aspect)
    }
}

impl Catalog {
    /// The same catalog with keys for secrets. Without them, none are created or read.
    #[must_use]
    pub fn with_secret_keys(self, keys: Option<SecretKeys>) -> Self {
        self.with_options(|options| options.secret_keys = keys)
    }

    pub(crate) fn secret_keys(&self) -> Result<&SecretKeys, Error> {
        let keys = self.options.secret_keys.as_ref();
        keys.ok_or_else(|| {
            Error::invalid(
                "the server has no key for secrets: set --secret-key-file to a file with 32 random bytes in base64",
            )
        })
    }

    /// Stores a secret under a new name.
    pub async fn create_secret(&self, caller: &Caller, new: NewSecret) -> Result<Urn, Error> {
        self.authorize(caller, &[MANAGE_SECRETS], None).await?;
        new.check()?;
        let urn = self.new_urn(ENTITY, Some(&new.name))?;
        let encrypted = self.secret_keys()?.encrypt(&urn, &new.value)?;
        let is_new = Requirement::IsNew {
            otherwise: format!("the secret '{}' already exists", new.name),
        };
        let aspect =
            move |_: Option<Value>, stamp: &AuditStamp| Ok(new.aspect(&encrypted, &json!(stamp)));
        let proposal =
            Proposal::edit(urn.clone(), AspectName::SECRET_VALUE, aspect).requires(is_new);
        self.apply_authorized(caller, vec![proposal]).await?;
        Ok(urn)
    }

    /// Replaces the name, the value and the description of a secret. Recipes refer to the name that
    /// it was created with.
    pub async fn update_secret(
        &self,
        caller: &Caller,
        secret: &Urn,
        new: NewSecret,
    ) -> Result<(), Error> {
        secret.expect_type(ENTITY)?;
        self.authorize(caller, &[MANAGE_SECRETS], None).await?;
        new.check()?;
        let encrypted = self.secret_keys()?.encrypt(secret, &new.value)?;
        let stored = self.stored_secrets(from_ref(secret)).await?.pop();
        let created = stored.and_then(|(_, stored)| stored.created);
        let write = new.replacing(secret, encrypted, created);
        let proposals = without_history(write, |delete| {
            delete.requires_existing(secret, missing(secret))
        });
        self.apply_authorized(caller, proposals).await?;
        Ok(())
    }

    /// Deletes a secret.
    pub async fn delete_secret(&self, caller: &Caller, secret: &Urn) -> Result<(), Error> {
        secret.expect_type(ENTITY)?;
        self.authorize(caller, &[MANAGE_SECRETS], None).await?;
        let delete = Proposal::new(secret.clone(), Change::DeleteEntity)
            .requires_existing(secret, missing(secret));
        self.apply_authorized(caller, vec![delete]).await?;
        Ok(())
    }

    /// Names and descriptions of secrets, without those that have no value.
    pub async fn secrets(
        &self,
        caller: &Caller,
        secrets: &[Urn],
    ) -> Result<Vec<SecretInfo>, Error> {
        self.authorize(caller, &[MANAGE_SECRETS], None).await?;
        let stored = self.stored_secrets(secrets).await?;
        let info = |(urn, stored): (Urn, Stored)| SecretInfo {
            urn,
            name: stored.name,
            description: stored.description,
        };
        Ok(stored.into_iter().map(info).collect())
    }

    /// The values of secrets, by the names that they were created with; those that do not exist are
    /// left out. The audit log has each call.
    pub async fn secret_values(
        &self,
        caller: &Caller,
        names: &[String],
    ) -> Result<Vec<SecretValue>, Error> {
        if names.len() > MAX_NAMES {
            return Err(Error::too_large(format!(
                "the request names {} secrets: at most {MAX_NAMES} are allowed",
                names.len()
            )));
        }
        let distinct: BTreeSet<&String> = names.iter().collect();
        let urns: Vec<Urn> = distinct
            .into_iter()
            .map(|name| self.new_urn(ENTITY, Some(name)))
            .collect::<Result<_, Error>>()?;
        self.authorize_about(caller, &[MANAGE_SECRETS], &urns)
            .await?;
        let keys = self.secret_keys()?;
        let stored = self.stored_secrets(&urns).await?;
        let mut values = Vec::with_capacity(stored.len());
        let mut items = Vec::with_capacity(stored.len());
        for (urn, stored) in stored {
            let value = keys.decrypt(&urn, &stored.value);
            let value = value.map_err(|reason| unreadable(&urn, reason))?;
            items.push(AuditItem {
                urn: urn.to_string(),
                changes: Vec::new(),
            });
            values.push(SecretValue {
                name: stored.name,
                value,
            });
        }
        if !items.is_empty() {
            self.record_read(caller, items).await?;
        }
        Ok(values)
    }

    /// Encrypts the secrets, connections and webhooks of the previous key with the current one;
    /// returns how many there were. Damaged ones stay as they are, and are logged. The server calls
    /// this when it starts.
    pub async fn reencrypt_secrets(&self) -> Result<usize, Error> {
        let keys = match &self.options.secret_keys {
            Some(keys) if keys.previous.is_some() => keys,
            _ => return Ok(0),
        };
        let mut count = self.reencrypt_connections(keys).await?;
        count += self.reencrypt_webhooks(keys).await?;
        let mut after: Option<Urn> = None;
        loop {
            let page = self
                .store()
                .urns_list(ENTITY, AspectName::SECRET_VALUE, after.as_ref(), PAGE)
                .await?;
            let Some(last) = page.last() else {
                return Ok(count);
            };
            after = Some(last.clone());
            for (urn, stored) in self.stored_secrets(&page).await? {
                if keys.is_outdated(&stored.value) {
                    count += usize::from(self.reencrypt(keys, &urn, stored).await?);
                }
            }
        }
    }

    /// Returns false if somebody stored another value meanwhile, or the value is damaged.
    async fn reencrypt(&self, keys: &SecretKeys, urn: &Urn, stored: Stored) -> Result<bool, Error> {
        let value = match keys.decrypt(urn, &stored.value) {
            Ok(value) => value,
            Err(reason) => {
                log_skipped(&unreadable(urn, reason));
                return Ok(false);
            }
        };
        let encrypted = keys.encrypt(urn, &value)?;
        let new = NewSecret {
            name: stored.name,
            value,
            description: stored.description,
        };
        let write = new.replacing(urn, encrypted, stored.created);
        let before = stored.value;
        let unchanged = move |current: Option<Value>| {
            let is_same = current.is_some_and(|it| it["value"] == json!(before));
            is_same.then_some(()).ok_or_else(changed_meanwhile)
        };
        let proposals = without_history(write, |delete| {
            delete.requires_value(urn, AspectName::SECRET_VALUE, unchanged)
        });
        self.apply_unless_changed(proposals).await
    }

    /// Returns false if somebody changed what the proposals replace.
    pub(crate) async fn apply_unless_changed(
        &self,
        proposals: Vec<Proposal>,
    ) -> Result<bool, Error> {
        match self.apply(&Caller::system(), proposals).await {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == ErrorKind::Conflict(ConflictReason::ChangedMeanwhile) => {
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    async fn stored_secrets(&self, secrets: &[Urn]) -> Result<Vec<(Urn, Stored)>, Error> {
        let key = |urn: &Urn| AspectKey::new(urn, AspectName::SECRET_VALUE);
        let keys: Vec<AspectKey> = secrets.iter().map(key).collect();
        let rows = self.store().read(ReadRequest::rows(&keys)).await?.rows;
        let stored = |(urn, row): (&Urn, _)| Some((urn.clone(), aspect_value(row)?));
        Ok(secrets.iter().zip(&rows).filter_map(stored).collect())
    }
}

/// Writes an aspect with a secret and deletes its history first: older values, and those of a
/// replaced key, are not kept.
pub(crate) fn without_history(
    write: Proposal,
    condition: impl FnOnce(Proposal) -> Proposal,
) -> Vec<Proposal> {
    let delete = write.change.aspect().map(|aspect| {
        condition(Proposal::new(
            write.urn.clone(),
            Change::DeleteAspect { aspect },
        ))
    });
    delete.into_iter().chain([write]).collect()
}

/// Logs what is not encrypted again: the server starts, and the others are.
pub(crate) fn log_skipped(error: &Error) {
    tracing::error!(%error, "a value was not encrypted with the new key");
}

fn missing(secret: &Urn) -> String {
    format!("the secret {secret} does not exist")
}

fn unreadable(secret: &Urn, reason: Unreadable) -> Error {
    reason.error(secret, "updateSecret")
}

pub(crate) fn changed_meanwhile() -> Error {
    let message = "the secret was changed meanwhile";
    Error::conflict(ConflictReason::ChangedMeanwhile, message)
}
