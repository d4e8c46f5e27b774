//! Child processes on a core of their own: starting, watching and always stopping them.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Where whatever is measured runs.
pub(crate) const SERVER_CORE: usize = 0;
/// Where the load generator runs.
pub(crate) const CLIENT_CORE: usize = 1;

const STOP_TIMEOUT: Duration = Duration::from_secs(15);
/// Taking a million datasets into the search index takes minutes.
const REST_TIMEOUT: Duration = Duration::from_mins(15);

/// Where a child runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cores {
    /// On the core of whatever is measured.
    Server,
    /// On either, as the system likes.
    Both,
}

/// Lets the calling thread, and what it starts from now on, run on both cores.
pub(crate) fn unpin() -> Result<()> {
    let mut cores = CpuSet::new();
    cores.set(SERVER_CORE);
    cores.set(CLIENT_CORE);
    sched_setaffinity(None, &cores).context("cannot run on both cores")
}

/// Puts the calling thread, and what it starts from now on, on one core.
pub(crate) fn pin(core: usize) -> Result<()> {
    let mut cores = CpuSet::new();
    cores.set(core);
    sched_setaffinity(None, &cores).with_context(|| format!("cannot run on core {core}"))
}

/// Fails where there are no two cores to put things on.
pub(crate) fn check_cores() -> Result<()> {
    let cores = sched_getaffinity(None)?;
    ensure!(
        cores.is_set(SERVER_CORE) && cores.is_set(CLIENT_CORE),
        "two cores are needed, one for the server and one for the load generator"
    );
    Ok(())
}

/// A server that prints its address as the end of its first line.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    address: SocketAddr,
}

impl Server {
    /// Starts `command`. Its log goes to `log`.
    pub(crate) fn start(mut command: Command, cores: Cores, log: &Path) -> Result<Self> {
        let log = File::options().create(true).append(true).open(log)?;
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log);
        let mut child = start(&mut command, cores)?;
        let first_line = child.stdout.take().context("no output").and_then(|output| {
            let mut line = String::new();
            BufReader::new(output).read_line(&mut line)?;
            Ok(line)
        });
        // From here on the child is stopped whatever happens.
        let mut server = Self {
            child,
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
        };
        let line = first_line?;
        server.address = line
            .trim_end()
            .rsplit_once("http://")
            .and_then(|(_, address)| address.parse().ok())
            .with_context(|| format!("{command:?} did not say where it listens: '{line}'"))?;
        Ok(server)
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The time that each thread of the process has spent on a core so far.
    pub(crate) fn cpu(&self) -> Result<CpuReading> {
        cpu([self.child.id()])
    }

    /// Waits until the server, which nobody asks anything, has done next to nothing for some time.
    pub(crate) async fn come_to_rest(&self, time: Duration) -> Result<()> {
        let started = Instant::now();
        while started.elapsed() < REST_TIMEOUT {
            let before = self.cpu()?;
            tokio::time::sleep(time).await;
            if self.cpu()?.since(&before) < time / 50 {
                return Ok(());
            }
        }
        bail!("a server that nobody asks anything does not come to rest")
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// A memory field of the process in KiB, such as `VmRSS`.
    pub(crate) fn memory_kib(&self, field: &str) -> Result<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        status
            .lines()
            .find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))
            .and_then(|rest| rest.trim().strip_suffix(" kB")?.parse().ok())
            .with_context(|| format!("the process has no {field}"))
    }

    /// Asks the server to stop and waits until it has; it must end without an error.
    pub(crate) fn stop(mut self) -> Result<()> {
        kill_process(self.pid()?, Signal::TERM)?;
        let started = Instant::now();
        while started.elapsed() < STOP_TIMEOUT {
            if let Some(status) = self.child.try_wait()? {
                ensure!(status.success(), "a server ended with {status}");
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        bail!("a server did not stop within {} s", STOP_TIMEOUT.as_secs())
    }

    fn pid(&self) -> Result<Pid> {
        Pid::from_raw(self.child.id().cast_signed()).context("a process without an id")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Fails only if it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A child inherits the cores of the thread that starts it.
pub(crate) fn start(command: &mut Command, cores: Cores) -> Result<Child> {
    let before = sched_getaffinity(None)?;
    match cores {
        Cores::Server => pin(SERVER_CORE)?,
        Cores::Both => unpin()?,
    }
    let child = command
        .spawn()
        .with_context(|| format!("cannot start {}", command.get_program().display()));
    sched_setaffinity(None, &before)?;
    child
}

/// The time that each thread of some processes has spent on a core so far.
pub(crate) fn cpu(processes: impl IntoIterator<Item = u32>) -> Result<CpuReading> {
    let mut threads = HashMap::new();
    for process in processes {
        // A process or a thread may have ended since it was listed.
        let Ok(entries) = fs::read_dir(format!("/proc/{process}/task")) else {
            continue;
        };
        for entry in entries {
            let path = entry?.path();
            let Ok(text) = fs::read_to_string(path.join("schedstat")) else {
                continue;
            };
            let nanoseconds = text
                .split_ascii_whitespace()
                .next()
                .and_then(|field| field.parse().ok())
                .context("schedstat has no time: this kernel keeps no scheduler statistics")?;
            threads.insert(path, nanoseconds);
        }
    }
    Ok(CpuReading(threads))
}

/// Times of the threads of some processes at one moment.
#[derive(Debug)]
pub(crate) struct CpuReading(HashMap<std::path::PathBuf, u64>);

impl CpuReading {
    /// What was spent between two readings. A thread that ended in between counts up to the first one.
    pub(crate) fn since(&self, earlier: &Self) -> Duration {
        let spent = self.0.iter().map(|(thread, after)| {
            after.saturating_sub(earlier.0.get(thread).copied().unwrap_or(0))
        });
        Duration::from_nanos(spent.sum())
    }
}
