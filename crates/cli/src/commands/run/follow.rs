//! Follows builds until they end, until a person is needed for too long, or until a time of day.

use std::sync::Arc;
use std::time::Duration;

use jiff::Zoned;
use tokio::time::Instant;
use unstuck_core::engine::{BuildId, BuildState, Command, Event, PauseCause, RecordedEvent};
use unstuck_core::fault::Code;
use unstuck_core::time::Span;
use unstuck_runner::RunnerNotice;
use unstuck_store::Store;
use unstuck_store::tables::BuildRow;

use super::FollowArgs;
use super::ending::BuildsEnding;
use super::live::LiveRequest;
use super::show::RunOutput;
use crate::error::CliError;
use crate::project::{
    LocalProject, ProjectMessage, ProjectSession, current_user, sleep_until_some,
};

pub(super) struct FollowLimits {
    /// The time at which all builds are paused.
    until: Option<Instant>,
    max_wait: Option<Span>,
    /// The reason and the start of the current wait, while no work goes on.
    waiting: Option<(FollowWaitReason, Instant)>,
    /// Length of the waits since work last went on.
    waited: Duration,
}

/// The reason why all remaining work waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum FollowWaitReason {
    /// An answer, while the build is paused over its questions or its budget.
    Pause,
    /// An answer.
    Person,
    /// An account, or the next day.
    Account,
}

impl FollowWaitReason {
    /// Returns the outcome when the maximum wait is over.
    const fn to_ending(self) -> BuildsEnding {
        match self {
            Self::Pause => BuildsEnding::Paused,
            Self::Person => BuildsEnding::NeedsPerson,
            Self::Account => BuildsEnding::Limited,
        }
    }
}

impl FollowLimits {
    pub(super) fn new(follow: &FollowArgs) -> Self {
        let until = follow.until.map(|time| Instant::now() + duration_until(&Zoned::now(), time));
        Self { until, max_wait: follow.max_wait, waiting: None, waited: Duration::ZERO }
    }

    /// Records that a task is at work. It may only find that what it waits for has not changed.
    fn interrupt_wait(&mut self) {
        if let Some((_, since)) = self.waiting.take() {
            self.waited = since.elapsed();
        }
    }

    /// Records a wait; waits with nothing but vain retries between them are one.
    fn begin_wait(&mut self, whom: FollowWaitReason) {
        let now = Instant::now();
        let begin = || now.checked_sub(self.waited).unwrap_or(now);
        let since = self.waiting.map_or_else(begin, |(_, since)| since);
        self.waiting = Some((whom, since));
    }

    /// Returns the time at which the current wait is too long.
    fn wait_deadline(&self) -> Option<Instant> {
        let (_, since) = self.waiting?;
        Some(since + Duration::from(self.max_wait?))
    }
}

/// Returns the duration until the next occurrence of this time of day.
fn duration_until(now: &Zoned, time: jiff::civil::Time) -> Duration {
    let today = now.with().time(time).build().unwrap_or_else(|_| now.clone());
    let next = if today > *now { today } else { today.tomorrow().unwrap_or(today) };
    now.duration_until(&next).try_into().unwrap_or_default()
}

/// Follows builds until there is nothing left to wait for; returns `None` if the holder is gone before.
pub(super) async fn follow_until_end(
    session: &mut ProjectSession,
    store: &Arc<dyn Store>,
    project: &LocalProject,
    builds: &[BuildId],
    view: &mut RunOutput<'_>,
    patience: &mut FollowLimits,
) -> Result<Option<BuildsEnding>, CliError> {
    let mut failed = None;
    let stand = BuildsLookup { store, project, builds };
    // The state may have changed before the subscription.
    if let Some(ending) = stand.look_up_ending(session, failed, patience).await? {
        return Ok(Some(ending));
    }
    loop {
        let until = patience.until;
        let over = patience.wait_deadline();
        tokio::select! {
            biased;
            heard = session.next_message() => match heard? {
                ProjectMessage::HolderGone => return Ok(None),
                ProjectMessage::Notice(notice) => {
                    if let RunnerNotice::Event { recorded, .. } = &notice {
                        failed = failed.or_else(|| failure_code(recorded, builds));
                        if is_progress(&recorded.event) {
                            patience.waited = Duration::ZERO;
                        }
                    }
                    view.handle_notice(&notice).await?;
                    if needs_lookup(&notice)
                        && let Some(ending) = stand.look_up_ending(session, failed, patience).await?
                    {
                        return Ok(Some(ending));
                    }
                }
            },
            () = sleep_until_some(until) => {
                patience.until = None;
                pause_builds(session, builds).await;
            }
            () = sleep_until_some(over) => {
                let waiting = patience.waiting.map(|(whom, _)| whom);
                let ending = waiting.map_or(BuildsEnding::NeedsPerson, FollowWaitReason::to_ending);
                return Ok(Some(ending));
            }
            wanted = view.next_request() => match wanted? {
                LiveRequest::Look => view.draw().await?,
                LiveRequest::Kick => view.kick_waiting(session).await?,
                LiveRequest::Answer => view.answer_questions().await?,
                LiveRequest::JudgeBase { build, belongs } => {
                    let by = current_user().into();
                    // A build that ended meanwhile needs no judgment any more.
                    let _ = session.submit_command(Command::JudgeBase { build, belongs, by }).await;
                }
                LiveRequest::Pause => pause_builds(session, builds).await,
                LiveRequest::Background => return Ok(Some(BuildsEnding::Background)),
                LiveRequest::End(signal) => {
                    view.report_ending()?;
                    return Ok(Some(BuildsEnding::Signal(signal)));
                }
            },
        }
    }
}

/// Pauses builds. A build that ended meanwhile rejects the command, which is fine.
async fn pause_builds(session: &ProjectSession, builds: &[BuildId]) {
    for build in builds {
        let _ = session.submit_command(Command::Pause { build: *build }).await;
    }
}

fn failure_code(recorded: &RecordedEvent, builds: &[BuildId]) -> Option<Code> {
    match &recorded.event {
        Event::BuildFailed { build, fault } if builds.contains(build) => Some(fault.code()),
        _ => None,
    }
}

/// Returns whether an event shows that work goes on, and not only another vain retry.
const fn is_progress(event: &Event) -> bool {
    matches!(
        event,
        Event::ApproachTaken { .. }
            | Event::ToolCalled { .. }
            | Event::TaskDone { .. }
            | Event::MutationApplied { .. }
            | Event::QuestionResolved { .. }
            | Event::GateReleased { .. }
    )
}

/// Returns whether a notice is a reason to look up the state.
fn needs_lookup(notice: &RunnerNotice) -> bool {
    let RunnerNotice::Event { recorded, .. } = notice else {
        return matches!(notice, RunnerNotice::Gap);
    };
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

struct BuildsLookup<'a> {
    store: &'a Arc<dyn Store>,
    project: &'a LocalProject,
    builds: &'a [BuildId],
}

impl BuildsLookup<'_> {
    async fn look_up_ending(
        &self,
        session: &ProjectSession,
        failed: Option<Code>,
        patience: &mut FollowLimits,
    ) -> Result<Option<BuildsEnding>, CliError> {
        let rows = self.store.load_builds(self.project.name()).await?;
        let ours: Vec<&BuildRow> =
            rows.iter().filter(|row| self.builds.contains(&row.id)).collect();
        let (over, open): (Vec<&BuildRow>, Vec<&BuildRow>) =
            ours.into_iter().partition(|row| row.state.has_ended());
        if open.is_empty() {
            let all =
                over.iter().all(|row| row.state == BuildState::Completed && row.not_done == 0);
            return Ok(Some(match failed {
                Some(code) => BuildsEnding::Failed(code),
                None if all => BuildsEnding::Done,
                None => BuildsEnding::SomeNotDone,
            }));
        }
        let by_person = BuildState::Paused { cause: PauseCause::Person };
        if open.iter().all(|row| row.state == by_person) {
            return Ok(Some(BuildsEnding::Paused));
        }
        self.record_wait(session, &open, patience).await?;
        let waits_no_longer = patience.max_wait == Some(Span::ZERO);
        Ok(patience.waiting.filter(|_| waits_no_longer).map(|(whom, _)| whom.to_ending()))
    }

    /// Records the start of a wait in which no work goes on.
    async fn record_wait(
        &self,
        session: &ProjectSession,
        open: &[&BuildRow],
        patience: &mut FollowLimits,
    ) -> Result<(), CliError> {
        let mut waiting: Option<FollowWaitReason> = None;
        for row in open {
            let Some(whom) = self.wait_reason(session, row).await? else {
                patience.interrupt_wait();
                return Ok(());
            };
            waiting = waiting.max(Some(whom));
        }
        if let Some(whom) = waiting {
            patience.begin_wait(whom);
        }
        Ok(())
    }

    /// Returns the reason why all remaining work of a build waits; `None` while a task is at work.
    async fn wait_reason(
        &self,
        session: &ProjectSession,
        row: &BuildRow,
    ) -> Result<Option<FollowWaitReason>, CliError> {
        let (state, at_work) = session.build_state(self.store, self.project.name(), row).await?;
        Ok(match state {
            BuildState::Waiting => Some(FollowWaitReason::Person),
            BuildState::Paused { .. } => Some(FollowWaitReason::Pause),
            BuildState::Sleeping { .. } => Some(FollowWaitReason::Account),
            BuildState::Running => (!at_work).then_some(FollowWaitReason::Account),
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
        assert_eq!(duration_until(&now, time(23, 30, 0, 0)), Duration::from_mins(30));
        assert_eq!(duration_until(&now, time(7, 0, 0, 0)), Duration::from_hours(8));
        assert_eq!(duration_until(&now, time(23, 0, 0, 0)), Duration::from_hours(24));
    }

    #[test]
    fn a_night_with_a_change_of_the_clock_is_as_long_as_it_is() {
        let rules = "CET-1CEST,M3.5.0,M10.5.0/3";
        let now = at(date(2026, 10, 24).at(23, 0, 0, 0), rules);
        assert_eq!(duration_until(&now, time(7, 0, 0, 0)), Duration::from_hours(9));
    }
}
