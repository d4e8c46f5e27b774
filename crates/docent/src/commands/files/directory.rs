//! The directory of an export.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write as _;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use docent_files::Problem;
use docent_files::document::{self, FileEntity, RawEntity};
use docent_files::lock::Lock;
use docent_files::manifest::Manifest;
use docent_files::names::Names;
use docent_model::Urn;

pub(super) const MANIFEST: &str = "docent.yaml";
pub(super) const LOCK: &str = "docent.lock";
/// The largest file, and the most files, that are read.
const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;
const MAX_FILES: usize = 1_000_000;
const MAX_DEPTH: usize = 32;
/// Starts the names of files that are being written.
const TEMPORARY: &str = ".docent-";

/// An error in a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FileProblem {
    pub(super) path: String,
    pub(super) problem: Problem,
}

/// What a directory contains, before names are resolved.
pub(super) struct Directory {
    root: PathBuf,
    pub(super) manifest: Option<Manifest>,
    pub(super) lock: Lock,
    /// The entities with the paths of their files, relative to the directory.
    pub(super) entities: Vec<(String, RawEntity)>,
    pub(super) problems: Vec<FileProblem>,
}

impl Directory {
    /// Reads a directory; an empty or missing one has neither manifest nor entities.
    pub(super) fn read(root: &Path) -> Result<Self> {
        let mut directory = Self {
            root: root.to_owned(),
            manifest: None,
            lock: Lock::default(),
            entities: Vec::new(),
            problems: Vec::new(),
        };
        if !root.exists() {
            return Ok(directory);
        }
        if let Some(text) = read_if_exists(&root.join(MANIFEST))? {
            let parsed = text.and_then(|text| Manifest::parse(&text));
            directory.manifest = directory.checked(MANIFEST, parsed);
        }
        if let Some(text) = read_if_exists(&root.join(LOCK))? {
            let parsed = text.and_then(|text| Lock::parse(&text));
            directory.lock = directory.checked(LOCK, parsed).unwrap_or_default();
        }
        let mut paths = Vec::new();
        find_files(root, root, 0, &mut paths)?;
        paths.sort();
        let mut seen: BTreeMap<Urn, (String, usize)> = BTreeMap::new();
        for path in paths {
            let text = read_text(&root.join(&path))?;
            let Some(text) = directory.checked(&path, text) else {
                continue;
            };
            let mut problems = Vec::new();
            for entity in document::parse(&text, &mut problems) {
                if let Some((first, line)) = seen.get(&entity.urn) {
                    let message =
                        format!("{} is already in {first}:{line}: remove one", entity.urn);
                    problems.push(Problem {
                        line: entity.line,
                        message,
                    });
                    continue;
                }
                seen.insert(entity.urn.clone(), (path.clone(), entity.line));
                directory.entities.push((path.clone(), entity));
            }
            directory.add_problems(&path, problems);
        }
        Ok(directory)
    }

    fn checked<T>(&mut self, path: &str, parsed: Result<T, Problem>) -> Option<T> {
        parsed
            .map_err(|problem| self.add_problems(path, vec![problem]))
            .ok()
    }

    fn add_problems(&mut self, path: &str, problems: Vec<Problem>) {
        let problems = problems.into_iter().map(|problem| FileProblem {
            path: path.to_owned(),
            problem,
        });
        self.problems.extend(problems);
    }

    /// Adds the names that the files define.
    pub(super) fn define_names(entities: &[(String, RawEntity)], names: &mut Names) {
        for (_, entity) in entities {
            if let Some(name) = entity.name() {
                names.define(&entity.urn, name);
            } else if entity.kind.is_defined_in_files {
                names.add_alias(&entity.urn, entity.urn.key());
            }
        }
    }

    /// Adds the names that the files define, and resolves references.
    pub(super) fn resolve(
        entities: Vec<(String, RawEntity)>,
        names: &mut Names,
        problems: &mut Vec<FileProblem>,
    ) -> Vec<(String, FileEntity)> {
        Self::define_names(&entities, names);
        let resolved = entities.into_iter().map(|(path, entity)| {
            let mut of_entity = Vec::new();
            let entity = entity.read(names, &mut of_entity);
            let of_file = of_entity.into_iter().map(|problem| FileProblem {
                path: path.clone(),
                problem,
            });
            problems.extend(of_file);
            (path, entity)
        });
        resolved.collect()
    }

    /// Writes a file, unless it has this text. Never leaves a part of it under its name.
    pub(super) fn write(&self, path: &str, text: &str) -> Result<bool> {
        let target = self.root.join(path);
        if fs::read(&target).is_ok_and(|old| old == text.as_bytes()) {
            return Ok(false);
        }
        let written = write_atomically(&target, text);
        written.with_context(|| format!("cannot write {}", target.display()))?;
        Ok(true)
    }

    /// Deletes files of a former export.
    pub(super) fn remove(&self, paths: &BTreeSet<String>) -> Result<()> {
        for path in paths {
            let target = self.root.join(path);
            let removed = fs::remove_file(&target);
            removed.with_context(|| format!("cannot delete {}", target.display()))?;
        }
        Ok(())
    }
}

fn write_atomically(target: &Path, text: &str) -> std::io::Result<()> {
    let parent = target.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(parent)?;
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    // Shorter than the name, which may be as long as the file system allows.
    let temporary = parent.join(format!("{TEMPORARY}{:.40}", name.replace('.', "")));
    let written = (|| {
        let mut file = fs::File::create(&temporary)?;
        file.write_all(text.as_bytes())?;
        fs::rename(&temporary, target)
    })();
    if written.is_err() {
        // Best effort: the error above says what went wrong.
        let _ = fs::remove_file(&temporary);
    }
    written
}

fn read_if_exists(path: &Path) -> Result<Option<Result<String, Problem>>> {
    path.exists().then(|| read_text(path)).transpose()
}

/// Reads a file, whose text may have a problem.
fn read_text(path: &Path) -> Result<Result<String, Problem>> {
    let cannot = || format!("cannot read {}", path.display());
    let size = fs::metadata(path).with_context(cannot)?.len();
    ensure!(
        size <= MAX_FILE_BYTES,
        "{} has more than {MAX_FILE_BYTES} bytes: split it",
        path.display()
    );
    let bytes = fs::read(path).with_context(cannot)?;
    Ok(String::from_utf8(bytes).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let valid = String::from_utf8_lossy(valid);
        Problem {
            line: valid.matches('\n').count() + 1,
            message: "the line is not UTF-8: save the file in this encoding".to_owned(),
        }
    }))
}

/// Finds the YAML files, without hidden ones. Symbolic links are not followed.
fn find_files(root: &Path, directory: &Path, depth: usize, found: &mut Vec<String>) -> Result<()> {
    let cannot = || format!("cannot read {}", directory.display());
    ensure!(
        depth < MAX_DEPTH && found.len() < MAX_FILES,
        "{} has more than {MAX_FILES} files, or more than {MAX_DEPTH} levels",
        root.display()
    );
    for entry in fs::read_dir(directory).with_context(cannot)? {
        let entry = entry.with_context(cannot)?;
        let name = entry.file_name();
        if name.to_string_lossy().starts_with('.') {
            continue;
        }
        let path = entry.path();
        let kind = entry.file_type().with_context(cannot)?;
        if kind.is_dir() {
            find_files(root, &path, depth + 1, found)?;
            continue;
        }
        let is_yaml = path
            .extension()
            .is_some_and(|it| it == "yaml" || it == "yml");
        let relative = relative(root, &path);
        if kind.is_file() && is_yaml && relative != MANIFEST {
            found.push(relative);
        }
    }
    Ok(())
}

/// A path relative to the directory, with `/`.
fn relative(root: &Path, path: &Path) -> String {
    let relative = path.strip_prefix(root).unwrap_or(path);
    let parts = relative.components().filter_map(|part| match part {
        Component::Normal(part) => Some(part.to_string_lossy()),
        _ => None,
    });
    parts.collect::<Vec<_>>().join("/")
}
