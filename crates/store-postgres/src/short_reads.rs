//! Concurrent point reads share statements.
//!
//! Most of the cost of reading a few rows is not about the rows: a message each way, a process that
//! wakes up, a statement that starts and ends. A statement with ten reads pays that once. So only a
//! few statements of point reads run at a time, each in a *lane*. A read that finds a free lane is
//! sent at once; otherwise it is queued, and the next free lane takes the whole queue. No read
//! waits for others to arrive.
//!
//! For a caller nothing else differs from a statement of its own:
//!
//! - The statement begins after the read was requested, so it sees every write acknowledged before,
//!   by any server, and all rows come from one snapshot.
//! - A statement that runs longer than [`MAX_LANE_TIME`] gives up its lane, so slow ones delay
//!   others by no more than that. The pool limits their number. Reads of many rows do not come
//!   here.
//! - If no connection is available, all queued reads fail after one pool timeout. At most
//!   [`MAX_WAITING`] are queued.
//! - If a statement fails because of corrupt data, each of its reads is repeated alone.
//! - A read whose caller has gone is dropped from the queue.
//!
//! The statements themselves are in `read`.

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use docent_store::{AspectKey, StoreError, spent};
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::error::EngineError;
use crate::pool::{Connections, MAX_WAITING};
use crate::read::{self, PointRead, PointReply};

/// One lane per core keeps all cores busy; more lanes would make smaller batches. With a single
/// core here, the database may have others.
const MIN_LANES: usize = 2;
/// Longer than a statement of point reads takes on a busy machine.
const MAX_LANE_TIME: Duration = Duration::from_millis(5);
/// A read with more keys gets a statement of its own.
const MAX_KEYS: usize = 16;
/// The most keys in one statement.
const MAX_BATCH_KEYS: usize = 128;

#[derive(Debug)]
pub(crate) struct ShortReads {
    connections: Arc<Connections>,
    lanes: usize,
    queue: Mutex<Queue>,
}

#[derive(Debug, Default)]
struct Queue {
    lanes_used: usize,
    /// Empty while a lane is free.
    reads: VecDeque<QueuedRead>,
}

#[derive(Debug)]
struct QueuedRead {
    rows: Vec<AspectKey>,
    exists: Vec<AspectKey>,
    /// Dropped without a reply, the read is repeated alone.
    reply: oneshot::Sender<Result<PointReply, StoreError>>,
}

impl QueuedRead {
    fn read(&self) -> PointRead<'_> {
        PointRead {
            rows: &self.rows,
            exists: &self.exists,
        }
    }
}

impl ShortReads {
    pub(crate) fn new(connections: &Arc<Connections>) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            // Leaves half of the connections to others.
            lanes: cores.max(MIN_LANES).min(connections.size() / 2).max(1),
            connections: Arc::clone(connections),
            queue: Mutex::default(),
        }
    }

    /// Executes a read, together with others if it is short.
    pub(crate) async fn read(
        self: &Arc<Self>,
        read: PointRead<'_>,
    ) -> Result<PointReply, EngineError> {
        match read.rows.len() + read.exists.len() {
            0 => return Ok(PointReply::default()),
            1..=MAX_KEYS => {
                // A task that serves many requests reads.
                let replied = self.enqueue(read)?;
                if let Ok(reply) = spent::timed(|spent| &spent.reads, replied).await {
                    return Ok(reply?);
                }
            }
            _ => {}
        }
        read::point_read(&self.connections, read).await
    }

    fn enqueue(
        self: &Arc<Self>,
        read: PointRead<'_>,
    ) -> Result<oneshot::Receiver<Result<PointReply, StoreError>>, EngineError> {
        let (reply, replied) = oneshot::channel();
        let read = QueuedRead {
            rows: read.rows.to_vec(),
            exists: read.exists.to_vec(),
            reply,
        };
        let mut queue = self.queue();
        if queue.reads.len() >= MAX_WAITING {
            return Err(StoreError::Busy.into());
        }
        queue.reads.push_back(read);
        if queue.lanes_used < self.lanes {
            queue.lanes_used += 1;
            drop(queue);
            tokio::spawn(serve(Lane {
                reads: Some(Arc::clone(self)),
            }));
        }
        Ok(replied)
    }

    /// Takes the oldest queued reads, as many as fit into one statement.
    fn next_batch(&self) -> Vec<QueuedRead> {
        let mut queue = self.queue();
        let (mut batch, mut keys) = (Vec::new(), 0);
        while let Some(read) = queue.reads.front() {
            keys += read.rows.len() + read.exists.len();
            if keys > MAX_BATCH_KEYS {
                break;
            }
            let read = queue.reads.pop_front();
            batch.extend(read.filter(|read| !read.reply.is_closed()));
        }
        batch
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The right to run a statement.
struct Lane {
    /// `None` once it was released.
    reads: Option<Arc<ShortReads>>,
}

impl Lane {
    /// Serves the queue, or frees the lane if it is empty.
    fn release(mut self) {
        let Some(reads) = self.reads.take() else {
            return;
        };
        let mut queue = reads.queue();
        if queue.reads.is_empty() {
            queue.lanes_used -= 1;
        } else {
            drop(queue);
            tokio::spawn(serve(Self { reads: Some(reads) }));
        }
    }
}

impl Drop for Lane {
    /// Runs with a lane that was not released: the runtime is stopping, or a task panicked.
    fn drop(&mut self) {
        if let Some(reads) = self.reads.take() {
            let mut queue = reads.queue();
            queue.lanes_used -= 1;
            queue.reads.clear();
        }
    }
}

/// Executes one batch and releases the lane.
async fn serve(lane: Lane) {
    let Some(reads) = lane.reads.clone() else {
        return;
    };
    let lease = match reads.connections.lease().await {
        Ok(lease) => lease,
        Err(error) => {
            let failed = std::mem::take(&mut reads.queue().reads);
            lane.release();
            return deliver(failed.into(), Err(error));
        }
    };
    // Lets reads that are about to arrive join the batch.
    tokio::task::yield_now().await;
    let batch = reads.next_batch();
    if batch.is_empty() {
        return lane.release();
    }
    let replies = {
        let requests: Vec<PointRead<'_>> = batch.iter().map(QueuedRead::read).collect();
        let mut executing = pin!(read::point_reads(&reads.connections, lease, &requests));
        let in_time = timeout(MAX_LANE_TIME, &mut executing).await;
        lane.release();
        match in_time {
            Ok(replies) => replies,
            Err(_) => executing.await,
        }
    };
    deliver(batch, replies);
}

/// Sends the replies. A caller that has gone does not receive its own.
fn deliver(batch: Vec<QueuedRead>, replies: Result<Vec<PointReply>, EngineError>) {
    match replies.map_err(StoreError::from) {
        Ok(replies) => {
            for (read, reply) in batch.into_iter().zip(replies) {
                let _ = read.reply.send(Ok(reply));
            }
        }
        Err(StoreError::Busy) => {
            for read in batch {
                let _ = read.reply.send(Err(StoreError::Busy));
            }
        }
        Err(StoreError::Unavailable { reason }) => {
            for read in batch {
                let reason = reason.clone();
                let _ = read.reply.send(Err(StoreError::Unavailable { reason }));
            }
        }
        // Any of the reads may have caused it, so each is repeated alone.
        Err(_) => drop(batch),
    }
}

#[cfg(test)]
mod tests;
