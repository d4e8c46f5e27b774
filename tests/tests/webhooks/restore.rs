//! Events after the store was replaced: ids and positions of the lost log never come again.

use std::collections::HashSet;

use anyhow::{Context as _, ensure};
use docent_e2e::{CommandOutput, Options, Server};
use serde_json::Value;

use super::receiver::{Delivery, Receiver};
use super::{line, server, until, webhook, write};

/// The events of tags behind a position, and where to continue.
fn page(server: &Server, since: &str) -> anyhow::Result<(Vec<Value>, String)> {
    let path = format!("/events?since={since}&limit=1000&aspect=tagProperties");
    let page = server.get(&path)?.json()?;
    let events = page["events"].as_array().context("no events")?.clone();
    let next = page["next"].as_str().context("no position")?;
    Ok((events, next.to_owned()))
}

fn run(server: &Server, arguments: &[&str]) -> anyhow::Result<()> {
    CommandOutput::run(&mut server.docent(arguments)?)?.succeeded()?;
    Ok(())
}

/// Creates a webhook of tags; returns its URN.
fn follow_tags(server: &Server, receiver: &Receiver) -> anyhow::Result<String> {
    let url = receiver.url();
    let create = ["create", "mirror", &url, "--aspect", "tagProperties"];
    let created = webhook(server, &create)?;
    Ok(line(&created, "webhook")?.to_owned())
}

/// Waits until the receiver has stored so many events, and the server that it has.
fn delivered(
    server: &Server,
    receiver: &Receiver,
    urn: &str,
    count: usize,
) -> anyhow::Result<Vec<Delivery>> {
    until("the events", || Ok(receiver.stored().len() >= count))?;
    until("the state", || {
        let shown = webhook(server, &["show", urn])?;
        let newest = server.get("/events")?.json()?;
        let newest = newest["next"].as_str().unwrap_or_default().to_owned();
        let number = newest.split('-').next().unwrap_or_default();
        Ok(line(&shown, "pending")? == "0" && line(&shown, "position")? == number)
    })?;
    Ok(receiver.stored())
}

#[test]
fn a_restored_store_repeats_no_id_and_no_position() -> anyhow::Result<()> {
    let (mut server, _key) = server()?;
    let receiver = Receiver::start()?;
    let urn = follow_tags(&server, &receiver)?;
    write(&server, "kept", "1")?;
    delivered(&server, &receiver, &urn, 1)?;
    let (_, kept) = page(&server, "0")?;
    let store = server.store().to_owned();
    run(&server, &["backup", "--store", &store, "before.backup"])?;
    for number in 0..10 {
        write(&server, "lost", &number.to_string())?;
    }
    let before = delivered(&server, &receiver, &urn, 11)?;
    let (lost, position) = page(&server, &kept)?;
    ensure!(lost.len() == 10, "{lost:?}");

    ensure!(server.stop()?.success());
    let restore = ["restore", "--store", &store, "--replace", "before.backup"];
    run(&server, &restore)?;
    server.restart()?;
    for number in 0..30 {
        write(&server, "new", &number.to_string())?;
    }
    let after = delivered(&server, &receiver, &urn, before.len() + 30)?;
    let known: HashSet<&str> = before.iter().map(|it| &*it.id).collect();
    let new = &after[before.len()..];
    let new: Vec<_> = new.iter().filter(|it| !known.contains(&*it.id)).collect();
    // A receiver that remembers ids takes all of them.
    ensure!(new.len() == 30, "{} of 30 are new", new.len());
    let is_new = |it: &&&Delivery| it.event["subject"] == "urn:li:tag:new";
    ensure!(new.iter().filter(is_new).count() == 30);
    let ids: HashSet<String> = lost.iter().map(|it| it["id"].to_string()).collect();
    ensure!(
        new.iter()
            .all(|it| !ids.contains(&it.event["id"].to_string()))
    );

    // The log is longer than the position of the lost one.
    let reply = server.get(&format!("/events?since={position}"))?;
    ensure!(reply.status == 410, "{}", reply.body);
    let (events, _) = page(&server, &kept)?;
    ensure!(events.len() == 30, "a kept position continues: {events:?}");
    Ok(())
}

#[test]
fn a_moved_webhook_continues_at_the_end_of_the_new_log() -> anyhow::Result<()> {
    let (mut server, key) = server()?;
    let receiver = Receiver::start()?;
    let urn = follow_tags(&server, &receiver)?;
    for number in 0..3 {
        write(&server, "old", &number.to_string())?;
    }
    let before = delivered(&server, &receiver, &urn, 3)?;
    let (_, position) = page(&server, "0")?;
    ensure!(server.stop()?.success());
    let moved = format!("sqlite:{}", key.path().join("moved.db").display());
    run(&server, &["move", "--from", server.store(), "--to", &moved])?;
    let options = Options::default()
        .store(moved)
        .argument("--secret-key-file")
        .argument(key.path().join("secrets.key"))
        .argument("--webhook-allow-private")
        .argument("127.0.0.0/8");
    let server = Server::start(options)?;
    let reply = server.get(&format!("/events?since={position}"))?;
    ensure!(reply.status == 410, "{}", reply.body);
    server.logged_line("continues at the end")?;
    write(&server, "new", "1")?;
    let after = delivered(&server, &receiver, &urn, 4)?;
    ensure!(after.len() == 4, "{after:?}");
    ensure!(after[3].event["subject"] == "urn:li:tag:new", "{after:?}");
    ensure!(before.iter().all(|it| it.id != after[3].id), "{after:?}");
    Ok(())
}
