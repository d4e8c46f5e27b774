//! What `docent serve` refuses, and with which words.

use std::fs;
use std::net::TcpListener;

use anyhow::{Context as _, ensure};
use docent_e2e::{Finished, docent_command, temporary_directory};

use super::serve;

#[test]
fn a_port_that_is_in_use_is_refused_with_a_sentence_that_names_it() -> anyhow::Result<()> {
    let directory = temporary_directory()?;
    let taken = TcpListener::bind("127.0.0.1:0")?;
    let address = taken.local_addr()?.to_string();
    let refusal = serve(directory.path(), &["--listen", &address])?.refused()?;
    ensure!(refusal.contains(&address), "{refusal}");
    ensure!(refusal.contains("in use"), "{refusal}");
    Ok(())
}

#[test]
fn a_store_that_cannot_be_opened_is_refused_with_a_sentence_that_names_it() -> anyhow::Result<()> {
    let directory = temporary_directory()?;
    fs::create_dir(directory.path().join("folder"))?;
    fs::write(
        directory.path().join("text"),
        "not a database\n".repeat(100),
    )?;
    for path in ["missing/docent.db", "text/docent.db", "folder", "text"] {
        let store = format!("sqlite:{path}");
        let refusal = serve(
            directory.path(),
            &["--listen", "127.0.0.1:0", "--store", &store],
        )?
        .refused()
        .with_context(|| store.clone())?;
        ensure!(refusal.contains(path), "{store}: {refusal}");
    }
    Ok(())
}

#[test]
fn a_database_that_does_not_answer_is_named_without_its_password() -> anyhow::Result<()> {
    let directory = temporary_directory()?;
    let url = "postgres://ada:hunter2@127.0.0.1:1/catalog";
    let arguments = ["--listen", "127.0.0.1:0", "--store", url, "--log", "trace"];
    let refusal = serve(directory.path(), &arguments)?.refused()?;
    ensure!(
        refusal.contains("ada@127.0.0.1:1/catalog") && refusal.contains("unavailable"),
        "{refusal}"
    );
    ensure!(!refusal.contains("hunter2"), "{refusal}");
    Ok(())
}

#[test]
fn a_search_index_that_cannot_be_kept_is_refused_with_a_sentence_that_names_it()
-> anyhow::Result<()> {
    let directory = temporary_directory()?;
    fs::write(directory.path().join("file"), "")?;
    for path in ["file", "file/below"] {
        let arguments = ["--listen", "127.0.0.1:0", "--search-index", path];
        let refusal = serve(directory.path(), &arguments)?.refused()?;
        let says = format!("cannot use {path} as the search index directory: ");
        ensure!(refusal.contains(&says), "{refusal}");
        ensure!(refusal.contains("--search-index"), "{refusal}");
    }
    Ok(())
}

#[test]
fn a_store_url_of_another_kind_is_refused_with_a_sentence() -> anyhow::Result<()> {
    let directory = temporary_directory()?;
    for url in [
        "mysql://localhost/docent",
        "docent.db",
        "sqlite:",
        "sqlite::memory:",
    ] {
        let refusal = serve(directory.path(), &["--store", url])?.refused()?;
        ensure!(refusal.contains("sqlite:docent.db"), "{refusal}");
    }
    ensure!(
        fs::read_dir(directory.path())?.next().is_none(),
        "nothing is made"
    );
    Ok(())
}

#[test]
fn a_settings_file_that_is_not_right_is_refused_and_the_mistake_named() -> anyhow::Result<()> {
    let directory = temporary_directory()?;
    for (text, says) in [
        ("lissten = '127.0.0.1:0'\n", "lissten"),
        ("auth = 'maybe'\n", "maybe"),
        ("auth = \n", "docent.toml"),
    ] {
        fs::write(directory.path().join("docent.toml"), text)?;
        let finished = serve(directory.path(), &["--config", "docent.toml"])?;
        ensure!(finished.complaint.contains(says), "{text}: {finished:?}");
        ensure!(finished.complaint.contains("docent.toml"), "{finished:?}");
        ensure!(finished.code.is_some_and(|code| code != 0), "{finished:?}");
    }
    let refusal = serve(directory.path(), &["--config", "none.toml"])?.refused()?;
    ensure!(refusal.contains("none.toml"), "{refusal}");
    Ok(())
}

/// Whatever is wrong with it.
#[test]
fn a_password_on_the_command_line_or_in_a_file_is_in_no_message() -> anyhow::Result<()> {
    let directory = temporary_directory()?;
    let secrets = ["SECRET", "TAIL"];
    let run = |arguments: &[&str]| -> anyhow::Result<String> {
        let finished = Finished::run(docent_command(directory.path())?.args(arguments))?;
        ensure!(finished.code.is_some_and(|code| code != 0), "{finished:?}");
        let told = format!("{}{}", finished.output, finished.complaint);
        for secret in secrets {
            ensure!(!told.contains(secret), "{arguments:?}: {told}");
        }
        Ok(told)
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
            let told = run(&[&flags[..], &[url]].concat())?;
            ensure!(told.contains("write it like sqlite:docent.db"), "{told}");
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
        let told = run(&arguments)?;
        ensure!(told.contains("write @ as %40"), "{told}");
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
        let told = run(&["check", "--config", "docent.toml"])?;
        ensure!(told.contains("docent.toml is not right at line "), "{told}");
    }
    Ok(())
}
