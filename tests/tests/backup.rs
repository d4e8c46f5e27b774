//! `docent backup`, `restore`, `move`, `check` and `rebuild` on stores that are in use, replaced,
//! damaged or incomplete.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow, ensure};
use docent_e2e::load::{Connection, Random, Writer};
use docent_e2e::{CommandOutput, Options, Server, docent_command, python, temporary_directory};
use serde_json::json;

const WRITERS: usize = 4;

/// Runs a command on the store with this name in a directory.
fn docent(directory: &Path, store: &str, arguments: &[&str]) -> anyhow::Result<CommandOutput> {
    let mut command = docent_command(directory)?;
    CommandOutput::run(
        command
            .args(["--store", &format!("sqlite:{store}")])
            .args(arguments),
    )
}

/// Executes SQL on a database without Docent.
fn sql(directory: &Path, store: &str, statements: &str) -> anyhow::Result<()> {
    let program = "import sqlite3, sys\n\
                   connection = sqlite3.connect(sys.argv[1])\n\
                   connection.executescript(sys.argv[2])\n\
                   connection.close()";
    let mut command = Command::new(python()?);
    command.current_dir(directory);
    CommandOutput::run(command.args(["-c", program, store, statements]))?.succeeded()?;
    Ok(())
}

/// Returns a directory with the demo catalog in `docent.db`, not in use.
fn demo_store() -> anyhow::Result<tempfile::TempDir> {
    let directory = temporary_directory()?;
    let url = format!("sqlite:{}", directory.path().join("docent.db").display());
    let mut server = Server::start(Options::default().demo().store(url))?;
    ensure!(server.stop()?.success());
    Ok(directory)
}

fn serve(directory: &Path, store: &str) -> anyhow::Result<Server> {
    let url = format!("sqlite:{}", directory.join(store).display());
    Server::start(Options::default().store(url))
}

fn marketing_name(server: &Server) -> anyhow::Result<Option<String>> {
    let query = r#"{ domain(urn: "urn:li:domain:marketing") { properties { name } } }"#;
    let reply = server.graphql(query, json!({}))?;
    let name = reply["data"]["domain"]["properties"]["name"].as_str();
    Ok(name.map(ToOwned::to_owned))
}

/// Waits until every writer has written more; returns the latest acknowledged write of each.
fn wait_for_progress(acknowledged: &dyn Fn() -> Vec<u64>) -> anyhow::Result<Vec<u64>> {
    let deadline = Instant::now() + Duration::from_mins(1);
    let before = acknowledged();
    loop {
        let now = acknowledged();
        if now
            .iter()
            .zip(&before)
            .all(|(now, before)| *now >= before + 10)
        {
            return Ok(now);
        }
        ensure!(Instant::now() < deadline, "the writers make no progress");
        thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn load_a_backup_made_during_writes_contains_all_writes_acknowledged_before_it_started()
-> anyhow::Result<()> {
    let server = Server::start(Options::default().demo())?;
    let token = server.token("load")?;
    let connection = Connection::new(server.address(), &token)?;
    let mut random = Random::seeded(7);
    let mut writers = (0..WRITERS)
        .map(|number| {
            let choices = Random::seeded(random.below(u64::MAX));
            Writer::prepare(number, choices, &connection)
        })
        .collect::<anyhow::Result<Vec<_>>>()?;
    let stop = AtomicBool::new(false);
    let progress: Vec<_> = writers.iter().map(Writer::last_acknowledged).collect();
    let acknowledged = || -> Vec<u64> {
        let counts = progress.iter();
        counts.map(|count| count.load(Ordering::SeqCst)).collect()
    };
    // Each backup with the writes acknowledged before it started.
    let backups = thread::scope(|scope| {
        let running: Vec<_> = writers
            .iter_mut()
            .map(|writer| {
                let (stop, connection) = (&stop, &connection);
                scope.spawn(move || writer.run_until_stopped(connection, 30, stop))
            })
            .collect();
        let backups = ["first.db", "second.db", "third.db"]
            .into_iter()
            .map(|name| {
                // Each backup must contain writes that the previous one does not have.
                let before = wait_for_progress(&acknowledged)?;
                docent(server.directory(), "docent.db", &["backup", name])?.succeeded()?;
                Ok((name, before))
            })
            .collect::<anyhow::Result<Vec<_>>>();
        stop.store(true, Ordering::SeqCst);
        for writer in running {
            writer.join().map_err(|_| anyhow!("a writer panicked"))??;
        }
        backups
    })?;
    for (name, before) in backups {
        let elsewhere = temporary_directory()?;
        let file = server.directory().join(name);
        let file = file.to_str().context("the path is not UTF-8")?;
        docent(elsewhere.path(), "restored.db", &["restore", file])?.succeeded()?;
        docent(elsewhere.path(), "restored.db", &["check"])?.succeeded()?;
        let rebuilt = docent(elsewhere.path(), "restored.db", &["rebuild"])?.succeeded()?;
        ensure!(rebuilt.contains("was correct"), "{rebuilt}");
        let restored = serve(elsewhere.path(), "restored.db")?;
        for (writer, at_least) in writers.iter().zip(before) {
            writer
                .verify_copy(&connection.at(restored.address()), at_least)
                .with_context(|| format!("in the backup {name}"))?;
        }
    }
    for writer in &mut writers {
        writer
            .verify(&connection, true)
            .context("in the store itself")?;
    }
    Ok(())
}

#[test]
fn a_backup_does_not_overwrite_a_file() -> anyhow::Result<()> {
    let directory = demo_store()?;
    fs::write(directory.path().join("precious"), "do not lose me")?;
    let error = docent(directory.path(), "docent.db", &["backup", "precious"])?.failed()?;
    ensure!(error.contains("precious exists already"), "{error}");
    ensure!(fs::read(directory.path().join("precious"))? == b"do not lose me");
    Ok(())
}

#[test]
fn a_backup_of_a_missing_store_or_into_a_missing_directory_fails_and_leaves_no_files()
-> anyhow::Result<()> {
    let directory = demo_store()?;
    let error = docent(directory.path(), "none.db", &["backup", "copy.db"])?.failed()?;
    ensure!(error.contains("none.db"), "{error}");
    let error = docent(directory.path(), "docent.db", &["backup", "none/copy.db"])?.failed()?;
    ensure!(error.contains("none/copy.db"), "{error}");
    ensure!(!error.contains("unfinished"), "{error}");
    for left in ["none.db", "copy.db", "none"] {
        ensure!(!directory.path().join(left).exists(), "{left} was created");
    }
    Ok(())
}

#[test]
fn a_restore_replaces_a_store_only_with_the_flag() -> anyhow::Result<()> {
    let directory = demo_store()?;
    docent(directory.path(), "docent.db", &["backup", "copy.db"])?.succeeded()?;
    sql(
        directory.path(),
        "docent.db",
        "UPDATE metadata_aspect_v2 SET metadata = replace(metadata, 'Marketing and Growth', 'Changed') \
         WHERE urn = 'urn:li:domain:marketing' AND aspect = 'domainProperties'",
    )?;
    let changed = fs::read(directory.path().join("docent.db"))?;
    let error = docent(directory.path(), "docent.db", &["restore", "copy.db"])?.failed()?;
    ensure!(error.contains("docent.db exists already"), "{error}");
    ensure!(fs::read(directory.path().join("docent.db"))? == changed);
    let replace = ["restore", "copy.db", "--replace"];
    docent(directory.path(), "docent.db", &replace)?.succeeded()?;
    docent(directory.path(), "docent.db", &["check"])?.succeeded()?;
    let server = serve(directory.path(), "docent.db")?;
    let name = marketing_name(&server)?;
    ensure!(name.as_deref() == Some("Marketing and Growth"), "{name:?}");
    Ok(())
}

#[test]
fn a_restore_over_the_store_of_a_killed_server_discards_its_log() -> anyhow::Result<()> {
    let directory = demo_store()?;
    docent(directory.path(), "docent.db", &["backup", "copy.db"])?.succeeded()?;
    let mut server = serve(directory.path(), "docent.db")?;
    let mutation = r#"mutation { createDomain(input: { id: "later", name: "Later" }) }"#;
    let reply = server.graphql(mutation, json!({}))?;
    ensure!(
        reply["data"]["createDomain"] == "urn:li:domain:later",
        "{reply}"
    );
    server.kill()?;
    let log = fs::metadata(directory.path().join("docent.db-wal"))?;
    ensure!(log.len() > 0, "the killed server must leave a log file");
    let replace = ["restore", "copy.db", "--replace"];
    docent(directory.path(), "docent.db", &replace)?.succeeded()?;
    docent(directory.path(), "docent.db", &["check"])?.succeeded()?;
    let server = serve(directory.path(), "docent.db")?;
    let query = r#"{ entityExists(urn: "urn:li:domain:later") }"#;
    let reply = server.graphql(query, json!({}))?;
    ensure!(reply["data"]["entityExists"] == false, "{reply}");
    Ok(())
}

#[test]
fn a_restore_without_disk_space_leaves_the_old_store_unchanged() -> anyhow::Result<()> {
    let directory = demo_store()?;
    docent(directory.path(), "docent.db", &["backup", "copy.db"])?.succeeded()?;
    let mut server = serve(directory.path(), "docent.db")?;
    let mutation = r#"mutation { createDomain(input: { id: "later", name: "Later" }) }"#;
    server.graphql(mutation, json!({}))?;
    server.kill()?;
    // No file may grow beyond 64 blocks, neither the copy nor the old database.
    let docent_binary = docent_command(directory.path())?;
    let mut limited = Command::new("sh");
    limited.current_dir(directory.path()).args([
        "-c",
        "trap '' XFSZ; ulimit -f 64; exec \"$0\" --store sqlite:docent.db restore copy.db --replace",
    ]);
    let error = CommandOutput::run(limited.arg(docent_binary.get_program()))?.failed()?;
    ensure!(error.contains("docent.db could not be written"), "{error}");
    docent(directory.path(), "docent.db", &["check"])?.succeeded()?;
    let server = serve(directory.path(), "docent.db")?;
    let query = r#"{ entityExists(urn: "urn:li:domain:later") }"#;
    let reply = server.graphql(query, json!({}))?;
    ensure!(reply["data"]["entityExists"] == true, "{reply}");
    Ok(())
}

#[test]
fn a_restore_fails_while_a_server_uses_the_store() -> anyhow::Result<()> {
    let directory = demo_store()?;
    docent(directory.path(), "docent.db", &["backup", "copy.db"])?.succeeded()?;
    let mut server = serve(directory.path(), "docent.db")?;
    let replace = ["restore", "copy.db", "--replace"];
    let error = docent(directory.path(), "docent.db", &replace)?.failed()?;
    ensure!(error.contains("is using"), "{error}");
    ensure!(
        marketing_name(&server)?.is_some(),
        "the server must keep running"
    );
    ensure!(server.stop()?.success());
    docent(directory.path(), "docent.db", &replace)?.succeeded()?;
    Ok(())
}

#[test]
fn an_invalid_backup_is_rejected_and_the_old_store_stays() -> anyhow::Result<()> {
    let directory = demo_store()?;
    let path = |name: &str| directory.path().join(name);
    docent(directory.path(), "docent.db", &["backup", "copy.db"])?.succeeded()?;
    let copy = fs::read(path("copy.db"))?;
    fs::write(path("empty"), "")?;
    fs::write(path("text"), "this is not a database\n".repeat(1000))?;
    fs::write(path("short"), &copy[..copy.len() / 2])?;
    fs::write(path("page"), &copy[..4096])?;
    fs::write(path("bytes"), &copy[..100])?;
    let mut torn = copy.clone();
    // A page in the middle of the aspects.
    let middle = copy.len() / 2 / 4096 * 4096;
    torn[middle..middle + 4096].fill(0x5a);
    fs::write(path("torn"), torn)?;
    sql(
        directory.path(),
        "foreign",
        "CREATE TABLE bookmarks (url TEXT)",
    )?;
    fs::create_dir(path("directory"))?;
    let before = fs::read(path("docent.db"))?;
    for name in [
        "empty",
        "text",
        "short",
        "page",
        "bytes",
        "foreign",
        "directory",
        "missing",
        "torn",
    ] {
        let restore = ["restore", name, "--replace"];
        let error = docent(directory.path(), "docent.db", &restore)?
            .failed()
            .with_context(|| name.to_owned())?;
        ensure!(
            error.contains(name),
            "the message must contain {name}: {error}"
        );
        ensure!(fs::read(path("docent.db"))? == before, "{name}: changed");
        docent(directory.path(), "new.db", &["restore", name])?.failed()?;
        ensure!(
            !path("new.db").exists(),
            "{name}: a store was created from it"
        );
    }
    ensure!(!path("missing").exists(), "the missing file was created");
    let leftovers: Vec<_> = fs::read_dir(directory.path())?
        .filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()))
        .filter(|name| name.contains("unfinished"))
        .collect();
    ensure!(leftovers.is_empty(), "{leftovers:?}");
    docent(directory.path(), "docent.db", &["check"])?.succeeded()?;
    Ok(())
}

#[test]
fn a_rebuild_repairs_derived_rows_and_reports_it() -> anyhow::Result<()> {
    let directory = demo_store()?;
    let rebuilt = docent(directory.path(), "docent.db", &["rebuild"])?.succeeded()?;
    ensure!(rebuilt.contains("was correct"), "{rebuilt}");
    sql(
        directory.path(),
        "docent.db",
        "UPDATE placement SET name = 'wrong' WHERE urn = 'urn:li:domain:marketing';
         DELETE FROM edge WHERE source = 'urn:li:domain:campaigns';
         INSERT INTO edge VALUES ('urn:li:domain:nobody', 'domains', 'AssociatedWith', 'urn:li:domain:sales');",
    )?;
    let checked = docent(directory.path(), "docent.db", &["check"])?;
    for urn in [
        "urn:li:domain:marketing",
        "urn:li:domain:campaigns",
        "urn:li:domain:nobody",
    ] {
        ensure!(checked.stdout.contains(urn), "{urn}: {checked:?}");
    }
    ensure!(checked.stdout.contains("docent rebuild"), "{checked:?}");
    checked.failed()?;
    let rebuilt = docent(directory.path(), "docent.db", &["rebuild"])?.succeeded()?;
    ensure!(rebuilt.contains("repaired"), "{rebuilt}");
    ensure!(
        rebuilt.contains("1 rows belonged to no aspect"),
        "{rebuilt}"
    );
    let checked = docent(directory.path(), "docent.db", &["check"])?.succeeded()?;
    ensure!(checked.contains("healthy"), "{checked}");
    let rebuilt = docent(directory.path(), "docent.db", &["rebuild"])?.succeeded()?;
    ensure!(rebuilt.contains("was correct"), "{rebuilt}");
    Ok(())
}

#[test]
fn a_rebuild_is_visible_to_the_next_query_of_a_running_server() -> anyhow::Result<()> {
    let directory = demo_store()?;
    let server = serve(directory.path(), "docent.db")?;
    let children = || -> anyhow::Result<u64> {
        let query = r#"{ listDomains(input: { start: 0, count: 50, parentDomain: "urn:li:domain:marketing" }) { total } }"#;
        let reply = server.graphql(query, json!({}))?;
        let total = reply["data"]["listDomains"]["total"].as_u64();
        total.with_context(|| reply.to_string())
    };
    let before = children()?;
    ensure!(before > 0);
    sql(
        directory.path(),
        "docent.db",
        "DELETE FROM placement WHERE kind = 'domain'",
    )?;
    ensure!(children()? == 0, "the damage is visible");
    docent(directory.path(), "docent.db", &["rebuild"])?.succeeded()?;
    ensure!(children()? == before, "the repair is visible");
    Ok(())
}

#[test]
fn damage_that_a_rebuild_cannot_repair_is_reported_every_time() -> anyhow::Result<()> {
    let directory = demo_store()?;
    sql(
        directory.path(),
        "docent.db",
        "UPDATE metadata_aspect_v2 SET metadata = '{ half' \
         WHERE urn = 'urn:li:domain:marketing' AND aspect = 'domainProperties'",
    )?;
    for _ in 0..2 {
        let checked = docent(directory.path(), "docent.db", &["check"])?;
        ensure!(
            checked
                .stdout
                .contains("aspect domainProperties of urn:li:domain:marketing"),
            "{checked:?}"
        );
        checked.failed()?;
        let error = docent(directory.path(), "docent.db", &["rebuild"])?.failed()?;
        ensure!(
            error.contains("1 aspects cannot be read") && error.contains("docent check"),
            "{error}"
        );
    }
    Ok(())
}

#[test]
fn an_incomplete_move_is_rejected_by_other_commands_and_can_be_resumed() -> anyhow::Result<()> {
    let directory = demo_store()?;
    let directory = directory.path();
    let move_from = |from: &str| {
        let mut command = docent_command(directory)?;
        CommandOutput::run(command.args(["move", "--from", from, "--to", "sqlite:new.db"]))
    };
    // More than one page, with one unreadable row.
    sql(
        directory,
        "docent.db",
        "INSERT INTO metadata_aspect_v2 \
         SELECT 'urn:li:tag:bulk' || value, 'tagKey', 0, '{\"name\":\"bulk' || value || '\"}', NULL, 1, 'urn:li:corpuser:x', NULL \
         FROM (WITH RECURSIVE n(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value < 2500) SELECT value FROM n);
         UPDATE metadata_aspect_v2 SET metadata = x'ff' WHERE urn = 'urn:li:tag:bulk999'",
    )?;
    move_from("sqlite:docent.db")?.failed()?;
    for command in [
        vec!["check"],
        vec!["rebuild"],
        vec!["backup", "half.backup"],
        vec!["serve", "--listen", "127.0.0.1:0"],
        vec!["token", "create", "--user", "datahub", "--name", "early"],
    ] {
        let finished = docent(directory, "new.db", &command)?;
        ensure!(finished.stdout.is_empty(), "{command:?}: {finished:?}");
        let error = finished.failed()?;
        ensure!(
            error.contains("'docent move' from sqlite:") && error.contains("run it again"),
            "{command:?}: {error}"
        );
    }
    let mut next_move = docent_command(directory)?;
    next_move.args(["move", "--from", "sqlite:new.db", "--to", "sqlite:third.db"]);
    let error = CommandOutput::run(&mut next_move)?.failed()?;
    ensure!(error.contains("not complete"), "{error}");
    fs::copy(directory.join("docent.db"), directory.join("other.db"))?;
    let error = move_from("sqlite:other.db")?.failed()?;
    ensure!(error.contains("not from sqlite:"), "{error}");
    sql(
        directory,
        "docent.db",
        "UPDATE metadata_aspect_v2 SET metadata = '{\"name\":\"bulk999\"}' WHERE urn = 'urn:li:tag:bulk999'",
    )?;
    // One row cannot be stored.
    sql(
        directory,
        "new.db",
        "CREATE TRIGGER stop BEFORE INSERT ON metadata_aspect_v2 WHEN NEW.urn = 'urn:li:tag:bulk999' \
         BEGIN SELECT RAISE(ABORT, 'no'); END",
    )?;
    move_from("sqlite:docent.db")?.failed()?;
    // Derived rows are still missing, which is not damage.
    let checked = docent(directory, "new.db", &["check"])?;
    ensure!(checked.stdout.is_empty(), "{checked:?}");
    ensure!(checked.failed()?.contains("not complete"));
    sql(
        directory,
        "new.db",
        "CREATE TEMP TABLE copied (rows CHECK (rows > 2000)); \
         INSERT INTO copied SELECT count(*) FROM metadata_aspect_v2; DROP TRIGGER stop",
    )?;
    let printed = move_from("sqlite:docent.db")?.succeeded()?;
    ensure!(
        printed.contains("verified that both are equal"),
        "{printed}"
    );
    let checked = docent(directory, "new.db", &["check"])?.succeeded()?;
    ensure!(checked.contains("healthy"), "{checked}");
    let error = move_from("sqlite:docent.db")?.failed()?;
    ensure!(error.contains("use a new store"), "{error}");
    Ok(())
}

#[test]
fn a_move_into_the_same_store_and_an_unused_flag_are_rejected() -> anyhow::Result<()> {
    let directory = demo_store()?;
    let directory = directory.path();
    let store = directory.join("docent.db");
    let to = format!("sqlite:{}", store.display());
    let mut command = docent_command(directory)?;
    command.args(["move", "--from", "sqlite:docent.db", "--to", &to]);
    let error = CommandOutput::run(&mut command)?.failed()?;
    ensure!(error.contains("the same store"), "{error}");
    let flags = [
        "move",
        "--from",
        "sqlite:docent.db",
        "--to",
        "sqlite:new.db",
    ];
    let finished = docent(directory, "third.db", &flags)?;
    ensure!(finished.code == Some(2), "{finished:?}");
    ensure!(
        finished.stderr.contains("--to, not --store"),
        "{finished:?}"
    );
    // The variable may be set for other commands, so it is ignored.
    let mut command = docent_command(directory)?;
    command.env("DOCENT_STORE", "sqlite:third.db");
    command.env("DOCENT_MOVE_FROM", "sqlite:docent.db");
    CommandOutput::run(command.args(["move", "--to", "sqlite:new.db"]))?.succeeded()?;
    Ok(())
}

#[test]
fn a_file_with_overwritten_pages_is_reported_as_damaged() -> anyhow::Result<()> {
    let directory = demo_store()?;
    let path = directory.path().join("docent.db");
    let mut bytes = fs::read(&path)?;
    let middle = bytes.len() / 2 / 4096 * 4096;
    bytes[middle..middle + 2 * 4096].fill(0x5a);
    fs::write(&path, bytes)?;
    let checked = docent(directory.path(), "docent.db", &["check"])?;
    let printed = format!("{}{}", checked.stdout, checked.stderr);
    ensure!(printed.contains("damaged"), "{printed}");
    checked.failed()?;
    Ok(())
}

#[test]
fn a_check_changes_nothing_and_reports_damage() -> anyhow::Result<()> {
    let directory = demo_store()?;
    let path = directory.path().join("docent.db");
    let whole = fs::read(&path)?;
    docent(directory.path(), "docent.db", &["check"])?.succeeded()?;
    ensure!(fs::read(&path)? == whole);
    // The database's schema table.
    let mut bytes = whole;
    bytes[100..4096].fill(0x5a);
    fs::write(&path, &bytes)?;
    for command in ["check", "rebuild"] {
        let checked = docent(directory.path(), "docent.db", &[command])?;
        let printed = format!("{}{}", checked.stdout, checked.stderr);
        ensure!(printed.contains("damaged"), "{printed}");
        ensure!(!printed.contains("not a SQLite database"), "{printed}");
        checked.failed()?;
        ensure!(fs::read(&path)? == bytes, "{command} changed the file");
    }
    Ok(())
}

#[test]
fn a_check_of_a_missing_store_fails_and_creates_nothing() -> anyhow::Result<()> {
    let directory = temporary_directory()?;
    for command in ["check", "rebuild"] {
        let error = docent(directory.path(), "none.db", &[command])?.failed()?;
        ensure!(error.contains("none.db"), "{error}");
    }
    ensure!(fs::read_dir(directory.path())?.next().is_none());
    Ok(())
}
