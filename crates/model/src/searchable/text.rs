//! Extracts the searchable values of an aspect from its JSON text.
//!
//! Skips members that are not searched while parsing, and borrows values from the text. Building a
//! tree first takes four times as long, which matters when an index is rebuilt.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Number, Value};

use super::{MAX_DEPTH, SearchField, SearchKind, SearchValue, each_entry};
use crate::registry::{Plan, PlanId, SearchPlans};

pub(super) type ValueCallback<'f, 'v> = &'f mut dyn FnMut(&'static SearchField, SearchValue<'v>);

/// Reads a whole text.
pub(super) fn read<'v>(
    plans: &SearchPlans,
    root: PlanId,
    text: &'v str,
    found: ValueCallback<'_, 'v>,
) -> serde_json::Result<()> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let members = Reader {
        plans,
        plan: Step::Members(root),
        depth: 0,
        found,
    };
    members.deserialize(&mut deserializer)?;
    deserializer.end()
}

/// How to read the next value.
#[derive(Clone, Copy)]
enum Step<'p> {
    Members(PlanId),
    Plan(&'p Plan),
}

struct Reader<'r, 'f, 'v> {
    plans: &'r SearchPlans,
    plan: Step<'r>,
    depth: usize,
    found: ValueCallback<'f, 'v>,
}

impl<'r, 'v> Reader<'r, '_, 'v> {
    /// The field of the value itself.
    fn field(&self) -> Option<&'static SearchField> {
        match self.plan {
            Step::Plan(Plan::Value(field)) => Some(field),
            _ => None,
        }
    }

    fn inner<'i>(&'i mut self, plan: Step<'r>, depth: usize) -> Reader<'r, 'i, 'v> {
        Reader {
            plans: self.plans,
            plan,
            depth,
            found: &mut *self.found,
        }
    }

    fn text(self, text: Cow<'v, str>) {
        use SearchKind::{Keyword, Map, Text, Urn};
        if let Some(field) = self.field()
            && matches!(field.kind, Text | Keyword | Urn | Map)
        {
            (self.found)(field, SearchValue::Text(text));
        }
    }

    fn number(self, number: &Number) {
        let Some(field) = self.field() else {
            return;
        };
        let value = match field.kind {
            SearchKind::Count | SearchKind::DateTime => number.as_i64().map(SearchValue::Number),
            SearchKind::Double => number.as_f64().map(SearchValue::Real),
            _ => None,
        };
        if let Some(value) = value {
            (self.found)(field, value);
        }
    }

    fn length(self, length: i64) {
        if let Some(field) = self.field()
            && field.kind == SearchKind::Count
        {
            (self.found)(field, SearchValue::Number(length));
        }
    }
}

impl<'v> DeserializeSeed<'v> for Reader<'_, '_, 'v> {
    type Value = ();

    fn deserialize<D: Deserializer<'v>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'v> Visitor<'v> for Reader<'_, '_, 'v> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, flag: bool) -> Result<(), E> {
        if let Some(field) = self.field()
            && field.kind == SearchKind::Boolean
        {
            (self.found)(field, SearchValue::Flag(flag));
        }
        Ok(())
    }

    fn visit_i64<E>(self, number: i64) -> Result<(), E> {
        self.number(&number.into());
        Ok(())
    }

    fn visit_u64<E>(self, number: u64) -> Result<(), E> {
        self.number(&number.into());
        Ok(())
    }

    fn visit_f64<E>(self, number: f64) -> Result<(), E> {
        if let Some(number) = Number::from_f64(number) {
            self.number(&number);
        }
        Ok(())
    }

    fn visit_borrowed_str<E>(self, text: &'v str) -> Result<(), E> {
        self.text(Cow::Borrowed(text));
        Ok(())
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.text(Cow::Owned(text.to_owned()));
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'v>>(mut self, mut items: A) -> Result<(), A::Error> {
        if let Step::Plan(Plan::Each(inner)) = self.plan {
            let depth = self.depth;
            while items
                .next_element_seed(self.inner(Step::Plan(inner), depth))?
                .is_some()
            {}
            return Ok(());
        }
        let mut length = 0;
        while items.next_element::<IgnoredAny>()?.is_some() {
            length += 1;
        }
        self.length(length);
        Ok(())
    }

    fn visit_map<A: MapAccess<'v>>(mut self, mut members: A) -> Result<(), A::Error> {
        let (plans, depth) = (self.plans, self.depth);
        let id = match self.plan {
            Step::Members(id) => Some(id),
            Step::Plan(Plan::Members(id)) if depth <= MAX_DEPTH => Some(*id),
            Step::Plan(_) => None,
        };
        if let Some(id) = id {
            while let Some(plan) = members.next_key_seed(MemberName { plans, id })? {
                match plan {
                    Some(plan) => {
                        members.next_value_seed(self.inner(Step::Plan(plan), depth + 1))?;
                    }
                    None => {
                        members.next_value::<IgnoredAny>()?;
                    }
                }
            }
            return Ok(());
        }
        match self.plan {
            Step::Plan(Plan::Each(inner)) => {
                while members.next_key::<IgnoredAny>()?.is_some() {
                    members.next_value_seed(self.inner(Step::Plan(inner), depth))?;
                }
            }
            Step::Plan(Plan::Entries(field)) => {
                while let Some(key) = members.next_key::<Cow<'v, str>>()? {
                    let value: Value = members.next_value()?;
                    each_entry(&key, &value, &mut |text| {
                        (self.found)(field, SearchValue::Text(Cow::Owned(text)));
                    });
                }
            }
            _ => {
                let mut length = 0;
                while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
                    length += 1;
                }
                self.length(length);
            }
        }
        Ok(())
    }
}

/// Reads the name of a member and looks up its plan.
struct MemberName<'r> {
    plans: &'r SearchPlans,
    id: PlanId,
}

impl<'r, 'v> DeserializeSeed<'v> for MemberName<'r> {
    type Value = Option<&'r Plan>;

    fn deserialize<D: Deserializer<'v>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'r> Visitor<'_> for MemberName<'r> {
    type Value = Option<&'r Plan>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a member name")
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok(self.plans.member(self.id, name))
    }
}
