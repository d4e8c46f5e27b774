//! Compares a directory with the catalog.

use std::collections::{BTreeMap, HashMap};

use anyhow::{Context as _, Result, bail, ensure};
use docent_files::compare::{AspectWrite, Comparison, Deletion, EntityPlan, Outcome};
use docent_files::document::FileEntity;
use docent_files::kinds;
use docent_files::lock::Lock;
use docent_files::manifest::Manifest;
use docent_files::names::Names;
use docent_files::{Aspect, Entity, Stamp};
use docent_model::{Clock as _, Registry, SystemClock, Urn};

use super::CompareFlags;
use super::checks;
use super::directory::{Directory, FileProblem};
use super::remote::Remote;
use crate::commands::counted;

/// Overwrites all entities.
const ALL: &str = "all";

/// What an apply would do.
pub(super) struct Plan {
    pub(super) manifest: Manifest,
    pub(super) entities: Vec<(String, EntityPlan)>,
    /// In the order in which they are applied.
    pub(super) writes: Vec<AspectWrite>,
    pub(super) problems: Vec<FileProblem>,
    pub(super) names: Names,
}

impl Plan {
    /// The differences with this outcome. A deleted entity is one conflict.
    pub(super) fn count(&self, outcome: Outcome) -> usize {
        let plans = self.entities.iter().flat_map(|(_, plan)| &plan.differences);
        let differences = plans.filter(|it| it.outcome == outcome).count();
        match outcome {
            Outcome::Conflict => differences + self.deletions().count(),
            Outcome::Change | Outcome::Newer => differences,
        }
    }

    /// The entities that were exported and are not in the catalog any more.
    pub(super) fn deletions(&self) -> impl Iterator<Item = &Deletion> {
        self.entities
            .iter()
            .filter_map(|(_, it)| it.deletion.as_ref())
    }

    /// Fails if there are errors or conflicts, which have been printed.
    pub(super) fn check(&self) -> Result<()> {
        let conflicts = self.count(Outcome::Conflict);
        match (self.problems.len(), conflicts) {
            (0, 0) => Ok(()),
            (0, _) if self.deletions().count() == conflicts => bail!(
                "{}: remove the deleted entities from the files, or use --overwrite URN",
                counted(conflicts, "conflict", "conflicts")
            ),
            (0, 1) => bail!(
                "1 conflict: write the value of the catalog into the file, or use --overwrite URN"
            ),
            (0, _) => bail!(
                "{conflicts} conflicts: write the values of the catalog into the files, or use --overwrite URN"
            ),
            (1, _) => bail!("1 error in the files"),
            (errors, _) => bail!("{errors} errors in the files"),
        }
    }
}

pub(super) async fn plan(remote: &Remote, flags: &CompareFlags) -> Result<Plan> {
    let directory = Directory::read(&flags.directory)?;
    let path = flags.directory.display();
    ensure!(
        directory.manifest.is_some() || !directory.problems.is_empty(),
        "{path} has no docent.yaml: 'docent export {path}' creates it"
    );
    for urn in flags.overwrite.iter().filter(|it| *it != ALL) {
        let parsed = Registry::get().parse_urn(urn);
        parsed.with_context(|| format!("'{urn}' is no URN for --overwrite: use one, or 'all'"))?;
    }
    let names = remote.names().await?;
    compare(remote, directory, names, &flags.overwrite).await
}

/// Compares a directory that was read. Everything in it is checked, also after errors.
pub(super) async fn compare(
    remote: &Remote,
    mut directory: Directory,
    mut names: Names,
    overwrite: &[String],
) -> Result<Plan> {
    let mut problems = std::mem::take(&mut directory.problems);
    let files = std::mem::take(&mut directory.entities);
    let files = Directory::resolve(files, &mut names, &mut problems);
    let manifest = directory.manifest.unwrap_or_else(|| Manifest {
        project: String::new(),
        domain: None,
    });
    let catalog = read_catalog(remote, &files).await?;
    let exported = std::mem::take(&mut directory.lock);
    let other = Lock::default();
    let lock = if is_of_another_catalog(&exported, &catalog, &files) {
        &other
    } else {
        &exported
    };
    let stamp = Stamp {
        time_ms: SystemClock.now_ms(),
        actor: remote.user().await?,
    };
    let mut plan = Plan {
        manifest,
        entities: Vec::new(),
        writes: Vec::new(),
        problems,
        names,
    };
    let mut writes = Vec::new();
    let mut references = Vec::new();
    for (path, file) in &files {
        let comparison = Comparison {
            file,
            catalog: catalog.get(&file.urn),
            lock: lock.entities.get(&file.urn),
            exported: exported.entities.get(&file.urn),
            project: &plan.manifest.project,
        };
        let mut history: BTreeMap<&'static str, Vec<Aspect>> = BTreeMap::new();
        for needed in comparison.needed_history() {
            history.insert(needed.aspect, remote.history(&needed).await?);
        }
        let urn = file.urn.as_str();
        let is_overwritten = overwrite.iter().any(|it| it == ALL || it == urn);
        let mut of_file = Vec::new();
        let entity = comparison.plan(&history, is_overwritten, &mut of_file);
        let new = comparison.writes(&entity, &stamp, &mut of_file);
        let of_entity = comparison.new_references(&entity).into_iter();
        references.extend(of_entity.map(|reference| (path.clone(), reference)));
        if !new.is_empty() {
            writes.push((file, new));
        }
        let of_file = of_file.into_iter().map(|problem| FileProblem {
            path: path.clone(),
            problem,
        });
        plan.problems.extend(of_file);
        plan.entities.push((path.clone(), entity));
    }
    plan.writes = in_order(writes);
    let missing = checks::missing(remote, &plan, references).await?;
    plan.problems.extend(missing);
    let cycles = checks::cycles(remote, &plan.entities, &catalog).await?;
    plan.problems.extend(cycles);
    plan.problems.sort();
    plan.problems.dedup();
    Ok(plan)
}

/// Whether the lock is from another catalog: none of its entities is in this one.
fn is_of_another_catalog(
    lock: &Lock,
    catalog: &HashMap<Urn, Entity>,
    files: &[(String, FileEntity)],
) -> bool {
    // The same URN created at another time is another entity.
    files.iter().all(|(_, file)| {
        let locked = lock.entities.get(&file.urn).map(|it| it.created);
        let created = catalog.get(&file.urn).map(|it| it.created);
        locked.is_none() || locked != created
    })
}

/// The entities of the files, as the catalog has them.
async fn read_catalog(
    remote: &Remote,
    files: &[(String, FileEntity)],
) -> Result<HashMap<Urn, Entity>> {
    let mut catalog = HashMap::new();
    for kind in kinds::all() {
        let urns = files.iter().map(|(_, file)| &file.urn);
        let urns: Vec<&Urn> = urns
            .filter(|urn| urn.entity_type() == kind.entity_type)
            .collect();
        let found = remote.entities(kind, &urns).await?;
        catalog.extend(found.into_iter().map(|entity| (entity.urn.clone(), entity)));
    }
    Ok(catalog)
}

/// Sorts writes so that an entity comes after those that it refers to.
fn in_order(writes: Vec<(&FileEntity, Vec<AspectWrite>)>) -> Vec<AspectWrite> {
    let parents: HashMap<&Urn, String> = writes
        .iter()
        .filter_map(|(file, _)| Some((&file.urn, file.parent()?.to_owned())))
        .collect();
    let depth = |urn: &Urn| {
        let mut depth = 0;
        let mut next = parents.get(urn);
        // A cycle is an error of the plan, not an endless loop here.
        while let Some(parent) = next
            && depth <= parents.len()
        {
            depth += 1;
            next = Urn::parse(parent)
                .ok()
                .and_then(|parent| parents.get(&parent));
        }
        depth
    };
    let kind_index = |file: &FileEntity| {
        let entity_type = file.urn.entity_type();
        kinds::all()
            .iter()
            .position(|kind| kind.entity_type == entity_type)
    };
    let mut keyed: Vec<_> = writes
        .into_iter()
        .map(|(file, writes)| ((kind_index(file), depth(&file.urn), &file.urn), writes))
        .collect();
    keyed.sort_by(|one, other| one.0.cmp(&other.0));
    keyed.into_iter().flat_map(|(_, writes)| writes).collect()
}
