//! Lists of the entities that refer to another one: the members of a domain, the runs of a job.

use docent_catalog::products::{ENTITY, PARENT};
use docent_catalog::search::{
    Criterion, Facets, Filter, SearchPage, SearchRequest, SearchResults, Sort, page, scroll_page,
};
use docent_model::Urn;

use super::input::SearchInput;
use super::{lists, results};
use crate::{Args, BatchResult, Context, EntityView};

const DEFAULT_COUNT: usize = 20;

/// The entity types in containers.
const CONTAINED_TYPES: [&str; 4] = ["dataset", "chart", "dashboard", "container"];

pub(in super::super) async fn domain_entities(
    context: &Context,
    entities: &[EntityView<'_>],
    arguments: Args<'_>,
) -> BatchResult {
    Members::of("domains")
        .list(context, entities, &arguments)
        .await
}

pub(in super::super) async fn container_entities(
    context: &Context,
    entities: &[EntityView<'_>],
    arguments: Args<'_>,
) -> BatchResult {
    let contents = Members::of("container").of_types(&CONTAINED_TYPES);
    contents.list(context, entities, &arguments).await
}

/// The entities that are the same asset in another platform.
pub(in super::super) async fn siblings(
    context: &Context,
    entities: &[EntityView<'_>],
    arguments: Args<'_>,
) -> BatchResult {
    let siblings = Members::of("siblings");
    siblings.scroll(context, entities, &arguments).await
}

/// The versions in version sets, latest first.
pub(in super::super) async fn versions(
    context: &Context,
    sets: &[EntityView<'_>],
    arguments: Args<'_>,
) -> BatchResult {
    let versions = Members::of("versionSet").versions_by("versionSortId");
    versions.list(context, sets, &arguments).await
}

/// The metrics below other metrics.
pub(in super::super) async fn child_metrics(
    context: &Context,
    metrics: &[EntityView<'_>],
    arguments: Args<'_>,
) -> BatchResult {
    let children = Members::of("parentMetric").of_types(&["metric"]);
    children.scroll(context, metrics, &arguments).await
}

/// The metrics that semantic models define.
pub(in super::super) async fn model_metrics(
    context: &Context,
    models: &[EntityView<'_>],
    arguments: Args<'_>,
) -> BatchResult {
    let metrics = Members::of("semanticModel").of_types(&["metric"]);
    metrics.scroll(context, models, &arguments).await
}

/// The metrics and datasets of semantic models.
pub(in super::super) async fn model_entities(
    context: &Context,
    models: &[EntityView<'_>],
    arguments: Args<'_>,
) -> BatchResult {
    let entities = Members::of("semanticModel").of_types(&["metric", "dataset"]);
    entities.list(context, models, &arguments).await
}

/// The terms and nodes right below glossary nodes.
pub(in super::super) async fn glossary_children(
    context: &Context,
    nodes: &[EntityView<'_>],
    arguments: Args<'_>,
) -> BatchResult {
    let children = Members::of("parentNode").of_types(&["glossaryTerm", "glossaryNode"]);
    children.scroll(context, nodes, &arguments).await
}

/// The data products right below others.
pub(in super::super) async fn child_products(
    context: &Context,
    products: &[EntityView<'_>],
    arguments: Args<'_>,
) -> BatchResult {
    let children = Members::of(PARENT).of_types(&[ENTITY]);
    children.scroll(context, products, &arguments).await
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

/// A search among the entities that refer to another one in a field.
struct Members {
    field: &'static str,
    /// Empty means all types that searches return.
    types: &'static [&'static str],
    order: Option<Sort>,
    includes_older_versions: bool,
}

impl Members {
    fn of(field: &'static str) -> Self {
        Self {
            field,
            types: &[],
            order: None,
            includes_older_versions: false,
        }
    }

    fn of_types(mut self, types: &'static [&'static str]) -> Self {
        self.types = types;
        self
    }

    /// All versions of an asset, latest first.
    fn versions_by(mut self, field: &str) -> Self {
        self.includes_older_versions = true;
        self.order = Some(Sort {
            field: field.to_owned(),
            descending: true,
        });
        self
    }

    /// Pages by `start` and `count`.
    async fn list(
        self,
        context: &Context,
        groups: &[EntityView<'_>],
        arguments: &Args<'_>,
    ) -> BatchResult {
        let input = SearchInput::of(arguments)?;
        let page = page(input.start, input.count, DEFAULT_COUNT)?;
        self.search(context, groups, arguments, input, page).await
    }

    /// Pages by `scrollId`.
    async fn scroll(
        self,
        context: &Context,
        groups: &[EntityView<'_>],
        arguments: &Args<'_>,
    ) -> BatchResult {
        let mut input = SearchInput::of(arguments)?;
        let page = scroll_page(input.cursor(), input.count, DEFAULT_COUNT)?;
        self.search(context, groups, arguments, input, page).await
    }

    async fn search(
        self,
        context: &Context,
        groups: &[EntityView<'_>],
        arguments: &Args<'_>,
        mut input: SearchInput,
        page: SearchPage,
    ) -> BatchResult {
        let mut request = input.request(context, self.types).await?;
        request.page = page;
        request.include_older_versions |= self.includes_older_versions;
        if request.sort.is_empty() {
            request.sort.extend(self.order);
        }
        request.explain_matches &= arguments.selects(&["searchResults", "matchedFields"]);
        if arguments.selects(&["facets"]) {
            request.facets = input.facets()?;
        }
        let only_counts = matches!(request.page, SearchPage::Offset { count: 0, .. })
            && request.facets == Facets::None;
        if only_counts && groups.len() > 1 {
            let urns: Vec<&Urn> = groups.iter().map(EntityView::urn).collect();
            return member_counts(context, &urns, &request, self.field).await;
        }
        let mut replies = Vec::with_capacity(groups.len());
        for group in groups {
            let mut request = request.clone();
            let member = Criterion::equal(self.field, group.urn().as_str());
            request.filter = request.filter.and(member);
            let found = context.catalog.search(&request).await?;
            replies.push(Ok(results(&request.page, &found)));
        }
        Ok(replies)
    }
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
