//! Rules for the repository's files that no compiler checks.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};
use docent_e2e::markdown::Document;
use docent_e2e::module_graph::{cycles, read_module_graph, tokens};
use docent_e2e::repository_root;

/// Built, installed and git's own files. In a git worktree, `.git` is a file.
const NOT_OURS: [&str; 8] = [
    ".git",
    ".venv",
    "__pycache__",
    "built",
    "generated",
    "node_modules",
    "target",
    "test-results",
];

/// Cycles that are known, by crate: a use of the second module in the first is accepted.
const ACCEPTED_USES: [(&str, &str, &str); 1] = [
    // A rollback of a run is applied like other changes, and reads what the run wrote.
    ("catalog", "apply", "runs"),
];

/// Names that do not say what they hold, with the usual term for each (docs/style.md). Add one when
/// it was replaced everywhere.
const REJECTED_IDENTIFIERS: [(&str, &str); 9] = [
    ("Door", "Endpoint"),
    ("asked", "request"),
    ("leads_somewhere", "has_host"),
    ("no_url_again", "without_duplicate_urls"),
    ("put_on", "apply_to"),
    ("refusal", "rejection"),
    ("told", "reply"),
    ("wanted", "request"),
    ("wish", "input"),
];

#[test]
fn every_relative_link_in_a_document_resolves() -> anyhow::Result<()> {
    let mut broken = Vec::new();
    for path in files()?.into_iter().filter(|path| is_markdown(path)) {
        let document = Document::parse(&fs::read_to_string(&path)?);
        for (line, target) in document.links() {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            if !resolves(&path, &document, &target)? {
                broken.push(format!("{}:{line}: {target}", relative(&path)));
            }
        }
    }
    ensure!(broken.is_empty(), "broken links:\n{}", broken.join("\n"));
    Ok(())
}

#[test]
fn documents_and_comments_wrap_at_100_columns() -> anyhow::Result<()> {
    let mut long = Vec::new();
    for path in files()? {
        let text = fs::read(&path)?;
        let text = String::from_utf8_lossy(&text);
        let wrapped: Vec<(usize, String)> = if is_markdown(&path) {
            // Tables and links cannot be wrapped.
            let is_exempt = |text: &str| text.trim_start().starts_with('|') || text.contains("](");
            let prose = Document::parse(&text).prose.into_iter();
            prose.filter(|(_, text)| !is_exempt(text)).collect()
        } else if path.extension() == Some(OsStr::new("rs")) {
            let lines = (1..).zip(text.lines().map(str::to_owned));
            lines
                .filter(|(_, text)| text.trim_start().starts_with("//"))
                .collect()
        } else {
            continue;
        };
        for (line, text) in wrapped {
            if text.chars().count() > 100 {
                long.push(format!("{}:{line}", relative(&path)));
            }
        }
    }
    ensure!(
        long.is_empty(),
        "lines longer than 100 columns:\n{}",
        long.join("\n")
    );
    Ok(())
}

#[test]
fn the_api_document_names_every_root_field() -> anyhow::Result<()> {
    let document = fs::read_to_string(repository_root().join("docs/API.md"))?;
    let (_, table) = document
        .split_once("## All operations")
        .context("docs/API.md has no section 'All operations'")?;
    let fields = root_fields()?;
    ensure!(
        fields.iter().any(|field| field == "dataset")
            && fields.iter().any(|field| field == "addTag"),
        "the schema files have another format: {fields:?}"
    );
    let missing: Vec<&String> = fields
        .iter()
        .filter(|field| !table.contains(&format!("`{field}`")))
        .collect();
    ensure!(
        missing.is_empty(),
        "add these fields to the table 'All operations' in docs/API.md: {missing:?}"
    );
    Ok(())
}

#[test]
fn the_access_document_lists_every_privilege() -> anyhow::Result<()> {
    let document = fs::read_to_string(repository_root().join("docs/ACCESS.md"))?;
    let source = fs::read_to_string(repository_root().join("crates/catalog/src/privilege.rs"))?;
    for (section, row) in [
        ("    Platform {", "| `PLATFORM` |"),
        ("    Metadata {", "| `METADATA` |"),
        ("    Either {", "| of both types |"),
    ] {
        let lines = source.lines().skip_while(|line| *line != section);
        let declared: Vec<&str> = lines
            .take_while(|line| *line != "    }")
            .filter_map(|line| line.split('"').nth(1))
            .collect();
        ensure!(
            !declared.is_empty(),
            "privilege.rs has no section {section}"
        );
        let listed = document.lines().find_map(|line| line.strip_prefix(row));
        let listed = listed.with_context(|| format!("docs/ACCESS.md has no row {row}"))?;
        let listed: Vec<&str> = listed.split('`').skip(1).step_by(2).collect();
        ensure!(
            listed == declared,
            "the row {row} of docs/ACCESS.md must list {declared:?}"
        );
    }
    Ok(())
}

/// Returns the names of the fields of `Query` and `Mutation`.
/// A promise whose test was renamed has no proof.
#[test]
fn every_test_that_the_reliability_document_names_exists() -> anyhow::Result<()> {
    let document = fs::read_to_string(repository_root().join("docs/RELIABILITY.md"))?;
    let rows = document.lines().filter(|line| line.starts_with('|'));
    let tests = rows.filter_map(|row| row.split('|').nth(2));
    let names: Vec<&str> = tests
        .flat_map(|cell| cell.split('`').skip(1).step_by(2))
        .collect();
    ensure!(names.len() > 100, "only {} tests are named", names.len());
    let mut sources = String::new();
    for path in files()? {
        let is_source = ["rs", "mjs", "ts"].map(OsStr::new);
        if path.extension().is_some_and(|it| is_source.contains(&it)) {
            sources += &fs::read_to_string(&path)?;
        }
    }
    let is_missing = |name: &&&str| {
        let declared = [
            format!("fn {name}("),
            format!("\"{name}\""),
            format!("'{name}'"),
        ];
        !declared.iter().any(|it| sources.contains(it))
    };
    let missing: Vec<_> = names.iter().filter(is_missing).collect();
    ensure!(missing.is_empty(), "no test has these names: {missing:?}");
    Ok(())
}

fn root_fields() -> anyhow::Result<Vec<String>> {
    let mut fields = Vec::new();
    for entry in fs::read_dir(repository_root().join("crates/graphql/schema"))? {
        let mut in_root_type = false;
        for line in fs::read_to_string(entry?.path())?.lines() {
            if !line.is_empty() && !line.starts_with(' ') {
                in_root_type = ["Query {", "Mutation {"]
                    .iter()
                    .any(|name| line.trim_start_matches("extend ") == format!("type {name}"));
            } else if let Some(field) = line.strip_prefix("  ")
                && in_root_type
                && field.starts_with(|first: char| first.is_ascii_lowercase())
                && let Some((name, _)) = field.split_once(['(', ':'])
            {
                fields.push(name.to_owned());
            }
        }
    }
    Ok(fields)
}

#[test]
fn no_file_contains_a_path_of_one_machine() -> anyhow::Result<()> {
    // Assembled, so that this file does not contain them.
    let prefixes = ["work", "root", "home"].map(|name| format!("/{name}/"));
    let mut found = Vec::new();
    for path in files()? {
        let text = String::from_utf8_lossy(&fs::read(&path)?).into_owned();
        for (index, line) in text.lines().enumerate() {
            if prefixes.iter().any(|prefix| contains_path(line, prefix)) {
                found.push(format!("{}:{}", relative(&path), index + 1));
            }
        }
    }
    ensure!(
        found.is_empty(),
        "these lines contain a path that exists on one machine only:\n{}",
        found.join("\n")
    );
    Ok(())
}

#[test]
fn the_npm_lock_file_contains_no_registry_address() -> anyhow::Result<()> {
    let lock = fs::read_to_string(repository_root().join("ui/package-lock.json"))?;
    ensure!(
        lock.contains("\"integrity\": "),
        "the lock file has no checksums"
    );
    let named = lock.lines().find(|line| line.contains("\"resolved\":"));
    ensure!(
        named.is_none(),
        "ui/package-lock.json names a registry: run npm in ui/, whose .npmrc omits it ({named:?})"
    );
    Ok(())
}

#[test]
fn no_source_file_exceeds_the_size_limit() -> anyhow::Result<()> {
    let script = repository_root().join("scripts/file-sizes");
    let output = Command::new(script)
        .output()
        .context("could not start scripts/file-sizes")?;
    ensure!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}

#[test]
fn modules_do_not_depend_on_each_other_in_cycles() -> anyhow::Result<()> {
    let mut found = Vec::new();
    let mut accepted = Vec::new();
    for entry in fs::read_dir(repository_root().join("crates"))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let mut graph = read_module_graph(&entry.path().join("src"))?;
        if name == "search" {
            ensure!(graph["search"].contains("query"), "{graph:?}");
        }
        for (of, module, used) in ACCEPTED_USES.iter().filter(|(of, ..)| *of == name) {
            let uses = graph.get_mut(*module);
            if uses.is_some_and(|uses| uses.remove(*used)) {
                accepted.push((*of, *module, *used));
            }
        }
        let cycles = cycles(&graph).into_iter();
        found.extend(cycles.map(|modules| format!("{name}: {}", modules.join(", "))));
    }
    ensure!(
        found.is_empty(),
        "these modules use each other; move what they share to a third one:\n{}",
        found.join("\n")
    );
    ensure!(
        accepted == ACCEPTED_USES,
        "remove the exceptions that are no longer needed; in use: {accepted:?}"
    );
    Ok(())
}

#[test]
fn replaced_identifiers_do_not_come_back() -> anyhow::Result<()> {
    let mut found = Vec::new();
    for path in files()? {
        if path.extension() != Some(OsStr::new("rs")) {
            continue;
        }
        let tokens = tokens(&fs::read_to_string(&path)?);
        for (rejected, usual) in REJECTED_IDENTIFIERS {
            if tokens.iter().any(|token| token == rejected) {
                found.push(format!("{}: {rejected}; use {usual}", relative(&path)));
            }
        }
    }
    ensure!(found.is_empty(), "rename these:\n{}", found.join("\n"));
    Ok(())
}

#[test]
fn a_path_counts_only_if_it_is_absolute() {
    let prefix = "/folder/";
    assert!(contains_path("cd /folder/x", prefix));
    assert!(contains_path("/folder/x", prefix));
    assert!(contains_path("url = \"file:///folder/x\"", prefix));
    assert!(!contains_path("https://example.com/folder/x", prefix));
    assert!(!contains_path("docs/folder/x", prefix));
}

/// Whether a line contains an absolute path with this prefix, unlike `example.com/…` or `docs/…`.
fn contains_path(line: &str, prefix: &str) -> bool {
    line.match_indices(prefix).any(|(position, _)| {
        let before = line[..position].chars().next_back();
        !before
            .is_some_and(|character| character.is_alphanumeric() || "._-~})>*".contains(character))
    })
}

/// Whether a link's file exists and, in a document, its heading.
fn resolves(from: &Path, document: &Document, target: &str) -> anyhow::Result<bool> {
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    if file.is_empty() {
        return Ok(document.anchors().iter().any(|known| known == anchor));
    }
    let path = from.parent().unwrap_or(from).join(file);
    if !path.try_exists()? {
        return Ok(false);
    }
    if anchor.is_empty() || !is_markdown(&path) {
        return Ok(true);
    }
    let other = Document::parse(&fs::read_to_string(&path)?);
    Ok(other.anchors().iter().any(|known| known == anchor))
}

fn is_markdown(path: &Path) -> bool {
    path.extension() == Some(OsStr::new("md"))
}

fn relative(path: &Path) -> String {
    path.strip_prefix(repository_root())
        .unwrap_or(path)
        .display()
        .to_string()
}

/// Returns all files of the repository, in a fixed order.
fn files() -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut directories = vec![repository_root()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).with_context(|| directory.display().to_string())? {
            let entry = entry?;
            let kind = entry.file_type()?;
            if NOT_OURS.iter().any(|name| entry.file_name() == *name) {
                continue;
            }
            if kind.is_dir() {
                directories.push(entry.path());
            } else if kind.is_file() {
                files.push(entry.path());
            }
        }
    }
    files.sort();
    Ok(files)
}
