//! The kernel says which process knocks: one that lives in a run has that run's rights and no others,
//! with or without a token. A test lives in a run when it holds the lock of it.

use std::fs::{self, File};
use std::sync::Arc;

use unstuck_core::engine::{Command, EffectId, RunId, TaskId};
use unstuck_core::plan::{MutationSpec, Plan, TaskSpec};
use unstuck_runner::PerformScope;
use unstuck_runner::control::{ControlClient, ControlRefusal, RunSocket};

use crate::control::holder::{Hand, Stage, Told, define, hand};
use crate::control::talking::why;

/// Two tasks that are being attempted at the same time.
struct Attempts {
    stage: Stage,
    effects: Vec<(TaskId, RunId, EffectId)>,
    _hand: (Arc<Hand>, Told),
}

async fn attempts() -> Attempts {
    let stage = Stage::new().await;
    let (world, mut told) = hand();
    stage.handle.attach_performer(PerformScope::Project, Arc::clone(&world) as _).await.unwrap();
    let task = |name: &str| TaskSpec { name: name.to_owned(), ..TaskSpec::default() };
    let plan = Arc::new(Plan::new(vec![task("a"), task("b")]).unwrap());
    let start = Command::StartBuild { plan, slots: 2, in_place: false };
    stage.submit(start).await;
    let mut effects = Vec::new();
    for _ in 0..2 {
        let effect = told.begun.recv().await.unwrap().effect;
        effects.push((effect.task, effect.run, effect.id));
    }
    Attempts { stage, effects, _hand: (world, told) }
}

impl Stage {
    /// Makes this very process live in a run, as long as the file lives.
    fn live_in(&self, lock: &str) -> File {
        let runs = self.socket.with_file_name("runs");
        fs::create_dir_all(&runs).unwrap();
        let lock = File::create(runs.join(lock)).unwrap();
        lock.lock().unwrap();
        lock
    }
}

fn declare(effect: EffectId) -> Command {
    let mutation = MutationSpec { key: effect.to_string(), ..MutationSpec::default() };
    Command::Mutate { effect, mutation }
}

async fn assert_reports_for_its_run_only(
    client: &ControlClient,
    effects: &[(TaskId, RunId, EffectId)],
) {
    let [(_, _, own), (other, _, others)] = effects else { panic!("{effects:?}") };
    client.submit_command(declare(*own)).await.unwrap();
    let controls = [
        declare(*others),
        Command::Skip { task: *other },
        Command::Retry { task: *other },
        Command::Pause { build: unstuck_core::engine::BuildId(0) },
    ];
    for command in controls {
        assert_eq!(why(&client.submit_command(command).await.unwrap_err()), ControlRefusal::Denied);
    }
    assert_eq!(why(&client.take_answers().await.unwrap_err()), ControlRefusal::Denied);
    assert_eq!(
        why(&client.subscribe_notices().await.map(drop).unwrap_err()),
        ControlRefusal::Denied
    );
    let (hand, _told) = hand();
    let attached = client.attach_performer(PerformScope::Task(*other), hand).await;
    assert_eq!(why(&attached.unwrap_err()), ControlRefusal::Denied);
}

// B18
#[tokio::test]
async fn what_lives_in_an_attempt_reports_for_it_only_without_a_token_too() {
    let Attempts { stage, effects, _hand } = attempts().await;
    let (task, run, own) = effects[0];
    let _lock = stage.live_in(&format!("{task}-{run}.lock"));
    let client = stage.client().await;
    assert_eq!(client.own_effect().map(|effect| effect.id), Some(own));
    assert_reports_for_its_run_only(&client, &effects).await;
    // Another run's token does not help.
    let token = stage.key.issue_token(effects[1].2).as_str().to_owned();
    assert!(ControlClient::connect(&stage.socket, Some(token)).await.is_err());
    assert_reports_for_its_run_only(&stage.child(own).await, &effects).await;
}

#[tokio::test]
async fn what_lives_in_a_check_or_in_nothing_known_may_ask_for_nothing() {
    for lock in ["t0-e1-check.lock", "base.lock", "t99-r99.lock"] {
        let Attempts { stage, effects, _hand } = attempts().await;
        let _lock = stage.live_in(lock);
        assert!(ControlClient::connect(&stage.socket, None).await.is_err(), "{lock}");
        let token = stage.key.issue_token(effects[0].2).as_str().to_owned();
        assert!(ControlClient::connect(&stage.socket, Some(token)).await.is_err(), "{lock}");
    }
}

#[tokio::test]
async fn a_script_of_the_person_has_the_persons_rights() {
    let (stage, client) = Stage::with_client().await;
    let task = define(&client, "a").await;
    let (hand, mut told) = hand();
    client.attach_performer(PerformScope::Task(task), hand).await.unwrap();
    client.submit_command(Command::FireJob { task }).await.unwrap();
    let run = told.begun.recv().await.unwrap().effect.run;
    let _lock = stage.live_in(&format!("{task}-{run}.lock"));
    let script = stage.client().await;
    define(&script, "b").await;
}

// B18: the only socket inside the wall.
#[tokio::test]
async fn the_socket_of_a_run_gives_every_client_the_rights_of_the_run() {
    let Attempts { stage, effects, _hand } = attempts().await;
    let token = stage.key.issue_token(effects[0].2);
    let path = stage.socket.with_file_name("sockets").join("r0");
    let socket = RunSocket::open(path.clone(), stage.socket.clone(), &token).unwrap();
    let (client, _) = ControlClient::connect(socket.path(), None).await.unwrap();
    assert_eq!(client.own_effect().map(|effect| effect.id), Some(effects[0].2));
    assert_reports_for_its_run_only(&client, &effects).await;
    let others = stage.key.issue_token(effects[1].2).as_str().to_owned();
    assert!(ControlClient::connect(socket.path(), Some(others)).await.is_err());
    drop(socket);
    assert!(!path.exists());
}
