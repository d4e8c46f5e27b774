//! How many requests each route has answered, and how fast.
//!
//! The number of series is bounded: the routes of the server, seven methods and `OTHER`, and the
//! statuses in a list. A series exists once there was such a request.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use docent_catalog::measurements::Distribution;
use docent_model::measure::{Gauge, Histogram};

/// The statuses that have series of their own: those that the server sends, and others that say
/// what is wrong. To send another one, add it here.
const STATUSES: [(u16, &str); 37] = [
    (200, "200"),
    (201, "201"),
    (202, "202"),
    (204, "204"),
    (206, "206"),
    (301, "301"),
    (302, "302"),
    (303, "303"),
    (304, "304"),
    (307, "307"),
    (308, "308"),
    (400, "400"),
    (401, "401"),
    (403, "403"),
    (404, "404"),
    (405, "405"),
    (406, "406"),
    (408, "408"),
    (409, "409"),
    (410, "410"),
    (411, "411"),
    (412, "412"),
    (413, "413"),
    (414, "414"),
    (415, "415"),
    (416, "416"),
    (421, "421"),
    (422, "422"),
    (428, "428"),
    (429, "429"),
    (431, "431"),
    (499, "499"),
    (500, "500"),
    (501, "501"),
    (502, "502"),
    (503, "503"),
    (504, "504"),
];
const OTHER: &str = "other";

/// The requests of one route and method, by [`STATUSES`] and for others.
#[derive(Debug)]
struct RouteCounters([OnceLock<Box<Histogram>>; STATUSES.len() + 1]);

impl Default for RouteCounters {
    fn default() -> Self {
        Self([const { OnceLock::new() }; STATUSES.len() + 1])
    }
}

impl RouteCounters {
    fn count(&self, status: u16, took: Duration) {
        // Most are 200, the first one.
        let known = STATUSES.iter().position(|(known, _)| *known == status);
        let series = &self.0[known.unwrap_or(STATUSES.len())];
        let histogram = series.get_or_init(|| Box::new(Histogram::of_durations()));
        histogram.observe_duration(took);
    }
}

/// A route and a method.
type RouteKey = (Box<str>, &'static str);

#[derive(Debug, Default)]
pub(crate) struct RequestCounters {
    pub(crate) in_progress: Gauge,
    /// Most requests, which need no lookup.
    graphql: RouteCounters,
    others: RwLock<BTreeMap<RouteKey, Arc<RouteCounters>>>,
}

/// The requests of a route with a method and a status.
#[derive(Debug)]
pub(super) struct RouteMeasurements {
    pub(super) route: Box<str>,
    pub(super) method: &'static str,
    pub(super) status: &'static str,
    pub(super) micros: Distribution,
}

impl RequestCounters {
    /// Counts a request of `POST /api/graphql`.
    pub(crate) fn count_graphql(&self, status: u16, took: Duration) {
        self.graphql.count(status, took);
    }

    /// Counts a request of another route. The caller bounds the number of routes.
    pub(crate) fn count(&self, route: &str, method: &'static str, status: u16, took: Duration) {
        let key = (route.into(), method);
        let known = self.others.read().unwrap_or_else(PoisonError::into_inner);
        let counters = known.get(&key).cloned();
        drop(known);
        let counters = counters.unwrap_or_else(|| {
            let mut others = self.others.write().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(others.entry(key).or_default())
        });
        counters.count(status, took);
    }

    pub(super) fn read(&self, graphql_route: &str) -> Vec<RouteMeasurements> {
        let series = |route: &str, method: &'static str, counters: &RouteCounters| {
            let names = STATUSES.iter().map(|(_, name)| *name).chain([OTHER]);
            let present = names.zip(&counters.0).filter_map(|(status, histogram)| {
                Some(RouteMeasurements {
                    route: route.into(),
                    method,
                    status,
                    micros: histogram.get()?.read(),
                })
            });
            present.collect::<Vec<_>>()
        };
        let mut all = series(graphql_route, "POST", &self.graphql);
        let others = self.others.read().unwrap_or_else(PoisonError::into_inner);
        for ((route, method), counters) in &*others {
            all.extend(series(route, method, counters));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_by_route_method_and_status() {
        let counters = RequestCounters::default();
        counters.count_graphql(200, Duration::from_micros(50));
        for status in [200, 200, 499, 999] {
            counters.count("/aspects", "POST", status, Duration::from_mins(1));
        }
        let read = counters.read("/api/graphql");
        let found: Vec<_> = read
            .iter()
            .map(|it| (&*it.route, it.status, it.micros.counts.iter().sum::<u64>()))
            .collect();
        let expected = [
            ("/api/graphql", "200", 1),
            ("/aspects", "200", 2),
            ("/aspects", "499", 1),
            ("/aspects", "other", 1),
        ];
        assert_eq!(found, expected);
        // Longer than the last bound.
        assert_eq!(read[1].micros.counts.last(), Some(&2));
    }
}
