//! Several servers on one PostgreSQL database, with failures of servers and of the database.

mod caller;
mod clocks;
mod faults;
mod kills;
mod load;
mod operators;
mod replay;
mod round_trips;
mod upgrade;
mod wire;

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use docent_e2e::load::verify_store;
use docent_e2e::{CommandOutput, Options, Server, docent_command, temporary_directory};
use docent_test_postgres::Database;
use serde_json::json;

use caller::Caller;

const TIMEOUT: Duration = Duration::from_mins(1);
const PROPERTIES: &str = "datasetProperties";

fn dataset(name: impl std::fmt::Display) -> String {
    format!("urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)")
}

fn start_servers(url: &str, count: usize) -> anyhow::Result<Vec<Server>> {
    let options = || Options::default().store(url).without_authentication();
    (0..count).map(|_| Server::start(options())).collect()
}

/// Runs `docent check` and `docent rebuild`, which must find nothing.
fn expect_sound(url: &str) -> anyhow::Result<()> {
    verify_store(temporary_directory()?.path(), url)
}

#[test]
fn a_write_on_one_server_is_found_by_the_next_search_on_another() -> anyhow::Result<()> {
    let database = Database::empty()?;
    let servers = start_servers(database.url(), 3)?;
    let callers = servers
        .iter()
        .map(Caller::new)
        .collect::<anyhow::Result<Vec<_>>>()?;
    for round in 0..30 {
        let (writer, reader) = (&callers[round % 3], &callers[(round + 1) % 3]);
        let word = format!("zebra{round}");
        let response = writer.propose(
            "UPSERT",
            &dataset(&word),
            PROPERTIES,
            &json!({"description": word, "customProperties": {}}),
        )?;
        ensure!(response.status == 200, "{}", response.body);
        ensure!(reader.found(&word)? == 1, "round {round}");
    }
    expect_sound(database.url())
}

#[test]
fn a_revoked_token_stops_working_on_every_server_within_a_second() -> anyhow::Result<()> {
    let database = Database::empty()?;
    let start = || Server::start(Options::default().store(database.url()));
    let (one, other) = (start()?, start()?);
    for round in 0..5 {
        let name = format!("round-{round}");
        let secret = one.run_docent([
            "token",
            "create",
            "--store",
            database.url(),
            "--user",
            "datahub",
            "--name",
            &name,
        ])?;
        let status = |server: &Server| -> anyhow::Result<u16> {
            let request = server
                .anonymous_request(reqwest::Method::GET, "/entitiesV2/urn:li:corpuser:datahub");
            Ok(server.send(request.bearer_auth(secret.trim()))?.status)
        };
        for server in [&one, &other] {
            // Several times, so that the server caches the token.
            for _ in 0..3 {
                ensure!(status(server)? == 200);
            }
        }
        let list = one.run_docent(["token", "list", "--store", database.url()])?;
        let line = list
            .lines()
            .find(|line| line.contains(&name))
            .context("not listed")?;
        let id = line.split_whitespace().next().context("no id")?;
        one.run_docent(["token", "revoke", "--store", database.url(), id])?;
        let revoked = Instant::now();
        for server in [&one, &other] {
            loop {
                // Before the request: a slow response must not fail the test.
                let elapsed = revoked.elapsed();
                if status(server)? == 401 {
                    break;
                }
                ensure!(elapsed < Duration::from_secs(1), "round {round}");
            }
        }
    }
    Ok(())
}

#[test]
fn a_read_only_database_only_loses_the_time_of_last_token_use() -> anyhow::Result<()> {
    let database = Database::empty()?;
    let mut server = Server::start(Options::default().store(database.url()))?;
    let secret = server.token("datahub")?;
    database.sql(
        "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on', current_database()); END $$; \
         SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
         WHERE datname = current_database() AND pid <> pg_backend_pid()",
    )?;
    let list_tokens = || -> anyhow::Result<serde_json::Value> {
        let query =
            "{ listAccessTokens(input: { start: 0, count: 10 }) { tokens { lastUsedAt } } }";
        let request = server.anonymous_request(reqwest::Method::POST, "/api/graphql");
        let request = request.bearer_auth(&secret);
        let reply = server.send(request.json(&serde_json::json!({ "query": query })))?;
        ensure!(reply.status == 200, "{reply:?}");
        reply.json()
    };
    let started = Instant::now();
    // Closing the connections may fail a request.
    while list_tokens().is_err() {
        ensure!(started.elapsed() < Duration::from_secs(10));
    }
    let reply = list_tokens()?;
    let used = &reply["data"]["listAccessTokens"]["tokens"][0]["lastUsedAt"];
    ensure!(used.is_i64(), "{reply}");
    ensure!(server.stop()?.success());
    let printed = server.printed();
    ensure!(
        printed.contains("cannot store when tokens were last used"),
        "{printed}"
    );
    Ok(())
}

#[test]
fn a_second_server_with_the_same_search_index_is_rejected() -> anyhow::Result<()> {
    let database = Database::empty()?;
    let server = Server::start(Options::default().store(database.url()))?;
    let mut second = server.docent([
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--store",
        database.url(),
    ])?;
    let rejection = CommandOutput::run(&mut second)?.failed()?;
    ensure!(rejection.contains("--search-index"), "{rejection}");
    Ok(())
}

#[test]
fn a_backup_of_the_other_engine_is_rejected_with_a_hint() -> anyhow::Result<()> {
    let database = Database::empty()?;
    let directory = temporary_directory()?;
    let run = |arguments: &[&str], store: &str| {
        let mut command = docent_command(directory.path())?;
        CommandOutput::run(command.args(arguments).args(["--store", store]))
    };
    let first = ["token", "create", "--user", "datahub", "--name", "first"];
    let stores = [database.url(), "sqlite:docent.db"];
    for (store, file) in stores.into_iter().zip(["postgres.backup", "sqlite.backup"]) {
        run(&first, store)?.succeeded()?;
        run(&["backup", file], store)?.succeeded()?;
    }
    let restore = |file: &str, store: &str| run(&["restore", file, "--replace"], store)?.failed();
    let rejection = restore("postgres.backup", "sqlite:new.db")?;
    ensure!(
        rejection.contains("a PostgreSQL store") && rejection.contains("docent move"),
        "{rejection}"
    );
    ensure!(
        !directory.path().join("new.db").exists(),
        "a store was created"
    );
    let rejection = restore("sqlite.backup", database.url())?;
    ensure!(
        rejection.contains("a SQLite store") && rejection.contains("docent move"),
        "{rejection}"
    );
    Ok(())
}

#[test]
fn a_catalog_moves_to_postgresql_and_back() -> anyhow::Result<()> {
    let database = Database::empty()?;
    let mut server = Server::start(Options::default().store("sqlite:docent.db").demo())?;
    let move_store = |from: &str, to: &str| {
        let mut command = server.docent(["move", "--from", from, "--to", to])?;
        CommandOutput::run(&mut command)
    };
    let rejection = move_store("sqlite:docent.db", database.url())?.failed()?;
    ensure!(
        rejection.contains("a docent server is using"),
        "{rejection}"
    );
    ensure!(server.stop()?.success());
    let move_store = |from: &str, to: &str| {
        let mut command = server.docent(["move", "--from", from, "--to", to])?;
        CommandOutput::run(&mut command)
    };
    let printed = move_store("sqlite:docent.db", database.url())?.succeeded()?;
    ensure!(
        printed.contains("verified that both are equal"),
        "{printed}"
    );
    let rejection = move_store("sqlite:docent.db", database.url())?.failed()?;
    ensure!(rejection.contains("not empty"), "{rejection}");
    expect_sound(database.url())?;
    let alias = format!("{}&host=/nowhere", database.url());
    let rejection = move_store(database.url(), &alias)?.failed()?;
    ensure!(rejection.contains("are the same store"), "{rejection}");
    {
        let moved = Server::start(
            Options::default()
                .store(database.url())
                .without_authentication(),
        )?;
        ensure!(Caller::new(&moved)?.found("*")? > 10);
        let rejection = move_store(database.url(), "sqlite:back.db")?.failed()?;
        ensure!(rejection.contains("stop it first"), "{rejection}");
    }
    // A retired version, as a rollback leaves it.
    database.sql(&format!(
        "INSERT INTO retired_version VALUES ('{}', 'status', 7)",
        dataset("gone")
    ))?;
    let printed = move_store(database.url(), "sqlite:back.db")?.succeeded()?;
    ensure!(
        printed.contains("verified that both are equal"),
        "{printed}"
    );
    let again = Database::empty()?;
    let printed = move_store("sqlite:back.db", again.url())?.succeeded()?;
    ensure!(
        printed.contains("verified that both are equal"),
        "{printed}"
    );
    // Divides by zero if the row is missing.
    again
        .sql("SELECT 1 / count(*) FROM retired_version WHERE aspect = 'status' AND version = 7")?;
    let path = server.directory().join("back.db");
    let back = Server::start(
        Options::default()
            .store(format!("sqlite:{}", path.display()))
            .without_authentication(),
    )?;
    let found = Caller::new(&back)?.found("*")?;
    ensure!(found > 10, "{found}");
    Ok(())
}
