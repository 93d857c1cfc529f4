//! Handles `CheckAgain`: probes an action once more before the operator says whether it happened.

use crate::engine::command::Rejected;
use crate::engine::event::Event;
use crate::engine::ids::QuestionId;
use crate::engine::question::Subject;
use crate::engine::turn::Turn;
use crate::engine::why::{Rule, Why};

pub(super) fn on(turn: &mut Turn<'_>, id: QuestionId) -> Result<(), Rejected> {
    let question = turn.state.question(id).ok_or(Rejected::NoQuestion(id))?;
    let Subject::Action(mutation) = question.subject else {
        return Err(Rejected::NotNow { what: format!("question {id}"), state: "not about that" });
    };
    let known = turn.state.mutation(mutation).ok_or(Rejected::NoQuestion(id))?;
    if !known.spec.probe {
        let what = format!("question {id}");
        return Err(Rejected::NotNow { what, state: "about something that cannot be looked up" });
    }
    let task = turn.task(known.task)?;
    let (task, run, fault, next) = (task.id, known.run, task.unsettled.clone(), task.next);
    turn.emit(Event::QuestionWithdrawn { question: id });
    let why = Why::rule(Rule::PersonAsked);
    turn.decide(Event::TaskReconciling { task, run, fault, next }, why.clone());
    turn.decide(Event::MutationProbing { mutation, called_at: None, said: None }, why);
    Ok(())
}
