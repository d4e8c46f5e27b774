//! The load generator: several connections that send one request at a time each.

use std::net::SocketAddr;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use tokio::sync::Mutex;
use tokio::task::JoinSet;

use crate::client::{Connection, Reply};

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

    /// Sends `count` requests at a fixed rate. Returns how long after its scheduled time each was
    /// answered, shortest first. A request that waits for a connection is late already, so a server
    /// that stalls is charged for all requests of that time.
    pub(crate) async fn at_rate(
        &mut self,
        source: &Arc<impl Source>,
        per_second: u32,
        count: u32,
    ) -> Result<Vec<Duration>> {
        let schedule = Arc::new(Schedule {
            started: Instant::now(),
            interval: Duration::from_secs(1) / per_second,
            count,
            next: Mutex::new(0),
        });
        let mut running = JoinSet::new();
        for (index, (mut connection, mut turn)) in std::mem::take(&mut self.connections)
            .into_iter()
            .enumerate()
        {
            let (source, schedule) = (Arc::clone(source), Arc::clone(&schedule));
            running.spawn(async move {
                let (mut request, mut times) = (Vec::new(), Vec::new());
                while let Some(due) = schedule.next().await {
                    request.clear();
                    if !source.request(index, turn, &mut request) {
                        break;
                    }
                    check(&connection.exchange(&request).await?, &*source)?;
                    times.push(due.elapsed());
                    turn += 1;
                }
                anyhow::Ok((index, connection, turn, times))
            });
        }
        let (mut times, mut back) = (Vec::new(), Vec::new());
        while let Some(ended) = running.join_next().await {
            let (index, connection, turn, own) = ended??;
            times.extend(own);
            back.push((index, connection, turn));
        }
        back.sort_by_key(|(index, ..)| *index);
        self.connections = back
            .into_iter()
            .map(|(_, connection, turn)| (connection, turn))
            .collect();
        times.sort_unstable();
        Ok(times)
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
        check(&connection.exchange(&request).await?, source)?;
        turn += 1;
    }
    Ok((connection, turn))
}

fn check(reply: &Reply<'_>, source: &impl Source) -> Result<()> {
    if reply.status != 200 || !source.is_right(reply.body) {
        let text = String::from_utf8_lossy(reply.body);
        bail!("an incorrect reply, status {}: {text:.500}", reply.status);
    }
    Ok(())
}

/// The times at which the requests of all connections are due.
struct Schedule {
    started: Instant,
    interval: Duration,
    count: u32,
    /// The number of the next request. The connection that waits for its time holds the lock.
    next: Mutex<u32>,
}

/// The timer of the runtime is a millisecond late at most.
const TIMER: Duration = Duration::from_millis(2);

impl Schedule {
    /// Waits until the next request is due; `None` after the last.
    async fn next(&self) -> Option<Instant> {
        let mut next = self.next.lock().await;
        if *next == self.count {
            return None;
        }
        let due = self.started + self.interval * *next;
        let remaining = due.saturating_duration_since(Instant::now());
        if let Some(long) = remaining.checked_sub(TIMER) {
            tokio::time::sleep(long).await;
        }
        // Replies to other connections are read meanwhile.
        while Instant::now() < due {
            tokio::task::yield_now().await;
        }
        *next += 1;
        Some(due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_late_request_keeps_its_scheduled_time() {
        let schedule = Schedule {
            started: Instant::now(),
            interval: Duration::from_millis(5),
            count: 3,
            next: Mutex::new(0),
        };
        assert_eq!(schedule.next().await, Some(schedule.started));
        // As if a server stalled.
        tokio::time::sleep(Duration::from_millis(30)).await;
        for number in 1..3 {
            let due = schedule.started + schedule.interval * number;
            assert_eq!(schedule.next().await, Some(due));
            assert!(due.elapsed() >= Duration::from_millis(20));
        }
        assert_eq!(schedule.next().await, None);
    }

    #[tokio::test]
    async fn a_request_is_not_sent_before_its_time() {
        let schedule = Schedule {
            started: Instant::now(),
            interval: Duration::from_millis(10),
            count: 4,
            next: Mutex::new(0),
        };
        while let Some(due) = schedule.next().await {
            assert!(Instant::now() >= due);
        }
        assert!(schedule.started.elapsed() >= Duration::from_millis(30));
    }
}
