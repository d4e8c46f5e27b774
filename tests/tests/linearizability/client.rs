//! Performs operations on a dataset over HTTP.

use anyhow::{Context as _, bail, ensure};
use docent_e2e::Server;
use docent_e2e::load::{proposal, word};
use reqwest::Method;
use reqwest::blocking::{Client, RequestBuilder};
use serde_json::{Value, json};

use super::TIMEOUT;
use super::dataset::{Dataset, Operation, Outcome};

const PROPERTIES: &str = "datasetProperties";
const DOMAINS: [&str; 3] = [
    "urn:li:domain:red",
    "urn:li:domain:green",
    "urn:li:domain:blue",
];

/// The number of domains that datasets move between.
pub(crate) const DOMAIN_COUNT: usize = DOMAINS.len();

/// What is known about an operation after it was sent.
#[derive(Debug)]
pub(crate) enum Sent {
    Returned(Outcome),
    /// The server did not get the request, or rejected it without an effect.
    Rejected,
    /// The request may have an effect, now or later.
    Unknown,
}

enum Response {
    Received(u16, String),
    Unreachable,
    Broken,
}

/// A client of one server. Cloning is cheap.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    client: Client,
    address: String,
}

impl Caller {
    pub(crate) fn new(server: &Server) -> anyhow::Result<Self> {
        Ok(Self {
            client: Client::builder().no_proxy().timeout(TIMEOUT).build()?,
            address: server.address().to_owned(),
        })
    }

    /// Creates the domains.
    pub(crate) fn create_domains(&self) -> anyhow::Result<()> {
        let value = |urn: &str| json!({ "name": urn });
        let proposals = DOMAINS.map(|urn| proposal(urn, "domainProperties", &value(urn)));
        let body = json!({ "proposals": proposals });
        let request = self.request(Method::POST, "/aspects?action=ingestProposalBatch");
        match send(request.json(&body))? {
            Response::Received(200, _) => Ok(()),
            Response::Received(status, body) => bail!("{status} {body}"),
            Response::Unreachable | Response::Broken => bail!("no response"),
        }
    }

    /// Sends an operation on a dataset and interprets the response.
    pub(crate) fn perform(&self, urn: &str, operation: Operation) -> anyhow::Result<Sent> {
        let (status, text) = match send(self.request_for(urn, operation))? {
            Response::Received(status, text) => (status, text),
            Response::Unreachable => return Ok(Sent::Rejected),
            Response::Broken => return Ok(Sent::Unknown),
        };
        let body: Value = serde_json::from_str(&text).unwrap_or_default();
        let code = &body["errors"][0]["extensions"]["code"];
        if status == 503 || code == 503 {
            return Ok(Sent::Unknown);
        }
        outcome(urn, operation, status, &body)
            .map(Sent::Returned)
            .with_context(|| format!("{operation:?}: {status} {text}"))
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client
            .request(method, format!("{}{path}", self.address))
    }

    fn graphql(&self, document: &str, variables: &Value) -> RequestBuilder {
        let body = json!({"query": document, "variables": variables});
        self.request(Method::POST, "/api/graphql").json(&body)
    }

    fn request_for(&self, urn: &str, operation: Operation) -> RequestBuilder {
        let entity = format!("/openapi/v3/entity/dataset/{}", encoded(urn));
        let aspect = format!("{entity}/{PROPERTIES}");
        match operation {
            // Patches are applied to the stored value, which is another path through the server.
            Operation::Write { token } if token % 2 == 0 => {
                let patch = json!([
                    {"op": "add", "path": "/description", "value": word(token)},
                    {"op": "add", "path": "/customProperties/token", "value": token.to_string()},
                ]);
                self.request(Method::PATCH, &aspect).json(&patch)
            }
            Operation::Write { token } => {
                let proposal = proposal(urn, PROPERTIES, &properties(token));
                self.request(Method::POST, "/aspects?action=ingestProposal")
                    .json(&json!({ "proposal": proposal }))
            }
            Operation::WriteIf { version, token } => self
                .request(Method::POST, &aspect)
                .header("If-Version-Match", version)
                .json(&json!({ "value": properties(token) })),
            Operation::SetDomain(Some(domain)) => self.graphql(
                "mutation($urn: String!, $domain: String!) { done: setDomain(entityUrn: $urn, domainUrn: $domain) }",
                &json!({"urn": urn, "domain": DOMAINS[domain]}),
            ),
            Operation::SetDomain(None) => self.graphql(
                "mutation($urn: String!) { done: unsetDomain(entityUrn: $urn) }",
                &json!({ "urn": urn }),
            ),
            Operation::Delete => self.request(Method::DELETE, &entity),
            Operation::ReadAspects => {
                let query = format!("?systemMetadata=true&aspects={PROPERTIES}&aspects=domains");
                self.request(Method::GET, &format!("{entity}{query}"))
            }
            Operation::ReadFields => self.graphql(
                "query($urn: String!) { dataset(urn: $urn) { \
                     properties { customProperties { key value } } domain { domain { urn } } } }",
                &json!({ "urn": urn }),
            ),
            Operation::ReadIndex => self.graphql(
                "query($urn: String!) { aggregateAcrossEntities(input: {query: \"*\", \
                     facets: [\"customProperties\", \"domains\"], \
                     orFilters: [{and: [{field: \"urn\", values: [$urn]}]}] \
                 }) { facets { field aggregations { value count } } } }",
                &json!({ "urn": urn }),
            ),
            Operation::Search { token } => self.graphql(
                "query($word: String!) { searchAcrossEntities(input: {query: $word, count: 5}) { \
                     total searchResults { entity { urn } } } }",
                &json!({ "word": word(token) }),
            ),
        }
    }
}

fn properties(token: u64) -> Value {
    json!({"description": word(token), "customProperties": {"token": token.to_string()}})
}

fn send(request: RequestBuilder) -> anyhow::Result<Response> {
    let response = request.send().and_then(|response| {
        let status = response.status().as_u16();
        Ok(Response::Received(status, response.text()?))
    });
    match response {
        Ok(response) => Ok(response),
        Err(error) if error.is_timeout() => Err(error).context("the request timed out"),
        Err(error) if error.is_connect() => Ok(Response::Unreachable),
        Err(_) => Ok(Response::Broken),
    }
}

/// The outcome of an operation that the server has responded to.
fn outcome(urn: &str, operation: Operation, status: u16, body: &Value) -> anyhow::Result<Outcome> {
    let data = &body["data"];
    let code = body["errors"][0]["extensions"]["code"].as_u64();
    Ok(match (operation, status, code) {
        (Operation::Write { .. } | Operation::WriteIf { .. }, 200, None) => Outcome::Done,
        (Operation::WriteIf { .. }, 412, None) => Outcome::Conflict {
            actual: actual_version(body)?,
        },
        (Operation::SetDomain(_), 200, None) if data["done"] == true => Outcome::Done,
        (Operation::SetDomain(_), 200, Some(400)) => Outcome::Missing,
        (Operation::Delete, 200, None) => match body["rows"].as_u64() {
            Some(0) => Outcome::Missing,
            rows => rows.map(|_| Outcome::Done).context("no rows")?,
        },
        (Operation::ReadAspects, 200, None) => Outcome::Aspects(Some(aspects(body)?)),
        (Operation::ReadAspects, 404, None) => Outcome::Aspects(None),
        (Operation::ReadFields, 200, None) => {
            let dataset = &data["dataset"];
            let property = &dataset["properties"]["customProperties"][0];
            let token = property["value"].as_str().context("no token")?.parse()?;
            let domain = dataset["domain"]["domain"]["urn"].as_str();
            Outcome::Fields(Some((token, domain.map(domain_index).transpose()?)))
        }
        (Operation::ReadFields, 200, Some(404)) => Outcome::Fields(None),
        (Operation::ReadIndex, 200, None) => {
            let facets = &data["aggregateAcrossEntities"]["facets"];
            let domain = only_value(&facets[1])?.map(domain_index).transpose()?;
            let Some(property) = only_value(&facets[0])? else {
                ensure!(domain.is_none(), "a domain without a token");
                return Ok(Outcome::Fields(None));
            };
            let token = property.strip_prefix("token=").context("no token")?;
            Outcome::Fields(Some((token.parse()?, domain)))
        }
        (Operation::Search { .. }, 200, None) => {
            let page = &data["searchAcrossEntities"];
            let results = page["searchResults"].as_array().context("no results")?;
            ensure!(page["total"] == results.len(), "the total is wrong");
            match results.as_slice() {
                [] => Outcome::Found(false),
                [result] if result["entity"]["urn"] == urn => Outcome::Found(true),
                [_] => bail!("found another dataset"),
                _ => bail!("found more than once"),
            }
        }
        _ => bail!("an unexpected response"),
    })
}

/// The value of an aspect and its version, and the domain.
fn aspects(body: &Value) -> anyhow::Result<Dataset> {
    let aspect = &body[PROPERTIES];
    let version = aspect["systemMetadata"]["version"].as_str();
    let token = aspect["value"]["customProperties"]["token"].as_str();
    let domain = body["domains"]["value"]["domains"][0].as_str();
    Ok(Dataset {
        version: version.context("no version")?.parse()?,
        token: token.context("no token")?.parse()?,
        domain: domain.map(domain_index).transpose()?,
    })
}

fn actual_version(body: &Value) -> anyhow::Result<i64> {
    let message = body["message"].as_str().unwrap_or_default();
    let (_, rest) = message
        .split_once("actual version ")
        .context("no version")?;
    let version = rest.split(' ').next().unwrap_or_default();
    Ok(version.parse()?)
}

fn domain_index(urn: &str) -> anyhow::Result<usize> {
    let index = DOMAINS.iter().position(|domain| *domain == urn);
    index.with_context(|| format!("an unexpected domain: {urn}"))
}

/// The value of a facet of a single entity.
fn only_value(facet: &Value) -> anyhow::Result<Option<&str>> {
    let values = facet["aggregations"].as_array().context("no facet")?;
    let [value] = values.as_slice() else {
        ensure!(values.is_empty(), "several values");
        return Ok(None);
    };
    ensure!(value["count"] == 1, "the entity is counted more than once");
    Ok(value["value"].as_str())
}

fn encoded(urn: &str) -> String {
    urn.replace('(', "%28")
        .replace(')', "%29")
        .replace(',', "%2C")
        .replace(':', "%3A")
}
