use docent_catalog::Error;
use serde_json::Value;

use super::*;
use crate::resolve::{Args, BatchResult, Context, EntityView};

const DIRECTIVES: &str = include_str!("../../schema/directives.graphql");

async fn root(_: &Context, _: Args<'_>) -> Result<Value, Error> {
    Ok(Value::Null)
}

async fn batch(_: &Context, _: &[EntityView<'_>], _: Args<'_>) -> BatchResult {
    Ok(Vec::new())
}

fn load(sdl: &str, resolvers: Resolvers) -> Result<Schema, SchemaError> {
    let directives: String = DIRECTIVES
        .lines()
        .filter(|line| line.starts_with("directive ") || line.starts_with("scalar "))
        .collect::<Vec<_>>()
        .join("\n");
    Schema::load(&[("directives", &directives), ("test", sdl)], resolvers)
}

/// The only problem of a dataset type with this field.
fn problem(field: &str) -> String {
    let sdl = format!(
        "type Query {{ a: Dataset }}
        enum Color {{ RED }}
        type Plain {{ x: Int }}
        type Dataset @entity(type: \"dataset\") {{ {field} }}"
    );
    match load(&sdl, Resolvers::new().query("a", root)) {
        Err(SchemaError::Unusable(problems)) if problems.len() == 1 => problems[0].clone(),
        other => panic!("{field}: {other:?}"),
    }
}

#[test]
fn every_mistake_in_a_directive_is_reported() {
    for (field, reason) in [
        ("x: Int", "the field has no source"),
        (
            r#"x: Int @aspect(name: "nonsense")"#,
            "'nonsense' is not in the registry",
        ),
        (
            r#"x: Int @aspect(name: "DatasetProperties")"#,
            "'DatasetProperties' is not in the registry",
        ),
        (
            r#"x: Int @aspect(name: "domainProperties")"#,
            "'dataset' has no aspect 'domainProperties'",
        ),
        (r#"x: Int @path(at: ["x"])"#, "@path needs a JSON value"),
        (r#"x: Int @key(part: "guid")"#, "the key has no part 'guid'"),
        (r#"x: String @compose(text: "{urn")"#, "braces"),
        (r#"x: Int @urn @default(value: "{")"#, "not JSON"),
        (r#"x: Int @resolve(by: "nobody")"#, "no resolver 'nobody'"),
        (
            r#"x(a: Int): Int @resolve(by: "nobody", path: "y")"#,
            "fields without arguments",
        ),
        ("x: String @urn @entries", "@entries needs a list type"),
    ] {
        let problem = problem(field);
        assert!(problem.starts_with("Dataset.x: "), "{problem}");
        assert!(problem.contains(reason), "{problem}");
    }
}

#[test]
fn resolvers_must_match_the_fields_of_the_schema() {
    let sdl = "schema { query: Query mutation: Mutation }
        type Query { a: Int b: Int }
        type Mutation { c: Int }
        type Plain { x: Int @aspect(name: \"status\") y: Boolean @exists }";
    let resolvers = Resolvers::new()
        .query("a", root)
        .query("a", root)
        .query("z", root)
        .mutation("a", root)
        .entity_field("unused", batch);
    let Err(SchemaError::Unusable(problems)) = load(sdl, resolvers) else {
        panic!()
    };
    let all = problems.join("\n");
    for expected in [
        "'a' is registered twice",
        "Query.b: no resolver is registered",
        "Mutation.c: no resolver is registered",
        "'z' has no field in the query type",
        "'a' has no field in the mutation type",
        "'unused' is not used by any field",
        "Plain.x: @aspect needs an entity type",
        "Plain.y: @exists needs an entity type",
    ] {
        assert!(all.contains(expected), "{expected}:\n{all}");
    }
    assert_eq!(problems.len(), 8, "{all}");
}

#[test]
fn unknown_entity_types_and_invalid_sdl_are_reported() {
    let sdl = "type Query { a: Int } enum E { X @entity(type: \"Dataset\") } type T @entity(type: \"x\") { x: Int }";
    let Err(SchemaError::Unusable(problems)) = load(sdl, Resolvers::new().query("a", root)) else {
        panic!()
    };
    assert_eq!(
        problems,
        [
            "E.X: the entity type 'Dataset' is not in the registry",
            "T: the entity type 'x' is not in the registry"
        ]
    );
    let error = load("type Query { a: Nothing }", Resolvers::new()).unwrap_err();
    assert!(error.to_string().contains("Nothing"), "{error}");
}

#[test]
fn the_exported_schema_includes_directives() {
    let sdl = "type Query { a: D } type D @entity(type: \"dataset\") { urn: String! @urn }";
    let schema = load(sdl, Resolvers::new().query("a", root)).unwrap();
    let exported = schema.sdl();
    assert!(
        exported.contains("type D @entity(type: \"dataset\")"),
        "{exported}"
    );
    assert!(
        exported.contains("directive @urn on FIELD_DEFINITION"),
        "{exported}"
    );
}
