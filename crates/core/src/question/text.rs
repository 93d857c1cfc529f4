//! The text of a question: the work, the obstacle, the attempts and the options.
//!
//! Rules make it from [`Asked`]. Foreign words are quoted verbatim; a fault's message is for the evidence and
//! the operator's text.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::advice::recommend_option;
use super::asked::{attempt_lines, explain_asking};
use super::options::{QuestionOption, build_options, option_label};
use super::{Decision, OtherWork, QuestionFacts, QuestionKind, Reason, Risk};
use crate::fault::{BudgetSpan, Category, Code, ErrorType, Work};
use crate::text::{
    Obstacle, QUESTION_CHARS_MAX, VALUE_CHARS_MAX, capitalize_first, count_noun, count_tasks,
    describe_obstacle, name_in_sentence, quote_title, quote_words, span_words, work_noun,
};

/// Maximum length of an operator text in bytes; the whole message is in the log.
pub const OPERATOR_TEXT_BYTES_MAX: usize = 4 * 1_024;

/// The sentence for a bug in Unstuck.
const OURS: &str = "Internal error. Please contact support.";

/// The sentence for a repair that is not applied automatically.
const REPAIR_READY: &str =
    "It failed, and I have prepared a repair. I have not applied it: your own files are unchanged.";

/// The sentence for any path outside the project.
const OUTSIDE: &str = "Nothing outside the project can be changed from here, even if you allow it.";

/// The sentence for a project file that the agent program itself protects.
const GUARDED: &str = "It protects such files itself, so a permission from here changes nothing.";

/// The sentence for a command that no answer can allow.
const NEVER: &str = "That never runs here, even if you allow it, unless the settings take it off the \
                     list.";

/// The sentences about what waits and what continues while a question is open.
const BUILD_WAITS: &str = "The build waits for you. What is done is safe.";
const GOES_AWAY: &str = "Nothing waits for you: this question goes away when it works again.";
const REST_CONTINUES: &str = "All work that does not need this continues.";
const ALL_CONTINUES: &str = "All other work continues.";
const NONE_CONTINUES: &str = "No other work can continue now.";
const JOB_WAITS: &str = "The job waits for you.";
const BUILD_PAUSED: &str = "The build is paused, so nothing new is started.";
const BUILD_SLEEPS: &str = "The build sleeps for now, so nothing new is started.";

/// The public text of a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QuestionText {
    /// The work, the obstacle and the attempts.
    pub problem: String,
    /// The recommended decision: the first option with this value. `None` if only the person can know.
    pub recommended: Option<Decision>,
    /// The reason for the recommendation, or what to do first.
    pub recommended_text: String,
    /// The options with their consequences.
    pub options: Vec<QuestionOption>,
    /// The attempts, one entry each, oldest first.
    pub attempts: Vec<String>,
}

impl QuestionText {
    /// Returns whether the option at this position is the recommended one.
    pub fn recommends(&self, at: usize) -> bool {
        self.recommended.is_some()
            && self.options.iter().position(|option| Some(option.value) == self.recommended)
                == Some(at)
    }

    /// Returns the problem without what waited and what continued when the question was asked. An answered
    /// question is read at another time.
    pub fn problem_when_ended(&self) -> String {
        let meanwhile = [
            BUILD_WAITS, GOES_AWAY, REST_CONTINUES, ALL_CONTINUES, NONE_CONTINUES, JOB_WAITS,
            BUILD_PAUSED, BUILD_SLEEPS,
        ];
        let Some((before, after)) =
            meanwhile.iter().find_map(|sentence| self.problem.rsplit_once(sentence))
        else {
            return without_dependants(&self.problem).to_owned();
        };
        format!("{}{after}", without_dependants(before.trim_end()))
    }

    /// Returns the option that was taken: the one with this guidance, or else the one without any.
    pub fn find_chosen(
        &self,
        decision: Decision,
        guidance: Option<&str>,
    ) -> Option<&QuestionOption> {
        let mut fitting = self.options.iter().filter(|option| option.value == decision);
        let same = |option: &&QuestionOption| {
            option.guidance.is_some() && option.guidance.as_deref() == guidance
        };
        let own = |option: &&QuestionOption| option.guidance.is_none();
        fitting.clone().find(same).or_else(|| fitting.clone().find(own)).or_else(|| fitting.next())
    }
}

/// Builds the public text of a question. Unstuck's own words in it pass the linter.
pub fn build_text(asked: &QuestionFacts<'_>) -> QuestionText {
    let (recommended, recommended_text) = recommend_option(asked);
    QuestionText {
        problem: ProblemText { asked }.render(),
        recommended,
        recommended_text,
        options: build_options(asked.kind, &asked.options_context()),
        attempts: attempt_lines(asked),
    }
}

/// Builds the operator's text of a question: reason, code, type and the fault's own message.
pub fn operator_text(asked: &QuestionFacts<'_>, message: &str) -> String {
    let mut text = asked.reason.to_operator_text();
    if let Some(code) = asked.code {
        let _ = write!(text, ": {code} ({})", code.row().error_type);
    }
    if asked.tasks > 1 {
        let _ = write!(text, ", {}", count_tasks(asked.tasks, asked.work));
    }
    if !message.is_empty() {
        text.push_str(": ");
        text.push_str(message);
    }
    text.truncate(text.floor_char_boundary(OPERATOR_TEXT_BYTES_MAX));
    text
}

struct ProblemText<'a> {
    asked: &'a QuestionFacts<'a>,
}

impl ProblemText<'_> {
    fn render(&self) -> String {
        let mut sentences = Vec::new();
        if self.is_ours() {
            sentences.push(OURS.to_owned());
        }
        sentences.push(describe_work(self.asked));
        sentences.extend(self.describe_obstacle());
        sentences.extend(explain_asking(self.asked));
        sentences.push(self.describe_meanwhile());
        sentences.retain(|sentence| !sentence.is_empty());
        sentences.extend(self.describe_default());
        sentences.join(" ")
    }

    fn is_ours(&self) -> bool {
        self.asked.kind == QuestionKind::Ours
            || matches!(self.asked.code, Some(Code::InternalError | Code::InternalStore))
    }

    fn describe_obstacle(&self) -> Option<String> {
        let asked = self.asked;
        match (asked.kind, asked.code) {
            (QuestionKind::Happened, _) => Some(self.describe_unknown_outcome()),
            (QuestionKind::Paused, _) => Some(self.describe_limit()),
            // "Internal error" is already in the text; the details are for the operator.
            (_, None | Some(Code::InternalError | Code::InternalStore)) => None,
            _ if asked.reason == Reason::RepairProposed => Some(REPAIR_READY.to_owned()),
            (_, Some(code)) => {
                let words = asked.agent_question.filter(|_| code == Code::PreconditionInput);
                if let Some(words) = words.and_then(|words| quote_words(words, QUESTION_CHARS_MAX))
                {
                    return Some(format!(
                        "The AI helper asks you: {words}{}",
                        self.previous_answer()
                    ));
                }
                if asked.risk.is_action() {
                    return Some(self.describe_irreversible());
                }
                if asked.risk == Risk::Outside {
                    return Some(self.describe_outside());
                }
                if asked.risk == Risk::Guarded {
                    return Some(self.describe_guarded());
                }
                let account = asked.account.and_then(name_in_sentence);
                // Each repair may have led to another error.
                let counts_repairs = asked.work == Work::Job
                    && matches!(asked.reason, Reason::AttemptsUsedUp { .. });
                let about = Obstacle {
                    account: account.as_deref(),
                    what: asked.what,
                    program: asked.program,
                    variable: asked.variable,
                    logged_in: asked.login.is_some(),
                    model: asked.model,
                    setup_ended: asked.setup_ended,
                    check_ended: asked.check_ended,
                    kept: asked.kept,
                    broken: asked.broken,
                    why: asked.why,
                    rejected_push: asked.rejected_push,
                    expired_certificate: asked.expired_certificate,
                    cause: asked.cause,
                    phase: asked.phase,
                    work: Some(asked.work),
                    again: asked.reason.is_repeated() && !counts_repairs,
                };
                let said = describe_obstacle(code, &about);
                Some(if asked.risk == Risk::Never { format!("{said} {NEVER}") } else { said })
            }
        }
    }

    /// Returns the person's previous answer to an agent that asks again.
    fn previous_answer(&self) -> String {
        let Some(before) = self.asked.answered_before else { return String::new() };
        let Some(said) = quote_words(before, QUESTION_CHARS_MAX) else { return String::new() };
        let stop = if before.trim_end().ends_with(['.', '!', '?']) { "" } else { "." };
        format!(" You told it before: {said}{stop}")
    }

    /// Describes an action that no rule allows, with the key it was declared under.
    fn describe_irreversible(&self) -> String {
        let asked = self.asked;
        let does = match asked.risk {
            Risk::IrreversibleRequest => "send a request",
            _ => "run a command",
        };
        let in_quotes =
            |words: Option<&str>| words.and_then(|words| quote_words(words, VALUE_CHARS_MAX));
        let what = in_quotes(asked.what).map_or_else(String::new, |what| format!(": {what}"));
        let key = in_quotes(asked.action_key);
        let key = key.map_or_else(String::new, |key| format!(" The key of this action is {key}."));
        let apart = match asked.risk {
            Risk::Irreversible => " It runs without the variables of the AI helper’s shell.",
            _ => "",
        };
        format!(
            "The AI helper wants to {does} that cannot be undone, and no rule here allows it{what}.{key}{apart}"
        )
    }

    fn describe_outside(&self) -> String {
        let what = self.asked.what.and_then(|what| quote_words(what, VALUE_CHARS_MAX));
        let what = what.map_or_else(String::new, |what| format!(": {what}"));
        format!("The AI helper wants to change something outside the project{what}. {OUTSIDE}")
    }

    /// Describes a refusal by the agent program itself, whatever the rules here say.
    fn describe_guarded(&self) -> String {
        let program = self.asked.program.unwrap_or("the program of the AI helper");
        let what = self.asked.what.and_then(|what| quote_words(what, VALUE_CHARS_MAX));
        let what = what.unwrap_or_else(|| "a file of the project".to_owned());
        let said = format!("{program} did not let the AI helper change {what}. {GUARDED}");
        capitalize_first(&said)
    }

    fn describe_unknown_outcome(&self) -> String {
        let step = match self.asked.what.and_then(|what| quote_words(what, VALUE_CHARS_MAX)) {
            Some(what) => format!("a step that cannot be undone: {what}"),
            None => "a step that cannot be undone".to_owned(),
        };
        let unknown = match self.asked.came_back {
            Some(_) => "What came back does not say whether it happened.",
            None => "No answer came back, so I do not know whether it happened.",
        };
        format!("It reached {step}. {unknown} I have not repeated it.")
    }

    fn describe_limit(&self) -> String {
        let span = match self.asked.reason {
            Reason::TooManyQuestions { open } => {
                return format!(
                    "{} wait for you at once.",
                    capitalize_first(&count_noun(open, "question", "questions"))
                );
            }
            Reason::BudgetSpent { span } => span,
            _ => return "A limit is reached.".to_owned(),
        };
        let of = match span {
            BudgetSpan::Task => first_title(self.asked),
            BudgetSpan::Build => "this build".to_owned(),
            BudgetSpan::Day => "today".to_owned(),
        };
        match self.asked.budget {
            Some(budget) => {
                let setting = budget.setting.as_deref();
                let setting = setting.and_then(|setting| quote_words(setting, VALUE_CHARS_MAX));
                let set = setting.map_or_else(String::new, |setting| format!(" ({setting})"));
                format!(
                    "The budget for {of} is {}{set}. So far {} of it is spent, and the next step may \
                     cost {}.",
                    budget.limit, budget.spent, budget.needed
                )
            }
            None => format!("The budget for {of} has no room for the next step."),
        }
    }

    /// Says which work waits and which continues, so that the reader need not guess.
    fn describe_meanwhile(&self) -> String {
        let asked = self.asked;
        if asked.holds_build() {
            return BUILD_WAITS.to_owned();
        }
        let them = if asked.tasks > 1 { "them" } else { "it" };
        let waiting = count_tasks(asked.dependants, asked.work);
        if let Reason::KeepsFailing { .. } = asked.reason {
            return GOES_AWAY.to_owned();
        }
        let rest = match (asked.other_work, asked.work) {
            (OtherWork::GoesOn, _) if asked.code.is_some_and(reaches_further) => REST_CONTINUES,
            (OtherWork::GoesOn, _) => ALL_CONTINUES,
            (OtherWork::None, Work::Task) => NONE_CONTINUES,
            (OtherWork::None | OtherWork::NotThere, Work::Job) => JOB_WAITS,
            (OtherWork::NotThere, Work::Task) => "",
            (OtherWork::Paused, _) => BUILD_PAUSED,
            (OtherWork::Rests, _) => BUILD_SLEEPS,
        };
        match asked.dependants {
            0 => rest.to_owned(),
            1 => format!("{waiting} that needs {them} waits too. {rest}").trim_end().to_owned(),
            _ => format!("{waiting} that need {them} wait too. {rest}").trim_end().to_owned(),
        }
    }

    fn describe_default(&self) -> Option<String> {
        self.asked.default.map(|default| {
            format!(
                "Without an answer within {}, I choose “{}”, as it is set up here.",
                span_words(default.within),
                option_label(default.decision)
            )
        })
    }
}

/// Removes a last sentence like `2 tasks that need it wait too.`
fn without_dependants(text: &str) -> &str {
    let sentence = text.rfind(" that need").filter(|_| text.ends_with(" too."));
    let Some(counted) = sentence.map(|at| &text[..at]) else { return text };
    // The number and the noun come before it.
    let start = counted.rmatch_indices(' ').nth(1).map_or(0, |(at, _)| at);
    &text[..start]
}

fn describe_work(asked: &QuestionFacts<'_>) -> String {
    if asked.holds_build() {
        return "I have paused the build.".to_owned();
    }
    let name = first_title(asked);
    let verb = match asked.work {
        Work::Task => "I was working on",
        Work::Job => "I was running",
    };
    let neutral = !name.starts_with('“');
    match asked.tasks {
        0 | 1 => format!("{verb} {name}."),
        many if neutral => format!("{verb} {}.", count_tasks(many, asked.work)),
        2 => format!("{verb} {name} and 1 other {}.", work_noun(asked.work)),
        many => format!("{verb} {name} and {} other {}s.", many - 1, work_noun(asked.work)),
    }
}

/// Returns the title of the first waiting task.
fn first_title(asked: &QuestionFacts<'_>) -> String {
    quote_title(asked.titles.first().copied().unwrap_or_default(), asked.work)
}

/// Returns whether other work may meet the same fault: it is about a service, an account or the machine.
const fn reaches_further(code: Code) -> bool {
    let row = code.row();
    match row.error_type {
        ErrorType::Auth | ErrorType::Network => true,
        ErrorType::Precondition | ErrorType::Internal => {
            matches!(row.category, Category::Provider | Category::Internal)
        }
        ErrorType::Permission | ErrorType::Logic | ErrorType::Config => false,
    }
}
