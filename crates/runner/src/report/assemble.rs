//! Assembly of a report from the facts of the store, with its cost, the waits for accounts and the
//! errors that were overcome. Pure: it reads no store and decides nothing.

use std::collections::BTreeSet;

use unstuck_core::engine::{
    CLOSINGS_KEPT_MAX, GateClosing, GateKey, SkipReason, TaskState, TaskStateKind,
};
use unstuck_core::fault::{Code, Fault};
use unstuck_core::policy::Amount;
use unstuck_core::question::Decision;
use unstuck_core::text::{
    QUESTION_CHARS_MAX, count_noun, describe_failure, failure_phrase, span_words, verbatim_line,
};
use unstuck_core::time::Span;
use unstuck_store::tables::{GateRow, QuestionRow, QuestionStatus, RunRow};

use super::checks;
use super::facts::{BuildFacts, TaskFacts};
use super::missing_push::find_missing_push;
use super::report::{
    AccountWait, AnsweredQuestion, BuildCost, BuildReport, CostCoverage, HealedError, NotDoneTask,
    OngoingTask, RefusedRequest, ShippedTask, TaskCost, TaskCounts, UnchangedTask, WaitingQuestion,
};
use super::wording::{self, TaskNames};

/// Maximum length of a quoted message, in characters.
const MESSAGE_CHARS_MAX: usize = 200;

impl BuildReport {
    /// Assembles the report of these facts.
    pub fn from_facts(facts: &BuildFacts) -> Self {
        let names = TaskNames::new(facts);
        let build = &facts.build;
        let counts = count_tasks(facts);
        let code = build.failure.as_ref().map(|fault| fault.code());
        let tasks = || facts.tasks.iter();
        let pending = |row: &&QuestionRow| row.status == QuestionStatus::Pending;
        let (open, over): (Vec<_>, Vec<_>) = facts.questions.iter().partition(pending);
        Self {
            project: facts.project.clone(),
            build: build.id,
            state: build.state,
            at_work: facts.at_work,
            made_at: facts.now,
            started_at: build.started_at,
            ended_at: build.ended_at,
            counts,
            headline: wording::render_headline(counts, build.state),
            remarks: wording::render_remarks(facts),
            code,
            category: code.map(|code| code.row().category),
            shipped: tasks().filter_map(|task| assemble_shipped(facts, &names, task)).collect(),
            unchanged: tasks().filter_map(|task| assemble_unchanged(facts, &names, task)).collect(),
            refused: tasks().flat_map(|task| assemble_refused(&names, task)).collect(),
            red_base: build.red_base.clone(),
            waiting: open.into_iter().map(|row| assemble_waiting(facts, &names, row)).collect(),
            answered: over.into_iter().filter_map(assemble_answered).collect(),
            not_done: tasks().filter_map(|task| assemble_not_done(facts, &names, task)).collect(),
            still: tasks().filter_map(|task| assemble_ongoing(facts, &names, task)).collect(),
            waits: find_account_waits(facts),
            cost: compute_build_cost(facts, &names),
            healed: find_healed_errors(facts, &names),
        }
    }
}

fn count_tasks(facts: &BuildFacts) -> TaskCounts {
    let mut counts = TaskCounts::default();
    for task in &facts.tasks {
        counts.tasks += 1;
        match task.row.moved.state.kind() {
            TaskStateKind::Done if task.row.moved.unchanged.is_some() => counts.unchanged += 1,
            TaskStateKind::Done => counts.shipped += 1,
            TaskStateKind::Parked => counts.waiting += 1,
            TaskStateKind::Skipped => counts.left_out += 1,
            TaskStateKind::Failed => counts.failed += 1,
            TaskStateKind::Cancelled => counts.cancelled += 1,
            TaskStateKind::Pending
            | TaskStateKind::Running
            | TaskStateKind::BackingOff
            | TaskStateKind::Reconciling => counts.still += 1,
        }
    }
    counts
}

fn assemble_shipped(
    facts: &BuildFacts,
    names: &TaskNames<'_>,
    task: &TaskFacts,
) -> Option<ShippedTask> {
    let row = &task.row;
    let moved = &row.moved;
    (moved.state == TaskState::Done && moved.unchanged.is_none()).then(|| ShippedTask {
        task: row.id,
        title: names.task_name(row.id),
        landed: checks::find_landing(task),
        attempts: task.count_attempts(),
        took_ms: compute_task_span(facts, task),
        spent: moved.spent,
        checked: checks::summarize_checks(task),
        actions: checks::summarize_actions(facts, task),
    })
}

fn assemble_unchanged(
    facts: &BuildFacts,
    names: &TaskNames<'_>,
    task: &TaskFacts,
) -> Option<UnchangedTask> {
    let why = task.row.moved.unchanged.as_deref()?;
    (task.row.moved.state == TaskState::Done).then(|| UnchangedTask {
        task: task.row.id,
        title: names.task_name(task.row.id),
        why: why.to_owned(),
        checked: checks::summarize_checks(task),
        actions: checks::summarize_actions(facts, task),
    })
}

fn assemble_refused(names: &TaskNames<'_>, task: &TaskFacts) -> Vec<RefusedRequest> {
    let id = task.row.id;
    let title = names.task_name(id);
    let refused = task.row.moved.refused.iter().map(|refused| RefusedRequest {
        task: id,
        title: title.clone(),
        what: refused.what.to_string(),
        why: refused.why.to_string(),
    });
    refused.collect()
}

fn assemble_waiting(
    facts: &BuildFacts,
    names: &TaskNames<'_>,
    row: &QuestionRow,
) -> WaitingQuestion {
    WaitingQuestion {
        question: row.id,
        problem: row.text.problem.clone(),
        advice: row.text.recommended_text.clone(),
        options: row.text.options.clone(),
        recommended: row.text.recommended,
        tasks: row.tasks.iter().map(|task| names.task_name(*task)).collect(),
        asked_at: row.created_at,
        answered: facts.answers.iter().any(|answer| answer.question == row.id),
        code: row.code,
        category: row.code.map(|code| code.row().category),
    }
}

fn assemble_answered(row: &QuestionRow) -> Option<AnsweredQuestion> {
    let chosen: Decision = row.decision?;
    let option = row.text.find_chosen(chosen, row.guidance.as_deref())?;
    let problem = row.text.problem_when_ended();
    let choice = option.label.clone();
    let given = option.guidance.as_deref();
    let own = row.guidance.as_deref().filter(|words| given != Some(*words));
    let words = own.map(|words| verbatim_line(words, QUESTION_CHARS_MAX));
    let words = words.filter(|words| !words.is_empty());
    Some(AnsweredQuestion { question: row.id, problem, choice, words })
}

fn assemble_not_done(
    facts: &BuildFacts,
    names: &TaskNames<'_>,
    task: &TaskFacts,
) -> Option<NotDoneTask> {
    let row = &task.row;
    let moved = &row.moved;
    let code = match moved.state {
        TaskState::Failed { code } => Some(code),
        TaskState::Skipped { left: SkipReason::Denied } => moved.failure.as_ref().map(|f| f.code()),
        _ => None,
    };
    let why = wording::render_not_done_reason(&moved.state, facts.build.state, names)?;
    let landed = checks::find_landing(task);
    let (task, title, attempts) = (row.id, names.task_name(row.id), task.count_attempts());
    let category = code.map(|code| code.row().category);
    Some(NotDoneTask { task, title, why, attempts, landed, code, category })
}

fn assemble_ongoing(
    facts: &BuildFacts,
    names: &TaskNames<'_>,
    task: &TaskFacts,
) -> Option<OngoingTask> {
    let row = &task.row;
    let stands = wording::describe_ongoing(&row.moved.state, facts.build.state, facts.at_work)?;
    Some(OngoingTask { task: row.id, title: names.task_name(row.id), stands })
}

/// Returns the cost of a build.
fn compute_build_cost(facts: &BuildFacts, names: &TaskNames<'_>) -> BuildCost {
    let begun = facts.tasks.iter().filter(|task| !task.runs.is_empty());
    let tasks: Vec<TaskCost> = begun.map(|task| compute_task_cost(facts, names, task)).collect();
    let ended = facts.build.ended_at.unwrap_or(facts.now);
    BuildCost {
        total: facts.build.spent,
        priced: combine_coverage(&tasks),
        took_ms: ended.since(facts.build.started_at),
        tasks,
    }
}

fn compute_task_cost(facts: &BuildFacts, names: &TaskNames<'_>, task: &TaskFacts) -> TaskCost {
    let moved = &task.row.moved;
    TaskCost {
        task: task.row.id,
        title: names.task_name(task.row.id),
        spent: moved.spent,
        priced: cost_coverage(moved.spent),
        attempts: task.count_attempts(),
        took_ms: compute_task_span(facts, task),
    }
}

/// Returns the time from the start of the first run to the end of the last one, including all
/// waits.
fn compute_task_span(facts: &BuildFacts, task: &TaskFacts) -> Span {
    let began = task.runs.first().map(|run| run.started_at);
    let ended = task.runs.last().map(|run| run.ended_at.unwrap_or(facts.now));
    match (began, ended) {
        (Some(began), Some(ended)) => ended.since(began),
        _ => Span::ZERO,
    }
}

const fn cost_coverage(spent: Amount) -> CostCoverage {
    if spent.money_micros > 0 {
        CostCoverage::Money
    } else if spent.tokens > 0 {
        CostCoverage::TokensOnly
    } else {
        CostCoverage::NotMeasured
    }
}

fn combine_coverage(tasks: &[TaskCost]) -> CostCoverage {
    let first = tasks.first().map_or(CostCoverage::NotMeasured, |task| task.priced);
    if tasks.iter().all(|task| task.priced == first) {
        first
    } else if tasks.iter().any(|task| task.priced == CostCoverage::Money) {
        CostCoverage::Partly
    } else {
        CostCoverage::TokensOnly
    }
}

/// Returns an entry for each account that was closed while the build ran.
fn find_account_waits(facts: &BuildFacts) -> Vec<AccountWait> {
    let used: BTreeSet<GateKey> = facts.tasks.iter().map(|task| task.row.spec.gate).collect();
    let gates = facts.gates.iter().filter(|gate| used.contains(&gate.key));
    gates.filter_map(|gate| measure_account_wait(facts, gate)).collect()
}

fn measure_account_wait(facts: &BuildFacts, gate: &GateRow) -> Option<AccountWait> {
    let began = facts.build.started_at;
    let ended = facts.build.ended_at.unwrap_or(facts.now);
    let now = gate.since.zip(gate.closed_by);
    let now = now.map(|(from, code)| GateClosing { from, to: facts.now, code });
    let all = gate.closings.iter().copied().chain(now);
    let within: Vec<GateClosing> = all.filter(|c| c.to > began && c.from < ended).collect();
    let last = within.last()?;
    let length = |c: &GateClosing| c.to.min(ended).since(c.from.max(began));
    let total = within.iter().fold(Span::ZERO, |sum, closing| sum.saturating_add(length(closing)));
    let oldest = gate.closings.front();
    let at_least = gate.closings.len() >= CLOSINGS_KEPT_MAX
        && oldest.is_some_and(|closing| closing.from > began);
    let goes_on = now.is_some() && facts.build.ended_at.is_none();
    let times = u32::try_from(within.len()).unwrap_or(u32::MAX);
    let often = match times {
        1 => String::new(),
        many => format!(" {}, in all", count_noun(many, "time", "times")),
    };
    let long = if at_least { " at least" } else { "" };
    let why = failure_phrase(last.code, false);
    let still = if goes_on { " It still waits." } else { "" };
    let said = format!("The work waited{often}{long} {}, because {why}.{still}", span_words(total));
    Some(AccountWait { said, times, total_ms: total, at_least, goes_on })
}

/// Returns the errors of finished tasks, except those that a person was asked about.
fn find_healed_errors(facts: &BuildFacts, names: &TaskNames<'_>) -> Vec<HealedError> {
    let done = facts.tasks.iter().filter(|task| task.row.moved.state == TaskState::Done);
    done.flat_map(|task| find_healed_in_task(facts, names, task)).collect()
}

fn find_healed_in_task(
    facts: &BuildFacts,
    names: &TaskNames<'_>,
    task: &TaskFacts,
) -> Vec<HealedError> {
    let mut healed: Vec<(&Fault, HealedError)> = Vec::new();
    let met = task.runs.iter().filter_map(|run| Some((run, run.fault.as_deref()?)));
    // A push that never arrived was not overcome.
    let not_pushed = find_missing_push(facts).is_some();
    let stays = |fault: &Fault| {
        not_pushed && fault.code() == Code::GitPushFailed || was_asked_about(facts, task, fault)
    };
    for (run, fault) in met.filter(|(_, fault)| !stays(fault)) {
        let known = healed.iter_mut().find(|(known, _)| known.signature == fault.signature);
        match known {
            Some((_, known)) => known.runs.push(run.id),
            None => healed.push((fault, make_healed_error(names, task, run, fault))),
        }
    }
    healed.into_iter().map(|(_, healed)| healed).collect()
}

fn was_asked_about(facts: &BuildFacts, task: &TaskFacts, fault: &Fault) -> bool {
    let key = fault.signature.key(&facts.project);
    let about = |row: &QuestionRow| row.signature == key && row.tasks.contains(&task.row.id);
    facts.questions.iter().any(about)
}

fn make_healed_error(
    names: &TaskNames<'_>,
    task: &TaskFacts,
    run: &RunRow,
    fault: &Fault,
) -> HealedError {
    HealedError {
        task: task.row.id,
        title: names.task_name(task.row.id),
        code: fault.code(),
        source: fault.source.clone(),
        message: shorten_first_line(&fault.message),
        said: describe_failure(fault),
        runs: vec![run.id],
    }
}

/// Returns the first non-empty line, shortened.
fn shorten_first_line(message: &str) -> String {
    let line = message.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let clean: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    match clean.char_indices().nth(MESSAGE_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &clean[..end]),
        None => clean,
    }
}
