//! The query with which DataHub's agent server reads an entity: the broadest that one of DataHub's
//! own programs sends, with all that a dataset can have.
//!
//! The parts of [`PARTS`] are left out in turn, which shows what the query is made of.
//!
//! The text comes from the installed package (`bench/peers/datahub`), because it belongs to
//! DataHub's sources.

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::bench::{Bench, Docent, Prepared, median};
use crate::data::labels::{self, LabeledDataset};
use crate::measure::reads::{self, Rounds};
use crate::measure::scale;
use crate::report::{Report, Target};

/// Few, because each is costly, and all are read several times before the measurement.
const DATASETS: usize = 1_000;

const OPERATION: &str = "GetEntity";

/// Lines that the program leaves out when it talks to a server that it does not know.
const OPTIONAL: [&str; 2] = ["#[CLOUD]", "#[NEWER_GMS]"];

/// Fragments that are costly, and what the query is like without them.
const PARTS: [(&str, &str); 3] = [
    (
        "domainEntitiesFields",
        "without the counts of the domain's entities",
    ),
    ("datasetSchema", "without the columns"),
    ("entityPreview", "with only the columns"),
];

pub(crate) async fn measure(bench: &Bench, report: &mut Report) -> Result<()> {
    let Some(text) = query(bench)? else {
        report.left_out(
            "the query of DataHub's agent server: it is not installed, and scripts/set-up-peers \
             shows why",
        );
        return Ok(());
    };
    report.progress("the query of DataHub's agent server");
    let store = bench.create_store("agent.db")?;
    let docent = bench.serve(&store, None)?;
    let mut client = docent.client(1).await?;
    for batch in labels::batches(DATASETS) {
        client.ask(&docent.batch(&batch)).await?;
    }
    scale::wait_until_indexed(&docent, DATASETS).await?;
    let requests = requests_for(&docent, &text);
    let reply = check(&docent, &requests).await?;
    let canned = bench.serve_canned(&reply)?;
    let prepared = Arc::new(Prepared {
        requests,
        reply_length: reply.len(),
    });
    let servers = [&docent.server, &canned];
    let [ours, theirs] = reads::alternate(servers, &prepared, Rounds::of(bench)).await?;
    drop(canned);
    let cost = median(&ours.costs);
    report.line(
        "DataHub's agent server: its query of a dataset",
        format!("{cost:.0} µs CPU ({:.0}/s)", median(&ours.rates)),
        format!(
            "canned {:.0} µs; the text has {} KiB, the reply {:.1} KiB",
            median(&theirs.costs),
            text.len() / 1024,
            reply.len() as f64 / 1024.0
        ),
        cost,
        Target::Below(150.0, "µs"),
        "An agent that asks for all about a dataset keeps a core busy for this long.",
    );
    for (fragment, what) in PARTS {
        report.progress(&format!("the same {what}"));
        let requests = requests_for(&docent, &without_fragment(&text, fragment)?);
        let reply = client.ask(&requests[0]).await?;
        let errors = &serde_json::from_slice::<Value>(&reply)?["errors"];
        ensure!(errors.is_null(), "{errors}");
        let partial = Arc::new(Prepared {
            requests,
            reply_length: reply.len(),
        });
        let servers = [&docent.server, &docent.server];
        let sources = [&partial, &prepared];
        let [part, all] = reads::alternate_with(servers, sources, Rounds::of(bench)).await?;
        let (part, all) = (median(&part.costs), median(&all.costs));
        report.line(
            format!("DataHub's agent server: the same {what}"),
            format!("{part:.0} µs CPU"),
            format!("all of it {all:.0} µs"),
            part / all,
            Target::None,
            "The ratio is the share of the cost that remains, so it shows what the query is made of.",
        );
    }
    docent.server.stop()?;
    store.remove()
}

/// Returns a request for each dataset.
fn requests_for(docent: &Docent, text: &str) -> Vec<Vec<u8>> {
    let request = |number| {
        let variables = json!({"urn": LabeledDataset(number).urn()});
        let body = json!({"query": text, "operationName": OPERATION, "variables": variables});
        docent.graphql(&body.to_string())
    };
    (0..DATASETS).map(request).collect()
}

/// Returns a text in which a fragment asks for nothing. Fragments that only it needs are removed,
/// because a text may have no unused ones, and so are other operations.
fn without_fragment(text: &str, emptied: &str) -> Result<String> {
    let mut definitions: Vec<String> = Vec::new();
    for line in text.lines() {
        let is_first = line.starts_with("fragment ") || line.starts_with("query ");
        match definitions.last_mut() {
            Some(definition) if !is_first => {
                definition.push('\n');
                definition.push_str(line);
            }
            _ => definitions.push(line.to_owned()),
        }
    }
    let start = format!("fragment {emptied} on ");
    let found = definitions.iter_mut().find(|it| it.starts_with(&start));
    let definition = found.with_context(|| format!("the query has no fragment {emptied}"))?;
    let head = definition.lines().next().unwrap_or_default();
    *definition = format!("{head} __typename }}");
    let operation = format!("query {OPERATION}(");
    definitions.retain(|it| it.starts_with("fragment ") || it.starts_with(&operation));
    loop {
        let spreads: BTreeSet<String> = definitions
            .iter()
            .flat_map(|it| it.lines())
            .filter_map(|line| Some(line.trim().strip_prefix("...")?.trim().to_owned()))
            .collect();
        let before = definitions.len();
        definitions.retain(|definition| {
            let name = definition.split_ascii_whitespace().nth(1);
            !definition.starts_with("fragment ") || name.is_some_and(|it| spreads.contains(it))
        });
        if definitions.len() == before {
            return Ok(definitions.join("\n"));
        }
    }
}

/// Returns the text as the program sends it; `None` if it is not installed.
fn query(bench: &Bench) -> Result<Option<String>> {
    let environment = bench.environments.join("venv-datahub");
    if !environment.join("requirements.installed").exists() {
        return Ok(None);
    }
    for entry in std::fs::read_dir(environment.join("lib"))? {
        let packages = entry?.path().join("site-packages");
        let file = packages.join("mcp_server_datahub/gql/entity_details.gql");
        if file.exists() {
            return Ok(Some(without_optional(&std::fs::read_to_string(file)?)));
        }
    }
    anyhow::bail!("the agent server in {} has no query", environment.display())
}

/// The program turns these lines into comments.
fn without_optional(text: &str) -> String {
    let lines = text.lines().map(|line| {
        if OPTIONAL.iter().any(|marker| line.contains(marker)) {
            format!("# {line}\n")
        } else {
            format!("{line}\n")
        }
    });
    lines.collect()
}

/// Reads some datasets and returns the body of one reply. All replies have its length.
async fn check(docent: &Docent, requests: &[Vec<u8>]) -> Result<Vec<u8>> {
    let mut client = docent.client(1).await?;
    let mut body = Vec::new();
    for number in (0..DATASETS).step_by(DATASETS / 50) {
        body = client.ask(&requests[number]).await?;
        let reply: Value = serde_json::from_slice(&body)?;
        ensure!(reply["errors"].is_null(), "{}", reply["errors"]);
        let dataset = LabeledDataset(number);
        let entity = &reply["data"]["entity"];
        let fields = &entity["schemaMetadata"]["fields"];
        let last = fields.as_array().and_then(|fields| fields.last());
        let columns = dataset.columns();
        let (_, description) = columns.last().context("no columns")?;
        let tags = entity["tags"]["tags"].as_array();
        let tags = tags.map(|tags| tags.iter().map(|tag| tag["tag"]["urn"].clone()).collect());
        let expected = [
            (entity["urn"].clone(), json!(dataset.urn())),
            (
                entity["properties"]["description"].clone(),
                json!(dataset.description()),
            ),
            (
                last.map_or(Value::Null, |field| field["description"].clone()),
                json!(description),
            ),
            (
                entity["domain"]["domain"]["urn"].clone(),
                json!(dataset.domain().urn),
            ),
            (
                tags.unwrap_or(Value::Null),
                json!(dataset.tags().map(|tag| tag.urn)),
            ),
        ];
        for (found, expected) in expected {
            ensure!(
                found == expected,
                "the reply for dataset {number} has {found} instead of {expected}"
            );
        }
    }
    Ok(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn optional_fields_are_left_out() {
        let text = "{\n  urn\n  health  #[CLOUD]\n  newer #[NEWER_GMS]\n}";
        assert_eq!(
            without_optional(text),
            "{\n  urn\n#   health  #[CLOUD]\n#   newer #[NEWER_GMS]\n}\n"
        );
    }

    #[test]
    fn an_emptied_fragment_takes_those_along_that_only_it_needs() {
        let text = "fragment a on T {\n    ...b\n    ...c\n}\n\nfragment b on T {\n    x\n}\n\n\
                    fragment c on T {\n    y\n}\n\nquery GetEntity($urn: String!) {\n    ...a\n    ...c\n}\n\n\
                    query Other {\n    ...b\n}\n";
        let rest = without_fragment(text, "a").unwrap();
        let names: Vec<&str> = rest.lines().filter(|it| !it.starts_with(' ')).collect();
        assert_eq!(
            names,
            [
                "fragment a on T { __typename }",
                "fragment c on T {",
                "}",
                "",
                "query GetEntity($urn: String!) {",
                "}",
            ]
        );
        assert!(without_fragment(text, "missing").is_err());
    }
}
