//! Moves within hierarchies. What is in one counts as inside itself, so the right on it is no right
//! on the places that it comes from and goes to.

use docent_catalog::action_requests::Verdict;
use docent_catalog::domains::NewDomain;
use docent_catalog::{Change, Error, Proposal};
use docent_model::patch::Patch;
use docent_model::{AspectName, Registry, SystemMetadata, Urn};
use serde_json::{Value, json};
use std::sync::Arc;

use crate::access::{
    administrator, assign, decide_first, domain_urn, is_denied, policy, user, with_steward, write,
};
use crate::{Fixture, dataset, upsert, write_as_operator};

#[tokio::test]
async fn a_domain_that_moves_needs_the_right_on_both_parents() {
    let fixture = with_steward().await;
    let (catalog, sam, uma) = (&fixture.catalog, user("sam"), user("uma"));
    let [finance, accounting, hr, books, people] =
        ["finance", "accounting", "hr", "books", "people"].map(domain_urn);
    assign(&fixture, "uma", "Reader").await;
    let actors = json!({"users": [uma.actor()]});
    let in_hr = json!([{"field": "DOMAIN", "values": [hr]}]);
    let steward = policy("hr-stewards", &actors, &["EDIT_ENTITY"], &in_hr);
    let actors = json!({"users": [sam.actor()]});
    let in_finance = json!([{"field": "DOMAIN", "values": [finance]}]);
    let deleter = policy("deleters", &actors, &["DELETE_ENTITY"], &in_finance);
    let below = json!({"name": "people", "parentDomain": hr});
    let below = upsert(&people, "domainProperties", &below);
    write_as_operator(catalog, vec![steward, deleter, below]).await;
    let ingested = async |value: Value| {
        let properties = upsert(&finance, "domainProperties", &value);
        write(&fixture, &sam, vec![properties]).await
    };
    let away = catalog.move_domain(&sam, &finance, Some(&hr)).await;
    is_denied(away, "MANAGE_DOMAINS");
    let away = ingested(json!({"name": "finance", "parentDomain": hr})).await;
    is_denied(away, "MANAGE_DOMAINS");
    ingested(json!({"name": "money"})).await.unwrap();
    let new = NewDomain {
        id: Some("books".to_owned()),
        name: "Books".to_owned(),
        parent: Some(finance.clone()),
        ..NewDomain::default()
    };
    catalog.create_domain(&sam, new).await.unwrap();
    let within = catalog.move_domain(&sam, &accounting, Some(&books)).await;
    within.unwrap();

    let admin = administrator();
    let below = json!({"name": "money", "parentDomain": hr});
    let moved = in_run(upsert(&finance, "domainProperties", &below));
    write(&fixture, &admin, vec![moved]).await.unwrap();
    for steward in [&sam, &uma] {
        let to_root = catalog.move_domain(steward, &finance, None).await;
        is_denied(to_root, "MANAGE_DOMAINS");
    }
    is_denied(ingested(json!({"name": "money"})).await, hr.as_str());
    for domain in [&accounting, &books] {
        let moved = catalog.move_domain(&admin, domain, None).await;
        moved.unwrap();
    }
    let aspect = AspectName::DOMAIN_PROPERTIES;
    for change in [Change::Clear, Change::DeleteAspect { aspect }, rollback()] {
        let to_root = Proposal::new(finance.clone(), change);
        let to_root = write(&fixture, &sam, vec![to_root]).await;
        is_denied(to_root, hr.as_str());
    }
    // Nor does another domain of the same name take its place.
    let again = json!({"name": "money", "parentDomain": people});
    let again = vec![
        Proposal::new(finance.clone(), Change::DeleteEntity),
        upsert(&finance, "domainProperties", &again),
    ];
    is_denied(write(&fixture, &sam, again).await, hr.as_str());
    let within = catalog.move_domain(&sam, &finance, Some(&people)).await;
    is_denied(within, hr.as_str());
    let within = catalog.move_domain(&uma, &finance, Some(&people)).await;
    within.unwrap();
}

#[tokio::test]
async fn the_steward_of_a_domain_does_not_decide_about_its_move() {
    let fixture = with_steward().await;
    let (catalog, paula) = (&fixture.catalog, user("paula"));
    assign(&fixture, "paula", "Proposer").await;
    let (finance, hr) = (domain_urn("finance"), domain_urn("hr"));
    let proposed = catalog.move_domain(&paula, &finance, Some(&hr)).await;
    proposed.unwrap();
    for (name, may) in [("sam", false), ("eddie", true)] {
        for verdict in [Verdict::Reject, Verdict::Accept] {
            let decided = decide_first(&fixture, &user(name), verdict).await;
            if may {
                return decided.unwrap();
            }
            is_denied(decided, "MANAGE_DOMAINS");
        }
    }
}

/// A part of a hierarchy, below one of two parents. Sam has all rights on it, and Uma on its
/// parent.
struct Hierarchy {
    fixture: Fixture,
    entity: Urn,
    /// Where it is.
    above: Urn,
    /// Below `above`, too.
    beside: Urn,
    /// Elsewhere.
    other: Urn,
}

impl Hierarchy {
    async fn new(entity_type: &str) -> Self {
        let fixture = with_steward().await;
        let (parents, field) = match entity_type {
            "container" => ("container", "CONTAINER"),
            _ => ("glossaryNode", "GLOSSARY"),
        };
        let parent = |name: &str| Urn::new(parents, name).unwrap();
        let hierarchy = Self {
            entity: Urn::new(entity_type, "entity").unwrap(),
            above: parent("above"),
            beside: parent("beside"),
            other: parent("other"),
            fixture,
        };
        let Self {
            fixture,
            entity,
            above,
            beside,
            other,
        } = &hierarchy;
        let status = |urn: &Urn| upsert(urn, "status", &json!({"removed": false}));
        let mut all = vec![status(above), status(other), status(entity)];
        all.push(placed(beside, Some(above)));
        all.push(placed(entity, Some(above)));
        for (name, place) in [("sam", entity), ("uma", above)] {
            assign(fixture, name, "Reader").await;
            let actors = json!({"users": [user(name).actor()]});
            let privileges = ["EDIT_ENTITY", "CREATE_ENTITY", "DELETE_ENTITY"];
            let inside = json!([{"field": field, "values": [place]}]);
            all.push(policy(&format!("of-{name}"), &actors, &privileges, &inside));
        }
        write_as_operator(&fixture.catalog, all).await;
        hierarchy
    }

    async fn write(&self, name: &str, list: Vec<Proposal>) -> Result<(), Error> {
        write(&self.fixture, &user(name), list).await
    }

    async fn parent(&self) -> Option<Urn> {
        let (aspect, member) = parent_of(&self.entity);
        let key = docent_store::AspectKey::new(&self.entity, aspect);
        let read = docent_store::ReadRequest::row(&key);
        let row = self.fixture.store.read(read).await.unwrap().into_row()?;
        let value: Value = serde_json::from_str(&row.metadata).unwrap();
        value[member].as_str().map(|text| Urn::parse(text).unwrap())
    }
}

/// The aspect and its member that have the parent.
fn parent_of(urn: &Urn) -> (AspectName, &'static str) {
    let (aspect, member) = match urn.entity_type() {
        "container" => ("container", "container"),
        "domain" => ("domainProperties", "parentDomain"),
        "glossaryNode" => ("glossaryNodeInfo", "parentNode"),
        _ => ("glossaryTermInfo", "parentNode"),
    };
    (Registry::get().aspect(aspect).unwrap(), member)
}

/// An entity at a place, or at the root.
fn placed(urn: &Urn, parent: Option<&Urn>) -> Proposal {
    let (aspect, member) = parent_of(urn);
    let mut value = match urn.entity_type() {
        "container" => json!({}),
        "domain" => json!({"name": urn.key()}),
        "glossaryNode" => json!({"name": "n", "definition": "d"}),
        _ => json!({"name": "t", "definition": "d", "termSource": "INTERNAL"}),
    };
    match parent {
        Some(parent) => value[member] = json!(parent),
        None if value == json!({}) => {
            return Proposal::new(urn.clone(), Change::DeleteAspect { aspect });
        }
        None => {}
    }
    Proposal::upsert(urn.clone(), aspect, value.to_string())
}

/// A write of the run that [`rollback`] rolls back.
fn in_run(proposal: Proposal) -> Proposal {
    proposal.with_system_metadata(Some(SystemMetadata {
        run_id: "r".to_owned(),
        last_run_id: "r".to_owned(),
        ..SystemMetadata::default()
    }))
}

fn rollback() -> Change {
    Change::RollbackRun {
        run_id: "r".to_owned(),
        hard: false,
        dry_run: false,
    }
}

const TYPES: [&str; 3] = ["container", "glossaryNode", "glossaryTerm"];

#[tokio::test]
async fn containers_and_the_glossary_move_with_the_right_on_both_parents() {
    for entity_type in TYPES {
        let hierarchy = Hierarchy::new(entity_type).await;
        let Hierarchy {
            entity,
            above,
            beside,
            other,
            ..
        } = &hierarchy;
        let (aspect, member) = parent_of(entity);
        let patch = json!([{"op": "add", "path": format!("/{member}"), "value": other}]);
        let patch = Arc::new(Patch::from_value(patch).unwrap());
        let change = |change| Proposal::new(entity.clone(), change);
        for (name, moves) in [
            ("by an upsert", vec![placed(entity, Some(other))]),
            ("by a patch", vec![change(Change::Patch { aspect, patch })]),
            ("to the root", vec![placed(entity, None)]),
            (
                "by a deletion of the aspect",
                vec![change(Change::DeleteAspect { aspect })],
            ),
            ("by a deletion of all", vec![change(Change::Clear)]),
            (
                "by another entity of its name",
                vec![change(Change::DeleteEntity), placed(entity, Some(other))],
            ),
        ] {
            for user in ["sam", "uma"] {
                let moved = hierarchy.write(user, moves.clone()).await;
                let error = moved.expect_err(&format!("{user} moves {entity} {name}"));
                is_denied(Err(error), "EDIT_ENTITY");
            }
        }
        assert_eq!(hierarchy.parent().await.as_ref(), Some(above));
        // Where it is, Sam writes it.
        let stays = vec![placed(entity, Some(above))];
        hierarchy.write("sam", stays).await.unwrap();
        let within = vec![in_run(placed(entity, Some(beside)))];
        let moved = hierarchy.write("sam", within.clone()).await;
        is_denied(moved, above.as_str());
        hierarchy.write("uma", within).await.unwrap();
        assert_eq!(hierarchy.parent().await.as_ref(), Some(beside));
        let back = vec![change(rollback())];
        let moved = hierarchy.write("sam", back.clone()).await;
        is_denied(moved, beside.as_str());
        hierarchy.write("uma", back).await.unwrap();
        assert_eq!(hierarchy.parent().await.as_ref(), Some(above));
        // Editors have the right on everything.
        let out = vec![placed(entity, None)];
        hierarchy.write("eddie", out).await.unwrap();
        let into = hierarchy.write("uma", vec![placed(entity, Some(above))]);
        is_denied(into.await, "EDIT_ENTITY");
    }
}

#[tokio::test]
async fn the_right_on_a_container_or_a_node_does_not_decide_about_its_move() {
    for entity_type in TYPES {
        let hierarchy = Hierarchy::new(entity_type).await;
        let Hierarchy {
            fixture,
            entity,
            other,
            ..
        } = &hierarchy;
        assign(fixture, "paula", "Proposer").await;
        for place in [Some(other), None] {
            let moved = vec![placed(entity, place)];
            hierarchy.write("paula", moved).await.unwrap();
            for name in ["sam", "uma"] {
                for verdict in [Verdict::Reject, Verdict::Accept] {
                    let decided = decide_first(fixture, &user(name), verdict).await;
                    is_denied(decided, "EDIT_ENTITY");
                }
            }
            let accepted = decide_first(fixture, &user("eddie"), Verdict::Accept).await;
            accepted.unwrap();
            assert_eq!(hierarchy.parent().await.as_ref(), place);
        }
    }
}

/// Without their parent, the children of an entity are at the root.
#[tokio::test]
async fn removing_the_references_to_a_parent_needs_the_right_to_move_its_children() {
    let fixture = with_steward().await;
    let (catalog, finance) = (&fixture.catalog, domain_urn("finance"));
    let actors = json!({"users": [user("sam").actor()]});
    let in_finance = json!([{"field": "DOMAIN", "values": [finance]}]);
    let deleter = policy("deleters", &actors, &["DELETE_ENTITY"], &in_finance);
    write_as_operator(catalog, vec![deleter]).await;
    let removed = async |name: &str| {
        let caller = user(name);
        let removed = catalog.delete_references(&caller, &finance, false);
        removed.await.map(drop)
    };
    let ancestors = async || {
        let domains = [domain_urn("accounting")];
        catalog.domain_ancestors(&domains).await.unwrap().remove(0)
    };
    is_denied(removed("sam").await, "MANAGE_DOMAINS");
    assert_eq!(ancestors().await, std::slice::from_ref(&finance));
    removed("eddie").await.unwrap();
    assert_eq!(ancestors().await, []);
    // What is no child needs the right to delete alone.
    let member = json!({"domains": [finance]});
    let member = upsert(&dataset("member"), "domains", &member);
    write_as_operator(catalog, vec![member]).await;
    removed("sam").await.unwrap();

    for entity_type in TYPES {
        let hierarchy = Hierarchy::new(entity_type).await;
        let (catalog, above) = (&hierarchy.fixture.catalog, &hierarchy.above);
        let removed = async |name: &str| {
            let caller = user(name);
            let removed = catalog.delete_references(&caller, above, false);
            removed.await.map(drop)
        };
        is_denied(removed("uma").await, "EDIT_ENTITY");
        assert_eq!(hierarchy.parent().await.as_ref(), Some(above));
        removed("eddie").await.unwrap();
        assert_eq!(hierarchy.parent().await, None);
    }
}

/// Something inside an entity.
fn member(name: &str, of: &Urn) -> Proposal {
    let stamp = json!({"time": 0, "actor": "urn:li:corpuser:x"});
    match of.entity_type() {
        "domain" => upsert(&dataset(name), "domains", &json!({"domains": [of]})),
        "container" => upsert(&dataset(name), "container", &json!({"container": of})),
        "glossaryNode" => placed(&Urn::new("glossaryTerm", name).unwrap(), Some(of)),
        _ => {
            let terms = json!({"terms": [{"urn": of}], "auditStamp": stamp});
            upsert(&dataset(name), "glossaryTerms", &terms)
        }
    }
}

/// What everything in a hierarchy has.
fn owned(urn: &Urn) -> Proposal {
    let stamp = json!({"time": 0, "actor": "urn:li:corpuser:x"});
    let owners = json!({"owners": [], "lastModified": stamp});
    upsert(urn, "ownership", &owners)
}

/// Connectors refer to what they store later. Whoever creates it inside something of their own
/// would have everything inside it.
#[tokio::test]
async fn creating_what_others_are_inside_of_needs_the_right_on_all_of_its_type() {
    for (entity_type, parents, field) in [
        ("domain", "domain", "DOMAIN"),
        ("container", "container", "CONTAINER"),
        ("glossaryNode", "glossaryNode", "GLOSSARY"),
        ("glossaryTerm", "glossaryNode", "GLOSSARY"),
    ] {
        let fixture = with_steward().await;
        let sam = user("sam");
        let own = Urn::new(parents, "own").unwrap();
        let new = |name: &str| Urn::new(entity_type, name).unwrap();
        let privileges = ["EDIT_ENTITY", "CREATE_ENTITY"];
        let grant = |id: &str, name: &str, criteria: &Value| {
            let actors = json!({"users": [user(name).actor()]});
            policy(id, &actors, &privileges, criteria)
        };
        let inside = json!([{"field": field, "values": [own]}]);
        let of_type = json!([{"field": "TYPE", "values": [entity_type]}]);
        let setup = vec![
            owned(&own),
            grant("sams", "sam", &inside),
            grant("tinas", "tina", &of_type),
            grant("tinas-own", "tina", &inside),
            member("foreign", &new("missing")),
            member("other", &new("missing-too")),
        ];
        write_as_operator(&fixture.catalog, setup).await;
        assign(&fixture, "tina", "Reader").await;
        let adopt = vec![placed(&new("missing"), Some(&own))];
        let mut in_two_steps = vec![owned(&new("missing"))];
        in_two_steps.extend(adopt.clone());
        for list in [adopt.clone(), in_two_steps] {
            let adopted = write(&fixture, &sam, list).await;
            is_denied(adopted, "stored entities are already inside it");
        }
        // What nothing is inside of, and what only the list itself is about, is a creation.
        write(&fixture, &sam, vec![placed(&new("unknown"), Some(&own))])
            .await
            .unwrap();
        let list = vec![
            member("sams", &new("fresh")),
            placed(&new("fresh"), Some(&own)),
        ];
        write(&fixture, &sam, list).await.unwrap();
        write(&fixture, &user("tina"), adopt).await.unwrap();
        let editors = vec![placed(&new("missing-too"), Some(&own))];
        write(&fixture, &user("eddie"), editors).await.unwrap();
    }
}
