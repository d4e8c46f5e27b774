//! A disk that is full or fails for a while.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use docent_e2e::{CommandOutput, Options, Server, preload_library, temporary_directory};

use super::{DAMAGED, Tags, numbered_tag, read_tag, search, write_numbered_tags};

/// What fails, and what the message says.
const FAULTS: [(&str, &str); 5] = [
    ("full", "the disk is full: free some space"),
    ("broken", "the disk is failing or read-only"),
    ("unsynced", "the disk is failing or read-only"),
    ("read-only", "the disk is failing or read-only"),
    ("short", "the disk is full: free some space"),
];

/// Compiles the library that makes the disk fail.
fn faulty_disk(directory: &Path) -> anyhow::Result<PathBuf> {
    preload_library(directory, "faulty_disk", include_str!("faulty_disk.c"))
}

/// A server whose named files fail as the control file says.
fn server_with_faults(directory: &Path, control: &Path, files: &str) -> anyhow::Result<Server> {
    Server::start(
        Options::default()
            .store("sqlite:docent.db")
            .without_authentication()
            .variable("LD_PRELOAD", faulty_disk(directory)?)
            .variable("FAULTY_DISK_CONTROL", control)
            .variable("FAULTY_DISK_FILES", files),
    )
}

#[test]
fn a_failing_disk_loses_no_acknowledged_write_and_is_used_again_without_a_restart()
-> anyhow::Result<()> {
    let directory = temporary_directory()?;
    let control = directory.path().join("fault");
    let mut server = server_with_faults(directory.path(), &control, "docent.db")?;
    let mut tags = Tags::new(&server)?;
    tags.verify_search(&server)?;
    for (fault, message) in FAULTS {
        fail_and_recover(&server, &mut tags, &control, fault, message)
            .with_context(|| fault.to_owned())?;
    }
    // A search that cannot index the last write says why.
    let reply = tags.write(&server)?;
    ensure!(reply.status == 200, "{reply:?}");
    fs::write(&control, "full")?;
    let reply = search(&server, "name")?;
    let message = &reply["errors"][0]["message"];
    let expected =
        "the search index could not be updated, because the disk is full: free some space";
    ensure!(*message == expected, "{reply}");
    fs::remove_file(&control)?;
    tags.verify_search(&server)?;

    server.kill()?;
    let checked = CommandOutput::run(&mut server.docent(["check", "--store", server.store()])?)?;
    ensure!(checked.succeeded()?.contains("the store is healthy"));
    server.restart()?;
    tags.verify(&server)?;
    tags.verify_search(&server)
}

fn fail_and_recover(
    server: &Server,
    tags: &mut Tags,
    control: &Path,
    fault: &str,
    message: &str,
) -> anyhow::Result<()> {
    fs::write(control, fault)?;
    for _ in 0..3 {
        let reply = tags.write(server)?;
        ensure!(reply.status == 503, "a write succeeded: {reply:?}");
        ensure!(reply.body.contains(message), "{reply:?}");
        tags.verify(server)?;
    }
    fs::remove_file(control)?;
    tags.verify(server)?;
    let reply = tags.write(server)?;
    ensure!(reply.status == 200, "not used again: {reply:?}");
    tags.verify(server)?;
    tags.verify_search(server)
}

/// The pages that a checkpoint has moved to the database are mapped, so that this reads the log
/// only.
#[test]
fn reads_of_a_disk_that_fails_say_so_and_others_go_on() -> anyhow::Result<()> {
    const TAGS: usize = 1000;
    let directory = temporary_directory()?;
    let control = directory.path().join("fault");
    let mut server = server_with_faults(directory.path(), &control, "docent.db-wal")?;
    write_numbered_tags(&server, 0..TAGS, |_| "in the database".to_owned())?;
    // The log is empty then.
    ensure!(server.stop()?.success());
    server.restart()?;
    let (in_database, in_log) = (numbered_tag(0), numbered_tag(TAGS - 1));
    write_numbered_tags(&server, TAGS - 1..TAGS, |_| "in the log".to_owned())?;
    fs::write(&control, "unreadable")?;
    let reply = read_tag(&server, &in_log)?;
    // To SQLite, a page that cannot be read is a damaged one.
    ensure!(reply.status == 500, "{reply:?}");
    ensure!(reply.body.contains(DAMAGED), "{reply:?}");
    let reply = read_tag(&server, &in_database)?;
    ensure!(
        reply.status == 200 && reply.body.contains("in the database"),
        "{reply:?}"
    );
    fs::remove_file(&control)?;
    let reply = read_tag(&server, &in_log)?;
    ensure!(
        reply.status == 200 && reply.body.contains("in the log"),
        "{reply:?}"
    );
    Ok(())
}
