//! Connections: accepting them, bounding them, and letting them finish at the end.

mod progress;

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::FromRequestParts;
use axum::http::Request;
use axum::http::request::Parts;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tower::ServiceExt as _;

use progress::{InFlight, Progress, Unanswered};

/// More connections than this wait in the kernel's queue.
const MAX_CONNECTIONS: usize = 4096;

/// A client that has opened a connection must say what it wants within this time, and again after each reply.
const HEADER_TIMEOUT: Duration = Duration::from_secs(75);

/// How long connections may take to end when the server is asked to stop.
#[derive(Debug, Clone, Copy)]
struct Patience {
    /// For whoever is slow to send a request or to read a reply.
    connections: Duration,
    /// For requests that are being carried out. The process ends only when the writer has done all that was given to it,
    /// so cutting off the reply before that would gain nothing.
    requests: Duration,
}

const PATIENCE: Patience = Patience {
    connections: Duration::from_secs(10),
    requests: Duration::from_mins(5),
};

/// The address at the other end of the connection that a request came by. Headers that name another are not believed:
/// anybody can send them.
#[derive(Debug, Clone, Copy)]
pub struct Peer(Option<IpAddr>);

impl Peer {
    pub fn at(address: IpAddr) -> Self {
        Self(Some(address))
    }

    pub(crate) fn address(self) -> Option<IpAddr> {
        self.0
    }
}

impl<S: Sync> FromRequestParts<S> for Peer {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(parts.extensions.get().copied().unwrap_or(Self(None)))
    }
}

/// What connections are told about the end of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    Serving,
    /// After the request that has begun, no other.
    Finishing,
    /// Nobody waits any more for requests that have not arrived, or for replies that are not taken.
    CuttingOff,
}

/// Serves until `stop` resolves, then finishes what is in flight: connections get ten seconds to end, and those whose
/// request has arrived in full and is being carried out five minutes.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    serve_with(PATIENCE, listener, router, stop).await
}

async fn serve_with(
    patience: Patience,
    listener: TcpListener,
    router: Router,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    let in_flight = Arc::new(InFlight::default());
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let (stopping, stopped) = watch::channel(Phase::Serving);
    tokio::pin!(stop);
    loop {
        let accepted = tokio::select! {
            () = &mut stop => break,
            accepted = accept(&listener, &places) => accepted,
        };
        let (stream, place) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                // Out of file descriptors, say: the next attempt may find some closed.
                tracing::warn!(%error, "a connection could not be accepted: {error}");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let (router, mut stopped) = (router.clone(), stopped.clone());
        let in_flight = Arc::clone(&in_flight);
        tokio::spawn(async move {
            let _place = place;
            serve_connection(stream, router, in_flight, &mut stopped).await;
        });
    }
    drop(listener);
    drop(stopped);
    // Nobody listens any more when every connection has ended.
    let _ = stopping.send(Phase::Finishing);
    let within = |limit, ended| async move { tokio::time::timeout(limit, ended).await.is_ok() };
    let requests = in_flight.count();
    if requests > 0 {
        tracing::info!(requests, "stopping: waiting for {requests} requests");
    }
    if within(patience.connections, stopping.closed()).await {
        return Ok(());
    }
    let _ = stopping.send(Phase::CuttingOff);
    let requests = in_flight.count();
    if requests > 0 {
        tracing::info!(
            requests,
            "still waiting for {requests} requests that are being carried out; all others were cut off"
        );
    }
    let answered = tokio::time::timeout(patience.requests, in_flight.all_answered()).await;
    // Those that took long have their replies still to send.
    if answered.is_err() || !within(patience.connections, stopping.closed()).await {
        tracing::warn!("some requests did not finish in time and were cut off");
    }
    Ok(())
}

async fn accept(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> io::Result<(TcpStream, tokio::sync::OwnedSemaphorePermit)> {
    let place = Arc::clone(places)
        .acquire_owned()
        .await
        .map_err(io::Error::other)?;
    let (stream, _) = listener.accept().await?;
    // A reply is written in one piece: waiting for more to send would only delay it.
    stream.set_nodelay(true)?;
    Ok((stream, place))
}

async fn serve_connection(
    stream: TcpStream,
    router: Router,
    in_flight: Arc<InFlight>,
    stopped: &mut watch::Receiver<Phase>,
) {
    let peer = Peer(stream.peer_addr().ok().map(|address| address.ip()));
    let progress = Arc::new(Progress::new(in_flight));
    let service = {
        let progress = Arc::clone(&progress);
        service_fn(move |request: Request<Incoming>| {
            let unanswered = Unanswered::begin(&progress);
            let mut request = request.map(|body| progress.watch(body));
            request.extensions_mut().insert(peer);
            let reply = router.clone().oneshot(request);
            async move {
                let reply: Result<_, Infallible> = reply.await;
                reply.map(|reply| unanswered.answer(reply))
            }
        })
    };
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = reached(stopped, Phase::Finishing) => {
            connection.as_mut().graceful_shutdown();
            tokio::select! {
                ended = connection.as_mut() => ended,
                () = reached(stopped, Phase::CuttingOff) => {
                    if !progress.is_carried_out() {
                        return;
                    }
                    connection.await
                }
            }
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early: {error}");
    }
}

async fn reached(stopped: &mut watch::Receiver<Phase>, phase: Phase) {
    // What `wait_for` returns holds a lock; it must be gone before the next await.
    drop(stopped.wait_for(|now| *now >= phase).await);
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;
    use axum::http::StatusCode;
    use axum::routing::{get, post};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::sync::{Notify, oneshot};
    use tokio::task::JoinHandle;

    const SHORT: Duration = Duration::from_millis(50);
    const LONG: Duration = Duration::from_mins(1);

    /// A server that was asked to stop while it carries out one request.
    struct Stopping {
        stream: TcpStream,
        answer: Arc<Notify>,
        server: JoinHandle<io::Result<()>>,
    }

    async fn stopping(patience: Patience) -> Stopping {
        let (begun, answer) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let handler = {
            let (begun, answer) = (Arc::clone(&begun), Arc::clone(&answer));
            move || async move {
                begun.notify_one();
                answer.notified().await;
                "done"
            }
        };
        let router = Router::new().route("/", get(handler));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let server = tokio::spawn(serve_with(patience, listener, router, async {
            let _ = stopped.await;
        }));
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream
            .write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            .await
            .unwrap();
        begun.notified().await;
        stop.send(()).unwrap();
        Stopping {
            stream,
            answer,
            server,
        }
    }

    #[tokio::test]
    async fn a_request_that_is_being_carried_out_is_answered_after_all_others_are_cut_off() {
        let patience = Patience {
            connections: SHORT,
            requests: LONG,
        };
        let mut stopping = stopping(patience).await;
        let early = tokio::time::timeout(4 * SHORT, &mut stopping.server).await;
        assert!(early.is_err(), "the server did not wait");
        stopping.answer.notify_one();
        let mut reply = String::new();
        stopping.stream.read_to_string(&mut reply).await.unwrap();
        assert!(reply.starts_with("HTTP/1.1 200"), "{reply}");
        assert!(reply.ends_with("done"), "{reply}");
        stopping.server.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn who_is_answered_before_all_was_read_is_told_that_the_connection_ends() {
        let router = Router::new()
            .route("/whole", post(|body: String| async move { body }))
            .route("/early", post(|| async { StatusCode::PAYLOAD_TOO_LARGE }));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = tokio::spawn(serve(listener, router, std::future::pending()));
        let mut stream = TcpStream::connect(address).await.unwrap();
        for (request, closes) in [
            ("GET /whole HTTP/1.1\r\nHost: a\r\n\r\n", false),
            (
                "POST /whole HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nabcd",
                false,
            ),
            (
                "POST /early HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
                false,
            ),
            (
                "POST /early HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nab",
                true,
            ),
        ] {
            stream.write_all(request.as_bytes()).await.unwrap();
            let mut reply = String::new();
            if closes {
                stream.read_to_string(&mut reply).await.unwrap();
            } else {
                let mut piece = vec![0; 4096];
                let length = stream.read(&mut piece).await.unwrap();
                reply.push_str(std::str::from_utf8(&piece[..length]).unwrap());
            }
            assert!(reply.starts_with("HTTP/1.1 "), "{request}: {reply}");
            assert_eq!(
                reply.contains("connection: close"),
                closes,
                "{request}: {reply}"
            );
        }
        server.abort();
    }

    #[tokio::test]
    async fn a_request_that_never_ends_does_not_keep_the_server_for_ever() {
        let patience = Patience {
            connections: SHORT,
            requests: SHORT,
        };
        let stopping = stopping(patience).await;
        let ended = tokio::time::timeout(LONG, stopping.server).await;
        ended.unwrap().unwrap().unwrap();
    }

    #[tokio::test]
    async fn what_has_not_arrived_in_full_is_waited_for_no_longer_than_connections_are() {
        let patience = Patience {
            connections: SHORT,
            requests: LONG,
        };
        for half in [
            "GET / HTTP/1.1\r\nHost: loc",
            "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nhalf",
        ] {
            let begun = Arc::new(Notify::new());
            let reading = Arc::clone(&begun);
            let handler = |body: Body| async move {
                reading.notify_one();
                drop(axum::body::to_bytes(body, 100).await);
            };
            let router = Router::new().route("/", axum::routing::post(handler));
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let mut stream = TcpStream::connect(address).await.unwrap();
            stream.write_all(half.as_bytes()).await.unwrap();
            let arrived = async move {
                // The head that never ends reaches no handler; its connection is accepted before this one's is answered.
                if half.starts_with("POST") {
                    begun.notified().await;
                } else {
                    let mut other = TcpStream::connect(address).await.unwrap();
                    other
                        .write_all(b"GET /none HTTP/1.0\r\n\r\n")
                        .await
                        .unwrap();
                    other.read_to_end(&mut Vec::new()).await.unwrap();
                }
            };
            let server = serve_with(patience, listener, router, arrived);
            let ended = tokio::time::timeout(LONG / 2, server).await;
            assert!(ended.is_ok(), "the server waits for {half:?}");
            let mut rest = Vec::new();
            let _ = stream.read_to_end(&mut rest).await;
            assert!(rest.is_empty(), "{half:?} was answered");
        }
    }
}
