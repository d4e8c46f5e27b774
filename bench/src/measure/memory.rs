//! A server's memory after ingesting a million aspects.

use anyhow::Result;

use crate::bench::Bench;
use crate::data::BLOCK;
use crate::measure::bulk;
use crate::report::{Report, Target};
use crate::store;

const ASPECTS: u64 = 1_000_000;

/// Datasets per load, which limits the memory of prepared requests.
const STEP: usize = BLOCK / 2;

pub(crate) async fn measure(bench: &Bench, report: &mut Report) -> Result<()> {
    let store = bench.create_store("memory.db")?;
    let docent = bench.serve(&store, None)?;
    let reader = store::open_reader(&store.path)?;
    let mut client = docent.client(4).await?;
    bulk::load_domains(&docent, &mut client).await?;
    let mut first = 0;
    // The log has one entry per aspect, and its end is quick to find.
    while store::last_position(&reader)?.unsigned_abs() < ASPECTS {
        report.progress(&format!("a million aspects: {first} datasets"));
        bulk::load_datasets(&docent, &mut client, first, STEP).await?;
        first += STEP;
    }
    let resident = docent.server.memory_kib("VmRSS")? as f64 / 1024.0;
    let highest = docent.server.memory_kib("VmHWM")? as f64 / 1024.0;
    let aspects = store::aspect_rows(&reader)?;
    drop(reader);
    docent.server.stop()?;
    store.remove()?;
    report.line(
        format!("resident memory after loading {aspects} aspects"),
        format!("{resident:.1} MiB (highest {highest:.1})"),
        "",
        resident,
        Target::Below(150.0, "MiB"),
        "A server that has just loaded a whole warehouse still fits into a small container.",
    );
    Ok(())
}
