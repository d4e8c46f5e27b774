//! Stored JSON, read no further than a query needs.
//!
//! An aspect's text is parsed once by a [`Shape`], the tree of members that a query wants. What is not wanted is
//! skipped without being built; what is wanted as it stands remains a slice of the text, so a description goes
//! from the row into the reply without being unescaped and escaped again.

mod raw;
mod view;

use std::fmt;

use serde::Deserializer;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::path::{Path, Step};

pub(crate) use view::View;

/// Which members of a JSON value are wanted. Lists are transparent: their elements have the list's shape.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Wanted as it stands; members then mean nothing.
    whole: bool,
    members: Vec<(Box<str>, Shape)>,
}

impl Shape {
    pub(crate) fn whole() -> Self {
        Self {
            whole: true,
            members: Vec::new(),
        }
    }

    pub(crate) fn merge(&mut self, other: Self) {
        if self.whole {
            return;
        }
        if other.whole {
            *self = other;
            return;
        }
        for (name, shape) in other.members {
            self.member(&name).merge(shape);
        }
    }

    /// Adds what is wanted at the end of a path. Elements by number are looked up in the text when it is their
    /// turn: they are rare and short, and a shape that mixes them with whole lists would be hard to read.
    pub(crate) fn add(&mut self, path: &Path, wanted: Self) {
        let mut shape = self;
        for step in &path.steps {
            match step {
                Step::Member(name) => shape = shape.member(name),
                Step::Element(_) => {
                    *shape = Self::whole();
                    return;
                }
            }
        }
        shape.merge(wanted);
    }

    fn member(&mut self, name: &str) -> &mut Self {
        let position = self.members.iter().position(|(known, _)| &**known == name);
        let index = position.unwrap_or_else(|| {
            self.members.push((name.into(), Self::default()));
            self.members.len() - 1
        });
        &mut self.members[index].1
    }

    fn find(&self, name: &str) -> Option<usize> {
        self.members.iter().position(|(known, _)| &**known == name)
    }

    /// Parses JSON text; what the shape does not want is checked but not kept.
    pub(crate) fn parse(&self, text: &str) -> Result<Node, serde_json::Error> {
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let node = Seed {
            shape: self,
            start: text.as_ptr() as usize,
        }
        .deserialize(&mut deserializer)?;
        deserializer.end()?;
        Ok(node)
    }
}

/// A parsed value. It belongs to the text and to the shape that it was parsed with.
#[derive(Debug, PartialEq)]
pub(crate) enum Node {
    /// Where the value stands in the text.
    Slice {
        start: u32,
        end: u32,
    },
    /// A scalar where members were wanted.
    Scalar(Box<Value>),
    /// Members by their number in the shape.
    Object(Vec<(u16, Node)>),
    Array(Vec<Node>),
}

#[derive(Clone, Copy)]
struct Seed<'s> {
    shape: &'s Shape,
    /// The address of the text, to know where in it a slice begins.
    start: usize,
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Node;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        if !self.shape.whole {
            return deserializer.deserialize_any(self);
        }
        let raw: &'de RawValue = serde::Deserialize::deserialize(deserializer)?;
        let raw = raw.get();
        let start = raw.as_ptr() as usize - self.start;
        Ok(Node::Slice {
            start: start as u32,
            end: (start + raw.len()) as u32,
        })
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Node;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Node, A::Error> {
        let mut members = Vec::with_capacity(self.shape.members.len());
        while let Some(known) = access.next_key_seed(MemberSeed(self.shape))? {
            match known {
                Some(index) => {
                    let seed = Seed {
                        shape: &self.shape.members[index].1,
                        start: self.start,
                    };
                    members.push((index as u16, access.next_value_seed(seed)?));
                }
                None => {
                    access.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(Node::Object(members))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Node, A::Error> {
        let mut elements = Vec::new();
        while let Some(element) = access.next_element_seed(self)? {
            elements.push(element);
        }
        Ok(Node::Array(elements))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Scalar(Box::new(Value::Bool(value))))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
        Ok(Node::Scalar(Box::new(value.into())))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Node, E> {
        Ok(Node::Scalar(Box::new(value.into())))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Node, E> {
        Ok(Node::Scalar(Box::new(value.into())))
    }

    fn visit_str<E>(self, value: &str) -> Result<Node, E> {
        Ok(Node::Scalar(Box::new(value.into())))
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Scalar(Box::new(Value::Null)))
    }
}

/// Finds a member's name in the shape without keeping it.
struct MemberSeed<'s>(&'s Shape);

impl<'de> DeserializeSeed<'de> for MemberSeed<'_> {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for MemberSeed<'_> {
    type Value = Option<usize>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a member's name")
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok(self.0.find(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(paths: &[&str]) -> Shape {
        let mut shape = Shape::default();
        for path in paths {
            shape.add(&Path::parse(path), Shape::whole());
        }
        shape
    }

    #[test]
    fn only_wanted_members_are_kept_and_as_slices_of_the_text() {
        let text = r#"{"skip": {"a": [1]}, "name": "x\n", "deep": {"b": 1, "c": [true]}}"#;
        let shape = shape(&["name", "deep.c"]);
        let node = shape.parse(text).unwrap();
        let view = View::node(&node, &shape, text);
        assert_eq!(view.at(&Path::parse("name")).raw(), Some(r#""x\n""#));
        assert_eq!(view.at(&Path::parse("deep.c")).raw(), Some("[true]"));
        assert!(view.at(&Path::parse("skip")).is_null());
        assert!(view.at(&Path::parse("deep.b")).is_null());
    }

    #[test]
    fn lists_are_transparent() {
        let text = r#"{"fields": [{"path": "a", "x": 1}, {"path": "b"}]}"#;
        let shape = shape(&["fields.path"]);
        let node = shape.parse(text).unwrap();
        let list = View::node(&node, &shape, text).at(&Path::parse("fields"));
        let paths: Vec<_> = list
            .elements()
            .unwrap()
            .map(|element| {
                element
                    .at(&Path::parse("path"))
                    .text()
                    .unwrap()
                    .into_owned()
            })
            .collect();
        assert_eq!(paths, ["a", "b"]);
    }

    #[test]
    fn elements_by_number_are_found() {
        let text = r#"{"domains": ["urn:li:domain:a", "urn:li:domain:b"], "pairs": [{"d": 1}]}"#;
        let shape = shape(&["domains.1", "pairs.0.d"]);
        let node = shape.parse(text).unwrap();
        let view = View::node(&node, &shape, text);
        assert_eq!(
            view.at(&Path::parse("domains.1")).text().as_deref(),
            Some("urn:li:domain:b")
        );
        assert_eq!(view.at(&Path::parse("pairs.0.d")).raw(), Some("1"));
        assert!(view.at(&Path::parse("domains.7")).is_null());
    }

    #[test]
    fn a_scalar_where_members_were_wanted_is_kept() {
        let text = r#"{"domain": "urn:li:domain:a"}"#;
        let mut shape = Shape::default();
        shape.add(&Path::parse("domain.urn"), Shape::whole());
        let node = shape.parse(text).unwrap();
        let domain = View::node(&node, &shape, text).at(&Path::parse("domain"));
        assert_eq!(domain.text().as_deref(), Some("urn:li:domain:a"));
        assert!(domain.at(&Path::parse("urn")).is_null());
    }

    #[test]
    fn broken_json_is_an_error_even_where_it_is_not_wanted() {
        for text in ["", "{", r#"{"name": }"#, r#"{"skip": [1,]}"#, "{} x"] {
            assert!(shape(&["name"]).parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn wanting_the_whole_wins_over_wanting_members() {
        let mut shape = shape(&["a.b"]);
        shape.add(&Path::parse("a"), Shape::whole());
        shape.add(&Path::parse("a.c"), Shape::whole());
        let text = r#"{"a": {"b": 1, "c": 2}}"#;
        let node = shape.parse(text).unwrap();
        let view = View::node(&node, &shape, text);
        assert_eq!(
            view.at(&Path::parse("a")).raw(),
            Some(r#"{"b": 1, "c": 2}"#)
        );
        assert_eq!(view.at(&Path::parse("a.c")).raw(), Some("2"));
    }
}
