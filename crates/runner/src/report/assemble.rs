//! Assembly of a report from the facts of the store. Pure: it reads no store and decides nothing.

use unstuck_core::engine::{SkipReason, TaskState, TaskStateKind};
use unstuck_core::question::Decision;
use unstuck_core::text::{QUESTION_CHARS_MAX, verbatim_line};
use unstuck_store::tables::{QuestionRow, QuestionStatus};

use super::facts::{BuildFacts, TaskFacts};
use super::report::{
    AnsweredQuestion, BuildReport, NotDoneTask, OngoingTask, RefusedRequest, ShippedTask,
    TaskCounts, UnchangedTask, WaitingQuestion,
};
use super::words::{self, TaskNames};
use super::{checks, cost, healed, waits};

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
            headline: words::render_headline(counts, build.state),
            remarks: words::render_remarks(facts),
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
            waits: waits::find_account_waits(facts),
            cost: cost::compute_build_cost(facts, &names),
            healed: healed::find_healed_errors(facts, &names),
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
    let (row, moved) = (&task.row, &task.row.moved);
    (moved.state == TaskState::Done && moved.unchanged.is_none()).then(|| ShippedTask {
        task: row.id,
        title: names.task_name(row.id),
        landed: checks::find_landing(task),
        attempts: task.count_attempts(),
        took_ms: cost::compute_task_span(facts, task),
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
    let (id, title) = (task.row.id, names.task_name(task.row.id));
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
    let problem = row.text.problem.clone();
    let choice = option.label.clone();
    let own = row.guidance.as_deref().filter(|_| option.guidance.is_none());
    let words = own.map(|words| verbatim_line(words, QUESTION_CHARS_MAX));
    let words = words.filter(|words| !words.is_empty());
    Some(AnsweredQuestion { question: row.id, problem, choice, words })
}

fn assemble_not_done(
    facts: &BuildFacts,
    names: &TaskNames<'_>,
    task: &TaskFacts,
) -> Option<NotDoneTask> {
    let (row, moved) = (&task.row, &task.row.moved);
    let code = match moved.state {
        TaskState::Failed { code } => Some(code),
        TaskState::Skipped { left: SkipReason::Denied } => moved.failure.as_ref().map(|f| f.code()),
        _ => None,
    };
    let why = words::render_not_done_reason(&moved.state, facts.build.state, names)?;
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
    let stands = words::describe_ongoing(&row.moved.state, facts.at_work)?;
    Some(OngoingTask { task: row.id, title: names.task_name(row.id), stands: stands.to_owned() })
}
