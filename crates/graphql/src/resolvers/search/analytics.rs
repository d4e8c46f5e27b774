//! Recommendations and figures about the catalog. All come from the index, so they count what the
//! caller sees, or from the change log.

use docent_catalog::privilege::VIEW_ANALYTICS;
use docent_catalog::search::{Criterion, FacetValue, Facets, SearchPage, SearchRequest};
use docent_catalog::{AspectKey, Error, ReadRequest};
use docent_model::Registry;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use super::input::SearchInput;
use crate::entity_types;
use crate::{Args, Context, Resolvers};

pub(super) fn register(resolvers: Resolvers) -> Resolvers {
    resolvers
        .query("listRecommendations", list_recommendations)
        .query("isAnalyticsEnabled", is_analytics_enabled)
        .query("getAnalyticsCharts", get_analytics_charts)
        .query("getMetadataAnalyticsCharts", get_metadata_analytics_charts)
        .query("getHighlights", get_highlights)
        .query("latestProductUpdate", latest_product_update)
        .query("semanticSearch", semantic_search)
        .query("semanticSearchAcrossEntities", semantic_search)
}

/// A module of recommendations that counts the values of a field.
struct CountedModule {
    name: &'static str,
    id: &'static str,
    title: &'static str,
    render: &'static str,
    field: &'static str,
    values: usize,
}

const COUNTED: [CountedModule; 4] = [
    CountedModule {
        name: "DOMAINS",
        id: "Domains",
        title: "Domains",
        render: "DOMAIN_SEARCH_LIST",
        field: "domains",
        values: 5,
    },
    CountedModule {
        name: "PLATFORMS",
        id: "Platforms",
        title: "Platforms",
        render: "PLATFORM_SEARCH_LIST",
        field: "platform",
        values: 40,
    },
    CountedModule {
        name: "TOP_TAGS",
        id: "TopTags",
        title: "Popular Tags",
        render: "TAG_SEARCH_LIST",
        field: "tags",
        values: 10,
    },
    CountedModule {
        name: "TOP_TERMS",
        id: "TopTerms",
        title: "Popular Glossary Terms",
        render: "GLOSSARY_TERM_SEARCH_LIST",
        field: "glossaryTerms",
        values: 10,
    },
];

/// The types whose changes are recommended to those who made them.
const EDITED_TYPES: [&str; 12] = [
    "dataset",
    "dashboard",
    "chart",
    "dataFlow",
    "dataJob",
    "container",
    "mlModel",
    "notebook",
    "domain",
    "glossaryTerm",
    "dataProduct",
    "document",
];
/// The recent changes to examine, and the entities to recommend.
const EXAMINED: i64 = 100;
const EDITED: usize = 5;
const MAX_MODULES: usize = 10;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RecommendationsInput {
    request_context: Option<RequestContext>,
    limit: Option<usize>,
}

#[derive(Deserialize)]
struct RequestContext {
    scenario: String,
    modules: Option<Vec<String>>,
}

async fn list_recommendations(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let input: RecommendationsInput = arguments.input()?;
    let page = input.request_context.as_ref();
    let is_home = page.is_none_or(|page| page.scenario == "HOME");
    let requested = page.and_then(|page| page.modules.as_deref());
    let is_requested =
        |name: &str| is_home && requested.is_none_or(|names| names.iter().any(|it| it == name));
    let mut modules = Vec::new();
    if is_requested("RECENTLY_EDITED_ENTITIES") {
        modules.push(recently_edited(context).await?);
    }
    let counted: Vec<&CountedModule> = COUNTED.iter().filter(|it| is_requested(it.name)).collect();
    if !counted.is_empty() {
        let mut request = counting(counted.iter().map(|module| module.field));
        let view = SearchInput::of(&arguments)?;
        view.restrict_to_view(context, &mut request).await?;
        let found = context.catalog.search(&request).await?;
        for module in counted {
            let facet = found.facets.iter().find(|it| it.field == module.field);
            let values = facet.map(|facet| facet.values.as_slice());
            modules.push(counted_module(module, values.unwrap_or_default()));
        }
    }
    // Without content there is nothing to show.
    let has_content = |module: &Value| {
        module["content"]
            .as_array()
            .is_some_and(|it| !it.is_empty())
    };
    modules.retain(has_content);
    modules.truncate(input.limit.unwrap_or(MAX_MODULES));
    Ok(json!({"modules": modules}))
}

/// What the caller has changed last.
async fn recently_edited(context: &Context) -> Result<Value, Error> {
    let types = EDITED_TYPES.map(str::to_owned);
    let changes = context.catalog.recent_changes(&types, EXAMINED).await?;
    let actor = context.caller.actor().as_str();
    let own = changes.iter().filter(|change| change.actor == actor);
    let recommended = own.take(EDITED).map(|change| {
        json!({
            "value": change.urn,
            "entity": change.urn,
            "params": {"entityProfileParams": {
                "urn": change.urn,
                "type": entity_types::schema_name(change.urn.entity_type()),
            }},
        })
    });
    Ok(json!({
        "title": "Recently Edited",
        "moduleId": "RecentlyEditedEntities",
        "renderType": "ENTITY_NAME_LIST",
        "content": recommended.collect::<Vec<_>>(),
    }))
}

fn counted_module(module: &CountedModule, values: &[FacetValue]) -> Value {
    let content = values.iter().take(module.values).map(|counted| {
        json!({
            "value": counted.value,
            "entity": super::urn(&counted.value),
            "params": {
                "searchParams": {
                    "query": "",
                    "filters": [{"field": module.field, "values": [counted.value]}],
                },
                "contentParams": {"count": counted.count},
            },
        })
    });
    json!({
        "title": module.title,
        "moduleId": module.id,
        "renderType": module.render,
        "content": content.collect::<Vec<_>>(),
    })
}

/// A search for everything that only counts.
fn counting<'a>(fields: impl Iterator<Item = &'a str>) -> SearchRequest {
    SearchRequest {
        page: SearchPage::Offset { start: 0, count: 0 },
        facets: Facets::Named {
            fields: fields.map(str::to_owned).collect(),
            values: MAX_BARS,
        },
        ..SearchRequest::default()
    }
}

async fn is_analytics_enabled(_: &Context, _: Args<'_>) -> Result<Value, Error> {
    Ok(json!(true))
}

async fn latest_product_update(_: &Context, _: Args<'_>) -> Result<Value, Error> {
    Ok(Value::Null)
}

async fn semantic_search(_: &Context, _: Args<'_>) -> Result<Value, Error> {
    Err(Error::invalid(
        "semantic search needs an embedding model, which this server does not have: use search or searchAcrossEntities",
    ))
}

async fn authorize(context: &Context) -> Result<(), Error> {
    let privileges = [VIEW_ANALYTICS];
    let catalog = &context.catalog;
    catalog.authorize(&context.caller, &privileges, None).await
}

/// The bars of a chart.
const MAX_BARS: usize = 40;
const WEEKS: i64 = 26;
const WEEK_MS: i64 = 7 * 24 * 60 * 60 * 1000;

/// The fields that charts count, and their titles.
const BAR_CHARTS: [(&str, &str); 4] = [
    ("domains", "Entities per Domain"),
    ("platform", "Entities per Platform"),
    ("glossaryTerms", "Entities per Term"),
    ("origin", "Entities per Environment"),
];

async fn get_analytics_charts(context: &Context, _: Args<'_>) -> Result<Value, Error> {
    authorize(context).await?;
    let fields = BAR_CHARTS.iter().map(|(field, _)| *field);
    let landscape = bar_charts(context, &counting(fields)).await?;
    let mut groups = vec![json!({
        "groupId": "GlobalMetadataAnalytics",
        "title": "Data Landscape Summary",
        "charts": landscape,
    })];
    let weeks = context.catalog.changes_by_week(WEEKS).await?;
    if let (Some(first), Some(last)) = (weeks.first(), weeks.last()) {
        let points = weeks
            .iter()
            .map(|week| json!({"x": time(week.begins_ms), "y": week.changes}));
        let chart = json!({"timeSeries": {
            "title": "Changes of Metadata",
            "lines": [{"name": "Changes", "data": points.collect::<Vec<_>>()}],
            "dateRange": {"start": time(first.begins_ms), "end": time(last.begins_ms + WEEK_MS)},
            "interval": "WEEK",
        }});
        groups.push(json!({
            "groupId": "MetadataActivity",
            "title": "Activity",
            "charts": [chart],
        }));
    }
    Ok(json!(groups))
}

async fn get_metadata_analytics_charts(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        entity_type: Option<String>,
        domain: Option<String>,
        query: Option<String>,
    }
    authorize(context).await?;
    let input: Input = arguments.input()?;
    let mut request = counting(BAR_CHARTS.iter().map(|(field, _)| *field));
    let types: Vec<String> = input.entity_type.into_iter().collect();
    request.types = entity_types::registry_names(&types)?;
    request.query = input.query.unwrap_or_default();
    if let Some(domain) = input
        .domain
        .filter(|domain| !matches!(domain.as_str(), "" | "ALL"))
    {
        let domain = Registry::get().parse_urn(&domain)?;
        let condition = Criterion::equal("domains", domain.as_str());
        request.filter = request.filter.and(condition);
    }
    let charts = bar_charts(context, &request).await?;
    Ok(json!([{"groupId": "FilteredMetadataAnalytics", "title": "", "charts": charts}]))
}

async fn bar_charts(context: &Context, request: &SearchRequest) -> Result<Vec<Value>, Error> {
    let found = context.catalog.search(request).await?;
    let mut charts = Vec::new();
    for (field, title) in BAR_CHARTS {
        let facet = found.facets.iter().find(|facet| facet.field == field);
        let values = facet.map_or(&[][..], |facet| &facet.values);
        let names = names(context, values).await?;
        let bar = |(name, counted): (String, &FacetValue)| {
            let segment = json!({"label": "#Entities", "value": counted.count});
            json!({"name": name, "segments": [segment]})
        };
        let bars: Vec<Value> = names.into_iter().zip(values).map(bar).collect();
        if !bars.is_empty() {
            charts.push(json!({"bars": {"title": title, "bars": bars}}));
        }
    }
    Ok(charts)
}

/// The names of what was counted. What has none is shown by the end of its URN.
async fn names(context: &Context, values: &[FacetValue]) -> Result<Vec<String>, Error> {
    let key = |value: &FacetValue| {
        let urn = Registry::get().parse_urn(&value.value).ok()?;
        let aspect = match urn.entity_type() {
            "domain" => "domainProperties",
            "dataPlatform" => "dataPlatformInfo",
            "glossaryTerm" => "glossaryTermInfo",
            _ => return None,
        };
        Some(AspectKey::new(&urn, Registry::get().aspect(aspect)?))
    };
    let keys: Vec<Option<AspectKey>> = values.iter().map(key).collect();
    let known: Vec<AspectKey> = keys.iter().flatten().cloned().collect();
    let mut rows = context
        .catalog
        .read(ReadRequest::rows(&known))
        .await?
        .rows
        .into_iter();
    let name = |(key, value): (Option<AspectKey>, &FacetValue)| {
        let row = key.as_ref().and_then(|_| rows.next().flatten());
        let stored = row.and_then(|row| serde_json::from_str::<Value>(&row.metadata).ok());
        let named = stored.as_ref().and_then(|stored| {
            let names = ["displayName", "name"].map(|member| stored[member].as_str());
            names.into_iter().flatten().next()
        });
        let last = value.value.rsplit(':').next().unwrap_or_default();
        named.unwrap_or(last).to_owned()
    };
    Ok(keys.into_iter().zip(values).map(name).collect())
}

/// The time in ISO 8601.
fn time(time_ms: i64) -> String {
    Timestamp::from_millisecond(time_ms).map_or_else(|_| time_ms.to_string(), |it| it.to_string())
}

/// The types of figures, and their titles.
const HIGHLIGHTS: [(&str, &str); 4] = [
    ("dataset", "Datasets"),
    ("dashboard", "Dashboards"),
    ("chart", "Charts"),
    ("dataFlow", "Pipelines"),
];

async fn get_highlights(context: &Context, _: Args<'_>) -> Result<Value, Error> {
    authorize(context).await?;
    let mut highlights = Vec::new();
    for (entity_type, title) in HIGHLIGHTS {
        let total = count(context, entity_type, None).await?;
        let mut parts = Vec::new();
        for (field, what) in [
            ("owners", "owners"),
            ("tags", "tags"),
            ("domains", "a domain"),
        ] {
            let with = count(context, entity_type, Some(field)).await?;
            let percent = (with * 100).checked_div(total).unwrap_or_default();
            parts.push(format!("{percent}% have {what}"));
        }
        if total > 0 {
            let body = format!("{}.", parts.join(", "));
            highlights.push(json!({"value": total, "title": title, "body": body}));
        }
    }
    let weeks = context.catalog.changes_by_week(2).await?;
    if let [before, this] = weeks.as_slice() {
        let body = format!("{} in the week before.", before.changes);
        highlights.push(json!({"value": this.changes, "title": "Changes This Week", "body": body}));
    }
    Ok(json!(highlights))
}

/// How many entities of a type there are, or have a value in a field.
async fn count(context: &Context, entity_type: &str, field: Option<&str>) -> Result<usize, Error> {
    let mut request = SearchRequest {
        types: vec![entity_type.to_owned()],
        page: SearchPage::Offset { start: 0, count: 0 },
        ..SearchRequest::default()
    };
    if let Some(field) = field {
        request.filter = request.filter.and(Criterion::exists(field));
    }
    Ok(context.catalog.search(&request).await?.total)
}
