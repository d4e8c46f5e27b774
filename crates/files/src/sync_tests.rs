//! People edit files and catalog in turn: no edit is lost, and nothing is a conflict without need.

use std::collections::BTreeMap;

use docent_model::Urn;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::codec::Stamp;
use crate::compare::{Comparison, Difference, EntityPlan, Outcome};
use crate::document::{self, FileEntity};
use crate::entity::{Aspect, COLUMNS_ASPECT, COLUMNS_LIST, Entity, PartId};
use crate::kinds;
use crate::lock::{LockEntry, LockedAspect};
use crate::names::Names;
use crate::values::values_in;

const PROJECT: &str = "0123abcd";
const RETAINED: usize = 20;
const DATASETS: usize = 2;
const PARTS: usize = 2;
const COLUMNS: [&str; PARTS] = ["x", "y"];

/// The values of the parts of a dataset.
type Parts = [Option<&'static str>; PARTS];

#[derive(Debug, Clone)]
enum Step {
    EditPage(usize, usize, Option<&'static str>),
    EditFile(usize, usize, Option<&'static str>),
    Plan,
    Apply { overwrite: [bool; DATASETS] },
    Export { discard: bool },
    RollBack,
    DeleteEntity(usize),
    CreateEntity(usize),
}

fn steps(count: usize, is_calm: bool) -> impl Strategy<Value = Vec<Step>> {
    let text = prop::option::weighted(0.8, prop::sample::select(vec!["a", "b", "c"]));
    let edit = (0..DATASETS, 0..PARTS, text);
    let apply = || prop::array::uniform2(prop::bool::weighted(0.1));
    let calm = prop_oneof![
        4 => edit.clone().prop_map(|(at, part, text)| Step::EditPage(at, part, text)),
        4 => edit.prop_map(|(at, part, text)| Step::EditFile(at, part, text)),
        1 => Just(Step::Plan),
        4 => apply().prop_map(|overwrite| Step::Apply { overwrite }),
        1 => prop::bool::weighted(0.2).prop_map(|discard| Step::Export { discard }),
    ];
    if is_calm {
        return prop::collection::vec(calm.boxed(), 0..count);
    }
    let wild = prop_oneof![
        12 => calm,
        2 => Just(Step::RollBack),
        1 => (0..DATASETS).prop_map(Step::DeleteEntity),
        1 => (0..DATASETS).prop_map(Step::CreateEntity),
    ];
    prop::collection::vec(wild.boxed(), 0..count)
}

/// A version of the aspect with the parts.
#[derive(Debug, Clone)]
struct Version {
    number: i64,
    run: Option<usize>,
    parts: Parts,
}

/// A dataset, its file, and what an observer knows about both.
#[derive(Debug, Clone)]
struct Dataset {
    urn: Urn,
    /// `None` while it is deleted.
    created: Option<i64>,
    /// Newest first. An aspect that a rollback deleted continues from `retired`.
    versions: Vec<Version>,
    retired: i64,
    /// `None` if an export removed it.
    file: Option<Parts>,
    /// The values that file and catalog had in common last.
    known: Option<Parts>,
    /// The file as the last export wrote it.
    exported: Option<Parts>,
    lock: Option<LockEntry>,
}

impl Dataset {
    fn now(&self) -> Parts {
        self.versions.first().map_or([None; PARTS], |it| it.parts)
    }

    fn put(&mut self, parts: Parts, run: Option<usize>) {
        if self.versions.is_empty() && parts == [None; PARTS] || self.now() == parts {
            return;
        }
        let latest = self.versions.first().map_or(self.retired, |it| it.number);
        let number = latest + 1;
        self.versions.insert(0, Version { number, run, parts });
        self.versions.truncate(RETAINED);
    }

    fn aspect(version: &Version) -> Aspect {
        let described = COLUMNS.iter().zip(version.parts);
        let columns = described
            .filter_map(|(path, text)| Some(json!({"fieldPath": path, "description": text?})));
        let columns: Vec<Value> = columns.collect();
        Aspect {
            value: json!({COLUMNS_LIST: columns}),
            version: version.number,
            project: version.run.map(|_| PROJECT.to_owned()),
        }
    }

    fn entity(&self) -> Option<Entity> {
        let latest = self.versions.first().map(Self::aspect);
        let aspects = latest.map(|it| (COLUMNS_ASPECT.to_owned(), it));
        Some(Entity {
            urn: self.urn.clone(),
            created: self.created?,
            aspects: aspects.into_iter().collect(),
        })
    }

    /// The file; all parts have a key, so that a removal is seen.
    fn read(&self) -> Option<FileEntity> {
        let columns = COLUMNS.iter().zip(self.file?);
        let columns = columns.map(|(path, text)| {
            let text = text.unwrap_or_default();
            format!("- {{name: {path}, description: '{text}'}}\n")
        });
        let text = format!(
            "urn: {}\ncolumns:\n{}",
            self.urn,
            columns.collect::<String>()
        );
        let mut problems = Vec::new();
        let raw = document::parse(&text, &mut problems).pop()?;
        let file = raw.read(&Names::default(), &mut problems);
        assert_eq!(problems, [], "{text}");
        Some(file)
    }

    /// The plan, and the values after an apply.
    fn plan(&self, overwrite: bool) -> Option<(EntityPlan, Parts)> {
        let (file, entity) = (self.read()?, self.entity());
        let comparison = Comparison {
            file: &file,
            catalog: entity.as_ref(),
            lock: self.lock.as_ref(),
            exported: None,
            project: PROJECT,
        };
        let mut history = BTreeMap::new();
        for needed in comparison.needed_history() {
            let found = needed.versions.iter().filter_map(|number| {
                let version = self.versions.iter().find(|it| it.number == *number)?;
                Some(Self::aspect(version))
            });
            history.insert(needed.aspect, found.collect());
        }
        // A deleted dataset cannot be created by a file, which is an error.
        let overwrite = overwrite && entity.is_some();
        let mut problems = Vec::new();
        let plan = comparison.plan(&history, overwrite, &mut problems);
        let stamp = Stamp {
            time_ms: 1,
            actor: "urn:li:corpuser:ada".to_owned(),
        };
        let writes = comparison.writes(&plan, &stamp, &mut problems);
        assert_eq!(problems, []);
        let kind = kinds::of_type("dataset").unwrap();
        let parts = writes.first().map(|write| {
            let values = values_in(kind, write.aspect, &write.value);
            std::array::from_fn(|at| {
                let text = values.get(&part(at)).and_then(Value::as_str);
                text.map(|text| *["a", "b", "c"].iter().find(|it| **it == text).unwrap())
            })
        });
        Some((plan, parts.unwrap_or(self.now())))
    }
}

fn part(at: usize) -> PartId {
    PartId {
        column: Some(COLUMNS[at].to_owned()),
        key: "description",
    }
}

fn outcome(plan: &EntityPlan, at: usize) -> Option<Outcome> {
    let is_part = |it: &&Difference| it.part == part(at);
    plan.differences.iter().find(is_part).map(|it| it.outcome)
}

fn has_conflict(plan: &EntityPlan) -> bool {
    let mut differences = plan.differences.iter();
    plan.deletion.is_some() || differences.any(|it| it.outcome == Outcome::Conflict)
}

struct World {
    datasets: Vec<Dataset>,
    clock: i64,
    runs: usize,
    /// What was known before each run.
    known_before: Vec<Vec<Option<Parts>>>,
}

impl World {
    fn new() -> Self {
        let datasets = (0..DATASETS).map(|at| Dataset {
            urn: Urn::parse(&format!(
                "urn:li:dataset:(urn:li:dataPlatform:hive,t{at},PROD)"
            ))
            .unwrap(),
            created: Some(7),
            versions: Vec::new(),
            retired: 0,
            file: None,
            known: None,
            exported: None,
            lock: None,
        });
        let mut world = Self {
            datasets: datasets.collect(),
            clock: 100,
            runs: 0,
            known_before: Vec::new(),
        };
        for dataset in &mut world.datasets {
            dataset.put([Some("a"), Some("b")], None);
        }
        world.export(true);
        world
    }

    fn step(&mut self, step: &Step, is_calm: bool) {
        match *step {
            Step::EditPage(at, part, text) if self.datasets[at].created.is_some() => {
                let mut parts = self.datasets[at].now();
                parts[part] = text;
                self.datasets[at].put(parts, None);
            }
            Step::EditPage(..) => {}
            Step::EditFile(at, part, text) => {
                if let Some(parts) = &mut self.datasets[at].file {
                    parts[part] = text;
                }
            }
            Step::Plan => {
                for dataset in &self.datasets {
                    if let Some((plan, _)) = dataset.plan(false) {
                        check_plan(dataset, &plan, is_calm);
                    }
                }
            }
            Step::Apply { overwrite } => self.apply(overwrite, is_calm),
            Step::Export { discard } => {
                self.export(discard);
            }
            Step::RollBack => self.roll_back(),
            Step::DeleteEntity(at) => {
                self.datasets[at].versions.clear();
                self.datasets[at].created = None;
            }
            Step::CreateEntity(at) => {
                self.clock += 1;
                self.datasets[at].created.get_or_insert(self.clock);
            }
        }
    }

    fn apply(&mut self, overwrite: [bool; DATASETS], is_calm: bool) {
        let plans = self.datasets.iter().enumerate();
        let plans: Vec<_> = plans
            .map(|(at, dataset)| dataset.plan(overwrite[at]))
            .collect();
        let conflicts = plans.iter().flatten().any(|(plan, _)| has_conflict(plan));
        let before: Vec<_> = self.datasets.iter().map(|it| it.known).collect();
        for (at, planned) in plans.into_iter().enumerate() {
            let Some((plan, after)) = planned else {
                continue;
            };
            let dataset = &mut self.datasets[at];
            let is_forced = overwrite[at];
            if !is_forced {
                check_plan(dataset, &plan, is_calm);
            }
            if conflicts || dataset.created.is_none() {
                continue;
            }
            let (now, file) = (dataset.now(), dataset.file.unwrap());
            let known = dataset.known.get_or_insert(now);
            for part in 0..PARTS {
                if after[part] != now[part] {
                    assert_eq!(after[part], file[part], "not the file's value was written");
                    assert!(
                        is_forced || known[part] == now[part],
                        "an edit of the page was overwritten: {plan:?}"
                    );
                    known[part] = file[part];
                }
            }
            dataset.put(after, Some(self.runs));
        }
        if !conflicts {
            self.known_before.push(before);
            self.runs += 1;
        }
    }

    fn export(&mut self, discard: bool) -> bool {
        let kind = kinds::of_type("dataset").unwrap();
        let plans: Vec<_> = self.datasets.iter().map(|it| it.plan(false)).collect();
        let is_lost = plans.iter().flatten().any(|(plan, _)| match plan.deletion {
            Some(deletion) => deletion.is_file_changed,
            None => plan
                .differences
                .iter()
                .any(|it| it.outcome != Outcome::Newer),
        });
        if is_lost && !discard {
            return false;
        }
        for dataset in &mut self.datasets {
            let entity = dataset.entity();
            let now = entity.as_ref().map(|_| dataset.now());
            if let (Some(file), false) = (dataset.file, discard) {
                let known = dataset.known.unwrap_or(file);
                for part in 0..PARTS {
                    let is_kept = match now {
                        Some(now) => now[part] == file[part] || known[part] == file[part],
                        None => dataset.exported == Some(file),
                    };
                    assert!(is_kept, "an edit of the file was lost");
                }
            }
            dataset.file = now;
            dataset.known = now;
            dataset.exported = now;
            dataset.lock = entity.as_ref().map(|entity| LockEntry::of(kind, entity));
        }
        for dataset in &self.datasets {
            let plan = dataset.plan(false).map(|(plan, _)| plan);
            assert!(
                plan.is_none_or(|it| it.differences.is_empty() && it.deletion.is_none()),
                "a plan after an export is not empty"
            );
        }
        true
    }

    /// Rolls back the last run, where nobody has changed its aspects since.
    fn roll_back(&mut self) {
        let Some(run) = self.runs.checked_sub(1) else {
            return;
        };
        let Some(known) = self.known_before.get(run) else {
            return;
        };
        for (dataset, known) in self.datasets.iter_mut().zip(known) {
            let Some(latest) = dataset.versions.first().cloned() else {
                continue;
            };
            if latest.run != Some(run) {
                continue;
            }
            dataset.versions.retain(|it| it.run != Some(run));
            // The values that were in common are again those before the run, unless an export
            // has read those of the run.
            let is_exported = dataset.lock.as_ref().is_some_and(|lock| {
                let locked = lock.aspects.get(COLUMNS_ASPECT);
                let is_same = dataset.created == Some(lock.created);
                is_same && locked.is_some_and(|it| it.version >= latest.number)
            });
            if !is_exported {
                dataset.known = *known;
            }
            match dataset.versions.first().cloned() {
                Some(restored) => {
                    let number = latest.number + 1;
                    dataset.versions.insert(0, Version { number, ..restored });
                }
                None => dataset.retired = latest.number,
            }
        }
    }
}

/// Nothing is written that would replace an edit of the page, and while all versions are known,
/// nothing is a conflict without need.
fn check_plan(dataset: &Dataset, plan: &EntityPlan, is_calm: bool) {
    let (now, file) = (dataset.now(), dataset.file.unwrap());
    for at in 0..PARTS {
        let found = outcome(plan, at);
        let known = dataset.known.map(|known| known[at]);
        let expected = if now[at] == file[at] {
            None
        } else if known == Some(now[at]) {
            Some(Outcome::Change)
        } else if known == Some(file[at]) {
            Some(Outcome::Newer)
        } else {
            Some(Outcome::Conflict)
        };
        let is_cautious = plan.deletion.is_some() || found == Some(Outcome::Conflict);
        assert!(
            found == expected || !is_calm && is_cautious,
            "{at}: {found:?} in place of {expected:?}: {dataset:?}"
        );
    }
}

proptest! {
    #[test]
    fn each_side_gets_the_edits_of_the_other_or_a_conflict(steps in steps(RETAINED - 1, true)) {
        let mut world = World::new();
        for step in &steps {
            world.step(step, true);
        }
    }

    #[test]
    fn no_edit_is_lost_whatever_else_happens(steps in steps(80, false)) {
        let mut world = World::new();
        for step in &steps {
            world.step(step, false);
        }
    }

    #[test]
    fn after_apply_and_export_there_is_nothing_to_plan(steps in steps(40, true)) {
        let mut world = World::new();
        for step in &steps {
            world.step(step, false);
        }
        world.apply([true; DATASETS], false);
        prop_assert!(world.export(false), "an export after an apply fails");
    }
}

/// The locked version, with other values than those of the version with the number now.
#[test]
fn another_version_with_the_locked_number_is_no_base() {
    let mut world = World::new();
    let dataset = &mut world.datasets[0];
    dataset.versions.clear();
    dataset.put([Some("c"), Some("b")], None);
    let (plan, _) = dataset.plan(false).unwrap();
    assert_eq!(outcome(&plan, 0), Some(Outcome::Conflict));
    assert_eq!(outcome(&plan, 1), None);
    // Nor is a version that the catalog does not have yet.
    let lock = dataset.lock.as_mut().unwrap();
    let locked: &mut LockedAspect = lock.aspects.get_mut(COLUMNS_ASPECT).unwrap();
    locked.version = 9;
    let (plan, _) = dataset.plan(false).unwrap();
    assert_eq!(outcome(&plan, 0), Some(Outcome::Conflict));
}

#[test]
fn a_new_file_fills_what_is_empty() {
    let mut world = World::new();
    let dataset = &mut world.datasets[0];
    dataset.lock = None;
    dataset.put([None, Some("b")], None);
    dataset.file = Some([Some("a"), Some("c")]);
    let (plan, _) = dataset.plan(false).unwrap();
    assert_eq!(outcome(&plan, 0), Some(Outcome::Change));
    assert_eq!(outcome(&plan, 1), Some(Outcome::Conflict));
    let (plan, _) = dataset.plan(true).unwrap();
    assert_eq!(outcome(&plan, 1), Some(Outcome::Change));
}

#[test]
fn a_deleted_entity_is_a_conflict_and_says_whether_its_file_has_changed() {
    let mut world = World::new();
    let dataset = &mut world.datasets[0];
    dataset.created = None;
    let deletion = dataset.plan(false).unwrap().0.deletion.unwrap();
    assert!(!deletion.is_file_changed);
    dataset.file = Some([Some("a"), Some("c")]);
    let (plan, _) = dataset.plan(false).unwrap();
    assert!(plan.deletion.unwrap().is_file_changed);
    assert!(plan.differences.is_empty() && !plan.is_new);
}
