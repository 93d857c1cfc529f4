//! The report as a value: the content of all views, and of `--json`.

use serde::{Deserialize, Serialize};
use unstuck_core::engine::{BuildId, BuildState, Checked, QuestionId, RedCheck, RunId, TaskId};
use unstuck_core::fault::{Category, Code};
use unstuck_core::plan::MutationKind;
use unstuck_core::policy::Amount;
use unstuck_core::question::{Decision, QuestionOption};
use unstuck_core::time::{Span, Time};

/// The state of a build and the results of its tasks so far.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildReport {
    /// The project's name.
    pub project: String,
    /// The build's id.
    pub build: BuildId,
    /// The build's state.
    #[serde(flatten)]
    pub state: BuildState,
    /// Set if a process is at work on the project.
    pub at_work: bool,
    /// The time at which the report was made.
    pub made_at: Time,
    /// The time at which the build began.
    pub started_at: Time,
    /// The time at which the build ended.
    pub ended_at: Option<Time>,
    /// The number of tasks by their result.
    pub counts: TaskCounts,
    /// The summary in one line.
    pub headline: String,
    /// The reasons for the build's state that its tasks do not show.
    pub remarks: Vec<String>,
    /// For operators: the code of the fault that ended the build.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
    /// For operators: the category of that code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<Category>,
    /// Tasks that are done and landed.
    pub shipped: Vec<ShippedTask>,
    /// Tasks that are done and needed no change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unchanged: Vec<UnchangedTask>,
    /// Requests of agents that were denied.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<RefusedRequest>,
    /// Checks that were red before any agent worked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub red_base: Vec<RedCheck>,
    /// Questions that wait for a person, the oldest first.
    pub waiting: Vec<WaitingQuestion>,
    /// Questions that a person has answered.
    pub answered: Vec<AnsweredQuestion>,
    /// Tasks that ended without being done.
    pub not_done: Vec<NotDoneTask>,
    /// Tasks that have not ended and do not wait for a person.
    pub still: Vec<OngoingTask>,
    /// Periods in which an account was limited.
    pub waits: Vec<AccountWait>,
    /// The cost of the build.
    pub cost: BuildCost,
    /// For operators: errors that were overcome without a person's help.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub healed: Vec<HealedError>,
}

/// The number of tasks by their result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskCounts {
    /// All tasks.
    pub tasks: u32,
    /// Tasks that are done and landed.
    pub shipped: u32,
    /// Tasks that are done without a change.
    #[serde(default)]
    pub unchanged: u32,
    /// Tasks that wait for a person.
    pub waiting: u32,
    /// Tasks that were left out.
    pub left_out: u32,
    /// Tasks that failed for good.
    pub failed: u32,
    /// Tasks that were cancelled with the build.
    pub cancelled: u32,
    /// Tasks that have not ended and do not wait for a person.
    pub still: u32,
}

/// A task that is done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShippedTask {
    /// The task's id.
    pub task: TaskId,
    /// The task's title, or a neutral name.
    pub title: String,
    /// The form in which it landed.
    pub landed: TaskLanding,
    /// Number of attempts that an agent has begun.
    pub attempts: u32,
    /// The time from its first start to its end.
    pub took_ms: Span,
    /// The cost of the task.
    pub spent: Amount,
    /// The checks of its work.
    pub checked: CheckSummary,
    /// Further actions with its work.
    pub actions: ActionSummary,
}

/// A task that needed no change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnchangedTask {
    /// The task's id.
    pub task: TaskId,
    /// The task's title.
    pub title: String,
    /// The reason, in the agent's words.
    pub why: String,
    /// The checks that were run.
    pub checked: CheckSummary,
    /// Further actions of the task.
    pub actions: ActionSummary,
}

impl UnchangedTask {
    /// Returns the reason as a sentence.
    pub fn render_reason(&self) -> String {
        format!("The agent said: “{}”", self.why)
    }
}

/// A request of a task's agent that was denied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedRequest {
    /// The task's id.
    pub task: TaskId,
    /// The task's title.
    pub title: String,
    /// The command, or another description of the request.
    pub what: String,
    /// The reason for the denial.
    pub why: String,
}

/// The form in which a task landed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "as", rename_all = "snake_case")]
pub enum TaskLanding {
    /// Commits on the build's branch, oldest first. There is more than one if a step after the
    /// first landing failed and another attempt continued from it.
    Commits {
        /// The ids of the commits.
        ids: Vec<String>,
    },
    /// The task changed no file, so there is nothing to land.
    Unchanged,
    /// No record of a landing exists.
    Unknown,
    /// The result is elsewhere: a runtime that is not part of Unstuck did the work.
    Elsewhere,
}

/// The checks of a task's work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckSummary {
    /// The result in one plain sentence.
    pub said: String,
    /// For operators: all checks by their command.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<Checked>,
}

/// Actions with a task's work besides landing it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActionSummary {
    /// Plain sentences, one per kind of outcome.
    pub said: Vec<String>,
    /// For operators: the individual actions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub each: Vec<ReportAction>,
}

/// An irreversible action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportAction {
    /// The action's key.
    pub key: String,
    /// The action's kind.
    pub kind: MutationKind,
    /// The result of the action.
    pub outcome: ReportActionOutcome,
}

/// The result of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReportActionOutcome {
    /// The action happened.
    Done,
    /// The action did not happen.
    NotDone,
    /// The result is not known yet.
    Unknown,
}

/// A question that waits for a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitingQuestion {
    /// The question's id.
    pub question: QuestionId,
    /// The public text of the question.
    pub problem: String,
    /// The advice on what to do first.
    pub advice: String,
    /// The options to choose from.
    pub options: Vec<QuestionOption>,
    /// The recommended option.
    pub recommended: Option<Decision>,
    /// The tasks that wait for the answer; if there are none, the build does.
    pub tasks: Vec<String>,
    /// The time at which it was asked.
    pub asked_at: Time,
    /// Set if it was answered, and the answer waits for the next start.
    pub answered: bool,
    /// For operators: the code that it is about, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
    /// For operators: the category of that code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<Category>,
}

/// A question that a person answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnsweredQuestion {
    /// The question's id.
    pub question: QuestionId,
    /// The public text of the question.
    pub problem: String,
    /// The chosen option, in the words in which it was offered.
    pub choice: String,
    /// The person's own words, if the option itself has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
}

/// A task that ended without being done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotDoneTask {
    /// The task's id.
    pub task: TaskId,
    /// The task's title, or a neutral name.
    pub title: String,
    /// The reason, in one plain sentence.
    pub why: String,
    /// Number of attempts that an agent has begun.
    pub attempts: u32,
    /// The part of it that had landed before.
    pub landed: TaskLanding,
    /// For operators: the code that it failed with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
    /// For operators: the category of that code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<Category>,
}

/// A task that has not ended and does not wait for a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OngoingTask {
    /// The task's id.
    pub task: TaskId,
    /// The task's title, or a neutral name.
    pub title: String,
    /// The task's state, in a few plain words.
    pub stands: String,
}

/// The time for which an account was limited.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccountWait {
    /// The description in one plain sentence.
    pub said: String,
    /// Number of closed periods.
    pub times: u32,
    /// Total time, within the time of the build.
    pub total_ms: Span,
    /// Set if it was more than that: older periods are not recorded.
    pub at_least: bool,
    /// Set if the account is still limited.
    pub goes_on: bool,
}

/// The cost of a build.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildCost {
    /// The total, as far as it was measured.
    pub total: Amount,
    /// The extent to which it was measured.
    pub priced: CostCoverage,
    /// The time from its start to its end, or to now.
    pub took_ms: Span,
    /// The cost of each task that was begun.
    pub tasks: Vec<TaskCost>,
}

/// The cost of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskCost {
    /// The task's id.
    pub task: TaskId,
    /// The task's title, or a neutral name.
    pub title: String,
    /// The amount spent.
    pub spent: Amount,
    /// The extent to which it was measured.
    pub priced: CostCoverage,
    /// Number of attempts that an agent has begun.
    pub attempts: u32,
    /// The time from its first start to its end, or to now.
    pub took_ms: Span,
}

/// The extent to which a cost is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CostCoverage {
    /// The cost is known in money.
    Money,
    /// The cost is known in money for some parts only.
    Partly,
    /// The cost is known in tokens only, because their price is not.
    TokensOnly,
    /// The cost was not measured.
    NotMeasured,
}

/// For operators: an error that was overcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HealedError {
    /// The task that met it.
    pub task: TaskId,
    /// The task's title, or a neutral name.
    pub title: String,
    /// The error code.
    pub code: Code,
    /// The source of the error.
    pub source: String,
    /// The first line of its message.
    pub message: String,
    /// The failure as a sentence, with the line of the output that says most about it.
    #[serde(default)]
    pub said: String,
    /// The runs that it ended or held up.
    pub runs: Vec<RunId>,
}

impl BuildReport {
    /// Returns the report for the public: without codes, commands and overcome errors.
    #[must_use]
    pub fn into_public(mut self) -> Self {
        self.healed.clear();
        (self.code, self.category) = (None, None);
        for question in &mut self.waiting {
            (question.code, question.category) = (None, None);
        }
        for done in &mut self.shipped {
            done.checked.gates.clear();
            done.actions.each.clear();
        }
        for done in &mut self.unchanged {
            done.checked.gates.clear();
            done.actions.each.clear();
        }
        for ended in &mut self.not_done {
            (ended.code, ended.category) = (None, None);
        }
        self
    }
}
