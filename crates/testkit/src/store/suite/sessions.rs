//! Sessions: the reports of an external runtime are durable, and so are the requests that carried them.

use std::sync::Arc;

use unstuck_core::engine::{BuildId, Command, Order, Taken, Told};
use unstuck_core::fault::Code;
use unstuck_core::plan::{Plan, Request, SessionSpec, TaskSpec};

use crate::store::stage::{Stage, fault, task};
use crate::store::{Checked, Dump, PROJECT, Place, same};

/// A session, its retries and the accepted requests are durable together: after a crash the same request
/// changes nothing.
pub async fn a_session_and_its_requests_are_remembered(place: &dyn Place) -> Checked {
    let mut stage = Stage::new(place).await?;
    let opened = Request { key: Arc::from("open"), said: u64::MAX };
    let order = Order { by: Arc::from("Ada"), request: Some(opened.clone()) };
    let session = Some(SessionSpec::default());
    let plan = Plan::new(vec![TaskSpec { session, ..task("a") }]).map_err(|e| e.to_string())?;
    let start = Command::StartBuild { plan: Arc::new(plan), slots: 1, in_place: false };
    stage.must(order.wants(start)).await?;
    let task = stage.id("a")?;
    let report = || Command::Report {
        task,
        told: Told::Failed {
            request: Request { key: Arc::from("told"), said: 7 },
            fault: Arc::new(fault(Code::LogicError, "one")),
            approach: None,
        },
    };
    for _ in 0..3 {
        stage.must(report()).await?;
        stage = stage.die(place).await?;
        Dump::of(&*stage.store, PROJECT).await?.agrees(&stage.state)?;
        let taken = Taken { request: opened.clone(), build: Some(BuildId(0)) };
        same("the request that opened it is known", &stage.state.taken("open"), &Some(&taken))?;
        let rows = stage.store.signatures(PROJECT).await?;
        same("it is charged once", &rows.iter().map(|row| row.count).collect(), &vec![1])?;
        stage.must(Command::Recover { task: None, clean: false }).await?;
        same("and is still at it", &stage.state.outstanding().len(), &1)?;
    }
    let build = stage.store.builds(PROJECT).await?.remove(0);
    let title = build.session.as_deref().map(str::to_owned);
    same("its build says what it is", &title.is_some(), &true)
}
