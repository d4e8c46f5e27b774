//! The index on the disk: opening, checking, replacing.
//!
//! It stands in a directory of its own, in a folder named after its format. A new one is written beside it and takes its
//! place when it is complete, so what is there is always whole, or recognised as damaged.

use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use docent_store::LogPosition;
use serde::{Deserialize, Serialize};
use tantivy::index::SegmentMeta;
use tantivy::indexer::{LogMergePolicy, NoMergePolicy};
use tantivy::{Directory as _, Index, IndexReader, IndexWriter, ReloadPolicy};

use crate::directory::CacheDirectory;
use crate::document::EntityDocument;
use crate::error::SearchError;
use crate::schema::{FORMAT, Fields, RANK};

/// What the writer may gather before it writes a segment: much when everything is written, little when changes are.
/// A million datasets make some ten segments.
const BUILD_MEMORY_BYTES: usize = 256 * 1024 * 1024;
/// On how many cores everything is written at most.
const MAX_BUILD_THREADS: usize = 4;
const FEED_MEMORY_BYTES: usize = 16 * 1024 * 1024;

/// So many segments of one size are merged into one. Those of up to [`SMALLEST_SEGMENT`] documents count as one size.
const SEGMENTS_OF_A_SIZE: usize = 6;
const SMALLEST_SEGMENT: u32 = 250;
/// A segment with a larger share of all documents than one in so many stays as it is: merging it would take longer
/// than the searches gain by it.
const LARGE_SEGMENTS: usize = 16;
/// But one of this share of deleted documents is written anew.
const MOST_DELETED: f32 = 0.3;

/// A larger index is checked while it serves: reading all of it takes longer than a restart may.
const SMALL_INDEX_BYTES: u64 = 64 * 1024 * 1024;

/// Where the index stands.
#[derive(Debug, Clone)]
pub(crate) enum Location {
    Memory,
    Directory(PathBuf),
}

/// What an index holds: everything up to a position of the log. The mark tells that log from another one.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Position {
    pub(crate) position: LogPosition,
    pub(crate) mark: String,
}

/// Who feeds an index works on several threads, one after the other. What fails in between leaves the writer as it is.
pub(crate) type SharedWriter = Arc<Mutex<IndexWriter<EntityDocument>>>;

/// An index that can be searched and fed.
pub(crate) struct OpenIndex {
    pub(crate) index: Index,
    pub(crate) reader: IndexReader,
    pub(crate) writer: SharedWriter,
    pub(crate) holds: Position,
    /// Whether its files were compared with their checksums.
    pub(crate) checked: bool,
    /// Tells it from those that stood in its place before.
    pub(crate) serial: u64,
}

impl std::fmt::Debug for OpenIndex {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("OpenIndex")
            .field("index", &self.index)
            .field("holds", &self.holds)
            .finish_non_exhaustive()
    }
}

impl Location {
    fn current(directory: &Path) -> PathBuf {
        directory.join(format!("format-{FORMAT}"))
    }

    /// Makes sure that an index can be kept there: an operator should hear of it at the start, not from the first search.
    pub(crate) fn prepare(&self) -> Result<(), SearchError> {
        let Self::Directory(directory) = self else {
            return Ok(());
        };
        // A file is made and removed in it: that it is there does not mean that we may write.
        let attempt = directory.join(format!(".attempt.{}", std::process::id()));
        let prepared = make_private(directory)
            .and_then(|()| std::fs::File::create_new(&attempt))
            .and_then(|_| std::fs::remove_file(&attempt));
        prepared.map_err(|source| SearchError::Directory {
            directory: directory.clone(),
            source,
        })
    }

    /// Whether nothing of our format is there.
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Memory => true,
            Self::Directory(directory) => !Self::current(directory).exists(),
        }
    }

    /// What the index that is there holds, as far as that can be said without opening it.
    pub(crate) fn holds(&self) -> Option<Position> {
        let Self::Directory(directory) = self else {
            return None;
        };
        let meta = std::fs::read(Self::current(directory).join("meta.json")).ok()?;
        let meta: serde_json::Value = serde_json::from_slice(&meta).ok()?;
        serde_json::from_str(meta.get("payload")?.as_str()?).ok()
    }

    /// The index that is there, if it is of our format and whole.
    pub(crate) fn open(&self, fields: &Fields) -> Option<OpenIndex> {
        let Self::Directory(directory) = self else {
            return None;
        };
        let path = Self::current(directory);
        if !path.join("meta.json").exists() {
            return None;
        }
        match open_existing(&path, fields) {
            Ok(open) => Some(open),
            Err(error) => {
                tracing::warn!(%error, path = %path.display(), "the search index cannot be used and is built anew");
                None
            }
        }
    }

    /// An empty index that nobody sees until [`Location::finish`].
    pub(crate) fn begin(&self, fields: &Fields) -> Result<Draft, SearchError> {
        let builder = Index::builder()
            .schema(fields.schema.clone())
            .tokenizers(Fields::tokenizers());
        let (index, path) = match self {
            Self::Memory => (builder.create_in_ram()?, None),
            Self::Directory(directory) => {
                let path = directory.join("building");
                remove(&path)?;
                make_private(&path).map_err(io(&path))?;
                let files = CacheDirectory::open(&path).map_err(tantivy::TantivyError::from)?;
                (builder.open_or_create(files)?, Some(path))
            }
        };
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = cores.min(MAX_BUILD_THREADS);
        let writer = index.writer_with_num_threads(threads, BUILD_MEMORY_BYTES)?;
        writer.set_merge_policy(Box::new(NoMergePolicy));
        Ok(Draft {
            index,
            writer,
            path,
        })
    }

    /// Removes what is there.
    pub(crate) fn discard(&self) -> Result<(), SearchError> {
        match self {
            Self::Memory => Ok(()),
            Self::Directory(directory) => remove(&Self::current(directory)),
        }
    }

    /// Puts a new index into the place of the one before, whatever its format.
    pub(crate) fn finish(
        &self,
        draft: Draft,
        holds: Position,
        fields: &Fields,
    ) -> Result<OpenIndex, SearchError> {
        let Draft {
            index,
            mut writer,
            path,
        } = draft;
        commit(&mut writer, &holds)?;
        writer.wait_merging_threads()?;
        let (Self::Directory(directory), Some(path)) = (self, path) else {
            return from_index(index, holds, true);
        };
        drop(index);
        let current = Self::current(directory);
        for entry in std::fs::read_dir(directory)
            .map_err(io(directory))?
            .flatten()
        {
            if entry.file_name().to_string_lossy().starts_with("format-") {
                remove(&entry.path())?;
            }
        }
        std::fs::rename(&path, &current).map_err(io(&current))?;
        open_existing(&current, fields)
    }
}

/// An index that is being written.
pub(crate) struct Draft {
    index: Index,
    pub(crate) writer: IndexWriter<EntityDocument>,
    path: Option<PathBuf>,
}

/// Makes what was written findable, and notes what it is.
pub(crate) fn commit(
    writer: &mut IndexWriter<EntityDocument>,
    holds: &Position,
) -> Result<(), SearchError> {
    let mut prepared = writer.prepare_commit()?;
    prepared.set_payload(&serde_json::to_string(holds).unwrap_or_default());
    prepared.commit()?;
    Ok(())
}

fn open_existing(path: &Path, fields: &Fields) -> Result<OpenIndex, SearchError> {
    let files = CacheDirectory::open(path).map_err(tantivy::TantivyError::from)?;
    let mut index = Index::open(files)?;
    if index.schema() != fields.schema {
        return Err(damaged("it has other fields"));
    }
    index.set_tokenizers(Fields::tokenizers());
    let bytes: u64 = index
        .directory()
        .list_managed_files()
        .iter()
        .filter_map(|file| std::fs::metadata(path.join(file)).ok())
        .map(|file| file.len())
        .sum();
    let small = bytes <= SMALL_INDEX_BYTES;
    if small {
        check(&index)?;
    }
    let payload = index.load_metas()?.payload.unwrap_or_default();
    let holds = serde_json::from_str(&payload)
        .map_err(|_| damaged("it does not say which changes it holds"))?;
    let open = from_index(index, holds, small)?;
    check_counts(&open)?;
    Ok(open)
}

/// Compares the document counts of the segment list, which has no checksum, with those of the segments.
fn check_counts(open: &OpenIndex) -> Result<(), SearchError> {
    let listed = open.index.load_metas()?.segments;
    for segment in open.reader.searcher().segment_readers() {
        // Every document has a rank.
        let documents = segment.fast_fields().u64(RANK)?.values.num_vals();
        let deleted = segment.alive_bitset().map_or(0, |alive| {
            (documents as usize).saturating_sub(alive.num_alive_docs()) as u32
        });
        let is_right = |meta: &SegmentMeta| {
            meta.id() == segment.segment_id()
                && (meta.max_doc(), meta.num_deleted_docs()) == (documents, deleted)
        };
        if !listed.iter().any(is_right) {
            return Err(damaged("its list of segments is damaged"));
        }
    }
    Ok(())
}

/// Compares every file with its checksum.
pub(crate) fn check(index: &Index) -> Result<(), SearchError> {
    // The library compares the files that its own list has, which may be damaged itself.
    let listed = index.directory().list_managed_files();
    for file in index.load_metas()?.list_segment_files() {
        let exists = index.directory().exists(&file);
        if !listed.contains(&file) && exists.map_err(tantivy::TantivyError::from)? {
            return Err(damaged("its list of files is damaged"));
        }
    }
    let damage = index.validate_checksum()?;
    match damage.iter().next() {
        Some(file) => Err(damaged(&format!("{} is damaged", file.display()))),
        None => Ok(()),
    }
}

/// How many indexes this process has opened.
static OPENED: AtomicU64 = AtomicU64::new(0);

fn from_index(index: Index, holds: Position, checked: bool) -> Result<OpenIndex, SearchError> {
    let reader = index
        .reader_builder()
        .reload_policy(ReloadPolicy::Manual)
        .try_into()?;
    let writer = index.writer_with_num_threads(1, FEED_MEMORY_BYTES)?;
    writer.set_merge_policy(Box::new(merge_policy(reader.searcher().num_docs())));
    let writer = Arc::new(Mutex::new(writer));
    Ok(OpenIndex {
        serial: OPENED.fetch_add(1, Ordering::Relaxed),
        index,
        reader,
        writer,
        holds,
        checked,
    })
}

/// Changes come one by one and make small segments, which are merged into ever larger ones: each document is
/// written anew some times, and there are never more than a few dozen segments to search.
fn merge_policy(documents: u64) -> LogMergePolicy {
    let mut policy = LogMergePolicy::default();
    policy.set_min_num_segments(SEGMENTS_OF_A_SIZE);
    policy.set_min_layer_size(SMALLEST_SEGMENT);
    let largest =
        (documents as usize / LARGE_SEGMENTS).max(SMALLEST_SEGMENT as usize * LARGE_SEGMENTS);
    policy.set_max_docs_before_merge(largest);
    policy.set_del_docs_ratio_before_merge(MOST_DELETED);
    policy
}

/// It holds the words of everything that is stored.
fn make_private(directory: &Path) -> std::io::Result<()> {
    let mut private = std::fs::DirBuilder::new();
    private.recursive(true).mode(0o700);
    private.create(directory)
}

fn damaged(reason: &str) -> SearchError {
    SearchError::Index(tantivy::TantivyError::InternalError(reason.to_owned()))
}

/// The system's errors do not say which file they are about.
fn io(path: &Path) -> impl Fn(std::io::Error) -> SearchError {
    move |error| {
        let named = std::io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        SearchError::Index(tantivy::TantivyError::from(named))
    }
}

fn remove(path: &Path) -> Result<(), SearchError> {
    match std::fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(io(path)(error)),
        _ => Ok(()),
    }
}
