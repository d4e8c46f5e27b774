//! Sends a writer's requests and reports whether they were acknowledged.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use reqwest::blocking::{Client, RequestBuilder};
use serde_json::{Value, json};

/// Far longer than a request takes.
const TIMEOUT: Duration = Duration::from_mins(1);

/// A server's address and an access token. Cloning is cheap.
#[derive(Debug, Clone)]
pub struct Connection {
    client: Client,
    address: String,
    token: String,
    patience: Duration,
}

impl Connection {
    pub fn new(address: &str, token: &str) -> anyhow::Result<Self> {
        let client = Client::builder().no_proxy().timeout(TIMEOUT).build()?;
        Ok(Self {
            client,
            address: address.to_owned(),
            token: token.to_owned(),
            patience: Duration::ZERO,
        })
    }

    /// The same client, of a store that may be unavailable for so long: reads are repeated
    /// meanwhile.
    #[must_use]
    pub fn patient(&self, patience: Duration) -> Self {
        Self {
            patience,
            ..self.clone()
        }
    }

    /// The same client at another address.
    #[must_use]
    pub fn at(&self, address: &str) -> Self {
        Self {
            address: address.to_owned(),
            ..self.clone()
        }
    }

    /// Whether the store may be unavailable now and then.
    pub fn is_patient(&self) -> bool {
        !self.patience.is_zero()
    }

    /// Sends change proposals as one batch. Returns false if there is no acknowledgement: the
    /// connection broke, or the store is unavailable.
    pub fn ingest(&self, proposals: &[Value]) -> anyhow::Result<bool> {
        let reply = self.post(
            "/aspects?action=ingestProposalBatch",
            &json!({ "proposals": proposals }),
        )?;
        match reply {
            None => Ok(false),
            Some((200, _)) => Ok(true),
            Some((status, body)) => bail!("the batch failed with {status}: {body}"),
        }
    }

    /// Executes a mutation with one field, `done`. Returns false if there is no acknowledgement.
    pub fn mutate(&self, document: &str, variables: &Value) -> anyhow::Result<bool> {
        let Some(reply) = self.graphql(document, variables)? else {
            return Ok(false);
        };
        let done = &reply["data"]["done"];
        ensure!(
            reply.get("errors").is_none() && (done.is_string() || *done == true),
            "the write was rejected: {reply}"
        );
        Ok(true)
    }

    /// Executes a query and returns its data. The only errors allowed are those for missing
    /// entities.
    pub fn query(&self, document: &str, variables: &Value) -> anyhow::Result<Value> {
        let reply = self.patiently(|| self.graphql(document, variables))?;
        let mut reply = reply.context("the connection broke, or the store is unavailable")?;
        let errors = reply["errors"].as_array();
        if let Some(error) = errors
            .into_iter()
            .flatten()
            .find(|error| error["extensions"]["code"] != 404)
        {
            bail!("the query failed: {error}");
        }
        Ok(reply["data"].take())
    }

    /// Returns a version of an aspect, with its system metadata; 0 is the latest. `None` if it does
    /// not exist.
    pub fn aspect(&self, urn: &str, aspect: &str, version: u64) -> anyhow::Result<Option<Value>> {
        let entity = urn.split(':').nth(2).unwrap_or_default();
        let path = format!("/openapi/v3/entity/{entity}/{urn}/{aspect}");
        let query = format!("?systemMetadata=true&version={version}");
        let url = format!("{}{path}{query}", self.address);
        let read = || exchange(self.client.get(&url).bearer_auth(&self.token));
        match self.patiently(read)? {
            Some((200, text)) => Ok(Some(serde_json::from_str(&text)?)),
            Some((404, _)) => Ok(None),
            other => bail!("{aspect} of {urn} cannot be read: {other:?}"),
        }
    }

    /// Repeats a read that gets no response.
    fn patiently<T>(
        &self,
        read: impl Fn() -> anyhow::Result<Option<T>>,
    ) -> anyhow::Result<Option<T>> {
        let begin = Instant::now();
        loop {
            let response = read()?;
            if response.is_some() || begin.elapsed() >= self.patience {
                return Ok(response);
            }
            thread::sleep(Duration::from_millis(10));
        }
    }

    fn graphql(&self, document: &str, variables: &Value) -> anyhow::Result<Option<Value>> {
        let body = json!({ "query": document, "variables": variables });
        let Some((status, text)) = self.post("/api/graphql", &body)? else {
            return Ok(None);
        };
        ensure!(status == 200, "GraphQL returned {status}: {text}");
        let reply: Value = serde_json::from_str(&text)?;
        let is_unavailable = reply["errors"][0]["extensions"]["code"] == 503;
        Ok((!is_unavailable).then_some(reply))
    }

    fn post(&self, path: &str, body: &Value) -> anyhow::Result<Option<(u16, String)>> {
        let request = self.client.post(format!("{}{path}", self.address));
        exchange(request.bearer_auth(&self.token).json(body))
    }
}

/// Returns status and body, or `None` if the response is missing or incomplete, or the store is
/// unavailable.
fn exchange(request: RequestBuilder) -> anyhow::Result<Option<(u16, String)>> {
    let response = request.send().and_then(|response| {
        let status = response.status().as_u16();
        Ok((status, response.text()?))
    });
    match response {
        Ok((503, _)) => Ok(None),
        Ok(response) => Ok(Some(response)),
        Err(error) if error.is_timeout() => Err(error).context("the request timed out"),
        Err(_) => Ok(None),
    }
}

/// Returns a change proposal that writes one aspect.
pub fn proposal(urn: &str, aspect: &str, value: &Value) -> Value {
    json!({
        "entityType": urn.split(':').nth(2),
        "entityUrn": urn,
        "changeType": "UPSERT",
        "aspectName": aspect,
        "aspect": {"value": value.to_string(), "contentType": "application/json"},
    })
}
