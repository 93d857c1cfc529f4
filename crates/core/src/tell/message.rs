//! Messages: notifications for a person who is not watching.
//!
//! Unstuck's own words in them pass the linter; titles and names are quoted verbatim. They do not contain a
//! fault's own message. If there is a code, the title begins with its category.

use std::fmt::Write as _;

use serde::Serialize;

use super::narrate::{Narration, render_narration};
use super::news::{News, NotificationLevel};
use crate::engine::{BuildId, QuestionId};
use crate::fault::{Category, Code, Work};
use crate::plan::MutationKind;
use crate::question::{QuestionOption, QuestionText};
use crate::text::{
    VALUE_CHARS_MAX, capitalize_first, count_noun, failure_phrase, quote_title, quote_words,
    work_noun,
};
use crate::time::Time;

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

/// The progress of a build.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BuildTally {
    /// Number of tasks that are done.
    pub done: u32,
    /// Number of tasks that ended without being done.
    pub not_done: u32,
    /// Number of tasks that wait for a person.
    pub waiting: u32,
    /// Number of open questions.
    pub questions: u32,
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
        let body = render_narration(&Narration::Failed { title: name, code }, work);
        let what = format!("A {} has failed", work_noun(work));
        Self::new(project, news, &what, Some(code), body)
    }

    /// Creates the message that a build ended with a failure.
    pub fn build_failed(project: &str, news: &News, code: Code) -> Self {
        let why = failure_phrase(code, false);
        let body = format!("I had to end the build, because {why}. What is done is safe.");
        Self::new(project, news, "The build has failed", Some(code), body)
    }

    /// Creates the message that all remaining work of a build waits for a person.
    pub fn build_waits(project: &str, news: &News, tally: BuildTally) -> Self {
        let open = count_noun(tally.questions.max(1), "open question", "open questions");
        let body = format!(
            "All that is left of the build waits for your answer to {open}. Open the inbox to \
             answer."
        );
        Self::new(project, news, "The build waits for you", None, body)
    }

    /// Creates the message that a person paused a build.
    pub fn build_paused(project: &str, news: &News) -> Self {
        let body = render_narration(&Narration::PausedByPerson, Work::Task);
        Self::new(project, news, "The build is paused", None, body)
    }

    /// Creates the message that a build ended.
    pub fn build_completed(project: &str, news: &News, tally: BuildTally) -> Self {
        let BuildTally { done, not_done: left_out, waiting, .. } = tally;
        let body = render_narration(&Narration::BuildDone { done, left_out, waiting }, Work::Task);
        Self::new(project, news, "The build is over", None, body)
    }

    /// Creates the message that work was pushed or a pull request opened; `None` for other actions.
    pub fn work_shipped(
        project: &str,
        news: &News,
        kind: MutationKind,
        name: &str,
    ) -> Option<Self> {
        let name = quote_title(name, Work::Task);
        let body = match kind {
            MutationKind::Push => format!("The finished work on {name} was pushed."),
            MutationKind::PullRequest => {
                format!("The finished work on {name} waits for your review.")
            }
            MutationKind::Merge | MutationKind::Http | MutationKind::Command => return None,
        };
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
