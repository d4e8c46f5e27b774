//! `docent token …`, beside a running server and without one.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use docent_e2e::{
    Finished, Options, Server, docent_command, files_below, store_in, temporary_directory,
};
use reqwest::Method;

/// A route that needs a token.
const PROTECTED: &str = "/entitiesV2/urn:li:corpuser:ada";

/// Runs `docent token …` on the store of a directory.
fn token(directory: &Path, arguments: &[&str]) -> anyhow::Result<Finished> {
    let mut command = docent_command(directory)?;
    command.arg("token").args(arguments);
    Finished::run(command.args(["--store", &store_in(directory)]))
}

fn create(directory: &Path, user: &str, name: &str) -> anyhow::Result<String> {
    let arguments = ["create", "--user", user, "--name", name];
    let printed = token(directory, &arguments)?.succeeded()?;
    let secret = printed
        .strip_suffix('\n')
        .context("a line break ends the token")?;
    ensure!(
        !secret.is_empty()
            && secret
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || c == '_'),
        "the token must stand alone on standard output, but that was {printed:?}"
    );
    Ok(secret.to_owned())
}

/// The id of the token with this name, as listed.
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
fn a_token_made_without_a_server_opens_the_server_that_starts_later() -> anyhow::Result<()> {
    let directory = temporary_directory()?;
    let secret = create(directory.path(), "ada", "first")?;
    let store = directory.path().join("docent.db");
    let server = Server::start(Options::default().store(format!("sqlite:{}", store.display())))?;
    ensure!(status_with(&server, &secret)? == 200);
    Ok(())
}

#[test]
fn a_token_made_beside_a_running_server_works_at_once_and_speaks_for_its_user() -> anyhow::Result<()>
{
    let server = Server::start(Options::default())?;
    for user in ["ada", "urn:li:corpuser:grace"] {
        let secret = create(server.directory(), user, "at once")?;
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
fn the_list_says_when_a_token_was_last_used_once_the_server_has_stopped() -> anyhow::Result<()> {
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
fn what_a_person_should_know_is_said_beside_the_token() -> anyhow::Result<()> {
    let directory = temporary_directory()?;
    let make = |user: &str| {
        let arguments = ["create", "--user", user, "--name", "ci"];
        token(directory.path(), &arguments)
    };
    let first = make("ada")?;
    ensure!(first.code == Some(0) && first.output.lines().count() == 1);
    let said: Vec<&str> = first.complaint.lines().collect();
    ensure!(
        said == [
            "note: made a new store at sqlite:docent.db",
            "note: nobody knew the user ada before; 'docent user add ada' lets the person sign in",
        ],
        "{first:?}"
    );
    let second = make("ada")?;
    ensure!(second.complaint.is_empty(), "{second:?}");
    let other = make("grace")?;
    ensure!(
        other.complaint.contains("grace") && !other.complaint.contains("store"),
        "{other:?}"
    );
    Ok(())
}

#[test]
fn a_suspended_user_gets_no_token_until_resumed() -> anyhow::Result<()> {
    let directory = temporary_directory()?;
    create(directory.path(), "ada", "first")?;
    let user = |verb: &str| {
        let mut command = docent_command(directory.path())?;
        command.args(["user", verb, "ada", "--store", "sqlite:docent.db"]);
        Finished::run(&mut command)?.succeeded()
    };
    user("suspend")?;
    let arguments = ["create", "--user", "ada", "--name", "second"];
    let refused = token(directory.path(), &arguments)?;
    ensure!(refused.output.is_empty(), "{refused:?}");
    let sentence = refused.refused()?;
    ensure!(sentence.contains("docent user resume ada"), "{sentence}");
    user("resume")?;
    create(directory.path(), "ada", "second")?;
    Ok(())
}

#[test]
fn two_tokens_are_never_the_same() -> anyhow::Result<()> {
    let directory = temporary_directory()?;
    let first = create(directory.path(), "ada", "ci")?;
    ensure!(first != create(directory.path(), "ada", "ci")?);
    Ok(())
}

#[test]
fn a_token_that_has_ended_is_listed_as_expired() -> anyhow::Result<()> {
    let directory = temporary_directory()?;
    create(directory.path(), "ada", "alive")?;
    let arguments = ["create", "--user", "ada", "--name", "short", "--ttl", "1s"];
    token(directory.path(), &arguments)?.succeeded()?;
    let begun = Instant::now();
    loop {
        let list = token(directory.path(), &["list"])?.succeeded()?;
        let (short, others): (Vec<&str>, Vec<&str>) =
            list.lines().partition(|line| line.contains("short"));
        let is_expired = |line: &&str| line.contains("(expired)");
        ensure!(!others.iter().any(is_expired), "{list}");
        if short.iter().any(is_expired) {
            return Ok(());
        }
        ensure!(begun.elapsed() < Duration::from_secs(30), "{list}");
    }
}

#[test]
fn tokens_are_listed_with_name_user_and_times_but_without_the_secret() -> anyhow::Result<()> {
    let directory = temporary_directory()?;
    // Making the store is not what `list` is for.
    token(directory.path(), &["list"])?.refused()?;
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
    // Neither was ever used, and one of them never ends.
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
fn a_store_without_tokens_lists_none_and_says_how_to_make_one() -> anyhow::Result<()> {
    let directory = temporary_directory()?;
    create(directory.path(), "ada", "only")?;
    let id = listed_id(directory.path(), "only")?;
    token(directory.path(), &["revoke", &id])?.succeeded()?;
    let list = token(directory.path(), &["list"])?.succeeded()?;
    ensure!(list.contains("docent token create"), "{list}");
    Ok(())
}

#[test]
fn revoking_a_token_from_another_process_has_effect_on_the_very_next_request() -> anyhow::Result<()>
{
    // Servers that share a database may take a second; tests/postgres has the test for that.
    let server = Server::start(Options::default().store("sqlite:docent.db"))?;
    let kept = create(server.directory(), "ada", "kept")?;
    for round in 0..5 {
        let name = format!("revoked-{round}");
        let secret = create(server.directory(), "ada", &name)?;
        // Asked several times, so that the server may remember it.
        for _ in 0..3 {
            ensure!(status_with(&server, &secret)? == 200);
        }
        let id = listed_id(server.directory(), &name)?;
        token(server.directory(), &["revoke", &id])?.succeeded()?;
        ensure!(status_with(&server, &secret)? == 401, "round {round}");
        ensure!(status_with(&server, &kept)? == 200, "the other one lives");
    }
    Ok(())
}

#[test]
fn a_revoked_token_stays_revoked_after_a_restart() -> anyhow::Result<()> {
    let mut server = Server::start(Options::default())?;
    let secret = create(server.directory(), "ada", "gone")?;
    let id = listed_id(server.directory(), "gone")?;
    token(server.directory(), &["revoke", &id])?.succeeded()?;
    server.restart()?;
    ensure!(status_with(&server, &secret)? == 401);
    Ok(())
}

#[test]
fn only_one_token_is_revoked_and_only_by_an_id_that_is_clear() -> anyhow::Result<()> {
    let directory = temporary_directory()?;
    create(directory.path(), "ada", "first")?;
    for id in ["", "zzz", "no-such-id"] {
        token(directory.path(), &["revoke", id])?.refused()?;
    }
    // Ids are hexadecimal: among 17 tokens two begin alike.
    for _ in 0..16 {
        create(directory.path(), "ada", "another")?;
    }
    let refusals = (0..16)
        .map(|digit| token(directory.path(), &["revoke", &format!("{digit:x}")]))
        .filter_map(|ran| ran.and_then(Finished::refused).ok())
        .collect::<Vec<_>>();
    ensure!(
        refusals
            .iter()
            .any(|sentence| sentence.contains("several tokens")),
        "an unclear id must be refused: {refusals:?}"
    );
    Ok(())
}

#[test]
fn a_token_works_until_it_expires_and_never_again() -> anyhow::Result<()> {
    const TTL: Duration = Duration::from_secs(1);
    let server = Server::start(Options::default())?;
    let before = Instant::now();
    let arguments = ["create", "--user", "ada", "--name", "short", "--ttl", "1s"];
    let secret = token(server.directory(), &arguments)?.succeeded()?;
    let secret = secret.trim_end();
    let deadline = before + Duration::from_secs(30);
    loop {
        let status = status_with(&server, secret)?;
        // It lives for its time from when it was made, which was after `before`.
        ensure!(
            status == 200 || before.elapsed() >= TTL,
            "refused with {status} before its time was over"
        );
        if status == 401 {
            break;
        }
        ensure!(status == 200, "{status}");
        ensure!(Instant::now() < deadline, "it still works");
        std::thread::sleep(Duration::from_millis(20));
    }
    ensure!(status_with(&server, secret)? == 401);
    ensure!(
        listed_id(server.directory(), "short").is_ok(),
        "an expired token is still listed, so that one can see why it stopped"
    );
    Ok(())
}

#[test]
fn wrong_arguments_are_refused_with_a_sentence_and_make_nothing() -> anyhow::Result<()> {
    let directory = temporary_directory()?;
    create(directory.path(), "ada", "good")?;
    for (user, name, ttl, says) in [
        ("ada", "ci", "soon", "'soon' is not a time to live"),
        ("ada", "ci", "", "is not a time to live"),
        ("ada", "ci", "0s", "'0s' is not a time to live"),
        ("ada", "", "30d", "name"),
        ("ada", "  ", "30d", "name"),
        ("", "ci", "30d", "name of the user is empty"),
        (" ", "ci", "30d", "name of the user is empty"),
        ("urn:li:domain:x", "ci", "30d", "corpuser"),
    ] {
        let arguments = ["create", "--user", user, "--name", name, "--ttl", ttl];
        let finished = token(directory.path(), &arguments)?;
        ensure!(
            finished.output.is_empty(),
            "a token was printed: {finished:?}"
        );
        let sentence = finished.refused()?;
        ensure!(sentence.contains(says), "{arguments:?}: {sentence}");
    }
    let list = token(directory.path(), &["list"])?.succeeded()?;
    ensure!(list.lines().count() == 2, "a heading and one token: {list}");
    Ok(())
}

#[test]
fn the_secret_is_in_no_file_of_the_store() -> anyhow::Result<()> {
    let mut server = Server::start(Options::default().store("sqlite:docent.db"))?;
    let secret = create(server.directory(), "ada", "needle-in-the-haystack")?;
    ensure!(status_with(&server, &secret)? == 200);
    let body = secret.trim_start_matches("docent_");
    let raw: Vec<u8> = body.as_bytes()[..64]
        .chunks(2)
        .map(|digits| Ok(u8::from_str_radix(std::str::from_utf8(digits)?, 16)?))
        .collect::<anyhow::Result<_>>()?;
    let look = |directory: &Path, when: &str| -> anyhow::Result<()> {
        let mut name_found = false;
        for (path, bytes) in files_below(directory)? {
            let has = |needle: &[u8]| bytes.windows(needle.len()).any(|window| window == needle);
            for needle in [&body.as_bytes()[..64], &raw] {
                ensure!(!has(needle), "{when}: the secret is in {}", path.display());
            }
            name_found |= has(b"needle-in-the-haystack");
        }
        ensure!(name_found, "{when}: the token itself must be stored");
        Ok(())
    };
    look(server.directory(), "while the server runs")?;
    ensure!(server.stop()?.success());
    look(server.directory(), "after it stopped")
}
