//! Two runs with the same fate: one undisturbed, one disturbed at a chosen point (I6, I8).

use std::collections::BTreeMap;

use unstuck_core::engine::{Command, Event, QuestionId, SkipReason, Subject, TaskState};
use unstuck_core::question::QuestionKind;

use crate::chance::Chance;
use crate::check::Violation;
use crate::driver::{Simulation, SimulationMove};
use crate::profile::WorldProfile;
use crate::{people, plans, run, world};

/// Maximum number of moves; a run with more never ends.
const MOVES_MAX: u64 = 20_000;

/// The result of a run: everything but ids, times and chains.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SimulationFate {
    /// The end of each task, with its counters and the charges it can still give back.
    pub tasks: BTreeMap<String, String>,
    /// Number of times each question was asked, by subject, kind and tasks.
    pub questions: BTreeMap<String, u32>,
    /// Current count of each error.
    pub signatures: BTreeMap<String, u32>,
    /// Number of times each action took effect outside.
    pub outside: BTreeMap<String, u32>,
}

/// The kind of disturbance of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disturbance {
    /// The process dies.
    Crash,
    /// A write fails.
    LostWrite,
}

/// Plays a world's plan to its end, disturbed before the moves named by `at`; returns its fate and the number
/// of moves.
pub fn play_fate(
    profile: &WorldProfile,
    at: &[u64],
    disturbance: Disturbance,
) -> Result<(SimulationFate, u64), Violation> {
    let (sim, moves) = play_disturbed(profile, at, disturbance)?;
    Ok((collect_fate(&sim), moves))
}

/// Like [`play_fate`], but returns the whole simulation.
pub fn play_disturbed(
    profile: &WorldProfile,
    at: &[u64],
    disturbance: Disturbance,
) -> Result<(Simulation, u64), Violation> {
    let mut sim = Simulation::new(profile.clone());
    let mut chance = Chance::for_place(profile.seed, &["plan"], 0);
    if let Some(start) = plans::start_build(profile, &mut chance, 0) {
        sim.apply_move(&SimulationMove::Person(start))?;
        // A build that was never acknowledged was never promised.
        sim.apply_move(&SimulationMove::Ack)?;
    }
    for number in 0..MOVES_MAX {
        if at.contains(&number) {
            sim.apply_move(&match disturbance {
                Disturbance::Crash => SimulationMove::Crash,
                Disturbance::LostWrite => SimulationMove::LostWrite,
            })?;
        }
        match next_move(&sim) {
            Some(next) => sim.apply_move(&next)?,
            None => return Ok((sim, number)),
        }
    }
    Err(Violation::new("I7", "it never ends"))
}

fn next_move(sim: &Simulation) -> Option<SimulationMove> {
    if !sim.is_durable() {
        Some(SimulationMove::Ack)
    } else if let Some(running) = sim.running.values().next() {
        Some(SimulationMove::Work(running.effect.task, world::work_kind(running.effect.what)))
    } else if let Some(question) = run::first_question(sim) {
        draw_answer(sim, question).map(SimulationMove::Person)
    } else {
        sim.state.next_wake().map(|_| SimulationMove::Wake)
    }
}

/// Returns an answer that is always the same for the same question: it depends on the subject, the task and
/// the number of earlier questions.
fn draw_answer(sim: &Simulation, id: QuestionId) -> Option<Command> {
    let question = sim.state.question(id)?;
    let whom = question.tasks.first().and_then(|task| sim.state.task(*task));
    let name = whom.map_or("", |task| task.spec.name.as_str());
    let what = subject_name(sim, question.subject);
    let before = count_asked(sim, |kind, subject| kind == question.kind && subject == what);
    let mut chance =
        Chance::for_place(sim.profile.seed, &["answer", name, &what], u64::from(before));
    let decision = if before > 2 {
        run::ending_decision(question.kind)
    } else {
        *chance.pick_one(question.kind.decisions())?
    };
    Some(people::make_answer_command(id, decision, &mut chance))
}

/// Returns the number of matching questions in the journal.
fn count_asked(sim: &Simulation, fits: impl Fn(QuestionKind, &str) -> bool) -> u32 {
    let questions = sim.journal.iter().filter(|recorded| match &recorded.event {
        Event::QuestionAsked { question } => {
            fits(question.kind, &subject_name(sim, question.subject))
        }
        _ => false,
    });
    u32::try_from(questions.count()).unwrap_or(u32::MAX)
}

/// Returns the subject of a question, without ids that depend on the path.
fn subject_name(sim: &Simulation, subject: Subject) -> String {
    match subject {
        Subject::Error(signature) => signature.to_string(),
        Subject::Build(build) => build.to_string(),
        Subject::Job(task) => task.to_string(),
        Subject::Action(id) => sim.state.mutation(id).map_or_else(String::new, |mutation| {
            format!("{:?} {}", mutation.occurrence, mutation.spec.key)
        }),
    }
}

/// Returns the end of a task. Which of two failed dependencies ended first is a matter of time and left out.
fn describe_end(state: &TaskState) -> String {
    match state {
        TaskState::Skipped { left: SkipReason::Needs { .. } } => {
            "Skipped: it needs another".to_owned()
        }
        other => format!("{other:?}"),
    }
}

/// Returns the fate of a simulation.
pub fn collect_fate(sim: &Simulation) -> SimulationFate {
    let mut fate = SimulationFate::default();
    for task in sim.state.tasks() {
        let counters = &task.counters;
        let told = format!(
            "{}, {} in a row, {} shortened, {} repairs, {} git, {:?} transient, {:?}",
            describe_end(&task.state),
            counters.consecutive,
            counters.compactions,
            counters.repairs,
            counters.git,
            counters.transient.map(|transient| transient.count),
            task.charged,
        );
        fate.tasks.insert(task.spec.name.clone(), told);
    }
    for recorded in &sim.journal {
        if let Event::QuestionAsked { question } = &recorded.event {
            let about = format!("{:?} {}", question.kind, subject_name(sim, question.subject));
            *fate.questions.entry(about).or_default() += 1;
        }
    }
    for (signature, record) in sim.state.signatures().iter() {
        if record.count > 0 {
            fate.signatures.insert(signature.to_string(), record.count);
        }
    }
    for ((occurrence, key), count) in sim.world.outside.applied_counts() {
        fate.outside.insert(format!("{occurrence:?} {key}"), *count);
    }
    fate
}

/// I6: the world of `profile`, disturbed at `at`, ends as it does undisturbed.
pub fn check_same_fate(
    profile: &WorldProfile,
    calm: &SimulationFate,
    at: &[u64],
    disturbance: Disturbance,
) -> Result<(), Violation> {
    let (fate, _) = play_fate(profile, at, disturbance)?;
    if fate == *calm {
        return Ok(());
    }
    let found = list_differences(calm, &fate).join("; ");
    Err(Violation::new("I6", format!("{disturbance:?} at {at:?}: {found}")))
}

fn list_differences(calm: &SimulationFate, other: &SimulationFate) -> Vec<String> {
    fn differing_entries<V: PartialEq + std::fmt::Debug>(
        one: &BTreeMap<String, V>,
        other: &BTreeMap<String, V>,
    ) -> Vec<String> {
        let keys = one.keys().chain(other.keys().filter(|key| !one.contains_key(*key)));
        keys.filter(|key| one.get(*key) != other.get(*key))
            .map(|key| format!("{key}: {:?} and {:?}", one.get(key), other.get(key)))
            .collect()
    }
    let mut found = differing_entries(&calm.tasks, &other.tasks);
    found.extend(differing_entries(&calm.questions, &other.questions));
    found.extend(differing_entries(&calm.signatures, &other.signatures));
    found.extend(differing_entries(&calm.outside, &other.outside));
    found
}
