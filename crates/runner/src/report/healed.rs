//! For operators: errors that were overcome without a person's help.

use unstuck_core::engine::TaskState;
use unstuck_core::fault::{Code, Fault};
use unstuck_store::tables::{QuestionRow, RunRow};

use super::facts::{BuildFacts, TaskFacts};
use super::push::find_missing_push;
use super::report::HealedError;
use super::words::TaskNames;

/// Maximum length of a quoted message, in characters.
const MESSAGE_CHARS_MAX: usize = 200;

/// Returns the errors of finished tasks, except those that a person was asked about.
pub(super) fn find_healed_errors(facts: &BuildFacts, names: &TaskNames<'_>) -> Vec<HealedError> {
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
