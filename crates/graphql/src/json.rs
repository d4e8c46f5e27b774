//! Projections of stored JSON.
//!
//! The text of an aspect is parsed once with a [`Projection`], the tree of members that a query
//! reads. Other members are skipped; values that are read as a whole remain slices of the text, so
//! a description is copied from the row to the reply without unescaping and escaping it.

mod raw;
mod scan;
mod view;

use crate::memory::ALLOCATION_BYTES;
use crate::path::{Path, Step};

pub(crate) use scan::NotJson;
pub(crate) use view::View;

/// The members to read of a JSON value. The elements of a list have the projection of the list.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Projection {
    /// Read as a whole; `members` is then unused.
    whole: bool,
    members: Vec<(Box<str>, Projection)>,
}

impl Projection {
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
        for (name, projection) in other.members {
            self.member(&name).merge(projection);
        }
    }

    /// Adds a projection at the end of a path. A list that is read by index is read as a whole, and
    /// its element looked up later: such paths are rare, and their lists short.
    pub(crate) fn add(&mut self, path: &Path, end: Self) {
        let mut projection = self;
        for step in &path.steps {
            match step {
                Step::Member(name) => projection = projection.member(name),
                Step::Element(_) => {
                    *projection = Self::whole();
                    return;
                }
            }
        }
        projection.merge(end);
    }

    fn member(&mut self, name: &str) -> &mut Self {
        let position = self.members.iter().position(|(known, _)| &**known == name);
        let index = position.unwrap_or_else(|| {
            self.members.push((name.into(), Self::default()));
            self.members.len() - 1
        });
        &mut self.members[index].1
    }

    /// Approximate size on the heap.
    pub(crate) fn heap_bytes(&self) -> usize {
        let members = self.members.iter();
        ALLOCATION_BYTES
            + self.members.capacity() * size_of::<(Box<str>, Self)>()
            + members
                .map(|(name, projection)| ALLOCATION_BYTES + name.len() + projection.heap_bytes())
                .sum::<usize>()
    }

    fn find(&self, name: &str) -> Option<usize> {
        self.members.iter().position(|(known, _)| &**known == name)
    }

    /// Reads the projected members of a JSON text.
    pub(crate) fn parse(&self, text: &str) -> Result<Parsed, NotJson> {
        scan::parse(self, text)
    }
}

/// The projected values of a text; read with [`View::parsed`].
///
/// All nodes are in one list, children together and before their parent, so that a schema of ten
/// columns takes one allocation instead of one per column.
#[derive(Debug, PartialEq)]
pub(crate) struct Parsed {
    nodes: Vec<Node>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Node {
    /// Its index in the projection, if it is a member of an object.
    member: u16,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    /// The byte range of the value in the text.
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

    fn projection(paths: &[&str]) -> Projection {
        let mut projection = Projection::default();
        for path in paths {
            projection.add(&Path::parse(path), Projection::whole());
        }
        projection
    }

    #[test]
    fn projected_members_are_slices_of_the_text() {
        let text = r#"{"skip": {"a": [1]}, "name": "x\n", "deep": {"b": 1, "c": [true]}}"#;
        let projection = projection(&["name", "deep.c"]);
        let parsed = projection.parse(text).unwrap();
        let view = View::parsed(&parsed, &projection, text);
        assert_eq!(view.at(&Path::parse("name")).raw(), Some(r#""x\n""#));
        assert_eq!(view.at(&Path::parse("deep.c")).raw(), Some("[true]"));
        assert!(view.at(&Path::parse("skip")).is_null());
        assert!(view.at(&Path::parse("deep.b")).is_null());
    }

    #[test]
    fn elements_have_the_projection_of_their_list() {
        let text = r#"{"fields": [{"path": "a", "x": 1}, {"path": "b"}]}"#;
        let projection = projection(&["fields.path"]);
        let parsed = projection.parse(text).unwrap();
        let list = View::parsed(&parsed, &projection, text).at(&Path::parse("fields"));
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
    fn elements_are_found_by_index() {
        let text = r#"{"domains": ["urn:li:domain:a", "urn:li:domain:b"], "pairs": [{"d": 1}]}"#;
        let projection = projection(&["domains.1", "pairs.0.d"]);
        let parsed = projection.parse(text).unwrap();
        let view = View::parsed(&parsed, &projection, text);
        assert_eq!(
            view.at(&Path::parse("domains.1")).text().as_deref(),
            Some("urn:li:domain:b")
        );
        assert_eq!(view.at(&Path::parse("pairs.0.d")).raw(), Some("1"));
        assert!(view.at(&Path::parse("domains.7")).is_null());
    }

    #[test]
    fn a_scalar_in_place_of_an_object_is_included() {
        let text = r#"{"domain": "urn:li:domain:a"}"#;
        let mut projection = Projection::default();
        projection.add(&Path::parse("domain.urn"), Projection::whole());
        let parsed = projection.parse(text).unwrap();
        let domain = View::parsed(&parsed, &projection, text).at(&Path::parse("domain"));
        assert_eq!(domain.text().as_deref(), Some("urn:li:domain:a"));
        assert!(domain.at(&Path::parse("urn")).is_null());
    }

    #[test]
    fn reading_the_whole_value_includes_its_members() {
        let mut projection = projection(&["a.b"]);
        projection.add(&Path::parse("a"), Projection::whole());
        projection.add(&Path::parse("a.c"), Projection::whole());
        let text = r#"{"a": {"b": 1, "c": 2}}"#;
        let parsed = projection.parse(text).unwrap();
        let view = View::parsed(&parsed, &projection, text);
        assert_eq!(
            view.at(&Path::parse("a")).raw(),
            Some(r#"{"b": 1, "c": 2}"#)
        );
        assert_eq!(view.at(&Path::parse("a.c")).raw(), Some("2"));
    }
}
