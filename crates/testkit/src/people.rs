//! Simulated people: they answer immediately, late, twice, wrongly or never, and give every command.

use std::sync::Arc;

use unstuck_core::engine::{BuildId, Command, GateKey, Order, QuestionId, TaskId};
use unstuck_core::fault::Code;
use unstuck_core::plan::Request;
use unstuck_core::question::Decision;

use crate::chance::Chance;
use crate::driver::Sim;
use crate::{faults, plans};

/// Returns a person's next command. Some identify themselves, and some send a command twice.
pub fn act(sim: &Sim, chance: &mut Chance) -> Option<Command> {
    let command = wish(sim, chance)?;
    if sim.profile.apart || matches!(command, Command::Answer { .. }) || !chance.one_in(4) {
        return Some(command);
    }
    let key = format!("k{}", chance.below(30)).into();
    let request = chance.one_in(2).then(|| Request { key, said: chance.below(2) });
    Some(Order { by: Arc::from("operator"), request }.wants(command))
}

fn wish(sim: &Sim, chance: &mut Chance) -> Option<Command> {
    match chance.below(20) {
        0..=7 => answer(sim, chance),
        8 => any_build(sim, chance).map(|build| Command::Pause { build }),
        9 | 10 => any_build(sim, chance).map(|build| Command::Resume { build }),
        11 if chance.one_in(4) => any_build(sim, chance).map(|build| Command::Cancel { build }),
        12 => any_task(sim, chance).map(|task| Command::Kick { task }),
        13 => any_task(sim, chance).map(|task| Command::Retry { task }),
        14 if chance.one_in(3) => any_task(sim, chance).map(|task| Command::Skip { task }),
        15 => Some(Command::KickGate { gate: GateKey(chance.below(2)) }),
        16 => check_again(sim, chance),
        17 if chance.one_in(3) => forget(sim, chance),
        18 if chance.one_in(8) => abort(sim, chance),
        _ => begin(sim, chance),
    }
}

/// Returns new work for the project: a build, a job, or a firing of one.
pub fn begin(sim: &Sim, chance: &mut Chance) -> Option<Command> {
    let builds = u64::from(sim.profile.builds_max);
    if u64::from(sim.started) < builds {
        return plans::start_build(&sim.profile, chance, sim.started);
    }
    if u64::from(sim.started) < builds + 2 && !sim.profile.apart {
        return Some(plans::define_job(&sim.profile, chance, sim.started));
    }
    let task = any_task(sim, chance)?;
    Some(match chance.below(6) {
        0 => Command::HoldJob { task },
        1 => Command::ReleaseJob { task },
        2 | 3 => Command::JobDue { task },
        _ => Command::FireJob { task },
    })
}

fn answer(sim: &Sim, chance: &mut Chance) -> Option<Command> {
    let open: Vec<QuestionId> = sim.state.questions().map(|question| question.id).collect();
    let id = match chance.pick(&open) {
        Some(id) if !chance.one_in(12) => *id,
        _ => QuestionId(u32::try_from(chance.below(30)).unwrap_or(0)),
    };
    let offered =
        sim.state.question(id).map_or(Decision::ALL, |question| question.kind.decisions());
    let choices = if chance.one_in(12) { Decision::ALL } else { offered };
    Some(say(id, *chance.pick(choices)?, chance))
}

/// Creates an answer as a command.
pub fn say(question: QuestionId, decision: Decision, chance: &mut Chance) -> Command {
    let guidance = chance.one_in(2).then(|| Arc::from("try the other door"));
    Command::Answer { question, decision, guidance, by: Arc::from("operator") }
}

fn check_again(sim: &Sim, chance: &mut Chance) -> Option<Command> {
    let open: Vec<QuestionId> = sim.state.questions().map(|question| question.id).collect();
    chance.pick(&open).map(|question| Command::CheckAgain { question: *question })
}

fn forget(sim: &Sim, chance: &mut Chance) -> Option<Command> {
    if chance.one_in(4) {
        return Some(Command::Forget { signature: None });
    }
    let known: Vec<_> = sim.state.signatures().iter().map(|(signature, _)| signature).collect();
    chance.pick(&known).map(|signature| Command::Forget { signature: Some(*signature) })
}

fn abort(sim: &Sim, chance: &mut Chance) -> Option<Command> {
    let build = any_build(sim, chance)?;
    let fault = faults::of(&sim.profile, chance, Code::ConfigInvalid, "", sim.now);
    Some(Command::Abort { build, fault })
}

fn any_build(sim: &Sim, chance: &mut Chance) -> Option<BuildId> {
    let builds: Vec<BuildId> = sim.state.builds().map(|build| build.id).collect();
    chance.pick(&builds).copied()
}

fn any_task(sim: &Sim, chance: &mut Chance) -> Option<TaskId> {
    let tasks: Vec<TaskId> = sim.state.tasks().map(|task| task.id).collect();
    chance.pick(&tasks).copied()
}
