//! Reads the judgements and compares search results with them.

use std::collections::HashSet;
use std::fmt::Write as _;

use docent_search::{Search, SearchError, SearchPage, SearchRequest};
use serde::Deserialize;

/// How many results to request.
const DEPTH: usize = 50;

/// How many results of a failed judgement to show.
const SHOWN: usize = 5;

/// One line of `queries.jsonl`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Judgement {
    pub(crate) query: String,
    pub(crate) over: Data,
    /// Entity types; empty means the default types.
    #[serde(default)]
    pub(crate) types: Vec<String>,
    /// All of these must be among the first `within` results.
    pub(crate) expect: Vec<String>,
    pub(crate) within: usize,
    /// Whether the expected entities must also be in this order.
    #[serde(default)]
    pub(crate) ordered: bool,
    /// None of these may be among the requested results.
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

/// A judgement with the results of its query.
pub(crate) struct Verdict {
    pub(crate) judgement: Judgement,
    /// Best first.
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

    /// What identifies a judgement.
    pub(crate) fn identity(&self) -> (Data, &str, &[String]) {
        (self.over, &self.query, &self.types)
    }

    pub(crate) async fn judge(self, search: &Search) -> Verdict {
        let request = SearchRequest {
            types: self.types.clone(),
            query: self.query.clone(),
            page: SearchPage::Offset {
                start: 0,
                count: DEPTH,
            },
            ..SearchRequest::default()
        };
        let found = loop {
            match search.search(&request).await {
                Ok(found) => break found,
                // On a busy machine, building the index takes longer than a search waits.
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

    /// 1 for the first result.
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
        ranks.min().map_or(0.0, |rank| 1.0 / as_f64(rank))
    }

    /// A line for a query whose first result is not an expected one.
    pub(crate) fn late_result(&self) -> Option<String> {
        let reciprocal = self.reciprocal_rank();
        (reciprocal < 1.0).then(|| format!("{reciprocal:.2}  {:?}", self.judgement.query))
    }

    /// Reports what is wrong, if anything.
    pub(crate) fn problem(&self) -> Option<String> {
        let mut wrong = Vec::new();
        let mut previous_rank = 0;
        for urn in &self.judgement.expect {
            match self.rank(urn) {
                None => wrong.push(format!("not found: {urn}")),
                Some(rank) if rank > self.judgement.within => {
                    wrong.push(format!("rank {rank}: {urn}"));
                }
                Some(rank) => {
                    if self.judgement.ordered && rank < previous_rank {
                        wrong.push(format!("rank {rank}, too early: {urn}"));
                    }
                    previous_rank = rank;
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

/// The mean of [`Verdict::reciprocal_rank`] over all queries.
pub(crate) fn mean_reciprocal_rank(verdicts: &[Verdict]) -> f64 {
    let sum: f64 = verdicts.iter().map(Verdict::reciprocal_rank).sum();
    sum / as_f64(verdicts.len())
}

/// The URNs in a judgement, to check that they exist.
pub(crate) fn named(judgement: &Judgement) -> HashSet<&str> {
    let urns = judgement.expect.iter().chain(&judgement.never);
    urns.map(String::as_str).collect()
}

fn as_f64(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap())
}
