//! The meaning of a filter, for every API.
//! - Operators have DataHub's names.
//! - A field may be a pair, `_entityType␞typeNames`, with pairs as values: both must match.
//! - An entity without a status is not removed, so `removed` is compared with true only.

use docent_model::Urn;
use docent_model::searchable::strip_keyword_suffix;
use docent_search::{IS_LATEST, LIFECYCLE_STAGE, REMOVED};

use super::{Criterion, Filter, Operator, PAIR_SEPARATOR, SearchRequest};
use crate::Error;

/// Pairs multiply alternatives; a filter that grows beyond this is a mistake.
const MAX_ALTERNATIVES: usize = 1000;
const MAX_CONDITIONS: usize = 10_000;

/// A condition as clients write it: the operator by its name, equality by default.
pub fn criterion(
    field: String,
    values: Vec<String>,
    condition: Option<&str>,
    negated: bool,
) -> Result<Criterion, Error> {
    let (operator, negated) = match condition.unwrap_or("EQUAL") {
        "EQUAL" | "IN" => (Operator::Equal, negated),
        "IEQUAL" => (Operator::EqualIgnoringCase, negated),
        "CONTAIN" => (Operator::Contains, negated),
        "START_WITH" => (Operator::StartsWith, negated),
        "END_WITH" => (Operator::EndsWith, negated),
        "EXISTS" => (Operator::Exists, negated),
        "IS_NULL" => (Operator::Exists, !negated),
        "GREATER_THAN" => (Operator::Greater, negated),
        "GREATER_THAN_OR_EQUAL_TO" => (Operator::GreaterOrEqual, negated),
        "LESS_THAN" => (Operator::Less, negated),
        "LESS_THAN_OR_EQUAL_TO" => (Operator::LessOrEqual, negated),
        "DESCENDANTS_INCL" => (Operator::DescendantsIncluded, negated),
        "ANCESTORS_INCL" => (Operator::AncestorsIncluded, negated),
        "RELATED_INCL" => (Operator::RelatedIncluded, negated),
        other => {
            return Err(Error::invalid(format!(
                "the filter on {field} has the unknown condition '{other}': use EQUAL, IEQUAL, IN, \
                 CONTAIN, START_WITH, END_WITH, EXISTS, GREATER_THAN, LESS_THAN or DESCENDANTS_INCL"
            )));
        }
    };
    Ok(Criterion {
        field,
        values,
        operator,
        negated,
    })
}

/// Alternatives, and conditions that every alternative gets.
pub fn joined(any: Vec<Vec<Criterion>>, always: Vec<Criterion>) -> Result<Filter, Error> {
    // Each condition is repeated in each alternative, so a small request could ask for very many.
    let repeated = always.len().saturating_mul(any.len().max(1));
    let conditions = any.iter().map(Vec::len).sum::<usize>();
    if any.len() > MAX_ALTERNATIVES {
        return Err(too_many());
    }
    if conditions.saturating_add(repeated) > MAX_CONDITIONS {
        return Err(Error::invalid(format!(
            "the filter has {} conditions: at most {MAX_CONDITIONS} are allowed; send several values in one \
             condition instead",
            conditions.saturating_add(repeated)
        )));
    }
    let filter = Filter { any };
    Ok(always.into_iter().fold(filter, Filter::and))
}

/// The filter for entities that name no parent in a field. Those whose parent is hidden count, too.
pub(crate) fn roots(field: &str, below_hidden: &[Urn]) -> Filter {
    let mut roots = Filter::all(vec![Criterion::missing(field)]);
    if !below_hidden.is_empty() {
        let urns = below_hidden.iter().map(|urn| urn.as_str().to_owned());
        roots.any.push(vec![Criterion {
            field: "urn".to_owned(),
            values: urns.collect(),
            operator: Operator::Equal,
            negated: false,
        }]);
    }
    roots
}

/// The condition that an entity is removed, or that it is not.
pub(super) fn removed(removed: bool) -> Criterion {
    Criterion {
        negated: !removed,
        ..Criterion::equal(REMOVED, "true")
    }
}

/// Resolves pairs, and conditions on `removed`. Those replace the default of leaving removed
/// entities out; alternatives without such a condition still leave them out. A condition on the
/// lifecycle stage or the latest version replaces the default for all alternatives, as in DataHub.
pub(super) fn prepare(request: &mut SearchRequest) -> Result<(), Error> {
    let mut any = Vec::with_capacity(request.filter.any.len());
    for alternative in std::mem::take(&mut request.filter.any) {
        any.extend(without_pairs(alternative)?);
        if any.len() > MAX_ALTERNATIVES {
            return Err(too_many());
        }
    }
    let names = |field| any.iter().flatten().any(|it| is_about(it, field));
    request.include_hidden_stages |= names(LIFECYCLE_STAGE);
    request.include_older_versions |= names(IS_LATEST);
    if names(REMOVED) {
        for alternative in &mut any {
            let names_removal = alternative.iter().any(|it| is_about(it, REMOVED));
            *alternative = std::mem::take(alternative)
                .into_iter()
                .filter_map(removal)
                .collect();
            if !names_removal && !request.include_removed {
                alternative.push(removed(false));
            }
        }
        request.include_removed = true;
    }
    request.filter.any = any;
    Ok(())
}

fn is_about(criterion: &Criterion, field: &str) -> bool {
    strip_keyword_suffix(&criterion.field) == field
}

/// The same condition on `removed`, in terms of true alone; `None` if it always holds.
fn removal(criterion: Criterion) -> Option<Criterion> {
    if !is_about(&criterion, REMOVED)
        || !matches!(
            criterion.operator,
            Operator::Equal | Operator::EqualIgnoringCase
        )
    {
        return Some(criterion);
    }
    let names = |expected: &str| {
        let mut values = criterion.values.iter();
        values.any(|value| value.eq_ignore_ascii_case(expected))
    };
    match (names("true"), names("false")) {
        (true, true) if !criterion.negated => None,
        (true, false) => Some(removed(!criterion.negated)),
        (false, true) => Some(removed(criterion.negated)),
        _ => Some(criterion),
    }
}

/// An alternative with pairs as alternatives without any.
fn without_pairs(criteria: Vec<Criterion>) -> Result<Vec<Vec<Criterion>>, Error> {
    let mut any: Vec<Vec<Criterion>> = vec![Vec::new()];
    for criterion in criteria {
        if !criterion.field.contains(PAIR_SEPARATOR) {
            for alternative in &mut any {
                alternative.push(criterion.clone());
            }
            continue;
        }
        for choice in choices(&criterion) {
            if any.len().saturating_mul(choice.len()) > MAX_ALTERNATIVES {
                return Err(too_many());
            }
            any = any
                .iter()
                .flat_map(|alternative| {
                    choice.iter().map(|more| {
                        let mut both = alternative.clone();
                        both.extend(more.iter().cloned());
                        both
                    })
                })
                .collect();
        }
    }
    Ok(any)
}

/// A condition on a pair as a conjunction of choices, each between lists of conditions.
fn choices(criterion: &Criterion) -> Vec<Vec<Vec<Criterion>>> {
    if criterion.values.is_empty() {
        return valueless_choices(criterion);
    }
    let parts = criterion.values.iter().map(|value| {
        let part = |(field, value): (&str, &str)| Criterion {
            field: field.to_owned(),
            values: vec![value.to_owned()],
            operator: criterion.operator,
            negated: criterion.negated,
        };
        let fields = criterion.field.split(PAIR_SEPARATOR);
        fields
            .zip(value.split(PAIR_SEPARATOR))
            .map(part)
            .collect::<Vec<Criterion>>()
    });
    if criterion.negated {
        // Each pair must fail, and it does if one half of it does.
        parts
            .map(|pair| pair.into_iter().map(|half| vec![half]).collect())
            .collect()
    } else {
        vec![parts.collect()]
    }
}

/// A condition on a pair that names no values: what it says holds of both halves. No choice at all
/// would be a filter without alternatives, which accepts everything.
fn valueless_choices(criterion: &Criterion) -> Vec<Vec<Vec<Criterion>>> {
    let halves = criterion
        .field
        .split(PAIR_SEPARATOR)
        .map(|field| Criterion {
            field: field.to_owned(),
            ..criterion.clone()
        });
    if criterion.negated {
        vec![halves.map(|half| vec![half]).collect()]
    } else {
        vec![vec![halves.collect()]]
    }
}

fn too_many() -> Error {
    Error::invalid(format!(
        "the filter has more than {MAX_ALTERNATIVES} alternatives: name fewer values"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn equal(field: &str, values: &[&str], negated: bool) -> Criterion {
        let values = values.iter().map(|value| (*value).to_owned()).collect();
        criterion(field.to_owned(), values, None, negated).unwrap()
    }

    fn filtered(any: Vec<Vec<Criterion>>) -> SearchRequest {
        SearchRequest {
            filter: Filter { any },
            ..SearchRequest::default()
        }
    }

    fn prepared(any: Vec<Vec<Criterion>>) -> (Vec<Vec<Criterion>>, bool) {
        let mut request = filtered(any);
        prepare(&mut request).unwrap();
        (request.filter.any, request.include_removed)
    }

    #[test]
    fn a_filter_without_removed_leaves_the_default_alone() {
        let any = vec![vec![equal("platform", &["hive"], false)]];
        assert_eq!(prepared(any.clone()), (any, false));
        assert_eq!(prepared(Vec::new()), (Vec::new(), false));
    }

    #[test]
    fn filters_for_active_entities_include_those_without_a_status() {
        for (values, negated) in [(["true"], true), (["false"], false), (["FALSE"], false)] {
            let condition = equal("removed.keyword", &values, negated);
            assert_eq!(
                prepared(vec![vec![condition]]),
                (vec![vec![removed(false)]], true)
            );
        }
        for (values, negated) in [(["true"], false), (["false"], true)] {
            let condition = equal("removed", &values, negated);
            assert_eq!(
                prepared(vec![vec![condition]]),
                (vec![vec![removed(true)]], true)
            );
        }
        let both = equal("removed", &["true", "false"], false);
        assert_eq!(prepared(vec![vec![both]]), (vec![vec![]], true));
    }

    #[test]
    fn an_alternative_that_is_silent_about_removal_still_leaves_removed_entities_out() {
        let platform = equal("platform", &["hive"], false);
        let condition = vec![
            vec![equal("removed", &["true"], false)],
            vec![platform.clone()],
        ];
        assert_eq!(
            prepared(condition),
            (
                vec![vec![removed(true)], vec![platform, removed(false)]],
                true
            )
        );
    }

    #[test]
    fn conditions_on_stages_and_versions_replace_the_default_of_leaving_some_out() {
        let included = |condition: Option<Criterion>| {
            let mut request = filtered(vec![condition.into_iter().collect()]);
            prepare(&mut request).unwrap();
            (
                request.include_hidden_stages,
                request.include_older_versions,
            )
        };
        assert_eq!(included(None), (false, false));
        let stages = ["urn:li:lifecycleStageType:draft"];
        let draft = equal("lifecycleStage.keyword", &stages, false);
        assert_eq!(included(Some(draft)), (true, false));
        let older = equal("isLatest", &["false"], false);
        assert_eq!(included(Some(older)), (false, true));
    }

    #[test]
    fn a_pair_holds_as_a_whole_and_fails_as_a_whole() {
        let field = "_entityType␞typeNames";
        let kind = |name: &str, negated| equal("_entityType", &[name], negated);
        let sub = |name: &str, negated| equal("typeNames", &[name], negated);
        let (any, _) = prepared(vec![vec![equal(
            field,
            &["dataset␞View", "container"],
            false,
        )]]);
        assert_eq!(
            any,
            [
                vec![kind("dataset", false), sub("View", false)],
                vec![kind("container", false)]
            ]
        );
        let (any, _) = prepared(vec![vec![equal(
            field,
            &["dataset␞View", "container"],
            true,
        )]]);
        assert_eq!(
            any,
            [
                vec![kind("dataset", true), kind("container", true)],
                vec![sub("View", true), kind("container", true)]
            ]
        );
    }

    #[test]
    fn a_pair_without_values_is_no_filter_that_accepts_everything() {
        let field = "_entityType␞typeNames";
        let half = |field, negated| equal(field, &[], negated);
        let (any, _) = prepared(vec![vec![equal(field, &[], false)]]);
        assert_eq!(
            any,
            [vec![half("_entityType", false), half("typeNames", false)]]
        );
        let (any, _) = prepared(vec![vec![equal(field, &[], true)]]);
        assert_eq!(
            any,
            [
                vec![half("_entityType", true)],
                vec![half("typeNames", true)]
            ]
        );
    }

    #[test]
    fn filters_with_too_many_combinations_are_rejected() {
        let values: Vec<String> = (0..40).map(|number| format!("a␞{number}")).collect();
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        let pair = equal("_entityType␞typeNames", &values, true);
        let error = prepare(&mut filtered(vec![vec![pair]])).unwrap_err();
        assert!(error.to_string().contains("name fewer values"), "{error}");
    }

    #[test]
    fn conditions_that_are_repeated_in_every_alternative_are_counted_before_they_are() {
        let some = |count: usize| vec![equal("platform", &["hive"], false); count];
        let filter = joined(vec![some(1); 10], some(9)).unwrap();
        assert_eq!(filter.any, vec![some(10); 10]);
        assert_eq!(joined(Vec::new(), some(2)).unwrap().any, [some(2)]);
        let error = joined(vec![Vec::new(); 1000], some(11)).unwrap_err();
        assert!(error.to_string().contains("11000 conditions"), "{error}");
        let error = joined(vec![Vec::new(); 1_000_000], some(1_000_000)).unwrap_err();
        assert!(error.to_string().contains("1000 alternatives"), "{error}");
    }

    #[test]
    fn an_unknown_condition_is_rejected_with_a_list_of_the_known_ones() {
        let error = criterion("name".to_owned(), Vec::new(), Some("LIKE"), false).unwrap_err();
        assert_eq!(error.kind(), crate::ErrorKind::Invalid);
        assert!(error.to_string().contains("'LIKE'"), "{error}");
        let missing = criterion("name".to_owned(), Vec::new(), Some("IS_NULL"), false).unwrap();
        assert_eq!(missing.operator, Operator::Exists);
        assert!(missing.negated);
    }
}
