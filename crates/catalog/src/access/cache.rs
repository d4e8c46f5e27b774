//! The compiled policies and the paths of domains, reread when policies, groups, roles or the
//! parents of domains change.
//!
//! Reading all policies for each request would be slow, and the commit stamp of SQLite changes with
//! every commit. So the change log since the last look tells whether anything relevant changed.

use std::collections::HashSet;
use std::sync::{Arc, PoisonError, RwLock};

use docent_model::{AspectName, Urn};
use docent_store::{AspectKey, CommitStamp, LogEntry, LogPosition, ReadRequest, Store};
use quick_cache::sync::Cache;
use serde_json::Value;

use super::domain_paths::DomainPaths;
use super::policy::Policy;
use super::rights::{Identity, Rights};
use crate::Error;
use crate::lifecycle::is_removed;
use crate::stored::aspect_value;

const POLICY: &str = "dataHubPolicy";
const DOMAIN: &str = "domain";
/// The types of the entities that rights depend on.
const TYPES: [&str; 5] = [POLICY, "dataHubRole", "corpuser", "corpGroup", DOMAIN];
/// What the rights of members depend on: the roles of a group, and whether it is soft-deleted.
const GROUP_ASPECTS: [AspectName; 2] = [AspectName::ROLE_MEMBERSHIP, AspectName::STATUS];
/// How many entries of the log one call reads: few are read without another thread.
const ENTRIES: usize = 64;
/// If there are more new entries, everything is reread.
const MAX_ENTRIES: usize = 1_000;
/// How many policies one call reads.
const PAGE: usize = 500;
/// How many callers' rights are kept.
const CALLERS: usize = 1_000;

/// The rights of callers, as of the last change of policies, groups or roles.
#[derive(Debug)]
pub(crate) struct AccessCache {
    /// The role of users that have none.
    default_role: Option<String>,
    compiled: RwLock<Option<Arc<Compiled>>>,
    refresh: tokio::sync::Mutex<()>,
}

/// All stored policies.
#[derive(Debug, Default)]
pub(crate) struct ReadPolicies {
    pub(crate) active: Vec<Policy>,
    /// The users whom policies name, also those that are not active.
    pub(crate) users: HashSet<String>,
}

#[derive(Debug)]
struct Compiled {
    /// The stamp and the log position up to which nothing relevant has changed.
    seen: RwLock<(CommitStamp, LogPosition)>,
    policies: Arc<[Policy]>,
    users: Arc<HashSet<String>>,
    rights: Arc<Cache<Urn, Arc<Rights>>>,
    domains: Arc<DomainPaths>,
}

/// What a user may do, and the paths of the domains on which it may depend.
#[derive(Debug, Clone)]
pub(crate) struct UserRights {
    pub(crate) rights: Arc<Rights>,
    pub(crate) domains: Arc<DomainPaths>,
}

/// What changed after a position of the log.
#[derive(Debug)]
struct Changes {
    /// The end of the log.
    end: LogPosition,
    /// Whether somebody's rights may have changed.
    rights: bool,
    /// Whether the path of a domain may have changed.
    domains: bool,
}

impl AccessCache {
    pub(crate) fn new(default_role: Option<String>) -> Self {
        Self {
            default_role,
            compiled: RwLock::default(),
            refresh: tokio::sync::Mutex::default(),
        }
    }

    /// What a user may do now.
    pub(crate) async fn rights(&self, store: &dyn Store, user: &Urn) -> Result<UserRights, Error> {
        let compiled = self.current(store).await?;
        let domains = Arc::clone(&compiled.domains);
        if let Some(rights) = compiled.rights.get(user) {
            return Ok(UserRights { rights, domains });
        }
        let identity = self.identity(store, user).await?;
        let rights = Arc::new(Rights::compile(&compiled.policies, identity));
        // A change since `current` replaces the whole cache.
        compiled.rights.insert(user.clone(), Arc::clone(&rights));
        Ok(UserRights { rights, domains })
    }

    /// All active policies.
    pub(crate) async fn policies(&self, store: &dyn Store) -> Result<Arc<[Policy]>, Error> {
        Ok(Arc::clone(&self.current(store).await?.policies))
    }

    /// The users whom policies name, also those that are not active.
    pub(crate) async fn users(&self, store: &dyn Store) -> Result<Arc<HashSet<String>>, Error> {
        Ok(Arc::clone(&self.current(store).await?.users))
    }

    async fn current(&self, store: &dyn Store) -> Result<Arc<Compiled>, Error> {
        let stamp = store.commit_stamp_of(&TYPES)?;
        if let Some(compiled) = self.compiled().filter(|it| it.seen().0 == stamp) {
            return Ok(compiled);
        }
        let _one_at_a_time = self.refresh.lock().await;
        let stamp = store.commit_stamp_of(&TYPES)?;
        if let Some(compiled) = self.compiled() {
            let (seen, position) = compiled.seen();
            if seen == stamp {
                return Ok(compiled);
            }
            // PostgreSQL cannot read the log of a read-only database; rereading is never wrong.
            match changes_after(store, position).await {
                Ok(Some(changes)) if !changes.rights && !changes.domains => {
                    compiled.set_seen(stamp, changes.end);
                    return Ok(compiled);
                }
                Ok(Some(changes)) if !changes.rights => {
                    return Ok(self.replace(Compiled {
                        seen: RwLock::new((stamp, changes.end)),
                        policies: Arc::clone(&compiled.policies),
                        users: Arc::clone(&compiled.users),
                        rights: Arc::clone(&compiled.rights),
                        domains: Arc::new(DomainPaths::new()),
                    }));
                }
                Ok(_) | Err(_) => {}
            }
        }
        // The position first: a change that follows it is seen by the next look at the log.
        let newest = store.log_newest().await.ok().flatten();
        let position = newest.map_or(LogPosition::START, |entry| entry.position);
        let ReadPolicies { active, users } = read_policies(store).await?;
        Ok(self.replace(Compiled {
            seen: RwLock::new((stamp, position)),
            policies: active.into(),
            users: Arc::new(users),
            rights: Arc::new(Cache::new(CALLERS)),
            domains: Arc::new(DomainPaths::new()),
        }))
    }

    fn replace(&self, compiled: Compiled) -> Arc<Compiled> {
        let compiled = Arc::new(compiled);
        let mut slot = self
            .compiled
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        *slot = Some(Arc::clone(&compiled));
        compiled
    }

    fn compiled(&self) -> Option<Arc<Compiled>> {
        self.compiled
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// The groups and roles of a user, who has the default role if there is no other.
    pub(crate) async fn identity(&self, store: &dyn Store, user: &Urn) -> Result<Identity, Error> {
        let mut identity = read_identity(store, user).await?;
        if identity.roles.is_empty() {
            identity.roles.extend(self.default_role.clone());
        }
        Ok(identity)
    }
}

/// The groups and roles of a user. Soft-deleted groups grant nothing.
pub(crate) async fn read_identity(store: &dyn Store, user: &Urn) -> Result<Identity, Error> {
    let keys = [
        AspectName::GROUP_MEMBERSHIP,
        AspectName::NATIVE_GROUP_MEMBERSHIP,
        AspectName::ROLE_MEMBERSHIP,
    ]
    .map(|aspect| AspectKey::new(user, aspect));
    let rows = store.read(ReadRequest::rows(&keys)).await?.rows;
    let mut identity = Identity {
        user: user.as_str().to_owned(),
        ..Identity::default()
    };
    for (row, member) in rows.iter().zip(["groups", "nativeGroups"]) {
        identity.groups.extend(texts(aspect_value(row), member));
    }
    let own_roles = rows.get(2).and_then(aspect_value);
    identity.roles.extend(texts(own_roles, "roles"));
    let groups: Vec<Urn> = std::mem::take(&mut identity.groups)
        .iter()
        .filter_map(|group| Urn::parse(group).ok())
        .collect();
    let keys: Vec<AspectKey> = groups
        .iter()
        .flat_map(|group| GROUP_ASPECTS.map(|aspect| AspectKey::new(group, aspect)))
        .collect();
    if !keys.is_empty() {
        let rows = store.read(ReadRequest::rows(&keys)).await?.rows;
        for (group, rows) in groups.iter().zip(rows.chunks(GROUP_ASPECTS.len())) {
            let [roles, status] = rows else {
                continue;
            };
            if !is_removed(status) {
                identity.groups.insert(group.as_str().to_owned());
                identity.roles.extend(texts(aspect_value(roles), "roles"));
            }
        }
    }
    Ok(identity)
}

impl Compiled {
    fn seen(&self) -> (CommitStamp, LogPosition) {
        *self.seen.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_seen(&self, stamp: CommitStamp, position: LogPosition) {
        let mut seen = self.seen.write().unwrap_or_else(PoisonError::into_inner);
        *seen = (stamp, position);
    }
}

/// What changed after the position; `None` if there are too many changes to read.
async fn changes_after(store: &dyn Store, position: LogPosition) -> Result<Option<Changes>, Error> {
    let mut changes = Changes {
        end: position,
        rights: false,
        domains: false,
    };
    for _ in 0..MAX_ENTRIES / ENTRIES {
        let entries = store.log_read(changes.end, ENTRIES).await?;
        changes.rights |= entries.iter().any(alters_rights);
        changes.domains |= entries.iter().any(alters_domains);
        changes.end = entries.last().map_or(changes.end, |entry| entry.position);
        if entries.len() < ENTRIES || changes.rights {
            return Ok(Some(changes));
        }
    }
    Ok(None)
}

/// Whether a change can alter the path of a domain.
fn alters_domains(entry: &LogEntry) -> bool {
    entry.key.urn.entity_type() == DOMAIN && entry.key.aspect == AspectName::DOMAIN_PROPERTIES
}

/// Whether a change can alter somebody's rights.
fn alters_rights(entry: &LogEntry) -> bool {
    match entry.key.urn.entity_type() {
        POLICY | "dataHubRole" => true,
        "corpGroup" if entry.key.aspect == AspectName::STATUS => true,
        "corpuser" | "corpGroup" => [
            AspectName::GROUP_MEMBERSHIP,
            AspectName::NATIVE_GROUP_MEMBERSHIP,
            AspectName::ROLE_MEMBERSHIP,
        ]
        .contains(&entry.key.aspect),
        _ => false,
    }
}

/// All policies. One that cannot be read grants nothing.
pub(crate) async fn read_policies(store: &dyn Store) -> Result<ReadPolicies, Error> {
    let mut policies = ReadPolicies::default();
    let mut after: Option<Urn> = None;
    loop {
        let urns = store
            .urns_list(POLICY, AspectName::POLICY_INFO, after.as_ref(), PAGE)
            .await?;
        let keys: Vec<AspectKey> = urns
            .iter()
            .map(|urn| AspectKey::new(urn, AspectName::POLICY_INFO))
            .collect();
        let rows = store.read(ReadRequest::rows(&keys)).await?.rows;
        for (urn, row) in urns.iter().zip(&rows) {
            let Some(row) = row else {
                continue;
            };
            policies.users.extend(Policy::users_in(&row.metadata));
            match Policy::parse(urn.clone(), &row.metadata) {
                Ok(policy) => policies.active.extend(policy),
                Err(error) => {
                    tracing::warn!(%urn, %error, "this policy cannot be read and grants nothing");
                }
            }
        }
        if urns.len() < PAGE {
            return Ok(policies);
        }
        after = urns.into_iter().last();
    }
}

/// The texts in a list member of an aspect.
fn texts(value: Option<Value>, member: &str) -> Vec<String> {
    let list = value.map(|mut value| value[member].take());
    let items = match list {
        Some(Value::Array(items)) => items,
        _ => Vec::new(),
    };
    let text = |item| match item {
        Value::String(text) => Some(text),
        _ => None,
    };
    items.into_iter().filter_map(text).collect()
}
