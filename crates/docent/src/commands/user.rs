//! `docent user …`: manages accounts, with or without a running server.

mod terminal;

use std::io::{IsTerminal as _, Read as _};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use clap::{Args, Subcommand};
use comfy_table::{Table, presets};
use docent_catalog::people::{ADMINISTRATOR, NewUser, Password, User};
use docent_catalog::{Catalog, ConflictReason, ErrorKind};
use docent_model::Urn;
use tokio::runtime::Runtime;

use super::{catalog, operator, printable, runtime, say, urn_of, user_urn};
use crate::engine::OpenMode;
use crate::settings::StoreFlags;

/// How many users are read at once.
const PAGE: usize = 1000;
/// More than the longest password.
const MAX_INPUT_BYTES: u64 = 4096;

#[derive(Debug, Subcommand)]
pub(crate) enum UserCommand {
    /// Create an account, or set the first password of an existing user
    Add {
        /// The username to sign in with, for example ada
        user: String,
        /// The name shown to other users
        #[arg(long, value_name = "NAME")]
        display_name: Option<String>,
        /// The email address
        #[arg(long, value_name = "ADDRESS")]
        email: Option<String>,
        /// The role: Admin, Editor, Proposer or Reader [default: what 'docent serve' has as
        /// --default-role]
        #[arg(long)]
        role: Option<String>,
        #[command(flatten)]
        password: PasswordFlags,
    },
    /// List the accounts that can sign in
    List {
        /// Include users without a password, such as imported ones
        #[arg(long)]
        all: bool,
    },
    /// Set a new password and end the user's sessions; tokens stay valid
    Passwd {
        /// The username
        user: String,
        #[command(flatten)]
        password: PasswordFlags,
    },
    /// Suspend an account: its sessions and tokens stop working immediately
    Suspend {
        /// The username
        user: String,
    },
    /// Reactivate a suspended account, or let a removed user sign in at an identity provider again
    Resume {
        /// The username
        user: String,
    },
    /// Let an identity provider sign in an account that has a password
    Link {
        /// The username
        #[arg(required_unless_present = "all", conflicts_with = "all")]
        user: Option<String>,
        /// All accounts that have a password now, except for datahub
        #[arg(long)]
        all: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct PasswordFlags {
    /// Read the password from a file [default: prompt on a terminal, or read standard input]
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
}

pub(super) fn run(store: &StoreFlags, command: UserCommand) -> Result<()> {
    match command {
        UserCommand::Add {
            user,
            display_name,
            email,
            role,
            password,
        } => {
            let user = user_urn(&user)?;
            let role = role.map(|role| {
                urn_of("dataHubRole", &role).with_context(|| {
                    format!("'{role}' is not the name of a role: use for example Reader")
                })
            });
            let role = role.transpose()?;
            let new = NewUser {
                password: password.read()?,
                user,
                display_name,
                email,
            };
            add(store, new, role.as_ref())?;
        }
        UserCommand::List { all } => list(store, all)?,
        UserCommand::Passwd { user, password } => {
            let user = user_urn(&user)?;
            let runtime = runtime()?;
            let catalog = runtime.block_on(catalog(store, OpenMode::Shared))?;
            // Before the prompt for a password.
            let exists = runtime.block_on(catalog.check_user_exists(&user));
            exists.map_err(hint_at_list)?;
            let password = password.read()?;
            runtime.block_on(catalog.set_password(
                &operator("docent user passwd"),
                &user,
                &password,
            ))?;
            say(format!("{} has a new password", user.key()));
        }
        UserCommand::Suspend { user } => {
            let user = user_urn(&user)?;
            let runtime = runtime()?;
            let catalog = runtime.block_on(catalog(store, OpenMode::Shared))?;
            let suspended =
                runtime.block_on(catalog.suspend_user(&operator("docent user suspend"), &user));
            suspended.map_err(hint_at_list)?;
            say(format!("{} is suspended", user.key()));
        }
        UserCommand::Resume { user } => {
            let user = user_urn(&user)?;
            let runtime = runtime()?;
            let catalog = runtime.block_on(catalog(store, OpenMode::Shared))?;
            let resumed =
                runtime.block_on(catalog.resume_user(&operator("docent user resume"), &user));
            resumed.map_err(hint_at_list)?;
            say(format!("{} is active again", user.key()));
        }
        UserCommand::Link { user, .. } => link(store, user.as_deref())?,
    }
    Ok(())
}

fn add(store: &StoreFlags, new: NewUser, role: Option<&Urn>) -> Result<()> {
    let name = new.user.key().to_owned();
    let runtime = runtime()?;
    let catalog = runtime.block_on(catalog(store, OpenMode::SharedCreate))?;
    if role.is_some() {
        // The roles are missing until the server has started once.
        runtime.block_on(catalog.ensure_policies())?;
    }
    let added = runtime.block_on(catalog.add_user(&operator("docent user add"), new, role));
    added.map_err(|error| match error.kind() {
        ErrorKind::Conflict(ConflictReason::PasswordExists) => {
            anyhow!("{error} ('docent user passwd {name}')")
        }
        _ => error.into(),
    })?;
    say(format!("{name} can sign in"));
    Ok(())
}

/// Links one user, or all with a password.
fn link(store: &StoreFlags, user: Option<&str>) -> Result<()> {
    let user = user.map(user_urn).transpose()?;
    let operator = operator("docent user link");
    let runtime = runtime()?;
    let catalog = runtime.block_on(catalog(store, OpenMode::Shared))?;
    if let Some(user) = user {
        let linked = runtime.block_on(catalog.link_user(&operator, &user));
        linked.map_err(hint_at_list)?;
        say(format!("{} is linked to identity providers", user.key()));
        return Ok(());
    }
    let mut count = 0;
    each_user(&runtime, &catalog, false, |user| {
        if user.has_password && user.urn.key() != ADMINISTRATOR {
            runtime.block_on(catalog.link_user(&operator, &user.urn))?;
            count += 1;
        }
        Ok(())
    })?;
    say(format!("accounts linked to identity providers: {count}"));
    Ok(())
}

/// Adds the command that lists the users to an error about a missing one.
fn hint_at_list(error: docent_catalog::Error) -> anyhow::Error {
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::NoEntity => {
            anyhow!("{error}: 'docent user list --all' lists them")
        }
        _ => error.into(),
    }
}

fn list(store: &StoreFlags, all: bool) -> Result<()> {
    let runtime = runtime()?;
    let catalog = runtime.block_on(catalog(store, OpenMode::Shared))?;
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["USER", "NAME", "EMAIL", "PASSWORD", "STATUS"]);
    each_user(&runtime, &catalog, all, |user| {
        table.add_row(row(user));
        Ok(())
    })?;
    if table.is_empty() {
        say("no accounts; create one with 'docent user add NAME'");
        return Ok(());
    }
    for line in table.lines() {
        say(line.trim_end());
    }
    Ok(())
}

/// Calls `visit` with all users, or with those that have credentials.
fn each_user(
    runtime: &Runtime,
    catalog: &Catalog,
    all: bool,
    mut visit: impl FnMut(User) -> Result<()>,
) -> Result<()> {
    let mut after = None;
    loop {
        let page = runtime.block_on(catalog.list_users(all, after.as_ref(), PAGE))?;
        let is_last = page.len() < PAGE;
        after = page.last().map(|user| user.urn.clone());
        page.into_iter().try_for_each(&mut visit)?;
        if is_last {
            return Ok(());
        }
    }
}

fn row(user: User) -> [String; 5] {
    let status = match (user.removed, user.suspended) {
        (true, _) => "removed",
        (_, true) => "suspended",
        _ => "active",
    };
    let password = if user.has_password { "yes" } else { "no" };
    [
        printable(user.urn.key()),
        printable(&user.display_name.unwrap_or_default()),
        printable(&user.email.unwrap_or_default()),
        password.to_owned(),
        status.to_owned(),
    ]
}

impl PasswordFlags {
    fn read(&self) -> Result<Password> {
        if let Some(path) = &self.password_file {
            return password_from(path);
        }
        if !std::io::stdin().is_terminal() {
            let text = read_line(std::io::stdin().lock())
                .context("cannot read the password from standard input")?;
            return Password::new(text).context("the password on standard input is invalid");
        }
        let first = Password::new(terminal::prompt_password("New password: ")?)?;
        if terminal::prompt_password("Repeat password: ")? != first.as_str() {
            bail!("the passwords do not match");
        }
        Ok(first)
    }
}

/// Reads the password from a file.
pub(super) fn password_from(path: &Path) -> Result<Password> {
    let name = path.display();
    let text = std::fs::File::open(path)
        .map_err(anyhow::Error::from)
        .and_then(read_line)
        .with_context(|| format!("cannot read the password file {name}"))?;
    Password::new(text).with_context(|| format!("the password in {name} is invalid"))
}

/// Reads the whole input, without a final line break.
fn read_line(source: impl std::io::Read) -> Result<String> {
    let mut text = String::new();
    source.take(MAX_INPUT_BYTES).read_to_string(&mut text)?;
    let line = text.strip_suffix('\n').unwrap_or(&text);
    Ok(line.strip_suffix('\r').unwrap_or(line).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_final_line_break_is_removed_from_a_password() {
        let read = |text: &str| read_line(text.as_bytes()).unwrap();
        assert_eq!(read("secret\n"), "secret");
        assert_eq!(read("secret\r\n"), "secret");
        assert_eq!(read("secret"), "secret");
        assert_eq!(read(" secret \n\n"), " secret \n");
    }
}
