//! Plays a seed from its first move to its end, and shortens the trace of a violation.

use std::collections::BTreeMap;

use unstuck_core::engine::{
    BuildId, BuildState, Command, EffectId, Outcome, QuestionId, Standing, Subject,
};
use unstuck_core::plan::MutationSpec;
use unstuck_core::policy::Amount;
use unstuck_core::question::{Decision, QuestionKind};

use crate::chance::Chance;
use crate::check::Violation;
use crate::driver::{Move, Running, Sim, Stats};
use crate::elsewhere::has_to_settle;
use crate::people;
use crate::profile::Profile;
use crate::world;

/// Maximum number of moves to close a seed; a seed with more never ends.
const CLOSING_MAX: u32 = 20_000;
/// Number of times people answer a question with something other than skipping.
const PATIENCE: u32 = 3;

/// A seed with a violation.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The seed of the world.
    pub seed: u64,
    /// The violated rule.
    pub violation: Violation,
    /// The moves that led to it.
    pub moves: Vec<Move>,
}

/// Plays a seed for `steps` moves, then to its end.
pub fn seed(profile: Profile, steps: u64) -> Result<Stats, Box<Failure>> {
    played(profile, steps).map(|sim| sim.stats)
}

/// Like [`seed`], but returns the whole simulation.
pub fn played(profile: Profile, steps: u64) -> Result<Sim, Box<Failure>> {
    watched(profile, steps, &mut |_| ())
}

/// Like [`played`], calling `watch` after every move.
pub fn watched(
    profile: Profile,
    steps: u64,
    watch: &mut dyn FnMut(&Sim),
) -> Result<Sim, Box<Failure>> {
    let seed = profile.seed;
    let mut sim = Sim::new(profile);
    let mut moves = Vec::new();
    match play(&mut sim, steps, &mut moves, watch) {
        Ok(()) => Ok(sim),
        Err(violation) => Err(Box::new(Failure { seed, violation, moves })),
    }
}

fn play(
    sim: &mut Sim,
    steps: u64,
    moves: &mut Vec<Move>,
    watch: &mut dyn FnMut(&Sim),
) -> Result<(), Violation> {
    let mut chance = Chance::at(sim.profile.seed, &["moves"], 0);
    for _ in 0..steps {
        let Some(next) = pick(sim, &mut chance) else { continue };
        take(sim, &next, moves)?;
        watch(sim);
    }
    close(sim, &mut chance, moves, watch)?;
    sim.check_journal()
}

fn take(sim: &mut Sim, next: &Move, moves: &mut Vec<Move>) -> Result<(), Violation> {
    moves.push(next.clone());
    if let Move::Person(command) = next
        && let Command::StartBuild { .. } | Command::DefineJob { .. } = wanted(command)
    {
        sim.started += 1;
    }
    sim.step(next)
}

/// Returns the command itself, with or without the person who gave it.
fn wanted(command: &Command) -> &Command {
    match command {
        Command::By { wants, .. } => wants,
        command => command,
    }
}

/// Returns a random next move.
fn pick(sim: &mut Sim, chance: &mut Chance) -> Option<Move> {
    let profile = sim.profile.clone();
    if chance.one_in(profile.crash_every) {
        return Some(Move::Crash);
    }
    if chance.one_in(profile.lost_write_every) {
        return Some(Move::LostWrite);
    }
    if chance.one_in(profile.clock_every) {
        let most = *chance.pick(&[1_000, 100_000, 4_000_000, 200_000_000])?;
        let by = i64::try_from(chance.below(most)).unwrap_or(0);
        return Some(Move::Clock(if chance.one_in(3) { -by } else { by }));
    }
    if chance.one_in(profile.stale_every) {
        return stale(sim, chance).map(Move::Stale);
    }
    if chance.one_in(profile.people_every) || sim.state.builds().next().is_none() {
        return people::act(sim, chance).map(Move::Person);
    }
    if !sim.is_durable() && chance.one_in(profile.ack_every) {
        return Some(Move::Ack);
    }
    if let Some(work) = some_work(sim, chance) {
        return Some(work);
    }
    if !sim.is_durable() {
        return Some(Move::Ack);
    }
    if sim.state.next_wake().is_some() && !chance.one_in(3) {
        return Some(Move::Wake);
    }
    people::act(sim, chance).map(Move::Person)
}

fn some_work(sim: &Sim, chance: &mut Chance) -> Option<Move> {
    let ready = |running: &&Running| !has_to_settle(&sim.state, &running.effect);
    let count = sim.running.values().filter(ready).count();
    let effect = &sim.running.values().filter(ready).nth(chance.index(count.max(1)))?.effect;
    Some(Move::Work(effect.task, world::kind(effect.what)))
}

/// Returns a result that comes too late, twice, or about something else.
fn stale(sim: &mut Sim, chance: &mut Chance) -> Option<Command> {
    if let Some(late) = sim.stale.pop() {
        let known = |effect| sim.state.outstanding().iter().any(|owed| owed.id == effect);
        return match late {
            Command::Settle { effect, .. } if known(effect) => None,
            late => Some(late),
        };
    }
    let at = chance.index(sim.running.len().max(1));
    let running = sim.running.values().nth(at)?;
    let effect = running.effect.id;
    let command = match chance.below(3) {
        0 => Command::Mutate { effect, mutation: MutationSpec::default() },
        1 => Command::Settle {
            effect: EffectId(effect.0 + 1_000_000),
            outcome: Outcome::Done,
            spent: Amount::ZERO,
        },
        _ => Command::Settle { effect, outcome: Outcome::HeadMoved, spent: Amount::ZERO },
    };
    // Only results that certainly do not fit are submitted here.
    let kind = world::kind(running.effect.what);
    let misfit = match &command {
        Command::Settle { effect: named, .. } => *named != effect || kind != "perform",
        _ => !matches!(kind, "attempt" | "execute"),
    };
    misfit.then_some(command)
}

/// I7: with every question answered, everything comes to its end.
fn close(
    sim: &mut Sim,
    chance: &mut Chance,
    moves: &mut Vec<Move>,
    watch: &mut dyn FnMut(&Sim),
) -> Result<(), Violation> {
    let mut answered: BTreeMap<Subject, u32> = BTreeMap::new();
    for _ in 0..CLOSING_MAX {
        let next = if !sim.is_durable() {
            Move::Ack
        } else if let Some(work) = some_work(sim, chance) {
            work
        } else if let Some(answer) = final_answer(sim, chance, &mut answered) {
            Move::Person(answer)
        } else if let Some(build) = held(sim) {
            Move::Person(Command::Resume { build })
        } else if sim.state.next_wake().is_some() {
            Move::Wake
        } else {
            return ended(sim);
        };
        take(sim, &next, moves)?;
        watch(sim);
    }
    let last = sim.journal.len().saturating_sub(24);
    let events: Vec<String> =
        sim.journal[last..].iter().map(|recorded| format!("\n    {:?}", recorded.event)).collect();
    Err(Violation::new("I7", format!("it never ends:{}", events.concat())))
}

fn held(sim: &Sim) -> Option<BuildId> {
    sim.state
        .builds()
        .find(|build| matches!(build.state, BuildState::Paused { .. }))
        .map(|build| build.id)
}

fn final_answer(
    sim: &Sim,
    chance: &mut Chance,
    answered: &mut BTreeMap<Subject, u32>,
) -> Option<Command> {
    let question = sim.state.questions().next()?;
    let count = answered.entry(question.subject).or_default();
    *count += 1;
    let decision = if *count > PATIENCE {
        leave(question.kind)
    } else {
        *chance.pick(question.kind.decisions())?
    };
    Some(people::say(question.id, decision, chance))
}

/// Returns the decision that ends the work.
pub const fn leave(kind: QuestionKind) -> Decision {
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

fn ended(sim: &Sim) -> Result<(), Violation> {
    for build in sim.state.builds() {
        let left = build.live() + build.count(Standing::Parked);
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
pub fn replay(profile: Profile, moves: &[Move], to_the_end: bool) -> Option<(usize, Violation)> {
    let mut sim = Sim::new(profile);
    for (at, next) in (1..).zip(moves) {
        if let Err(violation) = sim.step(next) {
            return Some((at, violation));
        }
    }
    let mut chance = Chance::new(0);
    let ends = if to_the_end {
        close(&mut sim, &mut chance, &mut Vec::new(), &mut |_| ())
    } else {
        Ok(())
    };
    ends.and_then(|()| sim.check_journal()).err().map(|violation| (moves.len(), violation))
}

/// Removes as many moves as possible while the same rule is violated.
pub fn shrink(profile: &Profile, failure: &Failure) -> Vec<Move> {
    let rule = failure.violation.rule;
    let broken = |moves: &[Move]| match replay(profile.clone(), moves, rule == "I7") {
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
pub fn first_question(sim: &Sim) -> Option<QuestionId> {
    sim.state.questions().next().map(|question| question.id)
}

/// Formats moves and the events each led to, one per line.
pub fn story(profile: Profile, moves: &[Move]) -> String {
    use std::fmt::Write as _;

    let mut sim = Sim::new(profile);
    let mut told = String::new();
    for next in moves {
        let seen = sim.journal.len();
        let result = sim.step(next);
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
