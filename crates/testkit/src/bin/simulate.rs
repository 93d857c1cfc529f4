//! Runs seeds and prints violations: `simulate --seeds 1000 [--steps 2000] [--full]`, or `simulate --seed 7`
//! for a single one with its trace.

use std::process::ExitCode;

use unstuck_testkit::driver::SimulationStats;
use unstuck_testkit::profile::WorldProfile;
use unstuck_testkit::run::{self, SeedFailure};

struct SimulateArgs {
    first: u64,
    seeds: u64,
    steps: u64,
    trace: bool,
    failures_max: u32,
}

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "it is a program")]
fn main() -> ExitCode {
    let asked = match parse_args(std::env::args().skip(1)) {
        Ok(asked) => asked,
        Err(wrong) => {
            eprintln!("{wrong}");
            return ExitCode::from(2);
        }
    };
    #[expect(clippy::disallowed_methods, reason = "the program measures itself")]
    let began = std::time::Instant::now();
    let mut sum = SimulationStats::default();
    let mut failures = 0;
    for seed in asked.first..asked.first + asked.seeds {
        match run::play_seed(WorldProfile::wild_from_seed(seed), asked.steps) {
            Ok(stats) => add_stats(&mut sum, &stats),
            Err(failure) => {
                failures += 1;
                println!("seed {seed}: {}", failure.violation);
                if (failures == 1 && asked.failures_max > 1) || asked.trace {
                    print!("{}", render_trace(&failure));
                }
                if failures >= asked.failures_max {
                    break;
                }
            }
        }
    }
    let millis = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX).max(1);
    let speed = sum.steps.saturating_mul(1_000) / millis;
    println!(
        "{} steps, {} events, {} questions, {} refused, {} crashes, {} lost writes, {failures} violations, {speed} steps/s",
        sum.steps, sum.events, sum.questions, sum.rejected, sum.crashes, sum.lost_writes,
    );
    if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn parse_args(mut arguments: impl Iterator<Item = String>) -> Result<SimulateArgs, String> {
    let mut asked =
        SimulateArgs { first: 0, seeds: 500, steps: 1_000, trace: false, failures_max: 20 };
    while let Some(argument) = arguments.next() {
        let mut number = || {
            let value = arguments.next().unwrap_or_default();
            value.parse::<u64>().map_err(|_| format!("{argument} needs a number, not {value:?}"))
        };
        match argument.as_str() {
            "--seeds" => asked.seeds = number()?,
            "--first" => asked.first = number()?,
            "--steps" => asked.steps = number()?,
            "--seed" => asked = SimulateArgs { first: number()?, seeds: 1, trace: true, ..asked },
            // The first violation is enough, and its trace is not needed.
            "--quick" => asked.failures_max = 1,
            "--full" => asked.seeds = 12_000,
            other => return Err(format!("simulate does not know {other}")),
        }
    }
    Ok(asked)
}

const fn add_stats(sum: &mut SimulationStats, stats: &SimulationStats) {
    sum.steps += stats.steps;
    sum.events += stats.events;
    sum.crashes += stats.crashes;
    sum.lost_writes += stats.lost_writes;
    sum.rejected += stats.rejected;
    sum.questions += stats.questions;
}

/// Returns the shortest path found to the violation.
fn render_trace(failure: &SeedFailure) -> String {
    let profile = WorldProfile::wild_from_seed(failure.seed);
    let moves = run::shrink_moves(&profile, failure);
    run::render_story(profile, &moves)
}
