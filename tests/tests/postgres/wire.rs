//! A wire between a server and its database that is as long as one between two towns, and counts how often it is used.
//!
//! What is sent at once arrives at once. So whatever the server sends on a connection while it waits for an answer belongs
//! to the same round trip, and the first thing that it sends after the answer begins the next. What the server asks by
//! itself goes over connections of its own, which tell by their name, and is not counted.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::Context as _;

/// How long everything is on its way to the database; far longer than a server takes to send what belongs together.
const LENGTH: Duration = Duration::from_millis(25);

/// How the connections are called that have nothing to do with requests.
const WATCH: &[u8] = b"application_name\0docent watch\0";

/// The statements of one round trip.
pub(crate) type Trip = Vec<String>;

/// Round trips, each with the number of its connection.
type Trips = Mutex<Vec<(usize, Trip)>>;

pub(crate) struct Wire {
    port: u16,
    trips: Arc<Trips>,
}

impl Wire {
    /// Lays a wire to the database of a URL with a Unix socket.
    pub(crate) fn to(url: &str) -> anyhow::Result<Self> {
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
                thread::spawn(move || connect(number, &client, &database, &trips));
            }
        });
        Ok(Self { port, trips })
    }

    /// The URL of the database for whoever shall use the wire.
    pub(crate) fn url(&self, url: &str) -> anyhow::Result<String> {
        let (before, _) = url.split_once('?').context("no socket")?;
        let database = before.rsplit('/').next().context("no database")?;
        let port = self.port;
        Ok(format!(
            "postgres://tests@127.0.0.1:{port}/{database}?sslmode=disable&pool_size=2"
        ))
    }

    /// The round trips since this was asked last.
    pub(crate) fn trips(&self) -> Vec<Trip> {
        let mut trips = self.trips.lock().unwrap_or_else(PoisonError::into_inner);
        trips.drain(..).map(|(_, trip)| trip).collect()
    }
}

fn connect(number: usize, client: &TcpStream, database: &UnixStream, trips: &Trips) {
    // Either end may go at any time, and the other one with it.
    let answered = Arc::new(Mutex::new(0_u64));
    let (Ok(from_database), Ok(to_client)) = (database.try_clone(), client.try_clone()) else {
        return;
    };
    let counted = Arc::clone(&answered);
    thread::spawn(move || answer(from_database, &to_client, &counted));
    let _ = ask(number, client, database, &answered, trips);
    let _ = database.shutdown(Shutdown::Both);
}

/// What the server sends, message by message.
fn ask(
    number: usize,
    mut client: &TcpStream,
    mut database: &UnixStream,
    answered: &Mutex<u64>,
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
    // The database says that it is ready once more than it is asked: at the beginning.
    let mut asked = 1;
    loop {
        let mut bytes = vec![0; 1 << 20];
        let read = client.read(&mut bytes)?;
        if read == 0 {
            return Ok(());
        }
        bytes.truncate(read);
        let is_new = *answered.lock().unwrap_or_else(PoisonError::into_inner) >= asked;
        // All that is sent before anything can come back is on its way together.
        thread::sleep(LENGTH);
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
                // The rest of it comes now, whatever the wire's length.
                let missing = length - body.len();
                let start = bytes.len();
                let at = start - message.len();
                bytes.resize(start + missing, 0);
                client.read_exact(&mut bytes[start..])?;
                message = &bytes[at..];
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
                    asked += 1;
                }
                b'S' => asked += 1,
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

/// What the database answers; counts how often it is ready for more.
fn answer(mut database: UnixStream, mut client: &TcpStream, answered: &Mutex<u64>) {
    let mut head = [0; 5];
    while database.read_exact(&mut head).is_ok() {
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize - 4;
        let mut body = vec![0; length];
        if database.read_exact(&mut body).is_err() {
            break;
        }
        if head[0] == b'Z' {
            *answered.lock().unwrap_or_else(PoisonError::into_inner) += 1;
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
