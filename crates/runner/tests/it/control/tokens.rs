//! A child of a run shows its token and can report for its run, and for nothing else.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;

use unstuck_core::engine::{Checked, Command, EffectId, RunNote, TaskId};
use unstuck_core::fault::CheckStage;
use unstuck_core::plan::MutationSpec;
use unstuck_runner::PerformScope;
use unstuck_runner::control::{ControlClient, ControlRefusal, TokenKey};

use crate::control::holder::{Stage, define, hand};
use crate::control::talking::why;

fn report(effect: EffectId) -> Command {
    let mutation = MutationSpec { key: effect.to_string(), ..MutationSpec::default() };
    Command::Mutate { effect, mutation }
}

// B18
#[tokio::test]
async fn a_token_reports_for_its_run_only() {
    let (stage, client) = Stage::with_client().await;
    let mut effects = Vec::new();
    for name in ["a", "b"] {
        let task = define(&client, name).await;
        let (hand, mut told) = hand();
        client.attach_performer(PerformScope::Task(task), hand).await.unwrap();
        client.submit_command(Command::FireJob { task }).await.unwrap();
        effects.push(told.begun.recv().await.unwrap().effect.id);
    }
    let child = stage.child(effects[0]).await;
    child.submit_command(report(effects[0])).await.unwrap();
    assert_eq!(
        why(&child.submit_command(report(effects[1])).await.unwrap_err()),
        ControlRefusal::Denied
    );
    // A client without a token is the user.
    client.submit_command(report(effects[1])).await.unwrap();
}

// B18
#[tokio::test]
async fn a_token_controls_nothing() {
    let (stage, client) = Stage::with_client().await;
    let task = define(&client, "a").await;
    let child = stage.child(EffectId(0)).await;
    for command in [Command::FireJob { task }, Command::Skip { task }, Command::Retry { task }] {
        assert_eq!(why(&child.submit_command(command).await.unwrap_err()), ControlRefusal::Denied);
    }
    assert_eq!(why(&child.take_answers().await.unwrap_err()), ControlRefusal::Denied);
    assert_eq!(
        why(&child.subscribe_notices().await.map(drop).unwrap_err()),
        ControlRefusal::Denied
    );
    assert_eq!(why(&child.detach_all().await.unwrap_err()), ControlRefusal::Denied);
    let (hand, _told) = hand();
    let attached =
        child.attach_performer(PerformScope::Task(TaskId(0)), Arc::clone(&hand) as _).await;
    assert_eq!(why(&attached.unwrap_err()), ControlRefusal::Denied);
    // Nor does it say what the checks said, of its own run either.
    let checked = Checked {
        gate: CheckStage::PreCommit,
        checks: Vec::new(),
        more_passed: 0,
        put_back: Vec::new(),
    };
    let said = Command::Note { effect: EffectId(0), note: RunNote::Checked { checked } };
    assert_eq!(why(&child.submit_command(said).await.unwrap_err()), ControlRefusal::Denied);
    // Nor does it get rid of its token.
    let mut line = stage.line().await;
    let token = stage.key.issue_token(EffectId(0));
    line.ask(&format!("{{\"id\":1,\"do\":\"hello\",\"token\":\"{}\"}}", token.as_str())).await;
    line.ask("{\"id\":2,\"do\":\"hello\"}").await;
    assert_eq!(line.ask("{\"id\":3,\"do\":\"watch\"}").await["refused"]["why"], "denied");
}

#[tokio::test]
async fn a_token_of_another_project_opens_nothing() {
    let stage = Stage::new().await;
    let other = Stage::new().await;
    let foreign = other.key.issue_token(EffectId(0)).as_str().to_owned();
    let own = stage.key.issue_token(EffectId(0)).as_str().replacen('0', "1", 1);
    for token in [foreign, own, String::new(), "0.".to_owned(), ".".to_owned()] {
        assert!(ControlClient::connect(&stage.socket, Some(token)).await.is_err());
    }
}

#[test]
fn a_key_is_made_once_and_is_its_users_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("token-key");
    let made = TokenKey::open(&path).unwrap().issue_token(EffectId(3));
    assert!(TokenKey::open(&path).unwrap().issue_token(EffectId(3)) == made);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left");
    assert_eq!(format!("{made:?}"), "Token");
}

#[test]
fn a_key_that_many_make_is_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("token-key");
    let made: Vec<_> = std::thread::scope(|scope| {
        let open = || TokenKey::open(&path).unwrap().issue_token(EffectId(3)).as_str().to_owned();
        let all: Vec<_> = (0..8).map(|_| scope.spawn(open)).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert!(made.iter().all(|token| *token == made[0]));
}

/// As a version that was killed while it wrote would have left it.
#[test]
fn half_a_key_is_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("token-key");
    fs::write(&path, b"half").unwrap();
    let made = TokenKey::open(&path).unwrap().issue_token(EffectId(3));
    assert!(TokenKey::open(&path).unwrap().issue_token(EffectId(3)) == made);
}
