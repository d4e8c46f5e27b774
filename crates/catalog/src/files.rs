//! Files that descriptions and links refer to. Their content would be in an object store, which a
//! server does not have: uploads fail, and so does recording them.

use docent_model::{Registry, Urn};

use crate::access::scope::check_writer;
use crate::privilege::{
    EDIT_DATASET_COL_DESCRIPTION, EDIT_ENTITY, EDIT_ENTITY_DOC_LINKS, EDIT_ENTITY_DOCS, Privilege,
};
use crate::{Caller, Catalog, Error};

/// What an uploaded file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileUse {
    /// A part of the description of an entity or column.
    Documentation,
    /// A link of an entity.
    Link,
}

/// The error of every request that needs an object store.
pub fn no_object_store() -> Error {
    Error::invalid(
        "object storage is not configured on this server, so it stores no files: add a link to the file instead",
    )
}

impl Catalog {
    /// Fails for callers that may not describe or link the asset, and for all others because there
    /// is no object store.
    pub async fn reject_file(
        &self,
        caller: &Caller,
        asset: Option<&Urn>,
        column: Option<&Urn>,
        purpose: FileUse,
    ) -> Result<(), Error> {
        let Some(asset) = asset else {
            return Err(no_object_store());
        };
        for urn in [Some(asset), column].into_iter().flatten() {
            Registry::get().check_urn(urn)?;
        }
        let privileges: &[Privilege] = match (purpose, column) {
            (FileUse::Documentation, None) => &[EDIT_ENTITY_DOCS, EDIT_ENTITY],
            (FileUse::Documentation, Some(_)) => &[EDIT_DATASET_COL_DESCRIPTION, EDIT_ENTITY],
            (FileUse::Link, _) => &[EDIT_ENTITY_DOC_LINKS, EDIT_ENTITY],
        };
        check_writer(caller)?;
        self.authorize(caller, privileges, Some(asset)).await?;
        Err(no_object_store())
    }
}
