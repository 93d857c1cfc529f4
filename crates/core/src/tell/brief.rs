//! Short texts for states, questions and decisions, for boards, tables, pages and the report.

use std::borrow::Cow;

use crate::engine::{BuildState, Count, PauseCause, Rule, SkipReason, TaskId, TaskState, Why};
use crate::fault::{Auth, Charge, Fault, Kind};
use crate::plan::TaskSpec;
use crate::question::QuestionKind;
use crate::text::brief::plain_line;
use crate::text::{VALUE_CHARS_MAX, failure_phrase, quote_words};

/// Returns the display name of a task.
pub fn task_name(id: TaskId, spec: &TaskSpec) -> String {
    // The name comes from outside: print it on one line and without control characters.
    match spec.display_name() {
        "" => format!("task {id}"),
        name => plain_line(name),
    }
}

/// Returns a few words for what is asked of a person.
pub const fn describe_kind(kind: QuestionKind) -> &'static str {
    match kind {
        QuestionKind::Hands => "needs a fix",
        QuestionKind::Ok => "needs your OK",
        QuestionKind::Choice => "needs a decision",
        QuestionKind::Happened => "did it happen?",
        QuestionKind::Ours => "an error in Unstuck",
        QuestionKind::Paused => "paused",
        QuestionKind::RedBase => "an old failure",
        QuestionKind::Passing => "try again?",
    }
}

/// Returns the sentence about a check that failed and then passed.
pub fn describe_flaky_check(command: &str) -> String {
    format!("`{command}` failed and then passed without a change: it is flaky.")
}

/// The state of a task that is done because nothing had to be changed.
pub const NO_CHANGE_NEEDED: &str = "no change needed";

/// The state of work that no process performs now.
pub const NEXT_START: &str = "stopped; continues at the next start";

/// Returns the state of a task; `needs` is the title of the task that a skipped one needs, if known.
pub fn describe_task_state(state: &TaskState, needs: &str) -> Cow<'static, str> {
    match state {
        TaskState::Pending { .. } => "to come".into(),
        TaskState::Running { .. } => "running".into(),
        TaskState::BackingOff { gate: Some(_), .. } => "waiting for its account".into(),
        TaskState::BackingOff { .. } => "waiting to try again".into(),
        TaskState::Parked { .. } => "waiting for you".into(),
        TaskState::Reconciling { .. } => "checking whether its last action went through".into(),
        TaskState::Done => "done".into(),
        TaskState::Skipped { left: SkipReason::Decided } => "skipped, as you chose".into(),
        TaskState::Skipped { left: SkipReason::Denied } => {
            "skipped: you did not allow what it needs".into()
        }
        TaskState::Skipped { left: SkipReason::Needs { .. } } => {
            let needed = quote_words(needs, VALUE_CHARS_MAX);
            format!("skipped: it needs {}", needed.as_deref().unwrap_or("another task")).into()
        }
        TaskState::Failed { code } => format!("failed: {}", failure_phrase(*code, false)).into(),
        TaskState::Cancelled => "cancelled".into(),
    }
}

/// Returns the state of a build.
pub const fn describe_build_state(state: BuildState) -> &'static str {
    match state {
        BuildState::Running => "running",
        BuildState::Waiting => "waiting for you",
        BuildState::Sleeping { .. } => "sleeping until its budget has room again",
        BuildState::Paused { cause } => describe_pause(cause),
        BuildState::Completed => "finished",
        BuildState::Failed => "failed",
        BuildState::Cancelled => "cancelled, as you asked",
    }
}

/// Returns the reason why a build is paused.
const fn describe_pause(cause: PauseCause) -> &'static str {
    match cause {
        PauseCause::Person => "paused, as you asked",
        PauseCause::Questions => "paused: too many questions are open",
        PauseCause::Budget => "paused: its budget has no room for the next step",
    }
}

/// Returns the reason for a decision as a sentence for operators.
pub fn render_rule(why: &Why) -> &'static str {
    match why.rule {
        Rule::RepairBudgetExhausted if is_unrepaired(why) => {
            "Nothing is set up to repair this job."
        }
        rule => rule.sentence(),
    }
}

/// Returns whether no repair was configured for a job.
fn is_unrepaired(why: &Why) -> bool {
    why.counts.iter().any(|count| count.counter == Charge::Repair && count.limit == 0)
}

/// Formats the counters of a decision: `3 of 3 tries for this error`.
pub fn render_counts(why: &Why) -> Vec<String> {
    let said = |counter: Charge| match counter {
        Charge::Signature => "tries for this error",
        Charge::Transient => "repetitions",
        Charge::Wait => "windows waited for",
        Charge::Consecutive => "faults in a row",
        Charge::Compaction => "times shortened",
        Charge::Git => "tries with git",
        Charge::Repair => "repairs",
    };
    let line = |Count { counter, at, limit }: &Count| {
        let what = said(*counter);
        if at > limit {
            format!("more than {limit} {what}")
        } else {
            format!("{at} of {limit} {what}")
        }
    };
    // A repair limit of zero is not listed, because no repair was ever planned.
    let counted =
        why.counts.iter().filter(|count| count.limit > 0 || count.counter != Charge::Repair);
    counted.map(line).collect()
}

/// Returns the action expected of a person for a question of this kind, by this rule, about this fault, in a few
/// words after “waiting for you to”. The text is for the operator of the project: hosts and variables are named
/// verbatim. The public text is the question itself.
pub fn wanted_action(kind: QuestionKind, rule: Rule, fault: Option<&Fault>) -> Cow<'static, str> {
    match kind {
        QuestionKind::Hands if rule == Rule::RepairProposed => "look at a repair".into(),
        QuestionKind::Hands => match fault {
            Some(fault) if fault.needs_settings_line() => match &fault.kind {
                Kind::PreconditionMissing(of) => format!("write {}", of.what).into(),
                kind => hands_action(Some(kind)),
            },
            Some(fault) if fault.is_denied_access() => "change where a command writes".into(),
            Some(fault) if fault.is_setup_failure() => "see why the setup command fails".into(),
            Some(fault) if fault.is_slow_base() => "see why a check takes too long".into(),
            Some(fault) if fault.is_refusal() => "see what was refused".into(),
            Some(fault) if fault.is_broken_base() => "see why a check does not start".into(),
            fault => hands_action(fault.map(|fault| &fault.kind)),
        },
        QuestionKind::Ok => "say whether it may".into(),
        QuestionKind::Choice => "say how to continue".into(),
        QuestionKind::Happened => "say whether its last action went through".into(),
        QuestionKind::Ours => "look at an error in Unstuck".into(),
        QuestionKind::Paused => "let it continue".into(),
        QuestionKind::RedBase => "say whether an old failure belongs to the work".into(),
        QuestionKind::Passing => "say whether it should try again".into(),
    }
}

fn hands_action(kind: Option<&Kind>) -> Cow<'static, str> {
    match kind {
        Some(Kind::ToolConfig(tool)) if tool.expired_certificate.is_some() => {
            action_at_host("have the certificate renewed", tool.host.as_deref())
        }
        Some(Kind::AuthExpired(auth)) => login_action("renew the login", auth),
        Some(Kind::AuthInvalid(auth)) => login_action("replace the key or password", auth),
        Some(Kind::AuthMissing(Auth { variable: Some(variable), .. })) => {
            format!("set {variable}").into()
        }
        Some(Kind::AuthMissing(auth)) => login_action("add the key or password", auth),
        Some(Kind::ToolAccessDenied(tool)) => {
            action_at_host("give it the permission it lacks", tool.host.as_deref())
        }
        Some(Kind::ToolQuota(tool)) => action_at_host("raise a limit", tool.host.as_deref()),
        Some(Kind::EnvDiskFull(_)) => "free space on the disk".into(),
        Some(Kind::PreconditionMissing(missing)) if !missing.what.is_empty() => {
            format!("provide what is missing: {}", missing.what).into()
        }
        _ => "fix what is in the way".into(),
    }
}

/// Formats `renew the login for api.example.com (SHOP_TOKEN)`.
fn login_action(what: &'static str, auth: &Auth) -> Cow<'static, str> {
    if let (Some(login), None) = (&auth.login, &auth.variable) {
        return format!("run `{login}`").into();
    }
    match (auth.account.as_str(), &auth.variable) {
        ("", None) => what.into(),
        ("", Some(variable)) => format!("{what} in {variable}").into(),
        (account, None) => format!("{what} for {account}").into(),
        (account, Some(variable)) => format!("{what} for {account} ({variable})").into(),
    }
}

fn action_at_host(what: &'static str, host: Option<&str>) -> Cow<'static, str> {
    host.map_or(Cow::Borrowed(what), |host| format!("{what} at {host}").into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::{Code, Missing, Tool};

    #[test]
    fn a_task_is_called_by_its_title_its_name_or_its_number() {
        let spec = |title: &str, name: &str| TaskSpec {
            title: title.to_owned(),
            name: name.to_owned(),
            ..TaskSpec::default()
        };
        assert_eq!(task_name(TaskId(1), &spec("Fix it", "fix")), "Fix it");
        assert_eq!(task_name(TaskId(1), &spec(" ", "fix")), "fix");
        assert_eq!(task_name(TaskId(1), &spec("", "")), "task t1");
        assert_eq!(task_name(TaskId(1), &spec("a\u{1b}[2Jb\nc", "")), "ab c");
    }

    #[test]
    fn a_person_hears_exactly_what_to_renew_as_far_as_it_is_known() {
        let auth = |account: &str, variable: Option<&str>| Auth {
            account: account.to_owned(),
            variable: variable.map(str::to_owned),
            ..Auth::default()
        };
        let tool = Tool { host: Some("git.example.org".to_owned()), ..Tool::default() };
        let cases = [
            (Kind::AuthExpired(auth("", None)), "renew the login"),
            (
                Kind::AuthExpired(auth("api.example.com", None)),
                "renew the login for api.example.com",
            ),
            (
                Kind::AuthInvalid(auth("the shop", Some("SHOP_KEY"))),
                "replace the key or password for the shop (SHOP_KEY)",
            ),
            (
                Kind::AuthInvalid(auth("", Some("SHOP_KEY"))),
                "replace the key or password in SHOP_KEY",
            ),
            (Kind::AuthMissing(auth("", Some("SHOP_KEY"))), "set SHOP_KEY"),
            (Kind::AuthMissing(auth("the shop", None)), "add the key or password for the shop"),
            (Kind::ToolAccessDenied(tool), "give it the permission it lacks at git.example.org"),
            (Kind::bare(Code::EnvDiskFull), "free space on the disk"),
            (
                Kind::PreconditionMissing(Missing { what: "the table".to_owned() }),
                "provide what is missing: the table",
            ),
            (Kind::bare(Code::ProviderQuota), "fix what is in the way"),
        ];
        for (kind, words) in cases {
            let fault = Fault::new(kind, "exec:mail", "");
            assert_eq!(wanted_action(QuestionKind::Hands, Rule::NeverRetried, Some(&fault)), words);
        }
    }
}
