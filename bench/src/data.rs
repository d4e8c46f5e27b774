//! The benchmark's catalog and requests.
//!
//! A dataset is a function of its number: its URN, its aspects, and the reply to each query.
//! Numbers have leading zeros, so that texts of all datasets have the same length, and every reply
//! can be checked by its length. Only the name depends on the whole number; everything else repeats
//! every [`BLOCK`] datasets, so that [`crate::measure::scale`] can build a large store from a small
//! one.
//!
//! To measure another query, add a variant to [`Read`].

pub(crate) mod labels;

use serde_json::{Value, json};

/// The number of datasets that differ in more than their name.
pub(crate) const BLOCK: usize = 10_000;

pub(crate) const COLUMNS: usize = 10;

const DOMAINS: usize = 20;

/// Aspects sent per dataset; 200 proposals are [`DATASETS_PER_REQUEST`] datasets.
const ASPECTS_PER_DATASET: usize = 4;

pub(crate) const PROPOSALS_PER_REQUEST: usize = 200;

pub(crate) const DATASETS_PER_REQUEST: usize = PROPOSALS_PER_REQUEST / ASPECTS_PER_DATASET;

const PLATFORM: &str = "urn:li:dataPlatform:hive";

const COLUMN_NAMES: [&str; COLUMNS] = [
    "order_id",
    "customer_id",
    "ordered_at",
    "shipped_at",
    "status",
    "currency",
    "net_amount",
    "tax_amount",
    "warehouse_code",
    "comment",
];

/// A query of one dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Read {
    Description,
    Columns,
    Domain,
}

impl Read {
    pub(crate) const ALL: [Self; 3] = [Self::Description, Self::Columns, Self::Domain];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Description => "description",
            Self::Columns => "ten columns",
            Self::Domain => "domain",
        }
    }

    fn selection(self) -> &'static str {
        match self {
            Self::Description => "properties { description }",
            Self::Columns => "schemaMetadata { fields { fieldPath description } }",
            Self::Domain => "domain { associatedUrn domain { urn properties { name } } }",
        }
    }

    /// Returns a request body with the URN in a variable: one query text for all datasets.
    pub(crate) fn with_variable(self, number: usize) -> String {
        let selection = self.selection();
        json!({
            "query": format!("query read($urn: String!) {{ dataset(urn: $urn) {{ {selection} }} }}"),
            "variables": {"urn": dataset_urn(number)},
        })
        .to_string()
    }

    /// Returns a request body with the URN in the query: a different query text for each dataset.
    pub(crate) fn with_literal(self, number: usize) -> String {
        let (selection, urn) = (self.selection(), dataset_urn(number));
        json!({
            "query": format!("{{ dataset(urn: \"{urn}\") {{ {selection} }} }}"),
            "variables": {},
        })
        .to_string()
    }

    /// Returns the expected reply.
    pub(crate) fn reply(self, number: usize) -> Value {
        let dataset = match self {
            Self::Description => json!({"properties": {"description": description(number)}}),
            Self::Columns => {
                let fields: Vec<Value> = (0..COLUMNS)
                    .map(|column| {
                        json!({
                            "fieldPath": COLUMN_NAMES[column],
                            "description": column_description(number, column),
                        })
                    })
                    .collect();
                json!({"schemaMetadata": {"fields": fields}})
            }
            Self::Domain => json!({"domain": {
                "associatedUrn": dataset_urn(number),
                "domain": {
                    "urn": domain_urn(number % DOMAINS),
                    "properties": {"name": domain_name(number % DOMAINS)},
                },
            }}),
        };
        json!({"data": {"dataset": dataset}, "extensions": {}})
    }
}

/// The part of a name before the digits of the block.
pub(crate) const NAME_STEM: &str = "orders_";

/// The digits of a block's number in the names of its datasets.
pub(crate) fn block_digits(block: usize) -> String {
    format!("{block:03}")
}

pub(crate) fn dataset_name(number: usize) -> String {
    let (block, rest) = (block_digits(number / BLOCK), number % BLOCK);
    format!("warehouse.sales.{NAME_STEM}{block}{rest:04}")
}

pub(crate) fn dataset_urn(number: usize) -> String {
    format!("urn:li:dataset:({PLATFORM},{},PROD)", dataset_name(number))
}

fn domain_urn(domain: usize) -> String {
    format!("urn:li:domain:department-{domain:02}")
}

fn domain_name(domain: usize) -> String {
    format!("Department {domain:02}")
}

fn description(number: usize) -> String {
    format!(
        "Orders of the shop as of `{}`: one row per order, with what was paid and where it was sent from. \
         Loaded every hour; rows of the last two days may still change. **Ask the sales team** before use.",
        dataset_name(number)
    )
}

fn column_description(number: usize, column: usize) -> String {
    let name = COLUMN_NAMES[column];
    format!("The {name} of an order in {}", dataset_name(number))
}

fn aspects(number: usize) -> [(&'static str, Value); ASPECTS_PER_DATASET] {
    let name = dataset_name(number);
    let fields: Vec<Value> = (0..COLUMNS)
        .map(|column| {
            json!({
                "fieldPath": COLUMN_NAMES[column],
                "nullable": column > 1,
                "description": column_description(number, column),
                "type": {"type": {"com.linkedin.schema.StringType": {}}},
                "nativeDataType": "varchar(64)",
                "recursive": false,
                "isPartOfKey": column == 0,
            })
        })
        .collect();
    let properties = json!({
        "customProperties": {"retention_days": "730", "format": "parquet"},
        "name": name,
        "qualifiedName": format!("hive.{name}"),
        "description": description(number),
        "tags": [],
    });
    let schema = json!({
        "schemaName": name,
        "platform": PLATFORM,
        "version": 0,
        "hash": "",
        "platformSchema": {"com.linkedin.schema.OtherSchema": {"rawSchema": ""}},
        "fields": fields,
    });
    [
        ("datasetProperties", properties),
        ("schemaMetadata", schema),
        (
            "domains",
            json!({"domains": [domain_urn(number % DOMAINS)]}),
        ),
        ("subTypes", json!({"typeNames": ["Table"]})),
    ]
}

fn proposal(entity_type: &str, urn: &str, aspect: &str, value: &Value) -> Value {
    json!({
        "entityType": entity_type,
        "entityUrn": urn,
        "changeType": "UPSERT",
        "aspectName": aspect,
        // The value is JSON in a string.
        "aspect": {"value": value.to_string(), "contentType": "application/json"},
        "systemMetadata": {"lastObserved": 1_794_701_076_063_i64, "runId": "bench", "lastRunId": "bench"},
    })
}

/// Returns a batch with all domains.
pub(crate) fn domains_batch() -> String {
    let proposals: Vec<Value> = (0..DOMAINS)
        .map(|domain| {
            let properties = json!({
                "customProperties": {},
                "name": domain_name(domain),
                "description": format!("All that department {domain:02} owns"),
            });
            proposal(
                "domain",
                &domain_urn(domain),
                "domainProperties",
                &properties,
            )
        })
        .collect();
    json!({"proposals": proposals, "async": "false"}).to_string()
}

/// Returns a batch with [`DATASETS_PER_REQUEST`] datasets, starting with `first`.
pub(crate) fn datasets_batch(first: usize) -> String {
    let proposals: Vec<Value> = (first..first + DATASETS_PER_REQUEST)
        .flat_map(|number| {
            let urn = dataset_urn(number);
            aspects(number).map(|(aspect, value)| proposal("dataset", &urn, aspect, &value))
        })
        .collect();
    json!({"proposals": proposals, "async": "false"}).to_string()
}

/// Returns the body of a write to a column's description; `serial` makes the text unique.
pub(crate) fn column_write(number: usize, column: usize, serial: u64) -> String {
    json!({
        "query": "mutation write($input: DescriptionUpdateInput!) { updateDescription(input: $input) }",
        "variables": {"input": {
            "description": format!("Edited by a person, for the {serial:09}th time: amounts are in **cents**."),
            "resourceUrn": dataset_urn(number),
            "subResource": COLUMN_NAMES[column],
            "subResourceType": "DATASET_FIELD",
        }},
    })
    .to_string()
}

pub(crate) fn column_write_reply() -> Value {
    json!({"data": {"updateDescription": true}, "extensions": {}})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_datasets_have_requests_and_replies_of_the_same_length() {
        for read in Read::ALL {
            let lengths = |number| {
                (
                    read.with_variable(number).len(),
                    read.with_literal(number).len(),
                    read.reply(number).to_string().len(),
                )
            };
            for number in [1, 19, 9_999, 10_000, 123_456, 999_999] {
                assert_eq!(lengths(0), lengths(number), "{} {number}", read.name());
            }
        }
    }

    #[test]
    fn a_later_block_differs_only_in_the_digits_of_the_block() {
        let name = |block: usize| format!("{NAME_STEM}{}", block_digits(block));
        let later = datasets_batch(42 * BLOCK + 7);
        assert_eq!(datasets_batch(7).replace(&name(0), &name(42)), later);
    }

    #[test]
    fn a_request_has_two_hundred_proposals() {
        let batch: Value = serde_json::from_str(&datasets_batch(0)).unwrap();
        assert_eq!(batch["proposals"].as_array().unwrap().len(), 200);
    }
}
