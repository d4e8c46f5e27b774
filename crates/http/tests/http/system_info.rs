//! What the server tells administrators about itself.

use axum::http::StatusCode;
use docent_http::{HttpSettings, ShownSetting};
use serde_json::{Value, json};

use crate::support::{App, token_of};

const ROOT: &str = "/openapi/v1/system-info";
const MASK: &str = "***REDACTED***";

async fn app() -> App {
    let setting = |name: &str, value: Option<&str>| ShownSetting {
        name: name.to_owned(),
        value: value.map(str::to_owned),
    };
    App::with_settings(HttpSettings {
        shown: vec![
            setting("listen", Some("127.0.0.1:8080")),
            setting("tls-key", None),
        ],
        ..HttpSettings::default()
    })
    .await
}

impl App {
    async fn system_info(&self, path: &str) -> Value {
        let (status, reply) = self.get(&format!("{ROOT}{path}")).await;
        assert_eq!(status, StatusCode::OK, "{reply}");
        reply
    }
}

#[tokio::test]
async fn settings_are_shown_and_secret_ones_masked() {
    let app = app().await;
    let simple = app.system_info("/properties/simple").await;
    let version = app.get("/health/detailed").await.1["version"].clone();
    let datahub = app.get("/config").await.1["versions"]["acryldata/datahub"]["version"].clone();
    let expected = json!({
        "docent.version": version,
        "datahub.version": datahub,
        "listen": "127.0.0.1:8080",
        "tls-key": MASK,
    });
    assert_eq!(simple, expected);
    let details = app.system_info("/properties").await;
    assert_eq!(details["totalProperties"], 4);
    assert_eq!(details["redactedProperties"], 1);
    let sources = json!([
        {"name": "program", "type": "Constant", "propertyCount": 2},
        {"name": "settings", "type": "FlagVariableOrFile", "propertyCount": 2},
    ]);
    assert_eq!(details["propertySources"], sources);
    let listen = json!({
        "key": "listen",
        "value": "127.0.0.1:8080",
        "source": "settings",
        "sourceType": "FlagVariableOrFile",
        "resolvedValue": "127.0.0.1:8080",
    });
    assert_eq!(details["properties"]["listen"], listen);
    assert_eq!(details["properties"]["tls-key"]["resolvedValue"], MASK);
}

#[tokio::test]
async fn the_server_does_the_work_of_all_components() {
    let app = app().await;
    let components = app.system_info("/spring-components").await;
    let whole = app.system_info("").await;
    assert_eq!(whole, json!({"springComponents": components}));
    for (key, name) in [
        ("gms", "GMS"),
        ("maeConsumer", "MAE Consumer"),
        ("mceConsumer", "MCE Consumer"),
    ] {
        assert_eq!(components[key]["name"], name);
        assert_eq!(components[key]["status"], "AVAILABLE");
    }
    let simple = app.system_info("/properties/simple").await;
    assert_eq!(components["gms"]["properties"], simple);
}

#[tokio::test]
async fn other_users_are_told_what_they_lack() {
    let app = app().await;
    let token = token_of(&app.catalog, "urn:li:corpuser:ed", None).await;
    let (status, reply) = app.send_as(&token, "GET", ROOT, &Value::Null).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    let message = reply["message"].as_str().unwrap();
    let start = "urn:li:corpuser:ed is not authorized for system operations: ";
    assert!(message.starts_with(start), "{message}");
    assert!(message.contains("MANAGE_SYSTEM_OPERATIONS"), "{message}");
}
