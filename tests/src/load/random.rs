//! Reproducible pseudo-random numbers.

/// A splitmix64 generator: small, and good enough to choose a writer's next operation.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    pub fn seeded(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns a number below `bound`, which must not be 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }

    /// Returns an index into a list of this length, which must not be 0.
    pub fn index(&mut self, length: usize) -> usize {
        let bound = u64::try_from(length).unwrap_or(u64::MAX);
        usize::try_from(self.below(bound)).unwrap_or_default()
    }
}

/// Returns a word of 16 letters that has nothing in common with those of other numbers: a search
/// also finds similar words.
pub fn word(number: u64) -> String {
    let mut random = Random::seeded(number);
    let letters: Vec<char> = ('a'..='z').collect();
    (0..16)
        .map(|_| letters[random.index(letters.len())])
        .collect()
}
