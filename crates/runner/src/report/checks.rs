//! What was checked, and what was done with the work, in plain sentences.

use unstuck_core::engine::{CheckVerdict, Checked};
use unstuck_core::plan::MutationKind;
use unstuck_core::text::{VALUE_CHARS_MAX, quoted, said};
use unstuck_store::tables::{MutationRow, MutationStatus};

use super::facts::TaskFacts;
use super::report::{Action, Actions, ChecksTold, Landed, Outcome};
use super::words::{capital, listed};
use crate::build::NOTHING_MERGED;

/// What is said of a push that did not arrive.
const NOT_SENT: &str = "It was not pushed.";
/// The shortest a whole commit id can be.
const COMMIT_CHARS_MIN: usize = 40;
/// More checks than this are counted, not named.
const CHECKS_NAMED_MAX: usize = 3;

/// What was checked of a task's work.
pub(super) fn told(task: &TaskFacts) -> ChecksTold {
    let gates: Vec<Checked> =
        task.row.moved.checked.iter().map(|checked| Checked::clone(checked)).collect();
    let said = match task.row.spec.session {
        Some(_) => "It was done elsewhere, and nothing was checked here.".to_owned(),
        None => sentence(&gates),
    };
    ChecksTold { said, gates }
}

fn sentence(gates: &[Checked]) -> String {
    let count = |verdict| gates.iter().map(|gate| gate.count(verdict)).sum::<u32>();
    let (passed, before) = (count(CheckVerdict::Passed), count(CheckVerdict::RedBefore));
    let flaky = count(CheckVerdict::Flaky);
    let (failed, not_made) = (count(CheckVerdict::Failed), count(CheckVerdict::NotMade));
    if gates.is_empty() {
        return "It is not known what was checked.".to_owned();
    }
    let mut parts = Vec::new();
    if passed > 0 {
        parts.push(format!("{} passed{}", checks(passed), named(gates)));
    }
    if flaky > 0 {
        parts.push(format!("{} passed only when run again", checks(flaky)));
    }
    if before > 0 {
        let still = if before == 1 { "still fails" } else { "still fail" };
        parts.push(format!("{} failed before the work began and {still}", checks(before)));
    }
    if failed > 0 {
        parts.push(format!("{} failed", checks(failed)));
    }
    if not_made > 0 {
        parts.push(format!("{} could not be made", checks(not_made)));
    }
    if parts.is_empty() {
        return "Nothing was checked, because no checks are set.".to_owned();
    }
    format!("{}.", capital(&listed(&parts)))
}

fn checks(number: u32) -> String {
    format!("{} check{}", said(number), if number == 1 { "" } else { "s" })
}

/// The checks that passed by name, where they are few.
fn named(gates: &[Checked]) -> String {
    let all = gates.iter().flat_map(|gate| &gate.checks);
    let passed = all.filter(|check| check.verdict == CheckVerdict::Passed);
    let names: Vec<String> =
        passed.filter_map(|check| quoted(&check.command, VALUE_CHARS_MAX)).collect();
    let more = gates.iter().any(|gate| gate.more_passed > 0);
    if more || names.len() > CHECKS_NAMED_MAX || names.is_empty() {
        return String::new();
    }
    format!(" ({})", names.join(", "))
}

/// What a task landed as: every merge that happened.
pub(super) fn landed(task: &TaskFacts) -> Landed {
    if task.row.spec.session.is_some() {
        return Landed::Elsewhere;
    }
    let merge = |row: &&MutationRow| {
        row.spec.kind == MutationKind::Merge && row.status == MutationStatus::Applied
    };
    let merged: Vec<&str> = task.actions.iter().filter(merge).map(|row| &*row.result).collect();
    let ids: Vec<String> =
        merged.iter().filter(|id| is_commit(id)).map(|&id| id.to_owned()).collect();
    if !ids.is_empty() {
        Landed::Commits { ids }
    } else if merged.contains(&NOTHING_MERGED) {
        Landed::Unchanged
    } else {
        Landed::Unknown
    }
}

fn is_commit(id: &str) -> bool {
    id.len() >= COMMIT_CHARS_MIN && id.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// What else was done with it. An action of an earlier attempt that never happened is no news.
pub(super) fn actions(task: &TaskFacts) -> Actions {
    let mut each: Vec<Action> = Vec::new();
    for row in task.actions.iter().filter(|row| row.spec.kind != MutationKind::Merge) {
        let (key, kind) = (row.spec.key.clone(), row.spec.kind);
        each.retain(|known| known.key != key || known.outcome == Outcome::Done);
        each.push(Action { key, kind, outcome: outcome(row.status) });
    }
    let outcomes = [Outcome::Done, Outcome::NotDone, Outcome::Unknown];
    let said = outcomes.into_iter().filter_map(|outcome| action_sentence(&each, outcome));
    let not_sent =
        |action: &Action| action.kind == MutationKind::Push && action.outcome == Outcome::NotDone;
    let not_sent = each.iter().any(not_sent).then(|| NOT_SENT.to_owned());
    Actions { said: said.chain(not_sent).collect(), each }
}

const fn outcome(status: MutationStatus) -> Outcome {
    match status {
        MutationStatus::Applied => Outcome::Done,
        MutationStatus::Failed
        | MutationStatus::NotApplied
        | MutationStatus::Skipped
        | MutationStatus::Intended => Outcome::NotDone,
        MutationStatus::InFlight
        | MutationStatus::Probing
        | MutationStatus::Settling
        | MutationStatus::Indeterminate => Outcome::Unknown,
    }
}

fn action_sentence(each: &[Action], wanted: Outcome) -> Option<String> {
    let mut parts: Vec<String> = Vec::new();
    let of = |kind: MutationKind| {
        let fits = |action: &&Action| action.kind == kind && action.outcome == wanted;
        each.iter().filter(fits).count()
    };
    if of(MutationKind::Push) > 0 && wanted != Outcome::NotDone {
        parts.push("it was sent on".to_owned());
    }
    if of(MutationKind::PullRequest) > 0 {
        parts.push("it was put up for review".to_owned());
    }
    let steps = of(MutationKind::Http) + of(MutationKind::Command);
    if steps > 0 {
        let number = said(u32::try_from(steps).unwrap_or(u32::MAX));
        let steps = if steps == 1 { "more step was" } else { "more steps were" };
        parts.push(format!("{number} {steps} taken with it"));
    }
    if parts.is_empty() {
        return None;
    }
    let parts = capital(&listed(&parts));
    Some(match wanted {
        Outcome::Done => format!("{parts}."),
        Outcome::NotDone => format!("This did not happen: {}.", uncapital(&parts)),
        Outcome::Unknown => format!("Nobody can tell yet if this happened: {}.", uncapital(&parts)),
    })
}

fn uncapital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}
