//! `unstuck notify test`: checks that notifications arrive.

use std::io::Write as _;

use clap::Subcommand;
use serde::Serialize;
use unstuck_core::fault::Code;
use unstuck_runner::notify::{ChannelTestResult, send_test_messages};
use unstuck_world::notify::NotifyChannel;

use crate::args::ConfigFileArgs;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::exit::Exit;
use crate::problem::InputProblem;
use crate::project;
use crate::render::style::{ERROR, HINT};
use crate::settings::{ResolvedSettings, SettingFlags};

/// Test the notification channels
#[derive(Debug, clap::Args)]
#[command(after_long_help = NOTIFY_EXAMPLES)]
pub(crate) struct NotifyArgs {
    /// What to do
    #[command(subcommand)]
    command: NotifyCommand,
}

/// What can be done with notifications.
#[derive(Debug, Subcommand)]
enum NotifyCommand {
    /// Send a test message through every channel, or through one
    Test {
        /// The channel, as `[notify.NAME]` names it
        channel: Option<String>,

        /// Write JSON
        #[arg(long)]
        json: bool,

        #[command(flatten)]
        config: ConfigFileArgs,
    },
}

const NOTIFY_EXAMPLES: &str = "\
Examples:
  unstuck notify test                through every channel of unstuck.toml
  unstuck notify test phone          through one channel

Exit codes: 0 when all arrived; 1 when one did not; 78 when there is none.";

#[derive(Serialize)]
struct ChannelTestRow {
    channel: String,
    arrived: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

pub(crate) fn run(args: &NotifyArgs, context: CommandContext<'_>) -> Result<Exit, CliError> {
    let NotifyCommand::Test { channel, json, config } = &args.command;
    let project = context.find_project()?;
    let resolved =
        ResolvedSettings::load(project.root(), config.path.as_deref(), &SettingFlags::new())?;
    let project = project.with_settings(resolved);
    // Channels that run a program have their lock files there.
    project.open_or_create_store()?;
    let channels = select_channels(project::open_channels(&project)?, channel.as_deref())?;
    let tested = project::create_runtime()?.block_on(send_test_messages(
        project.name(),
        &channels,
        project::now(),
    ));
    let rows: Vec<ChannelTestRow> = tested.into_iter().map(test_row).collect();
    let all = rows.iter().all(|row| row.arrived);
    context.terminal.write_result(*json, &rows, |out| {
        rows.iter().try_for_each(|row| {
            let (mark, color) = if row.arrived { ("✔", HINT) } else { ("✘", ERROR) };
            let why = row.why.as_deref().unwrap_or("a test message was sent");
            writeln!(out, "{color}{mark}{color:#} {}: {why}", row.channel)
        })
    })?;
    Ok(if all { Exit::Done } else { Exit::SomeFailed })
}

fn test_row(ChannelTestResult { channel, arrived }: ChannelTestResult) -> ChannelTestRow {
    let why = arrived.as_ref().err().map(ToString::to_string);
    ChannelTestRow { channel, arrived: arrived.is_ok(), why }
}

fn select_channels(
    channels: Vec<NotifyChannel>,
    name: Option<&str>,
) -> Result<Vec<NotifyChannel>, CliError> {
    if channels.is_empty() {
        let problem = InputProblem::at_place(Code::ConfigMissing, "notify", "no channel is set up");
        let hint = "for example: [notify.me] kind = \"desktop\"";
        return Err(CliError::Problems(vec![problem.with_hint(hint)]));
    }
    let Some(name) = name else { return Ok(channels) };
    let found: Vec<NotifyChannel> =
        channels.into_iter().filter(|channel| channel.name() == name).collect();
    if found.is_empty() {
        return Err(CliError::unknown("channel", name, "unstuck config notify"));
    }
    Ok(found)
}
