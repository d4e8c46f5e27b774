//! Conditions for which every value of a field is tested.

use std::borrow::Cow;
use std::cmp::Ordering;

use memchr::memmem::Finder;
use tantivy::query::{EmptyQuery, Query};

use super::{Filters, MAX_VALUES_BY_WORDS};
use crate::error::SearchError;
use crate::field::{IndexForm, form_of};
use crate::schema::{LAST_PART_MARK, URN, WHOLE_NAMES, column_path, write_term};

pub(super) fn lower(values: &[String]) -> Vec<String> {
    values.iter().map(|value| value.to_lowercase()).collect()
}

/// Texts of which every value that passes a test contains at least one. Nearly all lists have none
/// of them, and finding that out is much faster than testing their values.
struct Parts<'p>(Vec<Finder<'p>>);

impl<'p> Parts<'p> {
    /// None if any value may pass.
    fn unknown() -> Self {
        Self(Vec::new())
    }

    fn of(texts: &'p [String]) -> Self {
        if texts.len() > MAX_VALUES_BY_WORDS {
            return Self::unknown();
        }
        Self(texts.iter().map(Finder::new).collect())
    }

    fn may_be_in(&self, list: &str) -> bool {
        let is_in_list = |part: &Finder<'_>| part.find(list.as_bytes()).is_some();
        self.0.is_empty() || self.0.iter().any(is_in_list)
    }
}

impl Filters<'_> {
    /// Documents with a value that has one of the parts in the place that is tested, ignoring case.
    pub(super) fn with_parts(
        &self,
        field: &str,
        parts: &[String],
        test: impl Fn(&str, &str) -> bool,
    ) -> Result<Box<dyn Query>, SearchError> {
        let parts = lower(parts);
        self.matching(field, &parts, |value| {
            parts.iter().any(|part| test(value, part))
        })
    }

    /// Documents with a value whose lower-case form passes the test. If parts are given, every such
    /// form contains one of them.
    pub(crate) fn matching(
        &self,
        field: &str,
        parts: &[String],
        test: impl Fn(&str) -> bool,
    ) -> Result<Box<dyn Query>, SearchError> {
        let parts = Parts::of(parts);
        self.with_value(field, |text| Cow::Owned(text.to_lowercase()), &parts, test)
    }

    /// Documents with a value that passes the test after `change`, which may receive a list of
    /// values at once. All fields of names count as one.
    fn with_value(
        &self,
        field: &str,
        change: impl Fn(&str) -> Cow<'_, str>,
        parts: &Parts<'_>,
        test: impl Fn(&str) -> bool,
    ) -> Result<Box<dyn Query>, SearchError> {
        let passes = |text: &str| {
            let passes = test(&change(text));
            if passes {
                self.budget.count_term();
            }
            passes
        };
        let found = match form_of(field) {
            IndexForm::Terms => {
                let mut start = String::new();
                write_term(&mut start, field, "");
                let mut values = Vec::new();
                self.walk().each_term(self.fields.terms, &start, |text| {
                    let value = &text[start.len()..];
                    if passes(value) {
                        values.push(value.to_owned());
                    }
                })?;
                return self.equal(field, &values);
            }
            IndexForm::Names => {
                let is_name = |text: &str| !text.starts_with(LAST_PART_MARK);
                let passes = |text: &str| Ok(is_name(text) && passes(text));
                self.walk().matching_texts(WHOLE_NAMES, &[""], passes)?
            }
            IndexForm::Lists => {
                let has_any = |text: &str| {
                    let list = change(text);
                    Ok(parts.may_be_in(&list) && self.any_in_list(&list, &test)?)
                };
                let path = column_path(field);
                self.walk().matching_texts(&path, &[""], has_any)?
            }
            IndexForm::Urn => {
                let passes = |text: &str| Ok(passes(text));
                self.walk().matching_texts(URN, &[""], passes)?
            }
        };
        Ok(Box::new(found))
    }

    /// Documents with a value that has one of the prefixes.
    pub(super) fn with_prefix(
        &self,
        field: &str,
        prefixes: &[String],
    ) -> Result<Box<dyn Query>, SearchError> {
        if form_of(field) == IndexForm::Urn {
            let found = self.walk().matching_texts(URN, prefixes, |_| Ok(true))?;
            return Ok(Box::new(found));
        }
        let has_prefix = |value: &str| prefixes.iter().any(|it| value.starts_with(it));
        self.with_value(
            field,
            |text| Cow::Borrowed(text),
            &Parts::unknown(),
            has_prefix,
        )
    }

    pub(super) fn compare(
        &self,
        field: &str,
        values: &[String],
        test: impl Fn(Ordering) -> bool,
    ) -> Result<Box<dyn Query>, SearchError> {
        let Some(bound) = values.first() else {
            return Ok(Box::new(EmptyQuery));
        };
        let number = bound.parse::<f64>().ok();
        let passes = |value: &str| match (number, value.parse::<f64>()) {
            (Some(bound), Ok(value)) => test(value.total_cmp(&bound)),
            (Some(_), Err(_)) => false,
            (None, _) => test(value.cmp(bound)),
        };
        self.with_value(field, |text| Cow::Borrowed(text), &Parts::unknown(), passes)
    }
}
