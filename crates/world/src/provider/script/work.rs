//! Executes a script.

use std::fs;
use std::path::{Component, Path};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use unstuck_core::attempt::{ActionOutcome, ToolKind};
use unstuck_core::fault::{Fault, Input, Kind, Logic, Timeout};
use unstuck_core::time::Span;

use super::file::{AgentScript, ScriptStep};
use crate::agent::{Activity, Agent, AgentAssignment, AgentEnd, AgentResult, Usage};
use crate::process::{GuardCommand, Launch, ProcessDeadlines, ProcessEnd};

const SOURCE: &str = "script";
const MICROS_PER_CENT: u64 = 10_000;

/// An agent that follows a script.
#[derive(Clone, Debug)]
pub struct ScriptedAgent {
    script: AgentScript,
    guard: GuardCommand,
}

impl ScriptedAgent {
    /// Creates an agent that follows `script`; its commands run under `guard`.
    pub fn new(script: AgentScript, guard: GuardCommand) -> Self {
        Self { script, guard }
    }
}

#[async_trait]
impl Agent for ScriptedAgent {
    async fn check_ready(&self) -> Result<(), Fault> {
        Ok(())
    }

    async fn work_on(
        &self,
        assignment: AgentAssignment,
        tell: mpsc::Sender<Activity>,
        stop: CancellationToken,
    ) -> AgentResult {
        let mut place =
            ScriptPosition::from_thread(assignment.thread.as_deref(), assignment.attempt);
        let steps = self.script.steps_for_attempt(place.attempt);
        // A resumed attempt has already written its earlier messages.
        let mut before = steps.iter().take(place.next as usize).rev();
        let said = before.find_map(ScriptStep::message_text).unwrap_or_default().to_owned();
        let usage = Usage::default();
        let mut acting =
            ScriptRun { guard: &self.guard, assignment: &assignment, tell, stop, said, usage };
        let mut end = None;
        for step in steps.iter().skip(place.next as usize) {
            // A failed step counts as done: a resumed attempt continues after it.
            place.next += 1;
            if matches!(step, ScriptStep::Fail { .. } | ScriptStep::Blocked(_) | ScriptStep::Hang) {
                acting.send_activity(Activity::Began { thread: place.to_string() }).await;
            }
            end = acting.perform_step(step, place.next).await;
            if end.is_some() {
                break;
            }
            acting.send_activity(Activity::Began { thread: place.to_string() }).await;
        }
        let denials = Vec::new();
        let end = end.unwrap_or(AgentEnd::Finished { said: acting.said, denials });
        AgentResult { end, thread: Some(place.to_string()), usage: acting.usage }
    }
}

/// The position in an attempt, stored as the id of the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ScriptPosition {
    attempt: u32,
    next: u32,
}

impl ScriptPosition {
    fn from_thread(thread: Option<&str>, attempt: u32) -> Self {
        let parts = thread.and_then(|thread| thread.split_once(':'));
        let kept = parts.and_then(|(attempt, next)| {
            Some(Self { attempt: attempt.parse().ok()?, next: next.parse().ok()? })
        });
        kept.unwrap_or(Self { attempt, next: 0 })
    }
}

impl std::fmt::Display for ScriptPosition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.attempt, self.next)
    }
}

/// The state of an attempt.
struct ScriptRun<'a> {
    guard: &'a GuardCommand,
    assignment: &'a AgentAssignment,
    tell: mpsc::Sender<Activity>,
    stop: CancellationToken,
    said: String,
    usage: Usage,
}

impl ScriptRun<'_> {
    /// Stays silent until the idle limit has passed.
    async fn hang_until_idle(&self) -> AgentEnd {
        let idle = self.assignment.limits.idle;
        let heard = self.stop.run_until_cancelled(tokio::time::sleep(idle)).await;
        let Some(()) = heard else { return AgentEnd::Stopped };
        let limit_ms = u64::try_from(idle.as_millis()).unwrap_or(u64::MAX);
        let message = format!("nothing more was heard of it for {}", Span::from_millis(limit_ms));
        let timeout = Timeout { operation: SOURCE.to_owned(), limit_ms };
        AgentEnd::Failed(Box::new(Fault::iteration_timeout(SOURCE, message, timeout)))
    }

    /// Executes one step; returns how the attempt ended, if it did.
    async fn perform_step(&mut self, step: &ScriptStep, number: u32) -> Option<AgentEnd> {
        match step {
            ScriptStep::Say(text) => {
                self.said.clone_from(text);
                self.send_activity(Activity::Said { text: text.clone() }).await;
            }
            ScriptStep::Write { path, text } => {
                let input = serde_json::json!({ "path": path, "content": text });
                self.report_call(number, ToolKind::Write, "write", &input.to_string()).await;
                return self
                    .change_file(number, path, |path| {
                        if let Some(folder) = path.parent() {
                            fs::create_dir_all(folder)?;
                        }
                        fs::write(path, text)
                    })
                    .await;
            }
            ScriptStep::Delete(path) => {
                let input = serde_json::json!({ "path": path });
                self.report_call(number, ToolKind::Edit, "delete", &input.to_string()).await;
                return self.change_file(number, path, |path| fs::remove_file(path)).await;
            }
            ScriptStep::Run(line) => return self.run_command(number, line).await,
            ScriptStep::Wait(ms) => return self.wait_or_stop(Duration::from_millis(*ms)).await,
            ScriptStep::Spend { cents, tokens } => {
                let money_micros = Some(cents.saturating_mul(MICROS_PER_CENT));
                let usage = Usage { money_micros, output_tokens: *tokens, ..Usage::default() };
                self.usage = self.usage.plus(usage);
                self.send_activity(Activity::Used { usage }).await;
            }
            ScriptStep::Hang => return Some(self.hang_until_idle().await),
            ScriptStep::Fail { code, message, retry_after_s } => {
                let mut fault = Fault::new(Kind::bare(*code), SOURCE, message.clone());
                fault.retry_after = retry_after_s.map(Span::from_secs);
                return Some(AgentEnd::Failed(Box::new(fault)));
            }
            ScriptStep::Blocked(asked) => {
                let context = Input { asked: asked.clone(), ..Input::default() };
                let fault = Fault::precondition_input(SOURCE, asked.clone(), context);
                return Some(AgentEnd::Failed(Box::new(fault)));
            }
        }
        None
    }

    async fn wait_or_stop(&self, time: Duration) -> Option<AgentEnd> {
        tokio::select! {
            () = tokio::time::sleep(time) => None,
            () = self.stop.cancelled() => Some(AgentEnd::Stopped),
        }
    }

    async fn change_file(
        &self,
        number: u32,
        path: &str,
        act: impl FnOnce(&Path) -> std::io::Result<()>,
    ) -> Option<AgentEnd> {
        let done = if is_inside(&self.assignment.directory, Path::new(path)) {
            act(&self.assignment.directory.join(path)).map_err(|error| error.to_string())
        } else {
            Err("the path leaves the worktree".to_owned())
        };
        match done {
            Ok(()) => {
                self.report_return(number, ActionOutcome::Succeeded, String::new()).await;
                None
            }
            Err(error) => {
                self.report_return(number, ActionOutcome::Failed, error.clone()).await;
                let message = format!("{path}: {error}");
                let context = Logic { step: Some(path.to_owned()), exit: None };
                Some(AgentEnd::Failed(Box::new(Fault::logic_error(SOURCE, message, context))))
            }
        }
    }

    /// Runs a command. Its failure is only reported, and the attempt goes on.
    async fn run_command(&self, number: u32, line: &str) -> Option<AgentEnd> {
        self.report_call(number, ToolKind::Command, "run", line).await;
        let AgentAssignment { lock, directory, environment, wall, limits, .. } = self.assignment;
        let mut launch = Launch::new(self.guard.clone(), lock, directory, "sh");
        launch.arguments = vec!["-c".into(), line.into()];
        launch.inherits_environment = false;
        launch.environment =
            environment.iter().map(|(name, value)| (name.clone(), Some(value.clone()))).collect();
        launch.wall = wall.clone();
        launch.deadlines =
            ProcessDeadlines { total: Some(limits.total), ..ProcessDeadlines::default() };
        let process = match launch.start().await {
            Ok(process) => process,
            Err(fault) => return Some(AgentEnd::Failed(Box::new(fault))),
        };
        let ended = process.wait_or_stop(&self.stop).await;
        if self.stop.is_cancelled() {
            return Some(AgentEnd::Stopped);
        }
        let well = ended.how == ProcessEnd::Exited(0);
        let outcome = if well { ActionOutcome::Succeeded } else { ActionOutcome::Failed };
        let shown = String::from_utf8_lossy(&ended.output.to_bytes()).into_owned();
        self.report_return(number, outcome, shown).await;
        None
    }

    async fn report_call(&self, number: u32, tool: ToolKind, name: &str, input: &str) {
        let name = name.to_owned();
        let input = input.to_owned();
        self.send_activity(Activity::Called { call: number.to_string(), tool, name, input }).await;
    }

    async fn report_return(&self, number: u32, outcome: ActionOutcome, output: String) {
        self.send_activity(Activity::Returned { call: number.to_string(), outcome, output }).await;
    }

    /// Sends an activity. The receiver may be gone, and the work goes on without it.
    async fn send_activity(&self, activity: Activity) {
        let _ = self.tell.send(activity).await;
    }
}

/// Returns whether a path lies below the worktree and no link on its way leads out: the file is
/// written by this process, which has no wall around it.
fn is_inside(worktree: &Path, path: &Path) -> bool {
    let plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    let full = worktree.join(path);
    let there = full.ancestors().find(|at| at.symlink_metadata().is_ok());
    let leads_to = there.and_then(|there| there.canonicalize().ok());
    let root = worktree.canonicalize();
    plain && leads_to.zip(root.ok()).is_some_and(|(leads_to, root)| leads_to.starts_with(root))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn no_link_leads_out_of_the_worktree() {
        let place = tempfile::tempdir().unwrap();
        let worktree = place.path().join("worktree");
        fs::create_dir_all(worktree.join("own")).unwrap();
        fs::write(place.path().join("file"), "").unwrap();
        symlink(place.path().join("file"), worktree.join("link")).unwrap();
        symlink(place.path(), worktree.join("folder")).unwrap();
        symlink(place.path().join("missing"), worktree.join("dangling")).unwrap();
        symlink("own", worktree.join("inside")).unwrap();
        for (path, inside) in [
            ("new/deep/file", true),
            ("own/file", true),
            ("inside/file", true),
            ("link", false),
            ("folder/file", false),
            ("dangling", false),
            ("../file", false),
        ] {
            assert_eq!(is_inside(&worktree, Path::new(path)), inside, "{path}");
        }
    }
}
