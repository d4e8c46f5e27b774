//! Data products: creation, nesting, deletion, and the assets that they contain.
//!
//! Whoever manages the products of a domain, which is a right on the domain, may change those in
//! it; otherwise the right on the product itself decides. An asset may be in several products.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use docent_model::aspects::{AuditStamp, Domains};
use docent_model::{AspectName, Urn};
use docent_store::{AspectKey, ListPage, ReadRequest, RelatedEntity};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::domains::assignment;
use crate::limits::check_name;
use crate::owners;
use crate::privilege::{EDIT_ENTITY, EDIT_ENTITY_DATA_PRODUCTS, MANAGE_DATA_PRODUCTS, Privilege};
use crate::proposal::{Proposal, Requirement, require_all};
use crate::search::roots;
use crate::stored::aspect_value;
use crate::target::{Target, edit_list, edit_members, expect_few};
use crate::{Caller, Catalog, Change, ConflictReason, Error};

pub const ENTITY: &str = "dataProduct";
/// The member of a product that names the one above it, and the field of the index.
pub const PARENT: &str = "parentDataProduct";
const CONTAINS: &str = "DataProductContains";
/// The most products of one asset.
const MAX_PRODUCTS: usize = 1000;
/// The most entities whose products are read at once, as in DataHub.
const MAX_ENTITIES: usize = 100;

/// The privileges on a domain for its products.
const MANAGERS: &[Privilege] = &[MANAGE_DATA_PRODUCTS, EDIT_ENTITY];
/// The privileges on an asset for its products.
const ASSET_EDITORS: &[Privilege] = &[EDIT_ENTITY_DATA_PRODUCTS, EDIT_ENTITY];

/// A data product to create.
#[derive(Debug, Clone)]
pub struct NewProduct {
    /// Without an id, a random one is made.
    pub id: Option<String>,
    pub name: String,
    pub description: Option<String>,
    pub parent: Option<Urn>,
    pub domain: Urn,
}

/// Changes of a data product; `None` leaves a member unchanged.
#[derive(Debug, Clone, Default)]
pub struct ProductUpdate {
    pub name: Option<String>,
    pub description: Option<String>,
    pub parent: Option<Urn>,
}

/// An asset of a data product.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProductAsset {
    pub urn: Urn,
    /// Whether others are meant to use it.
    pub is_output_port: bool,
}

/// A data product that contains an entity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContainingProduct {
    pub product: Urn,
    pub is_output_port: bool,
}

impl Catalog {
    /// Creates a data product in a domain, owned by its creator, and returns its URN.
    pub async fn create_product(&self, caller: &Caller, new: NewProduct) -> Result<Urn, Error> {
        let urn = self.new_urn(ENTITY, new.id.as_deref())?;
        check_name("a data product", &new.name)?;
        new.domain.expect_type("domain")?;
        let mut value = json!({"name": new.name});
        if let Some(description) = &new.description {
            value["description"] = json!(description);
        }
        if let Some(parent) = &new.parent {
            value[PARENT] = json!(parent);
        }
        let aspect = AspectName::DATA_PRODUCT_PROPERTIES;
        let properties =
            Proposal::edit::<Value, _>(urn.clone(), aspect, move |_, _| Ok(value.clone()))
                .requires(Requirement::IsNew {
                    otherwise: "This Data Product already exists!".to_owned(),
                })
                .requires_existing(&new.domain, "The Domain provided does not exist");
        let properties = with_parent(properties, new.parent.as_ref())?;
        let in_domain = assignment(&Target::entity(urn.clone()), Some(&new.domain))?;
        let proposals = vec![properties, in_domain, owners::created_by(&urn, caller)?];
        if self.is_allowed(caller, MANAGERS, Some(&new.domain)).await? {
            self.apply_with_right_on(caller, MANAGERS, [new.domain], proposals)
                .await?;
        } else {
            self.apply(caller, proposals).await?;
        }
        Ok(urn)
    }

    /// Changes the name, the description or the parent of a data product.
    pub async fn update_product(
        &self,
        caller: &Caller,
        product: &Urn,
        update: ProductUpdate,
    ) -> Result<(), Error> {
        product.expect_type(ENTITY)?;
        let mut members = Vec::new();
        if let Some(name) = &update.name {
            check_name("a data product", name)?;
            members.push(("name", Some(json!(name))));
        }
        if let Some(description) = &update.description {
            members.push(("description", Some(json!(description))));
        }
        if let Some(parent) = &update.parent {
            members.push((PARENT, Some(json!(parent))));
        }
        let proposal = edit_members(product, AspectName::DATA_PRODUCT_PROPERTIES, members);
        let proposal = existing(proposal, product);
        let proposal = with_parent(proposal, update.parent.as_ref())?;
        self.apply_to_product(caller, product, proposal).await
    }

    /// Moves a data product into another one, or to the root.
    pub async fn move_product(
        &self,
        caller: &Caller,
        product: &Urn,
        parent: Option<&Urn>,
    ) -> Result<(), Error> {
        if product.entity_type() != ENTITY {
            return Err(Error::invalid("Resource is not a data product."));
        }
        let members = vec![(PARENT, parent.map(|parent| json!(parent)))];
        let proposal = edit_members(product, AspectName::DATA_PRODUCT_PROPERTIES, members);
        let proposal = with_parent(existing(proposal, product), parent)?;
        self.apply_to_product(caller, product, proposal).await
    }

    /// Deletes a data product. Its assets stay, and the products inside it move to the root.
    pub async fn delete_product(&self, caller: &Caller, product: &Urn) -> Result<(), Error> {
        product.expect_type(ENTITY)?;
        let proposal = existing(
            Proposal::new(product.clone(), Change::DeleteEntity),
            product,
        );
        self.apply_to_product(caller, product, proposal).await
    }

    /// Adds assets to a data product, by the right on the product.
    pub async fn add_product_assets(
        &self,
        caller: &Caller,
        product: &Urn,
        assets: &[Urn],
    ) -> Result<(), Error> {
        let mut proposal = adding(product, &assets.into())?;
        require_assets(std::slice::from_mut(&mut proposal), assets)?;
        self.apply_to_product(caller, product, proposal).await
    }

    /// Adds assets to data products, by the right on the assets.
    pub async fn add_to_products(
        &self,
        caller: &Caller,
        products: &[Urn],
        assets: &[Urn],
    ) -> Result<(), Error> {
        let shared: Arc<[Urn]> = assets.into();
        let proposals = products.iter().map(|product| adding(product, &shared));
        let proposals = proposals.collect::<Result<Vec<_>, Error>>()?;
        self.change_products_of(caller, assets, proposals).await
    }

    /// Removes assets from data products, by the right on the assets. An asset that is not in one
    /// is no error.
    pub async fn remove_from_products(
        &self,
        caller: &Caller,
        products: &[Urn],
        assets: &[Urn],
    ) -> Result<(), Error> {
        let shared: Arc<[Urn]> = assets.into();
        let proposals = products.iter().map(|product| removing(product, &shared));
        let proposals = proposals.collect::<Result<Vec<_>, Error>>()?;
        self.change_products_of(caller, assets, proposals).await
    }

    /// Removes assets from all data products.
    pub async fn remove_from_all_products(
        &self,
        caller: &Caller,
        assets: &[Urn],
    ) -> Result<(), Error> {
        expect_few("assets", assets.len())?;
        let containing = self.products_containing(assets).await?;
        let products: BTreeSet<Urn> = containing.into_iter().flatten().collect();
        let products: Vec<Urn> = products.into_iter().collect();
        self.remove_from_products(caller, &products, assets).await
    }

    /// Applies changes of products for a caller with the right on the assets.
    async fn change_products_of(
        &self,
        caller: &Caller,
        assets: &[Urn],
        mut proposals: Vec<Proposal>,
    ) -> Result<(), Error> {
        expect_few("data products", proposals.len())?;
        require_assets(&mut proposals, assets)?;
        self.expect_all_existing(assets, no_asset).await?;
        self.authorize_each(caller, ASSET_EDITORS, assets).await?;
        let assets = assets.iter().cloned();
        self.apply_with_right_on(caller, ASSET_EDITORS, assets, proposals)
            .await?;
        Ok(())
    }

    /// Applies a change of a product for a caller who manages the products of a domain that it is
    /// in, or may change the product itself.
    pub(crate) async fn apply_to_product(
        &self,
        caller: &Caller,
        product: &Urn,
        proposal: Proposal,
    ) -> Result<(), Error> {
        self.expect_existing(product, no_product(product)).await?;
        let key = AspectKey::new(product, AspectName::DOMAINS);
        let row = self.reader().read(ReadRequest::row(&key)).await?.into_row();
        let domains: Domains = aspect_value(&row).unwrap_or_default();
        for domain in domains.domains {
            if !self.is_allowed(caller, MANAGERS, Some(&domain)).await? {
                continue;
            }
            let checked = domain.clone();
            let message = format!("{product} was changed meanwhile: send the request again");
            let is_inside = move |current: Option<Domains>| {
                if current.is_some_and(|current| current.domains.contains(&checked)) {
                    return Ok(());
                }
                let reason = ConflictReason::UnexpectedValue;
                Err(Error::conflict(reason, message.clone()))
            };
            let proposal = proposal.requires_value(product, AspectName::DOMAINS, is_inside);
            self.apply_with_right_on(caller, MANAGERS, [domain], vec![proposal])
                .await?;
            return Ok(());
        }
        self.apply(caller, vec![proposal]).await?;
        Ok(())
    }

    /// The data products without a parent that match a query, by name.
    pub async fn root_products(
        &self,
        query: &str,
        start: usize,
        count: usize,
    ) -> Result<ListPage<Urn>, Error> {
        let below_hidden = self.reader().parts_of_hidden(ENTITY, ENTITY).await?;
        let filter = roots(PARENT, &below_hidden);
        self.list_by_name(ENTITY, query, filter, (start, count))
            .await
    }

    /// The data products that contain each entity or one of its siblings.
    pub async fn products_of(
        &self,
        entities: &[Urn],
    ) -> Result<Vec<Vec<ContainingProduct>>, Error> {
        if entities.len() > MAX_ENTITIES {
            return Err(Error::invalid(format!(
                "Cannot fetch data products for more than {MAX_ENTITIES} entities at once"
            )));
        }
        let siblings: Vec<Option<Siblings>> =
            self.current_values(entities, AspectName::SIBLINGS).await?;
        let groups: Vec<Vec<Urn>> = entities
            .iter()
            .zip(siblings)
            .map(|(entity, siblings)| {
                let others = siblings.map(|it| it.siblings).unwrap_or_default();
                std::iter::once(entity.clone()).chain(others).collect()
            })
            .collect();
        let members: Vec<Urn> = groups.concat();
        let containing = self.products_containing(&members).await?;
        let products: BTreeSet<&Urn> = containing.iter().flatten().collect();
        let products: Vec<Urn> = products.into_iter().cloned().collect();
        let aspect = AspectName::DATA_PRODUCT_PROPERTIES;
        let properties: Vec<Option<Value>> = self.current_values(&products, aspect).await?;
        let ports = properties.iter().map(|value| {
            let assets = value.as_ref().map(product_assets).unwrap_or_default();
            let ports = assets.into_iter().filter(|asset| asset.is_output_port);
            ports.map(|asset| asset.urn).collect::<HashSet<Urn>>()
        });
        let ports: HashMap<&Urn, HashSet<Urn>> = products.iter().zip(ports).collect();
        let mut containing = containing.into_iter();
        let of_group = |group: &Vec<Urn>| {
            let found: BTreeSet<Urn> = containing.by_ref().take(group.len()).flatten().collect();
            let product = |product: Urn| ContainingProduct {
                is_output_port: ports
                    .get(&product)
                    .is_some_and(|ports| group.iter().any(|member| ports.contains(member))),
                product,
            };
            found.into_iter().map(product).collect()
        };
        Ok(groups.iter().map(of_group).collect())
    }

    /// The data products that contain each asset itself.
    async fn products_containing(&self, assets: &[Urn]) -> Result<Vec<Vec<Urn>>, Error> {
        let pages = self
            .relationships(assets, false, &[CONTAINS], 0, MAX_PRODUCTS)
            .await?;
        let urns =
            |page: ListPage<RelatedEntity>| page.items.into_iter().map(|edge| edge.urn).collect();
        Ok(pages.into_iter().map(urns).collect())
    }
}

/// The other entities that are the same thing.
#[derive(Default, Deserialize)]
struct Siblings {
    #[serde(default)]
    siblings: Vec<Urn>,
}

/// The assets in the properties of a product.
pub fn product_assets(properties: &Value) -> Vec<ProductAsset> {
    let assets = properties["assets"].as_array();
    let asset = |asset: &Value| {
        Some(ProductAsset {
            urn: Urn::parse(asset["destinationUrn"].as_str()?).ok()?,
            is_output_port: asset["outputPort"] == true,
        })
    };
    assets.into_iter().flatten().filter_map(asset).collect()
}

fn existing(proposal: Proposal, product: &Urn) -> Proposal {
    proposal.requires_existing(product, no_product(product))
}

fn no_product(product: &Urn) -> String {
    format!("Failed to update data products, data product {product} does not exist")
}

/// Requires that the parent exists, and that it is not inside the product.
fn with_parent(proposal: Proposal, parent: Option<&Urn>) -> Result<Proposal, Error> {
    let Some(parent) = parent else {
        return Ok(proposal);
    };
    if parent.entity_type() != ENTITY {
        return Err(Error::invalid("Parent entity is not a data product."));
    }
    Ok(proposal
        .requires_existing(parent, "Parent Data Product does not exist")
        .requires(Requirement::NotInside {
            parent: parent.clone(),
            aspect: AspectName::DATA_PRODUCT_PROPERTIES,
            at: "/parentDataProduct",
            otherwise: "Cannot move a data product under one of its own descendants.",
        }))
}

fn no_asset(asset: &Urn) -> String {
    format!("Failed to update data products, resource {asset} does not exist")
}

/// Requires that all assets exist.
fn require_assets(proposals: &mut [Proposal], assets: &[Urn]) -> Result<(), Error> {
    expect_few("assets", assets.len())?;
    let exists = |asset: &Urn| Requirement::exists(asset, no_asset(asset));
    require_all(proposals, assets.iter().map(exists));
    Ok(())
}

fn adding(product: &Urn, assets: &Arc<[Urn]>) -> Result<Proposal, Error> {
    let assets = Arc::clone(assets);
    edit_assets(product, move |stored, stamp| {
        let known = stored.iter().filter_map(|it| it["destinationUrn"].as_str());
        let mut known: HashSet<String> = known.map(str::to_owned).collect();
        let new = assets
            .iter()
            .filter(|asset| known.insert(asset.to_string()));
        let association =
            |asset: &Urn| json!({"destinationUrn": asset, "created": stamp, "lastModified": stamp});
        stored.extend(new.map(association));
    })
}

fn removing(product: &Urn, assets: &Arc<[Urn]>) -> Result<Proposal, Error> {
    let assets = Arc::clone(assets);
    edit_assets(product, move |stored, _| {
        let unwanted: HashSet<&str> = assets.iter().map(Urn::as_str).collect();
        stored.retain(|it| {
            let asset = it["destinationUrn"].as_str();
            !asset.is_some_and(|asset| unwanted.contains(asset))
        });
    })
}

/// An edit of the assets of a product.
fn edit_assets<F>(product: &Urn, edit: F) -> Result<Proposal, Error>
where
    F: Fn(&mut Vec<Value>, &AuditStamp) + Send + Sync + 'static,
{
    product.expect_type(ENTITY)?;
    let aspect = AspectName::DATA_PRODUCT_PROPERTIES;
    Ok(existing(
        edit_list(product, aspect, "assets", edit),
        product,
    ))
}
