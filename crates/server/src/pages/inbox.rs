//! The inbox: questions that wait for a person, and their answers.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Form, Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Redirect, Response};
use serde::Deserialize;
use unstuck_core::engine::{Command, QuestionId};
use unstuck_core::question::{Decision, EvidenceEntry, QuestionOption};
use unstuck_core::tell::brief;
use unstuck_core::text::brief::plain_line;
use unstuck_store::QuestionPage;
use unstuck_store::tables::QuestionStatus;

use super::frame::{Frame, Here, page, page_with};
use super::glance::{Glance, glances};
use super::words::When;
use super::{Fail, room};
use crate::api::{Asked, Choice, Shared, give, read_asked};
use crate::auth::{Caller, Csrf};
use crate::problem::Problem;
use crate::site::{Audience, Room};

/// Maximum number of recent answers that are shown.
const LATELY_MAX: usize = 5;
/// Number of the newest questions that are searched for them.
const LATELY_LOOKED_AT: u32 = 20;
/// Maximum number of task names that are shown.
const NAMES_MAX: usize = 3;

#[derive(Template)]
#[template(path = "inbox.html")]
struct Inbox {
    frame: Frame,
    cards: Vec<Card>,
    lately: Vec<Card>,
    glances: Vec<Glance>,
}

#[derive(Template)]
#[template(path = "question.html")]
struct One {
    frame: Frame,
    card: Card,
    /// The reason why an answer was not recorded.
    refused: Option<Problem>,
    operators: Option<Operators>,
}

/// A question as a card shows it.
pub(super) struct Card {
    pub(super) project: Arc<str>,
    pub(super) id: QuestionId,
    pub(super) kind: &'static str,
    /// The task or build that it is about.
    pub(super) title: String,
    pub(super) problem: String,
    pub(super) attempts: Vec<String>,
    /// The evidence for it.
    pub(super) evidence: Vec<Rests>,
    /// `true` if the evidence is shown unfolded.
    pub(super) unfolded: bool,
    pub(super) advice: String,
    pub(super) options: Vec<Choosable>,
    /// The waiting tasks, as in `2 tasks wait: …`; absent if it is only the one it is about.
    pub(super) waits: Option<String>,
    pub(super) asked: When,
    pub(super) open: bool,
    /// The answer or the end of the question.
    pub(super) ended: Option<Ended>,
    /// `true` if the action can be checked once more.
    pub(super) checks: bool,
}

/// A piece of evidence for a question.
pub(super) struct Rests {
    pub(super) label: &'static str,
    pub(super) lines: Vec<String>,
    pub(super) at: Option<When>,
    pub(super) verbatim: bool,
}

impl Rests {
    fn on(entry: EvidenceEntry, frame: &Frame) -> Self {
        let at = entry.at.map(|at| When::new(at, frame.now));
        Self { label: entry.label, lines: entry.lines, at, verbatim: entry.verbatim }
    }
}

/// An option of a question.
pub(super) struct Choosable {
    pub(super) value: Decision,
    pub(super) label: String,
    pub(super) description: String,
    pub(super) recommended: bool,
    /// `true` if the person writes the guidance.
    pub(super) guides: bool,
    /// The fixed guidance that belongs to the option.
    pub(super) guidance: Option<String>,
}

/// The end of a question.
pub(super) struct Ended {
    pub(super) said: String,
    /// `true` if the answer is not processed yet.
    pub(super) later: bool,
    pub(super) guidance: Option<String>,
    pub(super) at: When,
}

/// The details that viewers and operators read in addition.
struct Operators {
    text: String,
    raw: String,
    why: String,
    counts: Vec<String>,
    code: Option<String>,
    signature: String,
}

impl Card {
    /// Makes the card of a question. `names` are those of the waiting tasks.
    fn new(room: &Room, asked: &Asked, names: &[String], frame: &Frame) -> Self {
        let (row, text) = (&asked.row, &asked.row.text);
        let choosable = |(at, option): (usize, &QuestionOption)| Choosable {
            value: option.value,
            label: option.label.clone(),
            description: option.description.clone(),
            recommended: text.recommends(at),
            guides: option.value == Decision::ProvideGuidance && option.guidance.is_none(),
            guidance: option.guidance.clone(),
        };
        Self {
            project: Arc::clone(&room.name),
            id: row.id,
            kind: brief::kind(row.kind),
            title: title(room, asked, names),
            problem: text.problem.clone(),
            attempts: text.attempts.clone(),
            evidence: row.evidence.entries().into_iter().map(|one| Rests::on(one, frame)).collect(),
            unfolded: room.audience == Audience::Developer,
            advice: text.recommended_text.clone(),
            options: text.options.iter().enumerate().map(choosable).collect(),
            waits: waits(row.tasks.len(), names),
            asked: When::new(row.created_at, frame.now),
            open: asked.is_open(),
            ended: ended(asked, frame),
            checks: row.can_check(),
        }
    }
}

/// Returns the name of the task that raised the question first, or of the whole build.
fn title(room: &Room, asked: &Asked, names: &[String]) -> String {
    match (names.first(), asked.row.build) {
        (Some(name), _) => name.clone(),
        (None, Some(build)) => format!("{}, build {}", room.name, build.0),
        (None, None) => room.name.to_string(),
    }
}

/// Returns a sentence such as `2 tasks wait: one, two`.
fn waits(count: usize, names: &[String]) -> Option<String> {
    if count == 0 {
        return Some("Everything in this build waits.".to_owned());
    }
    let rest = count.saturating_sub(names.len());
    let more = if rest == 0 { String::new() } else { format!(" and {rest} more") };
    let names = names.iter().map(|name| format!("“{name}”")).collect::<Vec<_>>().join(", ");
    (count > 1).then(|| format!("{count} tasks wait: {names}{more}"))
}

/// Returns how a question ended, or that its answer is not processed yet.
fn ended(asked: &Asked, frame: &Frame) -> Option<Ended> {
    let row = &asked.row;
    let guidance = asked.answer.as_ref().map_or(row.guidance.as_ref(), |a| a.guidance.as_ref());
    let label = |decision: Decision| {
        let option = row.text.chosen(decision, guidance.map(|words| &**words));
        option.map_or_else(|| decision.to_string(), |option| option.label.clone())
    };
    let said = |by: Option<&str>, decision: Option<Decision>| {
        let who = by.map_or_else(|| "A person".to_owned(), plain_line);
        let what = decision.map(|decision| format!(": “{}”", label(decision))).unwrap_or_default();
        format!("{who} answered{what}")
    };
    match (row.status, &asked.answer) {
        (QuestionStatus::Pending, None) => None,
        (QuestionStatus::Pending, Some(answer)) => Some(Ended {
            said: said(Some(&answer.by), Some(answer.decision)),
            later: true,
            guidance: answer.guidance.as_deref().map(str::to_owned),
            at: When::new(answer.at, frame.now),
        }),
        (QuestionStatus::Withdrawn, _) => Some(Ended {
            said: "This is settled: an answer is no longer needed".to_owned(),
            later: false,
            guidance: None,
            at: When::new(row.resolved_at.unwrap_or(row.created_at), frame.now),
        }),
        (QuestionStatus::Resolved | QuestionStatus::Skipped, _) => Some(Ended {
            said: said(row.answered_by.as_deref(), row.decision),
            later: false,
            guidance: row.guidance.as_deref().map(str::to_owned),
            at: When::new(row.resolved_at.unwrap_or(row.created_at), frame.now),
        }),
    }
}

/// Shows the inbox.
pub(super) async fn inbox(
    State(site): State<Shared>,
    caller: Caller,
    csrf: Csrf,
) -> Result<Response, Fail> {
    let frame = Frame::new(&site, &caller, &csrf, Here::Inbox, "Inbox").await?;
    let mut cards = Vec::new();
    let mut lately = Vec::new();
    for room in site.seen_by(&caller) {
        let answers = room.store.answers(&room.name).await?;
        let mut rows = room.store.questions(&room.name, Some(QuestionStatus::Pending)).await?;
        let newest =
            QuestionPage { status: None, after: None, newest_first: true, limit: LATELY_LOOKED_AT };
        let ended = room.store.questions_page(&room.name, newest).await?;
        rows.extend(ended.into_iter().filter(|row| row.status != QuestionStatus::Pending));
        for row in rows {
            let asked = Asked::of(row, &answers);
            let ended_at = asked.row.resolved_at.or(asked.answer.as_ref().map(|given| given.at));
            let names = names(room, &asked).await?;
            let card = Card::new(room, &asked, &names, &frame);
            match ended_at {
                None => cards.push((asked.row.created_at, card)),
                Some(at) => lately.push((at, card)),
            }
        }
    }
    cards.sort_by_key(|(asked_at, _)| *asked_at);
    lately.sort_by_key(|(ended_at, _)| std::cmp::Reverse(*ended_at));
    lately.truncate(LATELY_MAX);
    let plain = |cards: Vec<(_, Card)>| cards.into_iter().map(|(_, card)| card).collect();
    let glances = glances(&site, &caller, frame.now).await?;
    Ok(page(&Inbox { cards: plain(cards), lately: plain(lately), glances, frame }))
}

/// Returns the names of the waiting tasks.
async fn names(room: &Room, asked: &Asked) -> Result<Vec<String>, Problem> {
    let mut names = Vec::new();
    for id in asked.row.tasks.iter().take(NAMES_MAX) {
        if let Some(task) = room.store.task(&room.name, *id).await? {
            names.push(brief::name(task.id, &task.spec));
        }
    }
    Ok(names)
}

/// Shows one question in full.
pub(super) async fn question(
    State(site): State<Shared>,
    caller: Caller,
    csrf: Csrf,
    Path((project, question)): Path<(String, u32)>,
) -> Result<Response, Fail> {
    let room = room(&site, &caller, &project)?;
    shown(&site, &caller, &csrf, &room, QuestionId(question), None).await
}

async fn shown(
    site: &Shared,
    caller: &Caller,
    csrf: &Csrf,
    room: &Room,
    id: QuestionId,
    refused: Option<Problem>,
) -> Result<Response, Fail> {
    let title = format!("Question {}", id.0);
    let frame = Frame::new(site, caller, csrf, Here::Inbox, title).await?;
    let frame = if refused.is_some() { frame.answering_form() } else { frame };
    let asked = read_asked(room.store.as_ref(), &room.name, id).await.map_err(Problem::from)?;
    let asked = asked.ok_or_else(|| Problem::unknown("question", id))?;
    let names = names(room, &asked).await?;
    let card = Card::new(room, &asked, &names, &frame);
    let operators = frame.sees_detail().then(|| Operators {
        text: asked.row.operator_text.clone(),
        raw: asked.row.raw_error.clone(),
        why: brief::rule(&asked.row.why).to_owned(),
        counts: brief::counts(&asked.row.why),
        code: asked.row.code.map(|code| code.to_string()),
        signature: asked.row.signature.clone(),
    });
    let status = refused.as_ref().and_then(|problem| StatusCode::from_u16(problem.status()).ok());
    let shown = One { frame, card, refused, operators };
    Ok(page_with(status.unwrap_or(StatusCode::OK), &shown))
}

/// The fields of the answer form.
#[derive(Deserialize)]
pub(super) struct Sent {
    decision: String,
    #[serde(default)]
    guidance: String,
}

/// Records an answer from a form.
pub(super) async fn answer(
    State(site): State<Shared>,
    caller: Caller,
    csrf: Csrf,
    Path((project, question)): Path<(String, u32)>,
    Form(sent): Form<Sent>,
) -> Result<Response, Fail> {
    let room = room(&site, &caller, &project)?;
    let id = QuestionId(question);
    let choice = Choice { decision: sent.decision, guidance: Some(sent.guidance) };
    match give(&site, &room, &caller, id, &choice).await {
        Ok(_) => Ok(Redirect::to("/").into_response()),
        // The page shows why the answer was refused, and the state of the question.
        Err(problem) => shown(&site, &caller, &csrf, &room, id, Some(problem)).await,
    }
}

/// Checks again whether an action was performed.
pub(super) async fn check(
    State(site): State<Shared>,
    caller: Caller,
    csrf: Csrf,
    Path((project, question)): Path<(String, u32)>,
) -> Result<Response, Fail> {
    let room = room(&site, &caller, &project)?;
    let id = QuestionId(question);
    match room.desk.command(caller.wants(Command::CheckAgain { question: id })).await {
        Ok(_) => {
            Ok(Redirect::to(&format!("/q/{}/{}", super::encoded(&project), id.0)).into_response())
        }
        Err(refused) => shown(&site, &caller, &csrf, &room, id, Some(refused.into())).await,
    }
}
