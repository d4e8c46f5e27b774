//! `docent user …`: the people who sign in, with or without a running server.

mod terminal;

use std::io::{IsTerminal as _, Read as _};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use comfy_table::{Table, presets};
use docent_catalog::people::{NewUser, Password, User};

use super::{catalog, operator, runtime, say, user_urn};
use crate::engine::Use;
use crate::settings::StoreFlags;

/// How many users are asked for at once.
const PAGE: usize = 1000;
/// More than a password can have: what is longer is not read.
const MAX_INPUT_BYTES: u64 = 4096;

#[derive(Debug, Subcommand)]
pub(crate) enum UserCommand {
    /// Let a person sign in; the user is created if it is new
    Add {
        /// The name to sign in with, for example ada
        user: String,
        /// The name that others see
        #[arg(long, value_name = "NAME")]
        display_name: Option<String>,
        /// The address that mail reaches the person at
        #[arg(long, value_name = "ADDRESS")]
        email: Option<String>,
        #[command(flatten)]
        password: PasswordFlags,
    },
    /// List the people who sign in
    List {
        /// List all users that the catalog knows, also those without a password
        #[arg(long)]
        all: bool,
    },
    /// Set another password and end the user's sessions; tokens stay
    Passwd {
        /// The name that the person signs in with
        user: String,
        #[command(flatten)]
        password: PasswordFlags,
    },
    /// Stop a user's sessions and tokens at once
    Suspend {
        /// The name that the person signs in with
        user: String,
    },
    /// Let a suspended user act again
    Resume {
        /// The name that the person signs in with
        user: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct PasswordFlags {
    /// Read the password from this file; otherwise it is asked for on a terminal, or read from standard input
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
}

pub(super) fn run(store: &StoreFlags, command: UserCommand) -> Result<()> {
    match command {
        UserCommand::Add {
            user,
            display_name,
            email,
            password,
        } => {
            let user = user_urn(&user)?;
            let new = NewUser {
                password: password.read()?,
                user,
                display_name,
                email,
            };
            let name = new.user.key().to_owned();
            let runtime = runtime()?;
            let catalog = runtime.block_on(catalog(store, Use::Beside))?;
            runtime.block_on(catalog.add_user(&operator()?, new))?;
            say(format!("{name} can sign in"));
        }
        UserCommand::List { all } => list(store, all)?,
        UserCommand::Passwd { user, password } => {
            let user = user_urn(&user)?;
            let runtime = runtime()?;
            let catalog = runtime.block_on(catalog(store, Use::Existing))?;
            // Before somebody thinks of a password in vain.
            runtime.block_on(catalog.check_user_exists(&user))?;
            let password = password.read()?;
            runtime.block_on(catalog.set_password(&operator()?, &user, &password))?;
            say(format!("{} has another password", user.key()));
        }
        UserCommand::Suspend { user } => {
            let user = user_urn(&user)?;
            let runtime = runtime()?;
            let catalog = runtime.block_on(catalog(store, Use::Existing))?;
            runtime.block_on(catalog.suspend_user(&operator()?, &user))?;
            say(format!("{} is suspended", user.key()));
        }
        UserCommand::Resume { user } => {
            let user = user_urn(&user)?;
            let runtime = runtime()?;
            let catalog = runtime.block_on(catalog(store, Use::Existing))?;
            runtime.block_on(catalog.resume_user(&operator()?, &user))?;
            say(format!("{} may act again", user.key()));
        }
    }
    Ok(())
}

fn list(store: &StoreFlags, all: bool) -> Result<()> {
    let (runtime, operator) = (runtime()?, operator()?);
    let catalog = runtime.block_on(catalog(store, Use::Existing))?;
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["USER", "NAME", "E-MAIL", "PASSWORD", "STATUS"]);
    let mut after = None;
    let mut count = 0;
    loop {
        let page = catalog.list_users(&operator, all, after.as_ref(), PAGE);
        let page = runtime.block_on(page)?;
        let last = page.len() < PAGE;
        count += page.len();
        after = page.last().map(|user| user.urn.clone());
        for user in page {
            table.add_row(row(user));
        }
        if last {
            break;
        }
    }
    if count == 0 {
        say("there are no users; 'docent user add NAME' makes one");
        return Ok(());
    }
    for line in table.lines() {
        say(line.trim_end());
    }
    Ok(())
}

fn row(user: User) -> [String; 5] {
    let status = match (user.removed, user.suspended) {
        (true, _) => "removed",
        (_, true) => "suspended",
        _ => "active",
    };
    let password = if user.has_password { "yes" } else { "no" };
    [
        user.urn.key().to_owned(),
        user.display_name.unwrap_or_default(),
        user.email.unwrap_or_default(),
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
                .context("the password cannot be read from standard input")?;
            return Password::new(text).context("the password on standard input is not right");
        }
        let first = Password::new(terminal::ask("New password: ")?)?;
        if terminal::ask("Once more: ")? != first.as_str() {
            bail!("the two passwords are not the same");
        }
        Ok(first)
    }
}

/// The password in a file.
pub(super) fn password_from(path: &Path) -> Result<Password> {
    let name = path.display();
    let text = std::fs::File::open(path)
        .map_err(anyhow::Error::from)
        .and_then(read_line)
        .with_context(|| format!("the password file {name} cannot be read"))?;
    Password::new(text).with_context(|| format!("the password file {name} is not right"))
}

/// All there is, without the line break at its end.
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
    fn one_line_break_at_the_end_is_not_part_of_a_password() {
        let read = |text: &str| read_line(text.as_bytes()).unwrap();
        assert_eq!(read("secret\n"), "secret");
        assert_eq!(read("secret\r\n"), "secret");
        assert_eq!(read("secret"), "secret");
        assert_eq!(read(" secret \n\n"), " secret \n");
    }
}
