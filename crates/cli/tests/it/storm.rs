//! What storms of kills have in common: how long they are, and how many kills they made.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::ops::Range;

/// Returns the seeds of a storm: `usual`, unless `UNSTUCK_STORM_SEEDS` asks for another number.
#[expect(clippy::disallowed_methods, reason = "a longer storm is asked for by the environment")]
pub(crate) fn storm_seeds(usual: u64) -> Range<u64> {
    let asked = std::env::var("UNSTUCK_STORM_SEEDS").ok();
    0..asked.map_or(usual, |seeds| seeds.parse().unwrap())
}

/// Prints the number of kills of a storm, and adds it to the file that `UNSTUCK_STORM_KILLS` names.
pub(crate) fn report_kills(verb: &str, kills: usize) {
    eprintln!("{kills} kills over {verb}");
    if let Some(file) = std::env::var_os("UNSTUCK_STORM_KILLS") {
        let mut file = OpenOptions::new().create(true).append(true).open(file).unwrap();
        writeln!(file, "{kills} {verb}").unwrap();
    }
}
