//! Accepts connections, limits them, and shuts them down gracefully.

mod connections;
mod progress;
mod slow_reader;
pub mod tls;

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tower::Service;

use connections::ConnectionSlot;
pub use connections::{ConnectionLimits, Connections};
use progress::{InFlight, PendingRequest, Progress};
use slow_reader::{PacedStream, READING_PACE, ReadingPace};
use tls::Certificate;

/// The time for the headers of a request, also of the next one on a kept-alive connection.
const HEADER_TIMEOUT: Duration = Duration::from_secs(75);

/// Timeouts of a graceful shutdown.
#[derive(Debug, Clone, Copy)]
struct ShutdownTimeouts {
    /// For clients that are slow to send a request or to read a response.
    connections: Duration,
    /// For requests in progress. The process waits for the store's writer anyway, so closing their
    /// connections earlier would gain nothing.
    requests: Duration,
}

const SHUTDOWN_TIMEOUTS: ShutdownTimeouts = ShutdownTimeouts {
    connections: Duration::from_secs(10),
    requests: Duration::from_mins(5),
};

/// What answers requests. Always ready.
pub trait Routes:
    Service<Request<Body>, Response = Response, Error = Infallible, Future: Send + 'static>
    + Clone
    + Send
    + 'static
{
}

impl<S> Routes for S where
    S: Service<Request<Body>, Response = Response, Error = Infallible, Future: Send + 'static>
        + Clone
        + Send
        + 'static
{
}

/// The other end of the connection. Behind a proxy that is the proxy: handlers use
/// [`crate::client::Client`].
#[derive(Debug, Clone, Copy, Default)]
pub struct Peer {
    address: Option<IpAddr>,
    is_tls: bool,
}

impl Peer {
    pub fn at(address: IpAddr) -> Self {
        Self {
            // A socket for both versions of IP reports addresses of version 4 as `::ffff:a.b.c.d`.
            address: Some(address.to_canonical()),
            is_tls: false,
        }
    }

    #[must_use]
    pub fn over_tls(self) -> Self {
        Self {
            is_tls: true,
            ..self
        }
    }

    pub(crate) fn address(self) -> Option<IpAddr> {
        self.address
    }

    pub(crate) fn is_tls(self) -> bool {
        self.is_tls
    }
}

/// The phases of a shutdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    Serving,
    /// Connections close after the current request.
    Draining,
    /// Connections without a request in progress are closed.
    Closing,
}

/// Serves until `stop` resolves, then drains: connections get ten seconds to end, and requests in
/// progress five minutes.
pub async fn serve(
    listener: TcpListener,
    connections: Connections,
    routes: impl Routes,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    let server = Server {
        timeouts: SHUTDOWN_TIMEOUTS,
        pace: READING_PACE,
        connections,
        certificate: None,
    };
    server.serve(listener, routes, stop).await
}

/// Like [`serve`], over TLS.
pub async fn serve_tls(
    listener: TcpListener,
    connections: Connections,
    certificate: Arc<Certificate>,
    routes: impl Routes,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    let server = Server {
        timeouts: SHUTDOWN_TIMEOUTS,
        pace: READING_PACE,
        connections,
        certificate: Some(certificate),
    };
    server.serve(listener, routes, stop).await
}

/// How a listener is served.
struct Server {
    timeouts: ShutdownTimeouts,
    pace: ReadingPace,
    connections: Connections,
    /// `None` for plain HTTP.
    certificate: Option<Arc<Certificate>>,
}

impl Server {
    async fn serve(
        self,
        listener: TcpListener,
        routes: impl Routes,
        stop: impl Future<Output = ()>,
    ) -> io::Result<()> {
        let Self {
            timeouts,
            pace,
            connections,
            certificate,
        } = self;
        let in_flight = Arc::new(InFlight::default());
        let (stopping, stopped) = watch::channel(Phase::Serving);
        tokio::pin!(stop);
        loop {
            let accepted = tokio::select! {
                () = &mut stop => break,
                accepted = listener.accept() => accepted,
            };
            let (stream, peer) = match accepted {
                Ok((stream, address)) => (stream, Peer::at(address.ip())),
                Err(error) => {
                    // For example out of file descriptors, which may be temporary.
                    tracing::warn!(%error, "cannot accept a connection: {error}");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            };
            let slot = match connections.open(peer.address()) {
                Ok(slot) => slot,
                Err(reason) => {
                    // Over TLS a response would need a handshake.
                    if certificate.is_none() {
                        connections.reject(stream, reason);
                    }
                    continue;
                }
            };
            let (routes, mut stopped) = (routes.clone(), stopped.clone());
            let in_flight = Arc::clone(&in_flight);
            let certificate = certificate.clone();
            tokio::spawn(async move {
                let _slot: ConnectionSlot = slot;
                // Responses are written at once, so Nagle's algorithm would only delay them.
                if let Err(error) = stream.set_nodelay(true) {
                    tracing::debug!(%error, "connection closed early: {error}");
                    return;
                }
                let stream = PacedStream::new(stream, pace);
                let Some(certificate) = certificate else {
                    return serve_connection(stream, peer, routes, in_flight, &mut stopped).await;
                };
                let accepted = tokio::select! {
                    accepted = certificate.accept(stream) => accepted,
                    () = reached(&mut stopped, Phase::Draining) => None,
                };
                if let Some(stream) = accepted {
                    serve_connection(stream, peer.over_tls(), routes, in_flight, &mut stopped)
                        .await;
                }
            });
        }
        drop(listener);
        drop(stopped);
        // Fails only if all connections have ended already.
        let _ = stopping.send(Phase::Draining);
        let within = |limit, ended| async move { tokio::time::timeout(limit, ended).await.is_ok() };
        let requests = in_flight.count();
        if requests > 0 {
            tracing::info!(requests, "shutting down: waiting for {requests} requests");
        }
        if within(timeouts.connections, stopping.closed()).await {
            return Ok(());
        }
        let _ = stopping.send(Phase::Closing);
        let requests = in_flight.count();
        if requests > 0 {
            tracing::info!(
                requests,
                "still waiting for {requests} requests in progress; all other connections were closed"
            );
        }
        let done = tokio::time::timeout(timeouts.requests, in_flight.all_done()).await;
        // Requests that just finished still have to send their responses.
        if done.is_err() || !within(timeouts.connections, stopping.closed()).await {
            tracing::warn!("some requests did not finish in time; their connections were closed");
        }
        Ok(())
    }
}

async fn serve_connection(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    peer: Peer,
    routes: impl Routes,
    in_flight: Arc<InFlight>,
    stopped: &mut watch::Receiver<Phase>,
) {
    let progress = Arc::new(Progress::new(in_flight));
    let service = {
        let progress = Arc::clone(&progress);
        service_fn(move |request: Request<Incoming>| {
            let pending = PendingRequest::begin(&progress);
            let mut request = request.map(|body| Body::new(progress.track(body)));
            request.extensions_mut().insert(peer);
            // Routes are always ready.
            let response = routes.clone().call(request);
            async move { Ok::<_, Infallible>(pending.finish(response.await?)) }
        })
    };
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = reached(stopped, Phase::Draining) => {
            connection.as_mut().graceful_shutdown();
            tokio::select! {
                ended = connection.as_mut() => ended,
                () = reached(stopped, Phase::Closing) => {
                    if !progress.is_processing() {
                        return;
                    }
                    connection.await
                }
            }
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "connection closed early: {error}");
    }
}

async fn reached(stopped: &mut watch::Receiver<Phase>, phase: Phase) {
    // The returned guard holds a lock and must not live across an await.
    drop(stopped.wait_for(|now| *now >= phase).await);
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::Router;
    use axum::http::StatusCode;
    use axum::routing::{get, post};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpStream;
    use tokio::sync::{Notify, oneshot};
    use tokio::task::JoinHandle;

    const SHORT: Duration = Duration::from_millis(50);
    const LONG: Duration = Duration::from_mins(1);

    struct NotifyOnDrop(Arc<Notify>);

    impl Drop for NotifyOnDrop {
        fn drop(&mut self) {
            self.0.notify_one();
        }
    }

    fn server(timeouts: ShutdownTimeouts) -> Server {
        limited_server(timeouts, ConnectionLimits::default())
    }

    fn limited_server(timeouts: ShutdownTimeouts, limits: ConnectionLimits) -> Server {
        Server {
            timeouts,
            pace: READING_PACE,
            connections: Connections::new(limits),
            certificate: None,
        }
    }

    /// A server that shuts down while it processes a request.
    struct Stopping {
        stream: TcpStream,
        respond: Arc<Notify>,
        server: JoinHandle<io::Result<()>>,
    }

    async fn stopping(timeouts: ShutdownTimeouts) -> Stopping {
        let (begun, respond) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let handler = {
            let (begun, respond) = (Arc::clone(&begun), Arc::clone(&respond));
            move || async move {
                begun.notify_one();
                respond.notified().await;
                "done"
            }
        };
        let router = Router::new().route("/", get(handler));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let server = tokio::spawn(server(timeouts).serve(listener, router, async {
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
            respond,
            server,
        }
    }

    #[tokio::test]
    async fn a_request_in_progress_gets_its_response_after_other_connections_are_closed() {
        let timeouts = ShutdownTimeouts {
            connections: SHORT,
            requests: LONG,
        };
        let mut stopping = stopping(timeouts).await;
        let early = tokio::time::timeout(4 * SHORT, &mut stopping.server).await;
        assert!(early.is_err(), "the server did not wait");
        stopping.respond.notify_one();
        let mut reply = String::new();
        stopping.stream.read_to_string(&mut reply).await.unwrap();
        assert!(reply.starts_with("HTTP/1.1 200"), "{reply}");
        assert!(reply.ends_with("done"), "{reply}");
        stopping.server.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn the_work_for_a_client_that_has_gone_is_cancelled() {
        let (begun, cancelled) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let handler = {
            let (begun, cancelled) = (Arc::clone(&begun), Arc::clone(&cancelled));
            move || async move {
                let _cancelled = NotifyOnDrop(cancelled);
                begun.notify_one();
                std::future::pending::<()>().await;
            }
        };
        let router = Router::new().route("/", get(handler));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server =
            tokio::spawn(server(SHUTDOWN_TIMEOUTS).serve(listener, router, std::future::pending()));
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
        stream.write_all(request).await.unwrap();
        begun.notified().await;
        drop(stream);
        let ended = tokio::time::timeout(LONG, cancelled.notified()).await;
        assert!(ended.is_ok(), "the handler still runs");
        server.abort();
    }

    #[tokio::test]
    async fn a_response_before_the_body_was_read_closes_the_connection() {
        let router = Router::new()
            .route("/whole", post(|body: String| async move { body }))
            .route("/early", post(|| async { StatusCode::PAYLOAD_TOO_LARGE }));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server =
            tokio::spawn(server(SHUTDOWN_TIMEOUTS).serve(listener, router, std::future::pending()));
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
                let mut chunk = vec![0; 4096];
                let length = stream.read(&mut chunk).await.unwrap();
                reply.push_str(std::str::from_utf8(&chunk[..length]).unwrap());
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
    async fn a_reader_that_never_reads_loses_its_connection() {
        let ended = Arc::new(Notify::new());
        let body = {
            let ended = Arc::clone(&ended);
            // More than the kernel buffers, and dropped with the connection.
            move || async move {
                let guard = Arc::new(NotifyOnDrop(ended));
                let chunk = vec![b'x'; 1024 * 1024];
                let chunks = std::iter::repeat_n(chunk, 64).map(move |chunk| {
                    let _guard = &guard;
                    Ok::<_, Infallible>(chunk)
                });
                Body::from_stream(futures_util::stream::iter(chunks))
            }
        };
        let router = Router::new().route("/", get(body));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let paced = Server {
            pace: ReadingPace {
                window: SHORT,
                bytes: 1,
            },
            ..server(SHUTDOWN_TIMEOUTS)
        };
        let server = tokio::spawn(paced.serve(listener, router, std::future::pending()));
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
        stream.write_all(request).await.unwrap();
        let closed = tokio::time::timeout(LONG, ended.notified()).await;
        assert!(closed.is_ok(), "the response still waits");
        server.abort();
    }

    #[tokio::test]
    async fn connections_over_a_limit_get_503_until_another_one_ends() {
        let router = Router::new().route("/", get(|| async { "done" }));
        let limits = ConnectionLimits {
            per_address: 2,
            ..ConnectionLimits::default()
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = limited_server(SHUTDOWN_TIMEOUTS, limits);
        let server = tokio::spawn(server.serve(listener, router, std::future::pending()));
        let ask = async |stream: &mut TcpStream| {
            let request = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
            stream.write_all(request).await.unwrap();
            let mut chunk = vec![0; 4096];
            let length = stream.read(&mut chunk).await.unwrap();
            String::from_utf8(chunk[..length].to_vec()).unwrap()
        };
        let mut first = TcpStream::connect(address).await.unwrap();
        let mut second = TcpStream::connect(address).await.unwrap();
        for stream in [&mut first, &mut second] {
            assert!(ask(stream).await.starts_with("HTTP/1.1 200"));
        }
        let mut third = TcpStream::connect(address).await.unwrap();
        let reply = ask(&mut third).await;
        assert!(reply.starts_with("HTTP/1.1 503"), "{reply}");
        assert!(reply.contains("Retry-After: 1"), "{reply}");
        assert!(reply.contains("Your address has too many"), "{reply}");
        // The end of the stream is the end of the connection at the server.
        first.shutdown().await.unwrap();
        first.read_to_end(&mut Vec::new()).await.unwrap();
        let mut retries = 0;
        loop {
            let mut stream = TcpStream::connect(address).await.unwrap();
            let reply = ask(&mut stream).await;
            if reply.starts_with("HTTP/1.1 200") {
                break;
            }
            retries += 1;
            assert!(retries < 1000, "{reply}");
        }
        server.abort();
    }

    #[tokio::test]
    async fn a_request_that_never_ends_does_not_block_the_shutdown() {
        let timeouts = ShutdownTimeouts {
            connections: SHORT,
            requests: SHORT,
        };
        let stopping = stopping(timeouts).await;
        let ended = tokio::time::timeout(LONG, stopping.server).await;
        ended.unwrap().unwrap().unwrap();
    }

    #[tokio::test]
    async fn incomplete_requests_do_not_delay_the_shutdown() {
        let timeouts = ShutdownTimeouts {
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
                // Incomplete headers reach no handler. That connection is accepted before this one
                // is answered.
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
            let server = server(timeouts).serve(listener, router, arrived);
            let ended = tokio::time::timeout(LONG / 2, server).await;
            assert!(ended.is_ok(), "the server waits for {half:?}");
            let mut rest = Vec::new();
            let _ = stream.read_to_end(&mut rest).await;
            assert!(rest.is_empty(), "{half:?} was answered");
        }
    }
}
