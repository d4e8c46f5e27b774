//! Reads JSON text without building values, for the few cases that a projection does not cover.

use std::borrow::Cow;
use std::fmt;

use serde::Deserializer;
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// The members of an object, names unescaped; `None` if the text is not an object.
pub(super) fn members(text: &str) -> Option<Vec<(Cow<'_, str>, &str)>> {
    struct Members;
    impl<'de> Visitor<'de> for Members {
        type Value = Vec<(Cow<'de, str>, &'de str)>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
            let mut members = Vec::new();
            while let Some((Name(name), value)) = access.next_entry::<Name<'de>, &'de RawValue>()? {
                members.push((name, value.get()));
            }
            Ok(members)
        }
    }
    serde_json::Deserializer::from_str(text)
        .deserialize_map(Members)
        .ok()
}

/// A member of an object; the last one if the name is repeated, as in every JSON parser.
pub(super) fn member<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    struct Member<'n>(&'n str);
    impl<'de> Visitor<'de> for Member<'_> {
        type Value = Option<&'de str>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
            let mut found = None;
            while let Some(Name(name)) = access.next_key::<Name<'de>>()? {
                if name == self.0 {
                    found = Some(access.next_value::<&'de RawValue>()?.get());
                } else {
                    access.next_value::<IgnoredAny>()?;
                }
            }
            Ok(found)
        }
    }
    serde_json::Deserializer::from_str(text)
        .deserialize_map(Member(name))
        .ok()
        .flatten()
}

/// The elements of a list; `None` if the text is not a list.
pub(super) fn elements(text: &str) -> Option<Vec<&str>> {
    struct Elements;
    impl<'de> Visitor<'de> for Elements {
        type Value = Vec<&'de str>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("a list")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
            let mut elements = Vec::new();
            while let Some(element) = access.next_element::<&'de RawValue>()? {
                elements.push(element.get());
            }
            Ok(elements)
        }
    }
    serde_json::Deserializer::from_str(text)
        .deserialize_seq(Elements)
        .ok()
}

/// The name of a member, borrowed unless it is escaped.
struct Name<'de>(Cow<'de, str>);

impl<'de> serde::Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NameVisitor;
        impl<'de> Visitor<'de> for NameVisitor {
            type Value = Name<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a member name")
            }

            fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Self::Value, E> {
                Ok(Name(Cow::Borrowed(name)))
            }

            fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
                Ok(Name(Cow::Owned(name.to_owned())))
            }
        }
        deserializer.deserialize_str(NameVisitor)
    }
}
