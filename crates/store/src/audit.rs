//! The invariants between the rows of a store, the same for every engine.
//!
//! An engine passes every row of the aspect table to an [`Audit`], ordered by URN, aspect and
//! version, and compares its derived rows with the expected ones.
//!
//! To add an invariant: a sentence per violation here, and a test in an engine that violates it.

use docent_model::{Derived, LogicalVersion, Registry, SystemMetadata, Urn, derive};
use serde_json::Value;

use crate::RowVersion;
use crate::version::{RETAINED_VERSIONS, logical_version};

/// An audit stops after this many findings.
pub const MAX_FINDINGS: usize = 100;

/// The derived rows of a stored aspect; `None` if it is unreadable. An aspect that the registry
/// does not know has none.
pub fn expected_rows(urn: &str, aspect: &str, metadata: &str) -> Option<Derived> {
    let urn = Urn::parse(urn).ok()?;
    let value: Value = serde_json::from_str(metadata).ok()?;
    Some(match Registry::get().stored_aspect(aspect) {
        Some(aspect) => derive(&urn, aspect, &value),
        None => Derived::default(),
    })
}

/// A pass over all rows.
#[derive(Debug, Default)]
pub struct Audit {
    findings: Vec<String>,
    urn: String,
    /// The key aspect of the current entity, until it is found.
    missing_key: Option<&'static str>,
    aspect: String,
    /// The logical version of the current aspect's row 0; `None` if it has no row 0.
    logical_version: Option<LogicalVersion>,
    versions: i64,
}

impl Audit {
    /// Whether the audit has enough findings to stop.
    pub fn is_full(&self) -> bool {
        self.findings.len() >= MAX_FINDINGS
    }

    /// Audits the next row. Returns its derived rows if it is a readable latest version.
    pub fn row(
        &mut self,
        urn: &str,
        aspect: &str,
        version: RowVersion,
        metadata: &str,
        system_metadata: Option<&str>,
    ) -> Option<Derived> {
        if urn != self.urn {
            self.leave_entity();
            self.enter_entity(urn);
        }
        if aspect != self.aspect {
            self.leave_aspect();
            aspect.clone_into(&mut self.aspect);
            self.logical_version = None;
        }
        if !version.is_latest() && !version.is_history() {
            self.report(&format!("has the invalid version {version}"));
            return None;
        }
        self.versions += 1;
        if let Err(error) = serde_json::from_str::<serde::de::IgnoredAny>(metadata) {
            self.report(&format!("has invalid JSON in version {version}: {error}"));
        }
        let system_metadata = system_metadata.map(serde_json::from_str::<SystemMetadata>);
        if let Some(Err(error)) = &system_metadata {
            self.report(&format!(
                "has unreadable system metadata in version {version}: {error}"
            ));
        }
        if version.is_latest() {
            let system_metadata = system_metadata.and_then(Result::ok).unwrap_or_default();
            self.logical_version = Some(logical_version(&system_metadata));
            if self.missing_key == Some(aspect) {
                self.missing_key = None;
            }
            Registry::get().stored_aspect(aspect)?;
            return expected_rows(urn, aspect, metadata);
        }
        match self.logical_version {
            None if self.versions == 1 => self.report("has history but no latest version"),
            Some(latest) if version >= latest.into() => {
                self.report(&format!(
                    "has version {version} in its history, but its latest version is {latest}"
                ));
            }
            _ => {}
        }
        None
    }

    /// Reports an aspect with wrong derived rows.
    pub fn derived_differ(&mut self, urn: &str, aspect: &str) {
        self.findings.push(format!(
            "aspect {aspect} of {urn} has wrong derived rows; run `docent rebuild`"
        ));
    }

    /// Reports derived rows of a missing aspect.
    pub fn orphan(&mut self, table: &str, urn: &str, aspect: &str) {
        self.findings.push(format!(
            "{urn} has rows in table {table} for its aspect {aspect}, which is missing; run `docent rebuild`"
        ));
    }

    /// Returns one sentence per finding, at most [`MAX_FINDINGS`].
    pub fn finish(mut self) -> Vec<String> {
        self.leave_entity();
        self.findings.truncate(MAX_FINDINGS);
        self.findings
    }

    fn enter_entity(&mut self, urn: &str) {
        urn.clone_into(&mut self.urn);
        match Urn::parse(urn) {
            Ok(urn) => {
                let entity = Registry::get().stored_entity(urn.entity_type());
                self.missing_key = entity.map(|entity| entity.key_aspect.as_str());
            }
            Err(error) => self.findings.push(format!("invalid stored URN: {error}")),
        }
    }

    fn leave_entity(&mut self) {
        self.leave_aspect();
        self.aspect.clear();
        if let Some(key_aspect) = self.missing_key.take() {
            let finding = format!("{} has no key aspect {key_aspect}", self.urn);
            self.findings.push(finding);
        }
    }

    fn leave_aspect(&mut self) {
        if self.versions > RETAINED_VERSIONS {
            let versions = self.versions;
            self.report(&format!(
                "has {versions} versions, more than the {RETAINED_VERSIONS} retained"
            ));
        }
        self.versions = 0;
    }

    fn report(&mut self, problem: &str) {
        self.findings
            .push(format!("aspect {} of {} {problem}", self.aspect, self.urn));
    }
}
