//! `docent move`: copies a store into another one, with its history, and verifies the copy.

use std::sync::Arc;

use anyhow::{Context, Result, bail};
use clap::Args;
use docent_catalog::Catalog;
use docent_model::SystemClock;
use docent_store::{AuditRecord, RawAspect, RawPoint, RawRetiredVersion, Store};
use sha2::{Digest as _, Sha256};

use super::maintenance::progress;
use super::{hidden_store_flags, runtime, say};
use crate::engine::{self, OpenMode};
use crate::import_marker::{self, Import};
use crate::interrupt;
use crate::settings::StoreUrl;

/// How many rows are copied at once; fewer if they are large.
const PAGE: usize = 1000;
const CONCURRENT_WRITE: &str = "another process wrote to one of them; stop it, delete the new store, and run the command again";

#[derive(Debug, Args)]
#[command(args = hidden_store_flags())]
pub(crate) struct MoveFlags {
    // The help would show the values, which may contain passwords.
    /// Store URL to read; no server may be running
    #[arg(
        long,
        env = "DOCENT_MOVE_FROM",
        value_name = "URL",
        hide_env_values = true
    )]
    from: String,
    /// Store URL to fill; it must be empty, and no server may be running
    #[arg(
        long,
        env = "DOCENT_MOVE_TO",
        value_name = "URL",
        hide_env_values = true
    )]
    to: String,
}

pub(super) fn run(flags: &MoveFlags) -> Result<()> {
    let from = StoreUrl::parse(Some(&flags.from)).context("--from is invalid")?;
    let to = StoreUrl::parse(Some(&flags.to)).context("--to is invalid")?;
    let runtime = runtime()?;
    if origin(&from) == origin(&to) || runtime.block_on(engine::is_same(&from, &to)) {
        bail!("--from and --to are the same store, {to}: move into a new one");
    }
    runtime.block_on(copy_store(&from, &to))
}

async fn copy_store(from: &StoreUrl, to: &StoreUrl) -> Result<()> {
    let source = engine::open(from, OpenMode::Exclusive).await?;
    import_marker::check_complete(&*source, from).await?;
    let target = engine::open(to, OpenMode::ExclusiveCreate).await?;
    let catalog = Catalog::new(Arc::clone(&target), Arc::new(SystemClock));
    import_marker::begin(&catalog, &*target, to, Import::Move, &origin(from)).await?;
    interrupt::exit_on_signal(format!(
        "stopped before {to} was complete: run the same command again to continue"
    ))?;
    let total = source.export_count().await?;
    let (aspects, points) = copy_all(&*source, &*target, total).await?;
    target.rebuild(progress("deriving")).await?;
    compare(&*source, &*target, total).await?;
    import_marker::remove(&catalog, Import::Move).await?;
    let findings = target.check().await?;
    if let Some(finding) = findings.first() {
        // The copy has the same damage as the source, which is not an error of the copy.
        say(format!("also in {from}: {finding}"));
    }
    say(format!(
        "moved {aspects} aspects with their history and {points} time series points from {from} to {to}; verified that both are equal"
    ));
    Ok(())
}

/// The name of a store, independent of the working directory.
fn origin(url: &StoreUrl) -> String {
    match url {
        StoreUrl::Sqlite(path) => {
            StoreUrl::Sqlite(docent_store_sqlite::real_path(path)).to_string()
        }
        StoreUrl::Postgres(_) => url.to_string(),
    }
}

/// Copies everything. Returns the number of aspects and of points.
async fn copy_all(source: &dyn Store, target: &dyn Store, total: u64) -> Result<(u64, u64)> {
    let mut progress = RowProgress::new("copying", total);
    let aspects = copy_rows::<RawAspect>(source, target, &mut progress).await?;
    let points = copy_rows::<RawPoint>(source, target, &mut progress).await?;
    copy_rows::<RawRetiredVersion>(source, target, &mut progress).await?;
    copy_rows::<AuditRecord>(source, target, &mut progress).await?;
    Ok((aspects, points))
}

/// Copies rows in order. An interrupted run left the first rows, which are compared instead.
async fn copy_rows<R: Row>(
    source: &dyn Store,
    target: &dyn Store,
    progress: &mut RowProgress,
) -> Result<u64> {
    let mut copied = 0;
    let mut pages = Pages::<R>::default();
    let mut existing = Rows::<R>::default();
    while let Some(page) = pages.next(source).await? {
        let rows = u64::try_from(page.len())?;
        let mut missing = Vec::with_capacity(page.len());
        for row in page {
            match existing.next(target).await? {
                Some(other) => check_equal(&row, &other)?,
                None => missing.push(row),
            }
        }
        if !missing.is_empty() {
            R::import(target, missing).await?;
        }
        copied += rows;
        progress.advance(rows);
    }
    Ok(copied)
}

/// Compares the digests of all rows, and fails at the first difference.
async fn compare(source: &dyn Store, target: &dyn Store, total: u64) -> Result<()> {
    let mut progress = RowProgress::new("comparing", total);
    compare_rows::<RawAspect>(source, target, &mut progress).await?;
    compare_rows::<RawPoint>(source, target, &mut progress).await?;
    compare_rows::<RawRetiredVersion>(source, target, &mut progress).await?;
    compare_rows::<AuditRecord>(source, target, &mut progress).await
}

async fn compare_rows<R: Row>(
    source: &dyn Store,
    target: &dyn Store,
    progress: &mut RowProgress,
) -> Result<()> {
    let (mut ours, mut theirs) = (Rows::<R>::default(), Rows::<R>::default());
    loop {
        match (ours.next(source).await?, theirs.next(target).await?) {
            (None, None) => return Ok(()),
            (Some(one), Some(other)) => check_equal(&one, &other)?,
            _ => bail!("the stores do not have the same rows: {CONCURRENT_WRITE}"),
        }
        progress.advance(1);
    }
}

fn check_equal<R: Row>(one: &R, other: &R) -> Result<()> {
    if one.digest() != other.digest() {
        bail!(
            "{} differs between the stores: {CONCURRENT_WRITE}",
            one.name()
        );
    }
    Ok(())
}

/// A progress bar over rows of several kinds.
struct RowProgress {
    show: Box<dyn FnMut(u64, u64) + Send>,
    done: u64,
    total: u64,
}

impl RowProgress {
    fn new(what: &'static str, total: u64) -> Self {
        let show = progress(what);
        Self {
            show,
            done: 0,
            total,
        }
    }

    fn advance(&mut self, rows: u64) {
        self.done += rows;
        (self.show)(self.done, self.total.max(self.done));
    }
}

/// A row of a store that is copied unchanged.
trait Row: Clone {
    /// The next rows.
    async fn page(store: &dyn Store, after: Option<&Self>) -> Result<Vec<Self>>;
    async fn import(target: &dyn Store, rows: Vec<Self>) -> Result<()>;
    /// The entity of the row; `None` if it belongs to none.
    fn urn(&self) -> Option<&str>;
    fn digest(&self) -> [u8; 32];
    /// The row in an error message.
    fn name(&self) -> String;
}

impl Row for RawAspect {
    async fn page(store: &dyn Store, after: Option<&Self>) -> Result<Vec<Self>> {
        Ok(store.aspects_export(after, PAGE).await?)
    }

    async fn import(target: &dyn Store, rows: Vec<Self>) -> Result<()> {
        Ok(target.import(rows, Vec::new()).await?)
    }

    fn urn(&self) -> Option<&str> {
        Some(&self.urn)
    }

    fn digest(&self) -> [u8; 32] {
        let Self { urn, aspect, row } = self;
        digest([
            Some(urn.as_str()),
            Some(aspect),
            Some(&row.version.to_string()),
            Some(&row.metadata),
            row.system_metadata.as_deref(),
            Some(&row.created_on_ms.to_string()),
            Some(&row.created_by),
            row.created_for.as_deref(),
        ])
    }

    fn name(&self) -> String {
        let Self { urn, aspect, row } = self;
        format!("version {} of {aspect} of {urn}", row.version)
    }
}

impl Row for RawPoint {
    async fn page(store: &dyn Store, after: Option<&Self>) -> Result<Vec<Self>> {
        Ok(store.points_export(after, PAGE).await?)
    }

    async fn import(target: &dyn Store, rows: Vec<Self>) -> Result<()> {
        Ok(target.import(Vec::new(), rows).await?)
    }

    fn urn(&self) -> Option<&str> {
        Some(&self.urn)
    }

    fn digest(&self) -> [u8; 32] {
        let Self { urn, aspect, point } = self;
        digest([
            Some(urn.as_str()),
            Some(aspect),
            Some(&point.time_ms.to_string()),
            Some(&point.id),
            Some(&point.metadata),
            point.system_metadata.as_deref(),
        ])
    }

    fn name(&self) -> String {
        let Self { urn, aspect, .. } = self;
        format!("a point of {aspect} of {urn}")
    }
}

/// Version numbers that must not be reused.
impl Row for RawRetiredVersion {
    async fn page(store: &dyn Store, after: Option<&Self>) -> Result<Vec<Self>> {
        Ok(store.retired_versions_export(after, PAGE).await?)
    }

    async fn import(target: &dyn Store, rows: Vec<Self>) -> Result<()> {
        Ok(target.retired_versions_import(rows).await?)
    }

    fn urn(&self) -> Option<&str> {
        Some(&self.urn)
    }

    fn digest(&self) -> [u8; 32] {
        let version = self.version.to_string();
        digest([Some(&self.urn), Some(&self.aspect), Some(&version)])
    }

    fn name(&self) -> String {
        let Self { urn, aspect, .. } = self;
        format!("the last version of {aspect} of {urn}, which was rolled back,")
    }
}

impl Row for AuditRecord {
    async fn page(store: &dyn Store, after: Option<&Self>) -> Result<Vec<Self>> {
        let after = after.map(|record| record.event.key);
        Ok(store.audit_export(after, PAGE).await?)
    }

    async fn import(target: &dyn Store, rows: Vec<Self>) -> Result<()> {
        Ok(target.audit_import(rows).await?)
    }

    fn urn(&self) -> Option<&str> {
        None
    }

    fn digest(&self) -> [u8; 32] {
        // The form for debugging has all members.
        digest([Some(&format!("{self:?}"))])
    }

    fn name(&self) -> String {
        format!("the audit event {}", self.event.key)
    }
}

/// Each part is preceded by its length, so that different lists have different digests.
fn digest<const PARTS: usize>(parts: [Option<&str>; PARTS]) -> [u8; 32] {
    let mut digest = Sha256::new();
    for part in parts {
        let length = part.map_or(usize::MAX, str::len);
        digest.update(length.to_be_bytes());
        digest.update(part.unwrap_or_default());
    }
    digest.finalize().into()
}

/// The rows of a store, page by page.
struct Pages<R>(Option<R>);

impl<R> Default for Pages<R> {
    fn default() -> Self {
        Self(None)
    }
}

impl<R: Row> Pages<R> {
    async fn next(&mut self, store: &dyn Store) -> Result<Option<Vec<R>>> {
        let page = R::page(store, self.0.as_ref()).await?;
        self.0 = page.last().cloned();
        Ok((!page.is_empty()).then_some(page))
    }
}

/// The rows of a store one by one, without the import marker. Rows added after the end are not
/// returned.
struct Rows<R> {
    pages: Pages<R>,
    page: std::vec::IntoIter<R>,
    is_over: bool,
}

impl<R> Default for Rows<R> {
    fn default() -> Self {
        Self {
            pages: Pages::default(),
            page: Vec::new().into_iter(),
            is_over: false,
        }
    }
}

impl<R: Row> Rows<R> {
    async fn next(&mut self, store: &dyn Store) -> Result<Option<R>> {
        while !self.is_over {
            match self.page.next() {
                Some(row) if row.urn() == Some(Import::Move.urn()) => {}
                Some(row) => return Ok(Some(row)),
                None => match self.pages.next(store).await? {
                    Some(page) => self.page = page.into_iter(),
                    None => self.is_over = true,
                },
            }
        }
        Ok(None)
    }
}
