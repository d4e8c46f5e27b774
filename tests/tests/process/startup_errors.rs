//! Startup errors of `docent serve` and their messages.

use std::fs;
use std::net::TcpListener;

use anyhow::{Context as _, ensure};
use docent_e2e::{CommandOutput, Options, Server, docent_command, temporary_directory};

use super::serve;

#[test]
fn a_port_in_use_is_an_error_with_its_address() -> anyhow::Result<()> {
    let directory = temporary_directory()?;
    let taken = TcpListener::bind("127.0.0.1:0")?;
    let address = taken.local_addr()?.to_string();
    let error = serve(directory.path(), &["--listen", &address])?.failed()?;
    ensure!(error.contains(&address), "{error}");
    ensure!(error.contains("in use"), "{error}");
    Ok(())
}

#[test]
fn a_store_that_cannot_be_opened_is_an_error_with_its_path() -> anyhow::Result<()> {
    let directory = temporary_directory()?;
    fs::create_dir(directory.path().join("folder"))?;
    fs::write(
        directory.path().join("text"),
        "not a database\n".repeat(100),
    )?;
    for path in ["missing/docent.db", "text/docent.db", "folder", "text"] {
        let store = format!("sqlite:{path}");
        let error = serve(
            directory.path(),
            &["--listen", "127.0.0.1:0", "--store", &store],
        )?
        .failed()
        .with_context(|| store.clone())?;
        ensure!(error.contains(path), "{store}: {error}");
    }
    Ok(())
}

#[test]
fn an_unreachable_database_is_an_error_without_its_password() -> anyhow::Result<()> {
    let directory = temporary_directory()?;
    let url = "postgres://ada:hunter2@127.0.0.1:1/catalog";
    let arguments = ["--listen", "127.0.0.1:0", "--store", url, "--log", "trace"];
    let finished = serve(directory.path(), &arguments)?;
    for printed in [&finished.stdout, &finished.stderr] {
        ensure!(!printed.contains("hunter2"), "{finished:?}");
    }
    let error = finished.failed()?;
    ensure!(
        error.contains("ada@127.0.0.1:1/catalog") && error.contains("unavailable"),
        "{error}"
    );
    Ok(())
}

#[test]
fn a_search_index_that_cannot_be_created_is_an_error_with_its_path() -> anyhow::Result<()> {
    let directory = temporary_directory()?;
    fs::write(directory.path().join("file"), "")?;
    for path in ["file", "file/below"] {
        let arguments = ["--listen", "127.0.0.1:0", "--search-index", path];
        let error = serve(directory.path(), &arguments)?.failed()?;
        let says = format!("cannot use {path} as the search index directory: ");
        ensure!(error.contains(&says), "{error}");
        ensure!(error.contains("--search-index"), "{error}");
    }
    Ok(())
}

#[test]
fn an_invalid_store_url_is_an_error_with_an_example() -> anyhow::Result<()> {
    let directory = temporary_directory()?;
    for url in [
        "mysql://localhost/docent",
        "docent.db",
        "sqlite:",
        "sqlite::memory:",
    ] {
        let error = serve(directory.path(), &["--store", url])?.failed()?;
        ensure!(error.contains("sqlite:docent.db"), "{error}");
    }
    ensure!(
        fs::read_dir(directory.path())?.next().is_none(),
        "nothing is created"
    );
    Ok(())
}

#[test]
fn an_invalid_settings_file_is_an_error_with_the_cause() -> anyhow::Result<()> {
    let directory = temporary_directory()?;
    for (text, says) in [
        ("lissten = '127.0.0.1:0'\n", "lissten"),
        ("auth = 'maybe'\n", "maybe"),
        ("auth = \n", "docent.toml"),
    ] {
        fs::write(directory.path().join("docent.toml"), text)?;
        let finished = serve(directory.path(), &["--config", "docent.toml"])?;
        ensure!(finished.stderr.contains(says), "{text}: {finished:?}");
        ensure!(finished.stderr.contains("docent.toml"), "{finished:?}");
        ensure!(finished.code.is_some_and(|code| code != 0), "{finished:?}");
    }
    let error = serve(directory.path(), &["--config", "none.toml"])?.failed()?;
    ensure!(error.contains("none.toml"), "{error}");
    Ok(())
}

#[test]
fn an_unknown_variable_is_reported_without_its_value() -> anyhow::Result<()> {
    let options = Options::default().variable("DOCENT_LISSTEN", "SECRET");
    let server = Server::start(options)?;
    let printed = server.printed();
    let says = "DOCENT_LISSTEN is not a setting and is ignored";
    ensure!(printed.contains(says), "{printed}");
    ensure!(!printed.contains("SECRET"), "{printed}");
    ensure!(
        printed.matches("is not a setting").count() == 1,
        "{printed}"
    );
    Ok(())
}

#[test]
fn a_password_in_an_invalid_setting_is_in_no_message() -> anyhow::Result<()> {
    let directory = temporary_directory()?;
    let secrets = ["SECRET", "TAIL"];
    let run = |arguments: &[&str]| -> anyhow::Result<String> {
        let finished = CommandOutput::run(docent_command(directory.path())?.args(arguments))?;
        ensure!(finished.code.is_some_and(|code| code != 0), "{finished:?}");
        let printed = format!("{}{}", finished.stdout, finished.stderr);
        for secret in secrets {
            ensure!(!printed.contains(secret), "{arguments:?}: {printed}");
        }
        Ok(printed)
    };
    for url in [
        "pg://127.0.0.1/docent?user=a&password=SECRET",
        "postgresql:127.0.0.1/docent?password=SECRET",
        "host=127.0.0.1 password=SECRET",
        "postgres:docent:SECRET",
        "mysql://docent:SECRET@127.0.0.1/docent",
        "sqlite:postgres://docent:SECRET@127.0.0.1/docent",
    ] {
        for flags in [
            vec!["check", "--store"],
            vec!["move", "--to=sqlite:x.db", "--from"],
        ] {
            let printed = run(&[&flags[..], &[url]].concat())?;
            ensure!(
                printed.contains("use for example sqlite:docent.db"),
                "{printed}"
            );
        }
        run(&["check", url])?;
        run(&[url])?;
        run(&["serve", "--auth", url])?;
        run(&["serve", &format!("--log-format={url}")])?;
    }
    let broken = "docent:SEC@ret/TAIL@127.0.0.1:1/docent";
    let postgres = format!("postgres://{broken}");
    let mysql = format!("mysql://{broken}");
    for arguments in [
        vec!["check", "--store", &postgres],
        vec!["move", "--from", "sqlite:x.db", "--to", &postgres],
        vec!["adopt", "--from", &postgres],
        vec!["adopt", "--from", &mysql],
    ] {
        let printed = run(&arguments)?;
        ensure!(printed.contains("encode @ as %40"), "{printed}");
    }
    for text in [
        "stor = \"postgres://docent:SECRET@127.0.0.1/docent\"",
        "store = \"postgres://docent:SECRET@127.0.0.1/docent",
        "store = postgres://docent:SECRET@127.0.0.1/docent",
        "store = \"sqlite:a\"\nstore = \"postgres://docent:SECRET@127.0.0.1/docent\"",
        "store = \"postgres://docent:\\qSECRET@127.0.0.1/docent\"",
        "store = [\"postgres://docent:SECRET@127.0.0.1/docent\"]",
        "store = { url = \"postgres://docent:SECRET@127.0.0.1/docent\" }",
        "demo = \"postgres://docent:SECRET@127.0.0.1/docent\"",
        "auth = \"postgres://docent:SECRET@127.0.0.1/docent\"",
        "\"postgres://docent:SECRET@127.0.0.1/docent\" = 1",
    ] {
        fs::write(directory.path().join("docent.toml"), text)?;
        let printed = run(&["check", "--config", "docent.toml"])?;
        ensure!(
            printed.contains("docent.toml is invalid at line "),
            "{printed}"
        );
    }
    Ok(())
}

#[test]
fn no_control_characters_reach_the_terminal() -> anyhow::Result<()> {
    let directory = temporary_directory()?;
    let name = "\u{1b}]0;owned\u{7}";
    let mut command = docent_command(directory.path())?;
    command.args(["user", "suspend", name, "--store", "sqlite:docent.db"]);
    let error = CommandOutput::run(&mut command)?.failed()?;
    ensure!(error.contains("\\u{1b}]0;owned\\u{7}"), "{error:?}");
    ensure!(!error.contains(['\u{1b}', '\u{7}']), "{error:?}");
    let store = format!("sqlite:{name}/docent.db");
    let error = serve(directory.path(), &["--store", &store])?.failed()?;
    ensure!(!error.contains(['\u{1b}', '\u{7}']), "{error:?}");
    Ok(())
}
