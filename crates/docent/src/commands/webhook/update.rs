//! `docent webhook update`, `pause` and `resume`. The API replaces all settings, so they are read
//! first.

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use docent_catalog::webhooks::random_secret;
use serde_json::{Value, json};

use super::super::{note, say};
use super::{Api, FilterFlags, Format, Topic, urn};

#[derive(Debug, Args)]
pub(super) struct UpdateFlags {
    /// URN of the webhook, or its id
    webhook: String,
    /// Name for the list
    #[arg(long)]
    name: Option<String>,
    /// Address of the receiver, also of the events that wait
    #[arg(long)]
    url: Option<String>,
    /// What is sent: each change of an aspect, or what a change means to users
    #[arg(long, value_name = "changes|entity-changes")]
    topic: Option<Topic>,
    /// Form of the events
    #[arg(long, value_name = "cloudevents|datahub")]
    format: Option<Format>,
    /// Remove all filters, before those of this command are set
    #[arg(long)]
    no_filter: bool,
    #[command(flatten)]
    filter: FilterFlags,
    /// Replace the secret of the signatures, and print the new one
    #[arg(long)]
    new_secret: bool,
}

impl UpdateFlags {
    fn is_empty(&self) -> bool {
        let texts = [&self.name, &self.url];
        let mut filters = self.filter.members().into_iter();
        texts.iter().all(|text| text.is_none())
            && self.topic.is_none()
            && self.format.is_none()
            && !self.no_filter
            && !self.new_secret
            && filters.all(|(_, values)| values.is_empty())
    }

    /// Changes the settings of a webhook. The values of a filter replace its previous ones.
    fn change(&self, input: &mut Value) {
        for (name, value) in [
            ("name", self.name.as_deref()),
            ("url", self.url.as_deref()),
            ("topic", self.topic.map(Topic::name)),
            ("format", self.format.map(Format::name)),
        ] {
            if let Some(value) = value {
                input[name] = json!(value);
            }
        }
        if self.no_filter {
            input["filter"] = json!({});
        }
        for (name, values) in self.filter.members() {
            if !values.is_empty() {
                input["filter"][name] = json!(values);
            }
        }
    }
}

impl Api {
    pub(super) fn update(&self, flags: &UpdateFlags) -> Result<()> {
        ensure!(
            !flags.is_empty(),
            "nothing to change: set for example --url or --new-secret; see 'docent webhook update --help'"
        );
        let urn = urn(&flags.webhook);
        let mut input = self.settings(&urn)?;
        flags.change(&mut input);
        let secret = flags.new_secret.then(random_secret).transpose()?;
        if let Some(secret) = &secret {
            input["secret"] = json!(secret);
        }
        self.replace(&urn, &input)?;
        say("updated");
        if let Some(secret) = secret {
            say(format!("secret: {secret}"));
            note("save the secret, it is not shown again; events are signed with it from now on");
        }
        Ok(())
    }

    pub(super) fn set_active(&self, urn: &str, is_active: bool) -> Result<()> {
        let mut input = self.settings(urn)?;
        input["isActive"] = json!(is_active);
        self.replace(urn, &input)?;
        say(if is_active { "resumed" } else { "paused" });
        Ok(())
    }

    /// The stored settings, as the input of `updateWebhook`.
    fn settings(&self, urn: &str) -> Result<Value> {
        let webhook = self.read(urn)?;
        let webhook = webhook.as_object().context("the server has no webhook")?;
        let names = ["name", "url", "topic", "format", "isActive", "filter"];
        let members = webhook
            .iter()
            .filter(|(name, _)| names.contains(&name.as_str()));
        Ok(members
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect())
    }

    fn replace(&self, urn: &str, input: &Value) -> Result<()> {
        let query = "mutation ($urn: String!, $input: WebhookInput!) { updateWebhook(urn: $urn, input: $input) }";
        let variables = json!({"urn": urn, "input": input});
        self.execute("updateWebhook", query, &variables)?;
        Ok(())
    }
}
