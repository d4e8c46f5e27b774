//! Parses paths under `/openapi/v3/entity/`.

use axum::http::{StatusCode, Uri};
use docent_model::{AspectName, EntitySpec, Registry, Urn};
use percent_encoding::percent_decode_str;

use crate::AppState;
use crate::error::ErrorResponse;
use crate::wire::check_aspect;

pub(super) const PREFIX: &str = "/openapi/v3/entity/";

/// The placeholder for all entity types.
const ANY: &str = "generic";

/// The entity type in a path.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    Any,
    Of(&'static EntitySpec),
}

impl Kind {
    pub(super) fn parse(name: &str) -> Result<Self, ErrorResponse> {
        if name == ANY {
            return Ok(Self::Any);
        }
        Self::one(name)
    }

    /// For endpoints without `generic`.
    pub(super) fn one(name: &str) -> Result<Self, ErrorResponse> {
        entity_type(name).map(Self::Of)
    }

    /// Parses a URN of this type.
    pub(super) fn urn(self, text: &str) -> Result<Urn, ErrorResponse> {
        let urn = Registry::get().parse_urn(text).map_err(|error| {
            ErrorResponse::bad_request(error.to_string()).titled(format!("Invalid urn!: {text}"))
        })?;
        match self {
            Self::Of(spec) if spec.name != urn.entity_type() => {
                Err(ErrorResponse::bad_request(format!(
                    "{urn} is not a {}: the path and the URN must have the same type",
                    spec.name
                )))
            }
            _ => Ok(urn),
        }
    }
}

pub(crate) fn entity_type(name: &str) -> Result<&'static EntitySpec, ErrorResponse> {
    Registry::get().entity(name).ok_or_else(|| {
        ErrorResponse::bad_request(format!(
            "there is no entity type called '{name}' in the registry"
        ))
    })
}

/// An entity, or one aspect of it.
#[derive(Debug)]
pub(super) struct Address {
    pub(super) urn: Urn,
    pub(super) aspect: Option<AspectName>,
    /// The alternative reading: the last slash belongs to the URN.
    longer: Option<Urn>,
}

impl Address {
    /// Parses `{type}/{urn}` or `{type}/{urn}/{aspect}`. An encoded slash belongs to the URN. So
    /// does an unencoded one, because clients do not encode all slashes, unless the name of an
    /// aspect follows.
    pub(super) fn parse(uri: &Uri) -> Result<Self, ErrorResponse> {
        let path = uri.path().strip_prefix(PREFIX).unwrap_or_default();
        let (kind, rest) = path.split_once('/').unwrap_or((path, ""));
        let kind = Kind::parse(&decode(kind)?)?;
        let whole = kind.urn(&decode(rest)?);
        let Some((before, last)) = rest.rsplit_once('/') else {
            return Ok(Self::entity(whole?));
        };
        let (before, last) = (decode(before)?, decode(last)?);
        let Some(aspect) = Registry::get().aspect(&last) else {
            if let Ok(whole) = whole {
                return Ok(Self::entity(whole));
            }
            kind.urn(&before)?;
            return Err(ErrorResponse::new(
                StatusCode::NOT_FOUND,
                format!("there is no aspect called '{last}' in the registry"),
            ));
        };
        let urn = kind.urn(&before)?;
        check_aspect(&urn, aspect)?;
        Ok(Self {
            urn,
            aspect: Some(aspect),
            longer: whole.ok(),
        })
    }

    fn entity(urn: Urn) -> Self {
        Self {
            urn,
            aspect: None,
            longer: None,
        }
    }

    /// Rejects a path that can mean an aspect or an existing entity, so that a deletion never hits
    /// the wrong one.
    pub(super) async fn unambiguous(self, state: &AppState) -> Result<Self, ErrorResponse> {
        if let (Some(longer), Some(aspect)) = (&self.longer, self.aspect) {
            let exists = state.catalog().exists(std::slice::from_ref(longer)).await?;
            if exists.contains(&true) {
                return Err(ErrorResponse::bad_request(format!(
                    "the path is ambiguous: it can mean the {aspect} of {} or the entity {longer}. Encode slashes in \
                     URNs as %2F, and send the aspect as ?aspects={aspect}",
                    self.urn
                )));
            }
        }
        Ok(self)
    }
}

pub(super) fn decode(raw: &str) -> Result<String, ErrorResponse> {
    let decoded = percent_decode_str(raw).decode_utf8();
    let decoded = decoded.map_err(|_| ErrorResponse::bad_request("the path is not UTF-8"))?;
    Ok(decoded.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(path: &str) -> Result<(String, Option<&'static str>), ErrorResponse> {
        let uri = format!("{PREFIX}{path}").parse().unwrap();
        let address = Address::parse(&uri)?;
        let aspect = address.aspect.map(AspectName::as_str);
        Ok((address.urn.to_string(), aspect))
    }

    #[test]
    fn urns_are_parsed_encoded_and_unencoded_with_slashes() {
        let table = "urn:li:dataset:(urn:li:dataPlatform:s3,a/b,PROD)";
        let encoded = "urn%3Ali%3Adataset%3A%28urn%3Ali%3AdataPlatform%3As3%2Ca%2Fb%2CPROD%29";
        for (path, urn, aspect) in [
            (format!("dataset/{encoded}"), table, None),
            (format!("dataset/{table}"), table, None),
            (
                format!("dataset/{encoded}/globaltags"),
                table,
                Some("globalTags"),
            ),
            (format!("dataset/{table}/status"), table, Some("status")),
            (format!("generic/{encoded}/status"), table, Some("status")),
            ("tag/urn:li:tag:a/b".to_owned(), "urn:li:tag:a/b", None),
            // Some libraries encode everything except slashes.
            (
                "tag/urn%3Ali%3Atag%3Aa/b".to_owned(),
                "urn:li:tag:a/b",
                None,
            ),
            (
                encoded
                    .replace("%2F", "/")
                    .replace("urn%3Ali%3Adataset", "dataset/urn%3Ali%3Adataset"),
                table,
                None,
            ),
            (
                "tag/urn:li:tag:a%2Fb/status".to_owned(),
                "urn:li:tag:a/b",
                Some("status"),
            ),
            (
                "tag/urn%3Ali%3Atag%3Aa%2Fstatus".to_owned(),
                "urn:li:tag:a/status",
                None,
            ),
        ] {
            assert_eq!(parse(&path).unwrap(), (urn.to_owned(), aspect), "{path}");
        }
    }

    #[test]
    fn invalid_paths_are_rejected() {
        for path in [
            "dataset/urn:li:tag:a",
            "dataset/urn:li:dataset:x",
            "nothing/urn:li:tag:a",
            "tag/urn:li:tag:a/schemaMetadata",
            "dataset/urn:li:dataset:(urn:li:dataPlatform:s3,a,PROD)/nothing",
            "tag/",
        ] {
            assert!(parse(path).is_err(), "{path}");
        }
    }
}
