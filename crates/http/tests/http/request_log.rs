//! The request log: one line for each request.

use std::io;
use std::sync::{Arc, Mutex};

use axum::body::Body;
use axum::http::{Method, Request, StatusCode, header};
use docent_http::{AuthMode, HttpSettings, RequestLog, RequestLogDetail, RequestLogFormat};
use futures_util::FutureExt as _;
use serde_json::{Value, json};

use crate::support::{App, DATASET};

/// What the log has written.
#[derive(Debug, Clone, Default)]
struct Output(Arc<Mutex<Vec<u8>>>);

impl io::Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Logged {
    app: App,
    log: Arc<RequestLog>,
    output: Output,
}

impl Logged {
    async fn start(format: RequestLogFormat, detail: RequestLogDetail, auth: AuthMode) -> Self {
        let output = Output::default();
        let log = Arc::new(RequestLog::start(format, detail, output.clone()).unwrap());
        let app = App::with_settings(HttpSettings {
            auth,
            request_log: Some(Arc::clone(&log)),
            ..HttpSettings::default()
        });
        let app = app.await;
        Self { app, log, output }
    }

    async fn text(detail: RequestLogDetail) -> Self {
        Self::start(RequestLogFormat::Text, detail, AuthMode::On).await
    }

    /// Sends a request as the user `datahub`, or without a token.
    async fn send(&self, method: &str, path: &str, is_signed_in: bool) -> StatusCode {
        let mut request = Request::builder()
            .method(Method::from_bytes(method.as_bytes()).unwrap())
            .uri(path);
        if is_signed_in {
            let token = format!("Bearer {}", self.app.token);
            request = request.header(header::AUTHORIZATION, token);
        }
        let request = request.body(Body::from("{}")).unwrap();
        self.app.respond(request).await.status()
    }

    async fn graphql(&self, query: &str) {
        let body = json!({ "query": query });
        let (status, _) = self.app.post("/api/graphql", &body).await;
        assert_eq!(status, StatusCode::OK);
    }

    /// The lines, without their times and durations.
    fn lines(&self) -> Vec<String> {
        self.log.close();
        let bytes = self.output.0.lock().unwrap();
        let text = String::from_utf8(bytes.clone()).unwrap();
        let without_times = |line: &str| {
            let (time, rest) = line.split_once(' ').unwrap();
            assert_eq!(time, "2026-09-21T14:13:20.000Z");
            let words = rest
                .split(' ')
                .filter(|word| match word.strip_prefix("ms=") {
                    Some(ms) => ms.parse::<f64>().unwrap() < 0.0,
                    None => true,
                });
            words.collect::<Vec<_>>().join(" ")
        };
        text.lines().map(without_times).collect()
    }
}

#[tokio::test]
async fn a_request_has_one_line_with_its_route_and_without_urns() {
    let logged = Logged::text(RequestLogDetail::Api).await;
    logged.graphql("query Server { __typename }").await;
    logged.graphql("{ __typename }").await;
    let path = format!("/entitiesV2/{}", DATASET.replace(',', "%2C"));
    logged.send("GET", &path, true).await;
    logged.send("GET", &path, false).await;
    let action = "/gms/aspects?action=ingestProposal";
    logged.send("POST", action, true).await;
    logged
        .send("GET", "/api/urn:li:dataset:secret", false)
        .await;
    logged.send("FORGED", "/aspects", true).await;
    let lines = logged.lines();
    let prefix = " INFO docent_http::requests:";
    let expected = [
        "POST /api/graphql 200 operation=Server user=datahub bytes=47",
        "POST /api/graphql 200 operation=__typename user=datahub bytes=47",
        "GET /entitiesV2/{*urn} 200 user=datahub",
        "GET /entitiesV2/{*urn} 401 bytes",
        "POST /aspects 400 operation=ingestProposal user=datahub",
        "GET - 401 bytes",
        "OTHER /aspects 405 user=datahub",
    ];
    assert_eq!(lines.len(), expected.len(), "{lines:#?}");
    for (line, expected) in lines.iter().zip(expected) {
        assert!(
            line.starts_with(&format!("{prefix} {expected}")),
            "{lines:#?}"
        );
        assert!(!line.contains("urn:li:"), "{line}");
    }
}

#[tokio::test]
async fn health_checks_and_the_web_page_are_logged_at_debug() {
    let quiet = ["/health", "/gms/health/live", "/admin", "/", "/favicon.svg"];
    for (detail, expected) in [(RequestLogDetail::Api, 0), (RequestLogDetail::All, 5)] {
        let logged = Logged::text(detail).await;
        for path in quiet {
            let status = logged.send("GET", path, false).await;
            assert_eq!(status, StatusCode::OK, "{path}");
        }
        let lines = logged.lines();
        assert_eq!(lines.len(), expected, "{lines:#?}");
        assert!(lines.iter().all(|line| line.starts_with("DEBUG ")));
    }
    // What is missing is worth a line.
    let logged = Logged::text(RequestLogDetail::Api).await;
    logged.send("GET", "/assets/no-such-file.js", false).await;
    assert!(logged.lines()[0].contains("GET /assets/{*path} 404"));
}

#[tokio::test]
async fn lines_in_json_have_the_members_of_other_lines() {
    let logged = Logged::start(RequestLogFormat::Json, RequestLogDetail::Api, AuthMode::Off);
    let logged = logged.await;
    let request = Request::builder()
        .uri("/entitiesV2")
        .header(
            "X-DataHub-Actor",
            "urn:li:corpuser:\"a\tb\", \"status\": 200",
        )
        .body(Body::empty());
    logged.app.respond(request.unwrap()).await;
    logged.log.close();
    let text = logged.output.0.lock().unwrap().clone();
    let mut line: Value = serde_json::from_slice(&text).unwrap();
    assert!(line["fields"]["ms"].take().as_f64().is_some());
    assert!(line["fields"]["bytes"].take().as_u64() > Some(10));
    let expected = json!({
        "timestamp": "2026-09-21T14:13:20.000Z",
        "level": "INFO",
        "fields": {
            "message": "GET /entitiesV2 400",
            "method": "GET",
            "route": "/entitiesV2",
            "status": 400,
            "ms": null,
            "user": "\"a\tb\", \"status\": 200",
            "bytes": null,
        },
        "target": "docent_http::requests",
    });
    assert_eq!(line, expected);
}

#[tokio::test]
async fn a_request_whose_client_has_gone_is_logged_with_499() {
    let logged = Logged::text(RequestLogDetail::Api).await;
    let never = futures_util::stream::pending::<Result<Vec<u8>, io::Error>>();
    let request = Request::post("/api/graphql")
        .header(
            header::AUTHORIZATION,
            format!("Bearer {}", logged.app.token),
        )
        .body(Body::from_stream(never))
        .unwrap();
    let waiting = logged.app.respond(request).now_or_never();
    assert!(waiting.is_none());
    // On PostgreSQL, the client goes before its token is found.
    let lines = logged.lines().join("\n").replace(" user=datahub", "");
    let expected = " INFO docent_http::requests: POST /api/graphql 499 bytes=0";
    assert_eq!(lines, expected);
}
