//! A complete Docent in the process of the test: the real router over a store of the chosen engine.

use std::path::Path;
use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderMap, Method, Request, Response, StatusCode, header};
use docent_catalog::connections::NewConnection;
use docent_catalog::events::feed::EventFormat;
use docent_catalog::events::{EventFilter, Topic};
use docent_catalog::ingestion_secrets::{NewSecret, SecretKey, SecretKeys};
use docent_catalog::sessions::SessionLimits;
use docent_catalog::tokens::NewToken;
use docent_catalog::webhooks::{EventSender, NewWebhook};
use docent_catalog::{Caller, Catalog, Proposal};
use docent_graphql::Engine;
use docent_http::{AppState, AuthMode, Frontend, HttpService, HttpSettings};
use docent_model::{AspectName, FixedClock, Urn};
use docent_search::Search;
use docent_store::Store;
use docent_test_store::TestStore;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tower::ServiceExt;

/// The time at the start of every test.
pub(crate) const NOW_MS: i64 = 1_790_000_000_000;
pub(crate) const USER: &str = "urn:li:corpuser:datahub";
pub(crate) const DATASET: &str = "urn:li:dataset:(urn:li:dataPlatform:hive,fct_users_deleted,PROD)";
pub(crate) const MISSING: &str = "urn:li:dataset:(urn:li:dataPlatform:hive,no_such_table,PROD)";

pub(crate) struct App {
    pub(crate) catalog: Catalog,
    pub(crate) clock: Arc<FixedClock>,
    pub(crate) token: String,
    service: HttpService,
    test_store: TestStore,
}

impl App {
    /// An empty catalog, and a token of [`USER`].
    pub(crate) async fn empty() -> Self {
        Self::with_auth(AuthMode::On).await
    }

    pub(crate) async fn with_auth(auth: AuthMode) -> Self {
        Self::with_settings(HttpSettings {
            auth,
            ..HttpSettings::default()
        })
        .await
    }

    pub(crate) async fn with_session_limits(limits: SessionLimits) -> Self {
        Self::with(HttpSettings::default(), limits, Some(secret_keys()), None).await
    }

    /// A catalog that stores no secrets.
    pub(crate) async fn without_secret_keys() -> Self {
        let settings = HttpSettings::default();
        Self::with(settings, SessionLimits::default(), None, None).await
    }

    pub(crate) async fn with_settings(settings: HttpSettings) -> Self {
        let limits = SessionLimits::default();
        Self::with(settings, limits, Some(secret_keys()), None).await
    }

    /// A catalog that sends the events of webhooks.
    pub(crate) async fn with_sender(sender: Arc<dyn EventSender>) -> Self {
        let (settings, limits) = (HttpSettings::default(), SessionLimits::default());
        Self::with(settings, limits, Some(secret_keys()), Some(sender)).await
    }

    async fn with(
        settings: HttpSettings,
        limits: SessionLimits,
        keys: Option<SecretKeys>,
        sender: Option<Arc<dyn EventSender>>,
    ) -> Self {
        let test_store = TestStore::open().await.unwrap();
        let clock = Arc::new(FixedClock::at(NOW_MS));
        let store = test_store.store();
        let search = Search::in_memory(Arc::clone(&store));
        let mut catalog = Catalog::new(store, clock.clone())
            .with_search(Arc::new(search))
            .with_session_limits(limits)
            .with_secret_keys(keys);
        if let Some(sender) = sender {
            catalog = catalog.with_event_sender(sender);
        }
        if settings.auth == AuthMode::On {
            catalog.ensure_policies().await.unwrap();
            catalog.enforce_policies(Some(&role("Editor")));
        }
        let engine = Engine::docent().unwrap();
        let service = docent_http::service(AppState::new(catalog.clone(), engine, settings));
        let token = new_token(&catalog, Some(86_400_000)).await;
        Self {
            catalog,
            clock,
            token,
            service,
            test_store,
        }
    }

    /// Sends the events of webhooks from now on.
    pub(crate) fn send_events_to(&mut self, sender: Arc<dyn EventSender>) {
        self.catalog = self.catalog.clone().with_event_sender(sender);
        let engine = Engine::docent().unwrap();
        let state = AppState::new(self.catalog.clone(), engine, HttpSettings::default());
        self.service = docent_http::service(state);
    }

    /// Serves a build of DataHub's web page from now on.
    pub(crate) fn serve_frontend(&mut self, settings: HttpSettings, directory: &Path) {
        let frontend = Frontend::open(directory).unwrap();
        let engine = Engine::docent().unwrap();
        let state = AppState::new(self.catalog.clone(), engine, settings);
        self.service = docent_http::frontend_service(state, frontend);
    }

    /// The catalog of another server on the same store.
    pub(crate) fn other_server(&self, limits: SessionLimits) -> Catalog {
        Catalog::new(self.store(), self.clock.clone())
            .with_session_limits(limits)
            .with_secret_keys(Some(secret_keys()))
    }

    /// Stores a secret.
    pub(crate) async fn add_secret(&self, name: &str, value: &str) {
        let new = NewSecret {
            name: name.to_owned(),
            value: value.to_owned(),
            description: None,
        };
        let system = Caller::system();
        self.catalog.create_secret(&system, new).await.unwrap();
    }

    /// Stores a connection.
    pub(crate) async fn add_connection(&self, id: &str) {
        let new = NewConnection {
            id: Some(id.to_owned()),
            name: Some(id.to_owned()),
            platform: Urn::parse("urn:li:dataPlatform:hive").unwrap(),
            blob: "{}".to_owned(),
        };
        let system = Caller::system();
        self.catalog.upsert_connection(&system, new).await.unwrap();
    }

    /// The store under the catalog.
    pub(crate) fn store(&self) -> Arc<dyn Store> {
        self.test_store.store()
    }

    /// A catalog with [`DATASET`]: a description and two columns, `user_name` and `timestamp`.
    pub(crate) async fn with_dataset() -> Self {
        let app = Self::empty().await;
        app.add_dataset(DATASET).await;
        app
    }

    pub(crate) async fn add_dataset(&self, urn: &str) {
        self.ingest(
            urn,
            "datasetProperties",
            &json!({"description": "table containing all the users deleted on a single day", "customProperties": {}}),
        )
        .await;
        let column = |path: &str, description: &str| {
            json!({
                "fieldPath": path,
                "description": description,
                "nullable": false,
                "type": {"type": {"com.linkedin.schema.StringType": {}}},
                "nativeDataType": "varchar(100)",
                "recursive": false,
            })
        };
        self.ingest(
            urn,
            "schemaMetadata",
            &json!({
                "schemaName": "t",
                "platform": "urn:li:dataPlatform:hive",
                "version": 0,
                "hash": "",
                "platformSchema": {"com.linkedin.schema.MySqlDDL": {"tableSchema": "create table t"}},
                "fields": [
                    column("user_name", "Name of the user who was deleted"),
                    column("timestamp", "Timestamp user was deleted at"),
                ],
            }),
        )
        .await;
    }

    /// Writes an aspect directly; panics on errors.
    pub(crate) async fn ingest(&self, urn: &str, aspect: &str, value: &Value) {
        let (status, body) = self.propose("UPSERT", urn, aspect, value).await;
        assert_eq!(status, StatusCode::OK, "{urn} {aspect}: {body}");
    }

    /// Writes a policy without its mutation, as the operator may.
    pub(crate) async fn write_policy(&self, urn: &str, value: &Value) {
        let urn = Urn::parse(urn).unwrap();
        let policy = Proposal::upsert(urn, AspectName::POLICY_INFO, value.to_string());
        let written = self.catalog.ingest(&Caller::system(), vec![policy]).await;
        written.unwrap();
    }

    /// Sends one change proposal.
    pub(crate) async fn propose(
        &self,
        change_type: &str,
        urn: &str,
        aspect: &str,
        value: &Value,
    ) -> (StatusCode, Value) {
        let proposal = proposal(change_type, urn, aspect, value);
        self.post(
            "/aspects?action=ingestProposal",
            &json!({"proposal": proposal, "async": "false"}),
        )
        .await
    }

    /// Sends a list of change proposals.
    pub(crate) async fn propose_all(&self, proposals: Vec<Value>) -> (StatusCode, Value) {
        self.post(
            "/aspects?action=ingestProposalBatch",
            &json!({"proposals": proposals, "async": "false"}),
        )
        .await
    }

    /// The latest value of an aspect, or `None` if it is not stored.
    pub(crate) async fn aspect(&self, urn: &str, aspect: &str) -> Option<Value> {
        self.aspect_version(urn, aspect, 0).await
    }

    pub(crate) async fn aspect_version(
        &self,
        urn: &str,
        aspect: &str,
        version: i64,
    ) -> Option<Value> {
        let path = format!(
            "/aspects/{}?aspect={aspect}&version={version}",
            encoded(urn)
        );
        let (status, body) = self.get(&path).await;
        match status {
            StatusCode::NOT_FOUND => None,
            StatusCode::OK => body["aspect"].as_object()?.values().next().cloned(),
            other => panic!("{other}: {body}"),
        }
    }

    /// The whole reply to a GraphQL document.
    pub(crate) async fn graphql(&self, query: &str) -> Value {
        self.graphql_with(query, json!({})).await
    }

    pub(crate) async fn graphql_with(&self, query: &str, variables: Value) -> Value {
        let body = json!({"query": query, "variables": variables});
        let (status, reply) = self.post("/api/graphql", &body).await;
        assert_eq!(status, StatusCode::OK, "{reply}");
        reply
    }

    /// The fields of [`DATASET`], which must be without errors.
    pub(crate) async fn read_dataset(&self, fields: &str) -> Value {
        let query = format!(r#"{{ dataset(urn: "{DATASET}") {{ {fields} }} }}"#);
        let reply = self.graphql(&query).await;
        assert!(reply.get("errors").is_none(), "{reply}");
        reply["data"]["dataset"].clone()
    }

    /// Sends a query with the token of another user.
    pub(crate) async fn graphql_as(&self, token: &str, query: &str) -> Value {
        let body = json!({"query": query});
        self.send_as(token, "POST", "/api/graphql", &body).await.1
    }

    /// Sends a request with the token of another user, and without a body if that is null.
    pub(crate) async fn send_as(
        &self,
        token: &str,
        method: &str,
        path: &str,
        body: &Value,
    ) -> (StatusCode, Value) {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let mut request = self.request(method, path, body);
        let bearer = format!("Bearer {token}").parse().unwrap();
        request.headers_mut().insert(header::AUTHORIZATION, bearer);
        self.send(request).await
    }

    /// Runs a mutation with one `input`; panics on errors.
    pub(crate) async fn mutate(&self, field: &str, kind: &str, input: Value) -> Value {
        let reply = self.try_mutate(field, kind, input).await;
        assert!(reply.get("errors").is_none(), "{field}: {reply}");
        reply["data"][field].clone()
    }

    /// The error of a mutation of one `input` that fails: (code, message).
    pub(crate) async fn mutate_error(
        &self,
        field: &str,
        kind: &str,
        input: Value,
    ) -> (u64, String) {
        let reply = self.try_mutate(field, kind, input).await;
        let error = &reply["errors"][0];
        (
            error["extensions"]["code"].as_u64().unwrap_or_default(),
            error["message"].as_str().unwrap_or_default().to_owned(),
        )
    }

    async fn try_mutate(&self, field: &str, kind: &str, input: Value) -> Value {
        let query = format!("mutation ($input: {kind}!) {{ {field}(input: $input) }}");
        self.graphql_with(&query, json!({"input": input})).await
    }

    /// The only error of a document that fails: (code, message).
    pub(crate) async fn graphql_error(&self, query: &str) -> (u64, String) {
        let reply = self.graphql(query).await;
        let errors = reply["errors"]
            .as_array()
            .unwrap_or_else(|| panic!("no errors in {reply}"));
        assert_eq!(errors.len(), 1, "{reply}");
        let error = &errors[0];
        (
            error["extensions"]["code"].as_u64().unwrap_or_default(),
            error["message"].as_str().unwrap_or_default().to_owned(),
        )
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> (StatusCode, Value) {
        self.send(self.request(Method::POST, path, body.to_string()))
            .await
    }

    pub(crate) async fn get(&self, path: &str) -> (StatusCode, Value) {
        self.send(self.request(Method::GET, path, String::new()))
            .await
    }

    /// A request with the app's token.
    pub(crate) fn request(
        &self,
        method: Method,
        path: &str,
        body: impl Into<Body>,
    ) -> Request<Body> {
        Request::builder()
            .method(method)
            .uri(path)
            .header(header::AUTHORIZATION, format!("Bearer {}", self.token))
            .header(header::CONTENT_TYPE, "application/json")
            .body(body.into())
            .unwrap()
    }

    /// The headers of a reply.
    pub(crate) async fn headers_of(&self, request: Request<Body>) -> HeaderMap {
        self.respond(request).await.headers().clone()
    }

    /// The whole response, with its headers.
    pub(crate) async fn respond(&self, request: Request<Body>) -> Response<Body> {
        self.service.clone().oneshot(request).await.unwrap()
    }

    /// Status and body; a body that is not JSON comes as a string.
    pub(crate) async fn send(&self, request: Request<Body>) -> (StatusCode, Value) {
        let response = self.respond(request).await;
        let status = response.status();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        (
            status,
            serde_json::from_str(&text).unwrap_or(Value::String(text)),
        )
    }
}

/// The keys for secrets of every test.
fn secret_keys() -> SecretKeys {
    SecretKeys {
        current: secret_key('k'),
        previous: None,
    }
}

/// A key for secrets, in base64. The last letter of a key ends with two zero bits, as in `k` and
/// `A`.
pub(crate) fn secret_key(letter: char) -> SecretKey {
    let text = letter.to_string().repeat(43) + "=";
    SecretKey::parse(&text).unwrap()
}

/// A webhook that follows everything.
pub(crate) fn new_webhook(name: &str) -> NewWebhook {
    NewWebhook {
        name: name.to_owned(),
        url: "https://example.com/events".to_owned(),
        topic: Topic::ChangeLog,
        format: EventFormat::CloudEvents,
        filter: EventFilter::default(),
        is_active: true,
        secret: None,
    }
}

/// The code and the message of the first error of a reply.
pub(crate) fn error_of(reply: &Value) -> (u64, String) {
    let error = &reply["errors"][0];
    let code = error["extensions"]["code"].as_u64();
    let code = code.unwrap_or_else(|| panic!("{reply}"));
    (code, error["message"].as_str().unwrap().to_owned())
}

pub(crate) async fn new_token(catalog: &Catalog, ttl_ms: Option<i64>) -> String {
    token_of(catalog, USER, ttl_ms).await
}

pub(crate) async fn token_of(catalog: &Catalog, user: &str, ttl_ms: Option<i64>) -> String {
    let user = Urn::parse(user).unwrap();
    let new = NewToken {
        name: "test".to_owned(),
        description: None,
        actor: user.clone(),
        ttl_ms,
        scope: None,
    };
    let created = catalog.create_token(&Caller::new(user), new).await.unwrap();
    created.secret
}

pub(crate) fn proposal(change_type: &str, urn: &str, aspect: &str, value: &Value) -> Value {
    let entity_type = urn.split(':').nth(2).unwrap_or_default();
    json!({
        "entityType": entity_type,
        "entityUrn": urn,
        "changeType": change_type,
        "aspectName": aspect,
        "aspect": {"value": value.to_string(), "contentType": "application/json"},
        "systemMetadata": {"lastObserved": NOW_MS, "runId": "no-run-id-provided"},
    })
}

pub(crate) fn encoded(urn: &str) -> String {
    percent_encoding::utf8_percent_encode(urn, percent_encoding::NON_ALPHANUMERIC).to_string()
}

pub(crate) fn role(name: &str) -> Urn {
    Urn::new("dataHubRole", name).unwrap()
}
