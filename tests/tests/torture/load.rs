//! Far more clients than usual, many of them rude.
//!
//! For longer runs, `DOCENT_TORTURE_SECONDS` and `DOCENT_TORTURE_CONNECTIONS` set time and clients.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow, ensure};
use docent_e2e::figures::{number_from, record};
use docent_e2e::load::proposal;
use docent_e2e::{Options, Server};
use reqwest::Method;
use reqwest::blocking::{Body, Client};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;

use super::Tags;

/// What all requests share, in mebibytes, as docs/OPERATIONS.md says: bodies, what is parsed of
/// them, and replies. No request here loads much metadata.
const SHARED_MIB: u64 = 256 + 256 + 256;
/// What the server takes without load, with its caches.
const IDLE_MIB: u64 = 256;
/// For a reply of 64 MiB that is being written, in a buffer that grows; one for each core.
const WRITTEN_MIB: u64 = 128;
const CONNECTION_KIB: u64 = 160;

/// How much slower a small read may become (99th percentile), measured with a release build.
const MAX_SLOWDOWN: u64 = 10;
/// Documents that no other client has sent, in a long run.
const NEW_DOCUMENTS_PER_SECOND: u64 = 84;

/// A tag with a long description, and how often one query reads it: a reply of 57 MB.
const LONG_TAG: &str = "urn:li:tag:long";
const DESCRIPTION_BYTES: usize = 60_000;
const REPEATED: usize = 950;
/// Clients that request it and read nothing. The memory for long replies suffices for three.
const UNREAD: usize = 6;
const MAX_HELD: usize = 3;

/// Requests that take the server much work, but are allowed.
#[derive(Debug, Clone, Copy)]
enum Heavy {
    /// A body of nearly 16 MiB, with far too many entities.
    Body,
    /// A document that no other client has sent.
    NewDocument,
    /// As deep as allowed.
    Deep,
    /// As many fields as allowed.
    Wide,
}

/// Made once, for all clients.
static LARGE_BODY: LazyLock<String> = LazyLock::new(|| {
    let urn = format!("urn:li:tag:{}", "x".repeat(140));
    let urns = vec![urn; 95_000];
    let query = "query($u: [String!]!) { entities(urns: $u) { urn } }";
    json!({"query": query, "variables": {"u": urns}}).to_string()
});

impl Heavy {
    /// The clients of each kind: bodies of 16 MiB from many at the same time.
    fn clients(bodies: u64) -> impl Iterator<Item = Self> {
        let bodies = (0..bodies).map(|_| Self::Body);
        bodies.chain([Self::NewDocument, Self::Deep, Self::Wide])
    }

    fn request(self, number: u64) -> Cow<'static, str> {
        let query = match self {
            Self::Body => return LARGE_BODY.as_str().into(),
            Self::NewDocument => format!(
                "{{ a{number}: __typename tag(urn: \"urn:li:tag:one\") {{ urn b{number}: urn }} }}"
            ),
            Self::Deep => {
                let related = "relationships(input: {types: [], direction: INCOMING}) { relationships { entity {";
                let (open, close) = (related.repeat(15), "} } }".repeat(15));
                format!("{{ tag(urn: \"urn:li:tag:one\") {{ {open} urn {close} }} }}")
            }
            Self::Wide => {
                let fields: Vec<String> = (0..1900).map(|at| format!("f{at}: urn")).collect();
                let fields = fields.join(" ");
                format!("{{ tag(urn: \"urn:li:tag:one\") {{ {fields} }} }}")
            }
        };
        json!({"query": query}).to_string().into()
    }
}

/// The replies by status.
type Replies = BTreeMap<u16, u64>;

#[test]
fn load_a_small_read_is_answered_among_slow_and_greedy_clients() -> anyhow::Result<()> {
    let seconds = Duration::from_secs(number_from("DOCENT_TORTURE_SECONDS", 2)?);
    let is_long = number_from("DOCENT_TORTURE_SECONDS", 0)? > 0;
    let connections = number_from("DOCENT_TORTURE_CONNECTIONS", 300)?;
    let bodies = if is_long { 32 } else { 8 };
    raise_descriptors()?;
    let server = Server::start(
        Options::default()
            .without_authentication()
            .argument("--address-connections")
            .argument("4096"),
    )?;
    let tags = Tags::new(&server)?;
    tags.verify_search(&server)?;
    write_long_tag(&server)?;
    let idle = read_for(&server, seconds / 2)?;

    let mut rude = Rude::connect(&server, connections)?;
    let mut unread = request_without_reading(&server)?;
    check_unread(&mut unread)?;
    let is_over = AtomicBool::new(false);
    let numbers = AtomicU64::new(0);
    let (busy, replies) = thread::scope(|scope| {
        let heavy: Vec<_> = Heavy::clients(bodies)
            .map(|heavy| {
                let (server, is_over, numbers) = (&server, &is_over, &numbers);
                let client = move || send_heavy(server, heavy, numbers, is_over);
                (heavy, scope.spawn(client))
            })
            .collect();
        let dribbling = scope.spawn(|| rude.dribble(&is_over));
        let busy = read_for(&server, seconds);
        is_over.store(true, Ordering::SeqCst);
        let mut replies = Vec::new();
        for (heavy, client) in heavy {
            let client = client.join().map_err(|_| anyhow!("a client panicked"))?;
            replies.push((heavy, client?));
        }
        dribbling.join().map_err(|_| anyhow!("a client panicked"))?;
        anyhow::Ok((busy?, replies))
    })?;
    drop(unread);
    check_replies(&replies, is_long.then_some(seconds))?;
    let memory = peak_memory_mib(&server)?;
    let cores = thread::available_parallelism()?.get() as u64;
    let clients = connections + bodies + UNREAD as u64;
    let allowed = SHARED_MIB + IDLE_MIB + cores * WRITTEN_MIB + clients * CONNECTION_KIB / 1024;
    ensure!(
        memory <= allowed,
        "the server took {memory} MiB, more than {allowed} MiB"
    );
    tags.verify(&server)?;
    record(
        "load",
        &format!(
            "{connections} slow connections and {} heavy requests in {} s: a small read takes {:.1} ms \
             (99th percentile; {:.1} ms without load), the server at most {memory} MiB",
            numbers.load(Ordering::SeqCst),
            seconds.as_secs(),
            busy.as_secs_f64() * 1000.0,
            idle.as_secs_f64() * 1000.0,
        ),
    )?;
    // A build for tests on a machine that runs other tests proves nothing about speed.
    if is_long {
        let slowdown = busy.as_micros() / idle.as_micros().max(1);
        ensure!(
            slowdown <= u128::from(MAX_SLOWDOWN),
            "{slowdown} times slower"
        );
    }
    Ok(())
}

/// Fails unless requests of every kind were answered, and the others told when to try again. A long
/// run has a minimum of new documents.
fn check_replies(replies: &[(Heavy, Replies)], time: Option<Duration>) -> anyhow::Result<()> {
    let mut answered: BTreeMap<String, u64> = BTreeMap::new();
    for (heavy, replies) in replies {
        let allowed = |status: &u16| [200, 429, 503].contains(status);
        ensure!(replies.keys().all(allowed), "{heavy:?}: {replies:?}");
        let count = replies.get(&200).copied().unwrap_or_default();
        *answered.entry(format!("{heavy:?}")).or_default() += count;
    }
    for (heavy, count) in &answered {
        ensure!(*count > 0, "{heavy}: no request was answered: {replies:?}");
    }
    if let Some(time) = time {
        let (documents, expected) = (
            answered.get("NewDocument").copied().unwrap_or_default(),
            NEW_DOCUMENTS_PER_SECOND * time.as_secs(),
        );
        ensure!(documents >= expected, "{documents} new documents");
    }
    Ok(())
}

fn write_long_tag(server: &Server) -> anyhow::Result<()> {
    let value = json!({"name": "long", "description": "x".repeat(DESCRIPTION_BYTES)});
    let proposals = [proposal(LONG_TAG, "tagProperties", &value)];
    let request = server.anonymous_request(Method::POST, "/aspects?action=ingestProposalBatch");
    let reply = server.send(request.json(&json!({"proposals": proposals})))?;
    ensure!(reply.status == 200, "{reply:?}");
    Ok(())
}

/// Requests the longest replies.
fn request_without_reading(server: &Server) -> anyhow::Result<Vec<TcpStream>> {
    let read = |at| format!("a{at}: properties {{ description }}");
    let reads: Vec<String> = (0..REPEATED).map(read).collect();
    let query = format!("{{ tag(urn: \"{LONG_TAG}\") {{ {} }} }}", reads.join(" "));
    let body = json!({ "query": query }).to_string();
    let head = Rude::head(body.len());
    let mut connections = Vec::new();
    for _ in 0..UNREAD {
        let mut connection = TcpStream::connect(host(server))?;
        connection.write_all(head.as_bytes())?;
        connection.write_all(body.as_bytes())?;
        connections.push(connection);
    }
    Ok(connections)
}

/// Fails unless the server sends as many long replies as it has memory for, and rejects the others.
fn check_unread(unread: &mut [TcpStream]) -> anyhow::Result<()> {
    let mut replies = BTreeMap::<String, usize>::new();
    for connection in unread {
        connection.set_read_timeout(Some(Duration::from_mins(1)))?;
        let mut head = [0; 256];
        connection.read_exact(&mut head)?;
        let head = String::from_utf8_lossy(&head).into_owned();
        let status = head.split_at(12).0.to_owned();
        // A short reply would be an error.
        let is_long = head.contains("content-length: 57");
        ensure!(is_long == (status == "HTTP/1.1 200"), "{head}");
        *replies.entry(status).or_default() += 1;
    }
    let count = |status: &str| replies.get(status).copied().unwrap_or_default();
    let (sent, rejected) = (count("HTTP/1.1 200"), count("HTTP/1.1 503"));
    ensure!(
        (1..=MAX_HELD).contains(&sent) && sent + rejected == UNREAD,
        "{replies:?}"
    );
    Ok(())
}

fn host(server: &Server) -> &str {
    server.address().trim_start_matches("http://")
}

/// Reads a tag again and again, and returns the 99th percentile of the time.
fn read_for(server: &Server, time: Duration) -> anyhow::Result<Duration> {
    let end = Instant::now() + time;
    let body = json!({"query": "{ tag(urn: \"urn:li:tag:one\") { properties { name } } }"});
    let mut times = Vec::new();
    while Instant::now() < end || times.is_empty() {
        let started = Instant::now();
        let request = server.anonymous_request(Method::POST, "/api/graphql");
        let reply = server.send(request.json(&body))?;
        ensure!(
            reply.status == 200 && reply.body.contains("name1"),
            "{reply:?}"
        );
        times.push(started.elapsed());
    }
    times.sort_unstable();
    let last = times.len() - 1;
    Ok(times[last - last / 100])
}

fn send_heavy(
    server: &Server,
    heavy: Heavy,
    numbers: &AtomicU64,
    is_over: &AtomicBool,
) -> anyhow::Result<Replies> {
    let client = Client::builder()
        .no_proxy()
        .timeout(Duration::from_mins(1))
        .build()?;
    let mut replies = Replies::new();
    while !is_over.load(Ordering::SeqCst) || replies.is_empty() {
        let body = heavy.request(numbers.fetch_add(1, Ordering::SeqCst));
        let url = format!("{}/api/graphql", server.address());
        let request = client.post(url).header("content-type", "application/json");
        let body = match body {
            Cow::Borrowed(body) => Body::from(body),
            Cow::Owned(body) => Body::from(body),
        };
        let reply = request.body(body).send()?;
        let status = reply.status().as_u16();
        if [429, 503].contains(&status) {
            let retry = reply.headers().contains_key("retry-after");
            ensure!(retry, "{status} without Retry-After");
        }
        let text = reply.text()?;
        let is_rejected = text.contains("\"errors\"");
        let expected = status == 200 && matches!(heavy, Heavy::Body);
        ensure!(
            is_rejected == expected || status != 200,
            "{heavy:?}: {text}"
        );
        *replies.entry(status).or_default() += 1;
    }
    Ok(replies)
}

/// Clients that connect, and then send nothing, send slowly, stop in the middle of a body, or read
/// nothing.
struct Rude {
    connections: Vec<TcpStream>,
}

impl Rude {
    const KINDS: usize = 5;
    const DRIBBLED: &'static [u8] = b"POST /api/graphql HTTP/1.1\r\nHost: localhost\r\nX-Slow: ";
    const UNREAD: &'static [u8] = b"GET /openapi/v3/api-docs HTTP/1.1\r\nHost: localhost\r\n\r\n";
    const CHUNKED: &'static str =
        "POST /api/graphql HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";

    fn head(length: usize) -> String {
        format!(
            "POST /api/graphql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\n\r\n"
        )
    }

    fn connect(server: &Server, count: u64) -> anyhow::Result<Self> {
        let stalled = Self::head(15 * 1024 * 1024) + &"x".repeat(64 * 1024);
        let single_bytes = Self::CHUNKED.to_owned() + &"1\r\nx\r\n".repeat(20_000);
        let mut connections = Vec::new();
        for number in 0..count {
            let mut connection = TcpStream::connect(host(server))
                .with_context(|| format!("connection {number} of {count}"))?;
            match number % Self::KINDS as u64 {
                0 => {}
                1 => connection.write_all(Self::DRIBBLED)?,
                2 => connection.write_all(stalled.as_bytes())?,
                3 => connection.write_all(single_bytes.as_bytes())?,
                _ => connection.write_all(&Self::UNREAD.repeat(4))?,
            }
            connections.push(connection);
        }
        Ok(Self { connections })
    }

    /// Sends a byte of each slow request now and then. The server may close them.
    fn dribble(&mut self, is_over: &AtomicBool) {
        while !is_over.load(Ordering::SeqCst) {
            let slow = self.connections.iter_mut().skip(1).step_by(Self::KINDS);
            for connection in slow {
                connection.write_all(b"x").ok();
            }
            thread::sleep(Duration::from_millis(100));
        }
    }
}

fn raise_descriptors() -> anyhow::Result<()> {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    Ok(setrlimit(Resource::Nofile, raised)?)
}

fn peak_memory_mib(server: &Server) -> anyhow::Result<u64> {
    let status = fs::read_to_string(format!("/proc/{}/status", server.process_id()))?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().nth(1));
    Ok(kib.context("no peak in the status")?.parse::<u64>()? / 1024)
}
