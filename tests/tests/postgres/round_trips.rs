//! Round trips to the database per request, which dominate the latency when the database is remote.

use anyhow::{Context as _, ensure};
use docent_e2e::{Options, Server};
use docent_test_postgres::Database;
use serde_json::{Value, json};

use crate::caller::Caller;
use crate::dataset;
use crate::wire::{CountingProxy, Trip};

/// After this many requests both connections have prepared the statements.
const WARMUP: u64 = 4;
/// The best of these counts: once a second the index maintenance adds queries of its own.
const COUNTED: u64 = 4;

struct RemoteSetup {
    proxy: CountingProxy,
    caller: Caller,
    _server: Server,
    _database: Database,
}

impl RemoteSetup {
    fn start() -> anyhow::Result<Self> {
        let database = Database::empty()?;
        let proxy = CountingProxy::start(database.url())?;
        let url = proxy.url(database.url())?;
        let server = Server::start(Options::default().store(url))?;
        Ok(Self {
            proxy,
            caller: Caller::with_token(&server)?,
            _server: server,
            _database: database,
        })
    }

    /// The fewest round trips of a request with prepared statements. `request` gets another number
    /// each time.
    fn trips(
        &self,
        mut request: impl FnMut(&Caller, u64) -> anyhow::Result<()>,
    ) -> anyhow::Result<Vec<Trip>> {
        let mut fewest: Option<Vec<Trip>> = None;
        for number in 0..WARMUP + COUNTED {
            self.proxy.take_trips();
            request(&self.caller, number)?;
            let trips = self.proxy.take_trips();
            if number >= WARMUP && fewest.as_ref().is_none_or(|few| trips.len() < few.len()) {
                fewest = Some(trips);
            }
        }
        fewest.context("no request was counted")
    }

    fn mutation(
        &self,
        document: &str,
        variables: impl Fn(u64) -> Value,
    ) -> anyhow::Result<Vec<Trip>> {
        let trips = self.trips(|caller, number| {
            ensure!(caller.mutate(document, &variables(number))?, "rejected");
            Ok(())
        })?;
        Ok(trips)
    }

    fn query(&self, document: &str, at: &str, expected: &Value) -> anyhow::Result<Vec<Trip>> {
        let variables = json!({ "urn": dataset("far") });
        let trips = self.trips(|caller, _| {
            let data = caller.query(document, &variables)?;
            ensure!(data.pointer(at) == Some(expected), "{data}");
            Ok(())
        })?;
        Ok(trips)
    }

    fn fill(&self) -> anyhow::Result<()> {
        let stamp = json!({"time": 1, "actor": "urn:li:corpuser:datahub"});
        let write = |urn: &str, aspect: &str, value: &Value| {
            let response = self.caller.propose("UPSERT", urn, aspect, value)?;
            ensure!(response.status == 200, "{}", response.body);
            anyhow::Ok(())
        };
        for name in ["one", "other"] {
            let urn = format!("urn:li:domain:{name}");
            write(&urn, "domainProperties", &json!({ "name": name }))?;
        }
        let owner = json!({"owner": "urn:li:corpuser:someone", "type": "DATAOWNER"});
        let owners = json!({"owners": [owner], "lastModified": stamp});
        write("urn:li:domain:one", "ownership", &owners)?;
        let info = json!({"active": true, "displayName": "Some One"});
        write("urn:li:corpuser:someone", "corpUserInfo", &info)?;
        let column = json!({
            "fieldPath": "id", "nativeDataType": "int",
            "type": {"type": {"com.linkedin.schema.NumberType": {}}},
        });
        let schema = json!({
            "schemaName": "s", "platform": "urn:li:dataPlatform:hive", "version": 0, "hash": "",
            "platformSchema": {"com.linkedin.schema.OtherSchema": {"rawSchema": ""}}, "fields": [column],
        });
        write(&dataset("far"), "schemaMetadata", &schema)?;
        let domains = json!({"domains": ["urn:li:domain:one"]});
        write(&dataset("far"), "domains", &domains)?;
        // Waits until the index is built.
        ensure!(self.caller.found("far")? > 0);
        Ok(())
    }
}

#[test]
fn a_write_takes_two_round_trips() -> anyhow::Result<()> {
    let remote = RemoteSetup::start()?;
    remote.fill()?;
    let describe = "mutation($input: DescriptionUpdateInput!) { updateDescription(input: $input) }";
    let described = remote.mutation(describe, |number| {
        json!({"input": {
            "resourceUrn": dataset("far"), "subResource": "id", "subResourceType": "DATASET_FIELD",
            "description": format!("number {number}"),
        }})
    })?;
    ensure!(
        described.len() == 2,
        "updateDescription took {described:#?}"
    );
    let set = "mutation($urn: String!, $domain: String!) { setDomain(entityUrn: $urn, domainUrn: $domain) }";
    let set = remote.mutation(set, |number| {
        let name = if number % 2 == 0 { "one" } else { "other" };
        let domain = format!("urn:li:domain:{name}");
        json!({"urn": dataset("far"), "domain": domain})
    })?;
    ensure!(set.len() == 2, "setDomain took {set:#?}");
    let link = "mutation($urn: String!, $url: String!) { addLink(input: {linkUrl: $url, label: \"l\", resourceUrn: $urn}) }";
    let linked = remote.mutation(
        link,
        |number| json!({"urn": dataset("far"), "url": format!("https://example.com/{number}")}),
    )?;
    ensure!(linked.len() == 2, "addLink took {linked:#?}");
    let propose = |change: &'static str, urn: fn(u64) -> String| {
        let trips = remote.trips(|caller, number| {
            let value = match change {
                "PATCH" => json!([{"op": "add", "path": format!("/customProperties/{number}"), "value": "x"}]),
                _ => json!({"description": format!("number {number}"), "customProperties": {}}),
            };
            let response = caller.propose(change, &urn(number), "datasetProperties", &value)?;
            ensure!(response.status == 200, "{}", response.body);
            Ok(())
        })?;
        anyhow::Ok(trips)
    };
    for (change, urn) in [
        ("UPSERT", (|_| dataset("far")) as fn(u64) -> String),
        ("UPSERT", |number| dataset(format!("new-{number}"))),
        ("PATCH", |_| dataset("far")),
    ] {
        let proposed = propose(change, urn)?;
        ensure!(
            proposed.len() == 2,
            "{change} of {} took {proposed:#?}",
            urn(0)
        );
    }
    Ok(())
}

#[test]
fn a_query_takes_one_round_trip_per_level() -> anyhow::Result<()> {
    let remote = RemoteSetup::start()?;
    remote.fill()?;
    let one = "query($urn: String!) { dataset(urn: $urn) { urn schemaMetadata { fields { fieldPath } } } }";
    let one = remote.query(
        one,
        "/dataset/schemaMetadata/fields/0/fieldPath",
        &json!("id"),
    )?;
    ensure!(one.len() == 1, "one level took {one:#?}");
    let two =
        "query($urn: String!) { dataset(urn: $urn) { domain { domain { properties { name } } } } }";
    let two = remote.query(two, "/dataset/domain/domain/properties/name", &json!("one"))?;
    ensure!(two.len() == 2, "two levels took {two:#?}");
    let three = "query($urn: String!) { dataset(urn: $urn) { schemaMetadata { name } domain { domain { properties { name } \
                 ownership { owners { owner { ... on CorpUser { urn info { displayName } } } } } } } } }";
    let path = "/dataset/domain/domain/ownership/owners/0/owner/info/displayName";
    let three = remote.query(three, path, &json!("Some One"))?;
    ensure!(three.len() == 3, "three levels took {three:#?}");
    Ok(())
}

#[test]
fn round_trips_of_deleting_a_domain_do_not_depend_on_its_members() -> anyhow::Result<()> {
    let remote = RemoteSetup::start()?;
    let write = |urn: &str, aspect: &str, value: &Value| {
        let response = remote.caller.propose("UPSERT", urn, aspect, value)?;
        ensure!(response.status == 200, "{}", response.body);
        anyhow::Ok(())
    };
    let delete = |members: usize| {
        // The index maintenance adds queries to some of the rounds.
        let mut fewest: Option<Vec<Trip>> = None;
        for round in 0..12 {
            let domain = format!("urn:li:domain:{members}-{round}");
            write(&domain, "domainProperties", &json!({ "name": domain }))?;
            for member in 0..members {
                let domains = json!({ "domains": [domain] });
                write(&dataset(format!("m{member}")), "domains", &domains)?;
            }
            remote.proxy.take_trips();
            let delete = "mutation($urn: String!) { deleteDomain(urn: $urn) }";
            ensure!(remote.caller.mutate(delete, &json!({ "urn": domain }))?);
            let mut trips = remote.proxy.take_trips();
            // Either connection may run a statement for the first time.
            trips.retain(|trip| !trip.iter().all(|sql| sql.starts_with("PREPARE ")));
            if fewest.as_ref().is_none_or(|few| trips.len() < few.len()) {
                fewest = Some(trips);
            }
        }
        fewest.context("no deletion was counted")
    };
    let (few, many) = (delete(2)?, delete(8)?);
    ensure!(
        many.len() <= few.len(),
        "{few:#?} for 2 members, {many:#?} for 8"
    );
    Ok(())
}
