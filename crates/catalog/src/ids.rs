//! URNs of entities that are about to be made.

use std::fmt::Debug;
use std::sync::Arc;

use docent_model::{Registry, Urn};

use crate::{Catalog, Error};

/// Where ids come from that nobody chose. A parameter like the clock, so that tests can fix them.
pub trait Ids: Send + Sync + Debug {
    /// An id that no entity has.
    fn next_id(&self) -> String;
}

/// Ids that are different everywhere and always.
#[derive(Debug, Default, Clone, Copy)]
pub struct RandomIds;

impl Ids for RandomIds {
    fn next_id(&self) -> String {
        uuid::Uuid::new_v4().to_string()
    }
}

impl Catalog {
    /// The same catalog with other than random ids for new entities.
    #[must_use]
    pub fn with_ids(mut self, ids: Arc<dyn Ids>) -> Self {
        self.ids = ids;
        self
    }

    /// The URN of a new entity: with the id that its maker chose, or one of our own.
    pub fn new_urn(&self, entity_type: &str, id: Option<&str>) -> Result<Urn, Error> {
        if let Some(id) = id.filter(|id| id.starts_with("urn:")) {
            return Err(Error::invalid(format!(
                "input.id is '{id}': give the id alone, the URN is made of it"
            )));
        }
        if id.is_some_and(|id| id.trim().is_empty()) {
            return Err(Error::invalid(
                "input.id is empty: leave it out to have one made, or give one",
            ));
        }
        let urn = match id {
            Some(id) => Urn::new(entity_type, id)?,
            None => Urn::new(entity_type, &self.ids.next_id())?,
        };
        Registry::get().check_urn(&urn)?;
        Ok(urn)
    }
}
