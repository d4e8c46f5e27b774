//! Structs for the aspects that the server itself edits.
//!
//! Each keeps unknown members in `other`, so that an edit never loses data from an ingestion
//! client. All other aspects stay JSON and are described by the registry alone.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{EpochMillis, Urn};

/// Unknown members, written back unchanged.
pub type Other = Map<String, Value>;

/// The actor of writes by the server itself. They do not count as modifications by a user.
pub const SYSTEM_ACTOR: &str = "urn:li:corpuser:__datahub_system";

/// The actor and time of a change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AuditStamp {
    pub time: EpochMillis,
    pub actor: Urn,
    #[serde(flatten)]
    pub other: Other,
}

impl AuditStamp {
    pub fn new(actor: &Urn, time: EpochMillis) -> Self {
        Self {
            time,
            actor: actor.clone(),
            other: Other::new(),
        }
    }
}

/// An aspect with audit stamps.
pub trait Stamped {
    /// The stamps of the first and of the last edit.
    fn stamps(&mut self) -> (&mut Option<AuditStamp>, &mut Option<AuditStamp>);

    /// Records an edit. The first one also sets the creation stamp.
    fn stamp(&mut self, stamp: &AuditStamp) {
        let (created, last_modified) = self.stamps();
        created.get_or_insert_with(|| stamp.clone());
        *last_modified = Some(stamp.clone());
    }
}

/// The user-edited properties of a dataset.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EditableDatasetProperties {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<AuditStamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<AuditStamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(flatten)]
    pub other: Other,
}

impl Stamped for EditableDatasetProperties {
    fn stamps(&mut self) -> (&mut Option<AuditStamp>, &mut Option<AuditStamp>) {
        (&mut self.created, &mut self.last_modified)
    }
}

/// The user-edited metadata of a dataset's columns.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EditableSchemaMetadata {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<AuditStamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<AuditStamp>,
    pub editable_schema_field_info: Vec<EditableSchemaFieldInfo>,
    #[serde(flatten)]
    pub other: Other,
}

/// The user-edited metadata of one column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EditableSchemaFieldInfo {
    pub field_path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(flatten)]
    pub other: Other,
}

impl Stamped for EditableSchemaMetadata {
    fn stamps(&mut self) -> (&mut Option<AuditStamp>, &mut Option<AuditStamp>) {
        (&mut self.created, &mut self.last_modified)
    }
}

impl EditableSchemaMetadata {
    /// Returns the entry of a column, adding it if it is missing.
    pub fn field_mut(&mut self, field_path: &str) -> &mut EditableSchemaFieldInfo {
        let fields = &mut self.editable_schema_field_info;
        let index = fields
            .iter()
            .position(|field| field.field_path == field_path)
            .unwrap_or_else(|| {
                fields.push(EditableSchemaFieldInfo::new(field_path));
                fields.len() - 1
            });
        &mut fields[index]
    }

    /// Returns the indexes of the entries of many columns, adding missing ones, in a single pass.
    pub fn positions<'a>(&mut self, field_paths: impl Iterator<Item = &'a str>) -> Vec<usize> {
        let fields = &mut self.editable_schema_field_info;
        let mut known = HashMap::with_capacity(fields.len());
        for (index, field) in fields.iter().enumerate() {
            known.entry(field.field_path.clone()).or_insert(index);
        }
        field_paths
            .map(|field_path| {
                if let Some(index) = known.get(field_path) {
                    return *index;
                }
                fields.push(EditableSchemaFieldInfo::new(field_path));
                known.insert(field_path.to_owned(), fields.len() - 1);
                fields.len() - 1
            })
            .collect()
    }
}

impl EditableSchemaFieldInfo {
    fn new(field_path: &str) -> Self {
        Self {
            field_path: field_path.to_owned(),
            description: None,
            other: Other::new(),
        }
    }
}

/// The reference links of an entity.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct InstitutionalMemory {
    pub elements: Vec<Link>,
    #[serde(flatten)]
    pub other: Other,
}

/// One reference link; `description` is its label.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Link {
    pub url: String,
    pub description: String,
    pub create_stamp: AuditStamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub update_stamp: Option<AuditStamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settings: Option<LinkSettings>,
    #[serde(flatten)]
    pub other: Other,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LinkSettings {
    pub show_in_asset_preview: bool,
    #[serde(flatten)]
    pub other: Other,
}

/// The domain of an entity. Both lists hold the same domains; the write path keeps them in sync.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Domains {
    pub domains: Vec<Urn>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domain_associations: Option<Vec<DomainAssociation>>,
    #[serde(flatten)]
    pub other: Other,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DomainAssociation {
    pub domain: Urn,
    #[serde(flatten)]
    pub other: Other,
}

/// The name, description and parent of a domain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DomainProperties {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created: Option<AuditStamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_domain: Option<Urn>,
    #[serde(flatten)]
    pub other: Other,
}

/// An access token, stored under the hash of its secret; the secret itself is never stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AccessTokenInfo {
    pub name: String,
    pub actor_urn: Urn,
    pub owner_urn: Urn,
    pub created_at: EpochMillis,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<EpochMillis>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// `None` has all rights of the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<TokenScope>,
    #[serde(flatten)]
    pub other: Other,
}

/// What an access token may change at most, whatever its user may. Unknown members make the token
/// invalid, because they may narrow it further.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TokenScope {
    /// Changes nothing.
    #[serde(default)]
    pub read_only: bool,
    /// Changes that need one of these privileges only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub privileges: Option<Vec<String>>,
    /// Changes in this domain and its subdomains only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<Urn>,
}

/// The owners of an entity.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Ownership {
    pub owners: Vec<Owner>,
    /// The owners by the URN of their ownership type. Redundant, and not written by every client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner_types: Option<BTreeMap<String, Vec<Urn>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<AuditStamp>,
    #[serde(flatten)]
    pub other: Other,
}

/// One owner. The ownership type is given by name, by URN, or both.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Owner {
    pub owner: Urn,
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub type_urn: Option<Urn>,
    #[serde(flatten)]
    pub other: Other,
}

impl Owner {
    /// The URN of the ownership type, however it is given.
    pub fn kind_urn(&self) -> String {
        match &self.type_urn {
            Some(urn) => urn.to_string(),
            None => built_in_ownership_type(&self.kind),
        }
    }
}

/// The URN of a built-in ownership type, such as `TECHNICAL_OWNER`.
pub fn built_in_ownership_type(kind: &str) -> String {
    format!("urn:li:ownershipType:__system__{}", kind.to_lowercase())
}

/// The salted hash of a user's password; the password itself is never stored.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CorpUserCredentials {
    pub salt: String,
    pub hashed_password: String,
    /// The hash of the secret in a reset link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password_reset_token: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password_reset_token_expiration_time_millis: Option<EpochMillis>,
    #[serde(flatten)]
    pub other: Other,
}

impl std::fmt::Debug for CorpUserCredentials {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("CorpUserCredentials")
    }
}

/// A session: who signed in, and until when. The hash of its secret is the id of its entity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionInfo {
    pub user: Urn,
    pub created_at: EpochMillis,
    pub expires_at: EpochMillis,
    /// The id of the identity provider that signed the user in; `None` for a password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
}

/// What is known about a user of identity providers besides the user. A hash of the username is
/// the id of its entity.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExternalUserInfo {
    /// When an administrator removed the user; `None` if the user may sign in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removed_at: Option<EpochMillis>,
    /// When the token was issued that the user's groups come from; `None` if no provider has set
    /// them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups_issued_at: Option<EpochMillis>,
    /// Since when identity providers sign in the user; `None` if they have not, and the user may
    /// have got a password from somebody else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub linked_at: Option<EpochMillis>,
}

/// An invitation to sign up, stored under the hash of its secret.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InviteToken {
    /// DataHub keeps the encrypted secret here; we repeat the hash, because the member is required.
    pub token: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Urn>,
}

/// The profile of a user.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CorpUserInfo {
    pub active: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<bool>,
    #[serde(flatten)]
    pub other: Other,
}

/// The account status of a user: `ACTIVE` or `SUSPENDED`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CorpUserStatus {
    pub status: String,
    pub last_modified: AuditStamp,
    #[serde(flatten)]
    pub other: Other,
}

/// Whether an entity is soft-deleted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Status {
    pub removed: bool,
    #[serde(flatten)]
    pub other: Other,
}
