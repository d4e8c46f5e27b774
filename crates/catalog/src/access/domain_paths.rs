//! The ancestors of domains, kept until a domain moves.
//!
//! A decision by domain needs the domain of the entity and all domains above it: a read per level,
//! which took most of the time of the decision. The paths are part of what is compiled
//! ([`super::cache`]), so that they are dropped like compiled policies.
//!
//! Transactions do not use them: what they have changed, and what other servers changed before,
//! counts there ([`AspectSource::domain_paths`](super::AspectSource::domain_paths)).

use std::sync::Arc;

use docent_model::Urn;
use quick_cache::Weighter;
use quick_cache::sync::Cache;

/// About how many domains have a path.
const DOMAINS: usize = 20_000;
/// How many URNs all paths may have: about 10 MiB.
const URNS: u64 = 100_000;

/// The paths of the domains that were asked for since one moved.
#[derive(Debug)]
pub(crate) struct DomainPaths(Cache<Urn, Arc<[Urn]>, Length>);

#[derive(Debug, Clone)]
struct Length;

impl Weighter<Urn, Arc<[Urn]>> for Length {
    fn weight(&self, _: &Urn, path: &Arc<[Urn]>) -> u64 {
        path.len() as u64
    }
}

impl DomainPaths {
    pub(crate) fn new() -> Self {
        Self(Cache::with_weighter(DOMAINS, URNS, Length))
    }

    /// The domain and all domains above it.
    pub(crate) fn get(&self, domain: &Urn) -> Option<Arc<[Urn]>> {
        self.0.get(domain)
    }

    /// Keeps a path, if only moves of domains change it.
    pub(crate) fn insert(&self, domain: Urn, path: Arc<[Urn]>) {
        if path.iter().all(|urn| urn.entity_type() == "domain") {
            self.0.insert(domain, path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn urn(kind: &str, number: usize) -> Urn {
        Urn::new(kind, &number.to_string()).unwrap()
    }

    #[test]
    fn memory_is_bounded() {
        let paths = DomainPaths::new();
        for number in 0..30_000 {
            let path: Arc<[Urn]> = (number..number + 10).map(|it| urn("domain", it)).collect();
            paths.insert(urn("domain", number), path);
        }
        let weight = paths.0.weight();
        assert!((URNS / 2..=URNS).contains(&weight), "{weight}");
    }

    #[test]
    fn a_path_that_other_entities_are_part_of_is_not_kept() {
        let paths = DomainPaths::new();
        let (domain, container) = (urn("domain", 1), urn("container", 1));
        paths.insert(domain.clone(), [domain.clone(), container].into());
        assert_eq!(paths.get(&domain), None);
        paths.insert(domain.clone(), [domain.clone()].into());
        assert_eq!(paths.get(&domain), Some([domain].into()));
    }
}
