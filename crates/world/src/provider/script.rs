//! A scripted agent: follows a file, in a real worktree with real commands. It serves the demo,
//! drills, and people's own tests of their tasks.
//!
//! ```toml
//! [[attempt]]
//! steps = [
//!     { say = "I write the page." },
//!     { write = "page.txt", text = "hello\n" },
//!     { run = "make page" },
//! ]
//! ```
//!
//! The first attempt at a task executes the first list, the second attempt the second; later ones
//! the last.

use std::fs;
use std::path::{Component, Path};
use std::time::Duration;

use async_trait::async_trait;
use serde::Deserialize;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use unstuck_core::attempt::{ActionOutcome, ToolKind};
use unstuck_core::fault::{Code, Config, Fault, Input, Kind, Logic, Timeout};
use unstuck_core::time::Span;

use crate::agent::{Activity, Agent, AgentAssignment, AgentEnd, AgentResult, Usage};
use crate::process::{GuardCommand, Launch, ProcessEnd};

/// The steps of a scripted agent, by attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentScript {
    attempts: Vec<Vec<ScriptStep>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum ScriptStep {
    /// Writes a message.
    Say(String),
    /// Writes a file.
    Write { path: String, text: String },
    /// Removes a file.
    Delete(String),
    /// Runs a shell line.
    Run(String),
    /// Waits for this many milliseconds.
    Wait(u64),
    /// Adds this much to the usage.
    Spend { cents: u64, tokens: u64 },
    /// Fails with this code.
    Fail { code: Code, message: String, retry_after_s: Option<u64> },
    /// Hangs until the idle limit has passed.
    Hang,
    /// Reports that it needs the operator.
    Blocked(String),
}

impl ScriptStep {
    /// Returns the message, if the step writes one.
    fn message_text(&self) -> Option<&str> {
        match self {
            Self::Say(text) => Some(text),
            _ => None,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawScript {
    attempt: Vec<RawAttempt>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawAttempt {
    steps: Vec<RawStep>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct RawStep {
    say: Option<String>,
    write: Option<String>,
    text: Option<String>,
    delete: Option<String>,
    run: Option<String>,
    wait_ms: Option<u64>,
    spend_cents: Option<u64>,
    tokens: Option<u64>,
    fail: Option<Code>,
    message: Option<String>,
    retry_after_s: Option<u64>,
    hang: Option<bool>,
    blocked: Option<String>,
}

impl AgentScript {
    /// Parses a script; `path` is its origin, for the messages to the person who has to correct it.
    pub fn parse(text: &str, path: &str) -> Result<Self, Fault> {
        let config = Config { path: Some(path.to_owned()), ..Config::default() };
        let raw: RawScript = toml::from_str(text).map_err(|error| {
            let at = error.span().map(|span| find_line_and_column(text, span.start));
            let (line, column) = at.unzip();
            let message = format!("{path}: {}", error.message());
            Fault::config_parse_error("script", message, Config { line, column, ..config.clone() })
        })?;
        let invalid = |message: String| Fault::config_invalid("script", message, config.clone());
        let mut attempts = Vec::with_capacity(raw.attempt.len());
        for (attempt, raw) in (1..).zip(raw.attempt) {
            let mut steps = Vec::with_capacity(raw.steps.len());
            for (number, step) in (1..).zip(raw.steps) {
                let place = format!("{path}: step {number} of attempt {attempt}");
                steps.push(step.into_step().ok_or_else(|| {
                    invalid(format!("{place} has to do exactly one thing: {THINGS}"))
                })?);
            }
            attempts.push(steps);
        }
        if attempts.is_empty() {
            return Err(invalid(format!("{path}: there is no [[attempt]]")));
        }
        Ok(Self { attempts })
    }

    /// Returns the steps of the attempt with this number, counted from 1.
    fn steps_for_attempt(&self, attempt: u32) -> &[ScriptStep] {
        let at = (attempt.max(1) - 1) as usize;
        let last = self.attempts.len() - 1;
        &self.attempts[at.min(last)]
    }
}

const THINGS: &str =
    "say, write with text, delete, run, wait_ms, spend_cents, fail, hang = true, or blocked";

impl RawStep {
    /// Converts the step; returns `None` unless it does exactly one thing.
    fn into_step(self) -> Option<ScriptStep> {
        let mut found = Vec::new();
        let Self { say, write, text, delete, run, wait_ms, spend_cents, fail, message, .. } = self;
        let plain = write.is_some() || text.is_none();
        let described = fail.is_some() || (message.is_none() && self.retry_after_s.is_none());
        let counted = spend_cents.is_some() || self.tokens.is_none();
        if !(plain && described && counted) {
            return None;
        }
        found.extend(say.map(ScriptStep::Say));
        found.extend(write.map(|path| ScriptStep::Write { path, text: text.unwrap_or_default() }));
        found.extend(delete.map(ScriptStep::Delete));
        found.extend(run.map(ScriptStep::Run));
        found.extend(wait_ms.map(ScriptStep::Wait));
        let tokens = self.tokens.unwrap_or_default();
        found.extend(spend_cents.map(|cents| ScriptStep::Spend { cents, tokens }));
        found.extend(fail.map(|code| ScriptStep::Fail {
            code,
            message: message.unwrap_or_default(),
            retry_after_s: self.retry_after_s,
        }));
        found.extend(self.hang.filter(|hang| *hang).map(|_| ScriptStep::Hang));
        found.extend(self.blocked.map(ScriptStep::Blocked));
        let step = found.pop()?;
        found.is_empty().then_some(step)
    }
}

/// Returns the line and column of a byte offset, counted from 1.
fn find_line_and_column(text: &str, at: usize) -> (u32, u32) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |last| last.chars().count()) + 1;
    (u32::try_from(line).unwrap_or(u32::MAX), u32::try_from(column).unwrap_or(u32::MAX))
}

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
                let context = Logic { step: Some(path.to_owned()), ..Logic::default() };
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
        launch.deadlines.total = Some(limits.total);
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
        match ended.how {
            ProcessEnd::BeyondLimit(limit) => {
                Some(AgentEnd::Failed(Box::new(limit.to_agent_fault(SOURCE))))
            }
            _ => None,
        }
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

    use unstuck_core::fault::Kind;

    use super::*;

    #[test]
    fn attempts_do_their_own_list_and_later_ones_the_last() {
        let text = r#"
            [[attempt]]
            steps = [{ say = "hello" }, { write = "a", text = "b" }, { wait_ms = 5 }]
            [[attempt]]
            steps = [{ fail = "PROVIDER_OVERLOADED", message = "busy", retry_after_s = 3 }]
        "#;
        let script = AgentScript::parse(text, "s.toml").unwrap();
        let first = [
            ScriptStep::Say("hello".to_owned()),
            ScriptStep::Write { path: "a".to_owned(), text: "b".to_owned() },
            ScriptStep::Wait(5),
        ];
        assert_eq!(script.steps_for_attempt(1), first);
        assert_eq!(script.steps_for_attempt(0), first);
        let code = Code::ProviderOverloaded;
        let fails = ScriptStep::Fail { code, message: "busy".to_owned(), retry_after_s: Some(3) };
        assert_eq!(script.steps_for_attempt(2), std::slice::from_ref(&fails));
        assert_eq!(script.steps_for_attempt(99), [fails]);
    }

    // T4.23
    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let cases = [
            ("[[attempt]]\nsteps = [{ sing = 1 }]", Code::ConfigParseError, "sing"),
            ("[[attempt]]\nsteps = [{ fail = \"NOPE\" }]", Code::ConfigParseError, "NOPE"),
            ("attempt = 3", Code::ConfigParseError, "invalid type"),
            ("", Code::ConfigParseError, "attempt"),
            ("attempt = []", Code::ConfigInvalid, "no [[attempt]]"),
            ("[[attempt]]\nsteps = [{}]", Code::ConfigInvalid, "step 1 of attempt 1"),
            ("[[attempt]]\nsteps = [{ text = \"x\" }]", Code::ConfigInvalid, "step 1"),
            ("[[attempt]]\nsteps = [{ say = \"a\", run = \"b\" }]", Code::ConfigInvalid, "step 1"),
            ("[[attempt]]\nsteps = [{ say = \"a\", message = \"b\" }]", Code::ConfigInvalid, ""),
            ("[[attempt]]\nsteps = [{ say = \"a\", tokens = 5 }]", Code::ConfigInvalid, "step 1"),
            ("[[attempt]]\nsteps = [{ hang = false }]", Code::ConfigInvalid, "step 1"),
        ];
        for (text, code, names) in cases {
            let fault = AgentScript::parse(text, "s.toml").unwrap_err();
            assert_eq!(fault.code(), code, "{text}: {}", fault.message);
            assert!(fault.message.contains("s.toml"), "{}", fault.message);
            assert!(fault.message.contains(names), "{text}: {}", fault.message);
        }
        let fault =
            AgentScript::parse("[[attempt]]\nsteps = [{ sing = 1 }]", "s.toml").unwrap_err();
        let Kind::ConfigParseError(config) = &fault.kind else { panic!("{fault}") };
        assert_eq!((config.line, config.column), (Some(2), Some(12)));
    }

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
