//! Groups rows into aspects with their history, and stores them in pages.
//!
//! An aspect is stored completely or not at all, so an existing one is compared with the rows, and
//! no state is kept between runs. Memory is bounded: per aspect the retained versions, per page a
//! number of rows and bytes.
//!
//! White space around names is ignored, as padding databases do. So rows whose names differ only in
//! white space belong to one aspect, wherever they are in the table; of two rows with the same
//! version the first is imported.

use std::collections::{HashSet, VecDeque};

use anyhow::Result;
use docent_model::{AspectName, Urn};
use docent_store::version::{RETAINED_VERSIONS, logical_version_of};
use docent_store::{AspectKey, LogicalVersion, RawAspect, RowVersion, Store, StoredAspect};

use super::report::{Report, RowName};
use super::row_check::{self, Entity, Reason, Rejection};
use super::source::ForeignAspect;

/// The limits of one transaction.
const PAGE_ROWS: usize = 1000;
const PAGE_BYTES: usize = 8 * 1024 * 1024;
/// The most entities to remember that have white space around their URN.
const MAX_PADDED: usize = 100_000;

const TWIN: &str = "the first of these rows is imported";

#[derive(Debug)]
pub(super) struct Importer<'a> {
    target: &'a dyn Store,
    report: &'a mut Report,
    entity: Option<EntityRows>,
    aspect: Option<AspectRows>,
    page: Page,
    /// Entities whose URN had white space around it.
    padded: HashSet<Urn>,
}

/// The entity of the current rows.
#[derive(Debug)]
struct EntityRows {
    /// Without white space around it.
    name: String,
    entity: Result<Entity, Rejection>,
    is_padded: bool,
    /// It occurred earlier, with different white space.
    came_before: bool,
    /// The aspects that are complete.
    completed: HashSet<AspectName>,
    has_key: bool,
    /// Any imported aspect, whose audit data a derived key aspect gets.
    sample: Option<StoredAspect>,
}

/// The aspect of the current rows.
#[derive(Debug)]
struct AspectRows {
    /// Without white space around it.
    name: String,
    key: Result<AspectKey, Rejection>,
    /// It was imported already, from rows with different white space.
    is_twin: bool,
    /// The URN in the table of duplicate rows.
    twin: Option<String>,
    latest: Option<StoredAspect>,
    /// The names of the latest version in the table.
    text: Text,
    /// The latest version was rejected.
    is_latest_rejected: bool,
    /// The retained versions besides the latest, in ascending order.
    history: VecDeque<StoredAspect>,
    /// The highest version in the history, retained or not.
    newest: RowVersion,
}

/// The names of a row in the table.
#[derive(Debug, Default, Clone)]
struct Text {
    urn: String,
    aspect: String,
}

impl Text {
    fn name(&self) -> RowName<'_> {
        RowName {
            urn: &self.urn,
            aspect: &self.aspect,
        }
    }
}

/// An aspect to store, with its versions in ascending order and the latest last.
#[derive(Debug)]
struct Aspect {
    key: AspectKey,
    text: Text,
    versions: Vec<StoredAspect>,
    /// Derived from the URN, not in the table.
    is_derived: bool,
    is_key: bool,
    /// The entity occurred earlier, with different white space.
    came_before: bool,
}

#[derive(Debug, Default)]
struct Page {
    aspects: Vec<Aspect>,
    keys: HashSet<AspectKey>,
    rows: usize,
    bytes: usize,
}

impl<'a> Importer<'a> {
    pub(super) fn new(target: &'a dyn Store, report: &'a mut Report) -> Self {
        Self {
            target,
            report,
            entity: None,
            aspect: None,
            page: Page::default(),
            padded: HashSet::new(),
        }
    }

    /// The next row of the table.
    pub(super) async fn row(&mut self, found: ForeignAspect) -> Result<()> {
        self.report.read += 1;
        let ForeignAspect { raw, fault } = found;
        let RawAspect {
            urn,
            aspect,
            mut row,
        } = raw;
        let text = Text { urn, aspect };
        self.enter(&text).await?;
        let (Some(entity), Some(aspect)) = (&self.entity, &mut self.aspect) else {
            return Ok(());
        };
        let checked = match fault {
            Some(fault) => Err(Rejection::new(Reason::Unreadable, fault)),
            None => aspect.check(entity, &text, &row),
        };
        if let Err(rejection) = checked {
            if rejection.reason == Reason::Twin {
                aspect.twin = Some(text.urn.clone());
            } else {
                aspect.is_latest_rejected |= row.version.is_latest();
            }
            return self.report.reject(&text.name(), &row, &rejection);
        }
        if row_check::clean(&mut row) {
            self.report.unreadable_metadata += 1;
        }
        if let Some(older) = aspect.add(&text, row) {
            let detail = format!("{RETAINED_VERSIONS} versions are retained");
            let rejection = Rejection::new(Reason::Older, detail);
            self.report.reject(&text.name(), &older, &rejection)?;
        }
        Ok(())
    }

    /// Moves on to the entity and the aspect of a row.
    async fn enter(&mut self, text: &Text) -> Result<()> {
        let (urn, aspect) = (text.urn.trim(), text.aspect.trim());
        if self.entity.as_ref().is_none_or(|now| now.name != urn) {
            self.leave_entity().await?;
            let entity = Entity::parse(urn);
            self.entity = Some(EntityRows {
                name: urn.to_owned(),
                came_before: matches!(&entity, Ok(entity) if self.padded.contains(&entity.urn)),
                entity,
                is_padded: false,
                completed: HashSet::new(),
                has_key: false,
                sample: None,
            });
        }
        if self.aspect.as_ref().is_none_or(|now| now.name != aspect) {
            self.leave_aspect().await?;
            self.aspect = self.entity.as_ref().map(|now| AspectRows::new(aspect, now));
        }
        if let Some(EntityRows {
            entity: Ok(entity),
            is_padded: is_padded @ false,
            ..
        }) = &mut self.entity
            && urn != text.urn
        {
            *is_padded = true;
            self.report.padded += 1;
            if self.padded.len() < MAX_PADDED {
                self.padded.insert(entity.urn.clone());
            }
        }
        Ok(())
    }

    /// After the last row.
    pub(super) async fn finish(mut self) -> Result<()> {
        self.leave_entity().await?;
        self.store_page().await
    }

    async fn leave_aspect(&mut self) -> Result<()> {
        let (Some(entity), Some(rows)) = (&mut self.entity, self.aspect.take()) else {
            return Ok(());
        };
        let (Ok(key), Some(mut latest)) = (rows.key, rows.latest) else {
            return Ok(());
        };
        let newest = LogicalVersion::new(rows.newest.get());
        if logical_version_of(&latest) <= newest {
            row_check::set_version(&mut latest, newest.next());
            self.report.numbered += 1;
        }
        let is_key = matches!(&entity.entity, Ok(known) if known.spec.key_aspect == key.aspect);
        entity.has_key |= is_key;
        entity.completed.insert(key.aspect);
        entity.sample.get_or_insert_with(|| latest.clone());
        let came_before = entity.came_before;
        let mut versions = Vec::from(rows.history);
        versions.push(latest);
        self.put(Aspect {
            key,
            text: rows.text,
            versions,
            is_derived: false,
            is_key,
            came_before,
        })
        .await
    }

    async fn leave_entity(&mut self) -> Result<()> {
        self.leave_aspect().await?;
        let Some(EntityRows {
            entity: Ok(entity),
            has_key: false,
            sample: Some(sample),
            ..
        }) = self.entity.take()
        else {
            return Ok(());
        };
        let Some(row) = entity.key_row(&sample) else {
            return Ok(());
        };
        self.put(Aspect {
            key: AspectKey::new(&entity.urn, entity.spec.key_aspect),
            text: Text::default(),
            versions: vec![row],
            is_derived: true,
            is_key: true,
            came_before: false,
        })
        .await
    }

    async fn put(&mut self, aspect: Aspect) -> Result<()> {
        // The same name with different white space: the second is compared with the stored first
        // one.
        if self.page.keys.contains(&aspect.key) {
            self.store_page().await?;
        }
        self.page.rows += aspect.versions.len();
        self.page.bytes += aspect.versions.iter().map(bytes).sum::<usize>();
        self.page.keys.insert(aspect.key.clone());
        self.page.aspects.push(aspect);
        if self.page.rows >= PAGE_ROWS || self.page.bytes >= PAGE_BYTES {
            self.store_page().await?;
        }
        Ok(())
    }

    async fn store_page(&mut self) -> Result<()> {
        let page = std::mem::take(&mut self.page);
        let keys: Vec<AspectKey> = page.aspects.iter().map(|it| it.key.clone()).collect();
        let stored = self.target.histories_read(&keys).await?;
        let mut missing = Vec::with_capacity(page.rows);
        let mut imported = Vec::new();
        for (aspect, stored) in page.aspects.into_iter().zip(stored) {
            if stored.is_empty() {
                imported.push((aspect.is_key, aspect.is_derived, aspect.history_len()));
                missing.extend(aspect.into_rows());
            } else if aspect.is_derived || is_same(&aspect.versions, &stored) {
                // Derived aspects are not rows of the table.
                if !aspect.is_derived {
                    self.report.already += 1;
                    self.report.already_history += aspect.history_len();
                }
            } else {
                self.reject_all(&aspect)?;
            }
        }
        if !missing.is_empty() {
            self.target.import(missing, Vec::new()).await?;
        }
        for (is_key, is_derived, history) in imported {
            self.report.entities += u64::from(is_key);
            self.report.derived_keys += u64::from(is_derived);
            self.report.aspects += u64::from(!is_derived);
            self.report.history += history;
        }
        Ok(())
    }

    fn reject_all(&mut self, aspect: &Aspect) -> Result<()> {
        let rejection = if aspect.came_before {
            Rejection::new(Reason::Twin, TWIN)
        } else {
            Rejection::new(Reason::Differs, "the stored value is unchanged")
        };
        for row in aspect.versions.iter().rev() {
            self.report.reject(&aspect.text.name(), row, &rejection)?;
        }
        Ok(())
    }
}

impl AspectRows {
    fn new(name: &str, entity: &EntityRows) -> Self {
        let key = match &entity.entity {
            Ok(entity) => entity.aspect(name),
            Err(rejection) => Err(rejection.clone()),
        };
        Self {
            is_twin: matches!(&key, Ok(key) if entity.completed.contains(&key.aspect)),
            twin: None,
            name: name.to_owned(),
            key,
            latest: None,
            text: Text::default(),
            is_latest_rejected: false,
            history: VecDeque::new(),
            newest: RowVersion::LATEST,
        }
    }

    /// Checks a row against the rows before it.
    fn check(&self, entity: &EntityRows, text: &Text, row: &StoredAspect) -> Result<(), Rejection> {
        let key = self.key.as_ref().map_err(Clone::clone)?;
        let entity = entity.entity.as_ref().map_err(Clone::clone)?;
        if row.version < RowVersion::LATEST {
            return Err(Rejection::new(
                Reason::Version,
                format!("the version is {}", row.version),
            ));
        }
        if self.is_duplicate(text, row) {
            return Err(Rejection::new(Reason::Twin, TWIN));
        }
        if row.version.is_history() && self.is_latest_rejected {
            return Err(Rejection::new(
                Reason::LatestRejected,
                "version 0 is rejected, too",
            ));
        }
        if row.version.is_history() && self.latest.is_none() {
            return Err(Rejection::new(Reason::NoLatest, "there is no version 0"));
        }
        row_check::check_value(entity.spec, key.aspect, &row.metadata)
    }

    /// Whether it duplicates an earlier row, apart from white space.
    fn is_duplicate(&self, text: &Text, row: &StoredAspect) -> bool {
        let is_known = if row.version.is_latest() {
            self.latest.is_some()
        } else {
            row.version <= self.newest
        };
        self.is_twin || is_known || self.twin.as_ref() == Some(&text.urn)
    }

    /// Adds a row; returns a version that exceeds the retention.
    fn add(&mut self, text: &Text, row: StoredAspect) -> Option<StoredAspect> {
        if row.version.is_latest() {
            self.latest = Some(row);
            self.text = text.clone();
            self.is_latest_rejected = false;
            return None;
        }
        self.newest = self.newest.max(row.version);
        self.history.push_back(row);
        let is_full =
            i64::try_from(self.history.len()).is_ok_and(|count| count >= RETAINED_VERSIONS);
        is_full.then(|| self.history.pop_front()).flatten()
    }
}

impl Aspect {
    fn history_len(&self) -> u64 {
        let history = self.versions.len().saturating_sub(1);
        u64::try_from(history).unwrap_or(u64::MAX)
    }

    fn into_rows(self) -> impl Iterator<Item = RawAspect> {
        let Self { key, versions, .. } = self;
        versions.into_iter().map(move |row| RawAspect {
            urn: key.urn.as_str().to_owned(),
            aspect: key.aspect.as_str().to_owned(),
            row,
        })
    }
}

fn bytes(row: &StoredAspect) -> usize {
    row.metadata.len() + row.system_metadata.as_deref().map_or(0, str::len)
}

/// Whether the stored versions have the same values and audit data. System metadata is ignored: it
/// changes with every ingestion, even of unchanged values.
fn is_same(ours: &[StoredAspect], stored: &[StoredAspect]) -> bool {
    let same = |(one, other): (&StoredAspect, &StoredAspect)| {
        one.version == other.version
            && one.metadata == other.metadata
            && one.created_on_ms == other.created_on_ms
            && one.created_by == other.created_by
    };
    ours.len() == stored.len() && ours.iter().zip(stored).all(same)
}
