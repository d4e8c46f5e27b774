//! A receiver of events that can be killed: it loses its connections, and keeps what it has stored.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::Context as _;
use serde_json::Value;

/// How long a request may take to arrive.
const TIMEOUT: Duration = Duration::from_secs(5);

/// An event that was stored, perhaps more than once.
#[derive(Debug, Clone)]
pub(crate) struct Delivery {
    pub(crate) id: String,
    pub(crate) event: Value,
}

/// What survives a kill.
#[derive(Debug, Default)]
struct Disk {
    stored: Mutex<Vec<Delivery>>,
    requests: AtomicU64,
}

#[derive(Debug)]
pub(crate) struct Receiver {
    address: SocketAddr,
    disk: Arc<Disk>,
    running: Option<Running>,
}

#[derive(Debug)]
struct Running {
    is_killed: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Receiver {
    pub(crate) fn start() -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").context("no port for the receiver")?;
        let mut receiver = Self {
            address: listener.local_addr()?,
            disk: Arc::default(),
            running: None,
        };
        receiver.serve(listener);
        Ok(receiver)
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/events", self.address)
    }

    /// Ends all connections, also those whose event is stored and not answered yet.
    pub(crate) fn kill(&mut self) {
        let Some(running) = self.running.take() else {
            return;
        };
        running.is_killed.store(true, Ordering::SeqCst);
        // Wakes the thread that accepts connections.
        drop(TcpStream::connect(self.address));
        running.thread.join().ok();
    }

    pub(crate) fn restart(&mut self) -> anyhow::Result<()> {
        self.kill();
        let listener = TcpListener::bind(self.address).context("the port is taken")?;
        self.serve(listener);
        Ok(())
    }

    /// How many requests arrived.
    pub(crate) fn requests(&self) -> u64 {
        self.disk.requests.load(Ordering::SeqCst)
    }

    /// What was stored so far, in this order.
    pub(crate) fn stored(&self) -> Vec<Delivery> {
        let stored = self.disk.stored.lock();
        stored.unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn serve(&mut self, listener: TcpListener) {
        let is_killed = Arc::new(AtomicBool::new(false));
        let (disk, killed) = (Arc::clone(&self.disk), Arc::clone(&is_killed));
        let thread = thread::spawn(move || {
            for stream in listener.incoming() {
                if killed.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let (disk, killed) = (Arc::clone(&disk), Arc::clone(&killed));
                thread::spawn(move || answer(stream, &disk, &killed));
            }
        });
        self.running = Some(Running { is_killed, thread });
    }
}

/// Stores an event and answers, unless the receiver is killed in between. A client that goes while
/// it sends is no error.
fn answer(mut stream: TcpStream, disk: &Disk, is_killed: &AtomicBool) -> Option<()> {
    stream.set_read_timeout(Some(TIMEOUT)).ok()?;
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let (mut id, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        let Some((name, value)) = line.split_once(": ") else {
            continue;
        };
        match name.to_ascii_lowercase().as_str() {
            "webhook-id" => value.clone_into(&mut id),
            "content-length" => length = value.parse().ok()?,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let event = serde_json::from_slice(&body).ok()?;
    disk.requests.fetch_add(1, Ordering::SeqCst);
    if is_killed.load(Ordering::SeqCst) {
        return None;
    }
    {
        let stored = disk.stored.lock();
        let mut stored = stored.unwrap_or_else(PoisonError::into_inner);
        stored.push(Delivery { id, event });
    }
    if is_killed.load(Ordering::SeqCst) {
        return None;
    }
    let reply = b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n";
    stream.write_all(reply).ok()
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.kill();
    }
}
