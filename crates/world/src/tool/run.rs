//! The tool that runs commands: admission, output, and verdict.

use std::ffi::OsString;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use unstuck_core::attempt::Outcome;
use unstuck_core::fault::{Fault, text_rules};

use super::shorten::{SHOWN_BYTES_MAX, shorten};
use super::toolbox::{KeptFrom, Means, Shown};
use super::walled::{Kept, by_our_wall};
use super::wish::RunCommand;
use crate::commands::{REFUSALS_MAX, blocked, refusal_in};
use crate::egress::RefusedTarget;
use crate::process::{Deadlines, Ended, How, Launch, verdict};

/// The source of faults of commands.
const SOURCE: &str = "shell";
/// Maximum number of bytes of a command in its label.
const LABEL_BYTES_MAX: usize = 200;

/// Runs commands in one worktree.
#[derive(Debug)]
pub(super) struct Runs(pub(super) Means);

impl Runs {
    pub(super) async fn run(
        &self,
        ask: &RunCommand,
        stop: &CancellationToken,
    ) -> Result<Shown, Box<Fault>> {
        if let Some(refusal) = self.0.commands.admit(&ask.command).map_err(Box::new)? {
            // The command is refused even if the refusal cannot be recorded.
            let _ = self.0.shims.note(&refusal);
            return self.refused(&ask.command, refusal.sentence());
        }
        let before = self.0.shims.refused();
        let hosts = self.refused_hosts();
        let ended = self.launched(ask, stop).await?;
        if self.0.shims.refused() > before {
            return self.refused(&ask.command, output(&ended));
        }
        Ok(self.shown(&ended, &ask.command, &hosts))
    }

    fn refused_hosts(&self) -> Vec<RefusedTarget> {
        self.0.egress.as_ref().map(|egress| egress.refusals()).unwrap_or_default()
    }

    /// Returns what the sandbox kept a failed command from; `hosts` are the targets refused before
    /// it ran.
    fn kept(&self, shown: &Shown, output: &str, hosts: &[RefusedTarget]) -> Option<Kept> {
        if shown.outcome != Outcome::Failed {
            return None;
        }
        let refused = self.refused_hosts().into_iter().find(|refused| !hosts.contains(refused));
        match (refused, shown.verdict.as_ref()) {
            (Some(refused), _) => Some(Kept::Host(refused)),
            (None, Some(fault)) => {
                let at = (&self.0.wall(), &*self.0.root);
                by_our_wall(fault, output, self.0.network, at)
            }
            (None, None) => None,
        }
    }

    /// Builds the result of a command. A refusal by Unstuck's own sandbox is reported as such,
    /// without a verdict.
    fn shown(&self, ended: &Ended, command: &str, hosts: &[RefusedTarget]) -> Shown {
        let shown = shown(ended, command);
        match self.kept(&shown, &output(ended), hosts) {
            Some(kept) => Shown {
                text: format!("{}\n[{}]", shown.text, kept.for_agent()),
                verdict: None,
                kept_from: Some(KeptFrom::Reaching(kept.for_people())),
                ..shown
            },
            None => shown,
        }
    }

    /// Handles a refused irreversible command: returns the explanation to the model at first, and a
    /// fault that goes to the operator from refusal number `REFUSALS_MAX` on.
    fn refused(&self, command: &str, text: String) -> Result<Shown, Box<Fault>> {
        let times = self.0.shims.refused();
        if times < REFUSALS_MAX {
            let why = refusal_in(&text).unwrap_or_default().to_owned();
            let kept_from = Some(KeptFrom::Running { command: command.to_owned(), why });
            return Ok(Shown { kept_from, ..Shown::failed(text) });
        }
        let why =
            format!("refused {times} times in this run; it goes through mutate or not at all");
        Err(Box::new(blocked(command, &why)))
    }

    async fn launched(
        &self,
        ask: &RunCommand,
        stop: &CancellationToken,
    ) -> Result<Ended, Box<Fault>> {
        let process = self.launch(ask).start().await.map_err(Box::new)?;
        Ok(process.wait_unless(stop).await)
    }

    fn launch(&self, ask: &RunCommand) -> Launch {
        let line = ["sh".into(), "-c".into(), OsString::from(&ask.command)];
        let Means { guard, lock, environment, network, root, timeout, .. } = &self.0;
        let mut words = network.before().into_iter().chain(line);
        let program = words.next().unwrap_or_default();
        let mut launch = Launch::new(guard.clone(), lock, root, program);
        launch.arguments = words.collect();
        launch.inherits_environment = false;
        launch.environment = environment.variables().to_vec();
        launch.wall = self.0.wall();
        let asked = ask.timeout_seconds.map_or(*timeout, Duration::from_secs);
        let total = asked.clamp(Duration::from_secs(1), *timeout);
        launch.deadlines = Deadlines { total: Some(total), ..Deadlines::default() };
        launch
    }
}

fn output(ended: &Ended) -> String {
    String::from_utf8_lossy(&ended.output.to_bytes()).into_owned()
}

fn shown(ended: &Ended, command: &str) -> Shown {
    let text = shorten(output(ended).trim_end(), SHOWN_BYTES_MAX);
    let how = match ended.how {
        How::Exited(0) if text.is_empty() => "it ended well and wrote nothing".to_owned(),
        How::Exited(0) => String::new(),
        How::Exited(status) => format!("it ended with status {status}"),
        How::Signalled(signal) => format!("it was ended by signal {signal}"),
        How::TimedOut { limit, .. } => format!("it was ended after {} s", limit.as_secs()),
        How::Stopped => "it was stopped".to_owned(),
        How::NotStarted(_) => "it could not be started".to_owned(),
        How::TooMany { allowed } => {
            format!("it had more than {allowed} processes and threads at a time and was ended")
        }
        How::Lost { .. } => "it was lost".to_owned(),
    };
    let notes = [how, left_behind(ended.leftovers_ended)].into_iter();
    let notes = notes.filter(|note| !note.is_empty()).map(|note| format!("[{note}]"));
    let lines: Vec<String> =
        Some(text).filter(|text| !text.is_empty()).into_iter().chain(notes).collect();
    let fine = ended.how == How::Exited(0);
    let outcome = if fine { Outcome::Succeeded } else { Outcome::Failed };
    let verdict = judged(ended, command).map(Box::new);
    Shown { text: lines.join("\n"), outcome, verdict, kept_from: None }
}

fn left_behind(processes: u32) -> String {
    match processes {
        0 => String::new(),
        1 => "a process it left behind was ended".to_owned(),
        some => format!("{some} processes it left behind were ended"),
    }
}

/// Classifies how a command ended. One that exits with a status and without any diagnostic only
/// answers "no", so it is no fault.
fn judged(ended: &Ended, command: &str) -> Option<Fault> {
    let answers = matches!(ended.how, How::Exited(_))
        && !text_rules::read(&ended.output.to_bytes()).diagnostic;
    let label = &command[..command.floor_char_boundary(LABEL_BYTES_MAX)];
    if answers { None } else { verdict(ended, SOURCE, label) }
}
