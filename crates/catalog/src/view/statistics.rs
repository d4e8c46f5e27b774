//! Statistics of datasets, charts and dashboards, which need privileges of their own: profiles have
//! samples of the data, and usage says who reads it. The default policies let everyone see them.

use std::collections::{HashMap, HashSet};

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
    match (key.urn.entity_type(), key.aspect.as_str()) {
        ("dataset", "datasetProfile") => Some(VIEW_DATASET_PROFILE),
        ("dataset", "datasetUsageStatistics")
        | ("chart", "chartUsageStatistics")
        | ("dashboard", "dashboardUsageStatistics") => Some(VIEW_DATASET_USAGE),
        ("dataset", "operation") => Some(VIEW_DATASET_OPERATIONS),
        _ => None,
    }
}

impl Catalog {
    /// Which of the time series the caller of this catalog may see; `hidden` are entities that the
    /// caller may not.
    pub(super) async fn may_see_series(
        &self,
        keys: &[AspectKey],
        hidden: &HashSet<Urn>,
    ) -> Result<Vec<bool>, Error> {
        let is_visible = |key: &AspectKey| !hidden.contains(&key.urn);
        let needed = |key: &AspectKey| privilege_for(key).filter(|_| is_visible(key));
        let restricted = keys.iter().filter(|key| needed(key).is_some());
        let mut urns: Vec<Urn> = restricted.map(|key| key.urn.clone()).collect();
        let (Some(caller), false) = (&self.reading_caller, urns.is_empty()) else {
            return Ok(keys.iter().map(is_visible).collect());
        };
        urns.sort_unstable();
        urns.dedup();
        let granted = self.granted_beside(hidden, caller, &PRIVILEGES, &urns);
        let granted: HashMap<&Urn, Vec<Privilege>> = urns.iter().zip(granted.await?).collect();
        let may_see = |key: &AspectKey| match needed(key) {
            None => is_visible(key),
            Some(needed) => granted
                .get(&key.urn)
                .is_some_and(|granted| granted.contains(&needed)),
        };
        Ok(keys.iter().map(may_see).collect())
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
