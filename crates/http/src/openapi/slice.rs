//! `sliceId` and `sliceMax`: several readers scroll through one list, each through its own part. A
//! page has only the entities of its slice, so it may be short or empty before the end.

use docent_model::Urn;

use crate::error::ErrorResponse;
use crate::query::Parameters;

const MAX_SLICES: i64 = 1_000;

/// One part of a list.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slice {
    id: u64,
    count: u64,
}

impl Slice {
    /// The slice that the parameters request; by default, there is one.
    pub(super) fn read(parameters: &Parameters) -> Result<Self, ErrorResponse> {
        let count: i64 = parameters.number("sliceMax")?.unwrap_or(1).max(1);
        let id: i64 = parameters.number("sliceId")?.unwrap_or(0);
        if count > MAX_SLICES || !(0..count).contains(&id) {
            return Err(ErrorResponse::bad_request(format!(
                "sliceId is {id} and sliceMax {count}: use at most {MAX_SLICES} slices, with ids from 0 to sliceMax - 1"
            )));
        }
        Ok(Self {
            id: id.unsigned_abs(),
            count: count.unsigned_abs(),
        })
    }

    pub(super) fn contains(self, urn: &Urn) -> bool {
        self.count == 1 || fnv1a(urn.as_str().as_bytes()) % self.count == self.id
    }
}

/// A hash that is the same in every process: the readers of one list may use several servers.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
