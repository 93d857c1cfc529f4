//! Sessions: the reports of an external runtime are durable, and so are the requests that carried them.

use std::sync::Arc;

use unstuck_core::engine::{BuildId, Command, CommandIssuer, HandledRequest, SessionReport};
use unstuck_core::fault::Code;
use unstuck_core::plan::{Plan, Request, SessionSpec, TaskSpec};

use crate::store::stage::{StoreFixture, make_fault, make_task};
use crate::store::{PROJECT, StoreDump, StoreOpener, SuiteResult, check_equal};

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
