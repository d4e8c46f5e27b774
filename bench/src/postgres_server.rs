//! A PostgreSQL server in the work directory, reached through its socket.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use rustix::process::{Pid, Signal, geteuid, kill_process};
use tokio_postgres::{Client, NoTls};

use crate::bench::Bench;
use crate::process::{self, Cores};

const PROGRAMS: &str = "/usr/lib/postgresql/15/bin";
/// The database user, and the system user for the server if the benchmark runs as root, which
/// PostgreSQL rejects.
pub(crate) const USER: &str = "postgres";
const START_TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) fn is_installed() -> bool {
    Path::new(PROGRAMS).join("postgres").exists()
}

#[derive(Debug)]
pub(crate) struct PostgresServer {
    child: Child,
    directory: PathBuf,
}

impl PostgresServer {
    /// Starts a new server with these settings. Only one can run at a time.
    pub(crate) fn start(bench: &Bench, cores: Cores, settings: &[&str]) -> Result<Self> {
        let directory = bench.path("postgres");
        let log = File::create(bench.path("postgres.log"))?;
        std::fs::create_dir(&directory)?;
        if geteuid().is_root() {
            let status = Command::new("chown").arg(USER).arg(&directory).status()?;
            ensure!(status.success(), "no user {USER} to run PostgreSQL as");
        }
        let data = directory.join("data");
        let status = as_user("initdb")
            .args([
                "--auth=trust",
                "--encoding=UTF8",
                "--locale=C",
                "--no-sync",
                "-U",
                USER,
                "-D",
            ])
            .arg(&data)
            .stdout(log.try_clone()?)
            .stderr(log.try_clone()?)
            .status()?;
        ensure!(status.success(), "initdb failed: see postgres.log");
        let mut command = as_user("postgres");
        command.arg("-D").arg(&data).arg("-k").arg(&directory);
        for setting in settings.iter().chain(&["listen_addresses="]) {
            command.args(["-c", setting]);
        }
        command.stdout(log.try_clone()?).stderr(log);
        let server = Self {
            child: process::start(&mut command, cores)?,
            directory,
        };
        let started = Instant::now();
        while started.elapsed() < START_TIMEOUT {
            let ready = Command::new(format!("{PROGRAMS}/pg_isready"))
                .args(["-q", "-h"])
                .arg(&server.directory)
                .status()?;
            if ready.success() {
                return Ok(server);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        bail!("PostgreSQL did not start: see postgres.log")
    }

    /// Returns its current process ids.
    pub(crate) fn processes(&self) -> Result<Vec<u32>> {
        let id = self.child.id();
        let children = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children"))?;
        let children = children.split_ascii_whitespace().map(str::parse);
        let all: Result<Vec<u32>, _> = std::iter::once(Ok(id)).chain(children).collect();
        Ok(all?)
    }

    /// Connects to one of its databases.
    pub(crate) async fn connect(&self, database: &str) -> Result<Client> {
        let (client, connection) = tokio_postgres::Config::new()
            .host_path(&self.directory)
            .user(USER)
            .dbname(database)
            .connect(NoTls)
            .await?;
        // Ends with the client.
        tokio::spawn(connection);
        Ok(client)
    }

    /// Returns the URL of one of its databases, with the scheme that a client expects.
    pub(crate) fn url(&self, scheme: &str, database: &str) -> String {
        let directory = self.directory.to_string_lossy();
        let host = utf8_percent_encode(&directory, NON_ALPHANUMERIC);
        format!("{scheme}://{USER}@/{database}?host={host}")
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        // SIGINT is a fast shutdown.
        if let Some(pid) = Pid::from_raw(self.child.id().cast_signed()) {
            let _ = kill_process(pid, Signal::INT);
        }
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// Prepares a PostgreSQL program that ends with this process and does not run as root.
fn as_user(program: &str) -> Command {
    let mut command = Command::new("setpriv");
    if geteuid().is_root() {
        command.args(["--reuid", USER, "--regid", USER, "--clear-groups"]);
    }
    command
        .args(["--pdeathsig", "INT"])
        .arg(format!("{PROGRAMS}/{program}"));
    command
}
