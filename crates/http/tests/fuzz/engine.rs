//! Runs a target: checks the inputs of its corpus, then mutations of them.
//!
//! An input whose outcome is new joins those that are mutated further. So the errors that a target
//! distinguishes guide the search, as covered code guides other fuzzers: the message for a missing
//! parenthesis is reached from the one for a wrong type, and so on.

use std::collections::HashSet;
use std::env;
use std::fs;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use docent_e2e::figures::{number_from, record};
use docent_e2e::load::Random;
use futures_util::FutureExt as _;
use serde_json::Value;

use crate::mutate::{Mutator, tokens};

/// The shape of the result for an input, such as an error message without its values; or why a
/// property does not hold.
pub(crate) type Outcome = Result<String, String>;

/// How inputs are changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Text,
    /// As values, and sometimes as texts.
    Json,
    /// Not at all: others come from a generator, and are not made shorter.
    Generated,
}

#[derive(Debug)]
pub(crate) struct Target {
    /// Also the name of its corpus.
    pub(crate) name: &'static str,
    pub(crate) format: Format,
    /// Texts that mean something to the parser.
    pub(crate) dictionary: &'static [&'static str],
}

/// Longer inputs take time and reach nothing new.
const MAX_INPUT_BYTES: usize = 4096;
/// But where the work grows with the square of the length, they take far too long.
const LONG_INPUT_BYTES: usize = 64 * 1024;
/// One in so many inputs is long, besides those of the corpus.
const LONG_ONE_IN: u64 = 50;
const MAX_POOL: usize = 5000;
/// An input that takes this long, on a busy machine and without optimization, is an attack.
const MAX_TIME: Duration = Duration::from_secs(20);
const MAX_SHRINKING: Duration = Duration::from_secs(20);

impl Target {
    /// Mutates the corpus; panics with the first input that violates the property.
    pub(crate) async fn run(&self, check: impl AsyncFn(&str) -> Outcome) {
        self.run_with(|_, mutated| mutated, check).await;
    }

    /// The same, with inputs from a generator: it gets a mutated one, and returns that or another.
    pub(crate) async fn run_with(
        &self,
        mut generate: impl FnMut(&mut Random, String) -> String,
        check: impl AsyncFn(&str) -> Outcome,
    ) {
        let seconds = number_from("DOCENT_FUZZ_SECONDS", 2).unwrap();
        let any = RandomState::new().build_hasher().finish() % 1_000_000;
        let seed = number_from("DOCENT_FUZZ_SEED", any).unwrap();
        let mut random = Random::seeded(seed);
        let mut outcomes = HashSet::new();
        let mut pool = inputs_of(self.name);
        let corpus = pool.len();
        pool.extend(kept_file(self.name).map(inputs_in).unwrap_or_default());
        for input in &pool {
            outcomes.insert(self.checked(input, seed, &check).await);
        }
        let mut count = pool.len();
        let mut slowest = Duration::ZERO;
        let end = Instant::now() + Duration::from_secs(seconds);
        while Instant::now() < end {
            if self.format != Format::Generated && random.below(LONG_ONE_IN) == 0 {
                let base = pool[random.index(pool.len())].clone();
                // Also shorter ones, because some parsers have a limit.
                let bytes = LONG_INPUT_BYTES >> random.below(4);
                let mut mutator = Mutator::new(&mut random, self.dictionary);
                let input = mutator.stretched(&base, bytes);
                let started = Instant::now();
                // Not mutated further: it is no better than a short one with this outcome.
                self.checked(&input, seed, &check).await;
                slowest = slowest.max(started.elapsed());
                count += 1;
                continue;
            }
            let mutated = self.mutation(&mut random, &pool);
            let input = generate(&mut random, mutated);
            if input.len() > MAX_INPUT_BYTES {
                continue;
            }
            let outcome = self.checked(&input, seed, &check).await;
            count += 1;
            if outcomes.insert(outcome) && pool.len() < MAX_POOL {
                pool.push(input);
            }
        }
        if let Some(file) = kept_file(self.name) {
            let lines: Vec<String> = pool[corpus..].iter().map(|input| line_of(input)).collect();
            fs::write(file, lines.join("\n")).unwrap();
        }
        record(
            &format!("inputs of the fuzz target `{}`", self.name),
            &format!(
                "{count} in {seconds} s, {} outcomes, long ones in {} ms at most, seed {seed}",
                outcomes.len(),
                slowest.as_millis()
            ),
        )
        .unwrap();
    }

    fn mutation(&self, random: &mut Random, pool: &[String]) -> String {
        // Half of the time one of the newest, which are at the border of what is known.
        let newest = pool.len().saturating_sub(pool.len() / 4 + 1);
        let base = match random.below(2) {
            0 => newest + random.index(pool.len() - newest),
            _ => random.index(pool.len()),
        };
        let other = random.index(pool.len());
        let mut mutator = Mutator::new(random, self.dictionary);
        let (base, other) = (&pool[base], &pool[other]);
        match self.format {
            Format::Text | Format::Generated => mutator.text(base, other),
            Format::Json => mutator.json_text(base, other),
        }
    }

    /// The outcome of an input. Panics if the property does not hold, with the smallest input of
    /// which that is true.
    async fn checked(
        &self,
        input: &str,
        seed: u64,
        check: &impl AsyncFn(&str) -> Outcome,
    ) -> String {
        let violation = match attempt(input, check).await {
            Ok(outcome) => return outcome,
            Err(violation) => violation,
        };
        let (input, violation) = self.shrunk(input.to_owned(), violation, check).await;
        panic!(
            "{} does not hold with DOCENT_FUZZ_SEED={seed}: {violation}\n\
             add this line to {}, with the fix:\n{}",
            self.name,
            corpus_file(self.name).display(),
            line_of(&input)
        );
    }

    async fn shrunk(
        &self,
        mut input: String,
        mut violation: String,
        check: &impl AsyncFn(&str) -> Outcome,
    ) -> (String, String) {
        if self.format == Format::Generated {
            return (input, violation);
        }
        let end = Instant::now() + MAX_SHRINKING;
        let mut size = tokens(&input).len() / 2;
        while size > 0 {
            let mut at = 0;
            while at < tokens(&input).len() && Instant::now() < end {
                let mut rest = tokens(&input);
                rest.drain(at..(at + size).min(rest.len()));
                let smaller = rest.concat();
                match attempt(&smaller, check).await {
                    Err(same) if shape(&same) == shape(&violation) => {
                        (input, violation) = (smaller, same);
                    }
                    _ => at += size,
                }
            }
            size /= 2;
        }
        (input, violation)
    }
}

async fn attempt(input: &str, check: &impl AsyncFn(&str) -> Outcome) -> Outcome {
    let started = Instant::now();
    let outcome = AssertUnwindSafe(check(input)).catch_unwind().await;
    let time = started.elapsed();
    match outcome {
        Err(_) => Err("it panicked; the message is above".to_owned()),
        Ok(Ok(_)) if time > MAX_TIME => Err(format!("it took {time:?}")),
        Ok(outcome) => outcome,
    }
}

fn corpus_file(name: &str) -> PathBuf {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus");
    directory.join(format!("{name}.txt"))
}

/// Where long runs keep the inputs that they found, if `DOCENT_FUZZ_KEPT` names a directory.
fn kept_file(name: &str) -> Option<PathBuf> {
    let directory = PathBuf::from(env::var_os("DOCENT_FUZZ_KEPT")?);
    fs::create_dir_all(&directory).unwrap();
    Some(directory.join(format!("{name}.txt")))
}

/// The inputs of a corpus.
pub(crate) fn inputs_of(name: &str) -> Vec<String> {
    let inputs = inputs_in(corpus_file(name));
    assert!(!inputs.is_empty(), "{name} has no corpus");
    inputs
}

/// The inputs in a file: one per line, as it is or, if it starts with a quotation mark, as a JSON
/// string. None if there is no file.
fn inputs_in(file: PathBuf) -> Vec<String> {
    let text = fs::read_to_string(file).unwrap_or_default();
    let lines = text.lines().filter(|line| !line.is_empty());
    lines
        .map(|line| {
            if line.starts_with('"') {
                serde_json::from_str(line).unwrap()
            } else {
                line.to_owned()
            }
        })
        .collect()
}

/// The line of an input in the corpus.
fn line_of(input: &str) -> String {
    let is_plain =
        !input.is_empty() && !input.starts_with('"') && !input.chars().any(char::is_control);
    if is_plain {
        return input.to_owned();
    }
    Value::from(input).to_string()
}

/// The first words of a message, without the values in it, so that equal errors are equal.
pub(crate) fn shape(message: &str) -> String {
    let mut plain = String::new();
    let mut quote = None;
    for character in message.chars() {
        match quote {
            Some(open) if open == character => quote = None,
            Some(_) => {}
            None if matches!(character, '\'' | '"' | '`') => quote = Some(character),
            None => plain.push(character),
        }
    }
    let is_word = |word: &&str| {
        let word = word.trim_end_matches([',', '.', ':', ';']);
        word.bytes().all(|byte| byte.is_ascii_alphabetic())
            || word.len() == 3 && word.bytes().all(|byte| byte.is_ascii_digit())
    };
    let words: Vec<&str> = plain.split_whitespace().filter(is_word).take(7).collect();
    words.join(" ")
}
