//! A clock that is set while a server runs, or is wrong when it starts.

use anyhow::ensure;
use docent_e2e::{CommandOutput, FaultyClock, Options, Server, temporary_directory};

use super::{Tags, graphql};

const HOUR: i64 = 60 * 60;
const YEAR: i64 = 366 * 24 * HOUR;

fn check(server: &Server) -> anyhow::Result<()> {
    let mut check = server.docent(["check", "--store", server.store()])?;
    let checked = CommandOutput::run(&mut check)?.succeeded()?;
    ensure!(checked.contains("the store is healthy"), "{checked}");
    Ok(())
}

#[test]
fn a_clock_that_jumps_loses_nothing_and_delays_nobody() -> anyhow::Result<()> {
    let directory = temporary_directory()?;
    let clock = FaultyClock::new(directory.path())?;
    let options = Options::default().without_authentication();
    let mut server = Server::start(clock.of(options))?;
    let mut tags = Tags::new(&server)?;
    // In 1970, as after a failure of the battery.
    for ahead in [HOUR, -HOUR, 75 * YEAR, 0, -56 * YEAR, 1, 0] {
        clock.set_ahead(ahead)?;
        for _ in 0..3 {
            let reply = tags.write(&server)?;
            ensure!(reply.status == 200, "{ahead}: {reply:?}");
            tags.verify(&server)?;
            tags.verify_search(&server)?;
        }
        // A start with this clock.
        server.kill()?;
        server.restart()?;
        tags.verify(&server)?;
        tags.verify_search(&server)?;
    }
    let query = r#"{ auditLog(input: {entity: "urn:li:tag:one"}) { events { time } } }"#;
    let reply = graphql(&server, query)?;
    let events = reply["data"]["auditLog"]["events"].as_array();
    ensure!(events.is_some_and(|events| events.len() == 22), "{reply}");
    ensure!(server.stop()?.success());
    check(&server)
}

#[test]
fn a_clock_that_is_far_ahead_deletes_nothing_of_the_audit_log() -> anyhow::Result<()> {
    let directory = temporary_directory()?;
    let clock = FaultyClock::new(directory.path())?;
    let options = Options::default()
        .without_authentication()
        .argument("--audit-retention")
        .argument("1");
    let mut server = Server::start(clock.of(options))?;
    let mut tags = Tags::new(&server)?;
    clock.set_ahead(75 * YEAR)?;
    ensure!(server.stop()?.success());
    server.restart()?;
    // After what a start does in the background.
    for _ in 0..3 {
        tags.write(&server)?;
        tags.verify_search(&server)?;
    }
    clock.set_ahead(0)?;
    let query = r#"{ auditLog(input: {entity: "urn:li:tag:one"}) { events { time } } }"#;
    let reply = graphql(&server, query)?;
    let events = reply["data"]["auditLog"]["events"].as_array();
    ensure!(events.is_some_and(|events| events.len() == 4), "{reply}");
    Ok(())
}
