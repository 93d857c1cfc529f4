//! The tool that runs commands: admission, output, and verdict.

use std::ffi::OsString;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use unstuck_core::attempt::ActionOutcome;
use unstuck_core::fault::{Fault, text_rules};

use super::shorten::{SHOWN_BYTES_MAX, shorten_text};
use super::toolbox::{PreventedAction, ToolContext, ToolOutput};
use super::walled::{DeniedAccess, find_denied_access};
use super::wish::RunCommand;
use crate::commands::{REFUSALS_MAX, blocked_fault, find_refusal};
use crate::egress::RefusedTarget;
use crate::process::{Launch, ProcessDeadlines, ProcessEnd, ProcessResult, derive_fault};

/// The source of faults of commands.
const SOURCE: &str = "shell";
/// Maximum number of bytes of a command in its label.
const LABEL_BYTES_MAX: usize = 200;

/// Runs commands in one worktree.
#[derive(Debug)]
pub(super) struct CommandRunner(pub(super) ToolContext);

impl CommandRunner {
    pub(super) async fn run(
        &self,
        ask: &RunCommand,
        stop: &CancellationToken,
    ) -> Result<ToolOutput, Box<Fault>> {
        if let Some(refusal) = self.0.commands.check_line(&ask.command).map_err(Box::new)? {
            // The command is refused even if the refusal cannot be recorded.
            let _ = self.0.shims.note_refusal(&refusal);
            return self.handle_refusal(&ask.command, refusal.render_sentence());
        }
        let before = self.0.shims.count_refused();
        let hosts = self.refused_hosts();
        let ended = self.run_process(ask, stop).await?;
        if self.0.shims.count_refused() > before {
            return self.handle_refusal(&ask.command, output_text(&ended));
        }
        Ok(self.build_output(&ended, &ask.command, &hosts))
    }

    fn refused_hosts(&self) -> Vec<RefusedTarget> {
        self.0.egress.as_ref().map(|egress| egress.list_refusals()).unwrap_or_default()
    }

    /// Returns what the sandbox kept a failed command from; `hosts` are the targets refused before
    /// it ran.
    fn find_denial(
        &self,
        shown: &ToolOutput,
        output: &str,
        hosts: &[RefusedTarget],
    ) -> Option<DeniedAccess> {
        if shown.outcome != ActionOutcome::Failed {
            return None;
        }
        let refused = self.refused_hosts().into_iter().find(|refused| !hosts.contains(refused));
        match (refused, shown.verdict.as_ref()) {
            (Some(refused), _) => Some(DeniedAccess::Host(refused)),
            (None, Some(fault)) => {
                let at = (&self.0.command_wall(), &*self.0.root);
                find_denied_access(fault, output, self.0.network, at)
            }
            (None, None) => None,
        }
    }

    /// Builds the result of a command. A refusal by Unstuck's own sandbox is reported as such,
    /// without a verdict.
    fn build_output(
        &self,
        ended: &ProcessResult,
        command: &str,
        hosts: &[RefusedTarget],
    ) -> ToolOutput {
        let shown = render_output(ended, command);
        match self.find_denial(&shown, &output_text(ended), hosts) {
            Some(kept) => ToolOutput {
                text: format!("{}\n[{}]", shown.text, kept.render_for_agent()),
                verdict: None,
                kept_from: Some(PreventedAction::Reaching(kept.render_for_people())),
                ..shown
            },
            None => shown,
        }
    }

    /// Handles a refused irreversible command: returns the explanation to the model at first, and a
    /// fault that goes to the operator from refusal number `REFUSALS_MAX` on.
    fn handle_refusal(&self, command: &str, text: String) -> Result<ToolOutput, Box<Fault>> {
        let times = self.0.shims.count_refused();
        if times < REFUSALS_MAX {
            let why = find_refusal(&text).unwrap_or_default().to_owned();
            let kept_from = Some(PreventedAction::Running { command: command.to_owned(), why });
            return Ok(ToolOutput { kept_from, ..ToolOutput::with_failure(text) });
        }
        let why =
            format!("refused {times} times in this run; it goes through mutate or not at all");
        Err(Box::new(blocked_fault(command, &why)))
    }

    async fn run_process(
        &self,
        ask: &RunCommand,
        stop: &CancellationToken,
    ) -> Result<ProcessResult, Box<Fault>> {
        let process = self.build_launch(ask).start().await.map_err(Box::new)?;
        Ok(process.wait_or_stop(stop).await)
    }

    fn build_launch(&self, ask: &RunCommand) -> Launch {
        let line = ["sh".into(), "-c".into(), OsString::from(&ask.command)];
        let ToolContext { guard, lock, environment, network, root, timeout, .. } = &self.0;
        let mut words = network.command_prefix().into_iter().chain(line);
        let program = words.next().unwrap_or_default();
        let mut launch = Launch::new(guard.clone(), lock, root, program);
        launch.arguments = words.collect();
        launch.inherits_environment = false;
        launch.environment = environment.variables().to_vec();
        launch.wall = self.0.command_wall();
        let asked = ask.timeout_seconds.map_or(*timeout, Duration::from_secs);
        let total = asked.clamp(Duration::from_secs(1), *timeout);
        launch.deadlines = ProcessDeadlines { total: Some(total), ..ProcessDeadlines::default() };
        launch
    }
}

fn output_text(ended: &ProcessResult) -> String {
    String::from_utf8_lossy(&ended.output.to_bytes()).into_owned()
}

fn render_output(ended: &ProcessResult, command: &str) -> ToolOutput {
    let text = shorten_text(output_text(ended).trim_end(), SHOWN_BYTES_MAX);
    let how = match ended.how {
        ProcessEnd::Exited(0) if text.is_empty() => "it ended well and wrote nothing".to_owned(),
        ProcessEnd::Exited(0) => String::new(),
        ProcessEnd::Exited(status) => format!("it ended with status {status}"),
        ProcessEnd::Signalled(signal) => format!("it was ended by signal {signal}"),
        ProcessEnd::TimedOut { limit, .. } => format!("it was ended after {} s", limit.as_secs()),
        ProcessEnd::Stopped => "it was stopped".to_owned(),
        ProcessEnd::NotStarted(_) => "it could not be started".to_owned(),
        ProcessEnd::TooMany { allowed } => {
            format!("it had more than {allowed} processes and threads at a time and was ended")
        }
        ProcessEnd::Lost { .. } => "it was lost".to_owned(),
    };
    let notes = [how, render_leftovers(ended.leftovers_ended)].into_iter();
    let notes = notes.filter(|note| !note.is_empty()).map(|note| format!("[{note}]"));
    let lines: Vec<String> =
        Some(text).filter(|text| !text.is_empty()).into_iter().chain(notes).collect();
    let fine = ended.how == ProcessEnd::Exited(0);
    let outcome = if fine { ActionOutcome::Succeeded } else { ActionOutcome::Failed };
    let verdict = classify_end(ended, command).map(Box::new);
    ToolOutput { text: lines.join("\n"), outcome, verdict, kept_from: None }
}

fn render_leftovers(processes: u32) -> String {
    match processes {
        0 => String::new(),
        1 => "a process it left behind was ended".to_owned(),
        some => format!("{some} processes it left behind were ended"),
    }
}

/// Classifies how a command ended. One that exits with a status and without any diagnostic only
/// answers "no", so it is no fault.
fn classify_end(ended: &ProcessResult, command: &str) -> Option<Fault> {
    let answers = matches!(ended.how, ProcessEnd::Exited(_))
        && !text_rules::classify_output(&ended.output.to_bytes()).diagnostic;
    let label = &command[..command.floor_char_boundary(LABEL_BYTES_MAX)];
    if answers { None } else { derive_fault(ended, SOURCE, label) }
}
