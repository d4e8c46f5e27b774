//! Child processes pinned to a core: starting, measuring and always stopping them.

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

/// The core of the measured server.
pub(crate) const SERVER_CORE: usize = 0;
/// The core of the load generator.
pub(crate) const CLIENT_CORE: usize = 1;

const STOP_TIMEOUT: Duration = Duration::from_secs(15);
/// Indexing a million datasets takes minutes.
const IDLE_TIMEOUT: Duration = Duration::from_mins(15);

/// The cores of a child process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cores {
    /// The core of the measured server.
    Server,
    /// Both, scheduled by the system.
    Both,
}

/// Lets the calling thread and its future children run on both cores.
pub(crate) fn unpin() -> Result<()> {
    let mut cores = CpuSet::new();
    cores.set(SERVER_CORE);
    cores.set(CLIENT_CORE);
    sched_setaffinity(None, &cores).context("cannot run on both cores")
}

/// Pins the calling thread and its future children to one core.
pub(crate) fn pin(core: usize) -> Result<()> {
    let mut cores = CpuSet::new();
    cores.set(core);
    sched_setaffinity(None, &cores).with_context(|| format!("cannot run on core {core}"))
}

/// Fails if the machine has fewer than two cores.
pub(crate) fn check_cores() -> Result<()> {
    let cores = sched_getaffinity(None)?;
    ensure!(
        cores.is_set(SERVER_CORE) && cores.is_set(CLIENT_CORE),
        "two cores are needed, one for the server and one for the load generator"
    );
    Ok(())
}

/// A server that prints its address at the end of its first line.
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
        // From here on, dropping the value stops the child.
        let mut server = Self {
            child,
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
        };
        let line = first_line?;
        server.address = line
            .trim_end()
            .rsplit_once("http://")
            .and_then(|(_, address)| address.parse().ok())
            .with_context(|| format!("{command:?} did not print its address: '{line}'"))?;
        Ok(server)
    }

    /// Starts `command`, a server that listens at `address`. Returns before it listens. Its output
    /// goes to `log`.
    pub(crate) fn start_at(
        mut command: Command,
        cores: Cores,
        log: &Path,
        address: SocketAddr,
    ) -> Result<Self> {
        let log = File::options().create(true).append(true).open(log)?;
        command
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log);
        let child = start(&mut command, cores)?;
        Ok(Self { child, address })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the CPU time of each thread of the process so far.
    pub(crate) fn cpu(&self) -> Result<CpuReading> {
        cpu([self.child.id()])
    }

    /// Waits until the server has used almost no CPU time for a while.
    pub(crate) async fn wait_until_idle(&self, time: Duration) -> Result<()> {
        let started = Instant::now();
        while started.elapsed() < IDLE_TIMEOUT {
            let before = self.cpu()?;
            tokio::time::sleep(time).await;
            if self.cpu()?.since(&before) < time / 50 {
                return Ok(());
            }
        }
        bail!("a server without requests does not become idle")
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Whether the process has ended.
    pub(crate) fn has_ended(&mut self) -> Result<bool> {
        Ok(self.child.try_wait()?.is_some())
    }

    /// Returns a memory field of the process in KiB, such as `VmRSS`.
    pub(crate) fn memory_kib(&self, field: &str) -> Result<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        status
            .lines()
            .find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))
            .and_then(|rest| rest.trim().strip_suffix(" kB")?.parse().ok())
            .with_context(|| format!("the process has no {field}"))
    }

    /// Stops the server and waits for it; an error unless it succeeds.
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

/// Starts a child, which inherits the cores of the calling thread.
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

/// Returns a process and its descendants.
pub(crate) fn family(process: u32) -> Vec<u32> {
    let mut family = vec![process];
    let mut next = 0;
    while let Some(parent) = family.get(next) {
        next += 1;
        // A process or a thread may have ended since it was listed.
        let Ok(threads) = fs::read_dir(format!("/proc/{parent}/task")) else {
            continue;
        };
        for thread in threads.flatten() {
            let children = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
            let children = children.split_ascii_whitespace();
            family.extend(children.filter_map(|child| child.parse::<u32>().ok()));
        }
    }
    family
}

/// Returns the memory of some processes in KiB. A page that several share counts once.
pub(crate) fn memory_kib(processes: impl IntoIterator<Item = u32>) -> Result<u64> {
    let mut sum = 0;
    for process in processes {
        let Ok(rollup) = fs::read_to_string(format!("/proc/{process}/smaps_rollup")) else {
            continue;
        };
        let pss = rollup
            .lines()
            .find_map(|line| line.strip_prefix("Pss:")?.trim().strip_suffix(" kB"))
            .context("smaps_rollup has no Pss")?;
        sum += pss.trim().parse::<u64>()?;
    }
    Ok(sum)
}

/// Returns an address on which nothing listens.
pub(crate) fn free_address() -> Result<SocketAddr> {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0))?;
    Ok(listener.local_addr()?)
}

/// Returns the CPU time of each thread of some processes so far.
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
                .context("schedstat has no time: this kernel has no scheduler statistics")?;
            threads.insert(path, nanoseconds);
        }
    }
    Ok(CpuReading(threads))
}

/// CPU times of the threads of some processes at one moment.
#[derive(Debug)]
pub(crate) struct CpuReading(HashMap<std::path::PathBuf, u64>);

impl CpuReading {
    /// Returns the CPU time between two readings. A thread that ended in between counts up to the
    /// first.
    pub(crate) fn since(&self, earlier: &Self) -> Duration {
        let spent = self.0.iter().map(|(thread, after)| {
            after.saturating_sub(earlier.0.get(thread).copied().unwrap_or(0))
        });
        Duration::from_nanos(spent.sum())
    }
}
