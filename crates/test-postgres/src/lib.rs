//! A PostgreSQL server for tests, and a database of it for each.
//!
//! The first test that needs the server starts it, from the programs of the installed package, on a Unix socket in a
//! directory of its own; the others find it there. Every process that uses it holds a lock on a file, and a shell beside
//! the server stops it when nobody has for a while. So it makes no difference how tests are run, and nothing has to be
//! started or stopped by hand.
//!
//! Tests that stop, kill or overload a server start one of their own ([`Server::start`]).
//!
//! This crate depends on no other crate of the workspace, so that tests from outside can use it.

use std::fs::{self, File};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use rustix::process::{Pid, Signal, kill_process};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;
use tokio_postgres::{NoTls, SimpleQueryMessage};

/// Names a server that is there already; its user must be allowed to create databases.
const GIVEN: &str = "TEST_DATABASE_URL";
/// How long the server may take for one thing: far more than it needs.
const PATIENCE: Duration = Duration::from_mins(1);

/// For speed: what the tests of this server write need not outlive a power failure.
const FAST: &str =
    "-c fsync=off -c full_page_writes=off -c synchronous_commit=off -c shared_buffers=64MB";
/// Sockets are told apart by it.
const DEFAULT_PORT: u16 = 5432;
/// As servers are set up by default.
const DURABLE: &str = "-c shared_buffers=64MB";

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

/// The variable that chooses the engine.
const VARIABLE: &str = "DOCENT_TEST_STORE";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    Sqlite,
    Postgres,
}

impl Engine {
    /// The engine that the tests are run with.
    pub fn chosen() -> Result<Self> {
        match std::env::var(VARIABLE).as_deref() {
            Err(_) | Ok("" | "sqlite") => Ok(Self::Sqlite),
            Ok("postgres") => Ok(Self::Postgres),
            Ok(other) => bail!("{VARIABLE} is '{other}': it is sqlite or postgres"),
        }
    }
}

/// A database of its own on the shared server; dropping it removes it, whoever is connected.
#[derive(Debug)]
pub struct Database {
    name: String,
    url: String,
}

impl Database {
    /// A database without any table.
    pub fn empty() -> Result<Self> {
        Self::make("template1")
    }

    /// A copy of a template that `fill` is called for once; `version` tells templates apart.
    pub fn filled(version: &str, fill: impl FnOnce(&str) -> Result<()>) -> Result<Self> {
        let template = shared()?.template(version, fill)?;
        Self::make(&template)
    }

    fn make(template: &str) -> Result<Self> {
        let server = shared()?;
        let name = format!("test_{}", uuid::Uuid::new_v4().simple());
        server.sql(&format!("CREATE DATABASE {name} TEMPLATE {template}"))?;
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

    /// What a statement finds, as text.
    pub fn rows(&self, statement: &str) -> Result<Vec<Vec<Option<String>>>> {
        let mut found = Vec::new();
        on_own_thread(async {
            let (client, connection) = tokio_postgres::connect(&self.url, NoTls).await?;
            let connection = tokio::spawn(connection);
            for message in client.simple_query(statement).await? {
                if let SimpleQueryMessage::Row(row) = message {
                    let texts = (0..row.len()).map(|at| row.get(at).map(str::to_owned));
                    found.push(texts.collect());
                }
            }
            drop(client);
            Ok(connection.await??)
        })?;
        Ok(found)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // One that stays goes with the server.
        if let Ok(server) = shared() {
            let _ = server.sql(&format!(
                "DROP DATABASE IF EXISTS {} WITH (FORCE)",
                self.name
            ));
        }
    }
}

/// The server that all tests use.
fn shared() -> Result<&'static Shared> {
    static SERVER: OnceLock<Result<Shared, String>> = OnceLock::new();
    let server = SERVER.get_or_init(|| Shared::find().map_err(|error| format!("{error:#}")));
    server.as_ref().map_err(|error| anyhow::anyhow!("{error}"))
}

#[derive(Debug)]
struct Shared {
    /// A URL with `{database}` where the name of the database goes.
    pattern: String,
    /// Held as long as the process lives; see [`KEEPER`].
    _in_use: Option<File>,
    directory: PathBuf,
}

impl Shared {
    fn find() -> Result<Self> {
        let directory = shared_directory()?;
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
        let shared = Self {
            pattern: socket_pattern(&directory),
            _in_use: Some(in_use),
            directory,
        };
        if shared.sql("SELECT 1").is_err() {
            let programs = programs()?;
            let data = shared.directory.join("data");
            if data.exists() {
                fs::remove_dir_all(&data)?;
            }
            make_and_start(&programs, &shared.directory, FAST)?;
            let mut keeper = Command::new("setsid");
            keeper
                .args(["--fork", "bash", "-c", KEEPER, "keeper"])
                .arg(&shared.directory)
                .arg(&programs);
            run(&mut keeper, &shared.directory)?;
        }
        Ok(shared)
    }

    fn url(&self, database: &str) -> String {
        self.pattern.replace("{database}", database)
    }

    fn sql(&self, statement: &str) -> Result<()> {
        sql(&self.url("postgres"), statement)
    }

    /// The name of a database that has been filled, by whoever needs it first.
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
        let making = File::create(self.directory.join("start.lock"))?;
        making.lock()?;
        if !done.exists() {
            self.sql(&format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"))?;
            self.sql(&format!("CREATE DATABASE {name}"))?;
            fill(&self.url(&name))?;
            // Given servers have their data elsewhere.
            fs::create_dir_all(self.directory.join("data"))?;
            File::create(&done)?;
        }
        Ok(name)
    }
}

/// A server for one test, to be stopped, killed and started again; what it acknowledged is on the disk.
#[derive(Debug)]
pub struct Server {
    directory: TempDir,
    programs: PathBuf,
    port: u16,
}

impl Server {
    pub fn start() -> Result<Self> {
        let directory = tempfile::Builder::new()
            .prefix("docent-postgres-")
            .tempdir()?;
        Self::started_in(directory, DURABLE, DEFAULT_PORT)
    }

    /// A server on a port of `localhost` that speaks TLS, with this certificate and key in PEM form. Returns the port, too.
    pub fn start_encrypted(certificate: &str, key: &str) -> Result<(Self, u16)> {
        let directory = tempfile::Builder::new().prefix("docent-tls-").tempdir()?;
        let_in(directory.path())?;
        for (name, text) in [("certificate", certificate), ("key", key)] {
            let path = directory.path().join(name);
            fs::write(&path, text)?;
            // The server wants the key to be nobody else's.
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
            if let Some(user) = unprivileged()? {
                chown(&path, Some(user), None)?;
            }
        }
        // Free now; whoever takes it before the server does makes the test fail, not pass.
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let folder = directory.path().display();
        let options = format!(
            "{DURABLE} -c ssl=on -c ssl_cert_file={folder}/certificate -c ssl_key_file={folder}/key \
             -c port={port} -c listen_addresses=127.0.0.1"
        );
        let server = Self::started_in(directory, &options, port)?;
        Ok((server, port))
    }

    fn started_in(directory: TempDir, options: &str, port: u16) -> Result<Self> {
        let_in(directory.path())?;
        let programs = programs()?;
        make_and_start(&programs, directory.path(), options)?;
        Ok(Self {
            directory,
            programs,
            port,
        })
    }

    /// The URL of its database.
    pub fn url(&self) -> String {
        let pattern = socket_pattern(self.directory.path()).replace("{database}", "postgres");
        format!("{pattern}&port={}", self.port)
    }

    /// The URL of the database for those who take whichever of the two servers can be written to.
    pub fn url_with(&self, other: &Self) -> String {
        let other =
            utf8_percent_encode(&other.directory.path().to_string_lossy(), NON_ALPHANUMERIC)
                .to_string();
        format!("{}&host={other}", self.url())
    }

    /// A server that follows this one. From now on what this one acknowledges is on the disks of both.
    pub fn follower(&self) -> Result<Self> {
        let directory = tempfile::Builder::new()
            .prefix("docent-follower-")
            .tempdir()?;
        let_in(directory.path())?;
        let mut copy = Command::new(self.programs.join("pg_basebackup"));
        copy.args([
            "--username=tests",
            "--checkpoint=fast",
            "--no-sync",
            "--write-recovery-conf",
        ]);
        copy.arg("--host").arg(self.directory.path());
        copy.args(["--port", &self.port.to_string(), "--pgdata"]);
        run(copy.arg(directory.path().join("data")), directory.path())?;
        start(&self.programs, directory.path(), DURABLE)?;
        let follower = Self {
            directory,
            programs: self.programs.clone(),
            port: DEFAULT_PORT,
        };
        self.sql("ALTER SYSTEM SET synchronous_standby_names = '*'")?;
        self.sql("SELECT pg_reload_conf()")?;
        let started = Instant::now();
        let follows = "SELECT 1 / count(*) FROM pg_stat_replication WHERE sync_state = 'sync'";
        while self.sql(follows).is_err() {
            ensure!(started.elapsed() < PATIENCE, "the server is not followed");
        }
        Ok(follower)
    }

    /// Makes a follower the server that is written to.
    pub fn promote(&self) -> Result<()> {
        // The settings came with the copy, and nobody follows this one.
        let mut promote = Command::new(self.programs.join("pg_ctl"));
        promote.args(["promote", "--wait", "--pgdata"]);
        run(
            promote.arg(self.directory.path().join("data")),
            self.directory.path(),
        )?;
        self.sql("ALTER SYSTEM RESET synchronous_standby_names")?;
        self.sql("SELECT pg_reload_conf()")
    }

    /// Runs statements on it.
    pub fn sql(&self, statements: &str) -> Result<()> {
        sql(&self.url(), statements)
    }

    /// Ends all its processes at once, as a power failure would.
    pub fn kill(&self) -> Result<()> {
        let file = fs::read_to_string(self.directory.path().join("data/postmaster.pid"))?;
        let id = file.lines().next().unwrap_or_default().trim().parse()?;
        let main = Pid::from_raw(id).context("the server has no process id")?;
        // The others notice and end by themselves.
        kill_process(main, Signal::KILL)?;
        let started = Instant::now();
        while self.sql("SELECT 1").is_ok() {
            ensure!(started.elapsed() < PATIENCE, "the server did not end");
        }
        Ok(())
    }

    /// Starts it again after [`Server::kill`].
    pub fn start_again(&self) -> Result<()> {
        let started = Instant::now();
        // Processes of the killed server may still have its memory.
        while let Err(error) = start(&self.programs, self.directory.path(), DURABLE) {
            if started.elapsed() > PATIENCE {
                return Err(error);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// Lets its processes pause or go on.
    pub fn signal_all(&self, signal: Signal) -> Result<()> {
        let file = fs::read_to_string(self.directory.path().join("data/postmaster.pid"))?;
        let main: i32 = file.lines().next().unwrap_or_default().trim().parse()?;
        for entry in fs::read_dir("/proc")? {
            let name = entry?.file_name();
            let Some(id) = name.to_str().and_then(|name| name.parse::<i32>().ok()) else {
                continue;
            };
            let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
            let parent = stat
                .rsplit(')')
                .next()
                .and_then(|rest| rest.split(' ').nth(2)?.parse().ok());
            if (id == main || parent == Some(main))
                && let Some(process) = Pid::from_raw(id)
            {
                // One that has ended meanwhile needs no signal.
                let _ = kill_process(process, signal);
            }
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let mut stop = Command::new(self.programs.join("pg_ctl"));
        stop.args(["stop", "--silent", "--mode", "immediate", "--pgdata"])
            .arg(self.directory.path().join("data"));
        let _ = run(&mut stop, self.directory.path());
    }
}

/// A directory that the server's user may enter, with a name that is short enough for a socket.
fn shared_directory() -> Result<PathBuf> {
    let digest = Sha256::digest(env!("CARGO_MANIFEST_DIR").as_bytes());
    let user = rustix::process::getuid().as_raw();
    let name = format!(
        "docent-postgres-{user}-{:02x}{:02x}{:02x}",
        digest[0], digest[1], digest[2]
    );
    let directory = std::env::temp_dir().join(name);
    fs::create_dir_all(&directory)?;
    let_in(&directory)?;
    Ok(directory)
}

/// Gives a directory to the server's user.
fn let_in(directory: &Path) -> Result<()> {
    fs::set_permissions(directory, fs::Permissions::from_mode(0o755))?;
    if let Some(user) = unprivileged()? {
        chown(directory, Some(user), None)?;
    }
    Ok(())
}

fn socket_pattern(directory: &Path) -> String {
    let host = utf8_percent_encode(&directory.to_string_lossy(), NON_ALPHANUMERIC).to_string();
    format!("postgres://tests@/{{database}}?host={host}")
}

fn make_and_start(programs: &Path, directory: &Path, options: &str) -> Result<()> {
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
    run(pg_ctl.arg(directory.join("data")), directory)
}

/// Runs a program as a user who may run a database server.
fn run(command: &mut Command, directory: &Path) -> Result<()> {
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

/// Where the server's programs are: Debian keeps them beside their version, not on the path.
fn programs() -> Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places: Vec<PathBuf> = std::env::split_paths(&path).collect();
    if let Ok(versions) = fs::read_dir("/usr/lib/postgresql") {
        let mut versions: Vec<PathBuf> = versions
            .filter_map(|entry| Some(entry.ok()?.path().join("bin")))
            .collect();
        versions.sort_unstable();
        places.extend(versions.into_iter().rev());
    }
    let found = places
        .into_iter()
        .find(|place| place.join("pg_ctl").exists() && place.join("initdb").exists())
        .context("PostgreSQL is not installed: scripts/set-up-system postgresql installs it")?;
    // On the path may be links to some of them; all of them are together.
    let program = fs::canonicalize(found.join("pg_ctl"))?;
    Ok(program.parent().map_or(found, Path::to_owned))
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

/// Runs something that needs a runtime, from wherever we are: one may be running on this thread.
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
