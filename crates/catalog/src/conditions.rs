//! Conditions that a client sets on a write, in the words of HTTP headers: they come as such, or with one proposal.
//!
//! What each of them asks of the stored aspect is decided inside the transaction (`apply/batch/conditions.rs`).

use docent_store::LogicalVersion;
use std::collections::HashSet;

use docent_model::{EpochMillis, Registry, Urn};
use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::Error;
use crate::proposal::{Change, NOT_THERE, Proposal, Requirement};

const VERSION_MATCH: &str = "If-Version-Match";
const MODIFIED_SINCE: &str = "If-Modified-Since";
const UNMODIFIED_SINCE: &str = "If-Unmodified-Since";
const NONE_MATCH: &str = "If-None-Match";
/// Compares marks that we do not give out. It is known so that it can be refused.
const MATCH: &str = "If-Match";

/// What must hold for a write.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Conditions {
    version: Option<i64>,
    modified_since: Option<EpochMillis>,
    unmodified_since: Option<EpochMillis>,
    none_match: bool,
}

impl Conditions {
    /// The names of the headers, as they are written.
    pub const HEADERS: [&str; 5] = [
        VERSION_MATCH,
        MODIFIED_SINCE,
        UNMODIFIED_SINCE,
        NONE_MATCH,
        MATCH,
    ];

    /// These, and those of one proposal: what a proposal says itself goes before what the request says.
    pub fn with(&self, headers: Option<&Map<String, Value>>) -> Result<Self, Error> {
        let mut conditions = self.clone();
        for (name, value) in headers.into_iter().flatten() {
            match value {
                Value::Null => {}
                Value::String(text) => conditions.set(name, text)?,
                other => conditions.set(name, &other.to_string())?,
            }
        }
        Ok(conditions)
    }

    /// Takes a header in, whatever case its name is in. Other headers are no conditions.
    pub fn set(&mut self, name: &str, text: &str) -> Result<(), Error> {
        let mut known = Self::HEADERS.into_iter();
        let Some(name) = known.find(|known| known.eq_ignore_ascii_case(name)) else {
            return Ok(());
        };
        match name {
            VERSION_MATCH => {
                let version = text.trim().parse().map_err(|_| {
                    Error::invalid(format!(
                        "{name} is '{text}': give the number of a version, or {NOT_THERE} for an aspect that must not be there"
                    ))
                })?;
                self.version = Some(version);
            }
            MODIFIED_SINCE => self.modified_since = Some(time(name, text)?),
            UNMODIFIED_SINCE => self.unmodified_since = Some(time(name, text)?),
            MATCH => {
                return Err(Error::invalid(format!(
                    "{name} is '{text}', and aspects have versions, no entity tags: give the version in {VERSION_MATCH}"
                )));
            }
            _ if text.trim() == "*" => self.none_match = true,
            _ => {
                return Err(Error::invalid(format!(
                    "{name} is '{text}': only '*' is supported, for what must not be there; {VERSION_MATCH} takes versions"
                )));
            }
        }
        Ok(())
    }

    /// Whether anything must hold.
    pub fn are_given(&self) -> bool {
        *self != Self::default()
    }

    pub fn version(&self) -> Option<i64> {
        self.version
    }

    pub fn put_on(&self, mut proposal: Proposal) -> Proposal {
        if let Some(version) = self.version {
            proposal = proposal.requires(Requirement::Version {
                expected: (version != NOT_THERE).then(|| LogicalVersion::new(version)),
            });
        }
        if let Some(time_ms) = self.modified_since {
            proposal = proposal.requires(Requirement::ModifiedSince { time_ms });
        }
        if let Some(time_ms) = self.unmodified_since {
            proposal = proposal.requires(Requirement::UnmodifiedSince { time_ms });
        }
        if self.none_match {
            match proposal.change {
                Change::Create { .. } | Change::CreateEntity { .. } => {
                    proposal.skip_existing = true;
                }
                _ => proposal = proposal.requires(Requirement::Version { expected: None }),
            }
        }
        proposal
    }
}

/// Takes conditions off key aspects that come with other aspects of their entities. A key follows from the URN and is
/// there as soon as any of the others is, so what must hold is said of those.
pub(crate) fn free_keys(proposals: &mut [Proposal]) {
    let is_key = |proposal: &Proposal| match &proposal.change {
        Change::Upsert { aspect, .. }
        | Change::Create { aspect, .. }
        | Change::CreateEntity { aspect, .. } => {
            Registry::get().is_key_aspect(&proposal.urn, *aspect)
        }
        _ => false,
    };
    let is_bound = |proposal: &Proposal| {
        let mut requirements = proposal.requirements.iter();
        requirements.any(Requirement::is_condition) && is_key(proposal)
    };
    if !proposals.iter().any(is_bound) {
        return;
    }
    let others = proposals.iter().filter(|proposal| !is_key(proposal));
    let others: HashSet<Urn> = others.map(|proposal| proposal.urn.clone()).collect();
    for proposal in proposals {
        if is_bound(proposal) && others.contains(&proposal.urn) {
            let own = |requirement: &Requirement| !requirement.is_condition();
            proposal.requirements.retain(own);
        }
    }
}

/// An instant as ISO 8601 writes it, or as HTTP does.
fn time(name: &str, text: &str) -> Result<EpochMillis, Error> {
    let text = text.trim();
    let iso = text.parse::<Timestamp>().ok();
    let parsed = iso.or_else(|| {
        let http = jiff::fmt::rfc2822::parse(text).ok();
        http.map(|zoned| zoned.timestamp())
    });
    parsed.map(Timestamp::as_millisecond).ok_or_else(|| {
        Error::invalid(format!(
            "{name} is '{text}', which is no time: write it like 2026-01-31T12:00:00Z"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn with(headers: &Value) -> Result<Conditions, Error> {
        Conditions::default().with(headers.as_object())
    }

    #[test]
    fn times_are_read_as_iso_and_as_http_write_them() {
        for text in [
            "1994-11-06T08:49:37Z",
            "1994-11-06T09:49:37+01:00",
            "Sun, 06 Nov 1994 08:49:37 GMT",
        ] {
            let read = with(&json!({"if-modified-since": text})).unwrap();
            assert_eq!(read.modified_since, Some(784_111_777_000), "{text}");
        }
        let error = with(&json!({"If-Unmodified-Since": "yesterday"})).unwrap_err();
        assert!(error.to_string().contains("yesterday"), "{error}");
    }

    #[test]
    fn what_a_proposal_says_goes_before_what_the_request_says() {
        let request = with(&json!({"If-Version-Match": "7", "X-Other": "x"})).unwrap();
        assert_eq!(request.with(None).unwrap().version, Some(7));
        let own = json!({"if-version-match": 8, "If-None-Match": null});
        assert_eq!(request.with(own.as_object()).unwrap().version, Some(8));
        assert!(with(&json!({"If-None-Match": "\"etag\""})).is_err());
        assert!(with(&json!({"If-Version-Match": "new"})).is_err());
    }
}
