//! The fields of the index.
//!
//! A document is an entity. What people search for goes into four text fields by how much a match there says (the
//! entity's name, its columns, what is said about it, everything else); what is compared, counted or sorted by goes
//! into two fields whatever it is called: `terms` holds `field␀value` for filters, `values` one column for each field. So a new
//! searchable field in the registry needs nothing here.

use tantivy::Term;
use tantivy::schema::{
    FAST, Field, IndexRecordOption, JsonObjectOptions, STRING, Schema, TextFieldIndexing,
    TextOptions,
};
use tantivy::tokenizer::TokenizerManager;

use crate::analysis::{NameTokenizer, TextTokenizer};

/// Changes whenever an index written by an older version cannot be used any more.
pub(crate) const FORMAT: u32 = 2;

/// Stands between a field and its value in `terms`.
const SEPARATOR: char = '\0';
/// Longer values are cut in `terms` and `values`: nobody filters by them.
const MAX_VALUE_BYTES: usize = 1024;

#[derive(Debug, Clone)]
pub(crate) struct Fields {
    pub(crate) schema: Schema,
    pub(crate) urn: Field,
    /// Whole names in lower case, with and without what they are qualified by.
    pub(crate) exact_name: Field,
    pub(crate) name: Field,
    pub(crate) column: Field,
    pub(crate) description: Field,
    pub(crate) other: Field,
    /// For each of the four before it the pairs of words that stand there as one name, written together.
    joined: [Field; 4],
    pub(crate) terms: Field,
    pub(crate) values: Field,
    /// How good an entity is, whatever is searched for; see [`crate::document`].
    pub(crate) rank: Field,
    /// The beginning of the name as a number: the order among equals.
    pub(crate) order: Field,
}

/// The name of the field of that name, for columns.
pub(crate) const URN: &str = "urn";
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
        let urn = builder.add_text_field(URN, STRING | FAST);
        let exact_name = builder.add_text_field("exact_name", keyword());
        let name = builder.add_text_field("name", words("name"));
        let column = builder.add_text_field("column", words("name"));
        let description = builder.add_text_field("description", words("text"));
        let other = builder.add_text_field("other", words("text"));
        let joined = ["name", "column", "description", "other"]
            .map(|field| builder.add_text_field(&format!("{field}_joined"), keyword()));
        let terms = builder.add_text_field("terms", keyword());
        let values = builder.add_json_field("values", JsonObjectOptions::default().set_fast("raw"));
        let rank = builder.add_u64_field(RANK, FAST);
        let order = builder.add_u64_field(ORDER, FAST);
        Self {
            schema: builder.build(),
            urn,
            exact_name,
            name,
            column,
            description,
            other,
            joined,
            terms,
            values,
            rank,
            order,
        }
    }

    /// Where the words of a text field stand that are pairs of words written together.
    pub(crate) fn joined(&self, field: Field) -> Field {
        let fields = [self.name, self.column, self.description, self.other];
        let at = fields.iter().position(|it| *it == field);
        self.joined[at.unwrap_or_default()]
    }

    pub(crate) fn tokenizers() -> TokenizerManager {
        let manager = TokenizerManager::default();
        manager.register("name", NameTokenizer::default());
        manager.register("text", TextTokenizer::default());
        manager
    }

    /// The term that stands for a value of a field. URNs have a field of their own, by which documents are replaced.
    pub(crate) fn term(&self, field: &str, value: &str) -> Term {
        if field == URN {
            return Term::from_field_text(self.urn, value);
        }
        Term::from_field_text(self.terms, &term_text(field, value))
    }
}

pub(crate) fn term_text(field: &str, value: &str) -> String {
    // Thirty times for each document: formatting would take longer.
    let value = cut(value);
    let mut text = String::with_capacity(field.len() + 1 + value.len());
    text.push_str(field);
    text.push(SEPARATOR);
    text.push_str(value);
    text
}

/// The term that says that a field has a value at all.
pub(crate) fn exists_text(field: &str) -> String {
    format!("{SEPARATOR}{field}")
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

/// The path of a field's column. Dots and backslashes in a name are no steps of a path.
pub(crate) fn column_path(field: &str) -> String {
    format!("values.{}", field.replace('\\', "\\\\").replace('.', "\\."))
}
