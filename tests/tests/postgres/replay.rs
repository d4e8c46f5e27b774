//! Replays the writes of a load in the order of the change log. Each must be valid at its position,
//! and together they must match what the clients were told.
//!
//! Triggers record every written value ([`record`]), independently of Docent's own history: they
//! know nothing of versions, and keep the values of deleted entities.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, ensure};
use docent_test_postgres::Database;
use serde_json::Value;

use crate::PROPERTIES;

const LINKS: &str = "institutionalMemory";
const DOMAINS: &str = "domains";
const DOMAIN_PROPERTIES: &str = "domainProperties";
const KEYS: [&str; 2] = ["datasetKey", "domainKey"];

/// An action of a client.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Action {
    /// A property was added to a dataset.
    Patched(String, String),
    Linked(String, String),
    Unlinked(String, String),
    SetDomain(String, String),
    Moved(String, Option<String>),
    Created(String),
    Deleted(String),
}

/// How often each action was performed.
pub(crate) type ActionCounts = BTreeMap<Action, u64>;

/// Installs the triggers that record writes.
pub(crate) fn record(database: &Database) -> anyhow::Result<()> {
    database.sql(
        "CREATE TABLE recorded (id bigserial, writer xid8 DEFAULT pg_current_xact_id(), urn text, aspect text, metadata text); \
         CREATE TABLE recorded_transaction (transaction bigint, writer xid8 DEFAULT pg_current_xact_id()); \
         CREATE FUNCTION record_value() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
             IF TG_OP = 'DELETE' THEN \
                 INSERT INTO recorded (urn, aspect) SELECT OLD.urn, OLD.aspect WHERE OLD.version = 0; \
             ELSE \
                 INSERT INTO recorded (urn, aspect, metadata) SELECT NEW.urn, NEW.aspect, NEW.metadata WHERE NEW.version = 0; \
             END IF; RETURN NULL; END $$; \
         CREATE FUNCTION record_transaction() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
             INSERT INTO recorded_transaction (transaction) VALUES (NEW.transaction); RETURN NULL; END $$; \
         CREATE TRIGGER record_value AFTER INSERT OR UPDATE OR DELETE ON metadata_aspect_v2 \
             FOR EACH ROW EXECUTE FUNCTION record_value(); \
         CREATE TRIGGER record_transaction AFTER INSERT ON change_pending \
             FOR EACH ROW EXECUTE FUNCTION record_transaction()",
    )
}

/// The recorded values, in the order of the log.
const RECORDED: &str = "SELECT c.first_position, t.urn, t.aspect, t.metadata FROM recorded t JOIN recorded_transaction n USING (writer) \
     JOIN change_commit c ON c.transaction = n.transaction ORDER BY c.first_position, t.id";

/// Log entries whose version is not the previous one plus one. Versions restart at 1 after a
/// deletion.
const GAPS_IN_VERSIONS: &str = "SELECT urn, aspect, kind, logical_version FROM (SELECT l.urn, l.aspect, l.kind, \
         l.logical_version, lag(l.logical_version) OVER w AS previous, lag(l.kind) OVER w AS previous_kind \
         FROM change_log l JOIN change_commit c USING (transaction) \
         WINDOW w AS (PARTITION BY l.urn, l.aspect ORDER BY c.first_position, l.item)) AS log \
     WHERE kind = 'put' AND CASE WHEN previous_kind = 'put' THEN logical_version <> previous + 1 ELSE logical_version <> 1 END";

/// The state after all writes, and the actions that led to it.
#[derive(Default)]
pub(crate) struct Replay {
    values: BTreeMap<(String, String), Value>,
    actions: ActionCounts,
}

impl Replay {
    /// Replays everything.
    pub(crate) fn of(database: &Database) -> anyhow::Result<Self> {
        let gaps = database.rows(GAPS_IN_VERSIONS)?;
        ensure!(gaps.is_empty(), "gaps in versions: {gaps:?}");
        let mut replay = Self::default();
        let mut transaction: Vec<(String, String)> = Vec::new();
        let mut current = String::new();
        let rows = database.rows(RECORDED)?;
        ensure!(rows.len() > 100, "too few values were recorded");
        for row in rows {
            let [Some(position), Some(urn), Some(aspect), metadata] = &row[..] else {
                anyhow::bail!("{row:?}");
            };
            if *position != current {
                replay
                    .check_invariants(&transaction)
                    .with_context(|| format!("at {current}"))?;
                transaction.clear();
                current.clone_from(position);
            }
            let value = metadata.as_deref().map(serde_json::from_str).transpose()?;
            replay
                .write(urn, aspect, value)
                .with_context(|| format!("{urn} {aspect} at {current}"))?;
            transaction.push((urn.clone(), aspect.clone()));
        }
        replay.check_invariants(&transaction)?;
        Ok(replay)
    }

    /// Applies a value, which must differ from the previous one by a single action.
    fn write(&mut self, urn: &str, aspect: &str, value: Option<Value>) -> anyhow::Result<()> {
        let key = (urn.to_owned(), aspect.to_owned());
        let urn = urn.to_owned();
        let before = self.values.remove(&key);
        let (old, new) = (before.as_ref(), value.as_ref());
        match aspect {
            PROPERTIES if new.is_some() => {
                let (old, new) = (properties_in(old), properties_in(new));
                ensure!(old.is_subset(&new), "lost {:?}", old.difference(&new));
                ensure!(new.len() <= old.len() + 1, "two patches in one");
                let added = new.difference(&old).next();
                self.add(added.map(|name| Action::Patched(urn, name.clone())));
            }
            LINKS if new.is_some() => {
                let (old, new) = (links_in(old), links_in(new));
                let added: Vec<&String> = new.difference(&old).collect();
                let removed: Vec<&String> = old.difference(&new).collect();
                ensure!(added.len() + removed.len() <= 1, "+{added:?} -{removed:?}");
                let added = added.first();
                self.add(added.map(|url| Action::Linked(urn.clone(), (*url).clone())));
                let removed = removed.first();
                self.add(removed.map(|url| Action::Unlinked(urn, (*url).clone())));
            }
            DOMAINS if domain_in(old) != domain_in(new) => {
                let domain = domain_in(new).map(str::to_owned);
                self.add(domain.map(|domain| Action::SetDomain(urn, domain)));
            }
            DOMAIN_PROPERTIES
                if old.is_some() && new.is_some() && parent_in(old) != parent_in(new) =>
            {
                let parent = parent_in(new).map(str::to_owned);
                self.add(Some(Action::Moved(urn, parent)));
            }
            _ if KEYS.contains(&aspect) => {
                if new.is_none() {
                    ensure!(old.is_some(), "deleted although it does not exist");
                    self.add(Some(Action::Deleted(urn)));
                } else if old.is_none() {
                    self.add(Some(Action::Created(urn)));
                }
            }
            _ => {}
        }
        if let Some(value) = value {
            self.values.insert(key, value);
        }
        Ok(())
    }

    fn add(&mut self, action: Option<Action>) {
        if let Some(action) = action {
            *self.actions.entry(action).or_default() += 1;
        }
    }

    /// Checks the invariants at the end of a transaction that wrote these aspects.
    fn check_invariants(&self, written: &[(String, String)]) -> anyhow::Result<()> {
        for (urn, aspect) in written {
            let value = self.value(urn, aspect);
            match aspect.as_str() {
                DOMAINS => {
                    if let Some(domain) = domain_in(value) {
                        ensure!(
                            self.exists(domain),
                            "{urn} is added to the deleted domain {domain}"
                        );
                    }
                }
                DOMAIN_PROPERTIES => {
                    let mut seen = BTreeSet::from([urn.as_str()]);
                    let mut ancestor = parent_in(value);
                    while let Some(parent) = ancestor {
                        ensure!(
                            self.exists(parent),
                            "{urn} has the deleted ancestor {parent}"
                        );
                        ensure!(seen.insert(parent), "{urn} is in a cycle");
                        ancestor = parent_in(self.value(parent, DOMAIN_PROPERTIES));
                    }
                }
                "domainKey" if value.is_none() => {
                    for ((other, aspect), value) in &self.values {
                        let dangles = match aspect.as_str() {
                            DOMAINS => domain_in(Some(value)) == Some(urn),
                            DOMAIN_PROPERTIES => parent_in(Some(value)) == Some(urn),
                            _ => false,
                        };
                        ensure!(!dangles, "{other} refers to the deleted {urn}");
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn exists(&self, urn: &str) -> bool {
        self.value(urn, "domainKey").is_some()
    }

    fn value(&self, urn: &str, aspect: &str) -> Option<&Value> {
        self.values.get(&(urn.to_owned(), aspect.to_owned()))
    }

    /// Compares the replayed actions with the acknowledged ones. An action without effect is
    /// acknowledged but not recorded.
    pub(crate) fn agrees_with(&self, acknowledged: &ActionCounts) -> anyhow::Result<()> {
        let actions: BTreeSet<&Action> = self.actions.keys().chain(acknowledged.keys()).collect();
        for action in actions {
            let [done, acknowledged] = [&self.actions, acknowledged]
                .map(|counts| counts.get(action).copied().unwrap_or(0));
            let agrees = match action {
                // Deleting a missing domain succeeds.
                Action::SetDomain(..) | Action::Moved(..) | Action::Deleted(_) => {
                    done <= acknowledged
                }
                // Datasets are created by their first write.
                Action::Created(urn) if urn.starts_with("urn:li:dataset:") => true,
                _ => done == acknowledged,
            };
            ensure!(
                agrees,
                "{action:?} was performed {done} times and acknowledged {acknowledged} times"
            );
        }
        let performed = |is_kind: fn(&Action) -> bool| self.actions.keys().any(is_kind);
        let kinds = [
            performed(|action| matches!(action, Action::SetDomain(..))),
            performed(|action| matches!(action, Action::Moved(..))),
            performed(|action| matches!(action, Action::Unlinked(..))),
            performed(|action| matches!(action, Action::Deleted(..))),
        ];
        ensure!(
            kinds == [true; 4],
            "some kinds of action never happened: {kinds:?}"
        );
        Ok(())
    }

    pub(crate) fn properties(&self, urn: &str) -> BTreeSet<String> {
        properties_in(self.value(urn, PROPERTIES))
    }

    pub(crate) fn links(&self, urn: &str) -> BTreeSet<String> {
        links_in(self.value(urn, LINKS))
    }

    pub(crate) fn domain(&self, urn: &str) -> Option<&str> {
        domain_in(self.value(urn, DOMAINS))
    }
}

fn properties_in(value: Option<&Value>) -> BTreeSet<String> {
    let properties = value.and_then(|value| value["customProperties"].as_object());
    properties
        .into_iter()
        .flatten()
        .map(|(name, _)| name.clone())
        .collect()
}

fn links_in(value: Option<&Value>) -> BTreeSet<String> {
    let elements = value.and_then(|value| value["elements"].as_array());
    let url = |link: &Value| Some(link["url"].as_str()?.to_owned());
    elements.into_iter().flatten().filter_map(url).collect()
}

fn domain_in(value: Option<&Value>) -> Option<&str> {
    value?["domains"][0].as_str()
}

fn parent_in(value: Option<&Value>) -> Option<&str> {
    value?["parentDomain"].as_str()
}
