//! Where the value of a field comes from: the directives of the SDL, compiled.

use std::sync::Arc;

use apollo_compiler::Node;
use apollo_compiler::ast::{Directive, FieldDefinition};
use docent_model::{AspectName, EntitySpec, Registry};
use serde_json::Value;

use super::{Loader, ObjectKind, OutputKind, OutputType, Scalar};
use crate::path::Path;
use crate::resolve::{BatchResolver, RootResolver};

#[derive(Debug)]
pub(crate) enum Source {
    /// A field of a root type: a function gives the value.
    Root(RootResolver),
    /// Tried in their order; the first value that is not null wins.
    Origins {
        origins: Vec<Origin>,
        /// A JSON object is read as a list of its members.
        entries: bool,
    },
}

#[derive(Debug)]
pub(crate) enum Origin {
    /// An aspect of the entity; without paths its whole value.
    Aspect {
        aspect: AspectName,
        paths: Vec<Path>,
    },
    /// Places inside of the current JSON value.
    Inside(Vec<Path>),
    /// A part of the key in the owner's URN.
    Key(Box<str>),
    /// A text made of pieces.
    Compose(Vec<Piece>),
    /// The owner's URN.
    Urn,
    /// The owner's entity type as an enum value.
    EntityType,
    /// Whether the entity exists.
    Exists,
    /// A batch resolver.
    Resolve {
        resolver: Arc<BatchResolver>,
        needs: Vec<AspectName>,
        /// All aspects of the owner are needed.
        needs_all: bool,
    },
    /// A constant.
    Default(Value),
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    Literal(Box<str>),
    /// The owner's URN.
    Urn,
    /// A member of the current JSON value.
    Member(Box<str>),
}

/// A text argument of a directive.
pub(crate) fn text<'a>(directive: Option<&'a Node<Directive>>, argument: &str) -> Option<&'a str> {
    directive?.specified_argument_by_name(argument)?.as_str()
}

/// A list of texts as an argument of a directive; a single text counts as a list of one.
pub(super) fn texts(directive: Option<&Node<Directive>>, argument: &str) -> Vec<Box<str>> {
    let Some(value) = directive.and_then(|it| it.specified_argument_by_name(argument)) else {
        return Vec::new();
    };
    match value.as_list() {
        Some(items) => items
            .iter()
            .filter_map(|item| item.as_str())
            .map(Box::from)
            .collect(),
        None => value.as_str().map(Box::from).into_iter().collect(),
    }
}

impl Loader {
    pub(super) fn source(
        &mut self,
        place: &str,
        definition: &FieldDefinition,
        kind: ObjectKind,
        output: &OutputType,
    ) -> Source {
        let directives = &definition.directives;
        let problems_before = self.problems.len();
        let mut origins = Vec::new();
        for directive in directives.get_all("aspect") {
            self.aspect_origin(place, directive, kind, &mut origins);
        }
        if let Some(directive) = directives.get("path") {
            if matches!(kind, ObjectKind::Entity(_)) {
                self.problem(place, "@path needs a JSON value; an entity has aspects");
            }
            origins.push(Origin::Inside(
                texts(Some(directive), "at")
                    .iter()
                    .map(|path| Path::parse(path))
                    .collect(),
            ));
        }
        if let Some(part) = text(directives.get("key"), "part") {
            self.check_key_part(place, part, kind);
            origins.push(Origin::Key(part.into()));
        }
        if let Some(template) = text(directives.get("compose"), "text") {
            match pieces(template) {
                Some(pieces) => origins.push(Origin::Compose(pieces)),
                None => self.problem(place, "the braces in @compose do not match"),
            }
        }
        if directives.has("urn") {
            origins.push(Origin::Urn);
        }
        if directives.has("entityType") {
            origins.push(Origin::EntityType);
        }
        if directives.has("exists") {
            if matches!(kind, ObjectKind::Plain) {
                self.problem(place, "@exists needs an entity type");
            }
            origins.push(Origin::Exists);
        }
        if let Some(directive) = directives.get("resolve") {
            self.resolve_origin(place, directive, kind, &mut origins);
        }
        if directives.has("absent") {
            match absent_value(output) {
                Some(value) => origins.push(Origin::Default(value)),
                None => self.problem(
                    place,
                    "@absent has no value for this type: make the type nullable",
                ),
            }
        } else if origins.is_empty() && self.problems.len() == problems_before {
            match kind {
                ObjectKind::Plain => {
                    origins.push(Origin::Inside(vec![Path::member(definition.name.as_str())]));
                }
                ObjectKind::Entity(_) | ObjectKind::Root => self.problem(
                    place,
                    "nothing says where the value comes from: add @aspect, @key, @resolve or another source",
                ),
            }
        }
        if let Some(default) = text(directives.get("default"), "value") {
            match serde_json::from_str(default) {
                Ok(value) => origins.push(Origin::Default(value)),
                Err(error) => {
                    self.problem(
                        place,
                        &format!("the value of @default is not JSON: {error}"),
                    );
                }
            }
        }
        let entries = directives.has("entries");
        if entries && !output.is_list() {
            self.problem(place, "@entries needs a list type");
        }
        Source::Origins { origins, entries }
    }

    fn aspect_origin(
        &mut self,
        place: &str,
        directive: &Node<Directive>,
        kind: ObjectKind,
        origins: &mut Vec<Origin>,
    ) {
        let ObjectKind::Entity(spec) = kind else {
            self.problem(
                place,
                "@aspect needs an entity type; use @path in a plain type",
            );
            return;
        };
        let name = text(Some(directive), "name").unwrap_or_default();
        if let Some(aspect) = self.known_aspect(place, name, Some(spec)) {
            let paths = texts(Some(directive), "path");
            origins.push(Origin::Aspect {
                aspect,
                paths: paths.iter().map(|path| Path::parse(path)).collect(),
            });
        }
    }

    fn resolve_origin(
        &mut self,
        place: &str,
        directive: &Node<Directive>,
        kind: ObjectKind,
        origins: &mut Vec<Origin>,
    ) {
        let name = text(Some(directive), "by").unwrap_or_default();
        self.unused_batches.remove(name);
        let Some(resolver) = self.batches.get(name).cloned() else {
            self.problem(place, &format!("no resolver '{name}' is registered"));
            return;
        };
        let spec = match kind {
            ObjectKind::Entity(spec) => Some(spec),
            ObjectKind::Plain | ObjectKind::Root => None,
        };
        let mut needs = Vec::new();
        let mut needs_all = false;
        for need in texts(Some(directive), "needs") {
            if &*need == "*" {
                needs_all = true;
            } else {
                needs.extend(self.known_aspect(place, &need, spec));
            }
        }
        origins.push(Origin::Resolve {
            resolver,
            needs,
            needs_all,
        });
    }

    /// The aspect of this name, spelled as the registry spells it; the entity must be able to have it.
    fn known_aspect(
        &mut self,
        place: &str,
        name: &str,
        spec: Option<&EntitySpec>,
    ) -> Option<AspectName> {
        let known = Registry::get()
            .aspect(name)
            .filter(|aspect| aspect.as_str() == name);
        let Some(aspect) = known else {
            self.problem(
                place,
                &format!("the aspect '{name}' is not in the registry"),
            );
            return None;
        };
        if let Some(spec) = spec
            && !spec.has_aspect(aspect)
        {
            self.problem(
                place,
                &format!("an entity of type '{}' has no aspect '{name}'", spec.name),
            );
            return None;
        }
        Some(aspect)
    }

    fn check_key_part(&mut self, place: &str, part: &str, kind: ObjectKind) {
        let known = match kind {
            ObjectKind::Entity(spec) => spec.key_fields.contains(&part),
            // The owner of a plain value may be of any type.
            ObjectKind::Plain | ObjectKind::Root => Registry::get()
                .entities()
                .any(|spec| spec.key_fields.contains(&part)),
        };
        if !known {
            self.problem(place, &format!("the key has no part '{part}'"));
        }
    }
}

/// What a field reads whose subsystem does not exist; `None` if its type allows nothing.
fn absent_value(output: &OutputType) -> Option<Value> {
    if !output.non_null {
        return Some(Value::Null);
    }
    match &output.kind {
        OutputKind::List(_) => Some(Value::Array(Vec::new())),
        OutputKind::Scalar(Scalar::Boolean) => Some(Value::Bool(false)),
        OutputKind::Scalar(Scalar::Int | Scalar::Long | Scalar::Float) => Some(Value::from(0)),
        OutputKind::Scalar(Scalar::String) => Some(Value::from("")),
        OutputKind::Scalar(Scalar::Any) | OutputKind::Enum(_) | OutputKind::Composite(_) => None,
    }
}

/// Splits `urn:li:x:({urn},{name})` at its braces; `None` if they do not match.
fn pieces(template: &str) -> Option<Vec<Piece>> {
    let mut pieces = Vec::new();
    let mut rest = template;
    while let Some((literal, behind)) = rest.split_once('{') {
        let (name, behind) = behind.split_once('}')?;
        if literal.contains('}') || name.is_empty() {
            return None;
        }
        if !literal.is_empty() {
            pieces.push(Piece::Literal(literal.into()));
        }
        pieces.push(match name {
            "urn" => Piece::Urn,
            name => Piece::Member(name.into()),
        });
        rest = behind;
    }
    if rest.contains('}') {
        return None;
    }
    if !rest.is_empty() {
        pieces.push(Piece::Literal(rest.into()));
    }
    Some(pieces)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_is_split_at_its_braces() {
        assert_eq!(
            pieces("urn:li:schemaField:({urn},{fieldPath})").unwrap(),
            [
                Piece::Literal("urn:li:schemaField:(".into()),
                Piece::Urn,
                Piece::Literal(",".into()),
                Piece::Member("fieldPath".into()),
                Piece::Literal(")".into()),
            ]
        );
        for wrong in ["{urn", "urn}", "a}{b}", "{}"] {
            assert_eq!(pieces(wrong), None, "{wrong}");
        }
    }
}
