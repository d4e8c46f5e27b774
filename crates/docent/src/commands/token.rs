//! `docent token …`: access tokens without a server and without a page.

use anyhow::{Result, bail};
use clap::Subcommand;
use comfy_table::{Table, presets};
use docent_catalog::tokens::{MAX_LISTED, NewToken, TokenFilter};
use docent_model::{Clock as _, EpochMillis, SystemClock, span_ms};

use super::{catalog, note, operator, runtime, say, user_urn};
use crate::engine::Use;
use crate::settings::StoreFlags;

const DEFAULT_TTL: &str = "90d";
/// Ids are long; this much of one is enough for `revoke`.
const SHOWN_ID: usize = 12;

#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Make a token and print it; it is shown this once
    Create {
        /// The user it speaks for, for example datahub
        #[arg(long)]
        user: String,
        /// What it is for
        #[arg(long)]
        name: String,
        /// How long it lives, for example 12h, 30d or never
        #[arg(long, default_value = DEFAULT_TTL)]
        ttl: String,
    },
    /// List the tokens, with when they were last used
    List,
    /// End a token at once
    Revoke {
        /// Its id as listed, or the beginning of it
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
    let catalog = runtime.block_on(catalog(store, Use::Beside))?;
    let created = runtime.block_on(catalog.create_token(&operator()?, new))?;
    if created.user_is_new {
        let name = created.token.info.actor_urn.key();
        note(format!(
            "nobody knew the user {name} before; 'docent user add {name}' lets the person sign in"
        ));
    }
    // Alone on standard output, so that a script can take it as it is.
    say(created.secret);
    Ok(())
}

fn list(store: &StoreFlags) -> Result<()> {
    let runtime = runtime()?;
    let catalog = runtime.block_on(catalog(store, Use::Existing))?;
    let tokens = runtime.block_on(catalog.list_tokens(
        &operator()?,
        &TokenFilter::default(),
        0,
        MAX_LISTED,
    ))?;
    if tokens.items.is_empty() {
        say("there are no tokens; 'docent token create --user datahub --name me' makes one");
        return Ok(());
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["ID", "NAME", "USER", "CREATED", "EXPIRES", "LAST USED"]);
    let now_ms = SystemClock.now_ms();
    for token in tokens.items {
        let info = token.info;
        table.add_row([
            token.id.chars().take(SHOWN_ID).collect(),
            info.name,
            info.actor_urn.key().to_owned(),
            shown_time(info.created_at),
            shown_end(info.expires_at, now_ms),
            token
                .last_used_at
                .map_or_else(|| "never".to_owned(), shown_time),
        ]);
    }
    for line in table.lines() {
        say(line.trim_end());
    }
    Ok(())
}

fn revoke(store: &StoreFlags, id: &str) -> Result<()> {
    let runtime = runtime()?;
    let catalog = runtime.block_on(catalog(store, Use::Existing))?;
    runtime.block_on(catalog.revoke_token_by_prefix(&operator()?, id))?;
    say("revoked");
    Ok(())
}

/// `30d`, `12h`, `1w 2d`; `never` gives `None`.
fn ttl_ms(text: &str) -> Result<Option<EpochMillis>> {
    if text == "never" {
        return Ok(None);
    }
    match span_ms(text) {
        Some(ttl_ms) => Ok(Some(ttl_ms)),
        None => bail!("'{text}' is not a time to live: write it like 12h, 30d or never"),
    }
}

fn shown_end(expires_at: Option<EpochMillis>, now_ms: EpochMillis) -> String {
    match expires_at {
        None => "never".to_owned(),
        Some(time_ms) if time_ms <= now_ms => format!("{} (expired)", shown_time(time_ms)),
        Some(time_ms) => shown_time(time_ms),
    }
}

fn shown_time(time_ms: EpochMillis) -> String {
    jiff::Timestamp::from_millisecond(time_ms)
        .map(|time| time.strftime("%Y-%m-%d %H:%M").to_string())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_to_live_are_written_as_people_do() {
        assert_eq!(ttl_ms("30d").unwrap(), Some(30 * 24 * 3_600_000));
        assert_eq!(ttl_ms("90m").unwrap(), Some(5_400_000));
        assert_eq!(ttl_ms("never").unwrap(), None);
        for wrong in ["", "soon", "0s", "-1d"] {
            assert!(ttl_ms(wrong).is_err(), "{wrong}");
        }
    }
}
