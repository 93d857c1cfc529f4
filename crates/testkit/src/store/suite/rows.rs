//! The tables: they change with the events that changed them.

use std::sync::Arc;

use unstuck_core::engine::{
    BuildId, Check, CheckVerdict, Checked as Gated, Command, CommandIssuer, EffectOutcome, Event,
    HandledRequest, Phase, RunNote, SessionReport, Status,
};
use unstuck_core::fault::{Category, CheckStage, Code, ErrorType};
use unstuck_core::plan::{Plan, Request, SessionSpec, TaskSpec};
use unstuck_core::policy::Amount;
use unstuck_core::question::Decision;
use unstuck_store::tables::{MutationStatus, RunEnd, RunStatus};

use crate::store::fixture::{StoreFixture, make_action, make_answer, make_fault, make_task};
use crate::store::{PROJECT, StoreDump, StoreOpener, SuiteResult, check_equal, check_holds};

/// The retry count of an error and the counters of its task are durable with the failure that moved them.
pub async fn counters_are_saved_with_their_failure(place: &dyn StoreOpener) -> SuiteResult {
    let mut stage = StoreFixture::new(place).await?;
    stage.start_build(vec![make_task("a")]).await?;
    for tries in 1..=3 {
        stage.fail_check("a", "one").await?;
        let rows = stage.store.load_signatures(PROJECT).await?;
        let counts: Vec<(u32, u64)> = rows.iter().map(|row| (row.count, row.total)).collect();
        check_equal("the tries are counted", &counts, &vec![(tries, u64::from(tries))])?;
        // Only durable data is left, and the counters are unchanged.
        stage = stage.crash_and_reopen(place).await?;
        StoreDump::read_project(&*stage.store, PROJECT).await?.check_against(&stage.state)?;
        stage.decide_durably(Command::Recover { task: None, clean: false }).await?;
    }
    Ok(())
}

/// A run's row contains its origin, its progress and its end.
pub async fn runs_are_remembered(place: &dyn StoreOpener) -> SuiteResult {
    let mut stage = StoreFixture::new(place).await?;
    stage.start_build(vec![make_task("a")]).await?;
    stage.fail_check("a", "one").await?;
    let runs = stage.store.load_task_runs(PROJECT, stage.task_id("a")?).await?;
    check_equal("the failure led to a second run", &runs.len(), &2)?;
    let first = &runs[0];
    let second = &runs[1];
    check_equal("the first failed", &first.status, &RunStatus::Standing(Status::FailedLogic))?;
    check_equal("when", &first.ended_at, &Some(stage.now))?;
    let fault = first.fault.as_ref().ok_or("its fault is there")?;
    check_equal("its code", &fault.code(), &Code::ValidationPreCommit)?;
    check_equal("its type", &fault.error_type(), &ErrorType::Logic)?;
    check_equal("its category", &fault.category(), &Category::Validation)?;
    check_equal("its source and message", &(&*fault.source, &*fault.message), &("test", "one"))?;
    check_equal("the second follows it", &second.retry_of, &Some(first.id))?;
    check_equal("and is at work", &second.status, &RunStatus::Standing(Status::Active))?;
    let spent = Amount { money_micros: 10, tokens: 14, time_ms: 22 };
    check_equal("what it cost adds up", &first.spent, &spent)?;

    stage.settle_attempt("a").await?;
    for _ in ["check", "commit", "emit"] {
        stage.settle_effect("a", EffectOutcome::Done).await?;
    }
    let id = second.id;
    let run = stage.store.load_run(PROJECT, id).await?.ok_or("the run has a row")?;
    check_equal("it succeeded", &run.status, &RunStatus::Over(RunEnd::Committed))?;
    check_equal("it went all the way", &run.phase, &Phase::Emitting.max(run.phase))?;
    let build = stage.store.load_builds(PROJECT).await?.remove(0);
    check_equal("the build counts it", &(build.tasks, build.done, build.not_done), &(1, 1, 0))?;
    check_equal("and has ended", &build.ended_at, &Some(stage.now))?;
    stage.crash_and_reopen(place).await?;
    Ok(())
}

/// A task's row contains the results of the checks on its latest attempt.
pub async fn what_was_checked_is_remembered(place: &dyn StoreOpener) -> SuiteResult {
    let mut stage = StoreFixture::new(place).await?;
    stage.start_build(vec![make_task("a")]).await?;
    stage.settle_attempt("a").await?;
    let check = Check { command: "make".into(), verdict: CheckVerdict::RedBefore };
    let checked = Gated {
        gate: CheckStage::PreCommit,
        checks: vec![check],
        more_passed: 0,
        put_back: Vec::new(),
    };
    let effect =
        stage.state.outstanding_effects().first().map(|effect| effect.id).ok_or("a check")?;
    stage
        .decide_durably(Command::Note {
            effect,
            note: RunNote::Checked { checked: checked.clone() },
        })
        .await?;
    stage.settle_effect("a", EffectOutcome::Done).await?;
    stage = stage.crash_and_reopen(place).await?;
    let build = stage.store.load_builds(PROJECT).await?.remove(0).id;
    let row = stage.store.load_build_tasks(PROJECT, build).await?.remove(0);
    let kept: Vec<&Gated> = row.moved.checked.iter().map(|kept| &**kept).collect();
    check_equal("it came back as it was said", &kept, &vec![&checked])
}

/// The decisions that followed a run are found with the run.
pub async fn the_reasons_of_a_run_are_found(place: &dyn StoreOpener) -> SuiteResult {
    let mut stage = StoreFixture::new(place).await?;
    stage.start_build(vec![make_task("a")]).await?;
    stage.fail_authentication("a").await?;
    let run = stage.store.load_task_runs(PROJECT, stage.task_id("a")?).await?[0].id;
    let decisions = stage.store.load_run_decisions(PROJECT, run).await?;
    check_holds(
        "all of them have reasons",
        decisions.iter().all(|recorded| recorded.why.is_some()),
    )?;
    let asks = |event: &Event| matches!(event, Event::QuestionAsked { .. });
    check_holds("the question is one", decisions.iter().any(|recorded| asks(&recorded.event)))
}

/// An action's row goes through all of its states.
pub async fn actions_are_remembered(place: &dyn StoreOpener) -> SuiteResult {
    let mut stage = StoreFixture::new(place).await?;
    let mutations = vec![make_action("send"), make_action("tell")];
    stage.start_build(vec![TaskSpec { mutations, ..make_task("a") }]).await?;
    stage.settle_attempt("a").await?;
    stage.settle_effect("a", EffectOutcome::Done).await?;
    stage.settle_effect("a", EffectOutcome::Done).await?;
    let task = stage.task_id("a")?;
    let rows = stage.store.load_task_mutations(PROJECT, task).await?;
    let seen: Vec<_> = rows.iter().map(|row| (&*row.spec.key, row.status)).collect();
    check_equal(
        "it is in flight before it is sent",
        &seen,
        &vec![("send", MutationStatus::InFlight)],
    )?;
    stage.settle_effect("a", EffectOutcome::Applied { result: Arc::from("42") }).await?;
    let lost = Arc::new(make_fault(Code::NetworkTimeout, "lost"));
    stage.settle_effect("a", EffectOutcome::Unknown { fault: lost }).await?;
    let rows = stage.store.load_task_mutations(PROJECT, task).await?;
    let seen: Vec<_> = rows.iter().map(|row| (row.status, &*row.result)).collect();
    let wanted = vec![(MutationStatus::Applied, "42"), (MutationStatus::Indeterminate, "")];
    check_equal("one happened, of the other it is unknown", &seen, &wanted)?;
    let asked = stage.state.questions().next().map(|question| question.id).ok_or("asked")?;
    stage.store.record_answer(PROJECT, make_answer(asked, Decision::ItHappened, "anna")).await?;
    stage = stage.crash_and_reopen(place).await?;
    stage.take_answers().await?;
    let rows = stage.store.load_task_mutations(PROJECT, task).await?;
    let seen: Vec<_> = rows.iter().map(|row| row.status).collect();
    check_equal("then a person said so", &seen, &vec![MutationStatus::Applied; 2])?;
    check_equal("when it changed last", &rows[1].changed_at, &stage.now)
}

/// Costs add up, by day and task.
pub async fn costs_add_up(place: &dyn StoreOpener) -> SuiteResult {
    let mut stage = StoreFixture::new(place).await?;
    stage.start_build(vec![make_task("a"), make_task("b")]).await?;
    stage.settle_attempt("a").await?;
    stage.settle_attempt("b").await?;
    stage.settle_effect("a", EffectOutcome::Done).await?;
    let rows = stage.store.load_costs(PROJECT, 0).await?;
    let tokens: Vec<u64> = rows.iter().map(|row| row.spent.tokens).collect();
    check_equal("each task has its own", &tokens, &vec![14, 7])?;
    let day = rows[0].day;
    check_equal("a day has its own", &stage.store.load_costs(PROJECT, day).await?, &rows)?;
    check_equal(
        "days before are left out",
        &stage.store.load_costs(PROJECT, day + 1).await?,
        &Vec::new(),
    )
}

/// A session, its retries and the accepted requests are durable together: after a crash the same request
/// changes nothing.
pub async fn a_session_and_its_requests_are_remembered(place: &dyn StoreOpener) -> SuiteResult {
    let mut stage = StoreFixture::new(place).await?;
    let opened = Request { key: Arc::from("open"), said: u64::MAX };
    let order = CommandIssuer { by: Arc::from("Ada"), request: Some(opened.clone()) };
    let session = Some(SessionSpec::default());
    let plan =
        Plan::new(vec![TaskSpec { session, ..make_task("a") }]).map_err(|e| e.to_string())?;
    let start = Command::StartBuild { plan: Arc::new(plan), slots: 1, in_place: false };
    stage.decide_durably(order.wrap_command(start)).await?;
    let task = stage.task_id("a")?;
    let report = || Command::Report {
        task,
        told: SessionReport::Failed {
            request: Request { key: Arc::from("told"), said: 7 },
            fault: Arc::new(make_fault(Code::LogicError, "one")),
            approach: None,
        },
    };
    for _ in 0..3 {
        stage.decide_durably(report()).await?;
        stage = stage.crash_and_reopen(place).await?;
        StoreDump::read_project(&*stage.store, PROJECT).await?.check_against(&stage.state)?;
        let taken = HandledRequest { request: opened.clone(), build: Some(BuildId(0)) };
        check_equal(
            "the request that opened it is known",
            &stage.state.handled_request("open"),
            &Some(&taken),
        )?;
        let rows = stage.store.load_signatures(PROJECT).await?;
        check_equal("it is charged once", &rows.iter().map(|row| row.count).collect(), &vec![1])?;
        stage.decide_durably(Command::Recover { task: None, clean: false }).await?;
        check_equal("and is still at it", &stage.state.outstanding_effects().len(), &1)?;
    }
    let build = stage.store.load_builds(PROJECT).await?.remove(0);
    let title = build.session.as_deref().map(str::to_owned);
    check_equal("its build says what it is", &title.is_some(), &true)
}
