//! Ctrl-C and SIGTERM for commands that take long and may be ended at any time, because what they store is whole.

use anyhow::{Context as _, Result};
use tokio::signal::unix::{SignalKind, signal};

/// What a shell reports for programs that signals ended.
pub(crate) const EXIT_INTERRUPTED: i32 = 130;
const EXIT_TERMINATED: i32 = 143;

/// From now on a wish to stop ends the process at once with this sentence. It is heard by a thread of its own: the others
/// may be waiting for a database, or be busy with one.
pub(crate) fn end_with(sentence: String) -> Result<()> {
    let failed = "cannot wait for Ctrl-C";
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()
        .context(failed)?;
    let entered = runtime.enter();
    let mut interrupt = signal(SignalKind::interrupt()).context(failed)?;
    let mut terminate = signal(SignalKind::terminate()).context(failed)?;
    drop(entered);
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            let code = runtime.block_on(async {
                tokio::select! {
                    _ = interrupt.recv() => EXIT_INTERRUPTED,
                    _ = terminate.recv() => EXIT_TERMINATED,
                }
            });
            eprintln!("docent: {sentence}");
            std::process::exit(code);
        })
        .context(failed)?;
    Ok(())
}
