//! The work of a living process is left to it when another takes the project and all of its tasks.

use std::fs::File;
use std::sync::Arc;

use async_trait::async_trait;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use unstuck_core::engine::{EffectId, EffectKind, EffectOutcome, TaskId, TaskState};
use unstuck_runner::{
    EffectRequest, EffectResult, PerformScope, Performer, RunnerSetup, TaskLocks,
};

use crate::event_loop::virtual_loop::{Reaction, Stage, all_well};

const JOB: TaskId = TaskId(0);

/// A job whose script goes on while its holder was killed: its performer has the turn at it.
/// Another process has taken the project and performs all of it.
async fn taken_over(folder: &TempDir) -> (Stage, EffectId, File) {
    let mut first = Stage::new(|_, _| Reaction::Hangs).await;
    first.fire_job("nightly").await;
    let effect = first.started.recv().await.unwrap().effect.id;
    let (store, clock) = first.crash().await;
    let turn = File::create(folder.path().join(format!("{JOB}.turn"))).unwrap();
    turn.lock().unwrap();
    let shared = |setup: &mut RunnerSetup| setup.turns = Some(TaskLocks::new(folder.path()));
    let stage = Stage::with(store, clock, shared, all_well).await;
    (stage, effect, turn)
}

async fn is_done(stage: &Stage) {
    stage.wait_until(|state| state.task(JOB).unwrap().state == TaskState::Done).await;
}

/// The tasks that the process which took all of the project has cleared.
fn cleared(stage: &Stage) -> Vec<TaskId> {
    stage.world.cleared.lock().unwrap().clone()
}

/// Has performed an effect for a holder that is gone, and comes to the next one with its result.
struct Comes(EffectId);

#[async_trait]
impl Performer for Comes {
    async fn perform_effect(
        &self,
        order: EffectRequest,
        _stop: CancellationToken,
    ) -> Option<EffectResult> {
        if let EffectKind::Execute { .. } = order.effect.what {
            assert_eq!(order.effect.id, self.0);
        }
        Some(EffectOutcome::Done.into())
    }

    fn running_effects(&self) -> Vec<EffectId> {
        vec![self.0]
    }

    async fn reap_leftovers(&self, tasks: &[TaskId]) {
        assert!(tasks.is_empty(), "{tasks:?} are its own");
    }
}

// B13
#[tokio::test(start_paused = true)]
async fn a_task_whose_performer_lives_is_left_to_it() {
    let folder = tempfile::tempdir().unwrap();
    let (stage, effect, turn) = taken_over(&folder).await;
    stage.handle.take_answers().await.unwrap();
    assert_eq!(cleared(&stage), []);
    stage.handle.attach_performer(PerformScope::Task(JOB), Arc::new(Comes(effect))).await.unwrap();
    is_done(&stage).await;
    drop(turn);
    stage.handle.take_answers().await.unwrap();
    assert_eq!(cleared(&stage), []);
    assert_eq!(stage.performed(|_| true), 0);
}

// B13
#[tokio::test(start_paused = true)]
async fn a_task_whose_performer_dies_before_it_comes_is_taken_up() {
    let folder = tempfile::tempdir().unwrap();
    let (stage, _, turn) = taken_over(&folder).await;
    stage.handle.take_answers().await.unwrap();
    assert_eq!(cleared(&stage), []);
    drop(turn);
    is_done(&stage).await;
    assert_eq!(cleared(&stage), [JOB]);
    assert_eq!(stage.performed(|work| matches!(work, EffectKind::Execute { .. })), 1);
}
