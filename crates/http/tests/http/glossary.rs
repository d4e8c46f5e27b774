//! The tree of the glossary, and related terms.

use serde_json::{Value, json};

use crate::escalation::reader_with;
use crate::hidden::world::{assign, grant, hide_by_default};
use crate::support::{App, DATASET, token_of};

const MONEY: &str = "urn:li:glossaryNode:money";
const ASSETS: &str = "urn:li:glossaryNode:assets";
const CASH: &str = "urn:li:glossaryTerm:cash";
const DEBT: &str = "urn:li:glossaryTerm:debt";

/// A catalog with the nodes money and assets, which is in money, and the terms cash, in assets, and
/// debt, at the root.
async fn app() -> App {
    let app = App::with_dataset().await;
    let create = async |field: &str, id: &str, name: &str, parent: Option<&str>| {
        let input = json!({"id": id, "name": name, "parentNode": parent});
        app.mutate(field, "CreateGlossaryEntityInput", input).await;
    };
    create("createGlossaryNode", "money", "Money", None).await;
    create("createGlossaryNode", "assets", "Assets", Some(MONEY)).await;
    create("createGlossaryTerm", "cash", "Cash", Some(ASSETS)).await;
    create("createGlossaryTerm", "debt", "Debt", None).await;
    app
}

async fn parent_of(app: &App, urn: &str, aspect: &str) -> Value {
    app.aspect(urn, aspect).await.unwrap()["parentNode"].clone()
}

fn to(resource: &str, parent: Option<&str>) -> Value {
    json!({"resourceUrn": resource, "parentNode": parent})
}

const MOVE: &str = "UpdateParentNodeInput";

#[tokio::test]
async fn roots_are_listed_by_name_and_page() {
    let app = app().await;
    let other = json!({"id": "a", "name": "Accounts"});
    let kind = "CreateGlossaryEntityInput";
    app.mutate("createGlossaryNode", kind, other).await;
    let read = "{ getRootGlossaryNodes(input: {start: 0, count: 1}) { start count total nodes { urn } }
        getRootGlossaryTerms(input: {start: 0, count: 10}) { start count total terms { urn properties { name } } } }";
    assert_eq!(
        app.graphql(read).await["data"],
        json!({
            "getRootGlossaryNodes": {"start": 0, "count": 1, "total": 2, "nodes": [{"urn": "urn:li:glossaryNode:a"}]},
            "getRootGlossaryTerms": {"start": 0, "count": 1, "total": 1, "terms": [{"urn": DEBT, "properties": {"name": "Debt"}}]},
        })
    );
    let second =
        "{ getRootGlossaryNodes(input: {start: 1, count: 5}) { count total nodes { urn } } }";
    assert_eq!(
        app.graphql(second).await["data"]["getRootGlossaryNodes"],
        json!({"count": 1, "total": 2, "nodes": [{"urn": MONEY}]})
    );
    let negative = "{ getRootGlossaryTerms(input: {start: -1, count: 5}) { total } }";
    assert_eq!(app.graphql_error(negative).await.0, 400);
}

#[tokio::test]
async fn children_are_counted_and_searched() {
    let app = app().await;
    app.mutate("updateParentNode", MOVE, to(DEBT, Some(MONEY)))
        .await;
    let read = format!(
        r#"{{ entities(urns: ["{MONEY}", "{ASSETS}"]) {{ ... on GlossaryNode {{
            childrenCount {{ termsCount nodesCount }}
            glossaryChildrenSearch(input: {{ query: "*", count: 10 }}) {{
                total nextScrollId searchResults {{ entity {{ urn }} }} }}
            nodes: glossaryChildrenSearch(input: {{ query: "*", types: [GLOSSARY_NODE] }}) {{ total }}
            named: glossaryChildrenSearch(input: {{ query: "cash" }}) {{ total }} }} }} }}"#
    );
    let found = |urns: &[&str]| {
        let results: Vec<Value> = urns
            .iter()
            .map(|urn| json!({"entity": {"urn": urn}}))
            .collect();
        json!({"total": urns.len(), "nextScrollId": null, "searchResults": results})
    };
    assert_eq!(
        app.graphql(&read).await["data"]["entities"],
        json!([
            {
                "childrenCount": {"termsCount": 1, "nodesCount": 1},
                "glossaryChildrenSearch": found(&[ASSETS, DEBT]),
                "nodes": {"total": 1}, "named": {"total": 0},
            },
            {
                "childrenCount": {"termsCount": 1, "nodesCount": 0},
                "glossaryChildrenSearch": found(&[CASH]),
                "nodes": {"total": 0}, "named": {"total": 1},
            },
        ])
    );
}

#[tokio::test]
async fn terms_and_nodes_move_but_never_into_themselves() {
    let app = app().await;
    let moved = |resource, parent| app.mutate("updateParentNode", MOVE, to(resource, parent));
    assert_eq!(moved(CASH, Some(MONEY)).await, true);
    assert_eq!(parent_of(&app, CASH, "glossaryTermInfo").await, MONEY);
    assert_eq!(
        app.aspect(CASH, "glossaryTermInfo").await.unwrap()["name"],
        "Cash"
    );
    assert_eq!(moved(ASSETS, None).await, true);
    assert_eq!(
        parent_of(&app, ASSETS, "glossaryNodeInfo").await,
        Value::Null
    );
    moved(MONEY, Some(ASSETS)).await;

    let refused =
        |resource, parent| app.mutate_error("updateParentNode", MOVE, to(resource, parent));
    let cycle = "Cannot move a glossary node under one of its own descendants.";
    assert_eq!(refused(ASSETS, Some(MONEY)).await, (400, cycle.to_owned()));
    assert_eq!(refused(ASSETS, Some(ASSETS)).await, (400, cycle.to_owned()));
    let none = "urn:li:glossaryNode:none";
    for parent in [none, DEBT] {
        assert_eq!(
            refused(CASH, Some(parent)).await,
            (
                400,
                format!(
                    "Failed to update {CASH}. {parent} either does not exist or is not a glossaryNode."
                )
            )
        );
    }
    assert_eq!(
        refused(none, None).await,
        (
            400,
            format!("Failed to update {none}. {none} does not exist.")
        )
    );
    assert_eq!(
        refused(DATASET, None).await,
        (
            400,
            format!("Failed to update parentNode. Unsupported resource type {DATASET} provided.")
        )
    );
    assert_eq!(parent_of(&app, CASH, "glossaryTermInfo").await, MONEY);
    assert_eq!(
        parent_of(&app, ASSETS, "glossaryNodeInfo").await,
        Value::Null
    );
}

#[tokio::test]
async fn deleting_a_term_removes_it_from_assets_and_from_other_terms() {
    let app = app().await;
    let input = json!({"termUrns": [CASH, DEBT], "resources": [{"resourceUrn": DATASET}]});
    app.mutate("batchAddTerms", "BatchAddTermsInput", input)
        .await;
    let related = json!({"urn": DEBT, "termUrns": [CASH], "relationshipType": "hasA"});
    app.mutate("addRelatedTerms", "RelatedTermsInput", related)
        .await;
    let delete = format!(r#"mutation {{ deleteGlossaryEntity(urn: "{CASH}") }}"#);
    assert_eq!(
        app.graphql(&delete).await["data"]["deleteGlossaryEntity"],
        true
    );
    let terms = app.aspect(DATASET, "glossaryTerms").await.unwrap();
    assert_eq!(terms["terms"], json!([{"urn": DEBT}]));
    let related = app.aspect(DEBT, "glossaryRelatedTerms").await;
    assert_eq!(related.unwrap(), json!({"hasRelatedTerms": []}));
    assert_eq!(
        app.graphql_error(&delete).await,
        (400, format!("This urn does not exist: {CASH}"))
    );
    let dataset = format!(r#"mutation {{ deleteGlossaryEntity(urn: "{DATASET}") }}"#);
    assert_eq!(app.graphql_error(&dataset).await.0, 400);
}

#[tokio::test]
async fn deleting_a_node_moves_its_children_to_the_root() {
    let app = app().await;
    let delete = format!(r#"mutation {{ deleteGlossaryEntity(urn: "{ASSETS}") }}"#);
    assert_eq!(
        app.graphql(&delete).await["data"]["deleteGlossaryEntity"],
        true
    );
    let roots = "{ getRootGlossaryTerms(input: {start: 0, count: 10}) { terms { urn } } }";
    assert_eq!(
        app.graphql(roots).await["data"]["getRootGlossaryTerms"]["terms"],
        json!([{"urn": CASH}, {"urn": DEBT}])
    );
}

#[tokio::test]
async fn related_terms_are_added_once_and_removed() {
    let app = app().await;
    let change = async |field: &str, kind: &str| {
        let input = json!({"urn": CASH, "termUrns": [DEBT], "relationshipType": kind});
        app.mutate(field, "RelatedTermsInput", input).await;
        app.aspect(CASH, "glossaryRelatedTerms").await.unwrap()
    };
    let is_a = json!({"isRelatedTerms": [DEBT]});
    assert_eq!(change("addRelatedTerms", "isA").await, is_a);
    assert_eq!(change("addRelatedTerms", "isA").await, is_a);
    assert_eq!(
        change("addRelatedTerms", "hasA").await,
        json!({"isRelatedTerms": [DEBT], "hasRelatedTerms": [DEBT]})
    );
    let read = format!(
        r#"{{ glossaryTerm(urn: "{CASH}") {{ relationships(input: {{ types: ["IsA", "HasA"],
            direction: OUTGOING }}) {{ relationships {{ type entity {{ urn }} }} }} }} }}"#
    );
    assert_eq!(
        app.graphql(&read).await["data"]["glossaryTerm"]["relationships"]["relationships"],
        json!([{"type": "HasA", "entity": {"urn": DEBT}}, {"type": "IsA", "entity": {"urn": DEBT}}])
    );
    let removed = json!({"isRelatedTerms": [], "hasRelatedTerms": [DEBT]});
    assert_eq!(change("removeRelatedTerms", "isA").await, removed);
    assert_eq!(change("removeRelatedTerms", "isA").await, removed);

    let none = "urn:li:glossaryTerm:none";
    for (urn, other, message) in [
        (
            CASH,
            none,
            format!("Failed to update {CASH}. {none} does not exist."),
        ),
        (
            CASH,
            MONEY,
            format!("Failed to update {CASH}. {MONEY} is not a glossaryTerm."),
        ),
        (
            CASH,
            CASH,
            format!("Failed to update {CASH}. Tried to create related term with itself."),
        ),
        (
            MONEY,
            CASH,
            format!(
                "Failed to update {MONEY}. {MONEY} either does not exist or is not a glossaryTerm."
            ),
        ),
        (
            none,
            CASH,
            format!(
                "Failed to update {none}. {none} either does not exist or is not a glossaryTerm."
            ),
        ),
    ] {
        let input = json!({"urn": urn, "termUrns": [other], "relationshipType": "isA"});
        let error = app.mutate_error("addRelatedTerms", "RelatedTermsInput", input);
        assert_eq!(error.await, (400, message));
    }
    let many: Vec<String> = (0..1001)
        .map(|it| format!("urn:li:glossaryTerm:{it}"))
        .collect();
    let input = json!({"urn": CASH, "termUrns": many, "relationshipType": "isA"});
    let error = app.mutate_error("addRelatedTerms", "RelatedTermsInput", input);
    assert_eq!(error.await.0, 400);
    assert_eq!(
        app.aspect(CASH, "glossaryRelatedTerms").await.unwrap(),
        removed
    );
}

#[tokio::test]
async fn a_right_below_a_node_is_none_to_leave_it() {
    let app = app().await;
    let criteria = json!([{"field": "GLOSSARY", "values": [ASSETS], "condition": "EQUALS"}]);
    let resources = json!({"filter": {"criteria": criteria}});
    let privileges = ["EDIT_ENTITY", "DELETE_ENTITY"];
    let ada = reader_with(&app, "METADATA", &privileges, resources).await;
    let code = async |mutation: String| {
        let reply = app
            .graphql_as(&ada, &format!("mutation {{ {mutation} }}"))
            .await;
        reply["errors"][0]["extensions"]["code"].clone()
    };
    let move_out =
        format!(r#"updateParentNode(input: {{ resourceUrn: "{CASH}", parentNode: "{MONEY}" }})"#);
    assert_eq!(code(move_out).await, 403);
    let other = format!(r#"deleteGlossaryEntity(urn: "{DEBT}")"#);
    assert_eq!(code(other).await, 403);
    let relate = format!(
        r#"addRelatedTerms(input: {{ urn: "{CASH}", termUrns: ["{DEBT}"], relationshipType: isA }})"#
    );
    assert_eq!(code(relate).await, Value::Null);
    let own = format!(r#"deleteGlossaryEntity(urn: "{CASH}")"#);
    assert_eq!(code(own).await, Value::Null);
}

/// Otherwise nobody who does not see the node would find the term.
#[tokio::test]
async fn a_term_in_a_hidden_node_is_listed_at_the_root() {
    let app = app().await;
    app.catalog.enforce_view_policies();
    hide_by_default(&app).await;
    let vera = "urn:li:corpuser:vera";
    let token = token_of(&app.catalog, vera, None).await;
    assign(&app, vera, "Reader").await;
    let resources = json!({"resources": [CASH, MONEY]});
    grant(&app, "vera", vera, &["VIEW_ENTITY_PAGE"], &resources).await;
    let read = format!(
        r#"{{ getRootGlossaryTerms(input: {{start: 0, count: 10}}) {{ total terms {{ urn }} }}
            getRootGlossaryNodes(input: {{start: 0, count: 10}}) {{ total nodes {{ urn }} }}
            glossaryNode(urn: "{MONEY}") {{ childrenCount {{ termsCount nodesCount }} }} }}"#
    );
    assert_eq!(
        app.graphql_as(&token, &read).await["data"],
        json!({
            "getRootGlossaryTerms": {"total": 1, "terms": [{"urn": CASH}]},
            "getRootGlossaryNodes": {"total": 1, "nodes": [{"urn": MONEY}]},
            "glossaryNode": {"childrenCount": {"termsCount": 0, "nodesCount": 0}},
        })
    );
}

#[tokio::test]
async fn nodes_form_no_cycle_over_any_api() {
    let app = app().await;
    let below = |parent: &str| json!({"definition": "", "parentNode": parent});
    let delta = json!([{"op": "add", "path": "/parentNode", "value": ASSETS}]);
    for (change, value) in [
        ("UPSERT", below(ASSETS)),
        ("UPSERT", below(MONEY)),
        ("PATCH", delta),
    ] {
        let (code, reply) = app.propose(change, MONEY, "glossaryNodeInfo", &value).await;
        assert_eq!(code, 400, "{change} {value}: {reply}");
        assert!(reply.to_string().contains("descendants"), "{reply}");
    }
    let body = json!([{"urn": MONEY, "glossaryNodeInfo": {"value": below(ASSETS)}}]);
    let path = "/openapi/v3/entity/glossarynode?async=false";
    let (code, reply) = app.post(path, &body).await;
    assert_eq!(code, 400, "{reply}");
    assert_eq!(
        parent_of(&app, MONEY, "glossaryNodeInfo").await,
        Value::Null
    );
    // A parent may be stored later, but not inside its child.
    let (upper, lower) = ("urn:li:glossaryNode:upper", "urn:li:glossaryNode:lower");
    app.ingest(lower, "glossaryNodeInfo", &below(upper)).await;
    let (code, reply) = app
        .propose("UPSERT", upper, "glossaryNodeInfo", &below(lower))
        .await;
    assert_eq!(code, 400, "{reply}");
    app.ingest(upper, "glossaryNodeInfo", &below(MONEY)).await;
}
