//! What kind of world a seed stands for: how much goes wrong, and how people behave.

use unstuck_core::fault::{Charge, Code, Reaction};
use unstuck_core::policy::{Amount, Policy};
use unstuck_core::time::Span;

use crate::chance::Chance;

/// What kind of world it is.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Where all chance comes from.
    pub seed: u64,
    /// The limits of the project.
    pub policy: Policy,
    /// The codes that faults are drawn from.
    pub codes: Vec<Code>,
    /// How many of a hundred things fail.
    pub fault_percent: u64,
    /// After so many recorded results of one operation of one task nothing fails any more.
    pub trouble_max: u32,
    /// How many different errors of one code there are.
    pub flavours: u64,
    /// No two tasks share an error, an account or an action.
    pub apart: bool,
    /// Agents report progress, raise faults and declare actions while they work.
    pub busy_agents: bool,
    /// Whether looking an action up may fail or say nothing, and answers may get lost.
    pub foggy: bool,
    /// Every how many steps a person does something.
    pub people_every: u64,
    /// Every how many steps the process dies.
    pub crash_every: u64,
    /// Every how many steps a write fails.
    pub lost_write_every: u64,
    /// Every how many steps a result comes that nobody waits for.
    pub stale_every: u64,
    /// Every how many steps the clock is changed.
    pub clock_every: u64,
    /// Every how many steps what was decided becomes durable.
    pub ack_every: u64,
    /// How many builds are started.
    pub builds_max: u32,
    /// Added to every message; signatures stay the same.
    pub words: &'static str,
}

impl Profile {
    /// The world of a seed, with everything in it.
    pub fn wild(seed: u64) -> Self {
        let mut chance = Chance::at(seed, &["profile"], 0);
        let pick = |chance: &mut Chance, from: &[u64]| chance.pick(from).copied().unwrap_or(1);
        Self {
            seed,
            policy: policy(&mut chance),
            codes: codes(&mut chance),
            fault_percent: pick(&mut chance, &[5, 20, 20, 40, 70]),
            trouble_max: u32::try_from(pick(&mut chance, &[3, 8, 20, 60])).unwrap_or(8),
            flavours: pick(&mut chance, &[1, 2, 5]),
            apart: false,
            busy_agents: !chance.one_in(4),
            foggy: !chance.one_in(4),
            people_every: pick(&mut chance, &[0, 4, 10, 10, 40]),
            crash_every: pick(&mut chance, &[0, 15, 60, 200]),
            lost_write_every: pick(&mut chance, &[0, 0, 30, 200]),
            stale_every: pick(&mut chance, &[0, 20, 100]),
            clock_every: pick(&mut chance, &[0, 50, 200]),
            ack_every: pick(&mut chance, &[1, 1, 2, 6]),
            builds_max: u32::try_from(pick(&mut chance, &[1, 2, 4])).unwrap_or(1),
            words: "",
        }
    }

    /// A world in which every task's fate is its own and no fate depends on time: a run that was
    /// disturbed must end like one that was not.
    pub fn calm(seed: u64) -> Self {
        let mut policy = Policy::default();
        policy.retry.transient_for_ms = Span::ZERO;
        policy.retry.pause_after_questions = 1_000;
        policy.wait.limited_ms = Span::from_hours(1_000_000);
        policy.wait.windows = 1_000;
        let fated = |code: &&Code| {
            // What is left of a budget depends on what else happened when.
            code.row().reaction != Reaction::Budget
        };
        Self {
            policy,
            codes: Code::ALL.iter().filter(fated).copied().collect(),
            fault_percent: 30,
            trouble_max: 12,
            flavours: 2,
            apart: true,
            busy_agents: true,
            foggy: false,
            people_every: 0,
            crash_every: 0,
            lost_write_every: 0,
            stale_every: 0,
            clock_every: 0,
            ack_every: 1,
            builds_max: 1,
            ..Self::wild(seed)
        }
    }
}

fn codes(chance: &mut Chance) -> Vec<Code> {
    let all = Code::ALL.to_vec();
    match chance.below(6) {
        0 => all.into_iter().filter(|code| code.row().class.retryable()).collect(),
        1 => {
            let few = 1 + chance.below(5);
            (0..few).filter_map(|_| chance.pick(Code::ALL).copied()).collect()
        }
        // An account that is limited all day.
        2 => all.into_iter().filter(|code| code.row().charges.contains(&Charge::Wait)).collect(),
        _ => all,
    }
}

fn policy(chance: &mut Chance) -> Policy {
    let mut policy = Policy::default();
    if chance.one_in(3) {
        policy.retry.per_signature = u32::try_from(chance.below(4)).unwrap_or(0);
        policy.retry.transient = u32::try_from(chance.below(4)).unwrap_or(0);
        policy.retry.transient_for_ms = Span::from_secs(chance.below(100));
        policy.retry.pause_after_questions = 1 + u32::try_from(chance.below(5)).unwrap_or(0);
        policy.retry.consecutive = 1 + u32::try_from(chance.below(6)).unwrap_or(0);
        policy.retry.iterations = 1 + u32::try_from(chance.below(8)).unwrap_or(0);
        policy.wait.windows = 1 + u32::try_from(chance.below(3)).unwrap_or(0);
        policy.wait.limited_ms = Span::from_mins(1 + chance.below(60));
        policy.wait.tool_quota_waits = chance.one_in(2);
    }
    if chance.one_in(2) {
        policy.budget.per_task = Amount { money_micros: 0, tokens: 60, time_ms: 0 };
        policy.budget.per_build = Amount { money_micros: 0, tokens: 150, time_ms: 0 };
        policy.budget.per_day = Amount { money_micros: 0, tokens: 250, time_ms: 0 };
    }
    policy
}
