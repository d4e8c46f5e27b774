//! Backups in directories and buckets, made by the command and by the schedule of the server.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use docent_e2e::{CommandOutput, Options, Server, on_postgres, python, temporary_directory};
use serde_json::json;

use super::proposal;

const TIMEOUT: Duration = Duration::from_mins(1);

/// Runs `docent backup` on the store of a server, which goes on serving.
fn back_up(server: &Server, arguments: &[&str]) -> anyhow::Result<CommandOutput> {
    let mut command = server.docent(["backup", "--store", server.store()])?;
    CommandOutput::run(command.args(arguments))
}

fn files(directory: &Path) -> anyhow::Result<BTreeSet<String>> {
    let names = fs::read_dir(directory)?.map(|entry| Ok(entry?.file_name()));
    let names: Vec<_> = names.collect::<anyhow::Result<_>>()?;
    Ok(names
        .iter()
        .map(|name| name.to_string_lossy().into_owned())
        .collect())
}

/// The only backup in a directory.
fn only_backup(directory: &Path) -> anyhow::Result<String> {
    let names: Vec<String> = files(directory)?.into_iter().collect();
    let [name] = names.as_slice() else {
        bail!("{names:?}");
    };
    Ok(name.clone())
}

#[test]
fn a_directory_keeps_the_newest_checked_backups() -> anyhow::Result<()> {
    let server = Server::start(Options::default().demo())?;
    let directory = temporary_directory()?;
    let place = directory.path().to_string_lossy();
    let empty = back_up(&server, &["--verify", &place])?.failed()?;
    ensure!(empty.contains("there is no backup at"), "{empty}");
    let old = ["2019", "2020", "2021"].map(|year| format!("docent-{year}0101T000000Z.backup"));
    for name in old.iter().map(String::as_str).chain(["notes.txt"]) {
        fs::write(directory.path().join(name), "")?;
    }

    let printed = back_up(&server, &[&place, "--keep", "2"])?.succeeded()?;
    ensure!(
        printed.contains("and checked it\ndeleted 2 older backups\n"),
        "{printed}"
    );
    let left = files(directory.path())?;
    ensure!(left.len() == 3, "{left:?}");
    ensure!(
        left.contains("notes.txt") && left.contains(&old[2]),
        "{left:?}"
    );

    let verified = back_up(&server, &["--verify", &place])?.succeeded()?;
    ensure!(verified.contains("the store is healthy"), "{verified}");
    ensure!(
        files(directory.path())? == left,
        "something was left behind"
    );
    if !on_postgres()? {
        let mut restore = server.docent(["restore", "--store", "sqlite:restored.db"])?;
        CommandOutput::run(restore.arg(&*place))?.succeeded()?;
        server.run_docent(["check", "--store", "sqlite:restored.db"])?;
    }
    Ok(())
}

#[test]
fn a_damaged_backup_is_recognized() -> anyhow::Result<()> {
    let server = Server::start(Options::default().demo())?;
    let directory = temporary_directory()?;
    let place = directory.path().to_string_lossy();
    back_up(&server, &[&place])?.succeeded()?;
    let file = directory.path().join(only_backup(directory.path())?);
    let mut bytes = fs::read(&file)?;
    let middle = bytes.len() / 2;
    for byte in &mut bytes[middle..middle + 5000] {
        *byte ^= 0x5a;
    }
    fs::write(&file, bytes)?;
    let error = back_up(&server, &["--verify", &place])?.failed()?;
    ensure!(error.contains(&*file.to_string_lossy()), "{error}");
    Ok(())
}

#[test]
fn wrong_places_are_explained() -> anyhow::Result<()> {
    let server = Server::start(Options::default())?;
    let error = back_up(&server, &["file.backup", "--keep", "3"])?.failed()?;
    ensure!(
        error.contains("--keep needs an existing directory"),
        "{error}"
    );
    let error = back_up(&server, &["--verify", "missing.backup"])?.failed()?;
    ensure!(error.contains("missing.backup"), "{error}");
    let error = back_up(&server, &["s3://bucket"])?.failed()?;
    ensure!(error.contains("AWS_ACCESS_KEY_ID"), "{error}");
    Ok(())
}

#[test]
fn the_server_backs_up_when_it_is_due() -> anyhow::Result<()> {
    let directory = temporary_directory()?;
    let old = "docent-20200101T000000Z.backup";
    fs::write(directory.path().join(old), "")?;
    let options = Options::default().demo();
    let options = options.argument("--backup-to").argument(directory.path());
    let mut server = Server::start(options.argument("--backup-keep").argument("1"))?;
    server.logged_line("deleted 1 older backups")?;
    let backup = only_backup(directory.path())?;
    back_up(&server, &["--verify", &directory.path().to_string_lossy()])?.succeeded()?;

    // The one that exists counts after a restart.
    server.restart()?;
    let time = format!(
        "{}-{}-{}T{}:{}:{}",
        &backup[7..11],
        &backup[11..13],
        &backup[13..15],
        &backup[16..18],
        &backup[18..20],
        &backup[20..22]
    );
    let deadline = Instant::now() + TIMEOUT;
    loop {
        let health = server.get("/health/detailed")?.json()?;
        let newest = health["backups"]["lastSuccessAt"]
            .as_str()
            .unwrap_or_default();
        if newest.starts_with(&time) {
            break;
        }
        ensure!(Instant::now() < deadline, "{time}: {health}");
        std::thread::sleep(Duration::from_millis(20));
    }
    ensure!(only_backup(directory.path())? == backup);
    Ok(())
}

/// A server of S3's protocol with one bucket, `backups`.
pub(super) struct ObjectStore {
    process: Child,
    pub(super) address: String,
}

impl ObjectStore {
    pub(super) fn start() -> anyhow::Result<Self> {
        let mut process = Command::new(python()?)
            .args([
                "-u",
                "-m",
                "moto.server",
                "--host",
                "127.0.0.1",
                "--port",
                "0",
            ])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        let output = process.stderr.take().context("no output")?;
        let mut lines = BufReader::new(output).lines();
        let address = loop {
            let line = lines.next().context("the object store did not start")??;
            if let Some((_, address)) = line.split_once("Running on ") {
                break address.trim().to_owned();
            }
        };
        // The process must not wait for somebody who reads its log.
        std::thread::spawn(move || lines.for_each(drop));
        let response = reqwest::blocking::Client::new()
            .put(format!("{address}/backups"))
            .send()?;
        ensure!(response.status() == 200, "{response:?}");
        Ok(Self { process, address })
    }

    pub(super) fn run(&self, command: &mut Command) -> anyhow::Result<String> {
        let command = command
            .env("AWS_ACCESS_KEY_ID", "key")
            .env("AWS_SECRET_ACCESS_KEY", "secret")
            .env("AWS_ENDPOINT_URL", &self.address);
        CommandOutput::run(command)?.succeeded()
    }
}

impl Drop for ObjectStore {
    fn drop(&mut self) {
        // Fails only if it has ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn a_bucket_has_backups_in_parts() -> anyhow::Result<()> {
    let server = Server::start(Options::default())?;
    // More than one part, which has 16 MiB.
    for index in 0..3 {
        let urn = format!("urn:li:dataset:(urn:li:dataPlatform:hive,big_{index},PROD)");
        let text = format!("{index}").repeat(7 * 1024 * 1024);
        let big = proposal(&urn, "datasetProperties", &json!({"description": text}));
        let reply = server.post("/aspects?action=ingestProposal", &json!({"proposal": big}))?;
        ensure!(reply.status == 200, "{}", reply.body);
    }
    let bucket = ObjectStore::start()?;
    let place = "s3://backups/docent/test";
    let command = |arguments: &[&str]| -> anyhow::Result<String> {
        let mut command = server.docent(["backup", "--store", server.store()])?;
        bucket.run(command.args(arguments))
    };
    let printed = command(&[place, "--keep", "1"])?;
    ensure!(
        printed.contains("backed up to s3://backups/docent/test/docent-"),
        "{printed}"
    );
    let first = printed
        .split(['/', ','])
        .nth(5)
        .context("no name")?
        .to_owned();
    let verified = command(&["--verify", place])?;
    ensure!(verified.contains(&first), "{verified}");
    let named = format!("{place}/{first}");
    ensure!(command(&["--verify", &named])? == verified);
    if !on_postgres()? {
        let mut restore = server.docent(["restore", "--store", "sqlite:restored.db", place])?;
        bucket.run(&mut restore)?;
        server.run_docent(["check", "--store", "sqlite:restored.db"])?;
    }

    let printed = command(&[place, "--keep", "1"])?;
    ensure!(printed.contains("deleted 1 older backups"), "{printed}");
    let mut gone = server.docent(["backup", "--store", server.store(), "--verify", &named])?;
    gone.env("AWS_ACCESS_KEY_ID", "key")
        .env("AWS_SECRET_ACCESS_KEY", "secret")
        .env("AWS_ENDPOINT_URL", &bucket.address);
    let error = CommandOutput::run(&mut gone)?.failed()?;
    ensure!(error.contains("there is no backup at"), "{error}");
    Ok(())
}
