//! Exhaustive search: all interleavings of a small plan's faults, answers, waits, crashes and commands up to
//! a depth, visiting each state once.

mod fingerprint;

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::sync::Arc;

use unstuck_core::attempt::{Approach, Digest};
use unstuck_core::engine::{
    BuildState, Command, Effect, MutationId, Outcome, Rng, State, Subject, Work, decide,
};
use unstuck_core::fault::{Code, Fault, Kind};
use unstuck_core::plan::MutationKind;
use unstuck_core::policy::{Amount, Policy};
use unstuck_core::question::Decision;
use unstuck_core::time::Time;

use crate::check::{self, Kept, Monitor, Violation};

const PROJECT: &str = "search";

/// The parameters of a search.
#[derive(Clone, Debug)]
pub struct Question {
    /// The initial commands.
    pub begin: Vec<Command>,
    /// The limits of the project.
    pub policy: Policy,
    /// The codes with which agents, checks and everything else may fail.
    pub codes: Vec<Code>,
    /// Maximum number of consecutive commands.
    pub depth: u32,
    /// Maximum number of crashes.
    pub crashes: u32,
    /// Maximum number of people's commands, not counting answers.
    pub buttons: u32,
    /// Maximum number of states visited.
    pub states_max: usize,
}

/// The statistics of a search.
#[derive(Clone, Copy, Debug, Default)]
pub struct Found {
    /// Number of different states.
    pub states: usize,
    /// Number of commands given.
    pub commands: u64,
    /// Number of states in which everything had ended.
    pub ends: u64,
}

#[derive(Clone)]
struct Node {
    state: State,
    monitor: Monitor,
    now: Time,
    /// Number of times each action took effect, and number of times a person said it had not.
    outside: BTreeMap<MutationId, (u32, u32)>,
    depth: u32,
    crashes: u32,
    buttons: u32,
    trace: Option<Arc<Step>>,
}

/// A command on the path to a state.
struct Step {
    command: Command,
    before: Option<Arc<Step>>,
}

/// Runs the search; a violation contains the path to it.
pub fn search(asked: &Question) -> Result<Found, Violation> {
    let mut first = Node {
        state: State::new(PROJECT),
        monitor: Monitor::default(),
        now: Time::from_millis(1_700_000_000_000),
        outside: BTreeMap::new(),
        depth: asked.depth,
        crashes: asked.crashes,
        buttons: asked.buttons,
        trace: None,
    };
    for command in &asked.begin {
        first.give(command, asked)?;
    }
    let mut found = Found::default();
    let mut seen = HashSet::from([first.fingerprint()]);
    let mut open = VecDeque::from([first]);
    while let Some(node) = open.pop_front() {
        found.states += 1;
        if found.states >= asked.states_max {
            break;
        }
        let moves = node.moves(asked);
        if moves.is_empty() {
            node.ended().map_err(|violation| node.told(&violation))?;
            found.ends += 1;
        }
        if node.depth == 0 {
            continue;
        }
        for next in moves {
            found.commands += 1;
            let mut after = node.clone();
            after.depth -= 1;
            after.take(&next, asked)?;
            if seen.insert(after.fingerprint()) {
                open.push_back(after);
            }
        }
    }
    Ok(found)
}

/// A command and its effect outside.
struct Next {
    command: Command,
    /// The action that takes effect now.
    applies: Option<MutationId>,
    button: bool,
}

impl Next {
    const fn plain(command: Command) -> Self {
        Self { command, applies: None, button: false }
    }

    const fn button(command: Command) -> Self {
        Self { command, applies: None, button: true }
    }
}

impl Node {
    fn moves(&self, asked: &Question) -> Vec<Next> {
        let mut moves = Vec::new();
        for effect in self.state.outstanding() {
            self.results(&effect, asked, &mut moves);
        }
        for question in self.state.questions() {
            for &decision in question.kind.decisions() {
                let by = Arc::from("operator");
                let question = question.id;
                let guidance = None;
                let answer = Command::Answer { question, decision, guidance, by };
                moves.push(Next::plain(answer));
            }
        }
        if self.state.next_wake().is_some() {
            moves.push(Next::plain(Command::Wake));
        }
        // People's commands are given only while there are other moves, so that a state in which only they
        // are left counts as an end.
        if !moves.is_empty() {
            self.disturbances(&mut moves);
        }
        moves
    }

    fn disturbances(&self, moves: &mut Vec<Next>) {
        if self.crashes > 0 {
            moves.push(Next::plain(Command::Recover { task: None, clean: false }));
            for effect in self.state.outstanding() {
                if let Work::Perform { mutation } = effect.what {
                    let applies = Some(mutation);
                    moves.push(Next {
                        command: Command::Recover { task: None, clean: false },
                        applies,
                        button: false,
                    });
                }
            }
        }
        if self.buttons == 0 {
            return;
        }
        for build in self.state.builds() {
            let build = build.id;
            moves.push(Next::button(Command::Pause { build }));
            moves.push(Next::button(Command::Resume { build }));
            moves.push(Next::button(Command::Cancel { build }));
        }
        for task in self.state.tasks() {
            let task = task.id;
            moves.push(Next::button(Command::Skip { task }));
            moves.push(Next::button(Command::Retry { task }));
            moves.push(Next::button(Command::Kick { task }));
        }
        for question in self.state.questions() {
            moves.push(Next::button(Command::CheckAgain { question: question.id }));
        }
    }

    fn results(&self, effect: &Effect, asked: &Question, moves: &mut Vec<Next>) {
        let settle = |outcome, applies| Next {
            command: Command::Settle { effect: effect.id, outcome, spent: Amount::ZERO },
            applies,
            button: false,
        };
        match effect.what {
            Work::Attempt { .. } => {
                let approach = Arc::new(Approach {
                    digest: Some(Digest(1)),
                    files_changed: 1,
                    ..Approach::default()
                });
                moves.push(settle(Outcome::Attempted { approach }, None));
            }
            Work::Perform { mutation } => {
                let result = Arc::from("");
                moves.push(settle(Outcome::Applied { result }, Some(mutation)));
                let fault = fault(Code::NetworkTimeout);
                moves.push(settle(Outcome::Unknown { fault: Arc::clone(&fault) }, Some(mutation)));
                moves.push(settle(Outcome::Unknown { fault }, None));
                let merge = self.state.mutation(mutation).map(|known| known.spec.kind);
                if merge == Some(MutationKind::Merge) {
                    moves.push(settle(Outcome::HeadMoved, None));
                }
            }
            Work::Probe { mutation } => {
                let seen = self.outside.get(&mutation).is_some_and(|(applied, _)| *applied > 0);
                let truth = if seen {
                    Outcome::Applied { result: Arc::from("") }
                } else {
                    Outcome::NotApplied
                };
                moves.push(settle(truth, None));
                moves.push(settle(Outcome::CannotTell { said: None }, None));
            }
            Work::Repair { propose } => {
                let approach =
                    Arc::new(Approach { digest: Some(Digest(1)), ..Approach::default() });
                let branch = Some(Arc::from("unstuck/repair/job"));
                if !propose {
                    let approach = Arc::clone(&approach);
                    moves.push(settle(Outcome::Repaired { approach, branch: None }, None));
                }
                moves.push(settle(Outcome::Repaired { approach, branch }, None));
            }
            _ => moves.push(settle(Outcome::Done, None)),
        }
        if let Work::Probe { .. } = effect.what {
            return;
        }
        for &code in &asked.codes {
            moves.push(settle(Outcome::Failed { fault: fault(code), approach: None }, None));
        }
    }

    fn take(&mut self, next: &Next, asked: &Question) -> Result<(), Violation> {
        if let Some(mutation) = next.applies {
            self.outside.entry(mutation).or_default().0 += 1;
        }
        if let Command::Answer { question, decision: Decision::ItDidNot, .. } = &next.command
            && let Some(Subject::Action(mutation)) =
                self.state.question(*question).map(|question| question.subject)
        {
            self.outside.entry(mutation).or_default().1 += 1;
        }
        if next.button {
            self.buttons -= 1;
        }
        match next.command {
            Command::Recover { .. } => self.crashes -= 1,
            Command::Wake => self.now = self.now.max(self.state.next_wake().unwrap_or(self.now)),
            _ => {}
        }
        self.give(&next.command, asked)?;
        match self.outside.iter().find(|(_, (applied, denied))| *applied > 1 + denied) {
            Some((mutation, (applied, _))) => {
                let found = format!("{mutation} took effect {applied} times");
                Err(self.told(&Violation::new("I4", found)))
            }
            None => Ok(()),
        }
    }

    fn give(&mut self, command: &Command, asked: &Question) -> Result<(), Violation> {
        let before = self.trace.take();
        self.trace = Some(Arc::new(Step { command: command.clone(), before }));
        let mut shadow = self.state.clone();
        let mut rng = Rng::at(PROJECT, 0);
        let decided = decide(&mut self.state, command.clone(), &asked.policy, self.now, &mut rng);
        let mut check = || -> Result<(), Violation> {
            for recorded in decided.iter().flatten() {
                self.monitor.before(&shadow, recorded, &asked.policy)?;
                let kept = Kept::of(&shadow, recorded);
                shadow.apply(recorded);
                if let Some(kept) = kept {
                    kept.holds(&shadow, recorded)?;
                }
            }
            if self.state != shadow {
                let found = check::difference(&self.state, &shadow);
                return Err(Violation::new("replaying gives the same state", found));
            }
            check::shape(&self.state, &asked.policy)
        };
        check().map_err(|violation| self.told(&violation))
    }

    /// I7: in a state without moves, everything has ended or a person holds it.
    fn ended(&self) -> Result<(), Violation> {
        for build in self.state.builds() {
            let held = matches!(build.state, BuildState::Paused { .. });
            if !build.standing && !build.state.has_ended() && !held {
                return Err(Violation::new("I7", format!("{build:?}")));
            }
        }
        Ok(())
    }

    /// Returns the violation with the path to it.
    fn told(&self, violation: &Violation) -> Violation {
        let mut way = Vec::new();
        let mut step = self.trace.as_deref();
        while let Some(known) = step {
            way.push(format!("\n  > {:?}", known.command));
            step = known.before.as_deref();
        }
        way.reverse();
        Violation::new(violation.rule, format!("{}{}", violation.found, way.concat()))
    }
}

fn fault(code: Code) -> Arc<Fault> {
    Arc::new(Fault::new(Kind::bare(code), "somewhere", "trouble"))
}
