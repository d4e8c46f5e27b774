//! Rows one after the other become aspects with their history, and those become pages that are stored whole.
//!
//! An aspect is stored whole or not at all, so one that the store has is compared with what would be stored, and nothing
//! has to be remembered between runs. What is held is bounded: of each aspect as many versions as a store keeps, and of a
//! page so many rows and bytes.
//!
//! White space around names does not count, neither here nor for databases that pad: so rows whose names differ in nothing else
//! are of one aspect, wherever the database puts them; of two rows with the same version the first is taken.

use std::collections::{HashSet, VecDeque};

use anyhow::Result;
use docent_model::{AspectName, Urn};
use docent_store::version::{RETAINED_VERSIONS, logical_version_of};
use docent_store::{AspectKey, LogicalVersion, RawAspect, RowVersion, Store, StoredAspect};

use super::judge::{self, Entity, Reason, Refusal};
use super::report::{Report, RowName};
use super::source::ForeignAspect;

/// How much is stored in one transaction.
const PAGE_ROWS: usize = 1000;
const PAGE_BYTES: usize = 8 * 1024 * 1024;
/// Of so many entities it is remembered that there was white space around their URN.
const MAX_PADDED: usize = 100_000;

const TWIN: &str = "the first of such rows is taken";

/// The rows that are being put together.
#[derive(Debug)]
pub(super) struct Gathering<'a> {
    target: &'a dyn Store,
    report: &'a mut Report,
    entity: Option<EntityRows>,
    aspect: Option<AspectRows>,
    page: Page,
    /// Entities whose URN had white space around it.
    padded: HashSet<Urn>,
}

/// An entity whose rows are coming in.
#[derive(Debug)]
struct EntityRows {
    /// Without white space around it.
    name: String,
    entity: Result<Entity, Refusal>,
    is_padded: bool,
    /// With other white space, and not next to it.
    came_before: bool,
    /// The aspects that were gathered.
    gathered: HashSet<AspectName>,
    has_key: bool,
    /// An aspect of it that is taken.
    witness: Option<StoredAspect>,
}

/// An aspect whose rows are coming in.
#[derive(Debug)]
struct AspectRows {
    /// Without white space around it.
    name: String,
    key: Result<AspectKey, Refusal>,
    /// It was gathered already, from rows with other white space.
    is_twin: bool,
    /// The URN, as it stands in the table, of rows that came a second time.
    twin: Option<String>,
    latest: Option<StoredAspect>,
    /// As the latest version has it in the table.
    text: Text,
    /// The latest version is there, and is refused.
    is_latest_refused: bool,
    /// The newest last, as many as are kept beside the latest.
    history: VecDeque<StoredAspect>,
    /// The newest version in the history, retained or not.
    newest: RowVersion,
}

/// What a row is called, as it stands in the table.
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

/// An aspect as it is to be stored, the oldest version first and the latest last.
#[derive(Debug)]
struct Aspect {
    key: AspectKey,
    text: Text,
    versions: Vec<StoredAspect>,
    /// Not in the table: it follows from the URN.
    is_made: bool,
    is_key: bool,
    /// The entity came before, with other white space.
    came_before: bool,
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
        let judged = match fault {
            Some(fault) => Err(Refusal::new(Reason::Unreadable, fault)),
            None => aspect.judge(entity, &text, &row),
        };
        if let Err(refusal) = judged {
            if refusal.reason == Reason::Twin {
                aspect.twin = Some(text.urn.clone());
            } else {
                aspect.is_latest_refused |= row.version.is_latest();
            }
            return self.report.refuse(&text.name(), &row, &refusal);
        }
        if judge::tidy(&mut row) {
            self.report.unreadable_notes += 1;
        }
        if let Some(older) = aspect.keep(&text, row) {
            let detail = format!("{RETAINED_VERSIONS} versions are kept");
            let refusal = Refusal::new(Reason::Older, detail);
            self.report.refuse(&text.name(), &older, &refusal)?;
        }
        Ok(())
    }

    /// Goes on to the entity and the aspect that a row is of.
    async fn enter(&mut self, text: &Text) -> Result<()> {
        let (urn, aspect) = (text.urn.trim(), text.aspect.trim());
        if self.entity.as_ref().is_none_or(|now| now.name != urn) {
            self.leave_entity().await?;
            let entity = Entity::of(urn);
            self.entity = Some(EntityRows {
                name: urn.to_owned(),
                came_before: matches!(&entity, Ok(entity) if self.padded.contains(&entity.urn)),
                entity,
                is_padded: false,
                gathered: HashSet::new(),
                has_key: false,
                witness: None,
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
        let (Some(entity), Some(gathered)) = (&mut self.entity, self.aspect.take()) else {
            return Ok(());
        };
        let (Ok(key), Some(mut latest)) = (gathered.key, gathered.latest) else {
            return Ok(());
        };
        let newest = LogicalVersion::new(gathered.newest.get());
        if logical_version_of(&latest) <= newest {
            judge::number(&mut latest, newest.next());
            self.report.numbered += 1;
        }
        let is_key = matches!(&entity.entity, Ok(known) if known.spec.key_aspect == key.aspect);
        entity.has_key |= is_key;
        entity.gathered.insert(key.aspect);
        entity.witness.get_or_insert_with(|| latest.clone());
        let came_before = entity.came_before;
        let mut versions = Vec::from(gathered.history);
        versions.push(latest);
        self.put(Aspect {
            key,
            text: gathered.text,
            versions,
            is_made: false,
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
            text: Text::default(),
            versions: vec![row],
            is_made: true,
            is_key: true,
            came_before: false,
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
                // What was made is no row of the table.
                if !aspect.is_made {
                    self.report.already += 1;
                    self.report.already_history += aspect.versions.len() as u64 - 1;
                }
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
        let refusal = if aspect.came_before {
            Refusal::new(Reason::Twin, TWIN)
        } else {
            Refusal::new(Reason::Differs, "what the store has is left as it is")
        };
        for row in aspect.versions.iter().rev() {
            self.report.refuse(&aspect.text.name(), row, &refusal)?;
        }
        Ok(())
    }
}

impl AspectRows {
    fn new(name: &str, entity: &EntityRows) -> Self {
        let key = match &entity.entity {
            Ok(entity) => entity.aspect(name),
            Err(refusal) => Err(refusal.clone()),
        };
        Self {
            is_twin: matches!(&key, Ok(key) if entity.gathered.contains(&key.aspect)),
            twin: None,
            name: name.to_owned(),
            key,
            latest: None,
            text: Text::default(),
            is_latest_refused: false,
            history: VecDeque::new(),
            newest: RowVersion::LATEST,
        }
    }

    /// Whether the row can be kept, as far as it can be seen from it and from those before it.
    fn judge(&self, entity: &EntityRows, text: &Text, row: &StoredAspect) -> Result<(), Refusal> {
        let key = self.key.as_ref().map_err(Clone::clone)?;
        let entity = entity.entity.as_ref().map_err(Clone::clone)?;
        if row.version < RowVersion::LATEST {
            return Err(Refusal::new(
                Reason::Version,
                format!("the version is {}", row.version),
            ));
        }
        if self.is_a_second(text, row) {
            return Err(Refusal::new(Reason::Twin, TWIN));
        }
        if row.version.is_history() && self.is_latest_refused {
            return Err(Refusal::new(
                Reason::LatestRefused,
                "version 0 is refused, too",
            ));
        }
        if row.version.is_history() && self.latest.is_none() {
            return Err(Refusal::new(Reason::NoLatest, "there is no version 0"));
        }
        judge::check_value(entity.spec, key.aspect, &row.metadata)
    }

    /// Whether there was such a row already: the database tells apart what we do not.
    fn is_a_second(&self, text: &Text, row: &StoredAspect) -> bool {
        let is_there = if row.version.is_latest() {
            self.latest.is_some()
        } else {
            row.version <= self.newest
        };
        self.is_twin || is_there || self.twin.as_ref() == Some(&text.urn)
    }

    /// Keeps a row; returns one that is too old now.
    fn keep(&mut self, text: &Text, row: StoredAspect) -> Option<StoredAspect> {
        if row.version.is_latest() {
            self.latest = Some(row);
            self.text = text.clone();
            self.is_latest_refused = false;
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
