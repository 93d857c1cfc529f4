//! Plays the night and shows it, from the point of an interruption if there was one: the real loop on a real
//! store, in virtual time, in a process of its own.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use tokio::sync::broadcast;
use tokio::task::JoinHandle;
use unstuck_core::engine::{Command, Event, QuestionId, RecordedEvent, State};
use unstuck_core::policy::Policy;
use unstuck_core::question::Decision;
use unstuck_core::time::{Span, Time};
use unstuck_runner::build::BuildPerformer;
use unstuck_runner::report::{BuildFacts, BuildReport};
use unstuck_runner::{
    Clock as _, CommandError, PerformScope, Runner, RunnerHandle, RunnerNotice, RunnerResult,
    RunnerSetup,
};
use unstuck_store::tables::QuestionRow;
use unstuck_store::{Answer, EventPage, SqliteStore, Store, crash};

use super::DemoArgs;
use super::pace::{NightClock, PacedPerformer, shop_build_settings};
use super::show::{self, DemoAnswerer};
use super::story::{self, DemoShop};
use crate::commands::report;
use crate::error::CliError;
use crate::exit::Exit;
use crate::project;
use crate::render::{Terminal, when};

pub(super) async fn play_night(
    args: &DemoArgs,
    folder: &Path,
    terminal: &Terminal,
) -> Result<Exit, CliError> {
    if let Some(nth) = args.crash_at {
        crash::arm_crash(nth);
    }
    let mut out = terminal.styled();
    let width = terminal.width();
    let mut person = DemoAnswerer::new(args.auto);
    let mut night = Night::begin(folder, args.seed).await?;
    if night.read_back > 0 {
        show::write_read_back(&mut out, night.now(), night.read_back)?;
    }
    loop {
        match night.current_state().await? {
            NightState::Over => break,
            NightState::StandsStill(question) => {
                ask_person(&night, question, &mut person, folder, &mut out, width).await?;
            }
            NightState::GoesOn => {}
        }
        let (recorded, narration) = night.next_event().await?;
        if let Some(sentence) = narration {
            show::write_event(&mut out, &recorded, &sentence, width)?;
            out.flush()?;
        }
        if let Event::GatePassing { .. } = recorded.event
            && !args.gently
            && record_first_kill(folder)
        {
            night.settle().await;
            kill_self();
        }
    }
    show::write_reasons(&mut out, &night.load_journal().await?, width)?;
    if let Some(morning) = night.load_report().await? {
        show::write_report_heading(&mut out)?;
        report::write_report(&mut out, morning, width)?;
    }
    show::write_next_steps(&mut out, width)?;
    out.flush()?;
    night.shut_down().await?;
    Ok(Exit::Done)
}

async fn ask_person(
    night: &Night,
    id: QuestionId,
    person: &mut DemoAnswerer,
    folder: &Path,
    out: &mut impl Write,
    width: usize,
) -> Result<(), CliError> {
    let Some(question) = night.load_question(id).await? else { return Ok(()) };
    show::write_question(out, &question.text, width)?;
    out.flush()?;
    let answer = person.answer_question(out, Some(&question.text))?;
    show::write_answer(out, &answer, question.code)?;
    if answer.decision == Decision::ProvideCredentials {
        DemoShop::open(folder)?.renew_key()?;
    }
    let guidance = answer.guidance.as_deref().map(Arc::from);
    let decision = answer.decision;
    let by = Arc::from("you");
    let at = night.now();
    night.record_answer(Answer { question: id, decision, guidance, by, at }).await
}

/// Returns whether the night has not been killed yet, and records the kill: one is enough.
fn record_first_kill(folder: &Path) -> bool {
    fs::OpenOptions::new().write(true).create_new(true).open(folder.join("killed")).is_ok()
}

/// Kills this process with SIGKILL.
fn kill_self() {
    let own = rustix::process::getpid();
    let _ = rustix::process::kill_process(own, rustix::process::Signal::KILL);
}

/// Virtual time that a person takes to see a question and answer it.
const ANSWER_TAKES: Span = Span::from_mins(6);
/// Maximum number of events per read.
const PAGE: u32 = 10_000;

struct Night {
    project: Arc<str>,
    store: Arc<dyn Store>,
    clock: Arc<NightClock>,
    handle: RunnerHandle,
    running: JoinHandle<RunnerResult>,
    notices: broadcast::Receiver<RunnerNotice>,
    /// Number of events in the journal at the start of this process.
    read_back: u64,
    /// The sequence number of the last event shown.
    told: u64,
}

enum NightState {
    /// Work goes on without a person.
    GoesOn,
    /// No work goes on before this question is answered.
    StandsStill(QuestionId),
    /// The night is over.
    Over,
}

impl Night {
    /// Begins a night in a folder, or continues one that was interrupted there.
    async fn begin(folder: &Path, seed: u64) -> Result<Self, CliError> {
        let project: Arc<str> = Arc::from(format!("demo-{seed}"));
        let store: Arc<dyn Store> = Arc::new(SqliteStore::open(folder.join("state.db"))?);
        let clock = Arc::new(NightClock::starting_at(when::first_evening()));
        let setup = RunnerSetup {
            store: Arc::clone(&store),
            project: Arc::clone(&project),
            holder: project::describe_holder("demo"),
            policy: Arc::new(Policy::default()),
            clock: Arc::clone(&clock) as _,
            gates: None,
            turns: None,
        };
        let runner = Runner::open(setup).await?;
        let handle = runner.handle();
        let read_back = runner.state().seq();
        if read_back > 0 {
            let page = EventPage { after: read_back - 1, limit: 1 };
            let last = store.load_events(&project, page).await?;
            clock.advance_to(last.first().map_or(clock.now(), |recorded| recorded.at));
        }
        clock.set_handle(handle.clone());
        let notices = handle.subscribe_notices();
        let running = tokio::spawn(runner.run());
        let settings = shop_build_settings(folder, &DemoShop::open(folder)?).await?;
        let told = handle.clone();
        let when = Arc::clone(&clock) as _;
        let build =
            BuildPerformer::new(settings, Arc::new(told), Arc::clone(&store), &*project, when);
        let world = PacedPerformer { build, clock: Arc::clone(&clock) };
        handle.attach_performer(PerformScope::Project, Arc::new(world)).await?;
        let night =
            Self { project, store, clock, handle, running, notices, read_back, told: read_back };
        if read_back == 0 {
            let start =
                Command::StartBuild { plan: story::night_plan(), slots: 3, in_place: false };
            night.handle.submit_command(start).await?;
        }
        Ok(night)
    }

    /// Waits until all work of the current virtual moment is complete.
    async fn settle(&self) {
        self.clock.settle().await;
    }

    fn now(&self) -> Time {
        self.clock.now()
    }

    async fn next_event(&mut self) -> Result<(Arc<RecordedEvent>, Option<Arc<str>>), CliError> {
        loop {
            match self.notices.recv().await {
                Ok(RunnerNotice::Event { recorded, narration }) => {
                    self.told = recorded.seq;
                    return Ok((recorded, narration));
                }
                Ok(_) => {}
                Err(_) => return Err(CommandError::Ended.into()),
            }
        }
    }

    /// Returns the state of the night; it goes on as long as not all events have been shown.
    async fn current_state(&self) -> Result<NightState, CliError> {
        let told = self.told;
        let look = move |state: &State| {
            let waits = state.outstanding_effects().is_empty() && state.next_wake().is_none();
            match state.questions().next() {
                _ if told < state.seq() => NightState::GoesOn,
                _ if state.builds().all(|build| build.state.has_ended()) => NightState::Over,
                Some(question) if waits => NightState::StandsStill(question.id),
                _ => NightState::GoesOn,
            }
        };
        Ok(self.handle.read_state(look).await?)
    }

    async fn load_question(&self, id: QuestionId) -> Result<Option<QuestionRow>, CliError> {
        Ok(self.store.load_question(&self.project, id).await?)
    }

    /// Records an answer like any other client: a row in the store, then a notice to the loop.
    async fn record_answer(&self, answer: Answer) -> Result<(), CliError> {
        self.clock.advance_to(self.clock.now() + ANSWER_TAKES);
        self.store.record_answer(&self.project, answer).await?;
        self.handle.take_answers().await?;
        Ok(())
    }

    /// Returns the report of the night, the same as for any build.
    async fn load_report(&self) -> Result<Option<BuildReport>, CliError> {
        let seen = (false, self.now());
        let facts = BuildFacts::load(self.store.as_ref(), &self.project, None, seen).await?;
        Ok(facts.as_ref().map(BuildReport::from_facts))
    }

    async fn load_journal(&self) -> Result<Vec<RecordedEvent>, CliError> {
        Ok(self.store.load_events(&self.project, EventPage { after: 0, limit: PAGE }).await?)
    }

    /// Releases the store in an orderly way.
    async fn shut_down(self) -> Result<(), CliError> {
        self.handle.shut_down(false).await;
        self.running.await.map_err(|_| CommandError::Ended)??;
        Ok(())
    }
}
