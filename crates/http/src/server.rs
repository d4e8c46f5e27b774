//! Accepts connections, limits them, and shuts them down gracefully.

mod connections;
mod handshakes;
mod progress;
mod slow_reader;
#[cfg(test)]
mod tests;
pub mod tls;
mod traffic;

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
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tower::Service;

pub(crate) use connections::ConnectionMeasurements;
use connections::ConnectionSlot;
pub use connections::{ConnectionLimits, Connections};
use progress::{InFlight, PendingRequest, Progress};
use slow_reader::{PacedStream, READING_PACE, ReadingPace};
use tls::Certificate;
use traffic::CountedStream;

/// The time for the headers of a request, also of the next one on a kept-alive connection.
const HEADER_TIMEOUT: Duration = Duration::from_secs(75);
/// The buffer of a connection, which has to hold the headers of a request. Longer ones get 431.
const MAX_BUFFER_BYTES: usize = 64 * 1024;

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
/// progress five minutes. Without a certificate, this is plain HTTP.
pub async fn serve(
    listener: TcpListener,
    connections: Connections,
    certificate: Option<Arc<Certificate>>,
    routes: impl Routes,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    let server = Server {
        timeouts: SHUTDOWN_TIMEOUTS,
        pace: READING_PACE,
        connections,
        certificate,
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
        let in_flight = Arc::new(InFlight::default());
        let (stopping, stopped) = watch::channel(Phase::Serving);
        tokio::pin!(stop);
        loop {
            let accepted = tokio::select! {
                () = &mut stop => break,
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, address)) => {
                    let peer = Peer::at(address.ip());
                    self.accept(stream, peer, routes.clone(), &in_flight, stopped.clone());
                }
                Err(error) => {
                    // For example out of file descriptors, which may be temporary.
                    tracing::warn!(%error, "cannot accept a connection: {error}");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
        drop(listener);
        drop(stopped);
        self.drain(&stopping, &in_flight).await;
        Ok(())
    }

    /// Serves a connection in the background, or rejects it.
    fn accept(
        &self,
        stream: TcpStream,
        peer: Peer,
        routes: impl Routes,
        in_flight: &Arc<InFlight>,
        mut stopped: watch::Receiver<Phase>,
    ) {
        let slot = match self.connections.open(peer.address()) {
            Ok(slot) => slot,
            Err(reason) => {
                // Over TLS a response would need a handshake.
                if self.certificate.is_none() {
                    self.connections.reject(stream, reason);
                }
                return;
            }
        };
        let in_flight = Arc::clone(in_flight);
        let (pace, certificate) = (self.pace, self.certificate.clone());
        tokio::spawn(async move {
            let slot: ConnectionSlot = slot;
            // Responses are written at once, so Nagle's algorithm would only delay them.
            if let Err(error) = stream.set_nodelay(true) {
                tracing::debug!(%error, "connection closed early: {error}");
                return;
            }
            let counted = slot.connections().clone();
            let Some(certificate) = certificate else {
                let stream = PacedStream::new(CountedStream::new(stream, counted), pace);
                return serve_connection(stream, peer, routes, in_flight, &mut stopped).await;
            };
            let accepted = tokio::select! {
                accepted = certificate.accept(stream, slot.address()) => accepted,
                () = reached(&mut stopped, Phase::Draining) => None,
            };
            if let Some(stream) = accepted {
                // Below TLS, only one record after the other would be seen, not the response.
                let stream = PacedStream::new(CountedStream::new(stream, counted), pace);
                serve_connection(stream, peer.over_tls(), routes, in_flight, &mut stopped).await;
            }
        });
    }

    /// Waits for connections and requests to end, within the timeouts.
    async fn drain(&self, stopping: &watch::Sender<Phase>, in_flight: &InFlight) {
        let timeouts = self.timeouts;
        // Fails only if all connections have ended already.
        let _ = stopping.send(Phase::Draining);
        let within = |limit, ended| async move { tokio::time::timeout(limit, ended).await.is_ok() };
        let requests = in_flight.count();
        if requests > 0 {
            tracing::info!(requests, "shutting down: waiting for {requests} requests");
        }
        if within(timeouts.connections, stopping.closed()).await {
            return;
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
        .max_buf_size(MAX_BUFFER_BYTES)
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
