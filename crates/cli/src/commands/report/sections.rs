//! Lays out a report in sections: the public ones, and those for operators with commands, codes and past errors.

use unstuck_core::engine::{Check, CheckVerdict, RedCheck};
use unstuck_core::fault::CheckStage;
use unstuck_core::policy::Amount;
use unstuck_core::tell::RedCheckText;
use unstuck_runner::report::{
    AnsweredQuestion, BuildCost, BuildReport, CostCoverage, HealedError, NotDoneTask, OngoingTask,
    RefusedRequest, ReportAction, ReportActionOutcome, ShippedTask, TaskCost, TaskLanding,
    UnchangedTask, WaitingQuestion, headings,
};

use super::page::{ReportItem, ReportLayout, ReportPiece, ReportSection, ReportTable};
use crate::render::{when, words};

/// Number of characters of a commit id that are shown.
const COMMIT_CHARS: usize = 9;

impl ReportLayout {
    pub(super) fn from_report(report: &BuildReport) -> Self {
        let mut all = public_sections(report);
        all.extend(operator_sections(report));
        all.retain(|section| !section.is_empty());
        let name = words::plain_line(&report.project);
        Self {
            title: format!("{name}: build {}", report.build),
            times: render_times(report),
            headline: report.headline.clone(),
            remarks: report.remarks.clone(),
            sections: all,
        }
    }
}

fn render_times(report: &BuildReport) -> String {
    let began = when::render_minute(report.started_at);
    let took = report.cost.took_ms;
    match report.ended_at {
        Some(ended) => format!("{began} to {}, {took}", when::render_minute(ended)),
        None => format!("since {began}, {took} so far"),
    }
}

fn public_sections(report: &BuildReport) -> Vec<ReportSection> {
    vec![
        item_section(headings::DONE, report.shipped.iter().map(shipped_item)),
        item_section(headings::UNCHANGED, report.unchanged.iter().map(unchanged_item)),
        item_section(headings::REFUSED, report.refused.iter().map(refused_item)),
        item_section(headings::RED_BASE, report.red_base.iter().map(red_base_item)),
        item_section(headings::WAITING, report.waiting.iter().map(waiting_item)),
        item_section(headings::NOT_DONE, report.not_done.iter().map(not_done_item)),
        item_section(headings::STILL, report.still.iter().map(still_item)),
        item_section(headings::ANSWERED, report.answered.iter().map(answered_item)),
        ReportSection {
            title: headings::WAITS,
            lines: report.waits.iter().map(|wait| wait.said.clone()).collect(),
            ..ReportSection::default()
        },
        ReportSection {
            title: "Cost and time",
            table: cost_table(&report.cost),
            ..ReportSection::default()
        },
    ]
}

fn item_section(title: &'static str, items: impl Iterator<Item = ReportItem>) -> ReportSection {
    ReportSection { title, items: items.collect(), ..ReportSection::default() }
}

fn shipped_item(done: &ShippedTask) -> ReportItem {
    let mut item = ReportItem::new("✔", &done.title);
    match &done.landed {
        TaskLanding::Commits { ids } => item.facts.extend(ids.iter().map(|id| commit_piece(id))),
        TaskLanding::Unchanged => item.facts.push(ReportPiece::words("no file was changed")),
        TaskLanding::Unknown => item.facts.push(ReportPiece::words("no commit is known")),
        // A line below states it.
        TaskLanding::Elsewhere => {}
    }
    item.facts.push(attempts_piece(done.attempts));
    item.facts.push(ReportPiece::words(done.took_ms.to_string()));
    item.facts.push(ReportPiece::words(render_price(done.spent, classify_price(done.spent))));
    done.actions.said.iter().fold(item.with_line(&done.checked.said), ReportItem::with_line)
}

fn unchanged_item(done: &UnchangedTask) -> ReportItem {
    let item = ReportItem::new("–", &done.title).with_line(done.render_reason());
    done.actions.said.iter().fold(item.with_line(&done.checked.said), ReportItem::with_line)
}

fn red_base_item(red: &RedCheck) -> ReportItem {
    let RedCheckText { command, end, failed, output } = RedCheckText::from_check(red);
    let mut item = ReportItem::new("✘", &command);
    item.facts.push(ReportPiece::words(end));
    item.output = output;
    failed.into_iter().fold(item, ReportItem::with_line)
}

fn refused_item(refused: &RefusedRequest) -> ReportItem {
    let mut item = ReportItem::new("✘", &refused.title);
    item.facts.push(ReportPiece::code(refused.what.clone()));
    item.with_line(&refused.why)
}

fn commit_piece(id: &str) -> ReportPiece {
    ReportPiece::code(id.chars().take(COMMIT_CHARS).collect::<String>())
}

fn attempts_piece(attempts: u32) -> ReportPiece {
    ReportPiece::words(words::render_count(attempts as usize, "attempt", "attempts"))
}

fn waiting_item(asked: &WaitingQuestion) -> ReportItem {
    let title =
        if asked.tasks.is_empty() { "The whole build".to_owned() } else { asked.tasks.join(", ") };
    let mut item = ReportItem::new("⏸", &title);
    item.facts.push(ReportPiece::words(format!("question {}", asked.question)));
    item.facts.push(ReportPiece::words(format!("asked {}", when::render_minute(asked.asked_at))));
    item = item.with_line(&asked.problem);
    if asked.answered {
        return item.with_line("You have answered; the next start takes it up.");
    }
    item = item.with_line(&asked.advice);
    let recommended = asked.options.iter().position(|one| Some(one.value) == asked.recommended);
    for (at, option) in asked.options.iter().enumerate() {
        let here = if recommended == Some(at) { " (recommended)" } else { "" };
        let command = words::answer_command(asked.question.0, option, asked.code);
        item.choices.push((format!("{}{here}", option.label), command));
    }
    item
}

fn answered_item(asked: &AnsweredQuestion) -> ReportItem {
    let item = ReportItem::new("✔", &format!("Question {}", asked.question));
    let chose = match &asked.words {
        Some(words) => format!("You chose “{}” and said: “{words}”", asked.choice),
        None => format!("You chose “{}”.", asked.choice),
    };
    item.with_line(&asked.problem).with_line(chose)
}

fn not_done_item(ended: &NotDoneTask) -> ReportItem {
    let mut item = ReportItem::new("✘", &ended.title);
    item.facts.extend((ended.attempts > 0).then(|| attempts_piece(ended.attempts)));
    item = item.with_line(&ended.why);
    if let TaskLanding::Commits { ids } = &ended.landed {
        item.facts.extend(ids.iter().map(|id| commit_piece(id)));
        item = item.with_line("Some of its work was committed before.");
    }
    item
}

fn still_item(task: &OngoingTask) -> ReportItem {
    let mut item = ReportItem::new("·", &task.title);
    item.facts.push(ReportPiece::words(&task.stands));
    item
}

/// Returns the table of costs; `None` if no task has begun.
fn cost_table(cost: &BuildCost) -> Option<ReportTable> {
    if cost.tasks.is_empty() {
        return None;
    }
    let row = |task: &TaskCost| {
        let price = render_price(task.spent, task.priced);
        [task.title.clone(), task.attempts.to_string(), task.took_ms.to_string(), price]
    };
    let attempts: u32 = cost.tasks.iter().map(|task| task.attempts).sum();
    let sum = [
        "All together".to_owned(),
        attempts.to_string(),
        cost.took_ms.to_string(),
        render_price(cost.total, cost.priced),
    ];
    let rows = cost.tasks.iter().map(row).chain([sum]).collect();
    Some(ReportTable { head: ["Task", "Attempts", "Time incl. waits", "Cost"], rows })
}

const fn classify_price(spent: Amount) -> CostCoverage {
    match spent {
        Amount { money_micros: 1.., .. } => CostCoverage::Money,
        Amount { tokens: 1.., .. } => CostCoverage::TokensOnly,
        _ => CostCoverage::NotMeasured,
    }
}

fn render_price(spent: Amount, priced: CostCoverage) -> String {
    let money = words::render_amount(Amount { tokens: 0, time_ms: 0, ..spent });
    match priced {
        CostCoverage::Money => money,
        CostCoverage::Partly => format!("at least {money}"),
        CostCoverage::TokensOnly => format!("{} tokens, price not known", spent.tokens),
        CostCoverage::NotMeasured => "not measured".to_owned(),
    }
}

fn operator_sections(report: &BuildReport) -> Vec<ReportSection> {
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
    item.lines.push(vec![ReportPiece::words(words::plain_line(&healed.said))]);
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
        CheckVerdict::NotMade => "could not be run",
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
