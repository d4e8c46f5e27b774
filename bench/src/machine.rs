//! The machine that a run was measured on.

use std::fmt;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::bench::{median, micros};

/// The number of syncs that measure the disk.
const SYNCS: usize = 200;

#[derive(Debug)]
pub(crate) struct Machine {
    date: String,
    processor: String,
    cores: usize,
    memory_gib: f64,
    kernel: String,
    file_system: String,
    sync_us: f64,
    load_before: String,
    load_after: String,
    /// Processor time before and during the run.
    before: ProcessorTime,
    during_run: ProcessorTime,
    docent: String,
}

/// Processor time of all cores, in ticks of the kernel.
#[derive(Debug, Clone, Copy, Default)]
struct ProcessorTime {
    /// Time spent running.
    used: u64,
    /// Time runnable while the host ran other machines.
    stolen: u64,
}

impl ProcessorTime {
    fn now() -> Result<Self> {
        let text = fs::read_to_string("/proc/stat")?;
        let line = text.lines().next().unwrap_or_default();
        let ticks: Vec<u64> = line
            .split_ascii_whitespace()
            .skip(1)
            .map_while(|it| it.parse().ok())
            .collect();
        let [
            user,
            nice,
            system,
            _idle,
            _waiting,
            interrupts,
            soft,
            stolen,
            ..,
        ] = ticks[..]
        else {
            bail!("/proc/stat has an unknown format");
        };
        Ok(Self {
            used: user + nice + system + interrupts + soft,
            stolen,
        })
    }

    fn since(self, before: Self) -> Self {
        Self {
            used: self.used - before.used,
            stolen: self.stolen - before.stolen,
        }
    }

    fn stolen_percent(self) -> f64 {
        let runnable = (self.used + self.stolen).max(1);
        self.stolen as f64 * 100.0 / runnable as f64
    }
}

impl Machine {
    /// Reads the machine's state before the run; `work` is the directory of the stores.
    pub(crate) fn before_run(work: &Path, docent: &Path) -> Result<Self> {
        let version = std::process::Command::new(docent)
            .arg("--version")
            .output()
            .with_context(|| format!("cannot start {}", docent.display()))?;
        Ok(Self {
            date: jiff::Zoned::now().date().to_string(),
            processor: field("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown".to_owned()),
            cores: fs::read_to_string("/proc/cpuinfo")?
                .lines()
                .filter(|line| line.starts_with("processor"))
                .count(),
            memory_gib: field("/proc/meminfo", "MemTotal")
                .and_then(|text| text.strip_suffix(" kB")?.parse::<f64>().ok())
                .unwrap_or_default()
                / (1024.0 * 1024.0),
            kernel: fs::read_to_string("/proc/sys/kernel/osrelease")?
                .trim()
                .to_owned(),
            file_system: file_system(work)?,
            sync_us: sync_time(work)?,
            load_before: load()?,
            load_after: String::new(),
            before: ProcessorTime::now()?,
            during_run: ProcessorTime::default(),
            docent: String::from_utf8_lossy(&version.stdout).trim().to_owned(),
        })
    }

    /// Adds the machine's state after the run.
    pub(crate) fn after_run(&mut self) -> Result<()> {
        self.load_after = load()?;
        self.during_run = ProcessorTime::now()?.since(self.before);
        Ok(())
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "- date: {}, version: {}", self.date, self.docent)?;
        writeln!(
            formatter,
            "- processor: {}, {} cores; memory: {:.0} GiB; Linux {}",
            self.processor, self.cores, self.memory_gib, self.kernel
        )?;
        writeln!(
            formatter,
            "- disk: {}; appending 4 KiB and syncing takes {:.0} µs (median of {SYNCS})",
            self.file_system, self.sync_us
        )?;
        writeln!(
            formatter,
            "- load average (1, 5, 15 minutes) before: {}; after: {}",
            self.load_before, self.load_after
        )?;
        writeln!(
            formatter,
            "- other machines on the same host took {:.0} % of the processor time",
            self.during_run.stolen_percent()
        )
    }
}

fn field(path: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let value = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.trim_start().strip_prefix(':'))?;
    Some(value.trim().to_owned())
}

fn load() -> Result<String> {
    let text = fs::read_to_string("/proc/loadavg")?;
    let numbers: Vec<&str> = text.split_ascii_whitespace().take(3).collect();
    Ok(numbers.join(" "))
}

/// Returns the type and the device of a directory's file system.
fn file_system(directory: &Path) -> Result<String> {
    let directory = directory.canonicalize()?;
    let mounts = fs::read_to_string("/proc/mounts")?;
    let found = mounts
        .lines()
        .filter_map(|line| {
            let mut fields = line.split(' ');
            let (device, point, kind) = (fields.next()?, fields.next()?, fields.next()?);
            directory
                .starts_with(point)
                .then(|| (point.len(), format!("{kind} on {device}")))
        })
        .max_by_key(|(length, _)| *length);
    Ok(found.map_or_else(|| "unknown".to_owned(), |(_, text)| text))
}

fn sync_time(directory: &Path) -> Result<f64> {
    let path = directory.join("sync-time");
    let mut file = File::create(&path)?;
    let mut times = Vec::with_capacity(SYNCS);
    for _ in 0..SYNCS {
        let started = Instant::now();
        file.write_all(&[0; 4096])?;
        file.sync_data()?;
        times.push(micros(started.elapsed()));
    }
    fs::remove_file(&path)?;
    Ok(median(&times))
}
