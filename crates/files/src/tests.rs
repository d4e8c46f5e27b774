//! Whole round trips: what people wrote, as files, and back.

use std::collections::BTreeMap;

use docent_model::Urn;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::codec::Stamp;
use crate::compare::{Comparison, Outcome};
use crate::document::{self, FileEntity};
use crate::entity::{Aspect, COLUMNS_ASPECT, COLUMNS_LIST, Entity, PartId};
use crate::kinds::{self, COLUMN_PARTS, Kind, Part};
use crate::lock::LockEntry;
use crate::names::Names;
use crate::shape::{Shape, is_empty};
use crate::values::part_values;

const PROJECT: &str = "0123abcd";
const COLUMNS: [&str; 3] = ["user_id", "[version=2.0].[type=string].a", "é: #1"];

fn stamp() -> Stamp {
    Stamp {
        time_ms: 1_700_000_000_000,
        actor: "urn:li:corpuser:ada".to_owned(),
    }
}

fn urn(text: &str) -> Urn {
    Urn::parse(text).unwrap()
}

/// Four entities of each type with names: a usual one, two with the same name, one that is no
/// name.
fn names() -> Names {
    let mut names = Names::default();
    for (entity_type, _) in crate::names::named_types() {
        for (id, name) in [
            ("a", "Gold: \"x\""),
            ("b", "same"),
            ("c", "same"),
            ("d", "urn:li:x"),
        ] {
            names.add(&urn(&format!("urn:li:{entity_type}:{id}")), name);
        }
    }
    names
}

fn texts() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "a", " ", "\n", "\n\n", "# x", ": ", "- ", "'", "\"", "no", "12", "é", "🚀", "\t", "|",
        "\r", "word", "~", "null",
    ]);
    let mixed = prop::collection::vec(words, 1..9).prop_map(|words| words.concat());
    prop_oneof![3 => mixed, 1 => "[A-Z][a-z ]{0,120}", 1 => any::<String>()]
}

fn reference(types: &'static [&'static str]) -> BoxedStrategy<Value> {
    let id = prop::sample::select(vec!["a", "b", "c", "d", "unnamed"]);
    match types.first() {
        Some(entity_type) => id
            .prop_map(move |id| json!(format!("urn:li:{entity_type}:{id}")))
            .boxed(),
        None => id
            .prop_map(|id| {
                json!(format!(
                    "urn:li:dataset:(urn:li:dataPlatform:hive,{id},PROD)"
                ))
            })
            .boxed(),
    }
}

/// Plain values of a shape, as people write them.
fn values(shape: Shape) -> BoxedStrategy<Value> {
    match shape {
        Shape::Text => texts().prop_map(Value::from).boxed(),
        Shape::Flag => Just(json!(true)).boxed(),
        Shape::Scalar => prop_oneof![
            texts().prop_map(Value::from),
            (-1_000_000_i64..1_000_000).prop_map(Value::from),
            (-1e6..1e6_f64).prop_map(|it| crate::shape::plain_number(
                &serde_json::Number::from_f64(it + 0.5).unwrap()
            )),
        ]
        .boxed(),
        Shape::Time => (0..4_000_000_000_000_i64).prop_map(Value::from).boxed(),
        Shape::Choice(choices) => prop::sample::select(choices).prop_map(Value::from).boxed(),
        Shape::Short(prefix) => "[a-z]{1,8}"
            .prop_map(move |id| json!(format!("{prefix}{id}")))
            .boxed(),
        Shape::Reference(types) => reference(types),
        Shape::List(shape) | Shape::OneOrMany(shape) => prop::collection::vec(values(*shape), 1..4)
            .prop_map(Value::Array)
            .boxed(),
        Shape::Record(fields) => {
            let members = fields.iter().map(|field| {
                let value = values(field.shape);
                let value = if field.is_required {
                    value.prop_map(Some).boxed()
                } else {
                    prop::option::of(value).boxed()
                };
                let key = field.key;
                value.prop_map(move |value| {
                    let value = value.filter(|value| !value.is_null());
                    value.map(|value| (key.to_owned(), value))
                })
            });
            let members: Vec<_> = members.collect();
            members
                .prop_map(|it| Value::Object(it.into_iter().flatten().collect()))
                .boxed()
        }
        Shape::TextMap => prop::collection::btree_map(texts(), texts(), 1..3)
            .prop_map(|it| json!(it))
            .boxed(),
        Shape::ReferenceMap(types, shape) => {
            let pair = (reference(types), values(*shape));
            let pairs = prop::collection::vec(pair, 1..4);
            pairs
                .prop_map(|pairs| {
                    let pairs = pairs.into_iter();
                    let pairs = pairs.map(|(key, value)| (key.as_str().unwrap().to_owned(), value));
                    Value::Object(pairs.collect())
                })
                .boxed()
        }
    }
}

fn owners() -> BoxedStrategy<Value> {
    let user = "[a-z]{1,6}".prop_map(|id| json!({"user": format!("urn:li:corpuser:{id}")}));
    let group = reference(&["corpGroup"]).prop_map(|urn| json!({"group": urn}));
    let built_in = prop::sample::select(vec!["technical_owner", "dataowner", "none", "custom"]);
    let built_in = built_in.prop_map(|it| json!(format!("urn:li:ownershipType:__system__{it}")));
    let kind = prop_oneof![built_in.boxed(), reference(&["ownershipType"])];
    let owner = (prop_oneof![user, group], kind).prop_map(|(mut owner, kind)| {
        owner["type"] = kind;
        owner
    });
    prop::collection::vec(owner, 1..4)
        .prop_map(Value::Array)
        .boxed()
}

fn part_strategy(part: &Part) -> BoxedStrategy<Option<Value>> {
    let values = match part.key {
        "owners" => owners(),
        _ => values(part.shape),
    };
    let values = values.prop_filter("empty values are none", |value| !is_empty(value));
    if part.is_required {
        values.prop_map(Some).boxed()
    } else {
        prop::option::of(values).boxed()
    }
}

fn entity_urn(kind: &Kind) -> Urn {
    urn(match kind.entity_type {
        "dataset" => "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)",
        "dashboard" => "urn:li:dashboard:(looker,1)",
        "chart" => "urn:li:chart:(looker,1)",
        "dataFlow" => "urn:li:dataFlow:(airflow,nightly,prod)",
        "dataJob" => "urn:li:dataJob:(urn:li:dataFlow:(airflow,nightly,prod),load)",
        "mlModel" => "urn:li:mlModel:(urn:li:dataPlatform:mlflow,m,PROD)",
        "mlModelGroup" => "urn:li:mlModelGroup:(urn:li:dataPlatform:mlflow,g,PROD)",
        other => return urn(&format!("urn:li:{other}:x")),
    })
}

fn aspect(value: Value) -> Aspect {
    Aspect {
        value,
        version: 1,
        project: None,
    }
}

/// What connectors ingest about the entity.
fn ingested(kind: &Kind) -> Entity {
    let mut aspects = BTreeMap::new();
    if kind.has_columns {
        let fields = COLUMNS.map(|path| json!({"fieldPath": path, "nativeDataType": "int"}));
        aspects.insert(
            "schemaMetadata".to_owned(),
            aspect(json!({"fields": fields})),
        );
    }
    Entity {
        urn: entity_urn(kind),
        created: 7,
        aspects,
    }
}

/// Entities of each kind with values for each part and column.
fn written() -> impl Strategy<Value = (&'static Kind, Entity)> {
    let kinds = prop::sample::select(kinds::all().iter().collect::<Vec<_>>());
    kinds.prop_flat_map(|kind| {
        let of_entity: Vec<_> = kind.parts.iter().map(part_strategy).collect();
        let columns = if kind.has_columns { &COLUMNS[..] } else { &[] };
        let of_columns: Vec<Vec<_>> = columns
            .iter()
            .map(|_| COLUMN_PARTS.iter().map(part_strategy).collect())
            .collect();
        (of_entity, of_columns).prop_map(move |(of_entity, of_columns)| {
            let mut written: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
            for (part, value) in kind.parts.iter().zip(of_entity) {
                if value.is_some() {
                    let members = written.entry(part.aspect);
                    let members =
                        members.or_insert_with(|| kinds::new_aspect(part.aspect, &stamp()));
                    part.codec.write(members, value.as_ref(), &stamp());
                }
            }
            let mut entity = ingested(kind);
            let mut records = Vec::new();
            for (path, values) in columns.iter().zip(of_columns) {
                let mut record = Map::new();
                record.insert("fieldPath".to_owned(), json!(path));
                for (part, value) in COLUMN_PARTS.iter().zip(values) {
                    if value.is_some() {
                        part.codec.write(&mut record, value.as_ref(), &stamp());
                    }
                }
                if record.len() > 1 {
                    records.push(Value::Object(record));
                }
            }
            if !records.is_empty() {
                let value = json!({COLUMNS_LIST: records});
                entity
                    .aspects
                    .insert(COLUMNS_ASPECT.to_owned(), aspect(value));
            }
            for (name, members) in written {
                entity
                    .aspects
                    .insert(name.to_owned(), aspect(Value::Object(members)));
            }
            (kind, entity)
        })
    })
}

fn exported(kind: &'static Kind, entity: &Entity) -> String {
    document::one_to_text(document::render(kind, entity, &names()))
}

fn read(text: &str) -> FileEntity {
    let mut problems = Vec::new();
    let mut entities = document::parse(text, &mut problems);
    assert_eq!(problems, [], "{text}");
    let entity = entities.pop().unwrap().read(&names(), &mut problems);
    assert_eq!(problems, [], "{text}");
    entity
}

/// The entity after an apply of the file; `None` if there was nothing to do.
fn applied(file: &FileEntity, exported: &Entity, before: &Entity) -> Option<Entity> {
    let exported = LockEntry::of(file.kind, exported);
    let comparison = Comparison {
        file,
        catalog: Some(before),
        lock: None,
        exported: Some(&exported),
        project: PROJECT,
    };
    let mut problems = Vec::new();
    let plan = comparison.plan(&BTreeMap::new(), false, &mut problems);
    assert!(
        plan.differences
            .iter()
            .all(|it| it.outcome == Outcome::Change),
        "{plan:?}"
    );
    let writes = comparison.writes(&plan, &stamp(), &mut problems);
    assert_eq!(problems, []);
    let mut after = before.clone();
    let is_changed = !writes.is_empty();
    for write in writes {
        after
            .aspects
            .insert(write.aspect.to_owned(), aspect(write.value));
    }
    is_changed.then_some(after)
}

proptest! {
    #[test]
    fn what_people_write_survives_export_and_apply((kind, entity) in written()) {
        let text = exported(kind, &entity);
        let file = read(&text);
        prop_assert!(applied(&file, &entity, &entity).is_none(), "an export has changes: {}", text);
        let base = ingested(kind);
        let restored = applied(&file, &entity, &base).unwrap_or(base);
        prop_assert_eq!(part_values(kind, &entity), part_values(kind, &restored), "{}", text);
        prop_assert_eq!(exported(kind, &restored), text);
    }
}

fn dataset(aspects: &[(&str, Value)]) -> Entity {
    let kind = kinds::of_type("dataset").unwrap();
    let mut entity = ingested(kind);
    for (name, value) in aspects {
        entity
            .aspects
            .insert((*name).to_owned(), aspect(value.clone()));
    }
    entity
}

#[test]
fn what_files_do_not_show_stays() {
    let attribution = json!({"time": 1, "actor": "urn:li:corpuser:bot", "sourceDetail": {}});
    let entity = dataset(&[
        (
            "globalTags",
            json!({"tags": [
                {"tag": "urn:li:tag:a", "attribution": attribution},
                {"tag": "urn:li:tag:z"},
            ]}),
        ),
        (
            "ownership",
            json!({
                "owners": [{"owner": "urn:li:corpuser:x", "type": "DATAOWNER", "source": {"type": "SERVICE"}}],
                "lastModified": {"time": 0, "actor": "urn:li:corpuser:unknown"},
            }),
        ),
        (
            COLUMNS_ASPECT,
            json!({COLUMNS_LIST: [
                {"fieldPath": "user_id", "description": "old", "jsonProps": "{}"},
            ]}),
        ),
    ]);
    let file = read(
        "urn: urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)\n\
         tags: [urn:li:tag:new, 'Gold: \"x\"']\n\
         owners:\n- {user: x, type: 'urn:li:ownershipType:__system__dataowner'}\n- {user: y}\n\
         columns:\n- {name: user_id, description: ''}\n",
    );
    let comparison = Comparison {
        file: &file,
        catalog: Some(&entity),
        lock: None,
        exported: None,
        project: PROJECT,
    };
    let plan = comparison.plan(&BTreeMap::new(), true, &mut Vec::new());
    let writes = comparison.writes(&plan, &stamp(), &mut Vec::new());
    let written = |aspect: &str| {
        let write = writes.iter().find(|write| write.aspect == aspect);
        write.unwrap().value.clone()
    };
    assert_eq!(
        written("globalTags"),
        json!({"tags": [{"tag": "urn:li:tag:new"}, {"tag": "urn:li:tag:a", "attribution": attribution}]})
    );
    let owners = written("ownership");
    assert_eq!(
        owners["owners"][0],
        entity.aspects["ownership"].value["owners"][0]
    );
    assert_eq!(owners["owners"][1]["type"], "TECHNICAL_OWNER");
    assert_eq!(
        owners["ownerTypes"],
        json!({
            "urn:li:ownershipType:__system__dataowner": ["urn:li:corpuser:x"],
            "urn:li:ownershipType:__system__technical_owner": ["urn:li:corpuser:y"],
        })
    );
    let columns = written(COLUMNS_ASPECT);
    assert_eq!(
        columns[COLUMNS_LIST],
        json!([{"fieldPath": "user_id", "jsonProps": "{}"}])
    );
}

#[test]
fn errors_have_lines_and_come_together() {
    let text = "\
- urn: urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)
  descripton: x
  tags: pii
  domain: Nowhere
  owners:
    - {user: a, group: same}
  terms: [same]
  columns:
    - name: user_id
    - name: user_id
    - description: y
    - {name: b, color: red}
  deprecated: {until: tomorrow}
- urn: urn:li:corpuser:x
- urn: urn:li:dataset:x
- name: x
- urn: urn:li:tag:x
  name: ''
";
    let mut problems = Vec::new();
    let entities = document::parse(text, &mut problems);
    for entity in entities {
        entity.read(&names(), &mut problems);
    }
    problems.sort();
    let found: Vec<String> = problems
        .iter()
        .map(|it| format!("{}: {}", it.line, it.message))
        .collect();
    let found = found.join("\n");
    for expected in [
        "2: unknown key 'descripton': use one of urn, name, description,",
        "3: expected a list, found a single value",
        "4: there is no domain with the name 'Nowhere'",
        "6: several corpGroups have the name 'same'",
        "7: several glossaryTerms have the name 'same': write 'same <urn:li:glossaryTerm:b>'",
        "10: the column 'user_id' is already in line 9",
        "11: each column needs the key 'name'",
        "12: unknown key 'color'",
        "13: 'tomorrow' is not a time",
        "13: the key 'note' is missing",
        "14: files cannot have a corpuser",
        "15: ",
        "16: the key 'urn' is missing",
        "18: 'name' must not be empty",
    ] {
        let is_found = found.lines().any(|line| line.starts_with(expected));
        assert!(is_found, "{expected}\n{found}");
    }
}

#[test]
fn unknown_columns_and_entities_are_errors_where_the_catalog_knows_better() {
    let file = read(
        "urn: urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)\ncolumns:\n- name: nope\n",
    );
    let entity = dataset(&[]);
    let compare = |catalog: Option<&Entity>| {
        let comparison = Comparison {
            file: &file,
            catalog,
            lock: None,
            exported: None,
            project: PROJECT,
        };
        let mut problems = Vec::new();
        comparison.plan(&BTreeMap::new(), false, &mut problems);
        problems
            .into_iter()
            .map(|it| (it.line, it.message))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        compare(Some(&entity)),
        [(3, "the dataset has no column 'nope'".to_owned())]
    );
    let (line, message) = compare(None).remove(0);
    assert_eq!(line, 1);
    assert!(message.contains("is not in the catalog"), "{message}");
}

#[test]
fn a_key_that_an_export_wrote_and_a_file_lost_is_reported() {
    let entity = dataset(&[("globalTags", json!({"tags": [{"tag": "urn:li:tag:a"}]}))]);
    let kind = kinds::of_type("dataset").unwrap();
    let lock = LockEntry::of(kind, &entity);
    let file = read("urn: urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)\n");
    let comparison = Comparison {
        file: &file,
        catalog: Some(&entity),
        lock: Some(&lock),
        exported: None,
        project: PROJECT,
    };
    let plan = comparison.plan(&BTreeMap::new(), false, &mut Vec::new());
    let tags = PartId {
        column: None,
        key: "tags",
    };
    assert_eq!(plan.unmentioned, [tags]);
    assert!(plan.differences.is_empty());
}

#[test]
fn a_key_that_a_file_never_had_or_has_with_an_error_is_not_reported_as_lost() {
    let kind = kinds::of_type("dataset").unwrap();
    let lock = LockEntry::of(kind, &dataset(&[]));
    let tags = ("globalTags", json!({"tags": [{"tag": "urn:li:tag:a"}]}));
    let domains = ("domains", json!({"domains": ["urn:li:domain:a"]}));
    let entity = dataset(&[tags, domains]);
    let file = "urn: urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)\ndomain: Nowhere\n";
    let raw = document::parse(file, &mut Vec::new()).remove(0);
    let file = raw.read(&Names::default(), &mut Vec::new());
    let comparison = Comparison {
        file: &file,
        catalog: Some(&entity),
        lock: Some(&lock),
        exported: None,
        project: PROJECT,
    };
    let plan = comparison.plan(&BTreeMap::new(), false, &mut Vec::new());
    assert_eq!(plan.unmentioned, []);
    let newer = plan.differences.iter();
    let newer: Vec<_> = newer.map(|it| (it.part.key, it.outcome)).collect();
    assert_eq!(newer, [("tags", Outcome::Newer)]);
}
