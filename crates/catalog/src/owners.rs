//! Ownership of entities.
//!
//! The same user or group may own an entity in several ways, so URN and type together identify an
//! owner. Types are names such as `TECHNICAL_OWNER` or URNs of ownership types; the built-in names
//! have entities that every catalog has, see [`Catalog::add_built_in_ownership_types`].

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use docent_model::aspects::{Other, Owner, Ownership, built_in_ownership_type};
use docent_model::{AspectName, EntitySpec, Registry, Urn};
use serde_json::{Value, json};

use crate::proposal::{Proposal, Requirement, require_all};
use crate::target::{Target, expect_few};
use crate::{Caller, Catalog, Error};

/// An owner to set.
#[derive(Debug, Clone)]
pub struct NewOwner {
    pub owner: Urn,
    /// The ownership type by its name, such as `TECHNICAL_OWNER`, …
    pub kind: Option<String>,
    /// … or by the URN of an ownership type.
    pub kind_urn: Option<Urn>,
}

/// The built-in ownership types: name, display name, description.
const BUILT_IN: [(&str, &str, &str); 4] = [
    (
        "TECHNICAL_OWNER",
        "Technical Owner",
        "Makes the asset and keeps it running.",
    ),
    (
        "BUSINESS_OWNER",
        "Business Owner",
        "Answers for what the asset means to the business.",
    ),
    (
        "DATA_STEWARD",
        "Data Steward",
        "Looks after the quality and the rules of the asset.",
    ),
    ("NONE", "None", "Owns the asset in no particular capacity."),
];

impl NewOwner {
    fn element(&self, source: &str) -> Result<Owner, Error> {
        check_owner(&self.owner)?;
        let kind = match (&self.kind_urn, &self.kind) {
            (Some(urn), _) => {
                urn.expect_type("ownershipType")?;
                name_of(urn)
            }
            (None, Some(kind)) => kind.as_str(),
            (None, None) => {
                return Err(Error::invalid(format!(
                    "the owner {} needs a type or an ownershipTypeUrn",
                    self.owner
                )));
            }
        };
        let mut other = Other::new();
        other.insert("source".to_owned(), json!({ "type": source }));
        Ok(Owner {
            owner: self.owner.clone(),
            kind: kind.to_owned(),
            type_urn: self.kind_urn.clone(),
            other,
        })
    }
}

/// The name stored for clients that know names only.
fn name_of(kind: &Urn) -> &'static str {
    BUILT_IN
        .iter()
        .map(|(name, ..)| *name)
        .find(|name| built_in_ownership_type(name) == kind.as_str())
        .unwrap_or("CUSTOM")
}

impl Catalog {
    /// Makes existing users or groups owners of existing targets; of all of them or of none.
    pub async fn add_owners(
        &self,
        caller: &Caller,
        owners: &[NewOwner],
        targets: &[Target],
    ) -> Result<(), Error> {
        expect_few("owners", owners.len())?;
        if owners.is_empty() {
            return Ok(());
        }
        let elements = owners
            .iter()
            .map(|owner| owner.element("MANUAL"))
            .collect::<Result<Arc<[Owner]>, Error>>()?;
        let mut proposals = targets
            .iter()
            .map(|target| {
                let elements = Arc::clone(&elements);
                edit_owners(target, move |owners| {
                    let identity = |owner: &Owner| (owner.owner.clone(), owner.kind_urn());
                    let mut known: HashSet<_> = owners.iter().map(identity).collect();
                    let new = elements.iter().filter(|new| known.insert(identity(new)));
                    owners.extend(new.cloned());
                })
            })
            .collect::<Result<Vec<_>, Error>>()?;
        require_all(&mut proposals, required(owners));
        self.apply(caller, proposals).await?;
        Ok(())
    }

    /// Removes owners from existing targets: of this type, or of all types. A missing owner is no
    /// error.
    pub async fn remove_owners(
        &self,
        caller: &Caller,
        owners: &[Urn],
        kind: Option<&Urn>,
        targets: &[Target],
    ) -> Result<(), Error> {
        expect_few("owners", owners.len())?;
        for owner in owners {
            check_owner(owner)?;
        }
        if let Some(kind) = kind {
            kind.expect_type("ownershipType")?;
        }
        if owners.is_empty() {
            return Ok(());
        }
        let unwanted: Arc<HashSet<Urn>> = Arc::new(owners.iter().cloned().collect());
        let proposals = targets
            .iter()
            .map(|target| {
                let (unwanted, kind) = (Arc::clone(&unwanted), kind.map(Urn::to_string));
                edit_owners(target, move |owners| {
                    owners.retain(|known| {
                        let in_kind = kind.as_ref().is_none_or(|kind| known.kind_urn() == *kind);
                        !(in_kind && unwanted.contains(&known.owner))
                    });
                })
            })
            .collect::<Result<Vec<_>, Error>>()?;
        self.apply(caller, proposals).await?;
        Ok(())
    }

    /// Stores the built-in ownership types that are missing.
    pub async fn add_built_in_ownership_types(&self, caller: &Caller) -> Result<(), Error> {
        let types = BUILT_IN
            .iter()
            .map(|(name, ..)| Ok(Urn::parse(&built_in_ownership_type(name))?))
            .collect::<Result<Vec<Urn>, Error>>()?;
        let exists = self.exists(&types).await?;
        let missing = types.into_iter().zip(BUILT_IN).zip(exists);
        let proposals = missing
            .filter(|(_, exists)| !exists)
            .map(|((urn, (_, name, description)), _)| {
                Proposal::edit::<Value, _>(
                    urn,
                    AspectName::OWNERSHIP_TYPE_INFO,
                    move |current, stamp| {
                        // Another server may have been faster.
                        Ok(current.unwrap_or_else(|| {
                            json!({
                                "name": name,
                                "description": description,
                                "created": stamp,
                                "lastModified": stamp,
                            })
                        }))
                    },
                )
            })
            .collect();
        self.apply(caller, proposals).await?;
        Ok(())
    }
}

fn edit_owners<F>(target: &Target, edit: F) -> Result<Proposal, Error>
where
    F: Fn(&mut Vec<Owner>) + Send + Sync + 'static,
{
    target.expect_aspect(AspectName::OWNERSHIP, "owners")?;
    let urn = &target.urn;
    let missing =
        format!("Failed to change ownership for resource {urn}. Resource does not exist.");
    let proposal = Proposal::edit_if::<Ownership, _>(
        urn.clone(),
        AspectName::OWNERSHIP,
        move |current, stamp| {
            let is_there = current.is_some();
            let mut ownership = current.unwrap_or_default();
            let before = ownership.owners.clone();
            edit(&mut ownership.owners);
            if !is_there && ownership.owners.is_empty() {
                return Ok(None);
            }
            if ownership.owners != before || ownership.last_modified.is_none() {
                ownership.last_modified = Some(stamp.clone());
            }
            Ok(Some(ownership))
        },
    );
    Ok(target.required_by(proposal, missing))
}

/// The aspect without an owner, whatever the ownership type.
pub(crate) fn without(mut ownership: Ownership, owner: &Urn) -> Ownership {
    ownership.owners.retain(|it| it.owner != *owner);
    ownership
}

/// The aspect without an ownership type. The owners keep the name that is stored with it.
pub(crate) fn without_type(mut ownership: Ownership, kind: &Urn) -> Ownership {
    for owner in &mut ownership.owners {
        owner.type_urn = owner.type_urn.take().filter(|it| it != kind);
    }
    ownership
}

/// Makes the owners by type those of the list, whatever a client sends.
pub(crate) fn update_types(ownership: &mut Ownership) {
    if ownership.owner_types.is_some() || !ownership.owners.is_empty() {
        ownership.owner_types = Some(by_kind(&ownership.owners));
    }
}

fn by_kind(owners: &[Owner]) -> BTreeMap<String, Vec<Urn>> {
    let mut by_kind: BTreeMap<String, Vec<Urn>> = BTreeMap::new();
    for owner in owners {
        let of_kind = by_kind.entry(owner.kind_urn()).or_default();
        of_kind.push(owner.owner.clone());
    }
    by_kind
}

/// All owners of an entity. They must exist, and each must have a type.
pub(crate) fn ownership(entity: &Urn, owners: &[NewOwner]) -> Result<Proposal, Error> {
    expect_few("owners", owners.len())?;
    let mut proposal = replace(entity, owners, "MANUAL")?;
    proposal.requirements.extend(required(owners));
    Ok(proposal)
}

/// All owners of an entity, as given.
pub(crate) fn replace(entity: &Urn, owners: &[NewOwner], source: &str) -> Result<Proposal, Error> {
    let owners = owners
        .iter()
        .map(|owner| owner.element(source))
        .collect::<Result<Vec<_>, Error>>()?;
    Ok(Proposal::edit::<Ownership, _>(
        entity.clone(),
        AspectName::OWNERSHIP,
        move |current: Option<Ownership>, stamp| {
            let unchanged = current.filter(|current| current.owners == owners);
            Ok(unchanged.unwrap_or_else(|| Ownership {
                owners: owners.clone(),
                last_modified: Some(stamp.clone()),
                ..Ownership::default()
            }))
        },
    ))
}

/// The creator of an entity is its first owner.
pub(crate) fn created_by(entity: &Urn, caller: &Caller) -> Result<Proposal, Error> {
    let creator = NewOwner {
        owner: caller.actor().clone(),
        kind: Some("TECHNICAL_OWNER".to_owned()),
        kind_urn: None,
    };
    replace(entity, &[creator], "MANUAL")
}

/// The requirements for these to be owners.
fn required(owners: &[NewOwner]) -> impl Iterator<Item = Requirement> {
    let named = owners.iter().flat_map(|owner| {
        let kind = owner.kind_urn.iter().map(|kind| (kind, "Ownership type"));
        kind.chain([(&owner.owner, "Owner")])
    });
    named.map(|(urn, what)| {
        let message = format!(
            "Failed to change ownership for resource(s). {what} with urn {urn} does not exist."
        );
        Requirement::exists(urn, message)
    })
}

/// Owners are users or groups.
pub(crate) fn check_owner(owner: &Urn) -> Result<&'static EntitySpec, Error> {
    let spec = Registry::get().check_urn(owner)?;
    if matches!(spec.name, "corpuser" | "corpGroup") {
        return Ok(spec);
    }
    Err(Error::invalid(format!(
        "{owner} cannot be an owner: owners are users (urn:li:corpuser:…) or groups (urn:li:corpGroup:…)"
    )))
}
