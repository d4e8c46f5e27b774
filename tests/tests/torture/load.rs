//! Far more clients than usual, many of them rude.
//!
//! For longer runs, `DOCENT_TORTURE_SECONDS` and `DOCENT_TORTURE_CONNECTIONS` set time and clients.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, anyhow, ensure};
use docent_e2e::figures::{number_from, record};
use docent_e2e::load::proposal;
use docent_e2e::{Options, Server};
use reqwest::Method;
use reqwest::blocking::{Body, Client};
use rustix::process::{Resource, Rlimit, getrlimit, nice, setrlimit};
use serde_json::json;

use super::pace::Latencies;
use super::{Tags, rude};

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
/// What a small read takes at most without load. It takes longer only on a busy machine, where the
/// comparison would prove nothing.
const MAX_IDLE: Duration = Duration::from_millis(20);
/// How long the server may stand still: the longest time of a small request.
const MAX_STILL: Duration = Duration::from_secs(1);
/// The same for a build for tests on a machine that runs other tests.
const MAX_STILL_BUSY: Duration = Duration::from_secs(5);
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
    /// As many selections as allowed once its fragment is expanded; the plan would be too large.
    Expanded,
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
        let expanded = [Self::Expanded; 4];
        let others = [Self::NewDocument, Self::Deep, Self::Wide];
        bodies.chain(expanded).chain(others)
    }

    /// Whether the server answers with an error instead of data.
    fn is_rejected(self) -> bool {
        matches!(self, Self::Body | Self::Expanded)
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
            Self::Expanded => {
                let tags: Vec<String> = (0..990)
                    .map(|at| format!("t{at}: tag(urn: \"urn:li:tag:one\") {{ ...F }}"))
                    .collect();
                let fields: Vec<String> = (0..1000).map(|at| format!("f{at}: urn")).collect();
                let (tags, fields) = (tags.join(" "), fields.join(" "));
                format!("{{ a{number}: __typename {tags} }} fragment F on Tag {{ {fields} }}")
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
    let idle = Latencies::measure(&server, seconds / 2)?;
    ensure!(
        !is_long || idle.read.p99 <= MAX_IDLE,
        "the machine is busy: {idle:?} without load"
    );

    let mut rude = rude::connect_all(&server, connections)?;
    let mut unread = request_without_reading(&server)?;
    check_unread(&mut unread)?;
    rude.append(&mut unread);
    let is_over = AtomicBool::new(false);
    let numbers = AtomicU64::new(0);
    let (busy, replies, closed) = thread::scope(|scope| {
        let heavy: Vec<_> = Heavy::clients(bodies)
            .map(|heavy| {
                let (server, is_over, numbers) = (&server, &is_over, &numbers);
                let client = move || {
                    yield_to_server()?;
                    send_heavy(server, heavy, numbers, is_over)
                };
                (heavy, scope.spawn(client))
            })
            .collect();
        let annoying = scope.spawn(|| {
            yield_to_server()?;
            rude::go_on(&server, &mut rude, &is_over)
        });
        let busy = Latencies::measure(&server, seconds);
        let held = connections_of(&server);
        is_over.store(true, Ordering::SeqCst);
        let mut replies = Vec::new();
        for (heavy, client) in heavy {
            let client = client.join().map_err(|_| anyhow!("a client panicked"))?;
            replies.push((heavy, client?));
        }
        let annoyed = annoying.join().map_err(|_| anyhow!("a client panicked"))?;
        let closed = annoyed.context("a rude client cannot connect again")?;
        let (held, least) = (held?, connections * 9 / 10);
        ensure!(held >= least, "{held} connections at the end");
        anyhow::Ok((busy?, replies, closed))
    })?;
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
            "{connections} slow connections ({closed} closed and opened again) and {} heavy requests in {} s: a small \
             read takes {} (99th percentile; {} without load) and at most {}, a health check {} and at most {}, the \
             server at most {memory} MiB",
            numbers.load(Ordering::SeqCst),
            seconds.as_secs(),
            milliseconds(busy.read.p99),
            milliseconds(idle.read.p99),
            milliseconds(busy.read.max),
            milliseconds(busy.health.p99),
            milliseconds(busy.health.max),
        ),
    )?;
    check_latencies(idle, busy, is_long)
}

/// Fails if the server stood still, or in a long run if reads took much longer than without load.
fn check_latencies(idle: Latencies, busy: Latencies, is_long: bool) -> anyhow::Result<()> {
    let max = if is_long { MAX_STILL } else { MAX_STILL_BUSY };
    ensure!(busy.max() <= max, "the server stood still: {busy:?}");
    // A build for tests on a machine that runs other tests proves nothing about speed.
    if is_long {
        let slowdown = busy.read.p99.as_micros() / idle.read.p99.as_micros().max(1);
        ensure!(
            slowdown <= u128::from(MAX_SLOWDOWN),
            "{slowdown} times slower"
        );
    }
    Ok(())
}

fn milliseconds(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1000.0)
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
fn request_without_reading(server: &Server) -> anyhow::Result<Vec<rude::Client>> {
    let read = |at| format!("a{at}: properties {{ description }}");
    let reads: Vec<String> = (0..REPEATED).map(read).collect();
    let query = format!("{{ tag(urn: \"{LONG_TAG}\") {{ {} }} }}", reads.join(" "));
    let body = json!({ "query": query }).to_string();
    let request: Arc<[u8]> = (rude::head(body.len()) + &body).into_bytes().into();
    (0..UNREAD)
        .map(|_| rude::Client::unread(server, Arc::clone(&request)))
        .collect()
}

/// Fails unless the server sends as many long replies as it has memory for, and rejects the others.
fn check_unread(unread: &mut [rude::Client]) -> anyhow::Result<()> {
    let mut replies = BTreeMap::<String, usize>::new();
    for client in unread {
        let connection = &mut client.connection;
        connection.set_nonblocking(false)?;
        connection.set_read_timeout(Some(Duration::from_mins(1)))?;
        let mut head = [0; 256];
        connection.read_exact(&mut head)?;
        connection.set_nonblocking(true)?;
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
        ensure!(
            is_rejected == heavy.is_rejected() || status != 200,
            "{heavy:?}: {text}"
        );
        *replies.entry(status).or_default() += 1;
    }
    Ok(replies)
}

/// Gives the calling thread, and those that it starts, only the processor time that the server
/// leaves. Clients have machines of their own as a rule; here, dozens of them would take the
/// processor from the server and from the client that measures the time.
fn yield_to_server() -> anyhow::Result<()> {
    nice(19).context("cannot lower the priority")?;
    Ok(())
}

fn raise_descriptors() -> anyhow::Result<()> {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    Ok(setrlimit(Resource::Nofile, raised)?)
}

/// The connections that the server has accepted and not closed.
fn connections_of(server: &Server) -> anyhow::Result<u64> {
    let descriptors = fs::read_dir(format!("/proc/{}/fd", server.process_id()))?;
    let target = |entry: fs::DirEntry| fs::read_link(entry.path());
    let is_socket = |path: PathBuf| path.to_string_lossy().starts_with("socket:");
    let links = descriptors.flatten().flat_map(target);
    Ok(links.map(is_socket).filter(|it| *it).count() as u64)
}

fn peak_memory_mib(server: &Server) -> anyhow::Result<u64> {
    let status = fs::read_to_string(format!("/proc/{}/status", server.process_id()))?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().nth(1));
    Ok(kib.context("no peak in the status")?.parse::<u64>()? / 1024)
}
