//! Tells the record of a request which route it has taken, and the action of Rest.li.

use std::task::{Context, Poll};

use axum::extract::{MatchedPath, Request};
use tower::{Layer, Service};

use crate::auth::action;
use crate::client::Client;

/// A layer of the router: it runs after routing, and before the handler.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RouteRecorder;

/// [`RouteRecorder`] around a handler.
#[derive(Debug, Clone)]
pub(crate) struct RecordedRoute<S>(S);

impl<S> Layer<S> for RouteRecorder {
    type Service = RecordedRoute<S>;

    fn layer(&self, handler: S) -> RecordedRoute<S> {
        RecordedRoute(handler)
    }
}

impl<S: Service<Request>> Service<Request> for RecordedRoute<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, request: Request) -> S::Future {
        let extensions = request.extensions();
        if let Some(client) = extensions.get::<Client>() {
            let record = client.record();
            if let Some(route) = extensions.get::<MatchedPath>() {
                record.set_route(route.clone());
            }
            if let Some(action) = action(request.uri().query()) {
                record.set_action(action);
            }
        }
        self.0.call(request)
    }
}
