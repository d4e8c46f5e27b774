//! The fields of the index.
//!
//! A document is an entity. Searchable texts go into four text fields by relevance: names, columns,
//! descriptions and everything else. Values to filter, count or sort by go into two fields,
//! whatever their search field: `terms` holds `field␀value` for filters, and `values` has one
//! column for each search field. So a new search field in the registry needs no change here.
//!
//! URNs and names are terms of their full text, never hashes of it: documents are replaced and
//! filtered by them, and two of them must not be mistaken for one another. A term of a single
//! document costs more to index than ten words that many documents share, so fields with many
//! values per entity are lists instead ([`crate::list`]).

use tantivy::Term;
use tantivy::schema::{
    FAST, Field, IndexRecordOption, JsonObjectOptions, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::tokenizer::TokenizerManager;

use crate::analysis::{NameTokenizer, TextTokenizer};

/// To be raised when older indexes cannot be used any more. They are rebuilt.
pub(crate) const FORMAT: u32 = 14;

/// Separates the field from its value in `terms`.
const SEPARATOR: char = '\0';
/// Precedes the last part of a qualified name in `whole_names`. No name starts with it.
pub(crate) const LAST_PART_MARK: char = '\u{1}';
/// Longer values are truncated in `terms` and `values`.
const MAX_VALUE_BYTES: usize = 1024;

#[derive(Debug, Clone)]
pub(crate) struct Fields {
    pub(crate) schema: Schema,
    /// Identifies the document. A term, and a column to read it from.
    pub(crate) urn: Field,
    /// Folded whole names, the display name first, and the last parts of qualified ones, marked.
    pub(crate) whole_names: Field,
    /// Prefixes of the whole names, without the mark; see [`crate::whole_name`].
    pub(crate) name_start: Field,
    pub(crate) name: Field,
    /// The names of labels again; see [`crate::label`].
    pub(crate) label: Field,
    pub(crate) column: Field,
    pub(crate) description: Field,
    pub(crate) other: Field,
    pub(crate) terms: Field,
    pub(crate) values: Field,
    /// Ranks entities regardless of the query; see [`crate::document`].
    pub(crate) rank: Field,
    /// The start of the name as a number, which orders results of equal score.
    pub(crate) order: Field,
}

/// Names of fields that are read as columns.
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

    /// The term of a value of a field.
    pub(crate) fn term(&self, field: &str, value: &str) -> Term {
        let mut text = String::new();
        write_term(&mut text, field, value);
        Term::from_field_text(self.terms, &text)
    }

    /// The term that only the document of this entity has.
    pub(crate) fn urn_term(&self, urn: &str) -> Term {
        Term::from_field_text(self.urn, urn)
    }
}

/// Appends the text of [`Fields::term`].
pub(crate) fn write_term(text: &mut String, field: &str, value: &str) {
    text.push_str(field);
    text.push(SEPARATOR);
    text.push_str(cut(value));
}

/// Appends the text in `terms` of documents that have a value of a field.
pub(crate) fn write_exists(text: &mut String, field: &str) {
    text.push(SEPARATOR);
    text.push_str(field);
}

/// Truncates a value that is too long.
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

/// Whether a value may be truncated, or may be the start of one that was.
pub(crate) fn may_be_cut(value: &str) -> bool {
    value.len() + char::MAX.len_utf8() > MAX_VALUE_BYTES
}

/// The path of a field's column, with dots and backslashes escaped.
pub(crate) fn column_path(field: &str) -> String {
    format!("values.{}", field.replace('\\', "\\\\").replace('.', "\\."))
}
