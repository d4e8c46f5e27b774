//! What searches are given, and how it becomes a request of the catalog.

use docent_catalog::Error;
use docent_catalog::search::{
    Criterion, Facets, Filter, MAX_FACET_VALUES, Request, Sort, criterion, joined, whole,
};
use serde::Deserialize;

use super::kinds;
use crate::Args;

/// How many values a facet lists.
const DEFAULT_FACET_VALUES: usize = 20;

/// A condition as it is sent.
#[derive(Debug, Clone, Deserialize)]
pub(in crate::resolvers) struct FacetFilter {
    pub(in crate::resolvers) field: String,
    pub(in crate::resolvers) values: Option<Vec<String>>,
    pub(in crate::resolvers) negated: Option<bool>,
    pub(in crate::resolvers) condition: Option<String>,
}

/// Conditions that must all hold, as they are sent.
#[derive(Debug, Clone, Deserialize)]
pub(in crate::resolvers) struct AndFilter {
    pub(in crate::resolvers) and: Option<Vec<FacetFilter>>,
}

impl FacetFilter {
    /// The condition as search takes it.
    pub(in crate::resolvers) fn criterion(&self) -> Result<Criterion, Error> {
        let values = self.values.iter().flatten();
        criterion(
            kinds::field_name(&self.field),
            values
                .map(|value| kinds::filter_value(&self.field, value))
                .collect(),
            self.condition.as_deref(),
            self.negated.unwrap_or(false),
        )
    }
}

/// Flags that change what is found here. Those about caches, restricted entities and the workings of another engine
/// change nothing.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Flags {
    max_agg_values: Option<i64>,
    skip_highlighting: Option<bool>,
    skip_aggregates: Option<bool>,
    include_soft_deleted: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SortInput {
    sort_criterion: Option<SortCriterion>,
    sort_criteria: Option<Vec<SortCriterion>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SortCriterion {
    field: String,
    sort_order: String,
}

/// The members that all searches have, as far as each has them.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Input {
    pub(super) r#type: Option<String>,
    pub(super) types: Option<Vec<String>>,
    pub(super) query: Option<String>,
    pub(super) start: Option<i64>,
    pub(super) count: Option<i64>,
    pub(super) scroll_id: Option<String>,
    filters: Option<Vec<FacetFilter>>,
    or_filters: Option<Vec<AndFilter>>,
    view_urn: Option<String>,
    search_flags: Option<Flags>,
    sort_input: Option<SortInput>,
    pub(super) facets: Option<Vec<Option<String>>>,
    pub(super) path: Option<Vec<String>>,
    pub(super) limit: Option<i64>,
    pub(super) source: Option<String>,
    pub(super) dataset_urn: Option<String>,
}

impl Input {
    pub(super) fn of(arguments: &Args<'_>) -> Result<Self, Error> {
        let input: Self = arguments.input::<Option<Self>>()?.unwrap_or_default();
        if input.view_urn.is_some() {
            return Err(Error::invalid(
                "there are no saved views here yet: leave viewUrn out, and give the filter itself in orFilters",
            ));
        }
        Ok(input)
    }

    /// The kinds by their names in the registry; none named means the usual ones.
    pub(super) fn kinds(&self) -> Result<Vec<String>, Error> {
        let several = self.types.as_deref().unwrap_or_default();
        match &self.r#type {
            Some(one) if several.is_empty() => kinds::in_registry(std::slice::from_ref(one)),
            _ => kinds::in_registry(several),
        }
    }

    /// The old list of conditions and the new alternatives must both hold.
    pub(super) fn filter(&mut self) -> Result<Filter, Error> {
        let any = self.or_filters.take().unwrap_or_default();
        let any = any
            .iter()
            .map(|alternative| criteria(alternative.and.as_deref().unwrap_or_default()))
            .collect::<Result<_, Error>>()?;
        joined(any, criteria(&self.filters.take().unwrap_or_default())?)
    }

    /// Everything but the page and the facets.
    pub(super) fn request(&mut self) -> Result<Request, Error> {
        let flags = self.flags();
        Ok(Request {
            types: self.kinds()?,
            query: self.query.clone().unwrap_or_default(),
            include_removed: flags.include_soft_deleted == Some(true),
            explain_matches: flags.skip_highlighting != Some(true),
            filter: self.filter()?,
            sort: self.sort(),
            ..Request::default()
        })
    }

    /// The facets to count: these fields, or the usual ones.
    pub(super) fn facets(&self) -> Result<Facets, Error> {
        let flags = self.flags();
        let most = whole("maxAggValues", flags.max_agg_values, DEFAULT_FACET_VALUES)?;
        let values = most.min(MAX_FACET_VALUES);
        let named = self.facets.iter().flatten().flatten();
        let fields: Vec<String> = named.map(|field| kinds::field_name(field)).collect();
        Ok(match (flags.skip_aggregates, fields.is_empty()) {
            (_, false) => Facets::Named { fields, values },
            (Some(true), true) => Facets::None,
            (_, true) => Facets::Usual { values },
        })
    }

    fn flags(&self) -> &Flags {
        const DEFAULT: &Flags = &Flags {
            max_agg_values: None,
            skip_highlighting: None,
            skip_aggregates: None,
            include_soft_deleted: None,
        };
        self.search_flags.as_ref().unwrap_or(DEFAULT)
    }

    fn sort(&mut self) -> Vec<Sort> {
        let input = self.sort_input.take().unwrap_or_default();
        let one = input.sort_criterion.into_iter();
        let all = input.sort_criteria.unwrap_or_else(|| one.collect());
        all.into_iter()
            .map(|criterion| Sort {
                field: criterion.field,
                descending: criterion.sort_order == "DESCENDING",
            })
            .collect()
    }
}

fn criteria(filters: &[FacetFilter]) -> Result<Vec<Criterion>, Error> {
    filters.iter().map(FacetFilter::criterion).collect()
}
