//! Messages to a person who is not watching: one cause, one message.

use unstuck_core::engine::{Command, PauseCause, RecordedEvent};
use unstuck_core::fault::{Code, Fault, RateLimit};
use unstuck_core::plan::{JobSpec, MutationKind, MutationSpec};
use unstuck_core::question::Decision;
use unstuck_core::tell::{NewsKind, NotificationLevel, news_from_event};
use unstuck_core::time::Span;

use crate::engine::story::{Stage, fault, task, with_actions};

/// The messages so far, in their order.
fn told(stage: &Stage) -> Vec<NewsKind> {
    stage.journal.iter().filter_map(news_from_event).map(|news| news.what).collect()
}

/// The number of messages for a person who wants to hear this much.
fn heard(stage: &Stage, level: NotificationLevel) -> usize {
    stage.journal.iter().filter_map(news_from_event).filter(|news| news.level() <= level).count()
}

#[test]
fn a_question_is_told_once_however_many_join() {
    let mut stage = Stage::tasks(&["a", "b", "c"]);
    for name in ["a", "b", "c"] {
        stage.fails(name, fault(Code::AuthInvalid, "the key was refused"));
    }
    let question = stage.question().id;
    let asked = told(&stage).into_iter().filter(|what| matches!(what, NewsKind::Asked(_)));
    assert_eq!(asked.collect::<Vec<_>>(), [NewsKind::Asked(question)]);
    assert_eq!(heard(&stage, NotificationLevel::Questions), 1);
}

// B2: one limit holds both and wakes no person up.
#[test]
fn waits_that_end_by_themselves_are_not_told() {
    let mut stage = Stage::tasks(&["a", "b"]);
    let limit = RateLimit { status: Some(429), limited: None };
    let limited = Fault::provider_rate_limit("agent", "slow down", limit);
    stage.fails("a", limited.with_retry_after(Span::from_mins(10)));
    stage.wait();
    stage.succeed("a");
    stage.fails("b", fault(Code::NetworkTimeout, "no answer"));
    stage.wait();
    assert_eq!(told(&stage), []);
}

#[test]
fn a_failure_is_told_with_its_code() {
    let mut stage = Stage::tasks(&["a", "b"]);
    stage.fails("a", fault(Code::ConfigInvalid, "no such model"));
    let failed = NewsKind::TaskFailed(stage.id("a"), Code::ConfigInvalid);
    assert_eq!(told(&stage), [failed]);
    assert_eq!(
        (heard(&stage, NotificationLevel::Questions), heard(&stage, NotificationLevel::Failures)),
        (0, 1)
    );
}

#[test]
fn a_pause_with_its_question_is_one_message() {
    let mut stage = Stage::tasks(&["a", "b", "c", "d", "e", "f"]);
    for name in ["a", "b", "c", "d", "e"] {
        stage.fails(name, fault(Code::AuthInvalid, name));
    }
    let paused = |recorded: &RecordedEvent| {
        use unstuck_core::engine::Event;
        matches!(recorded.event, Event::BuildPaused { cause: PauseCause::Questions, .. })
    };
    assert!(stage.journal.iter().any(paused));
    assert_eq!(told(&stage).len(), 6, "five questions and that of the build");
    assert_eq!(heard(&stage, NotificationLevel::Questions), 6);
}

#[test]
fn a_persons_own_pause_is_for_those_who_want_to_hear_everything() {
    let mut stage = Stage::new();
    let build = stage.build(vec![task("a")]);
    stage.must(Command::Pause { build });
    assert_eq!(told(&stage), [NewsKind::BuildPaused(build)]);
    assert_eq!(
        (heard(&stage, NotificationLevel::Failures), heard(&stage, NotificationLevel::All)),
        (0, 1)
    );
}

#[test]
fn the_end_of_a_build_and_what_it_shipped_are_told() {
    let push =
        MutationSpec { key: "push".to_owned(), kind: MutationKind::Push, ..Default::default() };
    let mut stage = Stage::new();
    let build = stage.build(vec![with_actions("a", vec![push])]);
    stage.attempt("a");
    stage.done("a");
    stage.done("a");
    stage.applied("a");
    stage.done("a");
    let told = told(&stage);
    assert!(matches!(told[0], NewsKind::Acted(_)), "{told:?}");
    assert_eq!(told.last(), Some(&NewsKind::BuildCompleted(build)));
    assert_eq!(
        (heard(&stage, NotificationLevel::Failures), heard(&stage, NotificationLevel::All)),
        (0, told.len())
    );
}

#[test]
fn a_build_that_waits_is_told_when_the_rest_is_done() {
    let mut stage = Stage::tasks(&["a", "b"]);
    stage.fails("a", fault(Code::AuthInvalid, "the key was refused"));
    assert_eq!(told(&stage).len(), 1, "the other task goes on");
    stage.succeed("b");
    let waits = |what: &NewsKind| matches!(what, NewsKind::BuildWaits(_));
    assert_eq!(told(&stage).iter().filter(|what| waits(what)).count(), 1);
    stage.answer(Decision::SkipFeature);
    assert!(matches!(told(&stage).last(), Some(NewsKind::BuildCompleted(_))));
}

#[test]
fn a_job_that_fails_is_told() {
    let mut stage = Stage::new();
    let id = stage.job("nightly", JobSpec::default());
    stage.fails("nightly", fault(Code::ConfigInvalid, "no such file"));
    assert_eq!(told(&stage), [NewsKind::TaskFailed(id, Code::ConfigInvalid)]);
}
