//! A random world, and what its policies mean.

use std::collections::{BTreeMap, BTreeSet};

use docent_catalog::Proposal;
use docent_catalog::privilege::{self, Privilege};
use docent_model::Urn;
use serde_json::{Value, json};

use super::upsert;
use crate::dataset;
use crate::random::Random;

pub(super) const PRIVILEGES: [Privilege; 7] = [
    privilege::VIEW_ENTITY_PAGE,
    privilege::EDIT_ENTITY,
    privilege::EDIT_ENTITY_DOCS,
    privilege::EDIT_ENTITY_STATUS,
    privilege::EDIT_ENTITY_TAGS,
    privilege::CREATE_ENTITY,
    privilege::DELETE_ENTITY,
];
/// Of which one is enough to see an entity.
const VIEWERS: [&str; 4] = [
    "VIEW_ENTITY_PAGE",
    "GET_ENTITY_PRIVILEGE",
    "EDIT_ENTITY",
    "DELETE_ENTITY",
];
const OWNERSHIP_TYPES: [&str; 2] = [
    "urn:li:ownershipType:__system__technical_owner",
    "urn:li:ownershipType:__system__business_owner",
];

/// An entity with what policies compare.
#[derive(Default, Clone)]
pub(super) struct Entity {
    pub(super) domain: Option<Urn>,
    pub(super) container: Option<Urn>,
    /// Of a domain, container, glossary term or node.
    pub(super) parent: Option<Urn>,
    pub(super) tags: Vec<Urn>,
    pub(super) terms: Vec<Urn>,
    /// With their ownership types.
    pub(super) owners: Vec<(Urn, &'static str)>,
}

/// What a decision is about.
#[derive(Clone, Copy)]
pub(super) enum Subject<'s> {
    Entity(&'s Urn),
    /// A column, which has the values of its dataset too.
    Column(&'s Urn),
    /// The root of the hierarchy of this type: no entity, so all that it has is the type.
    Root(&'s str),
}

#[derive(Clone)]
pub(super) struct World {
    pub(super) random: Random,
    pub(super) users: Vec<Urn>,
    pub(super) groups: Vec<Urn>,
    pub(super) members: BTreeMap<Urn, Vec<Urn>>,
    pub(super) entities: BTreeMap<Urn, Entity>,
    pub(super) tags: Vec<Urn>,
    pub(super) policies: BTreeMap<Urn, Value>,
    /// How many entities random writes have named that did not exist.
    pub(super) named: usize,
}

/// The dataset of a column.
fn dataset_of(column: &Urn) -> Urn {
    Urn::parse(column.key_parts()[0]).unwrap()
}

fn urns(entity_type: &str, count: usize) -> Vec<Urn> {
    let urn = |number| Urn::new(entity_type, &format!("{entity_type}{number}")).unwrap();
    (0..count).map(urn).collect()
}

impl World {
    pub(super) fn new(number: u64) -> Self {
        let mut random = Random::seeded(number);
        for _ in 0..8 {
            random.below(2);
        }
        let mut world = Self {
            random,
            users: urns("corpuser", 5),
            groups: urns("corpGroup", 3),
            members: BTreeMap::new(),
            entities: BTreeMap::new(),
            tags: urns("tag", 4),
            policies: BTreeMap::new(),
            named: 0,
        };
        for (entity_type, count) in [
            ("domain", 10),
            ("container", 6),
            ("glossaryNode", 4),
            ("glossaryTerm", 6),
        ] {
            for urn in urns(entity_type, count) {
                world.entities.insert(urn, Entity::default());
            }
        }
        let dashboard = |number| {
            let urn = format!("urn:li:dashboard:(looker,{number})");
            Urn::parse(&urn).unwrap()
        };
        for urn in (0..40).map(dataset).chain((0..8).map(dashboard)) {
            world.entities.insert(urn, Entity::default());
        }
        for urn in world.entities.keys().cloned().collect::<Vec<_>>() {
            world.change_entity(&urn);
        }
        for user in world.users.clone() {
            let groups = world.random.some(&world.groups.clone());
            world.members.insert(user, groups);
        }
        for urn in urns("dataHubPolicy", 6) {
            world.change_policy(&urn);
        }
        world
    }

    pub(super) fn of_type(&self, entity_type: &str) -> Vec<Urn> {
        let urns = self.entities.keys();
        urns.filter(|urn| urn.entity_type() == entity_type)
            .cloned()
            .collect()
    }

    /// A parent for an entity, if its type has any, or the root. Trees stay trees: a parent has a
    /// smaller number.
    pub(super) fn pick_parent(&mut self, urn: &Urn) -> Option<Urn> {
        let above = match urn.entity_type() {
            "domain" | "container" => self.of_type(urn.entity_type()),
            "glossaryNode" | "glossaryTerm" => self.of_type("glossaryNode"),
            _ => Vec::new(),
        };
        let above: Vec<Urn> = above
            .into_iter()
            .filter(|it| it.entity_type() != urn.entity_type() || it < urn)
            .collect();
        let is_root = above.is_empty() || self.random.one_in(3);
        (!is_root).then(|| self.random.pick(&above).clone())
    }

    /// Gives an entity other owners, labels and places.
    pub(super) fn change_entity(&mut self, urn: &Urn) {
        let (domains, containers) = (self.of_type("domain"), self.of_type("container"));
        let terms = self.of_type("glossaryTerm");
        let owners = [self.users.clone(), self.groups.clone()].concat();
        let tags = self.tags.clone();
        let mut entity = Entity {
            parent: self.pick_parent(urn),
            ..Entity::default()
        };
        let random = &mut self.random;
        let owners = random.some(&owners);
        for owner in owners {
            let kind = *random.pick(&OWNERSHIP_TYPES);
            entity.owners.push((owner, kind));
        }
        if ["dataset", "dashboard"].contains(&urn.entity_type()) {
            entity.domain = (!random.one_in(4)).then(|| random.pick(&domains).clone());
            entity.container = (!random.one_in(3)).then(|| random.pick(&containers).clone());
            entity.tags = random.some(&tags);
            entity.terms = random.some(&terms);
        }
        self.entities.insert(urn.clone(), entity);
    }

    pub(super) fn change_policy(&mut self, urn: &Urn) {
        let all: Vec<Urn> = self.entities.keys().cloned().collect();
        let users_and_groups = [self.users.clone(), self.groups.clone()].concat();
        let (users, groups, tags) = (self.users.clone(), self.groups.clone(), self.tags.clone());
        let values: [(&str, Vec<Urn>); 6] = [
            ("DOMAIN", self.of_type("domain")),
            ("CONTAINER", self.of_type("container")),
            (
                "GLOSSARY",
                [self.of_type("glossaryTerm"), self.of_type("glossaryNode")].concat(),
            ),
            ("TAG", tags),
            ("OWNER", users_and_groups),
            ("URN", all),
        ];
        let random = &mut self.random;
        let privileges: Vec<&str> = (0..=random.below(3))
            .map(|_| random.pick(&PRIVILEGES).name())
            .collect();
        let mut actors = json!({
            "users": random.some(&users),
            "groups": random.some(&groups),
            "allUsers": random.one_in(8),
            "allGroups": random.one_in(8),
            "resourceOwners": random.one_in(3),
        });
        if random.one_in(2) {
            actors["resourceOwnersTypes"] = json!(random.some(&OWNERSHIP_TYPES));
        }
        let mut criteria = Vec::new();
        for _ in 0..random.below(3) {
            let condition = *random.pick(&["EQUALS", "EQUALS", "NOT_EQUALS", "STARTS_WITH"]);
            if random.one_in(4) {
                let types: &[&str] = if condition == "STARTS_WITH" {
                    &["da", "glossary"]
                } else {
                    &["dataset", "dashboard", "domain"]
                };
                let types = vec![*random.pick(types)];
                criteria.push(json!({"field": "TYPE", "values": types, "condition": condition}));
                continue;
            }
            // Domains decide most policies of real catalogs, and their paths are cached.
            let (field, values) = if random.one_in(2) {
                &values[0]
            } else {
                random.pick(&values)
            };
            let mut values: Vec<String> = (0..=random.below(3))
                .map(|_| random.pick(values).as_str().to_owned())
                .collect();
            // A whole URN is a prefix, too, and one that does not match everything.
            if condition == "STARTS_WITH" && random.one_in(3) {
                for value in &mut values {
                    value.truncate(value.len() - 1);
                }
            }
            criteria.push(json!({"field": field, "values": values, "condition": condition}));
        }
        let policy = json!({
            "displayName": urn.key(), "description": "", "type": "METADATA", "editable": true,
            "state": if random.one_in(8) { "INACTIVE" } else { "ACTIVE" },
            "privileges": privileges, "actors": actors,
            "resources": {"filter": {"criteria": criteria}},
        });
        self.policies.insert(urn.clone(), policy);
    }

    /// An entity and everything above it.
    fn chain(&self, start: &[Urn]) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        let mut next = start.to_vec();
        while let Some(urn) = next.pop() {
            next.extend(self.entities.get(&urn).and_then(|it| it.parent.clone()));
            found.insert(urn.to_string());
        }
        found
    }

    fn values(&self, subject: Subject<'_>, field: &str) -> BTreeSet<String> {
        let urn = match subject {
            Subject::Entity(urn) => urn,
            Subject::Column(column) => {
                let mut values = self.values(Subject::Entity(&dataset_of(column)), field);
                match field {
                    "TYPE" => values.insert(column.entity_type().to_owned()),
                    "URN" => values.insert(column.to_string()),
                    _ => false,
                };
                return values;
            }
            Subject::Root(entity_type) if field == "TYPE" => {
                return BTreeSet::from([entity_type.to_owned()]);
            }
            Subject::Root(_) => return BTreeSet::new(),
        };
        let entity = &self.entities[urn];
        let own = |types: &[&str]| types.contains(&urn.entity_type()).then(|| urn.clone());
        let texts = |urns: &[Urn]| urns.iter().map(ToString::to_string).collect();
        match field {
            "TYPE" => BTreeSet::from([urn.entity_type().to_owned()]),
            "URN" => BTreeSet::from([urn.to_string()]),
            "TAG" => texts(&entity.tags),
            "OWNER" => entity.owners.iter().map(|it| it.0.to_string()).collect(),
            "DOMAIN" => {
                let start = own(&["domain"]).into_iter().chain(entity.domain.clone());
                self.chain(&start.collect::<Vec<_>>())
            }
            "CONTAINER" => {
                let start = own(&["container"]).into_iter();
                let start = start.chain(entity.container.clone());
                self.chain(&start.collect::<Vec<_>>())
            }
            "GLOSSARY" => {
                let start = own(&["glossaryTerm", "glossaryNode"]).into_iter();
                let start = start.chain(entity.terms.clone());
                self.chain(&start.collect::<Vec<_>>())
            }
            other => panic!("{other}"),
        }
    }

    /// Whether a user has one of the privileges on an entity, in the words of the definition.
    pub(super) fn may(&self, user: &Urn, privileges: &[&str], urn: &Urn) -> bool {
        self.may_on(user, privileges, Subject::Entity(urn))
    }

    pub(super) fn may_on(&self, user: &Urn, privileges: &[&str], subject: Subject<'_>) -> bool {
        let owners = match subject {
            Subject::Entity(urn) => self.entities[urn].owners.as_slice(),
            Subject::Column(column) => self.entities[&dataset_of(column)].owners.as_slice(),
            Subject::Root(_) => &[],
        };
        let groups = &self.members[user];
        let has = |list: &Value, urn: &Urn| {
            let items = list.as_array().map(Vec::as_slice).unwrap_or_default();
            items.iter().any(|it| it == urn.as_str())
        };
        self.policies.values().any(|policy| {
            let actors = &policy["actors"];
            let types = actors["resourceOwnersTypes"].as_array();
            let owns = owners.iter().any(|(owner, kind)| {
                (owner == user || groups.contains(owner))
                    && types.is_none_or(|types| types.iter().any(|it| it == kind))
            });
            let is_actor = actors["allUsers"] == true
                || (actors["allGroups"] == true && !groups.is_empty())
                || has(&actors["users"], user)
                || groups.iter().any(|group| has(&actors["groups"], group))
                || (actors["resourceOwners"] == true && owns);
            let granted = policy["privileges"].as_array().unwrap().iter();
            let is_granted = granted
                .filter_map(Value::as_str)
                .any(|name| privileges.contains(&name));
            let criteria = policy["resources"]["filter"]["criteria"].as_array();
            let is_covered = criteria.unwrap().iter().all(|criterion| {
                let found = self.values(subject, criterion["field"].as_str().unwrap());
                let values = criterion["values"].as_array().unwrap().iter();
                let mut values = values.filter_map(Value::as_str);
                match criterion["condition"].as_str().unwrap() {
                    "EQUALS" => values.any(|value| found.contains(value)),
                    "NOT_EQUALS" => !values.any(|value| found.contains(value)),
                    _ => values.any(|start| found.iter().any(|it| it.starts_with(start))),
                }
            });
            policy["state"] == "ACTIVE" && is_actor && is_granted && is_covered
        })
    }

    pub(super) fn sees(&self, user: &Urn, urn: &Urn) -> bool {
        self.may(user, &VIEWERS, urn)
    }

    pub(super) fn sees_column(&self, user: &Urn, column: &Urn) -> bool {
        self.may_on(user, &VIEWERS, Subject::Column(column))
    }

    /// The aspects of an entity.
    pub(super) fn proposals(&self, urn: &Urn) -> Vec<Proposal> {
        let entity = &self.entities[urn];
        let mut aspects = Vec::new();
        let owners = entity
            .owners
            .iter()
            .map(|(owner, kind)| json!({"owner": owner, "type": "CUSTOM", "typeUrn": kind}));
        aspects.push((
            "ownership",
            json!({"owners": owners.collect::<Vec<_>>(), "lastModified": {"time": 0, "actor": "urn:li:corpuser:x"}}),
        ));
        let name = urn.key_parts().last().unwrap().to_string();
        match urn.entity_type() {
            "domain" => {
                let mut value = json!({"name": format!("word {name}"), "description": "found"});
                if let Some(parent) = &entity.parent {
                    value["parentDomain"] = json!(parent);
                }
                aspects.push(("domainProperties", value));
            }
            "container" => {
                let value = json!({"name": format!("word {name}"), "customProperties": {}});
                aspects.push(("containerProperties", value));
                if let Some(parent) = &entity.parent {
                    aspects.push(("container", json!({"container": parent})));
                }
            }
            "glossaryNode" | "glossaryTerm" => {
                let mut value = json!({"name": format!("word {name}"), "definition": "found"});
                if urn.entity_type() == "glossaryTerm" {
                    value["termSource"] = json!("INTERNAL");
                    value["customProperties"] = json!({});
                }
                if let Some(parent) = &entity.parent {
                    value["parentNode"] = json!(parent);
                }
                let aspect = if urn.entity_type() == "glossaryTerm" {
                    "glossaryTermInfo"
                } else {
                    "glossaryNodeInfo"
                };
                aspects.push((aspect, value));
            }
            _ => {
                let domains: Vec<&Urn> = entity.domain.iter().collect();
                aspects.push(("domains", json!({"domains": domains})));
                let tags: Vec<Value> = entity.tags.iter().map(|tag| json!({"tag": tag})).collect();
                aspects.push(("globalTags", json!({"tags": tags})));
                let terms: Vec<Value> = entity
                    .terms
                    .iter()
                    .map(|term| json!({"urn": term}))
                    .collect();
                aspects.push((
                    "glossaryTerms",
                    json!({"terms": terms, "auditStamp": {"time": 0, "actor": "urn:li:corpuser:x"}}),
                ));
                if let Some(container) = &entity.container {
                    aspects.push(("container", json!({"container": container})));
                }
            }
        }
        aspects
            .into_iter()
            .map(|(aspect, value)| upsert(urn, aspect, &value))
            .collect()
    }
}
