//! `GET /events`: the changes behind a position, for programs that follow the catalog.
//!
//! Without a change, the response waits as long as the client asks for. A client that accepts
//! `text/event-stream` gets a response that does not end ([`stream`]). Both read through a
//! [`Follower`], which authenticates the request again while it waits.

mod parameters;
mod stream;

use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::{FromRequestParts as _, Request, State};
use axum::http::HeaderValue;
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::http::request::Parts;
use axum::response::{IntoResponse as _, Response};
use docent_catalog::events::feed::{FeedPage, FeedQuery};
use docent_catalog::events::{EventPosition, PageLimits};
use docent_catalog::{Caller, CommitStamp};

use crate::AppState;
use crate::accept;
use crate::auth::Authenticated;
use crate::error::ErrorResponse;
use crate::query::Parameters;
use parameters::FeedRequest;
pub(crate) use stream::FeedStreams;

/// The text of the changes in one response, unless a single one has more.
const MAX_PAGE_BYTES: usize = 8 * 1024 * 1024;
/// How often a reader that waits looks for changes, and the part of this time that it knows the
/// stamp of all commits.
const INTERVAL: Duration = Duration::from_millis(250);
/// How long a request counts as authenticated if nothing is committed: tokens expire.
const RECHECK: Duration = Duration::from_secs(15);

/// Answers with a page of events, or a stream.
pub(crate) async fn follow(
    State(state): State<AppState>,
    request: Request,
) -> Result<Response, ErrorResponse> {
    let (mut parts, _) = request.into_parts();
    let Authenticated { caller, state: own } =
        Authenticated::from_request_parts(&mut parts, &state).await?;
    let parameters = Parameters::from_request_parts(&mut parts, &state).await?;
    let is_stream = accept::weight(&parts.headers, ACCEPT, stream::MEDIA_TYPE).is_some();
    let request = FeedRequest::read(&parameters, &parts.headers, is_stream)?;
    own.catalog()
        .authorize_feed(&caller, request.query.topic)
        .await?;
    let position = match &request.since {
        Some(since) => own.catalog().feed_start(since).await?,
        None => own.catalog().first_event(None).await?,
    };
    let actor = caller.actor().clone();
    let follower = Follower {
        checked: Instant::now(),
        stamp: None,
        state,
        parts,
        own,
        caller,
        query: request.query,
        position,
    };
    if is_stream {
        return stream::open(follower, &actor, request.limit);
    }
    page(follower, request.limit, request.wait).await
}

async fn page(
    mut follower: Follower,
    limit: usize,
    wait: Duration,
) -> Result<Response, ErrorResponse> {
    // The request must not time out while it waits.
    let half = follower.state.in_effect().settings.request_timeout.0 / 2;
    let end = Instant::now() + wait.min(half);
    let limits = PageLimits {
        events: limit,
        bytes: MAX_PAGE_BYTES,
    };
    loop {
        let page = follower.next(limits).await?;
        let is_over = end <= Instant::now();
        if !page.events.is_empty() || is_over {
            return Ok(render(&page));
        }
        follower.wait(end).await?;
    }
}

fn render(page: &FeedPage) -> Response {
    let length: usize = page.events.iter().map(|event| event.text.len() + 1).sum();
    let mut body = Vec::with_capacity(length + 64);
    body.extend_from_slice(format!(r#"{{"next":"{}","events":["#, page.next).as_bytes());
    for (index, event) in page.events.iter().enumerate() {
        if index > 0 {
            body.push(b',');
        }
        body.extend_from_slice(event.text.as_bytes());
    }
    body.extend_from_slice(b"]}");
    let json = HeaderValue::from_static("application/json");
    ([(CONTENT_TYPE, json)], Body::from(body)).into_response()
}

/// A reader of the feed.
struct Follower {
    /// The state of the server.
    state: AppState,
    /// The request, to authenticate it again.
    parts: Parts,
    /// The state as the caller sees it.
    own: AppState,
    caller: Caller,
    query: FeedQuery,
    position: EventPosition,
    /// The stamp from before the last read; `None` if there is more to read.
    stamp: Option<CommitStamp>,
    /// When the caller was last authenticated.
    checked: Instant,
}

impl Follower {
    /// The next page, which may be empty. Whoever may no longer read gets none of it.
    async fn next(&mut self, limits: PageLimits) -> Result<FeedPage, ErrorResponse> {
        let stamp = self.own.catalog().commit_stamp()?;
        if self.stamp != Some(stamp) {
            self.recheck().await?;
        }
        let catalog = self.own.catalog();
        let page = catalog.feed_after(&self.caller, &self.query, self.position, limits);
        let page = page.await?;
        let is_end = page.next == self.position;
        self.position = page.next;
        self.stamp = is_end.then_some(stamp);
        Ok(page)
    }

    /// Waits for a commit, until a time.
    async fn wait(&mut self, until: Instant) -> Result<(), ErrorResponse> {
        while let Some(stamp) = self.stamp {
            if self.checked.elapsed() >= RECHECK {
                self.recheck().await?;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            tokio::time::sleep(INTERVAL.min(left)).await;
            if self.own.catalog().commit_stamp()? != stamp {
                break;
            }
        }
        Ok(())
    }

    async fn recheck(&mut self) -> Result<(), ErrorResponse> {
        let Authenticated { caller, state } =
            Authenticated::recheck(&self.parts, &self.state).await?;
        let catalog = state.catalog();
        catalog.authorize_feed(&caller, self.query.topic).await?;
        (self.caller, self.own) = (caller, state);
        self.checked = Instant::now();
        Ok(())
    }
}
