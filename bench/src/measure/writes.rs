//! Durable writes of column descriptions by many writers, compared with plain rusqlite that commits
//! the same rows one by one; and many writers compared with one on a slow disk.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::bench::{Bench, Docent, Store, median, turn_index};
use crate::client;
use crate::data::{self, BLOCK, COLUMNS};
use crate::load::{Client, Source, Until};
use crate::report::{Report, Target};
use crate::store;

pub(crate) const WRITERS: usize = 64;

/// Writes per writer and slice. Few enough that the server prunes no versions.
const TURNS: u64 = 64;

/// Writes of a single writer per slice.
const TURNS_ALONE: u64 = 1_000;

/// The texts of a single writer differ from those of many.
const SERIAL_ALONE: u64 = 500_000_000;

/// Each writer has its own datasets; every write has a different text.
#[derive(Debug)]
pub(crate) struct ColumnWrites {
    token: String,
    writers: usize,
    serial: AtomicU64,
    datasets: usize,
    reply: Vec<u8>,
}

impl ColumnWrites {
    pub(crate) fn new(store: &Store, datasets: usize, first_serial: u64) -> Self {
        Self {
            token: store.token.clone(),
            writers: WRITERS,
            serial: AtomicU64::new(first_serial),
            datasets,
            reply: data::column_write_reply().to_string().into_bytes(),
        }
    }
}

impl Source for ColumnWrites {
    fn request(&self, connection: usize, turn: u64, request: &mut Vec<u8>) -> bool {
        let serial = self.serial.fetch_add(1, Ordering::Relaxed);
        let turn = turn_index(turn);
        let dataset = (turn * self.writers + connection) % self.datasets;
        let body = data::column_write(dataset, turn % COLUMNS, serial);
        request.extend(client::post("/api/graphql", &self.token, &body));
        true
    }

    fn is_right(&self, reply: &[u8]) -> bool {
        reply == self.reply
    }
}

pub(crate) async fn measure(bench: &Bench, store: &Store, report: &mut Report) -> Result<()> {
    let store = store.copy(bench.path("writes.db"))?;
    let datasets = if bench.quick { 2_048 } else { BLOCK };
    let source = Arc::new(ColumnWrites::new(&store, datasets, 0));
    report.progress("64 writers: every dataset gets its first edit");
    let docent = bench.serve(&store, None)?;
    let mut client = docent.client(WRITERS).await?;
    let first_edits = datasets.div_ceil(WRITERS) as u64;
    client.drive(&source, Until::Turns(first_edits)).await?;
    docent.server.stop()?;
    let peer = store.copy(bench.path("writes-peer.db"))?;

    let docent = bench.serve(&store, None)?;
    against_rusqlite(bench, &docent, &store, &peer, &source, report).await?;
    let alone = Arc::new(ColumnWrites {
        writers: 1,
        ..ColumnWrites::new(&store, datasets, SERIAL_ALONE)
    });
    against_rusqlite(bench, &docent, &store, &peer, &alone, report).await?;
    docent.server.stop()?;
    peer.remove()?;

    report.progress("64 writers and one on a slow disk");
    with_slow_disk(bench, &store, &source, report).await?;
    store.remove()
}

async fn against_rusqlite(
    bench: &Bench,
    docent: &Docent,
    store: &Store,
    peer: &Store,
    source: &Arc<ColumnWrites>,
    report: &mut Report,
) -> Result<()> {
    let reader = store::open_reader(&store.path)?;
    store::check_tables(&reader)?;
    let (turns, name, target, meaning) = if source.writers == 1 {
        (
            if bench.quick {
                TURNS_ALONE / 4
            } else {
                TURNS_ALONE
            },
            "column descriptions, one writer",
            Target::AtLeast(0.8),
            "A script that saves one change after the other is nearly as fast as the database alone.",
        )
    } else {
        (
            TURNS,
            "column descriptions, 64 writers",
            Target::AtLeast(0.4),
            "What a team edits at the same time is saved nearly as fast as the database alone could \
             do it.",
        )
    };
    let mut client = docent.client(source.writers).await?;
    let (mut ours, mut theirs, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for slice in 0..if bench.quick { 2 } else { 7 } {
        report.progress(&format!(
            "{name}, against bare rusqlite, slice {}",
            slice + 1
        ));
        let position = store::last_position(&reader)?;
        let done = client.drive(source, Until::Turns(turns)).await?;
        let written = store::writes_after(&reader, position)?;
        ensure!(
            written.len() as u64 == done.requests,
            "{} writes were acknowledged, but {} changes are logged",
            done.requests,
            written.len()
        );
        let elapsed = store::replay(&peer.path, written, 1)?;
        let peer_rate = done.requests as f64 / elapsed.as_secs_f64();
        ours.push(done.per_second());
        theirs.push(peer_rate);
        ratios.push(done.per_second() / peer_rate);
    }
    report.line(
        name,
        format!("{:.0} writes/s", median(&ours)),
        format!("bare rusqlite {:.0} commits/s", median(&theirs)),
        median(&ratios),
        target,
        meaning,
    );
    Ok(())
}

async fn with_slow_disk(
    bench: &Bench,
    store: &Store,
    source: &Arc<ColumnWrites>,
    report: &mut Report,
) -> Result<()> {
    let library = slow_fsync(&bench.work)?;
    let docent = bench.serve(store, Some(&library))?;
    let duration = Duration::from_millis(if bench.quick { 1_000 } else { 3_000 });
    let mut rates = Vec::new();
    for writers in [1, WRITERS] {
        let mut client = Client::open(docent.server.address(), writers).await?;
        client.drive(source, Until::Turns(4)).await?;
        let done = client.drive(source, Until::Elapsed(duration)).await?;
        rates.push(done.per_second());
    }
    docent.server.stop()?;
    ensure!(
        rates[0] < 500.0,
        "one writer made {:.0} durable writes per second although each sync takes 2 ms: slow_fsync has no effect",
        rates[0]
    );
    report.line(
        "column descriptions, 64 writers, each fsync 2 ms slower",
        format!("{:.0} writes/s", rates[1]),
        format!("one writer {:.0} writes/s", rates[0]),
        rates[1] / rates[0],
        Target::AtLeast(15.0),
        "On slow disks, edits made at the same time share the wait for the disk.",
    );
    Ok(())
}

/// Compiles the library that delays fsync.
fn slow_fsync(work: &Path) -> Result<PathBuf> {
    let (source, library) = (work.join("slow_fsync.c"), work.join("slow_fsync.so"));
    std::fs::write(&source, include_str!("../../slow_fsync.c"))?;
    let status = Command::new("cc")
        .args(["-shared", "-fPIC", "-O2", "-o"])
        .args([&library, &source])
        .arg("-ldl")
        .status()
        .context("cannot start the C compiler")?;
    ensure!(status.success(), "slow_fsync.c does not compile");
    Ok(library)
}
