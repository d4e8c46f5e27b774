//! The members of domains, the contents of containers, the children of glossary nodes and data
//! products, and the runs of ingestion sources and jobs.

use docent_catalog::products::{ENTITY, PARENT};
use docent_catalog::search::{
    Criterion, Facets, Filter, SearchPage, SearchRequest, SearchResults, Sort, page,
};
use docent_model::Urn;

use super::input::SearchInput;
use super::{lists, results, scroll_request};
use crate::{Args, BatchResult, Context, EntityView};

const DEFAULT_COUNT: usize = 20;

/// The entity types in containers.
const CONTAINED_TYPES: [&str; 4] = ["dataset", "chart", "dashboard", "container"];

pub(in super::super) async fn domain_entities(
    context: &Context,
    entities: &[EntityView<'_>],
    arguments: Args<'_>,
) -> BatchResult {
    members(context, entities, &arguments, "domains", &[]).await
}

pub(in super::super) async fn container_entities(
    context: &Context,
    entities: &[EntityView<'_>],
    arguments: Args<'_>,
) -> BatchResult {
    members(context, entities, &arguments, "container", &CONTAINED_TYPES).await
}

/// The terms and nodes right below glossary nodes.
pub(in super::super) async fn glossary_children(
    context: &Context,
    nodes: &[EntityView<'_>],
    arguments: Args<'_>,
) -> BatchResult {
    let types = ["glossaryTerm", "glossaryNode"];
    children(context, nodes, &arguments, "parentNode", &types).await
}

/// The data products right below others.
pub(in super::super) async fn child_products(
    context: &Context,
    products: &[EntityView<'_>],
    arguments: Args<'_>,
) -> BatchResult {
    children(context, products, &arguments, PARENT, &[ENTITY]).await
}

/// The runs of ingestion sources, newest first.
pub(in super::super) async fn executions(
    context: &Context,
    sources: &[EntityView<'_>],
    arguments: Args<'_>,
) -> BatchResult {
    let list = Newest {
        entity_type: "dataHubExecutionRequest",
        field: "ingestionSource",
        time: "requestTimeMs",
        name: "executionRequests",
    };
    list.of(context, sources, &arguments).await
}

/// The runs that read datasets (`INCOMING`) or write them, newest first.
pub(in super::super) async fn dataset_runs(
    context: &Context,
    datasets: &[EntityView<'_>],
    arguments: Args<'_>,
) -> BatchResult {
    let direction: String = arguments.member("direction")?;
    let field = match direction.as_str() {
        "INCOMING" => "inputs",
        _ => "outputs",
    };
    Newest::runs(field).of(context, datasets, &arguments).await
}

/// The runs of jobs, newest first.
pub(in super::super) async fn job_runs(
    context: &Context,
    jobs: &[EntityView<'_>],
    arguments: Args<'_>,
) -> BatchResult {
    let list = Newest::runs("parentTemplate");
    list.of(context, jobs, &arguments).await
}

/// A list of the entities that refer to another one in a field, newest first.
struct Newest {
    entity_type: &'static str,
    field: &'static str,
    time: &'static str,
    /// The name of the list in the reply.
    name: &'static str,
}

impl Newest {
    fn runs(field: &'static str) -> Self {
        Self {
            entity_type: "dataProcessInstance",
            field,
            time: "created",
            name: "runs",
        }
    }

    async fn of(
        self,
        context: &Context,
        entities: &[EntityView<'_>],
        arguments: &Args<'_>,
    ) -> BatchResult {
        let page = page(
            arguments.member("start")?,
            arguments.member("count")?,
            DEFAULT_COUNT,
        )?;
        let mut replies = Vec::with_capacity(entities.len());
        for entity in entities {
            let request = SearchRequest {
                types: vec![self.entity_type.to_owned()],
                query: "*".to_owned(),
                filter: Filter::all(vec![Criterion::equal(self.field, entity.urn().as_str())]),
                sort: vec![Sort {
                    field: self.time.to_owned(),
                    descending: true,
                }],
                page: page.clone(),
                ..SearchRequest::default()
            };
            let found = context.catalog.search(&request).await?;
            replies.push(Ok(lists::urn_page(&page, &found, self.name)));
        }
        Ok(replies)
    }
}

/// The entities that refer to each group in a field.
async fn members(
    context: &Context,
    groups: &[EntityView<'_>],
    arguments: &Args<'_>,
    field: &str,
    types: &[&str],
) -> BatchResult {
    let mut input = SearchInput::of(arguments)?;
    let mut request = input.request()?;
    request.types = types.iter().map(|name| (*name).to_owned()).collect();
    request.page = page(input.start, input.count, DEFAULT_COUNT)?;
    request.explain_matches &= arguments.selects(&["searchResults", "matchedFields"]);
    if arguments.selects(&["facets"]) {
        request.facets = input.facets()?;
    }
    let only_counts = matches!(request.page, SearchPage::Offset { count: 0, .. })
        && request.facets == Facets::None;
    if only_counts && groups.len() > 1 {
        let urns: Vec<&Urn> = groups.iter().map(EntityView::urn).collect();
        return member_counts(context, &urns, &request, field).await;
    }
    let mut replies = Vec::with_capacity(groups.len());
    for group in groups {
        let mut request = request.clone();
        let member = Criterion::equal(field, group.urn().as_str());
        request.filter = request.filter.and(member);
        let found = context.catalog.search(&request).await?;
        replies.push(Ok(results(&request.page, &found)));
    }
    Ok(replies)
}

/// Counts the members of all groups in one search.
async fn member_counts(
    context: &Context,
    groups: &[&Urn],
    request: &SearchRequest,
    field: &str,
) -> BatchResult {
    let counts = context.catalog.count_members(request, field, groups);
    let reply = |total| {
        let found = SearchResults {
            total,
            ..Default::default()
        };
        Ok(results(&request.page, &found))
    };
    Ok(counts.await?.into_iter().map(reply).collect())
}

/// A page of the entities that refer to each parent in a field, as a scroll.
async fn children(
    context: &Context,
    parents: &[EntityView<'_>],
    arguments: &Args<'_>,
    field: &str,
    types: &[&str],
) -> BatchResult {
    let mut input = SearchInput::of(arguments)?;
    let mut request = scroll_request(&mut input, arguments)?;
    if request.types.is_empty() {
        request.types = types.iter().map(|name| (*name).to_owned()).collect();
    }
    let mut replies = Vec::with_capacity(parents.len());
    for parent in parents {
        let mut request = request.clone();
        let child = Criterion::equal(field, parent.urn().as_str());
        request.filter = request.filter.and(child);
        let found = context.catalog.search(&request).await?;
        replies.push(Ok(results(&request.page, &found)));
    }
    Ok(replies)
}
