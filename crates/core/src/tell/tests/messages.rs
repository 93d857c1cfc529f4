//! Messages begin with their category, and Unstuck's own words in them are plain.

use proptest::prelude::*;

use crate::engine::QuestionId;
use crate::fault::{Code, Work};
use crate::plan::MutationKind;
use crate::question::{QuestionFacts, QuestionKind, Reason, build_text};
use crate::tell::{BuildTally, MESSAGE_BYTES_MAX, News, NewsKind, Notification, NotificationLevel};
use crate::text::{lint_text, our_words};
use crate::time::Time;

fn news(what: NewsKind) -> News {
    News { seq: 12, at: Time::from_millis(1_700_000_000_000), what }
}

fn asked(project: &str, title: &str, code: Option<Code>) -> Notification {
    let id = QuestionId(3);
    let titles = [title];
    let kind = if code.is_some() { QuestionKind::Hands } else { QuestionKind::Happened };
    let asked = QuestionFacts {
        titles: &titles,
        tasks: 1,
        ..QuestionFacts::new(kind, code, Reason::FirstOccurrence)
    };
    Notification::question_asked(project, &news(NewsKind::Asked(id)), id, code, &build_text(&asked))
}

/// Returns every form, with the given names and code.
fn all(project: &str, title: &str, code: Code) -> Vec<Notification> {
    let build = crate::engine::BuildId(1);
    let task = crate::engine::TaskId(2);
    let tally = BuildTally { done: 3, not_done: 1, waiting: 2, questions: 2 };
    let failed = news(NewsKind::TaskFailed(task, code));
    let acted = news(NewsKind::Acted(crate::engine::MutationId(4)));
    let mut all = vec![
        asked(project, title, Some(code)),
        asked(project, title, None),
        Notification::task_failed(project, &failed, title, Work::Task, code),
        Notification::task_failed(project, &failed, title, Work::Job, code),
        Notification::build_failed(project, &news(NewsKind::BuildFailed(build, code)), code),
        Notification::build_waits(project, &news(NewsKind::BuildWaits(build)), tally),
        Notification::build_paused(project, &news(NewsKind::BuildPaused(build))),
        Notification::build_completed(project, &news(NewsKind::BuildCompleted(build)), tally),
        Notification::more_waiting(project, &failed, 12),
        Notification::test_message(project, 1, Time::EPOCH),
    ];
    all.extend(Notification::work_shipped(project, &acted, MutationKind::Push, title));
    all.extend(Notification::work_shipped(project, &acted, MutationKind::PullRequest, title));
    all
}

/// Returns the words without the category, which is for sorting and not for reading.
fn words(message: &Notification) -> [&str; 2] {
    let mark = message
        .category
        .map_or_else(String::new, |category| format!("[{}] ", category.as_str().to_uppercase()));
    [message.title.strip_prefix(&mark).unwrap(), &message.body]
}

#[track_caller]
fn plain(message: &Notification) {
    for words in words(message) {
        assert_eq!(lint_text(&our_words(words)), [], "{message:?}");
    }
    assert!(message.body.len() <= MESSAGE_BYTES_MAX);
    assert!(message.id.is_ascii() && !message.id.contains(' '), "{}", message.id);
}

// T4.26: every message about a code begins with its category and names both.
#[test]
fn a_message_begins_with_its_category() {
    for &code in Code::ALL {
        let category = code.row().category;
        let mark = format!("[{}] ", category.as_str().to_uppercase());
        let messages = all("shop", "Payment webhook", code);
        let coded: Vec<_> = messages.iter().filter(|message| message.code.is_some()).collect();
        assert_eq!(coded.len(), 4);
        for message in coded {
            assert!(message.title.starts_with(&mark), "{}", message.title);
            assert!(message.full_text().starts_with(&mark));
            assert_eq!((message.category, message.code), (Some(category), Some(code)));
        }
    }
    let timeout = asked("shop", "Payment webhook", Some(Code::OperationTimeout));
    assert_eq!(timeout.title, "[TIMEOUT] Your answer is needed in “shop”");
}

#[test]
fn messages_are_plain() {
    for &code in Code::ALL {
        for title in ["Payment webhook", "", "fix src/main.rs"] {
            all("shop", title, code).iter().for_each(plain);
        }
    }
}

#[test]
fn the_messages() {
    let all = all("shop", "Payment webhook", Code::ProviderUsageLimit);
    let said: Vec<String> =
        all.iter().map(|message| format!("{}\n{}", message.id, message.full_text())).collect();
    insta::assert_snapshot!(said.join("\n\n---\n\n"));
}

#[test]
fn merges_and_calls_are_not_shipping() {
    let acted = news(NewsKind::Acted(crate::engine::MutationId(4)));
    for kind in [MutationKind::Merge, MutationKind::Http, MutationKind::Command] {
        assert_eq!(Notification::work_shipped("shop", &acted, kind, "x"), None);
    }
}

#[test]
fn each_level_includes_those_before_it() {
    assert!(
        NotificationLevel::Questions < NotificationLevel::Failures
            && NotificationLevel::Failures < NotificationLevel::All
    );
}

proptest! {
    #[test]
    fn hostile_names_change_nothing(
        project in "\\PC*|(.|\n){0,80}|[a-z]{1,14}( [a-z]{1,14}){0,9}",
        title in "\\PC*|(.|\n){0,80}|[a-z]{1,14}( [a-z]{1,14}){0,9}",
    ) {
        all(&project, &title, Code::LogicError).iter().for_each(plain);
    }
}
