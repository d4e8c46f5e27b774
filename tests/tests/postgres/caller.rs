//! A client of one server.

use std::collections::BTreeSet;

use anyhow::{Context as _, bail, ensure};
use docent_e2e::Server;
use reqwest::blocking::Client;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use serde_json::{Value, json};

use crate::{PATIENCE, PROPERTIES};

/// Every reply is an answer, whatever its status.
#[derive(Clone)]
pub(crate) struct Caller {
    client: Client,
    address: String,
}

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) retry_after: Option<String>,
    pub(crate) body: Value,
}

impl Caller {
    pub(crate) fn new(server: &Server) -> anyhow::Result<Self> {
        Self::with_headers(server, HeaderMap::new())
    }

    /// One who shows a token with every request.
    pub(crate) fn with_token(server: &Server) -> anyhow::Result<Self> {
        let bearer = format!("Bearer {}", server.token("datahub")?);
        let headers = HeaderMap::from_iter([(AUTHORIZATION, HeaderValue::from_str(&bearer)?)]);
        Self::with_headers(server, headers)
    }

    fn with_headers(server: &Server, headers: HeaderMap) -> anyhow::Result<Self> {
        let client = Client::builder().no_proxy().timeout(PATIENCE);
        Ok(Self {
            client: client.default_headers(headers).build()?,
            address: server.address().to_owned(),
        })
    }

    fn post(&self, path: &str, body: &Value) -> anyhow::Result<Answer> {
        let request = self.client.post(format!("{}{path}", self.address));
        let reply = request.json(body).send()?;
        let retry_after = reply.headers().get("retry-after");
        Ok(Answer {
            status: reply.status().as_u16(),
            retry_after: retry_after.map(|value| value.to_str().unwrap_or_default().to_owned()),
            body: serde_json::from_str(&reply.text()?).unwrap_or_default(),
        })
    }

    pub(crate) fn propose(
        &self,
        change: &str,
        urn: &str,
        aspect: &str,
        value: &Value,
    ) -> anyhow::Result<Answer> {
        let kind = if change == "PATCH" {
            "application/json-patch+json"
        } else {
            "application/json"
        };
        let proposal = json!({
            "entityType": urn.split(':').nth(2),
            "entityUrn": urn,
            "changeType": change,
            "aspectName": aspect,
            "aspect": {"value": value.to_string(), "contentType": kind},
        });
        self.post(
            "/aspects?action=ingestProposal",
            &json!({ "proposal": proposal }),
        )
    }

    /// Adds a property to a dataset by a patch.
    pub(crate) fn patch(&self, urn: &str, property: &str) -> anyhow::Result<Answer> {
        let place = format!("/customProperties/{property}");
        let operations = json!([{"op": "add", "path": place, "value": "x"}]);
        self.propose("PATCH", urn, PROPERTIES, &operations)
    }

    /// Deletes an entity with all it has; says whether there was anything to delete.
    pub(crate) fn delete(&self, urn: &str) -> anyhow::Result<bool> {
        let answer = self.post("/entities?action=delete", &json!({ "urn": urn }))?;
        let rows = answer.body["value"]["rows"].as_u64();
        match (answer.status, rows) {
            (200, Some(rows)) => Ok(rows > 0),
            (404, _) => Ok(false),
            (status, _) => bail!("{status} {}", answer.body),
        }
    }

    /// The data of a query; errors fail.
    pub(crate) fn query(&self, document: &str, variables: &Value) -> anyhow::Result<Value> {
        let body = json!({"query": document, "variables": variables});
        let mut answer = self.post("/api/graphql", &body)?;
        let errors = &answer.body["errors"];
        ensure!(
            answer.status == 200 && errors.is_null(),
            "{} {}",
            answer.status,
            answer.body
        );
        Ok(answer.body["data"].take())
    }

    /// Runs a mutation; says whether it did it. Being refused as bad input or for a conflict is an answer, too.
    pub(crate) fn mutate(&self, document: &str, variables: &Value) -> anyhow::Result<bool> {
        let body = json!({"query": document, "variables": variables});
        let answer = self.post("/api/graphql", &body)?;
        ensure!(answer.status == 200, "{} {}", answer.status, answer.body);
        let code = &answer.body["errors"][0]["extensions"]["code"];
        match code.as_u64() {
            None => Ok(true),
            Some(400 | 404 | 409) => Ok(false),
            Some(_) => bail!("{}", answer.body),
        }
    }

    /// How much is found; `None` if the server asks to come again.
    pub(crate) fn found_unless_refused(&self, text: &str) -> anyhow::Result<Option<u64>> {
        let (answer, total) = self.search(text)?;
        let code = &answer.body["errors"][0]["extensions"]["code"];
        let refused = answer.status == 503 || code == 503;
        ensure!(
            total.is_some() || refused,
            "{} {}",
            answer.status,
            answer.body
        );
        Ok(total)
    }

    fn search(&self, text: &str) -> anyhow::Result<(Answer, Option<u64>)> {
        let query = "query($text: String!) { searchAcrossEntities(input: {query: $text, count: 0}) { total } }";
        let body = json!({"query": query, "variables": {"text": text}});
        let answer = self.post("/api/graphql", &body)?;
        let total = answer.body["data"]["searchAcrossEntities"]["total"].as_u64();
        Ok((answer, total))
    }

    pub(crate) fn found(&self, text: &str) -> anyhow::Result<u64> {
        match self.search(text)? {
            (_, Some(total)) => Ok(total),
            (answer, None) => bail!("{} {}", answer.status, answer.body),
        }
    }

    /// The properties of a dataset, and how often the aspect was written.
    pub(crate) fn properties(&self, urn: &str) -> anyhow::Result<(BTreeSet<String>, u64)> {
        let read = self.properties_unless_refused(urn)?;
        read.context("503 instead of the properties")
    }

    /// The same; `None` if the server asks to come again.
    pub(crate) fn properties_unless_refused(
        &self,
        urn: &str,
    ) -> anyhow::Result<Option<(BTreeSet<String>, u64)>> {
        let url = format!(
            "{}/openapi/v3/entity/dataset/{}?systemMetadata=true&aspects={PROPERTIES}",
            self.address,
            encoded(urn)
        );
        let reply = self.client.get(url).send()?;
        if reply.status().as_u16() == 503 {
            let retry = reply.headers().contains_key("retry-after");
            ensure!(retry, "503 without Retry-After");
            return Ok(None);
        }
        let reply: Value = serde_json::from_str(&reply.text()?)?;
        let aspect = &reply[PROPERTIES];
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
