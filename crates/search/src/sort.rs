//! What results can be sorted by.

use docent_model::Registry;
use docent_model::searchable::SearchKind;

use crate::error::SearchError;
use crate::field::{ENTITY_TYPE, Form, HAS_DESCRIPTION, REMOVED, canonical, form_of, is_prose};
use crate::request::Sort;
use crate::schema::{URN, WHOLE_NAMES};

/// The best match first, which is the order without a field.
const SCORE: &str = "_score";

/// The fields to sort by and whether the largest value comes first; none if the best match comes first.
pub(crate) fn fields(sort: &[Sort]) -> Result<Vec<(String, bool)>, SearchError> {
    // No two results that are told apart by their scores are left for what comes behind.
    let before_score = sort.iter().take_while(|it| it.field != SCORE);
    let fields = before_score.map(|it| Ok((field(&it.field)?, it.descending)));
    fields.collect()
}

fn field(asked: &str) -> Result<String, SearchError> {
    let field = canonical(asked);
    if form_of(&field) == Form::Names {
        return Ok(WHOLE_NAMES.to_owned());
    }
    let mut known = Registry::get().search_fields().iter();
    let is_own = [URN, ENTITY_TYPE, HAS_DESCRIPTION, REMOVED].contains(&field.as_str());
    let is_known = known.any(|known| known.name == field || known.has_values == Some(&field));
    if is_own || (is_known && !is_prose(&field)) {
        return Ok(field);
    }
    Err(SearchError::Invalid(format!(
        "'{asked}' cannot be sorted by: use {SCORE}, name, {URN}, {ENTITY_TYPE}, platform, origin, {}, or another search field \
         of the registry that is not prose",
        numbers().join(", ")
    )))
}

/// Fields with times and counts, which are sorted by most.
fn numbers() -> Vec<&'static str> {
    let fields = Registry::get().search_fields().iter();
    let numbers = fields.filter(|it| matches!(it.kind, SearchKind::Count | SearchKind::DateTime));
    numbers.map(|it| it.name).collect()
}
