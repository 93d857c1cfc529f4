//! Periods in which the accounts of a build were limited.

use std::collections::BTreeSet;

use unstuck_core::engine::{CLOSINGS_KEPT_MAX, Closing, GateKey};
use unstuck_core::text::{count, failed, span};
use unstuck_core::time::Span;
use unstuck_store::tables::GateRow;

use super::facts::Facts;
use super::report::Wait;

/// Returns an entry for each account that was closed while the build ran.
pub(super) fn of(facts: &Facts) -> Vec<Wait> {
    let used: BTreeSet<GateKey> = facts.tasks.iter().map(|task| task.row.spec.gate).collect();
    let gates = facts.gates.iter().filter(|gate| used.contains(&gate.key));
    gates.filter_map(|gate| wait(facts, gate)).collect()
}

fn wait(facts: &Facts, gate: &GateRow) -> Option<Wait> {
    let began = facts.build.started_at;
    let ended = facts.build.ended_at.unwrap_or(facts.now);
    let now = gate.since.zip(gate.closed_by);
    let now = now.map(|(from, code)| Closing { from, to: facts.now, code });
    let all = gate.closings.iter().copied().chain(now);
    let within: Vec<Closing> = all.filter(|c| c.to > began && c.from < ended).collect();
    let last = within.last()?;
    let length = |c: &Closing| c.to.min(ended).since(c.from.max(began));
    let total = within.iter().fold(Span::ZERO, |sum, closing| sum.plus(length(closing)));
    let oldest = gate.closings.front();
    let at_least = gate.closings.len() >= CLOSINGS_KEPT_MAX
        && oldest.is_some_and(|closing| closing.from > began);
    let goes_on = now.is_some() && facts.build.ended_at.is_none();
    let times = u32::try_from(within.len()).unwrap_or(u32::MAX);
    let often = match times {
        1 => String::new(),
        many => format!(" {}, in all", count(many, "time", "times")),
    };
    let long = if at_least { " at least" } else { "" };
    let why = failed(last.code, false);
    let still = if goes_on { " It still waits." } else { "" };
    let said = format!("The work waited{often}{long} {}, because {why}.{still}", span(total));
    Some(Wait { said, times, total_ms: total, at_least, goes_on })
}
