//! The writes of a load, done again one after the other in the order of the change log: each must be possible where it
//! stands, and all of them together must be what the clients were told.
//!
//! The database notes every value that is written ([`record`]), beside Docent and its own history: triggers know nothing
//! of versions, and lose nothing when an entity is deleted.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, ensure};
use docent_test_postgres::Database;
use serde_json::Value;

use crate::PROPERTIES;

const LINKS: &str = "institutionalMemory";
const DOMAINS: &str = "domains";
const DOMAIN_PROPERTIES: &str = "domainProperties";
const KEYS: [&str; 2] = ["datasetKey", "domainKey"];

/// What a client may have done.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Deed {
    /// A property was added to a dataset.
    Patched(String, String),
    Linked(String, String),
    Unlinked(String, String),
    SetDomain(String, String),
    Moved(String, Option<String>),
    Created(String),
    Deleted(String),
}

/// How often each thing was done.
pub(crate) type Counts = BTreeMap<Deed, u64>;

/// Lets a database note what is written from now on.
pub(crate) fn record(database: &Database) -> anyhow::Result<()> {
    database.sql(
        "CREATE TABLE told (id bigserial, writer xid8 DEFAULT pg_current_xact_id(), urn text, aspect text, metadata text); \
         CREATE TABLE numbered (transaction bigint, writer xid8 DEFAULT pg_current_xact_id()); \
         CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
             IF TG_OP = 'DELETE' THEN \
                 INSERT INTO told (urn, aspect) SELECT OLD.urn, OLD.aspect WHERE OLD.version = 0; \
             ELSE \
                 INSERT INTO told (urn, aspect, metadata) SELECT NEW.urn, NEW.aspect, NEW.metadata WHERE NEW.version = 0; \
             END IF; RETURN NULL; END $$; \
         CREATE FUNCTION number() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
             INSERT INTO numbered (transaction) VALUES (NEW.transaction); RETURN NULL; END $$; \
         CREATE TRIGGER tell AFTER INSERT OR UPDATE OR DELETE ON metadata_aspect_v2 FOR EACH ROW EXECUTE FUNCTION tell(); \
         CREATE TRIGGER number AFTER INSERT ON change_pending FOR EACH ROW EXECUTE FUNCTION number()",
    )
}

/// What was recorded, in the order of the log.
const RECORDED: &str = "SELECT c.first_position, t.urn, t.aspect, t.metadata FROM told t JOIN numbered n USING (writer) \
     JOIN change_commit c ON c.transaction = n.transaction ORDER BY c.first_position, t.id";

/// One version after the other, in the order of the log; it begins anew when an aspect was deleted.
const VERSIONS_THAT_DO_NOT_FOLLOW: &str = "SELECT urn, aspect, kind, logical_version FROM (SELECT l.urn, l.aspect, l.kind, \
         l.logical_version, lag(l.logical_version) OVER w AS former, lag(l.kind) OVER w AS did \
         FROM change_log l JOIN change_commit c USING (transaction) \
         WINDOW w AS (PARTITION BY l.urn, l.aspect ORDER BY c.first_position, l.item)) AS log \
     WHERE kind = 'put' AND CASE WHEN did = 'put' THEN logical_version <> former + 1 ELSE logical_version <> 1 END";

/// What the writes come to.
#[derive(Default)]
pub(crate) struct Replay {
    values: BTreeMap<(String, String), Value>,
    deeds: Counts,
}

impl Replay {
    /// Does everything again.
    pub(crate) fn of(database: &Database) -> anyhow::Result<Self> {
        let strange = database.rows(VERSIONS_THAT_DO_NOT_FOLLOW)?;
        ensure!(strange.is_empty(), "versions: {strange:?}");
        let mut replay = Self::default();
        let mut transaction: Vec<(String, String)> = Vec::new();
        let mut at = String::new();
        let rows = database.rows(RECORDED)?;
        ensure!(rows.len() > 100, "hardly anything was recorded");
        for row in rows {
            let [Some(position), Some(urn), Some(aspect), metadata] = &row[..] else {
                anyhow::bail!("{row:?}");
            };
            if *position != at {
                replay
                    .holds(&transaction)
                    .with_context(|| format!("at {at}"))?;
                transaction.clear();
                at.clone_from(position);
            }
            let value = metadata.as_deref().map(serde_json::from_str).transpose()?;
            replay
                .write(urn, aspect, value)
                .with_context(|| format!("{urn} {aspect} at {at}"))?;
            transaction.push((urn.clone(), aspect.clone()));
        }
        replay.holds(&transaction)?;
        Ok(replay)
    }

    /// One value after the other: each is the one before with one thing done to it.
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
                self.did(added.map(|name| Deed::Patched(urn, name.clone())));
            }
            LINKS if new.is_some() => {
                let (old, new) = (links_in(old), links_in(new));
                let added: Vec<&String> = new.difference(&old).collect();
                let removed: Vec<&String> = old.difference(&new).collect();
                ensure!(added.len() + removed.len() <= 1, "+{added:?} -{removed:?}");
                let added = added.first();
                self.did(added.map(|url| Deed::Linked(urn.clone(), (*url).clone())));
                let removed = removed.first();
                self.did(removed.map(|url| Deed::Unlinked(urn, (*url).clone())));
            }
            DOMAINS if domain_in(old) != domain_in(new) => {
                let domain = domain_in(new).map(str::to_owned);
                self.did(domain.map(|domain| Deed::SetDomain(urn, domain)));
            }
            DOMAIN_PROPERTIES
                if old.is_some() && new.is_some() && parent_in(old) != parent_in(new) =>
            {
                let parent = parent_in(new).map(str::to_owned);
                self.did(Some(Deed::Moved(urn, parent)));
            }
            _ if KEYS.contains(&aspect) => {
                if new.is_none() {
                    ensure!(old.is_some(), "deleted although it is not there");
                    self.did(Some(Deed::Deleted(urn)));
                } else if old.is_none() {
                    self.did(Some(Deed::Created(urn)));
                }
            }
            _ => {}
        }
        if let Some(value) = value {
            self.values.insert(key, value);
        }
        Ok(())
    }

    fn did(&mut self, deed: Option<Deed>) {
        if let Some(deed) = deed {
            *self.deeds.entry(deed).or_default() += 1;
        }
    }

    /// What must hold at the end of a transaction that wrote these.
    fn holds(&self, written: &[(String, String)]) -> anyhow::Result<()> {
        for (urn, aspect) in written {
            let value = self.value(urn, aspect);
            match aspect.as_str() {
                DOMAINS => {
                    if let Some(domain) = domain_in(value) {
                        ensure!(
                            self.exists(domain),
                            "{urn} is put into {domain}, which is gone"
                        );
                    }
                }
                DOMAIN_PROPERTIES => {
                    let mut seen = BTreeSet::from([urn.as_str()]);
                    let mut above = parent_in(value);
                    while let Some(parent) = above {
                        ensure!(
                            self.exists(parent),
                            "{urn} stands under {parent}, which is gone"
                        );
                        ensure!(seen.insert(parent), "{urn} stands under itself");
                        above = parent_in(self.value(parent, DOMAIN_PROPERTIES));
                    }
                }
                "domainKey" if value.is_none() => {
                    for ((other, aspect), value) in &self.values {
                        let dangles = match aspect.as_str() {
                            DOMAINS => domain_in(Some(value)) == Some(urn),
                            DOMAIN_PROPERTIES => parent_in(Some(value)) == Some(urn),
                            _ => false,
                        };
                        ensure!(!dangles, "{urn} is deleted, and {other} refers to it");
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

    /// Whether what was done is what the clients were told. What finds things as they shall be does nothing and is
    /// acknowledged all the same: such deeds may be fewer.
    pub(crate) fn agrees_with(&self, told: &Counts) -> anyhow::Result<()> {
        let deeds: BTreeSet<&Deed> = self.deeds.keys().chain(told.keys()).collect();
        for deed in deeds {
            let [done, acknowledged] =
                [&self.deeds, told].map(|counts| counts.get(deed).copied().unwrap_or(0));
            let agrees = match deed {
                // Domains that are gone are deleted with success.
                Deed::SetDomain(..) | Deed::Moved(..) | Deed::Deleted(_) => done <= acknowledged,
                // Datasets are made by whoever writes to them first.
                Deed::Created(urn) if urn.starts_with("urn:li:dataset:") => true,
                _ => done == acknowledged,
            };
            ensure!(
                agrees,
                "{deed:?} was done {done} times and acknowledged {acknowledged} times"
            );
        }
        let kinds = [
            self.deeds
                .keys()
                .any(|deed| matches!(deed, Deed::SetDomain(..))),
            self.deeds
                .keys()
                .any(|deed| matches!(deed, Deed::Moved(..))),
            self.deeds
                .keys()
                .any(|deed| matches!(deed, Deed::Unlinked(..))),
            self.deeds
                .keys()
                .any(|deed| matches!(deed, Deed::Deleted(..))),
        ];
        ensure!(kinds == [true; 4], "not everything happened: {kinds:?}");
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
