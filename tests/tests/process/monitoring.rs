//! The request log and the metrics of a running server, and what is in `deploy/monitoring` for
//! them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write as _;
use std::process::Stdio;

use anyhow::{Context as _, ensure};
use docent_e2e::{Options, Reply, Server, on_postgres, promtool, repository_root};
use reqwest::Method;
use serde_json::{Value, json};

/// What describes a metric.
#[derive(Debug, PartialEq, Eq)]
struct Metric {
    kind: String,
    help: String,
    labels: BTreeSet<String>,
}

type Metrics = BTreeMap<String, Metric>;

fn start() -> anyhow::Result<Server> {
    let options = Options::default().demo();
    let options = options.argument("--metrics-listen").argument("127.0.0.1:0");
    // The directory of the server.
    let options = options.argument("--backup-to").argument(".");
    Server::start(if on_postgres()? {
        options
    } else {
        options.argument("--backup-wal-every").argument("1s")
    })
}

/// The metrics at the address without authentication.
fn scrape(server: &Server) -> anyhow::Result<String> {
    let line = server.printed_line("Metrics are on ")?;
    let url = line.trim_start_matches("Metrics are on ");
    let response = reqwest::blocking::get(url)?;
    ensure!(response.status() == 200, "{url}: {}", response.status());
    Ok(response.text()?)
}

/// A server that has done everything that is measured once.
fn busy_server() -> anyhow::Result<Server> {
    let server = start()?;
    let search = "{ searchAcrossEntities(input: {query: \"refund\"}) { total } }";
    server.graphql(search, json!({}))?;
    let wrong = json!({"username": "datahub", "password": "wrong password"});
    let request = server.anonymous_request(Method::POST, "/logIn");
    ensure!(server.send(request.json(&wrong))?.status == 401);
    Ok(server)
}

fn name_of_sample(line: &str) -> &str {
    line.split(['{', ' ']).next().unwrap_or_default()
}

/// The metric of a sample: those of histograms have an ending.
fn metric_of<'n>(name: &'n str, metrics: &Metrics) -> &'n str {
    let endings = ["_bucket", "_sum", "_count"];
    let of_histogram = endings.iter().find_map(|it| name.strip_suffix(it));
    of_histogram
        .filter(|name| metrics.get(*name).is_some_and(|it| it.kind == "histogram"))
        .unwrap_or(name)
}

/// Reads Prometheus' text format.
fn parse(text: &str) -> anyhow::Result<Metrics> {
    let mut metrics = Metrics::new();
    let mut help = "";
    for line in text.lines() {
        if let Some(described) = line.strip_prefix("# HELP ") {
            help = described;
        } else if let Some(typed) = line.strip_prefix("# TYPE ") {
            let (name, kind) = typed.split_once(' ').context("no type")?;
            let help = help.strip_prefix(name).context("HELP of another metric")?;
            let metric = Metric {
                kind: kind.to_owned(),
                help: help.trim().to_owned(),
                labels: BTreeSet::new(),
            };
            ensure!(
                metrics.insert(name.to_owned(), metric).is_none(),
                "{name} twice"
            );
        } else {
            let metric = metric_of(name_of_sample(line), &metrics).to_owned();
            let metric = metrics.get_mut(&metric).with_context(|| line.to_owned())?;
            let labels = line.split_once('{').and_then(|(_, it)| it.split_once('}'));
            let labels = labels.map(|(labels, _)| labels).unwrap_or_default();
            let names = labels.split("\",").filter_map(|it| it.split_once('='));
            let names = names.map(|(name, _)| name.to_owned());
            metric.labels.extend(names.filter(|name| name != "le"));
        }
    }
    Ok(metrics)
}

/// The tables of docs/MONITORING.md, without the metrics of the other engine.
fn documented() -> anyhow::Result<Metrics> {
    let path = repository_root().join("docs/MONITORING.md");
    let other_engine = if on_postgres()? {
        "docent_sqlite_"
    } else {
        "docent_postgres_"
    };
    let mut metrics = Metrics::new();
    for line in fs::read_to_string(path)?.lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, name, kind, labels, meaning, _] = cells[..] else {
            continue;
        };
        let name = name.trim_matches('`');
        if !(name.starts_with("docent_") || name.starts_with("process_"))
            || name.starts_with(other_engine)
        {
            continue;
        }
        let labels = labels.split(", ").map(|it| it.trim_matches('`').to_owned());
        let metric = Metric {
            kind: kind.to_owned(),
            help: meaning.to_owned(),
            labels: labels.filter(|label| !label.is_empty()).collect(),
        };
        metrics.insert(name.to_owned(), metric);
    }
    Ok(metrics)
}

#[test]
fn the_document_has_exactly_the_metrics_of_the_server() -> anyhow::Result<()> {
    let server = busy_server()?;
    let (metrics, documented) = (parse(&scrape(&server)?)?, documented()?);
    for (name, metric) in &metrics {
        ensure!(
            documented.get(name) == Some(metric),
            "{name}: the server has {metric:?}, docs/MONITORING.md {:?}",
            documented.get(name)
        );
    }
    let names = documented.keys();
    let missing: Vec<&String> = names.filter(|name| !metrics.contains_key(*name)).collect();
    ensure!(missing.is_empty(), "the server does not have {missing:?}");
    Ok(())
}

#[test]
fn metrics_follow_what_happens() -> anyhow::Result<()> {
    const FIELD: &str = "kind=\"query\",field=\"searchAcrossEntities\"";
    let server = busy_server()?;
    let text = scrape(&server)?;
    let value = |sample: &str| -> anyhow::Result<f64> {
        let line = text.lines().find(|line| line.starts_with(sample));
        let line = line.with_context(|| format!("no {sample} in {text}"))?;
        Ok(line.rsplit(' ').next().context("no value")?.parse()?)
    };
    let of_route = |route, method, status| {
        format!(
            "docent_http_request_duration_seconds_count{{route=\"{route}\",method=\"{method}\",status=\"{status}\"}}"
        )
    };
    for (sample, expected) in [
        (of_route("/api/graphql", "POST", "200"), 1.0),
        (of_route("/logIn", "POST", "401"), 1.0),
        (
            format!("docent_graphql_operations_total{{{FIELD},outcome=\"ok\"}}"),
            1.0,
        ),
        (
            format!("docent_graphql_request_duration_seconds_count{{{FIELD}}}"),
            1.0,
        ),
        (
            "docent_sign_ins_total{outcome=\"rejected\"}".to_owned(),
            1.0,
        ),
        ("docent_denials_total".to_owned(), 1.0),
        ("docent_graphql_plan_cache_misses_total".to_owned(), 1.0),
        ("docent_search_duration_seconds_count".to_owned(), 1.0),
        ("docent_store_up".to_owned(), 1.0),
        ("docent_store_writable".to_owned(), 1.0),
    ] {
        let found = value(&sample)?;
        ensure!((found - expected).abs() < 0.1, "{sample} is {found}");
    }
    // The demo was written in transactions, and the search has indexed it.
    let transactions = if on_postgres()? {
        "docent_postgres_transactions_total"
    } else {
        "docent_sqlite_commit_transactions_sum"
    };
    for sample in [
        transactions,
        "docent_store_bytes",
        "docent_index_bytes",
        "docent_http_received_bytes_total",
        "docent_http_sent_bytes_total",
        "docent_http_connections_accepted_total",
        "docent_graphql_plan_cache_bytes",
        "process_resident_memory_bytes",
        "process_start_time_seconds",
    ] {
        ensure!(value(sample)? > 1.0 - f64::EPSILON, "{sample} in {text}");
    }
    Ok(())
}

#[test]
fn metrics_need_a_privilege_or_an_address_of_their_own() -> anyhow::Result<()> {
    let server = start()?;
    let anonymous = server.send(server.anonymous_request(Method::GET, "/metrics"))?;
    ensure!(anonymous.status == 401, "{anonymous:?}");
    let Reply { status, body } = server.get("/metrics")?;
    ensure!(
        status == 200 && body.contains("docent_store_up 1"),
        "{body}"
    );
    let mut add = server.docent(["user", "add", "reader", "--role", "Reader"])?;
    add.args(["--store", server.store()]);
    let password = server.directory().join("password");
    fs::write(&password, "a long password")?;
    add.arg("--password-file").arg(password);
    let added = add.output()?;
    ensure!(added.status.success(), "{added:?}");
    let token = server.token("reader")?;
    let request = server.anonymous_request(Method::GET, "/metrics");
    let denied = server.send(request.bearer_auth(token))?;
    ensure!(denied.status == 403, "{denied:?}");
    // Nothing else is there.
    let line = server.printed_line("Metrics are on ")?;
    let url = line.trim_start_matches("Metrics are on ");
    let other = url.replace("/metrics", "/openapi/v3/api-docs");
    ensure!(reqwest::blocking::get(other)?.status() == 404);
    Ok(())
}

/// The names of metrics in an expression of Prometheus.
fn names_in(expression: &str) -> BTreeSet<String> {
    let is_name = |character: char| character.is_ascii_alphanumeric() || character == '_';
    let words = expression.split(|character| !is_name(character));
    let is_metric = |word: &&str| {
        ["docent_", "process_"]
            .iter()
            .any(|prefix| word.starts_with(prefix))
            || *word == "up"
    };
    words.filter(is_metric).map(str::to_owned).collect()
}

/// The names that are no metric, of either engine.
fn unknown_names(expressions: &[String]) -> anyhow::Result<Vec<String>> {
    let document = fs::read_to_string(repository_root().join("docs/MONITORING.md"))?;
    let mut metrics = documented()?;
    // Of both engines: the other test compares each with a server.
    for line in document
        .lines()
        .filter(|line| line.starts_with("| `docent_"))
    {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let metric = Metric {
            kind: cells[2].to_owned(),
            help: String::new(),
            labels: BTreeSet::new(),
        };
        let name = cells[1].trim_matches('`').to_owned();
        metrics.entry(name).or_insert(metric);
    }
    let names: BTreeSet<String> = expressions.iter().flat_map(|it| names_in(it)).collect();
    ensure!(names.len() > 10, "{names:?}");
    let is_unknown =
        |name: &String| name != "up" && !metrics.contains_key(metric_of(name, &metrics));
    Ok(names.into_iter().filter(is_unknown).collect())
}

/// All expressions in a dashboard, however deep.
fn expressions_of(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| expressions_of(item, found)),
        Value::Object(members) => {
            for (name, member) in members {
                match member.as_str() {
                    Some(text) if name == "expr" || name == "definition" => {
                        found.push(text.to_owned());
                    }
                    _ => expressions_of(member, found),
                }
            }
        }
        _ => {}
    }
}

#[test]
fn the_dashboard_shows_the_metrics_that_exist() -> anyhow::Result<()> {
    // Nothing to look at, or the same in the rules.
    const NOT_SHOWN: [&str; 4] = [
        "docent_graphql_plan_cache_documents",
        "docent_sqlite_writer_queue_limit",
        "process_threads",
        "process_virtual_memory_bytes",
    ];
    let path = repository_root().join("deploy/monitoring/dashboard.json");
    let dashboard: Value = serde_json::from_str(&fs::read_to_string(path)?)?;
    let mut expressions = Vec::new();
    expressions_of(&dashboard, &mut expressions);
    let unknown = unknown_names(&expressions)?;
    ensure!(unknown.is_empty(), "no such metrics: {unknown:?}");
    let shown: BTreeSet<String> = expressions.iter().flat_map(|it| names_in(it)).collect();
    let metrics = documented()?;
    let shown: BTreeSet<&str> = shown.iter().map(|it| metric_of(it, &metrics)).collect();
    let missing: Vec<&str> = metrics
        .keys()
        .map(String::as_str)
        .filter(|name| !shown.contains(name) && !NOT_SHOWN.contains(name))
        .collect();
    ensure!(
        missing.is_empty(),
        "the dashboard does not show {missing:?}"
    );
    Ok(())
}

#[test]
fn the_alerts_are_valid_and_say_what_to_do() -> anyhow::Result<()> {
    let rules = repository_root().join("deploy/monitoring/alerts.yml");
    let mut check = promtool()?;
    let checked = check.args(["check", "rules"]).arg(&rules).output()?;
    ensure!(checked.status.success(), "{checked:?}");
    let mut try_out = promtool()?;
    let series = repository_root().join("tests/alerts.yml");
    let tried = try_out.args(["test", "rules"]).arg(&series).output()?;
    let series = fs::read_to_string(series)?;
    ensure!(tried.status.success(), "{tried:?}");
    let text = fs::read_to_string(&rules)?;
    let unknown = unknown_names(std::slice::from_ref(&text))?;
    ensure!(unknown.is_empty(), "no such metrics: {unknown:?}");
    let document = fs::read_to_string(repository_root().join("docs/MONITORING.md"))?;
    let alerts: Vec<&str> = text.split("- alert: ").skip(1).collect();
    ensure!(!alerts.is_empty());
    for alert in alerts {
        let name = alert.lines().next().unwrap_or_default();
        ensure!(alert.contains("summary: "), "{name} has no summary");
        let fires = format!("        alertname: {name}\n        exp_alerts:\n");
        ensure!(
            series.contains(&fires),
            "tests/alerts.yml does not try {name}"
        );
        let runbook = format!("runbook: docs/MONITORING.md#{}", name.to_lowercase());
        ensure!(alert.contains(&runbook), "{name} has no {runbook}");
        ensure!(
            document.contains(&format!("### {name}\n")),
            "docs/MONITORING.md does not say what to do about {name}"
        );
    }
    Ok(())
}

/// Prometheus' own parser, and its rules for names.
#[test]
fn prometheus_accepts_the_metrics() -> anyhow::Result<()> {
    let text = scrape(&busy_server()?)?;
    let mut check = promtool()?;
    let mut child = check
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut input = child.stdin.take().context("no input")?;
    input.write_all(text.as_bytes())?;
    drop(input);
    let checked = child.wait_with_output()?;
    ensure!(checked.status.success(), "{checked:?}");
    Ok(())
}

#[test]
fn slow_requests_are_logged_with_where_their_time_went() -> anyhow::Result<()> {
    // The first search builds the index.
    let options = Options::default()
        .demo()
        .argument("--slow-ms")
        .argument("1");
    let server = Server::start(options)?;
    let search = "query Slow { searchAcrossEntities(input: {query: \"refund\"}) { total } }";
    server.graphql(search, json!({}))?;
    let line = server.logged_line("slow request: POST /api/graphql")?;
    for field in [
        " WARN docent_http::slow: ",
        "operation=\"Slow\"",
        "user=\"datahub\"",
        "searches=1 ",
        "status=200",
        "plan=\"searchAcrossEntities ",
    ] {
        ensure!(line.contains(field), "{field}: {line}");
    }
    ensure!(!line.contains("search_ms=0 "), "{line}");
    let mut server = Server::start(Options::default().argument("--slow-ms").argument("off"))?;
    server.graphql(search, json!({}))?;
    ensure!(server.stop()?.success());
    ensure!(!server.printed().contains("slow request"));
    Ok(())
}

#[test]
fn requests_are_logged_in_both_formats_unless_the_filter_hides_them() -> anyhow::Result<()> {
    let query = |server: &Server| server.graphql("query Shown { __typename }", json!({}));
    let mut server = Server::start(Options::default())?;
    query(&server)?;
    let line = server.logged_line("operation=Shown")?;
    let expected = " INFO docent_http::requests: POST /api/graphql 200 operation=Shown ms=";
    ensure!(line.contains(expected), "{line}");
    ensure!(line.contains(" user=datahub bytes="), "{line}");
    let call = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "search", "arguments": {"query": "refund"}},
    });
    server.post("/mcp", &call)?;
    server.logged_line("POST /mcp 200 operation=search ms=")?;
    // The last lines are written when the server stops.
    query(&server)?;
    ensure!(server.stop()?.success());
    let lines = server.printed().matches("operation=Shown").count();
    ensure!(lines == 2, "{}", server.printed());

    let options = Options::default().argument("--log-format").argument("json");
    let server = Server::start(options)?;
    query(&server)?;
    let line = server.logged_line("\"operation\":\"Shown\"")?;
    let line: Value = serde_json::from_str(&line)?;
    ensure!(line["fields"]["route"] == "/api/graphql", "{line}");
    ensure!(line["target"] == "docent_http::requests", "{line}");

    let filter = "info,docent_http::requests=warn";
    let mut server = Server::start(Options::default().argument("--log").argument(filter))?;
    query(&server)?;
    ensure!(server.stop()?.success());
    ensure!(!server.printed().contains("Shown"), "{}", server.printed());
    Ok(())
}
