//! Guards that come up before it is known what for.

use rustix::process::{Signal, kill_process};
use unstuck_world::process::{GuardCommand, IdleGuard, Launch, ProcessEnd, ProcessInput};

use super::launches::{Stage, runtime, text};

/// A guard that says its number and holds the fifo while it lives, and so does what it starts.
fn heard(stage: &Stage) -> GuardCommand {
    let alive = stage.path("alive");
    let script = r#"exec 9>"$0"; echo guard $$ >&9; exec "$@""#;
    let guard = stage.program("").guard;
    let mut arguments = vec!["-c".into(), script.into(), alive.into()];
    arguments.push(guard.executable.into());
    arguments.extend(guard.arguments);
    GuardCommand { executable: "sh".into(), arguments }
}

fn launch(stage: &Stage) -> Launch {
    let mut launch = stage.script("echo $WHO");
    launch.environment = vec![("WHO".into(), Some("me".into()))];
    launch
}

#[test]
fn nothing_happens_before_the_order() {
    let (stage, runtime) = (Stage::new(), runtime());
    let launch = launch(&stage);
    let ended = runtime.block_on(async {
        let guard = IdleGuard::start(&heard(&stage), &launch.input).unwrap();
        let mut alive = stage.alive();
        alive.read_lines(1);
        assert!(!stage.lock().exists());
        let ended = launch.start_under(guard).await.unwrap().wait().await;
        assert_eq!(alive.read_to_end().lines().count(), 1);
        ended
    });
    assert_eq!((ended.how, text(&ended).trim_end()), (ProcessEnd::Exited(0), "me"));
}

/// A socket that was to be covered may be gone when the wall goes up.
#[test]
fn a_wall_that_could_not_be_put_up_is_tried_again() {
    let (stage, runtime) = (Stage::new(), runtime());
    let mut launch = launch(&stage);
    let report = r#"{"gone":{"program":{"not_started":"no_wall"},"stopped":false,"leftovers":0}}"#;
    let script = format!(
        r#"mkdir "$0" 2>/dev/null || exec "$@"; head -c1 <&3 >/dev/null; echo bwrap: no >&2; echo '{report}' >&4"#
    );
    let real = std::mem::replace(
        &mut launch.guard,
        GuardCommand { executable: "sh".into(), arguments: vec!["-c".into(), script.into()] },
    );
    launch.guard.arguments.extend([stage.path("failed-once").into(), real.executable.into()]);
    launch.guard.arguments.extend(real.arguments);
    launch.wall.writable = Some(vec![stage.path("")]);
    let ended = runtime.block_on(async { launch.start().await.unwrap().wait().await });
    assert_eq!((ended.how, text(&ended).trim_end()), (ProcessEnd::Exited(0), "me"));
    assert!(stage.path("failed-once").is_dir());
}

#[test]
fn one_that_gets_no_order_ends_with_its_supervisor() {
    let (stage, runtime) = (Stage::new(), runtime());
    let guard = runtime
        .block_on(async { IdleGuard::start(&heard(&stage), &ProcessInput::Inherit).unwrap() });
    let mut alive = stage.alive();
    alive.read_lines(1);
    drop(guard);
    alive.read_to_end();
    assert!(!stage.lock().exists());
}

#[test]
fn a_dead_one_is_told_from_one_that_waits() {
    let (stage, runtime) = (Stage::new(), runtime());
    runtime.block_on(async {
        let guard = IdleGuard::start(&heard(&stage), &ProcessInput::Nothing).unwrap();
        let mut alive = stage.alive();
        alive.read_lines(1);
        let guard = guard.if_alive().unwrap();
        kill_process(alive.pid("guard"), Signal::KILL).unwrap();
        alive.read_to_end();
        // It can be told as soon as the kernel has closed its files, or a moment later.
        let order = launch(&stage).start_under(guard).await;
        assert!(order.unwrap_err().to_string().contains("ended without a word"));
    });
}
