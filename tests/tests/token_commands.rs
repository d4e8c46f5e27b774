//! `docent token …`, with and without a running server.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use docent_e2e::{
    CommandOutput, Options, Server, docent_command, files_below, store_in, temporary_directory,
};
use reqwest::Method;

/// A route that requires a token.
const PROTECTED: &str = "/entitiesV2/urn:li:corpuser:ada";

/// Runs `docent token …` on the store of a directory.
fn token(directory: &Path, arguments: &[&str]) -> anyhow::Result<CommandOutput> {
    let mut command = docent_command(directory)?;
    command.arg("token").args(arguments);
    CommandOutput::run(command.args(["--store", &store_in(directory)]))
}

fn create(directory: &Path, user: &str, name: &str) -> anyhow::Result<String> {
    let arguments = ["create", "--user", user, "--name", name];
    let printed = token(directory, &arguments)?.succeeded()?;
    let secret = printed
        .strip_suffix('\n')
        .context("the output must end with a line break")?;
    ensure!(
        !secret.is_empty()
            && secret
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || c == '_'),
        "standard output must contain only the token, but was {printed:?}"
    );
    Ok(secret.to_owned())
}

/// Returns the id of the token with this name.
fn listed_id(directory: &Path, name: &str) -> anyhow::Result<String> {
    let list = token(directory, &["list"])?.succeeded()?;
    let line = list.lines().find(|line| line.contains(name));
    let line = line.with_context(|| format!("{name} is not listed:\n{list}"))?;
    let id = line.split_whitespace().next().context("no id")?;
    Ok(id.to_owned())
}

fn status_with(server: &Server, secret: &str) -> anyhow::Result<u16> {
    let request = server.anonymous_request(Method::GET, PROTECTED);
    Ok(server.send(request.bearer_auth(secret))?.status)
}

#[test]
fn a_token_created_without_a_server_is_valid_when_one_starts() -> anyhow::Result<()> {
    let directory = temporary_directory()?;
    let secret = create(directory.path(), "ada", "first")?;
    let store = directory.path().join("docent.db");
    let server = Server::start(Options::default().store(format!("sqlite:{}", store.display())))?;
    ensure!(status_with(&server, &secret)? == 200);
    Ok(())
}

#[test]
fn a_token_created_next_to_a_running_server_is_valid_immediately_for_its_user() -> anyhow::Result<()>
{
    let server = Server::start(Options::default())?;
    for user in ["ada", "urn:li:corpuser:grace"] {
        let secret = create(server.directory(), user, "immediate")?;
        let query = "{ \"query\": \"{ me { corpUser { urn } } }\" }";
        let request = server
            .anonymous_request(Method::POST, "/api/graphql")
            .bearer_auth(&secret)
            .header("Content-Type", "application/json")
            .body(query);
        let reply = server.send(request)?;
        ensure!(reply.status == 200, "{reply:?}");
        let urn = reply.json()?["data"]["me"]["corpUser"]["urn"].clone();
        ensure!(
            urn == format!("urn:li:corpuser:{}", user.replace("urn:li:corpuser:", "")),
            "{reply:?}"
        );
    }
    Ok(())
}

#[test]
fn the_list_shows_the_last_use_of_a_token_after_the_server_has_stopped() -> anyhow::Result<()> {
    let mut server = Server::start(Options::default())?;
    let used = create(server.directory(), "ada", "busy")?;
    create(server.directory(), "ada", "idle")?;
    ensure!(status_with(&server, &used)? == 200);
    ensure!(server.stop()?.success());
    let list = token(server.directory(), &["list"])?.succeeded()?;
    let line = |name: &str| list.lines().find(|line| line.contains(name));
    ensure!(
        line("NAME").is_some_and(|line| line.ends_with("LAST USED")),
        "{list}"
    );
    ensure!(
        line("idle").is_some_and(|line| line.ends_with("never")),
        "{list}"
    );
    ensure!(
        line("busy").is_some_and(|line| !line.ends_with("never")),
        "{list}"
    );
    Ok(())
}

#[test]
fn notes_are_printed_to_standard_error_not_next_to_the_token() -> anyhow::Result<()> {
    let directory = temporary_directory()?;
    let create_for = |user: &str| {
        let arguments = ["create", "--user", user, "--name", "ci"];
        token(directory.path(), &arguments)
    };
    let first = create_for("ada")?;
    ensure!(first.code == Some(0) && first.stdout.lines().count() == 1);
    let notes: Vec<&str> = first.stderr.lines().collect();
    ensure!(
        notes
            == [
                "note: created a new store at sqlite:docent.db",
                "note: created the user ada, who has the role of the server's --default-role (Editor, unless it is \
                 set) and has no password; 'docent user add ada' sets one, and --role another role",
            ],
        "{first:?}"
    );
    let second = create_for("ada")?;
    ensure!(second.stderr.is_empty(), "{second:?}");
    let root = create_for("datahub")?;
    ensure!(
        root.stderr.contains("datahub, who may do everything") && !root.stderr.contains("store"),
        "{root:?}"
    );
    Ok(())
}

#[test]
fn no_token_is_created_for_a_suspended_user() -> anyhow::Result<()> {
    let directory = temporary_directory()?;
    create(directory.path(), "ada", "first")?;
    let user = |verb: &str| {
        let mut command = docent_command(directory.path())?;
        command.args(["user", verb, "ada", "--store", "sqlite:docent.db"]);
        CommandOutput::run(&mut command)?.succeeded()
    };
    user("suspend")?;
    let arguments = ["create", "--user", "ada", "--name", "second"];
    let rejected = token(directory.path(), &arguments)?;
    ensure!(rejected.stdout.is_empty(), "{rejected:?}");
    let error = rejected.failed()?;
    ensure!(error.contains("docent user resume ada"), "{error}");
    user("resume")?;
    create(directory.path(), "ada", "second")?;
    Ok(())
}

#[test]
fn two_tokens_with_the_same_name_differ() -> anyhow::Result<()> {
    let directory = temporary_directory()?;
    let first = create(directory.path(), "ada", "ci")?;
    ensure!(first != create(directory.path(), "ada", "ci")?);
    Ok(())
}

#[test]
fn an_expired_token_is_listed_as_expired() -> anyhow::Result<()> {
    let directory = temporary_directory()?;
    create(directory.path(), "ada", "alive")?;
    let arguments = ["create", "--user", "ada", "--name", "short", "--ttl", "1s"];
    token(directory.path(), &arguments)?.succeeded()?;
    let start = Instant::now();
    loop {
        let list = token(directory.path(), &["list"])?.succeeded()?;
        let (short, others): (Vec<&str>, Vec<&str>) =
            list.lines().partition(|line| line.contains("short"));
        let is_expired = |line: &&str| line.contains("(expired)");
        ensure!(!others.iter().any(is_expired), "{list}");
        if short.iter().any(is_expired) {
            return Ok(());
        }
        ensure!(start.elapsed() < Duration::from_secs(30), "{list}");
    }
}

#[test]
fn tokens_are_listed_with_name_user_and_times_without_the_secret() -> anyhow::Result<()> {
    let directory = temporary_directory()?;
    // `list` does not create a store.
    token(directory.path(), &["list"])?.failed()?;
    let secret = create(directory.path(), "ada", "nightly")?;
    let arguments = [
        "create", "--user", "grace", "--name", "forever", "--ttl", "never",
    ];
    token(directory.path(), &arguments)?.succeeded()?;
    let list = token(directory.path(), &["list"])?.succeeded()?;
    let line_of = |name: &str| {
        let line = list.lines().find(|line| line.contains(name));
        line.with_context(|| format!("{name} is not in\n{list}"))
    };
    ensure!(line_of("nightly")?.contains("ada"), "{list}");
    // Neither was used, and one of them never expires.
    ensure!(line_of("nightly")?.matches("never").count() == 1, "{list}");
    ensure!(line_of("forever")?.contains("grace"), "{list}");
    ensure!(line_of("forever")?.matches("never").count() == 2, "{list}");
    let body = secret.trim_start_matches("docent_");
    ensure!(
        !list.contains(body) && !list.contains(&body[..16]),
        "the secret is listed:\n{list}"
    );
    Ok(())
}

#[test]
fn listing_no_tokens_explains_how_to_create_one() -> anyhow::Result<()> {
    let directory = temporary_directory()?;
    create(directory.path(), "ada", "only")?;
    let id = listed_id(directory.path(), "only")?;
    token(directory.path(), &["revoke", &id])?.succeeded()?;
    let list = token(directory.path(), &["list"])?.succeeded()?;
    ensure!(list.contains("docent token create"), "{list}");
    Ok(())
}

#[test]
fn a_token_revoked_by_another_process_is_rejected_by_the_next_request() -> anyhow::Result<()> {
    // Servers that share a database may take a second; tests/postgres covers that.
    let server = Server::start(Options::default().store("sqlite:docent.db"))?;
    let valid = create(server.directory(), "ada", "valid")?;
    for round in 0..5 {
        let name = format!("revoked-{round}");
        let secret = create(server.directory(), "ada", &name)?;
        // Several requests, so that the server caches the token.
        for _ in 0..3 {
            ensure!(status_with(&server, &secret)? == 200);
        }
        let id = listed_id(server.directory(), &name)?;
        token(server.directory(), &["revoke", &id])?.succeeded()?;
        ensure!(status_with(&server, &secret)? == 401, "round {round}");
        ensure!(
            status_with(&server, &valid)? == 200,
            "the other token must stay valid"
        );
    }
    Ok(())
}

#[test]
fn a_revoked_token_stays_revoked_after_a_restart() -> anyhow::Result<()> {
    let mut server = Server::start(Options::default())?;
    let secret = create(server.directory(), "ada", "revoked")?;
    let id = listed_id(server.directory(), "revoked")?;
    token(server.directory(), &["revoke", &id])?.succeeded()?;
    server.restart()?;
    ensure!(status_with(&server, &secret)? == 401);
    Ok(())
}

/// Returns the ids of all listed tokens.
fn listed_ids(directory: &Path) -> anyhow::Result<BTreeSet<String>> {
    let list = token(directory, &["list"])?.succeeded()?;
    let ids = list.lines().skip(1);
    Ok(ids
        .filter_map(|line| line.split_whitespace().next())
        .map(ToOwned::to_owned)
        .collect())
}

#[test]
fn a_token_is_revoked_only_by_an_unambiguous_prefix_of_its_id() -> anyhow::Result<()> {
    const TOKENS: usize = 17;
    let directory = temporary_directory()?;
    for number in 0..TOKENS {
        create(directory.path(), "ada", &format!("number {number}"))?;
    }
    let mut remaining = listed_ids(directory.path())?;
    ensure!(remaining.len() == TOKENS, "{remaining:?}");
    for id in ["", "zzz", "no-such-id"] {
        token(directory.path(), &["revoke", id])?.failed()?;
    }
    // Ids are hexadecimal, so at least two of 17 share their first digit.
    let mut ambiguous = 0;
    for digit in "0123456789abcdef".chars() {
        let matching: Vec<String> = remaining
            .iter()
            .filter(|id| id.starts_with(digit))
            .cloned()
            .collect();
        let revoked = token(directory.path(), &["revoke", &digit.to_string()])?;
        match &matching[..] {
            [] => {
                revoked.failed()?;
            }
            [id] => {
                revoked.succeeded()?;
                remaining.remove(id);
            }
            _ => {
                let error = revoked.failed()?;
                ensure!(error.contains("several token ids"), "{error}");
                ambiguous += 1;
            }
        }
        let listed = listed_ids(directory.path())?;
        ensure!(
            listed == remaining,
            "after {digit}: {listed:?}, not {remaining:?}"
        );
    }
    ensure!(ambiguous > 0, "no prefix was ambiguous: {remaining:?}");
    Ok(())
}

#[test]
fn a_token_is_valid_until_it_expires() -> anyhow::Result<()> {
    const TTL: Duration = Duration::from_secs(1);
    let server = Server::start(Options::default())?;
    let before = Instant::now();
    let arguments = ["create", "--user", "ada", "--name", "short", "--ttl", "1s"];
    let secret = token(server.directory(), &arguments)?.succeeded()?;
    let secret = secret.trim_end();
    let deadline = before + Duration::from_secs(30);
    loop {
        let status = status_with(&server, secret)?;
        // The time to live starts at the creation, which was after `before`.
        ensure!(
            status == 200 || before.elapsed() >= TTL,
            "rejected with {status} before it expired"
        );
        if status == 401 {
            break;
        }
        ensure!(status == 200, "{status}");
        ensure!(Instant::now() < deadline, "the token does not expire");
        std::thread::sleep(Duration::from_millis(20));
    }
    ensure!(status_with(&server, secret)? == 401);
    ensure!(
        listed_id(server.directory(), "short").is_ok(),
        "an expired token must stay listed"
    );
    Ok(())
}

#[test]
fn invalid_arguments_are_rejected_and_create_nothing() -> anyhow::Result<()> {
    let directory = temporary_directory()?;
    create(directory.path(), "ada", "good")?;
    for (user, name, ttl, says) in [
        ("ada", "ci", "soon", "'soon' is not a valid time to live"),
        ("ada", "ci", "", "is not a valid time to live"),
        ("ada", "ci", "0s", "'0s' is not a valid time to live"),
        ("ada", "", "30d", "name"),
        ("ada", "  ", "30d", "name"),
        ("", "ci", "30d", "username is empty"),
        (" ", "ci", "30d", "username is empty"),
        ("urn:li:domain:x", "ci", "30d", "corpuser"),
    ] {
        let arguments = ["create", "--user", user, "--name", name, "--ttl", ttl];
        let finished = token(directory.path(), &arguments)?;
        ensure!(
            finished.stdout.is_empty(),
            "a token was printed: {finished:?}"
        );
        let error = finished.failed()?;
        ensure!(error.contains(says), "{arguments:?}: {error}");
    }
    let list = token(directory.path(), &["list"])?.succeeded()?;
    ensure!(list.lines().count() == 2, "a heading and one token: {list}");
    Ok(())
}

#[test]
fn no_file_contains_the_secret_of_a_token() -> anyhow::Result<()> {
    let mut server = Server::start(Options::default().store("sqlite:docent.db"))?;
    let secret = create(server.directory(), "ada", "needle-in-the-haystack")?;
    ensure!(status_with(&server, &secret)? == 200);
    let body = secret.trim_start_matches("docent_");
    let raw: Vec<u8> = body.as_bytes()[..64]
        .chunks(2)
        .map(|digits| Ok(u8::from_str_radix(std::str::from_utf8(digits)?, 16)?))
        .collect::<anyhow::Result<_>>()?;
    let search_files = |directory: &Path, when: &str| -> anyhow::Result<()> {
        let mut name_found = false;
        for (path, bytes) in files_below(directory)? {
            let has = |needle: &[u8]| bytes.windows(needle.len()).any(|window| window == needle);
            for needle in [&body.as_bytes()[..64], &raw] {
                ensure!(!has(needle), "{when}: the secret is in {}", path.display());
            }
            name_found |= has(b"needle-in-the-haystack");
        }
        ensure!(name_found, "{when}: the token's name must be stored");
        Ok(())
    };
    search_files(server.directory(), "while the server runs")?;
    ensure!(server.stop()?.success());
    search_files(server.directory(), "after it stopped")
}

#[test]
fn scopes_narrow_a_token_and_names_do_not_control_the_terminal() -> anyhow::Result<()> {
    let server = Server::start(Options::default())?;
    let directory = server.directory();
    for (controlling, says) in [
        ("evil\u{1b}]0;owned\u{7}", "control character U+001B"),
        ("evil\u{202e}cod", "control character U+202E"),
    ] {
        let arguments = ["create", "--user", "ada", "--name", controlling];
        let error = token(directory, &arguments)?.failed()?;
        ensure!(error.contains(says), "{error}");
    }
    // Text in some languages needs it, but it may change the order of what follows.
    let name = "evil\u{200f}cod";
    let arguments = [
        "create",
        "--user",
        "ada",
        "--name",
        name,
        "--scope",
        "read-only",
    ];
    let secret = token(directory, &arguments)?.succeeded()?;
    let secret = secret.trim_end();
    ensure!(status_with(&server, secret)? == 200);
    let body = serde_json::json!({"query": r#"mutation { createDomain(input: { name: "New" }) }"#});
    let request = server.anonymous_request(Method::POST, "/api/graphql");
    let reply = server.send(request.bearer_auth(secret).json(&body))?;
    let text = reply.json()?.to_string();
    ensure!(text.contains("the access token is read-only"), "{text}");
    let list = token(directory, &["list"])?.succeeded()?;
    ensure!(
        list.contains(r"evil\u{200f}cod") && list.contains("read-only"),
        "{list}"
    );
    for (scope, says) in [
        ("readonly", "'readonly' is not a scope"),
        ("privilege:FLY", "there is no privilege 'FLY'"),
        ("domain:missing", "does not exist"),
    ] {
        let arguments = ["create", "--user", "ada", "--name", "x", "--scope", scope];
        let error = token(directory, &arguments)?.failed()?;
        ensure!(error.contains(says), "{scope}: {error}");
    }
    let both = [
        "--scope",
        "read-only",
        "--scope",
        "privilege:EDIT_ENTITY_DOCS",
    ];
    let create = ["create", "--user", "ada", "--name", "x"];
    let error = token(directory, &[&create[..], &both].concat())?.failed()?;
    ensure!(error.contains("choose one or the other"), "{error}");
    Ok(())
}

#[test]
fn audit_filters_that_can_match_nothing_are_rejected() -> anyhow::Result<()> {
    let directory = temporary_directory()?;
    create(directory.path(), "ada", "x")?;
    let audit = |arguments: &[&str]| {
        let mut command = docent_command(directory.path())?;
        command.arg("audit").args(arguments);
        CommandOutput::run(command.args(["--store", &store_in(directory.path())]))
    };
    for (arguments, says) in [
        (
            ["--operation", "createPolcy"].as_slice(),
            "no operation 'createPolcy'",
        ),
        (&["--entity", "orders"], "'orders' is not a URN"),
        (&["--count", "0"], "--count is 0"),
        (
            &["--since", "2026-02-01", "--until", "2026-01-01"],
            "ends before that",
        ),
    ] {
        let error = audit(arguments)?.failed()?;
        ensure!(error.contains(says), "{arguments:?}: {error}");
    }
    let found = audit(&["--operation", "docent token create"])?.succeeded()?;
    ensure!(found.contains("docent token create"), "{found}");
    Ok(())
}
