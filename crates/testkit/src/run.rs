//! Plays a seed from its first move to its end, and shortens the trace of a violation.

use std::collections::BTreeMap;

use unstuck_core::engine::{
    BuildId, BuildState, Command, EffectId, EffectOutcome, QuestionId, Subject, TaskStateKind,
};
use unstuck_core::plan::MutationSpec;
use unstuck_core::policy::Amount;
use unstuck_core::question::{Decision, QuestionKind};

use crate::chance::Chance;
use crate::check::Violation;
use crate::driver::{SimulatedEffect, Simulation, SimulationMove, SimulationStats};
use crate::moves::has_to_settle;
use crate::people;
use crate::profile::WorldProfile;
use crate::world;

/// Maximum number of moves to close a seed; a seed with more never ends.
const CLOSING_MAX: u32 = 20_000;
/// Number of times people answer a question with something other than skipping.
const PATIENCE: u32 = 3;

/// A seed with a violation.
#[derive(Clone, Debug)]
pub struct SeedFailure {
    /// The seed of the world.
    pub seed: u64,
    /// The violated rule.
    pub violation: Violation,
    /// The moves that led to it.
    pub moves: Vec<SimulationMove>,
}

/// Plays a seed for `steps` moves, then to its end.
pub fn play_seed(profile: WorldProfile, steps: u64) -> Result<SimulationStats, Box<SeedFailure>> {
    play_simulation(profile, steps).map(|sim| sim.stats)
}

/// Like [`play_seed`], but returns the whole simulation.
pub fn play_simulation(profile: WorldProfile, steps: u64) -> Result<Simulation, Box<SeedFailure>> {
    play_watched(profile, steps, &mut |_| ())
}

/// Like [`play_simulation`], calling `watch` after every move.
pub fn play_watched(
    profile: WorldProfile,
    steps: u64,
    watch: &mut dyn FnMut(&Simulation),
) -> Result<Simulation, Box<SeedFailure>> {
    let seed = profile.seed;
    let mut sim = Simulation::new(profile);
    let mut moves = Vec::new();
    match play_moves(&mut sim, steps, &mut moves, watch) {
        Ok(()) => Ok(sim),
        Err(violation) => Err(Box::new(SeedFailure { seed, violation, moves })),
    }
}

fn play_moves(
    sim: &mut Simulation,
    steps: u64,
    moves: &mut Vec<SimulationMove>,
    watch: &mut dyn FnMut(&Simulation),
) -> Result<(), Violation> {
    let mut chance = Chance::for_place(sim.profile.seed, &["moves"], 0);
    for _ in 0..steps {
        let Some(next) = pick_move(sim, &mut chance) else { continue };
        take_move(sim, &next, moves)?;
        watch(sim);
    }
    play_to_end(sim, &mut chance, moves, watch)?;
    sim.check_journal()
}

fn take_move(
    sim: &mut Simulation,
    next: &SimulationMove,
    moves: &mut Vec<SimulationMove>,
) -> Result<(), Violation> {
    moves.push(next.clone());
    if let SimulationMove::Person(command) = next
        && let Command::StartBuild { .. } | Command::DefineJob { .. } = inner_command(command)
    {
        sim.started += 1;
    }
    sim.apply_move(next)
}

/// Returns the command itself, with or without the person who gave it.
fn inner_command(command: &Command) -> &Command {
    match command {
        Command::By { wants, .. } => wants,
        command => command,
    }
}

fn pick_move(sim: &mut Simulation, chance: &mut Chance) -> Option<SimulationMove> {
    let profile = sim.profile.clone();
    if chance.one_in(profile.crash_every) {
        return Some(SimulationMove::Crash);
    }
    if chance.one_in(profile.lost_write_every) {
        return Some(SimulationMove::LostWrite);
    }
    if chance.one_in(profile.clock_every) {
        let most = *chance.pick_one(&[1_000, 100_000, 4_000_000, 200_000_000])?;
        let by = i64::try_from(chance.draw_below(most)).unwrap_or(0);
        return Some(SimulationMove::Clock(if chance.one_in(3) { -by } else { by }));
    }
    if chance.one_in(profile.stale_every) {
        return pick_stale_command(sim, chance).map(SimulationMove::Stale);
    }
    if chance.one_in(profile.people_every) || sim.state.builds().next().is_none() {
        return people::draw_command(sim, chance).map(SimulationMove::Person);
    }
    if !sim.is_durable() && chance.one_in(profile.ack_every) {
        return Some(SimulationMove::Ack);
    }
    if let Some(work) = pick_work(sim, chance) {
        return Some(work);
    }
    if !sim.is_durable() {
        return Some(SimulationMove::Ack);
    }
    if sim.state.next_wake().is_some() && !chance.one_in(3) {
        return Some(SimulationMove::Wake);
    }
    people::draw_command(sim, chance).map(SimulationMove::Person)
}

fn pick_work(sim: &Simulation, chance: &mut Chance) -> Option<SimulationMove> {
    let ready = |running: &&SimulatedEffect| !has_to_settle(&sim.state, &running.effect);
    let count = sim.running.values().filter(ready).count();
    let effect = &sim.running.values().filter(ready).nth(chance.draw_index(count.max(1)))?.effect;
    Some(SimulationMove::Work(effect.task, world::work_kind(effect.what)))
}

/// Returns a result that comes too late, twice, or about something else.
fn pick_stale_command(sim: &mut Simulation, chance: &mut Chance) -> Option<Command> {
    if let Some(late) = sim.stale.pop() {
        let known = |effect| sim.state.outstanding_effects().iter().any(|owed| owed.id == effect);
        return match late {
            Command::Settle { effect, .. } if known(effect) => None,
            late => Some(late),
        };
    }
    let at = chance.draw_index(sim.running.len().max(1));
    let running = sim.running.values().nth(at)?;
    let effect = running.effect.id;
    let command = match chance.draw_below(3) {
        0 => Command::Mutate { effect, mutation: MutationSpec::default() },
        1 => Command::Settle {
            effect: EffectId(effect.0 + 1_000_000),
            outcome: EffectOutcome::Done,
            spent: Amount::ZERO,
        },
        _ => Command::Settle { effect, outcome: EffectOutcome::HeadMoved, spent: Amount::ZERO },
    };
    // Only results that certainly do not fit are submitted here.
    let kind = world::work_kind(running.effect.what);
    let misfit = match &command {
        Command::Settle { effect: named, .. } => *named != effect || kind != "perform",
        _ => !matches!(kind, "attempt" | "execute"),
    };
    misfit.then_some(command)
}

/// I7: with every question answered, everything comes to its end.
fn play_to_end(
    sim: &mut Simulation,
    chance: &mut Chance,
    moves: &mut Vec<SimulationMove>,
    watch: &mut dyn FnMut(&Simulation),
) -> Result<(), Violation> {
    let mut answered: BTreeMap<Subject, u32> = BTreeMap::new();
    for _ in 0..CLOSING_MAX {
        let next = if !sim.is_durable() {
            SimulationMove::Ack
        } else if let Some(work) = pick_work(sim, chance) {
            work
        } else if let Some(answer) = final_answer(sim, chance, &mut answered) {
            SimulationMove::Person(answer)
        } else if let Some(build) = find_paused_build(sim) {
            SimulationMove::Person(Command::Resume { build })
        } else if sim.state.next_wake().is_some() {
            SimulationMove::Wake
        } else {
            return check_ended(sim);
        };
        take_move(sim, &next, moves)?;
        watch(sim);
    }
    let last = sim.journal.len().saturating_sub(24);
    let events: Vec<String> =
        sim.journal[last..].iter().map(|recorded| format!("\n    {:?}", recorded.event)).collect();
    Err(Violation::new("I7", format!("it never ends:{}", events.concat())))
}

fn find_paused_build(sim: &Simulation) -> Option<BuildId> {
    sim.state
        .builds()
        .find(|build| matches!(build.state, BuildState::Paused { .. }))
        .map(|build| build.id)
}

fn final_answer(
    sim: &Simulation,
    chance: &mut Chance,
    answered: &mut BTreeMap<Subject, u32>,
) -> Option<Command> {
    let question = sim.state.questions().next()?;
    let count = answered.entry(question.subject).or_default();
    *count += 1;
    let decision = if *count > PATIENCE {
        ending_decision(question.kind)
    } else {
        *chance.pick_one(question.kind.decisions())?
    };
    Some(people::make_answer_command(question.id, decision, chance))
}

/// Returns the decision that ends the work.
pub const fn ending_decision(kind: QuestionKind) -> Decision {
    match kind {
        QuestionKind::Hands
        | QuestionKind::Choice
        | QuestionKind::Ours
        | QuestionKind::RedBase
        | QuestionKind::Passing => Decision::SkipFeature,
        QuestionKind::Ok => Decision::Deny,
        QuestionKind::Happened => Decision::Skip,
        QuestionKind::Paused => Decision::Stop,
    }
}

fn check_ended(sim: &Simulation) -> Result<(), Violation> {
    for build in sim.state.builds() {
        let left = build.live_count() + build.count(TaskStateKind::Parked);
        if left > 0 || !(build.standing || build.state.has_ended()) {
            let tasks: Vec<_> = build
                .tasks
                .iter()
                .filter_map(|id| sim.state.task(*id))
                .filter(|task| !task.state.has_ended())
                .map(|task| (task.id, &task.state, task.next, task.needs_left))
                .collect();
            let found = format!("{} is {:?} with {tasks:?}", build.id, build.state);
            return Err(Violation::new("I7", found));
        }
    }
    Ok(())
}

/// Replays moves, and then to the end if requested; returns the violation and the number of moves before it.
pub fn replay_moves(
    profile: WorldProfile,
    moves: &[SimulationMove],
    to_the_end: bool,
) -> Option<(usize, Violation)> {
    let mut sim = Simulation::new(profile);
    for (at, next) in (1..).zip(moves) {
        if let Err(violation) = sim.apply_move(next) {
            return Some((at, violation));
        }
    }
    let mut chance = Chance::new(0);
    let ends = if to_the_end {
        play_to_end(&mut sim, &mut chance, &mut Vec::new(), &mut |_| ())
    } else {
        Ok(())
    };
    ends.and_then(|()| sim.check_journal()).err().map(|violation| (moves.len(), violation))
}

/// Removes as many moves as possible while the same rule is violated.
pub fn shrink_moves(profile: &WorldProfile, failure: &SeedFailure) -> Vec<SimulationMove> {
    let rule = failure.violation.rule;
    let broken = |moves: &[SimulationMove]| match replay_moves(profile.clone(), moves, rule == "I7")
    {
        Some((at, violation)) if violation.rule == rule => Some(at),
        _ => None,
    };
    let mut moves = failure.moves.clone();
    let Some(at) = broken(&moves) else { return moves };
    moves.truncate(at);
    let mut size = moves.len() / 2;
    while size > 0 {
        let mut start = 0;
        while start < moves.len() {
            let mut fewer = moves.clone();
            fewer.drain(start..(start + size).min(fewer.len()));
            match broken(&fewer) {
                Some(at) => {
                    fewer.truncate(at);
                    moves = fewer;
                }
                None => start += size,
            }
        }
        size /= 2;
    }
    moves
}

/// Returns the question that a person would answer next; for callers that drive a simulation by hand.
pub fn first_question(sim: &Simulation) -> Option<QuestionId> {
    sim.state.questions().next().map(|question| question.id)
}

/// Formats moves and the events each led to, one per line.
pub fn render_story(profile: WorldProfile, moves: &[SimulationMove]) -> String {
    use std::fmt::Write as _;

    let mut sim = Simulation::new(profile);
    let mut told = String::new();
    for next in moves {
        let seen = sim.journal.len();
        let result = sim.apply_move(next);
        writeln!(told, "> {next:?}").ok();
        for recorded in sim.journal.iter().skip(seen) {
            writeln!(told, "    {} {:?}", recorded.seq, recorded.event).ok();
        }
        if let Err(violation) = result {
            writeln!(told, "  ! {violation}").ok();
        }
    }
    told
}
