//! What goes wrong on real machines: clocks that are wrong, disks that are full or broken, files
//! that are damaged, rude clients and invalid requests.

mod clock;
mod disk;
mod files;
mod load;
mod openapi;
mod pace;
mod rude;
mod sign_in;
mod soak;

use std::ops::Range;

use anyhow::ensure;
use docent_e2e::load::proposal;
use docent_e2e::{Reply, Server};
use reqwest::Method;
use serde_json::{Value, json};

/// What a client gets for an entity that cannot be read.
const DAMAGED: &str = "stored data is damaged: run 'docent check', which says what to do";

/// Writes the names of tags, and knows which were acknowledged.
#[derive(Debug)]
struct Tags {
    written: u64,
    acknowledged: u64,
}

impl Tags {
    const URNS: [&str; 2] = ["urn:li:tag:one", "urn:li:tag:two"];

    fn new(server: &Server) -> anyhow::Result<Self> {
        let mut tags = Self {
            written: 0,
            acknowledged: 0,
        };
        let reply = tags.write(server)?;
        ensure!(reply.status == 200, "{reply:?}");
        Ok(tags)
    }

    /// Names both tags in one batch.
    fn write(&mut self, server: &Server) -> anyhow::Result<Reply> {
        self.written += 1;
        // Larger than a page of the database.
        let text = "text ".repeat(2000);
        let value = json!({"name": format!("name{}", self.written), "description": text});
        let proposals = Self::URNS.map(|urn| proposal(urn, "tagProperties", &value));
        let path = "/aspects?action=ingestProposalBatch";
        let request = server.anonymous_request(Method::POST, path);
        let reply = server.send(request.json(&json!({"proposals": proposals})))?;
        if reply.status == 200 {
            self.acknowledged = self.written;
        }
        Ok(reply)
    }

    /// Fails unless both tags have the name of the last acknowledged batch.
    fn verify(&self, server: &Server) -> anyhow::Result<()> {
        let expected = format!("name{}", self.acknowledged);
        for urn in Self::URNS {
            let query = format!(r#"{{ tag(urn: "{urn}") {{ properties {{ name }} }} }}"#);
            let reply = graphql(server, &query)?;
            let name = &reply["data"]["tag"]["properties"]["name"];
            ensure!(*name == *expected, "{urn}: {name} instead of {expected}");
        }
        Ok(())
    }

    /// Fails unless a search finds both tags by the name of the last acknowledged batch.
    fn verify_search(&self, server: &Server) -> anyhow::Result<()> {
        let reply = search(server, &format!("name{}", self.acknowledged))?;
        let total = &reply["data"]["searchAcrossEntities"]["total"];
        ensure!(*total == 2, "{reply}");
        Ok(())
    }
}

fn numbered_tag(number: usize) -> String {
    format!("urn:li:tag:number{number}")
}

/// Writes tags with their descriptions in one batch.
fn write_numbered_tags(
    server: &Server,
    numbers: Range<usize>,
    description: impl Fn(usize) -> String,
) -> anyhow::Result<()> {
    let proposals: Vec<Value> = numbers
        .map(|number| {
            let value =
                json!({"name": format!("tag {number}"), "description": description(number)});
            proposal(&numbered_tag(number), "tagProperties", &value)
        })
        .collect();
    let request = server.anonymous_request(Method::POST, "/aspects?action=ingestProposalBatch");
    let reply = server.send(request.json(&json!({ "proposals": proposals })))?;
    ensure!(reply.status == 200, "{reply:?}");
    Ok(())
}

/// Reads the properties of a tag.
fn read_tag(server: &Server, urn: &str) -> anyhow::Result<Reply> {
    let path = format!("/openapi/v3/entity/tag/{urn}?aspects=tagProperties");
    server.send(server.anonymous_request(Method::GET, &path))
}

fn search(server: &Server, text: &str) -> anyhow::Result<Value> {
    let query =
        format!(r#"{{ searchAcrossEntities(input: {{query: "{text}", count: 1}}) {{ total }} }}"#);
    graphql(server, &query)
}

fn graphql(server: &Server, query: &str) -> anyhow::Result<Value> {
    let request = server.anonymous_request(Method::POST, "/api/graphql");
    server.send(request.json(&json!({"query": query})))?.json()
}
