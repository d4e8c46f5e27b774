//! What one request spends in the store and in searches, for the log of slow requests and for
//! traces.
//!
//! The request's task carries a [`Spent`]; what runs in it adds to it. Without one, nothing is
//! measured. Reads and statements of some microseconds are counted, and timed only if each part is
//! observed ([`ShortPart`]).

use std::fmt::{self, Display};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use docent_model::measure::Counter;

tokio::task_local! {
    static CURRENT: Option<Arc<Spent>>;
}

/// Steps that take less are not recorded.
const SHORT_STEP: Duration = Duration::from_millis(1);
const MAX_STEPS: usize = 20;

/// Counts and times of one request.
#[derive(Debug)]
pub struct Spent {
    pub reads: Activity,
    pub transactions: Activity,
    /// Statements within transactions. Other reads are in `reads`.
    pub statements: Activity,
    pub searches: Activity,
    /// Changes that the search index took over, in most cases as a part of a search.
    pub index_feeds: Activity,
    /// For memory, or for a connection to the database.
    pub waits: Activity,
    steps: Mutex<Vec<TimedStep>>,
    observer: Option<Box<dyn Observer>>,
}

/// A step of an operation's plan, and how long it took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimedStep {
    pub name: String,
    pub took: Duration,
}

/// Is told about each timed part when it has ended.
pub trait Observer: fmt::Debug + Send + Sync {
    fn ended(&self, activity: &'static str, took: Duration);
}

impl Default for Spent {
    fn default() -> Self {
        Self {
            reads: Activity::new("read"),
            transactions: Activity::new("transaction"),
            statements: Activity::new("statement"),
            searches: Activity::new("search"),
            index_feeds: Activity::new("index feed"),
            waits: Activity::new("wait"),
            steps: Mutex::default(),
            observer: None,
        }
    }
}

impl Spent {
    pub fn observed_by(observer: impl Observer + 'static) -> Self {
        Self {
            observer: Some(Box::new(observer)),
            ..Self::default()
        }
    }

    /// The steps that were not short, in the order of their ends; of many, the first ones.
    pub fn steps(&self) -> Vec<TimedStep> {
        let steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        steps.clone()
    }

    fn add_step(&self, name: &impl Display, took: Duration) {
        let mut steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        if steps.len() < MAX_STEPS {
            let name = name.to_string();
            steps.push(TimedStep { name, took });
        }
    }
}

/// A step of an operation's plan, from here until it is dropped.
#[derive(Debug)]
pub struct Step<N: Display> {
    name: N,
    /// `None` if nothing measures the request.
    started: Option<Instant>,
}

impl<N: Display> Step<N> {
    pub fn begin(name: N) -> Self {
        // Fails only without a request.
        let is_measured = CURRENT.try_with(Option::is_some).unwrap_or(false);
        Self {
            name,
            started: is_measured.then(Instant::now),
        }
    }
}

impl<N: Display> Drop for Step<N> {
    fn drop(&mut self) {
        let Some(started) = self.started else { return };
        let took = started.elapsed();
        if took >= SHORT_STEP
            && let Some(spent) = current()
        {
            spent.add_step(&self.name, took);
        }
    }
}

/// How often something was done, and how long it took in total.
#[derive(Debug)]
pub struct Activity {
    name: &'static str,
    count: Counter,
    micros: Counter,
}

impl Activity {
    fn new(name: &'static str) -> Self {
        Self {
            name,
            count: Counter::default(),
            micros: Counter::default(),
        }
    }

    fn add(&self, took: Duration) {
        self.count.increment();
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.micros.add(micros);
    }

    pub fn count(&self) -> u64 {
        self.count.get()
    }

    pub fn time(&self) -> Duration {
        Duration::from_micros(self.micros.get())
    }
}

/// Runs a request, and measures it if there is a place for the numbers.
pub async fn measure<F: Future>(spent: Option<Arc<Spent>>, request: F) -> F::Output {
    CURRENT.scope(spent, request).await
}

/// A part of the request that runs in a task of its own.
pub fn inherited<F: Future>(part: F) -> impl Future<Output = F::Output> {
    measure(current(), part)
}

/// What measures the current request, to carry it to another thread.
pub fn current() -> Option<Arc<Spent>> {
    CURRENT.try_with(Option::clone).ok().flatten()
}

/// Something that takes some microseconds: two readings of the clock would be a tenth of it. It is
/// counted, and timed only if an observer wants to know about each part.
#[derive(Debug)]
pub struct ShortPart {
    started: Option<Instant>,
}

impl ShortPart {
    pub fn begin() -> Self {
        let is_observed = |current: &Option<Arc<Spent>>| {
            let observer = current.as_ref().and_then(|spent| spent.observer.as_ref());
            observer.is_some()
        };
        // Fails only without a request.
        let is_observed = CURRENT.try_with(is_observed).unwrap_or(false);
        Self {
            started: is_observed.then(Instant::now),
        }
    }

    /// Adds the part to the request. One that is dropped instead does not count.
    pub fn end(self, activity: impl FnOnce(&Spent) -> &Activity) {
        let _ = CURRENT.try_with(|current| {
            let Some(spent) = current else { return };
            let activity = activity(spent);
            let (Some(started), Some(observer)) = (self.started, &spent.observer) else {
                activity.count.increment();
                return;
            };
            let took = started.elapsed();
            activity.add(took);
            observer.ended(activity.name, took);
        });
    }
}

/// Runs a part of a request and adds its time, if the request is measured.
pub async fn timed<F: Future>(activity: impl FnOnce(&Spent) -> &Activity, part: F) -> F::Output {
    let Ok(Some(spent)) = CURRENT.try_with(Option::clone) else {
        return part.await;
    };
    let timer = Timer {
        activity: activity(&spent),
        observer: spent.observer.as_deref(),
        started: Instant::now(),
    };
    let output = part.await;
    drop(timer);
    output
}

/// Adds the time when it is dropped, also if the part was cancelled.
struct Timer<'s> {
    activity: &'s Activity,
    observer: Option<&'s dyn Observer>,
    started: Instant,
}

impl Drop for Timer<'_> {
    fn drop(&mut self) {
        let took = self.started.elapsed();
        self.activity.add(took);
        if let Some(observer) = self.observer {
            observer.ended(self.activity.name, took);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[derive(Debug, Default)]
    struct Names(Arc<Mutex<Vec<&'static str>>>);

    impl Observer for Names {
        fn ended(&self, activity: &'static str, _: Duration) {
            self.0.lock().unwrap().push(activity);
        }
    }

    #[test]
    fn parts_of_a_request_are_counted_and_timed_and_others_are_not() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        let names = Names::default();
        let observed = Arc::clone(&names.0);
        let spent = Arc::new(Spent::observed_by(names));
        let pause = Duration::from_millis(5);
        let work = async || {
            timed(|spent| &spent.searches, tokio::time::sleep(pause)).await;
            ShortPart::begin().end(|spent| &spent.reads);
            let _not_ended = ShortPart::begin();
            let cancelled = timed(|spent| &spent.waits, std::future::pending::<()>());
            let _ = tokio::time::timeout(pause, cancelled).await;
            drop(Step::begin("short"));
            let long = async {
                let _step = Step::begin("long");
                std::future::pending::<()>().await;
            };
            let _ = tokio::time::timeout(pause, long).await;
        };
        runtime.block_on(work());
        runtime.block_on(measure(Some(Arc::clone(&spent)), work()));
        assert_eq!((spent.searches.count(), spent.waits.count()), (1, 1));
        assert!(spent.searches.time() >= pause && spent.waits.time() >= pause);
        assert_eq!(spent.reads.count(), 1);
        assert_eq!(spent.transactions.count(), 0);
        let [step] = spent.steps().try_into().unwrap();
        assert_eq!(step.name, "long");
        assert!(step.took >= pause);
        assert_eq!(*observed.lock().unwrap(), ["search", "read", "wait"]);
    }

    #[test]
    fn short_parts_are_timed_only_for_an_observer() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let part = async || {
            let part = ShortPart::begin();
            std::thread::sleep(Duration::from_millis(2));
            part.end(|spent| &spent.statements);
        };
        let counted = Arc::new(Spent::default());
        runtime.block_on(measure(Some(Arc::clone(&counted)), part()));
        let statements = &counted.statements;
        assert_eq!((statements.count(), statements.time()), (1, Duration::ZERO));
        let timed = Arc::new(Spent::observed_by(Names::default()));
        runtime.block_on(measure(Some(Arc::clone(&timed)), part()));
        assert_eq!(timed.statements.count(), 1);
        assert!(timed.statements.time() >= Duration::from_millis(2));
    }
}
