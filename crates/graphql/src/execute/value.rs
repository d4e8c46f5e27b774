//! Reads the value of a field from its first source that has one.

use std::borrow::Cow;

use super::loaded::{CallKey, Content, Loaded, Slot};
use crate::error::Failure;
use crate::json::View;
use crate::limits::LimitExceeded;
use crate::path::Path;
use crate::plan::{AbstractPlan, Compiler, ObjectPlan, Selection, ValuePlan};
use crate::schema::source::{Origin, TemplatePart};

/// The object that a field is read from: an entity, or a JSON value that belongs to one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parent<'l> {
    /// The slot of the owning entity; results of root resolvers have none.
    pub(crate) owner: Option<usize>,
    /// [`View::Missing`] if the parent is the entity itself.
    pub(crate) value: View<'l>,
}

/// The value of a field: borrowed, or a composed text.
#[derive(Debug)]
pub(crate) enum FieldValue<'l> {
    Borrowed(View<'l>),
    Composed(String),
}

impl FieldValue<'_> {
    pub(crate) fn view(&self) -> View<'_> {
        match self {
            Self::Borrowed(view) => *view,
            Self::Composed(text) => View::Text(text),
        }
    }
}

/// Why a value cannot be read.
#[derive(Debug)]
pub(crate) enum Unavailable<'l> {
    Failed(Cow<'l, Failure>),
    /// The resolver has not been called yet.
    Pending(CallKey),
}

/// Reads a field from loaded data.
pub(crate) fn read<'l>(
    loaded: &'l Loaded<'_>,
    compiler: &'l Compiler<'_>,
    parent: Parent<'l>,
    plan: &'l ValuePlan,
) -> Result<FieldValue<'l>, Unavailable<'l>> {
    let owner = parent.owner.map(|slot| &loaded.slots[slot]);
    for (origin, cell) in plan.origins().iter().zip(&plan.cells) {
        let view = match origin {
            Origin::Aspect { aspect, paths } => {
                let Some(slot) = owner else {
                    continue;
                };
                let stored = &loaded.cells[slot.first_cell + cell];
                let (Some(row), Some(projection)) =
                    (stored.row, &slot.plan.needs[*cell].projection)
                else {
                    continue;
                };
                match &stored.content {
                    Content::Empty => continue,
                    Content::Corrupt => {
                        return Err(Unavailable::Failed(Cow::Owned(Failure::server(format!(
                            "the stored aspect {aspect} of {} is corrupt: it is not JSON",
                            slot.urn
                        )))));
                    }
                    Content::Parsed(parsed) => {
                        let text = &loaded.rows[row].metadata;
                        first_non_null(View::parsed(parsed, projection, text), paths)
                    }
                }
            }
            Origin::Path(paths) => first_non_null(parent.value, paths),
            Origin::Key(part) => match owner.and_then(|slot| key_part(slot, part)) {
                Some(part) => View::Text(part),
                None => continue,
            },
            Origin::Compose(parts) => {
                match compose(parts, owner.map(|slot| slot.urn.as_str()), parent.value) {
                    Some(text) => return Ok(FieldValue::Composed(text)),
                    None => continue,
                }
            }
            Origin::Urn => match owner {
                Some(slot) => View::Text(slot.urn.as_str()),
                None => continue,
            },
            Origin::EntityType => {
                let value = owner.and_then(|slot| {
                    compiler
                        .variant
                        .schema
                        .entity_type_value(slot.urn.entity_type())
                });
                match value {
                    Some(value) => View::Text(value),
                    None => continue,
                }
            }
            Origin::Exists => match parent.owner {
                Some(slot) => View::Flag(loaded.exists(slot)),
                None => continue,
            },
            Origin::Resolve { paths, .. } => match resolved(loaded, parent, plan)? {
                Some(view) => first_non_null(view, paths),
                None => continue,
            },
            Origin::Default(value) => View::Value(value),
        };
        if !view.is_null() {
            return Ok(FieldValue::Borrowed(view));
        }
    }
    Ok(FieldValue::Borrowed(View::Missing))
}

/// The result of the field's resolver; `None` if the parent has no owner.
fn resolved<'l>(
    loaded: &'l Loaded<'_>,
    parent: Parent<'l>,
    plan: &'l ValuePlan,
) -> Result<Option<View<'l>>, Unavailable<'l>> {
    let (Some(owner), Some(call)) = (parent.owner, plan.call) else {
        return Ok(None);
    };
    let outcome = if matches!(parent.value, View::Missing) {
        loaded
            .outcomes
            .get(loaded.slots[owner].first_outcome + call)
    } else {
        let key = CallKey::new(plan, owner, parent.value);
        let outcome = loaded.plain_outcomes.get(&key);
        if outcome.is_none() {
            return Err(Unavailable::Pending(key));
        }
        outcome
    };
    match outcome {
        Some(Ok(value)) => Ok(Some(View::Value(value))),
        Some(Err(failure)) => Err(Unavailable::Failed(Cow::Borrowed(failure))),
        None => Ok(None),
    }
}

/// The value at the first path that has one; without paths the value itself.
fn first_non_null<'l>(view: View<'l>, paths: &[Path]) -> View<'l> {
    if paths.is_empty() {
        return view;
    }
    paths
        .iter()
        .map(|path| view.at(path))
        .find(|found| !found.is_null())
        .unwrap_or(View::Missing)
}

fn key_part<'u>(slot: &'u Slot<'_>, part: &str) -> Option<&'u str> {
    let spec = slot.plan.ty.entity()?;
    // Nothing of the key may be told, and many types must have its parts.
    if slot.is_stand_in() {
        return Some(slot.urn.as_str());
    }
    let index = spec.key_fields.iter().position(|field| *field == part)?;
    slot.urn.key_parts().get(index).copied()
}

/// Fills in a template; `None` if a part has no value.
fn compose(parts: &[TemplatePart], urn: Option<&str>, value: View<'_>) -> Option<String> {
    let mut text = String::new();
    for part in parts {
        match part {
            TemplatePart::Literal(literal) => text.push_str(literal),
            TemplatePart::Urn => text.push_str(urn?),
            TemplatePart::Member(name) => text.push_str(&value.member(name).text()?),
        }
    }
    Some(text)
}

/// The object that a value represents.
#[derive(Debug)]
pub(crate) enum Target<'p, 'l> {
    /// An entity, by its URN.
    Entity(&'p ObjectPlan, Cow<'l, str>),
    /// A JSON object.
    Plain(&'p ObjectPlan, View<'l>),
}

/// Decides which object a value represents; `None` if the selection has no such type.
///
/// If null is not allowed, a URN of an unexpected type becomes a stub of the expected type.
/// Otherwise it would set the parent object to null.
pub(crate) fn target<'p, 'l>(
    value: &'p ValuePlan,
    view: View<'l>,
    compiler: &Compiler<'_>,
) -> Result<Option<Target<'p, 'l>>, LimitExceeded> {
    Ok(match &value.selection {
        Selection::Leaf => None,
        Selection::Object(plan) => object_target(value, plan, view),
        Selection::Abstract(plan) => match possible_type(value, plan, view) {
            Some((index, Shape::Entity(urn))) => {
                Some(Target::Entity(plan.plan(index, compiler)?, urn))
            }
            Some((index, Shape::Plain(view))) => {
                Some(Target::Plain(plan.plan(index, compiler)?, view))
            }
            None => None,
        },
    })
}

fn object_target<'p, 'l>(
    value: &ValuePlan,
    plan: &'p ObjectPlan,
    view: View<'l>,
) -> Option<Target<'p, 'l>> {
    match plan.ty.entity() {
        Some(spec) => {
            let text = view.text()?;
            let fits = entity_type(&text)? == spec.name || allows_stub(value);
            fits.then_some(Target::Entity(plan, text))
        }
        None if plan.ty.variants.is_empty() => Some(Target::Plain(plan, view)),
        None => variant(view, &plan.ty.variants).map(|inner| Target::Plain(plan, inner)),
    }
}

/// What an object of an abstract type is made of.
enum Shape<'l> {
    Entity(Cow<'l, str>),
    Plain(View<'l>),
}

/// The type of a value, by its index among the possible ones.
fn possible_type<'l>(
    value: &ValuePlan,
    plan: &AbstractPlan,
    view: View<'l>,
) -> Option<(usize, Shape<'l>)> {
    if let Some(text) = view.text() {
        let entity_type = entity_type(&text)?;
        let index = plan.ty.possible.iter().position(|possible| {
            possible
                .entity()
                .is_some_and(|spec| spec.name == entity_type)
        });
        let index = index.or_else(|| plan.ty.stub.filter(|_| allows_stub(value)))?;
        return Some((index, Shape::Entity(text)));
    }
    let name = view.member("__typename").text();
    let mut possible = plan.ty.possible.iter().enumerate();
    possible.find_map(|(index, possible)| {
        let inner = if name.as_deref() == Some(possible.name.as_str()) {
            Some(view)
        } else {
            variant(view, &possible.variants)
        };
        inner.map(|inner| (index, Shape::Plain(inner)))
    })
}

fn allows_stub(value: &ValuePlan) -> bool {
    value.field.output.is_innermost_non_null()
}

fn variant<'l>(view: View<'l>, variants: &[Box<str>]) -> Option<View<'l>> {
    variants
        .iter()
        .map(|variant| view.member(variant))
        .find(|inner| !inner.is_null())
}

/// The entity type of a URN.
fn entity_type(urn: &str) -> Option<&str> {
    urn.strip_prefix("urn:li:")?.split(':').next()
}
