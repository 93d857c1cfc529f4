//! The evidence behind a question, built from the engine's state.

use std::borrow::Cow;
use std::sync::Arc;

use crate::engine::{ActionFacts, Question, Rule, State, Subject, Task, Tried};
use crate::failing::CheckFailures;
use crate::fault::{
    Auth, BudgetSpan, BudgetSpent, Code, CommandEnd, Fault, Files, Kind, Permission, Tool,
    Validation,
};
use crate::policy::Amount;
use crate::question::{
    ActionEvidence, ApproachFacts, AskedBy, BudgetFacts, DiffFacts, Evidence, RAISE_TIMES,
    RaiseFacts, RaisedLimit, check_lines, last_lines,
};
use crate::tell::brief;
use crate::text::brief::{group_thousands, render_duration, render_money};
use crate::text::{VALUE_CHARS_MAX, failure_phrase, provider_display_name, quote_words};
use crate::time::Span;

/// Maximum number of failing tests named.
const FAILING_TESTS_MAX: usize = 20;

/// Returns the evidence behind an open question.
pub fn collect_evidence(state: &State, question: &Question) -> Evidence {
    let task = question.tasks.first().and_then(|id| state.task(*id));
    let mut evidence = Evidence {
        failures: count_failures(state, question),
        approaches: approach_facts(&question.attempts),
        diff: diff_facts(question, task),
        action: question.action.as_deref().map(action_evidence),
        ..Evidence::default()
    };
    if let Some(fault) = &question.fault {
        add_fault_facts(&mut evidence, fault);
        // A repeated approach or a loop says nothing about the check that is still red.
        let check = task.and_then(|task| task.check_failure.as_deref());
        if let (None, Some(check)) = (&evidence.command, check) {
            add_fault_facts(&mut evidence, check);
        }
        // A repair that was refused says nothing about the script that still fails.
        let script = task.and_then(|task| task.repairs.broke.as_deref());
        if let (None, Some(script)) = (&evidence.command, script) {
            add_fault_facts(&mut evidence, script);
        }
        if let Kind::PermissionCommandBlocked(of)
        | Kind::PermissionFileAccess(of)
        | Kind::PermissionSkipDenied(of) = &fault.kind
        {
            evidence.asked_by = task.map(|task| asked_by(task, of.agent.clone()));
        }
    }
    evidence
}

fn action_evidence(of: &ActionFacts) -> ActionEvidence {
    let text = |words: &Option<Arc<str>>| words.as_deref().map(last_lines);
    ActionEvidence {
        key: of.key.clone(),
        call: of.call.clone(),
        sent_at: of.sent_at,
        came_back: text(&of.came_back),
        probe: of.probe.clone(),
        probe_said: text(&of.probe_said),
        probed_at: of.probed_at,
        look_at: of.look_at.clone(),
    }
}

fn asked_by(task: &Task, agent: Option<String>) -> AskedBy {
    let agent = agent.or_else(|| task.spec.provider.clone());
    let agent = agent.map(|name| provider_display_name(&name).map_or(name.clone(), str::to_owned));
    AskedBy { task: brief::task_name(task.id, &task.spec), agent }
}

/// Copies the facts of a fault into the fields of the evidence.
fn add_fault_facts(evidence: &mut Evidence, fault: &Fault) {
    match &fault.kind {
        Kind::ValidationPreCommit(of)
        | Kind::ValidationPrePush(of)
        | Kind::ValidationPrePr(of)
        | Kind::ValidationRedBase(of) => {
            add_check(evidence, of);
            if fault.is_misplaced_work() {
                evidence.command = None;
            }
        }
        Kind::PermissionSkipDenied(of) | Kind::PermissionCommandBlocked(of) => {
            add_command(evidence, of);
        }
        Kind::PermissionFileAccess(Permission { what, check, .. }) if !what.is_empty() => {
            evidence.paths = what.split(", ").map(str::to_owned).collect();
            if let Some(check) = check {
                add_check(evidence, check);
            }
        }
        Kind::ScopeForbidden(Files { files, .. })
        | Kind::ScopeOutsideAllowed(Files { files, .. })
        | Kind::ScopeUserDenied(Files { files, .. }) => evidence.paths.clone_from(files),
        Kind::AuthInvalid(Auth { account, variable, login, command, exit })
        | Kind::AuthExpired(Auth { account, variable, login, command, exit })
        | Kind::AuthMissing(Auth { account, variable, login, command, exit }) => {
            evidence.command.clone_from(command);
            evidence.exit = *exit;
            evidence.host = account.contains('.').then(|| account.clone());
            evidence.variable.clone_from(variable);
            evidence.login.clone_from(login);
            evidence.output = last_lines(&fault.message);
        }
        Kind::EnvConnection(of)
        | Kind::EnvTimeout(of)
        | Kind::EnvDns(of)
        | Kind::EnvUnavailable(of)
        | Kind::EnvRegistry(of)
        | Kind::EnvDiskFull(of)
        | Kind::ToolRateLimit(of)
        | Kind::ToolAccessDenied(of)
        | Kind::ToolQuota(of)
        | Kind::ToolMissing(of)
        | Kind::ToolConfig(of) => {
            add_tool(evidence, of, &fault.message);
            let address = fault.failed_connection().1.map(Cow::into_owned);
            evidence.host = address.or_else(|| evidence.host.take());
        }
        Kind::BudgetExhausted(of) => evidence.budget = budget_facts(of),
        Kind::PreconditionMissing(of)
            if fault.is_setup_failure()
                || fault.is_slow_base()
                || fault.is_broken_base()
                || fault.is_refusal() =>
        {
            evidence.command = non_empty(&of.what);
            evidence.output = last_lines(&fault.message);
        }
        Kind::OperationTimeout(of) | Kind::IterationTimeout(of) => {
            evidence.command = non_empty(&of.operation);
            evidence.output = last_lines(&fault.message);
        }
        Kind::LogicError(of) => {
            evidence.command.clone_from(&of.step);
            evidence.exit = of.exit;
            evidence.output = last_lines(&fault.message);
        }
        // The question itself consists of the agent's own words.
        Kind::PreconditionInput(of) if !of.asked.is_empty() => {}
        Kind::LogicRepeatedApproach(_) => {}
        _ => evidence.output = last_lines(&fault.message),
    }
    if let Some(end) = &fault.ended {
        add_command_end(evidence, end);
    }
}

/// Copies the end of a command whose fault has no field for it.
fn add_command_end(evidence: &mut Evidence, end: &CommandEnd) {
    evidence.command = evidence.command.take().or_else(|| end.command.clone());
    evidence.exit = evidence.exit.or(end.exit);
    let output = last_lines(&end.output);
    if output.contains(&evidence.output) {
        evidence.output = output;
    } else if !output.is_empty() {
        evidence.output = last_lines(&format!("{output}\n{}", evidence.output));
    }
}

fn add_check(evidence: &mut Evidence, of: &Validation) {
    evidence.command = non_empty(&of.command);
    evidence.exit = of.exit;
    evidence.output = check_lines(&of.output);
    let failing = CheckFailures::from_output(of.output.as_bytes(), "");
    let total = failing.tests.len();
    evidence.failing_tests_total = (total > FAILING_TESTS_MAX).then_some(total);
    evidence.failing_tests = failing.tests.into_iter().take(FAILING_TESTS_MAX).collect();
}

fn add_command(evidence: &mut Evidence, of: &Permission) {
    let commands = of.commands.join("\n");
    let asked = non_empty(&commands).or_else(|| non_empty(&of.what));
    let shown = if of.request { &mut evidence.request } else { &mut evidence.command };
    *shown = asked;
}

fn add_tool(evidence: &mut Evidence, of: &Tool, message: &str) {
    evidence.command.clone_from(&of.command);
    evidence.exit = of.exit;
    evidence.host.clone_from(&of.host);
    evidence.output = last_lines(message);
}

fn non_empty(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

/// Returns the amounts in the exhausted unit, or `None` if the limit is not known.
pub(super) fn budget_facts(of: &BudgetSpent) -> Option<BudgetFacts> {
    (!of.limit.is_zero()).then(|| BudgetFacts {
        limit: render_in_unit(of, of.limit),
        spent: render_in_unit(of, of.spent),
        needed: render_in_unit(of, of.needed),
        setting: (of.span == BudgetSpan::Day).then(|| format!("budget.per_day.{}", of.unit)),
    })
}

/// Returns that the budget of the day has no room, with its limit, its setting and what is spent; `None` if
/// the fault is another.
pub fn describe_spent_day(fault: &Fault) -> Option<String> {
    let Kind::BudgetExhausted(of) = &fault.kind else { return None };
    let BudgetFacts { limit, spent, setting, .. } = budget_facts(of)?;
    let setting = setting.and_then(|setting| quote_words(&setting, VALUE_CHARS_MAX))?;
    Some(format!(
        "the budget of {limit} for today ({setting}) has no room for the next step, with {spent} spent"
    ))
}

/// Returns how much a person adds to a budget by letting the work continue or by raising the limit.
pub(super) fn raise_facts(of: &BudgetSpent, raised_before: Amount) -> Option<RaiseFacts> {
    let more = of.next_raise(of.limit.saturating_sub(raised_before));
    let raised = |more: Amount| RaisedLimit {
        more: render_in_unit(of, more),
        in_all: render_in_unit(of, of.limit.saturating_add(more)),
    };
    (!of.limit.is_zero()).then(|| RaiseFacts {
        go_on: raised(more),
        raise: raised(more.saturating_mul(RAISE_TIMES)),
    })
}

/// Formats an amount in the exhausted unit.
fn render_in_unit(of: &BudgetSpent, amount: Amount) -> String {
    match of.unit.as_str() {
        "tokens" => format!("{} tokens", group_thousands(amount.tokens)),
        "time" => render_duration(Span::from_millis(amount.time_ms)),
        _ => render_money(amount).unwrap_or_else(|| "$0.00".to_owned()),
    }
}

/// Returns how often the error occurred since a person last answered.
fn count_failures(state: &State, question: &Question) -> Option<u32> {
    let Subject::Error(signature) = question.subject else { return None };
    let count = state.signatures().count(signature);
    Some(count.max(u32::try_from(question.attempts.len()).unwrap_or(u32::MAX)))
        .filter(|count| *count > 0)
}

fn approach_facts(attempts: &[Tried]) -> Vec<ApproachFacts> {
    let facts = |(number, Tried { approach, code }): (u32, &Tried)| ApproachFacts {
        number,
        did: approach.summary.clone(),
        files_changed: approach.files_changed,
        commands: approach.commands,
        code: *code,
        ended: failure_phrase(*code, false).to_owned(),
    };
    (1..).zip(attempts).map(facts).collect()
}

/// Returns the change of the last approach, or the work with files that need a person's permission.
fn diff_facts(question: &Question, task: Option<&Task>) -> Option<DiffFacts> {
    let asked_first = question.code() == Some(Code::PermissionFileAccess);
    let proposed = question.why.rule == Rule::RepairProposed;
    let work = task.and_then(|task| task.approach.as_ref()).filter(|_| asked_first || proposed);
    // A proposed repair shows its own change; the earlier ones did not help.
    let tried = question.attempts.last().map(|tried| &tried.approach).filter(|_| !proposed);
    let last = tried.or(work)?;
    (last.files_changed > 0).then(|| DiffFacts {
        files_changed: last.files_changed,
        files: last.files.clone(),
        lines_added: last.lines_added,
        lines_removed: last.lines_removed,
        whole: whole_change(question),
    })
}

/// Returns the command that shows the whole change.
pub(super) fn whole_change(question: &Question) -> String {
    let branch = question.fault.as_ref().and_then(|fault| fault.cause.as_deref());
    match branch.filter(|_| question.why.rule == Rule::RepairProposed) {
        Some(branch) => format!("git diff HEAD...{branch}"),
        None => format!("unstuck inbox diff {}", question.id.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::{GitOperation, Logic};

    #[test]
    fn a_list_of_failing_tests_says_how_many_it_leaves_out() {
        let named = |number: usize| {
            let lines = (0..number).map(|at| format!("--- FAIL: TestCase{at} (0.00s)\n"));
            let output = lines.collect::<String>() + "FAIL\n";
            let mut evidence = Evidence::default();
            add_check(&mut evidence, &Validation { output, ..Validation::default() });
            evidence
        };
        let evidence = named(50);
        assert_eq!(evidence.failing_tests.len(), FAILING_TESTS_MAX);
        assert_eq!(evidence.failing_tests_total, Some(50));
        let entries = evidence.entries();
        let tests = entries.iter().find(|entry| entry.label == "Failing tests").unwrap();
        assert_eq!(tests.lines.last().unwrap(), "and 30 more");
        assert_eq!(named(FAILING_TESTS_MAX).failing_tests_total, None);
    }

    #[test]
    fn the_command_of_a_stated_failure_is_shown_with_its_last_lines() {
        for code in Code::ALL {
            let stated = Fault::new(Kind::bare(*code), "script", "it logged us out");
            let logic =
                Logic { step: Some("sh orders.sh".to_owned()), exit: Some(77), ..Logic::default() };
            let said = "page 3\nunstuck: it logged us out";
            let stated = stated.with_end_of(&Fault::logic_error("job", said, logic));
            let mut evidence = Evidence::default();
            add_fault_facts(&mut evidence, &stated);
            assert_eq!(evidence.command.as_deref(), Some("sh orders.sh"), "{code}");
            assert_eq!((evidence.exit, evidence.output.as_str()), (Some(77), said), "{code}");
            let written = serde_json::to_string(&stated).unwrap();
            assert_eq!(serde_json::from_str::<Fault>(&written).unwrap(), stated);
        }
        let end = CommandEnd {
            command: Some("git push".to_owned()),
            exit: Some(1),
            ..Default::default()
        };
        let fault = Fault::git_conflict("job", "! [rejected]", GitOperation::default());
        let mut evidence = Evidence::default();
        add_fault_facts(&mut evidence, &fault.with_command_end(end));
        assert_eq!((evidence.command.as_deref(), evidence.exit), (Some("git push"), Some(1)));
        assert_eq!(evidence.output, "! [rejected]");
    }
}
