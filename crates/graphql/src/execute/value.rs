//! The value of a field: the first of its sources that has one.

use std::borrow::Cow;

use super::loaded::{CallKey, Content, Loaded, Slot};
use crate::error::Failure;
use crate::json::View;
use crate::path::Path;
use crate::plan::{Compiler, ObjectPlan, Selection, ValuePlan};
use crate::schema::source::{Origin, Piece};

/// Where a field is read: in an entity, or in a JSON value that belongs to one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'l> {
    /// The slot of the owner; values of root resolvers have none.
    pub(crate) owner: Option<usize>,
    /// Missing if the place is the entity itself.
    pub(crate) current: View<'l>,
}

/// A value, or a text that had to be made.
#[derive(Debug)]
pub(crate) enum Found<'l> {
    View(View<'l>),
    Text(String),
}

impl Found<'_> {
    pub(crate) fn view(&self) -> View<'_> {
        match self {
            Self::View(view) => *view,
            Self::Text(text) => View::Text(text),
        }
    }
}

/// Why there is no value.
#[derive(Debug)]
pub(crate) enum Unavailable<'l> {
    Failed(Cow<'l, Failure>),
    /// A resolver has to be called first.
    NotYet(CallKey),
}

/// Looks a value up in what is loaded.
pub(crate) fn read<'l>(
    loaded: &'l Loaded<'_>,
    compiler: &'l Compiler<'_>,
    place: Place<'l>,
    plan: &'l ValuePlan,
) -> Result<Found<'l>, Unavailable<'l>> {
    let owner = place.owner.map(|slot| &loaded.slots[slot]);
    for (origin, cell) in plan.origins().iter().zip(&plan.cells) {
        let view = match origin {
            Origin::Aspect { aspect, paths } => {
                let Some(slot) = owner else {
                    continue;
                };
                let stored = &loaded.cells[slot.first_cell + cell];
                let (Some(row), Some(shape)) = (stored.row, &slot.plan.needs[*cell].shape) else {
                    continue;
                };
                match &stored.content {
                    Content::Nothing => continue,
                    Content::Damaged => {
                        return Err(Unavailable::Failed(Cow::Owned(Failure::server(format!(
                            "the stored aspect {aspect} of {} is damaged: it is not JSON",
                            slot.urn
                        )))));
                    }
                    Content::Parsed(parsed) => {
                        let text = &loaded.rows[row].metadata;
                        first(View::parsed(parsed, shape, text), paths)
                    }
                }
            }
            Origin::Inside(paths) => first(place.current, paths),
            Origin::Key(part) => match owner.and_then(|slot| key_part(slot, part)) {
                Some(part) => View::Text(part),
                None => continue,
            },
            Origin::Compose(pieces) => {
                match compose(pieces, owner.map(|slot| slot.urn.as_str()), place.current) {
                    Some(text) => return Ok(Found::Text(text)),
                    None => continue,
                }
            }
            Origin::Urn => match owner {
                Some(slot) => View::Text(slot.urn.as_str()),
                None => continue,
            },
            Origin::EntityType => {
                let value = owner
                    .and_then(|slot| compiler.schema.entity_type_value(slot.urn.entity_type()));
                match value {
                    Some(value) => View::Text(value),
                    None => continue,
                }
            }
            Origin::Exists => match place.owner {
                Some(slot) => View::Flag(loaded.exists(slot)),
                None => continue,
            },
            Origin::Resolve { .. } => match resolved(loaded, place, plan)? {
                Some(view) => view,
                None => continue,
            },
            Origin::Default(value) => View::Value(value),
        };
        if !view.is_null() {
            return Ok(Found::View(view));
        }
    }
    Ok(Found::View(View::Missing))
}

/// The result of the field's resolver; `None` if there is nobody to resolve it for.
fn resolved<'l>(
    loaded: &'l Loaded<'_>,
    place: Place<'l>,
    plan: &'l ValuePlan,
) -> Result<Option<View<'l>>, Unavailable<'l>> {
    let (Some(owner), Some(call)) = (place.owner, plan.call) else {
        return Ok(None);
    };
    let outcome = if matches!(place.current, View::Missing) {
        loaded
            .outcomes
            .get(loaded.slots[owner].first_outcome + call)
    } else {
        let key = CallKey::new(plan, owner, place.current);
        let outcome = loaded.plain_outcomes.get(&key);
        if outcome.is_none() {
            return Err(Unavailable::NotYet(key));
        }
        outcome
    };
    match outcome {
        Some(Ok(value)) => Ok(Some(View::Value(value))),
        Some(Err(failure)) => Err(Unavailable::Failed(Cow::Borrowed(failure))),
        None => Ok(None),
    }
}

/// The first path that leads to something; without paths the value itself.
fn first<'l>(view: View<'l>, paths: &[Path]) -> View<'l> {
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
    let index = spec.key_fields.iter().position(|field| *field == part)?;
    slot.urn.key_parts().get(index).copied()
}

/// `None` if a piece is missing.
fn compose(pieces: &[Piece], urn: Option<&str>, current: View<'_>) -> Option<String> {
    let mut text = String::new();
    for piece in pieces {
        match piece {
            Piece::Literal(literal) => text.push_str(literal),
            Piece::Urn => text.push_str(urn?),
            Piece::Member(name) => text.push_str(&current.member(name).text()?),
        }
    }
    Some(text)
}

/// What a value is an object of.
#[derive(Debug)]
pub(crate) enum Target<'p, 'l> {
    /// An entity, by its URN.
    Entity(&'p ObjectPlan, Cow<'l, str>),
    /// JSON.
    Plain(&'p ObjectPlan, View<'l>),
}

/// Decides which object a value is; `None` if it is none that the selection has. Where null is not allowed, a URN of
/// another type than the schema expects is a stub of the expected one: it must not take what stands around it away.
pub(crate) fn target<'p, 'l>(
    value: &'p ValuePlan,
    view: View<'l>,
    compiler: &Compiler<'_>,
) -> Option<Target<'p, 'l>> {
    let may_be_stub = || value.field.output.is_innermost_non_null();
    match &value.selection {
        Selection::Leaf => None,
        Selection::Object(plan) => match plan.ty.entity() {
            Some(spec) => {
                let text = view.text()?;
                let fits = entity_type(&text)? == spec.name || may_be_stub();
                fits.then_some(Target::Entity(plan, text))
            }
            None if plan.ty.variants.is_empty() => Some(Target::Plain(plan, view)),
            None => variant(view, &plan.ty.variants).map(|inner| Target::Plain(plan, inner)),
        },
        Selection::Abstract(plan) => {
            if let Some(text) = view.text() {
                let wanted = entity_type(&text)?;
                let index =
                    plan.ty.possible.iter().position(|possible| {
                        possible.entity().is_some_and(|spec| spec.name == wanted)
                    });
                let index = index.or_else(|| plan.ty.stub.filter(|_| may_be_stub()))?;
                return Some(Target::Entity(plan.plan(index, compiler), text));
            }
            let name = view.member("__typename").text();
            for (index, possible) in plan.ty.possible.iter().enumerate() {
                if name.as_deref() == Some(possible.name.as_str()) {
                    return Some(Target::Plain(plan.plan(index, compiler), view));
                }
                if let Some(inner) = variant(view, &possible.variants) {
                    return Some(Target::Plain(plan.plan(index, compiler), inner));
                }
            }
            None
        }
    }
}

fn variant<'l>(view: View<'l>, variants: &[Box<str>]) -> Option<View<'l>> {
    variants
        .iter()
        .map(|variant| view.member(variant))
        .find(|inner| !inner.is_null())
}

/// The entity type in a URN's text.
fn entity_type(urn: &str) -> Option<&str> {
    let mut parts = urn.splitn(4, ':');
    (parts.next()? == "urn").then_some(())?;
    parts.nth(1)
}
