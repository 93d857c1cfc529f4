//! Messages: notifications for a person who is not watching, and the news among the events that lead to one.
//!
//! Each cause is one piece of news. A task that joins an open question, a wait that ends without help (a
//! closed gate, a backoff, the sleep until the next day) and a pause that comes with its question are not
//! news.
//!
//! Unstuck's own words in messages pass the linter; titles and names are quoted verbatim. They do not contain
//! a fault's own message. If there is a code, the title begins with its category.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::event::{BUILD_PAUSED, BUILD_WAITS, describe_build_failure, task_failed};
use super::event_phrases::applied_sentence;
use super::tally::{BuildTally, render_build_done};
use crate::engine::{
    BuildId, Event, MutationId, PauseCause, QuestionId, Reconciled, RecordedEvent, TaskId,
};
use crate::fault::{Category, Code, Work};
use crate::plan::MutationKind;
use crate::question::{QuestionOption, QuestionText};
use crate::text::{
    VALUE_CHARS_MAX, capitalize_first, count_noun, quote_title, quote_words, work_noun,
};
use crate::time::Time;

/// The amount of news a recipient wants; each level includes those before it.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum NotificationLevel {
    /// Only questions that wait for the recipient's answer.
    #[default]
    Questions,
    /// Also failures and paused work.
    Failures,
    /// Also successes.
    All,
}

/// An event worth reporting, by its position in the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct News {
    /// The journal position of the event.
    pub seq: u64,
    /// The time of the event.
    pub at: Time,
    /// The event.
    pub what: NewsKind,
}

/// The kind of a news event, with its subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewsKind {
    /// A question was asked.
    Asked(QuestionId),
    /// A task failed for good.
    TaskFailed(TaskId, Code),
    /// A build ended with a failure.
    BuildFailed(BuildId, Code),
    /// All remaining work of a build waits for a person.
    BuildWaits(BuildId),
    /// A person paused a build.
    BuildPaused(BuildId),
    /// A build ended.
    BuildCompleted(BuildId),
    /// An action happened; its kind decides whether work was shipped.
    Acted(MutationId),
}

/// Returns the news that an event is, if any.
pub fn news_from_event(recorded: &RecordedEvent) -> Option<News> {
    let what = match &recorded.event {
        Event::QuestionAsked { question } => NewsKind::Asked(question.id),
        Event::TaskFailed { task, code } => NewsKind::TaskFailed(*task, *code),
        Event::BuildFailed { build, fault } => NewsKind::BuildFailed(*build, fault.code()),
        Event::BuildWaiting { build } => NewsKind::BuildWaits(*build),
        // The other pauses come with a question, which reports them.
        Event::BuildPaused { build, cause: PauseCause::Person, .. } => {
            NewsKind::BuildPaused(*build)
        }
        Event::BuildCompleted { build } => NewsKind::BuildCompleted(*build),
        Event::MutationApplied { mutation, .. }
        | Event::MutationReconciled { mutation, to: Reconciled::Applied, .. } => {
            NewsKind::Acted(*mutation)
        }
        _ => return None,
    };
    Some(News { seq: recorded.seq, at: recorded.at, what })
}

impl News {
    /// Returns the level from which recipients are notified.
    pub const fn level(&self) -> NotificationLevel {
        match self.what {
            NewsKind::Asked(_) => NotificationLevel::Questions,
            NewsKind::TaskFailed(..) | NewsKind::BuildFailed(..) | NewsKind::BuildWaits(_) => {
                NotificationLevel::Failures
            }
            // The person who paused the build knows of it.
            NewsKind::BuildPaused(_) | NewsKind::BuildCompleted(_) | NewsKind::Acted(_) => {
                NotificationLevel::All
            }
        }
    }
}

/// Maximum length of the body in bytes; a channel may cut it further.
pub const MESSAGE_BYTES_MAX: usize = 4 * 1_024;

/// Maximum number of characters of a project's name in the ids of its messages.
const SLUG_CHARS_MAX: usize = 40;

/// A notification.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Notification {
    /// Delivery id; the same whenever the same event is reported again.
    pub id: String,
    /// The name of the project.
    pub project: String,
    /// The time of the event.
    pub at: Time,
    /// The level from which recipients get the message.
    pub level: NotificationLevel,
    /// The build concerned.
    pub build: Option<BuildId>,
    /// The question concerned.
    pub question: Option<QuestionId>,
    /// The category of the fault.
    pub category: Option<Category>,
    /// The code of the fault.
    pub code: Option<Code>,
    /// The title, on a single line.
    pub title: String,
    /// The text below the title.
    pub body: String,
    /// The options of the question.
    pub options: Vec<QuestionOption>,
    /// Links to answer with, without a token. Each is for the recipient of the message.
    pub links: Vec<AnswerLink>,
}

/// An address at which a person can answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AnswerLink {
    /// The target of the link: the inbox, or one of the options.
    pub label: String,
    /// The URL.
    pub url: String,
}

impl Notification {
    /// Creates the message that a person is asked.
    pub fn question_asked(
        project: &str,
        news: &News,
        question: QuestionId,
        code: Option<Code>,
        text: &QuestionText,
    ) -> Self {
        let mut body = text.problem.clone();
        body.push_str("\n\nYou can choose:");
        for option in &text.options {
            // Writing to a string cannot fail.
            let _ = write!(body, "\n- {}: {}", option.label, option.description);
        }
        body.push_str("\n\nOpen the inbox to answer.");
        let mut message = Self::new(project, news, "Your answer is needed", code, body);
        message.question = Some(question);
        message.options.clone_from(&text.options);
        message
    }

    /// Creates the message that a task failed for good.
    pub fn task_failed(project: &str, news: &News, name: &str, work: Work, code: Code) -> Self {
        let body = task_failed(name, work, code);
        let what = format!("A {} has failed", work_noun(work));
        Self::new(project, news, &what, Some(code), body)
    }

    /// Creates the message that a build ended with a failure.
    pub fn build_failed(project: &str, news: &News, code: Code) -> Self {
        let body = format!("{} What is done is safe.", describe_build_failure(code));
        Self::new(project, news, "The build has failed", Some(code), body)
    }

    /// Creates the message that all remaining work of a build waits for a person.
    pub fn build_waits(project: &str, news: &News) -> Self {
        let body = format!("{BUILD_WAITS} Open the inbox to answer.");
        Self::new(project, news, "The build waits for you", None, body)
    }

    /// Creates the message that a person paused a build.
    pub fn build_paused(project: &str, news: &News) -> Self {
        Self::new(project, news, "The build is paused", None, BUILD_PAUSED.to_owned())
    }

    /// Creates the message that a build ended.
    pub fn build_completed(project: &str, news: &News, tally: BuildTally) -> Self {
        Self::new(project, news, "The build is over", None, render_build_done(Some(tally)))
    }

    /// Creates the message that work was pushed or a pull request opened; `None` for other actions.
    pub fn work_shipped(
        project: &str,
        news: &News,
        kind: MutationKind,
        name: &str,
    ) -> Option<Self> {
        if !matches!(kind, MutationKind::Push | MutationKind::PullRequest) {
            return None;
        }
        let name = quote_title(name, Work::Task);
        let body = applied_sentence(Some(kind), &name, &capitalize_first(&name));
        Some(Self::new(project, news, "Work was pushed", None, body))
    }

    /// Creates the message that stands for `number` messages that could not be sent in time; `last` is the
    /// newest.
    pub fn more_waiting(project: &str, last: &News, number: u32) -> Self {
        let things = count_noun(number, "other message", "other messages");
        let body = format!(
            "{} could not be sent in time. Open the inbox to see what waits for you.",
            capitalize_first(&things)
        );
        let mut message = Self::new(project, last, "There is more", None, body);
        message.id.push_str("-more");
        message
    }

    /// Creates a test message; `number` distinguishes tests from each other.
    pub fn test_message(project: &str, number: u64, at: Time) -> Self {
        let body = "This is a test. When you can read it, messages reach you here.".to_owned();
        Self {
            id: format!("{}-test-{number}", make_slug(project)),
            project: project.to_owned(),
            at,
            level: NotificationLevel::Questions,
            build: None,
            question: None,
            category: None,
            code: None,
            title: render_title("Messages work", project, None),
            body,
            options: Vec::new(),
            links: Vec::new(),
        }
    }

    /// Sets the build that the message is about.
    #[must_use]
    pub fn with_build(mut self, build: Option<BuildId>) -> Self {
        self.build = build;
        self
    }

    /// Sets the links to answer with.
    #[must_use]
    pub fn with_links(mut self, links: Vec<AnswerLink>) -> Self {
        self.links = links;
        self
    }

    /// Returns the body followed by the links.
    pub fn body_with_links(&self) -> String {
        let mut words = self.body.clone();
        for (number, link) in self.links.iter().enumerate() {
            let apart = if number == 0 { "\n\n" } else { "\n" };
            let _ = write!(words, "{apart}{}: {}", link.label, link.url);
        }
        words
    }

    /// Returns the title and the words as one text.
    pub fn full_text(&self) -> String {
        format!("{}\n\n{}", self.title, self.body_with_links())
    }

    fn new(project: &str, news: &News, what: &str, code: Option<Code>, mut body: String) -> Self {
        body.truncate(body.floor_char_boundary(MESSAGE_BYTES_MAX));
        let category = code.map(|code| code.row().category);
        Self {
            id: delivery_id(project, news),
            project: project.to_owned(),
            at: news.at,
            level: news.level(),
            build: None,
            question: None,
            category,
            code,
            title: render_title(what, project, category),
            body,
            options: Vec::new(),
            links: Vec::new(),
        }
    }
}

/// Returns the delivery id. Two projects may have the same name; events at the same position of both journals
/// in the same millisecond are not to be expected.
fn delivery_id(project: &str, news: &News) -> String {
    format!("{}-{}-{}", make_slug(project), news.seq, news.at.as_millis())
}

/// Returns a form of a name that fits into a header and an address.
fn make_slug(name: &str) -> String {
    let plain = |sign: char| sign.is_ascii_alphanumeric() || matches!(sign, '-' | '_' | '.');
    name.chars().take(SLUG_CHARS_MAX).map(|sign| if plain(sign) { sign } else { '-' }).collect()
}

/// Formats the title: `[TIMEOUT] Your answer is needed in “shop”`.
fn render_title(what: &str, project: &str, category: Option<Category>) -> String {
    let category = category
        .map_or_else(String::new, |category| format!("[{}] ", category.as_str().to_uppercase()));
    match quote_words(project, VALUE_CHARS_MAX) {
        Some(project) => format!("{category}{what} in {project}"),
        None => format!("{category}{what}"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::question::{QuestionFacts, QuestionKind, Reason, build_text};
    use crate::text::{lint_text, our_words};

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
        Notification::question_asked(
            project,
            &news(NewsKind::Asked(id)),
            id,
            code,
            &build_text(&asked),
        )
    }

    /// Returns every form, with the given names and code.
    fn all(project: &str, title: &str, code: Code) -> Vec<Notification> {
        let build = BuildId(1);
        let task = TaskId(2);
        let tally = BuildTally { tasks: 7, done: 3, unchanged: 1, not_done: 1, waiting: 2 };
        let failed = news(NewsKind::TaskFailed(task, code));
        let acted = news(NewsKind::Acted(MutationId(4)));
        let mut all = vec![
            asked(project, title, Some(code)),
            asked(project, title, None),
            Notification::task_failed(project, &failed, title, Work::Task, code),
            Notification::task_failed(project, &failed, title, Work::Job, code),
            Notification::build_failed(project, &news(NewsKind::BuildFailed(build, code)), code),
            Notification::build_waits(project, &news(NewsKind::BuildWaits(build))),
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
        let mark = message.category.map_or_else(String::new, |category| {
            format!("[{}] ", category.as_str().to_uppercase())
        });
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
        let acted = news(NewsKind::Acted(MutationId(4)));
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
}
