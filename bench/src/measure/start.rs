//! The time from process start to the first reply, and the memory of an idle server.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::Value;

use crate::bench::{Bench, Docent, Store, median};
use crate::data::Read;
use crate::report::{Report, Target};

const IDLE: Duration = Duration::from_secs(1);

/// Starts a server and returns it with the milliseconds until its first reply.
pub(crate) async fn to_first_reply(bench: &Bench, store: &Store) -> Result<(Docent, f64)> {
    let started = Instant::now();
    let docent = bench.serve(store, None)?;
    let mut client = docent.client(1).await?;
    let request = docent.graphql(&Read::Description.with_variable(7));
    let reply: Value = serde_json::from_slice(&client.ask(&request).await?)?;
    let milliseconds = started.elapsed().as_secs_f64() * 1e3;
    ensure!(
        reply == Read::Description.reply(7),
        "the first reply is {reply}"
    );
    Ok((docent, milliseconds))
}

pub(crate) async fn measure(bench: &Bench, store: &Store, report: &mut Report) -> Result<()> {
    report.progress("start to first answer");
    let mut milliseconds = Vec::new();
    let mut idle_mib = Vec::new();
    for _ in 0..if bench.quick { 3 } else { 7 } {
        let (docent, elapsed) = to_first_reply(bench, store).await?;
        milliseconds.push(elapsed);
        tokio::time::sleep(IDLE).await;
        idle_mib.push(docent.server.memory_kib("VmRSS")? as f64 / 1024.0);
        docent.server.stop()?;
    }
    report.line(
        "start to first answer, existing store",
        format!("{:.0} ms", median(&milliseconds)),
        "",
        median(&milliseconds),
        Target::Below(100.0, "ms"),
        "A restart for an update is shorter than the time after which a client sends its request again.",
    );
    report.line(
        "resident memory, idle",
        format!("{:.1} MiB", median(&idle_mib)),
        "",
        median(&idle_mib),
        Target::Below(40.0, "MiB"),
        "The server fits next to other programs on the smallest machines that are rented out.",
    );
    Ok(())
}
