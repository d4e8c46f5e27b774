//! Stored JSON, read no further than a query needs.
//!
//! An aspect's text is parsed once by a [`Shape`], the tree of members that a query wants. What is not wanted is
//! skipped without being built; what is wanted as it stands remains a slice of the text, so a description goes
//! from the row into the reply without being unescaped and escaped again.

mod raw;
mod scan;
mod view;

use crate::path::{Path, Step};
use crate::plan::ALLOCATION_BYTES;

pub(crate) use scan::NotJson;
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

    /// How much memory it takes beside itself.
    pub(crate) fn heap_bytes(&self) -> usize {
        let members = self.members.iter();
        ALLOCATION_BYTES
            + self.members.capacity() * size_of::<(Box<str>, Self)>()
            + members
                .map(|(name, shape)| ALLOCATION_BYTES + name.len() + shape.heap_bytes())
                .sum::<usize>()
    }

    fn find(&self, name: &str) -> Option<usize> {
        self.members.iter().position(|(known, _)| &**known == name)
    }

    /// Takes out of JSON text what the shape wants.
    pub(crate) fn parse(&self, text: &str) -> Result<Parsed, NotJson> {
        scan::parse(self, text)
    }
}

/// What a shape wants of a text. It belongs to both: see [`View::parsed`].
///
/// All nodes stand in one list, children together and before their parent, so that a schema of ten columns is one
/// allocation and not one for each column.
#[derive(Debug, PartialEq)]
pub(crate) struct Parsed {
    nodes: Vec<Node>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Node {
    /// Its number in the shape, if it is a member of an object.
    member: u16,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    /// Where the value stands in the text.
    Slice {
        start: u32,
        end: u32,
    },
    Object(Children),
    Array(Children),
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Children {
    first: u32,
    count: u32,
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
        let parsed = shape.parse(text).unwrap();
        let view = View::parsed(&parsed, &shape, text);
        assert_eq!(view.at(&Path::parse("name")).raw(), Some(r#""x\n""#));
        assert_eq!(view.at(&Path::parse("deep.c")).raw(), Some("[true]"));
        assert!(view.at(&Path::parse("skip")).is_null());
        assert!(view.at(&Path::parse("deep.b")).is_null());
    }

    #[test]
    fn lists_are_transparent() {
        let text = r#"{"fields": [{"path": "a", "x": 1}, {"path": "b"}]}"#;
        let shape = shape(&["fields.path"]);
        let parsed = shape.parse(text).unwrap();
        let list = View::parsed(&parsed, &shape, text).at(&Path::parse("fields"));
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
        let parsed = shape.parse(text).unwrap();
        let view = View::parsed(&parsed, &shape, text);
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
        let parsed = shape.parse(text).unwrap();
        let domain = View::parsed(&parsed, &shape, text).at(&Path::parse("domain"));
        assert_eq!(domain.text().as_deref(), Some("urn:li:domain:a"));
        assert!(domain.at(&Path::parse("urn")).is_null());
    }

    #[test]
    fn wanting_the_whole_wins_over_wanting_members() {
        let mut shape = shape(&["a.b"]);
        shape.add(&Path::parse("a"), Shape::whole());
        shape.add(&Path::parse("a.c"), Shape::whole());
        let text = r#"{"a": {"b": 1, "c": 2}}"#;
        let parsed = shape.parse(text).unwrap();
        let view = View::parsed(&parsed, &shape, text);
        assert_eq!(
            view.at(&Path::parse("a")).raw(),
            Some(r#"{"b": 1, "c": 2}"#)
        );
        assert_eq!(view.at(&Path::parse("a.c")).raw(), Some("2"));
    }
}
