//! Layouts of pages: templates, and the modules in them. Global ones are everybody's and managed
//! with a privilege; personal ones belong to the user who created them.

mod default_pages;

use docent_model::aspects::AuditStamp;
use docent_model::{AspectName, Registry, Urn};
use docent_store::{AspectKey, ReadRequest};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use self::default_pages::is_default;
use crate::access::scope::check_unscoped;
use crate::limits::check_name;
use crate::links::check_url;
use crate::privilege::MANAGE_HOME_PAGE_TEMPLATES;
use crate::proposal::Proposal;
use crate::stored::aspect_value;
use crate::{Caller, Catalog, Change, Error};

const MODULE: &str = "dataHubPageModule";
const TEMPLATE: &str = "dataHubPageTemplate";
/// The modules of a template, and the assets of a module.
const MAX_ITEMS: usize = 200;

/// Who sees a template or module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum PageScope {
    Personal,
    Global,
}

/// A module to write, in the form of the aspect.
#[derive(Debug, Clone)]
pub struct PageModule {
    pub name: String,
    /// `LINK`, `RICH_TEXT`, `ASSET_COLLECTION` or `HIERARCHY`. The others are built in.
    pub kind: String,
    pub scope: PageScope,
    pub params: Value,
}

/// A template to write.
#[derive(Debug, Clone)]
pub struct PageTemplate {
    /// The modules of each row.
    pub rows: Vec<Vec<Urn>>,
    pub scope: PageScope,
    /// `HOME_PAGE` or `ASSET_SUMMARY`.
    pub surface: String,
    /// The header of an asset's page, in the form of the aspect. `None` leaves it unchanged.
    pub asset_summary: Option<Value>,
}

impl Catalog {
    /// Creates or replaces a module, and returns its URN.
    pub async fn upsert_page_module(
        &self,
        caller: &Caller,
        urn: Option<&Urn>,
        module: PageModule,
    ) -> Result<Urn, Error> {
        let urn = self.page_urn(MODULE, urn)?;
        check_name("a module", &module.name)?;
        check_params(&urn, &module)?;
        let aspect = AspectName::PAGE_MODULE_PROPERTIES;
        let scope = module.scope;
        let properties = move |mut properties: Value| {
            properties["name"] = json!(module.name);
            properties["type"] = json!(module.kind);
            properties["params"] = module.params.clone();
            properties
        };
        let proposal = self.page_proposal(caller, &urn, aspect, scope, properties);
        let proposal = proposal.await?;
        self.apply_authorized(caller, vec![proposal]).await?;
        Ok(urn)
    }

    /// Creates or replaces a template, and returns its URN. Its modules must exist.
    pub async fn upsert_page_template(
        &self,
        caller: &Caller,
        urn: Option<&Urn>,
        template: PageTemplate,
    ) -> Result<Urn, Error> {
        let urn = self.page_urn(TEMPLATE, urn)?;
        let modules: Vec<Urn> = template.rows.concat();
        check_count("modules", modules.len())?;
        for module in &modules {
            module.expect_type(MODULE)?;
        }
        let rows = template.rows.iter();
        let rows: Vec<Value> = rows.map(|modules| json!({"modules": modules})).collect();
        let properties = move |mut properties: Value| {
            properties["rows"] = json!(rows);
            properties["surface"] = json!({"surfaceType": template.surface});
            if let Some(summary) = &template.asset_summary {
                properties["assetSummary"] = summary.clone();
            }
            properties
        };
        let aspect = AspectName::PAGE_TEMPLATE_PROPERTIES;
        let proposal = self.page_proposal(caller, &urn, aspect, template.scope, properties);
        let mut proposal = proposal.await?;
        for module in &modules {
            let missing = format!("Module with urn {module} does not exist");
            proposal = proposal.requires_existing(module, missing);
        }
        self.apply_authorized(caller, vec![proposal]).await?;
        Ok(urn)
    }

    /// Sets the template of an asset's summary page.
    pub async fn set_summary_template(
        &self,
        caller: &Caller,
        asset: &Urn,
        template: &Urn,
    ) -> Result<(), Error> {
        template.expect_type(TEMPLATE)?;
        let summary = json!({"templates": [{"template": template}]});
        let edit = move |current: Option<Value>, _: &AuditStamp| {
            let mut settings = current.unwrap_or_else(|| json!({}));
            settings["assetSummary"] = summary.clone();
            Ok(settings)
        };
        let missing = format!("the page template {template} does not exist");
        let proposal = Proposal::edit(asset.clone(), AspectName::ASSET_SETTINGS, edit)
            .requires_target()
            .requires_existing(template, missing);
        self.apply(caller, vec![proposal]).await?;
        Ok(())
    }

    /// Deletes a module, and removes it from templates.
    pub async fn delete_page_module(&self, caller: &Caller, module: &Urn) -> Result<(), Error> {
        module.expect_type(MODULE)?;
        self.delete_page(caller, module, AspectName::PAGE_MODULE_PROPERTIES)
            .await
    }

    /// Deletes a template, and removes it from the settings of users.
    pub async fn delete_page_template(&self, caller: &Caller, template: &Urn) -> Result<(), Error> {
        template.expect_type(TEMPLATE)?;
        self.delete_page(caller, template, AspectName::PAGE_TEMPLATE_PROPERTIES)
            .await
    }

    fn page_urn(&self, entity_type: &str, urn: Option<&Urn>) -> Result<Urn, Error> {
        let Some(urn) = urn else {
            return self.new_urn(entity_type, None);
        };
        urn.expect_type(entity_type)?;
        Registry::get().check_urn(urn)?;
        Ok(urn.clone())
    }

    /// A proposal to write a page with this scope. Fails if the caller may not.
    async fn page_proposal<F>(
        &self,
        caller: &Caller,
        urn: &Urn,
        aspect: AspectName,
        scope: PageScope,
        properties: F,
    ) -> Result<Proposal, Error>
    where
        F: Fn(Value) -> Value + Send + Sync + 'static,
    {
        let stored = self.stored_page(urn, aspect).await?;
        let scopes = [Some(scope), stored.as_ref().map(stored_scope)];
        let is_global = scopes.contains(&Some(PageScope::Global));
        self.authorize_page(caller, is_global).await?;
        let actor = caller.actor().clone();
        let edit = move |current: Option<Value>, stamp: &AuditStamp| {
            // Decided here, because another user may have written it since.
            if let Some(current) = &current {
                check_owner(current, &actor, is_global)?;
            }
            let mut page = current.unwrap_or_else(|| json!({"created": stamp}));
            page["visibility"] = json!({"scope": scope});
            page["lastModified"] = json!(stamp);
            Ok(properties(page))
        };
        Ok(Proposal::edit(urn.clone(), aspect, edit))
    }

    async fn delete_page(
        &self,
        caller: &Caller,
        urn: &Urn,
        aspect: AspectName,
    ) -> Result<(), Error> {
        if is_default(urn) {
            return Err(Error::invalid(format!(
                "{urn} is a default of all home pages: it cannot be deleted"
            )));
        }
        let stored = self.stored_page(urn, aspect).await?;
        let Some(stored) = stored else {
            return Err(Error::no_entity(format!("{urn} does not exist")));
        };
        let is_global = stored_scope(&stored) == PageScope::Global;
        self.authorize_page(caller, is_global).await?;
        check_owner(&stored, caller.actor(), is_global)?;
        self.delete_references(&caller.as_system(), urn, false)
            .await?;
        let delete = Proposal::new(urn.clone(), Change::DeleteEntity);
        self.apply_authorized(caller, vec![delete]).await?;
        Ok(())
    }

    async fn authorize_page(&self, caller: &Caller, is_global: bool) -> Result<(), Error> {
        if is_global {
            let privileges = [MANAGE_HOME_PAGE_TEMPLATES];
            return self.authorize(caller, &privileges, None).await;
        }
        check_unscoped(caller)
    }

    async fn stored_page(&self, urn: &Urn, aspect: AspectName) -> Result<Option<Value>, Error> {
        let key = AspectKey::new(urn, aspect);
        let row = self.store().read(ReadRequest::row(&key)).await?.into_row();
        Ok(aspect_value(&row))
    }
}

fn stored_scope(page: &Value) -> PageScope {
    let scope = PageScope::deserialize(&page["visibility"]["scope"]);
    scope.unwrap_or(PageScope::Global)
}

/// Fails for a global page if the caller may not manage those, and for a personal one of another
/// user.
fn check_owner(page: &Value, actor: &Urn, may_manage: bool) -> Result<(), Error> {
    match stored_scope(page) {
        PageScope::Global if may_manage => Ok(()),
        PageScope::Personal if page["created"]["actor"] == actor.as_str() => Ok(()),
        PageScope::Global => Err(Error::forbidden(
            "this is on the pages of all users: only those with the privilege MANAGE_HOME_PAGE_TEMPLATES may change it",
        )),
        PageScope::Personal => Err(Error::forbidden(
            "this is on the personal page of another user: only they may change it",
        )),
    }
}

fn check_params(urn: &Urn, module: &PageModule) -> Result<(), Error> {
    let member = match module.kind.as_str() {
        "LINK" => "linkParams",
        "RICH_TEXT" => "richTextParams",
        "ASSET_COLLECTION" => "assetCollectionParams",
        "HIERARCHY" => "hierarchyViewParams",
        other => {
            return Err(Error::invalid(format!(
                "modules of the type {other} are built in: create a LINK, RICH_TEXT, ASSET_COLLECTION or HIERARCHY"
            )));
        }
    };
    let params = &module.params[member];
    if params.is_null() {
        return Err(Error::invalid(format!(
            "a module of the type {} needs {member}",
            module.kind
        )));
    }
    if let Some(url) = params["linkUrl"].as_str() {
        check_url(urn, url)?;
    }
    let assets = params["assetUrns"].as_array();
    let assets = assets.map(Vec::as_slice).unwrap_or_default();
    check_count("assets", assets.len())?;
    for asset in assets.iter().filter_map(Value::as_str) {
        Registry::get().parse_urn(asset)?;
    }
    Ok(())
}

fn check_count(what: &str, count: usize) -> Result<(), Error> {
    if count > MAX_ITEMS {
        return Err(Error::invalid(format!(
            "there are {count} {what}: at most {MAX_ITEMS} are allowed"
        )));
    }
    Ok(())
}
