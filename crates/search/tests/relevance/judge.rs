//! Reads the judgements and holds what search found against them.

use std::collections::HashSet;
use std::fmt::Write as _;

use docent_search::{Page, Request, Search, SearchError};
use serde::Deserialize;

/// How far down a result is looked for.
const DEPTH: usize = 50;

/// So much of a wrong answer is shown.
const SHOWN: usize = 5;

/// One line of `queries.jsonl`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Judgement {
    pub(crate) query: String,
    pub(crate) over: Data,
    /// Entity types, those that people look for if there is none.
    #[serde(default)]
    pub(crate) types: Vec<String>,
    /// All of these must be among the first `within`.
    pub(crate) expect: Vec<String>,
    pub(crate) within: usize,
    /// What is expected must also come in the order in which it stands here.
    #[serde(default)]
    pub(crate) ordered: bool,
    /// None of these may be found, as far down as is looked.
    #[serde(default)]
    pub(crate) never: Vec<String>,
    pub(crate) why: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Data {
    Demo,
    Warehouse,
}

/// How one query went.
pub(crate) struct Verdict {
    pub(crate) judgement: Judgement,
    /// What was found, best first.
    found: Vec<String>,
}

impl Judgement {
    pub(crate) fn all() -> Vec<Self> {
        include_str!("queries.jsonl")
            .lines()
            .enumerate()
            .map(|(at, line)| {
                serde_json::from_str(line)
                    .unwrap_or_else(|error| panic!("queries.jsonl, line {}: {error}", at + 1))
            })
            .collect()
    }

    /// What makes two lines the same question.
    pub(crate) fn question(&self) -> (Data, &str, &[String]) {
        (self.over, &self.query, &self.types)
    }

    pub(crate) async fn judge(self, search: &Search) -> Verdict {
        let request = Request {
            types: self.types.clone(),
            query: self.query.clone(),
            page: Page::From {
                start: 0,
                count: DEPTH,
            },
            ..Request::default()
        };
        let found = loop {
            match search.search(&request).await {
                Ok(found) => break found,
                // On a busy machine the first index takes longer than a search waits.
                Err(SearchError::Building { .. }) => {}
                Err(error) => panic!("{:?} must not be an error: {error}", self.query),
            }
        };
        Verdict {
            found: found
                .hits
                .into_iter()
                .map(|hit| hit.urn.to_string())
                .collect(),
            judgement: self,
        }
    }
}

impl Verdict {
    pub(crate) fn new(judgement: Judgement, found: &[&str]) -> Self {
        Self {
            judgement,
            found: found.iter().map(|urn| (*urn).to_owned()).collect(),
        }
    }

    /// 1 for the best result.
    fn rank(&self, urn: &str) -> Option<usize> {
        let at = self.found.iter().position(|found| found == urn)?;
        Some(at + 1)
    }

    /// One over the rank of the first expected entity, 0 if none was found.
    pub(crate) fn reciprocal_rank(&self) -> f64 {
        let ranks = self
            .judgement
            .expect
            .iter()
            .filter_map(|urn| self.rank(urn));
        ranks.min().map_or(0.0, |rank| 1.0 / f64::from(rank as u32))
    }

    /// A line for a query whose first right answer is not the first answer.
    pub(crate) fn delay(&self) -> Option<String> {
        let reciprocal = self.reciprocal_rank();
        (reciprocal < 1.0).then(|| format!("{reciprocal:.2}  {:?}", self.judgement.query))
    }

    /// What is wrong, if anything is.
    pub(crate) fn complaint(&self) -> Option<String> {
        let mut wrong = Vec::new();
        let mut former_rank = 0;
        for urn in &self.judgement.expect {
            match self.rank(urn) {
                None => wrong.push(format!("not found: {urn}")),
                Some(rank) if rank > self.judgement.within => {
                    wrong.push(format!("rank {rank}: {urn}"));
                }
                Some(rank) => {
                    if self.judgement.ordered && rank < former_rank {
                        wrong.push(format!("rank {rank}, too early: {urn}"));
                    }
                    former_rank = rank;
                }
            }
        }
        for urn in &self.judgement.never {
            if let Some(rank) = self.rank(urn) {
                wrong.push(format!("rank {rank}, but must not be found: {urn}"));
            }
        }
        if wrong.is_empty() {
            return None;
        }
        let Judgement {
            query,
            over,
            types,
            within,
            why,
            ..
        } = &self.judgement;
        let mut text =
            format!("{query:?} over {over:?}, types {types:?}, within {within} ({why})\n");
        for line in wrong {
            let _ = writeln!(text, "    {line}");
        }
        for (at, urn) in self.found.iter().take(SHOWN).enumerate() {
            let _ = writeln!(text, "      {}. {urn}", at + 1);
        }
        Some(text)
    }
}

/// The mean over all queries of one over the rank of the first right answer.
pub(crate) fn mean_reciprocal_rank(verdicts: &[Verdict]) -> f64 {
    let sum: f64 = verdicts.iter().map(Verdict::reciprocal_rank).sum();
    sum / f64::from(verdicts.len() as u32)
}

/// URNs that a judgement names, for checking that they exist.
pub(crate) fn named(judgement: &Judgement) -> HashSet<&str> {
    let urns = judgement.expect.iter().chain(&judgement.never);
    urns.map(String::as_str).collect()
}
