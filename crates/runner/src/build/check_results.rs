//! Recording of the checks' results in the journal, which are the only source of the morning
//! report.

use unstuck_core::engine::{Check, CheckVerdict, Checked, Command, RunNote};
use unstuck_core::fault::{Category, Fault, Kind};
use unstuck_world::validate::{GateChecks, GateReport, GateVerdict};

use super::context::BuildContext;
use crate::effects::EffectRequest;

impl BuildContext {
    /// Records the results of a gate.
    pub(super) async fn note_check_results(
        &self,
        order: &EffectRequest,
        checks: &GateChecks,
        verdict: &GateVerdict,
    ) {
        let mut checked = collect_check_results(checks, verdict);
        for check in &mut checked.checks {
            check.command = self.settings.redactor.redact_text(&check.command).into();
        }
        for path in &mut checked.put_back {
            *path = self.settings.redactor.redact_text(path).into();
        }
        let note = Command::Note { effect: order.effect.id, note: RunNote::Checked { checked } };
        // The run may have ended meanwhile, and then its checks are not awaited.
        if let Err(error) = self.decider.submit_command(note).await {
            tracing::debug!(%error, "no receiver for the result of the checks");
        }
    }
}

/// Returns the checks that were run: all of them, or those up to the first that failed.
fn collect_check_results(checks: &GateChecks, verdict: &GateVerdict) -> Checked {
    let list = match verdict {
        GateVerdict::NothingToCheck => Vec::new(),
        GateVerdict::Green(seen) => list_passed_checks(checks, seen),
        GateVerdict::Red { fault, seen } => {
            let mut run = list_passed_checks(checks, seen);
            // A check that fails as it did before, or runs fewer tests, is blamed although the ones
            // after it were run.
            match run.iter_mut().find(|known| is_about_check(fault, &known.command)) {
                Some(known) => known.verdict = CheckVerdict::Failed,
                None => {
                    let last = checks.commands().get(run.len());
                    run.extend(last.map(|command| make_check(command, blocking_verdict(fault))));
                }
            }
            run
        }
    };
    let restored = match verdict {
        GateVerdict::Green(seen) | GateVerdict::Red { seen, .. } => seen.restored.as_ref(),
        GateVerdict::NothingToCheck => None,
    };
    let paths = restored.into_iter().flat_map(|restored| &restored.paths);
    let put_back = paths.map(|path| path.display().to_string().into()).collect();
    Checked { gate: checks.gate(), checks: list, more_passed: 0, put_back }
}

/// Returns the checks that did not block, in the order in which they were run.
fn list_passed_checks(checks: &GateChecks, seen: &GateReport) -> Vec<Check> {
    let run = seen.green.len() + seen.red_at_base.len();
    let verdict = |command: &String| {
        if seen.red_at_base.iter().any(|red| red.command == *command) {
            CheckVerdict::RedBefore
        } else if seen.flaky.contains(command) {
            CheckVerdict::Flaky
        } else {
            CheckVerdict::Passed
        }
    };
    checks
        .commands()
        .iter()
        .take(run)
        .map(|command| make_check(command, verdict(command)))
        .collect()
}

/// Returns whether a fault says that this check failed.
fn is_about_check(fault: &Fault, command: &str) -> bool {
    match &fault.kind {
        Kind::ValidationPreCommit(red)
        | Kind::ValidationPrePush(red)
        | Kind::ValidationPrePr(red)
        | Kind::ValidationRedBase(red) => red.command == command,
        _ => false,
    }
}

fn blocking_verdict(fault: &Fault) -> CheckVerdict {
    match fault.category() {
        Category::Validation => CheckVerdict::Failed,
        _ => CheckVerdict::NotMade,
    }
}

fn make_check(command: &str, verdict: CheckVerdict) -> Check {
    Check { command: command.into(), verdict }
}
