//! `docent token …`: manages access tokens, with or without a running server.

use anyhow::{Result, anyhow, bail};
use clap::Subcommand;
use comfy_table::{Table, presets};
use docent_catalog::tokens::{MAX_LISTED, NewToken, TokenFilter};
use docent_catalog::{Caller, ConflictReason, ErrorKind};
use docent_model::{Clock as _, EpochMillis, SystemClock, parse_duration_ms};

use super::{catalog, note, runtime, say, user_urn};
use crate::engine::OpenMode;
use crate::settings::StoreFlags;

const DEFAULT_TTL: &str = "90d";
/// A prefix of the id is enough for `revoke`.
const ID_PREFIX: usize = 12;

#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Create a token and print it; it cannot be shown again
    Create {
        /// The user that the token authenticates, for example datahub
        #[arg(long)]
        user: String,
        /// A name that tells what the token is for, for example ingestion
        #[arg(long)]
        name: String,
        /// Time until the token expires: 12h, 30d, or never
        #[arg(long, default_value = DEFAULT_TTL)]
        ttl: String,
    },
    /// List all tokens with their expiry and last use
    List,
    /// Revoke a token immediately
    Revoke {
        /// The id from `docent token list`, or a unique prefix of it
        id: String,
    },
}

pub(super) fn run(store: &StoreFlags, command: TokenCommand) -> Result<()> {
    match command {
        TokenCommand::Create { user, name, ttl } => create(store, &user, name, &ttl),
        TokenCommand::List => list(store),
        TokenCommand::Revoke { id } => revoke(store, &id),
    }
}

fn create(store: &StoreFlags, user: &str, name: String, ttl: &str) -> Result<()> {
    let actor = user_urn(user)?;
    let new = NewToken {
        name,
        description: None,
        actor,
        ttl_ms: ttl_ms(ttl)?,
    };
    let runtime = runtime()?;
    let catalog = runtime.block_on(catalog(store, OpenMode::SharedCreate))?;
    let created = runtime.block_on(catalog.create_token(&Caller::system(), new));
    let created = created.map_err(|error| match error.kind() {
        ErrorKind::Conflict(ConflictReason::AccountInactive) => anyhow!(
            "{error} ('docent user resume {user}', or 'docent user add {user}' for a removed user)"
        ),
        _ => error.into(),
    })?;
    if created.user_is_new {
        let name = created.token.info.actor_urn.key();
        note(format!(
            "the user {name} is new and has no password; 'docent user add {name}' sets one"
        ));
    }
    // Nothing else goes to standard output, so that scripts can capture the token.
    say(created.secret);
    Ok(())
}

fn list(store: &StoreFlags) -> Result<()> {
    let runtime = runtime()?;
    let catalog = runtime.block_on(catalog(store, OpenMode::Shared))?;
    let tokens = runtime.block_on(catalog.list_tokens(
        &Caller::system(),
        &TokenFilter::default(),
        0,
        MAX_LISTED,
    ))?;
    if tokens.items.is_empty() {
        say("no tokens; create one with 'docent token create --user datahub --name me'");
        return Ok(());
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["ID", "NAME", "USER", "CREATED", "EXPIRES", "LAST USED"]);
    let now_ms = SystemClock.now_ms();
    for token in tokens.items {
        let info = token.info;
        table.add_row([
            token.id.chars().take(ID_PREFIX).collect(),
            info.name,
            info.actor_urn.key().to_owned(),
            format_time(info.created_at),
            format_expiry(info.expires_at, now_ms),
            token
                .last_used_at
                .map_or_else(|| "never".to_owned(), format_time),
        ]);
    }
    for line in table.lines() {
        say(line.trim_end());
    }
    Ok(())
}

fn revoke(store: &StoreFlags, id: &str) -> Result<()> {
    let runtime = runtime()?;
    let catalog = runtime.block_on(catalog(store, OpenMode::Shared))?;
    runtime.block_on(catalog.revoke_token_by_prefix(&Caller::system(), id))?;
    say("revoked");
    Ok(())
}

/// `30d`, `12h`, `1w 2d`; `never` gives `None`.
fn ttl_ms(text: &str) -> Result<Option<EpochMillis>> {
    if text == "never" {
        return Ok(None);
    }
    match parse_duration_ms(text) {
        Some(ttl_ms) => Ok(Some(ttl_ms)),
        None => bail!("'{text}' is not a valid time to live: use for example 12h, 30d or never"),
    }
}

fn format_expiry(expires_at: Option<EpochMillis>, now_ms: EpochMillis) -> String {
    match expires_at {
        None => "never".to_owned(),
        Some(time_ms) if time_ms <= now_ms => format!("{} (expired)", format_time(time_ms)),
        Some(time_ms) => format_time(time_ms),
    }
}

fn format_time(time_ms: EpochMillis) -> String {
    jiff::Timestamp::from_millisecond(time_ms)
        .map(|time| time.strftime("%Y-%m-%d %H:%M").to_string())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_to_live_are_parsed_as_durations_or_never() {
        assert_eq!(ttl_ms("30d").unwrap(), Some(30 * 24 * 3_600_000));
        assert_eq!(ttl_ms("90m").unwrap(), Some(5_400_000));
        assert_eq!(ttl_ms("never").unwrap(), None);
        for wrong in ["", "soon", "0s", "-1d"] {
            assert!(ttl_ms(wrong).is_err(), "{wrong}");
        }
    }
}
