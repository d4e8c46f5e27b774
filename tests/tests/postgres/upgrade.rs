//! Rolling upgrades: old servers keep running while new ones start.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use anyhow::{bail, ensure};
use docent_e2e::{CommandOutput, docent_command, temporary_directory};
use docent_test_postgres::Database;

use crate::caller::Caller;
use crate::{TIMEOUT, dataset, expect_sound, start_servers};

/// The number after that of the last migration.
const NEXT_STEP: u32 = 10;

/// Migrates the database as the first server of a newer version would.
fn migrate(database: &Database, number: u32, additive: bool) -> anyhow::Result<()> {
    database.sql(&format!(
        "BEGIN; SELECT pg_advisory_xact_lock(hashtext('docent_migration'), 0); \
         ALTER TABLE edge ADD COLUMN later{number} text; \
         CREATE INDEX later_{number} ON edge (later{number}) WHERE later{number} IS NOT NULL; \
         INSERT INTO docent_migration (number, name, checksum, additive) VALUES ({number}, 'later', '', {additive}); \
         COMMIT"
    ))
}

#[test]
fn old_servers_keep_serving_while_a_newer_one_migrates() -> anyhow::Result<()> {
    let database = Database::empty()?;
    let servers = start_servers(database.url(), 2)?;
    let callers = servers
        .iter()
        .map(Caller::new)
        .collect::<anyhow::Result<Vec<_>>>()?;
    let (stop, written) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        let clients: Vec<_> = (0..4)
            .map(|client| {
                let (caller, stop, written) = (&callers[client % 2], &stop, &written);
                scope.spawn(move || -> anyhow::Result<(String, u64)> {
                    let urn = dataset(format!("upgraded-{client}"));
                    let mut done = 0;
                    while !stop.load(Ordering::Relaxed) {
                        let response = caller.patch(&urn, &format!("p{done}"))?;
                        ensure!(
                            response.status == 200,
                            "{} {}",
                            response.status,
                            response.body
                        );
                        done += 1;
                        ensure!(caller.properties(&urn)?.1 == done, "{urn} after {done}");
                        written.fetch_add(1, Ordering::Relaxed);
                    }
                    Ok((urn, done))
                })
            })
            .collect();
        let wait_for_writes = || -> anyhow::Result<()> {
            let (before, started) = (written.load(Ordering::Relaxed), Instant::now());
            while written.load(Ordering::Relaxed) < before + 40 {
                ensure!(started.elapsed() < TIMEOUT, "the clients are stuck");
                thread::yield_now();
            }
            Ok(())
        };
        let upgraded = (|| {
            wait_for_writes()?;
            migrate(&database, NEXT_STEP, true)?;
            wait_for_writes()?;
            // An old server starts on the new schema, as after a downgrade.
            let servers = start_servers(database.url(), 1)?;
            let (third, started) = (Caller::new(&servers[0])?, Instant::now());
            // The new server first builds its index.
            while third
                .found_unless_unavailable("*")?
                .is_none_or(|found| found == 0)
            {
                ensure!(started.elapsed() < TIMEOUT, "nothing is found");
            }
            migrate(&database, NEXT_STEP + 1, true)?;
            wait_for_writes()
        })();
        stop.store(true, Ordering::Relaxed);
        for client in clients {
            let (urn, done) = client
                .join()
                .unwrap_or_else(|_| bail!("a client panicked"))?;
            for caller in &callers {
                ensure!(
                    caller.properties(&urn)?.1 == done,
                    "{urn} differs from what was written"
                );
            }
        }
        upgraded
    })?;
    expect_sound(database.url())
}

#[test]
fn old_servers_do_not_start_after_an_incompatible_migration() -> anyhow::Result<()> {
    let database = Database::empty()?;
    drop(start_servers(database.url(), 1)?);
    migrate(&database, NEXT_STEP, false)?;
    let directory = temporary_directory()?;
    for command in [
        ["serve", "--listen", "127.0.0.1:0"].as_slice(),
        &["check"],
        &["rebuild"],
    ] {
        let mut docent = docent_command(directory.path())?;
        docent.args(command).args(["--store", database.url()]);
        let rejection = CommandOutput::run(&mut docent)?.failed()?;
        ensure!(
            rejection.contains(&format!(
                "written by a newer docent (step {NEXT_STEP}, later): use that version"
            )),
            "{rejection}"
        );
    }
    Ok(())
}
