//! The addresses of the server, and what it serves at each.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use docent_http::server::tls::Certificate;
use docent_http::server::{ConnectionLimits, Connections};
use docent_http::{AppState, Frontend, server};
use tokio::net::TcpListener;

use crate::commands::say;
use crate::settings::Settings;

/// More than any monitoring needs.
const METRICS_CONNECTIONS: ConnectionLimits = ConnectionLimits {
    total: 64,
    per_address: 64,
    exempt: Vec::new(),
};

type BoundListener = (TcpListener, SocketAddr);

pub(super) struct Listeners {
    main: BoundListener,
    /// The second address, for DataHub's clients or its web page.
    ui: Option<BoundListener>,
    metrics: Option<BoundListener>,
}

impl Listeners {
    pub(super) async fn bind(settings: &Settings) -> Result<Self> {
        Ok(Self {
            main: listen(settings.listen, "--listen").await?,
            ui: listen_if(settings.ui_listen, "--ui-listen").await?,
            metrics: listen_if(settings.metrics_listen, "--metrics-listen").await?,
        })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.main.1
    }

    pub(super) fn announce(&self, scheme: &str) {
        let (version, address) = (env!("CARGO_PKG_VERSION"), self.address());
        say(format!(
            "Docent {version} is listening on {scheme}://{address}"
        ));
        if let Some((_, address)) = &self.ui {
            say(format!("and on {scheme}://{address}"));
        }
        if let Some((_, address)) = &self.metrics {
            say(format!("Metrics are on {scheme}://{address}/metrics"));
        }
    }

    /// Serves until `stop` resolves.
    pub(super) async fn serve(
        self,
        state: AppState,
        frontend: Option<Frontend>,
        connections: Connections,
        certificate: Option<Arc<Certificate>>,
        stop: impl Future<Output = ()> + Clone,
    ) -> io::Result<()> {
        let metrics_service = docent_http::metrics_service(state.clone());
        let ui_service = frontend.map(|it| docent_http::frontend_service(state.clone(), it));
        let service = docent_http::service(state);
        let ui_service = ui_service.unwrap_or_else(|| service.clone());
        let serve = async |listener, service| {
            let (connections, stop) = (connections.clone(), stop.clone());
            server::serve(listener, connections, certificate.clone(), service, stop).await
        };
        let serve_ui = async || match self.ui {
            Some((listener, _)) => serve(listener, ui_service).await,
            None => Ok(()),
        };
        let serve_metrics = async || match self.metrics {
            Some((listener, _)) => {
                // Of its own, so that a server with too many connections can still be observed.
                let connections = Connections::new(METRICS_CONNECTIONS);
                let (certificate, stop) = (certificate.clone(), stop.clone());
                server::serve(listener, connections, certificate, metrics_service, stop).await
            }
            None => Ok(()),
        };
        tokio::try_join!(serve(self.main.0, service), serve_ui(), serve_metrics())?;
        Ok(())
    }
}

async fn listen_if(address: Option<SocketAddr>, flag: &str) -> Result<Option<BoundListener>> {
    match address {
        Some(address) => listen(address, flag).await.map(Some),
        None => Ok(None),
    }
}

async fn listen(address: SocketAddr, flag: &str) -> Result<BoundListener> {
    let listener = TcpListener::bind(address).await.with_context(|| {
        format!("cannot listen on {address}; choose another address with {flag}")
    })?;
    let address = listener.local_addr().context("no local address")?;
    Ok((listener, address))
}
