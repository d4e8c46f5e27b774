//! Rows one after the other become aspects with their history, and those become pages that are stored whole.
//!
//! An aspect is stored whole or not at all, so one that the store has is compared with what would be stored, and nothing
//! has to be remembered between runs. What is held is bounded: of each aspect as many versions as a store keeps, and of a
//! page so many rows and bytes.

use std::collections::{HashSet, VecDeque};

use anyhow::Result;
use docent_store::version::{RETAINED_VERSIONS, logical_version_of};
use docent_store::{AspectKey, RawAspect, Store, StoredAspect};

use super::judge::{self, Entity, Reason, Refusal};
use super::report::{Report, RowName};

/// How much is stored in one transaction.
const PAGE_ROWS: usize = 1000;
const PAGE_BYTES: usize = 8 * 1024 * 1024;

/// The rows that are being put together.
#[derive(Debug)]
pub(super) struct Gathering<'a> {
    target: &'a dyn Store,
    report: &'a mut Report,
    entity: Option<EntityRows>,
    aspect: Option<AspectRows>,
    page: Page,
}

/// An entity whose rows are coming in.
#[derive(Debug)]
struct EntityRows {
    /// As it stands in the table.
    text: String,
    entity: Result<Entity, Refusal>,
    has_key: bool,
    /// An aspect of it that is taken.
    witness: Option<StoredAspect>,
}

/// An aspect whose rows are coming in.
#[derive(Debug)]
struct AspectRows {
    /// As it stands in the table.
    text: String,
    key: Result<AspectKey, Refusal>,
    latest: Option<StoredAspect>,
    /// The latest version is there, and is refused.
    is_latest_refused: bool,
    /// The newest last, as many as are kept beside the latest.
    history: VecDeque<StoredAspect>,
    /// The newest number in the history, be it kept or not.
    newest: i64,
}

/// An aspect as it is to be stored, the oldest version first and the latest last.
#[derive(Debug)]
struct Aspect {
    key: AspectKey,
    versions: Vec<StoredAspect>,
    /// Not in the table: it follows from the URN.
    is_made: bool,
    is_key: bool,
}

#[derive(Debug, Default)]
struct Page {
    aspects: Vec<Aspect>,
    keys: HashSet<AspectKey>,
    rows: usize,
    bytes: usize,
}

impl<'a> Gathering<'a> {
    pub(super) fn new(target: &'a dyn Store, report: &'a mut Report) -> Self {
        Self {
            target,
            report,
            entity: None,
            aspect: None,
            page: Page::default(),
        }
    }

    /// The next row of the table.
    pub(super) async fn row(&mut self, raw: RawAspect) -> Result<()> {
        self.report.read += 1;
        let RawAspect {
            urn,
            aspect,
            mut row,
        } = raw;
        if self.entity.as_ref().is_none_or(|now| now.text != urn) {
            self.leave_entity().await?;
            let entity = Entity::of(&urn);
            if entity.is_ok() && urn.trim() != urn {
                self.report.padded += 1;
            }
            self.entity = Some(EntityRows {
                text: urn,
                entity,
                has_key: false,
                witness: None,
            });
        }
        if self.aspect.as_ref().is_none_or(|now| now.text != aspect) {
            self.leave_aspect().await?;
            self.aspect = self.entity.as_ref().map(|now| AspectRows::new(aspect, now));
        }
        let (Some(entity), Some(aspect)) = (&self.entity, &mut self.aspect) else {
            return Ok(());
        };
        let judged = aspect.judge(entity, &row);
        if let Err(refusal) = judged {
            aspect.is_latest_refused |= row.version == 0;
            let name = RowName {
                urn: &entity.text,
                aspect: &aspect.text,
            };
            return self.report.refuse(&name, &row, &refusal);
        }
        if judge::tidy(&mut row) {
            self.report.unreadable_notes += 1;
        }
        if let Some(older) = aspect.keep(row) {
            let name = RowName {
                urn: &entity.text,
                aspect: &aspect.text,
            };
            let detail = format!("{RETAINED_VERSIONS} versions are kept");
            let refusal = Refusal::new(Reason::Older, detail);
            self.report.refuse(&name, &older, &refusal)?;
        }
        Ok(())
    }

    /// After the last row.
    pub(super) async fn finish(mut self) -> Result<()> {
        self.leave_entity().await?;
        self.store_page().await
    }

    async fn leave_aspect(&mut self) -> Result<()> {
        let (Some(entity), Some(gathered)) = (&mut self.entity, self.aspect.take()) else {
            return Ok(());
        };
        let (Ok(key), Some(mut latest)) = (gathered.key, gathered.latest) else {
            return Ok(());
        };
        if logical_version_of(&latest) <= gathered.newest {
            judge::number(&mut latest, gathered.newest + 1);
            self.report.numbered += 1;
        }
        let is_key = matches!(&entity.entity, Ok(known) if known.spec.key_aspect == key.aspect);
        entity.has_key |= is_key;
        entity.witness.get_or_insert_with(|| latest.clone());
        let mut versions = Vec::from(gathered.history);
        versions.push(latest);
        self.put(Aspect {
            key,
            versions,
            is_made: false,
            is_key,
        })
        .await
    }

    async fn leave_entity(&mut self) -> Result<()> {
        self.leave_aspect().await?;
        let Some(EntityRows {
            entity: Ok(entity),
            has_key: false,
            witness: Some(witness),
            ..
        }) = self.entity.take()
        else {
            return Ok(());
        };
        let Some(row) = entity.key_row(&witness) else {
            return Ok(());
        };
        self.put(Aspect {
            key: AspectKey::new(&entity.urn, entity.spec.key_aspect),
            versions: vec![row],
            is_made: true,
            is_key: true,
        })
        .await
    }

    async fn put(&mut self, aspect: Aspect) -> Result<()> {
        // Two spellings of one name: the second is compared with what the first has left in the store.
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
        let mut taken = Vec::new();
        for (aspect, stored) in page.aspects.into_iter().zip(stored) {
            if stored.is_empty() {
                taken.push((aspect.is_key, aspect.is_made, aspect.versions.len() as u64));
                missing.extend(aspect.into_rows());
            } else if aspect.is_made || is_same(&aspect.versions, &stored) {
                self.report.already += 1;
            } else {
                self.refuse_all(&aspect)?;
            }
        }
        if !missing.is_empty() {
            self.target.import(missing, Vec::new()).await?;
        }
        for (is_key, is_made, versions) in taken {
            self.report.entities += u64::from(is_key);
            self.report.made_keys += u64::from(is_made);
            self.report.aspects += u64::from(!is_made);
            self.report.history += versions - 1;
        }
        Ok(())
    }

    fn refuse_all(&mut self, aspect: &Aspect) -> Result<()> {
        let name = RowName {
            urn: aspect.key.urn.as_str(),
            aspect: aspect.key.aspect.as_str(),
        };
        let refusal = Refusal::new(Reason::Differs, "what the store has is left as it is");
        for row in aspect.versions.iter().rev() {
            self.report.refuse(&name, row, &refusal)?;
        }
        Ok(())
    }
}

impl AspectRows {
    fn new(text: String, entity: &EntityRows) -> Self {
        let key = match &entity.entity {
            Ok(entity) => entity.aspect(&text),
            Err(refusal) => Err(refusal.clone()),
        };
        Self {
            text,
            key,
            latest: None,
            is_latest_refused: false,
            history: VecDeque::new(),
            newest: 0,
        }
    }

    /// Whether the row can be kept, as far as it can be seen from it and from those before it.
    fn judge(&self, entity: &EntityRows, row: &StoredAspect) -> Result<(), Refusal> {
        let key = self.key.as_ref().map_err(Clone::clone)?;
        let entity = entity.entity.as_ref().map_err(Clone::clone)?;
        if row.version < 0 {
            return Err(Refusal::new(
                Reason::Version,
                format!("the version is {}", row.version),
            ));
        }
        if row.version > 0 && self.is_latest_refused {
            return Err(Refusal::new(
                Reason::LatestRefused,
                "version 0 is refused, too",
            ));
        }
        if row.version > 0 && self.latest.is_none() {
            return Err(Refusal::new(Reason::NoLatest, "there is no version 0"));
        }
        judge::check_value(entity.spec, key.aspect, &row.metadata)
    }

    /// Keeps a row; returns one that is too old now.
    fn keep(&mut self, row: StoredAspect) -> Option<StoredAspect> {
        if row.version == 0 {
            self.latest = Some(row);
            return None;
        }
        self.newest = self.newest.max(row.version);
        self.history.push_back(row);
        let is_full = self.history.len() as i64 >= RETAINED_VERSIONS;
        is_full.then(|| self.history.pop_front()).flatten()
    }
}

impl Aspect {
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

/// Whether the store has the same values, written by the same people at the same times. What is noted about them changes
/// with every ingestion that finds them as they are.
fn is_same(ours: &[StoredAspect], stored: &[StoredAspect]) -> bool {
    let same = |(one, other): (&StoredAspect, &StoredAspect)| {
        one.version == other.version
            && one.metadata == other.metadata
            && one.created_on_ms == other.created_on_ms
            && one.created_by == other.created_by
    };
    ours.len() == stored.len() && ours.iter().zip(stored).all(same)
}
