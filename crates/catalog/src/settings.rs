//! Settings of the catalog for everybody.

use docent_model::aspects::AuditStamp;
use docent_model::{AspectName, Urn};
use docent_store::{AspectKey, ReadRequest};
use serde_json::{Value, json};

use crate::privilege::MANAGE_FEATURES;
use crate::proposal::Proposal;
use crate::stored::aspect_value;
use crate::{Caller, Catalog, Error};

/// The one entity with the settings of everybody.
const GLOBAL_SETTINGS: &str = "urn:li:globalSettings:0";

/// A feature that administrators turn on for everybody.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feature {
    /// Pages show applications.
    Applications,
    /// DataHub's propagation action copies descriptions of columns along lineage.
    ColumnDocsPropagation,
}

impl Catalog {
    /// The settings of everybody, as stored; null if there are none.
    pub async fn global_settings(&self) -> Result<Value, Error> {
        let key = AspectKey::new(&global_settings_urn()?, AspectName::GLOBAL_SETTINGS_INFO);
        let row = self.store().read(ReadRequest::row(&key)).await?.into_row();
        Ok(aspect_value(&row).unwrap_or_default())
    }

    /// Turns a feature on or off.
    pub async fn set_feature(
        &self,
        caller: &Caller,
        feature: Feature,
        is_on: bool,
    ) -> Result<(), Error> {
        self.authorize(caller, &[MANAGE_FEATURES], None).await?;
        let edit = move |current: Option<Value>, _: &AuditStamp| {
            let mut settings = current.unwrap_or_else(|| json!({}));
            match feature {
                Feature::Applications => settings["applications"]["enabled"] = json!(is_on),
                Feature::ColumnDocsPropagation => {
                    let propagation = &mut settings["docPropagation"];
                    if propagation["enabled"].is_null() {
                        propagation["enabled"] = json!(true);
                    }
                    propagation["columnPropagationEnabled"] = json!(is_on);
                }
            }
            Ok(settings)
        };
        let aspect = AspectName::GLOBAL_SETTINGS_INFO;
        let proposal = Proposal::edit(global_settings_urn()?, aspect, edit);
        self.apply_authorized(caller, vec![proposal]).await?;
        Ok(())
    }
}

pub(crate) fn global_settings_urn() -> Result<Urn, Error> {
    Ok(Urn::parse(GLOBAL_SETTINGS)?)
}
