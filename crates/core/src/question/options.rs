//! What a person can choose, with what each choice leads to.

use serde::{Deserialize, Serialize};

use super::{Decision, QuestionKind, Reason};
use crate::fault::{BudgetSpan, Work};
use crate::text::{noun, said, tasks};

/// One choice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QuestionOption {
    /// The choice on the wire.
    pub value: Decision,
    /// The words on the button.
    pub label: String,
    /// What it leads to.
    pub description: String,
}

/// What the choices depend on besides the kind of question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionsContext {
    /// Tasks or jobs.
    pub work: Work,
    /// How many tasks wait for this answer.
    pub tasks: u32,
    /// How many other tasks need them and would be skipped with them.
    pub dependants: u32,
    /// Whether the policy lets a person allow this for good.
    pub always_allow: bool,
    /// Why it is asked.
    pub reason: Reason,
}

/// The choices for a kind of question, in the order they are offered.
pub fn options(kind: QuestionKind, context: &OptionsContext) -> Vec<QuestionOption> {
    kind.decisions()
        .iter()
        .filter(|&&decision| decision != Decision::AlwaysAllow || context.always_allow)
        .map(|&value| QuestionOption {
            value,
            label: format!("{}{}", label(value), context.label_scope(kind)),
            description: context.description(value),
        })
        .collect()
}

/// The words on the button, without the number of tasks.
pub(super) const fn label(decision: Decision) -> &'static str {
    match decision {
        Decision::ProvideCredentials => "I have fixed it, try again",
        Decision::SkipFeature => "Leave it out",
        Decision::AllowOnce => "Allow it this once",
        Decision::AlwaysAllow => "Always allow it",
        Decision::Deny => "Do not allow it",
        Decision::ProvideGuidance => "Tell me how",
        Decision::SimplerVersion => "Do a simpler version",
        Decision::ItHappened => "It happened",
        Decision::ItDidNot => "It did not, do it again",
        Decision::Skip => "Leave this step out",
        Decision::TryAgain => "Try again",
        Decision::Continue => "Go on",
        Decision::RaiseLimit => "Raise the limit",
        Decision::Stop => "Stop here",
    }
}

impl OptionsContext {
    fn label_scope(&self, kind: QuestionKind) -> String {
        if self.tasks > 1 && !(kind == QuestionKind::Paused && self.reason.holds_build()) {
            format!(" (for {})", tasks(self.tasks, self.work))
        } else {
            String::new()
        }
    }

    /// ` for 3 tasks`; nothing when there is only one.
    fn scope(&self) -> String {
        match self.tasks {
            0 | 1 => String::new(),
            many => format!(" for {}", tasks(many, self.work)),
        }
    }

    /// `this task and 2 tasks that need it`.
    fn left_out(&self) -> String {
        let (these, them) = match self.tasks {
            0 | 1 => (format!("this {}", noun(self.work)), "it"),
            many => (tasks(many, self.work), "them"),
        };
        match self.dependants {
            0 => these,
            1 => format!("{these} and {} that needs {them}", tasks(1, self.work)),
            many => format!("{these} and {} that need {them}", tasks(many, self.work)),
        }
    }

    fn description(&self, decision: Decision) -> String {
        let (scope, left_out) = (self.scope(), self.left_out());
        match decision {
            Decision::ProvideCredentials => {
                format!("I go on where I stopped{scope}, and I see at once if it works now.")
            }
            Decision::SkipFeature if matches!(self.reason, Reason::KeepsFailing { .. }) => {
                "I leave it until its next time comes. It keeps its schedule.".to_owned()
            }
            Decision::SkipFeature => {
                format!("I leave out {left_out}. All other work goes on.")
            }
            Decision::AllowOnce => {
                format!("I may do it this one time{scope}. I ask again if it comes up later.")
            }
            Decision::AlwaysAllow => {
                format!("I may do it from now on{scope}, and I do not ask about it again.")
            }
            Decision::Deny => {
                format!("I take the change back, keep a copy, and leave out {left_out}.")
            }
            Decision::ProvideGuidance => format!(
                "Write me a hint. I start again{scope} with your words in hand and a fresh set of \
                 tries."
            ),
            Decision::SimplerVersion => format!(
                "I make a smaller version that does the main thing{scope}, with a fresh set of \
                 tries. Some of what you asked for will be missing."
            ),
            Decision::ItHappened => {
                format!("I note it as done{scope}, do not do it again, and go on from there.")
            }
            Decision::ItDidNot => {
                format!("I do it now{scope}. If it did happen after all, it may happen twice.")
            }
            Decision::Skip => {
                format!("I do not do this step{scope}, and go on without it.")
            }
            Decision::TryAgain
                if matches!(
                    self.reason,
                    Reason::KeepsFailing { .. } | Reason::TooManyCrashes { .. }
                ) =>
            {
                format!("I try again now{scope}, from where it stood.")
            }
            Decision::TryAgain => {
                format!("I start again{scope} from a clean copy. The old one is kept to look at.")
            }
            Decision::Continue => self.going_on(),
            Decision::RaiseLimit => self.raising(),
            Decision::Stop if self.reason.holds_build() => {
                "I stop the whole build. What is done stays done, and nothing new is started."
                    .to_owned()
            }
            Decision::Stop => {
                format!("I stop {left_out}. What is done so far is kept. All other work goes on.")
            }
        }
    }

    fn going_on(&self) -> String {
        match self.reason {
            Reason::TooManyQuestions { open } => format!(
                "I go on with what is left, and pause again after {} more question{}.",
                said(open),
                if open == 1 { "" } else { "s" }
            ),
            Reason::BudgetSpent { span: BudgetSpan::Task } => {
                format!("I go on{} and may spend the same amount one more time.", self.scope())
            }
            Reason::BudgetSpent { .. } => {
                "The build goes on and may spend the same amount one more time.".to_owned()
            }
            _ => format!("I go on as before{}.", self.scope()),
        }
    }

    fn raising(&self) -> String {
        match self.reason {
            Reason::TooManyQuestions { .. } => {
                "I go on, and from now on I let more questions pile up before I pause.".to_owned()
            }
            Reason::BudgetSpent { span: BudgetSpan::Task } => {
                format!("I go on{} and may spend three times that amount again.", self.scope())
            }
            Reason::BudgetSpent { .. } => {
                "The build goes on and may spend three times that amount again.".to_owned()
            }
            _ => format!("I go on{} with a higher limit.", self.scope()),
        }
    }
}
