//! The options of a question, with the consequence of each.

use serde::{Deserialize, Serialize};

use super::{Decision, OtherWork, QuestionKind, Reason, Risk};
use crate::fault::{BudgetSpan, Work};
use crate::text::{VALUE_CHARS_MAX, count_tasks, number_word, quote_title, verbatim_line};

/// Maximum number of an agent's own options that are offered.
const AGENT_OPTIONS_MAX: usize = 6;

/// Factor by which raising the limit adds more than continuing does.
pub const RAISE_TIMES: u32 = 3;

/// An option of a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QuestionOption {
    /// The decision on the wire.
    pub value: Decision,
    /// The text of the button.
    pub label: String,
    /// The consequence of the option.
    pub description: String,
    /// The guidance that goes with this option; without it, `provide_guidance` takes the person's own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guidance: Option<String>,
}

/// The facts that the options depend on besides the kind of question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionsContext<'a> {
    /// The kind of work: tasks or jobs.
    pub work: Work,
    /// The title of the first waiting task; may be empty.
    pub title: &'a str,
    /// Number of tasks that wait for this answer.
    pub tasks: u32,
    /// Number of other tasks that depend on them and would be skipped with them.
    pub dependants: u32,
    /// The state of all other work.
    pub other_work: OtherWork,
    /// `true` if the policy lets a person allow this permanently.
    pub always_allow: bool,
    /// The reason for asking.
    pub reason: Reason,
    /// `true` if the fault may well be transient.
    pub passing: bool,
    /// The risk of what a person is to allow.
    pub risk: Risk,
    /// The subject of the question.
    pub what: Option<&'a str>,
    /// The options that the agent offered.
    pub agent_options: &'a [String],
    /// `true` if the question is about project files that the work has changed.
    pub edits: bool,
    /// The amount a person adds to a budget by letting the work continue.
    pub raise: Option<&'a RaiseFacts>,
}

/// The possible raises of a budget's limit, as texts with units.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RaiseFacts {
    /// The limit if the work continues.
    pub go_on: RaisedLimit,
    /// The limit if it is raised permanently.
    pub raise: RaisedLimit,
}

/// A raised limit, as texts with units.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RaisedLimit {
    /// The added amount.
    pub more: String,
    /// The new limit.
    pub in_all: String,
}

/// Says how much a build may spend once its budget or that of the day is raised.
fn describe_raised_build(span: BudgetSpan, amount: &str) -> String {
    let until = if span == BudgetSpan::Day { " today" } else { "" };
    format!("The build continues and may spend {amount}{until}.")
}

impl RaisedLimit {
    /// Formats `$0.15 more ($0.20 in all)`.
    fn render_line(&self) -> String {
        format!("{} more ({} in all)", self.more, self.in_all)
    }
}

/// Returns the options for a kind of question, in the order in which they are offered.
pub fn build_options(kind: QuestionKind, context: &OptionsContext<'_>) -> Vec<QuestionOption> {
    let choice = |&value: &Decision| QuestionOption {
        value,
        label: format!("{}{}", option_label(value), context.label_scope(kind)),
        description: context.describe_option(kind, value),
        guidance: None,
    };
    context
        .guided_options()
        .into_iter()
        .chain(context.offered_decisions(kind).iter().map(choice))
        .collect()
}

/// Returns the guidance to the agent for the option to continue without a change of files.
pub fn leave_unchanged_guidance(what: &str) -> String {
    format!("Leave {what} as it was. Reach the goal without it.")
}

/// Returns the text of the button, without the number of tasks.
pub(super) const fn option_label(decision: Decision) -> &'static str {
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
        Decision::Continue => "Continue",
        Decision::RaiseLimit => "Raise the limit",
        Decision::Stop => "Stop here",
        Decision::Unrelated => "It has nothing to do with this work",
        Decision::Belongs => "It belongs to the work",
    }
}

impl OptionsContext<'_> {
    /// Returns the decisions that fit the case, in the order in which they are offered.
    fn offered_decisions(&self, kind: QuestionKind) -> &'static [Decision] {
        use Decision as D;
        match kind {
            QuestionKind::Hands => &[D::ProvideCredentials, D::SkipFeature],
            QuestionKind::Ok => match self.risk {
                Risk::Never | Risk::Undeclared | Risk::Outside | Risk::Guarded => {
                    &[D::ProvideGuidance, D::Deny]
                }
                Risk::Usual if self.always_allow => &[D::AllowOnce, D::AlwaysAllow, D::Deny],
                Risk::Blocked
                | Risk::Destructive
                | Risk::Irreversible
                | Risk::IrreversibleRequest
                | Risk::Usual => &[D::AllowOnce, D::Deny],
            },
            QuestionKind::Choice => self.continuing_decisions(),
            QuestionKind::Happened => &[D::ItHappened, D::ItDidNot, D::Skip],
            QuestionKind::Ours | QuestionKind::Passing => &[D::TryAgain, D::SkipFeature],
            QuestionKind::Paused => &[D::Continue, D::RaiseLimit, D::Stop],
            QuestionKind::RedBase => &[D::Unrelated, D::Belongs, D::SkipFeature],
        }
    }

    /// Returns the decisions by which stuck work can continue. A script has no simpler version, and a hint
    /// helps it only if a repair is configured.
    const fn continuing_decisions(&self) -> &'static [Decision] {
        use Decision as D;
        let repairs = !matches!(self.reason, Reason::RepairBudgetExhausted { repairs: 0 });
        match self.work {
            Work::Job if self.passing || !repairs => &[D::TryAgain, D::SkipFeature],
            Work::Job => &[D::ProvideGuidance, D::TryAgain, D::SkipFeature],
            Work::Task if self.passing => &[D::TryAgain, D::ProvideGuidance, D::SkipFeature],
            Work::Task if self.agent_options.is_empty() => {
                &[D::ProvideGuidance, D::SimplerVersion, D::SkipFeature]
            }
            Work::Task => &[D::ProvideGuidance, D::SkipFeature],
        }
    }

    /// Returns the options that come with guidance: those of the agent, or the safe way around a dangerous
    /// command.
    fn guided_options(&self) -> Vec<QuestionOption> {
        if let (Risk::Blocked | Risk::Destructive | Risk::Undeclared | Risk::Never, Some(what)) =
            (self.risk, self.what)
        {
            let guidance = format!(
                "Do not run `{what}`, and nothing else that does the same. Reach the goal without \
                 it."
            );
            return vec![QuestionOption {
                value: Decision::ProvideGuidance,
                label: format!("Continue without it{}", self.scope_in_brackets()),
                description:
                    "It is not run. I tell the AI helper so, and it looks for another way."
                        .to_owned(),
                guidance: Some(guidance),
            }];
        }
        if let (Risk::Outside, Some(what)) = (self.risk, self.what) {
            return vec![QuestionOption {
                value: Decision::ProvideGuidance,
                label: format!("Continue without it{}", self.scope_in_brackets()),
                description: "I tell the AI helper so, and it looks for a way inside the project."
                    .to_owned(),
                guidance: Some(format!(
                    "{what} lies outside of the project and cannot be changed from here. Reach the \
                     goal without changing it."
                )),
            }];
        }
        if let (Risk::Guarded, Some(what)) = (self.risk, self.what) {
            return vec![QuestionOption {
                value: Decision::ProvideGuidance,
                label: format!("Continue without it{}", self.scope_in_brackets()),
                description: "I tell the AI helper so, and it looks for a way with other files."
                    .to_owned(),
                guidance: Some(format!(
                    "The program that you run in does not let you change {what}. Reach the goal \
                     without changing it."
                )),
            }];
        }
        if let (true, Some(what)) = (self.edits, self.what) {
            return vec![QuestionOption {
                value: Decision::ProvideGuidance,
                label: format!("Continue without it{}", self.scope_in_brackets()),
                description: "I revert those files, keep a copy of the change, and continue with \
                              the rest of the work."
                    .to_owned(),
                guidance: Some(leave_unchanged_guidance(what)),
            }];
        }
        let own = self.agent_options.iter().take(AGENT_OPTIONS_MAX);
        own.map(|words| QuestionOption {
            value: Decision::ProvideGuidance,
            label: verbatim_line(words, VALUE_CHARS_MAX),
            description: "I continue with this answer.".to_owned(),
            guidance: Some(words.clone()),
        })
        .collect()
    }

    fn label_scope(&self, kind: QuestionKind) -> String {
        if kind == QuestionKind::Paused && self.reason.holds_build() {
            String::new()
        } else {
            self.scope_in_brackets()
        }
    }

    fn scope_in_brackets(&self) -> String {
        match self.tasks {
            0 | 1 => String::new(),
            many => format!(" (for {})", count_tasks(many, self.work)),
        }
    }

    /// Formats ` for 3 tasks`; empty for a single task.
    fn scope_phrase(&self) -> String {
        match self.tasks {
            0 | 1 => String::new(),
            many => format!(" for {}", count_tasks(many, self.work)),
        }
    }

    /// Returns ` All other work continues.`, or an empty string if it does not.
    const fn other_work_phrase(&self) -> &'static str {
        match self.other_work {
            OtherWork::GoesOn => " All other work continues.",
            OtherWork::None | OtherWork::NotThere | OtherWork::Paused | OtherWork::Rests => "",
        }
    }

    /// Formats `“Payment webhook” and 2 tasks that need it`.
    fn skipped_work_phrase(&self) -> String {
        let (these, them) = match self.tasks {
            0 | 1 => (quote_title(self.title, self.work), "it"),
            many => (count_tasks(many, self.work), "them"),
        };
        match self.dependants {
            0 => these,
            1 => format!("{these} and {} that needs {them}", count_tasks(1, self.work)),
            many => format!("{these} and {} that need {them}", count_tasks(many, self.work)),
        }
    }

    fn describe_option(&self, kind: QuestionKind, decision: Decision) -> String {
        let scope = self.scope_phrase();
        let left_out = self.skipped_work_phrase();
        match decision {
            Decision::ProvideCredentials => {
                format!(
                    "I continue where I stopped{scope}, and I see at once whether it works now."
                )
            }
            Decision::SkipFeature if matches!(self.reason, Reason::KeepsFailing { .. }) => {
                "I wait for its next scheduled run.".to_owned()
            }
            Decision::SkipFeature => {
                format!("I skip {left_out}.{}", self.other_work_phrase())
            }
            Decision::AllowOnce if self.risk.is_action() => {
                format!("I do it this one time{scope}. It cannot be undone.")
            }
            Decision::AllowOnce => {
                format!("I may do it this one time{scope}. I ask again if it comes up later.")
            }
            Decision::AlwaysAllow => {
                format!("I may do it from now on{scope}, and I do not ask about it again.")
            }
            Decision::Deny if self.risk.is_action() => {
                format!(
                    "I do not do it{scope}. The finished work is kept and continues without it."
                )
            }
            Decision::Deny => {
                format!("I revert the change, keep a copy, and skip {left_out}.")
            }
            Decision::ProvideGuidance if kind == QuestionKind::Ok => {
                format!("Write what to do instead{scope}. I continue with your words.")
            }
            Decision::ProvideGuidance if self.reason == Reason::AgentAsked => {
                format!("Answer in your own words. I continue with them{scope}.")
            }
            Decision::ProvideGuidance if self.work == Work::Job => {
                format!("Write a hint. The next repair{scope} starts with it.")
            }
            Decision::ProvideGuidance => format!(
                "Write a hint. I start again{scope} with your words and a fresh set of attempts."
            ),
            Decision::SimplerVersion => format!(
                "I build a smaller version that does the main thing{scope}, with a fresh set of \
                 attempts. Some of what you asked for will be missing."
            ),
            Decision::ItHappened => {
                format!("I record it as done{scope}, do not repeat it, and continue from there.")
            }
            Decision::ItDidNot => {
                format!("I do it now{scope}. If it went through after all, it happens twice.")
            }
            Decision::Skip if self.work == Work::Job => {
                format!(
                    "I do not do it{scope}. Its command then ends with 121, and the script goes on \
                     or ends, as it is written."
                )
            }
            Decision::Skip => {
                format!("I skip this step{scope} and continue without it.")
            }
            Decision::TryAgain => self.describe_retry(kind, &scope),
            Decision::Unrelated => format!(
                "The work counts as done{scope}, and this failure is ignored for all other tasks \
                 of this build."
            ),
            Decision::Belongs => format!(
                "The work continues{scope} until the check passes, with a fresh set of attempts."
            ),
            Decision::Continue => self.describe_continuing(),
            Decision::RaiseLimit => self.describe_raising(),
            Decision::Stop if self.reason.holds_build() => {
                "I stop the whole build. What is done stays done, and nothing new is started."
                    .to_owned()
            }
            Decision::Stop => {
                format!(
                    "I stop {left_out}. What is done so far is kept.{}",
                    self.other_work_phrase()
                )
            }
        }
    }

    fn describe_retry(&self, kind: QuestionKind, scope: &str) -> String {
        match kind {
            QuestionKind::Choice if self.work == Work::Job => {
                format!("I run it again{scope}, right away.")
            }
            _ if matches!(self.reason, Reason::KeepsFailing { .. }) => {
                format!(
                    "I run it now{scope}, from its beginning. Otherwise it runs when it is due."
                )
            }
            QuestionKind::Passing if self.work == Work::Job => {
                format!("I run it now{scope}, from its beginning.")
            }
            QuestionKind::Passing => format!("I try again now{scope}, from where it stopped."),
            QuestionKind::Choice => format!(
                "I continue where I stopped{scope}, right away and with a fresh set of attempts."
            ),
            _ => format!("I start again{scope} from a clean copy. The old one is kept."),
        }
    }

    fn describe_continuing(&self) -> String {
        let amount = self
            .raise
            .map_or("the same amount once more".to_owned(), |facts| facts.go_on.render_line());
        match self.reason {
            Reason::TooManyQuestions { open } => format!(
                "I continue with what is left, and pause again after {} more question{}.",
                number_word(open),
                if open == 1 { "" } else { "s" }
            ),
            Reason::BudgetSpent { span: BudgetSpan::Task } => {
                format!("I continue{} and may spend {amount}.", self.scope_phrase())
            }
            Reason::BudgetSpent { span } => describe_raised_build(span, &amount),
            _ => format!("I continue as before{}.", self.scope_phrase()),
        }
    }

    fn describe_raising(&self) -> String {
        let amount = self
            .raise
            .map_or("three times that amount again".to_owned(), |facts| facts.raise.render_line());
        match self.reason {
            Reason::TooManyQuestions { .. } => {
                "I continue, and from now on more questions may be open before I pause.".to_owned()
            }
            Reason::BudgetSpent { span: BudgetSpan::Task } => {
                format!("I continue{} and may spend {amount}.", self.scope_phrase())
            }
            Reason::BudgetSpent { span } => describe_raised_build(span, &amount),
            _ => format!("I continue{} with a higher limit.", self.scope_phrase()),
        }
    }
}
