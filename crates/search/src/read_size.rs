//! How many entities to read at once. A value has up to 16 MiB, and most entities a few kilobytes.

use docent_model::Urn;
use docent_store::{Store, StoreError};

/// The bytes of one read, unless a single entity has more.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// Returns how many of the first entities to read at once; one at least.
pub(crate) async fn fitting(store: &dyn Store, urns: &[Urn]) -> Result<usize, StoreError> {
    let mut count = urns.len();
    while count > 1 {
        let bytes = store.read_bytes(&[], &urns[..count]).await?;
        if bytes <= MAX_BYTES {
            break;
        }
        let share = (count as u64).saturating_mul(MAX_BYTES) / bytes;
        let share = usize::try_from(share).unwrap_or(count);
        count = share.clamp(1, count / 2);
    }
    Ok(count)
}
