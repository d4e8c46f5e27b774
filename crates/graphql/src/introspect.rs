//! Introspection: `__schema` and `__type`, executed by apollo-compiler.

mod size;

use std::sync::Arc;

use apollo_compiler::introspection;
use apollo_compiler::response::{JsonMap, JsonValue};
use apollo_compiler::validation::Valid;
use quick_cache::Weighter;
use quick_cache::sync::Cache;

use crate::document::OperationVariant;
use crate::error::{Classification, RequestError};
use crate::input::VariableValues;
use crate::limits::{LimitExceeded, Limits};

/// The result of the usual introspection query has half a megabyte.
const CACHE_BYTES: u64 = 8 * 1024 * 1024;
/// Estimated number of entries; small enough that the cache has a single shard.
const CACHE_ENTRIES: usize = 16;

/// The introspection fields of a reply: response name and JSON text.
pub(crate) type IntrospectionResult = Vec<(Box<str>, Box<str>)>;

/// The cost of the introspection fields of an operation.
#[derive(Debug)]
pub(crate) struct IntrospectionCost {
    fields: u64,
    values: u64,
}

impl IntrospectionCost {
    /// The cost of an operation with this number of root fields `__schema` and `__type`.
    pub(crate) fn new(variant: OperationVariant<'_>, fields: usize) -> Self {
        Self {
            fields: fields as u64,
            values: size::estimated_values(variant),
        }
    }

    pub(crate) fn check(&self, limits: Limits) -> Result<(), LimitExceeded> {
        LimitExceeded::check(
            "number of __schema and __type fields",
            self.fields,
            limits.introspection_fields,
        )?;
        LimitExceeded::check(
            "number of values about the schema",
            self.values,
            limits.introspection_values,
        )
    }
}

/// Caches the results of operations without variables, which never change.
#[derive(Debug)]
pub(crate) struct IntrospectionCache {
    results: Cache<CacheKey, Arc<IntrospectionResult>, ResultWeighter>,
}

/// The name of an operation and the text of its document.
type CacheKey = (Box<str>, Box<str>);

#[derive(Debug, Clone)]
struct ResultWeighter;

impl Weighter<CacheKey, Arc<IntrospectionResult>> for ResultWeighter {
    fn weight(&self, (name, document): &CacheKey, result: &Arc<IntrospectionResult>) -> u64 {
        let texts = result.iter().map(|(name, text)| name.len() + text.len());
        (name.len() + document.len() + texts.sum::<usize>()) as u64
    }
}

impl Default for IntrospectionCache {
    fn default() -> Self {
        Self {
            results: Cache::with_weighter(CACHE_ENTRIES, CACHE_BYTES, ResultWeighter),
        }
    }
}

impl IntrospectionCache {
    /// Returns the cached result, or executes the introspection fields of the operation.
    pub(crate) fn result(
        &self,
        variant: OperationVariant<'_>,
        values: &VariableValues,
    ) -> Result<Arc<IntrospectionResult>, RequestError> {
        if !variant.variables().is_empty() {
            return execute(variant, values).map(Arc::new);
        }
        let name = variant.operation.node.name.as_ref();
        let key: CacheKey = (
            name.map_or("", |name| name.as_str()).into(),
            variant.document.text().into(),
        );
        if let Some(result) = self.results.get(&key) {
            return Ok(result);
        }
        let result = Arc::new(execute(variant, values)?);
        self.results.insert(key, Arc::clone(&result));
        Ok(result)
    }
}

fn execute(
    variant: OperationVariant<'_>,
    values: &VariableValues,
) -> Result<IntrospectionResult, RequestError> {
    let document = variant.document;
    let reject = |error: &apollo_compiler::request::RequestError| RequestError {
        message: error.message().to_string(),
        positions: error
            .location()
            .map(|span| document.position(span.offset()))
            .into_iter()
            .collect(),
        classification: Classification::ValidationError,
    };
    let operation = &variant.operation.node;
    introspection::check_max_depth(&document.executable, operation)
        .map_err(|error| reject(&error))?;
    let values: JsonMap = variant
        .variables()
        .iter()
        .zip(values)
        .filter_map(|(variable, value)| {
            let value = JsonValue::from(value.clone()?);
            Some((variable.name.as_ref().into(), value))
        })
        .collect();
    let response = introspection::partial_execute(
        &variant.schema.valid,
        &variant.schema.implementers,
        &document.executable,
        operation,
        &Valid::assume_valid(values),
    )
    .map_err(|error| reject(&error))?;
    let data = response.data.unwrap_or_default();
    Ok(data
        .iter()
        .filter_map(|(name, value)| {
            let text = serde_json::to_string(value).ok()?;
            Some((name.as_str().into(), text.into()))
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cached_results_stay_within_the_byte_limit() {
        let cache = IntrospectionCache::default();
        for number in 0..100 {
            let key = ("".into(), format!("document {number}").into());
            let result = vec![("a".into(), "x".repeat(1024 * 1024).into())];
            cache.results.insert(key, Arc::new(result));
        }
        assert!(cache.results.len() > 3, "{}", cache.results.len());
        assert!(cache.results.weight() <= CACHE_BYTES);
        let huge = vec![("a".into(), "x".repeat(20 * 1024 * 1024).into())];
        let key: CacheKey = ("".into(), "huge".into());
        cache.results.insert(key.clone(), Arc::new(huge));
        assert!(cache.results.get(&key).is_none());
    }
}
