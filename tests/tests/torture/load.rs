//! Far more clients than usual, many of them rude.
//!
//! For longer runs, `DOCENT_TORTURE_SECONDS` and `DOCENT_TORTURE_CONNECTIONS` set time and clients.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow, ensure};
use docent_e2e::figures::{number_from, record};
use docent_e2e::{Options, Server};
use reqwest::Method;
use reqwest::blocking::Client;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::{Value, json};

use super::Tags;

/// What the server may take, whatever it is sent: 256 MiB for bodies and parsed variables, and what
/// it needs without load.
const MAX_MEMORY_MIB: u64 = 512;

/// How much slower a small read may become (99th percentile), measured with a release build.
const MAX_SLOWDOWN: u64 = 10;

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

impl Heavy {
    const ALL: [Self; 4] = [Self::Body, Self::NewDocument, Self::Deep, Self::Wide];

    fn request(self, number: u64) -> Value {
        match self {
            Self::Body => {
                let urn = format!("urn:li:tag:{}", "x".repeat(140));
                let urns = vec![urn; 95_000];
                json!({"query": "query($u: [String!]!) { entities(urns: $u) { urn } }", "variables": {"u": urns}})
            }
            Self::NewDocument => {
                json!({"query": format!("{{ a{number}: __typename tag(urn: \"urn:li:tag:one\") {{ urn b{number}: urn }} }}")})
            }
            Self::Deep => {
                let related = "relationships(input: {types: [], direction: INCOMING}) { relationships { entity {";
                let (open, close) = (related.repeat(15), "} } }".repeat(15));
                json!({"query": format!("{{ tag(urn: \"urn:li:tag:one\") {{ {open} urn {close} }} }}")})
            }
            Self::Wide => {
                let fields: Vec<String> = (0..1900).map(|at| format!("f{at}: urn")).collect();
                let fields = fields.join(" ");
                json!({"query": format!("{{ tag(urn: \"urn:li:tag:one\") {{ {fields} }} }}")})
            }
        }
    }
}

/// The replies by status.
type Replies = BTreeMap<u16, u64>;

#[test]
fn load_a_small_read_is_answered_among_slow_and_greedy_clients() -> anyhow::Result<()> {
    let seconds = Duration::from_secs(number_from("DOCENT_TORTURE_SECONDS", 2)?);
    let connections = number_from("DOCENT_TORTURE_CONNECTIONS", 300)?;
    raise_descriptors()?;
    let server = Server::start(
        Options::default()
            .without_authentication()
            .argument("--address-connections")
            .argument("4096"),
    )?;
    let tags = Tags::new(&server)?;
    tags.verify_search(&server)?;
    let idle = read_for(&server, seconds / 2)?;

    let mut rude = Rude::connect(&server, connections)?;
    let is_over = AtomicBool::new(false);
    let numbers = AtomicU64::new(0);
    let (busy, replies) = thread::scope(|scope| {
        let heavy: Vec<_> = Heavy::ALL
            .map(|heavy| {
                let (server, is_over, numbers) = (&server, &is_over, &numbers);
                scope.spawn(move || send_heavy(server, heavy, numbers, is_over))
            })
            .into();
        let dribbling = scope.spawn(|| rude.dribble(&is_over));
        let busy = read_for(&server, seconds);
        is_over.store(true, Ordering::SeqCst);
        let mut replies = Vec::new();
        for heavy in heavy {
            replies.push(heavy.join().map_err(|_| anyhow!("a client panicked"))??);
        }
        dribbling.join().map_err(|_| anyhow!("a client panicked"))?;
        anyhow::Ok((busy?, replies))
    })?;
    let memory = peak_memory_mib(&server)?;
    for (heavy, replies) in Heavy::ALL.iter().zip(&replies) {
        let allowed = |status: &u16| [200, 429, 503].contains(status);
        ensure!(replies.keys().all(allowed), "{heavy:?}: {replies:?}");
        let answered = replies.get(&200).is_some_and(|count| *count > 0);
        ensure!(answered, "{heavy:?}: no request was answered: {replies:?}");
    }
    ensure!(memory <= MAX_MEMORY_MIB, "the server took {memory} MiB");
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
    if number_from("DOCENT_TORTURE_SECONDS", 0)? > 0 {
        let slowdown = busy.as_micros() / idle.as_micros().max(1);
        ensure!(
            slowdown <= u128::from(MAX_SLOWDOWN),
            "{slowdown} times slower"
        );
    }
    Ok(())
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
        let reply = client.post(url).json(&body).send()?;
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

/// Clients that connect, and then send nothing, send slowly, or read nothing.
struct Rude {
    connections: Vec<TcpStream>,
}

impl Rude {
    const DRIBBLED: &'static [u8] = b"POST /api/graphql HTTP/1.1\r\nHost: localhost\r\nX-Slow: ";
    const UNREAD: &'static [u8] = b"GET /openapi/v3/api-docs HTTP/1.1\r\nHost: localhost\r\n\r\n";

    fn connect(server: &Server, count: u64) -> anyhow::Result<Self> {
        let address = server.address().trim_start_matches("http://");
        let mut connections = Vec::new();
        for number in 0..count {
            let mut connection = TcpStream::connect(address)
                .with_context(|| format!("connection {number} of {count}"))?;
            match number % 3 {
                0 => {}
                1 => connection.write_all(Self::DRIBBLED)?,
                _ => connection.write_all(&Self::UNREAD.repeat(4))?,
            }
            connections.push(connection);
        }
        Ok(Self { connections })
    }

    /// Sends a byte of each slow request now and then. The server may close them.
    fn dribble(&mut self, is_over: &AtomicBool) {
        while !is_over.load(Ordering::SeqCst) {
            for connection in self.connections.iter_mut().skip(1).step_by(3) {
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
