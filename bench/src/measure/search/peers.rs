//! The peers: what people use for full text on one machine. They get the same words and count the facets that the
//! catalog has values for.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::ask::Times;
use crate::process;
use crate::report::{Report, Target};

/// A peer is slow: it is asked for so long and no more, but so many questions at least.
const LONGEST: Duration = Duration::from_mins(1);
const LEAST: usize = 30;

/// How a name, a column and a description count against each other.
pub(super) const WEIGHTS: [f64; 3] = [10.0, 4.0, 1.0];

/// How many values of each facet are asked for.
pub(super) const FACET_VALUES: usize = 20;

pub(super) trait Peer {
    /// Takes the best ten and the facets of everything that has one of the words. How many rows came back.
    fn answer(&mut self, words: &[String; 2]) -> Result<usize>;

    /// The URNs of the best ten of everything that has one of the words.
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
        if started.elapsed() > LONGEST && times.elapsed.len() >= LEAST {
            break;
        }
        let asked = Instant::now();
        let rows = peer.answer(words)?;
        times.elapsed.push(asked.elapsed());
        ensure!(rows > 10, "{name} found {rows} rows for {words:?}");
    }
    // Ours for the same questions: these need not be as hard as all of them.
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
        );
    }
    Ok(())
}

/// Says how fast a peer took the catalog in, in datasets per second.
pub(super) fn loaded(name: &str, rate: f64, our_rate: f64, report: &mut Report) {
    report.line(
        format!("search: indexing against {name}"),
        format!("{our_rate:.0} datasets/s"),
        format!("{name} {rate:.0} datasets/s"),
        our_rate / rate,
        Target::None,
    );
}

/// Does something on the core of the servers, in this thread.
pub(super) fn on_server_core<T>(task: impl FnOnce() -> Result<T>) -> Result<T> {
    process::pin(process::SERVER_CORE)?;
    let done = task();
    process::pin(process::CLIENT_CORE)?;
    done
}
