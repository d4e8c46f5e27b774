//! Connections: accepting them, bounding them, and letting them finish at the end.

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
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tower::ServiceExt as _;

/// More connections than this wait in the kernel's queue.
const MAX_CONNECTIONS: usize = 4096;

/// A client that has opened a connection must say what it wants within this time, and again after each reply.
const HEADER_TIMEOUT: Duration = Duration::from_secs(75);

/// How long requests in flight may take when the server is asked to stop.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);

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

/// Serves until `stop` resolves, then finishes what is in flight.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let (stopping, stopped) = watch::channel(false);
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
        tokio::spawn(async move {
            let _place = place;
            serve_connection(stream, router, &mut stopped).await;
        });
    }
    drop(listener);
    drop(stopped);
    // Nobody listens any more when every connection has ended.
    let _ = stopping.send(true);
    if tokio::time::timeout(SHUTDOWN_TIMEOUT, stopping.closed())
        .await
        .is_err()
    {
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

async fn serve_connection(stream: TcpStream, router: Router, stopped: &mut watch::Receiver<bool>) {
    let peer = Peer(stream.peer_addr().ok().map(|address| address.ip()));
    let service = router.map_request(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(peer);
        request
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(service));
    tokio::pin!(connection);
    // What `wait_for` returns holds a lock; it must be gone before the next await.
    let stopping = async { drop(stopped.wait_for(|stopping| *stopping).await) };
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stopping => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early: {error}");
    }
}
