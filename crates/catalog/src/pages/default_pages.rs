//! The home page of a new catalog, which is DataHub's: a template and the modules that templates
//! may use. Pages name them, so nobody deletes them, and what is missing is written at every start.
//! A start that finds everything writes nothing.

use std::sync::LazyLock;

use docent_model::aspects::AuditStamp;
use docent_model::{AspectName, Urn};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::proposal::Proposal;
use crate::settings::global_settings_urn;
use crate::{Caller, Catalog, Error};

const DEFAULTS: &str = include_str!("default_pages.json");

static PAGES: LazyLock<Option<DefaultPages>> =
    LazyLock::new(|| serde_json::from_str(DEFAULTS).ok());

#[derive(Debug, Deserialize)]
struct DefaultPages {
    template: String,
    rows: Vec<Vec<String>>,
    modules: Vec<DefaultModule>,
}

#[derive(Debug, Deserialize)]
struct DefaultModule {
    id: String,
    name: String,
    r#type: String,
}

/// Whether pages rely on this template or module.
pub(super) fn is_default(urn: &Urn) -> bool {
    let Some(pages) = &*PAGES else {
        return false;
    };
    match urn.entity_type() {
        super::TEMPLATE => pages.template == urn.key(),
        super::MODULE => pages.modules.iter().any(|it| it.id == urn.key()),
        _ => false,
    }
}

impl Catalog {
    /// Writes the default home page and modules that are missing. Called at every start.
    pub async fn ensure_home_page(&self) -> Result<(), Error> {
        let Some(pages) = &*PAGES else {
            return Ok(());
        };
        let template = Urn::new(super::TEMPLATE, &pages.template)?;
        let modules = pages.modules.iter();
        let modules = modules.map(|it| Urn::new(super::MODULE, &it.id));
        let modules: Vec<Urn> = modules.collect::<Result<_, _>>()?;
        let mut urns = modules.clone();
        urns.push(template.clone());
        let mut known = self.exists(&urns).await?;
        let has_template = known.pop() == Some(true);
        let mut proposals = Vec::new();
        for ((urn, module), is_known) in modules.into_iter().zip(&pages.modules).zip(known) {
            if !is_known {
                let (name, kind) = (module.name.clone(), module.r#type.clone());
                proposals.push(new_page(
                    urn,
                    AspectName::PAGE_MODULE_PROPERTIES,
                    move || json!({"name": name, "type": kind, "params": {}}),
                ));
            }
        }
        if !has_template {
            let mut rows = Vec::new();
            for row in &pages.rows {
                let modules = row.iter().map(|id| Urn::new(super::MODULE, id));
                rows.push(json!({"modules": modules.collect::<Result<Vec<_>, _>>()?}));
            }
            let aspect = AspectName::PAGE_TEMPLATE_PROPERTIES;
            proposals.push(new_page(
                template.clone(),
                aspect,
                move || json!({"rows": rows, "surface": {"surfaceType": "HOME_PAGE"}}),
            ));
        }
        let settings = self.global_settings().await?;
        if settings["homePage"]["defaultTemplate"].is_null() {
            proposals.push(default_template(&template)?);
        }
        if !proposals.is_empty() {
            self.apply(&Caller::system(), proposals).await?;
        }
        Ok(())
    }
}

/// Several servers may start at once, so a page that another one has written stays.
fn new_page<F>(urn: Urn, aspect: AspectName, properties: F) -> Proposal
where
    F: Fn() -> Value + Send + Sync + 'static,
{
    Proposal::edit_if::<Value, _>(urn, aspect, move |current, stamp| {
        if current.is_some() {
            return Ok(None);
        }
        let mut properties = properties();
        properties["visibility"] = json!({"scope": "GLOBAL"});
        properties["created"] = json!(stamp);
        properties["lastModified"] = json!(stamp);
        Ok(Some(properties))
    })
}

fn default_template(template: &Urn) -> Result<Proposal, Error> {
    let template = template.clone();
    let edit = move |current: Option<Value>, _: &AuditStamp| {
        let mut settings = current.unwrap_or_else(|| json!({}));
        if !settings["homePage"]["defaultTemplate"].is_null() {
            return Ok(None);
        }
        settings["homePage"] = json!({"defaultTemplate": template});
        Ok(Some(settings))
    };
    let aspect = AspectName::GLOBAL_SETTINGS_INFO;
    Ok(Proposal::edit_if(global_settings_urn()?, aspect, edit))
}
