//! Writes the catalog to a directory.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use anyhow::{Context as _, Result, bail};
use docent_files::compare::Outcome;
use docent_files::document::{self, Rendered};
use docent_files::kinds::{self, Layout};
use docent_files::lock::{Lock, LockEntry};
use docent_files::manifest::Manifest;
use docent_files::names::Names;
use docent_files::paths::Paths;
use docent_model::Urn;
use indicatif::ProgressBar;

use super::ExportFlags;
use super::apply::random_hex;
use super::csv::CsvFiles;
use super::directory::{Directory, LOCK, MANIFEST};
use super::plan;
use super::remote::Remote;
use super::show;
use crate::commands::{note, say};

/// The type of domains. They are no members of domains, but part of the export of one.
const DOMAIN: &str = "domain";

/// What an export has written so far.
struct Export<'a> {
    directory: &'a Directory,
    names: &'a Names,
    /// Where the entities of a former export are.
    known: HashMap<Urn, String>,
    /// The files with several entities.
    shared: HashSet<String>,
    paths: Paths,
    lists: BTreeMap<String, Vec<Rendered>>,
    written: BTreeSet<String>,
    lock: Lock,
    changed_files: usize,
}

pub(super) async fn export(remote: &Remote, flags: &ExportFlags) -> Result<()> {
    let directory = Directory::read(&flags.directory)?;
    let names = remote.names().await?;
    let manifest = manifest(&directory, flags, &names)?;
    if !flags.discard_changes {
        check_applied(remote, &directory, &names, flags).await?;
    }
    let domains = match &manifest.domain {
        Some(domain) => Some(with_subdomains(remote, domain).await?),
        None => None,
    };
    let mut names_in_files = names.clone();
    if let Some(domains) = &domains {
        let domains = domains.iter().filter_map(|urn| Urn::parse(urn).ok());
        names_in_files.qualify_all_but(domains);
    }
    let mut export = Export::new(&directory, &names_in_files);
    let progress = ProgressBar::new_spinner();
    directory.write(MANIFEST, &manifest.to_text())?;
    let csv = flags.csv.then(|| CsvFiles::create(&flags.directory));
    let mut csv = csv.transpose()?;
    for kind in kinds::all() {
        let is_domain = kind.entity_type == DOMAIN;
        if domains.is_some() && !is_domain && !kind.has_domain() {
            continue;
        }
        let filter = domains.as_deref().filter(|_| !is_domain);
        for mut page in Remote::pages(kind, filter) {
            while let Some(entities) = remote.next_page(&mut page).await? {
                for entity in entities {
                    let is_outside = domains.as_ref().is_some_and(|it| {
                        is_domain && !it.iter().any(|urn| urn == entity.urn.as_str())
                    });
                    if is_outside || export.lock.entities.contains_key(&entity.urn) {
                        continue;
                    }
                    export.add(kind, &entity)?;
                    if let Some(csv) = csv.as_mut().filter(|_| kind.entity_type == "dataset") {
                        csv.add(kind, &entity, &names)?;
                    }
                    progress.inc(1);
                }
            }
        }
    }
    progress.finish_and_clear();
    csv.map(CsvFiles::finish).transpose()?;
    let (entities, files) = export.finish()?;
    say(format!(
        "exported {entities} entities to {}; changed files: {files}",
        flags.directory.display()
    ));
    Ok(())
}

/// The manifest of the directory, or a new one.
fn manifest(directory: &Directory, flags: &ExportFlags, names: &Names) -> Result<Manifest> {
    // The name in the files is right, too, if the domain was renamed since.
    let mut names = names.clone();
    Directory::define_names(&directory.entities, &mut names);
    let domain = flags.domain.as_deref();
    let domain = domain.map(|text| names.find(text, DOMAIN).map_err(anyhow::Error::msg));
    let domain = domain.transpose()?;
    let path = flags.directory.display();
    match &directory.manifest {
        Some(manifest) if domain.is_some() && manifest.domain != domain => {
            let scope = manifest.domain.as_ref().map(ToString::to_string);
            let scope = scope.unwrap_or_else(|| "the whole catalog".to_owned());
            bail!("{path} has {scope}: export the domain to another directory")
        }
        Some(manifest) => Ok(manifest.clone()),
        None => Ok(Manifest {
            project: random_hex::<4>()?,
            domain,
        }),
    }
}

/// Fails if an export would lose changes in files.
async fn check_applied(
    remote: &Remote,
    directory: &Directory,
    names: &Names,
    flags: &ExportFlags,
) -> Result<()> {
    let advice = "apply them, or replace the files with --discard-changes";
    if !directory.problems.is_empty() {
        show::errors(&directory.problems);
        bail!(
            "there are errors in the files: correct them, or replace the files with --discard-changes"
        );
    }
    if directory.entities.is_empty() {
        return Ok(());
    }
    let compared = Directory::read(&flags.directory)?;
    let plan = plan::compare(remote, compared, names.clone(), &[]).await?;
    if !plan.problems.is_empty() {
        show::errors(&plan.problems);
        bail!(
            "there are errors in the files: correct them, or replace the files with --discard-changes"
        );
    }
    // There is nothing to lose in an unchanged file of a deleted entity.
    let deletions = plan.deletions().filter(|it| !it.is_file_changed).count();
    let conflicts = plan.count(Outcome::Conflict) - deletions;
    if plan.count(Outcome::Change) + conflicts > 0 {
        bail!(
            "the files have changes that are not in the catalog, which 'docent plan' shows ({}): {advice}",
            show::summary(&plan)
        );
    }
    Ok(())
}

/// A domain with all domains inside.
async fn with_subdomains(remote: &Remote, domain: &Urn) -> Result<Vec<String>> {
    let parents = remote.domain_parents().await?;
    parents
        .contains_key(domain)
        .then_some(())
        .with_context(|| format!("there is no {domain}"))?;
    let mut inside = vec![domain.to_string()];
    let mut at = 0;
    while let Some(parent) = inside.get(at).cloned() {
        let children = parents
            .iter()
            .filter(|(_, it)| it.as_deref() == Some(parent.as_str()));
        let children: Vec<String> = children.map(|(urn, _)| urn.to_string()).collect();
        let new = children.into_iter().filter(|urn| !inside.contains(urn));
        let new: Vec<String> = new.collect();
        inside.extend(new);
        at += 1;
    }
    Ok(inside)
}

impl<'a> Export<'a> {
    fn new(directory: &'a Directory, names: &'a Names) -> Self {
        let mut known = HashMap::new();
        let mut shared = HashSet::new();
        let mut paths = Paths::default();
        let mut seen = HashSet::new();
        for (path, entity) in &directory.entities {
            if !seen.insert(path.clone()) {
                shared.insert(path.clone());
            }
            paths.reserve(path);
            known.insert(entity.urn.clone(), path.clone());
        }
        Self {
            directory,
            names,
            known,
            shared,
            paths,
            lists: BTreeMap::new(),
            written: BTreeSet::new(),
            lock: Lock::default(),
            changed_files: 0,
        }
    }

    fn add(&mut self, kind: &'static kinds::Kind, entity: &docent_files::Entity) -> Result<()> {
        let path = match self.known.get(&entity.urn) {
            Some(path) => path.clone(),
            None => self.paths.choose(kind, &entity.urn),
        };
        let rendered = document::render(kind, entity, self.names);
        let entry = LockEntry::of(kind, entity);
        self.lock.entities.insert(entity.urn.clone(), entry);
        if matches!(kind.layout, Layout::OneFile(_)) || self.shared.contains(&path) {
            self.lists.entry(path).or_default().push(rendered);
            return Ok(());
        }
        self.write(&path, &document::one_to_text(rendered))
    }

    fn write(&mut self, path: &str, text: &str) -> Result<()> {
        if self.directory.write(path, text)? {
            self.changed_files += 1;
        }
        self.written.insert(path.to_owned());
        Ok(())
    }

    /// Writes what is left, and deletes files whose entities are gone. Returns the numbers of
    /// entities and of changed files.
    fn finish(mut self) -> Result<(usize, usize)> {
        for (path, entities) in std::mem::take(&mut self.lists) {
            self.write(&path, &document::list_to_text(entities))?;
        }
        let old = &self.directory.lock.entities;
        let mut gone: BTreeSet<String> = self.known.values().cloned().collect();
        gone.retain(|path| !self.written.contains(path));
        // A file with an entity that was never exported is somebody's work.
        for (urn, path) in &self.known {
            if !old.contains_key(urn) && gone.remove(path) {
                note(format!("{path} is left alone: {urn} is not in the catalog"));
            }
        }
        self.directory.remove(&gone)?;
        for path in &gone {
            note(format!(
                "deleted {path}: its entities are not in the catalog any more"
            ));
        }
        self.directory.write(LOCK, &self.lock.to_text())?;
        Ok((self.lock.entities.len(), self.changed_files + gone.len()))
    }
}
