//! Files that are deleted or damaged while a server uses them.

use std::fs::{self, File, OpenOptions, Permissions};
use std::os::unix::fs::{FileExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use docent_e2e::load::proposal;
use docent_e2e::{CommandOutput, Options, Server};
use reqwest::Method;
use serde_json::json;

use super::{Tags, graphql};

fn server() -> anyhow::Result<Server> {
    Server::start(
        Options::default()
            .store("sqlite:docent.db")
            .without_authentication(),
    )
}

fn index_files(server: &Server) -> anyhow::Result<Vec<PathBuf>> {
    let index = server.directory().join("docent.db-search");
    let formats = fs::read_dir(&index)?.collect::<Result<Vec<_>, _>>()?;
    let mut files = Vec::new();
    for format in formats.iter().filter(|it| it.path().is_dir()) {
        for file in fs::read_dir(format.path())? {
            files.push(file?.path());
        }
    }
    ensure!(files.len() > 5, "{files:?}");
    Ok(files)
}

#[test]
fn an_index_that_is_deleted_while_serving_is_built_again() -> anyhow::Result<()> {
    let server = server()?;
    let mut tags = Tags::new(&server)?;
    tags.verify_search(&server)?;
    // At once, because the server may add a file meanwhile.
    let (index, moved) = ("docent.db-search", "moved");
    fs::rename(
        server.directory().join(index),
        server.directory().join(moved),
    )?;
    fs::remove_dir_all(server.directory().join(moved))?;
    let reply = tags.write(&server)?;
    ensure!(reply.status == 200, "{reply:?}");
    tags.verify(&server)?;
    tags.verify_search(&server)?;
    ensure!(!index_files(&server)?.is_empty());
    Ok(())
}

#[test]
fn an_index_that_is_overwritten_while_serving_is_built_again_at_the_next_start()
-> anyhow::Result<()> {
    let mut server = server()?;
    let mut tags = Tags::new(&server)?;
    tags.verify_search(&server)?;
    for file in index_files(&server)? {
        let length = fs::metadata(&file)?.len();
        // Replaced, as a careless copy does: the server has the old one in memory.
        fs::remove_file(&file)?;
        fs::write(&file, vec![0xa5; usize::try_from(length)?])?;
    }
    let reply = tags.write(&server)?;
    ensure!(reply.status == 200, "{reply:?}");
    tags.verify(&server)?;
    server.kill()?;
    server.restart()?;
    tags.verify_search(&server)
}

/// The files are small, so the server has them in memory. Searches would read the damage of larger
/// ones, which are mapped.
#[test]
fn an_index_that_is_garbled_in_place_while_serving_is_built_again_at_the_next_start()
-> anyhow::Result<()> {
    let mut server = server()?;
    let mut tags = Tags::new(&server)?;
    tags.verify_search(&server)?;
    for path in index_files(&server)? {
        // Only their owner can, after a change of their mode.
        fs::set_permissions(&path, Permissions::from_mode(0o600))?;
        let length = usize::try_from(fs::metadata(&path)?.len())?;
        let file = OpenOptions::new().write(true).open(&path)?;
        file.write_all_at(&vec![0xa5; length], 0)?;
    }
    // What it finds does not matter, but it must not end the server.
    let request = server.anonymous_request(Method::POST, "/api/graphql");
    let query = r#"{ searchAcrossEntities(input: {query: "name1", count: 1}) { total } }"#;
    let reply = server.send(request.json(&json!({ "query": query })))?;
    ensure!(reply.status == 200, "{reply:?}");
    let reply = tags.write(&server)?;
    ensure!(reply.status == 200, "{reply:?}");
    tags.verify(&server)?;
    server.kill()?;
    server.restart()?;
    tags.verify_search(&server)
}

/// Reading a mapped file behind its new end would kill the process.
#[test]
fn an_index_that_is_truncated_while_serving_is_built_again() -> anyhow::Result<()> {
    let server = server()?;
    let mut tags = Tags::new(&server)?;
    for keep in [0, 1, 2] {
        tags.verify_search(&server)?;
        for file in index_files(&server)? {
            let metadata = fs::metadata(&file)?;
            // Only their owner can, after a change of their mode.
            fs::set_permissions(&file, Permissions::from_mode(0o600))?;
            let file = OpenOptions::new().write(true).open(&file)?;
            file.set_len(metadata.len() * keep / 3)?;
        }
        // The server looks at the files this often at most.
        thread::sleep(Duration::from_millis(20));
        tags.verify_search(&server)?;
        let reply = tags.write(&server)?;
        ensure!(reply.status == 200, "{reply:?}");
        tags.verify(&server)?;
    }
    tags.verify_search(&server)
}

#[test]
fn writes_wait_for_a_store_directory_that_is_gone() -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    let (here, away) = (directory.path().join("data"), directory.path().join("away"));
    fs::create_dir(&here)?;
    let database = here.join("docent.db");
    let options = Options::default().store(format!("sqlite:{}", database.display()));
    let mut server = Server::start(options.without_authentication())?;
    let mut tags = Tags::new(&server)?;
    fs::rename(&here, &away)?;
    let reply = tags.write(&server)?;
    ensure!(reply.status == 503, "{reply:?}");
    ensure!(
        reply.body.contains("was moved, removed or replaced"),
        "{reply:?}"
    );
    tags.verify(&server)?;
    fs::rename(&away, &here)?;
    let reply = tags.write(&server)?;
    ensure!(reply.status == 200, "{reply:?}");
    server.kill()?;
    server.restart()?;
    tags.verify(&server)?;
    tags.verify_search(&server)
}

/// The file of recent transactions can end anywhere after a power failure, or in pages of zeros,
/// because only their space was allocated.
#[test]
fn a_truncated_write_ahead_log_loses_its_end_only() -> anyhow::Result<()> {
    const WRITES: usize = 20;
    let mut server = server()?;
    let mut tags = Tags::new(&server)?;
    // The tables are in the database then, not in the log.
    ensure!(server.stop()?.success());
    server.restart()?;
    for number in 0..WRITES {
        let description = "text ".repeat(2000);
        let value = json!({"name": format!("tag {number}"), "description": description});
        let proposal = proposal(&numbered_tag(number), "tagProperties", &value);
        let request = server.anonymous_request(Method::POST, "/aspects?action=ingestProposal");
        let reply = server.send(request.json(&json!({ "proposal": proposal })))?;
        ensure!(reply.status == 200, "{reply:?}");
    }
    server.kill()?;
    let database = server.directory().join("docent.db");
    let log = server.directory().join("docent.db-wal");
    let file = fs::read(&database)?;
    let whole = fs::read(&log).context("the server has a write-ahead log")?;
    let (length, half) = (whole.len(), whole.len() / 2);
    let mut torn = whole.clone();
    torn[half..].fill(0);
    let cut = |length: usize| whole[..length].to_vec();
    for (kept, contents, stored) in [
        ("all", cut(length), WRITES..=WRITES),
        ("all but a byte", cut(length - 1), WRITES - 1..=WRITES),
        ("half", cut(half), 1..=WRITES - 1),
        ("half, then zeros", torn, 1..=WRITES - 1),
        ("its header", cut(32), 0..=0),
        ("nothing", cut(0), 0..=0),
    ] {
        // The start before this one has moved the log into the database.
        fs::write(&database, &file)?;
        fs::write(&log, &contents)?;
        remove_shared_memory(&server)?;
        checked(&server)?.succeeded()?;
        server.restart()?;
        let found = (0..WRITES)
            .map(|number| has_numbered_tag(&server, number))
            .collect::<anyhow::Result<Vec<bool>>>()?;
        let count = found.iter().filter(|is_found| **is_found).count();
        ensure!(
            found[..count].iter().all(|is_found| *is_found),
            "{kept}: a write is stored, and an earlier one is not: {found:?}"
        );
        ensure!(
            stored.contains(&count),
            "{kept}: {count} of {WRITES} writes are stored"
        );
        let reply = tags.write(&server)?;
        ensure!(reply.status == 200, "{kept}: {reply:?}");
        tags.verify(&server)?;
        tags.verify_search(&server)?;
        server.kill()?;
    }
    Ok(())
}

fn numbered_tag(number: usize) -> String {
    format!("urn:li:tag:number{number}")
}

fn has_numbered_tag(server: &Server, number: usize) -> anyhow::Result<bool> {
    let urn = numbered_tag(number);
    let query = format!(r#"{{ tag(urn: "{urn}") {{ properties {{ name }} }} }}"#);
    let reply = graphql(server, &query)?;
    let name = &reply["data"]["tag"]["properties"]["name"];
    ensure!(
        name.is_null() || *name == format!("tag {number}"),
        "{reply}"
    );
    Ok(!name.is_null())
}

#[test]
fn garbled_pages_are_reported_with_what_to_do() -> anyhow::Result<()> {
    let mut server = server()?;
    let mut tags = Tags::new(&server)?;
    for _ in 0..20 {
        tags.write(&server)?;
    }
    ensure!(server.stop()?.success());
    let path = server.directory().join("docent.db");
    let file = File::options().write(true).open(&path)?;
    let length = file.metadata()?.len();
    for offset in (8192..length).step_by(4096) {
        file.write_all_at(&[0xa5; 64], offset)?;
    }
    let report = checked(&server)?.failed()?;
    ensure!(report.contains("docent restore"), "{report}");
    Ok(())
}

/// As after a restart of the machine.
fn remove_shared_memory(server: &Server) -> anyhow::Result<()> {
    let path: &Path = &server.directory().join("docent.db-shm");
    if path.exists() {
        fs::remove_file(path)?;
    }
    Ok(())
}

fn checked(server: &Server) -> anyhow::Result<CommandOutput> {
    CommandOutput::run(&mut server.docent(["check", "--store", server.store()])?)
}
