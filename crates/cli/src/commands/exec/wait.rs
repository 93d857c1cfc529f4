//! Waits for the end of a job, for a person, or for a signal.

use std::future::pending;

use tokio::time::{Instant, sleep_until};
use unstuck_core::engine::{Event, QuestionId, Recorded, TaskId, TaskState};
use unstuck_core::fault::Code;
use unstuck_core::time::Span;
use unstuck_runner::{HeldBy, Look, Looked, Notice};

use super::tell::Teller;
use crate::error::Error;
use crate::exit::Exit;
use crate::project::{Heard, Seat, Signal};

/// The outcome for this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The command succeeded.
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
    /// A signal ended this process.
    Signal(Signal),
    /// The holder is gone.
    HolderGone,
}

impl Ending {
    pub(crate) const fn exit(self) -> Exit {
        match self {
            Self::Done => Exit::Done,
            Self::LeftOut | Self::HolderGone => Exit::SomeFailed,
            Self::Failed(code) => Exit::of(code),
            Self::NeedsPerson => Exit::Waiting,
            Self::Paused => Exit::Paused,
            Self::Busy => Exit::Limited,
            Self::Signal(signal) => signal.exit(),
        }
    }
}

/// Follows a task until there is nothing left to wait for.
pub(crate) async fn until_it_ends(
    seat: &mut Seat,
    task: TaskId,
    teller: &Teller,
    max_wait: Option<Span>,
) -> Result<Ending, Error> {
    let mut followed = Followed { task, teller, max_wait, patience: Patience::default() };
    // The state may have changed before the subscription.
    if let Some(ending) = followed.look(seat).await? {
        return Ok(ending);
    }
    loop {
        let ending = tokio::select! {
            biased;
            heard = seat.hear() => match heard? {
                Heard::HolderGone => Some(Ending::HolderGone),
                Heard::Notice(Notice::Event { recorded, narration }) => {
                    teller.event(task, &recorded, narration.as_deref());
                    followed.on(seat, &recorded).await?
                }
                Heard::Notice(Notice::StoreWaiting { message, .. }) => {
                    Teller::store_waiting(&message);
                    None
                }
                Heard::Notice(Notice::StoreBack) => {
                    Teller::store_back();
                    None
                }
                Heard::Notice(Notice::Gap) => followed.look(seat).await?,
                Heard::Notice(Notice::Left) => None,
            },
            () = over(followed.patience.until) => Some(followed.patience.over()),
        };
        if let Some(ending) = ending {
            return Ok(ending);
        }
    }
}

/// The state of the wait for a person.
#[derive(Default)]
struct Patience {
    /// The question that was shown.
    told: Option<QuestionId>,
    /// Set if a person paused all jobs, and this was reported.
    is_held: bool,
    until: Option<Instant>,
}

impl Patience {
    const fn over(&self) -> Ending {
        if self.is_held { Ending::Paused } else { Ending::NeedsPerson }
    }
}

/// A task that is followed, with the wait for a person.
struct Followed<'a> {
    task: TaskId,
    teller: &'a Teller,
    max_wait: Option<Span>,
    patience: Patience,
}

impl Followed<'_> {
    /// Handles an event. An event is only a reason to look up the state: it may belong to an earlier
    /// firing, which ended while this process waited for its turn.
    async fn on(&mut self, seat: &Seat, recorded: &Recorded) -> Result<Option<Ending>, Error> {
        match &recorded.event {
            Event::TaskDone { task, .. }
            | Event::TaskSkipped { task, .. }
            | Event::TaskCancelled { task }
            | Event::TaskFailed { task, .. }
            | Event::TaskParked { task, .. }
                if *task == self.task =>
            {
                self.look(seat).await
            }
            Event::BuildPaused { .. } => self.look(seat).await,
            Event::BuildResumed { .. } => {
                self.patience = Patience::default();
                self.look(seat).await
            }
            Event::TaskUnparked { task, .. } if *task == self.task => {
                self.patience = Patience::default();
                Ok(None)
            }
            _ => Ok(None),
        }
    }

    /// Returns the outcome, if the state of the task is one.
    async fn look(&mut self, seat: &Seat) -> Result<Option<Ending>, Error> {
        Ok(match self.state(seat).await? {
            Some(TaskState::Done) => Some(Ending::Done),
            Some(TaskState::Skipped { .. } | TaskState::Cancelled) => Some(Ending::LeftOut),
            Some(TaskState::Failed { code }) => Some(Ending::Failed(code)),
            Some(TaskState::Parked { question, .. }) => self.parked(question).await?,
            Some(TaskState::Pending { .. } | TaskState::Running { .. }) => self.held(seat).await?,
            _ => None,
        })
    }

    /// Returns the state of the task. The holder has it in memory, a moment ahead of the disk; it waits for
    /// the disk before it leaves. A loop that has ended reports the reason itself.
    async fn state(&self, seat: &Seat) -> Result<Option<TaskState>, Error> {
        let task = self.task;
        match seat.holder() {
            Some(handle) => {
                let seen = handle.look(move |state| Some(state.task(task)?.state.clone())).await;
                Ok(seen.ok().flatten())
            }
            None => self.teller.state(task).await,
        }
    }

    /// Checks whether all jobs are held, because of too many open questions or by a person.
    async fn held(&mut self, seat: &Seat) -> Result<Option<Ending>, Error> {
        match seat.look(Look::Held { task: self.task }).await? {
            Looked::Held(Some(HeldBy::Question(question))) => self.parked(question).await,
            Looked::Held(Some(HeldBy::Person)) => {
                if !std::mem::replace(&mut self.patience.is_held, true) {
                    self.teller.all_held();
                }
                Ok(self.waits())
            }
            _ => Ok(None),
        }
    }

    /// Shows the question and waits for a person as long as allowed. A question that is not on disk yet is
    /// shown once it is.
    async fn parked(&mut self, question: QuestionId) -> Result<Option<Ending>, Error> {
        if self.patience.told != Some(question) {
            if !self.teller.question(question, self.max_wait).await? {
                return Ok(None);
            }
            self.patience.told = Some(question);
        }
        Ok(self.waits())
    }

    /// Starts the wait; returns the outcome if no wait is allowed.
    fn waits(&mut self) -> Option<Ending> {
        match self.max_wait {
            Some(Span::ZERO) => return Some(self.patience.over()),
            Some(wait) => {
                self.patience.until.get_or_insert(Instant::now() + wait.into());
            }
            None => {}
        }
        None
    }
}

async fn over(patience: Option<Instant>) {
    match patience {
        Some(at) => sleep_until(at).await,
        None => pending().await,
    }
}
