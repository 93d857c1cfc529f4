//! The inbox: questions that wait for a person, and their answers.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Form, Path};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Redirect, Response};
use serde::Deserialize;
use unstuck_core::engine::{Command, QuestionId};
use unstuck_core::question::{Decision, EvidenceEntry, QuestionOption};
use unstuck_core::tell::brief;
use unstuck_core::text::brief::plain_line;
use unstuck_store::QuestionPage;
use unstuck_store::tables::QuestionStatus;

use super::PageError;
use super::frame::{PageFrame, PageRequest, SiteSection, TimeLabel};
use super::work::{BuildCard, load_build_cards};
use crate::api::{Asked, Choice, record_answer, require_question};
use crate::html::{render_page, render_page_with_status};
use crate::problem::Problem;
use crate::server_state::{HostedProject, QuestionAudience};

/// Maximum number of recent answers that are shown.
const LATELY_MAX: usize = 5;
/// Number of the newest questions that are searched for them.
const LATELY_LOOKED_AT: u32 = 20;
/// Maximum number of task names that are shown.
const NAMES_MAX: usize = 3;

#[derive(Template)]
#[template(path = "inbox.html")]
struct InboxPage {
    frame: PageFrame,
    cards: Vec<QuestionCard>,
    lately: Vec<QuestionCard>,
    glances: Vec<BuildCard>,
}

#[derive(Template)]
#[template(path = "question.html")]
struct QuestionDetailPage {
    frame: PageFrame,
    card: QuestionCard,
    /// The reason why an answer was not recorded.
    refused: Option<Problem>,
    operators: Option<QuestionOperatorDetails>,
}

pub(super) struct QuestionCard {
    pub(super) project: Arc<str>,
    pub(super) id: QuestionId,
    pub(super) kind: &'static str,
    /// The task or build that it is about.
    pub(super) title: String,
    pub(super) problem: String,
    pub(super) attempts: Vec<String>,
    pub(super) evidence: Vec<QuestionCardEvidence>,
    /// `true` if the evidence is shown unfolded.
    pub(super) unfolded: bool,
    pub(super) advice: String,
    pub(super) options: Vec<QuestionCardChoice>,
    /// The waiting tasks, as in `2 tasks wait: …`; absent if it is only the one it is about.
    pub(super) waits: Option<String>,
    pub(super) asked: TimeLabel,
    pub(super) open: bool,
    /// The answer or the end of the question.
    pub(super) ended: Option<QuestionCardOutcome>,
    /// `true` if the action can be checked once more.
    pub(super) checks: bool,
}

pub(super) struct QuestionCardEvidence {
    pub(super) label: &'static str,
    pub(super) lines: Vec<String>,
    pub(super) at: Option<TimeLabel>,
    pub(super) verbatim: bool,
}

impl QuestionCardEvidence {
    fn from_entry(entry: EvidenceEntry, frame: &PageFrame) -> Self {
        let at = entry.at.map(|at| TimeLabel::new(at, frame.now));
        Self { label: entry.label, lines: entry.lines, at, verbatim: entry.verbatim }
    }
}

pub(super) struct QuestionCardChoice {
    pub(super) value: Decision,
    pub(super) label: String,
    pub(super) description: String,
    pub(super) recommended: bool,
    /// `true` if the person writes the guidance.
    pub(super) guides: bool,
    /// The fixed guidance that belongs to the option.
    pub(super) guidance: Option<String>,
}

pub(super) struct QuestionCardOutcome {
    pub(super) said: String,
    /// `true` if the answer is not processed yet.
    pub(super) later: bool,
    pub(super) guidance: Option<String>,
    pub(super) at: TimeLabel,
}

/// The details that viewers and operators read in addition.
struct QuestionOperatorDetails {
    text: String,
    raw: String,
    why: String,
    counts: Vec<String>,
    code: Option<String>,
    signature: String,
}

impl QuestionCard {
    /// Makes the card of a question. `names` are those of the waiting tasks.
    fn new(hosted: &HostedProject, asked: &Asked, names: &[String], frame: &PageFrame) -> Self {
        let row = &asked.row;
        let text = &row.text;
        let choosable = |(at, option): (usize, &QuestionOption)| QuestionCardChoice {
            value: option.value,
            label: option.label.clone(),
            description: option.description.clone(),
            recommended: text.recommends(at),
            guides: option.value == Decision::ProvideGuidance && option.guidance.is_none(),
            guidance: option.guidance.clone(),
        };
        Self {
            project: Arc::clone(&hosted.name),
            id: row.id,
            kind: brief::describe_kind(row.kind),
            title: question_title(hosted, asked, names),
            problem: text.problem.clone(),
            attempts: text.attempts.clone(),
            evidence: row
                .evidence
                .entries()
                .into_iter()
                .map(|one| QuestionCardEvidence::from_entry(one, frame))
                .collect(),
            unfolded: hosted.audience == QuestionAudience::Developer,
            advice: text.recommended_text.clone(),
            options: text.options.iter().enumerate().map(choosable).collect(),
            waits: describe_waiting(row.tasks.len(), names),
            asked: TimeLabel::new(row.created_at, frame.now),
            open: asked.is_open(),
            ended: describe_outcome(asked, frame),
            checks: row.can_check(),
        }
    }
}

/// Returns the name of the task that raised the question first, or of the whole build.
fn question_title(hosted: &HostedProject, asked: &Asked, names: &[String]) -> String {
    match (names.first(), asked.row.build) {
        (Some(name), _) => name.clone(),
        (None, Some(build)) => format!("{}, build {}", hosted.name, build.0),
        (None, None) => hosted.name.to_string(),
    }
}

/// Returns a sentence such as `2 tasks wait: one, two`.
fn describe_waiting(count: usize, names: &[String]) -> Option<String> {
    if count == 0 {
        return Some("Everything in this build waits.".to_owned());
    }
    let rest = count.saturating_sub(names.len());
    let more = if rest == 0 { String::new() } else { format!(" and {rest} more") };
    let names = names.iter().map(|name| format!("“{name}”")).collect::<Vec<_>>().join(", ");
    (count > 1).then(|| format!("{count} tasks wait: {names}{more}"))
}

/// Returns how a question ended, or that its answer is not processed yet.
fn describe_outcome(asked: &Asked, frame: &PageFrame) -> Option<QuestionCardOutcome> {
    let row = &asked.row;
    let guidance = asked.answer.as_ref().map_or(row.guidance.as_ref(), |a| a.guidance.as_ref());
    let label = |decision: Decision| {
        let option = row.text.find_chosen(decision, guidance.map(|words| &**words));
        option.map_or_else(|| decision.to_string(), |option| option.label.clone())
    };
    let said = |by: Option<&str>, decision: Option<Decision>| {
        let who = by.map_or_else(|| "A person".to_owned(), plain_line);
        let what = decision.map(|decision| format!(": “{}”", label(decision))).unwrap_or_default();
        format!("{who} answered{what}")
    };
    match (row.status, &asked.answer) {
        (QuestionStatus::Pending, None) => None,
        (QuestionStatus::Pending, Some(answer)) => Some(QuestionCardOutcome {
            said: said(Some(&answer.by), Some(answer.decision)),
            later: true,
            guidance: answer.guidance.as_deref().map(str::to_owned),
            at: TimeLabel::new(answer.at, frame.now),
        }),
        (QuestionStatus::Withdrawn, _) => Some(QuestionCardOutcome {
            said: "This is settled: an answer is no longer needed".to_owned(),
            later: false,
            guidance: None,
            at: TimeLabel::new(row.resolved_at.unwrap_or(row.created_at), frame.now),
        }),
        (QuestionStatus::Resolved | QuestionStatus::Skipped, _) => Some(QuestionCardOutcome {
            said: said(row.answered_by.as_deref(), row.decision),
            later: false,
            guidance: row.guidance.as_deref().map(str::to_owned),
            at: TimeLabel::new(row.resolved_at.unwrap_or(row.created_at), frame.now),
        }),
    }
}

pub(super) async fn show_inbox(request: PageRequest) -> Result<Response, PageError> {
    let frame = PageFrame::new(&request, SiteSection::Inbox, "Inbox").await?;
    let mut cards = Vec::new();
    let mut lately = Vec::new();
    for hosted in request.projects() {
        let answers = hosted.store.load_pending_answers(&hosted.name).await?;
        let mut rows =
            hosted.store.load_questions(&hosted.name, Some(QuestionStatus::Pending)).await?;
        let newest =
            QuestionPage { status: None, after: None, newest_first: true, limit: LATELY_LOOKED_AT };
        let ended = hosted.store.load_question_page(&hosted.name, newest).await?;
        rows.extend(ended.into_iter().filter(|row| row.status != QuestionStatus::Pending));
        for row in rows {
            let asked = Asked::from_row(row, &answers);
            let ended_at = asked.row.resolved_at.or(asked.answer.as_ref().map(|given| given.at));
            let names = load_task_names(hosted, &asked).await?;
            let card = QuestionCard::new(hosted, &asked, &names, &frame);
            match ended_at {
                None => cards.push((asked.row.created_at, card)),
                Some(at) => lately.push((at, card)),
            }
        }
    }
    cards.sort_by_key(|(asked_at, _)| *asked_at);
    lately.sort_by_key(|(ended_at, _)| std::cmp::Reverse(*ended_at));
    lately.truncate(LATELY_MAX);
    let plain = |cards: Vec<(_, QuestionCard)>| cards.into_iter().map(|(_, card)| card).collect();
    let glances = load_build_cards(&request, frame.now).await?;
    Ok(render_page(&InboxPage { cards: plain(cards), lately: plain(lately), glances, frame }))
}

async fn load_task_names(hosted: &HostedProject, asked: &Asked) -> Result<Vec<String>, Problem> {
    let mut names = Vec::new();
    for id in asked.row.tasks.iter().take(NAMES_MAX) {
        if let Some(task) = hosted.store.load_task(&hosted.name, *id).await? {
            names.push(brief::task_name(task.id, &task.spec));
        }
    }
    Ok(names)
}

pub(super) async fn show_question(
    request: PageRequest,
    Path((project, question)): Path<(String, u32)>,
) -> Result<Response, PageError> {
    let hosted = request.find_project(&project)?;
    render_question(&request, &hosted, QuestionId(question), None).await
}

async fn render_question(
    request: &PageRequest,
    hosted: &HostedProject,
    id: QuestionId,
    refused: Option<Problem>,
) -> Result<Response, PageError> {
    let title = format!("Question {}", id.0);
    let frame = PageFrame::new(request, SiteSection::Inbox, title).await?;
    let frame = if refused.is_some() { frame.answering_form() } else { frame };
    let asked = require_question(hosted, id).await?;
    let names = load_task_names(hosted, &asked).await?;
    let card = QuestionCard::new(hosted, &asked, &names, &frame);
    let operators = frame.sees_detail().then(|| QuestionOperatorDetails {
        text: asked.row.operator_text.clone(),
        raw: asked.row.raw_error.clone(),
        why: brief::render_rule(&asked.row.why).to_owned(),
        counts: brief::render_counts(&asked.row.why),
        code: asked.row.code.map(|code| code.to_string()),
        signature: asked.row.signature.clone(),
    });
    let status = refused.as_ref().map_or(StatusCode::OK, Problem::status_code);
    let shown = QuestionDetailPage { frame, card, refused, operators };
    Ok(render_page_with_status(status, &shown))
}

#[derive(Deserialize)]
pub(super) struct AnswerForm {
    decision: String,
    #[serde(default)]
    guidance: String,
}

pub(super) async fn submit_answer(
    request: PageRequest,
    Path((project, question)): Path<(String, u32)>,
    Form(sent): Form<AnswerForm>,
) -> Result<Response, PageError> {
    let hosted = request.find_project(&project)?;
    let id = QuestionId(question);
    let choice = Choice { decision: sent.decision, guidance: Some(sent.guidance) };
    match record_answer(&request.site, &hosted, &request.caller, id, &choice).await {
        Ok(_) => Ok(Redirect::to("/").into_response()),
        // The page shows why the answer was refused, and the state of the question.
        Err(problem) => render_question(&request, &hosted, id, Some(problem)).await,
    }
}

/// Checks again whether an action was performed.
pub(super) async fn check_question(
    request: PageRequest,
    Path((project, question)): Path<(String, u32)>,
) -> Result<Response, PageError> {
    let hosted = request.find_project(&project)?;
    let id = QuestionId(question);
    let command = request.caller.attribute_command(Command::CheckAgain { question: id });
    match hosted.host.submit_command(command).await {
        Ok(_) => Ok(Redirect::to(&format!("/q/{}/{}", super::encode_segment(&project), id.0))
            .into_response()),
        Err(refused) => render_question(&request, &hosted, id, Some(refused.into())).await,
    }
}
