//! Whether a row of a DataHub database is one that we can keep, and if not, why.
//!
//! To add a reason: a case of [`Reason`] with its words, and the place where it is found out.

use docent_catalog::Catalog;
use docent_model::{AspectName, EntitySpec, Registry, SystemMetadata, Urn, UrnError};
use docent_store::{AspectKey, LogicalVersion, RowVersion, StoredAspect};
use serde_json::{Map, Value};

/// Why a row is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reason {
    Urn,
    Aspect,
    TimeSeries,
    Reserved,
    Unreadable,
    NotJson,
    Misfit,
    LatestRefused,
    NoLatest,
    Version,
    Older,
    Twin,
    Differs,
}

impl Reason {
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Urn => "the URN names nothing that this docent knows",
            Self::Aspect => "the entity has no such aspect",
            Self::TimeSeries => "the aspect is a time series, which has no place in this table",
            Self::Reserved => "passwords and tokens of DataHub do not work here",
            Self::Unreadable => "the row holds what cannot be read",
            Self::NotJson => "the value is not JSON",
            Self::Misfit => "the value does not fit the aspect",
            Self::LatestRefused => "a former version of an aspect whose latest version is refused",
            Self::NoLatest => "a former version of an aspect that has no latest version",
            Self::Version => "the number of the version is none",
            Self::Older => "older than the versions that a store keeps",
            Self::Twin => {
                "another row has this URN, or this aspect, without white space or with more of it"
            }
            Self::Differs => {
                "the store has another value: it was changed here or there since it was adopted"
            }
        }
    }
}

/// A reason, and what it is in this case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) reason: Reason,
    pub(super) detail: String,
}

impl Refusal {
    pub(super) fn new(reason: Reason, detail: impl Into<String>) -> Self {
        Self {
            reason,
            detail: detail.into(),
        }
    }
}

/// An entity that a row is of.
#[derive(Debug, Clone)]
pub(super) struct Entity {
    pub(super) urn: Urn,
    pub(super) spec: &'static EntitySpec,
}

impl Entity {
    /// White space around the name is none of it: databases pad, and DataHub itself does not look at it.
    pub(super) fn of(text: &str) -> Result<Self, Refusal> {
        let refuse = |error: UrnError| Refusal::new(Reason::Urn, error.to_string());
        let urn = Urn::parse(text.trim()).map_err(refuse)?;
        let spec = Registry::get().check_urn(&urn).map_err(refuse)?;
        Ok(Self { urn, spec })
    }

    pub(super) fn aspect(&self, text: &str) -> Result<AspectKey, Refusal> {
        let text = text.trim();
        let no_such = |detail: String| Refusal::new(Reason::Aspect, detail);
        let registry = Registry::get();
        let Some(aspect) = registry.aspect(text) else {
            return Err(no_such(format!("the aspect '{text}' is not known")));
        };
        // Every spelling is looked up, and only one is stored.
        if aspect.as_str() != text {
            return Err(no_such(format!("'{text}' is spelled {aspect}")));
        }
        self.spec
            .check_aspect(aspect)
            .map_err(|error| no_such(error.to_string()))?;
        if let Some(detail) = Catalog::reserved(&self.urn, Some(aspect)) {
            return Err(Refusal::new(Reason::Reserved, detail));
        }
        if registry.is_timeseries(aspect) {
            return Err(Refusal::new(
                Reason::TimeSeries,
                format!("{aspect} is a time series"),
            ));
        }
        Ok(AspectKey::new(&self.urn, aspect))
    }

    /// The key aspect as it follows from the URN, for an entity that lacks it; made when `like` was.
    pub(super) fn key_row(&self, like: &StoredAspect) -> Option<StoredAspect> {
        let value = Registry::get().key_aspect_value(&self.urn)?;
        let noted = SystemMetadata {
            last_observed: like.created_on_ms,
            version: Some("1".to_owned()),
            ..SystemMetadata::default()
        };
        Some(StoredAspect {
            version: RowVersion::LATEST,
            metadata: value.to_string(),
            system_metadata: serde_json::to_string(&noted).ok(),
            created_on_ms: like.created_on_ms,
            created_by: like.created_by.clone(),
            created_for: None,
        })
    }
}

/// Whether a value fits its aspect. Members that the registry does not know stand in nobody's way: they are kept, for a
/// later version that knows them.
pub(super) fn check_value(
    spec: &EntitySpec,
    aspect: AspectName,
    metadata: &str,
) -> Result<(), Refusal> {
    let mut value: Value = serde_json::from_str(metadata)
        .map_err(|error| Refusal::new(Reason::NotJson, format!("it is not JSON: {error}")))?;
    Registry::get()
        .validate(spec, aspect, &mut value)
        .map_err(|error| Refusal::new(Reason::Misfit, error.to_string()))?;
    Ok(())
}

/// The row as we keep it. Returns whether its system metadata had to be left out, because it says nothing readable.
pub(super) fn tidy(row: &mut StoredAspect) -> bool {
    for text in [Some(&mut row.created_by), row.created_for.as_mut()]
        .into_iter()
        .flatten()
    {
        // No engine of ours has to cope with what only some databases can hold.
        if text.contains('\0') || text.trim() != text {
            let tidied = text.replace('\0', "\u{FFFD}");
            tidied.trim().clone_into(text);
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

/// Gives a latest version a number behind those of its history, and leaves everything else that is noted about it.
pub(super) fn number(latest: &mut StoredAspect, number: LogicalVersion) {
    let noted = latest.system_metadata.as_deref();
    let mut noted: Map<String, Value> = noted
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default();
    noted.insert("version".to_owned(), Value::from(number.to_string()));
    latest.system_metadata = Some(Value::Object(noted).to_string());
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
    fn a_number_is_added_to_what_is_noted_and_nothing_else_changes() {
        let mut latest = row(Some(r#"{"wish":[1],"version":"2","runId":"a"}"#));
        number(&mut latest, LogicalVersion::new(8));
        assert_eq!(
            latest.system_metadata.as_deref(),
            Some(r#"{"wish":[1],"version":"8","runId":"a"}"#)
        );
        let mut latest = row(None);
        number(&mut latest, LogicalVersion::new(3));
        assert_eq!(
            latest.system_metadata.as_deref(),
            Some(r#"{"version":"3"}"#)
        );
    }

    #[test]
    fn what_is_noted_is_kept_if_it_can_be_read() {
        for (text, is_lost) in [
            (r#"{"lastObserved":1,"wish":2}"#, false),
            ("", false),
            ("null", false),
            ("rubbish", true),
            (r#"{"properties":7}"#, true),
        ] {
            let mut row = row(Some(text));
            assert_eq!(tidy(&mut row), is_lost, "{text}");
            assert_eq!(
                row.system_metadata.is_some(),
                text.contains("wish"),
                "{text}"
            );
        }
    }

    #[test]
    fn names_of_people_lose_what_databases_pad_them_with() {
        let mut row = row(None);
        tidy(&mut row);
        assert_eq!(row.created_by, "urn:li:corpuser:ada");
        assert_eq!(row.created_for.as_deref(), Some("a\u{FFFD}b"));
    }

    #[test]
    fn members_that_nobody_knows_stand_in_nobodys_way() {
        let entity = Entity::of(" urn:li:tag:a\t").unwrap();
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
