//! The format of search annotations in `registry.json`.
//!
//! There are two forms: a plain object annotates the field itself, an object with paths as names
//! annotates the values inside. Other members are ignored. To read another one, add it to
//! [`SourceSearch`].

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};

/// One annotation. Absent options default by the type of the value.
#[derive(Debug, Default, PartialEq)]
pub(in crate::registry) struct SourceSearch {
    pub(in crate::registry) field_name: Option<&'static str>,
    pub(in crate::registry) field_type: Option<&'static str>,
    pub(in crate::registry) boost_score: Option<f32>,
    pub(in crate::registry) query_by_default: Option<bool>,
    pub(in crate::registry) enable_autocomplete: bool,
    pub(in crate::registry) add_to_filters: bool,
    pub(in crate::registry) filter_name_override: Option<&'static str>,
    pub(in crate::registry) has_values_field_name: Option<&'static str>,
    pub(in crate::registry) field_name_aliases: Vec<&'static str>,
    pub(in crate::registry) sanitize_rich_text: bool,
}

/// The annotations of one field, each with the path to its value ("" is the field itself).
#[derive(Default)]
pub(in crate::registry) struct SourceSearches(
    pub(in crate::registry) Vec<(&'static str, SourceSearch)>,
);

impl SourceSearch {
    /// Reads the value of one member.
    fn read<A: MapAccess<'static>>(&mut self, member: &str, map: &mut A) -> Result<(), A::Error> {
        match member {
            "fieldName" => self.field_name = map.next_value()?,
            "fieldType" => self.field_type = map.next_value()?,
            "boostScore" => self.boost_score = map.next_value()?,
            "queryByDefault" => self.query_by_default = Some(map.next_value::<Flag>()?.0),
            "enableAutocomplete" => self.enable_autocomplete = map.next_value::<Flag>()?.0,
            "addToFilters" => self.add_to_filters = map.next_value::<Flag>()?.0,
            "filterNameOverride" => self.filter_name_override = map.next_value()?,
            "hasValuesFieldName" => self.has_values_field_name = map.next_value()?,
            "fieldNameAliases" => self.field_name_aliases = map.next_value()?,
            "sanitizeRichText" => self.sanitize_rich_text = map.next_value::<Flag>()?.0,
            _ => {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

/// A boolean, or its name as a string.
struct Flag(bool);

impl<'de> Deserialize<'de> for Flag {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FlagVisitor;
        impl Visitor<'_> for FlagVisitor {
            type Value = Flag;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("true or false")
            }
            fn visit_bool<E: serde::de::Error>(self, flag: bool) -> Result<Flag, E> {
                Ok(Flag(flag))
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Flag, E> {
                match text {
                    "true" => Ok(Flag(true)),
                    "false" => Ok(Flag(false)),
                    _ => Err(E::invalid_value(serde::de::Unexpected::Str(text), &self)),
                }
            }
        }
        deserializer.deserialize_any(FlagVisitor)
    }
}

impl<'de: 'static> Deserialize<'de> for SourceSearch {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de: 'static> Visitor<'de> for Members {
            type Value = SourceSearch;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a search annotation")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<SourceSearch, A::Error> {
                let mut search = SourceSearch::default();
                while let Some(member) = map.next_key::<&'static str>()? {
                    search.read(member, &mut map)?;
                }
                Ok(search)
            }
        }
        deserializer.deserialize_map(Members)
    }
}

impl<'de: 'static> Deserialize<'de> for SourceSearches {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Annotations;
        impl<'de: 'static> Visitor<'de> for Annotations {
            type Value = Vec<(&'static str, SourceSearch)>;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a search annotation, or search annotations by path")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut by_path = Vec::new();
                let mut plain = SourceSearch::default();
                while let Some(key) = map.next_key::<&'static str>()? {
                    if key.starts_with('/') {
                        by_path.push((key, map.next_value()?));
                    } else {
                        plain.read(key, &mut map)?;
                    }
                }
                by_path.push(("", plain));
                // An empty annotation overrides nothing. The registry has some around the editable
                // column descriptions, which are annotated inside.
                by_path.retain(|(_, search)| *search != SourceSearch::default());
                Ok(by_path)
            }
        }
        deserializer
            .deserialize_map(Annotations)
            .map(SourceSearches)
    }
}
