//! Random worlds of users, groups, hierarchies and policies, compared with an interpreter that is
//! slow and obviously right: what callers may do, see, find and count, and what they write.

mod world;
mod writes;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use docent_catalog::search::{Criterion, Facets, Filter, Operator, SearchPage, SearchRequest};
use docent_catalog::{Caller, Catalog, Proposal};
use docent_model::{Registry, Urn};
use docent_search::Search;
use serde_json::{Value, json};

use crate::{Fixture, upsert, write_as_operator};
use world::{PRIVILEGES, World};
use writes::{Outcomes, compare_writes};

/// Worlds, each of which changes a few times. All states together have more than 20,000 decisions.
const WORLDS: u64 = 5;
const CHANGES: usize = 3;
/// Writes of random users between two changes.
const WRITES: usize = 60;
/// Conditions take most of the time, so only some of the users search with them.
const USERS_WITH_CONDITIONS: usize = 2;

async fn write_entity(catalog: &Catalog, world: &World, urn: &Urn) {
    let mut proposals = world.proposals(urn);
    // A missing place is a deleted aspect.
    let entity = Registry::get().entity(urn.entity_type()).unwrap();
    let container = Registry::get().aspect("container").unwrap();
    let has_place = proposals
        .iter()
        .any(|it| it.change.aspect() == Some(container));
    if entity.has_aspect(container) && !has_place {
        let change = docent_catalog::Change::DeleteAspect { aspect: container };
        proposals.push(Proposal::new(urn.clone(), change));
    }
    write_as_operator(catalog, proposals).await;
}

async fn write_members(catalog: &Catalog, world: &World, user: &Urn) {
    let groups = json!({"groups": world.members[user]});
    write(catalog, user, "groupMembership", &groups).await;
}

async fn write_policy(catalog: &Catalog, world: &World, urn: &Urn) {
    write(catalog, urn, "dataHubPolicyInfo", &world.policies[urn]).await;
}

async fn write(catalog: &Catalog, urn: &Urn, aspect: &str, value: &Value) {
    write_as_operator(catalog, vec![upsert(urn, aspect, value)]).await;
}

/// The types that policies restrict in these worlds, so that searches find nothing else.
fn types() -> Vec<String> {
    let names = [
        "dataset",
        "dashboard",
        "domain",
        "container",
        "glossaryTerm",
        "glossaryNode",
    ];
    names.map(str::to_owned).to_vec()
}

/// Compares what the users may do, see, find and count. Returns how many decisions were compared.
async fn compare(catalog: &Catalog, world: &World, name: &str) -> usize {
    let all: Vec<Urn> = world.entities.keys().cloned().collect();
    let mut decisions = 0;
    for (number, user) in world.users.iter().enumerate() {
        let caller = Caller::new(user.clone());
        let granted = catalog.granted(&caller, &PRIVILEGES, &all).await.unwrap();
        for (urn, granted) in all.iter().zip(granted) {
            for privilege in PRIVILEGES {
                let expected = world.may(user, &[privilege.name()], urn);
                let found = granted.contains(&privilege);
                assert_eq!(found, expected, "{name}: {user} {privilege} {urn}");
                decisions += 1;
            }
        }
        let seen = catalog.seen_by(&caller).await.unwrap();
        let exist = seen.exists(&all).await.unwrap();
        let mut expected = BTreeSet::new();
        for (urn, exists) in all.iter().zip(exist) {
            assert_eq!(exists, world.sees(user, urn), "{name}: {user} sees {urn}");
            decisions += 1;
            if exists {
                expected.insert(urn.clone());
            }
        }
        compare_search(&seen, world, &expected, &format!("{name}: {user}")).await;
        if number < USERS_WITH_CONDITIONS {
            compare_conditions(&seen, world, &expected, &format!("{name}: {user}")).await;
        }
    }
    decisions
}

/// Compares searches with a list that was filtered by hand.
async fn compare_search(catalog: &Catalog, world: &World, expected: &BTreeSet<Urn>, name: &str) {
    let request = SearchRequest {
        types: types(),
        query: "*".to_owned(),
        facets: Facets::Named {
            fields: ["_entityType", "domains", "tags", "owners", "glossaryTerms"]
                .map(str::to_owned)
                .to_vec(),
            values: 1000,
        },
        ..SearchRequest::default()
    };
    let mut pages = BTreeSet::new();
    for start in (0..expected.len() + 23).step_by(23) {
        let page = SearchPage::Offset { start, count: 23 };
        let request = SearchRequest {
            page,
            ..request.clone()
        };
        let found = catalog.search(&request).await.unwrap();
        assert_eq!(found.total, expected.len(), "{name}");
        for hit in found.hits {
            assert!(pages.insert(hit.urn.clone()), "{name}: {} twice", hit.urn);
        }
    }
    assert_eq!(pages, *expected, "{name}");
    let mut scrolled = Vec::new();
    let mut cursor = None;
    loop {
        let page = SearchPage::Cursor { cursor, count: 29 };
        let request = SearchRequest {
            page,
            ..request.clone()
        };
        let found = catalog.search(&request).await.unwrap();
        scrolled.extend(found.hits.into_iter().map(|hit| hit.urn));
        cursor = found.next;
        if cursor.is_none() {
            break;
        }
    }
    assert!(scrolled.iter().eq(expected), "{name}: {scrolled:?}");
    let found = catalog.search(&request).await.unwrap();
    for facet in &found.facets {
        let counted: BTreeMap<String, u64> = facet
            .values
            .iter()
            .map(|it| (it.value.clone(), it.count))
            .collect();
        let by_hand = facet_by_hand(world, expected, &facet.field);
        assert_eq!(counted, by_hand, "{name}: {}", facet.field);
    }
    let filter = Filter::default();
    let completed = catalog
        .complete(&types(), "wor", &filter, 100)
        .await
        .unwrap();
    let completed: BTreeSet<Urn> = completed.entities.into_iter().collect();
    let named = |urn: &&Urn| !["dataset", "dashboard"].contains(&urn.entity_type());
    let by_hand: BTreeSet<Urn> = expected.iter().filter(named).cloned().collect();
    assert_eq!(completed, by_hand, "{name}");
    let coverage = catalog.documentation_coverage().await.unwrap();
    let datasets = expected.iter().filter(|it| it.entity_type() == "dataset");
    assert_eq!(coverage.all.datasets, datasets.count() as u64, "{name}");
}

/// Compares conditions on references with a list that was filtered by hand: what refers to
/// something hidden is not found that way.
async fn compare_conditions(catalog: &Catalog, world: &World, seen: &BTreeSet<Urn>, name: &str) {
    for (field, entity_type) in [
        ("domains", "domain"),
        ("container", "container"),
        ("glossaryTerms", "glossaryTerm"),
    ] {
        let (shown, hidden): (Vec<Urn>, Vec<Urn>) = world
            .of_type(entity_type)
            .into_iter()
            .partition(|urn| seen.contains(urn));
        let refers_to = |targets: &BTreeSet<Urn>| -> BTreeSet<Urn> {
            let is_member = |urn: &&Urn| {
                let references = references(world, urn, field);
                references.iter().any(|urn| targets.contains(urn))
            };
            seen.iter().filter(is_member).cloned().collect()
        };
        let any = refers_to(&shown.iter().cloned().collect());
        let found = found(catalog, field, Operator::StartsWith, "urn:li:", false).await;
        assert_eq!(found, any, "{name}: {field}");
        for target in shown.first().into_iter().chain(hidden.first()) {
            let itself: BTreeSet<Urn> = [target.clone()].into();
            let targets = itself.intersection(seen).cloned().collect();
            let members = refers_to(&targets);
            let others = seen.difference(&members).cloned().collect();
            let tree = refers_to(&tree_by_hand(world, seen, targets));
            for (operator, negated, expected) in [
                (Operator::Equal, false, &members),
                (Operator::Equal, true, &others),
                (Operator::DescendantsIncluded, false, &tree),
            ] {
                let found = self::found(catalog, field, operator, target.as_str(), negated).await;
                assert_eq!(found, *expected, "{name}: {field} {operator:?} {target}");
            }
        }
    }
}

/// What a search with one condition finds.
async fn found(
    catalog: &Catalog,
    field: &str,
    operator: Operator,
    value: &str,
    negated: bool,
) -> BTreeSet<Urn> {
    let request = SearchRequest {
        types: types(),
        filter: Filter::all(vec![Criterion {
            field: field.to_owned(),
            values: vec![value.to_owned()],
            operator,
            negated,
        }]),
        page: SearchPage::Offset {
            start: 0,
            count: 1000,
        },
        ..SearchRequest::default()
    };
    let found = catalog.search(&request).await.unwrap();
    found.hits.into_iter().map(|hit| hit.urn).collect()
}

fn references(world: &World, urn: &Urn, field: &str) -> Vec<Urn> {
    let entity = &world.entities[urn];
    match field {
        "domains" => entity.domain.iter().cloned().collect(),
        "container" if urn.entity_type() == "container" => entity.parent.iter().cloned().collect(),
        "container" => entity.container.iter().cloned().collect(),
        "glossaryTerms" => entity.terms.clone(),
        other => panic!("{other}"),
    }
}

/// These, and everything below them that is connected with them by what is seen.
fn tree_by_hand(world: &World, seen: &BTreeSet<Urn>, roots: BTreeSet<Urn>) -> BTreeSet<Urn> {
    let mut tree = roots;
    loop {
        let is_below = |urn: &&Urn| {
            let parent = world.entities[*urn].parent.as_ref();
            parent.is_some_and(|parent| tree.contains(parent))
        };
        let below: Vec<Urn> = seen.iter().filter(is_below).cloned().collect();
        let before = tree.len();
        tree.extend(below);
        if tree.len() == before {
            return tree;
        }
    }
}

fn facet_by_hand(world: &World, seen: &BTreeSet<Urn>, field: &str) -> BTreeMap<String, u64> {
    let is_shown = |urn: &Urn| !world.entities.contains_key(urn) || seen.contains(urn);
    let mut counts = BTreeMap::new();
    for urn in seen {
        let entity = &world.entities[urn];
        let values: BTreeSet<String> = match field {
            "_entityType" => BTreeSet::from([urn.entity_type().to_owned()]),
            "domains" => entity
                .domain
                .iter()
                .filter(|it| is_shown(it))
                .map(ToString::to_string)
                .collect(),
            "tags" => entity.tags.iter().map(ToString::to_string).collect(),
            "owners" => entity.owners.iter().map(|it| it.0.to_string()).collect(),
            "glossaryTerms" => entity
                .terms
                .iter()
                .filter(|it| is_shown(it))
                .map(ToString::to_string)
                .collect(),
            other => panic!("{other}"),
        };
        for value in values {
            *counts.entry(value).or_default() += 1;
        }
    }
    counts
}

#[tokio::test]
async fn decisions_and_searches_equal_those_of_the_interpreter() {
    let mut decisions = 0;
    let mut outcomes = Outcomes::new();
    for number in 1..=WORLDS {
        let fixture = Fixture::new().await;
        let search = Search::in_memory(Arc::clone(&fixture.store));
        let catalog = fixture.catalog.clone().with_search(Arc::new(search));
        catalog.enforce_policies(None);
        catalog.enforce_view_policies();
        let mut world = World::new(number);
        for urn in world.entities.keys() {
            write_entity(&catalog, &world, urn).await;
        }
        for user in &world.users {
            write_members(&catalog, &world, user).await;
        }
        for urn in world.policies.keys() {
            write_policy(&catalog, &world, urn).await;
        }
        for change in 0..CHANGES {
            let name = format!("world {number}.{change}");
            decisions += compare(&catalog, &world, &name).await;
            compare_writes(&catalog, &mut world, WRITES, &mut outcomes, &name).await;
            let all: Vec<Urn> = world.entities.keys().cloned().collect();
            let mut changed = world.of_type("domain");
            changed.extend((0..6).map(|_| world.random.pick(&all).clone()));
            for urn in changed {
                world.change_entity(&urn);
                write_entity(&catalog, &world, &urn).await;
            }
            // Every other time entities alone change: what is known about policies is kept.
            if change % 2 == 0 {
                continue;
            }
            let user = world.random.pick(&world.users.clone()).clone();
            let groups = world.random.some(&world.groups.clone());
            world.members.insert(user.clone(), groups);
            write_members(&catalog, &world, &user).await;
            let policies: Vec<Urn> = world.policies.keys().cloned().collect();
            let policy = world.random.pick(&policies).clone();
            world.change_policy(&policy);
            write_policy(&catalog, &world, &policy).await;
        }
    }
    assert!(decisions > 20_000, "{decisions}");
    for (kind, [denied, allowed]) in &outcomes {
        let few = *denied.min(allowed);
        assert!(few > 5, "{kind}: {denied} denied, {allowed} allowed");
    }
}
