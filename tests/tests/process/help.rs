//! The help and the table of settings list every command, flag and variable.

use std::collections::BTreeSet;
use std::fs;

use anyhow::ensure;
use docent_e2e::{CommandOutput, docent_command, repository_root, temporary_directory};

/// The flags of every command that uses one store.
const COMMON: [&str; 4] = ["--store", "--config", "--help", "--version"];
/// The flags of commands that use a server.
const SERVER: [&str; 2] = ["--server", "--token-file"];
/// The settings of `docent serve`, besides the common ones.
const SERVE: [&str; 50] = [
    "--listen",
    "--ui-listen",
    "--metrics-listen",
    "--frontend",
    "--tls-cert",
    "--tls-key",
    "--auth",
    "--trusted-proxy",
    "--allowed-host",
    "--address-rate-limit",
    "--token-rate-limit",
    "--address-connections",
    "--request-timeout",
    "--slow-ms",
    "--default-role",
    "--view-policies",
    "--agent-writes",
    "--max-token-ttl",
    "--session-ttl",
    "--session-idle",
    "--public-url",
    "--oidc-issuer",
    "--oidc-client-id",
    "--oidc-client-secret-file",
    "--oidc-name",
    "--oidc-scopes",
    "--oidc-user-claim",
    "--oidc-groups-claim",
    "--jwt-issuer",
    "--jwt-audience",
    "--jwt-jwks-url",
    "--jwt-user-claim",
    "--jwt-groups-claim",
    "--admin-password-file",
    "--secret-key-file",
    "--previous-secret-key-file",
    "--webhook-allow-private",
    "--webhook-retry",
    "--demo",
    "--search-index",
    "--audit-retention",
    "--backup-to",
    "--backup-every",
    "--backup-keep",
    "--backup-wal-every",
    "--otlp",
    "--otlp-sample",
    "--otlp-headers-file",
    "--log",
    "--log-format",
];

#[test]
fn the_help_lists_every_command_and_every_flag_with_its_variable() -> anyhow::Result<()> {
    let whole = help(&[])?;
    for command in [
        "serve",
        "token",
        "user",
        "audit",
        "status",
        "config",
        "webhook",
        "rebuild",
        "check",
        "backup",
        "move",
        "adopt",
        "restore",
        "completions",
        "man",
        "export",
        "plan",
        "apply",
        "rollback",
    ] {
        let listed = whole
            .lines()
            .any(|line| line.trim_start().starts_with(command));
        ensure!(listed, "{command} is not in\n{whole}");
    }
    expect(&["serve"], &SERVE)?;
    let listed = variables(&help(&["serve"])?);
    let expected: BTreeSet<String> = SERVE
        .iter()
        .chain(&["--store", "--config"])
        .map(|flag| flag.trim_start_matches('-').replace('-', "_"))
        .map(|name| format!("DOCENT_{}", name.to_uppercase()))
        .collect();
    compare("serve: variables", &listed, &expected)?;
    expect(
        &["token", "create"],
        &["--user", "--name", "--ttl", "--scope"],
    )?;
    let add = ["--display-name", "--email", "--role", "--password-file"];
    expect(&["user", "add"], &add)?;
    expect(&["user", "passwd"], &["--password-file"])?;
    expect(&["user", "list"], &["--all"])?;
    expect(&["user", "suspend"], &[])?;
    expect(&["user", "resume"], &[])?;
    expect(&["user", "link"], &["--all"])?;
    let audit = [
        "--since",
        "--until",
        "--user",
        "--entity",
        "--operation",
        "--outcome",
        "--count",
        "--json",
    ];
    expect(&["audit"], &audit)?;
    expect(&["status"], &["--token-file"])?;
    expect(&["backup"], &["--keep", "--list", "--verify"])?;
    let create = [
        "--server",
        "--token-file",
        "--topic",
        "--format",
        "--entity-type",
        "--aspect",
        "--domain",
        "--tag",
        "--actor",
    ];
    expect(&["webhook", "create"], &create)?;
    let update = ["--name", "--url", "--no-filter", "--new-secret"];
    expect(&["webhook", "update"], &[&create[..], &update].concat())?;
    for command in ["pause", "resume"] {
        expect(&["webhook", command], &["--server", "--token-file"])?;
    }
    expect(&["webhook", "list"], &["--server", "--token-file"])?;
    expect(
        &["webhook", "replay"],
        &["--server", "--token-file", "--id"],
    )?;
    expect(&["restore"], &["--at", "--replace"])?;
    expect(&["adopt"], &["--from", "--report"])?;
    expect_only(&["move"], &["--from", "--to"])?;
    let export = ["--domain", "--csv", "--discard-changes"];
    expect_only(&["export"], &[&SERVER[..], &export].concat())?;
    for command in ["plan", "apply"] {
        expect_only(
            &[command],
            &[&SERVER[..], &["--overwrite", "--json"]].concat(),
        )?;
    }
    expect_only(&["rollback"], &[&SERVER[..], &["--dry-run"]].concat())?;
    expect(&["completions"], &[])?;
    expect(&["man"], &[])?;
    expect(&["check"], &[])
}

#[test]
fn every_setting_has_a_row_in_the_operations_document() -> anyhow::Result<()> {
    let document = fs::read_to_string(repository_root().join("docs/OPERATIONS.md"))?;
    let missing: Vec<String> = variables(&help(&["serve"])?)
        .into_iter()
        .filter(|variable| !document.contains(&format!("| `{variable}` |")))
        .collect();
    ensure!(
        missing.is_empty(),
        "add a row to the table of settings in docs/OPERATIONS.md for {missing:?}"
    );
    Ok(())
}

fn help(arguments: &[&str]) -> anyhow::Result<String> {
    let directory = temporary_directory()?;
    let mut command = docent_command(directory.path())?;
    CommandOutput::run(command.args(arguments).arg("--help"))?.succeeded()
}

fn flags(help: &str) -> BTreeSet<String> {
    help.lines()
        .filter_map(|line| line.split_whitespace().find(|word| word.starts_with("--")))
        .map(|flag| flag.trim_end_matches(',').to_owned())
        .collect()
}

/// The variables in a help text, `[env: NAME=]`, or `[env: NAME]` where the value is hidden.
fn variables(help: &str) -> BTreeSet<String> {
    help.split("[env: ")
        .skip(1)
        .filter_map(|rest| rest.split([']', '=']).next())
        .map(ToOwned::to_owned)
        .collect()
}

fn expect(command: &[&str], own: &[&str]) -> anyhow::Result<()> {
    let mut expected = set(own);
    expected.extend(set(&COMMON));
    compare(&command.join(" "), &flags(&help(command)?), &expected)
}

/// Of a command without the common flags of a store.
fn expect_only(command: &[&str], own: &[&str]) -> anyhow::Result<()> {
    let mut expected = set(own);
    expected.extend(set(&["--help", "--version"]));
    compare(&command.join(" "), &flags(&help(command)?), &expected)
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(ToString::to_string).collect()
}

/// Fails with the names that are only in one of the two sets.
fn compare(
    what: &str,
    listed: &BTreeSet<String>,
    expected: &BTreeSet<String>,
) -> anyhow::Result<()> {
    ensure!(
        listed == expected,
        "{what}: the help lists {:?} in addition and lacks {:?}; update the lists of this test",
        listed.difference(expected).collect::<Vec<_>>(),
        expected.difference(listed).collect::<Vec<_>>()
    );
    Ok(())
}
