//! Reads DataHub's aspect table from MySQL or MariaDB, in one read-only snapshot.

use std::fmt::{self, Debug, Display};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use docent_store::{RawAspect, RowVersion, StoredAspect};
use mysql_async::prelude::Queryable as _;
use mysql_async::{Conn, DriverError, Error, Opts, OptsBuilder, Row, UrlError};
use percent_encoding::percent_decode_str;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::source::ForeignAspect;

/// The driver knows only the first scheme.
const SCHEMES: [&str; 2] = ["mysql://", "mariadb://"];
const EXAMPLE: &str = "use a URL like mysql://USER:PASSWORD@HOST/DATABASE";

/// Statements at the start of a session. The last one takes the snapshot.
const SESSION: [&str; 4] = [
    "SET SESSION time_zone = '+00:00'",
    // The server must wait while we store a page.
    "SET SESSION net_write_timeout = 3600",
    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
];
/// Removes the time limit for statements. MySQL knows the first, MariaDB the second.
const NO_LIMITS: [&str; 2] = [
    "SET SESSION max_execution_time = 0",
    "SET SESSION max_statement_time = 0",
];

const TABLE_EXISTS: &str = "SELECT count(*) FROM information_schema.tables \
     WHERE table_schema = DATABASE() AND table_name = 'metadata_aspect_v2'";

/// In the order of the primary key, so that the database need not sort.
const ROWS: &str = "SELECT urn, aspect, version, metadata, systemmetadata, \
     TIMESTAMPDIFF(MICROSECOND, '1970-01-01', createdon) DIV 1000, createdby, createdfor \
     FROM metadata_aspect_v2 ORDER BY urn, aspect, version";

/// Boolean parameters of the URL.
const PARAMETERS: [&str; 4] = [
    "require_ssl",
    "verify_ca",
    "verify_identity",
    "built_in_roots",
];

/// Unknown to the driver; named as for PostgreSQL.
const ROOT_CERTIFICATES: &str = "sslrootcert=";

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Rows that are read ahead.
const READ_AHEAD: usize = 256;
/// Far above any row; the default of the driver is 16 MiB.
const MAX_ROW_BYTES: usize = 1024 * 1024 * 1024;

/// Connection settings.
pub(super) struct Settings(Opts);

impl Settings {
    /// Whether the URL has the scheme of MySQL or MariaDB.
    pub(super) fn is_url(text: &str) -> bool {
        SCHEMES.iter().any(|scheme| text.starts_with(scheme))
    }

    /// Parses a URL. Errors do not repeat it.
    pub(super) fn parse(url: &str) -> Result<Self> {
        let rest = SCHEMES.iter().find_map(|scheme| url.strip_prefix(scheme));
        let rest = rest.unwrap_or(url);
        let (base, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (own, others): (Vec<&str>, Vec<&str>) = query
            .split('&')
            .filter(|pair| !pair.is_empty())
            .partition(|pair| pair.starts_with(ROOT_CERTIFICATES));
        // The driver has further parameters for pools and caches, which are not used here.
        let name = |pair: &&str| pair.split('=').next().unwrap_or_default().to_owned();
        if let Some(unknown) = others
            .iter()
            .map(name)
            .find(|it| !PARAMETERS.contains(&&**it))
        {
            bail!(
                "unknown URL parameter '{unknown}'; the parameters are {}, sslrootcert; {EXAMPLE}",
                PARAMETERS.join(", ")
            );
        }
        let options = match Opts::from_url(&format!("mysql://{base}?{}", others.join("&"))) {
            Ok(options) => options,
            Err(UrlError::InvalidParamValue { param, .. }) => {
                bail!("{param} in the URL must be true or false; {EXAMPLE}")
            }
            Err(_) => bail!("the URL is invalid: {EXAMPLE}"),
        };
        if options.db_name().is_none_or(str::is_empty) {
            bail!("the URL has no database: {EXAMPLE}");
        }
        let mut encryption = options.ssl_opts().cloned();
        if let Some(file) = own
            .first()
            .and_then(|pair| pair.strip_prefix(ROOT_CERTIFICATES))
        {
            let file = percent_decode_str(file).decode_utf8_lossy().into_owned();
            if !Path::new(&file).is_file() {
                bail!("sslrootcert in the URL is invalid: there is no file {file}");
            }
            let roots = vec![PathBuf::from(file).into()];
            // A root certificate implies encryption.
            encryption = Some(encryption.unwrap_or_default().with_root_certs(roots));
        }
        let options = OptsBuilder::from_opts(options)
            .ssl_opts(encryption)
            .prefer_socket(Some(false))
            .max_allowed_packet(Some(MAX_ROW_BYTES));
        Ok(Self(options.into()))
    }
}

/// The URL without the password.
impl Display for Settings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("mysql://")?;
        if let Some(user) = self.0.user() {
            write!(formatter, "{user}@")?;
        }
        write!(
            formatter,
            "{}:{}/{}",
            self.0.ip_or_hostname(),
            self.0.tcp_port(),
            self.0.db_name().unwrap_or_default()
        )
    }
}

impl Debug for Settings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Settings({self})")
    }
}

/// Reads all rows of the table, ordered by aspect with the latest version first.
#[derive(Debug)]
pub(super) struct MySqlAspects {
    rows: mpsc::Receiver<Result<ForeignAspect>>,
    total: u64,
}

impl MySqlAspects {
    /// Takes the snapshot. Later commits are not read.
    pub(super) async fn open(settings: &Settings) -> Result<Self> {
        Self::begin(settings)
            .await
            .map_err(|error| innermost(&error))
    }

    async fn begin(settings: &Settings) -> Result<Self> {
        let connecting = timeout(CONNECT_TIMEOUT, connect(settings)).await;
        let Ok(connection) = connecting else {
            bail!(
                "it does not respond within {} seconds: is a MySQL or MariaDB server at this address?",
                CONNECT_TIMEOUT.as_secs()
            );
        };
        let mut connection = connection?;
        if connection.query_first(TABLE_EXISTS).await? != Some(1) {
            bail!(
                "the database has no table metadata_aspect_v2: use the URL of DataHub's database"
            );
        }
        let total: Option<u64> = connection
            .query_first("SELECT count(*) FROM metadata_aspect_v2")
            .await?;
        let (sender, rows) = mpsc::channel(READ_AHEAD);
        tokio::spawn(async move {
            if let Err(error) = send(&mut connection, &sender).await {
                let _ = sender.send(Err(while_reading(&error))).await;
            }
        });
        Ok(Self {
            rows,
            total: total.unwrap_or_default(),
        })
    }

    /// The number of rows.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// The next row, or `None` at the end.
    pub(super) async fn next(&mut self) -> Result<Option<ForeignAspect>> {
        self.rows.recv().await.transpose()
    }
}

async fn connect(settings: &Settings) -> Result<Conn> {
    let mut connection = Conn::new(settings.0.clone()).await?;
    for statement in NO_LIMITS {
        // Each server rejects one of them.
        let _ = connection.query_drop(statement).await;
    }
    for statement in SESSION {
        connection.query_drop(statement).await?;
    }
    Ok(connection)
}

/// The root cause: the driver's errors repeat their causes.
fn innermost(error: &anyhow::Error) -> anyhow::Error {
    anyhow!("{}", error.root_cause())
}

/// A clear message for a lost connection, for which the driver reports parse errors.
fn while_reading(error: &anyhow::Error) -> anyhow::Error {
    match error.downcast_ref() {
        Some(Error::Io(_) | Error::Driver(DriverError::ConnectionClosed)) => {
            anyhow!("lost the connection to DataHub's database")
        }
        _ => innermost(error),
    }
}

async fn send(connection: &mut Conn, rows: &mpsc::Sender<Result<ForeignAspect>>) -> Result<()> {
    let mut found = connection.query_iter(ROWS).await?;
    while let Some(row) = found.next().await? {
        if rows.send(read(row)).await.is_err() {
            // The reader was dropped.
            return Ok(());
        }
    }
    Ok(())
}

type Columns = (
    Vec<u8>,
    Vec<u8>,
    i64,
    Vec<u8>,
    Option<Vec<u8>>,
    Option<i64>,
    Vec<u8>,
    Option<Vec<u8>>,
);

fn read(row: Row) -> Result<ForeignAspect> {
    let columns: Columns = mysql_async::from_row_opt(row)
        .map_err(|_| anyhow!("the columns of metadata_aspect_v2 are not those of DataHub"))?;
    let (urn, aspect, version, metadata, system_metadata, created_on_ms, created_by, created_for) =
        columns;
    let mut fault = created_on_ms.is_none().then_some(ForeignAspect::NO_TIME);
    // The server converts texts to UTF-8; only binary columns can contain anything else.
    let mut text = |bytes: Vec<u8>| {
        String::from_utf8(bytes).unwrap_or_else(|error| {
            fault = Some(ForeignAspect::NO_TEXT);
            String::from_utf8_lossy(error.as_bytes()).into_owned()
        })
    };
    let raw = RawAspect {
        urn: text(urn),
        aspect: text(aspect),
        row: StoredAspect {
            version: RowVersion::new(version),
            metadata: text(metadata),
            system_metadata: system_metadata.map(&mut text),
            created_on_ms: created_on_ms.unwrap_or_default(),
            created_by: text(created_by),
            created_for: created_for.map(&mut text),
        },
    };
    Ok(ForeignAspect { raw, fault })
}
