//! `docent move`: everything from one store into another, with its history, and the proof that it arrived.

use std::sync::Arc;

use anyhow::{Context, Result, bail};
use clap::{Arg, Args};
use docent_catalog::Catalog;
use docent_model::SystemClock;
use docent_store::{RawAspect, RawPoint, RawRetired, Store};
use sha2::{Digest as _, Sha256};

use super::maintenance::progress;
use super::{runtime, say};
use crate::engine::{self, Use};
use crate::interrupt;
use crate::settings::StoreUrl;
use crate::unfinished::{self, Filling};

/// How many rows are carried at once; fewer if they are large.
const PAGE: usize = 1000;
const MEANWHILE: &str = "one of them was written to meanwhile; stop whatever uses them, remove the new store, and move again";

/// Flags that all commands have. This one refuses them, so its help does not show them.
fn unused() -> [Arg; 2] {
    ["store", "config"].map(|name| Arg::new(name).long(name).hide(true))
}

#[derive(Debug, Args)]
#[command(args = unused())]
pub(crate) struct MoveFlags {
    // The values may have passwords in them, which the help would show.
    /// The store to read; no server may use it
    #[arg(
        long,
        env = "DOCENT_MOVE_FROM",
        value_name = "URL",
        hide_env_values = true
    )]
    from: String,
    /// The store to fill; it must be empty, and no server may use it
    #[arg(
        long,
        env = "DOCENT_MOVE_TO",
        value_name = "URL",
        hide_env_values = true
    )]
    to: String,
}

pub(super) fn run(flags: &MoveFlags) -> Result<()> {
    let from = StoreUrl::parse(Some(&flags.from)).context("--from is not right")?;
    let to = StoreUrl::parse(Some(&flags.to)).context("--to is not right")?;
    let runtime = runtime()?;
    if origin(&from) == origin(&to) || runtime.block_on(engine::is_same(&from, &to)) {
        bail!("--from and --to name the same store, {to}: move into a new one");
    }
    runtime.block_on(carry_over(&from, &to))
}

async fn carry_over(from: &StoreUrl, to: &StoreUrl) -> Result<()> {
    let source = engine::open(from, Use::Alone).await?;
    unfinished::expect_finished(&*source, from).await?;
    let target = engine::open(to, Use::AloneAndNew).await?;
    let catalog = Catalog::new(Arc::clone(&target), Arc::new(SystemClock));
    unfinished::begin(&catalog, &*target, to, Filling::Move, &origin(from)).await?;
    interrupt::end_with(format!(
        "stopped before {to} was complete: run the same command again to go on"
    ))?;
    let total = source.export_count().await?;
    let (aspects, points) = carry(&*source, &*target, total).await?;
    target.rebuild(progress("deriving")).await?;
    compare(&*source, &*target, total).await?;
    unfinished::remove(&catalog, Filling::Move).await?;
    let findings = target.check().await?;
    if let Some(finding) = findings.first() {
        // What was wrong in the source is wrong in the copy; that is worth knowing, not worth stopping for.
        say(format!("as in {from}: {finding}"));
    }
    say(format!(
        "moved {aspects} aspects with their history and {points} points of time series from {from} to {to}; all of them are the same"
    ));
    Ok(())
}

/// What a store is called wherever the command is run.
fn origin(url: &StoreUrl) -> String {
    match url {
        StoreUrl::Sqlite(path) => {
            StoreUrl::Sqlite(docent_store_sqlite::real_path(path)).to_string()
        }
        StoreUrl::Postgres(_) => url.to_string(),
    }
}

/// Carries everything over; how many aspects and how many points that was.
async fn carry(source: &dyn Store, target: &dyn Store, total: u64) -> Result<(u64, u64)> {
    let mut bar = Bar::new("copying", total);
    let aspects = carry_rows::<RawAspect>(source, target, &mut bar).await?;
    let points = carry_rows::<RawPoint>(source, target, &mut bar).await?;
    carry_rows::<RawRetired>(source, target, &mut bar).await?;
    Ok((aspects, points))
}

/// Rows are carried in their order, so those that an earlier run has carried are the first ones; they are compared.
async fn carry_rows<R: Carried>(
    source: &dyn Store,
    target: &dyn Store,
    bar: &mut Bar,
) -> Result<u64> {
    let mut carried = 0;
    let mut pages = Pages::<R>::default();
    let mut there = Rows::<R>::default();
    while let Some(page) = pages.next(source).await? {
        let rows = page.len() as u64;
        let mut missing = Vec::with_capacity(page.len());
        for row in page {
            match there.next(target).await? {
                Some(other) => same(&row, &other)?,
                None => missing.push(row),
            }
        }
        if !missing.is_empty() {
            R::import(target, missing).await?;
        }
        carried += rows;
        bar.advance(rows);
    }
    Ok(carried)
}

/// Compares the digest of every row; the first that differs is named.
async fn compare(source: &dyn Store, target: &dyn Store, total: u64) -> Result<()> {
    let mut bar = Bar::new("comparing", total);
    compare_rows::<RawAspect>(source, target, &mut bar).await?;
    compare_rows::<RawPoint>(source, target, &mut bar).await?;
    compare_rows::<RawRetired>(source, target, &mut bar).await
}

async fn compare_rows<R: Carried>(
    source: &dyn Store,
    target: &dyn Store,
    bar: &mut Bar,
) -> Result<()> {
    let (mut ours, mut theirs) = (Rows::<R>::default(), Rows::<R>::default());
    loop {
        match (ours.next(source).await?, theirs.next(target).await?) {
            (None, None) => return Ok(()),
            (Some(one), Some(other)) => same(&one, &other)?,
            _ => bail!("the stores do not have the same rows: {MEANWHILE}"),
        }
        bar.advance(1);
    }
}

fn same<R: Carried>(one: &R, other: &R) -> Result<()> {
    if one.digest() != other.digest() {
        bail!("{} is not the same in both stores: {MEANWHILE}", one.name());
    }
    Ok(())
}

/// A progress bar over rows of several kinds.
struct Bar {
    show: Box<dyn FnMut(u64, u64) + Send>,
    done: u64,
    total: u64,
}

impl Bar {
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

/// A row of a kind that stores have, and that is carried over as it is.
trait Carried: Clone {
    /// The rows behind one.
    async fn page(store: &dyn Store, after: Option<&Self>) -> Result<Vec<Self>>;
    async fn import(target: &dyn Store, rows: Vec<Self>) -> Result<()>;
    fn urn(&self) -> &str;
    fn digest(&self) -> [u8; 32];
    /// What it is called in an error.
    fn name(&self) -> String;
}

impl Carried for RawAspect {
    async fn page(store: &dyn Store, after: Option<&Self>) -> Result<Vec<Self>> {
        Ok(store.aspects_export(after, PAGE).await?)
    }

    async fn import(target: &dyn Store, rows: Vec<Self>) -> Result<()> {
        Ok(target.import(rows, Vec::new()).await?)
    }

    fn urn(&self) -> &str {
        &self.urn
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

impl Carried for RawPoint {
    async fn page(store: &dyn Store, after: Option<&Self>) -> Result<Vec<Self>> {
        Ok(store.points_export(after, PAGE).await?)
    }

    async fn import(target: &dyn Store, rows: Vec<Self>) -> Result<()> {
        Ok(target.import(Vec::new(), rows).await?)
    }

    fn urn(&self) -> &str {
        &self.urn
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

/// Versions that must not be used again.
impl Carried for RawRetired {
    async fn page(store: &dyn Store, after: Option<&Self>) -> Result<Vec<Self>> {
        Ok(store.retired_export(after, PAGE).await?)
    }

    async fn import(target: &dyn Store, rows: Vec<Self>) -> Result<()> {
        Ok(target.retired_import(rows).await?)
    }

    fn urn(&self) -> &str {
        &self.urn
    }

    fn digest(&self) -> [u8; 32] {
        let version = self.version.to_string();
        digest([Some(&self.urn), Some(&self.aspect), Some(&version)])
    }

    fn name(&self) -> String {
        let Self { urn, aspect, .. } = self;
        format!("the last version of {aspect} of {urn}, which was taken back,")
    }
}

/// Each part with its length before it, so that no two lists look alike.
fn digest<const PARTS: usize>(parts: [Option<&str>; PARTS]) -> [u8; 32] {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update(
            part.map_or(u64::MAX, |text| text.len() as u64)
                .to_be_bytes(),
        );
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

impl<R: Carried> Pages<R> {
    async fn next(&mut self, store: &dyn Store) -> Result<Option<Vec<R>>> {
        let page = R::page(store, self.0.as_ref()).await?;
        self.0 = page.last().cloned();
        Ok((!page.is_empty()).then_some(page))
    }
}

/// The rows of a store one by one, without our own mark. Behind the last one there are none, whatever is added.
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

impl<R: Carried> Rows<R> {
    async fn next(&mut self, store: &dyn Store) -> Result<Option<R>> {
        while !self.is_over {
            match self.page.next() {
                Some(row) if row.urn() == Filling::Move.urn() => {}
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
