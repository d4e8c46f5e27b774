//! DataHub's other database (`mysql://…`): the rows of its aspect table, in one snapshot, and never a write.

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

/// The scheme that the driver knows, and the one that people write.
const SCHEMES: [&str; 2] = ["mysql://", "mariadb://"];
const HOW: &str = "write the URL like mysql://USER:PASSWORD@HOST/DATABASE";

/// What every session is told when it begins. The snapshot is of the moment of the last statement.
const SESSION: [&str; 4] = [
    "SET SESSION time_zone = '+00:00'",
    // While we store a page, nobody reads what the database sends.
    "SET SESSION net_write_timeout = 3600",
    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
];
/// Each of the servers that speak this protocol knows one of these; a walk takes as long as it takes.
const NO_LIMITS: [&str; 2] = [
    "SET SESSION max_execution_time = 0",
    "SET SESSION max_statement_time = 0",
];

const THERE: &str = "SELECT count(*) FROM information_schema.tables \
     WHERE table_schema = DATABASE() AND table_name = 'metadata_aspect_v2'";

/// The order is that of the table's own key, so that nothing has to be sorted.
const ROWS: &str = "SELECT urn, aspect, version, metadata, systemmetadata, \
     TIMESTAMPDIFF(MICROSECOND, '1970-01-01', createdon) DIV 1000, createdby, createdfor \
     FROM metadata_aspect_v2 ORDER BY urn, aspect, version";

/// What may follow behind a '?', each with true or false.
const PARAMETERS: [&str; 4] = [
    "require_ssl",
    "verify_ca",
    "verify_identity",
    "built_in_roots",
];

/// The parameter that the driver does not know, called as for the other database.
const ROOT_CERTIFICATES: &str = "sslrootcert=";

/// How long the database may take to let us in.
const CONNECTING: Duration = Duration::from_secs(10);

/// Rows on their way to us.
const AHEAD: usize = 256;
/// No row of DataHub's comes near it; the driver's own limit is 16 MiB.
const MAX_ROW_BYTES: usize = 1024 * 1024 * 1024;

/// Where the database is.
pub(super) struct Settings(Opts);

impl Settings {
    /// Whether the text is meant for such a database.
    pub(super) fn is_url(text: &str) -> bool {
        SCHEMES.iter().any(|scheme| text.starts_with(scheme))
    }

    /// Reads a URL; what is wrong with it is said without repeating it.
    pub(super) fn parse(url: &str) -> Result<Self> {
        let rest = SCHEMES.iter().find_map(|scheme| url.strip_prefix(scheme));
        let rest = rest.unwrap_or(url);
        let (base, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (own, others): (Vec<&str>, Vec<&str>) = query
            .split('&')
            .filter(|pair| !pair.is_empty())
            .partition(|pair| pair.starts_with(ROOT_CERTIFICATES));
        // The driver takes more, about pools and caches, none of which there is here.
        let name = |pair: &&str| pair.split('=').next().unwrap_or_default().to_owned();
        if let Some(unknown) = others
            .iter()
            .map(name)
            .find(|it| !PARAMETERS.contains(&&**it))
        {
            bail!(
                "the parameter '{unknown}' in the URL is not known: there are {}, sslrootcert; {HOW}",
                PARAMETERS.join(", ")
            );
        }
        let options = match Opts::from_url(&format!("mysql://{base}?{}", others.join("&"))) {
            Ok(options) => options,
            Err(UrlError::InvalidParamValue { param, .. }) => {
                bail!("{param} in the URL is not right: it is true or false; {HOW}")
            }
            Err(_) => bail!("the URL is not right: {HOW}"),
        };
        if options.db_name().is_none_or(str::is_empty) {
            bail!("the URL names no database: {HOW}");
        }
        let mut encryption = options.ssl_opts().cloned();
        if let Some(file) = own
            .first()
            .and_then(|pair| pair.strip_prefix(ROOT_CERTIFICATES))
        {
            let file = percent_decode_str(file).decode_utf8_lossy().into_owned();
            if !Path::new(&file).is_file() {
                bail!("sslrootcert in the URL is not right: there is no file {file}");
            }
            let roots = vec![PathBuf::from(file).into()];
            // Whoever names an authority wants to be encrypted.
            encryption = Some(encryption.unwrap_or_default().with_root_certs(roots));
        }
        let options = OptsBuilder::from_opts(options)
            .ssl_opts(encryption)
            .prefer_socket(Some(false))
            .max_allowed_packet(Some(MAX_ROW_BYTES));
        Ok(Self(options.into()))
    }
}

/// The address, without the password.
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

/// A walk over all rows of the table, aspect by aspect, the latest version of each first.
#[derive(Debug)]
pub(super) struct MySqlAspects {
    rows: mpsc::Receiver<Result<ForeignAspect>>,
    total: u64,
}

impl MySqlAspects {
    /// Begins the walk. What is committed later is not seen.
    pub(super) async fn open(settings: &Settings) -> Result<Self> {
        Self::begin(settings)
            .await
            .map_err(|error| innermost(&error))
    }

    async fn begin(settings: &Settings) -> Result<Self> {
        let connecting = timeout(CONNECTING, connect(settings)).await;
        let Ok(connection) = connecting else {
            bail!(
                "it does not answer within {} seconds: is there a MySQL or MariaDB at this address?",
                CONNECTING.as_secs()
            );
        };
        let mut connection = connection?;
        if connection.query_first(THERE).await? != Some(1) {
            bail!(
                "the database has no table metadata_aspect_v2: name the one that DataHub uses in the URL"
            );
        }
        let total: Option<u64> = connection
            .query_first("SELECT count(*) FROM metadata_aspect_v2")
            .await?;
        let (sender, rows) = mpsc::channel(AHEAD);
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

    /// How many rows there are.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// The next row; `None` behind the last.
    pub(super) async fn next(&mut self) -> Result<Option<ForeignAspect>> {
        self.rows.recv().await.transpose()
    }
}

async fn connect(settings: &Settings) -> Result<Conn> {
    let mut connection = Conn::new(settings.0.clone()).await?;
    for statement in NO_LIMITS {
        // One of them is not known to this server.
        let _ = connection.query_drop(statement).await;
    }
    for statement in SESSION {
        connection.query_drop(statement).await?;
    }
    Ok(connection)
}

/// The driver's errors repeat their causes.
fn innermost(error: &anyhow::Error) -> anyhow::Error {
    anyhow!("{}", error.root_cause())
}

/// Of a connection that breaks the driver says what it was about to read.
fn while_reading(error: &anyhow::Error) -> anyhow::Error {
    match error.downcast_ref() {
        Some(Error::Io(_) | Error::Driver(DriverError::ConnectionClosed)) => {
            anyhow!("the connection to the database that is read was lost")
        }
        _ => innermost(error),
    }
}

async fn send(connection: &mut Conn, rows: &mpsc::Sender<Result<ForeignAspect>>) -> Result<()> {
    let mut found = connection.query_iter(ROWS).await?;
    while let Some(row) = found.next().await? {
        if rows.send(read(row)).await.is_err() {
            // Whoever asked has gone.
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
        .map_err(|_| anyhow!("the columns of metadata_aspect_v2 are not DataHub's"))?;
    let (urn, aspect, version, metadata, noted, created_on_ms, created_by, created_for) = columns;
    let mut fault = created_on_ms.is_none().then_some(ForeignAspect::NO_TIME);
    // The database converts to UTF-8, whatever it keeps; only a column of bytes could hold anything else.
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
            system_metadata: noted.map(&mut text),
            created_on_ms: created_on_ms.unwrap_or_default(),
            created_by: text(created_by),
            created_for: created_for.map(&mut text),
        },
    };
    Ok(ForeignAspect { raw, fault })
}
