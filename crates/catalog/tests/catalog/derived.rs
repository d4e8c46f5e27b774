//! What is derived is always what the aspects say, whatever was written in whatever lists.

use docent_catalog::{Change, Proposal, ReadRequest};
use docent_model::{AspectName, Registry, Urn};
use docent_test_store::Engine;
use proptest::prelude::*;
use serde_json::json;

use crate::{Fixture, dataset, domain};

/// Few enough that items of a list meet each other.
const ENTITIES: u8 = 3;

fn upsert(urn: Urn, aspect: AspectName, value: &serde_json::Value) -> Proposal {
    Proposal::upsert(urn, aspect, value.to_string())
}

fn proposals() -> impl Strategy<Value = Proposal> {
    let one = || 0..ENTITIES;
    let placed = (one(), proptest::option::of(one()), 0..3_u8).prop_map(|(at, parent, name)| {
        let mut value = json!({"name": format!("name {name}")});
        if let Some(parent) = parent {
            value["parentDomain"] = json!(domain(parent));
        }
        upsert(domain(at), AspectName::DOMAIN_PROPERTIES, &value)
    });
    let member = (one(), proptest::option::of(one())).prop_map(|(at, of)| {
        let domains: Vec<Urn> = of.map(domain).into_iter().collect();
        upsert(
            dataset(at),
            AspectName::DOMAINS,
            &json!({"domains": domains}),
        )
    });
    let tagged = (one(), 0..3_u8).prop_map(|(at, tag)| {
        let tags = json!({"tags": [{"tag": format!("urn:li:tag:{tag}")}]});
        upsert(dataset(at), AspectName::GLOBAL_TAGS, &tags)
    });
    let point = (one(), 0..3_u8).prop_map(|(at, time)| {
        let profile = Registry::get().aspect("datasetProfile").unwrap();
        upsert(dataset(at), profile, &json!({"timestampMillis": time}))
    });
    let gone = (one(), any::<bool>()).prop_map(|(at, is_domain)| {
        let urn = if is_domain { domain(at) } else { dataset(at) };
        Proposal::new(urn, Change::DeleteEntity)
    });
    let bare = (one(), 0..3_u8).prop_map(|(at, which)| {
        let (urn, aspect) = match which {
            0 => (domain(at), AspectName::DOMAIN_PROPERTIES),
            1 => (dataset(at), AspectName::DOMAINS),
            _ => (dataset(at), AspectName::GLOBAL_TAGS),
        };
        Proposal::new(urn, Change::DeleteAspect { aspect })
    });
    prop_oneof![
        5 => placed,
        5 => member,
        2 => tagged,
        1 => point,
        3 => gone,
        2 => bare,
    ]
}

/// A database takes longer to make than a file.
fn cases() -> u32 {
    match Engine::selected().unwrap() {
        Engine::Sqlite => 64,
        Engine::Postgres => 12,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    #[test]
    fn what_a_list_leaves_behind_is_what_a_rebuild_would_make(
        lists in prop::collection::vec(prop::collection::vec(proposals(), 1..10), 1..8),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let fixture = runtime.block_on(Fixture::new());
        let (written, findings, rebuilt) = runtime.block_on(async {
            let mut written = 0;
            for list in &lists {
                // Some lists are rejected by design; they must leave nothing behind.
                written += usize::from(fixture.catalog.ingest(&fixture.caller, list.clone()).await.is_ok());
            }
            let findings = fixture.store.check().await.unwrap();
            (written, findings, fixture.store.rebuild(Box::new(|_, _| {})).await.unwrap())
        });
        prop_assert_eq!(findings, Vec::<String>::new());
        prop_assert_eq!((rebuilt.repaired, rebuilt.orphans), (0, 0), "{} lists were written", written);
    }

    #[test]
    fn a_list_does_the_same_as_its_items_one_by_one(
        list in prop::collection::vec(proposals(), 1..24),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (whole, parts) = (runtime.block_on(Fixture::new()), runtime.block_on(Fixture::new()));
        runtime.block_on(async {
            let mut done = Vec::new();
            for proposal in list {
                let alone = parts.catalog.ingest(&parts.caller, vec![proposal.clone()]).await;
                if alone.is_ok() {
                    done.push(proposal);
                }
            }
            whole.catalog.ingest(&whole.caller, done).await.unwrap();
        });
        let urns: Vec<Urn> = (0..ENTITIES).flat_map(|at| [dataset(at), domain(at)]).collect();
        let values = |fixture: &Fixture| {
            let request = ReadRequest::entities(&urns);
            let reply = runtime.block_on(fixture.catalog.read(request));
            let values = |aspects: Vec<(AspectName, docent_store::StoredAspect)>| {
                let values = aspects.into_iter().map(|(aspect, row)| (aspect, row.metadata));
                values.collect::<Vec<_>>()
            };
            reply.unwrap().entities.into_iter().map(values).collect::<Vec<_>>()
        };
        prop_assert_eq!(values(&whole), values(&parts));
    }
}
