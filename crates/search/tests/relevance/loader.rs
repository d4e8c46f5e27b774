//! Writes entities into a store, as the catalog does.
//!
//! Search must not depend on the catalog, so this module uses the same functions of the model to
//! add the key aspect, default aspects and derived rows.

use docent_model::aspects::AuditStamp;
use docent_model::{AspectName, Registry, Urn, defaults, derive};
use docent_store::version::{self, NewAspect};
use docent_store::{AspectKey, AspectWrite, StoreError, transact};
use docent_test_store::TestStore;
use serde_json::Value;

use crate::entity::{ACTOR, Entity, NOON_MS};

const ENTITIES_PER_TRANSACTION: usize = 200;

/// A store with only these entities.
pub(crate) async fn filled_store(entities: &[Entity]) -> TestStore {
    let test_store = TestStore::open().await.unwrap();
    let store = test_store.store();
    for chunk in entities.chunks(ENTITIES_PER_TRANSACTION) {
        let writes: Vec<AspectWrite> = chunk.iter().flat_map(writes).collect();
        transact::<(), StoreError, _>(store.as_ref(), move |tx| {
            let writes = writes.clone();
            Box::pin(async move { tx.write(&writes).await })
        })
        .await
        .unwrap();
    }
    test_store
}

fn writes(entity: &Entity) -> Vec<AspectWrite> {
    let registry = Registry::get();
    let urn = registry.parse_urn(&entity.urn).unwrap();
    let spec = registry.entity(urn.entity_type()).unwrap();
    let mut aspects: Vec<(AspectName, Value)> =
        vec![(spec.key_aspect, registry.key_aspect_value(&urn).unwrap())];
    for (aspect, value) in defaults::default_aspects(&urn, spec, None) {
        if !entity.aspects.contains_key(aspect.as_str()) {
            aspects.push((aspect, value));
        }
    }
    for (name, value) in &entity.aspects {
        let aspect = registry
            .aspect(name)
            .unwrap_or_else(|| panic!("{urn} has an unknown aspect {name}"));
        let mut value = value.clone();
        match registry.validate(spec, aspect, &mut value) {
            Ok(trimmed) => assert!(
                !trimmed,
                "{name} of {urn} has a member that the registry does not know"
            ),
            Err(error) => panic!("{name} of {urn} is wrong: {error}"),
        }
        aspects.push((aspect, value));
    }
    aspects
        .iter()
        .map(|(aspect, value)| write(&urn, *aspect, value))
        .collect()
}

fn write(urn: &Urn, aspect: AspectName, value: &Value) -> AspectWrite {
    let new = NewAspect {
        metadata: value.to_string(),
        system_metadata: None,
        stamp: AuditStamp::new(&Urn::parse(ACTOR).unwrap(), NOON_MS),
        derived: derive(urn, aspect, value),
        retired_version: None,
    };
    version::put(AspectKey::new(urn, aspect), None, new).unwrap()
}
