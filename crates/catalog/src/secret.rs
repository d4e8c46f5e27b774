//! Random secrets and their hashes. Tokens, sessions and passwords share them; this module knows
//! none of the three.

use sha2::{Digest, Sha256};

use crate::Error;

/// The form in which a secret of 256 random bits is stored: it is too long to guess, so one round
/// is enough.
pub(crate) fn hash_of(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

/// Random bytes from the operating system.
pub(crate) fn random<const BYTES: usize>() -> Result<[u8; BYTES], Error> {
    let mut random = [0; BYTES];
    getrandom::fill(&mut random).map_err(|error| {
        Error::unavailable(format!(
            "the operating system provides no random numbers: {error}"
        ))
    })?;
    Ok(random)
}
