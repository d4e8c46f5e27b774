//! Short reads that wait at the same moment are asked in one statement.
//!
//! Little of what a read of a few rows costs is about the rows. The rest is a message to the database and one back, a
//! process there that wakes up, and a statement that is begun and ended; a statement with ten reads has all that once. So
//! only a few statements are under way at a time, each in a *lane*. Whoever finds a free lane is asked at once; whoever
//! finds none waits, and the lane that is free next takes along all who wait. Nobody waits for company.
//!
//! For a reader nothing else is different from being asked alone:
//!
//! - Its statement begins after the reader came, so it sees every write that was acknowledged before, by whatever server,
//!   and all of it is of one snapshot.
//! - A statement that takes longer than [`SHORT`] gives up its lane, so that slow ones hold up nobody for longer than
//!   that; how many of those there are is bounded by the connections. Reads of many rows do not come here at all.
//! - When there is no connection to be had, all who wait are told, and the time that one may wait for it is that of
//!   everybody. No more than [`MAX_WAITING`] wait.
//! - What one of them asks for may be damaged. A statement that fails for such a reason is forgotten, and each of its
//!   readers asks alone.
//! - A reader who goes away while it waits is not asked for.
//!
//! What the questions are is none of this module's business: `read` has the statements.

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use docent_store::{AspectKey, StoreError};
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::error::EngineError;
use crate::pool::{Connections, MAX_WAITING};
use crate::read::{self, Found, Question};

/// A lane for each core lets all of them work, and with more lanes fewer reads come together. Where there is one core, the
/// database may have others.
const MIN_LANES: usize = 2;
/// Longer than a statement of short reads takes on a machine with much to do.
const SHORT: Duration = Duration::from_millis(5);
/// A read with more keys and witnesses is not short.
const MAX_KEYS: usize = 16;
/// A statement has no more keys and witnesses than this.
const MAX_KEYS_TOGETHER: usize = 128;

#[derive(Debug)]
pub(crate) struct ShortReads {
    connections: Arc<Connections>,
    lanes: usize,
    queue: Mutex<Queue>,
}

#[derive(Debug, Default)]
struct Queue {
    lanes_taken: usize,
    /// Empty as long as a lane is free.
    waiting: VecDeque<Reader>,
}

#[derive(Debug)]
struct Reader {
    keys: Vec<AspectKey>,
    witnesses: Vec<AspectKey>,
    /// Dropped without an answer, the reader asks alone.
    answer: oneshot::Sender<Result<Found, StoreError>>,
}

impl Reader {
    fn question(&self) -> Question<'_> {
        Question {
            keys: &self.keys,
            witnesses: &self.witnesses,
        }
    }
}

impl ShortReads {
    pub(crate) fn new(connections: &Arc<Connections>) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            // Others need connections, too.
            lanes: cores.max(MIN_LANES).min(connections.size() / 2).max(1),
            connections: Arc::clone(connections),
            queue: Mutex::default(),
        }
    }

    /// Answers a question: together with others if it is a short one.
    pub(crate) async fn ask(
        self: &Arc<Self>,
        question: Question<'_>,
    ) -> Result<Found, EngineError> {
        match question.keys.len() + question.witnesses.len() {
            0 => return Ok(Found::default()),
            1..=MAX_KEYS => {
                if let Ok(answer) = self.enter(question)?.await {
                    return Ok(answer?);
                }
            }
            _ => {}
        }
        read::answer(&self.connections, question).await
    }

    fn enter(
        self: &Arc<Self>,
        question: Question<'_>,
    ) -> Result<oneshot::Receiver<Result<Found, StoreError>>, EngineError> {
        let (answer, answered) = oneshot::channel();
        let reader = Reader {
            keys: question.keys.to_vec(),
            witnesses: question.witnesses.to_vec(),
            answer,
        };
        let mut queue = self.queue();
        if queue.waiting.len() >= MAX_WAITING {
            return Err(StoreError::Busy.into());
        }
        queue.waiting.push_back(reader);
        if queue.lanes_taken < self.lanes {
            queue.lanes_taken += 1;
            drop(queue);
            tokio::spawn(serve(Lane {
                reads: Some(Arc::clone(self)),
            }));
        }
        Ok(answered)
    }

    /// Those who wait, the first first, as many as one statement takes.
    fn next_group(&self) -> Vec<Reader> {
        let mut queue = self.queue();
        let (mut group, mut keys) = (Vec::new(), 0);
        while let Some(reader) = queue.waiting.front() {
            keys += reader.keys.len() + reader.witnesses.len();
            if keys > MAX_KEYS_TOGETHER {
                break;
            }
            group.extend(
                queue
                    .waiting
                    .pop_front()
                    .filter(|it| !it.answer.is_closed()),
            );
        }
        group
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The right to have a statement under way.
struct Lane {
    /// `None` when it has been given to somebody else or given up.
    reads: Option<Arc<ShortReads>>,
}

impl Lane {
    /// Whoever waits goes on with it.
    fn pass_on(mut self) {
        let Some(reads) = self.reads.take() else {
            return;
        };
        let mut queue = reads.queue();
        if queue.waiting.is_empty() {
            queue.lanes_taken -= 1;
        } else {
            drop(queue);
            tokio::spawn(serve(Self { reads: Some(reads) }));
        }
    }
}

impl Drop for Lane {
    /// It was not passed on: the server is stopping, or something panicked.
    fn drop(&mut self) {
        if let Some(reads) = self.reads.take() {
            let mut queue = reads.queue();
            queue.lanes_taken -= 1;
            queue.waiting.clear();
        }
    }
}

/// Asks for those who wait, and passes the lane on.
async fn serve(lane: Lane) {
    let Some(reads) = lane.reads.clone() else {
        return;
    };
    let lease = match reads.connections.lease().await {
        Ok(lease) => lease,
        Err(error) => {
            let refused = std::mem::take(&mut reads.queue().waiting);
            lane.pass_on();
            return deliver(refused.into(), Err(error));
        }
    };
    // Whoever has arrived by now, and would come a few microseconds later, comes along.
    tokio::task::yield_now().await;
    let group = reads.next_group();
    if group.is_empty() {
        return lane.pass_on();
    }
    let answer = {
        let questions: Vec<Question<'_>> = group.iter().map(Reader::question).collect();
        let mut asking = pin!(read::answer_all(&reads.connections, lease, &questions));
        let in_time = timeout(SHORT, &mut asking).await;
        lane.pass_on();
        match in_time {
            Ok(answer) => answer,
            Err(_) => asking.await,
        }
    };
    deliver(group, answer);
}

/// Whoever does not listen any more has gone away.
fn deliver(group: Vec<Reader>, answer: Result<Vec<Found>, EngineError>) {
    match answer.map_err(StoreError::from) {
        Ok(all) => {
            for (reader, found) in group.into_iter().zip(all) {
                let _ = reader.answer.send(Ok(found));
            }
        }
        Err(StoreError::Busy) => {
            for reader in group {
                let _ = reader.answer.send(Err(StoreError::Busy));
            }
        }
        Err(StoreError::Unavailable { reason }) => {
            for reader in group {
                let reason = reason.clone();
                let _ = reader.answer.send(Err(StoreError::Unavailable { reason }));
            }
        }
        // Of which of the reads it is true is not known; each finds out.
        Err(_) => drop(group),
    }
}

#[cfg(test)]
mod tests;
