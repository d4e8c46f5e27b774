//! The peers: the usual full-text search on one machine. They get the same words, and count the
//! same facets as far as the catalog has values for them.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::ask::Times;
use crate::process;
use crate::report::{Report, Target};

/// Peers are slow: each runs for at most this long, but at least this many queries.
const MAX_TIME: Duration = Duration::from_mins(1);
const MIN_QUERIES: usize = 30;

/// Weights of names, columns and descriptions.
pub(super) const WEIGHTS: [f64; 3] = [10.0, 4.0, 1.0];

/// How many values of each facet to request.
pub(super) const FACET_VALUES: usize = 20;

pub(super) trait Peer {
    /// Queries the best ten and the facets of all rows with one of the words. Returns the number of
    /// rows received.
    fn answer(&mut self, words: &[String; 2]) -> Result<usize>;

    /// The URNs of the best ten rows with one of the words.
    fn best(&mut self, words: &[String]) -> Result<Vec<String>>;
}

pub(super) fn ask(
    name: &str,
    peer: &mut impl Peer,
    words: &[[String; 2]],
    ours: &Times,
    report: &mut Report,
) -> Result<()> {
    report.progress(&format!("two-word queries to {name}"));
    let mut times = Times::default();
    let started = Instant::now();
    for words in words {
        if started.elapsed() > MAX_TIME && times.elapsed.len() >= MIN_QUERIES {
            break;
        }
        let started = Instant::now();
        let rows = peer.answer(words)?;
        times.elapsed.push(started.elapsed());
        ensure!(rows > 10, "{name} found {rows} rows for {words:?}");
    }
    // Compares the same queries, which may be easier than all of them.
    let count = times.elapsed.len();
    let ours = ours.first(count);
    for percent in [50, 99] {
        let (own, other) = (ours.percentile_ms(percent), times.percentile_ms(percent));
        report.line(
            format!("search: two words with facets, p{percent}, against {name}"),
            format!("{own:.2} ms"),
            format!("{name} {other:.2} ms ({count} queries)"),
            other / own,
            Target::None,
            "The same search in the full-text search that comes with a database is slower by the ratio.",
        );
    }
    Ok(())
}

/// Reports how many datasets per second a peer loaded.
pub(super) fn loaded(name: &str, rate: f64, our_rate: f64, report: &mut Report) {
    report.line(
        format!("search: indexing against {name}"),
        format!("{our_rate:.0} datasets/s"),
        format!("{name} {rate:.0} datasets/s"),
        our_rate / rate,
        Target::None,
        "How much sooner than with a database's full-text search a new catalog can be searched.",
    );
}

/// Runs a task on the core of the servers, in this thread.
pub(super) fn on_server_core<T>(task: impl FnOnce() -> Result<T>) -> Result<T> {
    process::pin(process::SERVER_CORE)?;
    let done = task();
    process::pin(process::CLIENT_CORE)?;
    done
}
