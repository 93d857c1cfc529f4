//! Messages: what is sent to somebody who is not watching.
//!
//! What we say in them passes the linter; titles and names stand in quotation marks, as they are.
//! They know nothing of a fault's own message. Where there is a code, the title begins with its category.

use std::fmt::Write as _;

use serde::Serialize;

use super::narrate::{Narration, narrate};
use super::news::{Level, News};
use crate::engine::{BuildId, QuestionId};
use crate::fault::{Category, Code, Work};
use crate::plan::MutationKind;
use crate::question::{QuestionOption, QuestionText};
use crate::text::{VALUE_CHARS_MAX, capital, count, failed, noun, quoted, title};
use crate::time::Time;

/// The longest body: a channel may cut it further.
pub const MESSAGE_BYTES_MAX: usize = 4 * 1_024;

/// How much of a project's name is in the ids of its messages.
const SLUG_CHARS_MAX: usize = 40;

/// What is sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Message {
    /// The same whenever the same thing is told again.
    pub id: String,
    /// The project.
    pub project: String,
    /// When it happened.
    pub at: Time,
    /// Who hears of it.
    pub level: Level,
    /// The build it is about.
    pub build: Option<BuildId>,
    /// The question it is about.
    pub question: Option<QuestionId>,
    /// Where its fault comes from.
    pub category: Option<Category>,
    /// Its fault.
    pub code: Option<Code>,
    /// One line.
    pub title: String,
    /// What there is to say.
    pub body: String,
    /// What a person can choose.
    pub options: Vec<QuestionOption>,
    /// Where they can, without a token. Each is for whoever gets the message.
    pub links: Vec<AnswerLink>,
}

/// An address that lets somebody answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AnswerLink {
    /// What it leads to: the inbox, or one of the choices.
    pub label: String,
    /// The address.
    pub url: String,
}

/// How far a build has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Tasks that are done.
    pub done: u32,
    /// Tasks that ended without being done.
    pub not_done: u32,
    /// Tasks that wait for a person.
    pub waiting: u32,
    /// Questions that are open.
    pub questions: u32,
}

impl Message {
    /// A person is asked.
    pub fn asked(
        project: &str,
        news: &News,
        question: QuestionId,
        code: Option<Code>,
        text: &QuestionText,
    ) -> Self {
        let mut body = text.problem.clone();
        body.push_str("\n\nYou can choose:");
        for option in &text.options {
            // Writing to a text cannot fail.
            let _ = write!(body, "\n- {}: {}", option.label, option.description);
        }
        body.push_str("\n\nOpen the inbox to answer.");
        let mut message = Self::new(project, news, "Your answer is needed", code, body);
        message.question = Some(question);
        message.options.clone_from(&text.options);
        message
    }

    /// A task failed for good.
    pub fn task_failed(project: &str, news: &News, name: &str, work: Work, code: Code) -> Self {
        let body = narrate(&Narration::Failed { title: name, code }, work);
        let what = format!("A {} has failed", noun(work));
        Self::new(project, news, &what, Some(code), body)
    }

    /// A build cannot go on at all.
    pub fn build_failed(project: &str, news: &News, code: Code) -> Self {
        let why = failed(code, false);
        let body = format!("I had to end the build, because {why}. What is done is safe.");
        Self::new(project, news, "The build has failed", Some(code), body)
    }

    /// All that is left of a build waits for a person.
    pub fn build_waits(project: &str, news: &News, tally: Tally) -> Self {
        let open = count(tally.questions.max(1), "open question", "open questions");
        let body = format!(
            "All that is left of the build waits for your answer to {open}. Open the inbox to \
             answer."
        );
        Self::new(project, news, "The build waits for you", None, body)
    }

    /// A person paused a build.
    pub fn build_paused(project: &str, news: &News) -> Self {
        let body = narrate(&Narration::PausedByPerson, Work::Task);
        Self::new(project, news, "The build is paused", None, body)
    }

    /// A build came to its end.
    pub fn build_completed(project: &str, news: &News, tally: Tally) -> Self {
        let Tally { done, not_done: left_out, waiting, .. } = tally;
        let body = narrate(&Narration::BuildDone { done, left_out, waiting }, Work::Task);
        Self::new(project, news, "The build is over", None, body)
    }

    /// Work left the house; none for actions that are no such thing.
    pub fn shipped(project: &str, news: &News, kind: MutationKind, name: &str) -> Option<Self> {
        let name = title(name, Work::Task);
        let body = match kind {
            MutationKind::Push => format!("The finished work on {name} was pushed."),
            MutationKind::PullRequest => {
                format!("The finished work on {name} waits for your review.")
            }
            MutationKind::Merge | MutationKind::Http | MutationKind::Command => return None,
        };
        Some(Self::new(project, news, "Work was pushed", None, body))
    }

    /// More than anybody wants to hear one by one: `last` is the newest of them.
    pub fn more(project: &str, last: &News, number: u32) -> Self {
        let things = count(number, "other message", "other messages");
        let body = format!(
            "{} could not be sent in time. Open the inbox to see what waits for you.",
            capital(&things)
        );
        let mut message = Self::new(project, last, "There is more", None, body);
        message.id.push_str("-more");
        message
    }

    /// One that says nothing but that messages arrive; `number` tells one try from another.
    pub fn test(project: &str, number: u64, at: Time) -> Self {
        let body = "This is a test. When you can read it, messages reach you here.".to_owned();
        Self {
            id: format!("{}-test-{number}", slug(project)),
            project: project.to_owned(),
            at,
            level: Level::Questions,
            build: None,
            question: None,
            category: None,
            code: None,
            title: headline("Messages work", project, None),
            body,
            options: Vec::new(),
            links: Vec::new(),
        }
    }

    /// It is about this build.
    #[must_use]
    pub fn about(mut self, build: Option<BuildId>) -> Self {
        self.build = build;
        self
    }

    /// It can be answered here.
    #[must_use]
    pub fn linked(mut self, links: Vec<AnswerLink>) -> Self {
        self.links = links;
        self
    }

    /// What there is to say, and where to answer.
    pub fn words(&self) -> String {
        let mut words = self.body.clone();
        for (number, link) in self.links.iter().enumerate() {
            let apart = if number == 0 { "\n\n" } else { "\n" };
            let _ = write!(words, "{apart}{}: {}", link.label, link.url);
        }
        words
    }

    /// All of it in one text.
    pub fn text(&self) -> String {
        format!("{}\n\n{}", self.title, self.words())
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
            title: headline(what, project, category),
            body,
            options: Vec::new(),
            links: Vec::new(),
        }
    }
}

/// Two projects may have the same name; that they say something at the same place of their journals
/// in the same millisecond as well is not to be expected.
fn delivery_id(project: &str, news: &News) -> String {
    format!("{}-{}-{}", slug(project), news.seq, news.at.as_millis())
}

/// A name that fits into a header and an address.
fn slug(name: &str) -> String {
    let plain = |sign: char| sign.is_ascii_alphanumeric() || matches!(sign, '-' | '_' | '.');
    name.chars().take(SLUG_CHARS_MAX).map(|sign| if plain(sign) { sign } else { '-' }).collect()
}

/// `[TIMEOUT] Your answer is needed in “shop”`.
fn headline(what: &str, project: &str, category: Option<Category>) -> String {
    let category = category
        .map_or_else(String::new, |category| format!("[{}] ", category.as_str().to_uppercase()));
    match quoted(project, VALUE_CHARS_MAX) {
        Some(project) => format!("{category}{what} in {project}"),
        None => format!("{category}{what}"),
    }
}
