//! Batch ingestion, compared with plain rusqlite inserts of the same rows into the same tables, in
//! the same transactions.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Result, ensure};
use serde_json::json;

use crate::bench::{Bench, Docent, Store, median};
use crate::data::{self, BLOCK, DATASETS_PER_REQUEST};
use crate::load::{Client, Done, Source, Until};
use crate::report::{Report, Target};
use crate::store;

const CONNECTIONS: usize = 4;

/// Sends each batch once, on the first free connection.
#[derive(Debug)]
struct Batches {
    requests: Vec<Vec<u8>>,
    next: AtomicUsize,
    reply: Vec<u8>,
}

impl Source for Batches {
    fn request(&self, _connection: usize, _turn: u64, request: &mut Vec<u8>) -> bool {
        let index = self.next.fetch_add(1, Ordering::Relaxed);
        let Some(next) = self.requests.get(index) else {
            return false;
        };
        request.extend_from_slice(next);
        true
    }

    fn is_right(&self, reply: &[u8]) -> bool {
        reply == self.reply
    }
}

/// Fills the store with [`BLOCK`] datasets and measures the rate.
pub(crate) async fn measure(bench: &Bench, store: &Store, report: &mut Report) -> Result<()> {
    let peer = store.copy(bench.path("bulk-peer.db"))?;
    let docent = bench.serve(store, None)?;
    let reader = store::open_reader(&store.path)?;
    store::check_tables(&reader)?;
    let mut client = docent.client(CONNECTIONS).await?;
    let position = store::last_position(&reader)?;
    load_domains(&docent, &mut client).await?;
    store::replay(&peer.path, store::writes_after(&reader, position)?, 20)?;

    let slices = 10;
    let datasets = BLOCK / slices;
    let (mut ours, mut theirs, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for slice in 0..slices {
        report.progress(&format!("bulk against bare rusqlite, slice {}", slice + 1));
        let position = store::last_position(&reader)?;
        let done = load_datasets(&docent, &mut client, slice * datasets, datasets).await?;
        let written = store::writes_after(&reader, position)?;
        let rows = written.len();
        ensure!(
            rows.is_multiple_of(datasets),
            "{rows} aspects were written for {datasets} datasets"
        );
        let per_request = rows / datasets * DATASETS_PER_REQUEST;
        let peer_elapsed = store::replay(&peer.path, written, per_request)?;
        ours.push(rows as f64 / done.elapsed.as_secs_f64());
        theirs.push(rows as f64 / peer_elapsed.as_secs_f64());
        ratios.push(peer_elapsed.as_secs_f64() / done.elapsed.as_secs_f64());
    }
    drop(reader);
    docent.server.stop()?;
    peer.remove()?;
    report.line(
        "bulk ingestion, 200 per request",
        format!("{:.0} aspects/s", median(&ours)),
        format!("bare rusqlite {:.0} aspects/s", median(&theirs)),
        median(&ratios),
        Target::AtLeast(0.4),
        "A nightly ingestion takes little longer than writing its rows into the database.",
    );
    Ok(())
}

pub(crate) async fn load_domains(docent: &Docent, client: &mut Client) -> Result<()> {
    client.ask(&docent.batch(&data::domains_batch())).await?;
    Ok(())
}

/// Sends `count` datasets, starting with `first`; the requests are prepared before the measurement.
pub(crate) async fn load_datasets(
    docent: &Docent,
    client: &mut Client,
    first: usize,
    count: usize,
) -> Result<Done> {
    let source = Arc::new(Batches {
        requests: (first..first + count)
            .step_by(DATASETS_PER_REQUEST)
            .map(|first| docent.batch(&data::datasets_batch(first)))
            .collect(),
        next: AtomicUsize::new(0),
        reply: json!({"value": "success"}).to_string().into_bytes(),
    });
    client.drive(&source, Until::Turns(u64::MAX)).await
}
