//! Says on the terminal what an action waits for, and gives up waiting in time.

use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval};
use unstuck_core::text::span;
use unstuck_core::time::Span;

use crate::args::Mutate;
use crate::exit::Exit;
use crate::project::once::{Hindrance, Patience};
use crate::render;

/// How often it is looked at what the action waits for.
const TICK: Duration = Duration::from_millis(250);
/// A wait that is shorter is not worth a word, and is never given up.
const MOMENT: Duration = Duration::from_secs(1);
/// How often it is said again.
const AGAIN: Duration = Duration::from_mins(1);

/// Follows `settling` to its end. `hindrance` says what it waits for; the person reads that on
/// standard error, and `patience` is given up when it lasts longer than `--max-wait`.
pub(super) async fn follow<T>(
    settling: impl Future<Output = T>,
    hindrance: impl Fn() -> Option<Hindrance>,
    patience: &Patience,
    args: &Mutate,
) -> T {
    tokio::pin!(settling);
    let mut ticks = interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut waiting: Option<Waited> = None;
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
        let waited = waiting.get_or_insert_with(Waited::begin);
        waited.tell(hindrance, args);
        let max_wait = args.max_wait.map(Duration::from);
        if max_wait.is_some_and(|max_wait| waited.since.elapsed() >= max_wait.max(MOMENT)) {
            patience.give_up(hindrance);
        }
    }
}

/// A wait, and what was said about it last.
struct Waited {
    since: Instant,
    told: Option<(Hindrance, Instant)>,
}

impl Waited {
    fn begin() -> Self {
        Self { since: Instant::now(), told: None }
    }

    fn tell(&mut self, hindrance: Hindrance, args: &Mutate) {
        let is_known =
            self.told.is_some_and(|(told, at)| told == hindrance && at.elapsed() < AGAIN);
        if is_known || self.since.elapsed() < MOMENT {
            return;
        }
        self.told = Some((hindrance, Instant::now()));
        if !args.quiet {
            let (key, since) = (&args.key, span(rounded(self.since.elapsed())));
            let why = explain(hindrance);
            render::note(&format!("unstuck: {key:?} has been waiting for {since}: {why}"));
        }
    }
}

/// A time in whole seconds, as people read it.
fn rounded(waited: Duration) -> Span {
    Span::from_secs(waited.as_secs())
}

/// What an action waits for, and what ends the wait.
fn explain(hindrance: Hindrance) -> String {
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

/// Says that the wait was given up, and how we end.
pub(super) fn tell_given_up(hindrance: Hindrance, args: &Mutate) -> Exit {
    if !args.quiet {
        let (key, why) = (&args.key, explain(hindrance));
        render::note(&format!(
            "unstuck: {key:?} was not run, because the time to wait is over: {why} Run it again later."
        ));
    }
    match hindrance {
        Hindrance::Paused => Exit::Paused,
        Hindrance::Question(_) => Exit::Waiting,
        Hindrance::SameAction | Hindrance::Checking | Hindrance::Unsettled => Exit::Limited,
    }
}
