//! An engine with a small test schema, over a real store that counts calls.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use docent_catalog::{Caller, Catalog, ConflictReason, Error, Proposal};
use docent_graphql::{
    Args, BatchResult, Context, Engine, EntityView, Limits, Request, Resolvers, Schema,
};
use docent_model::{AspectName, FixedClock, Registry, Urn};
use docent_store::{AspectKey, ListPage, ReadReply, ReadRequest, RelatedEntity, Store, StoreError};
use docent_test_store::{Intercept, InterceptedStore, TestStore};
use serde_json::{Map, Value, json};

/// The test schema with the directives of the real one.
pub(crate) fn sources() -> String {
    let directives: String = include_str!("../../schema/directives.graphql")
        .lines()
        .filter(|line| line.starts_with("directive ") || line.starts_with("scalar "))
        .flat_map(|line| [line, "\n"])
        .collect();
    directives + include_str!("schema.graphql")
}

fn schema() -> Schema {
    Schema::load(&[("test", &sources())], resolvers()).unwrap()
}

pub(crate) struct Fixture {
    pub(crate) engine: Engine,
    pub(crate) context: Context,
    pub(crate) store: Arc<InterceptedStore<CountingStore>>,
    _guard: TestStore,
}

impl Fixture {
    pub(crate) async fn new(aspects: &[(&str, &str, Value)]) -> Self {
        let guard = TestStore::open().await.unwrap();
        let store = Arc::new(InterceptedStore(CountingStore {
            inner: guard.store(),
            reads: AtomicUsize::new(0),
            fails: AtomicUsize::new(0),
            replaced: Mutex::default(),
        }));
        let clock = Arc::new(FixedClock::at(1_700_000_000_000));
        let catalog = Catalog::new(Arc::clone(&store) as Arc<dyn Store>, clock);
        let caller = Caller::new(urn("urn:li:corpuser:tester"));
        let proposals = aspects
            .iter()
            .map(|(entity, aspect, value)| {
                let aspect = Registry::get().aspect(aspect).unwrap();
                Proposal::upsert(urn(entity), aspect, value.to_string())
            })
            .collect();
        catalog.ingest(&caller, proposals).await.unwrap();
        store.reads.store(0, Ordering::Relaxed);
        Self {
            engine: Engine::new(schema()),
            context: Context::new(catalog, caller),
            store,
            _guard: guard,
        }
    }

    /// An engine with other limits.
    pub(crate) async fn limited(limits: Limits, aspects: &[(&str, &str, Value)]) -> Self {
        let mut fixture = Self::new(aspects).await;
        fixture.engine = Engine::with_limits(schema(), limits);
        fixture
    }

    /// The engine with Docent's schema.
    pub(crate) async fn docent(aspects: &[(&str, &str, Value)]) -> Self {
        let mut fixture = Self::new(aspects).await;
        fixture.engine = Engine::docent().unwrap();
        fixture
    }

    /// Executes a query and returns the reply as text.
    pub(crate) async fn text(&self, query: &str) -> String {
        self.with_variables(query, json!({})).await
    }

    pub(crate) async fn with_variables(&self, query: &str, variables: Value) -> String {
        self.operation(query, None, variables).await
    }

    pub(crate) async fn operation(
        &self,
        query: &str,
        operation_name: Option<&str>,
        variables: Value,
    ) -> String {
        let Value::Object(variables) = variables else {
            panic!("variables are an object");
        };
        let request = Request {
            query,
            operation_name,
            variables,
        };
        let reply = self.engine.execute(&self.context, request).await;
        String::from_utf8(reply).unwrap()
    }

    pub(crate) async fn json(&self, query: &str) -> Value {
        serde_json::from_str(&self.text(query).await).unwrap()
    }

    /// Executes a query and returns its data as text; panics on errors.
    pub(crate) async fn data(&self, query: &str) -> String {
        data(&self.text(query).await)
    }
}

/// The data of a reply; panics on errors.
pub(crate) fn data(reply: &str) -> String {
    let data = reply
        .strip_prefix("{\"data\":")
        .and_then(|rest| rest.strip_suffix(",\"extensions\":{}}"));
    data.unwrap_or_else(|| panic!("{reply}")).to_owned()
}

/// The error messages of a reply.
pub(crate) fn messages(reply: &Value) -> Vec<&str> {
    reply["errors"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|error| error["message"].as_str().unwrap())
        .collect()
}

pub(crate) fn urn(text: &str) -> Urn {
    Urn::parse(text).unwrap()
}

pub(crate) fn dataset(name: &str) -> String {
    format!("urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)")
}

pub(crate) fn resolvers() -> Resolvers {
    Resolvers::new()
        .query_by_urn("dataset")
        .query_by_urn("entity")
        .query_by_urn("domain")
        .query("datasets", urns)
        .query("requiredDatasets", urns)
        .query("entities", urns)
        .query("chain", parsed)
        .query("requiredChain", parsed)
        .query("shapes", parsed)
        .query("colors", parsed)
        .query("arguments", arguments)
        .query("failing", failing)
        .mutation("append", append)
        .mutation("fail", fail)
        .mutation("rename", rename)
        .entity_field("shout", shout)
        .computed("owner", |_| json!("urn:li:corpuser:jdoe"))
        .entity_field("ownerInfo", owner_info)
        .computed("aspectNames", aspect_names)
        .entity_field("length", length)
}

async fn urns(_: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    Ok(arguments.get("urns").cloned().unwrap_or_default())
}

async fn parsed(_: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    serde_json::from_str(arguments.text("json")?).map_err(|error| Error::invalid(error.to_string()))
}

async fn arguments(_: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let names = ["text", "number", "input", "point", "long", "color", "flags"];
    let all: Map<String, Value> = names
        .into_iter()
        .filter_map(|name| Some((name.to_owned(), arguments.get(name)?.clone())))
        .collect();
    Ok(Value::Object(all).to_string().into())
}

async fn failing(_: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let message = "this failed".to_owned();
    Err(match arguments.member::<u16>("code")? {
        403 => Error::forbidden(message),
        404 => Error::not_found(message),
        409 => Error::conflict(ConflictReason::AlreadyExists, message),
        503 => Error::unavailable(message),
        500 => Error::internal(StoreError::other("a secret of ours")),
        _ => Error::invalid(message),
    })
}

static JOURNAL: Mutex<String> = Mutex::new(String::new());

async fn append(_: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let text = arguments.text("text")?;
    if text == "null" {
        return Ok(Value::Null);
    }
    let mut journal = JOURNAL.lock().unwrap();
    if text == "clear" {
        journal.clear();
    } else {
        journal.push_str(text);
    }
    Ok(json!({"text": *journal}))
}

async fn fail(_: &Context, _: Args<'_>) -> Result<Value, Error> {
    Err(Error::invalid("no"))
}

async fn rename(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let urn = arguments.urn("urn")?;
    let value = json!({"name": arguments.text("name")?, "description": ""});
    let proposal = Proposal::upsert(
        urn.clone(),
        AspectName::DOMAIN_PROPERTIES,
        value.to_string(),
    );
    context
        .catalog
        .ingest(&context.caller, vec![proposal])
        .await?;
    Ok(json!(urn))
}

/// The description in capitals; an error if there is none.
async fn shout(_: &Context, entities: &[EntityView<'_>], arguments: Args<'_>) -> BatchResult {
    let properties = Registry::get().aspect("datasetProperties").unwrap();
    let mark = arguments.text("mark")?;
    if mark == "fail" {
        return Err(Error::invalid("shouting failed"));
    }
    Ok(entities
        .iter()
        .map(|entity| {
            let value: Value = entity
                .aspect(properties)
                .and_then(|row| serde_json::from_str(&row.metadata).ok())
                .unwrap_or_default();
            match value["description"].as_str() {
                Some(text) => Ok(json!(format!("{}{mark}", text.to_uppercase()))),
                None => Err(Error::not_found(format!(
                    "{} has no description",
                    entity.urn()
                ))),
            }
        })
        .collect())
}

/// An object that several fields read, with one read of its own.
async fn owner_info(context: &Context, entities: &[EntityView<'_>], _: Args<'_>) -> BatchResult {
    let owner = Urn::parse("urn:li:corpuser:jdoe").unwrap();
    let key = AspectKey::new(&owner, Registry::get().aspect("corpUserInfo").unwrap());
    let row = context
        .catalog
        .read(ReadRequest::row(&key))
        .await?
        .into_row();
    let info: Value = row.map_or(Value::Null, |row| {
        serde_json::from_str(&row.metadata).unwrap()
    });
    Ok(entities.iter().map(|_| Ok(info.clone())).collect())
}

fn aspect_names(entity: &EntityView<'_>) -> Value {
    let aspects = entity.aspects().iter();
    let mut names: Vec<_> = aspects.map(|(aspect, _)| aspect.as_str()).collect();
    names.sort_unstable();
    json!(names)
}

/// A resolver on a plain type, which gets the object, its owner and the owner's aspects.
async fn length(_: &Context, entities: &[EntityView<'_>], _: Args<'_>) -> BatchResult {
    let key = Registry::get().aspect("datasetKey").unwrap();
    Ok(entities
        .iter()
        .map(|entity| {
            assert!(entity.aspect(key).is_some());
            let text = entity.value()["description"].as_str().unwrap_or_default();
            Ok(json!(text.len() + entity.urn().as_str().len()))
        })
        .collect())
}

/// A store that counts reads, and replaces rows or fails on request.
#[derive(Debug)]
pub(crate) struct CountingStore {
    inner: Arc<dyn Store>,
    pub(crate) reads: AtomicUsize,
    /// The number of next reads that fail.
    pub(crate) fails: AtomicUsize,
    /// JSON that replaces the stored rows.
    pub(crate) replaced: Mutex<Vec<(AspectKey, String)>>,
}

impl CountingStore {
    pub(crate) fn take_reads(&self) -> usize {
        self.reads.swap(0, Ordering::Relaxed)
    }

    fn count(&self) -> Result<(), StoreError> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        let failing = self
            .fails
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                left.checked_sub(1)
            });
        match failing {
            Ok(_) => Err(StoreError::other("the disk is on fire")),
            Err(_) => Ok(()),
        }
    }
}

#[async_trait]
impl Intercept for CountingStore {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn read(&self, request: ReadRequest<'_>) -> Result<ReadReply, StoreError> {
        self.count()?;
        let keys: Vec<&AspectKey> = request.rows.iter().chain(request.exists).collect();
        let distinct: HashSet<_> = keys.iter().collect();
        assert_eq!(
            distinct.len(),
            keys.len(),
            "a row is requested twice: {keys:?}"
        );
        let mut reply = self.inner.read(request).await?;
        let replaced = self.replaced.lock().unwrap();
        for (key, row) in request.rows.iter().zip(&mut reply.rows) {
            if let (Some(row), Some((_, text))) = (row, replaced.iter().find(|(it, _)| it == key)) {
                Arc::make_mut(row).metadata.clone_from(text);
            }
        }
        Ok(reply)
    }

    async fn edges_list(
        &self,
        urns: &[Urn],
        outgoing: bool,
        relationships: &[&str],
        excluded_types: &[&str],
        start: usize,
        limit: usize,
    ) -> Result<Vec<ListPage<RelatedEntity>>, StoreError> {
        self.count()?;
        let list =
            self.inner
                .edges_list(urns, outgoing, relationships, excluded_types, start, limit);
        list.await
    }
}
