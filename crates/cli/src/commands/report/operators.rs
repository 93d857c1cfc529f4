//! The sections of a report for operators: commands, codes and past errors.

use unstuck_core::engine::{Check, CheckVerdict};
use unstuck_core::fault::CheckStage;
use unstuck_runner::report::{
    BuildReport, HealedError, NotDoneTask, ReportAction, ReportActionOutcome, ShippedTask,
};

use super::page::{ReportItem, ReportPiece, ReportSection};
use crate::render::words;

pub(super) fn operator_sections(report: &BuildReport) -> Vec<ReportSection> {
    vec![
        folded_section("Recovered by itself", report.healed.iter().map(healed_item).collect()),
        folded_section("Each check", report.shipped.iter().filter_map(checks_item).collect()),
        folded_section("Codes", report.not_done.iter().filter_map(code_item).collect()),
    ]
}

fn folded_section(title: &'static str, items: Vec<ReportItem>) -> ReportSection {
    ReportSection { title, items, folded: true, ..ReportSection::default() }
}

fn healed_item(healed: &HealedError) -> ReportItem {
    let mut item = ReportItem::new("↻", &healed.title);
    let runs: Vec<String> = healed.runs.iter().map(ToString::to_string).collect();
    item.facts.push(ReportPiece::code(healed.code.to_string()));
    item.facts.push(ReportPiece::words(format!("in {}", runs.join(", "))));
    let place = ReportPiece::words(words::plain_line(&healed.source));
    item.lines.push(vec![place, ReportPiece::code(words::plain_line(&healed.message))]);
    item
}

fn checks_item(done: &ShippedTask) -> Option<ReportItem> {
    let mut item = ReportItem::new("·", &done.title);
    for checked in &done.checked.gates {
        let line = |check: &Check| check_line(checked.gate, check);
        item.lines.extend(checked.checks.iter().map(line));
        let more = checked.more_passed;
        item.lines
            .extend((more > 0).then(|| vec![ReportPiece::words(format!("{more} more passed"))]));
    }
    item.lines.extend(done.actions.each.iter().map(action_line));
    (!item.lines.is_empty()).then_some(item)
}

fn check_line(gate: CheckStage, check: &Check) -> Vec<ReportPiece> {
    let gate = match gate {
        CheckStage::PreCommit => "before the commit",
        CheckStage::PrePush => "before the push",
        CheckStage::PrePr => "before the review",
    };
    let verdict = match check.verdict {
        CheckVerdict::Passed => "passed",
        CheckVerdict::RedBefore => "was red before the work and still is",
        CheckVerdict::Flaky => "failed, then passed without a change",
        CheckVerdict::Failed => "failed",
        CheckVerdict::NotMade => "could not be made",
    };
    let command = ReportPiece::code(words::plain_line(&check.command));
    vec![command, ReportPiece::words(format!("{verdict}, {gate}"))]
}

fn action_line(action: &ReportAction) -> Vec<ReportPiece> {
    let outcome = match action.outcome {
        ReportActionOutcome::Done => "happened",
        ReportActionOutcome::NotDone => "did not happen",
        ReportActionOutcome::Unknown => "may have happened",
    };
    vec![
        ReportPiece::code(words::plain_line(&action.key)),
        ReportPiece::words(format!("action, {outcome}")),
    ]
}

fn code_item(ended: &NotDoneTask) -> Option<ReportItem> {
    let mut item = ReportItem::new("✘", &ended.title);
    item.facts.push(ReportPiece::code(ended.code?.to_string()));
    Some(item)
}
