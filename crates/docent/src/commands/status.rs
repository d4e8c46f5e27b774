//! `docent status`: how a server or a store is.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Error, Result, anyhow, bail, ensure};
use clap::Args;
use docent_client::{ClientError, HttpClient};
use serde_json::Value;
use url::Url;

use super::{note, runtime, say};
use crate::engine::{self, OpenMode};
use crate::import_marker;
use crate::settings::StoreFlags;

const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];

#[derive(Debug, Args)]
pub(crate) struct StatusFlags {
    /// Address of a running server; without it, the store is read
    url: Option<String>,
    /// File with the token of an administrator, for sizes and the search index
    #[arg(long, value_name = "FILE", requires = "url")]
    token_file: Option<PathBuf>,
}

pub(super) fn run(store: &StoreFlags, flags: &StatusFlags) -> Result<()> {
    let runtime = runtime()?;
    match &flags.url {
        Some(url) => runtime.block_on(of_server(url, flags.token_file.as_deref())),
        None => runtime.block_on(of_store(store)),
    }
}

async fn of_server(address: &str, token_file: Option<&Path>) -> Result<()> {
    let mut url = server_url(address)?;
    url.set_path("/health/detailed");
    let token = token_file.map(read_token).transpose()?;
    let (status, health) = HttpClient::default()
        .get_json(url.as_str(), token.as_deref())
        .await
        .map_err(|error| no_answer(address, error))?;
    match status.as_u16() {
        200 => {}
        401 => bail!(
            "{address} does not accept the token: it has expired or was revoked; 'docent token create' makes one"
        ),
        status => match health["message"].as_str() {
            Some(message) => bail!("{url} returned {status}: {message}"),
            None => bail!("{url} returned {status}; is it the address of a Docent server?"),
        },
    }
    let (Some(is_ready), Some(version)) = (health["ready"].as_bool(), health["version"].as_str())
    else {
        bail!(
            "{url} is not the health of a Docent server: use its address, for example http://localhost:8080"
        );
    };
    say(format!("server: {address}"));
    say(format!("version: {version}"));
    say(format!("ready: {}", yes_or_no(is_ready)));
    if health["engine"].is_string() {
        print_details(&health);
    } else if token.is_some() {
        note(
            "the user of the token needs the privilege VIEW_SYSTEM_STATUS to see sizes and the search index",
        );
    } else {
        note("--token-file with a token of an administrator shows sizes and the search index");
    }
    ensure!(
        is_ready,
        "the server cannot read or write its store; its log has the cause"
    );
    Ok(())
}

/// The error of a request to a server that has no response.
pub(super) fn no_answer(address: &str, error: ClientError) -> anyhow::Error {
    match error {
        ClientError::NotTrusted(_) | ClientError::InvalidCertificate(_) | ClientError::NoTls => {
            anyhow!("no connection to {address}: {error}")
        }
        error => Error::new(error).context(format!(
            "no answer; is 'docent serve' running at {address}?"
        )),
    }
}

/// The token in a file.
pub(super) fn read_token(path: &Path) -> Result<String> {
    let text = fs::read_to_string(path);
    let text = text.with_context(|| format!("cannot read {}", path.display()))?;
    let token = text.trim();
    ensure!(
        !token.is_empty(),
        "{} is empty: write a token into it, which 'docent token create' makes",
        path.display()
    );
    Ok(token.to_owned())
}

/// The address of a server, without a path.
pub(super) fn server_url(address: &str) -> Result<Url> {
    let wrong = || {
        format!("'{address}' is not the address of a server: use for example http://localhost:8080")
    };
    let mut url = Url::parse(address).with_context(wrong)?;
    ensure!(
        ["http", "https"].contains(&url.scheme()) && url.has_host(),
        wrong()
    );
    url.set_path("/");
    url.set_query(None);
    Ok(url)
}

/// What administrators see of a server.
fn print_details(health: &Value) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    say(format!("started: {}", text(&health["startedAt"])));
    say(format!("engine: {}", text(&health["engine"])));
    let store = &health["store"];
    let is_writable = store["isWritable"].as_bool() == Some(true);
    let mode = if is_writable { "writable" } else { "read-only" };
    say(format!("database: {}, {mode}", size(&store["sizeBytes"])));
    let backups = &health["backups"];
    if backups.is_object() {
        let last = backups["lastSuccessAt"].as_str().unwrap_or("none");
        say(format!("newest scheduled backup: {last}"));
        if let Some(until) = backups["logArchivedUntil"].as_str() {
            say(format!("write-ahead log archived until: {until}"));
        }
    }
    let index = &health["searchIndex"];
    let Some(pending) = index["pendingChanges"].as_u64() else {
        return say("search index: none");
    };
    let state = match index["built"].as_u64() {
        Some(built) => format!("being built, {built} entities so far"),
        None => format!("{pending} changes pending"),
    };
    say(format!(
        "search index: {}, {state}",
        size(&index["sizeBytes"])
    ));
}

async fn of_store(flags: &StoreFlags) -> Result<()> {
    let url = flags.url()?;
    let store = engine::open(&url, OpenMode::ReadOnly).await?;
    import_marker::check_complete(&*store, &url).await?;
    say(format!("store: {url}"));
    say(format!("version: {}", env!("CARGO_PKG_VERSION")));
    say(format!("engine: {}", store.engine()));
    let mode = if store.is_writable().await? {
        "writable"
    } else {
        "read-only"
    };
    say(format!(
        "database: {}, {mode}",
        in_units(store.size_bytes().await?)
    ));
    let newest = store.log_newest().await?;
    let changes = newest.map_or(0, |newest| newest.position.get());
    say(format!("changes so far: {changes}"));
    Ok(())
}

fn yes_or_no(is_so: bool) -> &'static str {
    if is_so { "yes" } else { "no" }
}

fn size(bytes: &Value) -> String {
    bytes
        .as_u64()
        .map_or_else(|| "in memory".to_owned(), in_units)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "one digit after the point is shown"
)]
pub(super) fn in_units(bytes: u64) -> String {
    if bytes < 1024 {
        return format!("{bytes} bytes");
    }
    let mut number = bytes as f64 / 1024.0;
    let mut units = UNITS.iter();
    let mut unit = units.next();
    while number >= 1024.0
        && let Some(larger) = units.next()
    {
        number /= 1024.0;
        unit = Some(larger);
    }
    format!("{number:.1} {}", unit.copied().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_the_largest_unit_that_fits() {
        for (bytes, expected) in [
            (0, "0 bytes"),
            (1023, "1023 bytes"),
            (1024, "1.0 KiB"),
            (3 << 29, "1.5 GiB"),
            (u64::MAX, "16777216.0 TiB"),
        ] {
            assert_eq!(in_units(bytes), expected);
        }
    }

    #[test]
    fn the_address_of_a_server_is_a_url() {
        let url = server_url("https://docent.example.com:8443/some/path?x=1").unwrap();
        assert_eq!(url.as_str(), "https://docent.example.com:8443/");
        for wrong in ["localhost:8080", "docent", "sqlite:docent.db", "http://"] {
            let error = server_url(wrong).unwrap_err().to_string();
            assert!(error.contains("http://localhost:8080"), "{error}");
        }
    }
}
