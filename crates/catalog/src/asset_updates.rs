//! Updates of several parts of a chart, dashboard, notebook, pipeline or task at once, and of the
//! page that is shown inside an asset's page. Parts that an update does not name stay unchanged.

use docent_model::aspects::{AuditStamp, EditableDatasetProperties};
use docent_model::{AspectName, Registry, Urn};
use serde_json::{Map, Value, json};

use crate::datasets::{owners_proposal, tags_proposal};
use crate::owners::NewOwner;
use crate::proposal::{Proposal, missing_target};
use crate::{Caller, Catalog, Error};

/// The parts of an asset to change.
#[derive(Debug, Clone, Default)]
pub struct AssetUpdate {
    pub description: Option<String>,
    /// Replaces all owners.
    pub owners: Option<Vec<NewOwner>>,
    /// Replaces all tags.
    pub tags: Option<Vec<Urn>>,
}

impl Catalog {
    /// Updates an asset of this type, which must exist.
    pub async fn update_asset(
        &self,
        caller: &Caller,
        asset: &Urn,
        entity_type: &str,
        update: AssetUpdate,
    ) -> Result<(), Error> {
        asset.expect_type(entity_type)?;
        Registry::get().check_urn(asset)?;
        let mut proposals = Vec::new();
        if let Some(description) = update.description {
            proposals.push(description_proposal(asset, description)?);
        }
        if let Some(owners) = update.owners {
            proposals.push(owners_proposal(asset, owners)?);
        }
        if let Some(tags) = update.tags {
            proposals.push(tags_proposal(asset, &tags)?);
        }
        if proposals.is_empty() {
            return self.expect_existing(asset, missing_target(asset)).await;
        }
        let proposals = proposals.into_iter().map(Proposal::requires_target);
        self.apply(caller, proposals.collect()).await?;
        Ok(())
    }

    /// Sets the address of the page that is shown inside the page of an asset, or removes it.
    pub async fn update_embed(
        &self,
        caller: &Caller,
        asset: &Urn,
        render_url: Option<&str>,
    ) -> Result<(), Error> {
        let spec = Registry::get().entity(asset.entity_type());
        if !spec.is_some_and(|spec| spec.has_aspect(AspectName::EMBED)) {
            return Err(Error::invalid(format!(
                "nothing can be embedded in {asset}: use a dataset, chart or dashboard"
            )));
        }
        if let Some(url) = render_url {
            crate::links::check_url(asset, url)?;
        }
        let url = render_url.map(str::to_owned);
        let edit = move |current: Option<Map<String, Value>>, _: &AuditStamp| {
            let mut embed = current.unwrap_or_default();
            match &url {
                Some(url) => embed.insert("renderUrl".to_owned(), json!(url)),
                None => embed.remove("renderUrl"),
            };
            Ok(embed)
        };
        let missing =
            format!("Failed to update embed for entity with urn {asset}. Entity does not exist!");
        let proposal = Proposal::edit(asset.clone(), AspectName::EMBED, edit);
        let proposal = proposal.requires_existing(asset, missing);
        self.apply(caller, vec![proposal]).await?;
        Ok(())
    }
}

fn description_proposal(asset: &Urn, description: String) -> Result<Proposal, Error> {
    let aspect = match asset.entity_type() {
        "chart" => "editableChartProperties",
        "dashboard" => "editableDashboardProperties",
        "notebook" => "editableNotebookProperties",
        "dataFlow" => "editableDataFlowProperties",
        "dataJob" => "editableDataJobProperties",
        other => other,
    };
    let aspect = Registry::get()
        .aspect(aspect)
        .ok_or_else(|| Error::invalid(format!("{asset} has no description that can be edited")))?;
    // These aspects have the same members as the one of datasets.
    Ok(Proposal::edit_stamped::<EditableDatasetProperties, _>(
        asset.clone(),
        aspect,
        move |properties, _| {
            properties.description = Some(description.clone());
            Ok(())
        },
    ))
}
