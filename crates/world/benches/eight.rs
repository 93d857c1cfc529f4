//! What eight agents at a time cost us: memory and processor time of this process and of the guards,
//! while each agent says something ten times a second. What the agents themselves need is theirs.
//! Aims: 60 MB, and 1 % of a core.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::cast_precision_loss,
    reason = "a benchmark reads the clock, answers on its output and ends where it cannot go on"
)]

#[path = "support/agent.rs"]
mod agent;

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

const AGENTS: usize = 8;
/// Says its second line over and over, then comes to its end.
const SCRIPT: &str = "cat >/dev/null
head -n 1 \"$CAPTURE\"
line=$(sed -n 2p \"$CAPTURE\")
n=0; while [ $n -lt 120 ]; do printf '%s\\n' \"$line\"; sleep 0.1; n=$((n+1)); done
exec tail -n +2 \"$CAPTURE\"";
/// From the start of all to the first look, and from there to the second.
const WARM_UP: Duration = Duration::from_secs(2);
const MEASURED: Duration = Duration::from_secs(8);
const TICKS_PER_SECOND: f64 = 100.0;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let root = tempfile::tempdir().unwrap();
    let mut working = JoinSet::new();
    for n in 0..AGENTS {
        let place = root.path().join(n.to_string());
        fs::create_dir_all(place.join("work")).unwrap();
        working.spawn(async move {
            let environment = agent::environment(&place, SCRIPT);
            agent::work(&place, &agent::stand_in(), None, environment).await;
        });
    }
    tokio::time::sleep(WARM_UP).await;
    let (started, before) = (Instant::now(), ticks());
    tokio::time::sleep(MEASURED).await;
    let spent = (ticks() - before) as f64 / TICKS_PER_SECOND / started.elapsed().as_secs_f64();
    let (own, guards) = (resident_kb("self"), children());
    assert_eq!(guards.len(), AGENTS);
    let of_guards: u64 = guards.iter().map(|guard| resident_kb(guard)).sum();
    println!(
        "{AGENTS} agents: {:.1} MB resident ({:.1} of it here, {:.1} in the guards), {:.2} % of a core",
        (own + of_guards) as f64 / 1e3,
        own as f64 / 1e3,
        of_guards as f64 / 1e3,
        100.0 * spent
    );
    while working.join_next().await.transpose().unwrap().is_some() {}
}

/// The guards, which are our only children.
fn children() -> Vec<String> {
    let tasks = fs::read_dir("/proc/self/task").unwrap();
    let of_each =
        tasks.map(|task| fs::read_to_string(task.unwrap().path().join("children")).unwrap());
    of_each.flat_map(|all| all.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// What is in memory for a process; what several share is shared out among them.
fn resident_kb(process: &str) -> u64 {
    let rollup = fs::read_to_string(format!("/proc/{process}/smaps_rollup")).unwrap();
    let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// The time that we and the guards have spent, in ticks of the clock.
fn ticks() -> u64 {
    let of = |process: &str| {
        let stat = fs::read_to_string(Path::new("/proc").join(process).join("stat")).unwrap();
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
        fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
    };
    of("self") + children().iter().map(|guard| of(guard)).sum::<u64>()
}
