//! `docent backup`, `restore`, `move`, `check` and `rebuild` on stores that are in use, replaced, damaged or unfinished.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow, ensure};
use docent_e2e::load::{Connection, Random, Writer};
use docent_e2e::{Finished, Options, Server, docent_command, python, temporary_directory};
use serde_json::json;

const WRITERS: usize = 4;

/// Runs a command on the store of this name in a directory.
fn docent(directory: &Path, store: &str, arguments: &[&str]) -> anyhow::Result<Finished> {
    let mut command = docent_command(directory)?;
    Finished::run(
        command
            .args(["--store", &format!("sqlite:{store}")])
            .args(arguments),
    )
}

/// Does something to a database behind Docent's back.
fn sql(directory: &Path, store: &str, statements: &str) -> anyhow::Result<()> {
    let program = "import sqlite3, sys\n\
                   connection = sqlite3.connect(sys.argv[1])\n\
                   connection.executescript(sys.argv[2])\n\
                   connection.close()";
    let mut command = Command::new(python()?);
    command.current_dir(directory);
    Finished::run(command.args(["-c", program, store, statements]))?.succeeded()?;
    Ok(())
}

/// A directory with the demo catalog in `docent.db`, and nobody who uses it.
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

fn name_of_marketing(server: &Server) -> anyhow::Result<Option<String>> {
    let query = r#"{ domain(urn: "urn:li:domain:marketing") { properties { name } } }"#;
    let reply = server.graphql(query, json!({}))?;
    let name = reply["data"]["domain"]["properties"]["name"].as_str();
    Ok(name.map(ToOwned::to_owned))
}

/// Waits until every writer has made a few more writes; returns the last acknowledged write of each.
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
        ensure!(Instant::now() < deadline, "the writers do not get on");
        thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn load_a_backup_taken_while_clients_write_has_all_that_was_acknowledged_before_it_began()
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
    // Each backup with what was acknowledged before it began.
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
                // What a backup must have was written since the last one.
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
        let file = file.to_str().context("a path that is no text")?;
        docent(elsewhere.path(), "restored.db", &["restore", file])?.succeeded()?;
        docent(elsewhere.path(), "restored.db", &["check"])?.succeeded()?;
        let rebuilt = docent(elsewhere.path(), "restored.db", &["rebuild"])?.succeeded()?;
        ensure!(rebuilt.contains("was right"), "{rebuilt}");
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
fn a_backup_refuses_to_overwrite_a_file() -> anyhow::Result<()> {
    let directory = demo_store()?;
    fs::write(directory.path().join("precious"), "do not lose me")?;
    let refusal = docent(directory.path(), "docent.db", &["backup", "precious"])?.refused()?;
    ensure!(refusal.contains("precious exists already"), "{refusal}");
    ensure!(fs::read(directory.path().join("precious"))? == b"do not lose me");
    Ok(())
}

#[test]
fn a_backup_of_no_store_or_into_no_directory_is_refused_and_leaves_nothing() -> anyhow::Result<()> {
    let directory = demo_store()?;
    let refusal = docent(directory.path(), "none.db", &["backup", "copy.db"])?.refused()?;
    ensure!(refusal.contains("none.db"), "{refusal}");
    let refusal = docent(directory.path(), "docent.db", &["backup", "none/copy.db"])?.refused()?;
    ensure!(refusal.contains("none/copy.db"), "{refusal}");
    ensure!(!refusal.contains("unfinished"), "{refusal}");
    for left in ["none.db", "copy.db", "none"] {
        ensure!(!directory.path().join(left).exists(), "{left} was made");
    }
    Ok(())
}

#[test]
fn a_restore_replaces_a_store_only_when_told_to() -> anyhow::Result<()> {
    let directory = demo_store()?;
    docent(directory.path(), "docent.db", &["backup", "copy.db"])?.succeeded()?;
    sql(
        directory.path(),
        "docent.db",
        "UPDATE metadata_aspect_v2 SET metadata = replace(metadata, 'Marketing and Growth', 'Changed') \
         WHERE urn = 'urn:li:domain:marketing' AND aspect = 'domainProperties'",
    )?;
    let changed = fs::read(directory.path().join("docent.db"))?;
    let refusal = docent(directory.path(), "docent.db", &["restore", "copy.db"])?.refused()?;
    ensure!(refusal.contains("docent.db exists already"), "{refusal}");
    ensure!(fs::read(directory.path().join("docent.db"))? == changed);
    let replace = ["restore", "copy.db", "--replace"];
    docent(directory.path(), "docent.db", &replace)?.succeeded()?;
    docent(directory.path(), "docent.db", &["check"])?.succeeded()?;
    let server = serve(directory.path(), "docent.db")?;
    let name = name_of_marketing(&server)?;
    ensure!(name.as_deref() == Some("Marketing and Growth"), "{name:?}");
    Ok(())
}

#[test]
fn a_restore_over_a_store_whose_server_was_killed_leaves_nothing_of_its_log() -> anyhow::Result<()>
{
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
    ensure!(log.len() > 0, "the killed server must leave a log");
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
fn a_restore_that_finds_no_room_leaves_the_old_store_as_it_was() -> anyhow::Result<()> {
    let directory = demo_store()?;
    docent(directory.path(), "docent.db", &["backup", "copy.db"])?.succeeded()?;
    let mut server = serve(directory.path(), "docent.db")?;
    let mutation = r#"mutation { createDomain(input: { id: "later", name: "Later" }) }"#;
    server.graphql(mutation, json!({}))?;
    server.kill()?;
    // No file may grow beyond 64 blocks: neither the copy nor the old database gets what belongs into it.
    let docent_binary = docent_command(directory.path())?;
    let mut limited = Command::new("sh");
    limited.current_dir(directory.path()).args([
        "-c",
        "trap '' XFSZ; ulimit -f 64; exec \"$0\" --store sqlite:docent.db restore copy.db --replace",
    ]);
    let refusal = Finished::run(limited.arg(docent_binary.get_program()))?.refused()?;
    ensure!(
        refusal.contains("docent.db could not be written"),
        "{refusal}"
    );
    docent(directory.path(), "docent.db", &["check"])?.succeeded()?;
    let server = serve(directory.path(), "docent.db")?;
    let query = r#"{ entityExists(urn: "urn:li:domain:later") }"#;
    let reply = server.graphql(query, json!({}))?;
    ensure!(reply["data"]["entityExists"] == true, "{reply}");
    Ok(())
}

#[test]
fn a_restore_is_refused_while_a_server_uses_the_store() -> anyhow::Result<()> {
    let directory = demo_store()?;
    docent(directory.path(), "docent.db", &["backup", "copy.db"])?.succeeded()?;
    let mut server = serve(directory.path(), "docent.db")?;
    let replace = ["restore", "copy.db", "--replace"];
    let refusal = docent(directory.path(), "docent.db", &replace)?.refused()?;
    ensure!(refusal.contains("already uses"), "{refusal}");
    ensure!(
        name_of_marketing(&server)?.is_some(),
        "the server must go on"
    );
    ensure!(server.stop()?.success());
    docent(directory.path(), "docent.db", &replace)?.succeeded()?;
    Ok(())
}

#[test]
fn a_file_that_is_no_whole_backup_is_refused_and_the_old_store_stays() -> anyhow::Result<()> {
    let directory = demo_store()?;
    let path = |name: &str| directory.path().join(name);
    docent(directory.path(), "docent.db", &["backup", "copy.db"])?.succeeded()?;
    let copy = fs::read(path("copy.db"))?;
    fs::write(path("empty"), "")?;
    fs::write(path("text"), "this is no database at all\n".repeat(1000))?;
    fs::write(path("short"), &copy[..copy.len() / 2])?;
    fs::write(path("page"), &copy[..4096])?;
    fs::write(path("bytes"), &copy[..100])?;
    let mut torn = copy.clone();
    // A page in the midst of the aspects.
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
        let refusal = docent(directory.path(), "docent.db", &restore)?
            .refused()
            .with_context(|| name.to_owned())?;
        ensure!(refusal.contains(name), "{name} is not named: {refusal}");
        ensure!(fs::read(path("docent.db"))? == before, "{name}: changed");
        docent(directory.path(), "new.db", &["restore", name])?.refused()?;
        ensure!(!path("new.db").exists(), "{name}: a store was made of it");
    }
    ensure!(!path("missing").exists(), "looking for a file made it");
    let leftovers: Vec<_> = fs::read_dir(directory.path())?
        .filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()))
        .filter(|name| name.contains("unfinished"))
        .collect();
    ensure!(leftovers.is_empty(), "{leftovers:?}");
    docent(directory.path(), "docent.db", &["check"])?.succeeded()?;
    Ok(())
}

#[test]
fn a_rebuild_mends_derived_rows_and_says_so() -> anyhow::Result<()> {
    let directory = demo_store()?;
    let rebuilt = docent(directory.path(), "docent.db", &["rebuild"])?.succeeded()?;
    ensure!(rebuilt.contains("was right"), "{rebuilt}");
    sql(
        directory.path(),
        "docent.db",
        "UPDATE placement SET name = 'wrong' WHERE urn = 'urn:li:domain:marketing';
         DELETE FROM edge WHERE source = 'urn:li:domain:campaigns';
         INSERT INTO edge VALUES ('urn:li:domain:nobody', 'domains', 'AssociatedWith', 'urn:li:domain:sales');",
    )?;
    let checked = docent(directory.path(), "docent.db", &["check"])?;
    for place in [
        "urn:li:domain:marketing",
        "urn:li:domain:campaigns",
        "urn:li:domain:nobody",
    ] {
        ensure!(checked.output.contains(place), "{place}: {checked:?}");
    }
    ensure!(checked.output.contains("docent rebuild"), "{checked:?}");
    checked.refused()?;
    let rebuilt = docent(directory.path(), "docent.db", &["rebuild"])?.succeeded()?;
    ensure!(rebuilt.contains("mended"), "{rebuilt}");
    ensure!(
        rebuilt.contains("1 rows belonged to no aspect"),
        "{rebuilt}"
    );
    let checked = docent(directory.path(), "docent.db", &["check"])?.succeeded()?;
    ensure!(checked.contains("healthy"), "{checked}");
    let rebuilt = docent(directory.path(), "docent.db", &["rebuild"])?.succeeded()?;
    ensure!(rebuilt.contains("was right"), "{rebuilt}");
    Ok(())
}

#[test]
fn a_rebuild_beside_a_running_server_is_seen_by_its_next_answer() -> anyhow::Result<()> {
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
    ensure!(children()? == 0, "the damage is seen");
    docent(directory.path(), "docent.db", &["rebuild"])?.succeeded()?;
    ensure!(children()? == before, "and so is its repair");
    Ok(())
}

#[test]
fn damage_that_no_rebuild_can_mend_is_reported_every_time() -> anyhow::Result<()> {
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
                .output
                .contains("aspect domainProperties of urn:li:domain:marketing"),
            "{checked:?}"
        );
        checked.refused()?;
        let refusal = docent(directory.path(), "docent.db", &["rebuild"])?.refused()?;
        ensure!(
            refusal.contains("1 aspects cannot be read") && refusal.contains("docent check"),
            "{refusal}"
        );
    }
    Ok(())
}

#[test]
fn a_move_that_did_not_come_to_its_end_is_used_by_nobody_and_is_gone_on_with() -> anyhow::Result<()>
{
    let directory = demo_store()?;
    let directory = directory.path();
    let shift = |from: &str| {
        let mut command = docent_command(directory)?;
        Finished::run(command.args(["move", "--from", from, "--to", "sqlite:new.db"]))
    };
    // More than a page, and one row of it cannot be read.
    sql(
        directory,
        "docent.db",
        "INSERT INTO metadata_aspect_v2 \
         SELECT 'urn:li:tag:bulk' || value, 'tagKey', 0, '{\"name\":\"bulk' || value || '\"}', NULL, 1, 'urn:li:corpuser:x', NULL \
         FROM (WITH RECURSIVE n(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value < 2500) SELECT value FROM n);
         UPDATE metadata_aspect_v2 SET metadata = x'ff' WHERE urn = 'urn:li:tag:bulk999'",
    )?;
    shift("sqlite:docent.db")?.refused()?;
    for command in [
        vec!["check"],
        vec!["rebuild"],
        vec!["backup", "half.backup"],
        vec!["serve", "--listen", "127.0.0.1:0"],
        vec!["token", "create", "--user", "datahub", "--name", "early"],
    ] {
        let finished = docent(directory, "new.db", &command)?;
        ensure!(finished.output.is_empty(), "{command:?}: {finished:?}");
        let refusal = finished.refused()?;
        ensure!(
            refusal.contains("'docent move' from sqlite:") && refusal.contains("run it again"),
            "{command:?}: {refusal}"
        );
    }
    let mut onwards = docent_command(directory)?;
    onwards.args(["move", "--from", "sqlite:new.db", "--to", "sqlite:third.db"]);
    let refusal = Finished::run(&mut onwards)?.refused()?;
    ensure!(refusal.contains("not complete"), "{refusal}");
    fs::copy(directory.join("docent.db"), directory.join("other.db"))?;
    let refusal = shift("sqlite:other.db")?.refused()?;
    ensure!(refusal.contains("not from sqlite:"), "{refusal}");
    sql(
        directory,
        "docent.db",
        "UPDATE metadata_aspect_v2 SET metadata = '{\"name\":\"bulk999\"}' WHERE urn = 'urn:li:tag:bulk999'",
    )?;
    // The last one cannot be stored.
    sql(
        directory,
        "new.db",
        "CREATE TRIGGER stop BEFORE INSERT ON metadata_aspect_v2 WHEN NEW.urn = 'urn:li:tag:bulk999' \
         BEGIN SELECT RAISE(ABORT, 'no'); END",
    )?;
    shift("sqlite:docent.db")?.refused()?;
    // What follows from the rows that are there is missing, and that is no damage.
    let checked = docent(directory, "new.db", &["check"])?;
    ensure!(checked.output.is_empty(), "{checked:?}");
    ensure!(checked.refused()?.contains("not complete"));
    sql(
        directory,
        "new.db",
        "CREATE TEMP TABLE carried (rows CHECK (rows > 2000)); \
         INSERT INTO carried SELECT count(*) FROM metadata_aspect_v2; DROP TRIGGER stop",
    )?;
    let said = shift("sqlite:docent.db")?.succeeded()?;
    ensure!(said.contains("all of them are the same"), "{said}");
    let checked = docent(directory, "new.db", &["check"])?.succeeded()?;
    ensure!(checked.contains("healthy"), "{checked}");
    let refusal = shift("sqlite:docent.db")?.refused()?;
    ensure!(refusal.contains("move into a new store"), "{refusal}");
    Ok(())
}

#[test]
fn a_store_is_not_moved_into_itself_and_a_flag_that_move_does_not_use_is_refused()
-> anyhow::Result<()> {
    let directory = demo_store()?;
    let directory = directory.path();
    let store = directory.join("docent.db");
    let to = format!("sqlite:{}", store.display());
    let mut command = docent_command(directory)?;
    command.args(["move", "--from", "sqlite:docent.db", "--to", &to]);
    let refusal = Finished::run(&mut command)?.refused()?;
    ensure!(refusal.contains("the same store"), "{refusal}");
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
        finished.complaint.contains("--to, not from --store"),
        "{finished:?}"
    );
    // The variable of all commands is nobody's mistake.
    let mut command = docent_command(directory)?;
    command.env("DOCENT_STORE", "sqlite:third.db");
    command.env("DOCENT_MOVE_FROM", "sqlite:docent.db");
    Finished::run(command.args(["move", "--to", "sqlite:new.db"]))?.succeeded()?;
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
    let told = format!("{}{}", checked.output, checked.complaint);
    ensure!(told.contains("damaged"), "{told}");
    checked.refused()?;
    Ok(())
}

#[test]
fn a_check_changes_nothing_and_calls_a_damaged_store_damaged() -> anyhow::Result<()> {
    let directory = demo_store()?;
    let path = directory.path().join("docent.db");
    let whole = fs::read(&path)?;
    docent(directory.path(), "docent.db", &["check"])?.succeeded()?;
    ensure!(fs::read(&path)? == whole);
    // What the database says about its own tables.
    let mut bytes = whole;
    bytes[100..4096].fill(0x5a);
    fs::write(&path, &bytes)?;
    for command in ["check", "rebuild"] {
        let checked = docent(directory.path(), "docent.db", &[command])?;
        let told = format!("{}{}", checked.output, checked.complaint);
        ensure!(told.contains("damaged"), "{told}");
        ensure!(!told.contains("no SQLite database"), "{told}");
        checked.refused()?;
        ensure!(fs::read(&path)? == bytes, "{command} changed the file");
    }
    Ok(())
}

#[test]
fn a_check_of_no_store_is_refused_and_makes_none() -> anyhow::Result<()> {
    let directory = temporary_directory()?;
    for command in ["check", "rebuild"] {
        let refusal = docent(directory.path(), "none.db", &[command])?.refused()?;
        ensure!(refusal.contains("none.db"), "{refusal}");
    }
    ensure!(fs::read_dir(directory.path())?.next().is_none());
    Ok(())
}
