//! `unstuck config`: shows the resolved settings. `unstuck schema`: writes the schema of all settings.

use std::io::{self, Write};

use serde::Serialize;
use unstuck_core::nearest::find_nearest;

use crate::args::ConfigFileArgs;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::exit::Exit;
use crate::render::style::{DIM, TITLE};
use crate::render::{self, Terminal};
use crate::settings::{
    ResolvedSettings, SettingFlags, SettingOrigin, ShownSetting, settings_schema,
};

/// Show the resolved settings and where each one comes from
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Shows every setting, its value and where it comes from. Options override \
        UNSTUCK_* variables, which override the project's unstuck.toml, which overrides your own \
        unstuck.toml in the XDG config folder, which overrides the defaults. For a value with \
        ${VAR}, the name of the variable is shown, not its content.",
    after_long_help = CONFIG_EXAMPLES
)]
pub(crate) struct ConfigArgs {
    /// Only show settings that begin with this, such as `run` or `budget.per_day`
    #[arg(value_name = "KEY")]
    key: Option<String>,

    /// Only show settings that differ from their defaults
    #[arg(long)]
    changed: bool,

    /// Write JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    file: ConfigFileArgs,
}

/// Print the JSON schema of the settings or of the events
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Prints a JSON schema: of the settings in unstuck.toml, or of the events that \
        `run --json` and `log --json` write, one per line. Later versions may add fields and kinds \
        of events; a reader should skip what it does not know.",
    after_long_help = SCHEMA_EXAMPLES
)]
pub(crate) struct SchemaArgs {
    /// The schema to print
    #[arg(value_name = "OF", value_enum, default_value_t = SchemaSubject::Settings)]
    of: SchemaSubject,
}

/// What a schema describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum SchemaSubject {
    /// The settings of a project
    Settings,
    /// The events that `--json` writes
    Events,
}

const CONFIG_EXAMPLES: &str = "\
Examples:
  unstuck config                     all settings
  unstuck config --changed           changed settings only
  unstuck config run.jobs            one setting
  UNSTUCK_RUN_JOBS=4 unstuck config run";

const SCHEMA_EXAMPLES: &str = "\
Examples:
  unstuck schema > unstuck.schema.json
  # then, in unstuck.toml: #:schema ./unstuck.schema.json
  unstuck schema events > events.schema.json";

#[derive(Serialize)]
struct SettingRow<'a> {
    key: &'a str,
    value: Option<&'a toml::Value>,
    origin: String,
}

pub(crate) fn run(args: &ConfigArgs, context: CommandContext<'_>) -> Result<Exit, CliError> {
    let project = context.find_project()?;
    let resolved =
        ResolvedSettings::load(project.root(), args.file.path.as_deref(), &SettingFlags::new())?;
    let wanted = |shown: &ShownSetting| {
        let named = args.key.as_deref().is_none_or(|key| is_under(&shown.path, key));
        named && (!args.changed || shown.origin != SettingOrigin::Default)
    };
    let shown: Vec<ShownSetting> = resolved.list_settings()?.into_iter().filter(wanted).collect();
    if let (Some(key), true) = (&args.key, shown.is_empty() && !args.changed) {
        let all = resolved.list_settings()?;
        let near = find_nearest(key, all.iter().map(|shown| shown.path.as_str()));
        return Err(CliError::UnknownSetting {
            key: key.clone(),
            near: near.into_iter().map(str::to_owned).collect(),
        });
    }
    let rows: Vec<SettingRow<'_>> = shown.iter().map(setting_row).collect();
    context.terminal.write_result(args.json, &rows, |out| write_page(out, &shown))?;
    Ok(Exit::Done)
}

pub(crate) fn write_schema(args: &SchemaArgs, terminal: &Terminal) -> Result<Exit, CliError> {
    let schema = match args.of {
        SchemaSubject::Settings => settings_schema(),
        SchemaSubject::Events => render::event_schema(),
    };
    terminal.write_page(|out| render::write_json(out, &schema))?;
    Ok(Exit::Done)
}

fn setting_row(ShownSetting { path, value, origin }: &ShownSetting) -> SettingRow<'_> {
    SettingRow { key: path, value: value.as_ref(), origin: origin.to_string() }
}

fn is_under(path: &str, key: &str) -> bool {
    path.strip_prefix(key).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn write_page(out: &mut impl Write, shown: &[ShownSetting]) -> io::Result<()> {
    let mut section = "";
    for ShownSetting { path, value, origin } in shown {
        // A job is a section of its own.
        let split =
            if path.starts_with("job.") { path.rsplit_once('.') } else { path.split_once('.') };
        let (in_section, key) = split.unwrap_or(("", path));
        if in_section != section {
            let gap = if section.is_empty() { "" } else { "\n" };
            writeln!(out, "{gap}{TITLE}[{in_section}]{TITLE:#}")?;
            section = in_section;
        }
        let value = value.as_ref().map_or_else(|| "(not set)".to_owned(), ToString::to_string);
        let line = format!("{key} = {value}");
        match origin {
            SettingOrigin::Default => writeln!(out, "{DIM}{line}{DIM:#}")?,
            origin => writeln!(out, "{line}  {DIM}# {origin}{DIM:#}")?,
        }
    }
    Ok(())
}
