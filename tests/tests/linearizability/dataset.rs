//! A dataset as a sequential object: what each operation alone does to it and returns.

use docent_e2e::linearizability;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Dataset {
    /// The version of the aspect with the token.
    pub(crate) version: i64,
    /// What the last write stored; every write has another one.
    pub(crate) token: u64,
    pub(crate) domain: Option<usize>,
}

/// The version that a client expects if the aspect must not exist.
pub(crate) const MISSING_VERSION: i64 = -1;

#[derive(Debug, Clone, Copy)]
pub(crate) enum Operation {
    Write {
        token: u64,
    },
    /// Has `If-Version-Match`.
    WriteIf {
        version: i64,
        token: u64,
    },
    SetDomain(Option<usize>),
    Delete,
    /// Reads the aspects and their versions over REST.
    ReadAspects,
    /// Reads token and domain over GraphQL.
    ReadFields,
    /// Reads token and domain of the dataset in the search index.
    ReadIndex,
    /// Searches for a token, and returns whether the dataset is found.
    Search {
        token: u64,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Done,
    /// The dataset does not exist.
    Missing,
    /// The aspect has another version than expected.
    Conflict {
        actual: i64,
    },
    Aspects(Option<Dataset>),
    /// Token and domain.
    Fields(Option<(u64, Option<usize>)>),
    Found(bool),
}

impl Operation {
    /// Whether the dataset may be different afterwards.
    pub(crate) fn is_write(self) -> bool {
        match self {
            Self::Write { .. } | Self::WriteIf { .. } | Self::SetDomain(_) | Self::Delete => true,
            Self::ReadAspects | Self::ReadFields | Self::ReadIndex | Self::Search { .. } => false,
        }
    }
}

impl linearizability::Operation for Operation {
    type State = Option<Dataset>;
    type Outcome = Outcome;

    fn apply(&self, state: &Option<Dataset>) -> (Option<Dataset>, Outcome) {
        let state = *state;
        let version = state.map_or(MISSING_VERSION, |dataset| dataset.version);
        let written = |token| {
            Some(Dataset {
                version: version.max(0) + 1,
                token,
                domain: state.and_then(|dataset| dataset.domain),
            })
        };
        match *self {
            Self::Write { token } => (written(token), Outcome::Done),
            Self::WriteIf {
                version: expected,
                token,
            } => {
                if expected == version {
                    (written(token), Outcome::Done)
                } else {
                    (state, Outcome::Conflict { actual: version })
                }
            }
            Self::SetDomain(domain) => match state {
                Some(dataset) => (Some(Dataset { domain, ..dataset }), Outcome::Done),
                None => (None, Outcome::Missing),
            },
            Self::Delete => match state {
                Some(_) => (None, Outcome::Done),
                None => (None, Outcome::Missing),
            },
            Self::ReadAspects => (state, Outcome::Aspects(state)),
            Self::ReadFields | Self::ReadIndex => {
                let fields = state.map(|dataset| (dataset.token, dataset.domain));
                (state, Outcome::Fields(fields))
            }
            Self::Search { token } => {
                let found = state.is_some_and(|dataset| dataset.token == token);
                (state, Outcome::Found(found))
            }
        }
    }
}
