//! The operations of DataHub's web page.
//!
//! `tests/frontend/operations.json` has all of them, with a stored example and the expected reply
//! of each. `DOCENT_DATAHUB_CHECKOUT` names a checkout of DataHub's repository, whose documents are
//! then sent in place of generated ones, and must be those of the table.

use std::process::Command;
use std::{env, fs};

use anyhow::{Context as _, ensure};
use docent_e2e::{Options, Server, python, repository_root, temporary_directory};

#[test]
fn every_operation_of_datahubs_page_is_answered() -> anyhow::Result<()> {
    let directory = temporary_directory()?;
    let key = directory.path().join("key");
    fs::write(&key, "A".repeat(43) + "=")?;
    let options = Options::default().demo().argument("--secret-key-file");
    let server = Server::start(options.argument(key.display().to_string()))?;
    let mut command = Command::new(python()?);
    command
        .arg(repository_root().join("tests/frontend/operations.py"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .args(["--url", server.address()])
        .args(["--token", &server.token("datahub")?]);
    if let Some(checkout) = env::var_os("DOCENT_DATAHUB_CHECKOUT") {
        command.arg("--checkout").arg(checkout);
    }
    let output = command.output().context("cannot start Python")?;
    let printed = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{printed}{errors}");
    ensure!(
        printed.contains("325 operations, 0 failures, 0 open"),
        "the table is not complete: {printed}"
    );
    Ok(())
}
