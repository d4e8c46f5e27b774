//! The log of slow requests: where their time went.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use docent_catalog::spent::{Activity, Spent, TimedStep};

use super::EndedRequest;
use super::log::{shortened, user};

/// How many slow requests are logged in a window. When a server is overloaded, all are slow.
const MAX_IN_WINDOW: u64 = 20;
const WINDOW: Duration = Duration::from_secs(10);

/// Logs requests that take longer than a threshold.
#[derive(Debug)]
pub(crate) struct SlowRequests {
    threshold: Duration,
    window: Mutex<Option<Window>>,
}

#[derive(Debug, Clone, Copy)]
struct Window {
    start: Instant,
    seen: u64,
}

impl SlowRequests {
    pub(crate) fn new(threshold: Duration) -> Self {
        Self {
            threshold,
            window: Mutex::default(),
        }
    }

    pub(super) fn log(&self, request: &EndedRequest<'_>, spent: &Spent) {
        if request.took < self.threshold {
            return;
        }
        let Some(omitted) = self.admit(Instant::now()) else {
            return;
        };
        let EndedRequest {
            method,
            route,
            status,
            ..
        } = request;
        let ms = |activity: &Activity| millis(activity.time());
        tracing::warn!(
            target: "docent_http::slow",
            operation = request.operation.map(shortened),
            status,
            ms = millis(request.took),
            user = request.caller.map(|caller| shortened(user(caller))),
            reads = spent.reads.count(),
            read_ms = ms(&spent.reads),
            transactions = spent.transactions.count(),
            transaction_ms = ms(&spent.transactions),
            statements = spent.statements.count(),
            statement_ms = ms(&spent.statements),
            searches = spent.searches.count(),
            search_ms = ms(&spent.searches),
            waits = spent.waits.count(),
            wait_ms = ms(&spent.waits),
            plan = plan(&spent.steps()),
            omitted,
            "slow request: {method} {route}"
        );
    }

    /// Whether to log a request, and how many were not logged since the last one.
    fn admit(&self, now: Instant) -> Option<u64> {
        let mut window = self
            .window
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let current = window.filter(|window| now.duration_since(window.start) < WINDOW);
        let seen = current.map_or(0, |window| window.seen);
        let omitted = match (*window, current) {
            (Some(ended), None) => ended.seen.saturating_sub(MAX_IN_WINDOW),
            _ => 0,
        };
        *window = Some(Window {
            start: current.map_or(now, |window| window.start),
            seen: seen + 1,
        });
        (seen < MAX_IN_WINDOW).then_some(omitted)
    }
}

/// What the executor did, step by step. Short steps are left out.
fn plan(steps: &[TimedStep]) -> Option<String> {
    let shown = |step: &TimedStep| format!("{} {} ms", step.name, millis(step.took));
    let steps: Vec<String> = steps.iter().map(shown).collect();
    (!steps.is_empty()).then(|| steps.join(", "))
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_some_slow_requests_of_a_window_are_logged_and_the_others_counted() {
        let slow = SlowRequests::new(Duration::ZERO);
        let start = Instant::now();
        let logged = |at| slow.admit(start + at);
        for _ in 0..MAX_IN_WINDOW {
            assert_eq!(logged(Duration::ZERO), Some(0));
        }
        for _ in 0..3 {
            assert_eq!(logged(WINDOW / 2), None);
        }
        assert_eq!(logged(WINDOW), Some(3));
        assert_eq!(logged(WINDOW), Some(0));
        assert_eq!(logged(3 * WINDOW), Some(0));
    }
}
