//! Connecting to a database with several addresses, one of which may hang.
//!
//! The driver tries hosts one after the other and sets no limit on a handshake. Here each address
//! gets a head start; then, or as soon as it fails, the next one is tried in parallel, and the
//! first connection wins ("happy eyeballs").

use std::fmt::{self, Debug};
use std::pin::Pin;
use std::time::Duration;

use deadpool_postgres::Connect;
use docent_store::StoreError;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tokio::task::JoinHandle;
use tokio_postgres::config::{Host, LoadBalanceHosts};
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{Client, Config, Connection, Error, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::error::{EngineError, NO_RESPONSE};
use crate::settings::Settings;
use crate::tls;

/// Many times the duration of a handshake within a region.
const HEAD_START: Duration = Duration::from_millis(250);
const DEFAULT_PORT: u16 = 5432;

/// How connections are encrypted.
pub(crate) type Tls = MakeRustlsConnect;
type Stream = <Tls as MakeTlsConnect<Socket>>::Stream;
type Connected = (Client, Connection<Socket, Stream>);
type Connecting<'a> = Pin<Box<dyn Future<Output = Result<Connected, Error>> + Send + 'a>>;

/// Makes connections to the database of some settings.
#[derive(Clone)]
pub(crate) struct Connector {
    driver: Config,
    tls: Tls,
    connect_timeout: Duration,
}

impl Connector {
    pub(crate) fn new(settings: &Settings) -> Result<Self, StoreError> {
        let hosts = settings.driver.get_hosts().len();
        let hosts = hosts.max(settings.driver.get_hostaddrs().len());
        let head_starts = HEAD_START * u32::try_from(hosts).unwrap_or(u32::MAX);
        Ok(Self {
            driver: settings.driver.clone(),
            tls: tls::connector(settings)?,
            connect_timeout: settings.connect_timeout() + head_starts,
        })
    }

    /// How long connecting may take, over all addresses.
    pub(crate) fn connect_timeout(&self) -> Duration {
        self.connect_timeout
    }

    pub(crate) fn tls(&self) -> Tls {
        self.tls.clone()
    }

    /// Opens a connection outside the pool, within [`Connector::connect_timeout`].
    pub(crate) async fn connect_in_time(&self) -> Result<Connected, EngineError> {
        match tokio::time::timeout(self.connect_timeout, self.connect()).await {
            Ok(connected) => Ok(connected?),
            Err(_) => Err(EngineError::Lost(NO_RESPONSE.to_owned())),
        }
    }

    /// Fails only after the slowest host has failed.
    async fn connect(&self) -> Result<Connected, Error> {
        let names = self.driver.get_hosts().len();
        let hosts = names.max(self.driver.get_hostaddrs().len());
        // Without a host, the driver returns the error.
        let hosts = self.in_order((0..hosts.max(1)).collect());
        let attempts = hosts.into_iter().map(|index| -> Connecting<'_> {
            Box::pin(async move {
                let addresses = self.in_order(self.addresses(index).await);
                let attempts = addresses.into_iter().map(|address| -> Connecting<'_> {
                    Box::pin(async move { address.connect(self.tls.clone()).await })
                });
                first_of(attempts).await
            })
        });
        first_of(attempts).await
    }

    /// The addresses of a host. If it has none, the driver returns the error.
    async fn addresses(&self, index: usize) -> Vec<Config> {
        let host = self.driver.get_hosts().get(index);
        let ports = self.driver.get_ports();
        let port = ports.get(index).or(ports.first()).copied();
        let port = port.unwrap_or(DEFAULT_PORT);
        let mut target = without_hosts(&self.driver);
        target.port(port);
        match host {
            Some(Host::Tcp(name)) => target.host(name),
            Some(Host::Unix(path)) => target.host_path(path),
            None => &mut target,
        };
        if let Some(address) = self.driver.get_hostaddrs().get(index) {
            target.hostaddr(*address);
            return vec![target];
        }
        let Some(Host::Tcp(name)) = host else {
            return vec![target];
        };
        let found: Vec<Config> = tokio::net::lookup_host((name.as_str(), port))
            .await
            .into_iter()
            .flatten()
            .map(|address| {
                let mut target = target.clone();
                target.hostaddr(address.ip());
                target
            })
            .collect();
        if found.is_empty() {
            vec![target]
        } else {
            found
        }
    }

    /// With `load_balance_hosts=random`, starts at a random one.
    fn in_order<T>(&self, mut all: Vec<T>) -> Vec<T> {
        if self.driver.get_load_balance_hosts() == LoadBalanceHosts::Random && !all.is_empty() {
            let first = getrandom::u32().unwrap_or_default() as usize % all.len();
            all.rotate_left(first);
        }
        all
    }
}

impl Connect for Connector {
    fn connect(
        &self,
        _: &Config,
    ) -> Pin<Box<dyn Future<Output = Result<(Client, JoinHandle<()>), Error>> + Send + '_>> {
        Box::pin(async move {
            let (client, connection) = self.connect().await?;
            let running = tokio::spawn(async move {
                if let Err(error) = connection.await {
                    tracing::debug!(%error, "database connection closed");
                }
            });
            Ok((client, running))
        })
    }
}

impl Debug for Connector {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Connector").finish_non_exhaustive()
    }
}

/// Returns the first success, or the last error. `attempts` must not be empty.
async fn first_of<'a>(attempts: impl Iterator<Item = Connecting<'a>>) -> Result<Connected, Error> {
    let mut waiting = attempts.peekable();
    let mut trying: FuturesUnordered<_> = waiting.next().into_iter().collect();
    loop {
        let ended = tokio::select! {
            ended = trying.next() => ended,
            () = tokio::time::sleep(HEAD_START), if waiting.peek().is_some() => None,
        };
        match ended {
            Some(Err(error)) if trying.is_empty() && waiting.peek().is_none() => return Err(error),
            Some(Ok(connected)) => return Ok(connected),
            Some(Err(_)) | None => trying.extend(waiting.next()),
        }
    }
}

/// A copy of the configuration without hosts and ports.
fn without_hosts(driver: &Config) -> Config {
    let mut copy = Config::new();
    if let Some(user) = driver.get_user() {
        copy.user(user);
    }
    if let Some(password) = driver.get_password() {
        copy.password(password);
    }
    if let Some(name) = driver.get_dbname() {
        copy.dbname(name);
    }
    if let Some(options) = driver.get_options() {
        copy.options(options);
    }
    if let Some(name) = driver.get_application_name() {
        copy.application_name(name);
    }
    if let Some(timeout) = driver.get_connect_timeout() {
        copy.connect_timeout(*timeout);
    }
    if let Some(timeout) = driver.get_tcp_user_timeout() {
        copy.tcp_user_timeout(*timeout);
    }
    if let Some(interval) = driver.get_keepalives_interval() {
        copy.keepalives_interval(interval);
    }
    if let Some(retries) = driver.get_keepalives_retries() {
        copy.keepalives_retries(retries);
    }
    copy.keepalives(driver.get_keepalives())
        .keepalives_idle(driver.get_keepalives_idle())
        .ssl_mode(driver.get_ssl_mode())
        .ssl_negotiation(driver.get_ssl_negotiation())
        .target_session_attrs(driver.get_target_session_attrs())
        .channel_binding(driver.get_channel_binding())
        .load_balance_hosts(driver.get_load_balance_hosts());
    copy
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_configuration_without_a_host_is_rejected() {
        let mut settings = Settings::parse("postgres://ada@db.example/x").unwrap();
        settings.driver = without_hosts(&settings.driver);
        let connector = Connector::new(&settings).unwrap();
        let error = connector.connect_in_time().await.map(drop).unwrap_err();
        assert!(format!("{error:?}").contains("host"), "{error:?}");
    }

    /// Fails when a new driver option is added to the list here but not to the copy.
    #[test]
    fn the_copy_omits_only_hosts_and_ports() {
        let all = "user=a password=b dbname=c options=d application_name=e connect_timeout=1 tcp_user_timeout=2 \
                   keepalives=1 keepalives_idle=3 keepalives_interval=4 keepalives_retries=5 sslmode=require \
                   sslnegotiation=direct target_session_attrs=read-write channel_binding=require load_balance_hosts=random";
        let given: Config = all.parse().unwrap();
        assert_eq!(without_hosts(&given), given);
        let with_host: Config = format!("{all} host=x port=7").parse().unwrap();
        assert_eq!(without_hosts(&with_host), given);
    }
}
