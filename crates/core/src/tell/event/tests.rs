use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::engine::{
    BuildId, GateKey, Guidance, MutationId, Next, Question, QuestionId, RedCheck, RunId, Start,
    Step, TaskId, Why,
};
use crate::fault::{BudgetSpan, BudgetSpent, CheckStage, Validation};
use crate::policy::Amount;
use crate::question::{Decision, QuestionKind};
use crate::signature::Signature;
use crate::text::{lint_text, our_words};
use crate::time::Span;

const NOW: Time = Time::from_millis(1_700_000_000_000);
const TASK: TaskId = TaskId(1);
const RUN: RunId = RunId(2);
const BUILD: BuildId = BuildId(3);
const MUTATION: MutationId = MutationId(4);
const NEXT: Next = Next::at_attempt(Start::Fresh);

fn at(event: Event) -> RecordedEvent {
    RecordedEvent { seq: 1, at: NOW, why: None, event }
}

fn by(why: Why, event: Event) -> RecordedEvent {
    RecordedEvent { why: Some(why), ..at(event) }
}

fn asked(subject: Subject, kind: QuestionKind, code: Option<Code>, rule: Rule) -> RecordedEvent {
    let fault = code.map(|code| Arc::new(Fault::new(Kind::bare(code), "agent", "")));
    let question = Question {
        id: QuestionId(5),
        subject,
        kind,
        fault,
        why: Why::from_rule(rule),
        attempts: Vec::new(),
        tasks: vec![TASK],
        asked_at: NOW,
        action: None,
    };
    at(Event::QuestionAsked { question: Box::new(question) })
}

fn answered(decision: Decision, words: Option<&str>, step: Step) -> RecordedEvent {
    let guidance = Guidance { decision, text: words.map(Arc::from) };
    at(Event::TaskUnparked {
        task: TASK,
        next: Next { step, ..NEXT },
        guidance: Some(Arc::new(guidance)),
        allowance: None,
        fresh: false,
    })
}

fn retrying(code: Code, attempt: u32, approach: u32, of: u32) -> Event {
    let signature = Signature::from_parts(code, "agent", &[]);
    Event::Retrying { task: TASK, run: RUN, signature, attempt, code, approach, of }
}

fn ready(why: Why) -> RecordedEvent {
    by(why, Event::TaskReady { task: TASK, run: None, next: NEXT })
}

/// Returns the events that a person reads about, with the given code.
fn told(code: Code) -> Vec<RecordedEvent> {
    let until = NOW + Span::from_mins(107);
    let error = Subject::Error(Signature::from_parts(code, "agent", &[]));
    let fault = Arc::new(Fault::new(Kind::bare(code), "agent", ""));
    let met = Event::FaultMet {
        task: TASK,
        run: RUN,
        fault: Arc::clone(&fault),
        approach: None,
        ends: true,
        passing: false,
    };
    let backing_off =
        |until| Event::TaskBackingOff { task: TASK, until, gate: None, run: None, next: NEXT };
    let skipped = |left| at(Event::TaskSkipped { task: TASK, left });
    let reconciled =
        |to| at(Event::MutationReconciled { mutation: MUTATION, to, result: Arc::from("") });
    let paused = |cause| at(Event::BuildPaused { build: BUILD, cause, open_questions: 5 });
    let done = |unchanged: Option<&str>| {
        at(Event::TaskDone { task: TASK, unchanged: unchanged.map(Arc::from) })
    };
    let repair = |rule| ready(Why::with_code(rule, code).with_count(Charge::Repair, 1, 3));
    let because = || Why::with_code(Rule::PassesByItself, code);
    let mut told = vec![
        at(Event::BuildWaiting { build: BUILD }),
        at(Event::BuildResumed { build: BUILD }),
        at(Event::BuildCompleted { build: BUILD }),
        at(Event::BuildFailed { build: BUILD, fault }),
        at(Event::BuildCancelled { build: BUILD }),
        paused(PauseCause::Person),
        paused(PauseCause::Questions),
        paused(PauseCause::Budget),
        at(Event::Sleeping { build: BUILD, until, fault: None }),
        at(Event::Sleeping { build: BUILD, until, fault: Some(spent_day()) }),
        at(Event::Waking { build: BUILD }),
        at(Event::JobHeld { task: TASK }),
        at(Event::JobReleased { task: TASK }),
        at(Event::JobMissed { task: TASK, code }),
        by(because(), backing_off(Some(NOW + Span::from_secs(32)))),
        by(because(), backing_off(None)),
        at(Event::TaskReconciling { task: TASK, run: RUN, fault: None, next: NEXT }),
        done(None),
        done(Some("It is there already.")),
        done(Some("it is there already")),
        at(Event::TaskFailed { task: TASK, code }),
        skipped(SkipReason::Decided),
        skipped(SkipReason::Denied),
        skipped(SkipReason::Needs { task: TASK }),
        at(Event::TaskCancelled { task: TASK }),
        ready(Why::from_rule(Rule::RecoveredAfterCrash)),
        ready(Why::from_rule(Rule::TakenUpAgain)),
        ready(Why::from_rule(Rule::ConversationShortened)),
        repair(Rule::RepairScript),
        repair(Rule::ProposeOnly),
        at(Event::RunStarted { run: RUN, task: TASK, retry_of: None, next: NEXT }),
        at(Event::RunStarted { run: RUN, task: TASK, retry_of: Some(RUN), next: NEXT }),
        at(met),
        at(Event::Warned { task: TASK, run: RUN, code: Code::GitPushFailed }),
        at(Event::Nudged { run: RUN }),
        at(Event::Narrated { run: RUN, text: Arc::from("the checks are green now") }),
        at(retrying(code, 1, 2, 3)),
        asked(error, QuestionKind::Choice, Some(code), Rule::TriesUsedUp),
        asked(Subject::Action(MUTATION), QuestionKind::Happened, None, Rule::CannotTell),
        asked(error, QuestionKind::Passing, None, Rule::CrashedTooOften),
        asked(Subject::Job(TASK), QuestionKind::Passing, Some(code), Rule::KeepsFailing),
        asked(Subject::Build(BUILD), QuestionKind::Paused, None, Rule::TooManyQuestions),
        at(Event::QuestionJoined { question: QuestionId(5), task: TASK }),
        reconciled(Reconciled::Applied),
        reconciled(Reconciled::NotApplied),
        at(Event::GateWaiting { gate: GateKey(1), until, code, passed: false }),
        at(Event::GatePassing { gate: GateKey(1), release_at: None, untried: false }),
        answered(Decision::Deny, None, Step::TakeBack),
        answered(Decision::ProvideGuidance, Some("use `httpx`"), NEXT.step),
    ];
    told.extend(Decision::ALL.iter().map(|decision| answered(*decision, None, NEXT.step)));
    told
}

fn facts(title: &str, work: Work) -> EventFacts<'_> {
    let tally = Some(BuildTally { tasks: 8, done: 5, unchanged: 0, not_done: 2, waiting: 1 });
    EventFacts { title, work, attempts: 2, needs: title, tally, ..EventFacts::default() }
}

#[track_caller]
fn is_plain_sentence(said: &str) {
    let said = &our_words(said);
    assert_eq!(lint_text(said), [], "{said:?}");
    assert!(said.ends_with(['.', '”']) && !said.contains(". "), "{said:?}");
    assert!(!said.starts_with(char::is_lowercase), "{said:?}");
}

#[test]
fn each_event_is_one_plain_sentence() {
    // T2.7, T1.6, B8
    for &code in Code::ALL {
        for work in [Work::Task, Work::Job] {
            for title in ["Payment webhook", "", "fix src/main.rs"] {
                for recorded in told(code) {
                    is_plain_sentence(&describe_event(&recorded, &facts(title, work)));
                }
            }
        }
    }
}

#[test]
fn a_retry_says_which_approach_and_why() {
    // T2.7
    let code = Code::ValidationPreCommit;
    let said =
        |recorded: &RecordedEvent| describe_event(recorded, &facts("Payment webhook", Work::Task));
    let told = "Trying a different approach (2 of 3) for “Payment webhook”: a check failed.";
    assert_eq!(said(&at(retrying(code, 1, 2, 3))), told);
    // Early journals have only the counters of the decision.
    let why = Why::with_code(Rule::AnotherApproach, code).with_count(Charge::Signature, 1, 3);
    assert_eq!(said(&by(why, retrying(code, 1, 0, 0))), told);
    assert!(said(&at(retrying(code, 3, 4, 3))).contains("(4, the last one)"));
    // The number of tries is the configured one, also after approaches that met another error.
    assert!(said(&at(retrying(code, 1, 4, 3))).contains("(4; 2 of 3 for this error)"));
    assert!(said(&at(retrying(code, 3, 6, 3))).contains("(6, the last one)"));
    assert!(said(&at(retrying(code, 1, 0, 0))).contains("approach (2) for"));
}

#[test]
fn a_retry_names_the_check_the_hook_or_the_file() {
    // T2.7
    let said = |source: &str, command: &str, output: &str| {
        let context = Validation { command: command.into(), exit: Some(1), output: output.into() };
        let fault = Fault::validation_pre_commit(source, "no matter", context);
        let facts = EventFacts { failure: Some(&fault), ..facts("a", Work::Task) };
        describe_event(&at(retrying(Code::ValidationPreCommit, 1, 2, 3)), &facts)
    };
    let because = |why: &str| format!("Trying a different approach (2 of 3) for “a”: {why}.");
    assert_eq!(
        said("validate:pre_commit#1", "make test", "red"),
        because("the check “make test” failed")
    );
    assert_eq!(
        said("hook:pre-commit", "pre-commit", "red"),
        because("the hook “pre-commit” refused the commit")
    );
    assert_eq!(
        said("validate:secrets", "scan for secrets", "conf/a.py:3: a secret (a key)\nb: a secret"),
        because("the change holds what looks like a secret (in “conf/a.py:3”)")
    );
}

#[test]
fn a_push_is_told_apart_from_other_actions() {
    let said = |to, action| {
        let facts = EventFacts { action, ..facts("Payment webhook", Work::Task) };
        let event = Event::MutationReconciled { mutation: MUTATION, to, result: Arc::from("") };
        describe_event(&at(event), &facts)
    };
    let push = Some(MutationKind::Push);
    assert_eq!(said(Reconciled::Applied, push), "The push of “Payment webhook” arrived after all.");
    assert_eq!(said(Reconciled::NotApplied, push), "The push of “Payment webhook” did not arrive.");
    assert_eq!(
        said(Reconciled::Applied, Some(MutationKind::Command)),
        "The last action of “Payment webhook” went through; it is not repeated."
    );
}

#[test]
fn a_red_base_names_its_tests_or_the_line_that_says_most() {
    let tests = ["test_add".to_owned(), "test_sub".to_owned()];
    let output = "AssertionError: -1 != 5\nRan 2 tests in 0.001s\n";
    let red = |tests: &[String], output: &str, compared| RedCheck {
        command: "make test".into(),
        exit: 1,
        output: output.into(),
        tests: tests.to_vec(),
        compared,
        later: None,
    };
    let tell = |red: Vec<RedCheck>| {
        let event = Event::BaseChecked { build: BUILD, run: RUN, red };
        describe_event(&at(event), &EventFacts::default())
    };
    let said = |tests: &[String], output| tell(vec![red(tests, output, false)]);
    let end = "It has to pass when the work is done.";
    assert_eq!(
        said(&tests, output),
        format!(
            "`make test` fails before any work has begun (test_add and 1 more: “AssertionError: -1 \
             != 5”). {end}"
        )
    );
    assert_eq!(
        said(&tests[..1], "FAIL: test_add\nRan 2 tests in 0.001s\n"),
        format!("`make test` fails before any work has begun (test_add). {end}")
    );
    assert_eq!(
        said(&[], output),
        format!("`make test` fails before any work has begun (“AssertionError: -1 != 5”). {end}")
    );
    let node = "AssertionError [ERR_ASSERTION]: the total is thirty cents\n+ actual - expected\n    at Object.<anonymous> (t.js:3:8)\n  \
                actual: 0.3,\n  expected: 30,\n  operator: 'strictEqual'\n}\n";
    let reason = "AssertionError [ERR_ASSERTION]: the total is thirty cents";
    assert_eq!(
        said(&[], node),
        format!("`make test` fails before any work has begun (“{reason}”). {end}")
    );
    assert_eq!(said(&[], ""), format!("`make test` fails before any work has begun. {end}"));
    let lint = RedCheck { command: "make lint".into(), ..red(&[], "", false) };
    assert_eq!(
        tell(vec![red(&[], "", false), lint]),
        "`make test` fails before any work has begun, and so does `make lint`. They have to pass \
         when the work is done."
    );
    let later = RedCheck { later: Some(CheckStage::PrePr), ..red(&[], "", false) };
    assert_eq!(
        tell(vec![later]),
        "`make test` fails before any work has begun. It has to pass before a pull request is opened."
    );
    let end = "What fails there now may still fail when the work is done, and nothing else.";
    let compared = format!("`make test` fails before any work has begun. {end}");
    assert_eq!(tell(vec![red(&[], "", true)]), compared);
}

#[test]
fn the_sentences() {
    let facts = facts("Payment webhook", Work::Task);
    let told = told(Code::ProviderUsageLimit);
    let said: Vec<String> = told.iter().map(|recorded| describe_event(recorded, &facts)).collect();
    insta::assert_snapshot!(said.join("\n"));
}

proptest! {
    #[test]
    fn a_hostile_title_changes_nothing(title in "\\PC*|(.|\n){0,80}|[a-z]{1,14}( [a-z]{1,14}){0,9}") {
        for recorded in told(Code::LogicError) {
            is_plain_sentence(&describe_event(&recorded, &facts(&title, Work::Task)));
        }
    }
}

/// Returns the fault of a day's budget that is used up.
fn spent_day() -> Arc<Fault> {
    let tokens = |tokens| Amount { tokens, ..Amount::ZERO };
    let spent = BudgetSpent {
        span: BudgetSpan::Day,
        unit: "tokens".to_owned(),
        limit: tokens(30_000),
        spent: tokens(40_220),
        needed: tokens(8_000),
    };
    Arc::new(Fault::budget_exhausted("budget", "", spent))
}
