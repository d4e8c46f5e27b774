//! Generated requests for every endpoint of the OpenAPI document: no response is a server error, or
//! has a status, a content type or a body that the document does not declare. Without a valid
//! token, the same requests fail.
//!
//! schemathesis generates valid and invalid requests from the document; `tests/openapi/hooks.py`
//! adds URNs. For a longer run, `DOCENT_OPENAPI_SECONDS` sets the time; it then takes more entity
//! types. `DOCENT_OPENAPI_SEED` sets the seed.

use std::process::Command;

use anyhow::{Context as _, ensure};
use docent_e2e::figures::{number_from, record};
use docent_e2e::{Options, Server, on_postgres, python, repository_root};

const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,\
                      response_headers_conformance,response_schema_conformance,ignored_auth";
/// The requests to each endpoint.
const REQUESTS: u64 = 3;
/// The minimum number of endpoints, so that none are lost.
const AT_LEAST: u64 = 55;

/// Entity types: all have the same endpoints, so some are enough.
const TYPES: &str = "tag";
const MORE_TYPES: &str = "tag|dataset|domain|corpuser|glossaryTerm|chart|dataHubPolicy";

#[test]
fn responses_to_generated_requests_are_as_documented() -> anyhow::Result<()> {
    let seconds = number_from("DOCENT_OPENAPI_SECONDS", 0)?;
    let seed = number_from("DOCENT_OPENAPI_SEED", 1)?;
    let server = Server::start(Options::default().demo())?;
    let types = if seconds > 0 { MORE_TYPES } else { TYPES };
    let paths = format!("^/(?!openapi/v[23]/entity/(?!(batch/)?({types}|generic|scroll)(/|$)))");
    let mut command = Command::new(python()?);
    command
        .args(["-m", "schemathesis.cli", "run"])
        .arg(format!("{}/openapi/v3/api-docs", server.address()))
        .args(["--include-path-regex", &paths, "--checks", CHECKS])
        .args(["--seed", &seed.to_string(), "--max-redirects", "0"])
        .arg("--header")
        .arg(format!(
            "Authorization: Bearer {}",
            server.token("datahub")?
        ))
        .args(["--continue-on-failure", "--no-color", "--warnings", "off"]);
    if seconds > 0 {
        command.args(["--phases", "examples,coverage,fuzzing"]);
        command.args(["--max-time", &seconds.to_string()]);
    } else {
        command.args(["--phases", "examples,fuzzing"]);
        command.args(["--max-examples", &REQUESTS.to_string()]);
    }
    let output = command
        .env("SCHEMATHESIS_HOOKS", "hooks")
        .env("PYTHONPATH", repository_root().join("tests/openapi"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("NO_PROXY", "*")
        // It stores what it learned in the current directory.
        .current_dir(server.directory())
        .output()
        .context("could not start Python")?;
    let printed = String::from_utf8_lossy(&output.stdout);
    ensure!(
        output.status.success(),
        "{printed}\n{}\nthe server printed:\n{}",
        String::from_utf8_lossy(&output.stderr),
        server.printed()
    );
    let endpoints = number_before(&printed, "Tested: ", "\n")?;
    ensure!(endpoints >= AT_LEAST, "{endpoints} endpoints\n{printed}");
    let requests = number_before(&printed, "Test cases:\n  ", " generated")?;
    if seconds > 0 {
        let engine = if on_postgres()? {
            "PostgreSQL"
        } else {
            "SQLite"
        };
        record(
            &format!("requests generated from the OpenAPI document on {engine}"),
            &format!("{requests} requests to {endpoints} endpoints, seed {seed}"),
        )?;
    }
    Ok(())
}

/// The number between two texts.
fn number_before(printed: &str, before: &str, after: &str) -> anyhow::Result<u64> {
    let found = printed.split_once(before);
    let found = found.and_then(|(_, rest)| rest.split_once(after));
    let (number, _) = found.with_context(|| format!("no '{before}' in\n{printed}"))?;
    number.trim().parse().with_context(|| number.to_owned())
}
