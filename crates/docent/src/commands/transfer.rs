//! `docent move`: everything from one store into another, with its history, and the proof that it arrived.

use anyhow::{Context, Result, bail};
use clap::Args;
use docent_store::{RawAspect, RawPoint, Store};
use sha2::{Digest as _, Sha256};

use super::maintenance::progress;
use super::{runtime, say};
use crate::engine::{self, Use};
use crate::settings::StoreUrl;

/// How many rows are carried at once.
const PAGE: usize = 1000;

#[derive(Debug, Args)]
pub(crate) struct MoveFlags {
    /// The store to read; no server may use it
    #[arg(long, value_name = "URL")]
    from: String,
    /// The store to fill; it must be empty
    #[arg(long, value_name = "URL")]
    to: String,
}

pub(super) fn run(flags: &MoveFlags) -> Result<()> {
    let from = StoreUrl::parse(Some(&flags.from)).context("--from is not right")?;
    let to = StoreUrl::parse(Some(&flags.to)).context("--to is not right")?;
    runtime()?.block_on(async {
        let source = engine::open(&from, Use::Alone).await?;
        let target = engine::open(&to, Use::Server).await?;
        let empty = target.aspects_export(None, 1).await?.is_empty()
            && target.change_newest().await?.is_none();
        if !empty {
            bail!("{to} is not empty: move into a new store");
        }
        let total = count(&*source).await?;
        let carried = carry(&*source, &*target, total).await?;
        target.rebuild(progress("deriving")).await?;
        compare(&*source, &*target, total).await?;
        let findings = target.check().await?;
        if let Some(finding) = findings.first() {
            // What was wrong in the source is wrong in the copy; that is worth knowing, not worth stopping for.
            say(format!("as in {from}: {finding}"));
        }
        say(format!(
            "moved {} aspects with their history and {} points of time series from {from} to {to}; all of them are the same",
            carried.aspects, carried.points
        ));
        Ok(())
    })
}

/// What there is, for the progress.
async fn count(store: &dyn Store) -> Result<u64> {
    let mut total = 0;
    let mut rows = Aspects::default();
    while let Some(page) = rows.next(store).await? {
        total += page.len() as u64;
    }
    let mut rows = Points::default();
    while let Some(page) = rows.next(store).await? {
        total += page.len() as u64;
    }
    Ok(total)
}

#[derive(Debug, Default)]
struct Carried {
    aspects: u64,
    points: u64,
}

async fn carry(source: &dyn Store, target: &dyn Store, total: u64) -> Result<Carried> {
    let mut progress = progress("copying");
    let mut carried = Carried::default();
    let mut rows = Aspects::default();
    while let Some(page) = rows.next(source).await? {
        carried.aspects += page.len() as u64;
        target.import(page, Vec::new()).await?;
        progress(carried.aspects, total.max(carried.aspects));
    }
    let mut rows = Points::default();
    while let Some(page) = rows.next(source).await? {
        carried.points += page.len() as u64;
        target.import(Vec::new(), page).await?;
        let done = carried.aspects + carried.points;
        progress(done, total.max(done));
    }
    Ok(carried)
}

/// Compares the digest of every row; the first that differs is named.
async fn compare(source: &dyn Store, target: &dyn Store, total: u64) -> Result<()> {
    let mut progress = progress("comparing");
    let mut done = 0;
    let (mut ours, mut theirs) = (Aspects::default(), Aspects::default());
    loop {
        let (one, other) = (ours.next(source).await?, theirs.next(target).await?);
        let (Some(one), Some(other)) = (&one, &other) else {
            same_length(one.is_none() && other.is_none())?;
            break;
        };
        same_length(one.len() == other.len())?;
        for (one, other) in one.iter().zip(other) {
            if digest_of_aspect(one) != digest_of_aspect(other) {
                bail!(
                    "version {} of {} of {} is not the same in both stores",
                    one.row.version,
                    one.aspect,
                    one.urn
                );
            }
        }
        done += one.len() as u64;
        progress(done, total.max(done));
    }
    let (mut ours, mut theirs) = (Points::default(), Points::default());
    loop {
        let (one, other) = (ours.next(source).await?, theirs.next(target).await?);
        let (Some(one), Some(other)) = (&one, &other) else {
            same_length(one.is_none() && other.is_none())?;
            break;
        };
        same_length(one.len() == other.len())?;
        for (one, other) in one.iter().zip(other) {
            if digest_of_point(one) != digest_of_point(other) {
                bail!(
                    "a point of {} of {} is not the same in both stores",
                    one.aspect,
                    one.urn
                );
            }
        }
        done += one.len() as u64;
        progress(done, total.max(done));
    }
    Ok(())
}

fn same_length(same: bool) -> Result<()> {
    if !same {
        bail!("the stores do not have the same rows: was one of them written to meanwhile?");
    }
    Ok(())
}

fn digest_of_aspect(RawAspect { urn, aspect, row }: &RawAspect) -> [u8; 32] {
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

fn digest_of_point(RawPoint { urn, aspect, point }: &RawPoint) -> [u8; 32] {
    digest([
        Some(urn.as_str()),
        Some(aspect),
        Some(&point.time_ms.to_string()),
        Some(&point.id),
        Some(&point.metadata),
        point.system_metadata.as_deref(),
    ])
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

/// The aspects of a store, page by page.
#[derive(Debug, Default)]
struct Aspects(Option<RawAspect>);

impl Aspects {
    async fn next(&mut self, store: &dyn Store) -> Result<Option<Vec<RawAspect>>> {
        let page = store.aspects_export(self.0.as_ref(), PAGE).await?;
        self.0 = page.last().cloned();
        Ok((!page.is_empty()).then_some(page))
    }
}

/// The points of a store, page by page.
#[derive(Debug, Default)]
struct Points(Option<RawPoint>);

impl Points {
    async fn next(&mut self, store: &dyn Store) -> Result<Option<Vec<RawPoint>>> {
        let page = store.points_export(self.0.as_ref(), PAGE).await?;
        self.0 = page.last().cloned();
        Ok((!page.is_empty()).then_some(page))
    }
}
