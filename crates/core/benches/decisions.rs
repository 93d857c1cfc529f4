//! How many decisions a second: decide, apply and effects, without rendering texts.
//!
//! The mix is that of a busy night: half results, a quarter faults over all codes, then timers and
//! answers. Printed per size of plan and per length of history, with the ratio to the first row of
//! each table: the cost of a decision may grow with the logarithm of the plan at most, and not
//! with the history.

#![expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]
#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a benchmark may fall over")]

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use unstuck_core::attempt::{Approach, Digest};
use unstuck_core::engine::{
    Command, Effect, EffectChange, EffectKind, EffectOutcome, Event, GateKey, QuestionId, Rng,
    State, decide, requested_effects,
};
use unstuck_core::fault::{Code, Fault, Kind};
use unstuck_core::plan::{MutationKind, MutationSpec, Plan, TaskSpec};
use unstuck_core::policy::{Amount, Policy};
use unstuck_core::time::Time;

/// Errors that differ by more than their code.
const ERRORS_PER_CODE: usize = 16;
/// Agents side by side.
const SLOTS: u32 = 16;
const DECISIONS_PER_SAMPLE: u64 = 200_000;

fn main() {
    println!("{:>8} {:>12} {:>14} {:>7}", "tasks", "past events", "decisions/s", "ratio");
    let mut first = None;
    for tasks in [100, 1_000, 10_000] {
        let mut night = Night::new(tasks);
        night.go_on_until(1_000.max(u64::from(tasks) * 2));
        row(&mut night, tasks, &mut first);
    }
    println!();
    let mut first = None;
    let mut night = Night::new(100);
    for past in [1_000, 10_000, 100_000, 1_000_000] {
        night.go_on_until(past);
        row(&mut night, 100, &mut first);
    }
}

fn row(night: &mut Night, tasks: u32, first: &mut Option<f64>) {
    let past = night.state.seq();
    // The best of three: what else runs on the machine can only slow it down.
    let rate = (0..3).map(|_| night.sample()).fold(0.0, f64::max);
    let ratio = rate / *first.get_or_insert(rate);
    println!("{tasks:>8} {past:>12} {rate:>14.0} {ratio:>7.2}");
}

static BEGUN: OnceLock<Instant> = OnceLock::new();

/// How long this thread has been on a core: what others do on the machine does not count.
fn on_cpu() -> Duration {
    let spent = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanos = spent.and_then(|text| text.split(' ').next()?.parse().ok());
    nanos.map_or_else(|| BEGUN.get_or_init(Instant::now).elapsed(), Duration::from_nanos)
}

struct Night {
    state: State,
    policy: Policy,
    now: Time,
    rng: Rng,
    plan: Arc<Plan>,
    faults: Vec<Arc<Fault>>,
    approaches: Vec<Arc<Approach>>,
    owed: Vec<Effect>,
    open: Vec<QuestionId>,
    decisions: u64,
}

impl Night {
    fn new(tasks: u32) -> Self {
        let plan = Arc::new(Plan::new((0..tasks).map(task).collect()).expect("a plan"));
        let faults = Code::ALL
            .iter()
            .flat_map(|&code| (0..ERRORS_PER_CODE).map(move |n| fault(code, n)))
            .collect();
        let approaches = (0..64)
            .map(|n| Arc::new(Approach { digest: Some(Digest(n)), ..Approach::default() }))
            .collect();
        let mut night = Self {
            state: State::new("bench"),
            policy: Policy::default(),
            now: Time::from_millis(1_000_000_000_000),
            rng: Rng::from_seed(7),
            plan,
            faults,
            approaches,
            owed: Vec::new(),
            open: Vec::new(),
            decisions: 0,
        };
        night.start();
        night
    }

    fn start(&mut self) {
        self.decide(Command::StartBuild {
            plan: Arc::clone(&self.plan),
            slots: SLOTS,
            in_place: false,
        });
    }

    fn go_on_until(&mut self, events: u64) {
        while self.state.seq() < events {
            self.step();
        }
    }

    fn sample(&mut self) -> f64 {
        let (before, begun) = (self.decisions, on_cpu());
        while self.decisions - before < DECISIONS_PER_SAMPLE {
            self.step();
        }
        #[expect(clippy::cast_precision_loss, reason = "a rate needs no more digits")]
        let done = (self.decisions - before) as f64;
        done / on_cpu().saturating_sub(begun).as_secs_f64()
    }

    /// One decision of the mix: 50 % results, 25 % faults, 15 % timers, 10 % answers.
    fn step(&mut self) {
        match self.rng.next_u64() % 100 {
            0..50 => self.result(),
            50..75 => self.fault(),
            75..90 => self.timer(),
            _ => self.answer(),
        }
    }

    fn pick(&mut self, from: usize) -> usize {
        usize::try_from(self.rng.next_u64() % from as u64).unwrap()
    }

    fn take_owed(&mut self) -> Option<Effect> {
        if self.owed.is_empty() {
            return None;
        }
        let at = self.pick(self.owed.len());
        Some(self.owed.swap_remove(at))
    }

    fn result(&mut self) {
        let Some(effect) = self.take_owed() else { return self.answer() };
        let outcome = match effect.what {
            EffectKind::Attempt { .. } => {
                let at = self.pick(self.approaches.len());
                EffectOutcome::Attempted { approach: Arc::clone(&self.approaches[at]) }
            }
            EffectKind::Perform { .. } | EffectKind::Probe { .. } => {
                EffectOutcome::Applied { result: Arc::from("") }
            }
            _ => EffectOutcome::Done,
        };
        self.decide(Command::Settle { effect: effect.id, outcome, spent: Amount::ZERO });
    }

    fn fault(&mut self) {
        let Some(effect) = self.take_owed() else { return self.answer() };
        let at = self.pick(self.faults.len());
        let outcome = EffectOutcome::Failed { fault: Arc::clone(&self.faults[at]), approach: None };
        self.decide(Command::Settle { effect: effect.id, outcome, spent: Amount::ZERO });
    }

    fn timer(&mut self) {
        if let Some(at) = self.state.next_wake() {
            self.now = self.now.max(at);
        }
        self.decide(Command::Wake);
    }

    fn answer(&mut self) {
        if self.open.is_empty() {
            return self.timer();
        }
        let at = self.pick(self.open.len());
        let question = self.open.swap_remove(at);
        let Some(kind) = self.state.question(question).map(|question| question.kind) else {
            return;
        };
        let decision = kind.decisions()[0];
        let by = Arc::from("bench");
        self.decide(Command::Answer { question, decision, guidance: None, by });
    }

    fn decide(&mut self, command: Command) {
        self.decisions += 1;
        let decided = decide(&mut self.state, command, &self.policy, self.now, &mut self.rng);
        let mut over = false;
        for recorded in decided.unwrap_or_default() {
            match &recorded.event {
                Event::QuestionAsked { question } => self.open.push(question.id),
                Event::BuildCompleted { .. } | Event::BuildFailed { .. } => over = true,
                _ => {}
            }
            let new = requested_effects(&self.state, &recorded);
            self.owed.extend(new.filter_map(|change| match change {
                EffectChange::Start(effect) => Some(effect),
                EffectChange::Stop(_) => None,
            }));
        }
        if over {
            self.start();
        }
    }
}

fn task(number: u32) -> TaskSpec {
    let merge = MutationSpec {
        key: "merge".to_owned(),
        kind: MutationKind::Merge,
        probe: true,
        ..MutationSpec::default()
    };
    TaskSpec {
        name: number.to_string(),
        title: format!("Task {number}"),
        gate: GateKey(u64::from(number % 4)),
        mutations: vec![Arc::new(merge)],
        ..TaskSpec::default()
    }
}

fn fault(code: Code, number: usize) -> Arc<Fault> {
    Arc::new(Fault::new(Kind::bare(code), "bench", format!("error {}", "x".repeat(number))))
}
