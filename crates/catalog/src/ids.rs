//! URNs of new entities.

use std::fmt::Debug;
use std::sync::Arc;

use docent_model::{Registry, Urn};

use crate::{Catalog, Error};

/// A source of ids, replaceable like the clock so that tests can fix them.
pub trait Ids: Send + Sync + Debug {
    /// An id that no entity has.
    fn next_id(&self) -> String;
}

/// Universally unique ids.
#[derive(Debug, Default, Clone, Copy)]
pub struct RandomIds;

impl Ids for RandomIds {
    fn next_id(&self) -> String {
        uuid::Uuid::new_v4().to_string()
    }
}

impl Catalog {
    /// The same catalog with another source of ids.
    #[must_use]
    pub fn with_ids(self, ids: Arc<dyn Ids>) -> Self {
        self.with_options(|options| options.ids = ids)
    }

    /// The URN of a new entity, with the chosen id or a generated one.
    pub fn new_urn(&self, entity_type: &str, id: Option<&str>) -> Result<Urn, Error> {
        if let Some(id) = id.filter(|id| id.starts_with("urn:")) {
            return Err(Error::invalid(format!(
                "the id is '{id}': send the id without the URN prefix"
            )));
        }
        if id.is_some_and(|id| id.trim().is_empty()) {
            return Err(Error::invalid(
                "the id is empty: omit it to have one generated",
            ));
        }
        let urn = match id {
            Some(id) => Urn::new(entity_type, id)?,
            None => Urn::new(entity_type, &self.options.ids.next_id())?,
        };
        Registry::get().check_urn(&urn)?;
        Ok(urn)
    }
}
