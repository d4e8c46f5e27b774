//! What a writer knows about its writes: settled, because they were acknowledged or seen, or still open.

use std::collections::BTreeSet;
use std::fmt::Debug;

use anyhow::bail;

/// One place that each write replaces.
#[derive(Debug)]
pub struct Register<T> {
    settled: T,
    open: Option<T>,
}

impl<T: PartialEq + Debug> Register<T> {
    pub fn new(initial: T) -> Self {
        Self {
            settled: initial,
            open: None,
        }
    }

    /// Notes a write before it is sent.
    pub fn begin(&mut self, value: T) {
        self.open = Some(value);
    }

    /// Notes that the open write was acknowledged.
    pub fn acknowledge(&mut self) {
        if let Some(value) = self.open.take() {
            self.settled = value;
        }
    }

    /// Takes what is stored as settled, if it may be there.
    pub fn settle(&mut self, stored: T) -> anyhow::Result<()> {
        if stored != self.settled && self.open.as_ref() != Some(&stored) {
            bail!(
                "acknowledged was {:?}, sent since then {:?}, but stored is {stored:?}",
                self.settled,
                self.open
            );
        }
        self.settled = stored;
        self.open = None;
        Ok(())
    }
}

/// Things that each write adds one to, known by the number of the write.
#[derive(Debug, Default)]
pub struct Collection {
    settled: Vec<u64>,
    open: Option<u64>,
}

impl Collection {
    /// Notes a write before it is sent.
    pub fn begin(&mut self, write: u64) {
        self.open = Some(write);
    }

    /// Notes that the open write was acknowledged.
    pub fn acknowledge(&mut self) {
        self.settled.extend(self.open.take());
    }

    /// The writes that must be there, the earliest first.
    pub fn settled(&self) -> &[u64] {
        &self.settled
    }

    /// The writes that must or may be there.
    pub fn all(&self) -> BTreeSet<u64> {
        self.settled.iter().copied().chain(self.open).collect()
    }

    /// Takes what was found among what was asked for as settled, if that may be.
    pub fn settle(&mut self, asked: &BTreeSet<u64>, found: &BTreeSet<u64>) -> anyhow::Result<()> {
        let lost: Vec<u64> = self
            .settled
            .iter()
            .filter(|write| asked.contains(write) && !found.contains(write))
            .copied()
            .collect();
        if !lost.is_empty() {
            bail!("acknowledged but not stored: {lost:?}");
        }
        if let Some(open) = self.open.take().filter(|open| found.contains(open)) {
            self.settled.push(open);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Collection, Register};

    #[test]
    fn a_register_must_hold_what_was_acknowledged_or_sent_later() {
        let mut register = Register::new(1);
        register.begin(2);
        assert!(register.settle(1).is_ok(), "the open write was not stored");
        register.begin(3);
        register.acknowledge();
        assert!(register.settle(1).is_err(), "an acknowledged write is lost");
        register.begin(4);
        assert!(register.settle(5).is_err(), "nobody wrote it");
        assert!(register.settle(4).is_ok(), "the open write was stored");
        assert!(register.settle(3).is_err(), "what was seen must stay");
    }

    #[test]
    fn a_collection_must_hold_all_that_was_acknowledged() {
        let mut collection = Collection::default();
        collection.begin(1);
        collection.acknowledge();
        collection.begin(2);
        let asked = collection.all();
        assert!(collection.settle(&asked, &[2].into()).is_err());
        collection.begin(2);
        assert!(collection.settle(&asked, &[1, 2].into()).is_ok());
        assert_eq!(collection.settled(), [1, 2]);
    }
}
