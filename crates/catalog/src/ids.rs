//! URNs of entities that are about to be made.

use docent_model::{Registry, Urn};

use crate::Error;

/// The URN of a new entity: with the id that its maker chose, or a random one.
pub fn new_urn(entity_type: &str, id: Option<&str>) -> Result<Urn, Error> {
    if let Some(id) = id.filter(|id| id.starts_with("urn:")) {
        return Err(Error::Invalid(format!(
            "input.id is '{id}': give the id alone, the URN is made of it"
        )));
    }
    let urn = match id {
        Some(id) => Urn::new(entity_type, id)?,
        None => Urn::new(entity_type, &uuid::Uuid::new_v4().to_string())?,
    };
    Registry::get().check_urn(&urn)?;
    Ok(urn)
}
