//! What the catalog's mutations require of references that files add, and what a plan needs more
//! entities of the catalog for than those in files.

use std::collections::{BTreeSet, HashMap, HashSet};

use anyhow::Result;
use docent_files::compare::EntityPlan;
use docent_files::hierarchy::Hierarchy;
use docent_files::{Entity, NewReference, Problem, kinds};
use docent_model::Urn;

use super::directory::FileProblem;
use super::plan::Plan;
use super::remote::Remote;

/// References that changes add, with the paths of their files.
pub(super) type NewReferences = Vec<(String, NewReference)>;

/// Finds the references to entities that neither the catalog nor a file has.
pub(super) async fn missing(
    remote: &Remote,
    plan: &Plan,
    references: NewReferences,
) -> Result<Vec<FileProblem>> {
    let created = plan.entities.iter().map(|(_, entity)| &entity.urn);
    let mut known: HashSet<Urn> = created.cloned().collect();
    let urns = references.iter().map(|(_, reference)| &reference.urn);
    let urns: BTreeSet<&Urn> = urns.filter(|urn| !known.contains(*urn)).collect();
    known.extend(remote.existing(&urns).await?);
    let problems = references.into_iter().filter_map(|(path, reference)| {
        let NewReference { line, urn } = reference;
        let message = format!("{urn} does not exist: check the spelling, or create it first");
        let problem = Problem { line, message };
        (!known.contains(&urn)).then_some(FileProblem { path, problem })
    });
    Ok(problems.collect())
}

/// Finds parents that would be inside their own children.
pub(super) async fn cycles(
    remote: &Remote,
    plans: &[(String, EntityPlan)],
    catalog: &HashMap<Urn, Entity>,
) -> Result<Vec<FileProblem>> {
    let mut hierarchy = Hierarchy::default();
    let mut moves = Vec::new();
    for (path, plan) in plans {
        moves.extend(hierarchy.add_plan(plan).map(|it| (path, it)));
    }
    for (_, plan) in plans {
        hierarchy.add(plan.kind, &plan.urn, catalog.get(&plan.urn));
    }
    let mut problems = Vec::new();
    for (path, moved) in &moves {
        while let Some(urn) = hierarchy.unknown(moved).cloned() {
            let Some(kind) = kinds::of_type(urn.entity_type()) else {
                break;
            };
            let found = remote.entities(kind, &[&urn]).await?;
            hierarchy.add(kind, &urn, found.first());
        }
        problems.extend(hierarchy.problem(moved).map(|problem| FileProblem {
            path: (*path).clone(),
            problem,
        }));
    }
    Ok(problems)
}
