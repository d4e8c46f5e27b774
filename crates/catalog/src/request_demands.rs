//! What a caller needs on other entities than the one of a proposal: who decides an action request,
//! edits the assertions of a dataset or the members of a group. Who meets it is decided in
//! [`crate::action_requests`].

use std::collections::HashMap;

use docent_model::Urn;
use docent_store::{AspectKey, AspectRow};

use crate::privilege::Privilege;

/// What a caller needs on other entities.
#[derive(Debug, Clone, Default)]
pub(crate) struct Demands {
    pub(crate) demands: Vec<Demand>,
    /// What policies compare of the entities that an action request creates or moves.
    pub(crate) proposed: HashMap<AspectKey, AspectRow>,
}

impl Demands {
    /// One of the privileges on each of the entities.
    pub(crate) fn on(entities: impl IntoIterator<Item = Urn>, privileges: &[Privilege]) -> Self {
        let demand = |urn| Demand {
            urn,
            privileges: privileges.to_vec(),
            privileges_if_new: privileges.to_vec(),
            moves: false,
        };
        Self {
            demands: entities.into_iter().map(demand).collect(),
            proposed: HashMap::new(),
        }
    }
}

/// One of the privileges on the entity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Demand {
    pub(crate) urn: Urn,
    pub(crate) privileges: Vec<Privilege>,
    /// Those if the entity does not exist.
    pub(crate) privileges_if_new: Vec<Privilege>,
    /// Whether the change may move the entity: that needs the right on both sides.
    pub(crate) moves: bool,
}
