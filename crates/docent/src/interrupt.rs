//! Ctrl-C, SIGTERM and SIGHUP for long commands that can be stopped at any time, because their
//! writes are atomic.

use anyhow::{Context as _, Result};
use tokio::signal::unix::{SignalKind, signal};

/// Exit codes that shells report for processes ended by a signal.
pub(crate) const EXIT_INTERRUPTED: i32 = 130;
const EXIT_TERMINATED: i32 = 143;
const EXIT_HUNG_UP: i32 = 129;

/// Exits with this message on a signal. A separate thread waits for signals, because the others may
/// be blocked on a database.
pub(crate) fn exit_on_signal(message: String) -> Result<()> {
    let failed = "cannot install the signal handlers";
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()
        .context(failed)?;
    let entered = runtime.enter();
    let mut interrupt = signal(SignalKind::interrupt()).context(failed)?;
    let mut terminate = signal(SignalKind::terminate()).context(failed)?;
    let mut hangup = signal(SignalKind::hangup()).context(failed)?;
    drop(entered);
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            let code = runtime.block_on(async {
                tokio::select! {
                    _ = interrupt.recv() => EXIT_INTERRUPTED,
                    _ = terminate.recv() => EXIT_TERMINATED,
                    _ = hangup.recv() => EXIT_HUNG_UP,
                }
            });
            eprintln!("docent: {message}");
            std::process::exit(code);
        })
        .context(failed)?;
    Ok(())
}
