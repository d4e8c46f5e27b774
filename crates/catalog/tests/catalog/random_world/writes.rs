//! Random writes, and which of them the policies of a world allow.

use std::collections::BTreeMap;

use docent_catalog::descriptions::NewDescription;
use docent_catalog::{Caller, Catalog, Change, Error, ErrorKind, Proposal};
use docent_model::{AspectName, Urn};

use super::world::{Subject, World};

const EDIT: &[&str] = &["EDIT_ENTITY"];

#[derive(Debug, Clone)]
pub(super) enum Write {
    Describe(Urn),
    /// Puts an asset into a domain, or into none.
    SetDomain(Urn, Option<Urn>),
    /// Moves a domain, container, glossary node or term below a parent, or to the root.
    Move(Urn, Option<Urn>),
    Delete(Urn),
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
        }
    }
}

impl World {
    fn pick_write(&mut self) -> Write {
        let assets = [self.of_type("dataset"), self.of_type("dashboard")].concat();
        let placed = ["domain", "container", "glossaryNode", "glossaryTerm"];
        let domains = self.of_type("domain");
        match self.random.below(8) {
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
            Write::Describe(_) => {}
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
        match write {
            Write::Describe(urn) => self.may(user, &["EDIT_ENTITY", "EDIT_ENTITY_DOCS"], urn),
            Write::Delete(urn) => self.may(user, &["DELETE_ENTITY"], urn),
            Write::SetDomain(urn, _) => self.may(user, EDIT, urn) && after.may(user, EDIT, urn),
            Write::Move(urn, parent) => {
                let before = &self.entities[urn].parent;
                let is_allowed_at = |parent: &Option<Urn>| {
                    let subject = match parent {
                        Some(parent) => Subject::Entity(parent),
                        None => Subject::Root(urn.entity_type()),
                    };
                    after.may_on(user, EDIT, subject)
                };
                self.may(user, EDIT, urn)
                    && after.may(user, EDIT, urn)
                    && (before == parent || (is_allowed_at(before) && is_allowed_at(parent)))
            }
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
        }
    }
}
