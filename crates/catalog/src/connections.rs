//! Connections with other platforms, whose details are encrypted like secrets
//! ([`crate::ingestion_secrets`]).

use docent_model::aspects::AuditStamp;
use docent_model::{AspectName, Registry, Urn};
use docent_store::{AspectKey, AuditItem, ReadRequest};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::access::type_managers;
use crate::ingestion_secrets::{
    MAX_VALUE_CHARACTERS, SecretKeys, Unreadable, changed_meanwhile, log_skipped, without_history,
};
use crate::limits::{check_length, check_name};
use crate::privilege::MANAGE_CONNECTIONS;
use crate::proposal::Proposal;
use crate::stored::aspect_value;
use crate::{Caller, Catalog, Error};

const ENTITY: &str = "dataHubConnection";
/// How many connections one call reads where all are read.
const PAGE: usize = 1_000;

/// A connection to store.
#[derive(Clone)]
pub struct NewConnection {
    pub id: Option<String>,
    pub name: Option<String>,
    pub platform: Urn,
    /// The details, such as a host and a password, as JSON.
    pub blob: String,
}

/// Without the details.
impl std::fmt::Debug for NewConnection {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("NewConnection")
            .field("id", &self.id)
            .field("platform", &self.platform)
            .finish_non_exhaustive()
    }
}

/// The aspect.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ConnectionDetails {
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    json: Option<JsonConnection>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct JsonConnection {
    encrypted_blob: String,
}

impl Catalog {
    /// Creates or replaces a connection, and returns its URN. Older details are not kept.
    pub async fn upsert_connection(
        &self,
        caller: &Caller,
        new: NewConnection,
    ) -> Result<Urn, Error> {
        self.authorize(caller, type_managers(ENTITY), None).await?;
        if let Some(name) = &new.name {
            check_name("a connection", name)?;
        }
        check_length("the blob", &new.blob, MAX_VALUE_CHARACTERS)?;
        // Without the text: it is a secret.
        serde_json::from_str::<IgnoredAny>(&new.blob).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            Error::invalid(format!(
                "the blob is not JSON, as line {line}, column {column} shows: send the details as a JSON text"
            ))
        })?;
        new.platform.expect_type("dataPlatform")?;
        Registry::get().check_urn(&new.platform)?;
        let urn = self.new_urn(ENTITY, new.id.as_deref())?;
        let encrypted_blob = self.secret_keys()?.encrypt(&urn, &new.blob)?;
        let details = ConnectionDetails {
            kind: "JSON".to_owned(),
            name: new.name,
            json: Some(JsonConnection { encrypted_blob }),
        };
        let mut proposals = without_history(details.proposal(&urn), |delete| delete);
        let platform = new.platform;
        let edit = move |_: Option<Value>, _: &AuditStamp| Ok(json!({ "platform": platform }));
        let aspect = AspectName::DATA_PLATFORM_INSTANCE;
        proposals.push(Proposal::edit(urn.clone(), aspect, edit));
        self.apply_authorized(caller, proposals).await?;
        Ok(urn)
    }

    /// The details of connections that the caller of this catalog sees, still encrypted; `None` for
    /// others, and for those without a platform.
    pub async fn connections(
        &self,
        connections: &[Urn],
    ) -> Result<Vec<Option<ConnectionDetails>>, Error> {
        let platform = |urn: &Urn| AspectKey::new(urn, AspectName::DATA_PLATFORM_INSTANCE);
        let platforms: Vec<AspectKey> = connections.iter().map(platform).collect();
        let are_seen = self.are_stored(&platforms).await?;
        let mut details = self.stored_connections(connections).await?;
        for (details, is_seen) in details.iter_mut().zip(are_seen) {
            details.take_if(|_| !is_seen);
        }
        Ok(details)
    }

    /// The decrypted details of connections; `None` for callers that do not manage connections, and
    /// for sessions: no page needs passwords. One that cannot be decrypted is an error of its own.
    /// The audit log has each call.
    pub async fn connection_blobs(
        &self,
        caller: &Caller,
        connections: &[Urn],
    ) -> Result<Vec<Result<Option<String>, Error>>, Error> {
        let is_allowed = self.is_allowed(caller, &[MANAGE_CONNECTIONS], None);
        if caller.is_session() || !is_allowed.await? {
            return Ok(connections.iter().map(|_| Ok(None)).collect());
        }
        let mut blobs = Vec::with_capacity(connections.len());
        let mut items = Vec::new();
        let details = self.connections(connections).await?;
        for (urn, details) in connections.iter().zip(details) {
            let json = details.and_then(|details| details.json);
            let Some(JsonConnection { encrypted_blob }) = json else {
                blobs.push(Ok(None));
                continue;
            };
            let blob = self.secret_keys().and_then(|keys| {
                let blob = keys.decrypt(urn, &encrypted_blob);
                blob.map_err(|reason| unreadable(urn, reason))
            });
            if blob.is_ok() {
                items.push(AuditItem {
                    urn: urn.to_string(),
                    changes: Vec::new(),
                });
            }
            blobs.push(blob.map(Some));
        }
        if !items.is_empty() {
            self.record_read(caller, items).await?;
        }
        Ok(blobs)
    }

    /// Encrypts the connections of the previous key with the current one; returns how many there
    /// were.
    pub(crate) async fn reencrypt_connections(&self, keys: &SecretKeys) -> Result<usize, Error> {
        let mut count = 0;
        let mut after: Option<Urn> = None;
        loop {
            let aspect = AspectName::CONNECTION_DETAILS;
            let page = self
                .store()
                .urns_list(ENTITY, aspect, after.as_ref(), PAGE)
                .await?;
            let Some(last) = page.last() else {
                return Ok(count);
            };
            after = Some(last.clone());
            let stored = self.stored_connections(&page).await?;
            for (urn, details) in page.iter().zip(stored) {
                if let Some(details) = details {
                    count += usize::from(self.reencrypt_connection(keys, urn, details).await?);
                }
            }
        }
    }

    /// Returns false if there is nothing to encrypt again, or somebody stored other details
    /// meanwhile, or they are damaged.
    async fn reencrypt_connection(
        &self,
        keys: &SecretKeys,
        urn: &Urn,
        mut details: ConnectionDetails,
    ) -> Result<bool, Error> {
        let json = details.json.take();
        let Some(json) = json.filter(|json| keys.is_outdated(&json.encrypted_blob)) else {
            return Ok(false);
        };
        let before = json.encrypted_blob;
        let blob = match keys.decrypt(urn, &before) {
            Ok(blob) => blob,
            Err(reason) => {
                log_skipped(&unreadable(urn, reason));
                return Ok(false);
            }
        };
        details.json = Some(JsonConnection {
            encrypted_blob: keys.encrypt(urn, &blob)?,
        });
        let unchanged = move |current: Option<Value>| {
            let is_same = current.is_some_and(|it| it["json"]["encryptedBlob"] == json!(before));
            is_same.then_some(()).ok_or_else(changed_meanwhile)
        };
        let proposals = without_history(details.proposal(urn), |delete| {
            delete.requires_value(urn, AspectName::CONNECTION_DETAILS, unchanged)
        });
        self.apply_unless_changed(proposals).await
    }

    async fn stored_connections(
        &self,
        connections: &[Urn],
    ) -> Result<Vec<Option<ConnectionDetails>>, Error> {
        let key = |urn: &Urn| AspectKey::new(urn, AspectName::CONNECTION_DETAILS);
        let keys: Vec<AspectKey> = connections.iter().map(key).collect();
        let rows = self.store().read(ReadRequest::rows(&keys)).await?.rows;
        Ok(rows.iter().map(aspect_value).collect())
    }
}

impl ConnectionDetails {
    fn proposal(self, urn: &Urn) -> Proposal {
        let edit = move |_: Option<Self>, _: &AuditStamp| Ok(self.clone());
        Proposal::edit(urn.clone(), AspectName::CONNECTION_DETAILS, edit)
    }
}

fn unreadable(connection: &Urn, reason: Unreadable) -> Error {
    reason.error(connection, "upsertConnection")
}
