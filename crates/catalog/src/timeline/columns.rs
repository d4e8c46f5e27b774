//! The changes of the columns of a dataset.
//!
//! A column is known by its field path. One that disappears while another appears beside it, with
//! the same type and description, was renamed. Field paths of the second version contain types, so
//! a change of the type moves the path; such columns are paired by the path without types.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use docent_model::Urn;
use docent_search::simple_path;
use serde_json::{Map, Value, json};

use super::{Category, Event, Operation, Weight};

/// The columns of a schema, by field path.
type Columns<'v> = BTreeMap<&'v str, &'v Value>;

/// The changes from one version of `schemaMetadata` to the next.
pub(super) fn compare(urn: &Urn, old: Option<&Value>, new: &Value) -> Vec<Event> {
    let before = old.map(columns).unwrap_or_default();
    let after = columns(new);
    let only = |these: &Columns<'_>, others: &Columns<'_>| -> Vec<String> {
        let paths = these.keys().filter(|path| !others.contains_key(*path));
        paths.map(|path| (*path).to_owned()).collect()
    };
    let moved = Moved::between(&before, &after);
    let removed = only(&before, &after);
    let added = only(&after, &before);
    let mut changes = Vec::new();
    // Columns that are reported together with an earlier one.
    let mut done: HashSet<(bool, &str)> = HashSet::new();
    let paths: BTreeSet<&str> = before.keys().chain(after.keys()).copied().collect();
    for path in paths {
        let (was, is) = (before.get(path).copied(), after.get(path).copied());
        if let (Some(was), Some(is)) = (was, is) {
            if native_type(was) != native_type(is) {
                let (from, to) = (native_type(was), native_type(is));
                changes.push(type_changed(urn, was, path, from, to));
            }
            continue;
        }
        let Some(column) = was.or(is) else {
            continue;
        };
        let is_removed = was.is_some();
        if done.contains(&(is_removed, path)) {
            continue;
        }
        let simple = simple_path(path);
        if let Some((from, to)) = moved.groups.get(&*simple) {
            let native = |paths: &[String], columns: &Columns<'_>| {
                let types: BTreeSet<&str> = paths
                    .iter()
                    .filter_map(|path| columns.get(path.as_str()))
                    .map(|column| native_type(column))
                    .collect();
                types.into_iter().collect::<Vec<_>>().join(", ")
            };
            let (old_type, new_type) = (native(from, &before), native(to, &after));
            let first = from.first().and_then(|path| before.get(path.as_str()));
            if let Some(first) = first.filter(|_| old_type != new_type) {
                changes.push(type_changed(urn, first, &simple, &old_type, &new_type));
            }
            done.extend(paths_of(&before, from).map(|path| (true, path)));
            done.extend(paths_of(&after, to).map(|path| (false, path)));
            continue;
        }
        let (candidates, others) = if is_removed {
            (&added, &after)
        } else {
            (&removed, &before)
        };
        let renamed = candidates
            .iter()
            .filter(|other| other.as_str() > path)
            .filter(|other| !moved.groups.contains_key(&*simple_path(other)))
            .filter_map(|other| others.get_key_value(other.as_str()))
            .filter(|(other, _)| !done.contains(&(!is_removed, **other)))
            .find(|(other, candidate)| {
                is_same_column(column, candidate) && parent(path) == parent(other)
            });
        changes.push(match renamed {
            Some((other, candidate)) => {
                done.insert((!is_removed, *other));
                if is_removed {
                    renaming(urn, column, path, other)
                } else {
                    renaming(urn, candidate, other, path)
                }
            }
            None if is_removed => single(urn, column, path, Operation::Remove),
            None => single(urn, column, path, Operation::Add),
        });
    }
    changes.extend(key_changes(urn, old, new));
    changes
}

fn paths_of<'v>(columns: &Columns<'v>, paths: &[String]) -> impl Iterator<Item = &'v str> {
    let found = paths.iter().filter_map(|path| {
        let (path, _) = columns.get_key_value(path.as_str())?;
        Some(*path)
    });
    found.collect::<Vec<_>>().into_iter()
}

/// The URN of a column.
pub(super) fn column_urn(dataset: &Urn, path: &str) -> String {
    format!("urn:li:schemaField:({dataset},{path})")
}

fn columns(schema: &Value) -> Columns<'_> {
    let fields = schema.get("fields").and_then(Value::as_array);
    let with_path = |field| Some((text(field, "fieldPath")?, field));
    fields.into_iter().flatten().filter_map(with_path).collect()
}

fn text<'v>(value: &'v Value, member: &str) -> Option<&'v str> {
    value.get(member).and_then(Value::as_str)
}

fn native_type(column: &Value) -> &str {
    text(column, "nativeDataType").unwrap_or_default()
}

fn is_same_column(column: &Value, other: &Value) -> bool {
    native_type(column) == native_type(other)
        && text(column, "description") == text(other, "description")
}

/// The path of the record that contains the column.
fn parent(path: &str) -> Option<&str> {
    path.rsplit_once('.').map(|(parent, _)| parent)
}

/// Columns whose paths differ only in their types, by the path without types: the paths before and
/// after.
struct Moved {
    groups: BTreeMap<String, (Vec<String>, Vec<String>)>,
}

impl Moved {
    fn between(before: &Columns<'_>, after: &Columns<'_>) -> Self {
        let mut groups: BTreeMap<String, (Vec<String>, Vec<String>)> = BTreeMap::new();
        for path in before.keys().filter(|path| !after.contains_key(*path)) {
            let group = groups.entry(simple_path(path).into_owned()).or_default();
            group.0.push((*path).to_owned());
        }
        for path in after.keys().filter(|path| !before.contains_key(*path)) {
            let group = groups.entry(simple_path(path).into_owned()).or_default();
            group.1.push((*path).to_owned());
        }
        groups.retain(|_, (from, to)| !from.is_empty() && !to.is_empty());
        Self { groups }
    }
}

fn event(
    urn: &Urn,
    column: &Value,
    operation: Operation,
    weight: Weight,
    (kind, description): (&str, String),
) -> Event {
    let path = text(column, "fieldPath").unwrap_or_default();
    let column_urn = column_urn(urn, path);
    let mut parameters = Map::new();
    parameters.insert("fieldPath".to_owned(), path.into());
    parameters.insert("fieldUrn".to_owned(), column_urn.as_str().into());
    // False unless a schema says otherwise.
    let is_nullable = column.get("nullable").and_then(Value::as_bool);
    parameters.insert(
        "nullable".to_owned(),
        is_nullable.unwrap_or_default().into(),
    );
    parameters.insert("modificationCategory".to_owned(), kind.into());
    Event {
        entity: urn.as_str().to_owned(),
        aspect: "schemaMetadata",
        category: Category::TechnicalSchema,
        operation,
        weight,
        modifier: Some(column_urn),
        column: Some(path.to_owned()),
        parameters,
        description,
    }
}

fn single(urn: &Urn, column: &Value, path: &str, operation: Operation) -> Event {
    let (weight, verb) = match operation {
        Operation::Remove => (Weight::Major, "removed"),
        _ => (Weight::Minor, "added"),
    };
    let description = format!("The column '{}' was {verb}.", simple_path(path));
    event(urn, column, operation, weight, ("OTHER", description))
}

fn renaming(urn: &Urn, column: &Value, from: &str, to: &str) -> Event {
    let (old, new) = (simple_path(from), simple_path(to));
    let change = (
        "RENAME",
        format!("The column '{old}' was renamed to '{new}'."),
    );
    Event {
        column: Some(to.to_owned()),
        ..event(urn, column, Operation::Modify, Weight::Minor, change)
    }
}

fn type_changed(urn: &Urn, column: &Value, path: &str, from: &str, to: &str) -> Event {
    let path = simple_path(path);
    let description = format!("The type of column '{path}' was changed from '{from}' to '{to}'.");
    let change = ("TYPE_CHANGE", description);
    event(urn, column, Operation::Modify, Weight::Major, change)
}

/// Columns that became part of the primary key, or no longer are.
fn key_changes(urn: &Urn, old: Option<&Value>, new: &Value) -> Vec<Event> {
    fn keys(schema: &Value) -> BTreeSet<&str> {
        let keys = schema.get("primaryKeys").and_then(Value::as_array);
        let keys = keys.into_iter().flatten();
        keys.filter_map(Value::as_str).collect()
    }
    let before = old.map(keys).unwrap_or_default();
    let after = keys(new);
    let change = |path: &str, what: &str| {
        let description = format!("The column '{path}' was {what} the primary key.");
        let column = json!({"fieldPath": path});
        let change = ("OTHER", description);
        event(urn, &column, Operation::Modify, Weight::Major, change)
    };
    let removed = before.difference(&after);
    let added = after.difference(&before);
    removed
        .map(|path| change(path, "removed from"))
        .chain(added.map(|path| change(path, "added to")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(columns: &[(&str, &str, Option<&str>)]) -> Value {
        let field = |(path, native, description): &(&str, &str, Option<&str>)| json!({"fieldPath": path, "nativeDataType": native, "description": description});
        json!({"fields": columns.iter().map(field).collect::<Vec<_>>()})
    }

    fn changes(old: &Value, new: &Value) -> Vec<(Operation, Weight, String)> {
        let urn = Urn::parse("urn:li:dataset:(urn:li:dataPlatform:hive,t,PROD)").unwrap();
        let events = compare(&urn, Some(old), new);
        events
            .into_iter()
            .map(|event| (event.operation, event.weight, event.description))
            .collect()
    }

    #[test]
    fn a_column_with_another_name_and_the_same_content_was_renamed() {
        let old = schema(&[("id", "int", Some("The key.")), ("name", "text", None)]);
        let new = schema(&[("key", "int", Some("The key.")), ("name", "text", None)]);
        let expected = "The column 'id' was renamed to 'key'.".to_owned();
        assert_eq!(
            changes(&old, &new),
            [(Operation::Modify, Weight::Minor, expected)]
        );
        let back = "The column 'key' was renamed to 'id'.".to_owned();
        assert_eq!(
            changes(&new, &old),
            [(Operation::Modify, Weight::Minor, back)]
        );
        let other = schema(&[("key", "int", Some("Another.")), ("name", "text", None)]);
        let kinds: Vec<Operation> = changes(&old, &other).iter().map(|it| it.0).collect();
        assert_eq!(kinds, [Operation::Remove, Operation::Add]);
    }

    #[test]
    fn a_type_in_the_field_path_is_a_change_of_the_type() {
        let old = schema(&[("[version=2.0].[type=struct].[type=int].id", "int", None)]);
        let new = schema(&[("[version=2.0].[type=struct].[type=long].id", "bigint", None)]);
        let expected = "The type of column 'id' was changed from 'int' to 'bigint'.".to_owned();
        assert_eq!(
            changes(&old, &new),
            [(Operation::Modify, Weight::Major, expected)]
        );
        // The same columns in the other form of paths.
        assert_eq!(changes(&old, &schema(&[("id", "int", None)])), []);
    }

    #[test]
    fn a_change_of_the_primary_key_is_a_major_change() {
        let mut old = schema(&[("id", "int", None)]);
        let mut new = old.clone();
        old["primaryKeys"] = json!(["id"]);
        new["primaryKeys"] = json!([]);
        let expected = "The column 'id' was removed from the primary key.".to_owned();
        assert_eq!(
            changes(&old, &new),
            [(Operation::Modify, Weight::Major, expected)]
        );
    }

    #[test]
    fn a_column_is_not_nullable_unless_the_schema_says_so() {
        let urn = Urn::parse("urn:li:dataset:(urn:li:dataPlatform:hive,t,PROD)").unwrap();
        let mut new = schema(&[("id", "int", None), ("name", "text", None)]);
        new["fields"][1]["nullable"] = json!(true);
        let events = compare(&urn, None, &new);
        let nullable: Vec<&Value> = events.iter().map(|it| &it.parameters["nullable"]).collect();
        assert_eq!(nullable, [false, true]);
    }
}
