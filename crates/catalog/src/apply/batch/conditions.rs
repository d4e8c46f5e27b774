//! Preconditions that a client sets on a write.

use docent_model::AspectName;
use docent_store::{LogicalVersion, StoredAspect, version};

use crate::Error;
use crate::proposal::{MISSING_VERSION, Requirement};
use crate::times::iso;

/// Fails if the precondition does not hold for the stored aspect. Other requirements always hold
/// here.
pub(super) fn check(
    requirement: &Requirement,
    aspect: AspectName,
    row: Option<&StoredAspect>,
) -> Result<(), Error> {
    let actual = row.map(version::logical_version_of);
    let shown =
        |version: Option<LogicalVersion>| version.map_or(MISSING_VERSION, LogicalVersion::get);
    let written_ms = row.map(|row| row.created_on_ms);
    let problem = match requirement {
        Requirement::Version { expected } if *expected != actual => format!(
            "Expected version {}, actual version {} ({aspect})",
            shown(*expected),
            shown(actual)
        ),
        Requirement::ModifiedSince { time_ms } if written_ms.is_none_or(|at| at <= *time_ms) => {
            format!(
                "Expected a change after {}, but {aspect} {}, actual version {}",
                iso(*time_ms),
                last_written(written_ms),
                shown(actual)
            )
        }
        Requirement::UnmodifiedSince { time_ms } if written_ms.is_some_and(|at| at > *time_ms) => {
            format!(
                "Expected no change after {}, but {aspect} {}, actual version {}",
                iso(*time_ms),
                last_written(written_ms),
                shown(actual)
            )
        }
        _ => return Ok(()),
    };
    Err(Error::precondition(problem))
}

fn last_written(written_ms: Option<i64>) -> String {
    match written_ms {
        Some(at) => format!("was last written at {}", iso(at)),
        None => "is missing".to_owned(),
    }
}
