//! Random writes, and which of them the policies of a world allow.

use std::collections::BTreeMap;

use docent_catalog::descriptions::NewDescription;
use docent_catalog::{Caller, Catalog, Change, Error, ErrorKind, Proposal};
use docent_model::{AspectName, Urn};
use serde_json::json;

use super::world::{Entity, Subject, World};
use super::{upsert, write, write_entity};
use crate::dataset;

const EDIT: &[&str] = &["EDIT_ENTITY"];
const CREATE: &[&str] = &["EDIT_ENTITY", "CREATE_ENTITY"];

#[derive(Debug, Clone)]
pub(super) enum Write {
    Describe(Urn),
    /// Puts an asset into a domain, or into none.
    SetDomain(Urn, Option<Urn>),
    /// Moves a domain, container, glossary node or term below a parent, or to the root.
    Move(Urn, Option<Urn>),
    Delete(Urn),
    /// Creates a dataset in a domain, or in none.
    CreateDataset(Urn, Option<Urn>),
    /// Creates a domain below a parent, or at the root. A dataset may be in it already.
    CreateDomain {
        urn: Urn,
        parent: Option<Urn>,
        member: Option<Urn>,
    },
    /// Tags a column, stored or not, as a caller who sees a part.
    TagColumn(Urn),
    /// The operator restores it.
    SoftDelete(Urn),
    /// Puts assets into domains in one list, which is denied as a whole.
    SetDomains([(Urn, Urn); 2]),
}

/// How many writes of each kind were denied and allowed.
pub(super) type Outcomes = BTreeMap<&'static str, [usize; 2]>;

impl Write {
    fn kind(&self) -> &'static str {
        match self {
            Self::Describe(_) => "describe",
            Self::SetDomain(..) => "set the domain",
            Self::Move(urn, _) if urn.entity_type() == "domain" => "move a domain",
            Self::Move(..) => "move something else",
            Self::Delete(_) => "delete",
            Self::CreateDataset(..) => "create a dataset",
            Self::CreateDomain {
                parent: Some(_),
                member: Some(_),
                ..
            } => "create a domain with a member below another one",
            Self::CreateDomain { .. } => "create a domain",
            Self::TagColumn(_) => "tag a column",
            Self::SoftDelete(_) => "soft-delete",
            Self::SetDomains(_) => "set the domains of two assets",
        }
    }

    async fn run(&self, catalog: &Catalog, caller: &Caller, after: &World) -> Result<(), Error> {
        match self {
            Self::Describe(urn) => {
                let text = NewDescription::from("new words");
                catalog.update_description(caller, urn, None, text).await
            }
            Self::SetDomain(urn, Some(domain)) => catalog.set_domain(caller, urn, domain).await,
            Self::SetDomain(urn, None) => catalog.unset_domain(caller, urn).await,
            Self::Move(urn, parent) if urn.entity_type() == "domain" => {
                catalog.move_domain(caller, urn, parent.as_ref()).await
            }
            Self::Move(urn, parent) => {
                let aspect = match urn.entity_type() {
                    "container" => AspectName::CONTAINER,
                    "glossaryNode" => AspectName::GLOSSARY_NODE_INFO,
                    _ => AspectName::GLOSSARY_TERM_INFO,
                };
                let list = if parent.is_none() && aspect == AspectName::CONTAINER {
                    vec![Proposal::new(urn.clone(), Change::DeleteAspect { aspect })]
                } else {
                    let mut list = after.proposals(urn);
                    list.retain(|it| it.change.aspect() == Some(aspect));
                    list
                };
                catalog.ingest(caller, list).await.map(drop)
            }
            Self::Delete(urn) => {
                let delete = Proposal::new(urn.clone(), Change::DeleteEntity);
                catalog.ingest(caller, vec![delete]).await.map(drop)
            }
            Self::CreateDataset(urn, _) | Self::CreateDomain { urn, .. } => {
                let mut list = after.proposals(urn);
                let aspects = [AspectName::DOMAINS, AspectName::DOMAIN_PROPERTIES];
                list.retain(|it| it.change.aspect().is_some_and(|it| aspects.contains(&it)));
                catalog.ingest(caller, list).await.map(drop)
            }
            Self::TagColumn(column) => {
                let tags = upsert(column, "globalTags", &json!({"tags": []}));
                let seen = catalog.seen_by(caller).await?;
                seen.ingest(caller, vec![tags]).await.map(drop)
            }
            Self::SoftDelete(urn) => {
                let removed = upsert(urn, "status", &json!({"removed": true}));
                catalog.ingest(caller, vec![removed]).await?;
                write(catalog, urn, "status", &json!({"removed": false})).await;
                Ok(())
            }
            Self::SetDomains(items) => {
                let list = items
                    .iter()
                    .map(|(urn, domain)| upsert(urn, "domains", &json!({"domains": [domain]})));
                catalog.ingest(caller, list.collect()).await.map(drop)
            }
        }
    }
}

impl World {
    fn pick_write(&mut self) -> Write {
        let assets = [self.of_type("dataset"), self.of_type("dashboard")].concat();
        let placed = ["domain", "container", "glossaryNode", "glossaryTerm"];
        let domains = self.of_type("domain");
        self.named += 1;
        match self.random.below(17) {
            0 | 1 => {
                let types = ["dataset", "domain", "container", "glossaryTerm"];
                let entity_type = self.random.text(&types);
                let described = self.of_type(entity_type);
                Write::Describe(self.random.pick(&described).clone())
            }
            2 | 3 => {
                let asset = self.random.pick(&assets).clone();
                let some = !self.random.one_in(4);
                let domain = some.then(|| self.random.pick(&domains).clone());
                Write::SetDomain(asset, domain)
            }
            4 => Write::Delete(self.random.pick(&assets).clone()),
            5 => {
                let some = !self.random.one_in(4);
                let domain = some.then(|| self.random.pick(&domains).clone());
                Write::CreateDataset(dataset(format!("new{}", self.named)), domain)
            }
            6..=8 => {
                // Behind all others, so that each of them may be its parent.
                let urn = Urn::new("domain", &format!("domains{}", self.named)).unwrap();
                let member = dataset(format!("member{}", self.named));
                Write::CreateDomain {
                    parent: self.pick_parent(&urn),
                    member: (!self.random.one_in(3)).then_some(member),
                    urn,
                }
            }
            9 => {
                let datasets = self.of_type("dataset");
                let dataset = self.random.pick(&datasets);
                let name = self.random.text(&["a", "b", "c"]);
                let column = format!("urn:li:schemaField:({dataset},{name})");
                Write::TagColumn(Urn::parse(&column).unwrap())
            }
            10 => Write::SoftDelete(self.random.pick(&assets).clone()),
            11 | 12 => Write::SetDomains(std::array::from_fn(|_| {
                let asset = self.random.pick(&assets).clone();
                (asset, self.random.pick(&domains).clone())
            })),
            _ => {
                let entity_type = self.random.text(&placed);
                let moved = self.of_type(entity_type);
                let moved = self.random.pick(&moved).clone();
                let parent = self.pick_parent(&moved);
                Write::Move(moved, parent)
            }
        }
    }

    /// The world after a write that succeeds.
    fn after(&self, write: &Write) -> Self {
        let mut after = self.clone();
        match write {
            Write::Describe(_) | Write::TagColumn(_) | Write::SoftDelete(_) => {}
            Write::SetDomains(items) => {
                for (urn, domain) in items {
                    let entity = after.entities.get_mut(urn).unwrap();
                    entity.domain = Some(domain.clone());
                }
            }
            Write::CreateDataset(urn, domain) => {
                let domain = domain.clone();
                let entity = Entity {
                    domain,
                    ..Entity::default()
                };
                after.entities.insert(urn.clone(), entity);
            }
            Write::CreateDomain { urn, parent, .. } => {
                let parent = parent.clone();
                let entity = Entity {
                    parent,
                    ..Entity::default()
                };
                after.entities.insert(urn.clone(), entity);
            }
            Write::SetDomain(urn, domain) => {
                after
                    .entities
                    .get_mut(urn)
                    .unwrap()
                    .domain
                    .clone_from(domain);
            }
            Write::Move(urn, parent) => {
                after
                    .entities
                    .get_mut(urn)
                    .unwrap()
                    .parent
                    .clone_from(parent);
            }
            Write::Delete(urn) => {
                after.entities.remove(urn);
            }
        }
        after
    }

    /// Whether a user may write, in the words of the definition.
    fn allows(&self, user: &Urn, write: &Write, after: &Self) -> bool {
        let may_at = |privileges: &[&str], entity_type: &str, parent: Option<&Urn>| {
            let subject = parent.map_or(Subject::Root(entity_type), Subject::Entity);
            after.may_on(user, privileges, subject)
        };
        match write {
            Write::Describe(urn) => self.may(user, &["EDIT_ENTITY", "EDIT_ENTITY_DOCS"], urn),
            Write::Delete(urn) => self.may(user, &["DELETE_ENTITY"], urn),
            Write::SoftDelete(urn) => self.may(user, &["EDIT_ENTITY", "EDIT_ENTITY_STATUS"], urn),
            Write::SetDomain(urn, _) => self.may(user, EDIT, urn) && after.may(user, EDIT, urn),
            Write::SetDomains(items) => items
                .iter()
                .all(|(urn, _)| self.may(user, EDIT, urn) && after.may(user, EDIT, urn)),
            Write::Move(urn, parent) => {
                let before = &self.entities[urn].parent;
                let is_allowed_at =
                    |parent: &Option<Urn>| may_at(EDIT, urn.entity_type(), parent.as_ref());
                self.may(user, EDIT, urn)
                    && after.may(user, EDIT, urn)
                    && (before == parent || (is_allowed_at(before) && is_allowed_at(parent)))
            }
            // Its member comes from the root, where the domain was as far as anyone knew.
            Write::CreateDomain {
                urn,
                parent: Some(parent),
                member: Some(_),
            } => {
                after.may(user, CREATE, urn)
                    && may_at(CREATE, "domain", None)
                    && may_at(CREATE, "domain", Some(parent))
            }
            Write::CreateDataset(urn, _) | Write::CreateDomain { urn, .. } => {
                after.may(user, CREATE, urn)
            }
            Write::TagColumn(column) => {
                let privileges = ["EDIT_ENTITY", "EDIT_ENTITY_TAGS"];
                self.sees_column(user, column)
                    && self.may_on(user, &privileges, Subject::Column(column))
            }
        }
    }

    /// Stores what must be there before a write.
    async fn prepare(&mut self, catalog: &Catalog, write: &Write) {
        let Write::CreateDomain {
            urn,
            member: Some(member),
            ..
        } = write
        else {
            return;
        };
        let entity = Entity {
            domain: Some(urn.clone()),
            ..Entity::default()
        };
        self.entities.insert(member.clone(), entity);
        write_entity(catalog, self, member).await;
    }

    /// Creates the domain that a user was not allowed to create, so that everything is somewhere.
    async fn complete(&mut self, catalog: &Catalog, write: &Write) {
        if let Write::CreateDomain { urn, .. } = write {
            self.entities.insert(urn.clone(), Entity::default());
            write_entity(catalog, self, urn).await;
        }
    }
}

/// Lets random users write, and compares who may. What succeeds is part of the world then.
pub(super) async fn compare_writes(
    catalog: &Catalog,
    world: &mut World,
    count: usize,
    outcomes: &mut Outcomes,
    name: &str,
) {
    for number in 0..count {
        let user = world.random.pick(&world.users.clone()).clone();
        let write = world.pick_write();
        world.prepare(catalog, &write).await;
        let after = world.after(&write);
        let expected = world.allows(&user, &write, &after);
        let caller = Caller::new(user.clone());
        let result = write.run(catalog, &caller, &after).await;
        if let Err(error) = &result {
            assert_eq!(
                error.kind(),
                ErrorKind::Forbidden,
                "{name}: {write:?} {error}"
            );
        }
        let is_allowed = result.is_ok();
        assert_eq!(is_allowed, expected, "{name}.{number}: {user} {write:?}");
        outcomes.entry(write.kind()).or_default()[usize::from(is_allowed)] += 1;
        if is_allowed {
            *world = after;
        } else {
            world.complete(catalog, &write).await;
        }
    }
}
