//! The index on the disk: opening, checking, replacing.
//!
//! The index is in a subdirectory named after its format. A new index is written beside it and
//! replaces it when complete, so the current one is always whole, or recognized as damaged.

use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use docent_store::LogPosition;
use serde::{Deserialize, Serialize};
use tantivy::index::SegmentMeta;
use tantivy::indexer::{LogMergePolicy, NoMergePolicy};
use tantivy::{Directory as _, Index, IndexReader, IndexWriter, ReloadPolicy};

use crate::directory::{CacheDirectory, OpenFiles};
use crate::document::EntityDocument;
use crate::error::SearchError;
use crate::schema::{FORMAT, Fields, RANK};

/// How much the writer buffers before it writes a segment, while building and while feeding. A
/// million datasets make five to ten segments, and every search visits each of them.
const BUILD_MEMORY_BYTES: usize = 384 * 1024 * 1024;
const MAX_BUILD_THREADS: usize = 4;
const FEED_MEMORY_BYTES: usize = 16 * 1024 * 1024;

/// How many segments of a size are merged into one. Segments of up to [`SMALLEST_SEGMENT`]
/// documents count as one size.
const MERGE_FACTOR: usize = 6;
const SMALLEST_SEGMENT: u32 = 250;
/// A segment with more than one part in this many of all documents is not merged: that would take
/// longer than searches gain by it.
const LARGE_SEGMENT_SHARE: usize = 16;
/// Segments with a larger share of deleted documents are rewritten.
const MAX_DELETED_SHARE: f32 = 0.3;

/// A larger index is checked in the background: reading all of it would delay a restart.
const SMALL_INDEX_BYTES: u64 = 64 * 1024 * 1024;

/// Where the index is.
#[derive(Debug, Clone)]
pub(crate) enum IndexLocation {
    Memory,
    Directory(PathBuf),
}

/// The last change in an index. The fingerprint distinguishes the log from another one with the
/// same position.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct IndexedPosition {
    pub(crate) position: LogPosition,
    pub(crate) fingerprint: String,
}

/// Feeding uses one thread after another. An error on one of them leaves the writer usable.
pub(crate) type SharedWriter = Arc<Mutex<IndexWriter<EntityDocument>>>;

/// An index that can be searched and fed.
pub(crate) struct OpenIndex {
    pub(crate) index: Index,
    pub(crate) reader: IndexReader,
    pub(crate) writer: SharedWriter,
    pub(crate) indexed: IndexedPosition,
    pub(crate) files: OpenFiles,
    /// Whether its files were verified against their checksums.
    pub(crate) checked: bool,
    /// Distinguishes it from earlier indexes of this process.
    pub(crate) serial: u64,
}

impl std::fmt::Debug for OpenIndex {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("OpenIndex")
            .field("index", &self.index)
            .field("indexed", &self.indexed)
            .finish_non_exhaustive()
    }
}

impl IndexLocation {
    fn current(directory: &Path) -> PathBuf {
        directory.join(format!("format-{FORMAT}"))
    }

    /// Makes sure at startup that the directory can hold an index, instead of failing in the first
    /// search.
    pub(crate) fn prepare(&self) -> Result<(), SearchError> {
        let Self::Directory(directory) = self else {
            return Ok(());
        };
        // An existing directory may still be read-only, so a file is created and removed.
        let attempt = directory.join(format!(".attempt.{}", std::process::id()));
        let prepared = make_private(directory)
            .and_then(|()| std::fs::File::create_new(&attempt))
            .and_then(|_| std::fs::remove_file(&attempt));
        prepared.map_err(|source| SearchError::Directory {
            directory: directory.clone(),
            source,
        })
    }

    /// Whether there is no index of the current format.
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Memory => true,
            Self::Directory(directory) => !Self::current(directory).exists(),
        }
    }

    /// How many bytes the index takes on the disk; `None` in memory.
    pub(crate) fn size_bytes(&self) -> Option<u64> {
        let Self::Directory(directory) = self else {
            return None;
        };
        let Ok(files) = std::fs::read_dir(Self::current(directory)) else {
            return Some(0);
        };
        // Merges remove files while they are counted.
        let sizes = files.filter_map(|file| Some(file.ok()?.metadata().ok()?.len()));
        Some(sizes.sum())
    }

    /// Reads the last indexed change without opening the index.
    pub(crate) fn indexed(&self) -> Option<IndexedPosition> {
        let Self::Directory(directory) = self else {
            return None;
        };
        let meta = std::fs::read(Self::current(directory).join("meta.json")).ok()?;
        let meta: serde_json::Value = serde_json::from_slice(&meta).ok()?;
        serde_json::from_str(meta.get("payload")?.as_str()?).ok()
    }

    /// Opens the index if there is one of the current format without damage.
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
                tracing::warn!(%error, path = %path.display(), "rebuilding the search index, because it cannot be used");
                None
            }
        }
    }

    /// Creates an empty index, which becomes visible with [`IndexLocation::finish`].
    pub(crate) fn begin(&self, fields: &Fields) -> Result<IndexDraft, SearchError> {
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
        Ok(IndexDraft {
            index,
            writer,
            path,
        })
    }

    /// Deletes the index.
    pub(crate) fn discard(&self) -> Result<(), SearchError> {
        match self {
            Self::Memory => Ok(()),
            Self::Directory(directory) => remove(&Self::current(directory)),
        }
    }

    /// Replaces the index, and those of other formats, by a new one.
    pub(crate) fn finish(
        &self,
        draft: IndexDraft,
        indexed: IndexedPosition,
        fields: &Fields,
    ) -> Result<OpenIndex, SearchError> {
        let IndexDraft {
            index,
            mut writer,
            path,
        } = draft;
        commit(&mut writer, &indexed)?;
        writer.wait_merging_threads()?;
        let (Self::Directory(directory), Some(path)) = (self, path) else {
            return from_index(index, indexed, OpenFiles::default(), true);
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

/// An index that is being built.
pub(crate) struct IndexDraft {
    index: Index,
    pub(crate) writer: IndexWriter<EntityDocument>,
    path: Option<PathBuf>,
}

/// Makes the written documents visible, and records the last change among them.
pub(crate) fn commit(
    writer: &mut IndexWriter<EntityDocument>,
    indexed: &IndexedPosition,
) -> Result<(), SearchError> {
    let mut prepared = writer.prepare_commit()?;
    prepared.set_payload(&serde_json::to_string(indexed).unwrap_or_default());
    prepared.commit()?;
    Ok(())
}

fn open_existing(path: &Path, fields: &Fields) -> Result<OpenIndex, SearchError> {
    let directory = CacheDirectory::open(path).map_err(tantivy::TantivyError::from)?;
    let files = directory.files();
    let mut index = Index::open(directory)?;
    if index.schema() != fields.schema {
        return Err(damaged("its schema differs"));
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
    let indexed = serde_json::from_str(&payload)
        .map_err(|_| damaged("it does not record its last change"))?;
    let open = from_index(index, indexed, files, small)?;
    check_counts(&open)?;
    Ok(open)
}

/// Compares the document counts of the segment list, which has no checksum, with those of the
/// segments.
fn check_counts(open: &OpenIndex) -> Result<(), SearchError> {
    let listed = open.index.load_metas()?.segments;
    for segment in open.reader.searcher().segment_readers() {
        // Every document has a rank.
        let documents = segment.fast_fields().u64(RANK)?.values.num_vals();
        let deleted = segment.alive_bitset().map_or(0, |alive| {
            (documents as usize).saturating_sub(alive.num_alive_docs())
        });
        let is_right = |meta: &SegmentMeta| {
            meta.id() == segment.segment_id()
                && meta.max_doc() == documents
                && meta.num_deleted_docs() as usize == deleted
        };
        if !listed.iter().any(is_right) {
            return Err(damaged("its list of segments is damaged"));
        }
    }
    Ok(())
}

/// Verifies the checksum of every file.
pub(crate) fn check(index: &Index) -> Result<(), SearchError> {
    // tantivy verifies the files of its own list, which may be damaged itself.
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

fn from_index(
    index: Index,
    indexed: IndexedPosition,
    files: OpenFiles,
    checked: bool,
) -> Result<OpenIndex, SearchError> {
    let reader = index
        .reader_builder()
        .reload_policy(ReloadPolicy::Manual)
        .try_into()?;
    let writer = index.writer_with_num_threads(1, FEED_MEMORY_BYTES)?;
    writer.set_merge_policy(Box::new(merge_policy(reader.searcher().num_docs())));
    // A process that was killed leaves files behind, and commit numbers repeat after a restart: a
    // new file must not have the name of an old one.
    writer.garbage_collect_files().wait()?;
    // tantivy numbers the first operation like the last commit. If it is a deletion, a merge of
    // committed segments applies it to some of them only. So a list of no operations takes it.
    writer.run(std::iter::empty())?;
    let writer = Arc::new(Mutex::new(writer));
    Ok(OpenIndex {
        serial: OPENED.fetch_add(1, Ordering::Relaxed),
        index,
        reader,
        writer,
        indexed,
        files,
        checked,
    })
}

/// Small commits make small segments, which are merged into ever larger ones. Each document is
/// rewritten a few times, and there are never more than a few dozen segments to search.
fn merge_policy(documents: u64) -> LogMergePolicy {
    let mut policy = LogMergePolicy::default();
    policy.set_min_num_segments(MERGE_FACTOR);
    policy.set_min_layer_size(SMALLEST_SEGMENT);
    let documents = usize::try_from(documents).unwrap_or(usize::MAX);
    let largest =
        documents.max(SMALLEST_SEGMENT as usize * LARGE_SEGMENT_SHARE * LARGE_SEGMENT_SHARE);
    policy.set_max_docs_before_merge(largest / LARGE_SEGMENT_SHARE);
    policy.set_del_docs_ratio_before_merge(MAX_DELETED_SHARE);
    policy
}

/// The index holds the words of everything in the store.
fn make_private(directory: &Path) -> std::io::Result<()> {
    let mut private = std::fs::DirBuilder::new();
    private.recursive(true).mode(0o700);
    private.create(directory)
}

pub(crate) fn damaged(reason: &str) -> SearchError {
    SearchError::Index(tantivy::TantivyError::InternalError(reason.to_owned()))
}

/// Adds the path, which I/O errors do not mention.
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
