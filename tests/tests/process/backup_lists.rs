//! What can be restored, in lists and in the errors of a restore.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, ensure};
use docent_e2e::{CommandOutput, Options, Server, on_postgres, temporary_directory};

use super::wal_archive::{archiving, backups, segments, wait_for_archive, write};

fn run(server: &Server, arguments: &[&str], place: &Path) -> anyhow::Result<CommandOutput> {
    let mut command = server.docent(arguments)?;
    CommandOutput::run(command.arg(place))
}

/// The rows of the list, without its header.
fn list(server: &Server, place: &Path) -> anyhow::Result<Vec<Vec<String>>> {
    let printed = run(server, &["backup", "--list"], place)?.succeeded()?;
    let rows = printed.lines().skip(1);
    let cells = rows.map(|row| {
        row.split("  ")
            .map(str::trim)
            .filter(|it| !it.is_empty())
            .map(str::to_owned)
            .collect()
    });
    Ok(cells.collect())
}

#[test]
fn a_restore_from_a_damaged_backup_names_a_state_that_can_be_restored() -> anyhow::Result<()> {
    if on_postgres()? {
        return Ok(());
    }
    let place = temporary_directory()?;
    let place = place.path();
    let mut server = Server::start(archiving(place))?;
    write(&server, 1, "one")?;
    wait_for_archive(&server)?;
    let printed = list(&server, place)?;
    let [row] = &*printed else {
        anyhow::bail!("{printed:?}");
    };
    let name = row.first().context("no name")?.clone();
    ensure!(
        place.join(&name).exists() && row[1].ends_with("KiB"),
        "{row:?}"
    );
    ensure!(row[2] <= row[3] && row[4].contains("segment"), "{row:?}");
    let first_state = row[2].clone();

    // A backup of the command, which is the newest one now.
    let mut command = server.docent(["backup", "--store", server.store()])?;
    CommandOutput::run(command.arg(place))?.succeeded()?;
    server.kill()?;
    let newest = backups(place)?.into_iter().max().context("no backup")?;
    ensure!(newest != place.join(&name));
    fs::write(&newest, &fs::read(&newest)?[..50_000])?;
    let restore = ["restore", "--store", "sqlite:new.db"];
    let error = run(&server, &restore, place)?.failed()?;
    let newest = newest.display().to_string();
    ensure!(error.contains(&format!("{newest} is damaged")), "{error}");
    let (_, at) = error
        .split_once("use another backup: '--at ")
        .with_context(|| error.clone())?;
    let at = at.split('\'').next().unwrap_or_default();
    let restore = ["restore", "--store", "sqlite:new.db", "--at", at];
    let printed = run(&server, &restore, place)?.succeeded()?;
    ensure!(
        printed.contains(&name) && printed.contains(&format!("the state of {at}")),
        "{printed}"
    );

    let before = [
        "restore",
        "--store",
        "sqlite:other.db",
        "--at",
        "2020-01-01",
    ];
    let error = run(&server, &before, place)?.failed()?;
    ensure!(
        error.contains(&format!("the oldest state is of {first_state}")),
        "{error}"
    );
    Ok(())
}

#[test]
fn a_missing_part_of_an_older_log_is_found_by_a_check() -> anyhow::Result<()> {
    if on_postgres()? {
        return Ok(());
    }
    let place = temporary_directory()?;
    let place = place.path();
    let server = Server::start(archiving(place))?;
    for number in 1..4 {
        write(&server, number, "text")?;
        wait_for_archive(&server)?;
    }
    let verify = ["backup", "--store", server.store(), "--verify"];
    let mut command = server.docent(["backup", "--store", server.store()])?;
    CommandOutput::run(command.arg(place))?.succeeded()?;
    let printed = run(&server, &verify, place)?;
    ensure!(
        printed
            .stdout
            .contains("1 older backup: looked for missing parts of the log"),
        "{printed:?}"
    );
    ensure!(!printed.stderr.contains("is missing"), "{printed:?}");
    let all = segments(place)?;
    let second = all.iter().nth(1).context("no second segment")?;
    fs::remove_file(second)?;
    let printed = run(&server, &verify, place)?;
    ensure!(
        printed
            .stderr
            .contains("of the log is missing: states after"),
        "{printed:?}"
    );
    Ok(())
}

#[test]
fn a_list_needs_a_place_of_backups() -> anyhow::Result<()> {
    let server = Server::start(Options::default())?;
    let place = temporary_directory()?;
    let printed = run(&server, &["backup", "--list"], place.path())?.succeeded()?;
    ensure!(printed.starts_with("there is no backup at "), "{printed}");
    let error = run(&server, &["backup", "--list"], Path::new("one.backup"))?.failed()?;
    ensure!(
        error.contains("--list needs an existing directory"),
        "{error}"
    );
    Ok(())
}
