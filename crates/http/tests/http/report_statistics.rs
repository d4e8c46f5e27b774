//! Usage of charts and dashboards over GraphQL, and the features that pages read at their start.

use docent_catalog::Caller;
use docent_model::Urn;
use serde_json::{Value, json};

use crate::support::{App, NOW_MS, role, token_of};

const DAY_MS: i64 = 24 * 60 * 60 * 1000;
/// Midnight before [`NOW_MS`], in UTC.
const TODAY: i64 = NOW_MS - NOW_MS % DAY_MS;
const DASHBOARD: &str = "urn:li:dashboard:(looker,sales)";
const CHART: &str = "urn:li:chart:(looker,revenue)";
const ADA: &str = "urn:li:corpuser:ada";
const BOB: &str = "urn:li:corpuser:bob";

const SUMMARY: &str = "statsSummary { viewCount viewCountLast30Days uniqueUserCountLast30Days
    topUsersLast30Days { urn } }";

fn stamps() -> Value {
    json!({"created": {"time": 1, "actor": ADA}, "lastModified": {"time": 1, "actor": ADA}})
}

async fn app() -> App {
    let app = App::empty().await;
    let info = |title: &str| json!({"title": title, "description": "", "lastModified": stamps()});
    app.ingest(DASHBOARD, "dashboardInfo", &info("Sales")).await;
    app.ingest(CHART, "chartInfo", &info("Revenue")).await;
    app
}

/// A point of a time window.
fn window(time_ms: i64, views: i64, users: &Value) -> Value {
    json!({
        "timestampMillis": time_ms,
        "eventGranularity": {"unit": "DAY", "multiple": 1},
        "viewsCount": views,
        "uniqueUserCount": users.as_array().map(Vec::len),
        "userCounts": users,
    })
}

async fn read(app: &App, field: &str, urn: &str, fields: &str) -> Value {
    let query = format!(r#"{{ {field}(urn: "{urn}") {{ {fields} }} }}"#);
    let reply = app.graphql(&query).await;
    assert!(reply.get("errors").is_none(), "{reply}");
    reply["data"][field].clone()
}

#[tokio::test]
async fn the_usage_of_a_dashboard_is_added_up_by_day_and_user_beside_the_totals() {
    let app = app().await;
    let user = |user: &str, views: i64, usage: i64| json!({"user": user, "viewsCount": views, "usageCount": usage});
    for point in [
        window(TODAY, 4, &json!([user(ADA, 1, 1), user(BOB, 3, 3)])),
        window(TODAY - DAY_MS, 2, &json!([user(ADA, 2, 9)])),
        window(TODAY - DAY_MS + 1000, 1, &json!([user(ADA, 1, 1)])),
        window(TODAY - 90 * DAY_MS, 50, &json!([user(BOB, 50, 50)])),
        // Totals so far, which are not part of a day.
        json!({"timestampMillis": TODAY - 5, "viewsCount": 90, "favoritesCount": 3, "lastViewedAt": 7}),
        json!({"timestampMillis": TODAY + 5, "viewsCount": 94, "executionsCount": 2}),
    ] {
        app.ingest(DASHBOARD, "dashboardUsageStatistics", &point)
            .await;
    }
    let since = TODAY - 2 * DAY_MS;
    let fields = format!(
        "usageStats(startTimeMillis: {since}) {{
            buckets {{ bucket duration resource metrics {{ uniqueUserCount viewsCount executionsCount }} }}
            aggregations {{ uniqueUserCount viewsCount executionsCount
                users {{ user {{ urn }} viewsCount executionsCount usageCount }} }}
            metrics {{ timestampMillis favoritesCount viewsCount executionsCount lastViewed }}
        }}"
    );
    let found = read(&app, "dashboard", DASHBOARD, &fields).await;
    let day = |start: i64, users: i64, views: i64| {
        json!({"bucket": start, "duration": "DAY", "resource": DASHBOARD,
        "metrics": {"uniqueUserCount": users, "viewsCount": views, "executionsCount": null}})
    };
    let by = |user: &str, views: i64, usage: i64| {
        json!({"user": {"urn": user}, "viewsCount": views, "executionsCount": null,
        "usageCount": usage})
    };
    assert_eq!(
        found["usageStats"],
        json!({
            "buckets": [day(TODAY - DAY_MS, 2, 3), day(TODAY, 2, 4)],
            "aggregations": {
                "uniqueUserCount": 2, "viewsCount": 7, "executionsCount": null,
                "users": [by(ADA, 4, 11), by(BOB, 3, 3)],
            },
            "metrics": [
                {"timestampMillis": TODAY + 5, "favoritesCount": null, "viewsCount": 94, "executionsCount": 2,
                 "lastViewed": null},
                {"timestampMillis": TODAY - 5, "favoritesCount": 3, "viewsCount": 90, "executionsCount": null,
                 "lastViewed": 7},
            ],
        })
    );
    let limited = "usageStats(limit: 1) { metrics { viewsCount } aggregations { viewsCount } }";
    assert_eq!(
        read(&app, "dashboard", DASHBOARD, limited).await["usageStats"],
        json!({"metrics": [{"viewsCount": 94}], "aggregations": {"viewsCount": 57}})
    );
    assert_eq!(
        read(&app, "dashboard", DASHBOARD, SUMMARY).await["statsSummary"],
        json!({
            "viewCount": 94, "viewCountLast30Days": 7, "uniqueUserCountLast30Days": 2,
            "topUsersLast30Days": [{"urn": ADA}, {"urn": BOB}],
        })
    );
}

#[tokio::test]
async fn charts_have_a_summary_too_and_what_was_never_reported_is_empty() {
    let app = app().await;
    let empty = json!({"viewCount": null, "viewCountLast30Days": null, "uniqueUserCountLast30Days": 0,
        "topUsersLast30Days": []});
    for (field, urn) in [("chart", CHART), ("dashboard", DASHBOARD)] {
        assert_eq!(read(&app, field, urn, SUMMARY).await["statsSummary"], empty);
    }
    let users = json!([{"user": ADA, "viewsCount": 1}, {"user": BOB, "viewsCount": 2}]);
    app.ingest(CHART, "chartUsageStatistics", &window(TODAY, 3, &users))
        .await;
    assert_eq!(
        read(&app, "chart", CHART, SUMMARY).await["statsSummary"],
        json!({"viewCount": null, "viewCountLast30Days": 3, "uniqueUserCountLast30Days": 2,
            "topUsersLast30Days": [{"urn": BOB}, {"urn": ADA}]})
    );
    let (code, message) = app
        .graphql_error(&format!(
            r#"{{ dashboard(urn: "{DASHBOARD}") {{ usageStats(limit: -1) {{ metrics {{ viewsCount }} }} }} }}"#
        ))
        .await;
    assert_eq!(
        (code, message.as_str()),
        (400, "limit must not be negative: -1")
    );
}

#[tokio::test]
async fn the_usage_of_charts_and_dashboards_needs_its_privilege() {
    const PIA: &str = "urn:li:corpuser:pia";
    const POLICY: &str = "urn:li:dataHubPolicy:view-dataset-sensitive";
    let app = app().await;
    let users = json!([{"user": ADA, "viewsCount": 1}]);
    let point = window(TODAY, 3, &users);
    app.ingest(DASHBOARD, "dashboardUsageStatistics", &point)
        .await;
    app.ingest(CHART, "chartUsageStatistics", &point).await;
    let token = token_of(&app.catalog, PIA, None).await;
    let (system, pia) = (Caller::system(), [Urn::parse(PIA).unwrap()]);
    let proposer = role("Proposer");
    let assigned = app.catalog.assign_role(&system, &pia, Some(&proposer));
    assigned.await.unwrap();
    let views = async || {
        let query = format!(
            r#"{{ dashboard(urn: "{DASHBOARD}") {{ {SUMMARY} usageStats {{ buckets {{ bucket }} }} }}
                chart(urn: "{CHART}") {{ {SUMMARY} }} }}"#
        );
        let reply = app.graphql_as(&token, &query).await;
        assert!(reply.get("errors").is_none(), "{reply}");
        let data = &reply["data"];
        let days = data["dashboard"]["usageStats"]["buckets"].as_array();
        json!([
            data["dashboard"]["statsSummary"]["viewCountLast30Days"],
            days.map(Vec::len),
            data["chart"]["statsSummary"]["viewCountLast30Days"],
        ])
    };
    assert_eq!(views().await, json!([3, 1, 3]));
    let mut policy = app.aspect(POLICY, "dataHubPolicyInfo").await.unwrap();
    policy["state"] = json!("INACTIVE");
    app.write_policy(POLICY, &policy).await;
    assert_eq!(views().await, json!([null, 0, null]));
}

#[tokio::test]
async fn pages_learn_what_works_and_which_privileges_there_are() {
    let app = App::empty().await;
    let query = "{ appConfig {
        authConfig { tokenAuthEnabled allowNoExpiry allowedAccessTokenDurations }
        policiesConfig { enabled platformPrivileges { type displayName }
            resourcePrivileges { resourceType resourceTypeDisplayName entityType privileges { type } } }
        identityManagementConfig { enabled } lineageConfig { supportsImpactAnalysis }
        visualConfig { logoUrl application { showApplicationInNavigation } } viewsConfig { enabled }
        searchBarConfig { apiVariant } homePageConfig { firstInPersonalSidebar } chromeExtensionConfig { enabled }
        featureFlags { showBrowseV2 nestedDomainsEnabled documentationFileUploadV1 showProductUpdates showAcrylInfo
            browserTracingEnabled }
    } }";
    let reply = app.graphql(query).await;
    assert!(reply.get("errors").is_none(), "{reply}");
    let config = &reply["data"]["appConfig"];
    assert_eq!(config["authConfig"]["allowNoExpiry"], false);
    assert_eq!(
        config["authConfig"]["allowedAccessTokenDurations"][0],
        "PT1H"
    );
    assert_eq!(
        config["featureFlags"],
        json!({"showBrowseV2": true, "nestedDomainsEnabled": true, "documentationFileUploadV1": false,
            "showProductUpdates": false, "showAcrylInfo": false, "browserTracingEnabled": false})
    );
    assert_eq!(config["viewsConfig"], json!({"enabled": true}));
    let policies = &config["policiesConfig"];
    let platform = policies["platformPrivileges"].as_array().unwrap();
    assert!(
        platform.contains(&json!({"type": "MANAGE_POLICIES", "displayName": "Manage Policies"}))
    );
    assert!(!platform.iter().any(|it| it["type"] == "EDIT_ENTITY"));
    let resources = policies["resourcePrivileges"].as_array().unwrap();
    let privileges = |name: &str| {
        let of_type = resources.iter().find(|it| it["resourceType"] == name);
        let privileges = of_type.unwrap()["privileges"].as_array().unwrap();
        let names = privileges.iter().filter_map(|it| it["type"].as_str());
        names.collect::<Vec<_>>()
    };
    let chart = resources.iter().find(|it| it["resourceType"] == "chart");
    assert_eq!(chart.unwrap()["entityType"], "CHART");
    assert!(privileges("all").contains(&"EDIT_TAG_COLOR"));
    assert!(privileges("tag").contains(&"EDIT_TAG_COLOR"));
    assert!(!privileges("dataset").contains(&"EDIT_TAG_COLOR"));
    assert!(privileges("dataset").contains(&"EDIT_ENTITY_TAGS"));
    assert!(!privileges("corpuser").contains(&"EDIT_DATASET_COL_TAGS"));
    // Only what policies of this type grant.
    assert!(!privileges("all").contains(&"MANAGE_POLICIES"));
}
