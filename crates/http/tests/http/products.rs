//! Data products and their assets.

use serde_json::{Value, json};

use crate::escalation::reader_with;
use crate::support::{App, DATASET, MISSING, USER, error_of};

const FINANCE: &str = "urn:li:domain:finance";
const SALES: &str = "urn:li:dataProduct:sales";
const ORDERS: &str = "urn:li:dataProduct:orders";
const OTHER: &str = "urn:li:dataset:(urn:li:dataPlatform:hive,other,PROD)";

/// A catalog with two datasets, the product sales and inside it orders, both in the domain finance.
async fn app() -> App {
    let app = App::with_dataset().await;
    app.add_dataset(OTHER).await;
    let finance = json!({"name": "Finance", "description": ""});
    app.ingest(FINANCE, "domainProperties", &finance).await;
    create(
        &app,
        json!({"id": "sales", "domainUrn": FINANCE, "properties": {"name": "Sales"}}),
    )
    .await;
    let orders = json!({"name": "Orders", "description": "Per day", "parentDataProduct": SALES});
    create(
        &app,
        json!({"id": "orders", "domainUrn": FINANCE, "properties": orders}),
    )
    .await;
    app
}

/// Sends a mutation with one `input` that returns a product.
async fn send(app: &App, text: &str, input: Value) -> Value {
    app.graphql_with(text, json!({"input": input})).await
}

async fn create(app: &App, input: Value) -> Value {
    let text =
        "mutation ($input: CreateDataProductInput!) { createDataProduct(input: $input) { urn } }";
    send(app, text, input).await
}

async fn assets_of(app: &App, product: &str) -> Vec<Value> {
    let properties = app.aspect(product, "dataProductProperties").await.unwrap();
    let assets = properties["assets"].as_array().cloned();
    let urn = |asset: &Value| asset["destinationUrn"].clone();
    assets.unwrap_or_default().iter().map(urn).collect()
}

#[tokio::test]
async fn a_product_is_created_in_a_domain_with_its_creator_as_owner() {
    let app = app().await;
    let read = format!(
        r#"{{ dataProduct(urn: "{ORDERS}") {{ urn type exists properties {{ name description numAssets
            parentDataProduct {{ urn }} }} domain {{ domain {{ urn }} }}
            ownership {{ owners {{ owner {{ ... on CorpUser {{ urn }} }} }} }}
            parentDataProducts {{ urn properties {{ name }} }} }}
          getRootDataProducts(input: {{}}) {{ start count total dataProducts {{ urn
            childDataProducts(input: {{ query: "*" }}) {{ total searchResults {{ entity {{ urn }} }} }} }} }} }}"#
    );
    assert_eq!(
        app.graphql(&read).await["data"],
        json!({
            "dataProduct": {
                "urn": ORDERS, "type": "DATA_PRODUCT", "exists": true,
                "properties": {"name": "Orders", "description": "Per day", "numAssets": 0, "parentDataProduct": {"urn": SALES}},
                "domain": {"domain": {"urn": FINANCE}},
                "ownership": {"owners": [{"owner": {"urn": USER}}]},
                "parentDataProducts": [{"urn": SALES, "properties": {"name": "Sales"}}],
            },
            "getRootDataProducts": {"start": 0, "count": 25, "total": 1, "dataProducts": [
                {"urn": SALES, "childDataProducts": {"total": 1, "searchResults": [{"entity": {"urn": ORDERS}}]}},
            ]},
        })
    );
    let properties = json!({"name": "Sales"});
    let nowhere = json!({"domainUrn": "urn:li:domain:none", "properties": properties});
    assert_eq!(
        error_of(&create(&app, nowhere).await),
        (400, "The Domain provided does not exist".to_owned())
    );
    let again = json!({"id": "sales", "domainUrn": FINANCE, "properties": properties});
    assert_eq!(
        error_of(&create(&app, again).await),
        (409, "This Data Product already exists!".to_owned())
    );
    for properties in [
        json!({"name": " "}),
        json!({"name": "x", "parentDataProduct": FINANCE}),
        json!({"name": "x", "parentDataProduct": "urn:li:dataProduct:none"}),
    ] {
        let input = json!({"id": "bad", "domainUrn": FINANCE, "properties": properties});
        assert_eq!(error_of(&create(&app, input).await).0, 400);
    }
    assert_eq!(
        app.aspect("urn:li:dataProduct:bad", "ownership").await,
        None
    );
}

#[tokio::test]
async fn a_product_is_changed_and_moved_but_never_into_itself() {
    let app = app().await;
    let text = format!(
        "mutation ($input: UpdateDataProductInput!) {{ updateDataProduct(urn: \"{SALES}\", input: $input) {{
            properties {{ name description parentDataProduct {{ urn }} }} }} }}"
    );
    let changed = send(&app, &text, json!({"description": "All of it"})).await;
    assert_eq!(
        changed["data"]["updateDataProduct"]["properties"],
        json!({"name": "Sales", "description": "All of it", "parentDataProduct": null})
    );
    let cycle = "Cannot move a data product under one of its own descendants.";
    let below = send(&app, &text, json!({"parentDataProduct": ORDERS})).await;
    assert_eq!(error_of(&below), (400, cycle.to_owned()));

    let kind = "MoveDataProductInput";
    let to = |product: &str, parent: Option<&str>| json!({"resourceUrn": product, "parentDataProduct": parent});
    for parent in [SALES, ORDERS] {
        let error = app.mutate_error("moveDataProduct", kind, to(SALES, Some(parent)));
        assert_eq!(error.await, (400, cycle.to_owned()));
    }
    assert_eq!(
        app.mutate("moveDataProduct", kind, to(ORDERS, None)).await,
        true
    );
    let stored = app.aspect(ORDERS, "dataProductProperties").await.unwrap();
    assert_eq!(stored.get("parentDataProduct"), None);
    assert_eq!(stored["name"], "Orders");
    app.mutate("moveDataProduct", kind, to(SALES, Some(ORDERS)))
        .await;
    for (product, parent) in [
        (DATASET, None),
        (SALES, Some(FINANCE)),
        (SALES, Some("urn:li:dataProduct:none")),
        ("urn:li:dataProduct:none", None),
    ] {
        let error = app.mutate_error("moveDataProduct", kind, to(product, parent));
        assert_eq!(error.await.0, 400, "{product} {parent:?}");
    }
}

#[tokio::test]
async fn deleting_a_product_keeps_its_assets_and_moves_its_children_to_the_root() {
    let app = app().await;
    let input = json!({"dataProductUrn": SALES, "resourceUrns": [DATASET]});
    app.mutate("batchSetDataProduct", "BatchSetDataProductInput", input)
        .await;
    let delete = format!(r#"mutation {{ deleteDataProduct(urn: "{SALES}") }}"#);
    assert_eq!(
        app.graphql(&delete).await["data"]["deleteDataProduct"],
        true
    );
    let read = format!(
        r#"{{ entityExists(urn: "{DATASET}") getRootDataProducts(input: {{ query: "orders" }}) {{ dataProducts {{ urn }} }} }}"#
    );
    assert_eq!(
        app.graphql(&read).await["data"],
        json!({"entityExists": true, "getRootDataProducts": {"dataProducts": [{"urn": ORDERS}]}})
    );
    assert_eq!(app.graphql_error(&delete).await.0, 400);
}

#[tokio::test]
async fn assets_are_added_to_products_and_removed() {
    let app = app().await;
    let set = |product: Option<&str>, assets: Value| {
        let input = json!({"dataProductUrn": product, "resourceUrns": assets});
        app.mutate("batchSetDataProduct", "BatchSetDataProductInput", input)
    };
    assert_eq!(set(Some(SALES), json!([DATASET, OTHER])).await, true);
    set(Some(SALES), json!([DATASET])).await;
    assert_eq!(assets_of(&app, SALES).await, [DATASET, OTHER]);
    let many = "BatchSetDataProductsInput";
    let both = json!({"dataProductUrns": [SALES, ORDERS], "resourceUrns": [DATASET]});
    app.mutate("batchAddToDataProducts", many, both).await;
    assert_eq!(assets_of(&app, SALES).await, [DATASET, OTHER]);
    assert_eq!(assets_of(&app, ORDERS).await, [DATASET]);

    let read = format!(
        r#"{{ listDataProductAssets(urn: "{SALES}", input: {{ query: "*" }}) {{ total }}
            dataProduct(urn: "{SALES}") {{ properties {{ numAssets }} entities(input: {{ query: "other" }}) {{ total }} }}
            bulkEntityDataProducts(input: {{ urns: ["{DATASET}", "{OTHER}"] }}) {{ entities {{ urn
                dataProductAssociations {{ isOutputPort dataProduct {{ urn }} }} }} }} }}"#
    );
    let association = |urn: &str| json!({"isOutputPort": false, "dataProduct": {"urn": urn}});
    assert_eq!(
        app.graphql(&read).await["data"],
        json!({
            "listDataProductAssets": {"total": 2},
            "dataProduct": {"properties": {"numAssets": 2}, "entities": {"total": 1}},
            "bulkEntityDataProducts": {"entities": [
                {"urn": DATASET, "dataProductAssociations": [association(ORDERS), association(SALES)]},
                {"urn": OTHER, "dataProductAssociations": [association(SALES)]},
            ]},
        })
    );

    let one = json!({"dataProductUrns": [SALES], "resourceUrns": [DATASET]});
    app.mutate("batchRemoveFromDataProducts", many, one.clone())
        .await;
    app.mutate("batchRemoveFromDataProducts", many, one).await;
    assert_eq!(assets_of(&app, SALES).await, [OTHER]);
    set(None, json!([DATASET, OTHER])).await;
    assert!(assets_of(&app, SALES).await.is_empty());
    assert!(assets_of(&app, ORDERS).await.is_empty());
    assert_eq!(set(None, json!([OTHER])).await, true);

    let fails = |field: &'static str, kind: &'static str, input: Value| {
        app.mutate_error(field, kind, input)
    };
    let no_asset = (
        400,
        format!("Failed to update data products, resource {MISSING} does not exist"),
    );
    for product in [json!(SALES), Value::Null] {
        let input = json!({"dataProductUrn": product, "resourceUrns": [DATASET, MISSING]});
        let error = fails("batchSetDataProduct", "BatchSetDataProductInput", input);
        assert_eq!(error.await, no_asset);
    }
    let none = "urn:li:dataProduct:none";
    let input = json!({"dataProductUrns": [SALES, none], "resourceUrns": [DATASET]});
    assert_eq!(
        fails("batchAddToDataProducts", many, input).await,
        (
            400,
            format!("Failed to update data products, data product {none} does not exist")
        )
    );
    let too_many: Vec<String> = (0..1001)
        .map(|it| format!("urn:li:chart:(looker,{it})"))
        .collect();
    let input = json!({"dataProductUrn": SALES, "resourceUrns": too_many});
    let error = fails("batchSetDataProduct", "BatchSetDataProductInput", input);
    assert_eq!(error.await.0, 400);
    assert!(assets_of(&app, SALES).await.is_empty());
}

#[tokio::test]
async fn output_ports_are_marked_and_filtered() {
    let app = app().await;
    let asset = |urn: &str, is_port: bool| json!({"destinationUrn": urn, "outputPort": is_port});
    let properties =
        json!({"name": "Sales", "assets": [asset(DATASET, false), asset(OTHER, true)]});
    app.ingest(SALES, "dataProductProperties", &properties)
        .await;
    let siblings = json!({"siblings": [OTHER], "primary": false});
    app.ingest(DATASET, "siblings", &siblings).await;
    let listed = |value: &str| {
        format!(
            r#"listDataProductAssets(urn: "{SALES}", input: {{ query: "*", filters: [{{ field: "isOutputPort", values: ["{value}"] }}] }}) {{
                searchResults {{ entity {{ urn }} extraProperties {{ name value }} }} }}"#
        )
    };
    let read = format!(
        r#"{{ ports: {} others: {} bulkEntityDataProducts(input: {{ urns: ["{DATASET}"] }}) {{
            entities {{ dataProductAssociations {{ isOutputPort }} }} }} }}"#,
        listed("true"),
        listed("false")
    );
    let mark = json!([{"name": "isOutputPort", "value": "true"}]);
    assert_eq!(
        app.graphql(&read).await["data"],
        json!({
            "ports": {"searchResults": [{"entity": {"urn": OTHER}, "extraProperties": mark}]},
            "others": {"searchResults": [{"entity": {"urn": DATASET}, "extraProperties": []}]},
            // A sibling of the dataset is one.
            "bulkEntityDataProducts": {"entities": [{"dataProductAssociations": [{"isOutputPort": true}]}]},
        })
    );
    let many: Vec<String> = (0..101)
        .map(|it| format!("\"urn:li:chart:(looker,{it})\""))
        .collect();
    let many = format!(
        "{{ bulkEntityDataProducts(input: {{ urns: [{}] }}) {{ entities {{ urn }} }} }}",
        many.join(", ")
    );
    assert_eq!(app.graphql_error(&many).await.0, 400);
}

/// As in DataHub, where the privilege is one on domains.
#[tokio::test]
async fn managers_of_the_products_of_a_domain_change_those_alone() {
    let app = app().await;
    let hr = "urn:li:domain:hr";
    app.ingest(
        hr,
        "domainProperties",
        &json!({"name": "HR", "description": ""}),
    )
    .await;
    create(
        &app,
        json!({"id": "people", "domainUrn": hr, "properties": {"name": "People"}}),
    )
    .await;
    let resources = json!({"resources": [FINANCE]});
    let ada = reader_with(&app, "METADATA", &["MANAGE_DATA_PRODUCTS"], resources).await;
    let code = async |mutation: String| {
        let reply = app
            .graphql_as(&ada, &format!("mutation {{ {mutation} }}"))
            .await;
        reply["errors"][0]["extensions"]["code"].clone()
    };
    let new = |domain: &str| {
        format!(
            r#"createDataProduct(input: {{ domainUrn: "{domain}", properties: {{ name: "New" }} }}) {{ urn }}"#
        )
    };
    let add = |product: &str| {
        format!(
            r#"batchSetDataProduct(input: {{ dataProductUrn: "{product}", resourceUrns: ["{DATASET}"] }})"#
        )
    };
    let people = "urn:li:dataProduct:people";
    let update = |product: &str| {
        format!(r#"updateDataProduct(urn: "{product}", input: {{ description: "d" }}) {{ urn }}"#)
    };
    let rename =
        |product: &str| format!(r#"updateName(input: {{ urn: "{product}", name: "Other" }})"#);
    assert_eq!(code(new(FINANCE)).await, Value::Null);
    assert_eq!(code(add(SALES)).await, Value::Null);
    assert_eq!(code(update(SALES)).await, Value::Null);
    assert_eq!(code(rename(SALES)).await, Value::Null);
    for mutation in [new(hr), add(people), update(people), rename(people)] {
        assert_eq!(code(mutation.clone()).await, 403, "{mutation}");
    }
    // The assets' side needs a right on the asset.
    let unset = format!(r#"batchSetDataProduct(input: {{ resourceUrns: ["{DATASET}"] }})"#);
    assert_eq!(code(unset).await, 403);
    let delete = format!(r#"deleteDataProduct(urn: "{SALES}")"#);
    assert_eq!(code(delete).await, Value::Null);
}
