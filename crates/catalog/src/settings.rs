//! Settings of the catalog that users change: those of everybody, and those of each user.

use docent_model::{AspectName, Urn};
use docent_store::{AspectKey, ReadRequest};
use serde_json::Value;

use crate::stored::aspect_value;
use crate::{Catalog, Error};

/// The one entity with the settings of everybody.
const GLOBAL_SETTINGS: &str = "urn:li:globalSettings:0";

impl Catalog {
    /// The settings of everybody, as stored; null if there are none.
    pub async fn global_settings(&self) -> Result<Value, Error> {
        let key = AspectKey::new(&global_settings_urn()?, AspectName::GLOBAL_SETTINGS_INFO);
        let row = self.store().read(ReadRequest::row(&key)).await?.into_row();
        Ok(aspect_value(&row).unwrap_or_default())
    }
}

pub(crate) fn global_settings_urn() -> Result<Urn, Error> {
    Ok(Urn::parse(GLOBAL_SETTINGS)?)
}
