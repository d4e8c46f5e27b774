//! Searches for documents: all of them, or those about an entity.

use docent_catalog::Error;
use docent_catalog::search::{
    Criterion, Facets, MAX_FACET_VALUES, Operator, SearchPage, SearchRequest, Sort, page,
};
use serde::Deserialize;
use serde_json::Value;

use super::input::SearchInput;
use super::{facet, lists};
use crate::{Args, BatchResult, Context, EntityView};

const DEFAULT_COUNT: usize = 20;

/// `SearchDocumentsInput` and `RelatedDocumentsInput`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Input {
    start: Option<i64>,
    count: Option<i64>,
    query: Option<String>,
    parent_documents: Option<Vec<String>>,
    root_only: Option<bool>,
    types: Option<Vec<String>>,
    domains: Option<Vec<String>>,
    related_assets: Option<Vec<String>>,
    source_type: Option<String>,
    tags: Option<Vec<String>>,
    glossary_terms: Option<Vec<String>>,
    creators: Option<Vec<String>>,
    platforms: Option<Vec<String>>,
    states: Option<Vec<String>>,
}

impl Input {
    /// The conditions that must all hold.
    fn criteria(&self) -> Vec<Criterion> {
        let source = self.source_type.clone().map(|name| vec![name]);
        let lists = [
            ("parentDocument", &self.parent_documents),
            ("typeNames", &self.types),
            ("domains", &self.domains),
            ("relatedAssets", &self.related_assets),
            ("sourceType", &source),
            ("tags", &self.tags),
            ("glossaryTerms", &self.glossary_terms),
            ("creator", &self.creators),
            ("platform", &self.platforms),
        ];
        let named = lists.into_iter().filter_map(|(field, values)| {
            let values = values.clone().filter(|values| !values.is_empty())?;
            Some(Criterion {
                field: field.to_owned(),
                values,
                operator: Operator::Equal,
                negated: false,
            })
        });
        let is_root = Criterion::missing("parentDocument");
        let wants_root = self.root_only == Some(true)
            && self.parent_documents.as_ref().is_none_or(Vec::is_empty);
        named.chain(wants_root.then_some(is_root)).collect()
    }

    fn page(&self) -> Result<SearchPage, Error> {
        page(self.start, self.count, DEFAULT_COUNT)
    }
}

pub(in super::super) async fn search_documents(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    let input: Input = arguments.input()?;
    let mut search = SearchInput::of(&arguments)?;
    let order = Order {
        requested: search.sort(),
        newest: "createdAt",
    };
    let mut request = request(context, &input, &order, true).await?;
    search.restrict_to_view(context, &mut request).await?;
    find(context, request, &arguments).await
}

/// The documents about each entity, newest first.
pub(in super::super) async fn related_documents(
    context: &Context,
    entities: &[EntityView<'_>],
    arguments: Args<'_>,
) -> BatchResult {
    let mut input: Input = arguments.input()?;
    let order = Order {
        requested: Vec::new(),
        newest: "lastModifiedAt",
    };
    let mut replies = Vec::with_capacity(entities.len());
    for entity in entities {
        input.related_assets = Some(vec![entity.urn().to_string()]);
        let request = request(context, &input, &order, false).await?;
        replies.push(find(context, request, &arguments).await);
    }
    Ok(replies)
}

struct Order {
    requested: Vec<Sort>,
    /// The field that orders a list without a text to search for.
    newest: &'static str,
}

impl Order {
    /// The best matches of a text come first, unless the caller wants another order.
    fn of(&self, is_everything: bool) -> Vec<Sort> {
        if is_everything && self.requested.is_empty() {
            return vec![Sort {
                field: self.newest.to_owned(),
                descending: true,
            }];
        }
        self.requested.clone()
    }
}

async fn request(
    context: &Context,
    input: &Input,
    order: &Order,
    is_global: bool,
) -> Result<SearchRequest, Error> {
    let states = input.states.as_deref().unwrap_or_default();
    let catalog = &context.catalog;
    let found = catalog.found_documents(&context.caller, states, is_global);
    let mut filter = found.await?;
    for criterion in input.criteria() {
        filter = filter.and(criterion);
    }
    let query = input.query.as_deref().unwrap_or_default().trim();
    let is_everything = matches!(query, "" | "*");
    Ok(SearchRequest {
        types: vec!["document".to_owned()],
        query: if is_everything { "*" } else { query }.to_owned(),
        filter,
        sort: order.of(is_everything),
        page: input.page()?,
        explain_matches: false,
        ..SearchRequest::default()
    })
}

async fn find(
    context: &Context,
    mut request: SearchRequest,
    arguments: &Args<'_>,
) -> Result<Value, Error> {
    if arguments.selects(&["facets"]) {
        request.facets = Facets::Default {
            values: MAX_FACET_VALUES,
        };
    }
    let found = context.catalog.search(&request).await?;
    let mut reply = lists::urn_page(&request.page, &found, "documents");
    reply["facets"] = found.facets.iter().map(facet).collect();
    Ok(reply)
}
