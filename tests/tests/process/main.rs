//! The process `docent serve`: start, startup errors, shutdown, settings, demo.

mod backup_lists;
mod backups;
mod completions;
mod config;
mod help;
mod monitoring;
mod reload;
mod startup_errors;
mod status;
mod tls;
mod traces;
mod wal_archive;

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use docent_e2e::load::proposal;
use docent_e2e::{
    CommandOutput, Options, Server, Signal, docent_command, on_postgres, repository_root,
    temporary_directory,
};
use reqwest::Method;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::{Value, json};

const TIMEOUT: Duration = Duration::from_secs(30);
const DELETED: &str = "urn:li:dataset:(urn:li:dataPlatform:hive,fct_users_deleted,PROD)";
const CREATED: &str = "urn:li:dataset:(urn:li:dataPlatform:hive,fct_users_created,PROD)";

/// Runs `docent serve` where it is expected to fail.
fn serve(directory: &Path, arguments: &[&str]) -> anyhow::Result<CommandOutput> {
    let mut command = docent_command(directory)?;
    CommandOutput::run(command.arg("serve").args(arguments))
}

fn options_for(store: &Path) -> Options {
    Options::default().store(format!("sqlite:{}", store.display()))
}

fn health(server: &Server) -> anyhow::Result<u16> {
    Ok(server
        .send(server.anonymous_request(Method::GET, "/health"))?
        .status)
}

fn description(server: &Server, urn: &str) -> anyhow::Result<Option<String>> {
    let reply = server.graphql(
        "query($urn: String!) { dataset(urn: $urn) { properties { description } } }",
        json!({ "urn": urn }),
    )?;
    let description = reply["data"]["dataset"]["properties"]["description"].as_str();
    Ok(description.map(ToOwned::to_owned))
}

fn describe(server: &Server, urn: &str, description: &str) -> anyhow::Result<()> {
    let proposal = proposal(
        urn,
        "datasetProperties",
        &json!({ "description": description }),
    );
    let reply = server.post(
        "/aspects?action=ingestProposal",
        &json!({ "proposal": proposal }),
    )?;
    ensure!(reply.status == 200, "{reply:?}");
    Ok(())
}

/// Returns how long a process's main thread was runnable but waited for a core.
fn scheduling_delay(process: u32) -> anyhow::Result<Duration> {
    let path = format!("/proc/{process}/schedstat");
    let text = fs::read_to_string(&path).with_context(|| path.clone())?;
    let waited = text.split_whitespace().nth(1).context(path)?;
    Ok(Duration::from_nanos(waited.parse()?))
}

#[test]
fn a_server_on_an_existing_store_starts_in_a_fraction_of_a_second() -> anyhow::Result<()> {
    // For a debug build on a slow day of the machine; the release build takes a third. PostgreSQL
    // starts a process for each connection, which takes its own time.
    let limit = Duration::from_millis(if on_postgres()? { 500 } else { 200 });
    let mut server = Server::start(Options::default().demo())?;
    // The fastest of several starts, without scheduling delays: other tests run at the same time.
    let mut fastest = Duration::MAX;
    for _ in 0..20 {
        ensure!(server.stop()?.success());
        let begin = Instant::now();
        server.restart()?;
        ensure!(health(&server)? == 200);
        let took = begin.elapsed();
        fastest = fastest.min(took.saturating_sub(scheduling_delay(server.process_id())?));
        if fastest < limit {
            break;
        }
    }
    eprintln!(
        "from process start to the first reply: {} ms",
        fastest.as_millis()
    );
    ensure!(fastest < limit, "{fastest:?}");
    Ok(())
}

/// A request whose body has not been sent yet. The server has started to handle it: it sent `100
/// Continue`.
struct OpenRequest {
    stream: TcpStream,
    body: String,
}

impl OpenRequest {
    fn begin(server: &Server, path: &str, body: &Value) -> anyhow::Result<Self> {
        let body = body.to_string();
        let host = server.address().trim_start_matches("http://");
        let token = server.token("datahub")?;
        let mut stream = TcpStream::connect(host)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        write!(
            stream,
            "POST {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\nExpect: 100-continue\r\n\r\n",
            body.len()
        )?;
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).context("no 100 Continue")?;
            head.push(byte[0]);
        }
        let head = String::from_utf8(head)?;
        ensure!(head.starts_with("HTTP/1.1 100"), "{head}");
        Ok(Self { stream, body })
    }

    /// Sends the body and returns the whole reply.
    fn finish(mut self) -> anyhow::Result<String> {
        self.stream.write_all(self.body.as_bytes())?;
        let mut reply = String::new();
        self.stream.read_to_string(&mut reply)?;
        Ok(reply)
    }
}

/// Waits until the server accepts no more connections.
fn wait_until_closed(server: &Server) -> anyhow::Result<()> {
    let host = server.address().trim_start_matches("http://");
    let deadline = Instant::now() + TIMEOUT;
    while TcpStream::connect(host).is_ok() {
        if Instant::now() > deadline {
            bail!("the server still accepts connections");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

fn requests_finish_after(signal: Signal, options: Options) -> anyhow::Result<()> {
    let mut server = Server::start(options)?;
    let urn = |index: usize| format!("urn:li:dataset:(urn:li:dataPlatform:hive,big_{index},PROD)");
    let proposals: Vec<Value> = (0..500)
        .map(|index| {
            proposal(
                &urn(index),
                "datasetProperties",
                &json!({"description": "big"}),
            )
        })
        .collect();
    let path = "/aspects?action=ingestProposalBatch";
    let request = OpenRequest::begin(&server, path, &json!({ "proposals": proposals }))?;
    server.signal(signal)?;
    wait_until_closed(&server)?;
    let reply = request.finish()?;
    ensure!(reply.starts_with("HTTP/1.1 200"), "{reply}");
    let status = server.wait()?;
    ensure!(status.code() == Some(0), "{status}");
    server.restart()?;
    for index in [0, 250, 499] {
        let stored = description(&server, &urn(index))?;
        ensure!(stored.as_deref() == Some("big"), "{index}: {stored:?}");
    }
    Ok(())
}

#[test]
fn a_request_in_flight_finishes_after_sigterm_and_the_exit_code_is_zero() -> anyhow::Result<()> {
    requests_finish_after(Signal::TERM, Options::default())
}

#[test]
fn a_request_in_flight_finishes_after_control_c_and_the_exit_code_is_zero() -> anyhow::Result<()> {
    requests_finish_after(Signal::INT, Options::default())
}

#[test]
fn a_request_in_flight_finishes_after_its_terminal_is_closed_and_the_exit_code_is_zero()
-> anyhow::Result<()> {
    requests_finish_after(Signal::HUP, Options::default().in_terminal())
}

#[test]
fn a_second_control_c_ends_the_server_immediately() -> anyhow::Result<()> {
    let mut server = Server::start(Options::default())?;
    let path = "/aspects?action=ingestProposal";
    let request = OpenRequest::begin(&server, path, &json!({}))?;
    server.signal(Signal::INT)?;
    wait_until_closed(&server)?;
    let begin = Instant::now();
    server.signal(Signal::INT)?;
    let status = server.wait()?;
    ensure!(status.code() == Some(130), "{status}");
    let took = begin.elapsed();
    ensure!(took < Duration::from_secs(5), "it took {took:?}");
    drop(request);
    server.restart()
}

#[test]
fn idle_connections_do_not_delay_the_shutdown() -> anyhow::Result<()> {
    let mut server = Server::start(Options::default())?;
    let host = server.address().trim_start_matches("http://").to_owned();
    let idle = TcpStream::connect(&host)?;
    // The client keeps this connection open after the reply, which proves that the idle one was
    // accepted.
    ensure!(health(&server)? == 200);
    let begin = Instant::now();
    let status = server.stop()?;
    ensure!(status.code() == Some(0), "{status}");
    let took = begin.elapsed();
    // The server closes connections in use after ten seconds. A busy disk may take a few.
    ensure!(took < Duration::from_secs(9), "the shutdown took {took:?}");
    drop(idle);
    Ok(())
}

#[test]
fn a_second_server_on_the_same_store_fails_and_the_first_keeps_running() -> anyhow::Result<()> {
    let mut server = Server::start(Options::default().store("sqlite:docent.db"))?;
    describe(&server, DELETED, "before")?;
    let second = ["--listen", "127.0.0.1:0", "--store", "sqlite:docent.db"];
    let error = serve(server.directory(), &second)?.failed()?;
    ensure!(
        error.contains("docent.db") && error.contains("a docent server is using"),
        "{error}"
    );
    describe(&server, DELETED, "after")?;
    ensure!(description(&server, DELETED)?.as_deref() == Some("after"));
    // Neither a shutdown nor a kill leaves the store locked.
    ensure!(server.stop()?.success());
    server.restart()?;
    server.kill()?;
    server.restart()
}

#[test]
fn a_flag_overrides_a_variable_and_a_variable_overrides_the_file() -> anyhow::Result<()> {
    let directory = temporary_directory()?;
    fs::write(
        directory.path().join("docent.toml"),
        "store = 'sqlite:file.db'\nlisten = 'from the file'\n",
    )?;
    let created = |flag: Option<&str>, variable: Option<&str>| -> anyhow::Result<Vec<String>> {
        let mut command = docent_command(directory.path())?;
        command.args(["token", "create", "--user", "ada", "--name", "x"]);
        command.args(["--config", "docent.toml"]);
        command.args(flag.iter().flat_map(|url| ["--store", url]));
        command.envs(variable.map(|url| ("DOCENT_STORE", url)));
        CommandOutput::run(&mut command)?.succeeded()?;
        let stores = ["file.db", "variable.db", "flag.db"];
        Ok(stores
            .iter()
            .filter(|name| directory.path().join(name).exists())
            .map(ToString::to_string)
            .collect())
    };
    let variable = Some("sqlite:variable.db");
    ensure!(created(Some("sqlite:flag.db"), variable)? == ["flag.db"]);
    ensure!(created(None, variable)? == ["variable.db", "flag.db"]);
    ensure!(created(None, None)? == ["file.db", "variable.db", "flag.db"]);
    // The message contains the invalid address.
    let error = |flag: Option<&str>, variable: Option<&str>| -> anyhow::Result<String> {
        let mut command = docent_command(directory.path())?;
        command.args(["serve", "--config", "docent.toml"]);
        command.args(flag.iter().flat_map(|listen| ["--listen", listen]));
        command.envs(variable.map(|listen| ("DOCENT_LISTEN", listen)));
        CommandOutput::run(&mut command)?.failed()
    };
    let variable = Some("from the variable");
    ensure!(error(Some("from the flag"), variable)?.contains("'from the flag'"));
    ensure!(error(None, variable)?.contains("'from the variable'"));
    ensure!(error(None, None)?.contains("'from the file'"));
    Ok(())
}

#[test]
fn view_policies_hide_what_no_policy_lets_a_user_view() -> anyhow::Result<()> {
    let server = Server::start(
        Options::default()
            .variable("DOCENT_DEMO", "true")
            .variable("DOCENT_DEFAULT_ROLE", "none")
            .variable("DOCENT_VIEW_POLICIES", "on"),
    )?;
    let token = server.token("urn:li:corpuser:nobody")?;
    let query = "{ searchAcrossEntities(input: { query: \"*\", types: [DATASET] }) { total } }";
    let total = || -> anyhow::Result<Option<u64>> {
        let request = server.anonymous_request(Method::POST, "/api/graphql");
        let request = request.bearer_auth(&token).json(&json!({ "query": query }));
        let reply: Value = server.send(request)?.json()?;
        Ok(reply["data"]["searchAcrossEntities"]["total"].as_u64())
    };
    ensure!(
        total()?.is_some_and(|total| total > 0),
        "the default policies let everyone view everything"
    );
    let deleted = server.graphql(
        "mutation { deletePolicy(urn: \"urn:li:dataHubPolicy:view-entity-page-all\") }",
        json!({}),
    )?;
    ensure!(deleted["errors"].is_null(), "{deleted}");
    ensure!(total()? == Some(0), "nothing is left to see");
    ensure!(description(&server, DELETED)?.is_some(), "for that user");
    Ok(())
}

#[test]
fn other_settings_have_the_same_precedence() -> anyhow::Result<()> {
    let directory = temporary_directory()?;
    let file = directory.path().join("docent.toml");
    fs::write(&file, "auth = 'off'\ndemo = true\nlog-format = 'json'\n")?;
    let path = "/entitiesV2/urn:li:corpuser:jdoe";
    let status = |server: &Server| -> anyhow::Result<u16> {
        Ok(server
            .send(server.anonymous_request(Method::GET, path))?
            .status)
    };
    let from_file = || Options::default().variable("DOCENT_CONFIG", &file);
    let server = Server::start(from_file())?;
    ensure!(status(&server)? == 200, "the file turns authentication off");
    ensure!(
        !server.printed().contains("token: "),
        "a server without authentication needs no token"
    );
    ensure!(
        description(&server, DELETED)?.is_some(),
        "the file turns the demo on"
    );
    server
        .printed_line("{\"timestamp\"")
        .context("the file sets the log format")?;
    let server = Server::start(
        from_file()
            .variable("DOCENT_AUTH", "on")
            .variable("DOCENT_DEMO", "false"),
    )?;
    ensure!(status(&server)? == 401, "the variable overrides the file");
    ensure!(description(&server, DELETED)?.is_none());
    let server = Server::start(
        from_file()
            .variable("DOCENT_AUTH", "on")
            .without_authentication(),
    )?;
    ensure!(status(&server)? == 200, "the flag overrides the variable");
    for (variable, value, expected) in [
        (
            "DOCENT_AUDIT_RETENTION",
            "none",
            "'none' is not a number of days",
        ),
        (
            "DOCENT_AGENT_WRITES",
            "sometimes",
            "possible values: allow, propose, off",
        ),
        (
            "DOCENT_REQUEST_TIMEOUT",
            "1h",
            "'1h' is not a time for requests",
        ),
        (
            "DOCENT_SLOW_MS",
            "1s",
            "'1s' is not a number of milliseconds",
        ),
        ("DOCENT_METRICS_LISTEN", "9100", "9100"),
        (
            "DOCENT_ADDRESS_CONNECTIONS",
            "0",
            "use a number from 1 to 4096",
        ),
        (
            "DOCENT_SECRET_KEY_FILE",
            "missing.key",
            "cannot read the secret key file missing.key",
        ),
        (
            "DOCENT_PREVIOUS_SECRET_KEY_FILE",
            "missing.key",
            "needs --secret-key-file",
        ),
    ] {
        let error = Server::start(from_file().variable(variable, value));
        let error = format!("{:#}", error.err().context("no error")?);
        ensure!(error.contains(expected), "{error}");
    }
    Ok(())
}

#[test]
fn the_limit_on_file_descriptors_is_raised() -> anyhow::Result<()> {
    let before = getrlimit(Resource::Nofile);
    let low = Rlimit {
        current: Some(600),
        ..before
    };
    // The server inherits the limit. Each test is a process of its own.
    setrlimit(Resource::Nofile, low)?;
    let server = Server::start(Options::default())?;
    let limits = fs::read_to_string(format!("/proc/{}/limits", server.process_id()))?;
    let files = limits
        .lines()
        .find(|line| line.starts_with("Max open files"));
    let soft = files.and_then(|line| line.split_whitespace().nth(3));
    let soft: u64 = soft.context("no limit")?.parse()?;
    let expected = before.maximum.map_or(16_384, |hard| hard.min(16_384));
    ensure!(soft == expected, "{soft} instead of {expected}");
    Ok(())
}

#[test]
fn lists_of_hosts_and_proxies_come_from_variables() -> anyhow::Result<()> {
    let server = Server::start(
        Options::default()
            .without_authentication()
            .variable("DOCENT_ALLOWED_HOST", "docent.example,catalog.example")
            .variable("DOCENT_TRUSTED_PROXY", "10.0.0.0/8,127.0.0.1"),
    )?;
    for (host, expected) in [("catalog.example", 200), ("evil.example", 403)] {
        for header in ["Host", "X-Forwarded-Host"] {
            let path = "/entitiesV2/urn:li:corpuser:jdoe";
            let request = server.anonymous_request(Method::GET, path);
            let status = server.send(request.header(header, host))?.status;
            ensure!(status == expected, "{header}: {host} gets {status}");
        }
    }
    Ok(())
}

/// Returns the demo's entities of one type, from its data file.
fn demo_urns(entity_type: &str) -> anyhow::Result<Vec<String>> {
    let path = repository_root().join("crates/docent/demo/catalog.json");
    let catalog: Value = serde_json::from_str(&fs::read_to_string(path)?)?;
    let entities = catalog.as_array().context("not a list")?;
    let prefix = format!("urn:li:{entity_type}:");
    Ok(entities
        .iter()
        .filter_map(|entity| entity["urn"].as_str())
        .filter(|urn| urn.starts_with(&prefix))
        .map(ToOwned::to_owned)
        .collect())
}

#[test]
fn the_demo_fills_an_empty_store_and_prints_a_token_that_works() -> anyhow::Result<()> {
    let server = Server::start(Options::default().demo())?;
    let line = server.printed_line("token: ")?;
    let token = line.trim_start_matches("token: ");
    let query = "query($urns: [String!]!) { entities(urns: $urns) { urn
        ... on Dataset { platform { urn } schemaMetadata { fields { fieldPath } }
            institutionalMemory { elements { url } } domain { domain { urn } } }
        ... on Domain { parentDomains { count } }
        ... on CorpUser { info { displayName } } } }";
    let read = |entity_type: &str| -> anyhow::Result<Vec<Value>> {
        let body = json!({"query": query, "variables": {"urns": demo_urns(entity_type)?}});
        let request = server.anonymous_request(Method::POST, "/api/graphql");
        let mut reply = server
            .send(request.bearer_auth(token).json(&body))?
            .json()?;
        ensure!(reply.get("errors").is_none(), "{reply}");
        let entities = reply["data"]["entities"].take();
        serde_json::from_value(entities).context("no entities")
    };
    let count = |values: &[Value], pointer: &str| {
        let length = |value: &Value| value.as_array().map_or(0, Vec::len);
        let lists = values.iter().filter_map(|value| value.pointer(pointer));
        lists.filter(|list| length(list) > 0).count()
    };
    let datasets = read("dataset")?;
    let with_columns = count(&datasets, "/schemaMetadata/fields");
    ensure!(with_columns >= 40, "{with_columns} datasets with columns");
    let linked = count(&datasets, "/institutionalMemory/elements");
    ensure!(linked >= 3, "{linked} datasets with links");
    let text_at = |values: &[Value], pointer: &str| -> BTreeSet<String> {
        let texts = values
            .iter()
            .filter_map(|value| value.pointer(pointer)?.as_str());
        texts.map(ToOwned::to_owned).collect()
    };
    ensure!(text_at(&datasets, "/platform/urn").len() >= 3);
    ensure!(text_at(&datasets, "/domain/domain/urn").len() >= 3);
    ensure!(text_at(&read("corpuser")?, "/info/displayName").len() >= 3);
    let depths: BTreeSet<u64> = read("domain")?
        .iter()
        .filter_map(|domain| domain["parentDomains"]["count"].as_u64())
        .collect();
    ensure!(depths.contains(&0) && depths.contains(&1), "{depths:?}");
    let columns = "query($urn: String!) { dataset(urn: $urn) { schemaMetadata { fields { fieldPath description } } } }";
    for (urn, text, column) in [
        (
            DELETED,
            "table containing all the users deleted on a single day",
            ("user_name", "Name of the user who was deleted"),
        ),
        (
            CREATED,
            "table containing all the users created on a single day",
            ("user_name", "Name of the user who signed up"),
        ),
    ] {
        ensure!(description(&server, urn)?.as_deref() == Some(text));
        let reply = server.graphql(columns, json!({ "urn": urn }))?;
        let fields = reply["data"]["dataset"]["schemaMetadata"]["fields"].as_array();
        let expected = json!({"fieldPath": column.0, "description": column.1});
        ensure!(
            fields.is_some_and(|fields| fields.contains(&expected)),
            "{reply}"
        );
    }
    Ok(())
}

#[test]
fn the_demo_has_one_token_after_each_start_and_prints_commands_to_copy() -> anyhow::Result<()> {
    let directory = temporary_directory()?;
    let store = directory.path().join("docent.db");
    let passwd = format!(
        "'docent user passwd datahub --store sqlite:{}'",
        store.display()
    );
    for _ in 0..2 {
        let mut server = Server::start(options_for(&store).demo())?;
        server.printed_line("token: ")?;
        ensure!(server.printed().contains(&passwd), "{}", server.printed());
        ensure!(server.stop()?.success());
    }
    let mut command = docent_command(directory.path())?;
    let list = CommandOutput::run(command.args(["token", "list"]))?.succeeded()?;
    ensure!(list.matches("demo").count() == 1, "{list}");
    Ok(())
}

#[test]
fn the_demo_does_not_change_a_filled_store() -> anyhow::Result<()> {
    let directory = temporary_directory()?;
    let store = directory.path().join("docent.db");
    let mut server = Server::start(options_for(&store))?;
    describe(&server, DELETED, "ours")?;
    ensure!(server.stop()?.success());
    let mut server = Server::start(options_for(&store).demo())?;
    ensure!(description(&server, DELETED)?.as_deref() == Some("ours"));
    ensure!(
        description(&server, CREATED)?.is_none(),
        "nothing was added"
    );
    let reply = server.graphql("{ listDomains(input: {}) { total } }", json!({}))?;
    ensure!(reply["data"]["listDomains"]["total"] == 0, "{reply}");
    ensure!(server.stop()?.success());
    Ok(())
}

#[test]
fn a_restart_keeps_the_data_with_and_without_the_demo_flag() -> anyhow::Result<()> {
    const OWN: &str = "urn:li:dataset:(urn:li:dataPlatform:hive,our.own,PROD)";
    const EDITED: &str = "edited: Grüße 🚀\nsecond line";
    let directory = temporary_directory()?;
    let store = directory.path().join("docent.db");
    let mut server = Server::start(options_for(&store).demo())?;
    describe(&server, DELETED, EDITED)?;
    describe(&server, OWN, "new")?;
    for options in [options_for(&store), options_for(&store).demo()] {
        ensure!(server.stop()?.success());
        server = Server::start(options)?;
        let edited = description(&server, DELETED)?;
        ensure!(edited.as_deref() == Some(EDITED), "{edited:?}");
        ensure!(description(&server, OWN)?.as_deref() == Some("new"));
        ensure!(description(&server, CREATED)?.is_some());
    }
    Ok(())
}
