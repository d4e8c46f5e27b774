//! The columns that results are sorted by.
//!
//! A reference to an entity that the caller may not see counts as missing: the order of results,
//! and the cursors of scrolls, would tell what it is.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;

use tantivy::columnar::{Column, StrColumn};
use tantivy::{DocId, SegmentReader};

use crate::column::first_ordinal_after;
use crate::field::{BROWSE_PATH_SEPARATOR, is_property, numbers_column};
use crate::schema::{URN, WHOLE_NAMES, column_path};
use crate::view::ViewLookup;

/// A column to sort results by.
pub(crate) enum SortColumn<'v> {
    Text(TextColumn<'v>),
    Number(Column<i64>),
    Missing,
}

/// A text column without the references that the caller may not see.
pub(crate) struct TextColumn<'v> {
    pub(crate) texts: StrColumn,
    /// `None` if the caller may see all texts.
    view: Option<&'v ViewLookup<'v>>,
    /// The ordinals of URNs and of paths with them. Others need not be read.
    references: [Range<u64>; 2],
    /// Whether the caller may see a text, by its ordinal, once that was needed.
    shown: RefCell<HashMap<u64, bool>>,
}

impl<'v> SortColumn<'v> {
    pub(crate) fn open(
        reader: &SegmentReader,
        field: &str,
        view: Option<&'v ViewLookup<'v>>,
    ) -> tantivy::Result<Self> {
        // Those of the results themselves.
        let is_own = [URN, WHOLE_NAMES].contains(&field);
        let path = if is_own {
            field.to_owned()
        } else {
            column_path(field)
        };
        let fast = reader.fast_fields();
        if is_property(field)
            && let Some(numbers) = fast.column_opt::<i64>(&column_path(&numbers_column(field)))?
        {
            return Ok(Self::Number(numbers));
        }
        if let Some(texts) = fast.str(&path)? {
            let view = view.filter(|_| !is_own);
            return TextColumn::new(texts, view).map(Self::Text);
        }
        if let Some(column) = fast.column_opt::<i64>(&path)? {
            return Ok(Self::Number(column));
        }
        Ok(Self::Missing)
    }
}

impl<'v> TextColumn<'v> {
    fn new(texts: StrColumn, view: Option<&'v ViewLookup<'v>>) -> tantivy::Result<Self> {
        let starting_with = |start: &str| {
            let end = first_ordinal_after(&texts, &format!("{start}{}", char::MAX))?;
            Ok::<_, tantivy::TantivyError>(first_ordinal_after(&texts, start)?..end)
        };
        let references = match view {
            Some(_) => [
                starting_with("urn:")?,
                starting_with(&BROWSE_PATH_SEPARATOR.to_string())?,
            ],
            None => Default::default(),
        };
        Ok(Self {
            texts,
            view,
            references,
            shown: RefCell::default(),
        })
    }

    /// The ordinal of the first text of a document.
    pub(crate) fn ordinal(&self, document: DocId) -> tantivy::Result<Option<u64>> {
        let ordinals = self.texts.ords();
        let Some(view) = self.view else {
            return Ok(ordinals.first(document));
        };
        for ordinal in ordinals.values_for_doc(document) {
            if !self.references.iter().any(|it| it.contains(&ordinal)) {
                return Ok(Some(ordinal));
            }
            let known = self.shown.borrow().get(&ordinal).copied();
            let is_shown = match known {
                Some(is_shown) => is_shown,
                None => view.shows(&self.text_of(ordinal)?)?,
            };
            self.shown.borrow_mut().insert(ordinal, is_shown);
            if is_shown {
                return Ok(Some(ordinal));
            }
        }
        Ok(None)
    }

    /// The first text of a document.
    pub(crate) fn text(&self, document: DocId) -> tantivy::Result<Option<String>> {
        let ordinal = self.ordinal(document)?;
        ordinal.map(|ordinal| self.text_of(ordinal)).transpose()
    }

    fn text_of(&self, ordinal: u64) -> tantivy::Result<String> {
        let mut text = String::new();
        self.texts.ord_to_str(ordinal, &mut text)?;
        Ok(text)
    }
}
