//! Requests at fixed times, whatever the replies to earlier ones take.
//!
//! A client that waits for each reply before its next request makes few requests while the server
//! stands still, and its percentiles do not show that. So the time of a request starts when it is
//! due, not when it is sent.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{anyhow, ensure};
use docent_e2e::Server;
use reqwest::Method;
use serde_json::json;

/// The time between two requests of one kind.
const INTERVAL: Duration = Duration::from_millis(10);
/// The clients that make them in turn. One alone would fall behind for ever where a request takes
/// longer than the interval.
const CLIENTS: u32 = 8;

/// What one kind of request takes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Latency {
    pub(super) p99: Duration,
    pub(super) max: Duration,
}

/// What a small read and a request for the server's health take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Latencies {
    pub(super) read: Latency,
    pub(super) health: Latency,
}

impl Latencies {
    pub(super) fn measure(server: &Server, time: Duration) -> anyhow::Result<Self> {
        thread::scope(|scope| {
            let health = scope.spawn(|| Latency::measure(time, || check_health(server)));
            let read = Latency::measure(time, || read(server))?;
            let health = health.join().map_err(|_| anyhow!("a client panicked"))??;
            Ok(Self { read, health })
        })
    }

    /// The slowest of all requests.
    pub(super) fn max(&self) -> Duration {
        self.read.max.max(self.health.max)
    }
}

impl Latency {
    /// Makes a request every [`INTERVAL`].
    fn measure(
        time: Duration,
        request: impl Fn() -> anyhow::Result<()> + Sync,
    ) -> anyhow::Result<Self> {
        let start = Instant::now();
        let mut times = thread::scope(|scope| {
            let request = &request;
            let clients: Vec<_> = (0..CLIENTS)
                .map(|number| {
                    let first = start + INTERVAL * number;
                    scope.spawn(move || repeat(first, start + time, request))
                })
                .collect();
            let mut times = Vec::new();
            for client in clients {
                times.extend(client.join().map_err(|_| anyhow!("a client panicked"))??);
            }
            anyhow::Ok(times)
        })?;
        times.sort_unstable();
        let last = times.len() - 1;
        Ok(Self {
            p99: times[last - last / 100],
            max: times[last],
        })
    }
}

/// Makes every request of one client when it is due, or as soon after that as the one before it
/// allows. Returns the time from then on of each.
fn repeat(
    first: Instant,
    end: Instant,
    request: impl Fn() -> anyhow::Result<()>,
) -> anyhow::Result<Vec<Duration>> {
    let mut times = Vec::new();
    let mut due = first;
    while due < end || times.is_empty() {
        thread::sleep(due.saturating_duration_since(Instant::now()));
        request()?;
        times.push(due.elapsed());
        due += INTERVAL * CLIENTS;
    }
    Ok(times)
}

fn read(server: &Server) -> anyhow::Result<()> {
    let body = json!({"query": "{ tag(urn: \"urn:li:tag:one\") { properties { name } } }"});
    let request = server.anonymous_request(Method::POST, "/api/graphql");
    let reply = server.send(request.json(&body))?;
    ensure!(
        reply.status == 200 && reply.body.contains("name1"),
        "{reply:?}"
    );
    Ok(())
}

fn check_health(server: &Server) -> anyhow::Result<()> {
    let reply = server.send(server.anonymous_request(Method::GET, "/health/live"))?;
    ensure!(reply.status == 200, "{reply:?}");
    Ok(())
}
