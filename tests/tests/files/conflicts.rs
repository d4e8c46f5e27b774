//! Changes in files and in the catalog at the same time.

use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, ensure};
use docent_e2e::{CommandOutput, Options, Server};
use serde_json::json;

use crate::{Files, REFUNDS, REFUNDS_FILE, describe, description, exported, stored};

#[test]
fn conflicts_are_shown_and_never_overwritten_unless_asked() -> anyhow::Result<()> {
    let server = Server::start(Options::default().demo())?;
    let files = exported(&server)?;
    let tags = stored(&server, REFUNDS, "globalTags", "/tags")?;
    files.edit(REFUNDS_FILE, "description: base\n", "description: file\n")?;
    files.edit(
        REFUNDS_FILE,
        "tags:\n  - Financial Reporting\n",
        "tags: []\n",
    )?;
    describe(&server, "page")?;
    for command in ["plan", "apply"] {
        let output = files.run(command, &[])?;
        ensure!(output.code == Some(1), "{output:?}");
        ensure!(output.stderr.contains("1 conflict: "), "{output:?}");
        for line in ["    catalog: page", "    file:    file"] {
            ensure!(
                output.stdout.lines().any(|it| it == line),
                "{line}: {output:?}"
            );
        }
        ensure!(description(&server)? == "page");
        ensure!(stored(&server, REFUNDS, "globalTags", "/tags")? == tags);
    }
    let other = "urn:li:tag:other";
    ensure!(files.run("apply", &["--overwrite", other])?.code == Some(1));
    files.apply(&["--overwrite", REFUNDS])?;
    ensure!(description(&server)? == "file");
    ensure!(stored(&server, REFUNDS, "globalTags", "/tags")? == json!([]));
    Ok(())
}

#[test]
fn values_that_only_changed_in_the_catalog_are_left_alone() -> anyhow::Result<()> {
    let server = Server::start(Options::default().demo())?;
    let files = exported(&server)?;
    describe(&server, "page")?;
    let plan = files.run("plan", &[])?;
    ensure!(plan.code == Some(0), "{plan:?}");
    ensure!(plan.stdout.contains("newer in the catalog"), "{plan:?}");
    // Exporting loses nothing, because the file has no changes.
    files.export()?;
    ensure!(files.read(REFUNDS_FILE)?.contains("description: page\n"));
    describe(&server, "again")?;
    files.apply(&["--overwrite", "all"])?;
    ensure!(description(&server)? == "page");
    Ok(())
}

#[test]
fn an_apply_needs_no_export_before_the_next_one() -> anyhow::Result<()> {
    let server = Server::start(Options::default().demo())?;
    let files = exported(&server)?;
    let lock = files.read("docent.lock")?;
    for (from, to) in [("base", "one"), ("one", "two"), ("two", "base")] {
        let from = format!("description: {from}\n");
        files.edit(REFUNDS_FILE, &from, &format!("description: {to}\n"))?;
        files.apply(&[])?;
        ensure!(description(&server)? == to);
    }
    ensure!(
        files.read("docent.lock")? == lock,
        "an apply changes no files"
    );
    // The base is now what was applied last.
    describe(&server, "page")?;
    ensure!(
        files
            .run("plan", &[])?
            .stdout
            .contains("newer in the catalog")
    );
    files.edit(REFUNDS_FILE, "description: base\n", "description: three\n")?;
    ensure!(files.run("plan", &[])?.code == Some(1));
    // Another checkout has the same project, another export has not.
    let other = Files::new(&server, "other")?;
    other.export()?;
    ensure!(other.run("plan", &[])?.stdout == "no changes\n");
    Ok(())
}

/// Forwards one request to the server. Before a list of writes, a user describes the dataset.
fn forward(server: &Server, mut client: TcpStream) -> anyhow::Result<()> {
    let mut request = Vec::new();
    let mut byte = [0];
    while !request.ends_with(b"\r\n\r\n") {
        client.read_exact(&mut byte)?;
        request.push(byte[0]);
    }
    let head = String::from_utf8(request)?;
    let mut lines = head.lines();
    let length = lines.find_map(|it| it.strip_prefix("content-length: "));
    let mut body = vec![0; length.context("no length")?.parse()?];
    client.read_exact(&mut body)?;
    if head.contains("action=ingestProposalBatch") {
        describe(server, "meanwhile")?;
    }
    let mut upstream = TcpStream::connect(server.address().trim_start_matches("http://"))?;
    let head = head.trim_end();
    write!(upstream, "{head}\r\nconnection: close\r\n\r\n")?;
    upstream.write_all(&body)?;
    io::copy(&mut upstream, &mut client)?;
    Ok(())
}

#[test]
fn a_change_during_an_apply_is_a_conflict_and_nothing_is_written() -> anyhow::Result<()> {
    let server = Server::start(Options::default().demo())?;
    let files = exported(&server)?;
    let tags = stored(&server, REFUNDS, "globalTags", "/tags")?;
    files.edit(REFUNDS_FILE, "description: base\n", "description: file\n")?;
    files.edit(
        REFUNDS_FILE,
        "tags:\n  - Financial Reporting\n",
        "tags: []\n",
    )?;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let is_done = AtomicBool::new(false);
    let output = std::thread::scope(|scope| {
        let proxy = scope.spawn(|| {
            loop {
                let (client, _) = listener.accept()?;
                if is_done.load(Ordering::Relaxed) {
                    return anyhow::Ok(());
                }
                forward(&server, client)?;
            }
        });
        let mut docent = server.docent(["apply", "catalog"])?;
        docent.args(["--server", &format!("http://{address}")]);
        let output = CommandOutput::run(docent.args(["--token-file", &files.token_file]));
        is_done.store(true, Ordering::Relaxed);
        TcpStream::connect(address)?;
        let forwarded = proxy.join();
        forwarded.map_err(|_| anyhow::anyhow!("the proxy panicked"))??;
        output
    })?;
    let error = output.failed()?;
    ensure!(
        error.contains("nothing was written: the catalog has changed"),
        "{error}"
    );
    ensure!(description(&server)? == "meanwhile");
    ensure!(stored(&server, REFUNDS, "globalTags", "/tags")? == tags);
    Ok(())
}
