//! The input of searches, and its conversion to a request of the catalog.

use docent_catalog::Error;
use docent_catalog::search::{
    Criterion, Facets, Filter, MAX_FACET_VALUES, SearchRequest, Sort, criterion, joined, whole,
};
use docent_model::Registry;
use serde::Deserialize;

use crate::entity_types;
use crate::{Args, Context};

/// The values per facet.
pub(in super::super) const DEFAULT_FACET_VALUES: usize = 20;

/// `FacetFilterInput`.
#[derive(Debug, Clone, Deserialize)]
pub(in crate::resolvers) struct FacetFilter {
    pub(in crate::resolvers) field: String,
    pub(in crate::resolvers) values: Option<Vec<String>>,
    pub(in crate::resolvers) negated: Option<bool>,
    pub(in crate::resolvers) condition: Option<String>,
}

/// `AndFilterInput`: conditions that must all hold.
#[derive(Debug, Clone, Deserialize)]
pub(in crate::resolvers) struct AndFilter {
    pub(in crate::resolvers) and: Option<Vec<FacetFilter>>,
}

impl FacetFilter {
    /// Converts the condition for search.
    pub(in crate::resolvers) fn criterion(&self) -> Result<Criterion, Error> {
        let values = self.values.iter().flatten();
        criterion(
            entity_types::field_name(&self.field),
            values
                .map(|value| entity_types::filter_value(&self.field, value))
                .collect(),
            self.condition.as_deref(),
            self.negated.unwrap_or(false),
        )
    }
}

/// The supported flags. Flags about caches, restricted entities and other engines are ignored.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SearchFlags {
    max_agg_values: Option<i64>,
    skip_highlighting: Option<bool>,
    skip_aggregates: Option<bool>,
    include_soft_deleted: Option<bool>,
    include_hidden_lifecycle_stages: Option<bool>,
    filter_non_latest_versions: Option<bool>,
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

/// The union of the inputs of all searches.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SearchInput {
    pub(super) r#type: Option<String>,
    pub(super) types: Option<Vec<String>>,
    pub(super) query: Option<String>,
    pub(super) start: Option<i64>,
    pub(super) count: Option<i64>,
    scroll_id: Option<String>,
    filters: Option<Vec<FacetFilter>>,
    or_filters: Option<Vec<AndFilter>>,
    view_urn: Option<String>,
    search_flags: Option<SearchFlags>,
    sort_input: Option<SortInput>,
    sort: Option<SortCriterion>,
    pub(super) facets: Option<Vec<Option<String>>>,
    pub(super) path: Option<Vec<String>>,
    pub(super) limit: Option<i64>,
    pub(super) source: Option<String>,
    pub(super) dataset_urn: Option<String>,
    pub(super) resource_urn: Option<String>,
    pub(super) view_type: Option<String>,
    pub(super) system_sources: Option<bool>,
}

impl SearchInput {
    pub(super) fn of(arguments: &Args<'_>) -> Result<Self, Error> {
        Ok(arguments.input::<Option<Self>>()?.unwrap_or_default())
    }

    /// Restricts the request to the view that the input names, if any.
    pub(super) async fn restrict_to_view(
        &self,
        context: &Context,
        request: &mut SearchRequest,
    ) -> Result<(), Error> {
        let Some(view) = self.view_urn.as_deref().filter(|view| !view.is_empty()) else {
            return Ok(());
        };
        let view = Registry::get().parse_urn(view)?;
        let (catalog, caller) = (&context.catalog, &context.caller);
        catalog.restrict_to_view(caller, request, &view).await
    }

    /// The cursor of a scroll; `None` for the first page, for which some clients send an empty one.
    pub(super) fn cursor(&mut self) -> Option<String> {
        self.scroll_id.take().filter(|cursor| !cursor.is_empty())
    }

    /// The registry names of the entity types; empty means the default types.
    pub(super) fn entity_types(&self) -> Result<Vec<String>, Error> {
        let several = self.types.as_deref().unwrap_or_default();
        match &self.r#type {
            Some(one) if several.is_empty() => {
                entity_types::registry_names(std::slice::from_ref(one))
            }
            _ => entity_types::registry_names(several),
        }
    }

    /// Removes the legacy filter on a field, for searches that treat it in their own way.
    pub(super) fn take_filter(&mut self, field: &str) -> Option<FacetFilter> {
        let filters = self.filters.as_mut()?;
        let index = filters.iter().position(|filter| filter.field == field)?;
        Some(filters.remove(index))
    }

    /// Combines the legacy `filters` and `orFilters`; both must hold.
    pub(super) fn filter(&mut self) -> Result<Filter, Error> {
        let any = self.or_filters.take().unwrap_or_default();
        let any = any
            .iter()
            .map(|alternative| criteria(alternative.and.as_deref().unwrap_or_default()))
            .collect::<Result<_, Error>>()?;
        joined(any, criteria(&self.filters.take().unwrap_or_default())?)
    }

    /// Builds the request, except the page and the facets: in the view that the input names, and
    /// for these types if it names none.
    pub(super) async fn request(
        &mut self,
        context: &Context,
        default_types: &[&str],
    ) -> Result<SearchRequest, Error> {
        let flags = self.flags();
        let mut request = SearchRequest {
            types: self.entity_types()?,
            query: self.query.clone().unwrap_or_default(),
            include_removed: flags.include_soft_deleted == Some(true),
            include_hidden_stages: flags.include_hidden_lifecycle_stages == Some(true),
            include_older_versions: flags.filter_non_latest_versions == Some(false),
            explain_matches: flags.skip_highlighting != Some(true),
            filter: self.filter()?,
            sort: self.sort(),
            ..SearchRequest::default()
        };
        if request.types.is_empty() {
            request.types = default_types
                .iter()
                .map(|name| (*name).to_owned())
                .collect();
        }
        self.restrict_to_view(context, &mut request).await?;
        Ok(request)
    }

    /// The facets to count: the requested fields, or the default ones.
    pub(super) fn facets(&self) -> Result<Facets, Error> {
        let flags = self.flags();
        let limit = whole("maxAggValues", flags.max_agg_values, DEFAULT_FACET_VALUES)?;
        let values = limit.min(MAX_FACET_VALUES);
        let requested = self.facets.iter().flatten().flatten();
        let fields: Vec<String> = requested
            .map(|field| entity_types::field_name(field))
            .collect();
        Ok(match (flags.skip_aggregates, fields.is_empty()) {
            (_, false) => Facets::Named { fields, values },
            (Some(true), true) => Facets::None,
            (_, true) => Facets::Default { values },
        })
    }

    fn flags(&self) -> &SearchFlags {
        const DEFAULT: &SearchFlags = &SearchFlags {
            max_agg_values: None,
            skip_highlighting: None,
            skip_aggregates: None,
            include_soft_deleted: None,
            include_hidden_lifecycle_stages: None,
            filter_non_latest_versions: None,
        };
        self.search_flags.as_ref().unwrap_or(DEFAULT)
    }

    pub(super) fn sort(&mut self) -> Vec<Sort> {
        let input = self.sort_input.take().unwrap_or_default();
        let one = input
            .sort_criterion
            .or_else(|| self.sort.take())
            .into_iter();
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
