//! The parameters of a seed's world: how much goes wrong, and how people behave.

use unstuck_core::fault::{Charge, Code, Reaction};
use unstuck_core::policy::{Amount, Policy};
use unstuck_core::time::Span;

use crate::chance::Chance;

/// The parameters of a world.
#[derive(Clone, Debug)]
pub struct WorldProfile {
    /// The source of all randomness.
    pub seed: u64,
    /// The limits of the project.
    pub policy: Policy,
    /// The codes that faults are drawn from.
    pub codes: Vec<Code>,
    /// Percentage of operations that fail.
    pub fault_percent: u64,
    /// Number of recorded results of an operation of a task after which nothing fails any more.
    pub trouble_max: u32,
    /// Number of different errors per code.
    pub flavours: u64,
    /// `true` if no two tasks share an error, an account or an action.
    pub apart: bool,
    /// `true` if agents report progress, raise faults and declare actions while they work.
    pub busy_agents: bool,
    /// `true` if probes may fail or be inconclusive, and replies may get lost.
    pub foggy: bool,
    /// Average number of steps between two actions of people.
    pub people_every: u64,
    /// Average number of steps between two crashes.
    pub crash_every: u64,
    /// Average number of steps between two failed writes.
    pub lost_write_every: u64,
    /// Average number of steps between two unexpected results.
    pub stale_every: u64,
    /// Average number of steps between two changes of the clock.
    pub clock_every: u64,
    /// Average number of steps until a decision becomes durable.
    pub ack_every: u64,
    /// Maximum number of builds started.
    pub builds_max: u32,
    /// Text added to every message; signatures stay the same.
    pub words: &'static str,
}

impl WorldProfile {
    /// Returns the world of a seed, with everything in it.
    pub fn wild_from_seed(seed: u64) -> Self {
        let mut chance = Chance::for_place(seed, &["profile"], 0);
        let pick = |chance: &mut Chance, from: &[u64]| chance.pick_one(from).copied().unwrap_or(1);
        Self {
            seed,
            policy: draw_policy(&mut chance),
            codes: draw_codes(&mut chance),
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

    /// Returns a world in which every task's fate is its own and no fate depends on time: a disturbed run
    /// must end like an undisturbed one.
    pub fn calm_from_seed(seed: u64) -> Self {
        let mut policy = Policy::default();
        policy.retry.transient_for_ms = Span::ZERO;
        policy.retry.pause_after_questions = 1_000;
        policy.wait.limited_ms = Span::from_hours(1_000_000);
        policy.wait.windows = 1_000;
        let fated = |code: &&Code| {
            // The remaining budget depends on what else happened when.
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
            ..Self::wild_from_seed(seed)
        }
    }
}

fn draw_codes(chance: &mut Chance) -> Vec<Code> {
    let all = Code::ALL.to_vec();
    match chance.draw_below(6) {
        0 => all.into_iter().filter(|code| code.row().class.is_retryable()).collect(),
        1 => {
            let few = 1 + chance.draw_below(5);
            (0..few).filter_map(|_| chance.pick_one(Code::ALL).copied()).collect()
        }
        // An account that is limited all day.
        2 => all.into_iter().filter(|code| code.row().charges.contains(&Charge::Wait)).collect(),
        _ => all,
    }
}

fn draw_policy(chance: &mut Chance) -> Policy {
    let mut policy = Policy::default();
    if chance.one_in(3) {
        policy.retry.per_signature = u32::try_from(chance.draw_below(4)).unwrap_or(0);
        policy.retry.transient = u32::try_from(chance.draw_below(4)).unwrap_or(0);
        policy.retry.transient_for_ms = Span::from_secs(chance.draw_below(100));
        policy.retry.pause_after_questions = 1 + u32::try_from(chance.draw_below(5)).unwrap_or(0);
        policy.retry.consecutive = 1 + u32::try_from(chance.draw_below(6)).unwrap_or(0);
        policy.retry.iterations = 1 + u32::try_from(chance.draw_below(8)).unwrap_or(0);
        policy.wait.windows = 1 + u32::try_from(chance.draw_below(3)).unwrap_or(0);
        policy.wait.limited_ms = Span::from_mins(1 + chance.draw_below(60));
        policy.wait.tool_quota_waits = chance.one_in(2);
    }
    if chance.one_in(2) {
        policy.budget.per_task = Amount { money_micros: 0, tokens: 60, time_ms: 0 };
        policy.budget.per_build = Amount { money_micros: 0, tokens: 150, time_ms: 0 };
        policy.budget.per_day = Amount { money_micros: 0, tokens: 250, time_ms: 0 };
    }
    policy
}
