//! Resolves the fields to sort by.

use docent_model::Registry;
use docent_model::searchable::SearchKind;

use crate::error::SearchError;
use crate::field::{
    ENTITY_TYPE, HAS_DESCRIPTION, IndexForm, REMOVED, canonical, form_of, is_property, is_prose,
};
use crate::request::Sort;
use crate::schema::{URN, WHOLE_NAMES};

/// Best match first, as without a sort field.
const SCORE: &str = "_score";

/// The fields to sort by, each with whether it is descending; empty if the best match comes first.
pub(crate) fn fields(sort: &[Sort]) -> Result<Vec<(String, bool)>, SearchError> {
    // Fields after the score are ignored: scores hardly ever tie.
    let before_score = sort.iter().take_while(|it| it.field != SCORE);
    let fields = before_score.map(|it| Ok((field(&it.field)?, it.descending)));
    fields.collect()
}

fn field(requested: &str) -> Result<String, SearchError> {
    let field = canonical(requested);
    if form_of(&field) == IndexForm::Names {
        return Ok(WHOLE_NAMES.to_owned());
    }
    let mut known = Registry::get().search_fields().iter();
    if is_property(&field) {
        return Ok(field);
    }
    let is_own = [URN, ENTITY_TYPE, HAS_DESCRIPTION, REMOVED].contains(&field.as_str());
    let is_known = known.any(|known| known.name == field || known.has_values == Some(&field));
    if is_own || (is_known && !is_prose(&field)) {
        return Ok(field);
    }
    Err(SearchError::Invalid(format!(
        "'{requested}' cannot be sorted by: use {SCORE}, name, {URN}, {ENTITY_TYPE}, platform, origin, {}, \
         or another search field of the registry that is not prose",
        numbers().join(", ")
    )))
}

/// Fields of times and counts, the usual ones to sort by.
fn numbers() -> Vec<&'static str> {
    let fields = Registry::get().search_fields().iter();
    let numbers = fields.filter(|it| matches!(it.kind, SearchKind::Count | SearchKind::DateTime));
    numbers.map(|it| it.name).collect()
}
