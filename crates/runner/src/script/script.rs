//! A command, and how it is started.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use unstuck_core::engine::Work;
use unstuck_world::mcp;
use unstuck_world::process::{Deadlines, Guard, Input, Launch, Output, OwnInput, Session};
use unstuck_world::redact::Redactor;

use crate::control::TokenKey;
use crate::jobs::Logs;
use crate::probe::Prober;
use crate::results::Results;
use crate::world::Order;

/// A command, and what it needs to be run.
#[derive(Clone, Debug)]
pub struct Script {
    /// What becomes its guard.
    pub guard: Guard,
    /// Where lock files of runs are.
    pub runs: PathBuf,
    /// The program.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Where it runs.
    pub directory: PathBuf,
    /// What it reads as a command of `exec`; a job reads nothing.
    pub input: OwnInput,
    /// How long it may take.
    pub timeout: Option<Duration>,
    /// Where it can reach whoever holds the project.
    pub socket: PathBuf,
    /// What its token is made with.
    pub key: TokenKey,
    /// Where long results of its actions are kept.
    pub results: Results,
    /// Takes secrets out of what is remembered of its failures.
    pub redactor: Arc<Redactor>,
}

impl Script {
    /// The command as it would be typed, shortened; of a shell the line that it is given.
    pub(super) fn line(&self) -> String {
        const CHARACTERS_MAX: usize = 200;
        let words: Vec<_> = match &self.arguments[..] {
            [option, line] if option == "-c" => vec![line.to_string_lossy()],
            arguments => {
                let program = std::iter::once(&self.program);
                program.chain(arguments).map(|word| word.to_string_lossy()).collect()
            }
        };
        let line = words.join(" ");
        match line.char_indices().nth(CHARACTERS_MAX) {
            Some((at, _)) => format!("{}…", &line[..at]),
            None => line,
        }
    }

    /// How it is started for an effect. Its output is kept where `logs` says, or passes through.
    pub(super) fn launch(&self, order: &Order, lock: PathBuf, logs: Option<&Logs>) -> Launch {
        let retry = match order.effect.what {
            Work::Execute { retry } => retry,
            _ => 0,
        };
        let mut launch = Launch::new(self.guard.clone(), lock, &self.directory, &self.program);
        launch.arguments.clone_from(&self.arguments);
        launch.environment = vec![
            own(mcp::SOCKET, &self.socket),
            own(mcp::TOKEN, self.key.token(order.effect.id).as_str()),
            own(mcp::RUN, order.effect.run.to_string()),
            own("UNSTUCK_RETRY", retry.to_string()),
        ];
        match logs {
            None => {
                launch.input = Input::Own(self.input.clone());
                launch.output = Output::PassThrough;
                // Its terminal is ours, so that it can ask for a password as it always does.
                launch.session = Session::Caller;
            }
            // Nobody is there to answer it.
            Some(logs) => launch.output = logs.output(order.firing, &self.redactor),
        }
        launch.deadlines = Deadlines { total: self.timeout, ..Deadlines::default() };
        launch
    }

    /// Looks actions of it up.
    pub(super) fn prober(&self) -> Prober {
        let Script { guard, runs, directory, results, redactor, .. } = self.clone();
        Prober { guard, runs, directory, results, redactor }
    }
}

/// A variable of the environment.
fn own(name: &str, value: impl Into<OsString>) -> (OsString, Option<OsString>) {
    (OsString::from(name), Some(value.into()))
}
