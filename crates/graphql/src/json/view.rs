//! A uniform view of JSON in different representations.

use std::borrow::Cow;

use serde_json::Value;

use super::{Children, Kind, Node, Parsed, Projection, raw};
use crate::path::{Path, Step};

/// A borrowed JSON value. Missing members and elements are [`View::Missing`].
#[derive(Debug, Clone, Copy)]
pub(crate) enum View<'a> {
    Missing,
    /// Part of a stored aspect.
    Stored(Stored<'a>),
    /// JSON text.
    Raw(&'a str),
    /// The result of a resolver, or a constant of the schema.
    Value(&'a Value),
    /// A computed text, not escaped.
    Text(&'a str),
    Flag(bool),
    /// A member of an object that is read as a list of entries.
    Entry {
        name: &'a str,
        value: &'a View<'a>,
    },
}

/// An object or a list in a parsed text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stored<'a> {
    node: &'a Node,
    parsed: &'a Parsed,
    projection: &'a Projection,
    text: &'a str,
}

impl<'a> Stored<'a> {
    /// A view of another node of the same text.
    fn view(self, node: &'a Node, projection: &'a Projection) -> View<'a> {
        match node.kind {
            Kind::Slice { start, end } => self
                .text
                .get(start as usize..end as usize)
                .map_or(View::Missing, View::Raw),
            Kind::Object(_) | Kind::Array(_) => View::Stored(Self {
                node,
                projection,
                ..self
            }),
        }
    }

    fn children(self, Children { first, count }: Children) -> &'a [Node] {
        let first = first as usize;
        let children = self.parsed.nodes.get(first..first + count as usize);
        children.unwrap_or_default()
    }

    fn member(self, name: &str) -> View<'a> {
        let (Kind::Object(children), Some(member)) = (self.node.kind, self.projection.find(name))
        else {
            return View::Missing;
        };
        self.children(children)
            .iter()
            .rev()
            .find(|node| usize::from(node.member) == member)
            .map_or(View::Missing, |node| {
                self.view(node, &self.projection.members[member].1)
            })
    }

    fn elements(self) -> Option<std::slice::Iter<'a, Node>> {
        match self.node.kind {
            Kind::Array(children) => Some(self.children(children).iter()),
            _ => None,
        }
    }

    fn to_value(self) -> Value {
        match self.node.kind {
            Kind::Object(children) => self
                .children(children)
                .iter()
                .map(|node| {
                    let (name, projection) = &self.projection.members[usize::from(node.member)];
                    (name.to_string(), self.view(node, projection).to_value())
                })
                .collect::<serde_json::Map<_, _>>()
                .into(),
            Kind::Array(children) => self
                .children(children)
                .iter()
                .map(|node| self.view(node, self.projection).to_value())
                .collect::<Vec<_>>()
                .into(),
            Kind::Slice { .. } => self.view(self.node, self.projection).to_value(),
        }
    }
}

impl<'a> View<'a> {
    /// The projected values of a text, with the projection that it was parsed with.
    pub(crate) fn parsed(parsed: &'a Parsed, projection: &'a Projection, text: &'a str) -> Self {
        let Some(node) = parsed.nodes.last() else {
            return Self::Missing;
        };
        let root = Stored {
            node,
            parsed,
            projection,
            text,
        };
        root.view(node, projection)
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(
            self,
            Self::Missing | Self::Raw("null") | Self::Value(Value::Null)
        )
    }

    pub(crate) fn at(self, path: &Path) -> Self {
        let mut view = self;
        for step in &path.steps {
            view = match step {
                Step::Member(name) => view.member(name),
                Step::Element(index) => view.element(*index),
            };
        }
        view
    }

    pub(crate) fn member(self, name: &str) -> Self {
        match self {
            Self::Stored(stored) => stored.member(name),
            Self::Raw(text) => raw::member(text, name).map_or(Self::Missing, Self::Raw),
            Self::Value(Value::Object(members)) => {
                members.get(name).map_or(Self::Missing, Self::Value)
            }
            Self::Entry { name: key, value } => match name {
                "key" => Self::Text(key),
                "value" => *value,
                _ => Self::Missing,
            },
            Self::Value(_) | Self::Missing | Self::Text(_) | Self::Flag(_) => Self::Missing,
        }
    }

    fn element(self, index: usize) -> Self {
        match self {
            Self::Stored(stored) => stored
                .elements()
                .and_then(|mut elements| elements.nth(index))
                .map_or(Self::Missing, |node| stored.view(node, stored.projection)),
            Self::Raw(text) => raw::elements(text)
                .and_then(|elements| elements.get(index).copied())
                .map_or(Self::Missing, Self::Raw),
            Self::Value(Value::Array(elements)) => {
                elements.get(index).map_or(Self::Missing, Self::Value)
            }
            _ => Self::Missing,
        }
    }

    /// The elements of a list; `None` if this is not a list.
    pub(crate) fn elements(self) -> Option<Elements<'a>> {
        match self {
            Self::Stored(stored) => Some(Elements::Stored(stored.elements()?, stored)),
            Self::Raw(text) => raw::elements(text).map(|it| Elements::Raws(it.into_iter())),
            Self::Value(Value::Array(elements)) => Some(Elements::Values(elements.iter())),
            _ => None,
        }
    }

    /// The members of an object, to be read as a list; `None` if this is not an object.
    pub(crate) fn entries(self) -> Option<Vec<(Cow<'a, str>, View<'a>)>> {
        match self {
            Self::Raw(text) => Some(
                raw::members(text)?
                    .into_iter()
                    .map(|(name, value)| (name, View::Raw(value)))
                    .collect(),
            ),
            Self::Value(Value::Object(members)) => Some(
                members
                    .iter()
                    .map(|(name, value)| (Cow::Borrowed(&**name), View::Value(value)))
                    .collect(),
            ),
            _ => None,
        }
    }

    /// The name of the first member of an object, which is the type of a stored union.
    pub(crate) fn first_name(self) -> Option<Cow<'a, str>> {
        match self {
            Self::Raw(text) if text.starts_with('{') => {
                raw::members(text)?.into_iter().next().map(|(name, _)| name)
            }
            Self::Value(Value::Object(members)) => {
                members.keys().next().map(|name| Cow::Borrowed(&**name))
            }
            _ => None,
        }
    }

    /// The unescaped text of a JSON string.
    pub(crate) fn text(self) -> Option<Cow<'a, str>> {
        match self {
            Self::Text(text) => Some(Cow::Borrowed(text)),
            Self::Value(Value::String(text)) => Some(Cow::Borrowed(text)),
            Self::Raw(raw) => {
                let inner = raw.strip_prefix('"')?.strip_suffix('"')?;
                if inner.contains('\\') {
                    serde_json::from_str(raw).ok().map(Cow::Owned)
                } else {
                    Some(Cow::Borrowed(inner))
                }
            }
            _ => None,
        }
    }

    /// The text of a JSON number.
    pub(crate) fn number_text(self) -> Option<Cow<'a, str>> {
        match self {
            Self::Value(Value::Number(number)) => Some(Cow::Owned(number.to_string())),
            Self::Raw(raw) if raw.starts_with(|it: char| it == '-' || it.is_ascii_digit()) => {
                Some(Cow::Borrowed(raw))
            }
            _ => None,
        }
    }

    /// The JSON text of a stored value.
    #[cfg(test)]
    pub(crate) fn raw(self) -> Option<&'a str> {
        match self {
            Self::Raw(text) => Some(text),
            _ => None,
        }
    }

    /// Builds the value, for resolvers.
    pub(crate) fn to_value(self) -> Value {
        match self {
            Self::Missing => Value::Null,
            Self::Raw(text) => serde_json::from_str(text).unwrap_or_default(),
            Self::Value(value) => value.clone(),
            Self::Text(text) => Value::from(text),
            Self::Flag(flag) => Value::from(flag),
            Self::Entry { name, value } => {
                serde_json::json!({"key": name, "value": value.to_value()})
            }
            Self::Stored(stored) => stored.to_value(),
        }
    }

    /// The memory address, which identifies the value among the values of its owner.
    pub(crate) fn address(self) -> usize {
        match self {
            Self::Missing | Self::Flag(_) => 0,
            Self::Stored(stored) => std::ptr::from_ref(stored.node) as usize,
            Self::Raw(text) | Self::Text(text) => text.as_ptr() as usize,
            Self::Value(value) => std::ptr::from_ref(value) as usize,
            Self::Entry { value, .. } => value.address(),
        }
    }
}

/// Iterates over the elements of a list.
#[derive(Debug)]
pub(crate) enum Elements<'a> {
    Stored(std::slice::Iter<'a, Node>, Stored<'a>),
    Raws(std::vec::IntoIter<&'a str>),
    Values(std::slice::Iter<'a, Value>),
}

impl<'a> Iterator for Elements<'a> {
    type Item = View<'a>;

    fn next(&mut self) -> Option<View<'a>> {
        match self {
            Self::Stored(nodes, list) => nodes.next().map(|node| list.view(node, list.projection)),
            Self::Raws(texts) => texts.next().map(View::Raw),
            Self::Values(values) => values.next().map(View::Value),
        }
    }
}
