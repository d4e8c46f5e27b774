//! Aspects that clients write directly.

use docent_model::AspectName;

use crate::{Applied, Caller, Catalog, Error, Proposal};

/// Entities that only our own use cases write: whoever could write a token's entity could make a token up.
const RESERVED: [&str; 1] = ["dataHubAccessToken"];

impl Catalog {
    /// Carries out proposals that came from outside, all or none. What is ours alone to write is refused.
    pub async fn ingest(
        &self,
        caller: &Caller,
        proposals: Vec<Proposal>,
    ) -> Result<Applied, Error> {
        for proposal in &proposals {
            let urn = &proposal.urn;
            if proposal.change.aspect() == Some(AspectName::CORP_USER_CREDENTIALS) {
                return Err(Error::Forbidden(format!(
                    "the {} of {urn} cannot be written directly: 'docent user add' and 'docent user passwd' set a \
                     password",
                    AspectName::CORP_USER_CREDENTIALS
                )));
            }
            if RESERVED.contains(&urn.entity_type()) {
                return Err(Error::Forbidden(format!(
                    "{urn} cannot be written directly: access tokens are made and revoked by 'docent token', or by \
                     createAccessToken and revokeAccessToken over GraphQL"
                )));
            }
        }
        self.apply(caller, proposals).await
    }
}
