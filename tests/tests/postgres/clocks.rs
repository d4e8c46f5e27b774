//! Servers with different clocks.

use std::fs;

use anyhow::{Context as _, ensure};
use docent_e2e::{FaultyClock, Options, Server, temporary_directory};
use docent_test_postgres::Database;
use reqwest::Method;
use serde_json::{Value, json};

use crate::caller::Caller;
use crate::{PROPERTIES, dataset, expect_sound};

const PASSWORD: &str = "correct horse";
const HOUR: i64 = 60 * 60;

/// The logical version of the dataset's properties.
fn version(server: &Server, urn: &str) -> anyhow::Result<Value> {
    let reply = server.send(server.request(Method::GET, &format!("/entitiesV2/{urn}"))?)?;
    let entity = reply.json()?;
    Ok(entity["aspects"][PROPERTIES]["systemMetadata"]["version"].clone())
}

fn write(caller: &Caller, urn: &str, text: &str) -> anyhow::Result<()> {
    let value = json!({"description": text, "customProperties": {}});
    let response = caller.propose("UPSERT", urn, PROPERTIES, &value)?;
    ensure!(response.status == 200, "{}", response.body);
    Ok(())
}

/// The name of the user that a server knows by this cookie.
fn user_of(server: &Server, cookie: &str) -> anyhow::Result<Value> {
    let request = server.anonymous_request(Method::POST, "/api/graphql");
    let body = json!({"query": "{ me { corpUser { username } } }"});
    let reply = server.send(request.header("cookie", cookie).json(&body))?;
    Ok(reply.json()?["data"]["me"]["corpUser"]["username"].clone())
}

fn sign_in(server: &Server) -> anyhow::Result<String> {
    let request = server.anonymous_request(Method::POST, "/logIn");
    let response = request
        .json(&json!({"username": "datahub", "password": PASSWORD}))
        .send()?;
    ensure!(response.status() == 200, "{response:?}");
    let cookies = response.headers().get_all("set-cookie").iter();
    let mut cookies = cookies.filter_map(|cookie| cookie.to_str().ok()?.split(';').next());
    let session = cookies.find(|cookie| cookie.starts_with("PLAY_SESSION="));
    Ok(session.context("no session")?.to_owned())
}

#[test]
fn servers_with_clocks_an_hour_apart_agree_on_everything() -> anyhow::Result<()> {
    let database = Database::empty()?;
    let directory = temporary_directory()?;
    let clock = FaultyClock::new(directory.path())?;
    clock.set_ahead(HOUR)?;
    let password = directory.path().join("password");
    fs::write(&password, PASSWORD)?;
    let options = || {
        Options::default()
            .store(database.url())
            .variable("DOCENT_ADMIN_PASSWORD_FILE", &password)
    };
    let servers = [
        Server::start(options())?,
        Server::start(clock.of(options()))?,
    ];
    let callers = [
        Caller::with_token(&servers[0])?,
        Caller::with_token(&servers[1])?,
    ];
    let urn = dataset("shared");
    for round in 0..30 {
        let (writer, reader) = (round % 2, (round + 1) % 2);
        let text = format!("zebra{round}");
        write(&callers[writer], &urn, &text)?;
        ensure!(callers[reader].found(&text)? == 1, "round {round}");
        if round > 0 {
            let before = format!("zebra{}", round - 1);
            ensure!(callers[writer].found(&before)? == 0, "round {round}");
        }
        // Both read the new version, which is the next one.
        let expected = json!((round + 1).to_string());
        for server in &servers {
            let found = version(server, &urn)?;
            ensure!(found == expected, "round {round}: {found}");
        }
        // A write that is newer for the clock of one server changes nothing for the other.
        if round == 15 {
            clock.set_ahead(-HOUR)?;
        }
    }
    for (one, other) in [(0, 1), (1, 0)] {
        let cookie = sign_in(&servers[one])?;
        for server in [&servers[one], &servers[other]] {
            let user = user_of(server, &cookie)?;
            ensure!(user == "datahub", "{user}");
        }
    }
    for server in servers {
        let mut server = server;
        ensure!(server.stop()?.success());
    }
    expect_sound(database.url())
}
