//! How much an operation makes of the schema: an upper bound for the number of values in the answer.
//!
//! A few aliases under a list of all types or fields repeat the whole schema, so what stands below a list counts as
//! often as the list is long. Lists below all types are counted by their sum over the schema; others may be reached
//! from any type, so they count as the longest of their kind.

use std::collections::HashMap;

use apollo_compiler::executable::{Selection, SelectionSet};
use apollo_compiler::schema::ExtendedType;

use crate::plan::Compiler;

/// What the objects of a selection are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Subject {
    /// All types of the schema, or all fields of all of them.
    All,
    /// One of them, reached in whatever way.
    One,
}

/// The values in the answers of an operation that asks about the schema.
pub(super) fn values(compiler: &Compiler<'_>) -> u64 {
    let mut weigher = Weigher {
        compiler,
        lengths: Lengths::of(compiler),
        known: HashMap::new(),
    };
    let weight = weigher.weight(&compiler.operation.node.selection_set, Subject::One, true);
    weight.round() as u64
}

/// The sum and the longest of all lists of one kind, and how many lists there are.
#[derive(Debug, Clone, Copy, Default)]
struct Lists {
    sum: u32,
    longest: u32,
    lists: u32,
}

impl Lists {
    fn add(&mut self, length: usize) {
        let length = length as u32;
        self.sum += length;
        self.longest = self.longest.max(length);
        self.lists += 1;
    }

    fn length(&self, subject: Subject) -> f64 {
        match subject {
            Subject::All => f64::from(self.sum) / f64::from(self.lists.max(1)),
            Subject::One => f64::from(self.longest),
        }
    }
}

#[derive(Debug, Default)]
struct Lengths {
    types: u32,
    directives: u32,
    fields: Lists,
    arguments: Lists,
    input_fields: Lists,
    enum_values: Lists,
    interfaces: Lists,
    possible_types: Lists,
}

impl Lengths {
    fn of(compiler: &Compiler<'_>) -> Self {
        let schema = &compiler.schema.valid;
        let mut lengths = Self {
            types: schema.types.len() as u32,
            directives: schema.directive_definitions.len() as u32,
            ..Self::default()
        };
        for (name, ty) in &schema.types {
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
                ExtendedType::Interface(_) => {
                    let implementers = compiler.schema.implementers.get(name);
                    implementers.map_or(0, |them| them.objects.len())
                }
                _ => 0,
            });
        }
        for directive in schema.directive_definitions.values() {
            let arguments = directive.arguments.len() as u32;
            lengths.arguments.longest = lengths.arguments.longest.max(arguments);
        }
        lengths
    }

    /// How many objects a field gives, and what they are.
    fn below(&self, field: &str, subject: Subject) -> (f64, Subject) {
        match field {
            "types" => (f64::from(self.types), Subject::All),
            "directives" => (f64::from(self.directives), Subject::One),
            "fields" => (self.fields.length(subject), subject),
            "args" => (self.arguments.length(subject), Subject::One),
            "inputFields" => (self.input_fields.length(subject), Subject::One),
            "enumValues" => (self.enum_values.length(subject), Subject::One),
            "interfaces" => (self.interfaces.length(subject), Subject::One),
            "possibleTypes" => (self.possible_types.length(subject), Subject::One),
            _ => (1.0, Subject::One),
        }
    }
}

struct Weigher<'c> {
    compiler: &'c Compiler<'c>,
    lengths: Lengths,
    /// Fragments that were weighed already.
    known: HashMap<(&'c str, Subject, bool), f64>,
}

impl<'c> Weigher<'c> {
    /// The values of a selection on one object. Of a root only questions about the schema count.
    fn weight(&mut self, set: &'c SelectionSet, subject: Subject, root: bool) -> f64 {
        let mut total = 0.0;
        for selection in &set.selections {
            if !self.compiler.conditions.include(selection.directives()) {
                continue;
            }
            total += match selection {
                Selection::Field(field) => {
                    let name = field.name.as_str();
                    if root && !matches!(name, "__schema" | "__type") {
                        continue;
                    }
                    let (count, below) = self.lengths.below(name, subject);
                    1.0 + count * self.weight(&field.selection_set, below, false)
                }
                Selection::InlineFragment(fragment) => {
                    self.weight(&fragment.selection_set, subject, root)
                }
                Selection::FragmentSpread(spread) => {
                    let key = (spread.fragment_name.as_str(), subject, root);
                    if let Some(known) = self.known.get(&key) {
                        *known
                    } else if let Some(fragment) = self.compiler.document.fragments.get(key.0) {
                        let weight = self.weight(&fragment.selection_set, subject, root);
                        self.known.insert(key, weight);
                        weight
                    } else {
                        0.0
                    }
                }
            };
        }
        total
    }
}
