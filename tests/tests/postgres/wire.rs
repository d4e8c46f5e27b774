//! A proxy between a server and its database that adds latency and counts round trips.
//!
//! Everything that the server sends on a connection before it receives a result belongs to the same
//! round trip; the first message after the result begins the next one. Background queries of the
//! server use connections with another application name and are not counted.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::Context as _;

/// The added latency, far longer than a server takes to send the messages of one round trip.
const LATENCY: Duration = Duration::from_millis(25);

/// The startup parameter of connections for background queries.
const WATCH: &[u8] = b"application_name\0docent watch\0";

/// The statements of one round trip.
pub(crate) type Trip = Vec<String>;

/// Round trips, each with its connection.
type Trips = Mutex<Vec<(usize, Trip)>>;

pub(crate) struct CountingProxy {
    port: u16,
    trips: Arc<Trips>,
}

impl CountingProxy {
    /// Starts a proxy to the database of a URL with a Unix socket.
    pub(crate) fn start(url: &str) -> anyhow::Result<Self> {
        let (_, host) = url.split_once("host=").context("no socket")?;
        let host = host.split('&').next().unwrap_or_default();
        let directory = percent_decoded(host)?;
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        let trips = Arc::new(Mutex::new(Vec::new()));
        let counted = Arc::clone(&trips);
        thread::spawn(move || {
            for (number, client) in listener.incoming().flatten().enumerate() {
                let socket = format!("{directory}/.s.PGSQL.5432");
                let Ok(database) = UnixStream::connect(socket) else {
                    break;
                };
                let trips = Arc::clone(&counted);
                thread::spawn(move || forward(number, &client, &database, &trips));
            }
        });
        Ok(Self { port, trips })
    }

    /// The URL of the database through the proxy.
    pub(crate) fn url(&self, url: &str) -> anyhow::Result<String> {
        let (before, _) = url.split_once('?').context("no socket")?;
        let database = before.rsplit('/').next().context("no database")?;
        let port = self.port;
        Ok(format!(
            "postgres://tests@127.0.0.1:{port}/{database}?sslmode=disable&pool_size=2"
        ))
    }

    /// The round trips since the last call.
    pub(crate) fn take_trips(&self) -> Vec<Trip> {
        let mut trips = self.trips.lock().unwrap_or_else(PoisonError::into_inner);
        trips.drain(..).map(|(_, trip)| trip).collect()
    }
}

fn forward(number: usize, client: &TcpStream, database: &UnixStream, trips: &Trips) {
    // Either end may close at any time; then the other one is closed too.
    let results = Arc::new(Mutex::new(0_u64));
    let (Ok(from_database), Ok(to_client)) = (database.try_clone(), client.try_clone()) else {
        return;
    };
    let counted = Arc::clone(&results);
    thread::spawn(move || forward_results(from_database, &to_client, &counted));
    let _ = forward_requests(number, client, database, &results, trips);
    let _ = database.shutdown(Shutdown::Both);
}

/// Forwards what the server sends, and records its statements.
fn forward_requests(
    number: usize,
    mut client: &TcpStream,
    mut database: &UnixStream,
    results: &Mutex<u64>,
    trips: &Trips,
) -> anyhow::Result<()> {
    client.set_nodelay(true)?;
    let mut first = [0; 4];
    client.read_exact(&mut first)?;
    let mut rest = vec![0; (u32::from_be_bytes(first) as usize).saturating_sub(4)];
    client.read_exact(&mut rest)?;
    database.write_all(&[&first[..], &rest].concat())?;
    let is_counted = !rest.windows(WATCH.len()).any(|part| part == WATCH);
    let mut names: HashMap<Vec<u8>, String> = HashMap::new();
    // The database sends one `ReadyForQuery` at startup, and one per request.
    let mut requests = 1;
    loop {
        let mut bytes = vec![0; 1 << 20];
        let read = client.read(&mut bytes)?;
        if read == 0 {
            return Ok(());
        }
        bytes.truncate(read);
        let is_new = *results.lock().unwrap_or_else(PoisonError::into_inner) >= requests;
        // Everything sent within the latency belongs to one round trip.
        thread::sleep(LATENCY);
        client.set_nonblocking(true)?;
        loop {
            let start = bytes.len();
            bytes.resize(start + (1 << 16), 0);
            let more = client.read(&mut bytes[start..]);
            bytes.truncate(start + more.as_ref().copied().unwrap_or(0));
            if more.is_err() || bytes.len() == start {
                break;
            }
        }
        client.set_nonblocking(false)?;
        let mut trip = Trip::new();
        let mut message = &bytes[..];
        while let [kind, a, b, c, d, body @ ..] = message {
            let length = u32::from_be_bytes([*a, *b, *c, *d]) as usize - 4;
            if body.len() < length {
                // The rest of the message follows without further latency.
                let missing = length - body.len();
                let start = bytes.len();
                let unparsed = start - message.len();
                bytes.resize(start + missing, 0);
                client.read_exact(&mut bytes[start..])?;
                message = &bytes[unparsed..];
                continue;
            }
            let (content, next) = body.split_at(length);
            let mut texts = content.split(|byte| *byte == 0);
            match kind {
                b'P' => {
                    let name = texts.next().unwrap_or_default().to_vec();
                    let sql = String::from_utf8_lossy(texts.next().unwrap_or_default());
                    trip.push(format!("PREPARE {sql}"));
                    names.insert(name, sql.into_owned());
                }
                b'B' => {
                    let name = texts.nth(1).unwrap_or_default();
                    trip.push(names.get(name).cloned().unwrap_or_default());
                }
                b'Q' => {
                    let sql = String::from_utf8_lossy(texts.next().unwrap_or_default());
                    trip.push(sql.into_owned());
                    requests += 1;
                }
                b'S' => requests += 1,
                _ => {}
            }
            message = next;
        }
        if is_counted {
            let mut trips = trips.lock().unwrap_or_else(PoisonError::into_inner);
            let mut own = trips.iter_mut().filter(|(of, _)| *of == number);
            match own.next_back() {
                Some((_, last)) if !is_new => last.extend(trip),
                _ => trips.push((number, trip)),
            }
        }
        database.write_all(&bytes)?;
    }
}

/// Forwards the results of the database, and counts `ReadyForQuery` messages.
fn forward_results(mut database: UnixStream, mut client: &TcpStream, results: &Mutex<u64>) {
    let mut head = [0; 5];
    while database.read_exact(&mut head).is_ok() {
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize - 4;
        let mut body = vec![0; length];
        if database.read_exact(&mut body).is_err() {
            break;
        }
        if head[0] == b'Z' {
            *results.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        }
        if client.write_all(&[&head[..], &body].concat()).is_err() {
            break;
        }
    }
    let _ = client.shutdown(Shutdown::Both);
}

fn percent_decoded(text: &str) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next(), rest.next()].map(|digit| digit.unwrap_or(b'0'));
            let digits = std::str::from_utf8(&digits)?;
            bytes.push(u8::from_str_radix(digits, 16)?);
        } else {
            bytes.push(byte);
        }
    }
    Ok(String::from_utf8(bytes)?)
}
