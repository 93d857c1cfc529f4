//! Follows builds until they end, until a person is needed for too long, or until a time of day.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use jiff::Zoned;
use tokio::time::{Instant, sleep_until};
use unstuck_core::engine::{BuildId, BuildState, Command, Event, PauseCause, Recorded};
use unstuck_core::fault::Code;
use unstuck_core::time::Span;
use unstuck_runner::Notice;
use unstuck_store::Store;
use unstuck_store::tables::BuildRow;

use super::ending::Ending;
use super::live::Act;
use super::show::View;
use crate::args::Follow;
use crate::error::Error;
use crate::project::{Heard, Project, Seat};

/// The limits of following.
pub(super) struct Patience {
    /// The time at which all builds are paused.
    until: Option<Instant>,
    max_wait: Option<Span>,
    /// The reason and the start of the current wait, while no work goes on.
    waiting: Option<(Waiting, Instant)>,
}

/// The reason why all remaining work waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Waiting {
    /// An answer, while the build is paused over its questions or its budget.
    Pause,
    /// An answer.
    Person,
    /// An account, or the next day.
    Account,
}

impl Waiting {
    /// Returns the outcome when the maximum wait is over.
    const fn ending(self) -> Ending {
        match self {
            Self::Pause => Ending::Paused,
            Self::Person => Ending::NeedsPerson,
            Self::Account => Ending::Limited,
        }
    }
}

impl Patience {
    pub(super) fn new(follow: &Follow) -> Self {
        let until = follow.until.map(|time| Instant::now() + until(&Zoned::now(), time));
        Self { until, max_wait: follow.max_wait, waiting: None }
    }

    /// Returns the time at which the current wait is too long.
    fn over(&self) -> Option<Instant> {
        let (_, since) = self.waiting?;
        Some(since + Duration::from(self.max_wait?))
    }
}

/// Returns the duration until the next occurrence of this time of day.
fn until(now: &Zoned, time: jiff::civil::Time) -> Duration {
    let today = now.with().time(time).build().unwrap_or_else(|_| now.clone());
    let next = if today > *now { today } else { today.tomorrow().unwrap_or(today) };
    now.duration_until(&next).try_into().unwrap_or_default()
}

/// Follows builds until there is nothing left to wait for.
pub(super) async fn until_they_end(
    seat: &mut Seat,
    store: &Arc<dyn Store>,
    project: &Project,
    builds: &[BuildId],
    view: &mut View<'_>,
    patience: &mut Patience,
) -> Result<Ending, Error> {
    let mut failed = None;
    let stand = Stand { store, project, builds };
    // The state may have changed before the subscription.
    if let Some(ending) = stand.look(seat, failed, patience).await? {
        return Ok(ending);
    }
    loop {
        let until = patience.until;
        let over = patience.over();
        tokio::select! {
            biased;
            heard = seat.hear() => match heard? {
                Heard::HolderGone => return Ok(Ending::HolderGone),
                Heard::Notice(notice) => {
                    if let Notice::Event { recorded, .. } = &notice {
                        failed = failed.or_else(|| failure(recorded, builds));
                    }
                    view.notice(&notice).await?;
                    if is_a_turn(&notice)
                        && let Some(ending) = stand.look(seat, failed, patience).await?
                    {
                        return Ok(ending);
                    }
                }
            },
            () = at(until) => {
                patience.until = None;
                pause(seat, builds).await;
            }
            () = at(over) => {
                let waiting = patience.waiting.map(|(whom, _)| whom);
                return Ok(waiting.map_or(Ending::NeedsPerson, Waiting::ending));
            }
            wanted = view.wanted() => match wanted? {
                Act::Look => view.draw().await?,
                Act::Kick => view.kick(seat).await?,
                Act::Answer => view.answer().await?,
                Act::JudgeBase { build, belongs } => {
                    // A build that ended meanwhile needs no judgment any more.
                    let _ = seat.command(Command::JudgeBase { build, belongs }).await;
                }
                Act::Pause => pause(seat, builds).await,
                Act::Background => return Ok(Ending::Background),
                Act::End(signal) => {
                    view.ending()?;
                    return Ok(Ending::Signal(signal));
                }
            },
        }
    }
}

/// Pauses builds. A build that ended meanwhile rejects the command, which is fine.
async fn pause(seat: &Seat, builds: &[BuildId]) {
    for build in builds {
        let _ = seat.command(Command::Pause { build: *build }).await;
    }
}

async fn at(instant: Option<Instant>) {
    match instant {
        Some(instant) => sleep_until(instant).await,
        None => pending().await,
    }
}

/// Returns the code of the failure, if one of these builds failed.
fn failure(recorded: &Recorded, builds: &[BuildId]) -> Option<Code> {
    match &recorded.event {
        Event::BuildFailed { build, fault } if builds.contains(build) => Some(fault.code()),
        _ => None,
    }
}

/// Returns whether a notice is a reason to look up the state.
fn is_a_turn(notice: &Notice) -> bool {
    let Notice::Event { recorded, .. } = notice else { return matches!(notice, Notice::Gap) };
    matches!(
        recorded.event,
        Event::BuildWaiting { .. }
            | Event::BuildResumed { .. }
            | Event::BuildCompleted { .. }
            | Event::BuildFailed { .. }
            | Event::BuildCancelled { .. }
            | Event::BuildPaused { .. }
            | Event::Sleeping { .. }
            | Event::Waking { .. }
            | Event::TaskBackingOff { .. }
            | Event::TaskParked { .. }
            | Event::TaskReady { .. }
            | Event::TaskDone { .. }
            | Event::TaskSkipped { .. }
            | Event::TaskFailed { .. }
            | Event::TaskCancelled { .. }
            | Event::GateWaiting { .. }
            | Event::RunStarted { .. }
            | Event::RunResumed { .. }
    )
}

/// Looks up the state of builds.
struct Stand<'a> {
    store: &'a Arc<dyn Store>,
    project: &'a Project,
    builds: &'a [BuildId],
}

impl Stand<'_> {
    async fn look(
        &self,
        seat: &Seat,
        failed: Option<Code>,
        patience: &mut Patience,
    ) -> Result<Option<Ending>, Error> {
        let rows = self.store.builds(self.project.name()).await?;
        let ours: Vec<&BuildRow> =
            rows.iter().filter(|row| self.builds.contains(&row.id)).collect();
        let (over, open): (Vec<&BuildRow>, Vec<&BuildRow>) =
            ours.into_iter().partition(|row| row.state.has_ended());
        if open.is_empty() {
            let all =
                over.iter().all(|row| row.state == BuildState::Completed && row.not_done == 0);
            return Ok(Some(match failed {
                Some(code) => Ending::Failed(code),
                None if all => Ending::Done,
                None => Ending::SomeNotDone,
            }));
        }
        let by_person = BuildState::Paused { cause: PauseCause::Person };
        if open.iter().all(|row| row.state == by_person) {
            return Ok(Some(Ending::Paused));
        }
        self.wait(seat, &open, patience).await?;
        let waits_no_longer = patience.max_wait == Some(Span::ZERO);
        Ok(patience.waiting.filter(|_| waits_no_longer).map(|(whom, _)| whom.ending()))
    }

    /// Records the start of a wait in which no work goes on.
    async fn wait(
        &self,
        seat: &Seat,
        open: &[&BuildRow],
        patience: &mut Patience,
    ) -> Result<(), Error> {
        let mut waiting: Option<Waiting> = None;
        for row in open {
            let Some(whom) = self.waits_for(seat, row).await? else {
                patience.waiting = None;
                return Ok(());
            };
            waiting = waiting.max(Some(whom));
        }
        if let Some(whom) = waiting {
            let since = patience.waiting.map_or_else(Instant::now, |(_, since)| since);
            patience.waiting = Some((whom, since));
        }
        Ok(())
    }

    /// Returns the reason why all remaining work of a build waits; `None` while a task is at work.
    async fn waits_for(&self, seat: &Seat, row: &BuildRow) -> Result<Option<Waiting>, Error> {
        let (state, at_work) = seat.standing(self.store, self.project.name(), row).await?;
        Ok(match state {
            BuildState::Waiting => Some(Waiting::Person),
            BuildState::Paused { .. } => Some(Waiting::Pause),
            BuildState::Sleeping { .. } => Some(Waiting::Account),
            BuildState::Running => (!at_work).then_some(Waiting::Account),
            BuildState::Completed | BuildState::Failed | BuildState::Cancelled => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::{date, time};

    use super::*;

    /// A time zone whose rules need no database.
    fn at(evening: jiff::civil::DateTime, rules: &str) -> Zoned {
        evening.to_zoned(jiff::tz::TimeZone::posix(rules).unwrap()).unwrap()
    }

    #[test]
    fn a_time_of_day_is_the_next_one_also_over_midnight() {
        let now = at(date(2026, 11, 15).at(23, 0, 0, 0), "UTC0");
        assert_eq!(until(&now, time(23, 30, 0, 0)), Duration::from_mins(30));
        assert_eq!(until(&now, time(7, 0, 0, 0)), Duration::from_hours(8));
        assert_eq!(until(&now, time(23, 0, 0, 0)), Duration::from_hours(24));
    }

    #[test]
    fn a_night_with_a_change_of_the_clock_is_as_long_as_it_is() {
        let rules = "CET-1CEST,M3.5.0,M10.5.0/3";
        let now = at(date(2026, 10, 24).at(23, 0, 0, 0), rules);
        assert_eq!(until(&now, time(7, 0, 0, 0)), Duration::from_hours(9));
    }
}
