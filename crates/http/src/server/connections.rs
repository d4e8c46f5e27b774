//! Limits the connections: of all clients together, and of one address.
//!
//! A client over a limit gets the status 503 and `Retry-After`, instead of waiting in the kernel's
//! backlog for a connection of others to end.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use docent_catalog::rate::network;
use docent_model::measure::Counter;
use ipnet::IpNet;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;

/// Limits on connections.
#[derive(Debug, Clone)]
pub struct ConnectionLimits {
    pub total: usize,
    pub per_address: usize,
    /// Proxies, which have the connections of many clients.
    pub exempt: Vec<IpNet>,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self {
            total: 4096,
            per_address: 1024,
            exempt: Vec::new(),
        }
    }
}

/// Rejections that are sent at the same time. Further connections are closed without a response.
const MAX_REJECTIONS: usize = 64;
/// How long a rejected client may take to read the response.
const REJECTION_TIMEOUT: Duration = Duration::from_secs(1);
/// What is read of the request of a rejected client.
const MAX_REJECTED_BYTES: u64 = 64 * 1024;

/// The open connections. Clones share them.
#[derive(Debug, Clone)]
pub struct Connections(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    limits: ConnectionLimits,
    open: Mutex<Open>,
    rejections: Arc<Semaphore>,
    accepted: Counter,
    rejected: Counter,
    traffic: Traffic,
}

/// The bytes of all connections since the start.
#[derive(Debug, Default)]
pub(super) struct Traffic {
    pub(super) received: Counter,
    pub(super) sent: Counter,
}

/// What was counted since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ConnectionMeasurements {
    pub(crate) open: u64,
    pub(crate) max_open: u64,
    pub(crate) accepted: u64,
    pub(crate) rejected: u64,
    pub(crate) received_bytes: u64,
    pub(crate) sent_bytes: u64,
}

#[derive(Debug, Default)]
struct Open {
    total: usize,
    by_address: HashMap<IpAddr, usize>,
}

/// An open connection, counted until this is dropped.
#[derive(Debug)]
pub(super) struct ConnectionSlot {
    connections: Connections,
    address: Option<IpAddr>,
}

impl Connections {
    pub fn new(limits: ConnectionLimits) -> Self {
        Self(Arc::new(Shared {
            limits,
            open: Mutex::default(),
            rejections: Arc::new(Semaphore::new(MAX_REJECTIONS)),
            accepted: Counter::default(),
            rejected: Counter::default(),
            traffic: Traffic::default(),
        }))
    }

    pub(super) fn traffic(&self) -> &Traffic {
        &self.0.traffic
    }

    pub(crate) fn measurements(&self) -> ConnectionMeasurements {
        let Shared {
            limits,
            open,
            accepted,
            rejected,
            traffic,
            ..
        } = &*self.0;
        let open = open.lock().unwrap_or_else(PoisonError::into_inner).total;
        ConnectionMeasurements {
            open: open as u64,
            max_open: limits.total as u64,
            accepted: accepted.get(),
            rejected: rejected.get(),
            received_bytes: traffic.received.get(),
            sent_bytes: traffic.sent.get(),
        }
    }

    /// Counts a connection. The error says which limit it exceeds.
    pub(super) fn open(&self, address: Option<IpAddr>) -> Result<ConnectionSlot, &'static str> {
        let opened = self.try_open(address);
        let counter = match &opened {
            Ok(_) => &self.0.accepted,
            Err(_) => &self.0.rejected,
        };
        counter.increment();
        opened
    }

    fn try_open(&self, address: Option<IpAddr>) -> Result<ConnectionSlot, &'static str> {
        let limits = &self.0.limits;
        let address = address
            .filter(|address| !limits.exempt.iter().any(|proxy| proxy.contains(address)))
            .map(network);
        let mut open = self.0.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.total >= limits.total {
            return Err("The server has too many connections.");
        }
        if let Some(address) = address {
            let count = open.by_address.entry(address).or_default();
            if *count >= limits.per_address {
                return Err("Your address has too many connections.");
            }
            *count += 1;
        }
        open.total += 1;
        drop(open);
        Ok(ConnectionSlot {
            connections: self.clone(),
            address,
        })
    }

    /// Answers 503, in the background.
    pub(super) fn reject(&self, stream: TcpStream, reason: &'static str) {
        tracing::debug!("rejected a connection: {reason}");
        if let Ok(permit) = Arc::clone(&self.0.rejections).try_acquire_owned() {
            tokio::spawn(async move {
                let _permit = permit;
                // A client that does not read it gets nothing else.
                let _ = tokio::time::timeout(REJECTION_TIMEOUT, send(stream, reason)).await;
            });
        }
    }
}

impl ConnectionSlot {
    pub(super) fn connections(&self) -> &Connections {
        &self.connections
    }

    /// The network that the connection counts for; `None` for proxies.
    pub(super) fn address(&self) -> Option<IpAddr> {
        self.address
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let open = &self.connections.0.open;
        let mut open = open.lock().unwrap_or_else(PoisonError::into_inner);
        open.total -= 1;
        if let Some(address) = self.address
            && let Some(count) = open.by_address.get_mut(&address)
        {
            *count -= 1;
            if *count == 0 {
                open.by_address.remove(&address);
            }
        }
    }
}

async fn send(mut stream: TcpStream, reason: &str) -> std::io::Result<()> {
    let body =
        format!("{{\"message\":\"{reason} Close some, or try again later.\",\"status\":503}}");
    let response = format!(
        "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
         Retry-After: 1\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(response.as_bytes()).await?;
    stream.shutdown().await?;
    // Closing a socket with unread data would discard the response.
    let mut rest = stream.take(MAX_REJECTED_BYTES);
    let mut chunk = [0; 4096];
    while rest.read(&mut chunk).await? > 0 {}
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_limited_in_total_and_by_address() {
        let connections = Connections::new(ConnectionLimits {
            total: 5,
            per_address: 2,
            exempt: vec!["10.0.0.0/8".parse().unwrap()],
        });
        let open = |address: &str| connections.open(Some(address.parse().unwrap()));
        let first = open("192.0.2.1").unwrap();
        let second = open("::ffff:192.0.2.1").unwrap();
        assert!(open("192.0.2.1").unwrap_err().contains("address"));
        drop(first);
        let third = open("192.0.2.1").unwrap();
        let of_network = [open("2001:db8::1").unwrap(), open("2001:db8::2").unwrap()];
        assert!(open("2001:db8::3").unwrap_err().contains("address"));
        // A proxy counts in total only.
        let proxy = open("10.0.0.1").unwrap();
        assert!(open("10.0.0.1").unwrap_err().contains("server"));
        drop(proxy);
        assert!(open("10.0.0.1").is_ok());
        let measured = connections.measurements();
        assert_eq!((measured.open, measured.max_open), (4, 5));
        assert_eq!((measured.accepted, measured.rejected), (7, 3));
        drop((second, third, of_network));
        assert!(connections.0.open.lock().unwrap().by_address.is_empty());
    }
}
