//! The tables: they change with the events that changed them.

use std::sync::Arc;

use unstuck_core::engine::{
    Check, CheckVerdict, Checked as Gated, Command, Event, Note, Outcome, Phase, Status,
};
use unstuck_core::fault::{Category, Code, ErrorType, Gate};
use unstuck_core::plan::TaskSpec;
use unstuck_core::policy::Amount;
use unstuck_core::question::Decision;
use unstuck_store::tables::{MutationStatus, RunEnd, RunStatus};

use crate::store::stage::{Stage, action, answer, fault, task};
use crate::store::{Checked, Dump, PROJECT, Place, holds, same};

/// The retry count of an error and the counters of its task are durable with the failure that moved them.
pub async fn counters_are_saved_with_their_failure(place: &dyn Place) -> Checked {
    let mut stage = Stage::new(place).await?;
    stage.build(vec![task("a")]).await?;
    for tries in 1..=3 {
        stage.red("a", "one").await?;
        let rows = stage.store.signatures(PROJECT).await?;
        let counts: Vec<(u32, u64)> = rows.iter().map(|row| (row.count, row.total)).collect();
        same("the tries are counted", &counts, &vec![(tries, u64::from(tries))])?;
        // Only durable data is left, and the counters are unchanged.
        stage = stage.die(place).await?;
        Dump::of(&*stage.store, PROJECT).await?.agrees(&stage.state)?;
        stage.must(Command::Recover { task: None, clean: false }).await?;
    }
    Ok(())
}

/// A run's row contains its origin, its progress and its end.
pub async fn runs_are_remembered(place: &dyn Place) -> Checked {
    let mut stage = Stage::new(place).await?;
    stage.build(vec![task("a")]).await?;
    stage.red("a", "one").await?;
    let runs = stage.store.runs(PROJECT, stage.id("a")?).await?;
    same("the failure led to a second run", &runs.len(), &2)?;
    let first = &runs[0];
    let second = &runs[1];
    same("the first failed", &first.status, &RunStatus::Standing(Status::FailedLogic))?;
    same("when", &first.ended_at, &Some(stage.now))?;
    let fault = first.fault.as_ref().ok_or("its fault is there")?;
    same("its code", &fault.code(), &Code::ValidationPreCommit)?;
    same("its type", &fault.error_type(), &ErrorType::Logic)?;
    same("its category", &fault.category(), &Category::Validation)?;
    same("its source and message", &(&*fault.source, &*fault.message), &("test", "one"))?;
    same("the second follows it", &second.retry_of, &Some(first.id))?;
    same("and is at work", &second.status, &RunStatus::Standing(Status::Active))?;
    let spent = Amount { money_micros: 10, tokens: 14, time_ms: 22 };
    same("what it cost adds up", &first.spent, &spent)?;

    stage.attempt("a").await?;
    for _ in ["check", "commit", "emit"] {
        stage.settle("a", Outcome::Done).await?;
    }
    let id = second.id;
    let run = stage.store.run(PROJECT, id).await?.ok_or("the run has a row")?;
    same("it succeeded", &run.status, &RunStatus::Over(RunEnd::Committed))?;
    same("it went all the way", &run.phase, &Phase::Emitting.max(run.phase))?;
    let build = stage.store.builds(PROJECT).await?.remove(0);
    same("the build counts it", &(build.tasks, build.done, build.not_done), &(1, 1, 0))?;
    same("and has ended", &build.ended_at, &Some(stage.now))?;
    stage.die(place).await?;
    Ok(())
}

/// A task's row contains the results of the checks on its latest attempt.
pub async fn what_was_checked_is_remembered(place: &dyn Place) -> Checked {
    let mut stage = Stage::new(place).await?;
    stage.build(vec![task("a")]).await?;
    stage.attempt("a").await?;
    let check = Check { command: "make".into(), verdict: CheckVerdict::RedBefore };
    let checked =
        Gated { gate: Gate::PreCommit, checks: vec![check], more_passed: 0, put_back: Vec::new() };
    let effect = stage.state.outstanding().first().map(|effect| effect.id).ok_or("a check")?;
    stage.must(Command::Note { effect, note: Note::Checked { checked: checked.clone() } }).await?;
    stage.settle("a", Outcome::Done).await?;
    stage = stage.die(place).await?;
    let build = stage.store.builds(PROJECT).await?.remove(0).id;
    let row = stage.store.tasks(PROJECT, build).await?.remove(0);
    let kept: Vec<&Gated> = row.moved.checked.iter().map(|kept| &**kept).collect();
    same("it came back as it was said", &kept, &vec![&checked])
}

/// The decisions that followed a run are found with the run.
pub async fn the_reasons_of_a_run_are_found(place: &dyn Place) -> Checked {
    let mut stage = Stage::new(place).await?;
    stage.build(vec![task("a")]).await?;
    stage.refused("a").await?;
    let run = stage.store.runs(PROJECT, stage.id("a")?).await?[0].id;
    let decisions = stage.store.decisions(PROJECT, run).await?;
    holds("all of them have reasons", decisions.iter().all(|recorded| recorded.why.is_some()))?;
    let asks = |event: &Event| matches!(event, Event::QuestionAsked { .. });
    holds("the question is one", decisions.iter().any(|recorded| asks(&recorded.event)))
}

/// An action's row goes through all of its states.
pub async fn actions_are_remembered(place: &dyn Place) -> Checked {
    let mut stage = Stage::new(place).await?;
    let mutations = vec![action("send"), action("tell")];
    stage.build(vec![TaskSpec { mutations, ..task("a") }]).await?;
    stage.attempt("a").await?;
    stage.settle("a", Outcome::Done).await?;
    stage.settle("a", Outcome::Done).await?;
    let task = stage.id("a")?;
    let rows = stage.store.mutations(PROJECT, task).await?;
    let seen: Vec<_> = rows.iter().map(|row| (&*row.spec.key, row.status)).collect();
    same("it is in flight before it is sent", &seen, &vec![("send", MutationStatus::InFlight)])?;
    stage.settle("a", Outcome::Applied { result: Arc::from("42") }).await?;
    let lost = Arc::new(fault(Code::NetworkTimeout, "lost"));
    stage.settle("a", Outcome::Unknown { fault: lost }).await?;
    let rows = stage.store.mutations(PROJECT, task).await?;
    let seen: Vec<_> = rows.iter().map(|row| (row.status, &*row.result)).collect();
    let wanted = vec![(MutationStatus::Applied, "42"), (MutationStatus::Indeterminate, "")];
    same("one happened, of the other it is unknown", &seen, &wanted)?;
    let asked = stage.state.questions().next().map(|question| question.id).ok_or("asked")?;
    stage.store.answer(PROJECT, answer(asked, Decision::ItHappened, "anna")).await?;
    stage = stage.die(place).await?;
    stage.take_answers().await?;
    let rows = stage.store.mutations(PROJECT, task).await?;
    let seen: Vec<_> = rows.iter().map(|row| row.status).collect();
    same("then a person said so", &seen, &vec![MutationStatus::Applied; 2])?;
    same("when it changed last", &rows[1].changed_at, &stage.now)
}

/// Costs add up, by day and task.
pub async fn costs_add_up(place: &dyn Place) -> Checked {
    let mut stage = Stage::new(place).await?;
    stage.build(vec![task("a"), task("b")]).await?;
    stage.attempt("a").await?;
    stage.attempt("b").await?;
    stage.settle("a", Outcome::Done).await?;
    let rows = stage.store.costs(PROJECT, 0).await?;
    let tokens: Vec<u64> = rows.iter().map(|row| row.spent.tokens).collect();
    same("each task has its own", &tokens, &vec![14, 7])?;
    let day = rows[0].day;
    same("a day has its own", &stage.store.costs(PROJECT, day).await?, &rows)?;
    same("days before are left out", &stage.store.costs(PROJECT, day + 1).await?, &Vec::new())
}
