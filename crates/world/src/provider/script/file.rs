//! The file format of a scripted agent.
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

use serde::Deserialize;
use unstuck_core::fault::{Code, Config, Fault};

/// The steps of a scripted agent, by attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentScript {
    attempts: Vec<Vec<ScriptStep>>,
}

/// A step of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ScriptStep {
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
    pub(super) fn message_text(&self) -> Option<&str> {
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
    pub(super) fn steps_for_attempt(&self, attempt: u32) -> &[ScriptStep] {
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

#[cfg(test)]
mod tests {
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
}
