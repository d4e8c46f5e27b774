//! Checks whether a row of a DataHub database can be imported.
//!
//! To add a reason for rejection, add a variant to [`Reason`] with its description, and the check.

use docent_catalog::Catalog;
use docent_model::{AspectName, EntitySpec, Registry, SystemMetadata, Urn, UrnError};
use docent_store::{AspectKey, LogicalVersion, RowVersion, StoredAspect};
use serde_json::{Map, Value};

/// Why a row is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reason {
    Urn,
    Aspect,
    TimeSeries,
    Reserved,
    Unreadable,
    NotJson,
    Misfit,
    LatestRejected,
    NoLatest,
    Version,
    Older,
    Twin,
    Differs,
}

impl Reason {
    pub(super) fn description(self) -> &'static str {
        match self {
            Self::Urn => "the URN is invalid or of an unknown entity type",
            Self::Aspect => "the entity has no such aspect",
            Self::TimeSeries => "the aspect is a time series, which does not belong in this table",
            Self::Reserved => "passwords and tokens of DataHub do not work here",
            Self::Unreadable => "the row cannot be read",
            Self::NotJson => "the value is not JSON",
            Self::Misfit => "the value is not valid for the aspect",
            Self::LatestRejected => {
                "an earlier version of an aspect whose latest version is rejected"
            }
            Self::NoLatest => "an earlier version of an aspect without a latest version",
            Self::Version => "the version number is invalid",
            Self::Older => "older than the retained versions",
            Self::Twin => "another row has the same URN and aspect, apart from white space",
            Self::Differs => {
                "the store has a different value: it changed here or in DataHub since the last import"
            }
        }
    }
}

/// A reason, with the details of the row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rejection {
    pub(super) reason: Reason,
    pub(super) detail: String,
}

impl Rejection {
    pub(super) fn new(reason: Reason, detail: impl Into<String>) -> Self {
        Self {
            reason,
            detail: detail.into(),
        }
    }
}

/// The entity of a row.
#[derive(Debug, Clone)]
pub(super) struct Entity {
    pub(super) urn: Urn,
    pub(super) spec: &'static EntitySpec,
}

impl Entity {
    /// Ignores white space around the URN, as DataHub does: some databases pad texts.
    pub(super) fn parse(text: &str) -> Result<Self, Rejection> {
        let reject = |error: UrnError| Rejection::new(Reason::Urn, error.to_string());
        let urn = Urn::parse(text.trim()).map_err(reject)?;
        let spec = Registry::get().check_urn(&urn).map_err(reject)?;
        Ok(Self { urn, spec })
    }

    pub(super) fn aspect(&self, text: &str) -> Result<AspectKey, Rejection> {
        let text = text.trim();
        let unknown = |detail: String| Rejection::new(Reason::Aspect, detail);
        let registry = Registry::get();
        let Some(aspect) = registry.aspect(text) else {
            return Err(unknown(format!("unknown aspect '{text}'")));
        };
        // The lookup ignores case, but only the exact name is stored.
        if aspect.as_str() != text {
            return Err(unknown(format!("'{text}' must be spelled {aspect}")));
        }
        self.spec
            .check_aspect(aspect)
            .map_err(|error| unknown(error.to_string()))?;
        if let Some(detail) = Catalog::reserved(&self.urn, Some(aspect)) {
            return Err(Rejection::new(Reason::Reserved, detail));
        }
        if registry.is_timeseries(aspect) {
            return Err(Rejection::new(
                Reason::TimeSeries,
                format!("{aspect} is a time series"),
            ));
        }
        Ok(AspectKey::new(&self.urn, aspect))
    }

    /// The key aspect, derived from the URN, with the audit data of another aspect.
    pub(super) fn key_row(&self, like: &StoredAspect) -> Option<StoredAspect> {
        let value = Registry::get().key_aspect_value(&self.urn)?;
        let system_metadata = SystemMetadata {
            last_observed: like.created_on_ms,
            version: Some("1".to_owned()),
            ..SystemMetadata::default()
        };
        Some(StoredAspect {
            version: RowVersion::LATEST,
            metadata: value.to_string(),
            system_metadata: serde_json::to_string(&system_metadata).ok(),
            created_on_ms: like.created_on_ms,
            created_by: like.created_by.clone(),
            created_for: None,
        })
    }
}

/// Validates a value. Unknown members are allowed and stay stored, for later versions of the
/// registry.
pub(super) fn check_value(
    spec: &EntitySpec,
    aspect: AspectName,
    metadata: &str,
) -> Result<(), Rejection> {
    let mut value: Value = serde_json::from_str(metadata)
        .map_err(|error| Rejection::new(Reason::NotJson, format!("it is not JSON: {error}")))?;
    Registry::get()
        .validate(spec, aspect, &mut value)
        .map_err(|error| Rejection::new(Reason::Misfit, error.to_string()))?;
    Ok(())
}

/// Normalizes a row for our store. Returns true if its system metadata was unreadable and dropped.
pub(super) fn clean(row: &mut StoredAspect) -> bool {
    for text in [Some(&mut row.created_by), row.created_for.as_mut()]
        .into_iter()
        .flatten()
    {
        // Not all engines can store NUL.
        if text.contains('\0') || text.trim() != text {
            let cleaned = text.replace('\0', "\u{FFFD}");
            cleaned.trim().clone_into(text);
        }
    }
    let Some(text) = row.system_metadata.take() else {
        return false;
    };
    if serde_json::from_str::<SystemMetadata>(&text).is_ok() {
        row.system_metadata = Some(text);
        return false;
    }
    !matches!(text.trim(), "" | "null")
}

/// Sets the version in the system metadata of a latest version.
pub(super) fn set_version(latest: &mut StoredAspect, version: LogicalVersion) {
    let metadata = latest.system_metadata.as_deref();
    let mut metadata: Map<String, Value> = metadata
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default();
    metadata.insert("version".to_owned(), Value::from(version.to_string()));
    latest.system_metadata = Some(Value::Object(metadata).to_string());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(system_metadata: Option<&str>) -> StoredAspect {
        StoredAspect {
            version: RowVersion::LATEST,
            metadata: "{}".to_owned(),
            system_metadata: system_metadata.map(ToOwned::to_owned),
            created_on_ms: 1,
            created_by: "urn:li:corpuser:ada  ".to_owned(),
            created_for: Some(" a\0b".to_owned()),
        }
    }

    #[test]
    fn setting_the_version_keeps_other_system_metadata() {
        let mut latest = row(Some(r#"{"wish":[1],"version":"2","runId":"a"}"#));
        set_version(&mut latest, LogicalVersion::new(8));
        assert_eq!(
            latest.system_metadata.as_deref(),
            Some(r#"{"wish":[1],"version":"8","runId":"a"}"#)
        );
        let mut latest = row(None);
        set_version(&mut latest, LogicalVersion::new(3));
        assert_eq!(
            latest.system_metadata.as_deref(),
            Some(r#"{"version":"3"}"#)
        );
    }

    #[test]
    fn unreadable_system_metadata_is_dropped() {
        for (text, is_lost) in [
            (r#"{"lastObserved":1,"wish":2}"#, false),
            ("", false),
            ("null", false),
            ("rubbish", true),
            (r#"{"properties":7}"#, true),
        ] {
            let mut row = row(Some(text));
            assert_eq!(clean(&mut row), is_lost, "{text}");
            assert_eq!(
                row.system_metadata.is_some(),
                text.contains("wish"),
                "{text}"
            );
        }
    }

    #[test]
    fn padding_and_nul_are_removed_from_actors() {
        let mut row = row(None);
        clean(&mut row);
        assert_eq!(row.created_by, "urn:li:corpuser:ada");
        assert_eq!(row.created_for.as_deref(), Some("a\u{FFFD}b"));
    }

    #[test]
    fn unknown_members_of_a_value_are_allowed() {
        let entity = Entity::parse(" urn:li:tag:a\t").unwrap();
        let key = entity.aspect("tagProperties ").unwrap();
        let check = |text| check_value(entity.spec, key.aspect, text);
        assert_eq!(check(r#"{"name":"a","of2030":{"b":1}}"#), Ok(()));
        assert_eq!(check(r#"{"name":7}"#).unwrap_err().reason, Reason::Misfit);
        assert_eq!(check("name").unwrap_err().reason, Reason::NotJson);
        let reason = |text| entity.aspect(text).unwrap_err().reason;
        assert_eq!(reason("tagproperties"), Reason::Aspect);
        assert_eq!(reason("schemaMetadata"), Reason::Aspect);
    }
}
