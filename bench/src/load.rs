//! The load generator: several connections that send one request at a time each.

use std::net::SocketAddr;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use tokio::task::JoinSet;

use crate::client::Connection;

/// A source of requests. An incorrect reply aborts the measurement.
pub(crate) trait Source: Send + Sync + 'static {
    /// Writes the `turn`th request of a connection into `request`; returns `false` if there are no
    /// more.
    fn request(&self, connection: usize, turn: u64, request: &mut Vec<u8>) -> bool;

    /// Whether the reply is correct.
    fn is_right(&self, reply: &[u8]) -> bool;
}

/// A source that sends a fixed number of distinct requests again and again.
pub(crate) trait Repeated: Source {
    fn distinct_requests(&self) -> usize;
}

/// When a connection stops.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Until {
    /// After this time.
    Elapsed(Duration),
    /// After this many requests, or when the source has no more.
    Turns(u64),
}

/// The time limit of one load.
const LONGEST: Duration = Duration::from_mins(10);

/// The connections of one client, open between measurements, with the next turn of each.
#[derive(Debug)]
pub(crate) struct Client {
    connections: Vec<(Connection, u64)>,
}

/// The result of a load.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Done {
    pub(crate) requests: u64,
    pub(crate) elapsed: Duration,
}

impl Done {
    pub(crate) fn per_second(self) -> f64 {
        self.requests as f64 / self.elapsed.as_secs_f64()
    }
}

impl Client {
    pub(crate) async fn open(address: SocketAddr, count: usize) -> Result<Self> {
        let mut connections = Vec::with_capacity(count);
        for _ in 0..count {
            connections.push((Connection::open(address).await?, 0));
        }
        Ok(Self { connections })
    }

    /// Sends one request outside of a measurement and returns the reply's body.
    pub(crate) async fn ask(&mut self, request: &[u8]) -> Result<Vec<u8>> {
        let Some((connection, _)) = self.connections.first_mut() else {
            bail!("a client without connections");
        };
        let reply = connection.exchange(request).await?;
        let text = String::from_utf8_lossy(reply.body);
        ensure!(reply.status == 200, "status {}: {text}", reply.status);
        Ok(reply.body.to_vec())
    }

    /// Runs all connections concurrently.
    pub(crate) async fn drive(&mut self, source: &Arc<impl Source>, until: Until) -> Result<Done> {
        let started = Instant::now();
        let (duration, turns) = match until {
            Until::Elapsed(duration) => (duration.min(LONGEST), u64::MAX),
            Until::Turns(turns) => (LONGEST, turns),
        };
        let end = started + duration;
        let mut running = JoinSet::new();
        for (index, (connection, turn)) in std::mem::take(&mut self.connections)
            .into_iter()
            .enumerate()
        {
            let source = Arc::clone(source);
            running.spawn(async move {
                let turns = turn..turn.saturating_add(turns);
                let ran = run(index, connection, turns, &*source, end).await;
                ran.map(|(connection, last)| (index, connection, turn, last))
            });
        }
        let mut requests = 0;
        let mut back = Vec::new();
        while let Some(ended) = running.join_next().await {
            let (index, connection, first, last) = ended??;
            requests += last - first;
            back.push((index, connection, last));
        }
        let elapsed = started.elapsed();
        ensure!(
            matches!(until, Until::Elapsed(_)) || elapsed < LONGEST,
            "a load took longer than {} s",
            LONGEST.as_secs()
        );
        back.sort_by_key(|(index, ..)| *index);
        self.connections = back
            .into_iter()
            .map(|(_, connection, turn)| (connection, turn))
            .collect();
        Ok(Done { requests, elapsed })
    }
}

async fn run(
    index: usize,
    mut connection: Connection,
    turns: Range<u64>,
    source: &impl Source,
    end: Instant,
) -> Result<(Connection, u64)> {
    let mut request = Vec::new();
    let mut turn = turns.start;
    while turn < turns.end && Instant::now() < end {
        request.clear();
        if !source.request(index, turn, &mut request) {
            break;
        }
        let reply = connection.exchange(&request).await?;
        if reply.status != 200 || !source.is_right(reply.body) {
            let text = String::from_utf8_lossy(reply.body);
            bail!("an incorrect reply, status {}: {text:.500}", reply.status);
        }
        turn += 1;
    }
    Ok((connection, turn))
}
