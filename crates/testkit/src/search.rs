//! Exhaustive search: all interleavings of a small plan's faults, answers, waits, crashes and commands up to
//! a depth, visiting each state once.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, HashSet, VecDeque};
use std::fmt::Write as _;
use std::hash::{Hash as _, Hasher as _};
use std::sync::Arc;

use unstuck_core::attempt::{Approach, Digest};
use unstuck_core::engine::{
    BuildState, Command, Effect, EffectKind, EffectOutcome, MutationId, Rng, State, Subject,
    TaskId, decide,
};
use unstuck_core::fault::{Code, Fault, Kind};
use unstuck_core::plan::MutationKind;
use unstuck_core::policy::{Amount, Policy};
use unstuck_core::question::{Decision, QuestionKind};
use unstuck_core::time::Time;

use crate::check::{self, EventInvariant, JournalMonitor, Violation};

const PROJECT: &str = "search";

/// The parameters of a search.
#[derive(Clone, Debug)]
pub struct SearchSpec {
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
pub struct SearchStats {
    /// Number of different states.
    pub states: usize,
    /// Number of commands given.
    pub commands: u64,
    /// Number of states in which everything had ended.
    pub ends: u64,
}

#[derive(Clone)]
struct SearchNode {
    state: State,
    monitor: JournalMonitor,
    now: Time,
    /// Number of times each action took effect, and number of times a person said it had not.
    outside: BTreeMap<MutationId, (u32, u32)>,
    depth: u32,
    crashes: u32,
    buttons: u32,
    trace: Option<Arc<SearchTraceStep>>,
}

/// A command on the path to a state.
struct SearchTraceStep {
    command: Command,
    before: Option<Arc<SearchTraceStep>>,
}

/// Runs the search; a violation contains the path to it.
pub fn search_states(asked: &SearchSpec) -> Result<SearchStats, Violation> {
    let mut first = SearchNode {
        state: State::new(PROJECT),
        monitor: JournalMonitor::default(),
        now: Time::from_millis(1_700_000_000_000),
        outside: BTreeMap::new(),
        depth: asked.depth,
        crashes: asked.crashes,
        buttons: asked.buttons,
        trace: None,
    };
    for command in &asked.begin {
        first.give_command(command, asked)?;
    }
    let mut found = SearchStats::default();
    let mut seen = HashSet::from([first.fingerprint()]);
    let mut open = VecDeque::from([first]);
    while let Some(node) = open.pop_front() {
        found.states += 1;
        if found.states >= asked.states_max {
            break;
        }
        let moves = node.list_moves(asked);
        if moves.is_empty() {
            node.check_ended().map_err(|violation| node.trace_violation(&violation))?;
            found.ends += 1;
        }
        if node.depth == 0 {
            continue;
        }
        for next in moves {
            found.commands += 1;
            let mut after = node.clone();
            after.depth -= 1;
            after.take_move(&next, asked)?;
            if seen.insert(after.fingerprint()) {
                open.push_back(after);
            }
        }
    }
    Ok(found)
}

/// A command and its effect outside.
struct SearchMove {
    command: Command,
    /// The action that takes effect now.
    applies: Option<MutationId>,
    button: bool,
}

impl SearchMove {
    const fn from_command(command: Command) -> Self {
        Self { command, applies: None, button: false }
    }

    const fn from_button(command: Command) -> Self {
        Self { command, applies: None, button: true }
    }
}

impl SearchNode {
    fn list_moves(&self, asked: &SearchSpec) -> Vec<SearchMove> {
        let mut moves = Vec::new();
        for effect in self.state.outstanding_effects() {
            self.add_results(&effect, asked, &mut moves);
        }
        for question in self.state.questions() {
            for &decision in question.kind.decisions() {
                let by = Arc::from("operator");
                let question = question.id;
                let guidance = None;
                let answer = Command::Answer { question, decision, guidance, by };
                moves.push(SearchMove::from_command(answer));
            }
        }
        if self.state.next_wake().is_some() {
            moves.push(SearchMove::from_command(Command::Wake));
        }
        // People's commands are given only while there are other moves, so that a state in which only they
        // are left counts as an end.
        if !moves.is_empty() {
            self.add_disturbances(&mut moves);
        }
        moves
    }

    fn add_disturbances(&self, moves: &mut Vec<SearchMove>) {
        if self.crashes > 0 {
            moves.push(SearchMove::from_command(Command::Recover { task: None, clean: false }));
            for effect in self.state.outstanding_effects() {
                if let EffectKind::Perform { mutation } = effect.what {
                    let applies = Some(mutation);
                    moves.push(SearchMove {
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
            moves.push(SearchMove::from_button(Command::Pause { build }));
            moves.push(SearchMove::from_button(Command::Resume { build }));
            moves.push(SearchMove::from_button(Command::Cancel { build }));
        }
        for task in self.state.tasks() {
            let task = task.id;
            moves.push(SearchMove::from_button(Command::Skip { task }));
            moves.push(SearchMove::from_button(Command::Retry { task }));
            moves.push(SearchMove::from_button(Command::Kick { task }));
        }
        for question in self.state.questions() {
            moves.push(SearchMove::from_button(Command::CheckAgain { question: question.id }));
        }
    }

    fn add_results(&self, effect: &Effect, asked: &SearchSpec, moves: &mut Vec<SearchMove>) {
        let settle = |outcome, applies| SearchMove {
            command: Command::Settle { effect: effect.id, outcome, spent: Amount::ZERO },
            applies,
            button: false,
        };
        match effect.what {
            EffectKind::Attempt { .. } => {
                let approach = Arc::new(Approach {
                    digest: Some(Digest(1)),
                    files_changed: 1,
                    ..Approach::default()
                });
                moves.push(settle(EffectOutcome::Attempted { approach }, None));
            }
            EffectKind::Perform { mutation } => {
                let result = Arc::from("");
                moves.push(settle(EffectOutcome::Applied { result }, Some(mutation)));
                let fault = bare_fault(Code::NetworkTimeout);
                moves.push(settle(
                    EffectOutcome::Unknown { fault: Arc::clone(&fault) },
                    Some(mutation),
                ));
                moves.push(settle(EffectOutcome::Unknown { fault }, None));
                let merge = self.state.mutation(mutation).map(|known| known.spec.kind);
                if merge == Some(MutationKind::Merge) {
                    moves.push(settle(EffectOutcome::HeadMoved, None));
                }
            }
            EffectKind::Probe { mutation } => {
                let seen = self.outside.get(&mutation).is_some_and(|(applied, _)| *applied > 0);
                let truth = if seen {
                    EffectOutcome::Applied { result: Arc::from("") }
                } else {
                    EffectOutcome::NotApplied
                };
                moves.push(settle(truth, None));
                moves.push(settle(EffectOutcome::CannotTell { said: None }, None));
            }
            EffectKind::Repair { propose } => {
                let approach =
                    Arc::new(Approach { digest: Some(Digest(1)), ..Approach::default() });
                let branch = Some(Arc::from("unstuck/repair/job"));
                if !propose {
                    let approach = Arc::clone(&approach);
                    moves.push(settle(EffectOutcome::Repaired { approach, branch: None }, None));
                }
                moves.push(settle(EffectOutcome::Repaired { approach, branch }, None));
            }
            _ => moves.push(settle(EffectOutcome::Done, None)),
        }
        if let EffectKind::Probe { .. } = effect.what {
            return;
        }
        for &code in &asked.codes {
            moves.push(settle(
                EffectOutcome::Failed { fault: bare_fault(code), approach: None },
                None,
            ));
        }
    }

    fn take_move(&mut self, next: &SearchMove, asked: &SearchSpec) -> Result<(), Violation> {
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
        self.give_command(&next.command, asked)?;
        match self.outside.iter().find(|(_, (applied, denied))| *applied > 1 + denied) {
            Some((mutation, (applied, _))) => {
                let found = format!("{mutation} took effect {applied} times");
                Err(self.trace_violation(&Violation::new("I4", found)))
            }
            None => Ok(()),
        }
    }

    fn give_command(&mut self, command: &Command, asked: &SearchSpec) -> Result<(), Violation> {
        let before = self.trace.take();
        self.trace = Some(Arc::new(SearchTraceStep { command: command.clone(), before }));
        let mut shadow = self.state.clone();
        let mut rng = Rng::for_decision(PROJECT, 0);
        let decided = decide(&mut self.state, command.clone(), &asked.policy, self.now, &mut rng);
        let mut check = || -> Result<(), Violation> {
            for recorded in decided.iter().flatten() {
                self.monitor.check_event(&shadow, recorded, &asked.policy)?;
                let kept = EventInvariant::capture_before(&shadow, recorded);
                check::apply_replayed(&mut shadow, recorded)?;
                if let Some(kept) = kept {
                    kept.check_after(&shadow, recorded)?;
                }
            }
            if self.state != shadow {
                let found = check::describe_difference(&self.state, &shadow);
                return Err(Violation::new("replaying gives the same state", found));
            }
            check::check_state(&self.state, &asked.policy)
        };
        check().map_err(|violation| self.trace_violation(&violation))
    }

    /// I7: in a state without moves, everything has ended or a person holds it.
    fn check_ended(&self) -> Result<(), Violation> {
        for build in self.state.builds() {
            let held = matches!(build.state, BuildState::Paused { .. });
            if !build.standing && !build.state.has_ended() && !held {
                return Err(Violation::new("I7", format!("{build:?}")));
            }
        }
        Ok(())
    }

    /// Returns the violation with the path to it.
    fn trace_violation(&self, violation: &Violation) -> Violation {
        let mut way = Vec::new();
        let mut step = self.trace.as_deref();
        while let Some(known) = step {
            way.push(format!("\n  > {:?}", known.command));
            step = known.before.as_deref();
        }
        way.reverse();
        Violation::new(violation.rule, format!("{}{}", violation.found, way.concat()))
    }

    /// Hashes everything but ids of runs and effects, times and history.
    fn fingerprint(&self) -> u64 {
        let mut told = String::new();
        for task in self.state.tasks() {
            let counters = &task.counters;
            let run = task.state.run().and_then(|run| self.state.run(run));
            write!(
                told,
                "{} {} {} {:?} {:?} {} {} {} {:?} {:?} {:?} {:?};",
                task.id,
                task.state.kind().as_str(),
                task.needs_left,
                task.next,
                run.map(|run| (run.phase, run.status, run.step, run.owes.is_some())),
                counters.consecutive,
                counters.crashes,
                counters.git,
                counters.transient.map(|transient| transient.count),
                task.charged,
                task.unsettled.as_ref().map(|fault| fault.code()),
                task.retrying,
            )
            .ok();
            if let Some(question) = find_task_question(&self.state, task.id) {
                write!(told, "{question:?};").ok();
            }
        }
        for build in self.state.builds() {
            write!(
                told,
                "{} {} {:?} {} {:?};",
                build.id,
                build.state.as_str(),
                build.merging.and_then(|run| self.state.run(run)).map(|run| run.task),
                build.questions_allowed,
                build.held.len(),
            )
            .ok();
        }
        for mutation in self.state.mutations() {
            let state = format!("{:?}", mutation.state);
            let name = state.split([' ', '{']).next().unwrap_or_default();
            let known = mutation.probes.min(5);
            write!(told, "{} {name} {known} {:?};", mutation.id, self.outside.get(&mutation.id))
                .ok();
        }
        for (signature, record) in self.state.signatures().iter() {
            write!(told, "{signature} {};", record.count).ok();
        }
        let mut hasher = DefaultHasher::new();
        (told, self.depth, self.crashes, self.buttons).hash(&mut hasher);
        hasher.finish()
    }
}

fn bare_fault(code: Code) -> Arc<Fault> {
    Arc::new(Fault::new(Kind::bare(code), "somewhere", "trouble"))
}

fn find_task_question(state: &State, task: TaskId) -> Option<(Subject, QuestionKind)> {
    state
        .questions()
        .find(|question| question.tasks.contains(&task))
        .map(|question| (question.subject, question.kind))
}
