//! Sentences about the checks of a task's work, and about the actions that followed.

use unstuck_core::engine::{CheckVerdict, Checked};
use unstuck_core::plan::MutationKind;
use unstuck_core::question::{Decision, QuestionKind};
use unstuck_core::text::{
    VALUE_CHARS_MAX, capitalize_first, join_parts, name_in_sentence, number_word, quote_words,
};
use unstuck_store::tables::{MutationRow, MutationStatus};

use super::facts::{BuildFacts, TaskFacts};
use super::report::{ActionSummary, CheckSummary, ReportAction, ReportActionOutcome, TaskLanding};
use crate::build::NOTHING_CHANGED;

/// The sentence about a push that did not arrive.
const NOT_SENT: &str = "It was not pushed.";
/// Minimum length of a full commit id.
const COMMIT_CHARS_MIN: usize = 40;
/// Maximum number of checks that are named; further ones are counted.
const CHECKS_NAMED_MAX: usize = 3;
/// Maximum number of actions that are named; further ones are counted.
const ACTIONS_NAMED_MAX: usize = 5;

/// Returns the checks of a task's work, with a sentence about them.
pub(super) fn summarize_checks(task: &TaskFacts) -> CheckSummary {
    let gates: Vec<Checked> =
        task.row.moved.checked.iter().map(|checked| Checked::clone(checked)).collect();
    let said = match task.row.spec.session {
        Some(_) => "It was done elsewhere, and nothing was checked here.".to_owned(),
        None => render_check_sentence(&gates),
    };
    CheckSummary { said, gates }
}

fn render_check_sentence(gates: &[Checked]) -> String {
    let count = |verdict| gates.iter().map(|gate| gate.count(verdict)).sum::<u32>();
    let passed = count(CheckVerdict::Passed);
    let before = count(CheckVerdict::RedBefore);
    let flaky = count(CheckVerdict::Flaky);
    let failed = count(CheckVerdict::Failed);
    let not_made = count(CheckVerdict::NotMade);
    if gates.is_empty() {
        return "It is not known what was checked.".to_owned();
    }
    let of = |number, verdict| {
        format!("{}{}", format_check_count(number), render_check_names(gates, verdict))
    };
    let mut parts = Vec::new();
    if passed > 0 {
        parts.push(format!(
            "{} passed{}",
            format_check_count(passed),
            render_check_names(gates, CheckVerdict::Passed)
        ));
    }
    if flaky > 0 {
        parts.push(format!("{} passed only when run again", of(flaky, CheckVerdict::Flaky)));
    }
    if before > 0 {
        let still = if before == 1 { "still fails" } else { "still fail" };
        let red = of(before, CheckVerdict::RedBefore);
        parts.push(format!("{red} failed before the work began and {still}"));
    }
    if failed > 0 {
        parts.push(format!("{} failed", of(failed, CheckVerdict::Failed)));
    }
    if not_made > 0 {
        parts.push(format!("{} could not be run", of(not_made, CheckVerdict::NotMade)));
    }
    if parts.is_empty() {
        return "Nothing was checked, because no checks are set.".to_owned();
    }
    format!("{}.{}", capitalize_first(&join_parts(&parts)), render_restored_files(gates))
}

/// Returns the sentence about files that were restored before the checks.
fn render_restored_files(gates: &[Checked]) -> String {
    let mut paths: Vec<&str> =
        gates.iter().flat_map(|gate| &gate.put_back).map(|path| &**path).collect();
    paths.sort_unstable();
    paths.dedup();
    if paths.is_empty() {
        return String::new();
    }
    let over = paths.len().saturating_sub(CHECKS_NAMED_MAX);
    paths.truncate(CHECKS_NAMED_MAX);
    let mut named: Vec<String> =
        paths.into_iter().filter_map(|path| quote_words(path, VALUE_CHARS_MAX)).collect();
    named.extend((over > 0).then(|| format!("{over} more")));
    let named = join_parts(&named);
    format!(" What was changed in {named} was put back before them, because it is protected.")
}

fn format_check_count(number: u32) -> String {
    format!("{} check{}", number_word(number), if number == 1 { "" } else { "s" })
}

/// Returns the names of the checks with this verdict. Passed checks are named if they are few; of
/// the others the first are always named.
fn render_check_names(gates: &[Checked], verdict: CheckVerdict) -> String {
    let all = gates.iter().flat_map(|gate| &gate.checks);
    let said = all.filter(|check| check.verdict == verdict);
    let mut names: Vec<String> =
        said.filter_map(|check| quote_words(&check.command, VALUE_CHARS_MAX)).collect();
    let over = names.len().saturating_sub(CHECKS_NAMED_MAX);
    if verdict == CheckVerdict::Passed {
        let more = gates.iter().any(|gate| gate.more_passed > 0);
        if more || over > 0 {
            return String::new();
        }
    }
    if names.is_empty() {
        return String::new();
    }
    names.truncate(CHECKS_NAMED_MAX);
    names.extend((over > 0).then(|| format!("and {over} more")));
    format!(" ({})", names.join(", "))
}

/// Returns the commits of a task, from all of its merges that happened.
pub(super) fn find_landing(task: &TaskFacts) -> TaskLanding {
    if task.row.spec.session.is_some() {
        return TaskLanding::Elsewhere;
    }
    let merge = |row: &&MutationRow| {
        row.spec.kind == MutationKind::Merge && row.status == MutationStatus::Applied
    };
    let merged: Vec<&str> = task.actions.iter().filter(merge).map(|row| &*row.result).collect();
    let ids: Vec<String> =
        merged.iter().filter(|id| is_commit_id(id)).map(|&id| id.to_owned()).collect();
    if !ids.is_empty() {
        TaskLanding::Commits { ids }
    } else if merged.contains(&NOTHING_CHANGED) {
        TaskLanding::Unchanged
    } else {
        TaskLanding::Unknown
    }
}

fn is_commit_id(id: &str) -> bool {
    id.len() >= COMMIT_CHARS_MIN && id.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// An action of a task, with its outcome.
struct JudgedAction<'a> {
    row: &'a MutationRow,
    outcome: ReportActionOutcome,
    /// Set if a person left open whether it happened.
    left_open: bool,
}

/// Returns the actions other than merges. An action of an earlier attempt that did not happen is
/// left out, and so is a push that had nothing to bring.
pub(super) fn summarize_actions(facts: &BuildFacts, task: &TaskFacts) -> ActionSummary {
    let mut each: Vec<JudgedAction<'_>> = Vec::new();
    let is_action = |row: &&MutationRow| {
        row.spec.kind != MutationKind::Merge && *row.result != *NOTHING_CHANGED
    };
    for row in task.actions.iter().filter(is_action) {
        each.retain(|known| {
            known.row.spec.key != row.spec.key || known.outcome == ReportActionOutcome::Done
        });
        let left_open = is_left_open(facts, row);
        let outcome =
            if left_open { ReportActionOutcome::Unknown } else { to_action_outcome(row.status) };
        each.push(JudgedAction { row, outcome, left_open });
    }
    let kinds = [
        (ReportActionOutcome::Done, false),
        (ReportActionOutcome::NotDone, false),
        (ReportActionOutcome::Unknown, false),
        (ReportActionOutcome::Unknown, true),
    ];
    let said = kinds.into_iter().flat_map(|(outcome, left_open)| {
        let fits =
            |told: &&JudgedAction<'_>| told.outcome == outcome && told.left_open == left_open;
        render_action_sentences(&each.iter().filter(fits).collect::<Vec<_>>(), outcome, left_open)
    });
    let not_sent = |told: &JudgedAction<'_>| {
        told.row.spec.kind == MutationKind::Push && told.outcome == ReportActionOutcome::NotDone
    };
    let not_sent = each.iter().any(not_sent).then(|| NOT_SENT.to_owned());
    let said = said.chain(not_sent).collect();
    let action = |told: &JudgedAction<'_>| ReportAction {
        key: told.row.spec.key.clone(),
        kind: told.row.spec.kind,
        outcome: told.outcome,
    };
    ActionSummary { said, each: each.iter().map(action).collect() }
}

/// Returns whether a person was asked if the action happened and left that open.
fn is_left_open(facts: &BuildFacts, row: &MutationRow) -> bool {
    let about = format!("{}:mutation:{}", facts.project, row.spec.key);
    row.status == MutationStatus::Skipped
        && facts.questions.iter().any(|question| {
            question.kind == QuestionKind::Happened
                && question.decision == Some(Decision::Skip)
                && question.tasks.contains(&row.task)
                && question.signature == about
        })
}

const fn to_action_outcome(status: MutationStatus) -> ReportActionOutcome {
    match status {
        MutationStatus::Applied => ReportActionOutcome::Done,
        MutationStatus::Failed
        | MutationStatus::NotApplied
        | MutationStatus::Skipped
        | MutationStatus::Intended => ReportActionOutcome::NotDone,
        MutationStatus::InFlight
        | MutationStatus::Probing
        | MutationStatus::Settling
        | MutationStatus::Indeterminate => ReportActionOutcome::Unknown,
    }
}

/// Returns the sentences about actions with the same outcome.
fn render_action_sentences(
    each: &[&JudgedAction<'_>],
    outcome: ReportActionOutcome,
    left_open: bool,
) -> Vec<String> {
    let of = |kind: MutationKind| each.iter().any(|told| told.row.spec.kind == kind);
    let mut parts: Vec<String> = Vec::new();
    if of(MutationKind::Push) && outcome != ReportActionOutcome::NotDone {
        parts.push("it was pushed".to_owned());
    }
    if of(MutationKind::PullRequest) {
        parts.push("a pull request was opened".to_owned());
    }
    let landing = (!parts.is_empty()).then(|| match outcome {
        ReportActionOutcome::Done => format!("{}.", capitalize_first(&join_parts(&parts))),
        ReportActionOutcome::NotDone => format!("This did not happen: {}.", join_parts(&parts)),
        ReportActionOutcome::Unknown => {
            format!("{}: {}.", render_not_known(left_open), join_parts(&parts))
        }
    });
    let is_step = |told: &&&JudgedAction<'_>| {
        matches!(told.row.spec.kind, MutationKind::Http | MutationKind::Command)
    };
    let steps: Vec<String> =
        each.iter().filter(is_step).map(|told| render_action_name(told)).collect();
    let steps = (!steps.is_empty()).then(|| {
        let first = match outcome {
            ReportActionOutcome::Done => "Performed",
            ReportActionOutcome::NotDone => "Not performed",
            ReportActionOutcome::Unknown => render_not_known(left_open),
        };
        let more = steps.len().saturating_sub(ACTIONS_NAMED_MAX);
        let named = steps[..steps.len() - more].join("; ");
        match more {
            0 => format!("{first}: {named}."),
            more => format!("{first}: {named}; and {more} more."),
        }
    });
    landing.into_iter().chain(steps).collect()
}

const fn render_not_known(left_open: bool) -> &'static str {
    if left_open {
        "It is not known whether this happened, because you left it open"
    } else {
        "It is not known yet whether this happened"
    }
}

/// Returns the name of an action: its key and its call.
fn render_action_name(told: &JudgedAction<'_>) -> String {
    let spec = &told.row.spec;
    let call = spec.render_line().and_then(|call| quote_words(&call, VALUE_CHARS_MAX));
    let parts = name_in_sentence(&spec.key).into_iter().chain(call);
    parts.collect::<Vec<_>>().join(", ")
}
