//! The texts of a question to a person, built from the engine's state.

use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::engine::{BuildState, Question, Rule, State, Subject, Task, TaskId, TaskStateKind};
use crate::fault::{
    Auth, BudgetSpan, Charge, Code, ExpiredCertificate, Fault, Files, Kind, Missing, Permission,
    Work,
};
use crate::policy::Amount;
use crate::question::{
    Decision, OtherWork, QuestionFacts, QuestionText, Reason, Risk, TriedAttempt, build_text,
    operator_text as operator,
};
use crate::text::{
    SpecificCause, VALUE_CHARS_MAX, agent_service, is_numeric, is_rejected_push, missing_program,
    provider_display_name, service_at, service_of_variable, silent_span, telling_line,
    unknown_model, verbatim_line,
};
use crate::time::{Span, Time};

use super::evidence::{budget_facts, raise_facts, whole_change};

/// Returns the public text of an open question. Unstuck's own words in it pass the linter.
pub fn question_text(state: &State, question: &Question, now: Time) -> QuestionText {
    with_question_facts(state, question, now, build_text)
}

/// Returns the operator's text beside it: the rule, the counters and the redacted message.
pub fn operator_text(state: &State, question: &Question, now: Time) -> String {
    let message = match (&question.fault, question.subject) {
        (Some(fault), _) => fault.message.clone(),
        (None, Subject::Action(id)) => state
            .mutation(id)
            .map_or_else(String::new, |action| format!("{id}, {}", action.spec.key)),
        (None, _) => String::new(),
    };
    with_question_facts(state, question, now, |asked| operator(asked, &message))
}

fn with_question_facts<T>(
    state: &State,
    question: &Question,
    now: Time,
    tell: impl FnOnce(&QuestionFacts<'_>) -> T,
) -> T {
    let tasks: Vec<_> = question.tasks.iter().filter_map(|id| state.task(*id)).collect();
    let titles: Vec<&str> = tasks.iter().map(|task| task.spec.display_name()).collect();
    let attempts: Vec<TriedAttempt<'_>> = (1..)
        .zip(&question.attempts)
        .map(|(number, tried)| TriedAttempt {
            number,
            summary: &tried.approach.summary,
            files_changed: tried.approach.files_changed,
            commands: tried.approach.commands,
            code: tried.code,
        })
        .collect();
    let hints = question_hints(state, question);
    let (budget, raise) = match question.fault.as_ref().map(|fault| &fault.kind) {
        Some(Kind::BudgetExhausted(spent)) => {
            (budget_facts(spent), raise_facts(spent, raised_before(state, question, spent.span)))
        }
        _ => (None, None),
    };
    let whole = whole_change(question);
    let is_idle = !attempts.is_empty() && attempts.iter().all(|tried| tried.files_changed == 0);
    let idle = is_idle.then_some(SpecificCause::NothingChanged);
    let asked = QuestionFacts {
        work: tasks.first().map_or(Work::Task, |task| task.work()),
        titles: &titles,
        tasks: u32::try_from(titles.len()).unwrap_or(u32::MAX),
        dependants: count_dependants(state, &question.tasks),
        other_work: other_work(state, question),
        attempts: &attempts,
        account: hints.account.as_deref(),
        program: hints.program,
        model: hints.model,
        what: hints.what.as_deref(),
        came_back: question.action.as_ref().and_then(|action| action.came_back.as_deref()),
        look_at: question.action.as_ref().and_then(|action| action.look_at.as_deref()),
        variable: hints.variable,
        login: hints.login,
        budget: budget.as_ref(),
        raise: raise.as_ref(),
        setup_ended: hints.setup_ended,
        check_ended: hints.check_ended,
        kept: hints.kept,
        broken: hints.broken,
        why: hints.why.as_deref(),
        is_expected: hints.is_expected,
        rejected_push: hints.rejected_push,
        expired_certificate: hints.expired_certificate,
        cause: hints.cause.or(idle),
        phase: hints.phase,
        whole_change: Some(&whole),
        agent_question: hints.asked,
        answered_before: hints.asked.and_then(|_| answered_before(&tasks)),
        agent_options: hints.options,
        risk: hints.risk,
        action_key: hints.action_key,
        always_allow: true,
        ..QuestionFacts::new(
            question.kind,
            told_code(question),
            question_reason(state, question, now),
        )
    };
    tell(&asked)
}

/// Returns the code whose words tell a person what happened.
fn told_code(question: &Question) -> Option<Code> {
    question.code().map(|code| question.fault.as_ref().map_or(code, |fault| fault.told_code()))
}

/// Returns the person's last guidance to the agent.
fn answered_before<'a>(tasks: &[&'a Task]) -> Option<&'a str> {
    let guidance = tasks.first()?.guidance.as_deref()?;
    guidance.text.as_deref().filter(|_| guidance.decision == Decision::ProvideGuidance)
}

/// Returns how much a person has already added to the budget.
fn raised_before(state: &State, question: &Question, span: BudgetSpan) -> Amount {
    let task = question.tasks.first().and_then(|id| state.task(*id));
    let build = match question.subject {
        Subject::Build(build) => state.build(build),
        _ => None,
    };
    match span {
        BudgetSpan::Task => task.map_or(Amount::ZERO, |task| task.raised),
        BudgetSpan::Build => build.map_or(Amount::ZERO, |build| build.raised),
        BudgetSpan::Day => {
            build.and_then(|build| build.raised_day).map_or(Amount::ZERO, |raised| raised.more)
        }
    }
}

/// Returns the reason for asking now, with the numbers that were actually observed.
fn question_reason(state: &State, question: &Question, now: Time) -> Reason {
    let count = |charge: Charge| {
        question.why.counts.iter().find(|count| count.counter == charge).map_or(0, |c| c.at)
    };
    match question.why.rule {
        Rule::TriesUsedUp if question.code() == Some(Code::ProviderContextTooLong) => {
            Reason::ShortenedTooOften { times: count(Charge::Compaction).saturating_sub(1) }
        }
        Rule::TriesUsedUp => {
            let tried = count(Charge::Signature);
            let all = tried.max(u32::try_from(question.attempts.len()).unwrap_or(u32::MAX));
            Reason::AttemptsUsedUp { tried: all, ways: count_approaches(state, question, all) }
        }
        Rule::MaxRetriesExceeded if count(Charge::Transient) <= 2 => Reason::RetriedOnce,
        Rule::MaxRetriesExceeded => {
            Reason::MaxRetriesExceeded { retries: count(Charge::Transient).saturating_sub(1) }
        }
        Rule::WaitedTooLong => Reason::WaitedTooLong { span: error_age(state, question, now) },
        // A script that ran again because of its actions was not repaired.
        Rule::RepairBudgetExhausted if question.attempts.is_empty() => {
            Reason::RepairBudgetExhausted { repairs: 0 }
        }
        Rule::RepairBudgetExhausted => {
            Reason::RepairBudgetExhausted { repairs: count(Charge::Repair).saturating_sub(1) }
        }
        Rule::RepairProposed => Reason::RepairProposed,
        Rule::TooManyInARow => Reason::TooManyDifferentErrors,
        Rule::CrashedTooOften => Reason::TooManyCrashes { times: count_crashes(state, question) },
        Rule::KeepsFailing => keeps_failing_reason(state, question, now),
        Rule::TooManyQuestions => {
            Reason::TooManyQuestions { open: open_questions(state, question) }
        }
        Rule::BudgetSpent => Reason::BudgetSpent { span: budget_span(question.fault.as_deref()) },
        Rule::CannotTell => Reason::OutcomeUnknown,
        _ if question.code() == Some(Code::PreconditionInput) => Reason::AgentAsked,
        _ => Reason::FirstOccurrence,
    }
}

/// Returns the number of different approaches among the failures; equal changes are the same approach.
/// Returns 0 if unknown: an attempt left nothing to distinguish it by, or not all of them are kept. An
/// approach that was checked again is kept only once.
fn count_approaches(state: &State, question: &Question, tried: u32) -> u32 {
    let digests = question.attempts.iter().map(|tried| tried.approach.digest);
    let Some(digests) = digests.collect::<Option<Vec<_>>>() else { return 0 };
    let different: BTreeSet<_> = digests.iter().copied().collect();
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let record = match question.subject {
        Subject::Error(signature) => state.signatures().get(signature),
        _ => None,
    };
    let mut failed = record.iter().flat_map(|record| &record.failed);
    let came_again = failed.any(|failed| {
        failed.confirmed && failed.tried.approach.digest.is_some_and(|of| different.contains(&of))
    });
    if came_again || count(digests.len()) >= tried { count(different.len()) } else { 0 }
}

/// Returns how often the process that ran the first of the tasks was killed.
fn count_crashes(state: &State, question: &Question) -> u32 {
    let task = question.tasks.first().and_then(|task| state.task(*task));
    task.map_or(0, |task| task.counters.crashes)
}

/// Returns how long a job has been failing, as a reason.
fn keeps_failing_reason(state: &State, question: &Question, now: Time) -> Reason {
    let task = question.tasks.first().and_then(|task| state.task(*task));
    let failing = task.and_then(|task| task.failing);
    Reason::KeepsFailing {
        firings: failing.map_or(0, |failing| failing.firings),
        span: failing.map_or(Span::ZERO, |failing| now.since(failing.since)),
    }
}

/// Returns the age of the error: from its first occurrence to the question.
fn error_age(state: &State, question: &Question, now: Time) -> Span {
    let Subject::Error(signature) = question.subject else { return Span::ZERO };
    let first = state.signatures().get(signature).map_or(question.asked_at, |r| r.first_seen);
    question.asked_at.min(now).since(first)
}

fn open_questions(state: &State, question: &Question) -> u32 {
    match question.subject {
        Subject::Build(build) => state.build(build).map_or(0, |build| build.open_questions),
        Subject::Error(_) | Subject::Action(_) | Subject::Job(_) => 0,
    }
}

fn budget_span(fault: Option<&Fault>) -> BudgetSpan {
    match fault.map(|fault| &fault.kind) {
        Some(Kind::BudgetExhausted(context)) => context.span,
        _ => BudgetSpan::Build,
    }
}

/// Returns the number of other tasks that would be skipped with these.
fn count_dependants(state: &State, tasks: &[TaskId]) -> u32 {
    let waiting = with_dependants(state, tasks.to_vec());
    u32::try_from(waiting.len() - tasks.len()).unwrap_or(u32::MAX)
}

/// Returns the state of the build's work that does not wait for this answer.
fn other_work(state: &State, question: &Question) -> OtherWork {
    let first = question.tasks.first().and_then(|id| state.task(*id));
    let Some(build) = first.and_then(|task| state.build(task.build)) else {
        return OtherWork::None;
    };
    let concerned = with_dependants(state, question.tasks.clone());
    let has_ended = |id: &TaskId| state.task(*id).is_some_and(|task| task.state.has_ended());
    let is_open = |id: &TaskId| !concerned.contains(id) && !has_ended(id);
    let has_others = build.tasks.iter().any(is_open);
    match build.state {
        BuildState::Paused { .. } => return OtherWork::Paused,
        BuildState::Sleeping { .. } => return OtherWork::Rests,
        _ if !has_others => return OtherWork::NotThere,
        // In the user's own working tree no other task begins before this one has ended.
        _ if state.tree_taken_by(build).is_some_and(|task| question.tasks.contains(&task.id)) => {
            return OtherWork::None;
        }
        _ => {}
    }
    let standing = |id: TaskId| state.task(id).map(|task| task.state.kind());
    let waits =
        |id: &TaskId| question.tasks.contains(id) || standing(*id) == Some(TaskStateKind::Parked);
    let waiting = with_dependants(state, build.tasks.iter().copied().filter(waits).collect());
    let goes_on = |id: &TaskId| {
        let live = standing(*id).is_some_and(|standing| {
            matches!(
                standing,
                TaskStateKind::Pending
                    | TaskStateKind::Running
                    | TaskStateKind::BackingOff
                    | TaskStateKind::Reconciling
            )
        });
        live && !waiting.contains(id)
    };
    if build.tasks.iter().any(goes_on) { OtherWork::GoesOn } else { OtherWork::None }
}

/// Returns these tasks and all that wait for them. A dependant that has ended waits for nothing.
fn with_dependants(state: &State, mut seen: Vec<TaskId>) -> Vec<TaskId> {
    let mut next = 0;
    while let Some(task) = seen.get(next).and_then(|id| state.task(*id)) {
        for dependant in &task.dependants {
            let waits = state.task(*dependant).is_some_and(|task| !task.state.has_ended());
            if waits && !seen.contains(dependant) {
                seen.push(*dependant);
            }
        }
        next += 1;
    }
    seen
}

/// The obstacle of an agent that was ended because it was silent.
const WAS_SILENT: &str = "Nothing was heard of the AI helper for too long, so I ended it.";

#[derive(Default)]
struct QuestionHints<'a> {
    account: Option<Cow<'a, str>>,
    program: Option<&'a str>,
    model: Option<&'a str>,
    what: Option<Cow<'a, str>>,
    variable: Option<&'a str>,
    login: Option<&'a str>,
    setup_ended: Option<&'a str>,
    check_ended: Option<&'a str>,
    kept: Option<&'a str>,
    broken: Option<&'a str>,
    why: Option<Cow<'a, str>>,
    is_expected: bool,
    rejected_push: bool,
    expired_certificate: Option<&'a ExpiredCertificate>,
    cause: Option<SpecificCause>,
    phase: Option<&'a str>,
    asked: Option<&'a str>,
    options: &'a [String],
    risk: Risk,
    action_key: Option<&'a str>,
}

impl<'a> QuestionHints<'a> {
    /// Returns the hints for a named thing.
    fn from_name(name: &'a str) -> Self {
        Self { what: non_empty(name).map(Cow::Borrowed), ..Self::default() }
    }

    /// Returns the hints for a login.
    fn from_login(auth: &'a Auth) -> Self {
        let behind = agent_service(&auth.account);
        let service = behind.map(|(_, service)| Cow::Borrowed(service));
        // The program that logs in names the account that has no other name.
        let of_login = || auth.login.as_deref()?.split(' ').next().map(Cow::Borrowed);
        let named = || account_name(&auth.account, auth.variable.as_deref());
        Self {
            account: service.or_else(named).or_else(of_login),
            program: behind.map(|(program, _)| program),
            variable: auth.variable.as_deref(),
            login: auth.login.as_deref(),
            ..Self::default()
        }
    }
}

/// Returns the account, program and subject that the fault's context names.
fn question_hints<'a>(state: &'a State, question: &'a Question) -> QuestionHints<'a> {
    if let Subject::Action(id) = question.subject {
        // The command itself says more than the key it was declared under.
        let call = question.action.as_ref().and_then(|action| action.call.as_deref());
        let key = || state.mutation(id).map(|of| of.spec.key.as_str());
        return call.or_else(key).map_or_else(QuestionHints::default, QuestionHints::from_name);
    }
    let message = question.fault.as_ref().map_or("", |fault| &fault.message);
    match question.fault.as_ref().map(|fault| &fault.kind) {
        Some(Kind::AuthInvalid(of) | Kind::AuthExpired(of) | Kind::AuthMissing(of)) => {
            let cause = question.fault.as_deref().and_then(SpecificCause::from_fault);
            QuestionHints { cause, ..QuestionHints::from_login(of) }
        }
        Some(Kind::EnvConnection(_) | Kind::EnvTimeout(_) | Kind::EnvUnavailable(_)) => {
            question.fault.as_deref().map_or_else(QuestionHints::default, |fault| QuestionHints {
                account: fault.failed_connection().1.filter(|address| !is_numeric(address)),
                cause: SpecificCause::from_fault(fault),
                ..QuestionHints::default()
            })
        }
        Some(Kind::ToolAccessDenied(c) | Kind::ToolQuota(c) | Kind::ToolRateLimit(c)) => {
            let host = c.host.as_deref().unwrap_or_default();
            let command = c.command.as_deref().unwrap_or_default();
            QuestionHints { account: account_name(host, None), ..QuestionHints::from_name(command) }
        }
        // A command that names the missing program says more than its own name.
        Some(Kind::ToolMissing(of)) => {
            let command = of.command.as_deref().unwrap_or_default();
            QuestionHints::from_name(missing_program(message).unwrap_or(command))
        }
        Some(Kind::ToolConfig(of)) => QuestionHints {
            account: of.host.as_deref().map(Cow::Borrowed),
            expired_certificate: of.expired_certificate.as_ref(),
            ..QuestionHints::from_name(of.command.as_deref().unwrap_or_default())
        },
        // Unstuck measured the disk space itself.
        Some(Kind::EnvDiskFull(of)) if of.command.is_none() => QuestionHints::from_name(message),
        Some(Kind::ProviderNotAvailable(c)) => QuestionHints {
            account: account_name(&c.name, None),
            model: question.fault.as_deref().and_then(unknown_model),
            ..QuestionHints::default()
        },
        Some(
            Kind::ValidationPreCommit(of)
            | Kind::ValidationPrePush(of)
            | Kind::ValidationPrePr(of)
            | Kind::ValidationRedBase(of),
        ) => {
            let misplaced = question.fault.as_deref().filter(|fault| fault.is_misplaced_work());
            let why = misplaced.and_then(describe_misplaced_work);
            let cause = misplaced.and_then(SpecificCause::from_fault);
            QuestionHints { why, cause, ..QuestionHints::from_name(&of.command) }
        }
        Some(Kind::ScopeForbidden(of) | Kind::ScopeOutsideAllowed(of)) => file_hints(of),
        Some(Kind::LogicRepeatedApproach(_) | Kind::LogicNoProgress(_)) => {
            let task = question.tasks.first().and_then(|id| state.task(*id));
            let check = task.and_then(|task| task.check_failure.as_deref());
            match check.map(|fault| &fault.kind) {
                Some(Kind::ValidationPreCommit(of) | Kind::ValidationPrePush(of)) => {
                    QuestionHints::from_name(&of.command)
                }
                _ => QuestionHints::default(),
            }
        }
        Some(Kind::GitCommitFailed(_)) => {
            QuestionHints::from_name(telling_line(message).unwrap_or_default())
        }
        Some(Kind::GitConflict(_)) => {
            QuestionHints { rejected_push: is_rejected_push(message), ..QuestionHints::default() }
        }
        Some(Kind::OperationTimeout(of)) => QuestionHints::from_name(&of.operation),
        Some(Kind::IterationTimeout(_)) => {
            let is_silent =
                question.fault.as_deref().is_some_and(|fault| silent_span(fault).is_some());
            QuestionHints {
                why: is_silent.then_some(Cow::Borrowed(WAS_SILENT)),
                ..QuestionHints::default()
            }
        }
        Some(Kind::LogicError(of)) => {
            QuestionHints::from_name(of.step.as_deref().unwrap_or_default())
        }
        Some(Kind::LogicPhaseViolation(of)) => QuestionHints {
            phase: of.phase.as_deref(),
            ..QuestionHints::from_name(of.step.as_deref().unwrap_or_default())
        },
        Some(Kind::PreconditionMissing(of)) => missing_hints(question, of),
        Some(Kind::PermissionCommandBlocked(of)) => command_hints(of),
        Some(Kind::PermissionFileAccess(of)) => file_access_hints(question, of),
        Some(Kind::PermissionSkipDenied(of)) => QuestionHints::from_name(&of.what),
        Some(Kind::PreconditionInput(c)) => QuestionHints {
            asked: non_empty(&c.asked),
            options: &c.options,
            ..QuestionHints::default()
        },
        _ => QuestionHints::default(),
    }
}

fn file_access_hints<'a>(question: &'a Question, of: &'a Permission) -> QuestionHints<'a> {
    let fault = question.fault.as_ref();
    let guarded = fault.is_some_and(|fault| fault.is_agent_refusal());
    let why = fault.and_then(|fault| fault.cause.as_deref());
    let risk = match Risk::from_path(&of.what) {
        Risk::Usual if guarded => Risk::Guarded,
        risk => risk,
    };
    let program = of.agent.as_deref().and_then(provider_display_name);
    let why = why.filter(|_| !guarded).map(Cow::Borrowed);
    let is_expected = fault.is_some_and(|fault| fault.is_expected_change());
    QuestionHints { program, why, is_expected, risk, ..QuestionHints::from_name(&of.what) }
}

/// Says where the work is that no commit covers.
fn describe_misplaced_work(fault: &Fault) -> Option<Cow<'_, str>> {
    if let Some(cause) = &fault.cause {
        return Some(Cow::Borrowed(cause));
    }
    let place =
        verbatim_line(fault.message.lines().next()?.strip_prefix("your ")?, VALUE_CHARS_MAX);
    Some(Cow::Owned(format!("The {place}. Only what git commits counts.")))
}

/// Returns the hints for a missing thing, with what ended or was denied because of it.
fn missing_hints<'a>(question: &'a Question, of: &'a Missing) -> QuestionHints<'a> {
    let ended = |is: fn(&Fault) -> bool| {
        let fault = question.fault.as_deref().filter(|fault| is(fault));
        fault.and_then(|fault| fault.cause.as_deref())
    };
    QuestionHints {
        setup_ended: ended(Fault::is_setup_failure),
        check_ended: ended(Fault::is_slow_base),
        kept: ended(Fault::is_denied_access),
        broken: ended(Fault::is_broken_base).or_else(|| ended(Fault::is_refusal)),
        ..QuestionHints::from_name(&of.what)
    }
}

/// Returns the hints for changed files, by their names.
fn file_hints(of: &Files) -> QuestionHints<'_> {
    let names = of.files.join(", ");
    QuestionHints {
        what: (!names.is_empty()).then_some(Cow::Owned(names)),
        ..QuestionHints::default()
    }
}

/// Returns the hints for a command to be allowed, with its risk.
fn command_hints(of: &Permission) -> QuestionHints<'_> {
    let risk = match of.action {
        _ if of.never => Risk::Never,
        Some(_) if of.request => Risk::IrreversibleRequest,
        Some(_) => Risk::Irreversible,
        None if of.blocked => Risk::Blocked,
        None if of.irreversible && of.commands.is_empty() => Risk::Undeclared,
        None if of.irreversible => Risk::Destructive,
        None => Risk::from_command(&of.what),
    };
    QuestionHints { risk, action_key: of.action.as_deref(), ..QuestionHints::from_name(&of.what) }
}

/// Returns the owner of a login: by its own name, or by that of the service at its host or in its variable.
fn account_name<'a>(name: &'a str, variable: Option<&str>) -> Option<Cow<'a, str>> {
    let at_host = || service_at(name).map(Cow::Owned);
    let host_itself = || (!is_numeric(name)).then_some(Cow::Borrowed(name));
    let of_variable = || variable.and_then(service_of_variable).map(Cow::Owned);
    match non_empty(name) {
        Some(host) if host.contains(['.', ':']) => {
            at_host().or_else(of_variable).or_else(host_itself)
        }
        Some(name) => Some(Cow::Borrowed(provider_display_name(name).unwrap_or(name))),
        None => of_variable(),
    }
}

fn non_empty(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{Obstacle, describe_obstacle};

    #[test]
    fn a_login_names_the_account_without_another_name() {
        let login = |account: &str| Auth {
            account: account.to_owned(),
            login: Some("npm login".to_owned()),
            ..Auth::default()
        };
        let name = |auth: &Auth| QuestionHints::from_login(auth).account.map(Cow::into_owned);
        assert_eq!(name(&login("")).as_deref(), Some("npm"));
        assert_eq!(name(&login("registry.shop.dev")).as_deref(), Some("Shop"));
    }

    #[test]
    fn an_address_in_numbers_is_no_name_of_an_account() {
        for host in ["127.0.0.1", "127.0.0.1:8080", "[::1]:8080", "::1"] {
            let account = account_name(host, None);
            let about = Obstacle { account: account.as_deref(), ..Obstacle::default() };
            assert_eq!(
                describe_obstacle(Code::AuthInvalid, &about),
                "An account that this work needs refused the key or password I have.",
                "{host}"
            );
        }
        assert_eq!(account_name("127.0.0.1", Some("SHOP_API_TOKEN")).as_deref(), Some("Shop"));
    }
}
