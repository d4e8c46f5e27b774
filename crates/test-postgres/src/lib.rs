//! A PostgreSQL server shared by all tests, with a database for each.
//!
//! The first test that needs the server starts the installed PostgreSQL on a Unix socket in a
//! directory of its own; later tests find it there. Every process that uses it holds a file lock,
//! and a background shell stops the server once nobody has held the lock for a while. Tests can be
//! run in any way, and nothing is started or stopped by hand.
//!
//! Tests that stop, kill or overload a server start their own ([`Server::start`]).
//!
//! This crate depends on no other crate of the workspace, so that end-to-end tests can use it.

mod server;

use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use sha2::{Digest as _, Sha256};
use tokio_postgres::{NoTls, SimpleQueryMessage};

pub use server::Server;

/// The URL of an existing server to use instead; its user must be allowed to create databases.
const SERVER_VARIABLE: &str = "TEST_DATABASE_URL";
/// The limit for any single operation, far more than it needs.
const TIMEOUT: Duration = Duration::from_mins(1);
/// How much of a log an error shows.
const LOG_LINES: usize = 20;

/// Options for speed: test data need not survive a power failure.
const FAST: &str =
    "-c fsync=off -c full_page_writes=off -c synchronous_commit=off -c shared_buffers=64MB";
/// Fails before PostgreSQL 15, which always copies files. Later versions write the copy to the log
/// by default, which takes three times as long.
const SUPPORTS_STRATEGY: &str = "SELECT 1 / (current_setting('server_version_num')::int / 150000)";

/// Stops the server when nobody holds the lock in three consecutive checks. `$1` is the directory
/// of the server, `$2` that of the programs.
const SUPERVISOR: &str = r#"
    idle=0
    while sleep 5; do
        if flock --nonblock --exclusive "$1/use.lock" true; then idle=$((idle + 1)); else idle=0; fi
        if [ "$idle" -ge 3 ]; then
            flock --nonblock --exclusive "$1/use.lock" sh -c \
                '"$2/pg_ctl" stop --silent --mode immediate --pgdata "$1/data"; rm -rf "$1/data"' sh "$1" "$2" && break
            idle=0
        fi
    done
"#;

/// Selects the engine.
const ENGINE_VARIABLE: &str = "DOCENT_TEST_STORE";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    Sqlite,
    Postgres,
}

impl Engine {
    /// The engine selected for this test run.
    pub fn selected() -> Result<Self> {
        match std::env::var(ENGINE_VARIABLE).as_deref() {
            Err(_) | Ok("" | "sqlite") => Ok(Self::Sqlite),
            Ok("postgres") => Ok(Self::Postgres),
            Ok(other) => bail!("{ENGINE_VARIABLE} is '{other}': use sqlite or postgres"),
        }
    }
}

/// A database on the shared server. Dropping it drops the database and closes its connections.
#[derive(Debug)]
pub struct Database {
    name: String,
    url: String,
}

impl Database {
    /// Creates an empty database.
    pub fn empty() -> Result<Self> {
        Self::create("template1")
    }

    /// Copies a template database, which `fill` populates once per `version`.
    pub fn from_template(version: &str, fill: impl FnOnce(&str) -> Result<()>) -> Result<Self> {
        let template = shared()?.template(version, fill)?;
        Self::create(&template)
    }

    fn create(template: &str) -> Result<Self> {
        let server = shared()?;
        let name = format!("test_{}", uuid::Uuid::new_v4().simple());
        let strategy = if server.sql(SUPPORTS_STRATEGY).is_ok() {
            "STRATEGY file_copy"
        } else {
            ""
        };
        server.sql(&format!(
            "CREATE DATABASE {name} TEMPLATE {template} {strategy}"
        ))?;
        Ok(Self {
            url: server.url(&name),
            name,
        })
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// Runs SQL statements.
    pub fn sql(&self, statements: &str) -> Result<()> {
        sql(&self.url, statements)
    }

    /// Runs a query and returns the values as text.
    pub fn rows(&self, statement: &str) -> Result<Vec<Vec<Option<String>>>> {
        let mut rows = Vec::new();
        on_own_thread(async {
            let (client, connection) = tokio_postgres::connect(&self.url, NoTls).await?;
            let connection = tokio::spawn(connection);
            for message in client.simple_query(statement).await? {
                if let SimpleQueryMessage::Row(row) = message {
                    let texts = (0..row.len()).map(|index| row.get(index).map(str::to_owned));
                    rows.push(texts.collect());
                }
            }
            drop(client);
            Ok(connection.await??)
        })?;
        Ok(rows)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // If this fails, the database is deleted with the server.
        if let Ok(server) = shared() {
            for statement in drop_statements(&self.name) {
                let _ = server.sql(&statement);
            }
        }
    }
}

/// Closes the connections to a database and drops it.
///
/// `DROP DATABASE` checks for connections every 100 ms, which is longer than most tests take. So
/// the loop waits for their end first. `FORCE` closes those opened since.
fn drop_statements(name: &str) -> [String; 2] {
    let connections = format!("pg_stat_activity WHERE datname = '{name}'");
    [
        format!(
            "DO $$ BEGIN
                PERFORM pg_terminate_backend(pid) FROM {connections};
                FOR attempt IN 1..1000 LOOP
                    PERFORM pg_stat_clear_snapshot();
                    EXIT WHEN NOT EXISTS (SELECT 1 FROM {connections});
                    PERFORM pg_sleep(0.001);
                END LOOP;
            END $$"
        ),
        format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"),
    ]
}

/// The server shared by all tests.
fn shared() -> Result<&'static SharedServer> {
    static SERVER: OnceLock<Result<SharedServer, String>> = OnceLock::new();
    let server =
        SERVER.get_or_init(|| SharedServer::find_or_start().map_err(|error| format!("{error:#}")));
    server.as_ref().map_err(|error| anyhow::anyhow!("{error}"))
}

#[derive(Debug)]
struct SharedServer {
    /// A URL with the placeholder `{database}`.
    url_template: String,
    /// Locked until the process ends; see [`SUPERVISOR`].
    _in_use: Option<File>,
    directory: PathBuf,
}

impl SharedServer {
    fn find_or_start() -> Result<Self> {
        let directory = shared_directory()?;
        if let Ok(url) = std::env::var(SERVER_VARIABLE) {
            return Ok(Self {
                url_template: url_template(&url)?,
                _in_use: None,
                directory,
            });
        }
        let in_use = File::create(directory.join("use.lock"))?;
        in_use.lock_shared()?;
        let starting = File::create(directory.join("start.lock"))?;
        starting.lock()?;
        let shared = Self {
            url_template: socket_url_template(&directory),
            _in_use: Some(in_use),
            directory,
        };
        if shared.sql("SELECT 1").is_err() {
            let programs = programs()?;
            let data = shared.directory.join("data");
            if data.exists() {
                fs::remove_dir_all(&data)?;
            }
            create_and_start(&programs, &shared.directory, FAST)?;
            let mut supervisor = Command::new("setsid");
            supervisor
                .args(["--fork", "bash", "-c", SUPERVISOR, "supervisor"])
                .arg(&shared.directory)
                .arg(&programs);
            run(&mut supervisor, &shared.directory)?;
        }
        Ok(shared)
    }

    fn url(&self, database: &str) -> String {
        self.url_template.replace("{database}", database)
    }

    fn sql(&self, statement: &str) -> Result<()> {
        sql(&self.url("postgres"), statement)
    }

    /// The name of a template database. The first caller populates it.
    fn template(&self, version: &str, fill: impl FnOnce(&str) -> Result<()>) -> Result<String> {
        let digest = Sha256::digest(version.as_bytes());
        let name = format!(
            "template_{:02x}{:02x}{:02x}{:02x}",
            digest[0], digest[1], digest[2], digest[3]
        );
        let done = self.directory.join(format!("data/{name}"));
        if done.exists() {
            return Ok(name);
        }
        let creating = File::create(self.directory.join("start.lock"))?;
        creating.lock()?;
        if !done.exists() {
            self.sql(&format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"))?;
            self.sql(&format!("CREATE DATABASE {name}"))?;
            fill(&self.url(&name))?;
            // A server from the environment has its data elsewhere.
            fs::create_dir_all(self.directory.join("data"))?;
            File::create(&done)?;
        }
        Ok(name)
    }
}

/// The directory of the shared server. Its name is short enough for a socket path.
fn shared_directory() -> Result<PathBuf> {
    let digest = Sha256::digest(env!("CARGO_MANIFEST_DIR").as_bytes());
    let user = rustix::process::getuid().as_raw();
    let name = format!(
        "docent-postgres-{user}-{:02x}{:02x}{:02x}",
        digest[0], digest[1], digest[2]
    );
    let directory = std::env::temp_dir().join(name);
    fs::create_dir_all(&directory)?;
    hand_over(&directory)?;
    Ok(directory)
}

/// Makes the server's user the owner of a directory.
fn hand_over(directory: &Path) -> Result<()> {
    fs::set_permissions(directory, fs::Permissions::from_mode(0o755))?;
    if let Some(user) = unprivileged()? {
        chown(directory, Some(user), None)?;
    }
    Ok(())
}

fn socket_url_template(directory: &Path) -> String {
    let host = utf8_percent_encode(&directory.to_string_lossy(), NON_ALPHANUMERIC).to_string();
    format!("postgres://tests@/{{database}}?host={host}")
}

fn create_and_start(programs: &Path, directory: &Path, options: &str) -> Result<()> {
    let mut initdb = Command::new(programs.join("initdb"));
    initdb.args([
        "--username=tests",
        "--auth=trust",
        "--encoding=UTF8",
        "--locale=C.UTF-8",
        "--no-sync",
        "--pgdata",
    ]);
    run(initdb.arg(directory.join("data")), directory)?;
    start(programs, directory, options)
}

fn start(programs: &Path, directory: &Path, options: &str) -> Result<()> {
    let options = format!(
        "-c listen_addresses= {options} -c max_connections=400 -c unix_socket_directories={}",
        directory.display()
    );
    let mut pg_ctl = Command::new(programs.join("pg_ctl"));
    pg_ctl.args(["start", "--wait", "--options", &options, "--log"]);
    pg_ctl.arg(directory.join("log")).arg("--pgdata");
    let started = run(pg_ctl.arg(directory.join("data")), directory);
    started.with_context(|| format!("the log ends with:\n{}", last_lines(&directory.join("log"))))
}

/// Why a server did not start.
fn last_lines(log: &Path) -> String {
    let log = fs::read(log).unwrap_or_default();
    let log = String::from_utf8_lossy(&log);
    let lines: Vec<&str> = log.lines().rev().take(LOG_LINES).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join("\n")
}

/// Runs a program as a user that PostgreSQL accepts.
fn run(command: &mut Command, directory: &Path) -> Result<()> {
    // Not a pipe: the server that the program starts would keep it open.
    let output = directory.join(format!("output-{}", std::process::id()));
    let file = File::create(&output)?;
    command
        .current_dir(directory)
        .stdin(Stdio::null())
        .stdout(file.try_clone()?)
        .stderr(file);
    if let Some(user) = unprivileged()? {
        command.uid(user);
    }
    let mut child = command
        .spawn()
        .with_context(|| format!("cannot start {command:?}"))?;
    let started = Instant::now();
    let status = loop {
        match child.try_wait()? {
            Some(status) => break status,
            None if started.elapsed() > TIMEOUT => {
                child.kill()?;
                bail!("{command:?} timed out");
            }
            None => std::thread::sleep(Duration::from_millis(10)),
        }
    };
    let printed = fs::read_to_string(&output).unwrap_or_default();
    let _ = fs::remove_file(&output);
    ensure!(status.success(), "{command:?}: {printed}");
    Ok(())
}

/// The user that runs the server if we are root, which PostgreSQL rejects.
fn unprivileged() -> Result<Option<u32>> {
    if !rustix::process::getuid().is_root() {
        return Ok(None);
    }
    let users = fs::read_to_string("/etc/passwd")?;
    let nobody = users.lines().find_map(|line| {
        line.strip_prefix("nobody:")?
            .split(':')
            .nth(1)?
            .parse()
            .ok()
    });
    Ok(Some(nobody.context(
        "there is no user 'nobody' to run PostgreSQL as",
    )?))
}

/// The directory of PostgreSQL's programs. Debian has one per version, outside the path.
fn programs() -> Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut directories: Vec<PathBuf> = std::env::split_paths(&path).collect();
    if let Ok(versions) = fs::read_dir("/usr/lib/postgresql") {
        let mut versions: Vec<PathBuf> = versions
            .filter_map(|entry| Some(entry.ok()?.path().join("bin")))
            .collect();
        versions.sort_unstable();
        directories.extend(versions.into_iter().rev());
    }
    let found = directories
        .into_iter()
        .find(|directory| directory.join("pg_ctl").exists() && directory.join("initdb").exists())
        .context("PostgreSQL is not installed: scripts/set-up-system postgresql installs it")?;
    // The path may have links to some of the programs; the target directory has all.
    let program = fs::canonicalize(found.join("pg_ctl"))?;
    Ok(program.parent().map_or(found, Path::to_owned))
}

/// The URL with a placeholder for the name of the database.
fn url_template(url: &str) -> Result<String> {
    let (base, query) = url.split_once('?').unwrap_or((url, ""));
    let Some((scheme, rest)) = base.split_once("://") else {
        bail!("{SERVER_VARIABLE} is not a URL");
    };
    let authority = rest.split('/').next().unwrap_or_default();
    Ok(format!("{scheme}://{authority}/{{database}}?{query}"))
}

fn sql(url: &str, statements: &str) -> Result<()> {
    on_own_thread(async move {
        let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
        let connection = tokio::spawn(connection);
        let done = client.batch_execute(statements).await;
        drop(client);
        connection.await??;
        Ok(done?)
    })
}

/// Runs a future on a new thread with its own runtime: this thread may already run one.
pub fn on_own_thread(work: impl Future<Output = Result<()>> + Send) -> Result<()> {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?
                .block_on(work)
        });
        thread
            .join()
            .unwrap_or_else(|_| bail!("the thread panicked"))
    })
}
