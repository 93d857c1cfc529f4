//! Sessions: what a runtime elsewhere told survives, and so do the requests that told it.

use std::sync::Arc;

use unstuck_core::engine::{Command, Told};
use unstuck_core::fault::Code;
use unstuck_core::plan::{Request, SessionSpec, TaskSpec};

use crate::store::stage::{Stage, fault, task};
use crate::store::{Checked, Dump, PROJECT, Place, same};

/// A session, its tries and the requests that were taken are durable together: after a death the same
/// request changes nothing.
pub async fn a_session_and_its_requests_are_remembered(place: &dyn Place) -> Checked {
    let mut stage = Stage::new(place).await?;
    let opened = Request { key: Arc::from("open"), said: u64::MAX };
    let session = Some(SessionSpec { request: Some(opened.clone()) });
    stage.build(vec![TaskSpec { session, ..task("a") }]).await?;
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
        let known = stage.state.opened_by(&opened).map(|(build, same)| (build.0, same));
        same("the request that opened it is known", &known, &Some((0, true)))?;
        let rows = stage.store.signatures(PROJECT).await?;
        same("it is charged once", &rows.iter().map(|row| row.count).collect(), &vec![1])?;
        stage.must(Command::Recover { task: None, clean: false }).await?;
        same("and is still at it", &stage.state.outstanding().len(), &1)?;
    }
    let build = stage.store.builds(PROJECT).await?.remove(0);
    let title = build.session.as_deref().map(str::to_owned);
    same("its build says what it is", &title.is_some(), &true)
}
