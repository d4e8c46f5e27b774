//! Fields that show stored aspects: for each a stored example, and the reply.

use serde_json::{Value, json};

use crate::support::{App, DATASET};

const ADA: &str = "urn:li:corpuser:ada";
const FLOW: &str = "urn:li:dataFlow:(airflow,nightly,PROD)";
const JOB: &str = "urn:li:dataJob:(urn:li:dataFlow:(airflow,nightly,PROD),load)";
const MODEL: &str = "urn:li:mlModel:(urn:li:dataPlatform:sagemaker,churn,PROD)";
const RUN: &str = "urn:li:dataProcessInstance:run1";
const METRIC: &str = "urn:li:metric:(urn:li:dataPlatform:dbt,finance,revenue)";
const SEMANTIC_MODEL: &str = "urn:li:semanticModel:(urn:li:dataPlatform:dbt,finance,model)";

/// A query by URN with the aspects it reads, its selection and its reply.
struct Example {
    field: &'static str,
    urn: &'static str,
    aspects: Vec<(&'static str, Value)>,
    selection: &'static str,
    reply: Value,
}

fn stamp(time: i64) -> Value {
    json!({"time": time, "actor": ADA})
}

fn examples() -> Vec<Example> {
    let comparison = json!({"operator": "GREATER_THAN", "parameters": {"value": {"value": "1", "type": "NUMBER"}}});
    vec![
        Example {
            field: "dataProcessInstance",
            urn: RUN,
            aspects: vec![
                (
                    "dataProcessInstanceProperties",
                    json!({"name": "run", "created": stamp(1), "customProperties": {"a": "b"}}),
                ),
                (
                    "mlTrainingRunProperties",
                    json!({"id": "7", "hyperParams": [{"name": "depth", "value": "3"}]}),
                ),
                (
                    "dataPlatformInstance",
                    json!({"platform": "urn:li:dataPlatform:airflow"}),
                ),
                ("subTypes", json!({"typeNames": ["Training"]})),
                ("container", json!({"container": "urn:li:container:c"})),
                (
                    "dataProcessInstanceRelationships",
                    json!({"parentTemplate": JOB, "upstreamInstances": []}),
                ),
            ],
            selection: "properties { name created { time } customProperties { key value } }
                mlTrainingRunProperties { id hyperParams { name value } }
                platform { urn } subTypes { typeNames } container { urn } parentTemplate { urn }",
            reply: json!({
                "properties": {"name": "run", "created": {"time": 1},
                    "customProperties": [{"key": "a", "value": "b"}]},
                "mlTrainingRunProperties": {"id": "7", "hyperParams": [{"name": "depth", "value": "3"}]},
                "platform": {"urn": "urn:li:dataPlatform:airflow"},
                "subTypes": {"typeNames": ["Training"]},
                "container": {"urn": "urn:li:container:c"},
                "parentTemplate": {"urn": JOB},
            }),
        },
        Example {
            field: "mlModel",
            urn: MODEL,
            aspects: vec![
                (
                    "mlModelProperties",
                    json!({"hyperParameters": {"depth": {"int": 3}}, "trainingJobs": [JOB]}),
                ),
                ("intendedUse", json!({"primaryUses": ["churn"], "primaryUsers": ["HOBBY"]})),
                (
                    "mlModelFactorPrompts",
                    json!({"relevantFactors": [{"groups": ["age"]}]}),
                ),
                ("mlModelMetrics", json!({"performanceMeasures": ["recall"]})),
                ("mlModelTrainingData", json!({"trainingData": [{"dataset": DATASET}]})),
                (
                    "mlModelQuantitativeAnalyses",
                    json!({"unitaryResults": "https://example.com"}),
                ),
                ("mlModelEthicalConsiderations", json!({"risksAndHarms": ["bias"]})),
                (
                    "mlModelCaveatsAndRecommendations",
                    json!({"caveats": {"needsFurtherTesting": true}, "recommendations": "retrain"}),
                ),
                (
                    "sourceCode",
                    json!({"sourceCode": [{"type": "ML_MODEL_SOURCE_CODE",
                        "sourceCodeUrl": "https://example.com/code"}]}),
                ),
                ("cost", json!({"costType": "ORG_COST_TYPE", "cost": {"costId": 1.5}})),
            ],
            selection: "properties { hyperParameters { key value { ... on IntBox { intValue } } }
                    mlModelLineageInfo { trainingJobs downstreamJobs } }
                intendedUse { primaryUses primaryUsers } factorPrompts { relevantFactors { groups } }
                metrics { performanceMeasures } trainingData { dataset }
                quantitativeAnalyses { unitaryResults { ... on StringBox { stringValue } } }
                ethicalConsiderations { risksAndHarms }
                caveatsAndRecommendations { caveats { needsFurtherTesting } recommendations }
                sourceCode { sourceCode { type sourceCodeUrl } } cost { costType costValue { costId costCode } }",
            reply: json!({
                "properties": {"hyperParameters": {"key": "depth", "value": {"intValue": 3}},
                    "mlModelLineageInfo": {"trainingJobs": [JOB], "downstreamJobs": null}},
                "intendedUse": {"primaryUses": ["churn"], "primaryUsers": ["HOBBY"]},
                "factorPrompts": {"relevantFactors": [{"groups": ["age"]}]},
                "metrics": {"performanceMeasures": ["recall"]},
                "trainingData": [{"dataset": DATASET}],
                "quantitativeAnalyses": {"unitaryResults": {"stringValue": "https://example.com"}},
                "ethicalConsiderations": {"risksAndHarms": ["bias"]},
                "caveatsAndRecommendations": {"caveats": {"needsFurtherTesting": true},
                    "recommendations": "retrain"},
                "sourceCode": {"sourceCode": [{"type": "ML_MODEL_SOURCE_CODE",
                    "sourceCodeUrl": "https://example.com/code"}]},
                "cost": {"costType": "ORG_COST_TYPE", "costValue": {"costId": 1.5, "costCode": null}},
            }),
        },
        Example {
            field: "assertion",
            urn: "urn:li:assertion:volume",
            aspects: vec![
                (
                    "assertionInfo",
                    json!({"type": "VOLUME", "volumeAssertion": {
                        "type": "INCREMENTING_SEGMENT_ROW_COUNT_TOTAL", "entity": DATASET,
                        "incrementingSegmentRowCountTotal": {
                            "segment": {"field": {"path": "day", "type": "DATE", "nativeType": "date"},
                                "transformer": {"type": "FLOOR"}},
                            "operator": comparison["operator"], "parameters": comparison["parameters"],
                        },
                    }}),
                ),
                (
                    "assertionActions",
                    json!({"onFailure": [{"type": "RAISE_INCIDENT"}]}),
                ),
            ],
            selection: "dataset { urn } actions { onSuccess { type } onFailure { type } }
                info { volumeAssertion { incrementingSegmentRowCountTotal {
                    segment { field { path } transformer { type nativeType } } operator } } }",
            reply: json!({
                "dataset": {"urn": DATASET},
                "actions": {"onSuccess": [], "onFailure": [{"type": "RAISE_INCIDENT"}]},
                "info": {"volumeAssertion": {"incrementingSegmentRowCountTotal": {
                    "segment": {"field": {"path": "day"},
                        "transformer": {"type": "FLOOR", "nativeType": null}},
                    "operator": "GREATER_THAN"}}},
            }),
        },
        Example {
            field: "assertion",
            urn: "urn:li:assertion:custom",
            aspects: vec![(
                "assertionInfo",
                json!({"type": "CUSTOM", "customAssertion": {
                    "type": "mine", "entity": DATASET, "operator": "NOT_NULL",
                    "scope": "DATASET_COLUMN", "aggregation": "IDENTITY", "nativeType": "nulls",
                    "nativeParameters": {"limit": "3"},
                }}),
            )],
            selection: "info { customAssertion { operator scope aggregation nativeType
                nativeParameters { key value } fields { path } } }",
            reply: json!({"info": {"customAssertion": {
                "operator": "NOT_NULL", "scope": "DATASET_COLUMN", "aggregation": "IDENTITY",
                "nativeType": "nulls", "nativeParameters": [{"key": "limit", "value": "3"}],
                "fields": [],
            }}}),
        },
        Example {
            field: "metric",
            urn: METRIC,
            aspects: vec![
                ("metricInfo", json!({"name": "Revenue", "semanticModel": SEMANTIC_MODEL})),
                (
                    "metricUpstreams",
                    json!({"datasetUpstreams": [{"destinationUrn": DATASET, "properties": {"a": "b"}}]}),
                ),
                ("aiContext", json!({"synonyms": ["turnover"]})),
            ],
            selection: "metricUpstreams { datasetUpstreams { destination { urn } properties { key value } } }
                aiContext { synonyms } parentMetrics { urn }",
            reply: json!({
                "metricUpstreams": {"datasetUpstreams": [{"destination": {"urn": DATASET},
                    "properties": [{"key": "a", "value": "b"}]}]},
                "aiContext": {"synonyms": ["turnover"]},
                "parentMetrics": [],
            }),
        },
        Example {
            field: "metric",
            urn: "urn:li:metric:(urn:li:dataPlatform:dbt,finance,net)",
            aspects: vec![
                ("metricInfo", json!({"name": "Net revenue"})),
                (
                    "metricRelationships",
                    json!({"parentMetric": METRIC, "relatedMetrics": [{"destinationUrn": METRIC}]}),
                ),
            ],
            selection: "parentMetrics { urn } metricRelationships { derivedFrom { destination { urn } }
                relatedMetrics { destination { urn } } }
                parentMetric { childMetrics(input: { query: \"*\" }) { searchResults { entity { urn } } }
                    semanticModel { metrics(input: { query: \"*\" }) { total nextScrollId } } }",
            reply: json!({
                "parentMetrics": [{"urn": METRIC}],
                "metricRelationships": {"derivedFrom": [],
                    "relatedMetrics": [{"destination": {"urn": METRIC}}]},
                "parentMetric": {
                    "childMetrics": {"searchResults": [
                        {"entity": {"urn": "urn:li:metric:(urn:li:dataPlatform:dbt,finance,net)"}}]},
                    "semanticModel": {"metrics": {"total": 1, "nextScrollId": null}},
                },
            }),
        },
        Example {
            field: "semanticModel",
            urn: SEMANTIC_MODEL,
            aspects: vec![(
                "semanticModelInfo",
                json!({"name": "Model", "datasets": [DATASET], "relationships": [{
                    "from": "a", "fromColumns": ["x"], "to": "b", "toColumns": ["y"],
                    "cardinality": "N_ONE"}]}),
            )],
            selection: "info { datasets { urn } relationships { from fromColumns cardinality } }",
            reply: json!({"info": {"datasets": [{"urn": DATASET}], "relationships": [
                {"from": "a", "fromColumns": ["x"], "cardinality": "N_ONE"}]}}),
        },
        Example {
            field: "executionRequest",
            urn: "urn:li:dataHubExecutionRequest:1",
            aspects: vec![
                (
                    "dataHubExecutionRequestInput",
                    json!({"task": "RUN_INGEST", "args": {}, "executorId": "default",
                        "requestedAt": 5, "actorUrn": ADA, "source": {"type": "MANUAL",
                            "ingestionSource": "urn:li:dataHubIngestionSource:nightly"}}),
                ),
                (
                    "dataHubExecutionRequestResult",
                    json!({"status": "SUCCESS", "structuredReport": {"type": "CLI_INGEST",
                        "serializedValue": "{}", "contentType": "application/json"}}),
                ),
            ],
            selection: "type source { urn } input { actor { urn } }
                result { structuredReport { type serializedValue contentType } }",
            reply: json!({
                "type": "EXECUTION_REQUEST",
                "source": {"urn": "urn:li:dataHubIngestionSource:nightly"},
                "input": {"actor": {"urn": ADA}},
                "result": {"structuredReport": {"type": "CLI_INGEST", "serializedValue": "{}",
                    "contentType": "application/json"}},
            }),
        },
        Example {
            field: "role",
            urn: "urn:li:role:reader",
            aspects: vec![
                ("roleProperties", json!({"name": "Reader", "type": "READ"})),
                (
                    "actors",
                    json!({"users": [{"user": "urn:li:corpuser:datahub"}]}),
                ),
            ],
            selection: "properties { name } isAssignedToMe",
            reply: json!({"properties": {"name": "Reader"}, "isAssignedToMe": true}),
        },
        Example {
            field: "form",
            urn: "urn:li:form:theirs",
            aspects: vec![(
                "formInfo",
                json!({"name": "Theirs", "type": "COMPLETION", "prompts": [],
                    "actors": {"owners": false, "users": [ADA]}}),
            )],
            selection: "info { actors { isAssignedToMe users { urn } } }",
            reply: json!({"info": {"actors": {"isAssignedToMe": false, "users": [{"urn": ADA}]}}}),
        },
        Example {
            field: "dataFlow",
            urn: FLOW,
            aspects: vec![("dataFlowInfo", json!({"name": "nightly"}))],
            selection: "dataJobs { entities { entity { urn } } } runs { total }",
            reply: json!({"dataJobs": {"entities": [{"entity": {"urn": JOB}}]}, "runs": {"total": 0}}),
        },
        Example {
            field: "dataset",
            urn: DATASET,
            aspects: vec![
                ("subTypes", json!({"typeNames": ["View"]})),
                (
                    "siblings",
                    json!({"siblings": ["urn:li:dataset:(urn:li:dataPlatform:dbt,a,PROD)"], "primary": true}),
                ),
            ],
            selection: "platformNativeType siblingsSearch(input: { query: \"*\" }) { total }",
            reply: json!({"platformNativeType": "VIEW", "siblingsSearch": {"total": 0}}),
        },
    ]
}

#[tokio::test]
async fn every_example_is_answered_from_what_is_stored() {
    let app = App::with_dataset().await;
    app.ingest(
        JOB,
        "dataJobInfo",
        &json!({"name": "load", "type": {"string": "COMMAND"}}),
    )
    .await;
    app.ingest(
        "urn:li:dataHubIngestionSource:nightly",
        "dataHubIngestionSourceInfo",
        &json!({"name": "nightly", "type": "hive", "config": {"recipe": "{}"}}),
    )
    .await;
    let examples = examples();
    for example in &examples {
        for (aspect, value) in &example.aspects {
            app.ingest(example.urn, aspect, value).await;
        }
    }
    for example in examples {
        let Example {
            field,
            urn,
            selection,
            ..
        } = example;
        let query = format!(r#"{{ {field}(urn: "{urn}") {{ {selection} }} }}"#);
        let reply = app.graphql(&query).await;
        assert_eq!(
            reply["data"][field], example.reply,
            "{field} {urn}: {reply}"
        );
    }
}

#[tokio::test]
async fn siblings_and_versions_are_searched() {
    let app = App::with_dataset().await;
    let sibling = "urn:li:dataset:(urn:li:dataPlatform:dbt,a,PROD)";
    app.ingest(
        sibling,
        "siblings",
        &json!({"siblings": [DATASET], "primary": false}),
    )
    .await;
    let found = app
        .read_dataset(
            "siblingsSearch(input: { query: \"*\" }) { searchResults { entity { urn } } }",
        )
        .await;
    assert_eq!(
        found["siblingsSearch"]["searchResults"],
        json!([{"entity": {"urn": sibling}}])
    );
    let set = "urn:li:versionSet:(churn,mlModel)";
    app.ingest(
        set,
        "versionSetProperties",
        &json!({"latest": MODEL, "versioningScheme": "LEXICOGRAPHIC_STRING"}),
    )
    .await;
    for (name, sort) in [("one", "AAA"), ("two", "AAB")] {
        let urn = format!("urn:li:mlModel:(urn:li:dataPlatform:sagemaker,{name},PROD)");
        let version = json!({"versionSet": set, "version": {"versionTag": name}, "sortId": sort,
            "versioningScheme": "LEXICOGRAPHIC_STRING"});
        app.ingest(&urn, "versionProperties", &version).await;
    }
    let query = format!(
        r#"{{ versionSet(urn: "{set}") {{ versionsSearch(input: {{ query: "*" }}) {{
            searchResults {{ entity {{ ... on MLModel {{ name }} }} }} }} }} }}"#
    );
    let reply = app.graphql(&query).await;
    assert_eq!(
        reply["data"]["versionSet"]["versionsSearch"]["searchResults"],
        json!([{"entity": {"name": "two"}}, {"entity": {"name": "one"}}]),
        "{reply}"
    );
}

#[tokio::test]
async fn the_columns_that_a_chart_uses_belong_to_their_datasets() {
    let app = App::with_dataset().await;
    let chart = "urn:li:chart:(looker,orders)";
    let column = format!("urn:li:schemaField:({DATASET},id)");
    let field = json!({
        "fieldPath": "id", "nativeDataType": "STRING",
        "type": {"type": {"com.linkedin.schema.StringType": {}}},
    });
    let fields = json!({"fields": [{"schemaFieldUrn": column, "schemaField": field}]});
    app.ingest(chart, "inputFields", &fields).await;
    let read = app
        .graphql(&format!(
            r#"{{ chart(urn: "{chart}") {{ inputFields {{ fields {{
                schemaFieldUrn schemaField {{ fieldPath schemaFieldEntity {{ urn fieldPath }} }}
            }} }} }} }}"#
        ))
        .await;
    let expected = json!([{
        "schemaFieldUrn": column,
        "schemaField": {"fieldPath": "id", "schemaFieldEntity": {"urn": column, "fieldPath": "id"}},
    }]);
    assert_eq!(
        read["data"]["chart"]["inputFields"]["fields"], expected,
        "{read}"
    );
}
