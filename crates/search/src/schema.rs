//! The fields of the index.
//!
//! A document is an entity. What people search for goes into four text fields by how much a match there says (the
//! entity's name, its columns, what is said about it, everything else); what is compared, counted or sorted by goes
//! into two fields whatever it is called: `terms` holds `field␀value` for filters, `values` one column for each field. So a
//! new searchable field in the registry needs nothing here.
//!
//! URNs and names are terms of their whole text, never hashes of it: documents are replaced and filtered by them, and
//! two of them must not be mistaken for one another. A term that only one document has costs more to index than ten
//! words that many share, so values that an entity has many of are lists instead ([`crate::list`]).

use tantivy::Term;
use tantivy::schema::{
    FAST, Field, IndexRecordOption, JsonObjectOptions, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::tokenizer::TokenizerManager;

use crate::analysis::{NameTokenizer, TextTokenizer};

/// Changes whenever an index written by an older version cannot be used any more.
pub(crate) const FORMAT: u32 = 9;

/// Stands between a field and its value in `terms`.
const SEPARATOR: char = '\0';
/// Before a last part of a name that is no name itself: no name begins with it.
pub(crate) const LAST_PART_MARK: char = '\u{1}';
/// Longer values are cut in `terms` and `values`: nobody filters by them.
const MAX_VALUE_BYTES: usize = 1024;

#[derive(Debug, Clone)]
pub(crate) struct Fields {
    pub(crate) schema: Schema,
    /// Identifies the document: one term, and a column to read it from.
    pub(crate) urn: Field,
    /// Whole names in lower case, first the one that is shown, and, marked, what is left of them without what they are
    /// qualified by.
    pub(crate) whole_names: Field,
    /// How these begin, without the mark; see [`crate::named`].
    pub(crate) name_start: Field,
    pub(crate) name: Field,
    /// The names of labels once more; see [`crate::label`].
    pub(crate) label: Field,
    pub(crate) column: Field,
    pub(crate) description: Field,
    pub(crate) other: Field,
    pub(crate) terms: Field,
    pub(crate) values: Field,
    /// How good an entity is, whatever is searched for; see [`crate::document`].
    pub(crate) rank: Field,
    /// The beginning of the name as a number: the order among equals.
    pub(crate) order: Field,
}

/// The name of the field of that name, for columns.
pub(crate) const URN: &str = "urn";
pub(crate) const WHOLE_NAMES: &str = "whole_names";
pub(crate) const RANK: &str = "rank";
pub(crate) const ORDER: &str = "order";

impl Fields {
    pub(crate) fn new() -> Self {
        let mut builder = Schema::builder();
        let words = |tokenizer: &str| {
            TextOptions::default().set_indexing_options(
                TextFieldIndexing::default()
                    .set_tokenizer(tokenizer)
                    .set_fieldnorms(false)
                    .set_index_option(IndexRecordOption::WithFreqsAndPositions),
            )
        };
        let keyword = || {
            TextOptions::default().set_indexing_options(
                TextFieldIndexing::default()
                    .set_tokenizer("raw")
                    .set_fieldnorms(false)
                    .set_index_option(IndexRecordOption::Basic),
            )
        };
        let urn = builder.add_text_field(URN, keyword() | FAST);
        let whole_names = builder.add_text_field(WHOLE_NAMES, FAST);
        let name_start = builder.add_text_field("name_start", keyword());
        let name = builder.add_text_field("name", words("name"));
        let label = builder.add_text_field("label", words("name"));
        let column = builder.add_text_field("column", words("name"));
        let description = builder.add_text_field("description", words("text"));
        let other = builder.add_text_field("other", words("text"));
        let terms = builder.add_text_field("terms", keyword());
        let values = builder.add_json_field("values", JsonObjectOptions::default().set_fast("raw"));
        let rank = builder.add_u64_field(RANK, FAST);
        let order = builder.add_u64_field(ORDER, FAST);
        Self {
            schema: builder.build(),
            urn,
            whole_names,
            name_start,
            name,
            label,
            column,
            description,
            other,
            terms,
            values,
            rank,
            order,
        }
    }

    pub(crate) fn tokenizers() -> TokenizerManager {
        let manager = TokenizerManager::default();
        manager.register("name", NameTokenizer::default());
        manager.register("text", TextTokenizer::default());
        manager
    }

    /// The term that stands for a value of a field that has terms.
    pub(crate) fn term(&self, field: &str, value: &str) -> Term {
        let mut text = String::new();
        write_term(&mut text, field, value);
        Term::from_field_text(self.terms, &text)
    }

    /// The term of the only document of an entity.
    pub(crate) fn urn_term(&self, urn: &str) -> Term {
        Term::from_field_text(self.urn, urn)
    }
}

/// Writes the text in `terms` for a value of a field.
pub(crate) fn write_term(text: &mut String, field: &str, value: &str) {
    text.push_str(field);
    text.push(SEPARATOR);
    text.push_str(cut(value));
}

/// Writes the text in `terms` that says that a field has a value at all.
pub(crate) fn write_exists(text: &mut String, field: &str) {
    text.push(SEPARATOR);
    text.push_str(field);
}

/// The beginning of a value that is too long.
pub(crate) fn cut(value: &str) -> &str {
    if value.len() <= MAX_VALUE_BYTES {
        return value;
    }
    let mut end = MAX_VALUE_BYTES;
    while !value.is_char_boundary(end) {
        end -= 1;
    }
    &value[..end]
}

/// Whether a value may be the beginning of one that is too long.
pub(crate) fn may_be_cut(value: &str) -> bool {
    value.len() + char::MAX.len_utf8() > MAX_VALUE_BYTES
}

/// The path of a field's column. Dots and backslashes in a name are no steps of a path.
pub(crate) fn column_path(field: &str) -> String {
    format!("values.{}", field.replace('\\', "\\\\").replace('.', "\\."))
}
