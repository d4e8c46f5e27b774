//! A client of one server.

use std::collections::BTreeSet;

use anyhow::{Context as _, bail, ensure};
use docent_e2e::Server;
use reqwest::blocking::Client;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use serde_json::{Value, json};

use crate::{PROPERTIES, TIMEOUT};

/// Returns responses of any status.
#[derive(Clone)]
pub(crate) struct Caller {
    client: Client,
    address: String,
}

pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) retry_after: Option<String>,
    pub(crate) body: Value,
}

impl Caller {
    pub(crate) fn new(server: &Server) -> anyhow::Result<Self> {
        Self::with_headers(server, HeaderMap::new())
    }

    /// Sends a token with every request.
    pub(crate) fn with_token(server: &Server) -> anyhow::Result<Self> {
        let bearer = format!("Bearer {}", server.token("datahub")?);
        let headers = HeaderMap::from_iter([(AUTHORIZATION, HeaderValue::from_str(&bearer)?)]);
        Self::with_headers(server, headers)
    }

    fn with_headers(server: &Server, headers: HeaderMap) -> anyhow::Result<Self> {
        let client = Client::builder().no_proxy().timeout(TIMEOUT);
        Ok(Self {
            client: client.default_headers(headers).build()?,
            address: server.address().to_owned(),
        })
    }

    fn post(&self, path: &str, body: &Value) -> anyhow::Result<Response> {
        let request = self.client.post(format!("{}{path}", self.address));
        let response = request.json(body).send()?;
        let retry_after = response.headers().get("retry-after");
        Ok(Response {
            status: response.status().as_u16(),
            retry_after: retry_after.map(|value| value.to_str().unwrap_or_default().to_owned()),
            body: serde_json::from_str(&response.text()?).unwrap_or_default(),
        })
    }

    pub(crate) fn propose(
        &self,
        change: &str,
        urn: &str,
        aspect: &str,
        value: &Value,
    ) -> anyhow::Result<Response> {
        let content_type = if change == "PATCH" {
            "application/json-patch+json"
        } else {
            "application/json"
        };
        let proposal = json!({
            "entityType": urn.split(':').nth(2),
            "entityUrn": urn,
            "changeType": change,
            "aspectName": aspect,
            "aspect": {"value": value.to_string(), "contentType": content_type},
        });
        self.post(
            "/aspects?action=ingestProposal",
            &json!({ "proposal": proposal }),
        )
    }

    /// Adds a property to a dataset with a patch.
    pub(crate) fn patch(&self, urn: &str, property: &str) -> anyhow::Result<Response> {
        let path = format!("/customProperties/{property}");
        let operations = json!([{"op": "add", "path": path, "value": "x"}]);
        self.propose("PATCH", urn, PROPERTIES, &operations)
    }

    /// Hard-deletes an entity; returns whether it existed.
    pub(crate) fn delete(&self, urn: &str) -> anyhow::Result<bool> {
        let response = self.post("/entities?action=delete", &json!({ "urn": urn }))?;
        let rows = response.body["value"]["rows"].as_u64();
        match (response.status, rows) {
            (200, Some(rows)) => Ok(rows > 0),
            (404, _) => Ok(false),
            (status, _) => bail!("{status} {}", response.body),
        }
    }

    /// Returns the data of a query; fails on errors.
    pub(crate) fn query(&self, document: &str, variables: &Value) -> anyhow::Result<Value> {
        let body = json!({"query": document, "variables": variables});
        let mut response = self.post("/api/graphql", &body)?;
        let errors = &response.body["errors"];
        ensure!(
            response.status == 200 && errors.is_null(),
            "{} {}",
            response.status,
            response.body
        );
        Ok(response.body["data"].take())
    }

    /// Runs a mutation; returns whether it succeeded. Rejected input and conflicts are not failures
    /// of the test.
    pub(crate) fn mutate(&self, document: &str, variables: &Value) -> anyhow::Result<bool> {
        let body = json!({"query": document, "variables": variables});
        let response = self.post("/api/graphql", &body)?;
        ensure!(
            response.status == 200,
            "{} {}",
            response.status,
            response.body
        );
        let code = &response.body["errors"][0]["extensions"]["code"];
        match code.as_u64() {
            None => Ok(true),
            Some(400 | 404 | 409) => Ok(false),
            Some(_) => bail!("{}", response.body),
        }
    }

    /// The number of search hits; `None` if the server responds with 503.
    pub(crate) fn found_unless_unavailable(&self, text: &str) -> anyhow::Result<Option<u64>> {
        let (response, total) = self.search(text)?;
        let code = &response.body["errors"][0]["extensions"]["code"];
        let is_unavailable = response.status == 503 || code == 503;
        ensure!(
            total.is_some() || is_unavailable,
            "{} {}",
            response.status,
            response.body
        );
        Ok(total)
    }

    fn search(&self, text: &str) -> anyhow::Result<(Response, Option<u64>)> {
        let query = "query($text: String!) { searchAcrossEntities(input: {query: $text, count: 0}) { total } }";
        let body = json!({"query": query, "variables": {"text": text}});
        let response = self.post("/api/graphql", &body)?;
        let total = response.body["data"]["searchAcrossEntities"]["total"].as_u64();
        Ok((response, total))
    }

    pub(crate) fn found(&self, text: &str) -> anyhow::Result<u64> {
        match self.search(text)? {
            (_, Some(total)) => Ok(total),
            (response, None) => bail!("{} {}", response.status, response.body),
        }
    }

    /// The properties of a dataset, and the version of the aspect.
    pub(crate) fn properties(&self, urn: &str) -> anyhow::Result<(BTreeSet<String>, u64)> {
        let read = self.properties_unless_unavailable(urn)?;
        read.context("503 instead of the properties")
    }

    /// The same; `None` if the server responds with 503.
    pub(crate) fn properties_unless_unavailable(
        &self,
        urn: &str,
    ) -> anyhow::Result<Option<(BTreeSet<String>, u64)>> {
        let url = format!(
            "{}/openapi/v3/entity/dataset/{}?systemMetadata=true&aspects={PROPERTIES}",
            self.address,
            encoded(urn)
        );
        let response = self.client.get(url).send()?;
        if response.status().as_u16() == 503 {
            let has_retry_after = response.headers().contains_key("retry-after");
            ensure!(has_retry_after, "503 without Retry-After");
            return Ok(None);
        }
        let entity: Value = serde_json::from_str(&response.text()?)?;
        let aspect = &entity[PROPERTIES];
        let properties = aspect["value"]["customProperties"].as_object();
        let version = aspect["systemMetadata"]["version"].as_str();
        Ok(Some((
            properties
                .into_iter()
                .flatten()
                .map(|(name, _)| name.clone())
                .collect(),
            version.and_then(|text| text.parse().ok()).unwrap_or(0),
        )))
    }
}

fn encoded(urn: &str) -> String {
    urn.replace('(', "%28")
        .replace(')', "%29")
        .replace(',', "%2C")
        .replace(':', "%3A")
}
