//! `docent token …`: manages access tokens, with or without a running server.

use anyhow::{Result, anyhow, bail};
use clap::Subcommand;
use comfy_table::{Table, presets};
use docent_catalog::tokens::{MAX_LISTED, NewToken, TokenFilter, TokenScope};
use docent_catalog::{ConflictReason, ErrorKind};
use docent_model::{Clock as _, EpochMillis, SystemClock, parse_duration_ms};

use super::{catalog, note, operator, printable, runtime, say, urn_of, user_urn};
use crate::engine::OpenMode;
use crate::settings::{DEFAULT_ROLE, StoreFlags};

const DEFAULT_TTL: &str = "90d";
/// The user who may do everything.
const ROOT: &str = "datahub";
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
        /// What the token may change at most: read-only, privilege:NAME or domain:ID; repeatable
        /// [default: all that the user may]
        #[arg(long, value_name = "SCOPE")]
        scope: Vec<String>,
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
        TokenCommand::Create {
            user,
            name,
            ttl,
            scope,
        } => create(store, &user, name, &ttl, &scope),
        TokenCommand::List => list(store),
        TokenCommand::Revoke { id } => revoke(store, &id),
    }
}

fn create(store: &StoreFlags, user: &str, name: String, ttl: &str, scope: &[String]) -> Result<()> {
    let actor = user_urn(user)?;
    let new = NewToken {
        name,
        description: None,
        actor,
        ttl_ms: ttl_ms(ttl)?,
        scope: parse_scope(scope)?,
    };
    let runtime = runtime()?;
    let catalog = runtime.block_on(catalog(store, OpenMode::SharedCreate))?;
    let created = runtime.block_on(catalog.create_token(&operator("docent token create"), new));
    let created = created.map_err(|error| match error.kind() {
        ErrorKind::Conflict(ConflictReason::AccountInactive) => anyhow!(
            "{error} ('docent user resume {user}', or 'docent user add {user}' for a removed user)"
        ),
        _ => error.into(),
    })?;
    if created.user_is_new {
        let name = created.token.info.actor_urn.key();
        let rights = if name == ROOT {
            "may do everything".to_owned()
        } else {
            format!(
                "has the role of the server's --default-role ({DEFAULT_ROLE}, unless it is set)"
            )
        };
        note(format!(
            "created the user {name}, who {rights} and has no password; 'docent user add {name}' sets one, and \
             --role another role"
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
        &operator("docent token list"),
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
    table.set_header([
        "ID",
        "NAME",
        "USER",
        "SCOPE",
        "CREATED",
        "EXPIRES",
        "LAST USED",
    ]);
    let now_ms = SystemClock.now_ms();
    for token in tokens.items {
        let info = token.info;
        table.add_row([
            token.id.chars().take(ID_PREFIX).collect(),
            printable(&info.name),
            printable(info.actor_urn.key()),
            info.scope
                .as_ref()
                .map_or_else(|| "all".to_owned(), format_scope),
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
    runtime.block_on(catalog.revoke_token_by_prefix(&operator("docent token revoke"), id))?;
    say("revoked");
    Ok(())
}

/// `read-only`, `privilege:EDIT_ENTITY_DOCS` and `domain:finance`; nothing gives `None`.
fn parse_scope(items: &[String]) -> Result<Option<TokenScope>> {
    if items.is_empty() {
        return Ok(None);
    }
    let mut scope = TokenScope::default();
    for item in items {
        match item.split_once(':') {
            None if item == "read-only" => scope.read_only = true,
            Some(("privilege", name)) => {
                let names = scope.privileges.get_or_insert_default();
                names.push(name.to_owned());
            }
            Some(("domain", domain)) if scope.domain.is_none() => {
                scope.domain = Some(urn_of("domain", domain)?);
            }
            Some(("domain", _)) => bail!("a token can be limited to one domain only"),
            _ => bail!(
                "'{item}' is not a scope: use read-only, privilege:NAME (for example privilege:EDIT_ENTITY_DOCS) or \
                 domain:ID (for example domain:finance)"
            ),
        }
    }
    Ok(Some(scope))
}

fn format_scope(scope: &TokenScope) -> String {
    let read_only = scope.read_only.then(|| "read-only".to_owned());
    let privileges = scope.privileges.iter().flatten();
    let privileges = privileges.map(|name| format!("privilege:{name}"));
    let domain = scope.domain.iter().map(|it| format!("domain:{}", it.key()));
    let items: Vec<String> = read_only
        .into_iter()
        .chain(privileges)
        .chain(domain)
        .collect();
    printable(&items.join(" "))
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
    fn scopes_are_parsed_and_printed_in_the_same_form() {
        let parse = |items: &[&str]| {
            let items: Vec<String> = items.iter().map(|&it| it.to_owned()).collect();
            parse_scope(&items)
        };
        assert_eq!(parse(&[]).unwrap(), None);
        for items in [
            &["read-only"][..],
            &["privilege:EDIT_ENTITY_DOCS", "privilege:EDIT_ENTITY_TAGS"],
            &["privilege:EDIT_ENTITY_DOCS", "domain:finance"],
        ] {
            let scope = parse(items).unwrap().unwrap();
            assert_eq!(format_scope(&scope), items.join(" "));
        }
        let by_urn = parse(&["domain:urn:li:domain:finance"]).unwrap();
        assert_eq!(by_urn, parse(&["domain:finance"]).unwrap());
        for wrong in [
            &["readonly"][..],
            &["role:Admin"],
            &[""],
            &["domain:a", "domain:b"],
        ] {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
    }

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
