//! The peer of reads: an axum server that returns the same body for every request. It only does
//! HTTP, so its CPU time per request is a lower bound for a server built from the same parts.

use std::io::{Read as _, Write as _};
use std::path::Path;

use anyhow::{Context, Result};
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::header;
use axum::routing::post;
use axum::serve::ListenerExt as _;
use bytes::Bytes;
use tokio::net::TcpListener;

/// Serves until standard input closes, so that it never outlives its parent process.
pub(crate) fn serve(body: &Path) -> Result<()> {
    let body = Bytes::from(
        std::fs::read(body).with_context(|| format!("cannot read {}", body.display()))?,
    );
    std::thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    // The same runtime as docent's.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async move {
        let reply = async move |_request: Bytes| {
            let content_type = [(header::CONTENT_TYPE, "application/json;charset=utf-8")];
            (content_type, body.clone())
        };
        let router = Router::new()
            .route("/api/graphql", post(reply))
            .layer(DefaultBodyLimit::disable());
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        writeln!(std::io::stdout(), "listening on http://{address}")?;
        let listener = listener.tap_io(|stream| {
            // Otherwise the kernel may delay replies; a failure would show in the results.
            let _ = stream.set_nodelay(true);
        });
        axum::serve(listener, router).await?;
        Ok(())
    })
}
