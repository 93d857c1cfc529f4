//! The report as a value: what every view shows, and what `--json` writes.

use serde::{Deserialize, Serialize};
use unstuck_core::engine::{BuildId, BuildState, Checked, QuestionId, RedCheck, RunId, TaskId};
use unstuck_core::fault::{Category, Code};
use unstuck_core::plan::MutationKind;
use unstuck_core::policy::Amount;
use unstuck_core::question::{Decision, QuestionOption};
use unstuck_core::time::{Span, Time};

/// What became of a build, as far as it has come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The project.
    pub project: String,
    /// The build.
    pub build: BuildId,
    /// Where it stands.
    #[serde(flatten)]
    pub state: BuildState,
    /// Somebody is at work on the project.
    pub at_work: bool,
    /// When the report was made.
    pub made_at: Time,
    /// When the build began.
    pub started_at: Time,
    /// When it came to its end.
    pub ended_at: Option<Time>,
    /// How many tasks came to what.
    pub counts: Counts,
    /// The first line of truth.
    pub headline: String,
    /// Why the build stands as it does, where its tasks do not say it.
    pub remarks: Vec<String>,
    /// For operators: the code that the build could not go on for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
    /// For operators: where such faults come from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<Category>,
    /// What is done and landed.
    pub shipped: Vec<Shipped>,
    /// What is done without a change: none was needed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unchanged: Vec<Unchanged>,
    /// What agents were not allowed to do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<RefusedTo>,
    /// What was red before any agent worked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub red_base: Vec<RedCheck>,
    /// What waits for a person, the oldest first.
    pub waiting: Vec<Waiting>,
    /// What a person was asked and has answered.
    pub answered: Vec<Answered>,
    /// What ended without being done.
    pub not_done: Vec<NotDone>,
    /// What has not ended and waits for nobody.
    pub still: Vec<Still>,
    /// Times that an account let nobody pass.
    pub waits: Vec<Wait>,
    /// What it cost.
    pub cost: Cost,
    /// For operators: errors that were met and got past without anybody's help.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub healed: Vec<Healed>,
}

/// How many tasks came to what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// All of them.
    pub tasks: u32,
    /// Done and landed.
    pub shipped: u32,
    /// Done without a change.
    #[serde(default)]
    pub unchanged: u32,
    /// Wait for a person.
    pub waiting: u32,
    /// Left out.
    pub left_out: u32,
    /// Failed for good.
    pub failed: u32,
    /// Cancelled with the build.
    pub cancelled: u32,
    /// Have not ended and wait for nobody.
    pub still: u32,
}

/// A task that is done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shipped {
    /// Which one.
    pub task: TaskId,
    /// Its title, or a neutral name.
    pub title: String,
    /// What it landed as.
    pub landed: Landed,
    /// How often an agent began on it anew.
    pub attempts: u32,
    /// From its first beginning to its end.
    pub took_ms: Span,
    /// What it cost.
    pub spent: Amount,
    /// What was checked.
    pub checked: ChecksTold,
    /// What else was done with it.
    pub actions: Actions,
}

/// A task that needed no change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unchanged {
    /// Which one.
    pub task: TaskId,
    /// Its title.
    pub title: String,
    /// Why, in the agent's words.
    pub why: String,
    /// What was checked.
    pub checked: ChecksTold,
    /// What else was done with it.
    pub actions: Actions,
}

/// Something that the agent of a task was not allowed to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedTo {
    /// Which task.
    pub task: TaskId,
    /// Its title.
    pub title: String,
    /// The command, or what else it was.
    pub what: String,
    /// Why not.
    pub why: String,
}

/// What a task landed as.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "as", rename_all = "snake_case")]
pub enum Landed {
    /// As these commits on the build's branch, oldest first. There is more than one where something
    /// after the first landing failed and another attempt went on from it.
    Commits {
        /// Their ids.
        ids: Vec<String>,
    },
    /// It changed nothing, so there is nothing to land.
    Unchanged,
    /// Nothing about it was written down.
    Unknown,
    /// Whatever became of it is elsewhere: a runtime that is not ours did it.
    Elsewhere,
}

/// What was checked of a task's work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChecksTold {
    /// In one plain sentence.
    pub said: String,
    /// For operators: every check by its command.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<Checked>,
}

/// What else was done with a task's work, besides landing it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Actions {
    /// In plain sentences, one for each kind of outcome.
    pub said: Vec<String>,
    /// For operators: each of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub each: Vec<Action>,
}

/// One irreversible action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Action {
    /// Its key.
    pub key: String,
    /// What kind it is.
    pub kind: MutationKind,
    /// What became of it.
    pub outcome: Outcome,
}

/// What became of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It happened.
    Done,
    /// It did not happen.
    NotDone,
    /// Nobody can tell yet.
    Unknown,
}

/// A question that waits for a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    /// Which question.
    pub question: QuestionId,
    /// Its public words.
    pub problem: String,
    /// What to do first.
    pub advice: String,
    /// What can be chosen.
    pub options: Vec<QuestionOption>,
    /// What is recommended.
    pub recommended: Option<Decision>,
    /// The tasks that wait for the answer; without any, the build does.
    pub tasks: Vec<String>,
    /// When it was asked.
    pub asked_at: Time,
    /// It was answered, and the answer waits for the next start.
    pub answered: bool,
    /// For operators: the code it is about, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
    /// For operators: where such faults come from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<Category>,
}

/// A question that a person answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answered {
    /// Which question.
    pub question: QuestionId,
    /// Its public words.
    pub problem: String,
    /// What was chosen, in the words it was offered in.
    pub choice: String,
    /// The person's own words, where the choice itself has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
}

/// A task that ended without being done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotDone {
    /// Which one.
    pub task: TaskId,
    /// Its title, or a neutral name.
    pub title: String,
    /// Why, in one plain sentence.
    pub why: String,
    /// How often an agent began on it anew.
    pub attempts: u32,
    /// What of it had landed before.
    pub landed: Landed,
    /// For operators: the code it failed with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
    /// For operators: where such faults come from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<Category>,
}

/// A task that has not ended and waits for nobody.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Still {
    /// Which one.
    pub task: TaskId,
    /// Its title, or a neutral name.
    pub title: String,
    /// How it stands, in a few plain words.
    pub stands: String,
}

/// How long an account let nobody pass.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wait {
    /// In one plain sentence.
    pub said: String,
    /// How often.
    pub times: u32,
    /// How long in total, within the time of the build.
    pub total_ms: Span,
    /// It was more than that: older ones are not remembered.
    pub at_least: bool,
    /// It lets nobody pass now.
    pub goes_on: bool,
}

/// What a build cost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cost {
    /// All of it, as far as it was measured.
    pub total: Amount,
    /// How far it was measured.
    pub priced: Priced,
    /// From its beginning to its end, or to now.
    pub took_ms: Span,
    /// Task by task, those that were begun.
    pub tasks: Vec<Spending>,
}

/// What a task cost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spending {
    /// Which one.
    pub task: TaskId,
    /// Its title, or a neutral name.
    pub title: String,
    /// How much.
    pub spent: Amount,
    /// How far it was measured.
    pub priced: Priced,
    /// How often an agent began on it anew.
    pub attempts: u32,
    /// From its first beginning to its end, or to now.
    pub took_ms: Span,
}

/// How far it is known what something cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Priced {
    /// In money.
    Money,
    /// In money, and some of it nobody could tell.
    Partly,
    /// In tokens only: nobody knows their price.
    TokensOnly,
    /// Nobody could tell.
    NotMeasured,
}

/// For operators: an error that was met and got past.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Healed {
    /// The task that met it.
    pub task: TaskId,
    /// Its title, or a neutral name.
    pub title: String,
    /// Its code.
    pub code: Code,
    /// Where it was seen.
    pub source: String,
    /// The first of its own words.
    pub message: String,
    /// The runs it ended or held up.
    pub runs: Vec<RunId>,
}

impl Report {
    /// What everybody may see: no code, no command, no error that is past.
    #[must_use]
    pub fn public(mut self) -> Self {
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
