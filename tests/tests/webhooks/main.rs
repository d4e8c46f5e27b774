//! Webhooks of a real server: their commands, the receiver of the documents, and kills of both
//! sides.

mod receiver;
mod restore;

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::RwLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use docent_e2e::figures::{number_from, record};
use docent_e2e::load::Random;
use docent_e2e::markdown::Document;
use docent_e2e::{Options, Server, on_postgres, python, repository_root, temporary_directory};
use reqwest::blocking::Client;
use serde_json::{Value, json};

use receiver::Receiver;

/// A key for secrets: 32 bytes in base64.
const KEY: &str = "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk=";
/// Far longer than a delivery takes, also after the claim of a server that was killed.
const PATIENCE: Duration = Duration::from_mins(3);
const WRITERS: usize = 4;
const ENTITIES: usize = 6;

/// A server that may send to this machine, and the directory of its key.
fn server() -> anyhow::Result<(Server, tempfile::TempDir)> {
    let directory = temporary_directory()?;
    let key = directory.path().join("secrets.key");
    fs::write(&key, KEY)?;
    let options = Options::default()
        .argument("--secret-key-file")
        .argument(&key)
        .argument("--webhook-allow-private")
        .argument("127.0.0.0/8");
    Ok((Server::start(options)?, directory))
}

/// Runs a command of `docent webhook` against a server.
fn webhook(server: &Server, arguments: &[&str]) -> anyhow::Result<String> {
    let token = server.directory().join("webhook.token");
    if !token.exists() {
        fs::write(&token, server.token("datahub")?)?;
    }
    let token = token.to_str().context("the path is not UTF-8")?;
    let mut all = vec![
        "webhook",
        "--server",
        server.address(),
        "--token-file",
        token,
    ];
    all.extend(arguments);
    server.run_docent(all)
}

/// The value of a line such as `secret: whsec_…`.
fn line<'o>(output: &'o str, name: &str) -> anyhow::Result<&'o str> {
    let prefix = format!("{name}: ");
    let mut values = output.lines().filter_map(|line| line.strip_prefix(&prefix));
    values
        .next()
        .with_context(|| format!("no {name} in {output}"))
}

fn until(what: &str, mut is_reached: impl FnMut() -> anyhow::Result<bool>) -> anyhow::Result<()> {
    let end = Instant::now() + PATIENCE;
    while !is_reached()? {
        ensure!(Instant::now() < end, "timed out: {what}");
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

#[test]
fn webhooks_are_managed_by_commands() -> anyhow::Result<()> {
    let (server, _key) = server()?;
    let mut receiver = Receiver::start()?;
    let none = webhook(&server, &["list"])?;
    ensure!(none.starts_with("no webhooks"), "{none}");
    let url = receiver.url();
    let create = [
        "create",
        "mirror",
        &url,
        "--entity-type",
        "tag",
        "--aspect",
        "tagProperties",
    ];
    let created = webhook(&server, &create)?;
    ensure!(line(&created, "secret")?.starts_with("whsec_"), "{created}");
    let urn = line(&created, "webhook")?.to_owned();
    let id = urn.rsplit(':').next().unwrap_or_default();
    let accepted = webhook(&server, &["test", id])?;
    ensure!(accepted.starts_with("accepted after"), "{accepted}");
    let stored = receiver.stored();
    ensure!(stored[0].event["type"] == "docent.webhook.test");
    write(&server, "t", "a").context("the write failed")?;
    until("the event", || Ok(receiver.stored().len() == 2))?;
    ensure!(receiver.stored()[1].event["subject"] == "urn:li:tag:t");
    let shown = webhook(&server, &["show", &urn])?;
    ensure!(line(&shown, "state")? == "active", "{shown}");
    ensure!(line(&shown, "entity types")? == "tag", "{shown}");
    ensure!(!shown.contains("whsec_"), "{shown}");

    webhooks_are_changed(&server, &receiver, &urn)?;

    receiver.kill();
    let failure = webhook(&server, &["test", &urn]).unwrap_err().to_string();
    ensure!(failure.contains("cannot be reached"), "{failure}");
    write(&server, "t", "b").context("the write failed")?;
    until("the failure", || {
        Ok(webhook(&server, &["list"])?.contains("failing"))
    })?;
    receiver.restart()?;
    until("the retry", || Ok(receiver.stored().len() == 5))?;
    let replayed = webhook(&server, &["replay", &urn])?;
    ensure!(replayed == "delivered 0, 0 are left\n", "{replayed}");
    let discarded = webhook(&server, &["discard", &urn])?;
    ensure!(discarded == "discarded 0\n", "{discarded}");
    ensure!(webhook(&server, &["delete", &urn])? == "deleted\n");
    let missing = webhook(&server, &["show", &urn]).unwrap_err().to_string();
    ensure!(missing.contains("does not exist"), "{missing}");
    Ok(())
}

#[test]
fn private_addresses_and_redirects_are_refused() -> anyhow::Result<()> {
    let (server, _key) = server()?;
    for url in [
        "http://10.1.2.3/",
        "http://169.254.169.254/latest",
        "http://[::1]:1/",
    ] {
        let error = webhook(&server, &["create", "w", url]).unwrap_err();
        let error = error.to_string();
        ensure!(error.contains("--webhook-allow-private"), "{error}");
    }
    let redirecting = TcpListener::bind("127.0.0.1:0")?;
    let url = format!("http://{}/", redirecting.local_addr()?);
    let created = webhook(&server, &["create", "w", &url])?;
    let urn = line(&created, "webhook")?;
    let redirect = thread::spawn(move || -> anyhow::Result<()> {
        let (mut stream, _) = redirecting.accept()?;
        let mut head = [0; 1024];
        let _ = stream.read(&mut head)?;
        let reply = "HTTP/1.1 302 Found\r\nLocation: /other\r\nConnection: close\r\n\r\n";
        Ok(stream.write_all(reply.as_bytes())?)
    });
    let error = webhook(&server, &["test", urn]).unwrap_err().to_string();
    ensure!(error.contains("redirects (status 302)"), "{error}");
    redirect.join().map_err(|_| anyhow::anyhow!("panicked"))?
}

/// Sends two events.
fn webhooks_are_changed(server: &Server, receiver: &Receiver, urn: &str) -> anyhow::Result<()> {
    let nothing = webhook(server, &["update", urn]).err();
    let nothing = nothing.context("nothing was to be changed")?.to_string();
    ensure!(nothing.contains("nothing to change"), "{nothing}");
    ensure!(webhook(server, &["pause", urn])? == "paused\n");
    ensure!(line(&webhook(server, &["show", urn])?, "state")? == "paused");
    write(server, "paused", "a")?;
    let change = [
        "update",
        urn,
        "--name",
        "copy",
        "--no-filter",
        "--aspect",
        "tagProperties",
        "--new-secret",
    ];
    let updated = webhook(server, &change)?;
    ensure!(updated.starts_with("updated\n"), "{updated}");
    ensure!(line(&updated, "secret")?.starts_with("whsec_"), "{updated}");
    let shown = webhook(server, &["show", urn])?;
    ensure!(line(&shown, "state")? == "paused", "{shown}");
    ensure!(line(&shown, "name")? == "copy", "{shown}");
    ensure!(line(&shown, "aspects")? == "tagProperties", "{shown}");
    ensure!(!shown.contains("entity types"), "{shown}");
    ensure!(
        receiver.stored().len() == 2,
        "a paused webhook sends nothing"
    );
    ensure!(webhook(server, &["resume", urn])? == "resumed\n");
    write(server, "resumed", "a")?;
    until("what was missed", || Ok(receiver.stored().len() == 4))?;
    Ok(())
}

#[test]
fn a_name_of_a_private_address_is_no_receiver() -> anyhow::Result<()> {
    let directory = temporary_directory()?;
    let key = directory.path().join("secrets.key");
    fs::write(&key, KEY)?;
    let options = Options::default()
        .argument("--secret-key-file")
        .argument(&key);
    let server = Server::start(options)?;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    listener.set_nonblocking(true)?;
    let url = format!("http://localhost:{}/", listener.local_addr()?.port());
    let created = webhook(&server, &["create", "w", &url])?;
    let urn = line(&created, "webhook")?;
    let error = webhook(&server, &["test", urn]).unwrap_err().to_string();
    ensure!(error.contains("is not a public address"), "{error}");
    write(&server, "t", "a")?;
    until("the delivery", || {
        let shown = webhook(&server, &["show", urn])?;
        Ok(shown.contains("is not a public address"))
    })?;
    let connected = listener.accept().map(|(_, address)| address);
    ensure!(
        connected
            .as_ref()
            .is_err_and(|it| it.kind() == ErrorKind::WouldBlock),
        "{connected:?}"
    );
    Ok(())
}

/// The receiver that the document shows, with the port that it prints.
fn documented_receiver(secret: &str) -> anyhow::Result<(Child, BufReader<ChildStdout>, String)> {
    let text = fs::read_to_string(repository_root().join("docs/EVENTS.md"))?;
    let document = Document::parse(&text);
    let mut blocks = document.blocks.iter();
    let block = blocks.find(|block| block.info == "python receiver");
    let program = block
        .context("docs/EVENTS.md shows no receiver")?
        .lines
        .join("\n");
    let mut child = Command::new(python()?)
        .args(["-c", &program, "0"])
        .env("WEBHOOK_SECRET", secret)
        .stdout(Stdio::piped())
        .spawn()?;
    let output = child.stdout.take().context("no output")?;
    let mut output = BufReader::new(output);
    let mut first = String::new();
    output.read_line(&mut first)?;
    let port = first.trim().strip_prefix("listening on ");
    let port = port.with_context(|| format!("the receiver printed {first:?}"))?;
    let url = format!("http://127.0.0.1:{port}/");
    Ok((child, output, url))
}

#[test]
fn the_receiver_in_the_documents_verifies_signatures() -> anyhow::Result<()> {
    let (server, _key) = server()?;
    let secret = format!("whsec_{}", "S".repeat(32));
    let (mut child, mut output, url) = documented_receiver(&secret)?;
    let outcome = (|| -> anyhow::Result<()> {
        let create = |secret: &str| -> anyhow::Result<String> {
            let query = "mutation ($input: WebhookInput!) { createWebhook(input: $input) { urn } }";
            let filter = json!({"aspects": ["tagProperties"]});
            let input = json!({"name": "w", "url": url, "secret": secret, "filter": filter});
            let reply = server.graphql(query, json!({ "input": input }))?;
            let urn = reply["data"]["createWebhook"]["urn"].as_str();
            Ok(urn.with_context(|| reply.to_string())?.to_owned())
        };
        let other = create(&format!("whsec_{}", "T".repeat(32)))?;
        let error = webhook(&server, &["test", &other]).unwrap_err().to_string();
        ensure!(error.contains("the status 401"), "{error}");
        webhook(&server, &["delete", &other])?;
        let urn = create(&secret)?;
        webhook(&server, &["test", &urn])?;
        write(&server, "t", "a")?;
        for expected in [
            "docent.webhook.test \n",
            "docent.aspect.changed urn:li:tag:t\n",
        ] {
            let mut printed = String::new();
            output.read_line(&mut printed)?;
            ensure!(printed == expected, "{printed:?}");
        }
        Ok(())
    })();
    child.kill()?;
    child.wait()?;
    outcome
}

fn body(name: &str, description: &str) -> Value {
    let properties = json!({"name": name, "description": description});
    json!({"proposal": {
        "entityType": "tag",
        "entityUrn": format!("urn:li:tag:{name}"),
        "changeType": "UPSERT",
        "aspectName": "tagProperties",
        "aspect": {"value": properties.to_string(), "contentType": "application/json"},
    }})
}

fn write(server: &Server, name: &str, description: &str) -> anyhow::Result<()> {
    let reply = server.post("/aspects?action=ingestProposal", &body(name, description))?;
    ensure!(reply.status == 200, "{}", reply.body);
    Ok(())
}

/// Writes growing numbers to entities until it is told to stop. A server that is killed answers
/// some writes never.
fn write_until(
    writer: usize,
    address: &RwLock<String>,
    token: &str,
    written: &AtomicU64,
    is_over: &AtomicBool,
) {
    let client = Client::builder().no_proxy().timeout(PATIENCE).build();
    let Ok(client) = client else { return };
    for number in 0_u64.. {
        if is_over.load(Ordering::Relaxed) {
            return;
        }
        let entity = usize::try_from(number).unwrap_or_default() % ENTITIES;
        let name = format!("w{writer}-{entity}");
        let address = address.read().map(|it| it.clone()).unwrap_or_default();
        let sent = client
            .post(format!("{address}/aspects?action=ingestProposal"))
            .bearer_auth(token)
            .json(&body(&name, &number.to_string()))
            .send();
        if sent.is_ok_and(|response| response.status().is_success()) {
            written.fetch_add(1, Ordering::Relaxed);
        } else {
            thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Every change that the feed has, by entity.
fn feed(server: &Server) -> anyhow::Result<BTreeMap<String, Vec<String>>> {
    let (mut changes, mut position) = (BTreeMap::<String, Vec<String>>::new(), "0".to_owned());
    loop {
        let path = format!("/events?since={position}&limit=1000&aspect=tagProperties");
        let page = server.get(&path)?.json()?;
        for event in page["events"].as_array().context("no events")? {
            add(&mut changes, event)?;
        }
        let next = page["next"].as_str().context("no position")?;
        if next == position {
            return Ok(changes);
        }
        next.clone_into(&mut position);
    }
}

fn add(changes: &mut BTreeMap<String, Vec<String>>, event: &Value) -> anyhow::Result<()> {
    let text = |value: &Value| value.as_str().map(ToOwned::to_owned);
    let subject = text(&event["subject"]).context("no subject")?;
    let id = text(&event["id"]).context("no id")?;
    changes.entry(subject).or_default().push(id);
    Ok(())
}

/// Kills the server and the receiver at random while changes are written and delivered. In the end,
/// every change was delivered, and those of each entity in their order.
#[test]
fn crash_of_server_and_receiver_loses_no_event_and_keeps_the_order() -> anyhow::Result<()> {
    // After a kill on PostgreSQL, the claim of the killed server has to end.
    let fewer = if on_postgres()? { 25 } else { 12 };
    let kills = number_from("DOCENT_CRASH_KILLS", 50)?.div_ceil(fewer);
    let seed = number_from("DOCENT_CRASH_SEED", 2026)?;
    let mut random = Random::seeded(seed);
    let (mut server, _key) = server()?;
    let mut receiver = Receiver::start()?;
    let create = [
        "create",
        "mirror",
        &receiver.url(),
        "--aspect",
        "tagProperties",
    ];
    let created = webhook(&server, &create)?;
    let urn = line(&created, "webhook")?.to_owned();
    let token = server.token("datahub")?;
    let address = RwLock::new(server.address().to_owned());
    let (written, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    thread::scope(|scope| -> anyhow::Result<()> {
        for writer in 0..WRITERS {
            let (address, token) = (&address, &token);
            let (written, is_over) = (&written, &is_over);
            scope.spawn(move || write_until(writer, address, token, written, is_over));
        }
        let killed = (1..=kills).try_for_each(|kill| {
            let before = receiver.requests();
            until("deliveries", || {
                Ok(receiver.requests() > before + random.below(20))
            })?;
            thread::sleep(Duration::from_millis(random.below(50)));
            // Sometimes one of them, sometimes both.
            let choice = random.below(3);
            if choice != 1 {
                receiver.kill();
            }
            if choice != 0 {
                server.kill()?;
                server.restart()?;
                let mut known = address.write().ok().context("a writer panicked")?;
                server.address().clone_into(&mut known);
            }
            thread::sleep(Duration::from_millis(random.below(300)));
            receiver
                .restart()
                .with_context(|| format!("kill {kill}, seed {seed}"))
        });
        is_over.store(true, Ordering::Relaxed);
        killed
    })?;
    until("the last event", || {
        let shown = webhook(&server, &["show", &urn])?;
        let newest = server.get("/events")?.json()?;
        let newest = newest["next"].as_str().unwrap_or_default().to_owned();
        let number = newest.split('-').next().unwrap_or_default();
        Ok(line(&shown, "pending")? == "0" && line(&shown, "position")? == number)
    })?;
    let expected = feed(&server)?;
    let stored = receiver.stored();
    let (mut ids, mut found) = (HashSet::new(), BTreeMap::new());
    for delivery in &stored {
        if ids.insert(&delivery.id) {
            add(&mut found, &delivery.event)?;
        }
    }
    if found != expected {
        for (subject, ids) in &expected {
            if found.get(subject) != Some(ids) {
                bail!(
                    "{subject}, seed {seed}: {:?} is not {ids:?}",
                    found.get(subject)
                );
            }
        }
        bail!("there are events that the feed does not have, seed {seed}");
    }
    let written = written.load(Ordering::Relaxed);
    let count: usize = expected.values().map(Vec::len).sum();
    ensure!(
        count as u64 >= written,
        "{count} events of {written} writes"
    );
    let engine = if on_postgres()? {
        "PostgreSQL"
    } else {
        "SQLite"
    };
    record(
        &format!("kills of a server and the receiver of its webhook on {engine}"),
        &format!(
            "{kills}, {count} events, {} deliveries, none lost, each entity in order",
            stored.len()
        ),
    )
}

#[test]
fn a_claim_of_another_server_is_respected() -> anyhow::Result<()> {
    if !on_postgres()? {
        return Ok(());
    }
    let (server, key) = server()?;
    let receiver = Receiver::start()?;
    let create = [
        "create",
        "mirror",
        &receiver.url(),
        "--aspect",
        "tagProperties",
    ];
    webhook(&server, &create)?;
    let index: PathBuf = key.path().join("search");
    let options = Options::default()
        .store(server.store())
        .argument("--secret-key-file")
        .argument(key.path().join("secrets.key"))
        .argument("--search-index")
        .argument(index)
        .argument("--webhook-allow-private")
        .argument("127.0.0.0/8");
    let _other = Server::start(options)?;
    for number in 0..100 {
        write(&server, &format!("t{}", number % 7), &number.to_string())?;
    }
    until("the events", || Ok(receiver.stored().len() >= 100))?;
    ensure!(receiver.stored().len() == 100, "each event was sent once");
    Ok(())
}
