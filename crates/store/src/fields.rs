//! What engines filter by inside stored JSON. An engine has the SQL; which aspect and which field
//! it applies to is here.

use docent_model::AspectName;
pub use docent_model::NO_RUN_ID;

/// The field of the system metadata with the ingestion run that wrote or confirmed an aspect.
pub const RUN_ID: &str = "runId";

/// The field of the system metadata with the time of that observation.
pub const LAST_OBSERVED: &str = "lastObserved";

/// The aspect that marks its entity as soft-deleted.
pub const SOFT_DELETE_ASPECT: AspectName = AspectName::STATUS;

/// The flag of [`SOFT_DELETE_ASPECT`] that is true for soft-deleted entities.
pub const SOFT_DELETE_FLAG: &str = "removed";

/// The range of the URNs of an entity type: both bounds are exclusive.
pub fn urn_range(entity_type: &str) -> (String, String) {
    // The semicolon follows the colon that ends the entity type.
    (
        format!("urn:li:{entity_type}:"),
        format!("urn:li:{entity_type};"),
    )
}

#[cfg(test)]
mod tests {
    use docent_model::{Registry, SystemMetadata};
    use serde_json::json;

    use super::*;

    #[test]
    fn system_metadata_has_these_fields() {
        let stored = json!(SystemMetadata {
            run_id: "run".to_owned(),
            last_observed: 7,
            ..SystemMetadata::default()
        });
        assert_eq!(
            (&stored[RUN_ID], &stored[LAST_OBSERVED]),
            (&json!("run"), &json!(7))
        );
        assert_eq!(json!(SystemMetadata::default())[RUN_ID], NO_RUN_ID);
    }

    #[test]
    fn the_soft_delete_aspect_has_its_flag() {
        let registry = Registry::get();
        let dataset = registry.entity("dataset").unwrap();
        let mut value = json!({ SOFT_DELETE_FLAG: true });
        let has_unknown = registry.validate(dataset, SOFT_DELETE_ASPECT, &mut value);
        assert!(!has_unknown.unwrap());
        let mut text = json!({ SOFT_DELETE_FLAG: "yes" });
        let rejected = registry.validate(dataset, SOFT_DELETE_ASPECT, &mut text);
        assert!(rejected.is_err());
    }

    #[test]
    fn the_range_has_the_urns_of_the_type_alone() {
        let (first, end) = urn_range("dataPlatform");
        let inside = |urn: &str| first.as_str() < urn && urn < end.as_str();
        assert!(inside("urn:li:dataPlatform:hive"));
        assert!(!inside("urn:li:dataPlatformInstance:hive"));
        assert!(!inside("urn:li:data:hive"));
    }
}
