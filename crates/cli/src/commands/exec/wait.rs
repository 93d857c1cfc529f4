//! Waits for the end of a job, for a person, or for a signal.

use tokio::time::Instant;
use unstuck_core::engine::{Event, QuestionId, RecordedEvent, TaskId, TaskState};
use unstuck_core::fault::Code;
use unstuck_core::time::{Span, Time};
use unstuck_runner::{HoldReason, RunnerNotice};

use super::tell::JobReporter;
use crate::error::CliError;
use crate::exit::Exit;
use crate::project::{self, EndSignal, ProjectMessage, ProjectSession, sleep_until_some};

const SKIPPED_EARLIER: &str = "The earlier run was skipped, as you chose; running it again.";

/// Waits of this length belong to the retries of a command, whatever the maximum wait is.
const RETRY_WAIT_MAX: Span = Span::from_secs(30);

/// The outcome for this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JobEnding {
    Done,
    /// A person left the job out, or ended it.
    LeftOut,
    /// The job failed for good.
    Failed(Code),
    /// A person is needed, and the maximum wait is over.
    NeedsPerson,
    /// A person paused all jobs, and the maximum wait is over.
    Paused,
    /// Another process still runs the job, and the maximum wait is over.
    Busy,
    /// An account or a service is limited for longer than the maximum wait.
    Limited,
    /// A signal ended this process.
    Signal(EndSignal),
}

impl JobEnding {
    pub(crate) const fn to_exit(self) -> Exit {
        match self {
            Self::Done => Exit::Done,
            Self::LeftOut => Exit::SomeFailed,
            Self::Failed(code) => Exit::from_code(code),
            Self::NeedsPerson => Exit::Waiting,
            Self::Paused => Exit::Paused,
            Self::Busy | Self::Limited => Exit::Limited,
            Self::Signal(signal) => signal.to_exit(),
        }
    }
}

/// Follows a task until there is nothing left to wait for; returns `None` if the holder is gone before.
/// With `firing`, the firings after that one do not count.
pub(crate) async fn follow_until_end(
    session: &mut ProjectSession,
    (task, firing): (TaskId, Option<u32>),
    teller: &JobReporter,
    max_wait: Option<Span>,
) -> Result<Option<JobEnding>, CliError> {
    let patience = PersonWait::default();
    let mut followed = TaskFollower { task, firing, teller, max_wait, patience };
    // The state may have changed before the subscription.
    if let Some(ending) = followed.check_state(session).await? {
        return Ok(Some(ending));
    }
    loop {
        let ending = tokio::select! {
            biased;
            heard = session.next_message() => match heard? {
                ProjectMessage::HolderGone => return Ok(None),
                ProjectMessage::Notice(RunnerNotice::Event { recorded, narration }) => {
                    followed.handle_event(session, &recorded, narration.as_deref()).await?
                }
                ProjectMessage::Notice(RunnerNotice::StoreWaiting { message, .. }) => {
                    JobReporter::report_store_waiting(&message);
                    None
                }
                ProjectMessage::Notice(RunnerNotice::StoreBack) => {
                    JobReporter::report_store_back();
                    None
                }
                ProjectMessage::Notice(RunnerNotice::Gap) => followed.check_state(session).await?,
                ProjectMessage::Notice(RunnerNotice::Left) => None,
            },
            () = sleep_until_some(followed.patience.until) => {
                if followed.patience.is_limited {
                    followed.teller.report_limited(None);
                }
                Some(followed.patience.to_ending())
            }
        };
        if ending.is_some() {
            return Ok(ending);
        }
    }
}

#[derive(Default)]
struct PersonWait {
    told: Option<QuestionId>,
    /// Set if a person paused all jobs, and this was reported.
    is_held: bool,
    /// Set if the wait is one for an account or a service.
    is_limited: bool,
    until: Option<Instant>,
}

impl PersonWait {
    const fn to_ending(&self) -> JobEnding {
        match (self.is_limited, self.is_held) {
            (true, _) => JobEnding::Limited,
            (false, true) => JobEnding::Paused,
            (false, false) => JobEnding::NeedsPerson,
        }
    }
}

/// Returns how a firing ended, if the event says so.
const fn ending_from_event(event: &Event) -> Option<JobEnding> {
    Some(match event {
        Event::TaskDone { .. } => JobEnding::Done,
        Event::TaskSkipped { .. } | Event::TaskCancelled { .. } => JobEnding::LeftOut,
        Event::TaskFailed { code, .. } => JobEnding::Failed(*code),
        _ => return None,
    })
}

struct TaskFollower<'a> {
    task: TaskId,
    /// The last firing that counts; without it, all of them do.
    firing: Option<u32>,
    teller: &'a JobReporter,
    max_wait: Option<Span>,
    patience: PersonWait,
}

impl TaskFollower<'_> {
    /// Reports an event and handles it. A skip after which the task has not ended as skipped is one
    /// of an earlier firing, which the operator answered in the meantime.
    async fn handle_event(
        &mut self,
        session: &ProjectSession,
        recorded: &RecordedEvent,
        narration: Option<&str>,
    ) -> Result<Option<JobEnding>, CliError> {
        if !matches!(&recorded.event, Event::TaskSkipped { task, .. } if *task == self.task) {
            self.teller.report_event(self.task, recorded, narration);
            return self.on_event(session, recorded).await;
        }
        let ending = self.on_event(session, recorded).await?;
        let said = match ending {
            Some(JobEnding::LeftOut) => narration,
            _ => Some(SKIPPED_EARLIER),
        };
        self.teller.report_event(self.task, recorded, said);
        Ok(ending)
    }

    /// Handles an event. An event is only a reason to look up the state: it may belong to an earlier
    /// firing, which ended while this process waited for the lock.
    async fn on_event(
        &mut self,
        session: &ProjectSession,
        recorded: &RecordedEvent,
    ) -> Result<Option<JobEnding>, CliError> {
        match &recorded.event {
            Event::TaskDone { task, .. }
            | Event::TaskSkipped { task, .. }
            | Event::TaskCancelled { task }
            | Event::TaskFailed { task, .. }
            | Event::TaskParked { task, .. }
            | Event::TaskBackingOff { task, .. }
                if *task == self.task =>
            {
                if let Some(ending) = ending_from_event(&recorded.event)
                    && self.is_past_firing(session).await?
                {
                    return Ok(Some(ending));
                }
                self.check_state(session).await
            }
            Event::BuildPaused { .. } => self.check_state(session).await,
            Event::BuildResumed { .. } => {
                self.patience = PersonWait::default();
                self.check_state(session).await
            }
            Event::TaskUnparked { task, .. } | Event::TaskReady { task, .. }
                if *task == self.task =>
            {
                self.patience = PersonWait::default();
                Ok(None)
            }
            _ => Ok(None),
        }
    }

    /// Returns the outcome, if the state of the task is one.
    async fn check_state(
        &mut self,
        session: &ProjectSession,
    ) -> Result<Option<JobEnding>, CliError> {
        let seen = self.task_state(session).await?;
        Ok(match seen.map(|(state, _)| state) {
            Some(TaskState::Done) => Some(JobEnding::Done),
            Some(TaskState::Skipped { .. } | TaskState::Cancelled) => Some(JobEnding::LeftOut),
            Some(TaskState::Failed { code }) => Some(JobEnding::Failed(code)),
            Some(TaskState::Parked { question, .. }) => self.wait_for_answer(question).await?,
            Some(TaskState::BackingOff { until, gate, .. }) => {
                self.wait_for_service(until, gate.is_some())
            }
            Some(TaskState::Pending { .. } | TaskState::Running { .. }) => {
                self.check_held(session).await?
            }
            _ => None,
        })
    }

    /// Returns whether the job runs again already, after the last firing that counts.
    async fn is_past_firing(&self, session: &ProjectSession) -> Result<bool, CliError> {
        let Some(firing) = self.firing else { return Ok(false) };
        Ok(self.task_state(session).await?.is_some_and(|(_, now)| now > firing))
    }

    /// Returns the state of the task and the number of its firing. The holder has it in memory, a moment
    /// ahead of the disk; it waits for the disk before it leaves. A loop that has ended reports the reason
    /// itself.
    async fn task_state(
        &self,
        session: &ProjectSession,
    ) -> Result<Option<(TaskState, u32)>, CliError> {
        let task = self.task;
        match session.holder_handle() {
            Some(handle) => {
                let seen = handle
                    .read_state(move |state| {
                        state.task(task).map(|task| (task.state.clone(), task.firing))
                    })
                    .await;
                Ok(seen.ok().flatten())
            }
            None => {
                let change = self.teller.load_change(task).await?;
                Ok(change.map(|change| (change.state, change.firing)))
            }
        }
    }

    /// Checks whether all jobs are held, because of too many open questions or by a person.
    async fn check_held(
        &mut self,
        session: &ProjectSession,
    ) -> Result<Option<JobEnding>, CliError> {
        match session.hold_reason(self.task).await? {
            Some(HoldReason::Question(question)) => self.wait_for_answer(question).await,
            Some(HoldReason::Person) => {
                if !std::mem::replace(&mut self.patience.is_held, true) {
                    self.teller.report_all_paused();
                }
                Ok(self.start_wait())
            }
            None => Ok(None),
        }
    }

    /// Shows the question and waits for a person as long as allowed. A question that is not on disk yet is
    /// shown once it is.
    async fn wait_for_answer(
        &mut self,
        question: QuestionId,
    ) -> Result<Option<JobEnding>, CliError> {
        if self.patience.told != Some(question) {
            if !self.teller.show_question(question, self.max_wait).await? {
                return Ok(None);
            }
            self.patience.told = Some(question);
        }
        Ok(self.start_wait())
    }

    /// Waits for an account or a service as long as allowed. Short waits between two tries of a command
    /// are not counted.
    fn wait_for_service(&mut self, until: Option<Time>, is_at_gate: bool) -> Option<JobEnding> {
        let max = self.max_wait?;
        let Some(until) = until else {
            self.patience.is_limited = true;
            return self.start_wait();
        };
        let wait = until.since(project::now());
        let is_longer = wait > max && (is_at_gate || wait > RETRY_WAIT_MAX);
        is_longer.then(|| {
            self.teller.report_limited(Some(until));
            JobEnding::Limited
        })
    }

    /// Starts the wait; returns the outcome if no wait is allowed.
    fn start_wait(&mut self) -> Option<JobEnding> {
        match self.max_wait {
            Some(Span::ZERO) => return Some(self.patience.to_ending()),
            Some(wait) => {
                self.patience.until.get_or_insert(Instant::now() + wait.into());
            }
            None => {}
        }
        None
    }
}
