//! What the wall costs: from the wish to run a command until it has ended, bare and behind the wall of
//! a task, in turns. Aim: 15 ms more at most.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark reads the clock, answers on its output and ends where it cannot go on"
)]

#[path = "support/median.rs"]
mod median;

use std::path::Path;
use std::time::{Duration, Instant};

use median::median;
use unstuck_world::process::{Connections, GuardCommand, Launch, ProcessEnd, Wall};
use unstuck_world::workspace::build_wall_around;

const TURNS: usize = 60;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let place = tempfile::tempdir().unwrap();
    let work = place.path().join("work");
    std::fs::create_dir(&work).unwrap();
    let environment: Vec<_> = std::env::vars_os().collect();
    let mut wall =
        build_wall_around(place.path(), &work, &place.path().join("private"), &environment);
    wall.network = Connections::Closed(Vec::new());
    let mut times = [Vec::new(), Vec::new()];
    // The first turn finds out which layers there are.
    for turn in 0..=TURNS {
        for (wall, times) in [Wall::default(), wall.clone()].into_iter().zip(&mut times) {
            let took = run(place.path(), &work, wall).await;
            if turn > 0 {
                times.push(took);
            }
        }
    }
    let [bare, behind] = times.map(median);
    let more = behind.saturating_sub(bare);
    println!("a command: bare {bare:.1?}, behind the wall {behind:.1?}, {more:.1?} more (median)");
}

async fn run(place: &Path, work: &Path, wall: Wall) -> Duration {
    let guard = GuardCommand {
        executable: env!("CARGO_BIN_EXE_unstuck-guard").into(),
        arguments: Vec::new(),
    };
    let mut launch = Launch::new(guard, place.join("lock"), work, "true");
    launch.wall = wall;
    let started = Instant::now();
    let ended = launch.start().await.unwrap().wait().await;
    assert_eq!(ended.how, ProcessEnd::Exited(0));
    started.elapsed()
}
