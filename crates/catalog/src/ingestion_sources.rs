//! Ingestion sources, and requests to run them.
//!
//! Docent runs nothing itself. A request is stored with the status PENDING, and an executor takes
//! it up: it replaces the result (`dataHubExecutionRequestResult`), on the condition that nobody
//! else did. Recipes are for callers that may read the values of secrets, too
//! ([`Catalog::with_recipes`]).

mod schedule;

use docent_model::aspects::AuditStamp;
use docent_model::{AspectName, Urn};
use docent_store::{AspectKey, ReadRequest};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::access::scope::check_writer;
use crate::limits::{check_length, check_name};
use crate::long_work::{self, LONG_TEXT_BYTES};
use crate::privilege::{MANAGE_INGESTION, MANAGE_SECRETS};
use crate::proposal::{Change, Proposal, Requirement};
use crate::redaction::REDACTED;
use crate::stored::aspect_value;
use crate::{Caller, Catalog, Error, LoadError, LoadedBytes};
pub use schedule::Schedule;

pub const SOURCE: &str = "dataHubIngestionSource";
pub const REQUEST: &str = "dataHubExecutionRequest";
const DEFAULT_EXECUTOR: &str = "default";
/// The status of a request that no executor has taken up.
const PENDING: &str = "PENDING";
const CANCELLED: &str = "CANCELLED";
/// The signal that an executor obeys by ending the run.
const KILL: &str = "KILL";
const MAX_RECIPE_CHARACTERS: usize = 1_000_000;
/// What the recipes that are read at once may have.
const MAX_LOADED_BYTES: u64 = 64 << 20;

/// A source to store.
#[derive(Debug, Clone)]
pub struct NewSource {
    pub name: String,
    /// The type of the connector, such as postgres.
    pub r#type: String,
    pub schedule: Option<Schedule>,
    pub config: SourceConfig,
    /// SYSTEM, if no user created the source.
    pub origin: Option<String>,
}

/// How a source is run, as it is stored.
#[derive(Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SourceConfig {
    /// A JSON object.
    pub recipe: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    pub executor_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub debug_mode: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra_args: Option<Map<String, Value>>,
}

/// Without the recipe and the arguments, which may contain secrets.
impl std::fmt::Debug for SourceConfig {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("SourceConfig")
            .field("version", &self.version)
            .field("executor_id", &self.executor_id)
            .finish_non_exhaustive()
    }
}

impl NewSource {
    fn check(&self) -> Result<(), Error> {
        check_name("an ingestion source", &self.name)?;
        check_name("a type of sources", &self.r#type)?;
        check_name("an executor", &self.config.executor_id)?;
        if self.config.recipe != REDACTED {
            parse_recipe(&self.config.recipe)?;
        }
        self.schedule.as_ref().map_or(Ok(()), Schedule::check)
    }

    /// The aspect. What it has besides, such as the platform, stays.
    fn write_to(&self, info: &mut Value) {
        info["name"] = json!(self.name);
        info["type"] = json!(self.r#type);
        info["config"] = json!(self.config);
        let optional = [
            ("schedule", self.schedule.as_ref().map(|it| json!(it))),
            ("source", self.origin.as_ref().map(|it| json!({"type": it}))),
        ];
        for (name, value) in optional {
            match (value, info.as_object_mut()) {
                (Some(value), Some(info)) => {
                    info.insert(name.to_owned(), value);
                }
                (None, Some(info)) => {
                    info.remove(name);
                }
                (_, None) => {}
            }
        }
    }
}

impl Catalog {
    /// Stores a source under a new URN.
    pub async fn create_ingestion_source(
        &self,
        caller: &Caller,
        new: NewSource,
    ) -> Result<Urn, Error> {
        self.authorize(caller, &[MANAGE_INGESTION], None).await?;
        new.check()?;
        let urn = self.new_urn(SOURCE, None)?;
        let edit = move |_: Option<Value>, _: &AuditStamp| {
            let mut info = json!({});
            new.write_to(&mut info);
            Ok(info)
        };
        let proposal = Proposal::edit(urn.clone(), AspectName::INGESTION_SOURCE_INFO, edit)
            .requires(is_new(&urn));
        self.apply_authorized(caller, vec![proposal]).await?;
        Ok(urn)
    }

    /// Replaces a source, or creates one with this URN: DataHub's command line deploys recipes so.
    /// A redacted recipe stands for the stored one.
    pub async fn update_ingestion_source(
        &self,
        caller: &Caller,
        source: &Urn,
        new: NewSource,
    ) -> Result<(), Error> {
        source.expect_type(SOURCE)?;
        self.authorize(caller, &[MANAGE_INGESTION], None).await?;
        new.check()?;
        let missing = missing_source(source);
        let edit = move |current: Option<Value>, _: &AuditStamp| {
            if current.is_none() && new.config.recipe == REDACTED {
                return Err(Error::no_entity(missing.clone()));
            }
            let mut info = current.unwrap_or_else(|| json!({}));
            new.write_to(&mut info);
            Ok(info)
        };
        let proposal = Proposal::edit(source.clone(), AspectName::INGESTION_SOURCE_INFO, edit);
        self.apply_authorized(caller, vec![proposal]).await?;
        Ok(())
    }

    /// Deletes a source. Its runs stay.
    pub async fn delete_ingestion_source(
        &self,
        caller: &Caller,
        source: &Urn,
    ) -> Result<(), Error> {
        source.expect_type(SOURCE)?;
        self.authorize(caller, &[MANAGE_INGESTION], None).await?;
        let delete = Proposal::new(source.clone(), Change::DeleteEntity)
            .requires_existing(source, missing_source(source));
        self.apply_authorized(caller, vec![delete]).await?;
        Ok(())
    }

    /// Requests a run of a source; returns the request.
    pub async fn request_ingestion(&self, caller: &Caller, source: &Urn) -> Result<Urn, Error> {
        source.expect_type(SOURCE)?;
        self.authorize(caller, &[MANAGE_INGESTION], None).await?;
        let info = self.source_info(source).await?;
        let config = &info["config"];
        let recipe = config["recipe"].as_str().unwrap_or_default();
        let mut recipe = parse_recipe(recipe)?;
        let request = self.new_urn(REQUEST, None)?;
        recipe.insert("run_id".to_owned(), json!(request));
        name_pipeline(&mut recipe, source);
        let mut arguments = config["extraArgs"].as_object().cloned().unwrap_or_default();
        arguments.insert(
            "recipe".to_owned(),
            json!(Value::Object(recipe).to_string()),
        );
        if let Some(version) = filled(config["version"].as_str()) {
            arguments.insert("version".to_owned(), json!(version));
        }
        let debug_mode = config["debugMode"].as_bool().unwrap_or(false);
        arguments.insert("debug_mode".to_owned(), json!(debug_mode.to_string()));
        let input = json!({
            "task": "RUN_INGEST",
            "source": {"type": "MANUAL_INGESTION_SOURCE", "ingestionSource": source},
            "executorId": filled(config["executorId"].as_str()).unwrap_or(DEFAULT_EXECUTOR),
            "args": arguments,
        });
        let exists = Requirement::exists(source, missing_source(source));
        self.store_request(caller, &request, input, Some(exists))
            .await?;
        Ok(request)
    }

    /// Requests a test of the connection that a recipe describes; returns the request.
    pub async fn request_connection_test(
        &self,
        caller: &Caller,
        recipe: &str,
        version: Option<&str>,
    ) -> Result<Urn, Error> {
        self.authorize(caller, &[MANAGE_INGESTION], None).await?;
        let mut recipe = parse_recipe(recipe)?;
        let request = self.new_urn(REQUEST, None)?;
        name_pipeline(&mut recipe, &request);
        let mut arguments = json!({"recipe": Value::Object(recipe).to_string()});
        if let Some(version) = filled(version) {
            arguments["version"] = json!(version);
        }
        let input = json!({
            "task": "TEST_CONNECTION",
            "source": {"type": "MANUAL_TEST_CONNECTION"},
            "executorId": DEFAULT_EXECUTOR,
            "args": arguments,
        });
        self.store_request(caller, &request, input, None).await?;
        Ok(request)
    }

    async fn store_request(
        &self,
        caller: &Caller,
        request: &Urn,
        input: Value,
        requirement: Option<Requirement>,
    ) -> Result<(), Error> {
        let actor = caller.actor().clone();
        let edit = move |_: Option<Value>, stamp: &AuditStamp| {
            let mut input = input.clone();
            input["requestedAt"] = json!(stamp.time);
            input["actorUrn"] = json!(actor);
            Ok(input)
        };
        let mut input = Proposal::edit(request.clone(), AspectName::EXECUTION_REQUEST_INPUT, edit)
            .requires(is_new(request));
        input.requirements.extend(requirement);
        let pending = |_: Option<Value>, _: &AuditStamp| Ok(json!({"status": PENDING}));
        let result = AspectName::EXECUTION_REQUEST_RESULT;
        let pending = Proposal::edit(request.clone(), result, pending);
        self.apply_authorized(caller, vec![input, pending]).await?;
        Ok(())
    }

    /// Requests the end of a run. One that no executor has taken up is cancelled at once.
    pub async fn cancel_ingestion(
        &self,
        caller: &Caller,
        source: &Urn,
        request: &Urn,
    ) -> Result<(), Error> {
        source.expect_type(SOURCE)?;
        request.expect_type(REQUEST)?;
        self.authorize(caller, &[MANAGE_INGESTION], None).await?;
        let info = self.source_info(source).await?;
        let executor = filled(info["config"]["executorId"].as_str()).map(ToOwned::to_owned);
        let signal = move |_: Option<Value>, stamp: &AuditStamp| {
            let mut signal = json!({"signal": KILL, "createdAt": stamp});
            if let Some(executor) = &executor {
                signal["executorId"] = json!(executor);
            }
            Ok(signal)
        };
        let end = |current: Option<Value>, _: &AuditStamp| {
            let is_waiting = current
                .as_ref()
                .is_none_or(|result| result["status"] == PENDING);
            Ok(is_waiting.then(|| json!({"status": CANCELLED})))
        };
        let missing = format!("the execution request {request} does not exist");
        let signal_aspect = AspectName::EXECUTION_REQUEST_SIGNAL;
        let result = AspectName::EXECUTION_REQUEST_RESULT;
        let proposals = vec![
            Proposal::edit(request.clone(), signal_aspect, signal)
                .requires_existing(request, missing),
            Proposal::edit_if(request.clone(), result, end),
        ];
        self.apply_authorized(caller, proposals).await?;
        Ok(())
    }

    /// Rolls back what a run wrote.
    pub async fn roll_back_ingestion(&self, caller: &Caller, run_id: &str) -> Result<(), Error> {
        self.authorize(caller, &[MANAGE_INGESTION], None).await?;
        // A run without aspects changes nothing, which would tell nothing about the token.
        self.audited(caller, check_writer(caller)).await?;
        self.roll_back(caller, run_id, false, true).await?;
        Ok(())
    }

    /// An aspect that contains a recipe, of sources or execution requests; null where there is
    /// none. Who edits or runs a recipe needs it, so callers that manage ingestion and may read the
    /// values of secrets get it; for others it is redacted.
    pub async fn with_recipes(
        &self,
        caller: &Caller,
        aspect: AspectName,
        entities: &[Urn],
    ) -> Result<Vec<Value>, Error> {
        let key = |urn: &Urn| AspectKey::new(urn, aspect);
        let keys: Vec<AspectKey> = entities.iter().map(key).collect();
        let read = ReadRequest::rows(&keys);
        let mut loaded = LoadedBytes::default();
        let reply = if self.is_executor(caller).await? {
            self.load_stored(read, MAX_LOADED_BYTES, &mut loaded).await
        } else {
            self.load(read, MAX_LOADED_BYTES, &mut loaded).await
        };
        let rows = match reply {
            Ok(reply) => reply.rows,
            Err(LoadError::Failed(error)) => return Err(error),
            Err(LoadError::TooLong(bytes)) => {
                let (mib, most) = (bytes >> 20, MAX_LOADED_BYTES >> 20);
                return Err(Error::too_large(format!(
                    "the recipes have {mib} MiB, at most {most} MiB are allowed: request fewer at once"
                )));
            }
        };
        let is_long = loaded.bytes() > LONG_TEXT_BYTES as u64;
        let parse = || {
            let values = rows.iter().map(|row| aspect_value(row).unwrap_or_default());
            values.collect()
        };
        Ok(long_work::run(is_long, parse).await)
    }

    /// Whether the caller may read recipes: one who manages ingestion and may read secrets.
    pub(crate) async fn is_executor(&self, caller: &Caller) -> Result<bool, Error> {
        let manages = self.is_allowed(caller, &[MANAGE_INGESTION], None).await?;
        Ok(manages && self.is_allowed(caller, &[MANAGE_SECRETS], None).await?)
    }

    /// The stored aspect of a source, with its recipe.
    async fn source_info(&self, source: &Urn) -> Result<Value, Error> {
        let key = AspectKey::new(source, AspectName::INGESTION_SOURCE_INFO);
        let row = self.store().read(ReadRequest::row(&key)).await?.into_row();
        aspect_value(&row).ok_or_else(|| Error::no_entity(missing_source(source)).naming(source))
    }
}

/// The text, unless it is blank.
fn filled(text: Option<&str>) -> Option<&str> {
    text.map(str::trim).filter(|text| !text.is_empty())
}

fn parse_recipe(text: &str) -> Result<Map<String, Value>, Error> {
    check_length("the recipe", text, MAX_RECIPE_CHARACTERS)?;
    serde_json::from_str(text).map_err(|error| {
        // The error of the parser names positions and no values.
        let (line, column) = (error.line(), error.column());
        Error::invalid(format!(
            "the recipe is not a JSON object (line {line}, column {column}): convert it from YAML first"
        ))
    })
}

/// Names the pipeline of a recipe, if it has no name. Stateful ingestion needs one.
fn name_pipeline(recipe: &mut Map<String, Value>, name: &Urn) {
    let known = recipe.get("pipeline_name").and_then(Value::as_str);
    if filled(known).is_none() {
        recipe.insert("pipeline_name".to_owned(), json!(name));
    }
}

fn is_new(urn: &Urn) -> Requirement {
    Requirement::IsNew {
        otherwise: format!("{urn} already exists"),
    }
}

fn missing_source(source: &Urn) -> String {
    format!("Failed to find ingestion source with urn {source}")
}
