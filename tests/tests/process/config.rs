//! `docent config`.

use std::fs;
use std::path::Path;

use anyhow::ensure;
use docent_e2e::{CommandOutput, docent_command, temporary_directory};

fn config(directory: &Path, arguments: &[&str]) -> anyhow::Result<CommandOutput> {
    CommandOutput::run(docent_command(directory)?.arg("config").args(arguments))
}

fn expect_rejected(directory: &Path, arguments: &[&str], says: &str) -> anyhow::Result<()> {
    let error = config(directory, arguments)?.failed()?;
    ensure!(error.contains(says), "{says}: {error}");
    Ok(())
}

#[test]
fn check_accepts_what_serve_accepts_and_leaves_nothing_behind() -> anyhow::Result<()> {
    let directory = temporary_directory()?;
    let file = directory.path().join("docent.toml");
    fs::write(&file, "listen = \"127.0.0.1:8099\"\nslow-ms = 200\n")?;
    let printed = config(directory.path(), &["check", "--config", "docent.toml"])?.succeeded()?;
    ensure!(printed == "the settings are valid\n", "{printed}");
    let files: Vec<_> = fs::read_dir(directory.path())?.collect();
    ensure!(files.len() == 1, "{files:?}");
    Ok(())
}

#[test]
fn check_rejects_what_would_stop_a_server_from_starting() -> anyhow::Result<()> {
    let directory = temporary_directory()?;
    let directory = directory.path();
    fs::write(directory.join("docent.toml"), "listne = \"127.0.0.1:1\"\n")?;
    fs::write(directory.join("empty"), "")?;
    expect_rejected(directory, &["check", "--config", "docent.toml"], "listne")?;
    expect_rejected(
        directory,
        &["check", "--config", "missing.toml"],
        "missing.toml",
    )?;
    expect_rejected(directory, &["check", "--log", "loud"], "'loud'")?;
    let certificate = ["check", "--tls-cert", "empty", "--tls-key", "empty"];
    expect_rejected(directory, &certificate, "empty")?;
    let password = ["check", "--admin-password-file", "none"];
    expect_rejected(directory, &password, "none")?;
    let no_url = ["check", "--public-url", "docent.example.com"];
    expect_rejected(directory, &no_url, "use a whole URL")?;
    // Nobody can write there.
    let backups = ["check", "--backup-to", "/proc"];
    expect_rejected(directory, &backups, "cannot write to /proc")?;
    fs::write(directory.join("types.toml"), "demo = true\nlisten = 8080\n")?;
    let types = ["check", "--config", "types.toml"];
    expect_rejected(
        directory,
        &types,
        "line 2, column 10: the value of listen has a wrong type",
    )?;
    let mut command = docent_command(directory)?;
    command.args(["config", "check"]);
    let error = CommandOutput::run(command.env("DOCENT_LISTNE", "x"))?.failed()?;
    ensure!(error.contains("DOCENT_LISTNE"), "{error}");
    Ok(())
}

#[test]
fn show_has_the_values_in_effect_but_no_secrets() -> anyhow::Result<()> {
    let directory = temporary_directory()?;
    fs::write(directory.path().join("docent.toml"), "slow-ms = 200\n")?;
    fs::write(directory.path().join("password"), "a long password\n")?;
    let store = "postgres://ada:hidden@localhost/catalog";
    let printed = config(
        directory.path(),
        &[
            "show",
            "--config=docent.toml",
            "--admin-password-file=password",
            "--store",
            store,
        ],
    )?
    .succeeded()?;
    let value = |name: &str| {
        let mut rows = printed.lines().filter_map(|line| line.split_once(' '));
        rows.find(|(key, _)| *key == name)
            .map(|(_, value)| value.trim().to_owned())
    };
    ensure!(value("slow-ms").as_deref() == Some("200"), "{printed}");
    ensure!(
        value("listen").as_deref() == Some("127.0.0.1:8080"),
        "{printed}"
    );
    ensure!(
        value("admin-password-file").as_deref() == Some("(set, not shown)"),
        "{printed}"
    );
    ensure!(
        value("max-token-ttl").as_deref() == Some("90d"),
        "{printed}"
    );
    ensure!(!printed.contains("hidden"), "{printed}");
    ensure!(!printed.contains("a long password"), "{printed}");
    Ok(())
}
