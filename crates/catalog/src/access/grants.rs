//! Removes deleted entities from policies, so that no grant is left for a later entity of the same
//! name.

use docent_model::{AspectName, Urn};
use docent_store::{AspectKey, ReadRequest};
use serde_json::Value;

use crate::proposal::Proposal;
use crate::{Caller, Catalog, Error};

/// How many policies one call reads.
const PAGE: usize = 500;

/// Whether policies may refer to an entity, as an actor or as a part of the catalog.
pub(crate) fn is_grantable(urn: &Urn) -> bool {
    matches!(
        urn.entity_type(),
        "corpuser"
            | "corpGroup"
            | "dataHubRole"
            | "domain"
            | "container"
            | "tag"
            | "glossaryTerm"
            | "glossaryNode"
            | "ownershipType"
    )
}

impl Catalog {
    /// Removes entities that were deleted from all policies. A criterion without values matches
    /// nothing, so a policy never covers more than before.
    pub(crate) async fn remove_grants_to(
        &self,
        caller: &Caller,
        deleted: &[Urn],
    ) -> Result<(), Error> {
        if deleted.is_empty() {
            return Ok(());
        }
        let mut after: Option<Urn> = None;
        loop {
            let urns = self
                .store()
                .urns_list(
                    "dataHubPolicy",
                    AspectName::POLICY_INFO,
                    after.as_ref(),
                    PAGE,
                )
                .await?;
            let keys: Vec<AspectKey> = urns
                .iter()
                .map(|urn| AspectKey::new(urn, AspectName::POLICY_INFO))
                .collect();
            let rows = self.store().read(ReadRequest::rows(&keys)).await?.rows;
            // A text with escapes may contain a URN in another form; the edit decides.
            let refers = |text: &str| {
                text.contains('\\') || deleted.iter().any(|urn| text.contains(urn.as_str()))
            };
            let edits: Vec<Proposal> = urns
                .iter()
                .zip(&rows)
                .filter(|(_, row)| row.as_ref().is_some_and(|row| refers(&row.metadata)))
                .map(|(urn, _)| without(urn, deleted))
                .collect();
            if !edits.is_empty() {
                Box::pin(self.apply(&caller.as_system(), edits)).await?;
            }
            if urns.len() < PAGE {
                return Ok(());
            }
            after = urns.into_iter().last();
        }
    }
}

/// Removes the entities from the actors and from positive criteria. In a criterion that excludes
/// entities a deleted one has no effect, and removing the last would include everything.
fn without(policy: &Urn, deleted: &[Urn]) -> Proposal {
    let deleted = deleted.to_vec();
    Proposal::edit_present::<Value, _>(policy.clone(), AspectName::POLICY_INFO, {
        move |mut policy, _| {
            let is_left = |item: &Value| !deleted.iter().any(|urn| item == urn.as_str());
            for member in ["users", "groups", "roles", "resourceOwnersTypes"] {
                if let Some(Value::Array(list)) = policy.pointer_mut(&format!("/actors/{member}")) {
                    list.retain(is_left);
                }
            }
            if let Some(Value::Array(list)) = policy.pointer_mut("/resources/resources") {
                list.retain(is_left);
            }
            for filter in ["filter", "privilegeConstraints"] {
                let criteria = policy.pointer_mut(&format!("/resources/{filter}/criteria"));
                let Some(Value::Array(criteria)) = criteria else {
                    continue;
                };
                for criterion in criteria {
                    if criterion["condition"] != "NOT_EQUALS"
                        && let Value::Array(values) = &mut criterion["values"]
                    {
                        values.retain(is_left);
                    }
                }
            }
            Ok(policy)
        }
    })
}
