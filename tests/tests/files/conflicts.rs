//! Changes in files and in the catalog at the same time.

use std::collections::BTreeMap;
use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, ensure};
use docent_e2e::{CommandOutput, Options, Server};
use serde_json::json;

use crate::{CHANGES, Files, REFUNDS, REFUNDS_FILE, describe, description, exported, stored};

const COLUMNS: &str = "editableSchemaMetadata";

/// Describes a column as a user does on the page.
fn describe_column(server: &Server, column: &str, text: &str) -> anyhow::Result<()> {
    let mutation = "mutation ($urn: String!, $column: String!, $text: String!) {
        updateDescription(input: {resourceUrn: $urn, subResource: $column,
            subResourceType: DATASET_FIELD, description: $text}) }";
    let variables = json!({"urn": REFUNDS, "column": column, "text": text});
    let reply = server.graphql(mutation, variables)?;
    ensure!(reply["errors"].is_null(), "{reply}");
    Ok(())
}

/// The descriptions of columns, by their names.
fn column_descriptions(server: &Server) -> anyhow::Result<BTreeMap<String, String>> {
    let columns = stored(server, REFUNDS, COLUMNS, "/editableSchemaFieldInfo")?;
    let columns = columns.as_array().into_iter().flatten();
    let texts = columns.filter_map(|it| {
        let text = it["description"].as_str()?;
        Some((it["fieldPath"].as_str()?.to_owned(), text.to_owned()))
    });
    Ok(texts.collect())
}

/// An apply writes the whole aspect, also the columns that it leaves alone.
#[test]
fn what_an_apply_leaves_alone_is_no_value_of_the_files() -> anyhow::Result<()> {
    let server = Server::start(Options::default().demo())?;
    let schema = stored(&server, REFUNDS, "schemaMetadata", "/fields")?;
    let names = schema.as_array().into_iter().flatten();
    let names: Vec<&str> = names.filter_map(|it| it["fieldPath"].as_str()).collect();
    let [x, y] = [names[0], names[1]];
    describe_column(&server, x, "x1")?;
    describe_column(&server, y, "y1")?;
    let files = exported(&server)?;
    describe_column(&server, x, "x2")?;
    for (from, to) in [("y1", "y2"), ("y2", "y3")] {
        let from = format!("description: {from}\n");
        files.edit(REFUNDS_FILE, &from, &format!("description: {to}\n"))?;
        let plan = files.run("plan", &[])?;
        ensure!(plan.code == CHANGES, "{plan:?}");
        ensure!(
            plan.stdout.contains("1 change of 1 entity, 1 newer"),
            "{plan:?}"
        );
        files.apply(&[])?;
        let stored = column_descriptions(&server)?;
        ensure!(stored[x] == "x2" && stored[y] == to, "{stored:?}");
        let plan = files.run("plan", &[])?;
        ensure!(plan.stdout.contains("no changes, 1 newer"), "{plan:?}");
    }
    files.edit(REFUNDS_FILE, "description: x1\n", "description: x3\n")?;
    ensure!(files.run("apply", &[])?.stderr.contains("1 conflict: "));
    files.edit(REFUNDS_FILE, "description: x3\n", "description: x1\n")?;

    // A connector that writes the same value does not hide that the files had it.
    let value = stored(&server, REFUNDS, COLUMNS, "")?;
    for run in ["connector-1", "connector-2"] {
        let metadata = json!({"runId": run, "lastObserved": 1});
        let entity =
            json!([{"urn": REFUNDS, COLUMNS: {"value": value, "systemMetadata": metadata}}]);
        let reply = server.post("/openapi/v3/entity/dataset?async=false", &entity)?;
        ensure!(reply.status == 200, "{reply:?}");
    }
    describe_column(&server, y, "y1")?;
    let plan = files.run("plan", &[])?;
    ensure!(plan.stdout.contains("no changes, 2 newer"), "{plan:?}");
    files.export()?;
    let text = files.read(REFUNDS_FILE)?;
    ensure!(
        text.contains("description: x2\n") && text.contains("description: y1\n"),
        "{text}"
    );
    ensure!(files.run("plan", &[])?.stdout == "no changes\n");
    Ok(())
}

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
