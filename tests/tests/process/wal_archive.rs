//! The archive of the write-ahead log: every archived commit survives the loss of the machine.

use std::collections::BTreeSet;
use std::fs;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use docent_e2e::figures::{number_from, record};
use docent_e2e::load::{Connection, Random, proposal};
use docent_e2e::{CommandOutput, Options, Server, on_postgres, temporary_directory};
use serde_json::json;

use super::backups::ObjectStore;
use super::{description, serve};

const TIMEOUT: Duration = Duration::from_mins(1);
/// The log is checkpointed after 16 MiB, so several times in a test.
const TEXT_BYTES: usize = 150_000;
const PROPERTIES: &str = "datasetProperties";

fn urn(number: u64) -> String {
    format!("urn:li:dataset:(urn:li:dataPlatform:hive,written_{number},PROD)")
}

pub(super) fn archiving(place: impl AsRef<Path>) -> Options {
    let options = Options::default().argument("--backup-to");
    let options = options.argument(place.as_ref());
    options.argument("--backup-wal-every").argument("1s")
}

fn archiving_to(bucket: &ObjectStore, place: &Path) -> Options {
    archiving(place)
        .variable("AWS_ACCESS_KEY_ID", "key")
        .variable("AWS_SECRET_ACCESS_KEY", "secret")
        .variable("AWS_ENDPOINT_URL", &bucket.address)
}

/// Up to when the log is archived.
fn archived_until(server: &Server) -> anyhow::Result<Option<String>> {
    let health = server.get("/health/detailed")?.json()?;
    let until = &health["backups"]["logArchivedUntil"];
    Ok(until.as_str().map(ToOwned::to_owned))
}

/// Waits until everything is archived that was committed before; returns up to when.
pub(super) fn wait_for_archive(server: &Server) -> anyhow::Result<String> {
    let deadline = Instant::now() + TIMEOUT;
    let mut seen = archived_until(server)?;
    // One may have begun before.
    let mut left = 2;
    loop {
        let until = archived_until(server)?;
        if until != seen {
            left -= 1;
            seen = until;
        }
        if left == 0
            && let Some(seen) = seen
        {
            return Ok(seen);
        }
        ensure!(Instant::now() < deadline, "{}", server.printed());
        thread::sleep(Duration::from_millis(20));
    }
}

pub(super) fn write(server: &Server, number: u64, text: &str) -> anyhow::Result<()> {
    let written = proposal(&urn(number), PROPERTIES, &json!({"description": text}));
    let body = json!({"proposal": written});
    let reply = server.post("/aspects?action=ingestProposal", &body)?;
    ensure!(reply.status == 200, "{}", reply.body);
    Ok(())
}

/// Removes the database, as if the machine were lost.
fn lose(server: &mut Server) -> anyhow::Result<()> {
    server.kill()?;
    for entry in fs::read_dir(server.directory())? {
        let path = entry?.path();
        if path.is_dir() {
            fs::remove_dir_all(path)?;
        } else {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

/// Restores to a new file; returns what the command printed, and the description there.
fn restored(
    server: &Server,
    place: &Path,
    file: &str,
    more: &[&str],
) -> anyhow::Result<(String, Option<String>)> {
    let store = format!("sqlite:{file}");
    let mut command = server.docent(["restore", "--store", &store])?;
    let printed = CommandOutput::run(command.arg(place).args(more))?.succeeded()?;
    let other = Server::start(super::options_for(&server.directory().join(file)))?;
    Ok((printed, description(&other, &urn(1))?))
}

pub(super) fn backups(place: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(place)?;
    let paths = entries.map(|entry| Ok(entry?.path()));
    let paths: Vec<PathBuf> = paths.collect::<anyhow::Result<_>>()?;
    let is_backup = |path: &PathBuf| path.extension().is_some_and(|it| it == "backup");
    Ok(paths.into_iter().filter(is_backup).collect())
}

/// The archived segments, in their order.
pub(super) fn segments(place: &Path) -> anyhow::Result<BTreeSet<PathBuf>> {
    let entries = fs::read_dir(place.join("wal"))?;
    entries.map(|entry| Ok(entry?.path())).collect()
}

fn failed_restore(server: &Server, arguments: &[&str]) -> anyhow::Result<String> {
    let mut command = server.docent(["restore", "--store", "sqlite:no.db"])?;
    CommandOutput::run(command.args(arguments))?.failed()
}

/// Writes one dataset after the other until the server is gone; returns how many it sent.
fn write_until_lost(
    server: &mut Server,
    random: &mut Random,
    from: u64,
) -> anyhow::Result<(u64, u64)> {
    let connection = Connection::new(server.address(), &server.token("writer")?)?;
    let acknowledged = Arc::new(AtomicU64::new(from));
    let ends = Arc::new(AtomicBool::new(false));
    let writer = thread::spawn({
        let (acknowledged, ends) = (Arc::clone(&acknowledged), Arc::clone(&ends));
        move || -> anyhow::Result<u64> {
            let text = "text ".repeat(TEXT_BYTES / 5);
            let mut number = from;
            while !ends.load(Ordering::SeqCst) {
                number += 1;
                let description = format!("{number} {text}");
                let written = proposal(
                    &urn(number),
                    PROPERTIES,
                    &json!({"description": description}),
                );
                if !connection.ingest(&[written])? {
                    break;
                }
                acknowledged.store(number, Ordering::SeqCst);
            }
            Ok(number)
        }
    });
    let deadline = Instant::now() + TIMEOUT;
    while acknowledged.load(Ordering::SeqCst) < from + 20 {
        ensure!(Instant::now() < deadline, "the load did not start");
        thread::sleep(Duration::from_millis(5));
    }
    let safe = acknowledged.load(Ordering::SeqCst);
    wait_for_archive(server)?;
    thread::sleep(Duration::from_millis(random.below(1500)));
    lose(server)?;
    ends.store(true, Ordering::SeqCst);
    let sent = writer
        .join()
        .map_err(|_| anyhow::anyhow!("the writer panicked"))??;
    Ok((safe, sent))
}

/// Runs `docent restore` of the newest state.
type Restore<'r> = &'r dyn Fn(&Server) -> anyhow::Result<String>;

/// `DOCENT_MACHINE_LOSSES` times the loss, and `DOCENT_CRASH_SEED` the random seed.
fn lose_machines(mut server: Server, restore: Restore<'_>) -> anyhow::Result<()> {
    let losses = number_from("DOCENT_MACHINE_LOSSES", 3)?;
    let random = RandomState::new().build_hasher().finish();
    let seed = number_from("DOCENT_CRASH_SEED", random)?;
    let mut random = Random::seeded(seed);
    let mut stored = 0;
    for loss in 1..=losses {
        let lost = lose_one(&mut server, restore, &mut random, stored);
        stored = lost.with_context(|| format!("loss {loss}, DOCENT_CRASH_SEED={seed}"))?;
    }
    record("lost machines", &format!("{losses} under load"))
}

/// Loses the machine under load; returns how many datasets were restored.
fn lose_one(
    server: &mut Server,
    restore: Restore<'_>,
    random: &mut Random,
    before: u64,
) -> anyhow::Result<u64> {
    // The archive continues behind the backup that a new log needs.
    server.logged_line("backed up to")?;
    let (safe, sent) = write_until_lost(server, random, before)?;
    let printed = restore(server)?;
    ensure!(printed.contains("the state of"), "{printed}");
    server.run_docent(["check", "--store", server.store()])?;
    server.restart()?;
    let mut stored = safe;
    for number in 1..=sent {
        let is_stored = match description(server, &urn(number))? {
            Some(text) => {
                ensure!(text.starts_with(&format!("{number} ")), "{number}");
                true
            }
            None => false,
        };
        if is_stored && number > safe {
            ensure!(stored + 1 == number, "{number} without those before");
            stored = number;
        }
        ensure!(
            is_stored || number > safe,
            "{number} of {safe} was archived and is lost"
        );
    }
    Ok(stored)
}

#[test]
fn archived_commits_survive_the_loss_of_the_machine() -> anyhow::Result<()> {
    if on_postgres()? {
        return Ok(());
    }
    let place = temporary_directory()?;
    let server = Server::start(archiving(place.path()))?;
    lose_machines(server, &|server| {
        let mut command = server.docent(["restore", "--store", server.store()])?;
        CommandOutput::run(command.arg(place.path()))?.succeeded()
    })
}

#[test]
fn commits_archived_in_a_bucket_survive_the_loss_of_the_machine() -> anyhow::Result<()> {
    if on_postgres()? {
        return Ok(());
    }
    let bucket = ObjectStore::start()?;
    let place = Path::new("s3://backups/docent");
    let server = Server::start(archiving_to(&bucket, place))?;
    lose_machines(server, &|server| {
        let mut command = server.docent(["restore", "--store", server.store()])?;
        bucket.run(command.arg(place))
    })
}

#[test]
fn a_store_is_restored_to_a_time() -> anyhow::Result<()> {
    if on_postgres()? {
        return Ok(());
    }
    let place = temporary_directory()?;
    let mut server = Server::start(archiving(place.path()))?;
    server.logged_line("backed up to")?;
    write(&server, 1, "right")?;
    let time = wait_for_archive(&server)?;
    write(&server, 1, "wrong")?;
    // The rest is archived when the server stops.
    server.stop()?;

    let (printed, text) = restored(&server, place.path(), "then.db", &["--at", &time])?;
    ensure!(text.as_deref() == Some("right"), "{text:?}: {printed}");
    let (printed, text) = restored(&server, place.path(), "newest.db", &[])?;
    ensure!(text.as_deref() == Some("wrong"), "{text:?}: {printed}");

    let directory = place.path().to_string_lossy();
    let error = failed_restore(&server, &[&directory, "--at", "2020-01-31T12:00:00Z"])?;
    ensure!(
        error.contains("from before 2020-01-31T12:00:00Z"),
        "{error}"
    );
    let error = failed_restore(&server, &["one.backup", "--at", &time])?;
    ensure!(error.contains("--at needs the directory"), "{error}");
    let error = failed_restore(&server, &[&directory, "--at", "yesterday"])?;
    ensure!(error.contains("yesterday"), "{error}");

    // The archive continues after the start: no other backup is needed.
    server.restart()?;
    write(&server, 1, "later")?;
    wait_for_archive(&server)?;
    server.stop()?;
    let (printed, text) = restored(&server, place.path(), "later.db", &[])?;
    ensure!(text.as_deref() == Some("later"), "{text:?}: {printed}");
    for segment in segments(place.path())? {
        let mode = fs::metadata(&segment)?.permissions().mode();
        ensure!(mode.trailing_zeros() >= 6, "others may read it: {mode:o}");
    }
    ensure!(backups(place.path())?.len() == 1);
    Ok(())
}

#[test]
fn a_missing_segment_ends_the_log_and_an_unreachable_place_keeps_it() -> anyhow::Result<()> {
    if on_postgres()? {
        return Ok(());
    }
    let parent = temporary_directory()?;
    let place = parent.path().join("backups");
    fs::create_dir(&place)?;
    let mut server = Server::start(archiving(&place))?;
    server.logged_line("backed up to")?;
    // The disk of the backups is gone for a while.
    let away = parent.path().join("away");
    fs::rename(&place, &away)?;
    write(&server, 1, "kept")?;
    server.logged_line("the write-ahead log could not be archived")?;
    fs::rename(&away, &place)?;
    server.logged_line("the write-ahead log is archived again")?;
    // Nothing is missing, so the chain goes on.
    let backups = backups(&place)?;
    ensure!(backups.len() == 1, "{backups:?}");
    let before = segments(&place)?;
    write(&server, 1, "later")?;
    wait_for_archive(&server)?;
    server.stop()?;

    let after = segments(&place)?;
    let first = after.difference(&before).next();
    fs::remove_file(first.context("nothing was archived")?)?;
    let (printed, text) = restored(&server, &place, "cut.db", &[])?;
    ensure!(text.as_deref() == Some("kept"), "{text:?}: {printed}");
    let mut verify = server.docent(["backup", "--store", server.store(), "--verify"])?;
    let error = CommandOutput::run(verify.arg(&place))?.failed()?;
    ensure!(error.contains("of the log is missing"), "{error}");
    Ok(())
}

/// As if the disk of the backups were not mounted for a while.
#[test]
fn an_empty_place_gets_a_backup_and_so_does_the_one_that_returns() -> anyhow::Result<()> {
    if on_postgres()? {
        return Ok(());
    }
    let parent = temporary_directory()?;
    let (place, away) = (parent.path().join("backups"), parent.path().join("away"));
    fs::create_dir(&place)?;
    let mut server = Server::start(archiving(&place))?;
    server.logged_line("backed up to")?;
    write(&server, 1, "in the place")?;
    wait_for_archive(&server)?;
    fs::rename(&place, &away)?;
    fs::create_dir(&place)?;
    write(&server, 1, "in the empty one")?;
    wait_for_backup(&place)?;
    let (printed, text) = restored(&server, &place, "empty.db", &[])?;
    ensure!(
        text.as_deref() == Some("in the empty one"),
        "{text:?}: {printed}"
    );
    fs::remove_dir_all(&place)?;
    fs::rename(&away, &place)?;
    let before = backups(&place)?.len();
    write(&server, 1, "in the place again")?;
    let deadline = Instant::now() + TIMEOUT;
    while backups(&place)?.len() <= before {
        ensure!(Instant::now() < deadline, "{}", server.printed());
        thread::sleep(Duration::from_millis(20));
    }
    server.stop()?;
    let (printed, text) = restored(&server, &place, "again.db", &[])?;
    ensure!(
        text.as_deref() == Some("in the place again"),
        "{text:?}: {printed}"
    );
    Ok(())
}

fn wait_for_backup(place: &Path) -> anyhow::Result<()> {
    let deadline = Instant::now() + TIMEOUT;
    while backups(place)?.is_empty() {
        ensure!(Instant::now() < deadline, "there is no backup");
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// A command that opens the store of a stopped server takes its log along.
#[test]
fn a_gap_that_is_found_while_the_place_is_away_gets_a_backup_when_it_returns() -> anyhow::Result<()>
{
    if on_postgres()? {
        return Ok(());
    }
    let parent = temporary_directory()?;
    let (place, away) = (parent.path().join("backups"), parent.path().join("away"));
    fs::create_dir(&place)?;
    let mut server = Server::start(archiving(&place))?;
    server.logged_line("backed up to")?;
    write(&server, 1, "before")?;
    wait_for_archive(&server)?;
    server.stop()?;
    server.run_docent(["rebuild", "--store", server.store()])?;
    // A server starts only with a directory, so this one cannot be read.
    fs::rename(place.join("wal"), &away)?;
    fs::write(place.join("wal"), "")?;
    server.restart()?;
    write(&server, 1, "after the gap")?;
    server.logged_line("the write-ahead log could not be archived")?;
    server.logged_line("the scheduled backup failed")?;
    let until = archived_until(&server)?;
    ensure!(until.is_none(), "{until:?}");
    fs::remove_file(place.join("wal"))?;
    fs::rename(&away, place.join("wal"))?;
    let returned = Instant::now();
    server.logged_line("backed up to")?;
    ensure!(returned.elapsed() < Duration::from_secs(30), "too late");
    wait_for_archive(&server)?;
    server.kill()?;
    let (printed, text) = restored(&server, &place, "after.db", &[])?;
    ensure!(
        text.as_deref() == Some("after the gap"),
        "{text:?}: {printed}"
    );
    Ok(())
}

#[test]
fn a_log_that_no_backup_belongs_to_is_reported_until_there_is_one() -> anyhow::Result<()> {
    if on_postgres()? {
        return Ok(());
    }
    let place = temporary_directory()?;
    let mut server = Server::start(archiving(place.path()))?;
    server.logged_line("backed up to")?;
    let [first] = &*backups(place.path())? else {
        bail!("more than one");
    };
    // A backup of the command, which has no log.
    let mut command = server.docent(["backup", "--store", server.store()])?;
    CommandOutput::run(command.arg(place.path()))?.succeeded()?;
    write(&server, 1, "archived")?;
    wait_for_archive(&server)?;
    server.stop()?;
    fs::remove_file(first)?;

    let verify = || -> anyhow::Result<CommandOutput> {
        let mut command = server.docent(["backup", "--store", server.store(), "--verify"])?;
        CommandOutput::run(command.arg(place.path()))
    };
    let error = verify()?.failed()?;
    ensure!(error.contains("no backup belongs to the later"), "{error}");
    server.restart()?;
    server.logged_line("backed up to")?;
    let mut command = server.docent(["backup", "--store", server.store(), "--verify"])?;
    let verified = CommandOutput::run(command.arg(place.path()))?.succeeded()?;
    ensure!(verified.contains("the state of 20"), "{verified}");
    Ok(())
}

#[test]
fn a_bucket_has_the_log_too() -> anyhow::Result<()> {
    if on_postgres()? {
        return Ok(());
    }
    let bucket = ObjectStore::start()?;
    let place = Path::new("s3://backups/docent");
    let mut server = Server::start(archiving_to(&bucket, place))?;
    server.logged_line("backed up to")?;
    write(&server, 1, "archived")?;
    wait_for_archive(&server)?;
    server.kill()?;
    let mut command = server.docent(["restore", "--store", "sqlite:restored.db"])?;
    let printed = bucket.run(command.arg(place))?;
    ensure!(printed.contains("the state of"), "{printed}");
    let mut command = server.docent(["backup", "--store", server.store(), "--verify"])?;
    let verified = bucket.run(command.arg(place))?;
    ensure!(verified.contains("the store is healthy"), "{verified}");
    let other = Server::start(super::options_for(&server.directory().join("restored.db")))?;
    let text = description(&other, &urn(1))?;
    ensure!(text.as_deref() == Some("archived"), "{text:?}");
    Ok(())
}

#[test]
fn the_log_of_postgresql_is_not_ours() -> anyhow::Result<()> {
    let directory = temporary_directory()?;
    let flags = ["--backup-to", ".", "--backup-wal-every", "10s"];
    let error = serve(
        directory.path(),
        &[&["--store", "postgres://db/x"], &flags[..]].concat(),
    )?;
    let error = error.failed()?;
    ensure!(
        error.contains("--backup-wal-every is for SQLite"),
        "{error}"
    );
    let error = serve(directory.path(), &flags[2..])?.failed()?;
    if !error.contains("need --backup-to") {
        bail!("{error}");
    }
    Ok(())
}
