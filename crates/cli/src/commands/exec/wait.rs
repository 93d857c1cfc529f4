//! Waiting for a job to come to its end, a person, or a signal.

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

/// How it ended for us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The command succeeded.
    Done,
    /// A person left it out, or ended it.
    LeftOut,
    /// It failed for good.
    Failed(Code),
    /// A person is needed, and we do not wait any longer.
    NeedsPerson,
    /// A person holds all jobs, and we do not wait any longer.
    Paused,
    /// Another process still runs it, and we do not wait any longer.
    Busy,
    /// Ended from outside.
    Signal(Signal),
    /// Whoever held the project is gone.
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
    // What happened before we listened is known.
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

/// How a person is waited for.
#[derive(Default)]
struct Patience {
    /// The question they were told of.
    told: Option<QuestionId>,
    /// They hold all jobs, and were told so.
    is_held: bool,
    until: Option<Instant>,
}

impl Patience {
    const fn over(&self) -> Ending {
        if self.is_held { Ending::Paused } else { Ending::NeedsPerson }
    }
}

/// A task that is followed, and how a person is waited for meanwhile.
struct Followed<'a> {
    task: TaskId,
    teller: &'a Teller,
    max_wait: Option<Span>,
    patience: Patience,
}

impl Followed<'_> {
    /// What an event means for us. It only says that there is something to look at: it may be of an
    /// earlier firing, which ended while we waited for our turn.
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

    /// What is known about the task.
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

    /// Where the task stands. Whoever holds the project has it in memory, if a moment ahead of the
    /// disk: an end is waited for there before we leave. A loop that has ended says why itself.
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

    /// All jobs may be held: too many questions are open, or a person asked for it.
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

    /// A person is needed: they are told, and waited for as long as we may. A question that is not
    /// on disk yet is told when it is.
    async fn parked(&mut self, question: QuestionId) -> Result<Option<Ending>, Error> {
        if self.patience.told != Some(question) {
            if !self.teller.question(question, self.max_wait).await? {
                return Ok(None);
            }
            self.patience.told = Some(question);
        }
        Ok(self.waits())
    }

    /// Waits as long as we may; how it ends where that is not at all.
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
