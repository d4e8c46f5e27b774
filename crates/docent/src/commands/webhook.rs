//! `docent webhook`: manages the webhooks of a running server, over its API, because only the
//! server has the key of secrets and sends events.

mod update;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use clap::{Args, Subcommand, ValueEnum};
use comfy_table::{Table, presets};
use docent_client::{HttpClient, Limits};
use http::StatusCode;
use serde_json::{Value, json};
use url::Url;

use update::UpdateFlags;

use super::status::{no_answer, read_token, server_url};
use super::{note, printable, runtime, say};

const FIELDS: &str = "urn name url topic format isActive owner { urn }
    filter { entityTypes aspects domains tags actors }
    delivery { position behind pending failures failure stopped deadLetters }";
/// How many dead letters `show` prints.
const SHOWN_LETTERS: usize = 10;

/// A test event waits for the receiver.
const LIMITS: Limits = Limits {
    timeout: Duration::from_secs(30),
    response_bytes: 16 * 1024 * 1024,
};

#[derive(Debug, Args)]
pub(crate) struct WebhookFlags {
    #[arg(
        long,
        value_name = "URL",
        global = true,
        help = "Address of the running server [default: http://localhost:8080]"
    )]
    server: Option<String>,
    /// File with a token of a user who manages webhooks; needed unless the server has --auth off
    #[arg(long, value_name = "FILE", global = true)]
    token_file: Option<PathBuf>,
    #[command(subcommand)]
    command: WebhookCommand,
}

#[derive(Debug, Subcommand)]
enum WebhookCommand {
    /// Send changes to an address from now on, and print the secret of the signatures
    Create(CreateFlags),
    /// List webhooks with the state of their delivery
    List,
    /// Show a webhook, and its newest dead letters
    Show {
        /// URN of the webhook, or its id
        webhook: String,
    },
    /// Change the settings of a webhook, or replace its secret; you become its owner
    Update(UpdateFlags),
    /// Send nothing until the webhook is resumed; you become its owner
    Pause {
        /// URN of the webhook, or its id
        webhook: String,
    },
    /// Send what has changed since the webhook was paused, and what changes; you become its owner
    Resume {
        /// URN of the webhook, or its id
        webhook: String,
    },
    /// Delete a webhook with its dead letters
    Delete {
        /// URN of the webhook, or its id
        webhook: String,
    },
    /// Send dead letters again, the oldest first
    Replay {
        /// URN of the webhook, or its id
        webhook: String,
        /// Dead letter to send; repeatable [default: all]
        #[arg(long = "id", value_name = "ID")]
        ids: Vec<String>,
    },
    /// Delete dead letters without sending them
    Discard {
        /// URN of the webhook, or its id
        webhook: String,
        /// Dead letter to delete; repeatable [default: all]
        #[arg(long = "id", value_name = "ID")]
        ids: Vec<String>,
    },
    /// Send an event that says nothing, to try the receiver
    Test {
        /// URN of the webhook, or its id
        webhook: String,
    },
}

#[derive(Debug, Args)]
struct CreateFlags {
    /// Name for the list
    name: String,
    /// Address of the receiver, with http or https
    url: String,
    /// What is sent: each change of an aspect, or what a change means to users [default: changes]
    #[arg(long, value_name = "changes|entity-changes")]
    topic: Option<Topic>,
    /// Form of the events [default: cloudevents]
    #[arg(long, value_name = "cloudevents|datahub")]
    format: Option<Format>,
    #[command(flatten)]
    filter: FilterFlags,
}

#[derive(Debug, Args)]
struct FilterFlags {
    /// Only changes of this entity type, for example dataset; repeatable
    #[arg(long, value_name = "TYPE")]
    entity_type: Vec<String>,
    /// Only changes of this aspect, for example globalTags; repeatable
    #[arg(long, value_name = "ASPECT")]
    aspect: Vec<String>,
    /// Only changes in this domain or a subdomain; repeatable
    #[arg(long, value_name = "URN")]
    domain: Vec<String>,
    /// Only changes of entities with this tag; repeatable
    #[arg(long, value_name = "URN")]
    tag: Vec<String>,
    /// Only changes by this user; repeatable
    #[arg(long, value_name = "URN")]
    actor: Vec<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Topic {
    Changes,
    EntityChanges,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Format {
    Cloudevents,
    Datahub,
}

impl Topic {
    fn name(self) -> &'static str {
        match self {
            Self::Changes => "METADATA_CHANGE_LOG",
            Self::EntityChanges => "PLATFORM_EVENTS",
        }
    }
}

impl Format {
    fn name(self) -> &'static str {
        match self {
            Self::Cloudevents => "CLOUDEVENTS",
            Self::Datahub => "DATAHUB",
        }
    }
}

impl FilterFlags {
    /// The values with their names in the API.
    fn members(&self) -> [(&'static str, &[String]); 5] {
        [
            ("entityTypes", &self.entity_type),
            ("aspects", &self.aspect),
            ("domains", &self.domain),
            ("tags", &self.tag),
            ("actors", &self.actor),
        ]
    }
}

impl CreateFlags {
    fn input(&self) -> Value {
        json!({
            "name": self.name,
            "url": self.url,
            "topic": self.topic.map(Topic::name),
            "format": self.format.map(Format::name),
            "filter": BTreeMap::from(self.filter.members()),
        })
    }
}

pub(super) fn run(flags: &WebhookFlags) -> Result<()> {
    let api = Api::new(flags)?;
    match &flags.command {
        WebhookCommand::Create(create) => api.create(create),
        WebhookCommand::List => api.list(),
        WebhookCommand::Show { webhook } => api.show(&urn(webhook)),
        WebhookCommand::Update(update) => api.update(update),
        WebhookCommand::Pause { webhook } => api.set_active(&urn(webhook), false),
        WebhookCommand::Resume { webhook } => api.set_active(&urn(webhook), true),
        WebhookCommand::Delete { webhook } => api.delete(&urn(webhook)),
        WebhookCommand::Replay { webhook, ids } => api.replay(&urn(webhook), ids),
        WebhookCommand::Discard { webhook, ids } => api.discard(&urn(webhook), ids),
        WebhookCommand::Test { webhook } => api.test(&urn(webhook)),
    }
}

fn urn(text: &str) -> String {
    if text.starts_with("urn:") {
        text.to_owned()
    } else {
        format!("urn:li:docentWebhook:{text}")
    }
}

/// The GraphQL API of the server.
struct Api {
    address: String,
    url: Url,
    token: Option<String>,
    client: HttpClient,
    runtime: tokio::runtime::Runtime,
}

impl Api {
    fn new(flags: &WebhookFlags) -> Result<Self> {
        let address = flags.server.as_deref().unwrap_or("http://localhost:8080");
        let mut url = server_url(address)?;
        url.set_path("/api/graphql");
        let token = flags.token_file.as_deref().map(read_token).transpose()?;
        Ok(Self {
            address: address.to_owned(),
            url,
            token,
            client: HttpClient::default(),
            runtime: runtime()?,
        })
    }

    /// Executes an operation with one field, and returns its value.
    fn execute(&self, field: &str, query: &str, variables: &Value) -> Result<Value> {
        let body = json!({"query": query, "variables": variables});
        let token = self.token.as_deref();
        let sent = self
            .client
            .post_json(self.url.as_str(), token, &body, LIMITS);
        let sent = self.runtime.block_on(sent);
        let (status, mut reply) = sent.map_err(|error| no_answer(&self.address, error))?;
        if status == StatusCode::UNAUTHORIZED {
            bail!(
                "{} needs a token: set --token-file to a file with one; 'docent token create' makes one",
                self.address
            );
        }
        if let Some(message) = reply["errors"][0]["message"].as_str() {
            bail!("{message}");
        }
        if let (false, Some(message)) = (status.is_success(), reply["message"].as_str()) {
            bail!("{} returned {status}: {message}", self.url);
        }
        ensure!(
            status == StatusCode::OK,
            "{} returned {status}; is it the address of a Docent server?",
            self.url
        );
        let data = reply.get_mut("data").and_then(|data| data.get_mut(field));
        Ok(data.map(Value::take).unwrap_or_default())
    }

    fn create(&self, flags: &CreateFlags) -> Result<()> {
        let query =
            "mutation ($input: WebhookInput!) { createWebhook(input: $input) { urn secret } }";
        let variables = json!({"input": flags.input()});
        let created = self.execute("createWebhook", query, &variables)?;
        say(format!("webhook: {}", text(&created["urn"])));
        say(format!("secret: {}", text(&created["secret"])));
        note("save the secret, it is not shown again; the receiver checks signatures with it");
        Ok(())
    }

    fn list(&self) -> Result<()> {
        let query = format!("{{ listWebhooks {{ {FIELDS} }} }}");
        let webhooks = self.execute("listWebhooks", &query, &json!({}))?;
        let webhooks = webhooks.as_array().cloned().unwrap_or_default();
        if webhooks.is_empty() {
            say("no webhooks; create one with 'docent webhook create NAME URL'");
            return Ok(());
        }
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        table.set_header(["NAME", "URL", "STATE", "PENDING", "DEAD", "WEBHOOK"]);
        for webhook in webhooks {
            let delivery = &webhook["delivery"];
            table.add_row([
                printable(text(&webhook["name"])),
                printable(text(&webhook["url"])),
                state(&webhook).to_owned(),
                delivery["pending"].to_string(),
                delivery["deadLetters"].to_string(),
                text(&webhook["urn"]).to_owned(),
            ]);
        }
        for line in table.lines() {
            say(line.trim_end());
        }
        Ok(())
    }

    fn read(&self, urn: &str) -> Result<Value> {
        let query = format!("query ($urn: String!) {{ webhook(urn: $urn) {{ {FIELDS} }} }}");
        self.execute("webhook", &query, &json!({"urn": urn}))
    }

    fn show(&self, urn: &str) -> Result<()> {
        let webhook = self.read(urn)?;
        let delivery = &webhook["delivery"];
        for (name, value) in [
            ("webhook", &webhook["urn"]),
            ("name", &webhook["name"]),
            ("url", &webhook["url"]),
            ("topic", &webhook["topic"]),
            ("format", &webhook["format"]),
            ("owner", &webhook["owner"]["urn"]),
        ] {
            say(format!("{name}: {}", printable(text(value))));
        }
        for (name, member) in [
            ("entity types", "entityTypes"),
            ("aspects", "aspects"),
            ("domains", "domains"),
            ("tags", "tags"),
            ("actors", "actors"),
        ] {
            let values = webhook["filter"][member].as_array().into_iter().flatten();
            let values: Vec<&str> = values.map(text).collect();
            if !values.is_empty() {
                say(format!("{name}: {}", printable(&values.join(", "))));
            }
        }
        say(format!("state: {}", state(&webhook)));
        for (name, member) in [("stopped because", "stopped"), ("last failure", "failure")] {
            if let Some(reason) = delivery[member].as_str() {
                say(format!("{name}: {}", printable(reason)));
            }
        }
        say(format!("position: {}", text(&delivery["position"])));
        say(format!("pending: {}", delivery["pending"]));
        say(format!("dead letters: {}", delivery["deadLetters"]));
        if delivery["deadLetters"] != json!(0) {
            self.show_letters(urn)?;
        }
        Ok(())
    }

    fn show_letters(&self, urn: &str) -> Result<()> {
        let query = "query ($input: WebhookDeadLettersInput!) { webhookDeadLetters(input: $input) {
            deadLetters { id entityUrn attempts reason } } }";
        let variables = json!({"input": {"urn": urn, "count": SHOWN_LETTERS}});
        let page = self.execute("webhookDeadLetters", query, &variables)?;
        for letter in page["deadLetters"].as_array().into_iter().flatten() {
            say(format!(
                "  {}: {}, {} attempts, {}",
                text(&letter["id"]),
                printable(letter["entityUrn"].as_str().unwrap_or("hidden")),
                letter["attempts"],
                printable(text(&letter["reason"]))
            ));
        }
        Ok(())
    }

    fn delete(&self, urn: &str) -> Result<()> {
        let query = "mutation ($urn: String!) { deleteWebhook(urn: $urn) }";
        self.execute("deleteWebhook", query, &json!({"urn": urn}))?;
        say("deleted");
        Ok(())
    }

    /// One request replays for a few seconds, so it is repeated while it makes progress.
    fn replay(&self, urn: &str, ids: &[String]) -> Result<()> {
        let query = "mutation ($urn: String!, $ids: [String!]) {
            replayWebhookDeadLetters(urn: $urn, ids: $ids) { delivered remaining failure } }";
        let ids = (!ids.is_empty()).then_some(ids);
        let mut delivered = 0;
        loop {
            let variables = json!({"urn": urn, "ids": ids});
            let replay = self.execute("replayWebhookDeadLetters", query, &variables)?;
            let now = replay["delivered"].as_u64().unwrap_or_default();
            delivered += now;
            let remaining = replay["remaining"].as_u64().unwrap_or_default();
            if let Some(failure) = replay["failure"].as_str() {
                bail!(
                    "delivered {delivered}, {remaining} are left: {}",
                    printable(failure)
                );
            }
            if remaining == 0 || now == 0 || ids.is_some() {
                say(format!("delivered {delivered}, {remaining} are left"));
                return Ok(());
            }
        }
    }

    fn discard(&self, urn: &str, ids: &[String]) -> Result<()> {
        let query = "mutation ($urn: String!, $ids: [String!]) {
            discardWebhookDeadLetters(urn: $urn, ids: $ids) }";
        let ids = (!ids.is_empty()).then_some(ids);
        let variables = json!({"urn": urn, "ids": ids});
        let count = self.execute("discardWebhookDeadLetters", query, &variables)?;
        say(format!("discarded {count}"));
        Ok(())
    }

    fn test(&self, urn: &str) -> Result<()> {
        let query =
            "mutation ($urn: String!) { testWebhook(urn: $urn) { accepted failure milliseconds } }";
        let test = self.execute("testWebhook", query, &json!({"urn": urn}))?;
        if let Some(failure) = test["failure"].as_str() {
            bail!("the event was not accepted: {}", printable(failure));
        }
        say(format!("accepted after {} ms", test["milliseconds"]));
        Ok(())
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The state in a word.
fn state(webhook: &Value) -> &'static str {
    let delivery = &webhook["delivery"];
    if webhook["isActive"] == json!(false) {
        "paused"
    } else if delivery["stopped"].is_string() {
        "stopped"
    } else if delivery["failures"] != json!(0) {
        "failing"
    } else {
        "active"
    }
}
