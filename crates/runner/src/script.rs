//! A command that is kept alive: runs it under the guard and says how it ended.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use unstuck_core::engine::{Effect, EffectId, Outcome, TaskId, Work};
use unstuck_core::fault::Fault;
use unstuck_core::policy::Amount;
use unstuck_world::mcp;
use unstuck_world::process::{
    Deadlines, Ended, Guard, How, Input, Launch, Output, Process, Session, Turn, Waiting, verdict,
};
use unstuck_world::redact::Redactor;

use crate::clean;
use crate::control::TokenKey;
use crate::jobs::{Care, check};
use crate::ledger::sender_gone;
use crate::lock::lock;
use crate::probe::Prober;
use crate::repair::Repairer;
use crate::results::Results;
use crate::runs::Runs;
use crate::turn::Turns;
use crate::world::{Order, Report, World};

/// A person's Ctrl-C reaches the command and us at the same time; this long we look whether it did.
const CTRL_C_GRACE: Duration = Duration::from_millis(300);
/// A script reads what we would read.
const INPUT: Input = Input::Inherit;
/// The signal of Ctrl-C, and the status a shell gives for it.
const SIGINT: i32 = 2;
const STATUS_SIGINT: i32 = 130;

/// A command, and what it needs to be run.
#[derive(Clone, Debug)]
pub struct Script {
    /// What becomes its guard.
    pub guard: Guard,
    /// Where lock files of runs are.
    pub runs: PathBuf,
    /// The program.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Where it runs.
    pub directory: PathBuf,
    /// How long it may take.
    pub timeout: Option<Duration>,
    /// Where it can reach whoever holds the project.
    pub socket: PathBuf,
    /// What its token is made with.
    pub key: TokenKey,
    /// Where long results of its actions are kept.
    pub results: Results,
    /// Takes secrets out of what is remembered of its failures.
    pub redactor: Arc<Redactor>,
}

/// A script that is performed here. Clones are the same one.
#[derive(Clone, Debug)]
pub struct ScriptWorld(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    script: Script,
    /// For the first execution, which is the one that somebody waits for.
    ahead: Mutex<Option<Waiting>>,
    runs: Runs,
    turns: Turns,
    running: Mutex<BTreeMap<EffectId, Running>>,
    last_status: Mutex<Option<i32>>,
    has_begun: AtomicBool,
    turn: Mutex<Option<Turn>>,
    repairer: Mutex<Option<Arc<Repairer>>>,
    care: Care,
}

/// An execution, under way or over. It outlives the loop that asked for it: when the process that
/// held the project ends before the result is on disk, another one asks for the same effect again
/// and gets the same result.
#[derive(Clone, Debug)]
struct Running {
    stop: CancellationToken,
    progress: watch::Receiver<Progress>,
}

/// How far an execution is.
#[derive(Clone, Debug)]
enum Progress {
    UnderWay,
    /// Without a report when it was stopped.
    Over(Option<Report>),
}

impl Running {
    async fn over(&mut self) -> Option<Report> {
        let over = |progress: &Progress| matches!(progress, Progress::Over(_));
        match self.progress.wait_for(over).await.as_deref() {
            Ok(Progress::Over(report)) => report.clone(),
            _ => None,
        }
    }
}

impl ScriptWorld {
    /// A guard for a script, coming up while the rest is made ready.
    pub fn guard_ahead(guard: &Guard) -> Option<Waiting> {
        // Without one it is started when it is needed, and then says what is wrong.
        Waiting::start(guard, &INPUT).ok()
    }

    /// Performs `script`, the first time under a guard that came up ahead, if there is one.
    pub fn new(script: Script, ahead: Option<Waiting>) -> Self {
        Self::caring(script, ahead, Care::default())
    }

    /// The same, for a job that is defined in the settings.
    pub fn caring(script: Script, ahead: Option<Waiting>, care: Care) -> Self {
        Self(Arc::new(Shared {
            care,
            runs: Runs::new(script.runs.clone()),
            turns: Turns::new(script.runs.clone()),
            script,
            ahead: Mutex::new(ahead),
            running: Mutex::default(),
            last_status: Mutex::default(),
            has_begun: AtomicBool::new(false),
            turn: Mutex::default(),
            repairer: Mutex::default(),
        }))
    }

    /// From now on the script is repaired by `repairer` when it breaks. Without one it never is.
    pub fn repair_with(&self, repairer: Repairer) {
        *lock(&self.0.repairer) = Some(Arc::new(repairer));
    }

    /// Takes the turn at a task for as long as this lives, unless another process that lives has
    /// it; tells which. Whoever performs without it may end what somebody else is doing.
    pub fn try_take_turn(&self, task: TaskId) -> io::Result<bool> {
        let mut turn = lock(&self.0.turn);
        if turn.is_none() {
            *turn = self.0.turns.try_take(task)?;
        }
        Ok(turn.is_some())
    }

    /// The same, waiting for it.
    pub async fn take_turn(&self, task: TaskId) -> io::Result<()> {
        let taken = self.0.turns.take(task).await?;
        *lock(&self.0.turn) = Some(taken);
        Ok(())
    }

    /// Whether the command was ever started here.
    pub fn has_begun(&self) -> bool {
        self.0.has_begun.load(Ordering::Acquire)
    }

    /// The status the command ended with last, where it ended by itself.
    pub fn last_status(&self) -> Option<i32> {
        *lock(&self.0.last_status)
    }

    /// Ends what is running, and returns when it is gone.
    pub async fn end(&self) {
        let running: Vec<Running> = lock(&self.0.running).values().cloned().collect();
        for mut running in running {
            running.stop.cancel();
            // Nobody says it when the runtime is ending.
            running.over().await;
        }
    }

    async fn execute(&self, order: Order, stop: CancellationToken) -> Option<Report> {
        let effect = order.effect.id;
        let mut running = self.begin(order);
        tokio::select! {
            report = running.over() => return report,
            () = stop.cancelled() => {}
        }
        running.stop.cancel();
        let report = running.over().await;
        lock(&self.0.running).remove(&effect);
        report
    }

    /// Starts the command, or its repair, unless that runs already.
    fn begin(&self, order: Order) -> Running {
        self.0.has_begun.store(true, Ordering::Release);
        let effect = order.effect.id;
        let mut all = lock(&self.0.running);
        if let Some(running) = all.get(&effect) {
            return running.clone();
        }
        // Another effect comes only when the results of all earlier ones are on disk.
        all.retain(|_, earlier| matches!(*earlier.progress.borrow(), Progress::UnderWay));
        let (say, progress) = watch::channel(Progress::UnderWay);
        let running = Running { stop: CancellationToken::new(), progress };
        all.insert(effect, running.clone());
        let (world, stop) = (self.clone(), running.stop.clone());
        tokio::spawn(async move {
            let report = match order.effect.what {
                Work::Repair { propose } => world.0.repair(&order, propose, &stop).await,
                _ => world.0.run_in_turn(&order, &stop).await,
            };
            say.send_replace(Progress::Over(report));
        });
        running
    }
}

#[async_trait]
impl World for ScriptWorld {
    async fn perform(&self, order: Order, stop: CancellationToken) -> Option<Report> {
        match order.effect.what {
            Work::Execute { .. } | Work::Repair { .. } => self.execute(order, stop).await,
            Work::Probe { .. } => self.0.prober().look_up(&order, &stop).await.map(Report::from),
            // Whoever was about to send it is gone, and may have sent it.
            Work::Perform { .. } => Some(Outcome::Unknown { fault: sender_gone() }.into()),
            _ => Some(Outcome::Done.into()),
        }
    }

    fn performing(&self) -> Vec<EffectId> {
        lock(&self.0.running).keys().copied().collect()
    }

    async fn clear(&self, tasks: &[TaskId]) {
        let never = CancellationToken::new();
        for task in tasks {
            self.0.runs.clear(*task, &never).await;
        }
    }
}

impl Shared {
    /// Runs it. Where nobody watches it, other processes may perform it as well: one at a time.
    async fn run_in_turn(&self, order: &Order, stop: &CancellationToken) -> Option<Report> {
        if self.care.logs.is_none() {
            return self.run(order, stop).await;
        }
        let turn = tokio::select! {
            turn = self.turns.take(order.effect.task) => turn,
            () = stop.cancelled() => return None,
        };
        if let Err(error) = &turn {
            tracing::error!(%error, job = order.task.name, "the turn at a job cannot be had");
        }
        let report = self.run(order, stop).await;
        drop(turn);
        report
    }

    async fn run(&self, order: &Order, stop: &CancellationToken) -> Option<Report> {
        let path = self.runs.lock_path(order.effect.task, order.effect.run);
        let source = format!("exec:{}", order.task.name);
        // Whoever ran it before may have been killed a moment ago.
        if !self.runs.clear(order.effect.task, stop).await {
            return None;
        }
        if let Some(outcome) = self.still_broken(order, stop).await {
            return outcome.map(Report::from);
        }
        let report = match self.start(order, path.clone()).await {
            Ok(process) => {
                let stopper = process.stopper();
                let wait = process.wait();
                tokio::pin!(wait);
                let ended = tokio::select! {
                    ended = &mut wait => ended,
                    () = stop.cancelled() => {
                        stopper.stop();
                        wait.await
                    }
                };
                self.report(&ended, &source, stop).await
            }
            Err(fault) => Some(Outcome::Failed { fault: Arc::new(fault), approach: None }.into()),
        };
        // The tree is gone, and with it the need for its lock. Nobody waits for that: the file
        // system may take milliseconds for it.
        tokio::task::spawn_blocking(|| fs::remove_file(path));
        report
    }

    /// Whether what a person says is mended is not; without anything where it was stopped.
    async fn still_broken(
        &self,
        order: &Order,
        stop: &CancellationToken,
    ) -> Option<Option<Outcome>> {
        let (Some(fault), Some(command)) = (&order.mended, &self.care.check) else { return None };
        let Effect { id, task, .. } = order.effect;
        // Named so that recovery ends it with the rest.
        let lock = self.script.runs.join(format!("{task}-{id}-check.lock"));
        let launch = Launch::new(self.script.guard.clone(), &lock, &self.script.directory, "");
        let passed = check::passes(launch, command, stop).await;
        let _ = fs::remove_file(lock);
        match passed {
            _ if stop.is_cancelled() => Some(None),
            Ok(true) => None,
            Ok(false) => Some(Some(check::same_again(fault))),
            Err(fault) => {
                let fault = Arc::new(clean::fault(&self.script.redactor, &fault));
                Some(Some(Outcome::Failed { fault, approach: None }))
            }
        }
    }

    /// Lets an agent repair the script. Where there is none, a person has seen to it.
    async fn repair(
        &self,
        order: &Order,
        only_propose: bool,
        stop: &CancellationToken,
    ) -> Option<Report> {
        let repairer = lock(&self.repairer).clone();
        let Some(repairer) = repairer else { return Some(Outcome::Done.into()) };
        // Whoever repaired it before may have been killed a moment ago.
        if !self.runs.clear(order.effect.task, stop).await {
            return None;
        }
        let report = repairer.perform(order, only_propose, stop).await;
        // The agent is gone, and with it the need for its lock.
        let _ = fs::remove_file(self.runs.lock_path(order.effect.task, order.effect.run));
        report
    }

    fn prober(&self) -> Prober {
        let Script { guard, runs, directory, results, .. } = self.script.clone();
        Prober { guard, runs, directory, results }
    }

    async fn report(
        &self,
        ended: &Ended,
        source: &str,
        stop: &CancellationToken,
    ) -> Option<Report> {
        *lock(&self.last_status) = match ended.how {
            How::Exited(status) => Some(status),
            How::Signalled(signal) => Some(128 + signal),
            _ => None,
        };
        let by_ctrl_c = matches!(ended.how, How::Signalled(SIGINT) | How::Exited(STATUS_SIGINT));
        if ended.how == How::Stopped || by_ctrl_c && asked_to_stop(stop).await {
            return None;
        }
        let command = self.script.program.to_string_lossy();
        let outcome = match verdict(ended, source, &command) {
            None => Outcome::Done,
            Some(fault) => {
                let fault = Arc::new(clean::fault(&self.script.redactor, &fault));
                Outcome::Failed { fault, approach: None }
            }
        };
        let time_ms = u64::try_from(ended.duration.as_millis()).unwrap_or(u64::MAX);
        Some(Report { outcome, spent: Amount { time_ms, ..Amount::ZERO } })
    }

    async fn start(&self, order: &Order, lock_path: PathBuf) -> Result<Process, Fault> {
        let launch = self.launch(order, lock_path);
        // Whatever killed it while it waited is no reason not to start.
        let ahead = lock(&self.ahead).take().and_then(Waiting::if_alive);
        match ahead {
            Some(guard) => launch.start_under(guard).await,
            None => launch.start().await,
        }
    }

    fn launch(&self, order: &Order, lock: PathBuf) -> Launch {
        let script = &self.script;
        let retry = match order.effect.what {
            Work::Execute { retry } => retry,
            _ => 0,
        };
        let mut launch =
            Launch::new(script.guard.clone(), lock, &script.directory, &script.program);
        launch.arguments.clone_from(&script.arguments);
        launch.environment = vec![
            own(mcp::SOCKET, &script.socket),
            own(mcp::TOKEN, script.key.token(order.effect.id).as_str()),
            own(mcp::RUN, order.effect.run.to_string()),
            own("UNSTUCK_RETRY", retry.to_string()),
        ];
        match &self.care.logs {
            None => {
                launch.input = INPUT;
                launch.output = Output::PassThrough;
                // Its terminal is ours, so that it can ask for a password as it always does.
                launch.session = Session::Caller;
            }
            // Nobody is there to answer it.
            Some(logs) => launch.output = logs.output(order.firing, &script.redactor),
        }
        launch.deadlines = Deadlines { total: script.timeout, ..Deadlines::default() };
        launch
    }
}

/// A variable of the environment.
fn own(name: &str, value: impl Into<OsString>) -> (OsString, Option<OsString>) {
    (OsString::from(name), Some(value.into()))
}

async fn asked_to_stop(stop: &CancellationToken) -> bool {
    tokio::time::timeout(CTRL_C_GRACE, stop.cancelled()).await.is_ok()
}
