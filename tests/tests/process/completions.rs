//! Completions and manual pages have what the help has.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use anyhow::{Context as _, ensure};
use docent_e2e::{CommandOutput, docent_command, temporary_directory};

#[test]
fn bash_completes_commands_flags_and_values() -> anyhow::Result<()> {
    let directory = temporary_directory()?;
    let mut command = docent_command(directory.path())?;
    let script = CommandOutput::run(command.args(["completions", "bash"]))?.succeeded()?;
    fs::write(directory.path().join("docent.bash"), script)?;
    for (words, expected) in [
        (vec!["docent", "sta"], "status"),
        (vec!["docent", "token", "cre"], "create"),
        (vec!["docent", "serve", "--metrics"], "--metrics-listen"),
        (vec!["docent", "serve", "--log-format", "js"], "json"),
    ] {
        let completed = complete_in_bash(directory.path(), &words)?;
        ensure!(completed == expected, "{words:?} became {completed:?}");
    }
    Ok(())
}

/// Completes the last word like bash does when somebody presses Tab.
fn complete_in_bash(directory: &std::path::Path, words: &[&str]) -> anyhow::Result<String> {
    let last = words.last().context("no word to complete")?;
    let before = words.iter().rev().nth(1).context("no command")?;
    let program = format!(
        "source docent.bash; COMP_WORDS=({}); COMP_CWORD={}; _docent docent '{last}' '{before}'; \
         printf '%s' \"${{COMPREPLY[*]}}\"",
        words.join(" "),
        words.len() - 1,
    );
    CommandOutput::run(
        Command::new("bash")
            .args(["--norc", "-c", &program])
            .current_dir(directory),
    )?
    .succeeded()
}

#[test]
fn every_command_has_a_manual_page_with_its_flags() -> anyhow::Result<()> {
    let directory = temporary_directory()?;
    let mut command = docent_command(directory.path())?;
    CommandOutput::run(command.args(["man", "manual"]))?.succeeded()?;
    let mut pages = BTreeSet::new();
    for entry in fs::read_dir(directory.path().join("manual"))? {
        pages.insert(entry?.file_name().to_string_lossy().into_owned());
    }
    for command in [
        vec![],
        vec!["serve"],
        vec!["token"],
        vec!["token", "create"],
        vec!["man"],
    ] {
        let name = [vec!["docent"], command.clone()].concat().join("-");
        ensure!(
            pages.contains(&format!("{name}.1")),
            "{name} is not in {pages:?}"
        );
        let page = fs::read_to_string(directory.path().join(format!("manual/{name}.1")))?;
        let mut help = docent_command(directory.path())?;
        let help = CommandOutput::run(help.args(&command).arg("--help"))?.succeeded()?;
        let flags = help
            .split_whitespace()
            .filter(|word| word.starts_with("--"));
        for flag in flags.filter(|flag| flag[2..].starts_with(char::is_alphabetic)) {
            let flag = flag.trim_end_matches(|it: char| !it.is_alphanumeric());
            // roff escapes hyphens.
            let escaped = flag.replace('-', "\\-");
            ensure!(page.contains(&escaped), "{name}.1 lacks {flag}");
        }
    }
    Ok(())
}
