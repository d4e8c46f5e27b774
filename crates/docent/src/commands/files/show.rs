//! Prints plans.

use docent_files::Problem;
use docent_files::compare::{Difference, EntityPlan, Outcome};
use docent_files::document::value_text;
use serde_json::{Value, json};

use super::directory::FileProblem;
use super::plan::Plan;
use crate::commands::{counted, note, say};

/// Further errors are counted.
const MAX_ERRORS: usize = 100;
/// Longer texts are cut.
const MAX_LINES: usize = 12;

pub(super) fn print(plan: &Plan, json: bool) {
    if json {
        say(as_json(plan));
        return;
    }
    errors(&plan.problems);
    for (path, entity) in &plan.entities {
        print_entity(plan, path, entity);
    }
    for (path, entity) in &plan.entities {
        let parts: Vec<String> = entity.unmentioned.iter().map(ToString::to_string).collect();
        if !parts.is_empty() {
            note(format!(
                "{path} no longer mentions {} of {}, so that stays; an empty value such as '[]' removes it",
                parts.join(", "),
                entity.urn
            ));
        }
    }
    if plan.problems.is_empty() {
        say(summary(plan));
    }
}

pub(super) fn errors(problems: &[FileProblem]) {
    for FileProblem { path, problem } in problems.iter().take(MAX_ERRORS) {
        let Problem { line, message } = problem;
        say(format!("error: {path}:{line}: {message}"));
    }
    if let Some(more) = problems
        .len()
        .checked_sub(MAX_ERRORS)
        .filter(|more| *more > 0)
    {
        say(format!("and {more} more errors"));
    }
}

fn print_entity(plan: &Plan, path: &str, entity: &EntityPlan) {
    if entity.differences.is_empty() && entity.deletion.is_none() {
        return;
    }
    let new = if entity.is_new { " (new)" } else { "" };
    say(format!("{path}: {}{new}", entity.urn));
    if let Some(deletion) = entity.deletion {
        let advice = if deletion.is_file_changed {
            "remove it from the file"
        } else {
            "export again to remove it from the file"
        };
        let line = deletion.line;
        say(format!(
            "  conflict, line {line}: deleted in the catalog; {advice}, or create it again with --overwrite URN"
        ));
    }
    for difference in &entity.differences {
        let Difference { part, line, .. } = difference;
        let text =
            |value: &Option<Value>| value_text(entity.kind, part, value.as_ref(), &plan.names);
        let (catalog, file) = (text(&difference.catalog), text(&difference.file));
        match difference.outcome {
            Outcome::Change => {
                say(format!("  {part}"));
                print_value("    - ", &catalog);
                print_value("    + ", &file);
            }
            Outcome::Newer => {
                say(format!("  {part}: newer in the catalog, left alone"));
                print_value("    catalog: ", &catalog);
            }
            Outcome::Conflict => {
                say(format!("  {part}: conflict, line {line}"));
                print_value("    catalog: ", &catalog);
                print_value("    file:    ", &file);
            }
        }
    }
}

fn print_value(prefix: &str, text: &str) {
    let mut lines = text.lines();
    let Some(first) = lines.next() else {
        if prefix.contains(':') {
            say(format!("{prefix}(nothing)"));
        }
        return;
    };
    say(format!("{prefix}{first}"));
    let indent = " ".repeat(prefix.len());
    for line in lines.by_ref().take(MAX_LINES) {
        say(format!("{indent}{line}").trim_end());
    }
    let more = lines.count();
    if more > 0 {
        say(format!("{indent}… {more} more lines"));
    }
}

/// The numbers of changes, conflicts and values left alone.
pub(super) fn summary(plan: &Plan) -> String {
    let has_change = |entity: &EntityPlan| {
        entity
            .differences
            .iter()
            .any(|it| it.outcome == Outcome::Change)
    };
    let entities = plan
        .entities
        .iter()
        .filter(|(_, it)| has_change(it))
        .count();
    let changes = plan.count(Outcome::Change);
    let mut parts = vec![match changes {
        0 => "no changes".to_owned(),
        _ => format!(
            "{} of {}",
            counted(changes, "change", "changes"),
            counted(entities, "entity", "entities")
        ),
    }];
    let conflicts = plan.count(Outcome::Conflict);
    if conflicts > 0 {
        parts.push(counted(conflicts, "conflict", "conflicts"));
    }
    let newer = plan.count(Outcome::Newer);
    if newer > 0 {
        parts.push(format!("{newer} newer in the catalog"));
    }
    parts.join(", ")
}

fn as_json(plan: &Plan) -> Value {
    let mut differences = Vec::new();
    for (path, entity) in &plan.entities {
        if let Some(deletion) = entity.deletion {
            differences.push(json!({
                "file": path,
                "line": deletion.line,
                "urn": entity.urn.as_str(),
                "isNew": false,
                "part": null,
                "outcome": "DELETED",
                "catalog": null,
                "inFile": null,
            }));
        }
        for difference in &entity.differences {
            differences.push(json!({
                "file": path,
                "line": difference.line,
                "urn": entity.urn.as_str(),
                "isNew": entity.is_new,
                "part": difference.part.to_string(),
                "outcome": match difference.outcome {
                    Outcome::Change => "CHANGE",
                    Outcome::Newer => "NEWER",
                    Outcome::Conflict => "CONFLICT",
                },
                "catalog": difference.catalog,
                "inFile": difference.file,
            }));
        }
    }
    let errors = plan.problems.iter().map(|FileProblem { path, problem }| {
        json!({"file": path, "line": problem.line, "message": problem.message})
    });
    let errors: Vec<Value> = errors.collect();
    json!({
        "changes": plan.count(Outcome::Change),
        "conflicts": plan.count(Outcome::Conflict),
        "newer": plan.count(Outcome::Newer),
        "differences": differences,
        "errors": errors,
    })
}
