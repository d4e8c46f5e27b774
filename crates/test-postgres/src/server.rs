//! A server that belongs to one test.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::{
    TIMEOUT, create_and_start, hand_over, programs, run, socket_url_template, sql, start,
    unprivileged,
};

/// Part of the name of a socket.
const DEFAULT_PORT: u16 = 5432;

/// Options of a server with default durability.
const DURABLE: &str = "-c shared_buffers=64MB";

/// A server for one test, which may stop, kill and restart it. Commits are durable.
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

    /// Starts a server with TLS on a port of `localhost`. Certificate and key are in PEM format.
    /// Also returns the port.
    pub fn start_encrypted(certificate: &str, key: &str) -> Result<(Self, u16)> {
        let directory = tempfile::Builder::new().prefix("docent-tls-").tempdir()?;
        hand_over(directory.path())?;
        for (name, text) in [("certificate", certificate), ("key", key)] {
            let path = directory.path().join(name);
            fs::write(&path, text)?;
            // The server rejects a key that others can read.
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
            if let Some(user) = unprivileged()? {
                chown(&path, Some(user), None)?;
            }
        }
        // Another process may take the port first; then the test fails.
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
        hand_over(directory.path())?;
        let programs = programs()?;
        create_and_start(&programs, directory.path(), options)?;
        Ok(Self {
            directory,
            programs,
            port,
        })
    }

    /// The URL of its database.
    pub fn url(&self) -> String {
        let url = socket_url_template(self.directory.path()).replace("{database}", "postgres");
        format!("{url}&port={}", self.port)
    }

    /// A URL with the hosts of two servers, for clients that connect to the primary.
    pub fn url_with(&self, other: &Self) -> String {
        let other =
            utf8_percent_encode(&other.directory.path().to_string_lossy(), NON_ALPHANUMERIC)
                .to_string();
        format!("{}&host={other}", self.url())
    }

    /// Starts a synchronous standby of this server.
    pub fn start_standby(&self) -> Result<Self> {
        let directory = tempfile::Builder::new()
            .prefix("docent-standby-")
            .tempdir()?;
        hand_over(directory.path())?;
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
        let standby = Self {
            directory,
            programs: self.programs.clone(),
            port: DEFAULT_PORT,
        };
        self.sql("ALTER SYSTEM SET synchronous_standby_names = '*'")?;
        self.sql("SELECT pg_reload_conf()")?;
        let started = Instant::now();
        let is_synchronous =
            "SELECT 1 / count(*) FROM pg_stat_replication WHERE sync_state = 'sync'";
        while self.sql(is_synchronous).is_err() {
            ensure!(
                started.elapsed() < TIMEOUT,
                "the standby does not replicate"
            );
        }
        Ok(standby)
    }

    /// Promotes a standby to primary.
    pub fn promote(&self) -> Result<()> {
        let mut promote = Command::new(self.programs.join("pg_ctl"));
        promote.args(["promote", "--wait", "--pgdata"]);
        run(
            promote.arg(self.directory.path().join("data")),
            self.directory.path(),
        )?;
        // Copied from the former primary; this one has no standby.
        self.sql("ALTER SYSTEM RESET synchronous_standby_names")?;
        self.sql("SELECT pg_reload_conf()")
    }

    /// Runs SQL statements.
    pub fn sql(&self, statements: &str) -> Result<()> {
        sql(&self.url(), statements)
    }

    /// Kills all processes at once.
    pub fn kill(&self) -> Result<()> {
        self.signal_all(Signal::KILL)?;
        let started = Instant::now();
        // Those that were created meanwhile would keep the shared memory for a while.
        loop {
            let processes = self.processes()?;
            if processes.is_empty() {
                return Ok(());
            }
            ensure!(started.elapsed() < TIMEOUT, "the server still runs");
            for process in processes {
                let _ = kill_process(process, Signal::KILL);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Restarts the server after [`Server::kill`], and kills it again while it recovers.
    pub fn kill_during_start(&self, delay: Duration) -> Result<()> {
        let killed = self.main_process()?;
        let is_started = || self.main_process().is_ok_and(|main| main != killed);
        let started = Instant::now();
        std::thread::scope(|scope| {
            while !is_started() {
                ensure!(started.elapsed() < TIMEOUT, "the server does not start");
                // Fails if the server is killed before it accepts connections.
                let starting =
                    scope.spawn(|| start(&self.programs, self.directory.path(), DURABLE));
                while !is_started() && !starting.is_finished() {
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
            std::thread::sleep(delay);
            self.kill()
        })
    }

    /// Restarts the server after [`Server::kill`].
    pub fn restart(&self) -> Result<()> {
        let started = Instant::now();
        // Processes of the killed server may still hold its shared memory.
        while let Err(error) = start(&self.programs, self.directory.path(), DURABLE) {
            if started.elapsed() > TIMEOUT {
                return Err(error);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// Sends a signal to all processes, for example to pause them.
    pub fn signal_all(&self, signal: Signal) -> Result<()> {
        // The main process first: it would replace the others.
        let main = self.main_process()?;
        let others = self.processes()?.into_iter().filter(|it| *it != main);
        for process in [main].into_iter().chain(others) {
            // The process may have exited meanwhile.
            let _ = kill_process(process, signal);
        }
        Ok(())
    }

    /// All processes of the server, also those whose main process is gone. They run in its data
    /// directory.
    fn processes(&self) -> Result<Vec<Pid>> {
        let data = self.directory.path().join("data").canonicalize()?;
        let mut processes = Vec::new();
        for entry in fs::read_dir("/proc")? {
            let entry = entry?;
            let directory = fs::read_link(entry.path().join("cwd"));
            if directory.is_ok_and(|directory| directory == data) {
                let name = entry.file_name();
                let id = name.to_str().and_then(|name| name.parse().ok());
                processes.extend(id.and_then(Pid::from_raw));
            }
        }
        Ok(processes)
    }

    fn main_process(&self) -> Result<Pid> {
        let file = fs::read_to_string(self.directory.path().join("data/postmaster.pid"))?;
        let id = file.lines().next().unwrap_or_default().trim().parse()?;
        Pid::from_raw(id).context("the server has no process id")
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
