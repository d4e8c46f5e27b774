//! Runs every command in the documents, in order, against the demo, and compares the output.
//!
//! CONTRIBUTING.md has the rules under "Commands in documents". New documents in `docs/` are
//! included automatically.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use docent_e2e::markdown::{Document, Step};
use docent_e2e::{Options, Server, Shell, docent_binary, expectation, repository_root};

/// The store of `make run`, so that a command in a document can name it.
const DEMO_STORE: &str = "sqlite:target/demo/docent.db";

/// The demo's address in the documents.
const DOCUMENTED_ADDRESS: &str = "localhost:8080";

/// The programs allowed in blocks marked `norun`: they act on the reader's machine, not on the
/// server.
const NOT_RUN: [&str; 13] = [
    "apt",
    "apt-get",
    "cargo",
    "docker",
    "git",
    "helm",
    "kubectl",
    "make",
    "openssl",
    "sha256sum",
    "skopeo",
    "sudo",
    "tar",
];

#[test]
fn every_command_in_the_documents_prints_the_output_shown() -> anyhow::Result<()> {
    let mut failures = String::new();
    // The tests of installed binaries run some of the documents.
    let only = std::env::var("DOCENT_TEST_DOCUMENTS").ok();
    for path in documents()? {
        let name = path
            .strip_prefix(repository_root())
            .unwrap_or(&path)
            .display()
            .to_string();
        if let Some(only) = &only
            && !only.split(' ').any(|document| document == name)
        {
            continue;
        }
        let text = fs::read_to_string(&path).with_context(|| name.clone())?;
        let steps = runnable_steps(&Document::parse(&text)).with_context(|| name.clone())?;
        ensure!(
            name != "README.md" || !steps.is_empty(),
            "README.md shows no command to run"
        );
        if !steps.is_empty() {
            failures.push_str(&run(&name, &steps).with_context(|| name.clone())?);
        }
    }
    ensure!(
        failures.is_empty(),
        "commands in the documents do not print the output shown\n{failures}"
    );
    Ok(())
}

/// Returns README.md, CONTRIBUTING.md and everything in docs/, in a fixed order.
fn documents() -> anyhow::Result<Vec<PathBuf>> {
    let root = repository_root();
    let mut paths = Vec::new();
    for entry in fs::read_dir(root.join("docs"))? {
        let path = entry?.path();
        if path.extension() == Some(OsStr::new("md")) {
            paths.push(path);
        }
    }
    paths.sort();
    paths.insert(0, root.join("CONTRIBUTING.md"));
    paths.insert(0, root.join("README.md"));
    Ok(paths)
}

/// Returns the commands to run, and rejects blocks that would show commands without running them.
fn runnable_steps(document: &Document) -> anyhow::Result<Vec<Step>> {
    let mut steps: Vec<Step> = Vec::new();
    let mut awaits_output = false;
    for block in &document.blocks {
        let follows_command = std::mem::take(&mut awaits_output);
        match block.info.as_str() {
            "console" => steps.extend(block.steps()?),
            // The whole block is one command, ready to be copied; its output is in the next block.
            "sh" => {
                steps.push(Step {
                    line: block.line + 1,
                    command: block.lines.join("\n"),
                    expected: Vec::new(),
                });
                awaits_output = true;
            }
            info if info.ends_with(" output") => match steps.last_mut() {
                Some(step) if follows_command => step.expected.clone_from(&block.lines),
                _ => bail!(
                    "line {}: an output block must follow the ```sh block that prints it",
                    block.line
                ),
            },
            "console norun" => {
                for step in block.steps()? {
                    let program = step.command.split_whitespace().next().unwrap_or_default();
                    ensure!(
                        NOT_RUN.contains(&program),
                        "line {}: a block marked norun may contain only {NOT_RUN:?}, not {program:?}",
                        step.line
                    );
                }
            }
            "bash" | "shell" | "shell-session" => bail!(
                "line {}: write commands in a ```sh or ```console block, so that they are tested",
                block.line
            ),
            _ => {}
        }
    }
    Ok(steps)
}

/// Runs the commands of one document against its own server. Returns a description of all failures.
fn run(name: &str, steps: &[Step]) -> anyhow::Result<String> {
    let server = Server::start(Options::default().demo().store(DEMO_STORE))?;
    let host = server.address().trim_start_matches("http://").to_owned();
    let token = server.token("datahub")?;
    let search_path = programs_in(server.directory())?;
    let mut shell = Shell::start(
        server.directory(),
        [
            ("TOKEN", OsStr::new(&token)),
            ("PATH", OsStr::new(&search_path)),
        ],
    )?;
    let mut failures = String::new();
    for step in steps {
        let command = step.command.replace(DOCUMENTED_ADDRESS, &host);
        let outcome = shell
            .run(&command)
            .with_context(|| format!("line {}: {}", step.line, step.command))?;
        let expected = step.expected.join("\n");
        let printed = outcome.output.replace(&host, DOCUMENTED_ADDRESS);
        if let Some(difference) = expectation::difference(&expected, &printed) {
            write!(
                failures,
                "\n{name}:{}: {}\n{difference}",
                step.line, step.command
            )?;
        } else if outcome.status != 0 && expected.is_empty() {
            // A failure that the document shows has a message; a silent one is an error.
            write!(
                failures,
                "\n{name}:{}: {}\nended with status {}\n",
                step.line, step.command, outcome.status
            )?;
        }
    }
    if !failures.is_empty() {
        write!(
            failures,
            "\nthe server of {name} printed:\n{}",
            server.printed()
        )?;
    }
    Ok(failures)
}

/// Links the binary to its path after `make run` and into a directory of the returned `PATH`.
fn programs_in(directory: &Path) -> anyhow::Result<String> {
    let binary = docent_binary()?;
    for subdirectory in ["target/quick", "bin"] {
        fs::create_dir_all(directory.join(subdirectory))?;
        symlink(&binary, directory.join(subdirectory).join("docent"))?;
    }
    let inherited = std::env::var("PATH").unwrap_or_default();
    Ok(format!("{}:{inherited}", directory.join("bin").display()))
}
