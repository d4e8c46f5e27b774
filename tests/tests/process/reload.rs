//! SIGHUP reloads the settings of a server without a terminal.

use std::fs;

use anyhow::ensure;
use docent_e2e::{Options, Server, temporary_directory};
use reqwest::Method;
use rustix::process::Signal;

#[test]
fn sighup_applies_the_settings_that_need_no_restart() -> anyhow::Result<()> {
    let directory = temporary_directory()?;
    let file = directory.path().join("docent.toml");
    fs::write(&file, "log = \"warn\"\n")?;
    let options = Options::default().argument("--config").argument(&file);
    let mut server = Server::start(options)?;
    let config = || Ok::<_, anyhow::Error>(server.get("/config")?.status);
    for _ in 0..3 {
        ensure!(config()? == 200);
    }
    ensure!(!server.printed().contains("GET /config"));

    let changed = "log = \"info\"\naddress-rate-limit = \"2/h\"\nui-listen = \"127.0.0.1:0\"\n";
    fs::write(&file, changed)?;
    server.signal(Signal::HUP)?;
    let line = server.logged_line("reloaded the settings")?;
    ensure!(line.contains("address-rate-limit, log changed"), "{line}");
    let line = server.logged_line("after a restart")?;
    ensure!(line.ends_with("after a restart: ui-listen"), "{line}");
    ensure!(config()? == 200 && config()? == 200 && config()? == 429);
    // Before it has a route.
    server.logged_line("GET - 429")?;

    ensure!(server.stop()?.success());
    Ok(())
}

#[test]
fn secrets_that_change_are_named_and_not_shown() -> anyhow::Result<()> {
    // The end of two keys.
    const KEY: &str = "MzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";
    let directory = temporary_directory()?;
    let path = |name: &str| directory.path().join(name);
    fs::write(path("client"), "first-secret\n")?;
    fs::write(path("key"), format!("MDEy{KEY}"))?;
    let file = path("docent.toml");
    fs::write(
        &file,
        format!(
            "secret-key-file = '{}'\npublic-url = 'https://docent.example.com'\n[[oidc]]\n\
             issuer = 'https://id.example.com'\nclient-id = 'docent'\nclient-secret-file = '{}'\n",
            path("key").display(),
            path("client").display()
        ),
    )?;
    let mut server = Server::start(Options::default().argument("--config").argument(&file))?;
    server.signal(Signal::HUP)?;
    server.logged_line("no value has changed")?;
    fs::write(path("client"), "second-secret\n")?;
    fs::write(path("key"), format!("MTIz{KEY}"))?;
    server.signal(Signal::HUP)?;
    server.logged_line("reloaded the settings: oidc.oidc.client-secret-file changed")?;
    let line = server.logged_line("after a restart")?;
    ensure!(line.ends_with("after a restart: secret-key-file"), "{line}");
    ensure!(server.stop()?.success());
    let printed = server.printed();
    ensure!(
        !printed.contains("second-secret") && !printed.contains(KEY),
        "{printed}"
    );
    Ok(())
}

#[test]
fn invalid_settings_change_nothing() -> anyhow::Result<()> {
    let directory = temporary_directory()?;
    let file = directory.path().join("docent.toml");
    fs::write(&file, "address-rate-limit = \"1000/s\"\n")?;
    let options = Options::default().argument("--config").argument(&file);
    let server = Server::start(options)?;
    fs::write(&file, "address-rate-limit = \"1/h\"\nlisten = 7\n")?;
    server.signal(Signal::HUP)?;
    let line = server.logged_line("the settings were not reloaded")?;
    ensure!(line.contains("docent.toml"), "{line}");
    for _ in 0..3 {
        let reply = server.send(server.anonymous_request(Method::GET, "/config"))?;
        ensure!(reply.status == 200, "{reply:?}");
    }
    Ok(())
}
