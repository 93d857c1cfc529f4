//! Simulated people: they answer immediately, late, twice, wrongly or never, and give every command.

use std::sync::Arc;

use unstuck_core::engine::{BuildId, Command, CommandIssuer, GateKey, QuestionId, TaskId};
use unstuck_core::fault::Code;
use unstuck_core::plan::Request;
use unstuck_core::question::Decision;

use crate::chance::Chance;
use crate::driver::Simulation;
use crate::{faults, plans};

/// Returns a person's next command. Some identify themselves, and some send a command twice.
pub fn draw_command(sim: &Simulation, chance: &mut Chance) -> Option<Command> {
    let command = draw_plain_command(sim, chance)?;
    if sim.profile.apart || matches!(command, Command::Answer { .. }) || !chance.one_in(4) {
        return Some(command);
    }
    let key = format!("k{}", chance.draw_below(30)).into();
    let request = chance.one_in(2).then(|| Request { key, said: chance.draw_below(2) });
    Some(CommandIssuer { by: Arc::from("somebody"), request }.wrap_command(command))
}

fn draw_plain_command(sim: &Simulation, chance: &mut Chance) -> Option<Command> {
    match chance.draw_below(20) {
        0..=7 => draw_answer(sim, chance),
        8 => any_build(sim, chance).map(|build| Command::Pause { build }),
        9 | 10 => any_build(sim, chance).map(|build| Command::Resume { build }),
        11 if chance.one_in(4) => any_build(sim, chance).map(|build| Command::Cancel { build }),
        12 => any_task(sim, chance).map(|task| Command::Kick { task }),
        13 => any_task(sim, chance).map(|task| Command::Retry { task }),
        14 if chance.one_in(3) => any_task(sim, chance).map(|task| Command::Skip { task }),
        15 => Some(Command::KickGate { gate: GateKey(chance.draw_below(2)) }),
        16 => draw_check_again(sim, chance),
        17 if chance.one_in(3) => draw_forget(sim, chance),
        18 if chance.one_in(8) => draw_abort(sim, chance),
        _ => draw_new_work(sim, chance),
    }
}

/// Returns new work for the project: a build, a job, or a firing of one.
pub fn draw_new_work(sim: &Simulation, chance: &mut Chance) -> Option<Command> {
    let builds = u64::from(sim.profile.builds_max);
    if u64::from(sim.started) < builds {
        return plans::start_build(&sim.profile, chance, sim.started);
    }
    if u64::from(sim.started) < builds + 2 && !sim.profile.apart {
        return Some(plans::define_job(&sim.profile, chance, sim.started));
    }
    let task = any_task(sim, chance)?;
    Some(match chance.draw_below(6) {
        0 => Command::HoldJob { task },
        1 => Command::ReleaseJob { task },
        2 | 3 => Command::JobDue { task },
        _ => Command::FireJob { task },
    })
}

fn draw_answer(sim: &Simulation, chance: &mut Chance) -> Option<Command> {
    let open: Vec<QuestionId> = sim.state.questions().map(|question| question.id).collect();
    let id = match chance.pick_one(&open) {
        Some(id) if !chance.one_in(12) => *id,
        _ => QuestionId(u32::try_from(chance.draw_below(30)).unwrap_or(0)),
    };
    let offered =
        sim.state.question(id).map_or(Decision::ALL, |question| question.kind.decisions());
    let choices = if chance.one_in(12) { Decision::ALL } else { offered };
    Some(make_answer_command(id, *chance.pick_one(choices)?, chance))
}

/// Creates an answer as a command.
pub fn make_answer_command(
    question: QuestionId,
    decision: Decision,
    chance: &mut Chance,
) -> Command {
    let guidance = chance.one_in(2).then(|| Arc::from("try the other door"));
    Command::Answer { question, decision, guidance, by: Arc::from("somebody") }
}

fn draw_check_again(sim: &Simulation, chance: &mut Chance) -> Option<Command> {
    let open: Vec<QuestionId> = sim.state.questions().map(|question| question.id).collect();
    chance.pick_one(&open).map(|question| Command::CheckAgain { question: *question })
}

fn draw_forget(sim: &Simulation, chance: &mut Chance) -> Option<Command> {
    if chance.one_in(4) {
        return Some(Command::Forget { signature: None });
    }
    let known: Vec<_> = sim.state.signatures().iter().map(|(signature, _)| signature).collect();
    chance.pick_one(&known).map(|signature| Command::Forget { signature: Some(*signature) })
}

fn draw_abort(sim: &Simulation, chance: &mut Chance) -> Option<Command> {
    let build = any_build(sim, chance)?;
    let fault = faults::make_fault(&sim.profile, chance, Code::ConfigInvalid, "", sim.now);
    Some(Command::Abort { build, fault })
}

fn any_build(sim: &Simulation, chance: &mut Chance) -> Option<BuildId> {
    let builds: Vec<BuildId> = sim.state.builds().map(|build| build.id).collect();
    chance.pick_one(&builds).copied()
}

fn any_task(sim: &Simulation, chance: &mut Chance) -> Option<TaskId> {
    let tasks: Vec<TaskId> = sim.state.tasks().map(|task| task.id).collect();
    chance.pick_one(&tasks).copied()
}
