//! A storm over a build: it is killed again and again while an agent works, and each task is done
//! once.

use rustix::process::Signal;
use unstuck_core::engine::{Event, Rng};

use crate::project::Project;
use crate::storm::{report_kills, storm_seeds};

/// Seeds that are tried unless more are asked for.
const SEEDS: u64 = 1;
/// Tasks of a seed.
const TASKS: usize = 6;
/// Kills in a task: after the third in a row, a person is asked.
const CRASHES_MAX: usize = 2;

/// The steps of the agent of a task: the build can be killed in the first, which is then repeated.
fn steps(task: usize) -> String {
    let place = r#"{run = "echo up > ../../../up; cat ../../../go"}"#;
    format!(r#"{place}, {{write = "work/{task}.txt", text = "fine\n"}}"#)
}

// B4, B12, B13, TX6: after any kill the build goes on, and each task is done once.
#[test]
fn after_any_kill_of_a_build_each_task_is_done_once() {
    let mut kills = 0;
    for seed in storm_seeds(SEEDS) {
        eprintln!("seed {seed}");
        let mut rng = Rng::from_seed(seed);
        let stage = Project::with_agents();
        for task in 0..TASKS {
            stage.agent(&format!("t{task}"), &[&steps(task)]);
            stage.write(&format!("tasks/t{task}.md"), &format!("# t{task}\n\nWrite it.\n"));
        }
        stage.commit();
        stage.fifo("up");
        stage.fifo("go");
        let mut kills_of_seed = 0;
        let mut running = stage.start(&["run", "tasks/"]);
        for _ in 0..TASKS {
            let mut kills_of_task = 0;
            stage.hear("up");
            while kills_of_task < CRASHES_MAX && !rng.next_u64().is_multiple_of(3) {
                running.signal(Signal::KILL);
                let _ = running.end();
                running = stage.start(&["resume"]);
                stage.hear("up");
                kills_of_task += 1;
            }
            std::fs::write(stage.path("go"), "").unwrap();
            kills_of_seed += kills_of_task;
        }
        let (exit, said) = running.end();
        assert_eq!(exit, Some(0), "{said}");
        for task in 0..TASKS {
            assert_eq!(stage.on_branch("unstuck/b0", &format!("work/{task}.txt")), "fine\n");
        }
        let commits = stage.git(&["rev-list", "--count", "main..unstuck/b0"]);
        assert_eq!(commits, format!("{TASKS}\n"), "{said}");
        let recorded = stage.count(|event| matches!(event, Event::RunCrashed { clean: false, .. }));
        assert_eq!(recorded, kills_of_seed, "each kill is recorded");
        assert!(stage.tasks().iter().all(|task| task.moved.attempts == 1));
        assert_eq!(stage.run_locks(), [""; 0], "no process of a run is left");
        kills += kills_of_seed;
    }
    report_kills("run", kills);
}
