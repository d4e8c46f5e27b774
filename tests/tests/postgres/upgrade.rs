//! New versions come server by server: the others go on meanwhile.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use anyhow::{bail, ensure};
use docent_e2e::{CommandOutput, docent_command, temporary_directory};
use docent_test_postgres::Database;

use crate::caller::Caller;
use crate::{PATIENCE, dataset, is_sound, open_servers};

/// What a newer version does to the database when the first of its servers starts.
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
fn servers_of_the_version_before_serve_while_a_newer_one_migrates() -> anyhow::Result<()> {
    let database = Database::empty()?;
    let servers = open_servers(database.url(), 2)?;
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
                        let answer = caller.patch(&urn, &format!("p{done}"))?;
                        ensure!(answer.status == 200, "{} {}", answer.status, answer.body);
                        done += 1;
                        ensure!(caller.properties(&urn)?.1 == done, "{urn} after {done}");
                        written.fetch_add(1, Ordering::Relaxed);
                    }
                    Ok((urn, done))
                })
            })
            .collect();
        let go_on = || -> anyhow::Result<()> {
            let (before, started) = (written.load(Ordering::Relaxed), Instant::now());
            while written.load(Ordering::Relaxed) < before + 40 {
                ensure!(started.elapsed() < PATIENCE, "nobody writes any more");
                thread::yield_now();
            }
            Ok(())
        };
        let upgraded = (|| {
            go_on()?;
            migrate(&database, 4, true)?;
            go_on()?;
            // One more of the version before, as an operator would start it who rolls back.
            let servers = open_servers(database.url(), 1)?;
            let (third, started) = (Caller::new(&servers[0])?, Instant::now());
            // Its index takes a moment.
            while third
                .found_unless_refused("*")?
                .is_none_or(|found| found == 0)
            {
                ensure!(started.elapsed() < PATIENCE, "nothing is found");
            }
            migrate(&database, 5, true)?;
            go_on()
        })();
        stop.store(true, Ordering::Relaxed);
        for client in clients {
            let (urn, done) = client
                .join()
                .unwrap_or_else(|_| bail!("a client panicked"))?;
            for caller in &callers {
                ensure!(
                    caller.properties(&urn)?.1 == done,
                    "{urn} is not what was written"
                );
            }
        }
        upgraded
    })?;
    is_sound(database.url())
}

#[test]
fn a_server_refuses_to_start_where_a_newer_one_changed_what_it_relies_on() -> anyhow::Result<()> {
    let database = Database::empty()?;
    drop(open_servers(database.url(), 1)?);
    migrate(&database, 4, false)?;
    let directory = temporary_directory()?;
    for command in [
        ["serve", "--listen", "127.0.0.1:0"].as_slice(),
        &["check"],
        &["rebuild"],
    ] {
        let mut docent = docent_command(directory.path())?;
        docent.args(command).args(["--store", database.url()]);
        let refusal = CommandOutput::run(&mut docent)?.failed()?;
        ensure!(
            refusal.contains("made by a newer docent (step 4, later): use that one"),
            "{refusal}"
        );
    }
    Ok(())
}
