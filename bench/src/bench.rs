//! Shared by all measurements: paths, and a docent server with a token.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::Args;

use crate::client;
use crate::load::{Client, Repeated, Source};
use crate::process::{Cores, CpuReading, Server};

/// The name prefix of catalogs kept for the next run.
pub(crate) const KEPT: &str = "kept-";

/// The number of connections that read.
pub(crate) const CONNECTIONS: usize = 16;

#[derive(Debug, Clone)]
pub(crate) struct Bench {
    /// The measured binary.
    pub(crate) docent: PathBuf,
    /// The directory of all stores, on the measured disk.
    pub(crate) work: PathBuf,
    /// Where scripts/set-up-peers installs the peers: the target directory.
    pub(crate) environments: PathBuf,
    /// A short run with less precise results.
    pub(crate) quick: bool,
    pub(crate) search: SearchOptions,
    /// Recorded requests of DataHub's web page.
    pub(crate) page_requests: Option<PathBuf>,
}

/// For work on search; a full run uses none of these.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct SearchOptions {
    /// The number of datasets to search [default: a million, or 20000 with --quick]
    #[arg(long, value_name = "NUMBER")]
    pub(crate) datasets: Option<usize>,
    /// Do not measure the full-text search of SQLite and PostgreSQL
    #[arg(long)]
    pub(crate) without_peers: bool,
    /// Keep the catalog for the next run, and use the one that the previous run kept
    #[arg(long)]
    pub(crate) keep: bool,
}

impl Bench {
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.work.join(name)
    }

    /// Creates a token for a store, and the store if it does not exist.
    pub(crate) fn create_store(&self, name: &str) -> Result<Store> {
        let path = self.path(name);
        let token = self.create_token(&store_url(&path))?;
        Ok(Store { path, token })
    }

    /// Creates a token for a store, and the store if it does not exist.
    pub(crate) fn create_token(&self, url: &str) -> Result<String> {
        self.create_token_at(url, "datahub")
    }

    /// Creates a token of a user.
    pub(crate) fn create_token_of(&self, user: &str, store: &Store) -> Result<String> {
        self.create_token_at(&store_url(&store.path), user)
    }

    fn create_token_at(&self, url: &str, user: &str) -> Result<String> {
        let output = Command::new(&self.docent)
            .args(["token", "create", "--name", "bench"])
            .args(["--user", user, "--store", url])
            .output()
            .with_context(|| format!("cannot start {}", self.docent.display()))?;
        let message = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "cannot create a token: {message}");
        Ok(String::from_utf8(output.stdout)?.trim().to_owned())
    }

    /// Computes the relationships and other derived data of a store.
    pub(crate) fn rebuild(&self, store: &Store) -> Result<()> {
        let output = Command::new(&self.docent)
            .args(["rebuild", "--store", &store_url(&store.path)])
            .output()
            .with_context(|| format!("cannot start {}", self.docent.display()))?;
        let message = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "cannot rebuild a store: {message}");
        Ok(())
    }

    /// Starts docent on a store, optionally with a preloaded library.
    pub(crate) fn serve(&self, store: &Store, preload: Option<&Path>) -> Result<Docent> {
        let mut command = self.serve_command(&store_url(&store.path));
        if let Some(library) = preload {
            command.env("LD_PRELOAD", library);
        }
        self.started(command, Cores::Server, &store.token)
    }

    /// Starts docent on a store, where users without a role see what policies let them view.
    pub(crate) fn serve_with_view_policies(&self, store: &Store) -> Result<Docent> {
        let mut command = self.serve_command(&store_url(&store.path));
        command.args(["--view-policies", "on", "--default-role", "none"]);
        self.started(command, Cores::Server, &store.token)
    }

    /// Starts docent on a store with the sample catalog.
    pub(crate) fn serve_demo(&self, store: &Store) -> Result<Docent> {
        let mut command = self.serve_command(&store_url(&store.path));
        command.arg("--demo");
        self.started(command, Cores::Server, &store.token)
    }

    /// Starts docent on a store, on both cores.
    pub(crate) fn serve_on_both(&self, store: &Store) -> Result<Docent> {
        let command = self.serve_command(&store_url(&store.path));
        self.started(command, Cores::Both, &store.token)
    }

    /// Starts docent on the database at a URL, on both cores.
    pub(crate) fn serve_beside(&self, url: &str, token: &str) -> Result<Docent> {
        let mut command = self.serve_command(url);
        command
            .arg("--search-index")
            .arg(self.path("postgres-search"));
        self.started(command, Cores::Both, token)
    }

    fn serve_command(&self, url: &str) -> Command {
        // The server ends with this process, even if that is killed.
        let mut command = Command::new("setpriv");
        command
            .args(["--pdeathsig", "TERM"])
            .arg(&self.docent)
            .args([
                "serve",
                "--listen",
                "127.0.0.1:0",
                "--auth",
                "on",
                "--store",
            ])
            .arg(url);
        command
    }

    fn started(&self, command: Command, cores: Cores, token: &str) -> Result<Docent> {
        Ok(Docent {
            server: Server::start(command, cores, &self.path("docent.log"))?,
            token: token.to_owned(),
        })
    }

    /// Starts the canned server with this body.
    pub(crate) fn serve_canned(&self, body: &[u8]) -> Result<Server> {
        let file = self.path("canned-body");
        std::fs::write(&file, body)?;
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("canned").arg(&file);
        Server::start(command, Cores::Server, &self.path("canned.log"))
    }
}

fn store_url(path: &Path) -> String {
    format!("sqlite:{}", path.display())
}

/// A store on disk and a token that its servers accept.
#[derive(Debug, Clone)]
pub(crate) struct Store {
    pub(crate) path: PathBuf,
    pub(crate) token: String,
}

impl Store {
    /// Copies the store, which must not be in use.
    pub(crate) fn copy(&self, path: PathBuf) -> Result<Self> {
        crate::store::copy(&self.path, &path)?;
        Ok(Self {
            path,
            token: self.token.clone(),
        })
    }

    /// Removes the files, which could fill the disk.
    pub(crate) fn remove(self) -> Result<()> {
        std::fs::remove_file(&self.path)?;
        let index = crate::store::search_index(&self.path);
        if index.exists() {
            std::fs::remove_dir_all(index)?;
        }
        Ok(())
    }
}

/// A running docent.
#[derive(Debug)]
pub(crate) struct Docent {
    pub(crate) server: Server,
    pub(crate) token: String,
}

impl Docent {
    pub(crate) fn graphql(&self, body: &str) -> Vec<u8> {
        client::post("/api/graphql", &self.token, body)
    }

    pub(crate) fn batch(&self, body: &str) -> Vec<u8> {
        client::post("/aspects?action=ingestProposalBatch", &self.token, body)
    }

    pub(crate) async fn client(&self, connections: usize) -> Result<Client> {
        Client::open(self.server.address(), connections).await
    }
}

/// Prepared requests whose replies all have the same length.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) requests: Vec<Vec<u8>>,
    pub(crate) reply_length: usize,
}

impl Source for Prepared {
    fn request(&self, connection: usize, turn: u64, request: &mut Vec<u8>) -> bool {
        // Steps of a prime: all requests occur, and consecutive ones are not neighbors in the
        // store.
        let index = (turn_index(turn) * CONNECTIONS + connection) * 7919 % self.requests.len();
        request.extend_from_slice(&self.requests[index]);
        true
    }

    fn is_right(&self, reply: &[u8]) -> bool {
        reply.len() == self.reply_length
    }
}

impl Repeated for Prepared {
    fn distinct_requests(&self) -> usize {
        self.requests.len()
    }
}

/// Returns a turn as an index.
pub(crate) fn turn_index(turn: u64) -> usize {
    usize::try_from(turn).unwrap_or(usize::MAX)
}

/// Returns a server's CPU time per request, in microseconds.
pub(crate) fn per_request(before: &CpuReading, after: &CpuReading, requests: u64) -> f64 {
    micros(after.since(before)) / requests.max(1) as f64
}

pub(crate) fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

/// Returns the median, or 0 for no numbers.
pub(crate) fn median(numbers: &[f64]) -> f64 {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
}
