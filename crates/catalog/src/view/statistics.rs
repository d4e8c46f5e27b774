//! Statistics of datasets, which need privileges of their own: profiles have samples of the data,
//! and usage says who reads it. The default policies let everyone see them.

use std::collections::HashMap;

use docent_model::Urn;
use docent_store::AspectKey;

use crate::privilege::{
    Privilege, VIEW_DATASET_OPERATIONS, VIEW_DATASET_PROFILE, VIEW_DATASET_USAGE,
};
use crate::{Catalog, Error};

const PRIVILEGES: [Privilege; 3] = [
    VIEW_DATASET_PROFILE,
    VIEW_DATASET_USAGE,
    VIEW_DATASET_OPERATIONS,
];

fn privilege_for(key: &AspectKey) -> Option<Privilege> {
    if key.urn.entity_type() != "dataset" {
        return None;
    }
    match key.aspect.as_str() {
        "datasetProfile" => Some(VIEW_DATASET_PROFILE),
        "datasetUsageStatistics" => Some(VIEW_DATASET_USAGE),
        "operation" => Some(VIEW_DATASET_OPERATIONS),
        _ => None,
    }
}

impl Catalog {
    /// Which of the time series the caller of this catalog may see, if the caller sees the entity.
    pub(super) async fn may_see_series(&self, keys: &[AspectKey]) -> Result<Vec<bool>, Error> {
        let Some(caller) = &self.reading_caller else {
            return Ok(vec![true; keys.len()]);
        };
        let needed: Vec<Option<Privilege>> = keys.iter().map(privilege_for).collect();
        let restricted = keys.iter().zip(&needed).filter(|(_, it)| it.is_some());
        let mut urns: Vec<Urn> = restricted.map(|(key, _)| key.urn.clone()).collect();
        if urns.is_empty() {
            return Ok(vec![true; keys.len()]);
        }
        urns.sort_unstable();
        urns.dedup();
        let granted = self.granted(caller, &PRIVILEGES, &urns).await?;
        let granted: HashMap<&Urn, Vec<Privilege>> = urns.iter().zip(granted).collect();
        let sees = |key: &AspectKey, needed: Privilege| {
            let granted = granted.get(&key.urn);
            granted.is_some_and(|granted| granted.contains(&needed))
        };
        let keys = keys.iter().zip(needed);
        Ok(keys
            .map(|(key, needed)| needed.is_none_or(|needed| sees(key, needed)))
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use docent_model::{AspectName, Registry};

    use super::*;

    #[test]
    fn the_series_with_privileges_exist() {
        let dataset = Urn::parse("urn:li:dataset:(urn:li:dataPlatform:hive,a,PROD)").unwrap();
        for (name, privilege) in [
            ("datasetProfile", Some(VIEW_DATASET_PROFILE)),
            ("datasetUsageStatistics", Some(VIEW_DATASET_USAGE)),
            ("operation", Some(VIEW_DATASET_OPERATIONS)),
            ("datasetProperties", None),
        ] {
            let aspect: AspectName = Registry::get().aspect(name).unwrap();
            let key = AspectKey::new(&dataset, aspect);
            assert_eq!(privilege_for(&key), privilege, "{name}");
        }
    }
}
