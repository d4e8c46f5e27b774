//! A PostgreSQL server for tests, and a database of it for each.
//!
//! The first test that needs the server starts it, from the programs of the installed package, on a Unix socket in a
//! directory of its own; the others find it there. Every process that uses it holds a lock on a file, and a shell beside
//! the server stops it when nobody has for a while. So it makes no difference how tests are run, and nothing has to be
//! started or stopped by hand.
//!
//! A database is a copy of a template that has been migrated once.

use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use docent_store_postgres::{OpenOptions, PostgresStore, Settings};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use sha2::{Digest as _, Sha256};
use tokio_postgres::NoTls;

/// Names a server that is there already; its user must be allowed to create databases.
const GIVEN: &str = "TEST_DATABASE_URL";
/// How long the server may take for one thing: far more than it needs.
const PATIENCE: Duration = Duration::from_mins(1);

/// For speed: what the tests of this server write need not outlive a power failure.
const OPTIONS: &str = "-c listen_addresses= -c fsync=off -c full_page_writes=off -c synchronous_commit=off \
     -c max_connections=400 -c shared_buffers=64MB -c autovacuum_naptime=5s";

/// Stops the server when nobody has held the lock twice in a row. `$1` is the directory, `$2` that of the programs.
const KEEPER: &str = r#"
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

/// A database of its own; dropping it removes it, whoever is connected.
#[derive(Debug)]
pub struct Database {
    name: String,
    url: String,
}

impl Database {
    /// A copy of the migrated template.
    pub fn create() -> Result<Self> {
        let server = server()?;
        let template = server.template()?;
        let name = format!("test_{}", uuid::Uuid::new_v4().simple());
        sql(&server.url("postgres"), &format!("CREATE DATABASE {name} TEMPLATE {template}"))?;
        Ok(Self {
            url: server.url(&name),
            name,
        })
    }

    /// A database without any table.
    pub fn empty() -> Result<Self> {
        let server = server()?;
        let name = format!("test_{}", uuid::Uuid::new_v4().simple());
        sql(&server.url("postgres"), &format!("CREATE DATABASE {name}"))?;
        Ok(Self {
            url: server.url(&name),
            name,
        })
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// Runs statements on it.
    pub fn sql(&self, statements: &str) -> Result<()> {
        sql(&self.url, statements)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // One that stays goes with the server.
        if let Ok(server) = server() {
            let drop = format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name);
            let _ = sql(&server.url("postgres"), &drop);
        }
    }
}

/// The server that all tests of this process use.
fn server() -> Result<&'static Server> {
    static SERVER: OnceLock<Result<Server, String>> = OnceLock::new();
    let server = SERVER.get_or_init(|| Server::find().map_err(|error| format!("{error:#}")));
    server.as_ref().map_err(|error| anyhow::anyhow!("{error}"))
}

#[derive(Debug)]
struct Server {
    /// A URL with `{database}` where the name of the database goes.
    pattern: String,
    /// Held as long as the process lives; see [`KEEPER`].
    _in_use: Option<File>,
    directory: PathBuf,
}

impl Server {
    fn find() -> Result<Self> {
        let directory = own_directory()?;
        if let Ok(url) = std::env::var(GIVEN) {
            return Ok(Self {
                pattern: with_database(&url)?,
                _in_use: None,
                directory,
            });
        }
        let in_use = File::create(directory.join("use.lock"))?;
        in_use.lock_shared()?;
        let starting = File::create(directory.join("start.lock"))?;
        starting.lock()?;
        let host = utf8_percent_encode(&directory.to_string_lossy(), NON_ALPHANUMERIC).to_string();
        let server = Self {
            pattern: format!("postgres://tests@/{{database}}?host={host}"),
            _in_use: Some(in_use),
            directory,
        };
        if sql(&server.url("postgres"), "SELECT 1").is_err() {
            start(&server.directory)?;
        }
        Ok(server)
    }

    fn url(&self, database: &str) -> String {
        self.pattern.replace("{database}", database)
    }

    /// The name of a database with all tables, made by whoever needs it first.
    fn template(&self) -> Result<String> {
        let schema = include_str!("../../store-postgres/migrations/0001_aspects.sql");
        let digest = Sha256::digest(schema.as_bytes());
        let name = format!(
            "template_{:02x}{:02x}{:02x}{:02x}",
            digest[0], digest[1], digest[2], digest[3]
        );
        let done = self.directory.join(format!("data/{name}"));
        if done.exists() {
            return Ok(name);
        }
        let making = File::create(self.directory.join("start.lock"))?;
        making.lock()?;
        if !done.exists() {
            let administration = self.url("postgres");
            sql(&administration, &format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"))?;
            sql(&administration, &format!("CREATE DATABASE {name}"))?;
            migrate(&self.url(&name))?;
            // Given servers have their data elsewhere.
            fs::create_dir_all(self.directory.join("data"))?;
            File::create(&done)?;
        }
        Ok(name)
    }
}

/// A directory that the server's user may enter, with a name that is short enough for a socket.
fn own_directory() -> Result<PathBuf> {
    let digest = Sha256::digest(env!("CARGO_MANIFEST_DIR").as_bytes());
    let user = rustix::process::getuid().as_raw();
    let name = format!("docent-postgres-{user}-{:02x}{:02x}{:02x}", digest[0], digest[1], digest[2]);
    let directory = std::env::temp_dir().join(name);
    fs::create_dir_all(&directory)?;
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o755))?;
    if let Some(user) = unprivileged()? {
        chown(&directory, Some(user), None)?;
    }
    Ok(directory)
}

fn start(directory: &Path) -> Result<()> {
    let programs = programs()?;
    let data = directory.join("data");
    if data.exists() {
        fs::remove_dir_all(&data)?;
    }
    let mut initdb = Command::new(programs.join("initdb"));
    initdb.args(["--username=tests", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync", "--pgdata"]);
    run(initdb.arg(&data), directory)?;
    let mut pg_ctl = Command::new(programs.join("pg_ctl"));
    let options = format!("{OPTIONS} -c unix_socket_directories={}", directory.display());
    pg_ctl.args(["start", "--wait", "--options", &options, "--log"]);
    run(pg_ctl.arg(directory.join("log")).arg("--pgdata").arg(&data), directory)?;
    let mut keeper = Command::new("setsid");
    keeper
        .args(["--fork", "bash", "-c", KEEPER, "keeper"])
        .arg(directory)
        .arg(&programs);
    run(&mut keeper, directory)
}

/// Runs a program as a user who may run a database server.
pub fn run(command: &mut Command, directory: &Path) -> Result<()> {
    // A file, not a pipe: a server that is left running would keep a pipe open.
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
        .with_context(|| format!("{command:?} could not be started"))?;
    let started = Instant::now();
    let status = loop {
        match child.try_wait()? {
            Some(status) => break status,
            None if started.elapsed() > PATIENCE => {
                child.kill()?;
                bail!("{command:?} takes too long");
            }
            None => std::thread::sleep(Duration::from_millis(10)),
        }
    };
    let said = fs::read_to_string(&output).unwrap_or_default();
    let _ = fs::remove_file(&output);
    ensure!(status.success(), "{command:?}: {said}");
    Ok(())
}

/// Who runs the server: it refuses to be run by root.
fn unprivileged() -> Result<Option<u32>> {
    if !rustix::process::getuid().is_root() {
        return Ok(None);
    }
    let users = fs::read_to_string("/etc/passwd")?;
    let nobody = users
        .lines()
        .find_map(|line| line.strip_prefix("nobody:")?.split(':').nth(1)?.parse().ok());
    Ok(Some(nobody.context("there is no user 'nobody' to run PostgreSQL as")?))
}

/// Where the server's programs are: Debian keeps them beside their version, not on the path.
pub fn programs() -> Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places: Vec<PathBuf> = std::env::split_paths(&path).collect();
    if let Ok(versions) = fs::read_dir("/usr/lib/postgresql") {
        let mut versions: Vec<PathBuf> = versions
            .filter_map(|entry| Some(entry.ok()?.path().join("bin")))
            .collect();
        versions.sort_unstable();
        places.extend(versions.into_iter().rev());
    }
    places
        .into_iter()
        .find(|place| place.join("pg_ctl").exists() && place.join("initdb").exists())
        .context("PostgreSQL is not installed: scripts/set-up-system postgresql installs it")
}

/// The URL with a gap for the name of the database.
fn with_database(url: &str) -> Result<String> {
    let (base, query) = url.split_once('?').unwrap_or((url, ""));
    let Some((scheme, rest)) = base.split_once("://") else {
        bail!("{GIVEN} is no URL");
    };
    let authority = rest.split('/').next().unwrap_or_default();
    Ok(format!("{scheme}://{authority}/{{database}}?{query}"))
}

/// Runs statements, from wherever we are: a runtime may be running on this thread.
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

fn migrate(url: &str) -> Result<()> {
    on_own_thread(async move {
        let options = OpenOptions {
            create: true,
            watch: false,
        };
        drop(PostgresStore::open(&Settings::parse(url)?, options).await?);
        Ok(())
    })
}

fn on_own_thread(work: impl Future<Output = Result<()>> + Send) -> Result<()> {
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
