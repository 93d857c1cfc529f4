//! A command, and its launch.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use unstuck_core::engine::EffectKind;
use unstuck_core::plan::render_command_line;
use unstuck_world::mcp;
use unstuck_world::process::{
    GuardCommand, Launch, OwnInput, ProcessDeadlines, ProcessInput, ProcessOutput, TerminalSession,
};
use unstuck_world::redact::Redactor;

use super::job_options::JobLogs;
use crate::control::TokenKey;
use crate::effects::EffectRequest;
use crate::ledger::{ActionProber, ResultFiles};

/// A command with all it takes to run it.
#[derive(Clone, Debug)]
pub struct ScriptCommand {
    /// The guard of the command.
    pub guard: GuardCommand,
    /// The folder of the runs' lock files.
    pub runs: PathBuf,
    /// The program to run.
    pub program: OsString,
    /// The program's arguments.
    pub arguments: Vec<OsString>,
    /// The working directory.
    pub directory: PathBuf,
    /// The input of a command of `exec`; a job has none.
    pub input: OwnInput,
    /// Maximum duration of a run.
    pub timeout: Option<Duration>,
    /// The control socket of the project's holder.
    pub socket: PathBuf,
    /// The key that its token is derived from.
    pub key: TokenKey,
    /// The folder of long results of its actions.
    pub results: ResultFiles,
    /// The redactor for recorded failures.
    pub redactor: Arc<Redactor>,
}

impl ScriptCommand {
    /// Returns the command as it would be typed, shortened; for a shell, the line that it is given.
    pub(super) fn command_line(&self) -> String {
        const CHARACTERS_MAX: usize = 200;
        let line = match &self.arguments[..] {
            [option, line] if option == "-c" => line.to_string_lossy().into_owned(),
            arguments => {
                let words = arguments.iter().map(|word| word.to_string_lossy().into_owned());
                render_command_line(&self.program.to_string_lossy(), &words.collect::<Vec<_>>())
            }
        };
        match line.char_indices().nth(CHARACTERS_MAX) {
            Some((at, _)) => format!("{}…", &line[..at]),
            None => line,
        }
    }

    /// Returns the launch for an effect. The output is kept in `logs`, or passed through.
    pub(super) fn make_launch(
        &self,
        order: &EffectRequest,
        lock: PathBuf,
        logs: Option<&JobLogs>,
    ) -> Launch {
        let retry = match order.effect.what {
            EffectKind::Execute { retry } => retry,
            _ => 0,
        };
        let mut launch = Launch::new(self.guard.clone(), lock, &self.directory, &self.program);
        launch.arguments.clone_from(&self.arguments);
        launch.environment = vec![
            env_variable(mcp::SOCKET, &self.socket),
            env_variable(mcp::TOKEN, self.key.issue_token(order.effect.id).as_str()),
            env_variable(mcp::RUN, order.effect.run.to_string()),
            env_variable("UNSTUCK_RETRY", retry.to_string()),
        ];
        match logs {
            None => {
                launch.input = ProcessInput::Own(self.input.clone());
                launch.output = ProcessOutput::PassThrough;
                // The command gets the caller's terminal, so that it can ask for a password as
                // usual.
                launch.session = TerminalSession::Caller;
            }
            // An unwatched job has no operator to answer it.
            Some(logs) => launch.output = logs.open_output(order.firing, &self.redactor),
        }
        launch.deadlines = ProcessDeadlines { total: self.timeout, ..ProcessDeadlines::default() };
        launch
    }

    /// Returns the prober for actions of the script.
    pub(super) fn action_prober(&self) -> ActionProber {
        let ScriptCommand { guard, runs, directory, results, redactor, .. } = self.clone();
        ActionProber { guard, runs, directory, results, redactor }
    }
}

/// Returns an environment variable.
fn env_variable(name: &str, value: impl Into<OsString>) -> (OsString, Option<OsString>) {
    (OsString::from(name), Some(value.into()))
}
