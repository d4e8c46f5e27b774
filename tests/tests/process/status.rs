//! `docent status`: of a running server, and of a store.

use std::fs;

use anyhow::ensure;
use docent_e2e::{
    CommandOutput, Options, Server, docent_command, on_postgres, temporary_directory,
};
use serde_json::json;

fn status(server: &Server, arguments: &[&str]) -> anyhow::Result<CommandOutput> {
    let mut command = server.docent(["status"])?;
    CommandOutput::run(command.args(arguments))
}

/// A file with this token.
fn token_file(server: &Server, token: &str) -> anyhow::Result<String> {
    let path = server.directory().join("token");
    fs::write(&path, format!("{token}\n"))?;
    Ok(path.display().to_string())
}

fn engine() -> anyhow::Result<&'static str> {
    Ok(if on_postgres()? {
        "PostgreSQL"
    } else {
        "SQLite"
    })
}

#[test]
fn administrators_see_the_state_of_a_server_and_others_whether_it_is_ready() -> anyhow::Result<()> {
    let server = Server::start(Options::default().demo())?;
    let token = token_file(&server, &server.token("datahub")?)?;
    // Until the index is built, the status says how far it is.
    let search = "{ searchAcrossEntities(input: {query: \"refund\"}) { total } }";
    server.graphql(search, json!({}))?;
    let whole = status(&server, &[server.address(), "--token-file", &token])?;
    let printed = whole.succeeded()?;
    for line in [
        "ready: yes".to_owned(),
        format!("server: {}", server.address()),
        format!("version: {}", env!("CARGO_PKG_VERSION")),
        format!("engine: {}", engine()?),
    ] {
        ensure!(printed.lines().any(|it| it == line), "{line}: {printed}");
    }
    ensure!(printed.contains("iB, writable\n"), "{printed}");
    ensure!(printed.contains("changes pending"), "{printed}");

    let anonymous = status(&server, &[server.address()])?;
    ensure!(anonymous.stderr.contains("--token-file"), "{anonymous:?}");
    let printed = anonymous.succeeded()?;
    ensure!(printed.contains("ready: yes"), "{printed}");
    ensure!(!printed.contains("engine"), "{printed}");
    Ok(())
}

#[test]
fn a_failed_status_says_what_to_do() -> anyhow::Result<()> {
    let mut server = Server::start(Options::default())?;
    let address = server.address().to_owned();
    let invalid = token_file(&server, "invalid")?;
    let openapi = format!("{address}/openapi");
    for (arguments, expected) in [
        (vec!["localhost:8080"], "http://localhost:8080"),
        (
            vec![&*address, "--token-file", &invalid],
            "docent token create",
        ),
        (
            vec![&*address, "--token-file", "no-such-file"],
            "cannot read no-such-file",
        ),
        (vec!["--token-file", &*invalid], "URL"),
    ] {
        let failed = status(&server, &arguments)?;
        ensure!(failed.code != Some(0), "{arguments:?}: {failed:?}");
        ensure!(
            failed.stderr.contains(expected),
            "{arguments:?}: {failed:?}"
        );
    }
    // The path of an address does not matter.
    ensure!(status(&server, &[&openapi])?.code == Some(0));
    server.kill()?;
    let failed = status(&server, &[&address])?;
    ensure!(failed.code == Some(1), "{failed:?}");
    ensure!(
        failed.stderr.contains("is 'docent serve' running"),
        "{failed:?}"
    );
    Ok(())
}

#[test]
fn a_store_has_a_status_also_without_a_server() -> anyhow::Result<()> {
    let mut server = Server::start(Options::default().demo())?;
    ensure!(server.stop()?.success());
    let printed = status(&server, &["--store", server.store()])?.succeeded()?;
    ensure!(
        printed.contains(&format!("engine: {}\n", engine()?)),
        "{printed}"
    );
    ensure!(printed.contains("iB, writable\n"), "{printed}");
    let directory = temporary_directory()?;
    let mut command = docent_command(directory.path())?;
    let missing = CommandOutput::run(command.args(["status", "--store", "sqlite:none.db"]))?;
    ensure!(missing.code == Some(1), "{missing:?}");
    ensure!(
        fs::read_dir(directory.path())?.next().is_none(),
        "{missing:?}"
    );
    Ok(())
}

/// Otherwise the archive could not continue where it ended.
#[test]
fn a_status_and_a_check_leave_the_log_of_a_stopped_server_alone() -> anyhow::Result<()> {
    if on_postgres()? {
        return Ok(());
    }
    let place = temporary_directory()?;
    let options = Options::default().argument("--backup-to");
    let options = options.argument(place.path());
    let mut server = Server::start(options.argument("--backup-wal-every").argument("1s"))?;
    server.logged_line("backed up to")?;
    ensure!(server.stop()?.success());
    let log = server.directory().join("docent.db-wal");
    let before = fs::read(&log)?;
    status(&server, &["--store", server.store()])?.succeeded()?;
    server.run_docent(["check", "--store", server.store()])?;
    ensure!(fs::read(&log)? == before);
    Ok(())
}
