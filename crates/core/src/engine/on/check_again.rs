//! Handles `CheckAgain`: probes an action once more before the operator says whether it happened.

use crate::engine::command::CommandRejection;
use crate::engine::event::Event;
use crate::engine::ids::QuestionId;
use crate::engine::question::Subject;
use crate::engine::turn::Transition;
use crate::engine::why::{Rule, Why};

pub(super) fn handle_check_again(
    turn: &mut Transition<'_>,
    id: QuestionId,
) -> Result<(), CommandRejection> {
    let question = turn.state.question(id).ok_or(CommandRejection::NoQuestion(id))?;
    let Subject::Action(mutation) = question.subject else {
        return Err(CommandRejection::NotNow {
            what: format!("question {id}"),
            state: "not about that",
        });
    };
    let known = turn.state.mutation(mutation).ok_or(CommandRejection::NoQuestion(id))?;
    if !known.spec.probe {
        let what = format!("question {id}");
        return Err(CommandRejection::NotNow {
            what,
            state: "about something that cannot be looked up",
        });
    }
    let task = turn.find_task(known.task)?;
    let (task, run, fault, next) = (task.id, known.run, task.unsettled.clone(), task.next);
    turn.emit_event(Event::QuestionWithdrawn { question: id });
    let why = Why::from_rule(Rule::PersonAsked);
    turn.emit_with_reason(Event::TaskReconciling { task, run, fault, next }, why.clone());
    turn.emit_with_reason(Event::MutationProbing { mutation, called_at: None, said: None }, why);
    Ok(())
}
