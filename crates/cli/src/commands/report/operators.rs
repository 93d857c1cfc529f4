//! The sections of a report for operators: commands, codes and past errors.

use unstuck_core::engine::{Check, CheckVerdict};
use unstuck_core::fault::Gate;
use unstuck_runner::report::{Action, Healed, NotDone, Outcome, Report, Shipped};

use super::page::{Item, Piece, Section};
use crate::render::words;

pub(super) fn of(report: &Report) -> Vec<Section> {
    vec![
        folded("Recovered by itself", report.healed.iter().map(healed).collect()),
        folded("Each check", report.shipped.iter().filter_map(checks).collect()),
        folded("Codes", report.not_done.iter().filter_map(code).collect()),
    ]
}

fn folded(title: &'static str, items: Vec<Item>) -> Section {
    Section { title, items, folded: true, ..Section::default() }
}

fn healed(healed: &Healed) -> Item {
    let mut item = Item::new("↻", &healed.title);
    let runs: Vec<String> = healed.runs.iter().map(ToString::to_string).collect();
    item.facts.push(Piece::code(healed.code.to_string()));
    item.facts.push(Piece::words(format!("in {}", runs.join(", "))));
    let place = Piece::words(words::plain_line(&healed.source));
    item.lines.push(vec![place, Piece::code(words::plain_line(&healed.message))]);
    item
}

fn checks(done: &Shipped) -> Option<Item> {
    let mut item = Item::new("·", &done.title);
    for checked in &done.checked.gates {
        let line = |check: &Check| check_line(checked.gate, check);
        item.lines.extend(checked.checks.iter().map(line));
        let more = checked.more_passed;
        item.lines.extend((more > 0).then(|| vec![Piece::words(format!("{more} more passed"))]));
    }
    item.lines.extend(done.actions.each.iter().map(action_line));
    (!item.lines.is_empty()).then_some(item)
}

fn check_line(gate: Gate, check: &Check) -> Vec<Piece> {
    let gate = match gate {
        Gate::PreCommit => "before the commit",
        Gate::PrePush => "before the push",
        Gate::PrePr => "before the review",
    };
    let verdict = match check.verdict {
        CheckVerdict::Passed => "passed",
        CheckVerdict::RedBefore => "was red before the work and still is",
        CheckVerdict::Flaky => "failed, then passed without a change",
        CheckVerdict::Failed => "failed",
        CheckVerdict::NotMade => "could not be made",
    };
    let command = Piece::code(words::plain_line(&check.command));
    vec![command, Piece::words(format!("{verdict}, {gate}"))]
}

fn action_line(action: &Action) -> Vec<Piece> {
    let outcome = match action.outcome {
        Outcome::Done => "happened",
        Outcome::NotDone => "did not happen",
        Outcome::Unknown => "may have happened",
    };
    vec![Piece::code(words::plain_line(&action.key)), Piece::words(format!("action, {outcome}"))]
}

fn code(ended: &NotDone) -> Option<Item> {
    let mut item = Item::new("✘", &ended.title);
    item.facts.push(Piece::code(ended.code?.to_string()));
    Some(item)
}
