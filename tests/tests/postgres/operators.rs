//! What operators see: the log, health endpoints, and error messages of commands.

use std::time::{Duration, Instant};

use anyhow::ensure;
use docent_e2e::{CommandOutput, Options, Server, docent_command, temporary_directory};
use docent_test_postgres::Database;
use reqwest::Method;

use crate::TIMEOUT;

/// Waits for a status of `/health/ready`.
fn wait_until_ready(server: &Server, expected: u16) -> anyhow::Result<()> {
    let begun = Instant::now();
    loop {
        let request = server.anonymous_request(Method::GET, "/health/ready");
        let status = server.send(request)?.status;
        if status == expected {
            return Ok(());
        }
        ensure!(begun.elapsed() < TIMEOUT, "the status is {status}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Waits until the log contains this text.
fn wait_for_line(server: &Server, words: &str) -> anyhow::Result<()> {
    let begun = Instant::now();
    while !server.printed().contains(words) {
        ensure!(begun.elapsed() < TIMEOUT, "{}", server.printed());
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

#[test]
fn crash_of_the_database_logs_one_line_at_its_start_and_one_at_its_end() -> anyhow::Result<()> {
    let database = docent_test_postgres::Server::start()?;
    let server = Server::start(
        Options::default()
            .store(database.url())
            .without_authentication(),
    )?;
    let count = |words: &str| server.printed().matches(words).count();
    for round in 1..=2 {
        wait_until_ready(&server, 200)?;
        database.kill()?;
        wait_until_ready(&server, 503)?;
        wait_for_line(&server, "the database is unavailable: ")?;
        database.restart()?;
        wait_until_ready(&server, 200)?;
        let begun = Instant::now();
        while count("the database is back after ") < round {
            ensure!(begun.elapsed() < TIMEOUT, "{}", server.printed());
            std::thread::sleep(Duration::from_millis(20));
        }
        ensure!(
            count("the database is unavailable: ") == round,
            "{}",
            server.printed()
        );
        // No other component logs the same outage.
        ensure!(count(" ERROR ") == round, "{}", server.printed());
        ensure!(count("deadpool") == 0, "{}", server.printed());
    }
    Ok(())
}

#[test]
fn a_server_on_a_read_only_database_is_not_ready_and_logs_why() -> anyhow::Result<()> {
    let database = Database::empty()?;
    let server = Server::start(Options::default().store(database.url()))?;
    wait_until_ready(&server, 200)?;
    let set = |how: &str| {
        database.sql(&format!(
            "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = {how}', \
             current_database()); END $$; \
             SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
             WHERE datname = current_database() AND pid <> pg_backend_pid()"
        ))
    };
    set("on")?;
    wait_until_ready(&server, 503)?;
    wait_for_line(&server, "the database is read-only")?;
    wait_for_line(&server, "target_session_attrs=read-write")?;
    database.sql(
        "BEGIN READ WRITE; \
         DO $$ BEGIN EXECUTE format('ALTER DATABASE %I RESET default_transaction_read_only', current_database()); END $$; \
         COMMIT",
    )?;
    // Existing sessions keep the old default; the server must replace them.
    wait_until_ready(&server, 200)?;
    wait_for_line(&server, "the database accepts writes again")?;
    Ok(())
}

#[test]
fn permanent_errors_come_with_a_hint() -> anyhow::Result<()> {
    let database = Database::empty()?;
    let directory = temporary_directory()?;
    let url = database.url();
    let and = if url.contains('?') { '&' } else { '?' };
    let name = url
        .rsplit_once('/')
        .map_or(url, |(_, rest)| rest)
        .split('?')
        .next()
        .unwrap_or_default();
    for (url, hint) in [
        (url.replace(name, "no_such_database"), "CREATE DATABASE"),
        (format!("{url}{and}search_path=nowhere"), "CREATE SCHEMA"),
        (format!("{url}{and}poolsize=3"), "pool_size"),
        (
            format!("{url}{and}user=nobody_at_all"),
            "check the user in the store URL",
        ),
    ] {
        let mut command = docent_command(directory.path())?;
        command.args(["serve", "--listen", "127.0.0.1:0", "--store", &url]);
        let rejection = CommandOutput::run(&mut command)?.failed()?;
        ensure!(rejection.contains(hint), "{url}: {rejection}");
    }
    Ok(())
}

#[test]
fn the_password_is_read_from_pgpassword_and_never_printed() -> anyhow::Result<()> {
    const HINTS: [&str; 2] = [
        "password authentication failed",
        "check the user and the password",
    ];
    let database = docent_test_postgres::Server::start()?;
    let directory = temporary_directory()?;
    database.sql(
        "CREATE ROLE ada LOGIN PASSWORD 'hunter2'; \
         DO $$ BEGIN EXECUTE format('COPY (VALUES (%L), (%L)) TO %L', 'local all ada scram-sha-256', 'local all all trust', \
         current_setting('hba_file')); END $$; SELECT pg_reload_conf()",
    )?;
    let url = database.url();
    let and = if url.contains('?') { '&' } else { '?' };
    let url = format!("{url}{and}user=ada&pool_size=2");
    let run = |url: &str, password: Option<&str>| {
        let mut command = docent_command(directory.path())?;
        command.env_remove("PGPASSWORD");
        if let Some(password) = password {
            command.env("PGPASSWORD", password);
        }
        let arguments = ["token", "create", "--user", "datahub", "--name", "first"];
        let finished = CommandOutput::run(command.args(arguments).args(["--store", url]))?;
        let printed = format!("{}{}", finished.stdout, finished.stderr);
        ensure!(!printed.contains("hunter"), "{printed}");
        Ok(finished)
    };
    let rejection = run(&url, None)?.failed()?;
    ensure!(rejection.contains("PGPASSWORD"), "{rejection}");
    for (url, password) in [
        (url.clone(), Some("hunter3")),
        (format!("{url}&password=hunter4"), Some("hunter2")),
    ] {
        let rejection = run(&url, password)?.failed()?;
        let is_explained = HINTS.iter().all(|hint| rejection.contains(hint));
        ensure!(is_explained, "{rejection}");
    }
    let mut command = docent_command(directory.path())?;
    command.env("PGPASSWORD", "hunter2");
    command.args(["serve", "--listen", "127.0.0.1:0", "--store", &url]);
    let rejection = CommandOutput::run(&mut command)?.failed()?;
    ensure!(
        rejection.contains("GRANT USAGE, CREATE ON SCHEMA"),
        "{rejection}"
    );
    database.sql("GRANT USAGE, CREATE ON SCHEMA public TO ada")?;
    run(&format!("{url}&password=hunter2"), None)?.succeeded()?;
    run(&url, Some("hunter2"))?.succeeded()?;
    database.sql("ALTER ROLE ada CONNECTION LIMIT 0")?;
    let rejection = run(&url, Some("hunter2"))?.failed()?;
    ensure!(rejection.contains("lower pool_size"), "{rejection}");
    Ok(())
}
