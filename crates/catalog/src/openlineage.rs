//! Run events of OpenLineage, as changes of aspects.
//!
//! A job becomes a task of a pipeline, a run an instance of the task, and what it reads and writes
//! the lineage of both. Names are chosen as DataHub does, so that the URNs are the same. Edges of
//! the task are added, because a run is reported by several events of which each knows a part.
//!
//! Producers send more facets than these; what is unknown is ignored, as the specification of
//! OpenLineage demands.

use std::collections::HashSet;
use std::hash::Hash;
use std::sync::Arc;

use docent_model::patch::{Patch, pointer_to};
use docent_model::{AspectName, EpochMillis, Registry, SystemMetadata, Urn};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::long_work::{self, LONG_TEXT_BYTES};
use crate::proposal::{Change, Proposal};
use crate::times::parse_iso;
use crate::{Caller, Catalog, Error};

/// The environment of datasets, which OpenLineage does not know.
const ENVIRONMENT: &str = "PROD";
const OPEN_LINEAGE: &str = "https://github.com/OpenLineage/OpenLineage/";
/// Producers besides those of OpenLineage's own repository, and their orchestrators.
const PRODUCERS: [(&str, &str); 2] = [
    ("https://github.com/apache/airflow/", "airflow"),
    ("https://github.com/trinodb/trino/", "trino"),
];
/// Schemes that are called otherwise than the platform.
const PLATFORMS: [(&str, &str); 11] = [
    ("awsathena", "athena"),
    ("sqlserver", "mssql"),
    ("s3a", "s3"),
    ("s3n", "s3"),
    ("gs", "gcs"),
    ("abfs", "abs"),
    ("abfss", "abs"),
    ("wasb", "abs"),
    ("wasbs", "abs"),
    ("s3", "s3"),
    ("gcs", "gcs"),
];
/// Platforms of files, whose datasets are named by the whole path.
const FILES: [&str; 5] = ["s3", "gcs", "abs", "dbfs", "file"];
/// How sure the lineage of columns is, as in DataHub.
const CONFIDENCE: f64 = 0.5;

/// The most edges of an event, which are operations of one patch.
const MAX_EDGES: usize = 10_000;

/// What an event says about a run. Unknown members are ignored.
#[derive(Debug, Deserialize)]
#[serde(
    rename_all = "camelCase",
    expecting = "a run event with eventTime, run and job"
)]
pub struct RunEvent {
    event_type: Option<String>,
    event_time: String,
    run: Run,
    job: Job,
    #[serde(default)]
    inputs: Vec<Dataset>,
    #[serde(default)]
    outputs: Vec<Dataset>,
    producer: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "a run with runId")]
struct Run {
    run_id: String,
    #[serde(default)]
    facets: Value,
}

#[derive(Debug, Deserialize)]
#[serde(expecting = "a job with namespace and name")]
struct Job {
    namespace: String,
    name: String,
    #[serde(default)]
    facets: Value,
}

#[derive(Debug, Deserialize)]
#[serde(expecting = "a dataset with namespace and name")]
struct Dataset {
    namespace: String,
    name: String,
    #[serde(default)]
    facets: Value,
}

impl Catalog {
    /// Writes what an event says, all or nothing. `text_bytes` is the length of its JSON.
    pub async fn ingest_run_event(
        &self,
        caller: &Caller,
        event: &RunEvent,
        text_bytes: usize,
    ) -> Result<(), Error> {
        let proposals = || event.proposals(caller.actor());
        let proposals = long_work::run(text_bytes > LONG_TEXT_BYTES, proposals).await?;
        self.ingest(caller, proposals).await.map(drop)
    }
}

impl RunEvent {
    fn proposals(&self, actor: &Urn) -> Result<Vec<Proposal>, Error> {
        let time = parse_iso(&self.event_time).ok_or_else(|| {
            Error::invalid(format!(
                "eventTime is '{}': it must be a time such as 2026-01-31T12:00:00Z",
                self.event_time
            ))
        })?;
        let orchestrator = self.orchestrator()?;
        let Job {
            namespace, name, ..
        } = &self.job;
        let flow_name = name.split('.').next().unwrap_or_default();
        let flow = urn(&format!(
            "urn:li:dataFlow:({orchestrator},{flow_name},{namespace})"
        ))?;
        let job = urn(&format!("urn:li:dataJob:({flow},{name})"))?;
        let run = urn(&format!("urn:li:dataProcessInstance:{}", self.run.run_id))?;
        let inputs = datasets(&self.inputs)?;
        let outputs = datasets(&self.outputs)?;

        let mut list = ProposalList::default();
        // Lineage leads to entities that exist. A dataset that is there stays as it is.
        for dataset in unique(inputs.iter().chain(&outputs)) {
            if let Some(key) = Registry::get().key_aspect_value(dataset) {
                list.upsert(dataset, "datasetKey", &key)?;
            }
        }
        let mut info = json!({"name": flow_name, "customProperties": self.custom_properties()});
        let description = &self.job.facets["documentation"]["description"];
        if description.is_string() {
            info["description"] = description.clone();
        }
        list.upsert(&flow, "dataFlowInfo", &info)?;
        let display_name = name.split_once('.').map_or(name.as_str(), |(_, rest)| rest);
        info["name"] = display_name.into();
        info["type"] = json!({ "string": orchestrator });
        info["flowUrn"] = json!(flow);
        info["created"] = json!({ "time": time });
        list.upsert(&job, "dataJobInfo", &info)?;
        for entity in [&flow, &job] {
            list.upsert(entity, "status", &json!({"removed": false}))?;
        }
        let created = json!({"time": time, "actor": actor});
        let operations = self.edges(&inputs, &outputs, &created)?;
        if !operations.is_empty() {
            list.patch(&job, "dataJobInputOutput", operations)?;
        }
        let properties = json!({"name": self.run.run_id, "created": created});
        list.upsert(&run, "dataProcessInstanceProperties", &properties)?;
        let relationships = json!({"parentTemplate": job, "upstreamInstances": []});
        list.upsert(&run, "dataProcessInstanceRelationships", &relationships)?;
        for (aspect, member, datasets) in [
            ("dataProcessInstanceInput", "inputs", &inputs),
            ("dataProcessInstanceOutput", "outputs", &outputs),
        ] {
            if !datasets.is_empty() {
                list.upsert(&run, aspect, &json!({ member: datasets }))?;
            }
        }
        if let Some(state) = self.state(time)? {
            list.upsert(&run, "dataProcessInstanceRunEvent", &state)?;
        }
        Ok(list.0)
    }

    /// What runs the job: the engine, or the producer of the event.
    fn orchestrator(&self) -> Result<String, Error> {
        let engine = self.run.facets["processing_engine"]["name"].as_str();
        let producer = self.producer.as_deref().unwrap_or_default();
        let integration = producer.strip_prefix(OPEN_LINEAGE).and_then(|path| {
            let (before, last) = path.rsplit_once('/')?;
            (!before.is_empty() && !last.is_empty()).then_some(last)
        });
        let known = || {
            let mut known = PRODUCERS.iter();
            known.find_map(|(prefix, name)| producer.starts_with(prefix).then_some(*name))
        };
        let name = engine.map(str::to_lowercase);
        name.or_else(|| Some(integration.or_else(known)?.to_owned()))
            .ok_or_else(|| {
                Error::invalid(format!(
                    "what runs the job is unknown: send run.facets.processing_engine.name; the producer is '{producer}'"
                ))
            })
    }

    fn custom_properties(&self) -> Map<String, Value> {
        let engine = &self.run.facets["processing_engine"];
        let members = [
            ("processingEngine", "name"),
            ("processingEngineVersion", "version"),
            ("openlineageAdapterVersion", "openlineageAdapterVersion"),
        ];
        let properties = members.iter().filter_map(|(property, member)| {
            let text = engine[*member].as_str()?;
            Some(((*property).to_owned(), text.into()))
        });
        properties.collect()
    }

    /// The operations that add the edges of the task and of its columns.
    fn edges(&self, inputs: &[Urn], outputs: &[Urn], stamp: &Value) -> Result<Vec<Value>, Error> {
        let mut operations = Vec::new();
        let mut add = |path: &[&str], value: &Value| {
            if operations.len() == MAX_EDGES {
                return Err(Error::invalid(format!(
                    "an event may have at most {MAX_EDGES} edges of datasets and columns: send it in parts"
                )));
            }
            operations.push(added(path, value));
            Ok(())
        };
        for (member, datasets) in [
            ("inputDatasetEdges", inputs),
            ("outputDatasetEdges", outputs),
        ] {
            for dataset in datasets {
                let edge = json!({"destinationUrn": dataset, "lastModified": stamp});
                add(&[member, dataset.as_str()], &edge)?;
            }
        }
        for output in &self.outputs {
            let dataset = output.urn()?;
            let columns = output.facets["columnLineage"]["fields"].as_object();
            for (column, lineage) in columns.into_iter().flatten() {
                let downstream = column_urn(&dataset, column);
                let inputs = lineage["inputFields"].as_array().into_iter().flatten();
                for input in inputs {
                    let (Some(field), Ok(dataset)) =
                        (input["field"].as_str(), Dataset::deserialize(input))
                    else {
                        continue;
                    };
                    let upstream = column_urn(&dataset.urn()?, field);
                    let kind = transformation(input);
                    let path = ["fineGrainedLineages", &kind, &downstream, "NONE", &upstream];
                    add(&path, &json!({"confidenceScore": CONFIDENCE}))?;
                }
            }
        }
        Ok(operations)
    }

    /// The state of the run; `None` if the event does not change it.
    fn state(&self, time: EpochMillis) -> Result<Option<Value>, Error> {
        let name = self.event_type.as_deref().unwrap_or("OTHER");
        let result = match name {
            "OTHER" => return Ok(None),
            "START" | "RUNNING" => None,
            "COMPLETE" => Some("SUCCESS"),
            "FAIL" | "ABORT" => Some("FAILURE"),
            other => {
                return Err(Error::invalid(format!(
                    "eventType is '{other}': use START, RUNNING, COMPLETE, ABORT, FAIL or OTHER"
                )));
            }
        };
        let Some(result) = result else {
            return Ok(Some(json!({"timestampMillis": time, "status": "STARTED"})));
        };
        let result = json!({"type": result, "nativeResultType": name});
        Ok(Some(
            json!({"timestampMillis": time, "status": "COMPLETE", "result": result}),
        ))
    }
}

impl Dataset {
    /// The URN by which connectors know the dataset. A name in a metastore takes precedence.
    fn urn(&self) -> Result<Urn, Error> {
        let links = self.facets["symlinks"]["identifiers"].as_array();
        let mut tables = links.into_iter().flatten().rev();
        let table = tables.find(|link| link["type"] == "TABLE");
        let text = |member: &str| table?.get(member)?.as_str();
        let (platform, name) = match (text("namespace"), text("name")) {
            (Some(namespace), Some(name)) => {
                let is_glue = namespace
                    .trim_start_matches("arn:")
                    .starts_with("aws:glue:");
                let name = match name.strip_prefix("table/") {
                    Some(path) => path.replace('/', "."),
                    None => name.to_owned(),
                };
                (if is_glue { "glue" } else { "hive" }.to_owned(), name)
            }
            _ => self.platform_and_name(),
        };
        urn(&format!(
            "urn:li:dataset:(urn:li:dataPlatform:{platform},{name},{ENVIRONMENT})"
        ))
    }

    fn platform_and_name(&self) -> (String, String) {
        let Some((scheme, authority)) = self.namespace.split_once("://") else {
            return (self.namespace.clone(), self.name.clone());
        };
        let mut known = PLATFORMS.iter();
        let platform = known.find_map(|(known, name)| (*known == scheme).then_some(*name));
        let platform = platform.unwrap_or(scheme);
        let name = if FILES.contains(&platform) {
            let path = self.name.trim_start_matches('/');
            // Without a bucket, it is a path of the machine.
            format!("{}/{path}", authority.trim_end_matches('/'))
        } else {
            self.name.clone()
        };
        (platform.to_owned(), name)
    }
}

/// The proposals of an event.
#[derive(Default)]
struct ProposalList(Vec<Proposal>);

impl ProposalList {
    fn upsert(&mut self, urn: &Urn, aspect: &str, value: &Value) -> Result<(), Error> {
        let text = value.to_string();
        self.add(urn, aspect, |aspect| Change::Upsert { aspect, text })
    }

    fn patch(&mut self, urn: &Urn, aspect: &str, operations: Vec<Value>) -> Result<(), Error> {
        let patch = Patch::from_value(Value::Array(operations));
        let patch = Arc::new(patch.map_err(|error| Error::invalid(error.to_string()))?);
        self.add(urn, aspect, |aspect| Change::Patch { aspect, patch })
    }

    fn add(
        &mut self,
        urn: &Urn,
        aspect: &str,
        change: impl FnOnce(AspectName) -> Change,
    ) -> Result<(), Error> {
        let aspect = Registry::get()
            .aspect(aspect)
            .ok_or_else(|| Error::invalid(format!("there is no aspect {aspect}")))?;
        let proposal = Proposal::new(urn.clone(), change(aspect));
        let proposal = proposal.with_system_metadata(Some(SystemMetadata::default()));
        self.0.push(proposal);
        Ok(())
    }
}

/// The URNs of datasets, each once.
fn datasets(datasets: &[Dataset]) -> Result<Vec<Urn>, Error> {
    let urns: Vec<Urn> = datasets
        .iter()
        .map(Dataset::urn)
        .collect::<Result<_, _>>()?;
    Ok(unique(urns))
}

/// Each item once, in their order.
fn unique<T: Clone + Eq + Hash>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut seen = HashSet::new();
    let items = items.into_iter();
    items.filter(|item| seen.insert(item.clone())).collect()
}

fn urn(text: &str) -> Result<Urn, Error> {
    let urn = Registry::get().parse_urn(text);
    urn.map_err(|error| Error::invalid(format!("{error}: names must fit into a URN")))
}

fn column_urn(dataset: &Urn, column: &str) -> String {
    format!("urn:li:schemaField:({dataset},{column})")
}

/// How a column is computed, such as `DIRECT:IDENTITY`.
fn transformation(input: &Value) -> String {
    let all = input["transformations"].as_array().into_iter().flatten();
    let mut kinds: Vec<String> = all
        .filter_map(|it| {
            Some(format!(
                "{}:{}",
                it["type"].as_str()?,
                it["subtype"].as_str()?
            ))
        })
        .collect();
    kinds.sort_unstable();
    kinds.dedup();
    if kinds.is_empty() {
        return "TRANSFORM".to_owned();
    }
    kinds.join(",")
}

fn added(path: &[&str], value: &Value) -> Value {
    json!({"op": "add", "path": pointer_to(path), "value": value})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dataset(namespace: &str, name: &str) -> String {
        let dataset = json!({"namespace": namespace, "name": name});
        let dataset = Dataset::deserialize(dataset).unwrap();
        dataset.urn().unwrap().to_string()
    }

    #[test]
    fn datasets_have_the_urns_of_connectors() {
        for (namespace, name, platform, expected) in [
            (
                "postgres://db:5432",
                "shop.public.orders",
                "postgres",
                "shop.public.orders",
            ),
            ("awsathena://athena.eu", "c.d.t", "athena", "c.d.t"),
            ("sqlserver://host", "d.s.t", "mssql", "d.s.t"),
            ("s3://bucket", "raw/orders", "s3", "bucket/raw/orders"),
            ("s3a://bucket/", "/raw/orders", "s3", "bucket/raw/orders"),
            ("gs://bucket", "raw", "gcs", "bucket/raw"),
            ("hdfs://node:8020", "/raw", "hdfs", "/raw"),
            ("file", "/tmp/a", "file", "/tmp/a"),
            ("file://", "/tmp/a", "file", "/tmp/a"),
            ("bigquery", "p.d.t", "bigquery", "p.d.t"),
        ] {
            let expected =
                format!("urn:li:dataset:(urn:li:dataPlatform:{platform},{expected},PROD)");
            assert_eq!(dataset(namespace, name), expected);
        }
        let linked = json!({
            "namespace": "s3://bucket", "name": "warehouse/orders",
            "facets": {"symlinks": {"identifiers": [
                {"namespace": "arn:aws:glue:eu-west-1:1", "name": "table/shop/orders", "type": "TABLE"},
            ]}},
        });
        let linked = Dataset::deserialize(linked).unwrap().urn().unwrap();
        let expected = "urn:li:dataset:(urn:li:dataPlatform:glue,shop.orders,PROD)";
        assert_eq!(linked.as_str(), expected);
    }

    #[test]
    fn an_event_has_a_limited_number_of_edges() {
        let event = |columns: usize| {
            let input = json!({"namespace": "hive", "name": "t", "field": "c"});
            let fields: Map<String, Value> = (0..columns)
                .map(|number| (number.to_string(), json!({"inputFields": [input]})))
                .collect();
            let facets = json!({"columnLineage": {"fields": fields}});
            let event = json!({
                "eventTime": "2026-01-31T12:00:00Z",
                "run": {"runId": "r", "facets": {"processing_engine": {"name": "spark"}}},
                "job": {"namespace": "n", "name": "j"},
                "outputs": [{"namespace": "hive", "name": "o", "facets": facets}],
            });
            let event = RunEvent::deserialize(event).unwrap();
            event.proposals(Caller::system().actor())
        };
        // One is that of the output.
        assert!(event(MAX_EDGES - 1).is_ok());
        let error = event(MAX_EDGES).unwrap_err();
        assert!(error.to_string().contains("at most 10000 edges"), "{error}");
    }

    #[test]
    fn the_orchestrator_is_the_engine_or_the_producer() {
        let event = |engine: Value, producer: &str| {
            let event = json!({
                "eventTime": "2026-01-31T12:00:00Z",
                "run": {"runId": "r", "facets": {"processing_engine": {"name": engine}}},
                "job": {"namespace": "n", "name": "j"},
                "producer": producer,
            });
            RunEvent::deserialize(event).unwrap().orchestrator().ok()
        };
        let own = "https://github.com/OpenLineage/OpenLineage/blob/v1/integration/dbt";
        assert_eq!(event(json!("Spark"), own).as_deref(), Some("spark"));
        assert_eq!(event(Value::Null, own).as_deref(), Some("dbt"));
        let airflow = "https://github.com/apache/airflow/tree/2";
        assert_eq!(event(Value::Null, airflow).as_deref(), Some("airflow"));
        assert_eq!(event(Value::Null, "https://example.com"), None);
    }
}
