//! `docent config`: the settings of `docent serve`, without starting it.

use anyhow::{Result, bail};
use clap::Subcommand;
use comfy_table::{Table, presets};

use super::serve::SettingsFiles;
use super::{say, unknown_variables};
use crate::backups::Destination;
use crate::settings::{ServeFlags, Settings, StoreFlags};

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Check the settings of 'docent serve', and the files that they name
    Check(Box<ServeFlags>),
    /// Show the settings in effect; those that may contain secrets are masked
    Show(Box<ServeFlags>),
}

pub(super) fn run(store: &StoreFlags, command: ConfigCommand) -> Result<()> {
    match command {
        ConfigCommand::Check(flags) => check(store, *flags),
        ConfigCommand::Show(flags) => show(store, *flags),
    }
}

fn check(store: &StoreFlags, flags: ServeFlags) -> Result<()> {
    let settings = Settings::resolve(store, flags)?;
    SettingsFiles::read(&settings)?;
    if let Some(backup) = &settings.backup {
        Destination::parse(&backup.place)?.expect_writable()?;
    }
    let unknown = unknown_variables();
    if !unknown.is_empty() {
        bail!(
            "not a setting: {}; 'docent serve --help' lists the variables",
            unknown.join(", ")
        );
    }
    say("the settings are valid");
    Ok(())
}

fn show(store: &StoreFlags, flags: ServeFlags) -> Result<()> {
    let settings = Settings::resolve(store, flags)?;
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    for setting in settings.shown() {
        let value = setting.value.as_deref().unwrap_or("(set, not shown)");
        table.add_row([setting.name.as_str(), value]);
    }
    for line in table.lines() {
        say(line.trim());
    }
    Ok(())
}
