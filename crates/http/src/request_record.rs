//! What handlers and extractors tell about a request while they answer it, for [`crate::requests`].
//!
//! It must not contain data of the catalog: no URN but that of the caller, no path but the pattern
//! of a route.

use std::sync::OnceLock;

use axum::extract::MatchedPath;
use docent_graphql::OperationName;
use docent_model::Urn;

#[derive(Debug, Default)]
pub(crate) struct RequestRecord {
    route: OnceLock<MatchedPath>,
    operation: OnceLock<Operation>,
    caller: OnceLock<Urn>,
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
        let _ = self.route.set(route);
    }

    pub(crate) fn set_caller(&self, caller: &Urn) {
        let _ = self.caller.set(caller.clone());
    }

    pub(crate) fn set_graphql_operation(&self, name: OperationName) {
        let _ = self.operation.set(Operation::GraphQl(name));
    }

    pub(crate) fn set_action(&self, action: &str) {
        let _ = self.operation.set(Operation::Action(action.into()));
    }

    /// The pattern of the route, with its base path; `None` before routing, and of no route.
    pub(crate) fn matched_route(&self) -> Option<&str> {
        self.route.get().map(MatchedPath::as_str)
    }

    /// The name that a client gave to its GraphQL operation, or an action.
    pub(crate) fn operation(&self) -> Option<&str> {
        Some(match self.operation.get()? {
            Operation::GraphQl(name) => name.as_str(),
            Operation::Action(action) => action,
        })
    }

    pub(crate) fn caller(&self) -> Option<&Urn> {
        self.caller.get()
    }
}
