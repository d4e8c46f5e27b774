//! A writer's record of its writes: settled (acknowledged, or read back) or pending.

use std::collections::BTreeSet;
use std::fmt::Debug;

use anyhow::bail;

/// A value that each write replaces.
#[derive(Debug)]
pub struct Register<T> {
    settled: T,
    pending: Option<T>,
    changes: u64,
}

impl<T: PartialEq + Debug> Register<T> {
    pub fn new(initial: T) -> Self {
        Self {
            settled: initial,
            pending: None,
            changes: 0,
        }
    }

    /// Records a write before it is sent.
    pub fn begin(&mut self, value: T) {
        self.pending = Some(value);
    }

    /// Records that the pending write was acknowledged.
    pub fn acknowledge(&mut self) {
        if let Some(value) = self.pending.take() {
            self.replace(value);
        }
    }

    /// Returns how often the settled value has changed.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    fn replace(&mut self, value: T) {
        self.changes += u64::from(value != self.settled);
        self.settled = value;
    }

    /// Settles on the stored value; an error unless it is the settled or the pending one.
    pub fn settle(&mut self, stored: T) -> anyhow::Result<()> {
        if stored != self.settled && self.pending.as_ref() != Some(&stored) {
            bail!(
                "acknowledged {:?}, then sent {:?}, but {stored:?} is stored",
                self.settled,
                self.pending
            );
        }
        self.replace(stored);
        self.pending = None;
        Ok(())
    }
}

/// A collection that each write adds one item to, identified by the number of the write, or
/// removes one from.
#[derive(Debug, Default)]
pub struct Collection {
    settled: Vec<u64>,
    pending: Option<u64>,
    removed: BTreeSet<u64>,
    pending_removal: Option<u64>,
}

impl Collection {
    /// Records a write before it is sent.
    pub fn begin(&mut self, write: u64) {
        self.pending = Some(write);
    }

    /// Records a removal of a settled item before it is sent.
    pub fn begin_removal(&mut self, item: u64) {
        self.pending_removal = Some(item);
    }

    /// Records that the pending write was acknowledged.
    pub fn acknowledge(&mut self) {
        self.settled.extend(self.pending.take());
        if let Some(item) = self.pending_removal.take() {
            self.remove(item);
        }
    }

    fn remove(&mut self, item: u64) {
        self.settled.retain(|settled| *settled != item);
        self.removed.insert(item);
    }

    /// Returns the items that must not be stored any more.
    pub fn removed(&self) -> &BTreeSet<u64> {
        &self.removed
    }

    /// Returns the item that may be removed.
    pub fn pending_removal(&self) -> Option<u64> {
        self.pending_removal
    }

    /// Returns the writes that must be stored, the earliest first.
    pub fn settled(&self) -> &[u64] {
        &self.settled
    }

    /// Returns the writes that must or may be stored.
    pub fn all(&self) -> BTreeSet<u64> {
        self.settled.iter().copied().chain(self.pending).collect()
    }

    /// Settles on the writes found among those read back; an error if an acknowledged one is
    /// missing, or a removed one is back.
    pub fn settle(&mut self, writes: &BTreeSet<u64>, found: &BTreeSet<u64>) -> anyhow::Result<()> {
        let lost: Vec<u64> = self
            .settled
            .iter()
            .filter(|write| writes.contains(write) && !found.contains(write))
            .filter(|write| self.pending_removal != Some(**write))
            .copied()
            .collect();
        if !lost.is_empty() {
            bail!("acknowledged but not stored: {lost:?}");
        }
        let back: Vec<u64> = self.removed.intersection(found).copied().collect();
        if !back.is_empty() {
            bail!("removed but stored: {back:?}");
        }
        if let Some(item) = self.pending_removal.take()
            && writes.contains(&item)
            && !found.contains(&item)
        {
            self.remove(item);
        }
        if let Some(pending) = self.pending.take().filter(|write| found.contains(write)) {
            self.settled.push(pending);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Collection, Register};

    #[test]
    fn a_register_accepts_the_acknowledged_or_the_pending_value() {
        let mut register = Register::new(1);
        register.begin(2);
        assert!(
            register.settle(1).is_ok(),
            "the pending write was not stored"
        );
        register.begin(3);
        register.acknowledge();
        assert!(register.settle(1).is_err(), "an acknowledged write is lost");
        assert_eq!(register.changes(), 1);
        register.begin(4);
        assert!(register.settle(5).is_err(), "never written");
        assert!(register.settle(4).is_ok(), "the pending write was stored");
        assert_eq!(register.changes(), 2);
        assert!(
            register.settle(3).is_err(),
            "a value that was read must stay"
        );
    }

    #[test]
    fn a_collection_must_contain_all_acknowledged_writes() {
        let mut collection = Collection::default();
        collection.begin(1);
        collection.acknowledge();
        collection.begin(2);
        let writes = collection.all();
        assert!(collection.settle(&writes, &[2].into()).is_err());
        collection.begin(2);
        assert!(collection.settle(&writes, &[1, 2].into()).is_ok());
        assert_eq!(collection.settled(), [1, 2]);
    }

    #[test]
    fn a_collection_must_not_contain_removed_items() {
        let mut collection = Collection::default();
        for item in [1, 2, 3] {
            collection.begin(item);
            collection.acknowledge();
        }
        let writes = [1, 2, 3].into();
        collection.begin_removal(1);
        assert!(collection.settle(&writes, &writes).is_ok(), "not stored");
        collection.begin_removal(1);
        assert!(collection.settle(&writes, &[2, 3].into()).is_ok(), "stored");
        collection.begin_removal(2);
        collection.acknowledge();
        assert_eq!(collection.settled(), [3]);
        assert!(collection.settle(&writes, &[3].into()).is_ok());
        assert!(
            collection.settle(&writes, &[2, 3].into()).is_err(),
            "a removed item is back"
        );
    }
}
