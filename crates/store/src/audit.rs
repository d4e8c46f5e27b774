//! What must hold between the rows of a store, whatever engine has them.
//!
//! An engine gives every row of the aspect table to an [`Audit`], entity by entity, aspect by aspect, version by version,
//! and compares the derived rows it has with those that it is told to expect.
//!
//! To add an invariant: a sentence per violation here, and a test in an engine that breaks it.

use docent_model::{Derived, LogicalVersion, Registry, SystemMetadata, Urn, derive};
use serde_json::Value;

use crate::RowVersion;
use crate::version::{RETAINED_VERSIONS, logical_version};

/// More findings than this say nothing new.
pub const MAX_FINDINGS: usize = 100;

/// The rows that follow from a stored aspect; `None` if it is not readable. Nothing follows from an aspect that the
/// registry does not know.
pub fn expected(urn: &str, aspect: &str, metadata: &str) -> Option<Derived> {
    let urn = Urn::parse(urn).ok()?;
    let value: Value = serde_json::from_str(metadata).ok()?;
    Some(match Registry::get().aspect(aspect) {
        Some(aspect) => derive(&urn, aspect, &value),
        None => Derived::default(),
    })
}

/// One walk over all rows.
#[derive(Debug, Default)]
pub struct Audit {
    findings: Vec<String>,
    urn: String,
    /// Whether the current entity misses its key aspect so far, and which that is.
    missing_key: Option<&'static str>,
    aspect: String,
    /// The logical version of the current aspect's row 0; `None` if it has no row 0.
    logical_version: Option<LogicalVersion>,
    versions: i64,
}

impl Audit {
    /// Whether looking on would say nothing new.
    pub fn is_full(&self) -> bool {
        self.findings.len() >= MAX_FINDINGS
    }

    /// The next row. Returns the rows that must follow from it, if it is the latest version and readable.
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
        self.versions += 1;
        if let Err(error) = serde_json::from_str::<serde::de::IgnoredAny>(metadata) {
            self.find(&format!("has no JSON in version {version}: {error}"));
        }
        let noted = system_metadata.map(serde_json::from_str::<SystemMetadata>);
        if let Some(Err(error)) = &noted {
            self.find(&format!(
                "has unreadable system metadata in version {version}: {error}"
            ));
        }
        if version.is_latest() {
            let noted = noted.and_then(Result::ok).unwrap_or_default();
            self.logical_version = Some(logical_version(&noted));
            if self.missing_key == Some(aspect) {
                self.missing_key = None;
            }
            Registry::get().aspect(aspect)?;
            return expected(urn, aspect, metadata);
        }
        match self.logical_version {
            None if self.versions == 1 => self.find("has history but no latest version"),
            Some(latest) if !version.is_history() || version >= latest.into() => {
                self.find(&format!(
                    "has version {version} in its history although its latest version is {latest}"
                ))
            }
            _ => {}
        }
        None
    }

    /// Notes that an aspect does not have the derived rows that it must have.
    pub fn derived_differ(&mut self, urn: &str, aspect: &str) {
        self.findings.push(format!(
            "aspect {aspect} of {urn} has derived rows that do not follow from it; run `docent rebuild`"
        ));
    }

    /// Notes derived rows of an aspect that is not there.
    pub fn orphan(&mut self, table: &str, urn: &str, aspect: &str) {
        self.findings.push(format!(
            "{urn} has rows in table {table} that follow from its aspect {aspect}, which it does not have; \
             run `docent rebuild`"
        ));
    }

    /// One sentence per finding, at most a hundred.
    pub fn finish(mut self) -> Vec<String> {
        self.leave_entity();
        self.findings.truncate(MAX_FINDINGS);
        self.findings
    }

    fn enter_entity(&mut self, urn: &str) {
        urn.clone_into(&mut self.urn);
        match Urn::parse(urn) {
            Ok(urn) => {
                let entity = Registry::get().entity(urn.entity_type());
                self.missing_key = entity.map(|entity| entity.key_aspect.as_str());
            }
            Err(error) => self.findings.push(format!("a stored URN is none: {error}")),
        }
    }

    fn leave_entity(&mut self) {
        self.leave_aspect();
        self.aspect.clear();
        if let Some(key_aspect) = self.missing_key.take() {
            let finding = format!(
                "{} has aspects but not its key aspect {key_aspect}",
                self.urn
            );
            self.findings.push(finding);
        }
    }

    fn leave_aspect(&mut self) {
        if self.versions > RETAINED_VERSIONS {
            let versions = self.versions;
            self.find(&format!(
                "has {versions} versions where at most {RETAINED_VERSIONS} are kept"
            ));
        }
        self.versions = 0;
    }

    fn find(&mut self, what: &str) {
        self.findings
            .push(format!("aspect {} of {} {what}", self.aspect, self.urn));
    }
}
