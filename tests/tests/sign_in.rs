//! Users: the first start, `docent user …` with and without a running server, the second listener.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use docent_e2e::{
    CommandOutput, Options, Reply, Server, docent_binary, docent_command, files_below, on_postgres,
    python, repository_root, store_in, temporary_directory,
};
use reqwest::Method;
use reqwest::blocking::Client;
use serde_json::{Value, json};

const PASSWORD: &str = "needle in the haystack";
const ME: &str = "{ me { corpUser { urn } } }";

/// Runs `docent user …` on the store of a directory, with text on standard input.
fn user(directory: &Path, arguments: &[&str], input: &str) -> anyhow::Result<CommandOutput> {
    let mut command = docent_command(directory)?;
    command.arg("user").args(arguments);
    CommandOutput::run_with_input(command.args(["--store", &store_in(directory)]), input)
}

fn log_in(server: &Server, username: &str, password: &str) -> anyhow::Result<Reply> {
    let body = json!({"username": username, "password": password});
    server.send(server.anonymous_request(Method::POST, "/logIn").json(&body))
}

/// Signs in at an address and returns the session cookie.
fn session(address: &str, username: &str, password: &str) -> anyhow::Result<String> {
    let response = Client::builder()
        .no_proxy()
        .build()?
        .post(format!("{address}/logIn"))
        .json(&json!({"username": username, "password": password}))
        .send()?;
    ensure!(response.status() == 200, "{response:?}");
    let cookie = response.headers().get("set-cookie").context("no cookie")?;
    let pair = cookie.to_str()?.split(';').next().unwrap_or_default();
    Ok(pair.to_owned())
}

fn status_with(server: &Server, cookie: &str) -> anyhow::Result<u16> {
    let request = server
        .anonymous_request(Method::POST, "/api/v2/graphql")
        .header("Cookie", cookie)
        .json(&json!({ "query": ME }));
    Ok(server.send(request)?.status)
}

/// Returns the password that the server prints on its first start.
fn printed_password(server: &Server) -> anyhow::Result<String> {
    let line = server.printed_line("password: ")?;
    Ok(line.trim_start_matches("password: ").to_owned())
}

#[test]
fn the_first_start_prints_a_password_for_datahub_once() -> anyhow::Result<()> {
    let options = Options::default().argument("--log-format").argument("json");
    let mut server = Server::start(options.argument("--log").argument("trace"))?;
    let password = printed_password(&server)?;
    let printed = server.printed();
    ensure!(printed.contains("user: datahub\n"), "{printed}");
    ensure!(
        printed.matches(&password).count() == 1,
        "printed more than once:\n{printed}"
    );
    ensure!(log_in(&server, "datahub", &password)?.status == 200);
    ensure!(log_in(&server, "datahub", "something else")?.status == 401);
    let log = server.printed();
    ensure!(log.matches(&password).count() == 1, "logged:\n{log}");
    server.restart()?;
    ensure!(log_in(&server, "datahub", &password)?.status == 200);
    ensure!(server.stop()?.success());
    let printed = server.printed();
    ensure!(!printed.contains("password"), "{printed}");
    Ok(())
}

#[test]
fn a_password_file_sets_the_first_password_and_is_ignored_later() -> anyhow::Result<()> {
    let directory = temporary_directory()?;
    let file = directory.path().join("password");
    fs::write(&file, format!("{PASSWORD}\n"))?;
    let mut server =
        Server::start(Options::default().variable("DOCENT_ADMIN_PASSWORD_FILE", file.as_os_str()))?;
    ensure!(log_in(&server, "datahub", PASSWORD)?.status == 200);
    let printed = server.printed();
    ensure!(
        !printed.contains("password: ") && !printed.contains(PASSWORD),
        "{printed}"
    );
    fs::write(&file, "another password")?;
    server.restart()?;
    ensure!(log_in(&server, "datahub", PASSWORD)?.status == 200);
    ensure!(log_in(&server, "datahub", "another password")?.status == 401);
    Ok(())
}

#[test]
fn an_invalid_password_file_is_an_error_and_leaves_no_store() -> anyhow::Result<()> {
    let directory = temporary_directory()?;
    fs::write(directory.path().join("empty"), "\n")?;
    fs::write(directory.path().join("short"), "1234567\n")?;
    fs::write(directory.path().join("lines"), "two\nlines of text\n")?;
    for (file, says) in [
        ("missing", "cannot read"),
        ("empty", "empty"),
        ("short", "12 characters"),
        ("lines", "one line"),
    ] {
        let mut command = docent_command(directory.path())?;
        command.args(["serve", "--listen", "127.0.0.1:0"]);
        command.args(["--admin-password-file", file]);
        let sentence = CommandOutput::run(&mut command)?.failed()?;
        ensure!(
            sentence.contains(says) && sentence.contains(file),
            "{file}: {sentence}"
        );
    }
    ensure!(!directory.path().join("docent.db").exists());
    Ok(())
}

#[test]
fn no_password_is_created_without_authentication() -> anyhow::Result<()> {
    let server = Server::start(Options::default().without_authentication())?;
    ensure!(log_in(&server, "datahub", "datahub")?.status == 401);
    let printed = server.printed();
    ensure!(!printed.contains("password"), "{printed}");
    let list = user(server.directory(), &["list"], "")?.succeeded()?;
    ensure!(list.contains("docent user add"), "{list}");
    Ok(())
}

#[test]
fn the_first_start_creates_datahub_even_if_other_users_exist() -> anyhow::Result<()> {
    let directory = temporary_directory()?;
    user(directory.path(), &["add", "ada"], PASSWORD)?.succeeded()?;
    let store = directory.path().join("docent.db");
    let mut server =
        Server::start(Options::default().store(format!("sqlite:{}", store.display())))?;
    ensure!(log_in(&server, "ada", PASSWORD)?.status == 200);
    let password = printed_password(&server)?;
    ensure!(log_in(&server, "datahub", &password)?.status == 200);

    user(directory.path(), &["suspend", "datahub"], "")?.succeeded()?;
    server.restart()?;
    ensure!(log_in(&server, "datahub", &password)?.status == 401);
    ensure!(server.stop()?.success());
    let printed = server.printed();
    ensure!(!printed.contains("password: "), "{printed}");
    ensure!(printed.contains("docent user resume datahub"), "{printed}");
    Ok(())
}

/// Waits for the effect of another process's write: immediate on SQLite, within a second on
/// PostgreSQL.
fn soon(condition: impl Fn() -> anyhow::Result<bool>) -> anyhow::Result<()> {
    let timeout = Duration::from_secs(u64::from(on_postgres()?));
    let start = Instant::now();
    while !condition()? {
        ensure!(start.elapsed() < timeout, "timed out");
    }
    Ok(())
}

#[test]
fn changes_to_users_take_effect_on_a_running_server() -> anyhow::Result<()> {
    let server = Server::start(Options::default())?;
    let here = server.directory();
    let added = user(
        here,
        &[
            "add",
            "ada",
            "--display-name",
            "Ada L.",
            "--email",
            "ada@example.com",
        ],
        &format!("{PASSWORD}\n"),
    )?;
    ensure!(added.succeeded()? == "ada can sign in\n");
    let cookie = session(server.address(), "ada", PASSWORD)?;
    let token = server.token("ada")?;
    let token_status = || -> anyhow::Result<u16> {
        let request = server.anonymous_request(Method::POST, "/api/graphql");
        let request = request.bearer_auth(&token).json(&json!({ "query": ME }));
        Ok(server.send(request)?.status)
    };
    ensure!(status_with(&server, &cookie)? == 200);
    ensure!(token_status()? == 200);

    user(here, &["suspend", "ada"], "")?.succeeded()?;
    soon(|| Ok(status_with(&server, &cookie)? == 401 && token_status()? == 401))?;
    ensure!(log_in(&server, "ada", PASSWORD)?.status == 401);
    let list = user(here, &["list"], "")?.succeeded()?;
    let line = list.lines().find(|line| line.contains("ada"));
    let line = line.context("ada is not listed")?;
    for part in ["Ada L.", "ada@example.com", "yes", "suspended"] {
        ensure!(line.contains(part), "{part}: {list}");
    }

    user(here, &["resume", "ada"], "")?.succeeded()?;
    let linked = user(here, &["link", "ada"], "")?.succeeded()?;
    ensure!(linked.contains("ada is linked"), "{linked}");
    let linked = user(here, &["link", "--all"], "")?.succeeded()?;
    ensure!(linked.contains("providers: 1"), "{linked}");
    soon(|| Ok(token_status()? == 200))?;
    ensure!(
        status_with(&server, &cookie)? == 401,
        "a session stays ended"
    );
    let cookie = session(server.address(), "ada", PASSWORD)?;
    fs::write(here.join("new"), "another needle\r\n")?;
    user(here, &["passwd", "ada", "--password-file", "new"], "")?.succeeded()?;
    soon(|| Ok(status_with(&server, &cookie)? == 401))?;
    ensure!(log_in(&server, "ada", PASSWORD)?.status == 401);
    ensure!(log_in(&server, "ada", "another needle")?.status == 200);

    let all = user(here, &["list", "--all"], "")?.succeeded()?;
    ensure!(all.contains("ada") && all.contains("datahub"), "{all}");
    Ok(())
}

#[test]
fn on_a_terminal_the_password_is_prompted_for_twice_and_not_echoed() -> anyhow::Result<()> {
    let directory = temporary_directory()?;
    let type_in = |name: &str, answers: &[&str]| -> anyhow::Result<CommandOutput> {
        let mut command = Command::new(python()?);
        command
            .current_dir(directory.path())
            .arg(repository_root().join("tests/terminal.py"))
            .arg(json!(answers).to_string())
            .arg(docent_binary()?)
            .args(["user", "add", name, "--store", "sqlite:docent.db"]);
        CommandOutput::run(&mut command)
    };
    let shown = type_in("ada", &[PASSWORD, PASSWORD])?.succeeded()?;
    ensure!(
        shown
            == "New password: \r\nRepeat password: \r\nnote: created a new store at sqlite:docent.db\r\nada can sign in\r\n",
        "{shown:?}"
    );
    let rejected = type_in("grace", &[PASSWORD, "something else"])?;
    ensure!(rejected.code == Some(1), "{rejected:?}");
    ensure!(rejected.stdout.contains("do not match"), "{rejected:?}");
    ensure!(!rejected.stdout.contains("something"), "{rejected:?}");
    let list = user(directory.path(), &["list"], "")?.succeeded()?;
    ensure!(list.contains("ada") && !list.contains("grace"), "{list}");
    Ok(())
}

#[test]
fn an_interrupted_prompt_restores_the_terminal() -> anyhow::Result<()> {
    let directory = temporary_directory()?;
    for answers in [json!(["half a pass\u{3}"]), json!([PASSWORD, "\u{3}"])] {
        let mut command = Command::new(python()?);
        command
            .current_dir(directory.path())
            .arg(repository_root().join("tests/terminal.py"))
            .arg(answers.to_string())
            .arg(docent_binary()?)
            .args(["user", "add", "ada", "--store", "sqlite:docent.db"]);
        let ended = CommandOutput::run(&mut command)?;
        // The shell's exit code for signal 2.
        ensure!(ended.code == Some(130), "{ended:?}");
        ensure!(ended.stderr == "the terminal echoes input\n", "{ended:?}");
        ensure!(!ended.stdout.contains("pass\u{3}"), "{ended:?}");
    }
    ensure!(!directory.path().join("docent.db").exists());
    Ok(())
}

#[test]
fn invalid_arguments_are_rejected_with_a_message() -> anyhow::Result<()> {
    let directory = temporary_directory()?;
    let here = directory.path();
    for command in ["list", "suspend", "resume", "passwd", "link"] {
        let arguments = [command, "ada"];
        let arguments = &arguments[..if command == "list" { 1 } else { 2 }];
        user(here, arguments, PASSWORD)?.failed()?;
        ensure!(
            !here.join("docent.db").exists(),
            "{command} created a store"
        );
    }
    user(here, &["add", "ada"], PASSWORD)?.succeeded()?;
    for (arguments, input, says) in [
        (
            ["add", "ada"].as_slice(),
            PASSWORD,
            "docent user passwd ada",
        ),
        (&["add", "grace"], "", "empty"),
        (&["add", "grace"], "short\n", "12 characters"),
        (&["add", "grace"], "two\nlines of text\n", "one line"),
        (&["add", "grace", "--password-file", "none"], "", "none"),
        (&["add", "grace", "--email", " "], PASSWORD, "e-mail"),
        (
            &["add", "grace", "--email", "grace"],
            PASSWORD,
            "'grace' is not an e-mail address",
        ),
        (
            &["add", "grace", "--display-name", "Grace\nHopper"],
            PASSWORD,
            "line breaks",
        ),
        (&["add", "grace\thopper"], PASSWORD, "control characters"),
        (&["add", " grace"], PASSWORD, "white space"),
        (&["add", ""], PASSWORD, "username is empty"),
        (&["add", "urn:li:domain:x"], PASSWORD, "corpuser"),
        (
            &["add", "grace", "--role", "Owner"],
            PASSWORD,
            "there is no role Owner: use Admin, Editor, Proposer, Reader",
        ),
        (
            &["add", "grace", "--role", "urn:li:domain:x"],
            PASSWORD,
            "dataHubRole",
        ),
        (&["passwd", "grace"], PASSWORD, "there is no user grace"),
        (&["passwd", "grace"], "short", "there is no user grace"),
        (
            &["suspend", "grace"],
            "",
            "there is no user grace: 'docent user list",
        ),
        (
            &["resume", "grace"],
            "",
            "there is no user grace: 'docent user list",
        ),
        (
            &["link", "grace"],
            "",
            "there is no user grace: 'docent user list",
        ),
        (&["link", "datahub"], "", "reserved"),
    ] {
        let error = user(here, arguments, input)?.failed()?;
        ensure!(error.contains(says), "{arguments:?}: {error}");
    }
    let list = user(here, &["list", "--all"], "")?.succeeded()?;
    ensure!(list.lines().count() == 2, "a heading and ada: {list}");
    Ok(())
}

#[test]
fn a_user_is_added_with_a_role_before_the_first_start() -> anyhow::Result<()> {
    let directory = temporary_directory()?;
    let add = |name: &str, role: &str| {
        user(directory.path(), &["add", name, "--role", role], PASSWORD)?.succeeded()
    };
    add("rita", "Reader")?;
    add("ada", "Admin")?;
    let store = directory.path().join("docent.db");
    let store = format!("sqlite:{}", store.display());
    let server = Server::start(Options::default().store(store))?;
    let privileges_of = |name: &str| -> anyhow::Result<Value> {
        let request = server
            .anonymous_request(Method::POST, "/api/v2/graphql")
            .header("Cookie", session(server.address(), name, PASSWORD)?)
            .json(
                &json!({ "query": "{ me { platformPrivileges { managePolicies createTags } } }" }),
            );
        Ok(server.send(request)?.json()?["data"]["me"]["platformPrivileges"].clone())
    };
    let privileges = privileges_of("rita")?;
    ensure!(
        privileges == json!({"managePolicies": false, "createTags": false}),
        "{privileges}"
    );
    let privileges = privileges_of("ada")?;
    ensure!(
        privileges == json!({"managePolicies": true, "createTags": true}),
        "{privileges}"
    );
    Ok(())
}

#[test]
fn the_second_listener_serves_the_same_api_and_stops_with_the_first() -> anyhow::Result<()> {
    let options = Options::default().argument("--ui-listen");
    let mut server = Server::start(options.argument("127.0.0.1:0"))?;
    let second = server.printed_line("and on ")?;
    let second = second.trim_start_matches("and on ").to_owned();
    ensure!(second != server.address());
    let password = printed_password(&server)?;
    let cookie = session(&second, "datahub", &password)?;
    ensure!(
        status_with(&server, &cookie)? == 200,
        "the session is valid on both"
    );
    let client = Client::builder().no_proxy().build()?;
    for path in ["/config", "/api/gms/config", "/health"] {
        let status = client.get(format!("{second}{path}")).send()?.status();
        ensure!(status == 200, "{path}: {status}");
    }
    ensure!(server.stop()?.code() == Some(0));
    ensure!(client.get(format!("{second}/health")).send().is_err());
    Ok(())
}

#[test]
fn the_second_listener_serves_a_build_of_datahubs_page() -> anyhow::Result<()> {
    let build = temporary_directory()?;
    fs::write(
        build.path().join("index.html"),
        "<base href=\"@basePath\" />",
    )?;
    let options = Options::default()
        .argument("--ui-listen")
        .argument("127.0.0.1:0")
        .argument("--frontend")
        .argument(build.path().display().to_string());
    let server = Server::start(options)?;
    let second = server.printed_line("and on ")?;
    let second = second.trim_start_matches("and on ").to_owned();
    let client = Client::builder().no_proxy().build()?;
    let read = |address: &str| -> anyhow::Result<String> {
        Ok(client.get(format!("{address}/search")).send()?.text()?)
    };
    ensure!(read(&second)? == "<base href=\"/\" />");
    ensure!(read(server.address())?.contains("Docent"));
    let cookie = session(&second, "datahub", &printed_password(&server)?)?;
    ensure!(status_with(&server, &cookie)? == 200);
    Ok(())
}

#[test]
fn a_frontend_that_cannot_be_served_is_an_error_that_says_what_to_do() -> anyhow::Result<()> {
    for (arguments, expected) in [
        (
            ["--frontend", "dist", "--ui-listen", "127.0.0.1:0"].as_slice(),
            ["dist/index.html", "datahub-web-react", "No such file"],
        ),
        (
            ["--frontend", "dist"].as_slice(),
            ["--frontend", "--ui-listen", "127.0.0.1:9002"],
        ),
    ] {
        let directory = temporary_directory()?;
        let mut command = docent_command(directory.path())?;
        command.args(["serve", "--listen", "127.0.0.1:0"]);
        let sentence = CommandOutput::run(command.args(arguments))?.failed()?;
        for part in expected {
            ensure!(sentence.contains(part), "{sentence}");
        }
        ensure!(!directory.path().join("docent.db").exists());
    }
    Ok(())
}

#[test]
fn a_second_address_in_use_is_an_error_and_leaves_no_store() -> anyhow::Result<()> {
    let directory = temporary_directory()?;
    let taken = TcpListener::bind("127.0.0.1:0")?;
    let address = taken.local_addr()?.to_string();
    let mut command = docent_command(directory.path())?;
    command.args(["serve", "--listen", "127.0.0.1:0", "--ui-listen", &address]);
    let sentence = CommandOutput::run(&mut command)?.failed()?;
    ensure!(
        sentence.contains(&address)
            && sentence.contains("--ui-listen")
            && sentence.contains("in use"),
        "{sentence}"
    );
    ensure!(!directory.path().join("docent.db").exists());
    Ok(())
}

#[test]
fn no_file_contains_a_password_or_a_session_secret() -> anyhow::Result<()> {
    let mut server = Server::start(Options::default())?;
    let printed = printed_password(&server)?;
    user(server.directory(), &["add", "ada"], PASSWORD)?.succeeded()?;
    let cookie = session(server.address(), "ada", PASSWORD)?;
    ensure!(log_in(&server, "ada", "a wrong needle")?.status == 401);
    let (_, secret) = cookie.split_once('=').context("no secret")?;
    let copy = server.run_docent(["backup", "--store", server.store(), "copy.db"])?;
    ensure!(copy.contains("copy.db"), "{copy}");
    let secrets = [
        PASSWORD,
        "a wrong needle",
        &printed,
        // The random part, after the user's hash.
        &secret[32..],
    ];
    for when in ["running", "stopped"] {
        let mut hash_found = false;
        for (path, bytes) in files_below(server.directory())? {
            let has = |needle: &str| {
                let needle = needle.as_bytes();
                bytes.windows(needle.len()).any(|window| window == needle)
            };
            for needle in secrets {
                ensure!(!has(needle), "{when}: {needle} is in {}", path.display());
            }
            hash_found |= has("$argon2id$v=19$m=19456,t=2,p=1$");
        }
        ensure!(hash_found, "{when}: the password hash must be stored");
        if when == "running" {
            ensure!(server.stop()?.success());
        }
    }
    Ok(())
}
