//! Measures the engine with a cached document, with and without the store.
//!
//! `cargo run --release -p docent-graphql --example cached_execute [part of a name]`

use std::sync::Arc;
use std::time::Instant;

use docent_catalog::{Caller, Catalog, Proposal, ReadRequest};
use docent_graphql::{Context, Engine, Request, Resolvers, Schema};
use docent_model::{Registry, SystemClock, Urn};
use docent_store_sqlite::{OpenOptions, SqliteStore};
use serde_json::{Map, Value};

const SDL: &str = r#"
directive @entity(type: String!) on OBJECT | ENUM_VALUE
directive @aspect(name: String!, path: [String!]) repeatable on FIELD_DEFINITION
directive @urn on FIELD_DEFINITION
directive @mustExist on FIELD_DEFINITION
type Query { dataset(urn: String!): Dataset @mustExist free(urn: String!): Dataset }
type Dataset @entity(type: "dataset") { urn: String! @urn properties: Properties @aspect(name: "datasetProperties") }
type Properties { description: String name: String }
"#;

const DATASET: &str = "urn:li:dataset:(urn:li:dataPlatform:hive,db.table,PROD)";

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    runtime.block_on(run())
}

async fn run() -> Result<(), Failure> {
    let directory = tempfile::TempDir::new()?;
    let store = SqliteStore::open(&directory.path().join("t.db"), OpenOptions::default())?;
    let catalog = Catalog::new(Arc::new(store), Arc::new(SystemClock));
    let caller = Caller::new(Urn::parse("urn:li:corpuser:a")?);
    let aspect = Registry::get()
        .aspect("datasetProperties")
        .ok_or("unknown aspect")?;
    let urn = Urn::parse(DATASET)?;
    let text = r#"{"description":"A description of some forty characters.","customProperties":{},"tags":[]}"#;
    catalog
        .ingest(
            &caller,
            vec![Proposal::upsert(urn.clone(), aspect, text.to_owned())],
        )
        .await?;
    let resolvers = Resolvers::new()
        .query_by_urn("dataset")
        .query_by_urn("free");
    let engine = Engine::new(Schema::load(&[("sdl", SDL)], resolvers)?);
    let context = Context::new(catalog.clone(), caller.clone());

    let literal = format!(r#"{{ dataset(urn: "{DATASET}") {{ properties {{ description }} }} }}"#);
    let variable = "query($urn: String!) { dataset(urn: $urn) { properties { description } } }";
    let free = format!(r#"{{ free(urn: "{DATASET}") {{ properties {{ description }} }} }}"#);
    let no_read = format!(r#"{{ free(urn: "{DATASET}") {{ urn }} }}"#);
    let mut variables = Map::new();
    variables.insert("urn".to_owned(), Value::from(DATASET));
    for (name, query, variables) in [
        ("literal URN, two aspects", literal.as_str(), Map::new()),
        ("variable URN, two aspects", variable, variables),
        ("literal URN, one aspect", free.as_str(), Map::new()),
        ("literal URN, no store call", no_read.as_str(), Map::new()),
    ] {
        measure(name, async || {
            let request = Request {
                query,
                operation_name: None,
                variables: variables.clone(),
            };
            engine.execute(&context, request).await.len()
        })
        .await;
    }
    let key_aspect = Registry::get().check_urn(&urn)?.key_aspect;
    for (name, keys) in [
        ("the store alone, two aspects", vec![aspect, key_aspect]),
        ("the store alone, one aspect", vec![aspect]),
    ] {
        let keys: Vec<_> = keys
            .into_iter()
            .map(|aspect| docent_catalog::AspectKey::new(&urn, aspect))
            .collect();
        measure(name, async || {
            catalog
                .read(ReadRequest::rows(&keys))
                .await
                .map_or(0, |reply| reply.rows.len())
        })
        .await;
    }
    Ok(())
}

#[expect(clippy::print_stdout, reason = "prints results for people")]
async fn measure(name: &str, run: impl AsyncFn() -> usize) {
    const TIMES: u32 = 200_000;
    if std::env::args()
        .nth(1)
        .is_some_and(|only| !name.contains(&only))
    {
        return;
    }
    for _ in 0..1000 {
        run().await;
    }
    let start = Instant::now();
    let mut bytes = 0;
    for _ in 0..TIMES {
        bytes += run().await;
    }
    println!(
        "{name}: {:?} ({} bytes)",
        start.elapsed() / TIMES,
        bytes / TIMES as usize
    );
}
