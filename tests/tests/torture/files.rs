//! Files that are deleted or damaged while a server uses them.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{FileExt as _, PermissionsExt as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use docent_e2e::figures::record;
use docent_e2e::load::{Random, word};
use docent_e2e::{CommandOutput, Options, Server, Signal};
use reqwest::Method;
use serde_json::json;

use super::{DAMAGED, Tags, graphql, numbered_tag, read_tag, search, write_numbered_tags};

/// Far longer than building an index takes.
const PATIENCE: Duration = Duration::from_mins(1);

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

/// Damages each file that is still there: a merge or a commit of the server deletes some meanwhile.
fn damage(files: &[PathBuf], damage: impl Fn(&Path) -> io::Result<()>) -> anyhow::Result<()> {
    let mut is_any_damaged = false;
    for file in files {
        match damage(file) {
            Ok(()) => is_any_damaged = true,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error).with_context(|| file.display().to_string()),
        }
    }
    ensure!(is_any_damaged, "each file was deleted: {files:?}");
    Ok(())
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
    damage(&index_files(&server)?, |file| {
        let length = fs::metadata(file)?.len();
        // Replaced, as a careless copy does: the server has the old one in memory.
        fs::remove_file(file)?;
        fs::write(file, garbage(length))
    })?;
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
    damage(&index_files(&server)?, garble)?;
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

/// Overwrites a file in place.
fn garble(path: &Path) -> io::Result<()> {
    // Only their owner can, after a change of their mode.
    fs::set_permissions(path, Permissions::from_mode(0o600))?;
    let length = fs::metadata(path)?.len();
    let file = OpenOptions::new().write(true).open(path)?;
    file.write_all_at(&garbage(length), 0)
}

fn garbage(length: u64) -> Vec<u8> {
    vec![0xa5; usize::try_from(length).unwrap_or(0)]
}

/// Writes so many words that the server maps a file of the index; it has small ones in memory.
fn write_large_index(server: &Server) -> anyhow::Result<()> {
    const TAGS: usize = 800;
    const WORDS: usize = 200;
    let words = |number: usize| {
        let first = number * WORDS;
        let words = (first..first + WORDS).map(|at| word(at as u64));
        words.collect::<Vec<_>>().join(" ")
    };
    write_numbered_tags(server, 0..TAGS, words)
}

/// Like [`Tags::verify_search`], after an index has been built in the background.
fn verify_search_soon(tags: &Tags, server: &Server) -> anyhow::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let verified = tags.verify_search(server);
        if verified.is_ok() || Instant::now() > deadline {
            return verified;
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// The files of the index that are mapped.
fn mapped_index_files(server: &Server) -> anyhow::Result<Vec<PathBuf>> {
    let maps = fs::read_to_string(format!("/proc/{}/maps", server.process_id()))?;
    let paths = maps
        .lines()
        .filter_map(|line| line.find('/').map(|at| &line[at..]));
    let mut files: Vec<PathBuf> = paths
        .filter(|path| path.contains("docent.db-search"))
        .map(PathBuf::from)
        .collect();
    files.dedup();
    Ok(files)
}

/// Keeps `keep` thirds of each file.
fn truncate(files: &[PathBuf], keep: u64) -> anyhow::Result<()> {
    damage(files, |file| truncate_file(file, keep))
}

fn truncate_file(file: &Path, keep: u64) -> io::Result<()> {
    let length = fs::metadata(file)?.len();
    // Only their owner can, after a change of their mode.
    fs::set_permissions(file, Permissions::from_mode(0o600))?;
    let file = OpenOptions::new().write(true).open(file)?;
    file.set_len(length * keep / 3)
}

/// The server has the content of the files in memory, because they are small.
#[test]
fn an_index_that_is_truncated_while_serving_is_built_again() -> anyhow::Result<()> {
    let mut server = server()?;
    let mut tags = Tags::new(&server)?;
    for (round, keep) in [0, 1, 2].into_iter().enumerate() {
        tags.verify_search(&server)?;
        truncate(&index_files(&server)?, keep)?;
        // The server looks at the files this often at most.
        thread::sleep(Duration::from_millis(20));
        tags.verify_search(&server)?;
        let noticed = server.printed().matches("was truncated").count();
        ensure!(noticed > round, "not noticed: {}", server.printed());
        let reply = tags.write(&server)?;
        ensure!(reply.status == 200, "{reply:?}");
        tags.verify(&server)?;
    }
    tags.verify_search(&server)?;
    // The files are whole again.
    server.kill()?;
    server.restart()?;
    tags.verify_search(&server)?;
    let rebuilt = server.printed();
    ensure!(
        !rebuilt.contains("rebuilding the search index"),
        "{rebuilt}"
    );
    Ok(())
}

/// Reading a mapped file behind its new end kills the process. Searches, merges and the check of an
/// index read it at any time.
#[test]
fn a_large_index_that_is_truncated_while_serving_costs_a_restart_at_most() -> anyhow::Result<()> {
    const ROUNDS: usize = 2;
    let mut server = server()?;
    let mut tags = Tags::new(&server)?;
    write_large_index(&server)?;
    let mut kills = 0;
    for _ in 0..ROUNDS {
        verify_search_soon(&tags, &server)?;
        let files = mapped_index_files(&server)?;
        ensure!(!files.is_empty(), "no file is mapped");
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            for client in 0..4 {
                let (server, is_over) = (&server, &is_over);
                scope.spawn(move || {
                    let mut random = Random::seeded(client);
                    while !is_over.load(Ordering::SeqCst) {
                        // It fails if it kills the server.
                        search(server, &word(random.below(1000))).ok();
                    }
                });
            }
            thread::sleep(Duration::from_millis(100));
            let truncated = truncate(&files, 0);
            thread::sleep(Duration::from_millis(100));
            is_over.store(true, Ordering::SeqCst);
            truncated
        })?;
        if let Some(status) = server.ended()? {
            ensure!(status.signal() == Some(Signal::BUS.as_raw()), "{status}");
            kills += 1;
        }
        server.restart()?;
        tags.verify(&server)?;
        let reply = tags.write(&server)?;
        ensure!(reply.status == 200, "{reply:?}");
        verify_search_soon(&tags, &server)?;
    }
    record(
        "a large index that is truncated during searches",
        &format!("{ROUNDS} times, {kills} kills of the server"),
    )
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
        write_numbered_tags(&server, number..number + 1, |_| "text ".repeat(2000))?;
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

/// The server reads the damage at once: it maps the file.
#[test]
fn garbled_pages_fail_the_reads_of_what_they_contain_and_no_others() -> anyhow::Result<()> {
    const TAGS: usize = 2000;
    let mut server = server()?;
    write_numbered_tags(&server, 0..TAGS, |_| "some text".to_owned())?;
    // The tags are in the database then, not in the log.
    ensure!(server.stop()?.success());
    server.restart()?;
    let (damaged, healthy) = (numbered_tag(TAGS - 1), numbered_tag(0));
    let count = garble_leaves(&server.directory().join("docent.db"), &damaged)?;
    ensure!(count > 0, "no page has the tag");
    let reply = read_tag(&server, &damaged)?;
    ensure!(reply.status == 500, "{reply:?}");
    ensure!(reply.body.contains(DAMAGED), "{reply:?}");
    let query = format!(r#"{{ tag(urn: "{damaged}") {{ properties {{ name }} }} }}"#);
    let reply = graphql(&server, &query)?;
    ensure!(reply["errors"][0]["message"] == DAMAGED, "{reply}");
    server.logged_line("database disk image is malformed")?;
    let reply = read_tag(&server, &healthy)?;
    ensure!(
        reply.status == 200 && reply.body.contains("some text"),
        "{reply:?}"
    );
    ensure!(has_numbered_tag(&server, 0)?);
    let report = checked(&server)?.failed()?;
    ensure!(report.contains("docent restore"), "{report}");
    Ok(())
}

/// Overwrites the headers of the pages that contain a text in their rows. Pages of the upper levels
/// of a tree contain some texts as well, and lead to many others.
fn garble_leaves(database: &Path, text: &str) -> anyhow::Result<usize> {
    const PAGE: usize = 4096;
    const LEAVES: [u8; 2] = [10, 13];
    let contents = fs::read(database)?;
    let file = File::options().write(true).open(database)?;
    let has_text = |page: &[u8]| page.windows(text.len()).any(|part| part == text.as_bytes());
    let mut count = 0;
    for (number, page) in contents.chunks(PAGE).enumerate().skip(1) {
        if LEAVES.contains(&page[0]) && has_text(page) {
            file.write_all_at(&[0xa5; 64], (number * PAGE) as u64)?;
            count += 1;
        }
    }
    Ok(count)
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
