//! Stewards of domains: added and removed with one call each.

use docent_catalog::Caller;
use docent_catalog::groups::MemberChange;
use docent_model::Urn;
use serde_json::{Value, json};

use crate::policies::{FINANCE, RITA, app, may_describe, names, stewards};
use crate::support::{App, DATASET};

const TEAM: &str = "urn:li:corpGroup:team";
/// The policy that calls edit.
const POLICY: &str = "urn:li:dataHubPolicy:docent-stewards-finance";

async fn change(app: &App, field: &str, actor: &str) -> bool {
    let mutation =
        format!(r#"mutation {{ {field}(domainUrn: "{FINANCE}", actorUrn: "{actor}") }}"#);
    let reply = app.graphql(&mutation).await;
    assert_eq!(reply.get("errors"), None, "{reply}");
    reply["data"][field] == true
}

async fn add(app: &App, actor: &str) {
    assert!(change(app, "addDomainSteward", actor).await);
}

async fn remove(app: &App, actor: &str) {
    assert!(change(app, "removeDomainSteward", actor).await);
}

/// The stewards that the page shows.
async fn listed(app: &App) -> Vec<String> {
    let query = format!(
        r#"{{ domain(urn: "{FINANCE}") {{ stewards {{ ... on CorpUser {{ urn }} ... on CorpGroup {{ urn }} }} }} }}"#
    );
    let reply = app.graphql(&query).await;
    let stewards = reply["data"]["domain"]["stewards"].as_array();
    let stewards = stewards.unwrap_or_else(|| panic!("no stewards: {reply}"));
    let urn = |steward: &Value| steward["urn"].as_str().unwrap().to_owned();
    stewards.iter().map(urn).collect()
}

async fn add_team(app: &App) {
    let team = json!({"displayName": "Team", "admins": [], "members": [], "groups": []});
    app.ingest(TEAM, "corpGroupInfo", &team).await;
}

#[tokio::test]
async fn a_steward_edits_a_domain_and_its_subdomains_until_removed() {
    let (app, rita) = app().await;
    add_team(&app).await;
    assert_eq!(listed(&app).await, [""; 0]);
    let before = names(&app).await.len();
    add(&app, RITA).await;
    assert!(may_describe(&app, &rita).await);
    for actor in [RITA, TEAM] {
        add(&app, actor).await;
    }
    assert_eq!(listed(&app).await, [RITA, TEAM]);
    let policies = names(&app).await;
    assert!(policies.contains(&"Stewards of Finance".to_owned()));
    assert_eq!(policies.len(), before + 1, "one policy for all stewards");
    let payments = "urn:li:domain:payments";
    let below = json!({"name": "Payments", "description": "", "parentDomain": FINANCE});
    app.ingest(payments, "domainProperties", &below).await;
    let domains = json!({"domains": [payments]});
    app.ingest(DATASET, "domains", &domains).await;
    assert!(may_describe(&app, &rita).await);
    remove(&app, RITA).await;
    assert!(!may_describe(&app, &rita).await);
    assert_eq!(listed(&app).await, [TEAM]);
}

#[tokio::test]
async fn a_denied_move_names_the_side_that_is_missing() {
    let (app, rita) = app().await;
    add(&app, RITA).await;
    app.ingest(DATASET, "domains", &json!({"domains": [FINANCE]}))
        .await;
    let marketing = "urn:li:domain:marketing";
    app.ingest(marketing, "domainProperties", &json!({"name": "Marketing"}))
        .await;
    let away =
        format!(r#"mutation {{ setDomain(entityUrn: "{DATASET}", domainUrn: "{marketing}") }}"#);
    let reply = app.graphql_as(&rita, &away).await;
    let message = reply["errors"][0]["message"].as_str().unwrap();
    assert!(message.contains("not as it would be after"), "{message}");
    app.ingest(DATASET, "domains", &json!({"domains": [marketing]}))
        .await;
    let here = away.replace(marketing, FINANCE);
    let reply = app.graphql_as(&rita, &here).await;
    let message = reply["errors"][0]["message"].as_str().unwrap();
    assert!(message.contains("EDIT_DOMAINS_PRIVILEGE"), "{message}");
    assert!(!message.contains("after the change"), "{message}");
}

#[tokio::test]
async fn stewards_that_are_added_at_the_same_time_are_all_added() {
    let (app, _) = app().await;
    let domain = Urn::parse(FINANCE).unwrap();
    let users: Vec<Urn> = (0..8)
        .map(|number| Urn::parse(&format!("urn:li:corpuser:user{number}")).unwrap())
        .collect();
    for user in &users {
        let info = json!({"active": true, "displayName": "U"});
        app.ingest(user.as_str(), "corpUserInfo", &info).await;
    }
    let mut tasks = tokio::task::JoinSet::new();
    for user in users.clone() {
        let (catalog, domain) = (app.catalog.clone(), domain.clone());
        tasks.spawn(async move {
            let system = Caller::system();
            let added = catalog.change_steward(&system, &domain, &user, MemberChange::Add);
            added.await.unwrap();
        });
    }
    tasks.join_all().await;
    let mut found = listed(&app).await;
    found.sort();
    assert_eq!(found, users.iter().map(Urn::as_str).collect::<Vec<_>>());
}

#[tokio::test]
async fn other_policies_for_the_domain_count_and_wider_ones_stay() {
    let (app, rita) = app().await;
    add_team(&app).await;
    let mut own = stewards(&[TEAM]);
    own["actors"]["users"] = json!([RITA]);
    app.mutate("createPolicy", "PolicyUpdateInput", own.clone())
        .await;
    let marketing = "urn:li:domain:marketing";
    app.ingest(marketing, "domainProperties", &json!({"name": "Marketing"}))
        .await;
    let mut wider = own;
    wider["name"] = json!("Wider");
    wider["resources"]["filter"]["criteria"][0]["values"] = json!([FINANCE, marketing]);
    app.mutate("createPolicy", "PolicyUpdateInput", wider).await;
    assert_eq!(listed(&app).await, [RITA, TEAM]);
    remove(&app, RITA).await;
    assert_eq!(listed(&app).await, [TEAM]);
    assert!(may_describe(&app, &rita).await, "by the wider policy");
}

#[tokio::test]
async fn former_stewards_do_not_come_back_with_a_new_one() {
    let (app, rita) = app().await;
    add_team(&app).await;
    add(&app, RITA).await;
    // An administrator has paused the policy.
    let mut policy = app.aspect(POLICY, "dataHubPolicyInfo").await.unwrap();
    policy["state"] = json!("INACTIVE");
    app.write_policy(POLICY, &policy).await;
    assert_eq!(listed(&app).await, [""; 0]);
    add(&app, TEAM).await;
    assert_eq!(listed(&app).await, [TEAM]);
    add(&app, RITA).await;
    assert!(may_describe(&app, &rita).await);
    // The domain is deleted, and another one gets its id.
    let delete = format!(r#"mutation {{ deleteDomain(urn: "{FINANCE}") }}"#);
    assert_eq!(app.graphql(&delete).await["data"]["deleteDomain"], true);
    let domain = json!({"name": "New Finance", "description": ""});
    app.ingest(FINANCE, "domainProperties", &domain).await;
    let domains = json!({"domains": [FINANCE]});
    app.ingest(DATASET, "domains", &domains).await;
    assert_eq!(listed(&app).await, [""; 0]);
    add(&app, TEAM).await;
    assert_eq!(listed(&app).await, [TEAM]);
    assert!(!may_describe(&app, &rita).await);
}

#[tokio::test]
async fn removing_somebody_who_is_no_steward_returns_false() {
    let (app, _) = app().await;
    add(&app, RITA).await;
    for actor in ["urn:li:corpuser:nobody", TEAM] {
        assert!(!change(&app, "removeDomainSteward", actor).await, "{actor}");
    }
    remove(&app, RITA).await;
    assert!(!change(&app, "removeDomainSteward", RITA).await);
}

#[tokio::test]
async fn only_existing_users_and_groups_become_stewards_of_existing_domains() {
    let (app, _) = app().await;
    for (domain, actor, code, says) in [
        (
            FINANCE,
            "urn:li:corpuser:nobody",
            400,
            "urn:li:corpuser:nobody does not exist",
        ),
        (
            "urn:li:domain:none",
            RITA,
            400,
            "urn:li:domain:none does not exist",
        ),
        (FINANCE, DATASET, 400, "send the URN of a user or a group"),
        (DATASET, RITA, 400, "domain"),
    ] {
        let mutation = format!(
            r#"mutation {{ addDomainSteward(domainUrn: "{domain}", actorUrn: "{actor}") }}"#
        );
        let (found, message) = app.graphql_error(&mutation).await;
        assert_eq!(found, code, "{message}");
        assert!(message.contains(says), "{message}");
    }
}

#[tokio::test]
async fn the_policy_of_a_domain_with_a_long_name_can_be_saved_again() {
    let (app, _) = app().await;
    let name = format!("two\nlines {}", "é".repeat(200));
    let domain = json!({"name": name, "description": ""});
    app.ingest(FINANCE, "domainProperties", &domain).await;
    add(&app, RITA).await;
    let stored = app.aspect(POLICY, "dataHubPolicyInfo").await.unwrap();
    let name = stored["displayName"].as_str().unwrap();
    assert_eq!(name.chars().count(), 200);
    assert!(name.starts_with("Stewards of two lines éé") && name.ends_with("é…"));
    let mut input = stewards(&[]);
    input["name"] = json!(name);
    let update = "mutation($urn: String!, $input: PolicyUpdateInput!) { updatePolicy(urn: $urn, input: $input) }";
    let variables = json!({"urn": POLICY, "input": input});
    let reply = app.graphql_with(update, variables).await;
    assert_eq!(reply["data"]["updatePolicy"], POLICY, "{reply}");
}
