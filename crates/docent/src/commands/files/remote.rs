//! Requests to a running server.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use docent_client::{HttpClient, Limits};
use docent_files::compare::{AspectWrite, History};
use docent_files::kinds::Kind;
use docent_files::names::{Names, name_of, named_types};
use docent_files::{Aspect, Entity};
use docent_model::{Registry, Urn};
use http::StatusCode;
use serde_json::{Map, Value, json};
use url::Url;

use super::ServerFlags;
use crate::commands::status::{no_answer, read_token, server_url};

/// Longer than the server takes for any request, and its largest reply.
const LIMITS: Limits = Limits {
    timeout: Duration::from_mins(6),
    response_bytes: 64 * 1024 * 1024,
};
/// The entities of one request. Fewer, if their aspects are too long for one reply.
const PAGE: usize = 200;
/// The names of one request.
const NAME_PAGE: usize = 1_000;
/// The domains in one filter.
const FILTER_DOMAINS: usize = 100;
/// A server that builds its index rejects searches for a while.
const MAX_ATTEMPTS: usize = 30;
const RETRY_AFTER: Duration = Duration::from_secs(2);
/// The property of the system metadata with the project of the files that were applied.
const PROJECT_PROPERTY: &str = "docentProject";

/// A server, and the token for it.
pub(super) struct Remote {
    client: HttpClient,
    address: String,
    base: Url,
    token: Option<String>,
}

/// A response that is not a success.
#[derive(Debug)]
struct Failure {
    status: StatusCode,
    message: String,
}

/// The outcome of a list of writes.
pub(super) enum Written {
    /// With the server's warnings.
    Done(Vec<String>),
    /// An aspect has another version than the one that was compared.
    Conflict(String),
}

impl Remote {
    pub(super) fn connect(flags: &ServerFlags) -> Result<Self> {
        Ok(Self {
            client: HttpClient::default(),
            address: flags.server.clone(),
            base: server_url(&flags.server)?,
            token: flags.token_file.as_deref().map(read_token).transpose()?,
        })
    }

    async fn post(&self, target: &str, body: &Value) -> Result<Result<Value, Failure>> {
        let url = self.base.join(target)?;
        let token = self.token.as_deref();
        let sent = self.client.post_json(url.as_str(), token, body, LIMITS);
        let sent = sent.await;
        let (status, reply) = sent.map_err(|error| no_answer(&self.address, error))?;
        if status == StatusCode::UNAUTHORIZED {
            let advice = match self.token {
                Some(_) => {
                    "does not accept the token: it has expired or was revoked; 'docent token create' makes one"
                }
                None => "needs a token: 'docent token create' makes one for --token-file",
            };
            bail!("{} {advice}", self.address);
        }
        if status.is_success() {
            return Ok(Ok(reply));
        }
        let message = reply["message"].as_str().unwrap_or_default().to_owned();
        Ok(Err(Failure { status, message }))
    }

    /// A request that changes nothing, so that it can be repeated.
    async fn read(&self, target: &str, body: &Value) -> Result<Value> {
        let mut last = None;
        for attempt in 0..MAX_ATTEMPTS {
            if attempt > 0 {
                tokio::time::sleep(RETRY_AFTER).await;
            }
            match self.post(target, body).await? {
                Ok(reply) => return Ok(reply),
                Err(failure) if failure.status == StatusCode::SERVICE_UNAVAILABLE => {
                    last = Some(failure);
                }
                Err(failure) => return Err(failure.into_error(&self.address, target)),
            }
        }
        let failure = last.context("the server was not asked")?;
        Err(failure.into_error(&self.address, target))
    }

    /// The URN of the token's user.
    pub(super) async fn user(&self) -> Result<String> {
        let query = json!({"query": "{ me { corpUser { urn } } }"});
        let reply = self.read("/api/graphql", &query).await?;
        let urn = reply["data"]["me"]["corpUser"]["urn"].as_str();
        Ok(urn
            .context("the server does not say who the user is")?
            .to_owned())
    }

    /// The names of all entities that files refer to by name.
    pub(super) async fn names(&self) -> Result<Names> {
        let mut names = Names::default();
        for (entity_type, aspect) in named_types() {
            let mut page = Page::of_type(entity_type, &[aspect], NAME_PAGE);
            while let Some(entities) = self.next_page(&mut page).await? {
                for entity in entities {
                    if let Some(name) = name_of(&entity.urn, &entity.aspects) {
                        names.add(&entity.urn, &name);
                    }
                }
            }
        }
        Ok(names)
    }

    /// Each domain with its parent.
    pub(super) async fn domain_parents(&self) -> Result<BTreeMap<Urn, Option<String>>> {
        let mut parents = BTreeMap::new();
        let mut page = Page::of_type("domain", &["domainProperties"], NAME_PAGE);
        while let Some(entities) = self.next_page(&mut page).await? {
            for entity in entities {
                let properties = entity.aspects.get("domainProperties");
                let parent = properties.and_then(|it| it.value["parentDomain"].as_str());
                parents.insert(entity.urn, parent.map(str::to_owned));
            }
        }
        Ok(parents)
    }

    /// The pages of all entities of a kind, or of those in these domains.
    pub(super) fn pages(kind: &Kind, domains: Option<&[String]>) -> Vec<Page> {
        let aspects = kind.read_aspects();
        let Some(domains) = domains else {
            return vec![Page::of_type(kind.entity_type, &aspects, PAGE)];
        };
        let pages = domains.chunks(FILTER_DOMAINS).map(|domains| {
            let mut page = Page::of_type(kind.entity_type, &aspects, PAGE);
            let condition = json!({"field": "domains", "condition": "EQUAL", "values": domains});
            page.body["filter"] = json!({"or": [{"and": [condition]}]});
            page
        });
        pages.collect()
    }

    /// The next entities; `None` after the last ones.
    pub(super) async fn next_page(&self, page: &mut Page) -> Result<Option<Vec<Entity>>> {
        if page.is_last {
            return Ok(None);
        }
        loop {
            let mut target = format!(
                "/openapi/v3/entity/scroll?systemMetadata=true&count={}",
                page.count
            );
            if let Some(cursor) = &page.cursor {
                let cursor: String = percent_encoding::utf8_percent_encode(
                    cursor,
                    percent_encoding::NON_ALPHANUMERIC,
                )
                .collect();
                target.push_str("&scrollId=");
                target.push_str(&cursor);
            }
            let reply = match self.read(&target, &page.body).await {
                // The aspects of a page are too long for one reply.
                Err(error) if page.count > 1 && is_too_large(&error) => {
                    page.count = page.count.div_ceil(4);
                    continue;
                }
                reply => reply?,
            };
            let cursor = reply["scrollId"].as_str().map(str::to_owned);
            let entities = entities_of(&reply["entities"])?;
            ensure!(
                cursor.is_none() || cursor != page.cursor,
                "the server returns the same page again"
            );
            page.is_last = cursor.is_none() || entities.is_empty();
            page.cursor = cursor;
            return Ok(Some(entities));
        }
    }

    /// Reads entities of one type; missing ones are left out.
    pub(super) async fn entities(&self, kind: &Kind, urns: &[&Urn]) -> Result<Vec<Entity>> {
        let aspects = kind.read_aspects();
        self.read_entities(kind.entity_type, &aspects, urns).await
    }

    /// Those of these entities that exist, whatever their types.
    pub(super) async fn existing(&self, urns: &BTreeSet<&Urn>) -> Result<Vec<Urn>> {
        let types: BTreeSet<&str> = urns.iter().map(|urn| urn.entity_type()).collect();
        let mut existing = Vec::new();
        for entity_type in types {
            let of_type = urns.iter().filter(|urn| urn.entity_type() == entity_type);
            let of_type: Vec<&Urn> = of_type.copied().collect();
            let found = self.read_entities(entity_type, &[], &of_type).await?;
            existing.extend(found.into_iter().map(|entity| entity.urn));
        }
        Ok(existing)
    }

    async fn read_entities(
        &self,
        entity_type: &str,
        aspects: &[&str],
        urns: &[&Urn],
    ) -> Result<Vec<Entity>> {
        let aspects: Map<String, Value> = with_key(entity_type, aspects)
            .into_iter()
            .map(|aspect| (aspect.to_owned(), json!({})))
            .collect();
        let mut found = Vec::with_capacity(urns.len());
        let mut rest = urns;
        let mut count = PAGE;
        while !rest.is_empty() {
            let (chunk, after) = rest.split_at(count.min(rest.len()));
            let requests = chunk.iter().map(|urn| {
                let mut request = aspects.clone();
                request.insert("urn".to_owned(), json!(urn.as_str()));
                Value::Object(request)
            });
            match self
                .read(&batch_target(entity_type), &requests.collect())
                .await
            {
                Err(error) if count > 1 && is_too_large(&error) => count = count.div_ceil(4),
                reply => {
                    found.extend(entities_of(&reply?)?);
                    rest = after;
                }
            }
        }
        Ok(found)
    }

    /// The older versions of an aspect, newest first.
    pub(super) async fn history(&self, history: &History) -> Result<Vec<Aspect>> {
        let all = self.versions(history, &history.versions).await;
        if !all.as_ref().is_err_and(is_too_large) {
            return all;
        }
        let mut found = Vec::new();
        for version in history.versions.chunks(1) {
            found.extend(self.versions(history, version).await?);
        }
        Ok(found)
    }

    async fn versions(&self, history: &History, versions: &[i64]) -> Result<Vec<Aspect>> {
        let requests = versions.iter().map(|version| {
            let headers = json!({"headers": {"If-Version-Match": version.to_string()}});
            json!({"urn": history.urn.as_str(), history.aspect: headers})
        });
        let target = batch_target(history.urn.entity_type());
        let reply = self.read(&target, &requests.collect()).await?;
        let entities = reply.as_array().into_iter().flatten();
        let found = entities.filter_map(|it| entity_of(it)?.aspects.remove(history.aspect));
        Ok(found.collect())
    }

    /// Writes a list, all or nothing, if no aspect has another version than the one compared.
    /// The versions are marked with the project of the files.
    pub(super) async fn write(
        &self,
        writes: &[AspectWrite],
        run_id: &str,
        project: &str,
    ) -> Result<Written> {
        let proposals = writes.iter().map(|write| {
            let version = write.replaces.unwrap_or(-1);
            // A run id would not do: a connector that writes the same value replaces it.
            let mark = json!({PROJECT_PROPERTY: project});
            json!({
                "entityType": write.urn.entity_type(),
                "entityUrn": write.urn.as_str(),
                "aspectName": write.aspect,
                "changeType": "UPSERT",
                "aspect": {"value": write.value.to_string(), "contentType": "application/json"},
                "systemMetadata": {"runId": run_id, "lastRunId": run_id, "properties": mark},
                "headers": {"If-Version-Match": version.to_string()},
            })
        });
        let proposals: Vec<Value> = proposals.collect();
        let body = json!({"proposals": proposals, "async": "false"});
        let target = "/aspects?action=ingestProposalBatch";
        match self.post(target, &body).await? {
            Ok(reply) => {
                let warnings = reply["warnings"].as_array().into_iter().flatten();
                let warnings = warnings.filter_map(Value::as_str).map(str::to_owned);
                Ok(Written::Done(warnings.collect()))
            }
            Err(failure) if failure.status == StatusCode::PRECONDITION_FAILED => {
                Ok(Written::Conflict(failure.message))
            }
            Err(failure) => Err(failure.into_error(&self.address, target)),
        }
    }

    /// Rolls back a run; returns the numbers of aspects and of entities that it changes.
    pub(super) async fn roll_back(&self, run_id: &str, dry_run: bool) -> Result<(u64, u64)> {
        let body = json!({"runId": run_id, "dryRun": dry_run, "safe": true});
        let target = "/runs?action=rollback";
        let reply = self.post(target, &body).await?;
        let reply = reply.map_err(|failure| failure.into_error(&self.address, target))?;
        let number = |name: &str| reply["value"][name].as_u64().unwrap_or_default();
        Ok((number("aspectsReverted"), number("entitiesDeleted")))
    }
}

/// A position in a list of entities.
pub(super) struct Page {
    body: Value,
    count: usize,
    cursor: Option<String>,
    is_last: bool,
}

impl Page {
    fn of_type(entity_type: &str, aspects: &[&str], count: usize) -> Self {
        let aspects = with_key(entity_type, aspects);
        Self {
            body: json!({"entities": [entity_type], "aspects": aspects}),
            count,
            cursor: None,
            is_last: false,
        }
    }
}

/// The error of a reply that would be longer than a server sends.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct TooLarge(String);

fn is_too_large(error: &anyhow::Error) -> bool {
    error.is::<TooLarge>()
}

impl Failure {
    fn into_error(self, address: &str, target: &str) -> anyhow::Error {
        let path = target.split('?').next().unwrap_or(target);
        let Self { status, message } = self;
        let text = if message.is_empty() {
            format!("{address}{path} returned {status}; is it the address of a Docent server?")
        } else {
            message
        };
        if status == StatusCode::PAYLOAD_TOO_LARGE {
            return TooLarge(text).into();
        }
        anyhow::anyhow!(text)
    }
}

/// The aspects with the key, which tells when the entity was created.
fn with_key<'a>(entity_type: &str, aspects: &[&'a str]) -> Vec<&'a str> {
    let key = Registry::get()
        .entity(entity_type)
        .map(|entity| entity.key_aspect.as_str());
    aspects.iter().copied().chain(key).collect()
}

fn batch_target(entity_type: &str) -> String {
    format!("/openapi/v3/entity/{entity_type}/batchGet?systemMetadata=true")
}

fn entities_of(reply: &Value) -> Result<Vec<Entity>> {
    let entities = reply
        .as_array()
        .context("the server sent no list of entities")?;
    let mut seen = HashSet::with_capacity(entities.len());
    let mut read = Vec::with_capacity(entities.len());
    for entity in entities {
        let entity = entity_of(entity).context("the server sent an invalid entity")?;
        if seen.insert(entity.urn.clone()) {
            read.push(entity);
        }
    }
    Ok(read)
}

fn entity_of(reply: &Value) -> Option<Entity> {
    let members = reply.as_object()?;
    let urn = Urn::parse(members.get("urn")?.as_str()?).ok()?;
    let key = Registry::get().entity(urn.entity_type())?.key_aspect;
    let mut created = 0;
    let mut aspects = BTreeMap::new();
    for (name, aspect) in members.iter().filter(|(name, _)| *name != "urn") {
        let metadata = &aspect["systemMetadata"];
        if name == key.as_str() {
            let time = metadata["aspectCreated"]["time"].as_i64();
            created = time
                .or_else(|| metadata["lastObserved"].as_i64())
                .unwrap_or_default();
            continue;
        }
        let version = metadata["version"].as_str().and_then(|it| it.parse().ok());
        let project = metadata["properties"][PROJECT_PROPERTY].as_str();
        let aspect = Aspect {
            value: aspect["value"].clone(),
            version: version.unwrap_or(1),
            project: project.map(str::to_owned),
        };
        aspects.insert(name.clone(), aspect);
    }
    Some(Entity {
        urn,
        created,
        aspects,
    })
}
