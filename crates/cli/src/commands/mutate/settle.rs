//! Settles an action. Inside a run the holder keeps the ledger: a script's action is performed now; an agent's is
//! declared, and performed after the checks of its task. Outside any run the action is a job of its own. The
//! reason of a wait is reported on the terminal, and given up in time.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval};
use unstuck_core::engine::{Command, Effect, EffectKind, Reconciled};
use unstuck_core::fault::{Fault, Kind};
use unstuck_core::plan::MutationSpec;
use unstuck_core::text::span_words;
use unstuck_core::time::Span;
use unstuck_runner::control::ControlClient;
use unstuck_runner::{ActionResult, DecideError};
use unstuck_world::commands::describe_never_runs;
use unstuck_world::process::Launch;
use unstuck_world::tool::DeclarationPolicy;

use super::MutateArgs;
use super::action::{self, CommandAction};
use crate::error::{CliError, ScriptError};
use crate::exit::Exit;
use crate::project::once::{self, ActionWait, Hindrance};
use crate::project::{EnclosingRun, LocalProject};
use crate::render;

/// The refusal for a repair, which may only change the script.
const ONLY_REPAIRS: &str = "a repair changes the script and does nothing outside. Put this command into \
    the script, with `unstuck mutate` before it: it is done when the script runs";

/// The refusal for an agent's action with something on standard input, which would be lost.
const NO_INPUT: &str = "it would run later, without this standard input. Write the input to a file, and \
    pass the file to the command; if there is no input, add `< /dev/null`";

/// The result of an action inside a run.
pub(super) enum MutateOutcome {
    /// The action is settled, or could not be.
    Settled(Arc<Result<ActionResult, DecideError>>),
    /// The action is performed later, at the time described.
    Declared(&'static str),
    /// The action was performed before, with this result, and is not performed again.
    DoneBefore(Option<Arc<str>>),
    GivenUp,
}

impl From<Result<ActionResult, DecideError>> for MutateOutcome {
    fn from(settled: Result<ActionResult, DecideError>) -> Self {
        Self::Settled(Arc::new(settled))
    }
}

pub(super) async fn settle_inside(
    (args, project): (&MutateArgs, &LocalProject),
    child: &EnclosingRun,
    spec: MutationSpec,
    action: &Arc<CommandAction>,
    patience: &ActionWait,
) -> Result<MutateOutcome, CliError> {
    let client = child.connect().await.map_err(|source| ScriptError::Unreachable { source })?;
    let Some(effect) = client.own_effect().cloned() else {
        return Ok(Err(DecideError::Stale).into());
    };
    match effect.what {
        EffectKind::Execute { .. } => {
            action.set_task(effect.task);
            let settling = client.perform_action(effect.id, spec, Arc::clone(action) as _);
            Ok(tokio::select! {
                biased;
                settled = settling => settled.map_err(DecideError::from).into(),
                () = patience.wait_for_end() => MutateOutcome::GivenUp,
            })
        }
        EffectKind::Attempt { .. } => {
            if action::has_standard_input().await {
                return Ok(Err(DecideError::Refused(NO_INPUT.to_owned())).into());
            }
            let (declared, declarable) = match action::declared_action(args, &spec, project) {
                Err(CliError::Fault(fault)) if let Some(why) = refuse_forever(&fault) => {
                    return Ok(Err(DecideError::Refused(why)).into());
                }
                declared => declared?,
            };
            Ok(declare_action(&client, &effect, declared, &declarable).await)
        }
        _ => Ok(Err(DecideError::Refused(ONLY_REPAIRS.to_owned())).into()),
    }
}

/// Returns what an agent is told about a command that never runs, if the fault is about one.
fn refuse_forever(fault: &Fault) -> Option<String> {
    let Kind::PermissionCommandBlocked(of) = &fault.kind else { return None };
    let said = format!("{}. Reach the goal without it.", describe_never_runs(&of.what));
    of.never.then_some(said)
}

/// Declares an action, as the tool does. An action that was performed before is not performed again.
async fn declare_action(
    client: &ControlClient,
    effect: &Effect,
    spec: MutationSpec,
    declarable: &DeclarationPolicy,
) -> MutateOutcome {
    let mutate = Command::Mutate { effect: effect.id, mutation: spec.clone() };
    let events = match client.submit_command(mutate).await {
        Ok(events) => events,
        Err(error) => return Err(DecideError::from(error)).into(),
    };
    if let Some(fault) = events.iter().find_map(|recorded| recorded.event.met_fault()) {
        return Err(DecideError::Refused(fault.message.clone())).into();
    }
    let result = client.find_result(effect, &spec).await;
    match events.iter().find_map(|recorded| recorded.event.declared_before()) {
        _ if result.is_some() => MutateOutcome::DoneBefore(result),
        Some(Reconciled::Applied) => MutateOutcome::DoneBefore(None),
        Some(Reconciled::Skipped) => Ok(ActionResult::Skipped).into(),
        before @ (Some(Reconciled::NotApplied) | None) => {
            MutateOutcome::Declared(declarable.explain_timing(&spec, before, false))
        }
    }
}

pub(super) async fn settle_outside(
    project: &LocalProject,
    spec: MutationSpec,
    action: &Arc<CommandAction>,
    patience: &ActionWait,
) -> Result<MutateOutcome, CliError> {
    let Launch { guard, directory, .. } = action.launch();
    let prober = once::create_prober(project, guard.clone(), directory.clone());
    let key = &spec.key;
    let job = once::action_job(format!("mutate {key}"), key.clone(), format!("Do {key:?} once."));
    let wanted =
        once::SingleAction { verb: "mutate", job, spec, action: Arc::clone(action) as _, prober };
    let came = once::perform_once(project, wanted, |task| action.set_task(task), patience).await?;
    Ok(came.map_or(MutateOutcome::GivenUp, MutateOutcome::Settled))
}

/// Interval between two lookups of the reason.
const TICK: Duration = Duration::from_millis(250);
/// Minimum duration of a wait that is reported or given up.
const MOMENT: Duration = Duration::from_secs(1);
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
            let since = span_words(Span::from_secs(self.since.elapsed().as_secs()));
            let why = render_hindrance(hindrance);
            render::write_note(&format!("unstuck: {key:?} has been waiting for {since}: {why}"));
        }
    }
}

/// Formats the reason of a wait, and its end.
fn render_hindrance(hindrance: Hindrance) -> String {
    match hindrance {
        Hindrance::SameAction => {
            "another process is performing it. Its result is given back here.".to_owned()
        }
        Hindrance::Checking => {
            "it was sent, and its probe is checking whether it happened.".to_owned()
        }
        Hindrance::Unsettled => {
            "another process is performing it, or its probe is checking whether \
             it happened. `unstuck status` shows which."
                .to_owned()
        }
        Hindrance::Paused => "all jobs are paused. `unstuck resume` continues them.".to_owned(),
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
        let came = match hindrance {
            Hindrance::Paused | Hindrance::Question(_) => "was not run, because",
            Hindrance::SameAction | Hindrance::Checking | Hindrance::Unsettled => {
                "may have happened or not, and"
            }
        };
        render::write_note(&format!(
            "unstuck: {key:?} {came} the time to wait is over: {why} Run it again later."
        ));
    }
    match hindrance {
        Hindrance::Paused => Exit::Paused,
        Hindrance::Question(_) => Exit::Waiting,
        Hindrance::SameAction | Hindrance::Checking | Hindrance::Unsettled => Exit::Limited,
    }
}
