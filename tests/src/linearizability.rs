//! Checks whether a history of concurrent operations is linearizable: whether every operation can
//! have taken effect at one moment between its invocation and its response.
//!
//! The algorithm is the just-in-time linearization of Wing, Gong and Lowe. It goes through the
//! history once and keeps the set of possible configurations, each a state and the pending
//! operations that have already taken effect. A response leaves those configurations in which the
//! operation has taken effect with this outcome.
//!
//! An operation without a known outcome stays pending: it may take effect at any later time, or
//! never.

use std::collections::{BTreeSet, HashSet};
use std::fmt::{self, Debug, Display, Formatter};
use std::hash::Hash;
use std::sync::atomic::{AtomicU64, Ordering};

/// An operation of a sequential object, whose outcome depends on the state alone.
pub trait Operation: Debug {
    type State: Debug + Clone + Default + Eq + Hash;
    type Outcome: Debug + PartialEq;

    /// Returns the state and the outcome of this operation alone.
    fn apply(&self, state: &Self::State) -> (Self::State, Self::Outcome);
}

/// Orders invocations and responses of all clients: a response with a smaller number than an
/// invocation arrived before the request was sent.
#[derive(Debug, Default)]
pub struct Clock(AtomicU64);

impl Clock {
    pub fn now(&self) -> u64 {
        self.0.fetch_add(1, Ordering::SeqCst)
    }
}

/// One operation of a history.
#[derive(Debug)]
pub struct Call<O: Operation> {
    pub operation: O,
    pub invoked: u64,
    /// The outcome, and when it was known; `None` if it never was.
    pub returned: Option<(u64, O::Outcome)>,
}

/// The first response that no order of the operations explains.
#[derive(Debug)]
pub struct Violation {
    message: String,
}

impl Display for Violation {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for Violation {}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Configuration<S> {
    state: S,
    /// The pending operations that have taken effect.
    applied: BTreeSet<usize>,
}

/// Checks a history that starts with the default state.
pub fn check<O: Operation>(history: &[Call<O>]) -> Result<(), Violation> {
    let mut events: Vec<(u64, usize, bool)> = Vec::with_capacity(history.len() * 2);
    for (call, record) in history.iter().enumerate() {
        events.push((record.invoked, call, false));
        if let Some((at, _)) = &record.returned {
            events.push((*at, call, true));
        }
    }
    events.sort_unstable();
    let mut pending = BTreeSet::new();
    let mut possible = HashSet::from([Configuration {
        state: O::State::default(),
        applied: BTreeSet::new(),
    }]);
    for (_, call, is_response) in events {
        if !is_response {
            pending.insert(call);
            continue;
        }
        let after = respond(history, &pending, &possible, call);
        if after.is_empty() {
            return Err(violation(history, &pending, &possible, call));
        }
        possible = after;
        pending.remove(&call);
    }
    Ok(())
}

/// Returns the configurations that are possible after a response: those in which the operation has
/// taken effect, after any of the other pending ones.
fn respond<O: Operation>(
    history: &[Call<O>],
    pending: &BTreeSet<usize>,
    possible: &HashSet<Configuration<O::State>>,
    call: usize,
) -> HashSet<Configuration<O::State>> {
    let mut after = HashSet::new();
    let mut seen = HashSet::new();
    let mut open: Vec<_> = possible.iter().cloned().collect();
    while let Some(mut configuration) = open.pop() {
        if configuration.applied.remove(&call) {
            after.insert(configuration);
            continue;
        }
        for other in pending.difference(&configuration.applied) {
            let record = &history[*other];
            let (state, outcome) = record.operation.apply(&configuration.state);
            let known = record.returned.as_ref().map(|(_, known)| known);
            if known.is_none_or(|known| *known == outcome) {
                let mut applied = configuration.applied.clone();
                applied.insert(*other);
                let next = Configuration { state, applied };
                if seen.insert(next.clone()) {
                    open.push(next);
                }
            }
        }
    }
    after
}

fn violation<O: Operation>(
    history: &[Call<O>],
    pending: &BTreeSet<usize>,
    possible: &HashSet<Configuration<O::State>>,
    call: usize,
) -> Violation {
    let states: Vec<String> = possible
        .iter()
        .take(8)
        .map(|configuration| format!("  {:?}", configuration.state))
        .collect();
    let pending: Vec<String> = pending
        .iter()
        .map(|other| format!("  {:?}", history[*other]))
        .collect();
    Violation {
        message: format!(
            "no order of the operations explains {:?}\nstates that are possible before it ({}):\n{}\npending operations:\n{}",
            history[call],
            possible.len(),
            states.join("\n"),
            pending.join("\n")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::{Call, Operation, check};

    /// A register with a version, which every write increments.
    #[derive(Debug)]
    enum Register {
        Write(u64),
        /// Writes the value if the version is the expected one.
        WriteIf(u64, u64),
        Read,
    }
    use Register::{Read, Write, WriteIf};

    #[derive(Debug, PartialEq)]
    enum Outcome {
        Written,
        Conflict,
        /// The version and the value.
        Found(u64, u64),
    }
    use Outcome::{Conflict, Found, Written};

    impl Operation for Register {
        type State = (u64, u64);
        type Outcome = Outcome;

        fn apply(&self, state: &(u64, u64)) -> ((u64, u64), Outcome) {
            let (version, value) = *state;
            match *self {
                Write(new) => ((version + 1, new), Written),
                WriteIf(expected, new) if expected == version => ((version + 1, new), Written),
                WriteIf(..) => (*state, Conflict),
                Read => (*state, Found(version, value)),
            }
        }
    }

    fn call(operation: Register, invoked: u64, returned: u64, outcome: Outcome) -> Call<Register> {
        Call {
            operation,
            invoked,
            returned: Some((returned, outcome)),
        }
    }

    fn unknown(operation: Register, invoked: u64) -> Call<Register> {
        Call {
            operation,
            invoked,
            returned: None,
        }
    }

    #[test]
    fn operations_one_after_the_other_are_linearizable() {
        let history = [
            call(Read, 0, 1, Found(0, 0)),
            call(Write(7), 2, 3, Written),
            call(WriteIf(1, 8), 4, 5, Written),
            call(WriteIf(1, 9), 6, 7, Conflict),
            call(Read, 8, 9, Found(2, 8)),
        ];
        check(&history).unwrap();
    }

    #[test]
    fn a_read_during_a_write_may_see_either_value() {
        for found in [Found(0, 0), Found(1, 7)] {
            check(&[call(Write(7), 0, 3, Written), call(Read, 1, 2, found)]).unwrap();
        }
    }

    #[test]
    fn concurrent_writes_may_take_effect_in_any_order() {
        for last in [7, 8, 9] {
            let history = [
                call(Write(7), 0, 10, Written),
                call(Write(8), 1, 11, Written),
                call(Write(9), 2, 12, Written),
                call(Read, 13, 14, Found(3, last)),
            ];
            check(&history).unwrap();
        }
    }

    #[test]
    fn a_stale_read_is_rejected() {
        let history = [
            call(Write(7), 0, 1, Written),
            call(Write(8), 2, 3, Written),
            call(Read, 4, 5, Found(1, 7)),
        ];
        let violation = check(&history).unwrap_err().to_string();
        assert!(
            violation.contains("explains Call { operation: Read"),
            "{violation}"
        );
        assert!(violation.contains("(2, 8)"), "{violation}");
    }

    #[test]
    fn reads_that_go_back_in_time_are_rejected() {
        // Either read alone may have this outcome.
        let history = [
            call(Write(7), 0, 9, Written),
            call(Read, 1, 2, Found(1, 7)),
            call(Read, 3, 4, Found(0, 0)),
        ];
        check(&history).unwrap_err();
    }

    #[test]
    fn a_lost_update_is_rejected() {
        // Both writers found the same version.
        let history = [
            call(WriteIf(0, 7), 0, 3, Written),
            call(WriteIf(0, 8), 1, 2, Written),
        ];
        check(&history).unwrap_err();
        // An acknowledged write is missing in the version.
        let history = [
            call(Write(7), 0, 3, Written),
            call(Write(8), 1, 2, Written),
            call(Read, 4, 5, Found(1, 7)),
        ];
        check(&history).unwrap_err();
    }

    #[test]
    fn a_value_that_was_never_written_is_rejected() {
        check(&[call(Write(7), 0, 2, Written), call(Read, 1, 3, Found(1, 8))]).unwrap_err();
    }

    #[test]
    fn a_conflict_without_a_reason_is_rejected() {
        check(&[call(WriteIf(0, 7), 0, 1, Conflict)]).unwrap_err();
        let history = [
            call(WriteIf(0, 7), 0, 2, Conflict),
            call(Write(8), 1, 3, Written),
        ];
        check(&history).unwrap();
    }

    #[test]
    fn an_operation_without_an_outcome_takes_effect_at_any_time_or_never() {
        let read = |at: u64, found| call(Read, at, at + 1, found);
        check(&[unknown(Write(7), 0), read(1, Found(0, 0))]).unwrap();
        check(&[unknown(Write(7), 0), read(1, Found(1, 7))]).unwrap();
        let late = [
            unknown(Write(7), 0),
            call(Write(8), 1, 2, Written),
            read(3, Found(1, 8)),
            read(5, Found(2, 7)),
        ];
        check(&late).unwrap();
    }

    #[test]
    fn an_operation_without_an_outcome_takes_effect_once_and_not_before_it_is_invoked() {
        let read = |at: u64, found| call(Read, at, at + 1, found);
        check(&[read(0, Found(1, 7)), unknown(Write(7), 2)]).unwrap_err();
        let back = [
            unknown(Write(7), 0),
            read(1, Found(1, 7)),
            read(3, Found(0, 0)),
        ];
        check(&back).unwrap_err();
        let twice = [
            unknown(Write(7), 0),
            read(1, Found(1, 7)),
            call(Write(8), 3, 4, Written),
            read(5, Found(3, 7)),
        ];
        check(&twice).unwrap_err();
    }

    #[test]
    fn a_long_history_of_many_clients_is_checked_quickly() {
        // Eight writers at a time, and a read of what one of them wrote.
        let mut history = Vec::new();
        for round in 0..200 {
            let at = round * 100;
            for writer in 0..8 {
                let value = round * 8 + writer;
                history.push(call(Write(value), at + writer, at + 20 + writer, Written));
            }
            let last = Found((round + 1) * 8, round * 8 + round % 8);
            history.push(call(Read, at + 50, at + 51, last));
        }
        check(&history).unwrap();
    }
}
