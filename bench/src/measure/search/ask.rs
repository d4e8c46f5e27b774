//! Sends queries over HTTP one at a time, and measures each from its first byte to the last byte of
//! the reply.
//!
//! The routes are those of [`crate::search_server`]; [`super::graphql`] queries docent.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::client;
use crate::load::Client;
use crate::process::Server;

/// The search server does not require a token.
const TOKEN: &str = "none";

pub(super) fn prepare() -> Vec<u8> {
    client::post("/prepare", TOKEN, "{}")
}

pub(super) fn search(query: &str) -> Vec<u8> {
    client::post("/search", TOKEN, &json!({"query": query}).to_string())
}

/// The same, by a user who may view these domains.
pub(super) fn search_in(query: &str, domains: &[String]) -> Vec<u8> {
    let body = json!({"query": query, "visibleDomains": domains});
    client::post("/search", TOKEN, &body.to_string())
}

pub(super) fn complete(query: &str) -> Vec<u8> {
    client::post("/complete", TOKEN, &json!({"query": query}).to_string())
}

pub(super) fn write(urn: &str, description: &str) -> Vec<u8> {
    let body = json!({"urn": urn, "description": description});
    client::post("/write", TOKEN, &body.to_string())
}

pub(super) fn total(reply: &Value) -> Option<u64> {
    reply.get("total").and_then(Value::as_u64)
}

pub(super) fn has_found(reply: &Value) -> bool {
    total(reply).is_some_and(|total| total > 0) && first_urn(reply).is_some()
}

pub(super) fn first_urn(reply: &Value) -> Option<&str> {
    urns(reply).next()
}

pub(super) fn urns(reply: &Value) -> impl Iterator<Item = &str> {
    let hits = reply.get("hits").and_then(Value::as_array);
    let urns = hits.into_iter().flatten().map(|hit| hit.get("urn"));
    urns.filter_map(|urn| urn.and_then(Value::as_str))
}

pub(super) fn has_completed(reply: &Value) -> bool {
    reply.pointer("/suggestions/0").is_some()
}

/// One connection.
#[derive(Debug)]
pub(super) struct Asker {
    client: Client,
}

impl Asker {
    pub(super) async fn open(server: &Server) -> Result<Self> {
        Ok(Self {
            client: Client::open(server.address(), 1).await?,
        })
    }

    /// Sends a request without measuring it.
    pub(super) async fn ask(&mut self, request: &[u8]) -> Result<Value> {
        let reply = self.client.ask(request).await?;
        Ok(serde_json::from_slice(&reply)?)
    }

    /// Sends requests one after another and measures them.
    pub(super) async fn time(
        &mut self,
        server: &Server,
        requests: &[Vec<u8>],
        is_right: fn(&Value) -> bool,
    ) -> Result<Times> {
        let mut times = Times::default();
        let before = server.cpu()?;
        for request in requests {
            let started = Instant::now();
            let reply = self.client.ask(request).await?;
            times.elapsed.push(started.elapsed());
            let reply = serde_json::from_slice(&reply)?;
            ensure!(
                is_right(&reply),
                "{} was answered with {reply}",
                String::from_utf8_lossy(request)
            );
            times.replies.push(reply);
        }
        times.cpu = server.cpu()?.since(&before);
        Ok(times)
    }
}

/// The durations of some requests.
#[derive(Debug, Default)]
pub(super) struct Times {
    pub(super) elapsed: Vec<Duration>,
    /// CPU time of the server for all of them.
    pub(super) cpu: Duration,
    pub(super) replies: Vec<Value>,
}

impl Times {
    pub(super) fn add(&mut self, more: Self) {
        self.elapsed.extend(more.elapsed);
        self.cpu += more.cpu;
        self.replies.extend(more.replies);
    }

    /// The first requests alone.
    pub(super) fn first(&self, count: usize) -> Self {
        Self {
            elapsed: self.elapsed.iter().copied().take(count).collect(),
            ..Self::default()
        }
    }

    /// A percentile in milliseconds; 0 without any request.
    pub(super) fn percentile_ms(&self, percent: usize) -> f64 {
        let mut sorted = self.elapsed.clone();
        sorted.sort_unstable();
        let rank = (sorted.len() * percent).div_ceil(100).max(1) - 1;
        sorted
            .get(rank)
            .map_or(0.0, |elapsed| elapsed.as_secs_f64() * 1e3)
    }

    pub(super) fn text(&self, percent: usize) -> String {
        let cpu_ms = self.cpu.as_secs_f64() * 1e3 / self.elapsed.len().max(1) as f64;
        format!(
            "{:.2} ms (CPU {cpu_ms:.2} ms on average)",
            self.percentile_ms(percent)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_upper_bounds() {
        let times = Times {
            elapsed: (1..=200).rev().map(Duration::from_millis).collect(),
            ..Times::default()
        };
        assert!((times.percentile_ms(50) - 100.0).abs() < 1e-9);
        assert!((times.percentile_ms(99) - 198.0).abs() < 1e-9);
        assert!((times.percentile_ms(100) - 200.0).abs() < 1e-9);
        assert!((times.first(10).percentile_ms(100) - 200.0).abs() < 1e-9);
        assert!((times.first(10).percentile_ms(50) - 195.0).abs() < 1e-9);
        assert!(Times::default().percentile_ms(50).abs() < 1e-9);
    }
}
