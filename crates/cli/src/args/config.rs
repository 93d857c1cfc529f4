//! `unstuck config` and `unstuck schema` on the command line.

use std::path::PathBuf;

/// Show the settings as they are resolved, and where each comes from
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Shows every setting, its value and where it comes from. Options win over \
        UNSTUCK_* variables, those over unstuck.toml of the project, that over your own \
        unstuck.toml in the XDG config folder, and that over the defaults. Where a variable was \
        put in with ${VAR}, the name is shown and not what it holds.",
    after_long_help = CONFIG_EXAMPLES
)]
pub(crate) struct ConfigArgs {
    /// Only settings that begin with this, such as `run` or `budget.per_day`
    #[arg(value_name = "KEY")]
    pub(crate) key: Option<String>,

    /// Only those that are not at their default
    #[arg(long)]
    pub(crate) changed: bool,

    /// Write JSON
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) file: ConfigFileArgs,
}

/// Which file holds the project's settings.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct ConfigFileArgs {
    /// Read the project's settings from this file instead of unstuck.toml
    #[arg(long = "config", value_name = "FILE", env = "UNSTUCK_CONFIG", hide_env = true)]
    pub(crate) path: Option<PathBuf>,
}

/// Write the JSON schema of the settings or of the events, for editors and programs
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Writes a JSON schema: of the settings in unstuck.toml, or of the events that `run \
        --json` and `log --json` write, one per line. Later versions may add fields and kinds of \
        events; a reader skips what it does not know.",
    after_long_help = SCHEMA_EXAMPLES
)]
pub(crate) struct SchemaArgs {
    /// What it describes
    #[arg(value_name = "OF", value_enum, default_value_t = SchemaSubject::Settings)]
    pub(crate) of: SchemaSubject,
}

/// What a schema describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum SchemaSubject {
    /// The settings of a project
    Settings,
    /// What happens, as it is written with `--json`
    Events,
}

const CONFIG_EXAMPLES: &str = "\
Examples:
  unstuck config                     everything
  unstuck config --changed           what was set
  unstuck config run.jobs            one setting
  UNSTUCK_RUN_JOBS=4 unstuck config run";

const SCHEMA_EXAMPLES: &str = "\
Examples:
  unstuck schema > unstuck.schema.json
  # then, in unstuck.toml: #:schema ./unstuck.schema.json
  unstuck schema events > events.schema.json";
