//! The limit on file descriptors of the process.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// More than all connections and files of the largest server.
const ENOUGH: u64 = 16 * 1024;
/// Descriptors for everything but connections of clients: the store, the search index, logs.
const RESERVED: u64 = 256;

/// Raises the soft limit, which is often 1,024, as far as the hard limit allows. Returns how many
/// connections of clients fit.
pub(crate) fn raise_limit() -> usize {
    let limit = getrlimit(Resource::Nofile);
    let target = limit.maximum.map_or(ENOUGH, |hard| hard.min(ENOUGH));
    let mut current = limit.current.unwrap_or(u64::MAX);
    if current < target {
        let raised = Rlimit {
            current: Some(target),
            ..limit
        };
        match setrlimit(Resource::Nofile, raised) {
            Ok(()) => current = target,
            Err(error) => tracing::warn!(
                %error,
                "cannot raise the limit on file descriptors from {current}"
            ),
        }
    }
    let connections = current.saturating_sub(RESERVED).max(current / 4);
    usize::try_from(connections).unwrap_or(usize::MAX)
}
