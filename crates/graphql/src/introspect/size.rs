//! An upper bound for the number of values in an introspection result.
//!
//! A few aliases below a list of all types or fields repeat the whole schema, so selections below a
//! list count once per element. Below the list of all types, the lengths of lists are averages over
//! the schema; elsewhere any type may be reached, so they are the longest of their kind.

use std::collections::HashMap;

use apollo_compiler::executable::{Selection, SelectionSet};
use apollo_compiler::schema::ExtendedType;

use crate::document::OperationVariant;
use crate::schema::Schema;

/// The objects that a selection set applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Parents {
    /// All types of the schema, or all fields of all types.
    All,
    /// Any single type or field.
    Any,
}

/// An upper bound for the number of values in the results of `__schema` and `__type`.
pub(super) fn estimated_values(variant: OperationVariant<'_>) -> u64 {
    let mut estimator = Estimator {
        variant,
        lengths: SchemaLengths::of(variant.schema),
        fragments: HashMap::new(),
    };
    let values = estimator.values(variant.selection_set(), Parents::Any, true);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the estimate is positive, and the cast saturates"
    )]
    let values = values.round() as u64;
    values
}

/// The lengths of all lists of one kind.
#[derive(Debug, Clone, Copy, Default)]
struct ListLengths {
    sum: u32,
    longest: u32,
    lists: u32,
}

impl ListLengths {
    fn add(&mut self, length: usize) {
        let length = saturating_u32(length);
        self.sum = self.sum.saturating_add(length);
        self.longest = self.longest.max(length);
        self.lists += 1;
    }

    fn length(&self, parents: Parents) -> f64 {
        match parents {
            Parents::All => f64::from(self.sum) / f64::from(self.lists.max(1)),
            Parents::Any => f64::from(self.longest),
        }
    }
}

#[derive(Debug, Default)]
struct SchemaLengths {
    types: u32,
    directives: u32,
    fields: ListLengths,
    arguments: ListLengths,
    input_fields: ListLengths,
    enum_values: ListLengths,
    interfaces: ListLengths,
    possible_types: ListLengths,
}

impl SchemaLengths {
    fn of(schema: &Schema) -> Self {
        let Schema {
            valid,
            implementers,
            ..
        } = schema;
        let mut lengths = Self {
            types: saturating_u32(valid.types.len()),
            directives: saturating_u32(valid.directive_definitions.len()),
            ..Self::default()
        };
        for (name, ty) in &valid.types {
            let (fields, interfaces) = match ty {
                ExtendedType::Object(ty) => (Some(&ty.fields), ty.implements_interfaces.len()),
                ExtendedType::Interface(ty) => (Some(&ty.fields), ty.implements_interfaces.len()),
                _ => (None, 0),
            };
            let fields: Vec<_> = fields.into_iter().flatten().collect();
            for (_, field) in &fields {
                lengths.arguments.add(field.arguments.len());
            }
            lengths.fields.add(fields.len());
            lengths.interfaces.add(interfaces);
            lengths.input_fields.add(match ty {
                ExtendedType::InputObject(ty) => ty.fields.len(),
                _ => 0,
            });
            lengths.enum_values.add(match ty {
                ExtendedType::Enum(ty) => ty.values.len(),
                _ => 0,
            });
            lengths.possible_types.add(match ty {
                ExtendedType::Union(ty) => ty.members.len(),
                ExtendedType::Interface(_) => implementers
                    .get(name)
                    .map_or(0, |implementers| implementers.objects.len()),
                _ => 0,
            });
        }
        for directive in valid.directive_definitions.values() {
            let arguments = saturating_u32(directive.arguments.len());
            lengths.arguments.longest = lengths.arguments.longest.max(arguments);
        }
        lengths
    }

    /// The number of objects in the result of a field, and which objects they are.
    fn below(&self, field: &str, parents: Parents) -> (f64, Parents) {
        match field {
            "types" => (f64::from(self.types), Parents::All),
            "directives" => (f64::from(self.directives), Parents::Any),
            "fields" => (self.fields.length(parents), parents),
            "args" => (self.arguments.length(parents), Parents::Any),
            "inputFields" => (self.input_fields.length(parents), Parents::Any),
            "enumValues" => (self.enum_values.length(parents), Parents::Any),
            "interfaces" => (self.interfaces.length(parents), Parents::Any),
            "possibleTypes" => (self.possible_types.length(parents), Parents::Any),
            _ => (1.0, Parents::Any),
        }
    }
}

fn saturating_u32(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

struct Estimator<'d> {
    variant: OperationVariant<'d>,
    lengths: SchemaLengths,
    fragments: HashMap<(&'d str, Parents, bool), f64>,
}

impl<'d> Estimator<'d> {
    /// The values of a selection set on one object. On the root only `__schema` and `__type` count.
    fn values(&mut self, set: &'d SelectionSet, parents: Parents, is_root: bool) -> f64 {
        let mut total = 0.0;
        for selection in &set.selections {
            if !self.variant.includes(selection.directives()) {
                continue;
            }
            total += match selection {
                Selection::Field(field) => {
                    let name = field.name.as_str();
                    if is_root && !matches!(name, "__schema" | "__type") {
                        continue;
                    }
                    let (count, below) = self.lengths.below(name, parents);
                    1.0 + count * self.values(&field.selection_set, below, false)
                }
                Selection::InlineFragment(fragment) => {
                    self.values(&fragment.selection_set, parents, is_root)
                }
                Selection::FragmentSpread(spread) => {
                    let key = (spread.fragment_name.as_str(), parents, is_root);
                    if let Some(values) = self.fragments.get(&key) {
                        *values
                    } else if let Some(fragment) = self.variant.fragments().get(key.0) {
                        let values = self.values(&fragment.selection_set, parents, is_root);
                        self.fragments.insert(key, values);
                        values
                    } else {
                        0.0
                    }
                }
            };
        }
        total
    }
}
