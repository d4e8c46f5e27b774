//! The sources of field values, compiled from the directives of the SDL.

use std::sync::Arc;

use apollo_compiler::Node;
use apollo_compiler::ast::{Directive, FieldDefinition};
use docent_model::{AspectName, EntitySpec, Registry};
use serde_json::Value;

use super::{Loader, ObjectKind, OutputType};
use crate::path::Path;
use crate::resolve::{BatchResolver, RootResolver};

#[derive(Debug)]
pub(crate) enum Source {
    /// A field of a root type: the result of a function.
    Root(RootResolver),
    /// Tried in order; the first value that is not null wins.
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
    /// Paths in the current JSON value.
    Path(Vec<Path>),
    /// A part of the key in the URN of the owner.
    Key(Box<str>),
    /// A template.
    Compose(Vec<TemplatePart>),
    /// The URN of the owner.
    Urn,
    /// The entity type of the owner as an enum value.
    EntityType,
    /// Whether the entity exists.
    Exists,
    /// A batch resolver.
    Resolve {
        resolver: Arc<BatchResolver>,
        /// Where the value is in the result; without paths the whole result. Fields of an entity
        /// with paths share one call of their resolver.
        paths: Vec<Path>,
        needs: Vec<AspectName>,
        /// All aspects of the owner are needed.
        needs_all: bool,
    },
    /// A constant.
    Default(Value),
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum TemplatePart {
    Literal(Box<str>),
    /// The URN of the owner.
    Urn,
    /// A member of the current JSON value.
    Member(Box<str>),
}

/// A string argument of a directive.
pub(crate) fn text<'a>(directive: Option<&'a Node<Directive>>, argument: &str) -> Option<&'a str> {
    directive?.specified_argument_by_name(argument)?.as_str()
}

/// A list argument of a directive; a single string is a list of one.
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

/// An argument of a directive that lists paths.
fn paths(directive: &Node<Directive>, argument: &str) -> Vec<Path> {
    texts(Some(directive), argument)
        .iter()
        .map(|path| Path::parse(path))
        .collect()
}

impl Loader {
    pub(super) fn source(
        &mut self,
        field: &str,
        definition: &FieldDefinition,
        kind: ObjectKind,
        output: &OutputType,
    ) -> Source {
        let directives = &definition.directives;
        let problems_before = self.problems.len();
        let mut origins = Vec::new();
        for directive in directives.get_all("aspect") {
            self.aspect_origin(field, directive, kind, &mut origins);
        }
        if let Some(directive) = directives.get("path") {
            if matches!(kind, ObjectKind::Entity(_)) {
                self.problem(field, "@path needs a JSON value; an entity has aspects");
            }
            origins.push(Origin::Path(paths(directive, "at")));
        }
        if let Some(part) = text(directives.get("key"), "part") {
            self.check_key_part(field, part, kind);
            origins.push(Origin::Key(part.into()));
        }
        if let Some(template) = text(directives.get("compose"), "text") {
            match template_parts(template) {
                Some(parts) => origins.push(Origin::Compose(parts)),
                None => self.problem(field, "the braces in @compose do not match"),
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
                self.problem(field, "@exists needs an entity type");
            }
            origins.push(Origin::Exists);
        }
        if let Some(directive) = directives.get("resolve") {
            let has_path = directive.specified_argument_by_name("path").is_some();
            if has_path && !definition.arguments.is_empty() {
                self.problem(
                    field,
                    "the path of @resolve is for fields without arguments: they share one call",
                );
            } else {
                self.resolve_origin(field, directive, kind, &mut origins);
            }
        }
        if origins.is_empty() && self.problems.len() == problems_before {
            match kind {
                ObjectKind::Plain => {
                    origins.push(Origin::Path(vec![Path::member(definition.name.as_str())]));
                }
                ObjectKind::Entity(_) | ObjectKind::Root => self.problem(
                    field,
                    "the field has no source: add @aspect, @key, @resolve or another source directive",
                ),
            }
        }
        if let Some(default) = text(directives.get("default"), "value") {
            match serde_json::from_str(default) {
                Ok(value) => origins.push(Origin::Default(value)),
                Err(error) => {
                    self.problem(
                        field,
                        &format!("the value of @default is not JSON: {error}"),
                    );
                }
            }
        }
        let entries = directives.has("entries");
        if entries && !output.is_list() {
            self.problem(field, "@entries needs a list type");
        }
        Source::Origins { origins, entries }
    }

    fn aspect_origin(
        &mut self,
        field: &str,
        directive: &Node<Directive>,
        kind: ObjectKind,
        origins: &mut Vec<Origin>,
    ) {
        let ObjectKind::Entity(spec) = kind else {
            self.problem(
                field,
                "@aspect needs an entity type; use @path in a plain type",
            );
            return;
        };
        let name = text(Some(directive), "name").unwrap_or_default();
        if let Some(aspect) = self.known_aspect(field, name, Some(spec)) {
            origins.push(Origin::Aspect {
                aspect,
                paths: paths(directive, "path"),
            });
        }
    }

    fn resolve_origin(
        &mut self,
        field: &str,
        directive: &Node<Directive>,
        kind: ObjectKind,
        origins: &mut Vec<Origin>,
    ) {
        let name = text(Some(directive), "by").unwrap_or_default();
        self.unused_batches.remove(name);
        let Some(resolver) = self.batches.get(name).cloned() else {
            self.problem(field, &format!("no resolver '{name}' is registered"));
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
                needs.extend(self.known_aspect(field, &need, spec));
            }
        }
        origins.push(Origin::Resolve {
            resolver,
            paths: paths(directive, "path"),
            needs,
            needs_all,
        });
    }

    /// The aspect of this name, in the exact spelling of the registry; the entity type must allow
    /// it.
    fn known_aspect(
        &mut self,
        field: &str,
        name: &str,
        spec: Option<&EntitySpec>,
    ) -> Option<AspectName> {
        let known = Registry::get()
            .aspect(name)
            .filter(|aspect| aspect.as_str() == name);
        let Some(aspect) = known else {
            self.problem(
                field,
                &format!("the aspect '{name}' is not in the registry"),
            );
            return None;
        };
        if let Some(spec) = spec
            && !spec.has_aspect(aspect)
        {
            self.problem(
                field,
                &format!("an entity of type '{}' has no aspect '{name}'", spec.name),
            );
            return None;
        }
        Some(aspect)
    }

    fn check_key_part(&mut self, field: &str, part: &str, kind: ObjectKind) {
        let known = match kind {
            ObjectKind::Entity(spec) => spec.key_fields.contains(&part),
            // The owner of a plain object may be of any type.
            ObjectKind::Plain | ObjectKind::Root => Registry::get()
                .entities()
                .any(|spec| spec.key_fields.contains(&part)),
        };
        if !known {
            self.problem(field, &format!("the key has no part '{part}'"));
        }
    }
}

/// Splits `urn:li:x:({urn},{name})` at its braces; `None` if they do not match.
fn template_parts(template: &str) -> Option<Vec<TemplatePart>> {
    let mut parts = Vec::new();
    let mut rest = template;
    while let Some((literal, after)) = rest.split_once('{') {
        let (name, after) = after.split_once('}')?;
        if literal.contains('}') || name.is_empty() {
            return None;
        }
        if !literal.is_empty() {
            parts.push(TemplatePart::Literal(literal.into()));
        }
        parts.push(match name {
            "urn" => TemplatePart::Urn,
            name => TemplatePart::Member(name.into()),
        });
        rest = after;
    }
    if rest.contains('}') {
        return None;
    }
    if !rest.is_empty() {
        parts.push(TemplatePart::Literal(rest.into()));
    }
    Some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_are_split_at_braces() {
        assert_eq!(
            template_parts("urn:li:schemaField:({urn},{fieldPath})").unwrap(),
            [
                TemplatePart::Literal("urn:li:schemaField:(".into()),
                TemplatePart::Urn,
                TemplatePart::Literal(",".into()),
                TemplatePart::Member("fieldPath".into()),
                TemplatePart::Literal(")".into()),
            ]
        );
        for wrong in ["{urn", "urn}", "a}{b}", "{}"] {
            assert_eq!(template_parts(wrong), None, "{wrong}");
        }
    }
}
