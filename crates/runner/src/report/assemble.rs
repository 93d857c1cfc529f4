//! Assembly of a report from the facts of the store. Pure: it reads no store and decides nothing.

use unstuck_core::engine::{Left, Standing, TaskState};
use unstuck_core::question::Decision;
use unstuck_core::text::{QUESTION_CHARS_MAX, verbatim};
use unstuck_store::tables::{QuestionRow, QuestionStatus};

use super::facts::{Facts, TaskFacts};
use super::report::{
    Answered, Counts, NotDone, RefusedTo, Report, Shipped, Still, Unchanged, Waiting,
};
use super::words::{self, Names};
use super::{checks, cost, healed, waits};

impl Report {
    /// Assembles the report of these facts.
    pub fn of(facts: &Facts) -> Self {
        let names = Names::new(facts);
        let build = &facts.build;
        let counts = counts(facts);
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
            headline: words::headline(counts, build.state),
            remarks: words::remarks(facts),
            code,
            category: code.map(|code| code.row().category),
            shipped: tasks().filter_map(|task| shipped(facts, &names, task)).collect(),
            unchanged: tasks().filter_map(|task| unchanged(facts, &names, task)).collect(),
            refused: tasks().flat_map(|task| refused(&names, task)).collect(),
            red_base: build.red_base.clone(),
            waiting: open.into_iter().map(|row| waiting(facts, &names, row)).collect(),
            answered: over.into_iter().filter_map(answered).collect(),
            not_done: tasks().filter_map(|task| not_done(facts, &names, task)).collect(),
            still: tasks().filter_map(|task| still(facts, &names, task)).collect(),
            waits: waits::of(facts),
            cost: cost::of(facts, &names),
            healed: healed::of(facts, &names),
        }
    }
}

fn counts(facts: &Facts) -> Counts {
    let mut counts = Counts::default();
    for task in &facts.tasks {
        counts.tasks += 1;
        match task.row.moved.state.standing() {
            Standing::Done if task.row.moved.unchanged.is_some() => counts.unchanged += 1,
            Standing::Done => counts.shipped += 1,
            Standing::Parked => counts.waiting += 1,
            Standing::Skipped => counts.left_out += 1,
            Standing::Failed => counts.failed += 1,
            Standing::Cancelled => counts.cancelled += 1,
            Standing::Pending
            | Standing::Running
            | Standing::BackingOff
            | Standing::Reconciling => counts.still += 1,
        }
    }
    counts
}

fn shipped(facts: &Facts, names: &Names<'_>, task: &TaskFacts) -> Option<Shipped> {
    let (row, moved) = (&task.row, &task.row.moved);
    (moved.state == TaskState::Done && moved.unchanged.is_none()).then(|| Shipped {
        task: row.id,
        title: names.of(row.id),
        landed: checks::landed(task),
        attempts: task.attempts(),
        took_ms: cost::took(facts, task),
        spent: moved.spent,
        checked: checks::told(task),
        actions: checks::actions(facts, task),
    })
}

fn unchanged(facts: &Facts, names: &Names<'_>, task: &TaskFacts) -> Option<Unchanged> {
    let why = task.row.moved.unchanged.as_deref()?;
    (task.row.moved.state == TaskState::Done).then(|| Unchanged {
        task: task.row.id,
        title: names.of(task.row.id),
        why: why.to_owned(),
        checked: checks::told(task),
        actions: checks::actions(facts, task),
    })
}

fn refused(names: &Names<'_>, task: &TaskFacts) -> Vec<RefusedTo> {
    let (id, title) = (task.row.id, names.of(task.row.id));
    let refused = task.row.moved.refused.iter().map(|refused| RefusedTo {
        task: id,
        title: title.clone(),
        what: refused.what.to_string(),
        why: refused.why.to_string(),
    });
    refused.collect()
}

fn waiting(facts: &Facts, names: &Names<'_>, row: &QuestionRow) -> Waiting {
    Waiting {
        question: row.id,
        problem: row.text.problem.clone(),
        advice: row.text.recommended_text.clone(),
        options: row.text.options.clone(),
        recommended: row.text.recommended,
        tasks: row.tasks.iter().map(|task| names.of(*task)).collect(),
        asked_at: row.created_at,
        answered: facts.answers.iter().any(|answer| answer.question == row.id),
        code: row.code,
        category: row.code.map(|code| code.row().category),
    }
}

fn answered(row: &QuestionRow) -> Option<Answered> {
    let chosen: Decision = row.decision?;
    let option = row.text.chosen(chosen, row.guidance.as_deref())?;
    let problem = row.text.problem.clone();
    let choice = option.label.clone();
    let own = row.guidance.as_deref().filter(|_| option.guidance.is_none());
    let words = own.map(|words| verbatim(words, QUESTION_CHARS_MAX));
    let words = words.filter(|words| !words.is_empty());
    Some(Answered { question: row.id, problem, choice, words })
}

fn not_done(facts: &Facts, names: &Names<'_>, task: &TaskFacts) -> Option<NotDone> {
    let (row, moved) = (&task.row, &task.row.moved);
    let code = match moved.state {
        TaskState::Failed { code } => Some(code),
        TaskState::Skipped { left: Left::Denied } => moved.failure.as_ref().map(|f| f.code()),
        _ => None,
    };
    let why = words::why(&moved.state, facts.build.state, names)?;
    let landed = checks::landed(task);
    let (task, title, attempts) = (row.id, names.of(row.id), task.attempts());
    let category = code.map(|code| code.row().category);
    Some(NotDone { task, title, why, attempts, landed, code, category })
}

fn still(facts: &Facts, names: &Names<'_>, task: &TaskFacts) -> Option<Still> {
    let row = &task.row;
    let stands = words::stands(&row.moved.state, facts.at_work)?;
    Some(Still { task: row.id, title: names.of(row.id), stands: stands.to_owned() })
}
