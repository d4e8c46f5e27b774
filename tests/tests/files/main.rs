//! `docent export`, `plan`, `apply` and `rollback`: the catalog as files.

mod added;
mod conflicts;
mod renames_and_deletions;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use docent_e2e::{CommandOutput, Options, Server, files_below};
use serde_json::{Value, json};

const REFUNDS: &str = "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.billing.refunds,PROD)";
const REFUNDS_FILE: &str = "datasets/postgres/shop.billing.refunds.yaml";
/// The status of a plan with changes.
const CHANGES: Option<i32> = Some(2);

/// A directory of files for a server.
struct Files<'s> {
    server: &'s Server,
    root: PathBuf,
    token_file: String,
}

impl<'s> Files<'s> {
    fn new(server: &'s Server, name: &str) -> anyhow::Result<Self> {
        let token_file = server.directory().join("token");
        fs::write(&token_file, server.token("datahub")?)?;
        Ok(Self {
            server,
            root: server.directory().join(name),
            token_file: token_file.display().to_string(),
        })
    }

    fn run(&self, command: &str, arguments: &[&str]) -> anyhow::Result<CommandOutput> {
        let root = self.root.display().to_string();
        self.run_with(command, &root, arguments)
    }

    fn run_with(
        &self,
        command: &str,
        subject: &str,
        arguments: &[&str],
    ) -> anyhow::Result<CommandOutput> {
        let mut docent = self.server.docent([command, subject])?;
        docent.args(["--server", self.server.address()]);
        docent.args(["--token-file", &self.token_file]);
        CommandOutput::run(docent.args(arguments))
    }

    fn export(&self) -> anyhow::Result<String> {
        self.run("export", &[])?.succeeded()
    }

    fn read(&self, path: &str) -> anyhow::Result<String> {
        fs::read_to_string(self.root.join(path)).with_context(|| path.to_owned())
    }

    fn write(&self, path: &str, text: &str) -> anyhow::Result<()> {
        let path = self.root.join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        Ok(fs::write(path, text)?)
    }

    /// Replaces a part of a file, which must have it once.
    fn edit(&self, path: &str, from: &str, to: &str) -> anyhow::Result<()> {
        let text = self.read(path)?;
        ensure!(text.matches(from).count() == 1, "{from:?} in\n{text}");
        self.write(path, &text.replace(from, to))
    }

    /// All files with their texts.
    fn all(&self) -> anyhow::Result<BTreeMap<PathBuf, String>> {
        let read = |(path, bytes): (PathBuf, Vec<u8>)| {
            let path = path.strip_prefix(&self.root).unwrap_or(&path).to_owned();
            Ok((path, String::from_utf8(bytes)?))
        };
        files_below(&self.root)?.into_iter().map(read).collect()
    }

    /// The run of an apply that succeeds.
    fn apply(&self, arguments: &[&str]) -> anyhow::Result<String> {
        let printed = self.run("apply", arguments)?.succeeded()?;
        let run = printed
            .lines()
            .find_map(|it| it.strip_prefix("applied in run "));
        Ok(run.with_context(|| printed.clone())?.to_owned())
    }
}

/// A value of an aspect, without stamps.
fn stored(server: &Server, urn: &str, aspect: &str, pointer: &str) -> anyhow::Result<Value> {
    let reply = server
        .get(&format!("/aspects/{urn}?aspect={aspect}"))?
        .json()?;
    let record = reply["aspect"]
        .as_object()
        .and_then(|it| it.values().next());
    let value = record.and_then(|record| record.pointer(pointer));
    Ok(value.cloned().unwrap_or_default())
}

fn description(server: &Server) -> anyhow::Result<Value> {
    stored(server, REFUNDS, "editableDatasetProperties", "/description")
}

/// Describes the dataset as a user does on the page.
fn describe(server: &Server, text: &str) -> anyhow::Result<()> {
    let mutation = "mutation ($urn: String!, $text: String!) {
        updateDescription(input: {resourceUrn: $urn, description: $text}) }";
    let reply = server.graphql(mutation, json!({"urn": REFUNDS, "text": text}))?;
    ensure!(reply["errors"].is_null(), "{reply}");
    Ok(())
}

/// A server with a description of the refunds, and an export of it.
fn exported(server: &Server) -> anyhow::Result<Files<'_>> {
    describe(server, "base")?;
    let files = Files::new(server, "catalog")?;
    files.export()?;
    Ok(files)
}

#[test]
fn an_export_is_stable_and_a_plan_of_it_is_empty() -> anyhow::Result<()> {
    let server = Server::start(Options::default().demo())?;
    let files = exported(&server)?;
    let plan = files.run("plan", &[])?;
    ensure!(plan.code == Some(0) && plan.stderr.is_empty(), "{plan:?}");
    ensure!(plan.stdout == "no changes\n", "{plan:?}");
    let first = files.all()?;
    let text = files.read(REFUNDS_FILE)?;
    ensure!(
        text.contains(&format!("\nurn: {REFUNDS}\ndescription: base\n")),
        "{text}"
    );
    ensure!(text.contains("\n  - name: "), "{text}");
    ensure!(files.read("tags.yaml")?.contains("- urn: urn:li:tag:"));
    for name in [
        "docent.yaml",
        "docent.lock",
        "domains.yaml",
        "glossary_terms.yaml",
    ] {
        ensure!(first.contains_key(Path::new(name)), "{name}");
    }
    files.write("README.md", "ours")?;
    ensure!(files.export()?.contains("changed files: 0\n"));
    let mut second = files.all()?;
    ensure!(second.remove(Path::new("README.md")).as_deref() == Some("ours"));
    ensure!(first == second);
    Ok(())
}

#[test]
fn an_edit_is_planned_applied_and_rolled_back() -> anyhow::Result<()> {
    let server = Server::start(Options::default().demo())?;
    let files = exported(&server)?;
    files.edit(
        REFUNDS_FILE,
        "description: base\n",
        "description: |\n  Two\n  lines\n",
    )?;
    let tags = files.read("tags.yaml")?;
    files.write(
        "tags.yaml",
        &format!("{tags}- urn: urn:li:tag:from_files\n  name: From files\n  color: '#aabbcc'\n"),
    )?;
    let domains = files.read("domains.yaml")?;
    files.write(
        "domains.yaml",
        // The parent comes after the child.
        &format!("{domains}- urn: urn:li:domain:child\n  name: Child\n  parent: Parent\n- urn: urn:li:domain:parent\n  name: Parent\n"),
    )?;
    let text = files.read(REFUNDS_FILE)?;
    let column = text.lines().find(|line| line.starts_with("  - name: "));
    let column = column.context("no column")?.to_owned();
    files.edit(
        REFUNDS_FILE,
        &column,
        &format!("{column}\n    tags: [From files]"),
    )?;

    let plan = files.run("plan", &[])?;
    ensure!(plan.code == CHANGES, "{plan:?}");
    let column = column.trim_start_matches("  - name: ");
    for line in [
        &*format!("{REFUNDS_FILE}: {REFUNDS}"),
        "    - base",
        "    + Two",
        &*format!("  columns[{column}].tags"),
        "tags.yaml: urn:li:tag:from_files (new)",
    ] {
        ensure!(plan.stdout.lines().any(|it| it == line), "{line}: {plan:?}");
    }
    let json: Value = serde_json::from_str(&files.run("plan", &["--json"])?.stdout)?;
    ensure!(json["changes"] == 7 && json["conflicts"] == 0, "{json}");
    ensure!(description(&server)? == "base", "a plan writes nothing");

    let run = files.apply(&[])?;
    ensure!(description(&server)? == "Two\nlines\n");
    ensure!(
        stored(
            &server,
            "urn:li:domain:child",
            "domainProperties",
            "/parentDomain"
        )? == "urn:li:domain:parent"
    );
    ensure!(files.run("plan", &[])?.stdout == "no changes\n");
    let before = files.all()?;
    files.export()?;
    let mut after = files.all()?;
    // The versions are new, and new entities are sorted in.
    for changed in ["docent.lock", "tags.yaml", "domains.yaml"] {
        after.insert(changed.into(), before[Path::new(changed)].clone());
    }
    let text =
        after[Path::new(REFUNDS_FILE)].replace("tags:\n      - From files", "tags: [From files]");
    after.insert(REFUNDS_FILE.into(), text);
    ensure!(
        before == after,
        "an export after an apply has what was applied"
    );

    let dry = files
        .run_with("rollback", &run, &["--dry-run"])?
        .succeeded()?;
    ensure!(dry.starts_with("would roll back"), "{dry}");
    files.run_with("rollback", &run, &[])?.succeeded()?;
    ensure!(description(&server)? == "base");
    let tag = server.get("/openapi/v3/entity/tag/urn:li:tag:from_files")?;
    ensure!(tag.status == 404, "{tag:?}");
    let again = files.run_with("rollback", &run, &[])?.failed()?;
    ensure!(again.contains("nothing to roll back"), "{again}");
    Ok(())
}

#[test]
fn an_export_does_not_lose_changes_that_are_not_applied() -> anyhow::Result<()> {
    let server = Server::start(Options::default().demo())?;
    let files = exported(&server)?;
    files.edit(REFUNDS_FILE, "description: base\n", "description: mine\n")?;
    let error = files.run("export", &[])?.failed()?;
    ensure!(error.contains("--discard-changes"), "{error}");
    ensure!(files.read(REFUNDS_FILE)?.contains("description: mine\n"));
    files.run("export", &["--discard-changes"])?.succeeded()?;
    ensure!(files.read(REFUNDS_FILE)?.contains("description: base\n"));
    // Files may have other names.
    let text = files.read(REFUNDS_FILE)?;
    fs::remove_file(files.root.join(REFUNDS_FILE))?;
    files.write("billing/refunds.yml", &text)?;
    describe(&server, "page")?;
    files.export()?;
    ensure!(
        files
            .read("billing/refunds.yml")?
            .contains("description: page\n")
    );
    ensure!(!files.root.join(REFUNDS_FILE).exists());
    Ok(())
}

#[test]
fn all_errors_of_all_files_are_reported_and_nothing_is_written() -> anyhow::Result<()> {
    let server = Server::start(Options::default().demo())?;
    let files = exported(&server)?;
    files.edit(
        REFUNDS_FILE,
        "description: base\n",
        "description: changed\ncolour: red\n",
    )?;
    files.write("extra/broken.yaml", "urn: [\n")?;
    files.write("extra/double.yaml", &format!("\nurn: {REFUNDS}\n"))?;
    files.write(
        "extra/unknown.yaml",
        "urn: urn:li:dataset:(urn:li:dataPlatform:hive,nowhere,PROD)\ntags: [Nonsense]\n",
    )?;
    files.write("extra/new.yaml", "urn: urn:li:domain:new\n")?;
    for command in ["plan", "apply"] {
        let output = files.run(command, &[])?;
        ensure!(output.code == Some(1), "{output:?}");
        ensure!(
            output.stderr.contains("6 errors in the files"),
            "{output:?}"
        );
        for expected in [
            format!("error: {REFUNDS_FILE}:"),
            "unknown key 'colour': use one of urn, name, description".to_owned(),
            "error: extra/broken.yaml:".to_owned(),
            "is already in ".to_owned(),
            "error: extra/unknown.yaml:1: ".to_owned(),
            "error: extra/unknown.yaml:2: there is no tag with the name 'Nonsense'".to_owned(),
            "error: extra/new.yaml:1: urn:li:domain:new is new, so it needs the key 'name'"
                .to_owned(),
        ] {
            ensure!(output.stdout.contains(&expected), "{expected}: {output:?}");
        }
        ensure!(description(&server)? == "base");
    }
    ensure!(
        files
            .run("export", &[])?
            .stderr
            .contains("errors in the files")
    );
    files.write("docent.yaml", "format: 9\n")?;
    let output = files.run("plan", &[])?;
    ensure!(
        output
            .stdout
            .contains("docent.yaml:1: format 9 is not supported"),
        "{output:?}"
    );
    let empty = Files::new(&server, "empty")?;
    let error = empty.run("plan", &[])?.failed()?;
    ensure!(error.contains("docent export"), "{error}");
    Ok(())
}

#[test]
fn a_domain_is_exported_with_its_subdomains_only() -> anyhow::Result<()> {
    let server = Server::start(Options::default().demo())?;
    let files = Files::new(&server, "domain")?;
    let parents = "{ listDomains(input: {count: 50}) { domains { urn properties { name } children: relationships(input: {types: [\"IsPartOf\"], direction: INCOMING}) { total } } } }";
    let reply = server.graphql(parents, json!({}))?;
    let domains = reply["data"]["listDomains"]["domains"].as_array();
    let parent = domains
        .into_iter()
        .flatten()
        .find(|it| it["children"]["total"].as_u64() > Some(0));
    let parent = parent.with_context(|| reply.to_string())?;
    let name = parent["properties"]["name"].as_str().context("no name")?;
    files.run("export", &["--domain", name])?.succeeded()?;
    let domains = files.read("domains.yaml")?;
    ensure!(domains.matches("- urn: ").count() > 1, "{domains}");
    let urns: Vec<&str> = domains
        .lines()
        .filter_map(|it| it.strip_prefix("- urn: "))
        .collect();
    let mut inside = 0;
    for (path, text) in files.all()? {
        if path.starts_with("datasets") {
            let urn = text
                .lines()
                .find_map(|it| it.strip_prefix("urn: "))
                .context("no URN")?;
            let stored = stored(&server, urn, "domains", "/domains/0")?;
            ensure!(
                stored.as_str().is_some_and(|it| urns.contains(&it)),
                "{urn}: {stored}"
            );
            inside += 1;
        }
    }
    ensure!(inside > 0);
    ensure!(!files.root.join("tags.yaml").exists());
    ensure!(files.run("plan", &[])?.stdout == "no changes\n");
    files.export()?;
    let error = files.run("export", &["--domain", "nowhere"])?.failed()?;
    ensure!(
        error.contains("no domain with the name 'nowhere'"),
        "{error}"
    );
    Ok(())
}

#[test]
fn csv_files_are_for_reading() -> anyhow::Result<()> {
    let server = Server::start(Options::default().demo())?;
    describe(&server, "=1+1, \"quoted\"")?;
    let files = Files::new(&server, "catalog")?;
    files.run("export", &["--csv"])?.succeeded()?;
    let datasets = files.read("datasets.csv")?;
    ensure!(
        datasets.starts_with("urn,platform,name,description,"),
        "{datasets}"
    );
    ensure!(
        datasets.contains(",\"'=1+1, \"\"quoted\"\"\","),
        "{datasets}"
    );
    let columns = files.read("columns.csv")?;
    ensure!(columns.lines().count() > 300, "{columns}");
    files.write("datasets.csv", "broken")?;
    ensure!(files.run("plan", &[])?.code == Some(0));
    Ok(())
}

/// The aspects that the files hold, by entity type, are those that the second server does not get.
#[test]
fn an_apply_to_another_catalog_restores_everything() -> anyhow::Result<()> {
    let server = Server::start(Options::default().demo())?;
    let files = exported(&server)?;
    let second = Server::start(Options::default())?;
    for entity_type in [
        "container",
        "dataset",
        "dashboard",
        "chart",
        "dataFlow",
        "dataJob",
    ] {
        let path = format!("/openapi/v3/entity/{}", entity_type.to_lowercase());
        let reply = server.get(&format!("{path}?count=1000"))?.json()?;
        let mut entities = reply["entities"].as_array().context("no entities")?.clone();
        for entity in entities.iter_mut().filter_map(Value::as_object_mut) {
            let is_imported = |name: &str| {
                [
                    "urn",
                    "schemaMetadata",
                    "datasetProperties",
                    "subTypes",
                    "status",
                ]
                .contains(&name)
                    || name.ends_with("Info")
                    || name.ends_with("Key")
                    || name == "containerProperties"
            };
            entity.retain(|name, _| is_imported(name));
        }
        let reply = second.post(&format!("{path}?async=false"), &json!(entities))?;
        ensure!(reply.status == 200, "{reply:?}");
    }
    let copy = Files::new(&second, "catalog")?;
    let all = files.all()?;
    for (path, text) in &all {
        copy.write(&path.display().to_string(), text)?;
    }
    copy.apply(&[])?;
    ensure!(copy.run("plan", &[])?.stdout == "no changes\n");
    copy.run("export", &[])?.succeeded()?;
    let restored = copy.all()?;
    for (path, text) in all
        .iter()
        .filter(|(path, _)| *path != Path::new("docent.lock"))
    {
        let other = restored.get(path).map(String::as_str);
        ensure!(
            other == Some(text),
            "{}:\n{text}\n{other:?}",
            path.display()
        );
    }
    ensure!(restored.len() == all.len());
    Ok(())
}

#[test]
fn the_rights_of_the_token_apply() -> anyhow::Result<()> {
    let server = Server::start(
        Options::default()
            .demo()
            .argument("--default-role")
            .argument("Reader"),
    )?;
    let mut files = exported(&server)?;
    let token = server.directory().join("reader-token");
    fs::write(&token, server.token("urn:li:corpuser:reader")?)?;
    files.token_file = token.display().to_string();
    files.edit(REFUNDS_FILE, "description: base\n", "description: mine\n")?;
    ensure!(files.run("plan", &[])?.code == CHANGES);
    let error = files.run("apply", &[])?.failed()?;
    ensure!(error.contains("nothing was written"), "{error}");
    ensure!(description(&server)? == "base");
    files.token_file = server.directory().join("missing").display().to_string();
    ensure!(files.run("plan", &[])?.failed()?.contains("cannot read"));
    let mut docent = server.docent(["plan", "catalog", "--server", server.address()])?;
    let error = CommandOutput::run(&mut docent)?.failed()?;
    ensure!(error.contains("--token-file"), "{error}");
    Ok(())
}
