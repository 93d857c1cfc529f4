//! The verbs that control a build: they send a command to the decider, this process or the holder, and print in
//! one line the effect and the next step. `unstuck pause` pauses a build, `unstuck cancel` ends it.

use std::io::Write as _;
use std::sync::Arc;

use unstuck_core::engine::{BuildId, BuildState, Command};
use unstuck_runner::CommandError;
use unstuck_runner::control::{ClientError, ControlRefusal};
use unstuck_store::Store;
use unstuck_store::tables::{BuildRow, TaskRow};
use unstuck_world::workspace::ProjectRepository;

use crate::args::parse_build_id;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::exit::Exit;
use crate::project::{self, CommandConnection, CommandEvents, LocalProject, which};
use crate::render::{self, Terminal, words};
use crate::settings::IN_PLACE;

/// A project under the control of a verb.
pub(super) struct ControlSession<'a> {
    pub(super) project: LocalProject,
    pub(super) store: Arc<dyn Store>,
    terminal: &'a Terminal,
    verb: &'static str,
    json: bool,
}

impl CommandEvents {
    /// Returns the sentence that states when the work goes on.
    pub(super) const fn render_continuation(&self) -> &'static str {
        if self.held { "It continues now." } else { "It continues at the next start." }
    }
}

impl<'a> ControlSession<'a> {
    /// Runs a verb that controls the project of the context.
    pub(super) fn run(
        context: CommandContext<'a>,
        verb: &'static str,
        json: bool,
        work: impl AsyncFnOnce(&Self) -> Result<(), CliError>,
    ) -> Result<Exit, CliError> {
        let project = context.find_project()?;
        let store = project.open_store()?;
        let control = Self { project, store, terminal: context.terminal, verb, json };
        project::create_runtime()?.block_on(work(&control))?;
        Ok(Exit::Done)
    }

    /// Sends a command. A rejection becomes an error with this hint.
    pub(super) async fn submit_command(
        &self,
        command: Command,
        hint: &str,
    ) -> Result<CommandEvents, CliError> {
        let sent = project::submit_command(&self.project, &self.store, self.verb, command).await;
        sent.map_err(|error| match rejection_message(&error) {
            Some(said) => CliError::NotNow { verb: self.verb, said, hint: hint.to_owned() },
            None => error,
        })
    }

    /// Sends several commands and skips those that are rejected; returns how many were accepted.
    pub(super) async fn submit_all(
        &self,
        commands: Vec<Command>,
    ) -> Result<(CommandEvents, usize), CliError> {
        let connection = CommandConnection::open(&self.project, &self.store, self.verb).await?;
        let mut events = Vec::new();
        let mut done = 0;
        let mut failed = None;
        for command in commands {
            match connection.submit_command(command).await {
                Ok(more) => {
                    events.extend(more);
                    done += 1;
                }
                Err(error) if rejection_message(&error).is_some() => {}
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
        }
        let held = connection.other_holder().is_some();
        connection.close().await?;
        failed.map_or(Ok((CommandEvents { events, held }, done)), Err)
    }

    pub(super) fn write_result(&self, sent: &CommandEvents, said: &str) -> Result<(), CliError> {
        self.terminal.write_result(self.json, &sent.events, |out| writeln!(out, "{said}"))
    }

    /// Returns whether the operator confirms: with `--yes` beforehand, or at the prompt.
    pub(super) fn ask_confirmation(&self, yes: bool, question: &str) -> Result<bool, CliError> {
        if yes {
            return Ok(true);
        }
        let agreed = render::ask_confirmation(self.terminal, self.verb, question)?;
        if !agreed {
            self.terminal.write_line("Nothing was changed.")?;
        }
        Ok(agreed)
    }
}

/// Returns the message of a rejection by the decider, this process or another.
fn rejection_message(error: &CliError) -> Option<String> {
    match error {
        CliError::Command(CommandError::Rejected(rejected)) => Some(rejected.to_string()),
        CliError::Refused(ClientError::Refused { why: ControlRefusal::Rejected, message }) => {
            Some(message.clone())
        }
        _ => None,
    }
}

/// Pause a build until it is resumed
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Pauses a build: agents stop where they are; a check, a commit or a push finishes \
        its step first; nothing new starts. Nothing is lost, and nothing counts as a failure. It \
        works whether or not something is running.",
    after_long_help = PAUSE_EXAMPLES
)]
pub(crate) struct PauseArgs {
    /// The build, such as `7` or `b7`; default: the newest unfinished one
    #[arg(value_name = "BUILD", value_parser = parse_build_id)]
    build: Option<BuildId>,

    /// Write the resulting events as JSON
    #[arg(long)]
    json: bool,
}

const PAUSE_EXAMPLES: &str = "\
Examples:
  unstuck pause                      the newest unfinished build
  unstuck pause b7                   this one";

pub(crate) fn pause(args: &PauseArgs, context: CommandContext<'_>) -> Result<Exit, CliError> {
    ControlSession::run(context, "pause", args.json, async |control| {
        let store = control.store.as_ref();
        let build = which::find_open_build(store, control.project.name(), args.build).await?;
        let command = Command::Pause { build: build.id };
        let sent = control.submit_command(command, pause_hint(build.state)).await?;
        let said = format!("Build {} is paused. `unstuck resume` continues it.", build.id);
        control.write_result(&sent, &said)
    })
}

const fn pause_hint(state: BuildState) -> &'static str {
    match state {
        BuildState::Paused { .. } => "`unstuck resume` continues it",
        BuildState::Sleeping { .. } => "nothing of it runs; `unstuck cancel` ends it",
        BuildState::Running
        | BuildState::Waiting
        | BuildState::Completed
        | BuildState::Failed
        | BuildState::Cancelled => "`unstuck status` shows the current state",
    }
}

/// Cancel a build; finished work stays
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Cancels a build for good: agents stop, a step that cannot be interrupted \
        finishes first, and every unfinished task is cancelled. Finished work stays on the build's \
        branch. It asks for confirmation; without a terminal it needs --yes.",
    after_long_help = CANCEL_EXAMPLES
)]
pub(crate) struct CancelArgs {
    /// The build, such as `7` or `b7`; default: the newest unfinished one
    #[arg(value_name = "BUILD", value_parser = parse_build_id)]
    build: Option<BuildId>,

    /// Do not ask for confirmation
    #[arg(short, long)]
    yes: bool,

    /// Write the resulting events as JSON
    #[arg(long)]
    json: bool,
}

const CANCEL_EXAMPLES: &str = "\
Examples:
  unstuck cancel                     the newest unfinished build
  unstuck cancel b7 --yes            this one, without confirmation";

pub(crate) fn cancel(args: &CancelArgs, context: CommandContext<'_>) -> Result<Exit, CliError> {
    ControlSession::run(context, "cancel", args.json, async |control| {
        let store = control.store.as_ref();
        let build = which::find_open_build(store, control.project.name(), args.build).await?;
        // A command that would be refused needs no confirmation.
        let possible = !build.standing && !build.state.has_ended();
        if possible && !control.ask_confirmation(args.yes, &render_cancel_question(&build))? {
            return Ok(());
        }
        let command = Command::Cancel { build: build.id };
        let sent = control.submit_command(command, cancel_hint(&build)).await?;
        let mut said = render_cancel_result(&build);
        if let Some(left) = find_left_files(&control.project, store, build.id).await? {
            said = format!("{said}\n{left}");
        }
        control.write_result(&sent, &said)
    })
}

fn render_cancel_question(build: &BuildRow) -> String {
    let left = build.tasks.saturating_sub(build.done + build.not_done);
    let left = words::render_count(left as usize, "task is", "tasks are");
    format!("End build {} for good? {left} not done.", build.id)
}

fn render_cancel_result(build: &BuildRow) -> String {
    let id = build.id;
    match build.tally().done {
        0 => format!("Build {id} is ended. Nothing of it was done yet."),
        _ => format!("Build {id} is ended. What is done is kept: `unstuck land {id}` shows it."),
    }
}

/// Says which files a build in the person's own working tree leaves changed.
async fn find_left_files(
    project: &LocalProject,
    store: &dyn Store,
    build: BuildId,
) -> Result<Option<String>, CliError> {
    let tasks = store.load_build_tasks(project.name(), build).await?;
    let is_own_tree =
        |row: &TaskRow| row.spec.options.get(IN_PLACE).is_some_and(|value| value == "true");
    let by_settings = project.settings().is_ok_and(|resolved| resolved.settings.run.in_place);
    if !by_settings && !tasks.iter().any(is_own_tree) {
        return Ok(None);
    }
    let repository = ProjectRepository::open("git", project.root()).await?;
    let changed = repository.git().status().await?;
    let names =
        changed.iter().map(|entry| words::plain_line(&entry.relative_path().to_string_lossy()));
    let names = names.collect::<Vec<_>>().join(", ");
    Ok((!names.is_empty())
        .then(|| format!("These uncommitted changes stay in your working tree: {names}.")))
}

const fn cancel_hint(build: &BuildRow) -> &'static str {
    if build.standing {
        "`unstuck skip NAME` leaves out what a job is at"
    } else {
        "`unstuck status` shows the current state"
    }
}
