//! Domains: creation, nesting, renaming, deletion and membership.

use docent_model::aspects::{AuditStamp, DomainProperties, Domains, Other};
use docent_model::{AspectName, Urn};
use docent_store::ListPage;
use serde_json::{Map, Value, json};

use crate::limits::check_name;
use crate::owners::{NewOwner, ownership};
use crate::privilege::CREATE_DOMAINS;
use crate::proposal::{Proposal, Requirement};
use crate::target::Target;
use crate::{Caller, Catalog, Change, Error, search};

/// The maximum nesting depth.
pub const MAX_DEPTH: usize = 50;

/// A domain to create.
#[derive(Debug, Clone, Default)]
pub struct NewDomain {
    /// Without an id, a random one is made.
    pub id: Option<String>,
    pub name: String,
    pub description: Option<String>,
    pub parent: Option<Urn>,
    pub owners: Vec<NewOwner>,
}

/// Display settings of a domain; `None` leaves a setting unchanged.
#[derive(Debug, Clone, Default)]
pub struct DisplayUpdate {
    pub color_hex: Option<String>,
    pub icon: Map<String, Value>,
}

impl Catalog {
    /// Creates a domain, with its owners, and returns its URN.
    pub async fn create_domain(&self, caller: &Caller, new: NewDomain) -> Result<Urn, Error> {
        let urn = self.new_urn("domain", new.id.as_deref())?;
        check_name("a domain", &new.name)?;
        let (name, description, parent) = (new.name, new.description, new.parent);
        let mut domain =
            Proposal::edit::<DomainProperties, _>(urn.clone(), AspectName::DOMAIN_PROPERTIES, {
                let parent = parent.clone();
                move |_, stamp| {
                    Ok(DomainProperties {
                        name: name.clone(),
                        description: description.clone(),
                        created: Some(stamp.clone()),
                        parent_domain: parent.clone(),
                        other: Other::new(),
                    })
                }
            })
            .requires(Requirement::IsNew {
                otherwise: "This Domain already exists!".to_owned(),
            })
            .requires(Requirement::UniqueSiblingName {
                otherwise: name_taken,
            })
            .also_allowed_by(&[CREATE_DOMAINS]);
        if let Some(parent) = &parent {
            parent.expect_type("domain")?;
            domain = domain.requires_existing(parent, "Parent Domain does not exist!");
        }
        let mut proposals = vec![domain];
        if !new.owners.is_empty() {
            proposals.push(ownership(&urn, &new.owners)?.also_allowed_by(&[CREATE_DOMAINS]));
        }
        self.apply(caller, proposals).await?;
        Ok(urn)
    }

    /// Makes the entity a member of this domain alone.
    pub async fn set_domain(
        &self,
        caller: &Caller,
        entity: &Urn,
        domain: &Urn,
    ) -> Result<(), Error> {
        domain.expect_type("domain")?;
        let failed = format!("Failed to add Entity {entity} to Domain {domain}.");
        let proposal = assignment(&Target::entity(entity.clone()), Some(domain))?
            .requires_existing(domain, format!("{failed} Domain does not exist."))
            .requires_existing(entity, format!("{failed} Entity does not exist."));
        self.apply(caller, vec![proposal]).await?;
        Ok(())
    }

    /// Removes the entity from its domain, if it has one.
    pub async fn unset_domain(&self, caller: &Caller, entity: &Urn) -> Result<(), Error> {
        let proposal = assignment(&Target::entity(entity.clone()), None)?.requires_existing(
            entity,
            format!("Failed to remove the domain of {entity}. Entity does not exist."),
        );
        self.apply(caller, vec![proposal]).await?;
        Ok(())
    }

    /// Sets or unsets the domain of many entities. A named column must exist; the domain is set on
    /// its dataset.
    pub async fn batch_set_domain(
        &self,
        caller: &Caller,
        domain: Option<&Urn>,
        targets: &[Target],
    ) -> Result<(), Error> {
        let missing =
            |domain| format!("Failed to validate Domain with urn {domain}. Urn does not exist.");
        if let Some(domain) = domain {
            domain.expect_type("domain")?;
            if targets.is_empty() {
                self.expect_existing(domain, missing(domain)).await?;
            }
        }
        let proposals = targets
            .iter()
            .map(|target| {
                let entity = &target.urn;
                let mut proposal = assignment(target, domain)?;
                if let Some(domain) = domain {
                    proposal = proposal.requires_existing(domain, missing(domain));
                }
                let missing =
                    format!("Failed to update resource with urn {entity}. Entity does not exist.");
                Ok(target.required_by(proposal, missing))
            })
            .collect::<Result<Vec<_>, Error>>()?;
        self.apply(caller, proposals).await?;
        Ok(())
    }

    /// Moves a domain to another parent, or to the root.
    pub async fn move_domain(
        &self,
        caller: &Caller,
        domain: &Urn,
        parent: Option<&Urn>,
    ) -> Result<(), Error> {
        if domain.entity_type() != "domain" {
            return Err(Error::invalid("Resource is not a domain."));
        }
        let new_parent = parent.cloned();
        let mut proposal = edit_properties(domain, "Domain properties do not exist.", {
            move |properties, _| {
                properties.parent_domain.clone_from(&new_parent);
                Ok(())
            }
        })
        .requires(Requirement::UniqueSiblingName {
            otherwise: |name| {
                format!(
                    "\"{name}\" already exists in the destination domain. Please pick a unique name."
                )
            },
        });
        if let Some(parent) = parent {
            if parent.entity_type() != "domain" {
                return Err(Error::invalid("Parent entity is not a domain."));
            }
            proposal = proposal.requires_existing(parent, "Parent entity does not exist.");
        }
        self.apply(caller, vec![proposal]).await?;
        Ok(())
    }

    /// Deletes a domain without children and removes its members from it.
    pub async fn delete_domain(&self, caller: &Caller, domain: &Urn) -> Result<(), Error> {
        domain.expect_type("domain")?;
        let proposal = Proposal::new(domain.clone(), Change::DeleteEntity).requires_existing(
            domain,
            format!("Failed to delete domain {domain}. {domain} does not exist."),
        );
        self.apply(caller, vec![proposal]).await?;
        Ok(())
    }

    /// Merges display settings into those of an entity.
    pub async fn update_display_properties(
        &self,
        caller: &Caller,
        urn: &Urn,
        update: DisplayUpdate,
    ) -> Result<(), Error> {
        let proposal = Proposal::edit::<Map<String, Value>, _>(
            urn.clone(),
            AspectName::DISPLAY_PROPERTIES,
            move |current, _| {
                let mut display = current.unwrap_or_default();
                if let Some(color) = &update.color_hex {
                    display.insert("colorHex".to_owned(), Value::from(color.as_str()));
                }
                if !update.icon.is_empty() {
                    let icon = display.entry("icon").or_insert_with(|| json!({}));
                    if let Value::Object(icon) = icon {
                        icon.extend(update.icon.clone());
                    }
                }
                Ok(display)
            },
        )
        .requires_target();
        self.apply(caller, vec![proposal]).await?;
        Ok(())
    }

    /// The direct subdomains of `parent`, or the root domains, newest first. With a query: the
    /// domains that match it.
    pub async fn list_domains(
        &self,
        parent: Option<&Urn>,
        query: Option<&str>,
        start: usize,
        count: usize,
    ) -> Result<ListPage<Urn>, Error> {
        let query = query
            .map(str::trim)
            .filter(|query| !matches!(*query, "" | "*"));
        let Some(query) = query else {
            return self
                .reader()
                .placements_list("domain", parent, start, count)
                .await;
        };
        let placed = if let Some(parent) = parent {
            let is_below = search::Criterion::equal("parentDomain", parent.as_str());
            search::Filter::all(vec![is_below])
        } else {
            let below_hidden = self.reader().below_hidden_parents("domain").await?;
            search::roots("parentDomain", &below_hidden)
        };
        let request = search::SearchRequest {
            types: vec!["domain".to_owned()],
            query: query.to_owned(),
            filter: placed,
            sort: vec![search::Sort {
                field: "createdTime".to_owned(),
                descending: true,
            }],
            page: search::SearchPage::Offset { start, count },
            ..search::SearchRequest::default()
        };
        self.search_urns(&request).await
    }

    /// The ancestors of each domain, nearest first.
    pub async fn domain_ancestors(&self, domains: &[Urn]) -> Result<Vec<Vec<Urn>>, Error> {
        self.reader().placement_ancestors(domains, MAX_DEPTH).await
    }
}

/// An edit of the properties of an existing domain.
pub(crate) fn edit_properties<F>(domain: &Urn, missing: &'static str, edit: F) -> Proposal
where
    F: Fn(&mut DomainProperties, &AuditStamp) -> Result<(), Error> + Send + Sync + 'static,
{
    Proposal::edit::<DomainProperties, _>(
        domain.clone(),
        AspectName::DOMAIN_PROPERTIES,
        move |current, stamp| {
            let mut properties = current.ok_or_else(|| Error::invalid(missing))?;
            edit(&mut properties, stamp)?;
            Ok(properties)
        },
    )
}

/// The error message for a name that a sibling domain has.
pub(crate) fn name_taken(name: &str) -> String {
    format!("\"{name}\" already exists in this domain. Please pick a unique name.")
}

/// The aspect without one domain.
pub(crate) fn without(mut domains: Domains, domain: &Urn) -> Domains {
    domains.domains.retain(|other| other != domain);
    if let Some(associations) = &mut domains.domain_associations {
        associations.retain(|association| association.domain != *domain);
    }
    domains
}

/// Membership in exactly this domain, or in none.
pub(crate) fn assignment(target: &Target, domain: Option<&Urn>) -> Result<Proposal, Error> {
    target.expect_aspect(AspectName::DOMAINS, "a domain")?;
    let requested: Vec<Urn> = domain.cloned().into_iter().collect();
    Ok(Proposal::edit_if::<Domains, _>(
        target.urn.clone(),
        AspectName::DOMAINS,
        move |current, _| {
            if current.is_none() && requested.is_empty() {
                return Ok(None);
            }
            let current = current.unwrap_or_default();
            let associations = current.domain_associations.unwrap_or_default();
            Ok(Some(Domains {
                domains: requested.clone(),
                domain_associations: Some(
                    associations
                        .into_iter()
                        .filter(|association| requested.contains(&association.domain))
                        .collect(),
                )
                .filter(|associations: &Vec<_>| associations.len() == requested.len()),
                other: current.other,
            }))
        },
    ))
}
