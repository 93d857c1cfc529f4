//! The evidence behind a question: the command and its output, the attempts, the change.
//!
//! The words of a question stay plain; the evidence is shown below them, verbatim, for people who want to
//! judge for themselves. Each fact has a field of its own, the same in the terminal, on the page, in the API
//! and for agents.

use serde::{Deserialize, Serialize};

use crate::failing::excerpt_lines;
use crate::fault::Code;
use crate::text::bounded::strip_control;
use crate::time::Time;

/// Maximum number of output lines shown.
pub const OUTPUT_LINES_MAX: usize = 20;
/// Maximum number of output bytes shown.
pub const OUTPUT_BYTES_MAX: usize = 4 * 1_024;

/// The evidence behind a question. Fields that do not apply are omitted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Evidence {
    /// The command that failed, or that is to be allowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The request that is to be allowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// Exit code of that command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
    /// The last lines of its output, redacted.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub output: String,
    /// The failed tests, if the output names them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failing_tests: Vec<String>,
    /// The number of failed tests, if more failed than are listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failing_tests_total: Option<usize>,
    /// The files concerned.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// The host concerned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The task and agent that asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked_by: Option<AskedBy>,
    /// The environment variable that should hold a credential.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variable: Option<String>,
    /// The command that logs in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub login: Option<String>,
    /// The action whose outcome is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<ActionEvidence>,
    /// The budget that has no room for the next call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<BudgetFacts>,
    /// Number of failures since a person last answered, over all approaches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failures: Option<u32>,
    /// The approaches that were actually tried, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub approaches: Vec<ApproachFacts>,
    /// The change of the last approach.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<DiffFacts>,
}

/// The task and agent that asked for something.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AskedBy {
    /// The title of the task.
    pub task: String,
    /// The agent that works on the task, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

/// An action whose outcome is unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ActionEvidence {
    /// The idempotency key.
    pub key: String,
    /// The command or request in one line, redacted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// The time at which it was sent.
    pub sent_at: Time,
    /// The output of the call; `None` if the process that sent it was gone before any output arrived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub came_back: Option<String>,
    /// The command or address that looks up the outcome. Without one it cannot be checked again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probe: Option<String>,
    /// The output of the latest lookup.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probe_said: Option<String>,
    /// The time of the latest lookup.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probed_at: Option<Time>,
    /// The place where the effect would be visible.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub look_at: Option<String>,
}

/// A budget without room for the next call, as texts with units.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BudgetFacts {
    /// The limit.
    pub limit: String,
    /// The amount spent of the limit.
    pub spent: String,
    /// The amount that the next call may cost.
    pub needed: String,
    /// The setting of the limit, if it can be no other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setting: Option<String>,
}

/// An approach that was tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ApproachFacts {
    /// The number of the approach, counted from 1.
    pub number: u32,
    /// The actions of the approach, in the agent's words or as observed.
    pub did: String,
    /// Number of files it changed.
    pub files_changed: u32,
    /// Number of commands it ran.
    pub commands: u32,
    /// The code of its failure.
    pub code: Code,
    /// The failure in words.
    pub ended: String,
}

/// A change as numbers, with the command that shows all of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DiffFacts {
    /// Number of changed files.
    pub files_changed: u32,
    /// Some of the changed files.
    pub files: Vec<String>,
    /// Number of added lines.
    pub lines_added: u32,
    /// Number of removed lines.
    pub lines_removed: u32,
    /// The command that shows the whole change.
    pub whole: String,
}

/// An entry of the evidence as displayed, the same on every surface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvidenceEntry {
    /// The label of the entry.
    pub label: &'static str,
    /// The content line by line; empty if the entry is a time.
    pub lines: Vec<String>,
    /// The time, if the entry is one.
    pub at: Option<Time>,
    /// `true` if the content is program output, shown letter by letter.
    pub verbatim: bool,
}

impl Evidence {
    /// Returns whether there is no evidence to show.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the entries in reading order.
    pub fn entries(&self) -> Vec<EvidenceEntry> {
        let mut entries = Vec::new();
        if let Some(action) = &self.action {
            entries.extend(action.entries());
        }
        let mut add = |label, lines, verbatim| entries.extend(make_entry(label, lines, verbatim));
        add("Command", split_lines(self.command.as_deref()), true);
        add("Request", split_lines(self.request.as_deref()), true);
        add("Exit status", self.exit.iter().map(i32::to_string).collect(), false);
        add("Output", split_lines(Some(&self.output)), true);
        add("Failing tests", self.failing_test_lines(), true);
        add("Files", self.paths.clone(), true);
        add("Host", split_lines(self.host.as_deref()), true);
        add("Asked by", self.asked_by.iter().map(AskedBy::render_line).collect(), false);
        add("Variable", split_lines(self.variable.as_deref()), true);
        add("Login", split_lines(self.login.as_deref()), true);
        add("Budget", self.budget.iter().map(BudgetFacts::render_line).collect(), false);
        add("Approaches", self.approach_lines(), false);
        add("Change", self.diff.iter().flat_map(DiffFacts::render_lines).collect(), false);
        entries
    }

    /// Returns the failed tests by name, and the number of those that are not listed.
    fn failing_test_lines(&self) -> Vec<String> {
        let total = self.failing_tests_total.unwrap_or_default();
        let more = total.saturating_sub(self.failing_tests.len());
        let more = (more > 0).then(|| format!("and {more} more"));
        self.failing_tests.iter().cloned().chain(more).collect()
    }

    /// Returns each approach with its failure, and the total number of failures if that is larger.
    fn approach_lines(&self) -> Vec<String> {
        let line = |tried: &ApproachFacts| {
            let did = if tried.did.is_empty() { "began" } else { tried.did.as_str() };
            format!("{}. {did}: {}", tried.number, tried.ended)
        };
        let mut lines: Vec<String> = self.approaches.iter().map(line).collect();
        let failures = self.failures.unwrap_or_default() as usize;
        if failures > lines.len() && !lines.is_empty() {
            lines.push(format!("{failures} failures in all"));
        }
        lines
    }
}

fn make_entry(label: &'static str, lines: Vec<String>, verbatim: bool) -> Option<EvidenceEntry> {
    (!lines.is_empty()).then_some(EvidenceEntry { label, lines, at: None, verbatim })
}

fn split_lines(text: Option<&str>) -> Vec<String> {
    text.unwrap_or_default().lines().map(str::to_owned).collect()
}

impl ActionEvidence {
    fn entries(&self) -> impl Iterator<Item = EvidenceEntry> {
        let at =
            |label, at| EvidenceEntry { label, lines: Vec::new(), at: Some(at), verbatim: false };
        let said = |label, text: Option<&str>| make_entry(label, split_lines(text), true);
        let nothing = "nothing: it was cut off before anything came back";
        let came_back = match self.came_back.as_deref() {
            Some(words) => said("What came back", Some(words)),
            None => make_entry("What came back", vec![nothing.to_owned()], false),
        };
        let entries = [
            said("Action", Some(&self.key)),
            said("What was sent", self.call.as_deref()),
            Some(at("Sent", self.sent_at)),
            came_back,
            said("Look-up", self.probe.as_deref()),
            said("What the look-up said", self.probe_said.as_deref()),
            self.probed_at.map(|time| at("Looked up", time)),
            said("Where to look", self.look_at.as_deref()),
        ];
        entries.into_iter().flatten()
    }
}

impl AskedBy {
    fn render_line(&self) -> String {
        match &self.agent {
            Some(agent) => format!("{agent}, for “{}”", self.task),
            None => format!("the agent of “{}”", self.task),
        }
    }
}

impl BudgetFacts {
    fn render_line(&self) -> String {
        format!("limit {}, spent {}, next step up to {}", self.limit, self.spent, self.needed)
    }
}

impl DiffFacts {
    fn render_lines(&self) -> Vec<String> {
        let more = (self.files_changed as usize).saturating_sub(self.files.len());
        let more = (more > 0).then(|| format!("and {more} more"));
        let whole = format!("the whole: {}", self.whole);
        let stat = [self.render_stat()].into_iter();
        stat.chain(self.files.iter().cloned()).chain(more).chain([whole]).collect()
    }

    /// Formats `2 files changed, 14 lines added, 3 removed`.
    pub fn render_stat(&self) -> String {
        let files = if self.files_changed == 1 { "file" } else { "files" };
        let lines = if self.lines_added == 1 { "line" } else { "lines" };
        format!(
            "{} {files} changed, {} {lines} added, {} removed",
            self.files_changed, self.lines_added, self.lines_removed
        )
    }
}

/// Returns the last lines of the output of a check, after those about failed tests, within its limits.
pub fn check_lines(output: &str) -> String {
    let output = strip_control(output);
    last_lines(&excerpt_lines(output.trim_end(), OUTPUT_LINES_MAX).join("\n"))
}

/// Returns the last lines of an output, within its limits.
pub fn last_lines(output: &str) -> String {
    let output = strip_control(output);
    let output = output.trim_end();
    let from = output.len().saturating_sub(OUTPUT_BYTES_MAX);
    let output = &output[output.ceil_char_boundary(from)..];
    let lines: Vec<&str> = output.lines().collect();
    lines[lines.len().saturating_sub(OUTPUT_LINES_MAX)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_an_output_is_what_is_shown() {
        let long: Vec<String> = (1..=30).map(|n| format!("line {n}")).collect();
        let shown = last_lines(&long.join("\n"));
        assert_eq!(shown.lines().count(), OUTPUT_LINES_MAX);
        assert!(shown.starts_with("line 11\n") && shown.ends_with("line 30"), "{shown}");
        assert_eq!(last_lines("one\n\n"), "one");
        assert_eq!(
            last_lines("\u{1b}[31mnot ok\u{1b}[0m\r\n\u{1b}]0;a title\u{7}end"),
            "not ok\nend"
        );
        assert!(last_lines(&"é".repeat(OUTPUT_BYTES_MAX)).len() <= OUTPUT_BYTES_MAX);
    }

    #[test]
    fn what_does_not_apply_is_left_out() {
        assert_eq!(serde_json::to_string(&Evidence::default()).unwrap(), "{}");
        assert!(serde_json::from_str::<Evidence>("{}").unwrap().is_empty());
    }

    #[test]
    fn a_change_is_told_in_numbers() {
        let diff = |files_changed, lines_added| DiffFacts {
            files_changed,
            files: Vec::new(),
            lines_added,
            lines_removed: 3,
            whole: String::new(),
        };
        assert_eq!(diff(2, 14).render_stat(), "2 files changed, 14 lines added, 3 removed");
        assert_eq!(diff(1, 1).render_stat(), "1 file changed, 1 line added, 3 removed");
    }
}
