//! What happens to every request before it is routed.
//!
//! One service with one boxed future: a middleware for each step would copy the request and clone
//! the router every time, a tenth of the work of a small read. GraphQL requests to the usual path
//! skip the router, another tenth.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::Router;
use axum::extract::Request;
use axum::response::Response;
use docent_catalog::spent;
use tower::Service;

use crate::AppState;
use crate::client::identify;
use crate::deadline::{may_write, within};
use crate::error::openapi_form;
use crate::graphql;
use crate::page::without_base;
use crate::requests::RequestInProgress;
use crate::trailing_slash;

/// Identifies the client of a request, limits its time, and removes a trailing slash of its path. A
/// layer of the router would run after routing.
#[derive(Debug, Clone)]
pub struct HttpService {
    state: AppState,
    routes: Router,
}

impl HttpService {
    pub(crate) fn new(state: AppState, routes: Router) -> Self {
        Self { state, routes }
    }
}

impl Service<Request> for HttpService {
    type Response = Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        // A router is always ready.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let Self { state, mut routes } = self.clone();
        Box::pin(async move {
            let (state, routes) = (&state, &mut routes);
            let in_effect = &*state.settings_of_request();
            let limit = in_effect.settings.request_timeout;
            let is_openapi = is_openapi(request.uri().path());
            let in_progress = RequestInProgress::begin(state, in_effect, &request);
            let (record, spent) = (in_progress.record(), in_progress.spent());
            let response = identify(state, in_effect, request, record, |request| async move {
                let may_write = may_write(&request);
                let response = within(limit, request, |request| async move {
                    if graphql::is_request(&request) {
                        // Boxed, because each future around it would copy it.
                        let answered = Box::pin(graphql::answer(state, request));
                        return spent::measure(spent, answered).await;
                    }
                    let answered = routes.call(trailing_slash::remove(request));
                    let answered = spent::measure(spent, answered).await;
                    answered.unwrap_or_else(|never| match never {})
                });
                state.reply_memory().hold(response.await, may_write)
            });
            let mut response = response.await;
            if is_openapi {
                response = openapi_form(response);
            }
            in_progress.end(&response);
            Ok(response)
        })
    }
}

fn is_openapi(path: &str) -> bool {
    without_base(path).starts_with("/openapi/")
}
