//! Parts of the sentences about events: those that take more than a line.

use crate::engine::{
    CheckVerdict, Checked, Guidance, Phase, Question, RedCheck, Rule, Status, Step,
};
use crate::fault::{CheckStage, Code};
use crate::plan::MutationKind;
use crate::question::{Decision, QuestionKind};
use crate::text::{
    QUESTION_CHARS_MAX, VALUE_CHARS_MAX, count_noun, failure_phrase_with_facts, failure_reason,
    join_parts, quote_words, telling_line,
};

/// Maximum length of the reason beside the name of a failed test, in characters.
const REASON_CHARS_MAX: usize = 100;

/// Formats the command and the failed tests verbatim, with the line that states the reason. If no test is
/// named, it shows the most informative line of the output. Further red checks are named by their commands.
pub(super) fn red_base_sentence(red: &[RedCheck]) -> String {
    let Some((first, others)) = red.split_first() else {
        return "All checks pass before any work has begun.".to_owned();
    };
    let named = match &first.tests[..] {
        [] => None,
        [one] => Some(one.clone()),
        [one, rest @ ..] => Some(format!("{one} and {} more", rest.len())),
    };
    let said = match &named {
        None => failure_reason(&first.output, &[])
            .or_else(|| telling_line(&first.output))
            .and_then(|line| quote_words(line, VALUE_CHARS_MAX)),
        Some(_) => failure_reason(&first.output, &first.tests)
            .and_then(|line| quote_words(line, REASON_CHARS_MAX)),
    };
    let facts: Vec<String> = named.into_iter().chain(said).collect();
    let failing = match &facts[..] {
        [] => String::new(),
        facts => format!(" ({})", facts.join(": ")),
    };
    let others: Vec<String> = others.iter().map(|red| format!("`{}`", red.command)).collect();
    let also = match &others[..] {
        [] => String::new(),
        [one] => format!(", and so does {one}"),
        many => format!(", and so do {}", join_parts(many)),
    };
    let alone = others.is_empty();
    let then = match (first.compared, alone) {
        _ if first.later.is_some() && red.iter().all(|check| check.later == first.later) => {
            match (first.later, alone) {
                (Some(CheckStage::PrePr), true) => {
                    "It has to pass before a pull request is opened."
                }
                (Some(CheckStage::PrePr), false) => {
                    "They have to pass before a pull request is opened."
                }
                (_, true) => "It has to pass before the work is pushed.",
                (_, false) => "They have to pass before the work is pushed.",
            }
        }

        (true, _) => "What fails there now may still fail when the work is done, and nothing else.",
        (false, true) => "It has to pass when the work is done.",
        (false, false) => "They have to pass when the work is done.",
    };
    format!("`{}` fails before any work has begun{failing}{also}. {then}", first.command)
}

/// Returns the reason for a wait at a gate.
pub(super) const fn waiting_phrase(code: Code) -> &'static str {
    match code {
        Code::ProviderUsageLimit => "Waiting for the usage limit to reset",
        Code::ProviderRateLimit | Code::NetworkRateLimit | Code::ToolRateLimit => {
            "Waiting: the service asked to slow down"
        }
        Code::ProviderOverloaded => "Waiting: the AI service is overloaded",
        Code::ProviderApiError => "Waiting: the AI service has errors or cannot be reached",
        Code::BudgetExhausted => "Waiting: the budget has no room for the next step",
        _ => "Waiting: the service is not available",
    }
}

/// Returns the cause of a question about a task.
pub(super) fn question_cause(question: &Question) -> String {
    let said = match (&question.fault, question.kind) {
        (Some(fault), _) => return failure_phrase_with_facts(fault),
        (None, QuestionKind::Happened) => "it is not known whether its last action went through",
        (None, _) if question.why.rule == Rule::CrashedTooOften => "it was interrupted too often",
        (None, _) => "it needs a decision",
    };
    said.to_owned()
}

/// Returns the sentence for a task that continues after a person's answer.
pub(super) fn render_answered(name: &str, guidance: &Guidance, next: Step) -> String {
    let decision = guidance.decision;
    let said = match decision {
        Decision::ProvideCredentials => "You fixed it",
        Decision::AllowOnce => "You allowed it this once",
        Decision::AlwaysAllow => "You allowed it for good",
        Decision::Deny => "You said no",
        Decision::ProvideGuidance => "You gave a hint",
        Decision::ItHappened => "You said that it happened",
        Decision::ItDidNot => "You said that it did not happen",
        Decision::RaiseLimit => "You raised the limit",
        Decision::Unrelated => "You said that the failure is not part of the work",
        Decision::Belongs => "You said that the failure belongs to the work",
        Decision::SkipFeature
        | Decision::SimplerVersion
        | Decision::Skip
        | Decision::TryAgain
        | Decision::Continue
        | Decision::Stop => "You answered",
    };
    let then = match decision {
        Decision::SkipFeature => format!("skipping {name}"),
        Decision::Deny if !matches!(next, Step::TakeBack) => {
            format!("continuing {name} without it")
        }
        Decision::Deny => format!("reverting the change and skipping {name}"),
        Decision::SimplerVersion => format!("working on a simpler version of {name}"),
        Decision::ItDidNot => format!("doing it now for {name}"),
        Decision::Skip => format!("continuing {name} without that step"),
        Decision::TryAgain => format!("trying {name} again"),
        Decision::Stop => format!("stopping {name}"),
        _ => format!("continuing {name}"),
    };
    let words = guidance.text.as_deref();
    match (decision, words.and_then(|words| quote_words(words, QUESTION_CHARS_MAX))) {
        (Decision::ProvideGuidance, Some(words)) => format!("You said {words}; {then}."),
        (_, Some(words)) => format!("{said} ({words}); {then}."),
        (_, None) => format!("{said}; {then}."),
    }
}

/// Returns the sentence for files that were changed outside the scope or that the checks rest on.
pub(super) fn reverted_sentence(name: &str, files: &[String], changes_checks: bool) -> String {
    const NAMED_MAX: usize = 3;
    let number = u32::try_from(files.len()).unwrap_or(u32::MAX).max(1);
    let first = files.iter().take(NAMED_MAX).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = if files.len() > NAMED_MAX { ", …" } else { "" };
    let named = quote_words(&first, VALUE_CHARS_MAX);
    let named = named.map_or_else(String::new, |named| format!(" ({named}{more})"));
    let files = format!("{}{named}", count_noun(number, "file", "files"));
    if changes_checks {
        format!("Reverted {files} of {name} that would change how the checks run; a copy is kept.")
    } else {
        format!("Reverted a change to {files} outside what {name} may touch; a copy is kept.")
    }
}

/// Returns the sentence for an action that went through.
pub(super) fn applied_sentence(action: Option<MutationKind>, name: &str, start: &str) -> String {
    match action {
        Some(MutationKind::Push) => format!("{start} was pushed."),
        Some(MutationKind::PullRequest) => format!("Opened a pull request for {name}."),
        _ => format!("An action of {name} went through."),
    }
}

/// Formats the results of the checks of a stage: `Checked “x” before the commit: 2 passed, 1 failed.`
pub(super) fn checked_sentence(checked: &Checked, name: &str, start: &str) -> String {
    let stage = match checked.gate {
        CheckStage::PreCommit => "before the commit",
        CheckStage::PrePush => "before the push",
        CheckStage::PrePr => "before the review",
    };
    let said = [
        (CheckVerdict::Passed, "passed"),
        (CheckVerdict::RedBefore, "failing as before the work"),
        (CheckVerdict::Flaky, "flaky"),
        (CheckVerdict::Failed, "failed"),
        (CheckVerdict::NotMade, "could not be run"),
    ];
    let counts = said.map(|(verdict, said)| (checked.count(verdict), said));
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    let counts: Vec<String> = counts.map(|(count, said)| format!("{count} {said}")).collect();
    if counts.is_empty() {
        format!("{start} has no checks {stage}.")
    } else {
        format!("Checked {name} {stage}: {}.", counts.join(", "))
    }
}

/// Returns the sentence for the next step of a run.
pub(super) fn step_sentence(step: Step, name: &str, start: &str) -> String {
    match step {
        Step::Attempt { .. } => format!("The agent is working on {name}."),
        Step::AwaitMerge => format!("{start} waits for its turn to be checked."),
        Step::Check => format!("Checking {name}."),
        Step::Commit => format!("Committing {name}."),
        Step::Mutate { .. } => format!("Performing the actions of {name}."),
        Step::Emit => format!("Reporting the result of {name}."),
        Step::Repair { propose: false } => format!("An agent is repairing {name}."),
        Step::Repair { propose: true } => format!("An agent is preparing a repair of {name}."),
        Step::Execute => format!("The script of {name} is running."),
        Step::TakeBack => format!("Reverting the change of {name} that was not allowed."),
    }
}

/// Returns the phrase for a phase of a run, to follow the title of its task.
pub(super) const fn phase_phrase(phase: Phase) -> &'static str {
    match phase {
        Phase::Preparing => "is being worked on",
        Phase::Prepared => "is checked and committed",
        Phase::Mutating => "may perform its actions now",
        Phase::Mutated => "has performed all its actions",
        Phase::Emitting => "has a result to report",
        Phase::Committed => "is complete",
    }
}

/// Returns the phrase for the status of a run, to follow its name.
pub const fn describe_run_status(status: Status) -> &'static str {
    match status {
        Status::Active => "is running",
        Status::PausedTransient => "waits and continues by itself",
        Status::PausedApproval => "waits for your answer",
        Status::PausedReconciliation => "waits until it is known whether an action went through",
        Status::PausedUser => "is paused, as you asked",
        Status::FailedLogic => "failed",
        Status::FailedConfig => "failed: the settings are not valid",
        Status::FailedInternal => "failed: an error in Unstuck itself",
    }
}
