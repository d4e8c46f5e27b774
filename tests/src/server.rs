//! A running `docent serve` and a client for it.
//!
//! The server listens on a random port and prints it on its first line. Its directory survives a
//! stop or a kill, so [`Server::restart`] continues from the state that a crash left.

mod output;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use docent_test_postgres::{Database, Engine};
use reqwest::Method;
use reqwest::blocking::{Client, RequestBuilder};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::command::docent_command;
use crate::temporary::temporary_directory;
use output::Output;

/// Far longer than a start or a stop takes, so that a busy machine fails no test.
const TIMEOUT: Duration = Duration::from_mins(1);

const SQLITE_STORE: &str = "sqlite:docent.db";
/// The file that contains the store URL of a server whose store is not in its directory.
const STORE_FILE: &str = "store-url";

/// Options of a [`Server`]. The default is an empty store of the engine under test
/// (`DOCENT_TEST_STORE`), with authentication on.
#[derive(Debug, Clone, Default)]
pub struct Options {
    store: Option<String>,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    in_terminal: bool,
}

impl Options {
    /// Fills the store with the demo catalog.
    #[must_use]
    pub fn demo(self) -> Self {
        self.argument("--demo")
    }

    /// Turns authentication off.
    #[must_use]
    pub fn without_authentication(self) -> Self {
        self.argument("--auth").argument("off")
    }

    /// Uses this store; a relative path is relative to the server's directory.
    #[must_use]
    pub fn store(mut self, url: impl Into<String>) -> Self {
        self.store = Some(url.into());
        self
    }

    /// Adds one argument of `docent serve`.
    #[must_use]
    pub fn argument(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// Sets one environment variable.
    #[must_use]
    pub fn variable(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// Makes the standard input a terminal.
    #[must_use]
    pub fn in_terminal(mut self) -> Self {
        self.in_terminal = true;
        self
    }
}

/// A response, whatever its status.
#[derive(Debug, Clone)]
pub struct Reply {
    pub status: u16,
    pub body: String,
}

impl Reply {
    /// Parses the body as JSON.
    pub fn json(&self) -> anyhow::Result<Value> {
        serde_json::from_str(&self.body)
            .with_context(|| format!("status {}, not JSON: {}", self.status, self.body))
    }
}

/// A server process and its working directory.
#[derive(Debug)]
pub struct Server {
    options: Options,
    store: String,
    directory: TempDir,
    child: Child,
    output: Output,
    address: String,
    client: Client,
    default_token: OnceLock<String>,
    _database: Option<Database>,
}

impl Server {
    /// Starts a server in a new directory and waits until it listens.
    pub fn start(options: Options) -> anyhow::Result<Self> {
        let directory = temporary_directory()?;
        let database = match &options.store {
            None if on_postgres()? => Some(Database::empty()?),
            _ => None,
        };
        let store = match (&options.store, &database) {
            (Some(store), _) => store.clone(),
            (None, Some(database)) => {
                std::fs::write(directory.path().join(STORE_FILE), database.url())?;
                database.url().to_owned()
            }
            (None, None) => SQLITE_STORE.to_owned(),
        };
        // A path such as `sqlite:target/demo/docent.db` needs its directory.
        if let Some(parent) =
            store_path(&store).and_then(|path| path.parent().map(Path::to_path_buf))
        {
            std::fs::create_dir_all(directory.path().join(parent))?;
        }
        let (child, output, address) = spawn(&options, &store, directory.path())?;
        let client = Client::builder()
            .no_proxy()
            .timeout(TIMEOUT)
            .build()
            .context("could not build an HTTP client")?;
        Ok(Self {
            options,
            store,
            directory,
            child,
            output,
            address,
            client,
            default_token: OnceLock::new(),
            _database: database,
        })
    }

    /// Starts the server again on the same store, and kills the old process if it still runs.
    pub fn restart(&mut self) -> anyhow::Result<()> {
        self.kill()?;
        (self.child, self.output, self.address) =
            spawn(&self.options, &self.store, self.directory.path())?;
        Ok(())
    }

    /// Returns the address, such as `http://127.0.0.1:40123`.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Returns the server's working directory.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Returns the store URL that the server was started with.
    pub fn store(&self) -> &str {
        &self.store
    }

    /// Returns the process id of the running server.
    pub fn process_id(&self) -> u32 {
        self.child.id()
    }

    /// Returns the server's output so far: standard output, then standard error.
    pub fn printed(&self) -> String {
        self.output.text()
    }

    /// Waits until the server prints a line with this prefix.
    pub fn printed_line(&self, prefix: &str) -> anyhow::Result<String> {
        self.line_with(&format!("starts with {prefix:?}"), |line| {
            line.starts_with(prefix)
        })
    }

    /// Waits until the server logs a line that contains this text.
    pub fn logged_line(&self, text: &str) -> anyhow::Result<String> {
        self.line_with(&format!("contains {text:?}"), |line| line.contains(text))
    }

    fn line_with(
        &self,
        description: &str,
        matches: impl Fn(&str) -> bool,
    ) -> anyhow::Result<String> {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let printed = self.printed();
            if let Some(line) = printed.lines().find(|line| matches(line)) {
                return Ok(line.to_owned());
            }
            if Instant::now() > deadline {
                bail!("no line {description}:\n{printed}");
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Prepares another `docent` command in the server's directory.
    pub fn docent<I, A>(&self, arguments: I) -> anyhow::Result<Command>
    where
        I: IntoIterator<Item = A>,
        A: AsRef<OsStr>,
    {
        let mut command = docent_command(self.directory.path())?;
        command.args(arguments);
        Ok(command)
    }

    /// Runs another `docent` command and returns its standard output; an error unless it succeeds.
    pub fn run_docent<I, A>(&self, arguments: I) -> anyhow::Result<String>
    where
        I: IntoIterator<Item = A>,
        A: AsRef<OsStr>,
    {
        let mut command = self.docent(arguments)?;
        let output = command
            .stdin(Stdio::null())
            .output()
            .context("could not start docent")?;
        if !output.status.success() {
            bail!(
                "{command:?} ended with {}\n{}{}",
                output.status,
                String::from_utf8_lossy(&output.stdout),
                String::from_utf8_lossy(&output.stderr)
            );
        }
        String::from_utf8(output.stdout).context("docent's output is not UTF-8")
    }

    /// Creates a token for this user with `docent token create`.
    pub fn token(&self, user: &str) -> anyhow::Result<String> {
        let printed = self.run_docent([
            "token",
            "create",
            "--store",
            self.store(),
            "--user",
            user,
            "--name",
            "end-to-end",
        ])?;
        let token = printed.trim_end_matches('\n');
        if token.is_empty() || token.contains(char::is_whitespace) {
            bail!("`docent token create` must print only the token, but printed {printed:?}");
        }
        Ok(token.to_owned())
    }

    /// Prepares a request without a token.
    pub fn anonymous_request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client
            .request(method, format!("{}{path}", self.address))
    }

    /// Prepares a request as the user `datahub`.
    pub fn request(&self, method: Method, path: &str) -> anyhow::Result<RequestBuilder> {
        Ok(self
            .anonymous_request(method, path)
            .bearer_auth(self.default_token()?))
    }

    /// Sends a prepared request and returns the response, whatever its status.
    pub fn send(&self, request: RequestBuilder) -> anyhow::Result<Reply> {
        let response = request.send().context("no response from the server")?;
        let status = response.status().as_u16();
        let body = response.text().context("the response is incomplete")?;
        Ok(Reply { status, body })
    }

    /// Gets a path as the user `datahub`.
    pub fn get(&self, path: &str) -> anyhow::Result<Reply> {
        self.send(self.request(Method::GET, path)?)
    }

    /// Posts JSON as the user `datahub`.
    pub fn post(&self, path: &str, body: &Value) -> anyhow::Result<Reply> {
        self.send(self.request(Method::POST, path)?.json(body))
    }

    /// Executes a GraphQL document as the user `datahub` and returns the whole reply, including
    /// errors.
    #[expect(clippy::needless_pass_by_value, reason = "callers pass json!({…})")]
    pub fn graphql(&self, query: &str, variables: Value) -> anyhow::Result<Value> {
        let reply = self.post(
            "/api/graphql",
            &json!({ "query": query, "variables": variables }),
        )?;
        if reply.status != 200 {
            bail!("GraphQL returned {}: {}", reply.status, reply.body);
        }
        reply.json()
    }

    /// Stops the server with SIGTERM and waits for it.
    pub fn stop(&mut self) -> anyhow::Result<ExitStatus> {
        self.signal(Signal::TERM)?;
        self.wait()
    }

    /// Sends a signal to the server.
    pub fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        kill_process(Pid::from_child(&self.child), signal)
            .with_context(|| format!("could not send {signal:?}"))
    }

    /// Returns how the server has ended, if it has.
    pub fn ended(&mut self) -> anyhow::Result<Option<ExitStatus>> {
        Ok(self.child.try_wait()?)
    }

    /// Waits until the server has ended.
    pub fn wait(&mut self) -> anyhow::Result<ExitStatus> {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            if let Some(status) = self.child.try_wait()? {
                self.output.finish();
                return Ok(status);
            }
            if Instant::now() > deadline {
                bail!("the server did not stop; it printed:\n{}", self.printed());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Kills the server with SIGKILL, like a crash. Does nothing if it has ended already.
    pub fn kill(&mut self) -> anyhow::Result<()> {
        self.child.kill().context("could not send SIGKILL")?;
        self.child
            .wait()
            .context("could not wait for the killed server")?;
        self.output.finish();
        Ok(())
    }

    fn default_token(&self) -> anyhow::Result<&str> {
        if let Some(token) = self.default_token.get() {
            return Ok(token);
        }
        let token = self.token("datahub")?;
        Ok(self.default_token.get_or_init(|| token))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Fails only if the server has ended already.
        self.kill().ok();
        if std::thread::panicking() {
            eprintln!("the server printed:\n{}", self.printed());
        }
    }
}

/// Whether the tests run on PostgreSQL.
pub fn on_postgres() -> anyhow::Result<bool> {
    Ok(Engine::selected()? == Engine::Postgres)
}

/// Returns the store URL of the server in a directory, by default its SQLite file.
pub fn store_in(directory: &Path) -> String {
    std::fs::read_to_string(directory.join(STORE_FILE)).unwrap_or_else(|_| SQLITE_STORE.to_owned())
}

/// Returns the path of an SQLite store's URL.
fn store_path(url: &str) -> Option<PathBuf> {
    url.strip_prefix("sqlite:").map(PathBuf::from)
}

fn spawn(
    options: &Options,
    store: &str,
    directory: &Path,
) -> anyhow::Result<(Child, Output, String)> {
    // Open until the server has started, which asks once.
    let terminal = options.in_terminal.then(Terminal::open).transpose()?;
    let input = match &terminal {
        Some(terminal) => Stdio::from(terminal.server_end.try_clone()?),
        None => Stdio::null(),
    };
    let mut child = docent_command(directory)?
        .args(["serve", "--listen", "127.0.0.1:0", "--store", store])
        .args(&options.arguments)
        .envs(
            options
                .environment
                .iter()
                .map(|(name, value)| (name, value)),
        )
        .stdin(input)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("could not start docent")?;
    let (mut output, first_line) = Output::collect(&mut child)?;
    let Ok(line) = first_line.recv_timeout(TIMEOUT) else {
        child.kill().ok();
        let status = child.wait()?;
        output.finish();
        bail!(
            "the server did not start and ended with {status}; it printed:\n{}",
            output.text()
        );
    };
    let Some(address) = address_in(&line) else {
        child.kill().ok();
        child.wait()?;
        bail!("the server's first line must contain its address, but was {line:?}");
    };
    Ok((child, output, address.to_owned()))
}

/// The two ends of a terminal.
struct Terminal {
    server_end: File,
    _our_end: OwnedFd,
}

impl Terminal {
    fn open() -> anyhow::Result<Self> {
        let our_end = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
        grantpt(&our_end)?;
        unlockpt(&our_end)?;
        let name = ptsname(&our_end, Vec::new())?;
        let server_end = File::options()
            .read(true)
            .write(true)
            .open(name.to_str()?)?;
        Ok(Self {
            server_end,
            _our_end: our_end,
        })
    }
}

/// Parses the address in `Docent 0.1.0 is listening on http://127.0.0.1:40123`.
fn address_in(line: &str) -> Option<&str> {
    let (version, address) = line
        .strip_prefix("Docent ")?
        .split_once(" is listening on ")?;
    let (scheme, port) = address.split_once("://127.0.0.1:")?;
    if !["http", "https"].contains(&scheme) {
        return None;
    }
    (!version.is_empty() && port.parse::<u16>().is_ok()).then_some(address)
}

#[cfg(test)]
mod tests {
    use super::address_in;

    #[test]
    fn the_address_is_parsed_from_the_first_line() {
        let line = "Docent 0.1.0 is listening on http://127.0.0.1:40123";
        assert_eq!(address_in(line), Some("http://127.0.0.1:40123"));
    }

    #[test]
    fn a_line_without_a_port_has_no_address() {
        assert_eq!(
            address_in("Docent 0.1.0 is listening on http://127.0.0.1"),
            None
        );
        assert_eq!(address_in("starting"), None);
    }
}
