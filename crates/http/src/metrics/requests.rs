//! How many requests each route has answered, and how fast.
//!
//! The number of series is bounded: the routes of the server, seven methods and `OTHER`, and five
//! classes of status. A series exists once there was such a request.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use docent_catalog::measurements::Distribution;
use docent_model::measure::{Gauge, Histogram};

/// The classes of status, by their first digit.
const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

/// The requests of one route and method.
#[derive(Debug, Default)]
struct RouteCounters([OnceLock<Histogram>; CLASSES.len()]);

impl RouteCounters {
    fn count(&self, status: u16, took: Duration) {
        let class = usize::from(status / 100).clamp(1, CLASSES.len()) - 1;
        let histogram = self.0[class].get_or_init(Histogram::of_durations);
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

/// The requests of a route with a method and a class of status.
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
            let classes = CLASSES.into_iter().zip(&counters.0);
            let present = classes.filter_map(|(status, histogram)| {
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
    fn requests_are_counted_by_route_method_and_class_of_status() {
        let counters = RequestCounters::default();
        counters.count_graphql(200, Duration::from_micros(50));
        for status in [200, 204, 499, 999] {
            counters.count("/aspects", "POST", status, Duration::from_mins(1));
        }
        let read = counters.read("/api/graphql");
        let found: Vec<_> = read
            .iter()
            .map(|it| (&*it.route, it.status, it.micros.counts.iter().sum::<u64>()))
            .collect();
        let expected = [
            ("/api/graphql", "2xx", 1),
            ("/aspects", "2xx", 2),
            ("/aspects", "4xx", 1),
            ("/aspects", "5xx", 1),
        ];
        assert_eq!(found, expected);
        // Longer than the last bound.
        assert_eq!(read[1].micros.counts.last(), Some(&2));
    }
}
