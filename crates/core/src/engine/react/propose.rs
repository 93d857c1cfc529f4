//! Proposes a repair that is not used automatically: the operator decides whether it is.

use std::sync::Arc;

use super::ask::{ParkRequest, park_with_question};
use super::{has_build_ended, record_fault};
use crate::engine::flow;
use crate::engine::ids::RunId;
use crate::engine::question::Subject;
use crate::engine::run::{Next, Status, Step};
use crate::engine::turn::Transition;
use crate::engine::why::{Rule, Why};
use crate::fault::{Fault, Input};
use crate::question::QuestionKind;

/// Asks the operator about a repair that waits on `branch`. The script runs again once the operator
/// says that the repair was taken over.
pub(in crate::engine) fn propose_repair(turn: &mut Transition<'_>, run: RunId, branch: &str) {
    let Some(task) = turn.state.run(run).and_then(|run| turn.state.task(run.task)) else { return };
    let (task, source) = (task.id, format!("repair:{}", task.spec.name));
    let message = format!(
        "a repair is ready on the branch {branch}; take it over, for example with \
         `git merge {branch}`, and then choose \u{201c}I have fixed it, try again\u{201d}"
    );
    let fault = Fault::precondition_input(source, message, Input::default());
    let fault = Arc::new(Fault::with_cause(fault, branch));
    record_fault(turn, run, &fault, None, true);
    if has_build_ended(turn, run) {
        turn.cancel_run(run);
        flow::cancel_task(turn, task);
        return;
    }
    turn.pause_run(run, Status::PausedApproval, Step::Execute, Some(fault.code()));
    let why = Why::with_code(Rule::RepairProposed, fault.code());
    let subject = Subject::Error(fault.signature);
    let kind = QuestionKind::Hands;
    let next = Next::EXECUTE;
    park_with_question(
        turn,
        ParkRequest { task, run: Some(run), next, subject, kind, fault: Some(&fault), why },
    );
}
