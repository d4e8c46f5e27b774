//! What handlers and extractors tell about a request while they answer it, for [`crate::requests`].
//!
//! It must not contain data of the catalog: no URN but that of the caller, no path but the pattern
//! of a route.

use std::sync::{Mutex, MutexGuard, PoisonError};

use axum::extract::MatchedPath;
use docent_graphql::{OperationName, RootField};
use docent_model::Urn;

/// A lock, because handlers share it; they take it one after the other.
#[derive(Debug, Default)]
pub(crate) struct RequestRecord(Mutex<RequestNotes>);

#[derive(Debug, Default)]
pub(crate) struct RequestNotes {
    route: Option<MatchedPath>,
    operation: Option<Operation>,
    pub(crate) caller: Option<Urn>,
    /// The first field of the GraphQL operation.
    pub(crate) root_field: Option<RootField>,
    /// `None` if the request is not traced.
    pub(crate) span: Option<SpanIds>,
}

/// The ids of a request's span, for the `traceparent` header of its response.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SpanIds {
    pub(crate) trace: [u8; 16],
    pub(crate) span: [u8; 8],
}

/// What a request with this route does.
#[derive(Debug)]
enum Operation {
    GraphQl(OperationName),
    /// An action of Rest.li.
    Action(Box<str>),
}

impl RequestRecord {
    pub(crate) fn set_route(&self, route: MatchedPath) {
        self.notes().route = Some(route);
    }

    pub(crate) fn set_caller(&self, caller: &Urn) {
        self.notes().caller = Some(caller.clone());
    }

    pub(crate) fn set_graphql_operation(&self, name: Option<OperationName>, field: RootField) {
        let mut notes = self.notes();
        notes.operation = name.map(Operation::GraphQl);
        notes.root_field = Some(field);
    }

    pub(crate) fn set_span(&self, ids: SpanIds) {
        self.notes().span = Some(ids);
    }

    pub(crate) fn set_action(&self, action: &str) {
        self.notes().operation = Some(Operation::Action(action.into()));
    }

    pub(crate) fn notes(&self) -> MutexGuard<'_, RequestNotes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RequestNotes {
    /// The pattern of the route, with its base path; `None` before routing, and of no route.
    pub(crate) fn matched_route(&self) -> Option<&str> {
        self.route.as_ref().map(MatchedPath::as_str)
    }

    /// The name that a client gave to its GraphQL operation, or an action.
    pub(crate) fn operation(&self) -> Option<&str> {
        Some(match self.operation.as_ref()? {
            Operation::GraphQl(name) => name.as_str(),
            Operation::Action(action) => action,
        })
    }
}
