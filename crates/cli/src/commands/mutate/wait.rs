//! Reports on the terminal the reason of an action's wait, and gives up in time.

use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval};
use unstuck_core::text::span_words;
use unstuck_core::time::Span;

use crate::args::MutateArgs;
use crate::exit::Exit;
use crate::project::once::{ActionWait, Hindrance};
use crate::render;

/// Interval between two lookups of the reason.
const TICK: Duration = Duration::from_millis(250);
/// Minimum duration of a wait that is reported or given up.
const MOMENT: Duration = Duration::from_secs(1);
/// Interval between two reports.
const AGAIN: Duration = Duration::from_mins(1);

/// Follows `settling` to its end. The reason from `hindrance` is reported on standard error, and `patience`
/// is given up after `--max-wait`.
pub(super) async fn follow_settling<T>(
    settling: impl Future<Output = T>,
    hindrance: impl Fn() -> Option<Hindrance>,
    patience: &ActionWait,
    args: &MutateArgs,
) -> T {
    tokio::pin!(settling);
    let mut ticks = interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut waiting: Option<WaitReport> = None;
    loop {
        tokio::select! {
            biased;
            settled = &mut settling => return settled,
            _ = ticks.tick() => {}
        }
        let Some(hindrance) = hindrance() else {
            waiting = None;
            continue;
        };
        let waited = waiting.get_or_insert_with(WaitReport::begin);
        waited.report_wait(hindrance, args);
        let max_wait = args.max_wait.map(Duration::from);
        if max_wait.is_some_and(|max_wait| waited.since.elapsed() >= max_wait.max(MOMENT)) {
            patience.give_up(hindrance);
        }
    }
}

/// A wait, and the last report about it.
struct WaitReport {
    since: Instant,
    told: Option<(Hindrance, Instant)>,
}

impl WaitReport {
    fn begin() -> Self {
        Self { since: Instant::now(), told: None }
    }

    fn report_wait(&mut self, hindrance: Hindrance, args: &MutateArgs) {
        let is_known =
            self.told.is_some_and(|(told, at)| told == hindrance && at.elapsed() < AGAIN);
        if is_known || self.since.elapsed() < MOMENT {
            return;
        }
        self.told = Some((hindrance, Instant::now()));
        if !args.quiet {
            let key = &args.key;
            let since = span_words(whole_seconds(self.since.elapsed()));
            let why = render_hindrance(hindrance);
            render::write_note(&format!("unstuck: {key:?} has been waiting for {since}: {why}"));
        }
    }
}

/// Truncates a duration to whole seconds.
fn whole_seconds(waited: Duration) -> Span {
    Span::from_secs(waited.as_secs())
}

/// Formats the reason of a wait, and its end.
fn render_hindrance(hindrance: Hindrance) -> String {
    match hindrance {
        Hindrance::SameAction => {
            "another process is performing it. Its result is given back here.".to_owned()
        }
        Hindrance::Checking => {
            "it was sent before, and its probe is checking whether it happened.".to_owned()
        }
        Hindrance::Unsettled => {
            "another process is performing it, or its probe is checking whether \
             it happened. `unstuck status` shows which."
                .to_owned()
        }
        Hindrance::Paused => "all jobs are paused. `unstuck resume` lets them go on.".to_owned(),
        Hindrance::Question(question) => {
            format!(
                "all jobs wait for an answer. `unstuck inbox show {question}` shows the question."
            )
        }
    }
}

/// Reports that the wait was given up, and returns the exit code.
pub(super) fn report_given_up(hindrance: Hindrance, args: &MutateArgs) -> Exit {
    if !args.quiet {
        let key = &args.key;
        let why = render_hindrance(hindrance);
        render::write_note(&format!(
            "unstuck: {key:?} was not run, because the time to wait is over: {why} Run it again later."
        ));
    }
    match hindrance {
        Hindrance::Paused => Exit::Paused,
        Hindrance::Question(_) => Exit::Waiting,
        Hindrance::SameAction | Hindrance::Checking | Hindrance::Unsettled => Exit::Limited,
    }
}
