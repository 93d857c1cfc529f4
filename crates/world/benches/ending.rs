//! Ending a tree: 200 processes in five sessions of their own, from the wish to stop until nothing of
//! it is left, with a polite signal first and without one. Aim: 200 ms, and no process left.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark reads the clock, answers on its output and ends where it cannot go on"
)]

use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use unstuck_world::process::{GuardCommand, Launch, ProcessEnd};

const SESSIONS: usize = 5;
const TURNS: usize = 15;
/// Each session is a shell with 39 others below it, all of which hold the standard output.
const TREE: &str = "
for session in 1 2 3 4 5; do
  setsid sh -c 'n=0; while [ $n -lt 39 ]; do sleep 1000 & n=$((n+1)); done; echo ready; wait' &
done
wait";

#[tokio::main(flavor = "current_thread")]
async fn main() {
    for (name, grace) in [("asked to end", Duration::from_secs(2)), ("killed", Duration::ZERO)] {
        let mut times = Vec::new();
        for _ in 0..TURNS {
            times.push(end_a_tree(grace).await);
        }
        times.sort();
        let (median, worst) = (times[TURNS / 2], times[TURNS - 1]);
        println!(
            "200 descendants in {SESSIONS} sessions, {name}: median {median:.1?}, worst {worst:.1?}"
        );
    }
}

async fn end_a_tree(grace: Duration) -> Duration {
    let place = tempfile::tempdir().unwrap();
    let guard = GuardCommand {
        executable: env!("CARGO_BIN_EXE_unstuck-guard").into(),
        arguments: Vec::new(),
    };
    let mut launch = Launch::new(guard, place.path().join("lock"), place.path(), "sh");
    launch.arguments = vec!["-c".into(), TREE.into()];
    launch.grace = grace;
    let mut process = launch.start().await.unwrap();
    let mut stdout = BufReader::new(process.take_stdout().unwrap());
    let mut line = String::new();
    for _ in 0..SESSIONS {
        stdout.read_line(&mut line).await.unwrap();
    }
    let stopper = process.stopper();
    let started = Instant::now();
    stopper.stop();
    let ended = process.wait().await;
    let took = started.elapsed();
    assert_eq!(ended.how, ProcessEnd::Stopped);
    // The stream ends when the last of them is gone, and by now it has.
    let end = tokio::time::timeout(Duration::ZERO, stdout.read_to_string(&mut line)).await;
    assert!(end.is_ok(), "a process is left");
    took
}
