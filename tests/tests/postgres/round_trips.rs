//! How often a request goes to the database and back: what makes it slow where the database is far away.

use anyhow::{Context as _, ensure};
use docent_e2e::{Options, Server};
use docent_test_postgres::Database;
use serde_json::{Value, json};

use crate::caller::Caller;
use crate::dataset;
use crate::wire::{Trip, Wire};

/// Both connections have seen the statements of a request when it has been made so often.
const FAMILIAR: u64 = 4;
/// And then it is made so often: once a second something that feeds the index may ask, too.
const COUNTED: u64 = 4;

struct Distant {
    wire: Wire,
    caller: Caller,
    _server: Server,
    _database: Database,
}

impl Distant {
    fn start() -> anyhow::Result<Self> {
        let database = Database::empty()?;
        let wire = Wire::to(database.url())?;
        let url = wire.url(database.url())?;
        let server = Server::start(Options::default().store(url))?;
        Ok(Self {
            wire,
            caller: Caller::with_token(&server)?,
            _server: server,
            _database: database,
        })
    }

    /// The round trips that a request takes when both connections have seen its statements and nobody else asks.
    /// `request` gets another number each time.
    fn trips(
        &self,
        mut request: impl FnMut(&Caller, u64) -> anyhow::Result<()>,
    ) -> anyhow::Result<Vec<Trip>> {
        let mut fewest: Option<Vec<Trip>> = None;
        for number in 0..FAMILIAR + COUNTED {
            self.wire.trips();
            request(&self.caller, number)?;
            let trips = self.wire.trips();
            if number >= FAMILIAR && fewest.as_ref().is_none_or(|few| trips.len() < few.len()) {
                fewest = Some(trips);
            }
        }
        fewest.context("nothing was asked")
    }

    fn mutation(
        &self,
        document: &str,
        variables: impl Fn(u64) -> Value,
    ) -> anyhow::Result<Vec<Trip>> {
        let trips = self.trips(|caller, number| {
            ensure!(caller.mutate(document, &variables(number))?, "refused");
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
            let answer = self.caller.propose("UPSERT", urn, aspect, value)?;
            ensure!(answer.status == 200, "{}", answer.body);
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
        // The index is made beside; when this is answered, it is.
        ensure!(self.caller.found("far")? > 0);
        Ok(())
    }
}

#[test]
fn a_write_takes_two_round_trips() -> anyhow::Result<()> {
    let distant = Distant::start()?;
    distant.fill()?;
    let describe = "mutation($input: DescriptionUpdateInput!) { updateDescription(input: $input) }";
    let described = distant.mutation(describe, |number| {
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
    let set = distant.mutation(set, |number| {
        let domain = if number % 2 == 0 {
            "urn:li:domain:one"
        } else {
            "urn:li:domain:other"
        };
        json!({"urn": dataset("far"), "domain": domain})
    })?;
    ensure!(set.len() == 2, "setDomain took {set:#?}");
    let link = "mutation($urn: String!, $url: String!) { addLink(input: {linkUrl: $url, label: \"l\", resourceUrn: $urn}) }";
    let linked = distant.mutation(
        link,
        |number| json!({"urn": dataset("far"), "url": format!("https://example.com/{number}")}),
    )?;
    ensure!(linked.len() == 2, "addLink took {linked:#?}");
    let propose = |change: &'static str, urn: fn(u64) -> String| {
        let trips = distant.trips(|caller, number| {
            let value = match change {
                "PATCH" => json!([{"op": "add", "path": format!("/customProperties/{number}"), "value": "x"}]),
                _ => json!({"description": format!("number {number}"), "customProperties": {}}),
            };
            let answer = caller.propose(change, &urn(number), "datasetProperties", &value)?;
            ensure!(answer.status == 200, "{}", answer.body);
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
fn a_query_takes_one_round_trip_for_each_level() -> anyhow::Result<()> {
    let distant = Distant::start()?;
    distant.fill()?;
    let one = "query($urn: String!) { dataset(urn: $urn) { urn schemaMetadata { fields { fieldPath } } } }";
    let one = distant.query(
        one,
        "/dataset/schemaMetadata/fields/0/fieldPath",
        &json!("id"),
    )?;
    ensure!(one.len() == 1, "one level took {one:#?}");
    let two =
        "query($urn: String!) { dataset(urn: $urn) { domain { domain { properties { name } } } } }";
    let two = distant.query(two, "/dataset/domain/domain/properties/name", &json!("one"))?;
    ensure!(two.len() == 2, "two levels took {two:#?}");
    let three = "query($urn: String!) { dataset(urn: $urn) { schemaMetadata { name } domain { domain { properties { name } \
                 ownership { owners { owner { ... on CorpUser { urn info { displayName } } } } } } } } }";
    let place = "/dataset/domain/domain/ownership/owners/0/owner/info/displayName";
    let three = distant.query(three, place, &json!("Some One"))?;
    ensure!(three.len() == 3, "three levels took {three:#?}");
    Ok(())
}

#[test]
fn deleting_a_domain_takes_as_many_round_trips_for_few_members_as_for_many() -> anyhow::Result<()> {
    let distant = Distant::start()?;
    let write = |urn: &str, aspect: &str, value: &Value| {
        let answer = distant.caller.propose("UPSERT", urn, aspect, value)?;
        ensure!(answer.status == 200, "{}", answer.body);
        anyhow::Ok(())
    };
    let delete = |members: usize| {
        // What the server asks by itself once a second may fall into some of the rounds.
        let mut fewest = usize::MAX;
        for round in 0..8 {
            let domain = format!("urn:li:domain:{members}-{round}");
            write(&domain, "domainProperties", &json!({ "name": domain }))?;
            for member in 0..members {
                let domains = json!({ "domains": [domain] });
                write(&dataset(format!("m{member}")), "domains", &domains)?;
            }
            distant.wire.trips();
            let gone = "mutation($urn: String!) { deleteDomain(urn: $urn) }";
            ensure!(distant.caller.mutate(gone, &json!({ "urn": domain }))?);
            fewest = fewest.min(distant.wire.trips().len());
        }
        anyhow::Ok(fewest)
    };
    let (few, many) = (delete(2)?, delete(8)?);
    ensure!(many <= few, "{few} round trips for 2 members, {many} for 8");
    Ok(())
}
