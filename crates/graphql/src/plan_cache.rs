//! The cache of documents and their plans, by query text, or by the shape of texts that differ only
//! in strings.
//!
//! A plan depends on one operation and on the values of its `@skip` and `@include` conditions, so
//! executing a cached text parses and validates nothing. Plans are compiled when a request first
//! needs them: an entry grows in the cache, and is then weighed again.

use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use docent_model::measure::Counter;
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, Weighter};

use crate::document::{Document, Literals, Operation, RequestText};
use crate::error::RequestError;
use crate::limits::Limits;
use crate::measurements::PlanCacheMeasurements;
use crate::plan::{Compiler, GrowthFlag, Plan};
use crate::schema::Schema;

/// Limit on the memory of all documents and their plans.
const CACHE_BYTES: u64 = 32 * 1024 * 1024;
/// Estimated number of documents.
const CACHE_DOCUMENTS: usize = 2000;
/// A shard must have room for the largest document that is executed: 20,000 selected fields of
/// about 350 bytes.
const CACHE_SHARDS: usize = 4;
/// Limit on the cached plans of one operation with conditions.
const MAX_VARIANTS: usize = 32;
/// Limit on their memory; the latest plan is cached even if it exceeds this alone.
const MAX_VARIANT_BYTES: usize = 4 * 1024 * 1024;

/// Documents and plans by query text or shape. Invalid texts are not cached.
#[derive(Debug)]
pub(crate) struct PlanCache {
    documents: Cache<Box<[u8]>, CacheEntry, EntryWeighter>,
    hits: Counter,
    misses: Counter,
}

/// A document with the plans of its operations.
#[derive(Debug)]
pub(crate) struct CachedDocument {
    pub(crate) document: Document,
    /// By [`Operation::index`].
    plans: Vec<OperationPlans>,
}

pub(crate) type CachedRequest<'q> = (Arc<CachedDocument>, RequestText<'q>);

#[derive(Debug, Clone)]
struct CacheEntry {
    document: Arc<CachedDocument>,
    /// Its size when it was inserted.
    bytes: usize,
}

#[derive(Debug, Clone)]
struct EntryWeighter;

impl Weighter<Box<[u8]>, CacheEntry> for EntryWeighter {
    fn weight(&self, _: &Box<[u8]>, entry: &CacheEntry) -> u64 {
        entry.bytes as u64
    }
}

/// The plans of one operation.
#[derive(Debug, Default)]
struct OperationPlans {
    /// The plan of an operation without conditions.
    unconditional: OnceLock<Plan>,
    /// Plans by the values of the conditions, the latest last.
    variants: RwLock<Vec<(u64, Arc<Plan>)>>,
    growth: GrowthFlag,
}

/// A plan owned by the cached document, or shared with its variants.
#[derive(Debug)]
pub(crate) enum PlanRef<'d> {
    Unconditional(&'d Plan),
    Variant(Arc<Plan>),
}

impl std::ops::Deref for PlanRef<'_> {
    type Target = Plan;

    fn deref(&self) -> &Plan {
        match self {
            Self::Unconditional(plan) => plan,
            Self::Variant(plan) => plan,
        }
    }
}

/// Weighs a document again when it is dropped, if plans were compiled in the meantime.
#[derive(Debug)]
pub(crate) struct ReweighOnDrop<'c> {
    cache: &'c PlanCache,
    document: &'c Arc<CachedDocument>,
    growth: &'c GrowthFlag,
}

impl Drop for ReweighOnDrop<'_> {
    fn drop(&mut self) {
        if self.growth.take() {
            self.cache.insert(self.document);
        }
    }
}

impl PlanCache {
    pub(crate) fn new() -> Self {
        let options = OptionsBuilder::new()
            .estimated_items_capacity(CACHE_DOCUMENTS)
            .weight_capacity(CACHE_BYTES)
            .shards(CACHE_SHARDS)
            .build();
        let documents = match options {
            Ok(options) => Cache::with_options(
                options,
                EntryWeighter,
                DefaultHashBuilder::default(),
                DefaultLifecycle::default(),
            ),
            // Only missing options are errors.
            Err(_) => Cache::with_weighter(CACHE_DOCUMENTS, CACHE_BYTES, EntryWeighter),
        };
        Self {
            documents,
            hits: Counter::default(),
            misses: Counter::default(),
        }
    }

    pub(crate) fn measurements(&self) -> PlanCacheMeasurements {
        PlanCacheMeasurements {
            hits: self.hits.get(),
            misses: self.misses.get(),
            documents: self.documents.len() as u64,
            bytes: self.documents.weight(),
            max_bytes: CACHE_BYTES,
        }
    }

    /// Returns the cached document of a text, and the text as requests for it need it.
    pub(crate) fn cached<'q>(&self, text: &'q str) -> Option<CachedRequest<'q>> {
        // Most texts have variables, so they are looked up before their strings are searched.
        let (entry, literals) = if let Some(entry) = self.documents.get(text.as_bytes()) {
            (entry, None)
        } else {
            let literals = Literals::separate(text)?;
            (self.documents.get(literals.shape())?, Some(literals))
        };
        self.hits.increment();
        Some((entry.document, RequestText { text, literals }))
    }

    /// Returns the cached document of a text, or parses and caches it.
    pub(crate) fn document<'q>(
        &self,
        schema: &Schema,
        text: &'q str,
    ) -> Result<CachedRequest<'q>, Vec<RequestError>> {
        if let Some(cached) = self.cached(text) {
            return Ok(cached);
        }
        self.misses.increment();
        let literals = Literals::separate(text);
        let document = Document::parse(schema, text, literals.as_ref())?;
        let literals = literals.filter(|_| document.shape().is_some());
        let plans = document.operations().iter();
        let cached = Arc::new(CachedDocument {
            plans: plans.map(|_| OperationPlans::default()).collect(),
            document,
        });
        self.insert(&cached);
        Ok((cached, RequestText { text, literals }))
    }

    /// To be held while an operation is executed: execution may compile plans.
    pub(crate) fn reweigh_on_drop<'c>(
        &'c self,
        document: &'c Arc<CachedDocument>,
        operation: &Operation,
    ) -> ReweighOnDrop<'c> {
        ReweighOnDrop {
            cache: self,
            document,
            growth: document.growth(operation),
        }
    }

    fn insert(&self, document: &Arc<CachedDocument>) {
        let entry = CacheEntry {
            document: Arc::clone(document),
            bytes: document.bytes(),
        };
        let document = &document.document;
        let key = document.shape().unwrap_or(document.text().as_bytes());
        self.documents.insert(key.into(), entry);
    }
}

impl CachedDocument {
    pub(crate) fn growth(&self, operation: &Operation) -> &GrowthFlag {
        &self.plans[operation.index].growth
    }

    /// Whether [`Self::plan`] has nothing to compile.
    pub(crate) fn has_plan(&self, compiler: &Compiler<'_>) -> bool {
        let operation = compiler.variant.operation;
        let plans = &self.plans[operation.index];
        if operation.has_conditions() {
            return plans.cached_variant(compiler.variant.bits).is_some();
        }
        plans.unconditional.get().is_some()
    }

    /// Returns the plan for the operation and conditions of a compiler, compiled if necessary.
    pub(crate) fn plan(&self, compiler: &Compiler<'_>, limits: Limits) -> PlanRef<'_> {
        let operation = compiler.variant.operation;
        let plans = &self.plans[operation.index];
        if operation.has_conditions() {
            return PlanRef::Variant(plans.variant(compiler, limits));
        }
        if let Some(plan) = plans.unconditional.get() {
            return PlanRef::Unconditional(plan);
        }
        let plan = plans.unconditional.get_or_init(|| compiler.plan(limits));
        plans.growth.set();
        PlanRef::Unconditional(plan)
    }

    /// Approximate size with all plans. Drops the oldest variants of operations that exceed their
    /// limit.
    fn bytes(&self) -> usize {
        let plans = self.plans.iter().map(OperationPlans::shrink);
        self.document.bytes() + plans.sum::<usize>()
    }
}

impl OperationPlans {
    fn cached_variant(&self, bits: u64) -> Option<Arc<Plan>> {
        let variants = self.variants.read().unwrap_or_else(PoisonError::into_inner);
        let found = variants.iter().find(|(known, _)| *known == bits);
        found.map(|(_, plan)| Arc::clone(plan))
    }

    fn variant(&self, compiler: &Compiler<'_>, limits: Limits) -> Arc<Plan> {
        let bits = compiler.variant.bits;
        if let Some(plan) = self.cached_variant(bits) {
            return plan;
        }
        let plan = Arc::new(compiler.plan(limits));
        let mut variants = self
            .variants
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        if variants.len() >= MAX_VARIANTS {
            variants.remove(0);
        }
        variants.push((bits, Arc::clone(&plan)));
        drop(variants);
        self.growth.set();
        plan
    }

    /// Drops the oldest variants over the limit and returns the size of the rest.
    fn shrink(&self) -> usize {
        if let Some(plan) = self.unconditional.get() {
            return plan.bytes();
        }
        let mut variants = self
            .variants
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        let (mut count, mut total) = (0, 0);
        for (_, plan) in variants.iter().rev() {
            let bytes = plan.bytes();
            if count > 0 && total + bytes > MAX_VARIANT_BYTES {
                break;
            }
            count += 1;
            total += bytes;
        }
        let dropped = variants.len() - count;
        variants.drain(..dropped);
        total
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;
    use crate::document::OperationVariant;
    use crate::resolve::Resolvers;

    fn schema() -> Schema {
        let sdl = r#"
            directive @entity(type: String!) on OBJECT
            directive @urn on FIELD_DEFINITION
            directive @aspect(name: String!, path: [String!]) repeatable on FIELD_DEFINITION
            type Query { container(urn: String!): Container }
            type Container @entity(type: "container") {
                urn: String! @urn
                container: Container @aspect(name: "container", path: ["container"])
            }
        "#;
        let resolvers = Resolvers::new().query_by_urn("container");
        Schema::load(&[("test", sdl)], resolvers).unwrap()
    }

    /// Selects a few hundred fields by fragments that are spread twice each; different for each
    /// number.
    fn text(number: usize) -> String {
        let mut text = format!(
            "# {number}\nquery($v: Boolean = true) {{ container(urn: \"urn:li:container:c\") {{ ...f6 }} }}"
        );
        for level in 1..=6 {
            let inner = format!("container {{ ...f{} }}", level - 1);
            let _ = write!(
                text,
                " fragment f{level} on Container {{ a: {inner} b: {inner} }}"
            );
        }
        text + " fragment f0 on Container { a: urn b: urn c: urn d: urn @include(if: $v) }"
    }

    /// Compiles the plan of a text, as executing it does.
    fn plan(cache: &PlanCache, schema: &Schema, text: &str, value: bool) -> Arc<CachedDocument> {
        let (cached, _) = cache.document(schema, text).unwrap();
        let operation = cached.document.operation(None).unwrap();
        let values = vec![Some(value.into()); operation.variables.len()];
        let compiler = Compiler {
            variant: OperationVariant::new(schema, &cached.document, operation, &values),
            growth: cached.growth(operation),
        };
        let reweigh = cache.reweigh_on_drop(&cached, operation);
        assert!(cached.plan(&compiler, Limits::default()).root.is_some());
        drop(reweigh);
        cached
    }

    #[test]
    fn the_weight_of_a_document_includes_its_plans() {
        let schema = schema();
        let conditional = text(0);
        let unconditional = conditional
            .replace("($v: Boolean = true)", "")
            .replace(" @include(if: $v)", "");
        for text in [unconditional, conditional] {
            let cache = PlanCache::new();
            cache.document(&schema, &text).unwrap();
            let parsed = cache.documents.weight();
            let document = plan(&cache, &schema, &text, true);
            let shape = document.document.shape().unwrap();
            let entry = cache.documents.get(shape).unwrap();
            assert!(Arc::ptr_eq(&entry.document, &document));
            assert_eq!(entry.bytes, document.bytes());
            let planned = cache.documents.weight();
            assert_eq!(planned, entry.bytes as u64);
            assert!(planned > parsed + 50_000, "{parsed}, then {planned}");
        }
    }

    #[test]
    fn each_value_of_a_condition_has_its_own_plan() {
        let (schema, cache) = (schema(), PlanCache::new());
        let text = text(0);
        for (value, expected) in [(true, 1), (true, 1), (false, 2), (true, 2)] {
            let document = plan(&cache, &schema, &text, value);
            assert_eq!(document.plans[0].variants.read().unwrap().len(), expected);
        }
    }

    #[test]
    fn documents_are_evicted_when_their_plans_fill_the_cache() {
        let (schema, cache) = (schema(), PlanCache::new());
        let bytes = plan(&cache, &schema, &text(0), true).bytes() as u64;
        let count = usize::try_from(2 * CACHE_BYTES / bytes).unwrap();
        for number in 1..count {
            plan(&cache, &schema, &text(number), true);
        }
        let weight = cache.documents.weight();
        assert!(weight <= CACHE_BYTES, "{weight}");
        assert!(weight > CACHE_BYTES / 2, "{weight}");
        assert!(cache.documents.len() < count);
    }
}
