//! Periods in which the accounts of a build were limited.

use std::collections::BTreeSet;

use unstuck_core::engine::{CLOSINGS_KEPT_MAX, GateClosing, GateKey};
use unstuck_core::text::{count_noun, failure_phrase, span_words};
use unstuck_core::time::Span;
use unstuck_store::tables::GateRow;

use super::facts::BuildFacts;
use super::report::AccountWait;

/// Returns an entry for each account that was closed while the build ran.
pub(super) fn find_account_waits(facts: &BuildFacts) -> Vec<AccountWait> {
    let used: BTreeSet<GateKey> = facts.tasks.iter().map(|task| task.row.spec.gate).collect();
    let gates = facts.gates.iter().filter(|gate| used.contains(&gate.key));
    gates.filter_map(|gate| measure_account_wait(facts, gate)).collect()
}

fn measure_account_wait(facts: &BuildFacts, gate: &GateRow) -> Option<AccountWait> {
    let began = facts.build.started_at;
    let ended = facts.build.ended_at.unwrap_or(facts.now);
    let now = gate.since.zip(gate.closed_by);
    let now = now.map(|(from, code)| GateClosing { from, to: facts.now, code });
    let all = gate.closings.iter().copied().chain(now);
    let within: Vec<GateClosing> = all.filter(|c| c.to > began && c.from < ended).collect();
    let last = within.last()?;
    let length = |c: &GateClosing| c.to.min(ended).since(c.from.max(began));
    let total = within.iter().fold(Span::ZERO, |sum, closing| sum.saturating_add(length(closing)));
    let oldest = gate.closings.front();
    let at_least = gate.closings.len() >= CLOSINGS_KEPT_MAX
        && oldest.is_some_and(|closing| closing.from > began);
    let goes_on = now.is_some() && facts.build.ended_at.is_none();
    let times = u32::try_from(within.len()).unwrap_or(u32::MAX);
    let often = match times {
        1 => String::new(),
        many => format!(" {}, in all", count_noun(many, "time", "times")),
    };
    let long = if at_least { " at least" } else { "" };
    let why = failure_phrase(last.code, false);
    let still = if goes_on { " It still waits." } else { "" };
    let said = format!("The work waited{often}{long} {}, because {why}.{still}", span_words(total));
    Some(AccountWait { said, times, total_ms: total, at_least, goes_on })
}
