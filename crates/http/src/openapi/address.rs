//! What a path below `/openapi/v3/entity/` names.

use axum::http::{StatusCode, Uri};
use docent_model::{AspectName, EntitySpec, Registry, Urn};
use percent_encoding::percent_decode_str;

use crate::error::Refusal;
use crate::restli::check_aspect;

pub(super) const PREFIX: &str = "/openapi/v3/entity/";

/// Stands where the type of the entities would stand, and means all of them.
const ANY: &str = "generic";

/// The kind of entities that a call is about.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    Any,
    Of(&'static EntitySpec),
}

impl Kind {
    pub(super) fn parse(name: &str) -> Result<Self, Refusal> {
        if name == ANY {
            return Ok(Self::Any);
        }
        Self::one(name)
    }

    /// Where all types at once cannot be meant.
    pub(super) fn one(name: &str) -> Result<Self, Refusal> {
        entity_type(name).map(Self::Of)
    }

    /// A URN of an entity of this kind.
    pub(super) fn urn(self, text: &str) -> Result<Urn, Refusal> {
        let urn = Registry::get().parse_urn(text).map_err(|error| {
            Refusal::bad_request(error.to_string()).titled(format!("Invalid urn!: {text}"))
        })?;
        match self {
            Self::Of(spec) if spec.name != urn.entity_type() => Err(Refusal::bad_request(format!(
                "{urn} is no {}: the path and the URN must name the same type",
                spec.name
            ))),
            _ => Ok(urn),
        }
    }
}

pub(super) fn entity_type(name: &str) -> Result<&'static EntitySpec, Refusal> {
    Registry::get().entity(name).ok_or_else(|| {
        Refusal::bad_request(format!(
            "there is no entity type called '{name}' in the registry"
        ))
    })
}

/// An entity, or one aspect of it.
#[derive(Debug)]
pub(super) struct Address {
    pub(super) urn: Urn,
    pub(super) aspect: Option<AspectName>,
}

impl Address {
    /// Reads `{type}/{urn}` or `{type}/{urn}/{aspect}`. Clients encode the URN completely or not at all: an encoded slash
    /// belongs to it, another one may stand before the name of an aspect.
    pub(super) fn parse(uri: &Uri) -> Result<Self, Refusal> {
        let path = uri.path().strip_prefix(PREFIX).unwrap_or_default();
        let (kind, rest) = path.split_once('/').unwrap_or((path, ""));
        let kind = Kind::parse(&decode(kind)?)?;
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let whole = decode(rest)?;
        let Some((before, last)) = rest.rsplit_once('/') else {
            return Ok(Self {
                urn: kind.urn(&whole)?,
                aspect: None,
            });
        };
        let (before, last) = (decode(before)?, decode(last)?);
        // Without an aspect of that name, the slash may be a part of the URN that was not encoded.
        let is_encoded = !rest.starts_with("urn:");
        match (Registry::get().aspect(&last), kind.urn(&whole)) {
            (None, Ok(urn)) if !is_encoded => Ok(Self { urn, aspect: None }),
            (aspect, _) => {
                let urn = kind.urn(&before)?;
                let aspect = aspect.ok_or_else(|| {
                    Refusal::new(
                        StatusCode::NOT_FOUND,
                        format!("there is no aspect called '{last}' in the registry"),
                    )
                })?;
                check_aspect(&urn, aspect)?;
                Ok(Self {
                    urn,
                    aspect: Some(aspect),
                })
            }
        }
    }
}

pub(super) fn decode(raw: &str) -> Result<String, Refusal> {
    let decoded = percent_decode_str(raw).decode_utf8();
    let decoded = decoded.map_err(|_| Refusal::bad_request("the path is not UTF-8"))?;
    Ok(decoded.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(path: &str) -> Result<(String, Option<&'static str>), Refusal> {
        let uri = format!("{PREFIX}{path}").parse().unwrap();
        let address = Address::parse(&uri)?;
        let aspect = address.aspect.map(AspectName::as_str);
        Ok((address.urn.to_string(), aspect))
    }

    #[test]
    fn a_urn_is_found_encoded_and_raw_with_slashes_in_it() {
        let table = "urn:li:dataset:(urn:li:dataPlatform:s3,a/b,PROD)";
        let encoded = "urn%3Ali%3Adataset%3A%28urn%3Ali%3AdataPlatform%3As3%2Ca%2Fb%2CPROD%29";
        for (path, urn, aspect) in [
            (format!("dataset/{encoded}"), table, None),
            (format!("dataset/{table}"), table, None),
            (format!("dataset/{encoded}/"), table, None),
            (
                format!("dataset/{encoded}/globaltags"),
                table,
                Some("globalTags"),
            ),
            (format!("dataset/{table}/status"), table, Some("status")),
            (format!("generic/{encoded}/status"), table, Some("status")),
            ("tag/urn:li:tag:a/b".to_owned(), "urn:li:tag:a/b", None),
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
    fn what_does_not_fit_is_refused() {
        for path in [
            "dataset/urn:li:tag:a",
            "dataset/urn:li:dataset:x",
            "nothing/urn:li:tag:a",
            "tag/urn:li:tag:a/schemaMetadata",
            "tag/urn%3Ali%3Atag%3Aa/nothing",
            "tag/",
        ] {
            assert!(parse(path).is_err(), "{path}");
        }
    }
}
