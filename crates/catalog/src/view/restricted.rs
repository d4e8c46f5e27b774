//! How lineage and references show what the caller may not see.
//!
//! A hidden entity has a URN of its own, `urn:li:restricted:…`, which says nothing but
//! whether two are the same. It is a hash with a key that is random for each process, so nobody can
//! try out which entity it stands for.

use std::sync::OnceLock;

use docent_model::{Urn, hex};
use sha2::{Digest, Sha256};

use crate::Error;
use crate::secret::random;

/// The type of the URNs that stand for hidden entities, as in DataHub.
pub const RESTRICTED: &str = "restricted";
/// How many bytes of the hash the URN has.
const ID_BYTES: usize = 16;

/// The URN that stands for a hidden entity.
pub fn stand_in(urn: &Urn) -> Result<Urn, Error> {
    static KEY: OnceLock<[u8; 32]> = OnceLock::new();
    let key = if let Some(key) = KEY.get() {
        key
    } else {
        let key = random()?;
        KEY.get_or_init(|| key)
    };
    let hash = Sha256::new().chain_update(key).chain_update(urn.as_str());
    let id = hex(&hash.finalize()[..ID_BYTES]);
    Ok(Urn::new(RESTRICTED, &id)?)
}
