//! Paths of the programs that tests start.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};

/// Returns the root of the repository.
pub fn repository_root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package).to_path_buf()
}

/// Returns the build directory of the current profile, such as `target/debug`.
///
/// A test runs from its `deps` directory. Cargo sets the path of a binary only for tests in the
/// same package.
fn profile_directory() -> anyhow::Result<PathBuf> {
    let test = env::current_exe().context("cannot determine the path of the running test")?;
    test.ancestors()
        .nth(2)
        .map(Path::to_path_buf)
        .with_context(|| format!("{} is not in a build directory", test.display()))
}

/// Returns the `docent` binary that `DOCENT_TEST_BINARY` names, by default the one built with the
/// same profile as the tests.
pub fn docent_binary() -> anyhow::Result<PathBuf> {
    let binary = match env::var_os("DOCENT_TEST_BINARY") {
        Some(path) => PathBuf::from(path),
        None => profile_directory()?.join("docent"),
    };
    if !binary.is_file() {
        bail!(
            "{} does not exist: run the tests through `make test`, or run `cargo build -p docent` first",
            binary.display()
        );
    }
    Ok(binary)
}

/// Prepares Prometheus' tool that checks metrics and rules.
pub fn promtool() -> anyhow::Result<Command> {
    let installed = profile_directory()?
        .with_file_name("tools")
        .join("bin/promtool");
    let program = if installed.is_file() {
        installed
    } else {
        PathBuf::from("promtool")
    };
    let mut command = Command::new(program);
    let found = Command::new(command.get_program())
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if found.is_err() {
        bail!(
            "promtool is missing: run the tests through `make test`, or run `scripts/set-up-unpacked promtool` first"
        );
    }
    command.stdin(Stdio::null());
    Ok(command)
}

/// Returns the Python interpreter that has the packages of `tests/requirements.txt`.
pub fn python() -> anyhow::Result<PathBuf> {
    let interpreter = match env::var_os("DOCENT_TEST_PYTHON") {
        Some(path) => PathBuf::from(path),
        None => profile_directory()?
            .with_file_name("venv")
            .join("bin/python"),
    };
    if !interpreter.is_file() {
        bail!(
            "{} does not exist: run the tests through `make test`, or run `scripts/set-up-python tests` first",
            interpreter.display()
        );
    }
    Ok(interpreter)
}
