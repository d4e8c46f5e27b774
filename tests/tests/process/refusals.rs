//! What `docent serve` refuses, and with which words.

use std::fs;
use std::net::TcpListener;

use anyhow::{Context as _, ensure};
use docent_e2e::temporary_directory;

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
        let says = format!("the search index cannot be kept in {path}: ");
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
        ensure!(
            refusal.contains(url) && refusal.contains("sqlite:docent.db"),
            "{refusal}"
        );
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
