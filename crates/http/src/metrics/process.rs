//! What the operating system says about this process, from `/proc`.

use std::fs;

/// The unit of times in `/proc/self/stat`, which Linux fixes for programs, in seconds.
const TICK: f64 = 0.01;

/// The numbers that exist on Linux; elsewhere there are none.
#[derive(Debug, Default, PartialEq)]
pub(super) struct ProcessMeasurements {
    pub(super) cpu_seconds: Option<f64>,
    pub(super) resident_bytes: Option<u64>,
    pub(super) virtual_bytes: Option<u64>,
    pub(super) threads: Option<u64>,
    pub(super) open_files: Option<u64>,
    pub(super) max_files: Option<u64>,
}

impl ProcessMeasurements {
    pub(super) fn read() -> Self {
        let read = |name: &str| fs::read_to_string(format!("/proc/self/{name}"));
        let status = read("status").unwrap_or_default();
        let files = fs::read_dir("/proc/self/fd").ok();
        Self {
            cpu_seconds: read("stat").ok().and_then(|stat| cpu_seconds(&stat)),
            resident_bytes: kib(&status, "VmRSS:"),
            virtual_bytes: kib(&status, "VmSize:"),
            threads: number(&status, "Threads:"),
            // Without the one that reads the directory.
            open_files: files.map(|files| (files.count() as u64).saturating_sub(1)),
            max_files: read("limits")
                .ok()
                .and_then(|limits| number(&limits, "Max open files")),
        }
    }
}

/// The time in user and kernel mode. The name of the program, which may contain anything, is in
/// parentheses before it.
#[expect(
    clippy::cast_precision_loss,
    reason = "a process does not run for 2^53 ticks"
)]
fn cpu_seconds(stat: &str) -> Option<f64> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<u64>().ok();
    Some((ticks()? + ticks()?) as f64 * TICK)
}

/// The first number after a name at the start of a line.
fn number(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_whitespace().next()?.parse().ok()
}

fn kib(text: &str, name: &str) -> Option<u64> {
    Some(number(text, name)? * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_of_this_process_are_plausible() {
        let read = ProcessMeasurements::read();
        assert!(read.resident_bytes > Some(1_000_000), "{read:?}");
        assert!(read.virtual_bytes > read.resident_bytes, "{read:?}");
        assert!(read.open_files > Some(2), "{read:?}");
        assert!(read.max_files >= read.open_files, "{read:?}");
        assert!(read.threads > Some(0), "{read:?}");
        assert!(read.cpu_seconds.is_some(), "{read:?}");
    }

    #[test]
    fn names_of_programs_may_contain_anything() {
        let stat = "7 (a) 1 (b)) S 1 7 7 0 -1 4194560 1 0 0 0 150 50 9 9 20 0 1 0";
        assert_eq!(cpu_seconds(stat), Some(2.0));
    }
}
