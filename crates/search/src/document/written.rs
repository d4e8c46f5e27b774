//! A document as the library takes it.
//!
//! The library's own writes every value into a form that it reads again three times while it indexes: a tenth of
//! the work of indexing. This one has the texts side by side, and numbers as they are.

use std::borrow::Cow;
use std::ops::Range;

use tantivy::schema::Field;
use tantivy::schema::document::{Document, ReferenceValue, ReferenceValueLeaf, Value};

use super::USUAL_VALUES;
use crate::list;

/// The size that the texts of a table have.
const USUAL_BYTES: usize = 4096;

/// The values of an entity for the fields of the index.
#[derive(Debug)]
pub(crate) struct EntityDocument {
    /// All of them, one behind the other.
    texts: String,
    values: Vec<(Field, Place)>,
    /// What the field of columns gets, by the name of the column, which comes again with each of its values.
    columns: Vec<(&'static str, Place)>,
}

/// A value, or where it is.
#[derive(Debug, Clone)]
enum Place {
    Text(Range<usize>),
    Number(u64),
    Signed(i64),
    Real(f64),
    Columns,
}

impl EntityDocument {
    pub(super) fn new() -> Self {
        Self {
            texts: String::with_capacity(USUAL_BYTES),
            values: Vec::with_capacity(USUAL_VALUES),
            columns: Vec::with_capacity(USUAL_VALUES),
        }
    }

    pub(super) fn add_text(&mut self, field: Field, text: &str) {
        self.write_text(field, |texts| texts.push_str(text));
    }

    /// Adds what is written behind the texts that are there.
    pub(super) fn write_text(&mut self, field: Field, write: impl FnOnce(&mut String)) {
        let start = self.texts.len();
        write(&mut self.texts);
        let place = Place::Text(start..self.texts.len());
        self.values.push((field, place));
    }

    pub(super) fn add_number(&mut self, field: Field, number: u64) {
        self.values.push((field, Place::Number(number)));
    }

    pub(super) fn add_text_column(&mut self, column: &'static str, text: &str) {
        let start = self.texts.len();
        self.texts.push_str(text);
        let place = Place::Text(start..self.texts.len());
        self.columns.push((column, place));
    }

    pub(super) fn add_number_column(&mut self, column: &'static str, number: i64) {
        self.columns.push((column, Place::Signed(number)));
    }

    pub(super) fn add_real_column(&mut self, column: &'static str, number: f64) {
        self.columns.push((column, Place::Real(number)));
    }

    /// Adds values that are kept as lists.
    pub(super) fn add_list_column<'v>(
        &mut self,
        column: &'static str,
        values: impl Iterator<Item = Cow<'v, str>>,
    ) {
        let columns = &mut self.columns;
        list::write(values, &mut self.texts, |place| {
            columns.push((column, Place::Text(place)));
        });
    }

    /// Says which field has the columns.
    pub(super) fn set_columns(&mut self, field: Field) {
        self.values.push((field, Place::Columns));
    }
}

impl Document for EntityDocument {
    type Value<'a> = Written<'a>;
    type FieldsValuesIter<'a> = Values<'a, Field>;

    fn iter_fields_and_values(&self) -> Values<'_, Field> {
        Values {
            document: self,
            left: self.values.iter(),
        }
    }
}

/// A value of a document.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Written<'d> {
    document: &'d EntityDocument,
    place: &'d Place,
}

/// Values with what they are for.
#[derive(Debug)]
pub(crate) struct Values<'d, K> {
    document: &'d EntityDocument,
    left: std::slice::Iter<'d, (K, Place)>,
}

impl<'d, K: Copy> Iterator for Values<'d, K> {
    type Item = (K, Written<'d>);

    fn next(&mut self) -> Option<Self::Item> {
        let (key, place) = self.left.next()?;
        let document = self.document;
        Some((*key, Written { document, place }))
    }
}

impl<'d> Value<'d> for Written<'d> {
    type ArrayIter = std::iter::Empty<Self>;
    type ObjectIter = Values<'d, &'d str>;

    fn as_value(&self) -> ReferenceValue<'d, Self> {
        let document = self.document;
        let leaf = match self.place {
            Place::Text(place) => ReferenceValueLeaf::Str(&document.texts[place.clone()]),
            Place::Number(number) => ReferenceValueLeaf::U64(*number),
            Place::Signed(number) => ReferenceValueLeaf::I64(*number),
            Place::Real(number) => ReferenceValueLeaf::F64(*number),
            Place::Columns => {
                let left = document.columns.iter();
                return ReferenceValue::Object(Values { document, left });
            }
        };
        ReferenceValue::Leaf(leaf)
    }
}
