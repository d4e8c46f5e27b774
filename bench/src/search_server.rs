//! A minimal HTTP server for the search library: a store, an index and a few routes.
//!
//! It uses the same library and runtime as docent. To measure docent itself, see
//! `measure::search::graphql`.

use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result};
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::serve::ListenerExt as _;
use axum::{Json, Router};
use clap::Args;
use docent_model::aspects::AuditStamp;
use docent_model::{Registry, Urn, derive};
use docent_search::{
    Criterion, Facets, Filter, Operator, Search, SearchError, SearchPage, SearchRequest,
    SearchResults,
};
use docent_store::version::{self, NewAspect};
use docent_store::{AspectKey, Store, transact};
use docent_store_sqlite::{OpenOptions, SqliteStore};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use crate::search_data::{ACTOR, NOON_MS};

/// How many values of each facet the web page shows.
const FACET_VALUES: usize = 20;
const PAGE: usize = 10;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The database
    store: PathBuf,
    /// The directory of the index; without one, nothing can be searched
    index: Option<PathBuf>,
}

#[derive(Debug, Clone)]
struct Served {
    store: Arc<dyn Store>,
    search: Option<Search>,
}

/// Any error, as text. It ends the measurement.
struct Failure(String);

impl<E: std::fmt::Display> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        (StatusCode::INTERNAL_SERVER_ERROR, self.0).into_response()
    }
}

type Reply = Result<Json<Value>, Failure>;

/// Serves until it is stopped or standard input ends.
pub(crate) fn serve(options: &Options) -> Result<()> {
    std::thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    let store = SqliteStore::open(&options.store, OpenOptions::default())
        .with_context(|| format!("cannot open {}", options.store.display()))?;
    let store: Arc<dyn Store> = Arc::new(store);
    let search = options
        .index
        .as_ref()
        .map(|index| Search::in_directory(Arc::clone(&store), index))
        .transpose()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async move {
        let router = Router::new()
            .route("/prepare", post(prepare))
            .route("/search", post(search_for))
            .route("/complete", post(complete))
            .route("/write", post(write))
            .with_state(Served { store, search });
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        writeln!(std::io::stdout(), "listening on http://{address}")?;
        let listener = listener.tap_io(|stream| {
            let _ = stream.set_nodelay(true);
        });
        let mut terminated = signal(SignalKind::terminate())?;
        axum::serve(listener, router)
            .with_graceful_shutdown(async move {
                terminated.recv().await;
            })
            .await?;
        Ok(())
    })
}

fn open_search(served: &Served) -> Result<&Search, Failure> {
    served
        .search
        .as_ref()
        .ok_or_else(|| Failure("started without an index".to_owned()))
}

fn text<'v>(body: &'v Value, member: &str) -> Result<&'v str, Failure> {
    body.get(member)
        .and_then(Value::as_str)
        .ok_or_else(|| Failure(format!("the request has no {member}")))
}

/// Returns when the index is built.
async fn prepare(State(served): State<Served>) -> Reply {
    let search = open_search(&served)?;
    loop {
        match search.build_if_missing().await {
            Err(SearchError::Building { .. }) => {}
            prepared => return Ok(Json(json!(prepared.map(|()| true)?))),
        }
    }
}

async fn search_for(State(served): State<Served>, Json(body): Json<Value>) -> Reply {
    let request = SearchRequest {
        query: text(&body, "query")?.to_owned(),
        page: SearchPage::Offset {
            start: 0,
            count: PAGE,
        },
        facets: Facets::Default {
            values: FACET_VALUES,
        },
        explain_matches: true,
        view: view_of(&body),
        ..SearchRequest::default()
    };
    let found = open_search(&served)?.search(&request).await?;
    Ok(Json(json_of(&found)))
}

/// What a user with one view policy sees: the domains that it names, and everything below them.
fn view_of(body: &Value) -> Option<Arc<Filter>> {
    let domains = body.get("visibleDomains")?.as_array()?;
    let domains = domains.iter().filter_map(Value::as_str);
    let in_domains = Criterion {
        field: "domains".to_owned(),
        values: domains.map(str::to_owned).collect(),
        operator: Operator::InTree,
        negated: false,
    };
    Some(Arc::new(Filter::all(vec![in_domains])))
}

fn json_of(found: &SearchResults) -> Value {
    let hits: Vec<Value> = found
        .hits
        .iter()
        .map(|hit| {
            let matched: Vec<Value> = hit
                .matched
                .iter()
                .map(|it| json!({"field": it.field, "value": it.value}))
                .collect();
            json!({"urn": hit.urn.as_str(), "matched": matched})
        })
        .collect();
    let facets: Vec<Value> = found
        .facets
        .iter()
        .map(|facet| {
            let values: Vec<Value> = facet
                .values
                .iter()
                .map(|it| json!([it.value, it.count]))
                .collect();
            json!({"field": facet.field, "values": values})
        })
        .collect();
    json!({"total": found.total, "hits": hits, "facets": facets})
}

async fn complete(State(served): State<Served>, Json(body): Json<Value>) -> Reply {
    let request = SearchRequest {
        query: text(&body, "query")?.to_owned(),
        ..SearchRequest::default()
    };
    let completions = open_search(&served)?.complete(request, PAGE).await?;
    let entities: Vec<&str> = completions.entities.iter().map(Urn::as_str).collect();
    Ok(Json(
        json!({"suggestions": completions.suggestions, "entities": entities}),
    ))
}

/// Writes the edited description of a dataset durably.
async fn write(State(served): State<Served>, Json(body): Json<Value>) -> Result<Response, Failure> {
    let urn = Urn::parse(text(&body, "urn")?)?;
    let value = json!({"description": text(&body, "description")?});
    put(&*served.store, &urn, "editableDatasetProperties", &value).await?;
    Ok(([(header::CONTENT_TYPE, "application/json")], "true").into_response())
}

/// Writes an aspect as docent does.
pub(crate) async fn put(store: &dyn Store, urn: &Urn, aspect: &str, value: &Value) -> Result<()> {
    let aspect = Registry::get()
        .aspect(aspect)
        .with_context(|| format!("there is no aspect {aspect}"))?;
    let key = AspectKey::new(urn, aspect);
    let new = NewAspect {
        metadata: value.to_string(),
        system_metadata: None,
        stamp: AuditStamp::new(&Urn::parse(ACTOR)?, NOON_MS),
        derived: derive(urn, aspect, value),
        retired_version: None,
    };
    transact(store, move |tx| {
        let (key, new) = (key.clone(), new.clone());
        Box::pin(async move {
            let previous = tx.aspects_get(std::slice::from_ref(&key)).await?.remove(0);
            let write = version::put(key, previous.as_ref(), new);
            tx.write(write.as_slice()).await
        })
    })
    .await?;
    Ok(())
}
