//! The document type that is passed to tantivy.
//!
//! tantivy's own document serializes every value and reads it three times while indexing, which
//! costs a tenth of the indexing time. This one concatenates the texts and stores numbers directly.

use std::borrow::Cow;
use std::ops::Range;

use tantivy::schema::Field;
use tantivy::schema::document::{Document, ReferenceValue, ReferenceValueLeaf, Value};

use super::TYPICAL_VALUES;
use crate::list;
use crate::pending_text::PendingText;

/// Initial capacity that fits the texts of a typical table.
const TYPICAL_BYTES: usize = 4096;

/// The values of an entity for the fields of the index.
#[derive(Debug)]
pub(crate) struct EntityDocument {
    /// All texts, concatenated.
    texts: String,
    values: Vec<(Field, StoredValue)>,
    /// Values of the column field, each with the name of its column.
    columns: Vec<(Cow<'static, str>, StoredValue)>,
    /// Counts the texts while the document waits.
    pending: Option<PendingText>,
}

/// A value, or its range in the texts.
#[derive(Debug, Clone)]
enum StoredValue {
    Text(Range<usize>),
    Number(u64),
    Signed(i64),
    Real(f64),
    Columns,
}

impl EntityDocument {
    pub(super) fn new() -> Self {
        Self {
            texts: String::with_capacity(TYPICAL_BYTES),
            values: Vec::with_capacity(TYPICAL_VALUES),
            columns: Vec::with_capacity(TYPICAL_VALUES),
            pending: None,
        }
    }

    /// Waits until the document may wait for a thread of the index. Blocks the thread.
    #[must_use]
    pub(crate) fn queued(mut self) -> Self {
        self.pending = Some(PendingText::wait_for(self.texts.len()));
        self
    }

    pub(super) fn add_text(&mut self, field: Field, text: &str) {
        self.write_text(field, |texts| texts.push_str(text));
    }

    /// Adds the text that `write` appends.
    pub(super) fn write_text(&mut self, field: Field, write: impl FnOnce(&mut String)) {
        let start = self.texts.len();
        write(&mut self.texts);
        let value = StoredValue::Text(start..self.texts.len());
        self.values.push((field, value));
    }

    pub(super) fn add_number(&mut self, field: Field, number: u64) {
        self.values.push((field, StoredValue::Number(number)));
    }

    pub(super) fn add_text_column(&mut self, column: Cow<'static, str>, text: &str) {
        let start = self.texts.len();
        self.texts.push_str(text);
        let value = StoredValue::Text(start..self.texts.len());
        self.columns.push((column, value));
    }

    pub(super) fn add_number_column(&mut self, column: Cow<'static, str>, number: i64) {
        let value = StoredValue::Signed(number);
        self.columns.push((column, value));
    }

    pub(super) fn add_real_column(&mut self, column: Cow<'static, str>, number: f64) {
        let value = StoredValue::Real(number);
        self.columns.push((column, value));
    }

    /// Adds values in the form of lists.
    pub(super) fn add_list_column<'v>(
        &mut self,
        column: Cow<'static, str>,
        values: impl Iterator<Item = Cow<'v, str>>,
    ) {
        let columns = &mut self.columns;
        list::write(values, &mut self.texts, move |value| {
            columns.push((column.clone(), StoredValue::Text(value)));
        });
    }

    /// Sets the field that holds the columns.
    pub(super) fn set_columns(&mut self, field: Field) {
        self.values.push((field, StoredValue::Columns));
    }
}

impl Document for EntityDocument {
    type Value<'a> = ValueRef<'a>;
    type FieldsValuesIter<'a> = ValueIter<'a>;

    fn iter_fields_and_values(&self) -> ValueIter<'_> {
        ValueIter {
            document: self,
            rest: self.values.iter(),
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct ValueRef<'d> {
    document: &'d EntityDocument,
    value: &'d StoredValue,
}

/// Values with their field.
#[derive(Debug)]
pub(crate) struct ValueIter<'d> {
    document: &'d EntityDocument,
    rest: std::slice::Iter<'d, (Field, StoredValue)>,
}

impl<'d> Iterator for ValueIter<'d> {
    type Item = (Field, ValueRef<'d>);

    fn next(&mut self) -> Option<Self::Item> {
        let (field, value) = self.rest.next()?;
        let document = self.document;
        Some((*field, ValueRef { document, value }))
    }
}

/// Values with their column.
#[derive(Debug)]
pub(crate) struct ColumnIter<'d> {
    document: &'d EntityDocument,
    rest: std::slice::Iter<'d, (Cow<'static, str>, StoredValue)>,
}

impl<'d> Iterator for ColumnIter<'d> {
    type Item = (&'d str, ValueRef<'d>);

    fn next(&mut self) -> Option<Self::Item> {
        let (column, value) = self.rest.next()?;
        let document = self.document;
        Some((column, ValueRef { document, value }))
    }
}

impl<'d> Value<'d> for ValueRef<'d> {
    type ArrayIter = std::iter::Empty<Self>;
    type ObjectIter = ColumnIter<'d>;

    fn as_value(&self) -> ReferenceValue<'d, Self> {
        let document = self.document;
        let leaf = match self.value {
            StoredValue::Text(value) => ReferenceValueLeaf::Str(&document.texts[value.clone()]),
            StoredValue::Number(number) => ReferenceValueLeaf::U64(*number),
            StoredValue::Signed(number) => ReferenceValueLeaf::I64(*number),
            StoredValue::Real(number) => ReferenceValueLeaf::F64(*number),
            StoredValue::Columns => {
                let rest = document.columns.iter();
                return ReferenceValue::Object(ColumnIter { document, rest });
            }
        };
        ReferenceValue::Leaf(leaf)
    }
}
