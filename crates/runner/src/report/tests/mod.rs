//! Tests of a report's texts, as tables, from rows of a build that are assembled by hand. Real ones
//! are in `tests/it/build/reporting.rs`.

mod results;
mod sentences;

use std::sync::Arc;

use unstuck_core::engine::{
    BuildId, BuildState, Counters, MutationId, Phase, QuestionId, Rule, RunId, TaskId, TaskState,
    Why,
};
use unstuck_core::fault::{Auth, Fault, Validation};
use unstuck_core::plan::{GateKey, MutationKind, MutationSpec, TaskSpec};
use unstuck_core::policy::Amount;
use unstuck_core::question::{Decision, Evidence, QuestionFacts, QuestionKind, Reason, build_text};
use unstuck_core::time::{Span, Time};
use unstuck_store::tables::{
    BuildRow, MutationRow, MutationStatus, QuestionRow, QuestionStatus, RunEnd, RunRow, RunStatus,
    TaskChange, TaskRow,
};

use crate::report::{BuildFacts, BuildReport, TaskFacts};

const BEGAN: Time = Time::from_millis(1_800_000_000_000);
const COMMIT: &str = "466d1153ff89aae38cdd90b88fc6fe690ac5a3bc";

const OTHER: &str = "8131b8e90909e9b4401d9cb86bdaf196460be807";

fn at(minutes: u64) -> Time {
    BEGAN + Span::from_mins(minutes)
}

/// Returns a build of these tasks, an hour after it began.
fn facts(state: BuildState, tasks: Vec<TaskFacts>) -> BuildFacts {
    let ended_at = state.has_ended().then(|| at(60));
    let build = BuildRow {
        id: BuildId(3),
        state,
        standing: false,
        session: None,
        client: false,
        tasks: 0,
        done: 0,
        unchanged: 0,
        not_done: 0,
        parked: 0,
        open_questions: 0,
        spent: tasks
            .iter()
            .fold(Amount::ZERO, |sum, task| sum.saturating_add(task.row.moved.spent)),
        red_base: Vec::new(),
        failure: None,
        started_at: BEGAN,
        ended_at,
    };
    let questions = Vec::new();
    let answers = Vec::new();
    let gates = Vec::new();
    let project = "shop".to_owned();
    BuildFacts { project, build, tasks, questions, answers, gates, at_work: false, now: at(90) }
}

/// Returns a task that was worked on once, for ten minutes.
fn task(id: u32, title: &str, state: TaskState) -> TaskFacts {
    let title = title.to_owned();
    let gate = GateKey(1);
    let spec = TaskSpec { name: format!("n{id}"), title, gate, ..TaskSpec::default() };
    let spent = Amount { money_micros: 310_000, ..Amount::ZERO };
    let moved = TaskChange {
        state,
        last_run: Some(RunId(u64::from(id))),
        firing: 0,
        fired_at: None,
        held: false,
        attempts: 1,
        checked: Vec::new(),
        unchanged: None,
        refused: Vec::new(),
        counters: Counters::default(),
        failure: None,
        spent,
        changed_at: at(10),
    };
    let row = TaskRow { id: TaskId(id), build: BuildId(3), spec: Arc::new(spec), moved };
    TaskFacts { row, runs: vec![run(id, u64::from(id), None)], actions: Vec::new() }
}

fn run(task: u32, id: u64, fault: Option<Fault>) -> RunRow {
    RunRow {
        id: RunId(id),
        task: TaskId(task),
        retry_of: None,
        phase: Phase::Committed,
        status: RunStatus::Over(RunEnd::Committed),
        fault: fault.map(Arc::new),
        iterations: 1,
        tool_calls: 1,
        spent: Amount::ZERO,
        started_at: BEGAN,
        ended_at: Some(at(10)),
    }
}

fn done(title: &str) -> TaskFacts {
    task(0, title, TaskState::Done)
}

fn one(task: TaskFacts) -> BuildReport {
    BuildReport::from_facts(&facts(BuildState::Completed, vec![task]))
}

fn action(kind: MutationKind, status: MutationStatus, result: &str) -> MutationRow {
    let spec = MutationSpec { key: format!("{kind:?}"), kind, ..MutationSpec::default() };
    MutationRow {
        id: MutationId(0),
        task: TaskId(0),
        run: RunId(0),
        spec: Arc::new(spec),
        status,
        result: result.into(),
        intended_at: BEGAN,
        changed_at: BEGAN,
    }
}

fn red() -> Fault {
    let context = Validation { command: "make".to_owned(), exit: Some(1), output: "E1".to_owned() };
    Fault::validation_pre_commit("validate:pre_commit#1", "src/a.rs:3: E1\nmore", context)
}

fn question(status: QuestionStatus, fault: &Fault) -> QuestionRow {
    let asked = QuestionFacts {
        titles: &["Deploy"],
        tasks: 1,
        ..QuestionFacts::new(QuestionKind::Hands, Some(fault.code()), Reason::FirstOccurrence)
    };
    QuestionRow {
        id: QuestionId(4),
        project: "shop".to_owned(),
        build: Some(BuildId(3)),
        tasks: vec![TaskId(0)],
        signature: fault.signature.key("shop"),
        code: Some(fault.code()),
        category: Some(fault.category()),
        error_type: None,
        kind: QuestionKind::Hands,
        text: build_text(&asked),
        evidence: Evidence::default(),
        operator_text: String::new(),
        raw_error: fault.message.clone(),
        why: Why::with_code(Rule::NeverRetried, fault.code()),
        status,
        decision: (status == QuestionStatus::Resolved).then_some(Decision::ProvideCredentials),
        guidance: None,
        answered_by: None,
        created_at: at(5),
        resolved_at: None,
    }
}

fn refused() -> Fault {
    Fault::auth_invalid("deploy", "403", Auth::default())
}
