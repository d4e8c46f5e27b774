//! Words and their frequencies.

use std::collections::HashSet;

const WORDS: usize = 30_000;

/// Flattens the head of the Zipf distribution as in real texts (Mandelbrot): the most frequent word
/// is 3 % of a text, not 9 %.
const FLATTENING: f64 = 2.7;

const ONSETS: [&str; 24] = [
    "b", "c", "d", "f", "g", "h", "j", "k", "l", "m", "n", "p", "r", "s", "t", "v", "w", "br",
    "cl", "dr", "pl", "st", "tr", "sh",
];
const VOWELS: [&str; 8] = ["a", "e", "i", "o", "u", "ai", "ea", "ou"];
const CODAS: [&str; 10] = ["", "", "", "n", "r", "l", "s", "t", "m", "ck"];

/// A deterministic random number generator (splitmix64).
#[derive(Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = Self(seed);
        random.next();
        random
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// From 0 (inclusive) to 1 (exclusive).
    fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// From 0 (inclusive) to `limit` (exclusive).
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        let scaled = (u128::from(self.next() >> 11) * limit as u128) >> 53;
        usize::try_from(scaled).unwrap_or_default()
    }
}

/// A Zipf distribution: the hundredth item is about a hundredth as frequent as the first.
#[derive(Debug)]
pub(crate) struct Zipf {
    /// Cumulative frequencies.
    sums: Vec<f64>,
}

impl Zipf {
    pub(crate) fn new(count: usize) -> Self {
        let mut sum = 0.0;
        let sums = (0..count)
            .map(|rank| {
                sum += 1.0 / (rank as f64 + 1.0 + FLATTENING);
                sum
            })
            .collect();
        Self { sums }
    }

    pub(crate) fn draw(&self, random: &mut Random) -> usize {
        let total = self.sums.last().copied().unwrap_or_default();
        let at = random.fraction() * total;
        let drawn = self.sums.partition_point(|sum| *sum <= at);
        drawn.min(self.sums.len().saturating_sub(1))
    }
}

/// Pronounceable words, the most frequent first; frequent ones are short.
#[derive(Debug)]
pub(crate) struct Vocabulary {
    words: Vec<String>,
    frequencies: Zipf,
}

impl Vocabulary {
    pub(crate) fn new() -> Self {
        let mut random = Random::new(30_000);
        let mut taken = HashSet::with_capacity(WORDS);
        let mut words = Vec::with_capacity(WORDS);
        while words.len() < WORDS {
            let syllables = match words.len() {
                0..300 => 1 + random.below(2),
                300..6_000 => 2 + random.below(2),
                _ => 2 + random.below(3),
            };
            let mut word = String::new();
            for _ in 0..syllables {
                for sounds in [&ONSETS[..], &VOWELS, &CODAS] {
                    word.push_str(sounds[random.below(sounds.len())]);
                }
            }
            if word.len() >= 3 && taken.insert(word.clone()) {
                words.push(word);
            }
        }
        Self {
            words,
            frequencies: Zipf::new(WORDS),
        }
    }

    /// The word of this rank.
    pub(crate) fn word(&self, rank: usize) -> &str {
        &self.words[rank]
    }

    /// A random word by frequency.
    pub(crate) fn draw(&self, random: &mut Random) -> &str {
        &self.words[self.frequencies.draw(random)]
    }

    /// A random word, all equally likely.
    pub(crate) fn any(&self, random: &mut Random) -> &str {
        &self.words[random.below(WORDS)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequencies_decrease_with_rank() {
        let zipf = Zipf::new(WORDS);
        let mut random = Random::new(7);
        let mut counts = vec![0_u32; WORDS];
        for _ in 0..1_000_000 {
            counts[zipf.draw(&mut random)] += 1;
        }
        assert!((25_000..35_000).contains(&counts[0]), "{}", counts[0]);
        let hundredth: u32 = counts[95..105].iter().sum();
        assert!((8_000..14_000).contains(&hundredth), "{hundredth}");
        assert!(counts[WORDS - 1_000..].iter().sum::<u32>() > 1_000);
    }
}
