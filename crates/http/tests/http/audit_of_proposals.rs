//! What the audit log has about proposals.

use docent_catalog::Caller;
use docent_model::Urn;
use serde_json::{Value, json};

use crate::audit::{describe, events, newest};
use crate::support::{App, DATASET, role, token_of};

#[tokio::test]
async fn proposals_and_decisions_name_the_proposal_and_its_entities() {
    let app = App::with_dataset().await;
    let paula = "urn:li:corpuser:paula";
    let token = token_of(&app.catalog, paula, None).await;
    let (system, paulas) = (Caller::system(), [Urn::parse(paula).unwrap()]);
    let proposer = role("Proposer");
    let assigned = app.catalog.assign_role(&system, &paulas, Some(&proposer));
    assigned.await.unwrap();
    app.graphql_as(&token, &describe("better")).await;
    let urns = |event: &Value| -> Vec<String> {
        let entities = event["entities"].as_array().unwrap();
        let urn = |it: &Value| it["urn"].as_str().unwrap().to_owned();
        entities.iter().map(urn).collect()
    };
    let is_proposal = |urn: &&String| urn.starts_with("urn:li:actionRequest:");
    let event = newest(&app).await;
    assert_eq!(event["operation"], "updateDescription");
    let named = urns(&event);
    assert!(named.contains(&DATASET.to_owned()), "{event}");
    let proposal = named.iter().find(is_proposal).unwrap();
    // The dataset itself has not changed.
    let entities = event["entities"].as_array().unwrap();
    let dataset = entities.iter().find(|it| it["urn"] == DATASET).unwrap();
    assert_eq!(dataset["changes"], json!([]));

    let reject = format!(r#"mutation {{ rejectProposals(proposalUrns: ["{proposal}"]) }}"#);
    let reply = app.graphql(&reject).await;
    assert_eq!(reply["data"]["rejectProposals"], true, "{reply}");
    for entity in [proposal.as_str(), DATASET] {
        let found = events(&app, json!({"entity": entity, "count": 2})).await;
        let operations: Vec<&Value> = found.iter().map(|it| &it["operation"]).collect();
        assert_eq!(operations, ["rejectProposals", "updateDescription"]);
    }
}
