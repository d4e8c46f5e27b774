//! The selection as resolvers see it, and searches without an index.

use docent_catalog::Error;
use docent_graphql::{Args, Context, Engine, Resolvers, Schema};
use serde_json::{Value, json};

use crate::fixture::{Fixture, data, messages};

const SDL: &str = "
    interface Thing { name: String }
    type Stone implements Thing { name: String }
    type Inner { deep: Int  deeper: Inner }
    type Probe { seen: [String!]!  inner: Inner  thing: Thing }
    type Query { probe: Probe }
";

async fn probe(_: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let paths: [&[&str]; 5] = [
        &["inner"],
        &["inner", "deep"],
        &["inner", "deeper", "deep"],
        &["thing", "name"],
        &["nothing"],
    ];
    let seen: Vec<String> = paths
        .into_iter()
        .filter(|path| arguments.selects(path))
        .map(|path| path.join("."))
        .collect();
    Ok(json!({"seen": seen}))
}

#[tokio::test]
async fn a_resolver_can_check_which_fields_are_selected() {
    let mut fixture = Fixture::new(&[]).await;
    let resolvers = Resolvers::new().query("probe", probe);
    fixture.engine = Engine::new(Schema::load(&[("probe", SDL)], resolvers).unwrap());
    for (selection, seen) in [
        ("seen", json!([])),
        ("seen other: inner { deep }", json!(["inner", "inner.deep"])),
        (
            "seen ... { inner { deeper { deep } } }",
            json!(["inner", "inner.deeper.deep"]),
        ),
        ("seen inner @include(if: false) { deep }", json!([])),
        // The type of an interface is only known during execution.
        ("seen thing { __typename }", json!(["thing.name"])),
    ] {
        let reply = fixture
            .json(&format!("{{ probe {{ {selection} }} }}"))
            .await;
        assert_eq!(reply["data"]["probe"]["seen"], seen, "{selection}");
    }
}

#[tokio::test]
async fn without_an_index_searches_fail_and_domains_are_listed() {
    let domain = ("urn:li:domain:a", "domainProperties", json!({"name": "A"}));
    let fixture = Fixture::docent(&[domain]).await;
    for query in [
        r#"{ searchAcrossEntities(input: {query: "a"}) { total } }"#,
        r#"{ autoComplete(input: {query: "a"}) { query } }"#,
        r#"{ domain(urn: "urn:li:domain:a") { entities { total } } }"#,
        r#"{ listDomains(input: {query: "a"}) { total } }"#,
    ] {
        let reply = fixture.json(query).await;
        assert_eq!(
            messages(&reply),
            ["search is disabled: this server was started without an index"]
        );
        assert_eq!(reply["errors"][0]["extensions"]["code"], 503);
    }
    data(
        &fixture
            .text("{ listDomains(input: {}) { total domains { id } } }")
            .await,
    );
}
